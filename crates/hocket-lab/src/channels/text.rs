//! The record in words: a sentence for each block length, a table, and what was tried.

use super::record::{CapacityRecord, SizeRecord};
use super::runs::{Played, Probe, Run, Verdict};
use crate::lines::Lines;
use crate::numbers::{NONE, count, counted, percent, us};
use crate::once::each_once;
use crate::record::ThreadGrant;
use crate::table::Table;

/// The record for a terminal.
pub fn text(record: &CapacityRecord) -> String {
    let mut out = Lines::default();
    out.prose("", &head(record));
    out.blank();
    out.table("", &table(record));
    out.blank();
    for size in &record.sizes {
        out.prose("", &sentence(size, record.session.tracks));
        below(size).iter().for_each(|line| out.prose("  ", line));
    }
    out.blank();
    out.prose("", COUNTED);
    if let Some(refused) = record.sizes.iter().flat_map(|size| &size.threads).find_map(refused) {
        out.prose("", &refused);
    }
    out.text
}

/// What the figures are.
const COUNTED: &str = "Late blocks include skipped periods, and those beside which the host took time. The bounds of a block length hold \
                       together in 95 % of cases if late blocks come independently of each other, on this machine as it was.";

fn head(record: &CapacityRecord) -> String {
    let session = &record.session;
    let (tracks, rate_hz) = (counted(session.tracks, "track"), session.rate_hz);
    let ways = ways(record);
    let way = ways.first().filter(|_| ways.len() == 1);
    let way = way.map_or(String::new(), |way| format!(", {way}"));
    format!("{}: {tracks}, copied to more channels, at {rate_hz} Hz{way}", session.name)
}

/// Each way to play once.
pub(super) fn ways(record: &CapacityRecord) -> Vec<&str> {
    each_once(record.sizes.iter().map(|size| size.way.as_str()))
}

fn table(record: &CapacityRecord) -> Table {
    let differ = ways(record).len() > 1;
    let heads = [
        "frames",
        "period [µs]",
        "channels",
        "late blocks",
        "played",
        "an hour, at most",
        "99 % ready [µs]",
    ];
    let row = |size: &SizeRecord| {
        let period_ns = f64::from(size.frames) / f64::from(record.session.rate_hz) * 1e9;
        let mut row = vec![size.frames.to_string(), us(period_ns)];
        row.extend(match size.verdict() {
            Verdict::Holds(run) => figures(run, ""),
            Verdict::Nearest(run) => figures(run, " (late)"),
            Verdict::Hopeless => [NONE; 5].map(String::from).to_vec(),
        });
        row.extend(differ.then(|| size.way.clone()));
        row
    };
    let heads = heads.into_iter().chain(differ.then_some("way"));
    Table::new(heads, record.sizes.iter().map(row).collect())
}

fn figures(run: &Run, mark: &str) -> Vec<String> {
    let played = &run.played;
    vec![
        format!("{}{mark}", played.channels),
        count(played.misses()),
        lasting(played.played_s),
        run.at_most_an_hour.map_or(NONE.into(), rounded_up),
        us(played.ready_p99_ns),
    ]
}

/// What is shown of one block length of a session with so many tracks. It never says more than the run bears.
pub fn sentence(size: &SizeRecord, tracks: usize) -> String {
    let frames = size.frames;
    match size.verdict() {
        Verdict::Holds(run) => {
            let channels = counted(run.played.channels, "channel");
            let all = run.played.channels == size.most_channels;
            let more = if all { " More were not tried." } else { "" };
            format!("{frames} frames hold with {channels}: {}.{more}", shown(run))
        }
        Verdict::Nearest(run) => {
            let channels = counted(run.played.channels, "channel");
            format!(
                "{frames} frames: no number of channels held. {channels} came nearest: {}.",
                shown(run)
            )
        }
        Verdict::Hopeless => {
            let fewest = size.found.runs.last().map_or(0, |run| run.played.channels);
            let what = if fewest <= tracks {
                "not even the session as it is"
            } else {
                "no number of channels that was tried"
            };
            format!("{frames} frames: {what} held.")
        }
    }
}

/// `at most 97 late blocks an hour (95 %), none in 2 min`.
fn shown(run: &Run) -> String {
    let most = run.at_most_an_hour.map_or("any number of".into(), rounded_up);
    format!("at most {most} late blocks an hour (95 %), {}", happened(&run.played))
}

/// `none in 2 min`, `3 in 47 s`.
fn happened(played: &Played) -> String {
    let misses = match played.misses() {
        0 => "none".into(),
        misses => count(misses),
    };
    format!("{misses} in {}", lasting(played.played_s))
}

/// Never less than the bound itself.
fn rounded_up(bound: f64) -> String {
    let step = if bound < 10.0 { 10.0 } else { 1.0 };
    // What rounding of the run to blocks adds is no tenth.
    let up = (bound * step - 1e-6).ceil() / step;
    if step > 1.0 { format!("{up:.1}") } else { count(up as u64) }
}

