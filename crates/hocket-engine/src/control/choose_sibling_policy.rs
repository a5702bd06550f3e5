//! Which sibling policy, where the user leaves it to Hocket.

use hocket_machine::Topology;
use hocket_machine::class::{self, Class};
use hocket_machine::cookie;
use hocket_plan::{CookieShape, Seats, SiblingPolicy};

use super::seating::seats_of;

/// What a session needs of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Need {
    /// How long one worker takes for a block, in nanoseconds.
    pub serial_ns: f64,
    /// From a block's start to its deadline, in nanoseconds.
    pub deadline_ns: f64,
    /// The part of its own speed that is left to each of two busy siblings; see [`hocket_plan::schedule::Team::pair_speed`].
    pub pair_speed: f64,
}

/// What kernel and rights allow against strangers on siblings.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Means {
    /// Core scheduling.
    Cookies,
    /// Threads that wait on the siblings, and why there is no core scheduling.
    WaitingThreads(String),
    /// Nothing, and why.
    Nothing(String),
}

/// How full a block may be with one worker a core before siblings work too: what is left is for the units'
/// order, for wake-ups and for the rare late one.
const FULL: f64 = 0.7;

/// The policy for a session on this machine, and why.
///
/// Without pairs there is nobody to keep off. With pairs, one worker a core and the siblings kept empty is the
/// shortest way for a session that fits (the sibling would slow its neighbour down); one that would
/// fill more than 70 % of the period so is given all seats, if two busy siblings do more than one. Core
/// scheduling costs no thread and no right, so it comes first; without it, threads that wait on the
/// siblings do the same if they run under SCHED_FIFO; in the ordinary class they would only be two
/// more that want the seat. `need`: `None` where costs are not known; the session then counts as one that fits.
///
/// Thread: control. Cost: a few system calls.
pub fn sibling_policy(topology: &Topology, need: Option<Need>) -> (SiblingPolicy, String) {
    let (seats, _) = seats_of(topology);
    if !seats.has_pairs() {
        return (SiblingPolicy::Off, "no two seats share a core here".into());
    }
    decide(means(), need.and_then(|need| too_full(&seats, need)))
}

/// The decision by itself. `full`: why siblings have to work too.
fn decide(means: Means, full: Option<String>) -> (SiblingPolicy, String) {
    match (means, full) {
        (Means::Cookies, None) => {
            let why = "the kernel keeps strangers off the siblings (core scheduling)";
            (SiblingPolicy::Cookie(CookieShape::Worker), why.into())
        }
        (Means::Cookies, Some(full)) => {
            let why = format!("{full}; the kernel keeps strangers off (core scheduling)");
            (SiblingPolicy::Cookie(CookieShape::Engine), why)
        }
        (Means::WaitingThreads(no_cookie), None) => {
            (SiblingPolicy::IdleThread, format!("waiting threads keep the siblings: {no_cookie}"))
        }
        (Means::WaitingThreads(no_cookie), Some(full)) => {
            let why = format!("{full}; who is done waits on its seat: {no_cookie}");
            (SiblingPolicy::PairBarrier, why)
        }
        (Means::Nothing(why), None) => {
            (SiblingPolicy::Off, format!("nothing here keeps strangers off: {why}"))
        }
        (Means::Nothing(why), Some(full)) => {
            (SiblingPolicy::All, format!("{full}; nothing here keeps strangers off: {why}"))
        }
    }
}

/// Why one worker a core is too few, if it is and siblings help.
fn too_full(seats: &Seats, need: Need) -> Option<String> {
    let mut cores: Vec<usize> = seats.seats.iter().map(|seat| seat.core).collect();
    cores.sort_unstable();
    cores.dedup();
    let fastest = |core: &usize| {
        let own = seats.seats.iter().filter(|seat| seat.core == *core).map(|seat| seat.speed);
        own.fold(0.0f32, f32::max)
    };
    let capacity = cores.iter().map(fastest).map(f64::from).sum::<f64>().max(0.01);
    let part = need.serial_ns / capacity / need.deadline_ns.max(1.0);
    (part > FULL && need.pair_speed > 0.5).then(|| {
        format!(
            "one worker a core would fill {:.0} % of the period, so siblings work too",
            part * 100.0
        )
    })
}

fn means() -> Means {
    match cookie::current() {
        Ok(_) => Means::Cookies,
        Err(no_cookie) if may_be_fifo() => Means::WaitingThreads(no_cookie.why().to_string()),
        Err(no_cookie) => Means::Nothing(format!("{}; and no SCHED_FIFO", no_cookie.why())),
    }
}

/// Whether threads of this process get SCHED_FIFO; tried on one that ends at once.
fn may_be_fifo() -> bool {
    let tried = || class::request(Class::Fifo { priority: 1 }).why.is_none();
    std::thread::spawn(tried).join().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hocket_plan::Seat;

    fn two_pairs() -> Seats {
        Seats { seats: [0, 1, 0, 1].map(|core| Seat { core, speed: 1.0 }).to_vec() }
    }

    fn need(serial_ns: f64, pair_speed: f64) -> Need {
        Need { serial_ns, deadline_ns: 1e6, pair_speed }
    }

    #[test]
    fn siblings_work_where_cores_are_full_and_a_pair_does_more_than_one() {
        let full = |serial, pair| too_full(&two_pairs(), need(serial, pair)).is_some();
        assert!(!full(1.3e6, 0.6), "65 % of two cores");
        assert!(full(1.5e6, 0.6), "75 % of two cores");
        assert!(!full(1.5e6, 0.5), "a pair that does no more than one");
    }

    #[test]
    fn what_keeps_strangers_off_is_used_in_both_cases() {
        let chosen = |means: Means, full: bool| decide(means, full.then(|| "full".into())).0;
        let waiting = || Means::WaitingThreads("no core scheduling".into());
        let nothing = || Means::Nothing("no rights".into());
        assert_eq!(chosen(Means::Cookies, false), SiblingPolicy::Cookie(CookieShape::Worker));
        assert_eq!(chosen(Means::Cookies, true), SiblingPolicy::Cookie(CookieShape::Engine));
        assert_eq!(chosen(waiting(), false), SiblingPolicy::IdleThread);
        assert_eq!(chosen(waiting(), true), SiblingPolicy::PairBarrier);
        assert_eq!(chosen(nothing(), false), SiblingPolicy::Off);
        assert_eq!(chosen(nothing(), true), SiblingPolicy::All);
    }
}
