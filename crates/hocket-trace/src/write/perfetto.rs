//! A run in Perfetto's own format: a protobuf of packets.
//!
//! Each track has a descriptor. A span is two packets, its begin and its end. Names and categories are written once, and
//! packets refer to them by number. Times are on the monotonic clock.

mod messages;

use std::collections::HashMap;

use prost::Message;

use super::events::{Drawn, Event, Track};
use crate::run::RunTrace;
use crate::system::SystemTrace;
use messages::{
    Counter, DebugAnnotation, Interned, InternedName, Process, TraceEvent, TracePacket,
    TrackDescriptor,
};

/// All packets are of one sequence: they share names.
const SEQUENCE: u32 = 1;
/// The track of the process, below which all others are.
const PROCESS: u64 = 1;
/// The track with the slack.
const SLACK: u64 = 2;
/// The first of the other tracks.
const FIRST: u64 = 3;

/// The whole run as a file for ui.perfetto.dev.
pub fn perfetto(run: &RunTrace) -> Vec<u8> {
    all(run)
}

/// The same of what a system did.
pub fn perfetto_of_system(system: &SystemTrace) -> Vec<u8> {
    all(system)
}

fn all(run: &impl Drawn) -> Vec<u8> {
    let tracks = run.tracks();
    let uuid = |track: Track| {
        let at = tracks.iter().position(|(known, _)| *known == track);
        at.map_or(PROCESS, |at| FIRST + at as u64)
    };
    let mut out = Packets::default();
    out.describe(run, &tracks);
    run.events(&mut |event| match event {
        Event::Slice { track, name, category, start_ns, end_ns, detail, .. } => {
            let begin = TraceEvent {
                kind: Some(messages::BEGIN),
                track: Some(uuid(track)),
                details: details(&detail),
                ..TraceEvent::default()
            };
            out.event(start_ns, begin, Some((&name, category)));
            let end = TraceEvent {
                kind: Some(messages::END),
                track: Some(uuid(track)),
                ..TraceEvent::default()
            };
            out.event(end_ns, end, None);
        }
        Event::Instant { track, name, category, at_ns, detail } => {
            let instant = TraceEvent {
                kind: Some(messages::INSTANT),
                track: Some(uuid(track)),
                details: details(&detail),
                ..TraceEvent::default()
            };
            out.event(at_ns, instant, Some((&name, category)));
        }
        Event::Slack { at_ns, slack_ns } => {
            let counter = TraceEvent {
                kind: Some(messages::COUNTER),
                track: Some(SLACK),
                counter_value: Some(slack_ns),
                ..TraceEvent::default()
            };
            out.event(at_ns, counter, None);
        }
    });
    out.bytes
}

fn details(detail: &str) -> Vec<DebugAnnotation> {
    match detail.is_empty() {
        true => Vec::new(),
        false => vec![annotation("detail", detail)],
    }
}

fn annotation(name: &str, value: &str) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.into()), string_value: Some(value.into()) }
}

/// The packets so far, each as a field of the message `Trace`.
#[derive(Default)]
struct Packets {
    bytes: Vec<u8>,
    names: HashMap<String, u64>,
    categories: HashMap<&'static str, u64>,
}

impl Packets {
    fn push(&mut self, packet: &TracePacket) {
        // The key of field 1, a message; then its length.
        self.bytes.push(0x0a);
        // Memory takes every byte.
        let _ = packet.encode_length_delimited(&mut self.bytes);
    }

    fn describe(&mut self, run: &impl Drawn, tracks: &[(Track, String)]) {
        let track = |descriptor| TracePacket {
            sequence: Some(SEQUENCE),
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        };
        let process = Process { pid: Some(1), name: Some("hocket".into()) };
        self.push(&TracePacket {
            sequence_flags: Some(messages::NAMES_BEGIN_HERE),
            ..track(TrackDescriptor {
                uuid: Some(PROCESS),
                process: Some(process),
                child_ordering: Some(messages::EXPLICIT),
                ..TrackDescriptor::default()
            })
        });
        let below = |uuid: u64, name: &str| TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(PROCESS),
            name: Some(name.into()),
            rank: Some((uuid - PROCESS) as i32),
            ..TrackDescriptor::default()
        };
        let counter = Some(Counter { unit: Some(messages::NANOSECONDS) });
        if run.has_blocks() {
            self.push(&track(TrackDescriptor { counter, ..below(SLACK, "slack") }));
        }
        for (uuid, (_, name)) in (FIRST..).zip(tracks) {
            self.push(&track(below(uuid, name)));
            if uuid == FIRST {
                // Here, so that the beginning of a file says what it is, however many threads follow.
                self.facts(run);
            }
        }
    }

    /// An instant at the begin that says what the file holds.
    fn facts(&mut self, run: &impl Drawn) {
        let facts = run.facts();
        let about = TraceEvent {
            kind: Some(messages::INSTANT),
            track: Some(FIRST),
            details: facts.iter().map(|(name, value)| annotation(name, value)).collect(),
            ..TraceEvent::default()
        };
        self.event(run.origin_ns() as i64, about, Some(("about this trace", "about")));
    }

    fn event(&mut self, at_ns: i64, event: TraceEvent, named: Option<(&str, &'static str)>) {
        let mut packet = TracePacket {
            // The monotonic clock begins with the machine.
            timestamp: Some(at_ns.max(0) as u64),
            sequence: Some(SEQUENCE),
            sequence_flags: Some(messages::NAMES_ARE_NEEDED),
            ..TracePacket::default()
        };
        let mut event = event;
        if let Some((name, category)) = named {
            let (name, category, new) = self.intern(name, category);
            event.name = Some(name);
            event.categories = vec![category];
            packet.interned = new;
        }
        packet.event = Some(event);
        self.push(&packet);
    }

    /// The numbers of both, and what has to be said of them because they are new.
    fn intern(&mut self, name: &str, category: &'static str) -> (u64, u64, Option<Interned>) {
        let mut new = Interned::default();
        let number = match self.names.get(name) {
            Some(number) => *number,
            None => {
                let number = self.names.len() as u64 + 1;
                self.names.insert(name.to_owned(), number);
                new.names.push(InternedName { iid: Some(number), name: Some(name.into()) });
                number
            }
        };
        let next = self.categories.len() as u64 + 1;
        let of_category = *self.categories.entry(category).or_insert_with(|| {
            new.categories.push(InternedName { iid: Some(next), name: Some(category.into()) });
            next
        });
        let is_empty = new.names.is_empty() && new.categories.is_empty();
        (number, of_category, (!is_empty).then_some(new))
    }
}