/// `47 s`, `2 min`, `2.5 h`.
pub fn lasting(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 90.0 => (s, "s"),
        s if s < 5400.0 => (s / 60.0, "min"),
        s => (s / 3600.0, "h"),
    };
    let text = format!("{value:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// What else was tried, and what a reader has to know.
fn below(size: &SizeRecord) -> Vec<String> {
    let late = |run: &&Run| run.played.misses() > 0;
    let runs = size.found.runs.iter().filter(late).map(tried);
    let alone = size.found.probes.last().filter(|_| size.found.runs.is_empty()).map(only_probed);
    runs.chain(alone).chain(size.remarks.iter().cloned()).collect()
}

fn only_probed(probe: &Probe) -> String {
    let channels = counted(probe.channels, "channel");
    format!(
        "With {channels}, half of the blocks are ready after {} of the period or later.",
        percent(probe.load)
    )
}

fn tried(run: &Run) -> String {
    let played = &run.played;
    let early = if played.is_whole { "" } else { ", ended early" };
    let causes: Vec<String> = played
        .causes
        .by_count()
        .iter()
        .map(|(cause, blocks)| format!("{cause} {}", count(*blocks)))
        .collect();
    let causes =
        if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
    let host = match played.beside_steal {
        0 => String::new(),
        n => format!("; {} in turns in which the host took time", count(n)),
    };
    let (channels, misses) = (counted(played.channels, "channel"), count(played.misses()));
    let time = lasting(played.played_s);
    format!("Tried {channels}: {misses} late in {time}{causes}{early}{host}.")
}

/// The first thread that has not the priority that it asked for.
fn refused(thread: &ThreadGrant) -> Option<String> {
    let why = thread.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let ThreadGrant { thread: name, class_asked, class_got, .. } = thread;
    (class_asked != class_got)
        .then(|| format!("{name} asked for {class_asked} and got {class_got}{why}."))
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    fn said(runs: &[(usize, u64)]) -> String {
        let record = record(&[(64, runs)]);
        sentence(&record.sizes[0], record.session.tracks)
    }

    #[test]
    fn a_sentence_says_what_the_run_bears() {
        let held = "64 frames hold with 120 channels: at most 97 late blocks an hour (95 %), none in 2 min.";
        assert_eq!(said(&[(120, 0)]), held);
        // A second run has a wider bound: 4.83 in two minutes.
        let second = "64 frames hold with 114 channels: at most 145 late blocks an hour (95 %), none in 2 min.";
        assert_eq!(said(&[(120, 5), (114, 0)]), second);
        assert!(said(&[(2_000, 0)]).ends_with("none in 2 min. More were not tried."));
        let nearest = said(&[(120, 9), (114, 1)]);
        assert!(
            nearest.contains("no number of channels held. 114 channels came nearest: at most"),
            "{nearest}"
        );
    }

    #[test]
    fn what_ended_early_bounds_nothing() {
        let mut record = record(&[(64, &[(8, 25)])]);
        let run = &mut record.sizes[0].found.runs[0];
        (run.played.is_whole, run.at_most_an_hour) = (false, None);
        let say = |record: &CapacityRecord, tracks| sentence(&record.sizes[0], tracks);
        assert_eq!(say(&record, 8), "64 frames: not even the session as it is held.");
        assert_eq!(say(&record, 4), "64 frames: no number of channels that was tried held.");
        let mut probed = record.clone();
        probed.sizes[0].found.runs.clear();
        probed.sizes[0].found.probes[0].load = 2.5;
        assert!(
            text(&probed).contains("With 8 channels, half of the blocks are ready after 250 %"),
            "{}",
            text(&probed)
        );
        assert!(
            text(&record).contains("Tried 8 channels: 25 late in 2 min, ended early."),
            "{}",
            text(&record)
        );
    }

    #[test]
    fn bounds_are_rounded_up() {
        assert_eq!(
            [96.6, 97.0, 9.01, 0.999, 12_345.1].map(rounded_up),
            ["97", "97", "9.1", "1.0", "12,346"]
        );
    }

    #[test]
    fn times_are_short() {
        assert_eq!(
            [1.0, 47.33, 120.0, 1158.9, 9000.0].map(lasting),
            ["1 s", "47.3 s", "2 min", "19.3 min", "2.5 h"]
        );
    }

    #[test]
    fn the_text_has_a_row_and_a_sentence_for_each_size() {
        let mut record = record(&[(64, &[(120, 2), (114, 0)]), (128, &[(300, 0)])]);
        let failed = &mut record.sizes[0].found.runs[0].played;
        failed.causes.count(hocket_trace::cause::Cause::HostSteal);
        failed.beside_steal = 1;
        let text = text(&record);
        for part in [
            "Song: 8 tracks, copied to more channels, at 48000 Hz, dataflow / off / hybrid",
            "64 frames hold with 114",
            "128 frames hold with 300",
            "Tried 120 channels: 2 late in 2 min (host-steal 1); 1 in turns in which the host took time.",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert!(!text.contains("way"), "one way for all is said above:\n{text}");
        record.sizes[1].way = "lists / off / hybrid".into();
        assert!(super::text(&record).contains("lists / off / hybrid"));
    }

    #[test]
    fn a_priority_that_was_not_granted_is_named() {
        let mut record = record(&[(64, &[(120, 0)])]);
        record.sizes[0].threads.push(ThreadGrant {
            thread: "worker 0 (leader)".into(),
            cpu_asked: None,
            cpu_got: None,
            class_asked: "FIFO 70".into(),
            class_got: "OTHER".into(),
            why: Some("no right".into()),
        });
        assert!(
            text(&record).contains("worker 0 (leader) asked for FIFO 70 and got OTHER: no right.")
        );
    }
}
