//! `chat`: how many messages chat rooms pass on.

use super::loads::{Chat, Load, Mode, Turn, USERS, probe_lines};
use crate::harness::timed::per_op;
use crate::harness::{
    About, Design, Experiment, Historic, Host, Metric, NamedRatio, NotMeasurable, Opened,
    Parameter, Results, Rounds, Sample, Section, Sentence, Size, Variant, ratios_sentence,
};
use crate::numbers;

/// See [`About`].
pub struct ChatExperiment;

static ABOUT: About = About {
    id: "chat",
    section: Section::System,
    question: "How many messages do chat rooms pass on?",
    origin: "the chat benchmark 1.0.1 of 2000, which Vianney, \"Hyper-Threading speeds Linux\", 2003, used; written anew from \
             its description. The figures are not its results",
    method: "Rooms of 20 users, each with a TCP connection on 127.0.0.1. Each user says 100 messages of 100 bytes, one after \
             the other without a pause, and hears those of the 19 others. `threads`, as in version 1.0.1: four threads a user \
             (says, hears; at the server takes in, passes on), sockets as the system makes them, so small packets may wait for \
             an answer (Nagle's algorithm). `threads-nodelay`: the same, sent at once. `epoll`: a thread for all users of some \
             rooms and one for their server, as many of both as rooms or CPUs, which wait for all connections at once. \
             `tasks`: as many threads, each with an asynchronous runtime (tokio); a task for each user, which says and \
             hears, and one at the server. One room; ten in a full run, and twenty in `threads-20-rooms`. All run on all usable CPUs. Threads and connections \
             are there before the time begins, and nothing listens any more by then. Every message must arrive once, whole, and \
             in the order in which its user said it. The first round of each process start warms up and is left out.",
    limits: "Users and server run in one process on the same CPUs, in 2000 in two; nothing crosses a network card. The server hands \
             messages from thread to thread through a queue of the process, where 1.0.1 used a semaphore of the system. Each message is \
             written by one call. The runtimes of `tasks` are made within the time, and each has one thread: none that \
             hands tasks from thread to thread is measured.",
    metrics: &[
        Metric::more("rate", "1/s")
            .means("Messages that users say and messages that they hear, in a second, from the first thread's start to the last \
                    one's end: rooms x 20 x 100 x 20 in all, as 1.0.1 counts them."),
        Metric::less("cpu-time", "ns")
            .means("CPU time of all threads, users and server, divided by the same messages."),
    ],
    parameters: &[
        Parameter::new("rooms", &ROOMS),
        Parameter::new("more-rooms", &MORE_ROOMS),
        Parameter::new("messages", &MESSAGES),
    ],
};

/// Of a quick and of a full run; 1.0.1 has ten by default.
pub(super) const ROOMS: [usize; 2] = [1, 10];
/// In a full run, too.
const MORE_ROOMS: usize = 20;
/// Of each user, as there.
pub(super) const MESSAGES: u32 = 100;
const ROOMS_FACTOR: &str = "rooms";
const MODE: &str = "mode";