#[cfg(test)]
mod tests {
    use super::messages::Trace;
    use super::*;
    use crate::run::tests::run;

    fn decoded(run: &RunTrace) -> Vec<TracePacket> {
        Trace::decode(&perfetto(run)[..]).unwrap().packet
    }

    /// A slice as it was read back: track, name, start, end.
    type Slice = (String, String, u64, u64);

    /// What a reader that knows only the format makes of it.
    fn read_back(packets: &[TracePacket]) -> Vec<Slice> {
        let mut tracks: HashMap<u64, String> = HashMap::new();
        let mut names: HashMap<u64, String> = HashMap::new();
        let mut open: HashMap<u64, Vec<(String, u64)>> = HashMap::new();
        let mut slices = Vec::new();
        for packet in packets {
            if let Some(track) = &packet.track_descriptor {
                tracks.insert(track.uuid.unwrap(), track.name.clone().unwrap_or_default());
            }
            for new in packet.interned.iter().flat_map(|interned| &interned.names) {
                names.insert(new.iid.unwrap(), new.name.clone().unwrap());
            }
            let Some(event) = &packet.event else { continue };
            let (track, at) = (event.track.unwrap(), packet.timestamp.unwrap());
            let stack = open.entry(track).or_default();
            match event.kind.unwrap() {
                messages::BEGIN => stack.push((names[&event.name.unwrap()].clone(), at)),
                messages::END => {
                    let (name, start) = stack.pop().expect("a slice that began");
                    slices.push((tracks[&track].clone(), name, start, at));
                }
                _ => {}
            }
        }
        assert!(open.values().all(Vec::is_empty), "every slice ends");
        slices
    }

    #[test]
    fn spans_come_back() {
        let slices = read_back(&decoded(&run()));
        assert_eq!(slices.len(), 3 * 9 + 1);
        let slice = |track: &str, name: &str, start: u64, end: u64| {
            (track.to_owned(), name.to_owned(), 5_008_000_000 + start, 5_008_000_000 + end)
        };
        for expected in [
            slice("worker 1, CPU 4", "vocals: play", 30_000, 600_000),
            slice("worker 0 (leader), CPU 0", "wait", 300_000, 600_500),
            slice("worker 0 (leader), CPU 0", "master <&\">", 600_500, 1_050_000),
            slice("blocks", "block 8 (late)", 0, 1_050_000),
            slice("others on CPU 4", "preview", 100_000, 190_000),
        ] {
            assert!(slices.contains(&expected), "{expected:?} is missing: {slices:#?}");
        }
    }

    #[test]
    fn tracks_are_below_the_process_in_the_order_of_the_seats() {
        let packets = decoded(&run());
        let tracks: Vec<_> = packets.iter().filter_map(|p| p.track_descriptor.as_ref()).collect();
        assert!(tracks[0].process.is_some() && packets[0].sequence_flags == Some(1));
        let below = &tracks[1..];
        assert!(below.iter().all(|track| track.parent_uuid == tracks[0].uuid));
        assert!(below.windows(2).all(|pair| pair[0].rank < pair[1].rank));
        let names: Vec<_> = below.iter().map(|track| track.name.as_deref().unwrap()).collect();
        let workers = ["worker 0 (leader), CPU 0", "worker 1, CPU 4", "elsewhere, CPU 1"];
        assert_eq!(names, [&["slack", "blocks"][..], &workers, &["others on CPU 4"]].concat());
    }

    #[test]
    fn the_beginning_says_what_it_is() {
        let mut crowd = run();
        for cpu in 0..1000 {
            let name = format!("worker {cpu} of many");
            crowd.threads.push(crate::run::Thread { name, cpu: Some(cpu), beside: Vec::new() });
        }
        let bytes = perfetto(&crowd);
        let head = &bytes[..1024];
        assert!(head.windows(14).any(|part| part == b"hocket-trace/1"));
        let packets = decoded(&run());
        let misses = packets.iter().filter_map(|p| p.event.as_ref());
        let why: Vec<_> = misses
            .flat_map(|event| &event.details)
            .filter(|detail| detail.name.as_deref() == Some("detail"))
            .filter_map(|detail| detail.string_value.as_deref())
            .collect();
        assert!(why.iter().any(|why| why.contains("preview ran for 90 µs")), "{why:?}");
        let slack = packets.iter().filter_map(|p| p.event.as_ref()?.counter_value);
        assert_eq!(slack.collect::<Vec<_>>(), [100_000, -50_000, 200_000]);
    }

    #[test]
    fn an_empty_run_is_a_valid_file() {
        let mut run = run();
        run.blocks.clear();
        assert_eq!(read_back(&decoded(&run)), []);
    }
}