impl Experiment for ChatExperiment {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, _: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let rooms = size.of(ROOMS);
        probe_lines(rooms * USERS).map_err(NotMeasurable::new)?;
        let variant = |name: &str, mode: Mode, rooms: usize| {
            Variant::new(name).with(MODE, mode.name()).with(ROOMS_FACTOR, rooms).crowded()
        };
        let more = (format!("threads-{MORE_ROOMS}-rooms"), Mode::Threads, MORE_ROOMS);
        let mut wanted: Vec<_> =
            Mode::ALL.into_iter().map(|mode| (mode.name().to_string(), mode, rooms)).collect();
        wanted.extend((size == Size::Full).then_some(more));
        let mut variants = Vec::new();
        let mut missing = Vec::new();
        for (name, mode, rooms) in wanted {
            match mode.probe(rooms * USERS) {
                Ok(()) => variants.push(variant(&name, mode, rooms)),
                Err(fault) => missing.push((name, fault.to_string())),
            }
        }
        let rounds = size.pick(Rounds::usual(size), Rounds::few(size)).warmed_up();
        Ok(Design { missing, ..Design::against_first(variants, "rate", rounds) })
    }

    fn turn_ms(&self) -> f64 {
        120.0
    }

    fn open(&self, _: &Host, _: Size, design: &Design) -> Opened {
        let mut chats = design.each(|variant| {
            let mode = Mode::ALL.into_iter().find(|mode| mode.name() == variant.level(MODE))?;
            Some(Chat::new(variant.level(ROOMS_FACTOR).parse().ok()?, MESSAGES, mode))
        })?;
        Ok(Box::new(move |variant: usize| chats[variant].turn(&[]).map(|turn| samples(&turn))))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let first = Mode::Threads.name();
        let rate = results.estimate(first, "rate").map(|rate| {
            let rooms = results.designed().first().map_or("", |variant| variant.level(ROOMS_FACTOR));
            let rate = numbers::estimate(&rate, "1/s");
            Sentence::fact(format!(
                "messages with four threads a user, rooms {rooms}: {rate}; two Celerons passed on 102,000 to 125,000/s in 2002"
            ))
        });
        let pair = |mode: &Mode| NamedRatio::new(mode.name(), first, mode.name(), "rate");
        let pairs: Vec<NamedRatio> = Mode::ALL[1..].iter().map(pair).collect();
        let modes =
            ratios_sentence(results, "messages a second against four threads a user", &pairs);
        rate.into_iter().chain(modes).collect()
    }

    fn historic(&self) -> Vec<Historic> {
        HISTORIC.to_vec()
    }
}

fn samples(turn: &Turn) -> Vec<Sample> {
    let sample = |metric, value| Sample::new(metric, value, turn.ops, turn.check.clone());
    let rate = turn.ops as f64 * 1e9 / turn.wall_ns.max(1) as f64;
    let cpu_time = turn.cpu_ns.map(|ns| sample("cpu-time", per_op(ns, turn.ops)));
    [sample("rate", rate)].into_iter().chain(cpu_time).collect()
}

static HISTORIC: [Historic; 2] = [
    Historic::new("chat, two Celerons, 2002", 125_000.0, "1/s", "rate")
        .beside("threads")
        .means("Messages said and heard a second, 10 rooms, 1000 messages of each user; the highest of 102,000 to 125,000.")
        .differs("1000 messages of each user, in two processes; here 100, and one room in a quick run.")
        .printed_in("Molnar, Linux kernel mailing list, 9 January 2002 (two Celerons 466 MHz)"),
    Historic::new("chat, kernel 2.4.19, 2002", 47_251.0, "1/s", "rate")
        .beside("threads")
        .means("Messages said and heard a second, 30 rooms, 1000 messages of each user; the mean of ten runs, 45,634 to \
                50,940.")
        .differs("30 rooms and 1000 messages of each user; here 100, and ten rooms, or one in a quick run.")
        .printed_in("Ciarrocchi, Linux kernel mailing list, 2002 (kernel 2.4.19; 62,543 with 2.5.38)"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Check;

    #[test]
    fn one_turn_of_each_variant_here_passes_its_check() {
        let host = Host::described_with_smt();
        let design = ChatExperiment.design(&host, Size::Quick).unwrap();
        let mut apparatus = ChatExperiment.open(&host, Size::Quick, &design).unwrap();
        for (index, variant) in design.variants.iter().enumerate() {
            let samples = apparatus.measure(index).unwrap();
            assert!(samples.iter().all(|it| it.check == Check::Passed), "{}", variant.name);
            assert_eq!(samples[0].ops, 20 * u64::from(MESSAGES) * 20);
        }
        let known = |old: &Historic| design.index(old.variant.unwrap_or_default()).is_some();
        assert!(HISTORIC.iter().all(known));
    }

    #[test]
    fn a_full_run_has_the_rooms_of_the_source_and_more_or_says_why_not() {
        let host = Host::described_with_smt();
        let Ok(design) = ChatExperiment.design(&host, Size::Full) else {
            println!(
                "SKIPPED a_full_run_has_the_rooms_of_the_source_and_more_or_says_why_not: too few open files"
            );
            return;
        };
        assert_eq!(design.fault(), None);
        assert_eq!(design.variants[0].level(ROOMS_FACTOR), "10");
        let more = "threads-20-rooms";
        let is_missing = design.missing.iter().any(|(what, _)| what == more);
        assert!(design.index(more).is_some() || is_missing);
    }
}
