//! What a record says about itself: build, machine, clock, files, date.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use hocket_machine::{Topology, clock, facts, grants};
use hocket_plan::Session;

use crate::record::{Build, Clock, MediaFacts};

/// The program that measures; version and commit are fixed when it is built. Whether its sources were edited is looked at
/// again when a record is made ([`crate::provenance::edited`]): a build notices other commits, not edits.
pub fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").into(),
        commit: commit(),
        dirty: option_env!("HOCKET_DIRTY") == Some("yes") || crate::provenance::edited(),
        rustc: option_env!("HOCKET_RUSTC").unwrap_or("unknown").into(),
        program_sha256: std::env::current_exe().ok().and_then(|program| digest(&program)),
    }
}

/// The commit that the program was built from, where git was at hand.
pub fn commit() -> Option<String> {
    option_env!("HOCKET_COMMIT").filter(|text| !text.is_empty()).map(Into::into)
}

/// Facts and topology of the machine.
///
/// Records are made to be published: of the kernel's command line they hold only what bears on
/// scheduling and time, and of the control group no name.
pub fn machine(topology: &Topology) -> Value {
    let mut facts = json!(facts::read());
    if let Some(facts) = facts.as_object_mut() {
        facts.remove("cgroup");
    }
    if let Some(Value::String(line)) = facts.pointer_mut("/command_line/value") {
        *line = relevant_parameters(line);
    }
    json!({ "facts": facts, "topology": topology })
}

/// Kernel parameters that change how threads are scheduled, woken or timed (kernel-parameters.txt);
/// a name that ends with a dot stands for all parameters of that module.
const RELEVANT: [&str; 25] = [
    "mitigations",
    "isolcpus",
    "nohz",
    "nohz_full",
    "rcu_nocbs",
    "rcu_nocb_poll",
    "preempt",
    "threadirqs",
    "nosmt",
    "maxcpus",
    "nr_cpus",
    "idle",
    "intel_idle.",
    "processor.",
    "intel_pstate",
    "amd_pstate",
    "cpufreq.",
    "cpuidle.",
    "tsc",
    "clocksource",
    "skew_tick",
    "nmi_watchdog",
    "nowatchdog",
    "irqaffinity",
    "cgroup_no_v1",
];

fn relevant_parameters(line: &str) -> String {
    let is_relevant = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default();
        RELEVANT.iter().any(|known| match known.strip_suffix('.') {
            Some(module) => name.split('.').next() == Some(module),
            None => name == *known,
        })
    };
    line.split_whitespace().filter(is_relevant).collect::<Vec<_>>().join(" ")
}

/// What the system grants here.
pub fn grants() -> Value {
    json!(grants::probe())
}

/// The clock that all times are taken with.
pub fn clock() -> Clock {
    let check = clock::check();
    let source = check.clocksource.value().cloned().unwrap_or_else(|| "unknown".into());
    let ticks = match check.tick_source {
        clock::TickSource::Counter => "the processor's counter",
        clock::TickSource::Monotonic => "CLOCK_MONOTONIC",
    };
    Clock {
        source: format!("{ticks}; CLOCK_MONOTONIC ({source}) for wake-ups"),
        resolution_ns: check.resolution_ns.value().copied().unwrap_or(0),
        read_cost_ns: check.tick_cost_ns,
        longest_gap_ns: Some(longest_gap_ns()),
    }
}

/// The longest time between two readings in a row of a busy loop of 20 ms.
fn longest_gap_ns() -> u64 {
    let start = clock::monotonic_ns();
    let (mut last, mut longest) = (start, 0);
    while last - start < 20_000_000 {
        let now = clock::monotonic_ns();
        longest = longest.max(now - last);
        last = now;
    }
    longest
}

/// The session's audio files by name and digest: what is played is named here, not copied.
pub fn media(session: &Session) -> Vec<MediaFacts> {
    let facts = |media: &hocket_plan::session::Media| {
        let name = media.path.file_name().unwrap_or(media.path.as_os_str());
        MediaFacts { path: name.to_string_lossy().into_owned(), sha256: digest(&media.path) }
    };
    session.media.iter().map(facts).collect()
}

/// SHA-256 of a file in hexadecimal; `None` where it cannot be read (any more), or is a pipe, a device or a folder, which
/// may never end.
///
/// Memory: a buffer, however long the file is.
pub fn digest(path: &std::path::Path) -> Option<String> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).ok()?);
    let mut digest = Sha256::new();
    loop {
        let bytes = file.fill_buf().ok()?;
        if bytes.is_empty() {
            break;
        }
        digest.update(bytes);
        let read = bytes.len();
        file.consume(read);
    }
    Some(hexadecimal(&digest.finalize()))
}

/// SHA-256 of a text in hexadecimal.
pub fn digest_of(text: &str) -> String {
    digest_of_bytes(text.as_bytes())
}

/// SHA-256 of bytes in hexadecimal.
pub(crate) fn digest_of_bytes(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Now, as RFC 3339 in UTC, to the second.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    rfc3339(since.map_or(0, |since| since.as_secs()))
}

/// A time since 1970 as RFC 3339 in UTC, to the millisecond.
pub fn to_the_millisecond(since_1970: std::time::Duration) -> String {
    let whole = rfc3339(since_1970.as_secs());
    format!("{}.{:03}Z", whole.trim_end_matches('Z'), since_1970.subsec_millis())
}

/// Seconds since 1970 of a time as [`now`] writes it; fractions of a second are cut off. `None`: it is no such time, or its
/// offset is not zero.
pub(crate) fn seconds(rfc3339: &str) -> Option<u64> {
    let (time, rest) = rfc3339.split_at_checked(19)?;
    let rest = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let has_shape = time.char_indices().all(|(at, c)| match at {
        4 | 7 => c == '-',
        10 => c == 'T',
        13 | 16 => c == ':',
        _ => c.is_ascii_digit(),
    });
    if !has_shape || !matches!(rest, "Z" | "+00:00") {
        return None;
    }
    let part = |from: usize, to: usize| time[from..to].parse::<u64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(days * 86_400 + part(11, 13)? * 3600 + part(14, 16)? * 60 + part(17, 19)?)
}

/// Civil date from days since 1970, by the algorithm of H. Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms" (days_from_civil and its inverse).
pub(crate) fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_civil() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_772_323_199), "2026-02-28T23:59:59Z");
        assert_eq!(rfc3339(1_772_323_200), "2026-03-01T00:00:00Z");
        let late = std::time::Duration::from_micros(1_772_323_200_045_900);
        assert_eq!(to_the_millisecond(late), "2026-03-01T00:00:00.045Z");
    }

    #[test]
    fn times_are_read_back() {
        for time in [0, 951_782_400, 1_772_323_199, 1_772_323_200, 4_102_444_800] {
            assert_eq!(seconds(&rfc3339(time)), Some(time));
        }
        assert_eq!(seconds("2000-02-29T00:00:00.5+00:00"), Some(951_782_400));
        for wrong in ["", "2000-02-29", "2000-13-01T00:00:00Z", "2000-02-29T00:00:00+01:00", "é000"]
        {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn digests_are_those_of_the_standard() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(file.path()).as_deref(), Some(expected));
        assert_eq!(digest_of("abc"), expected);
        for no_file in ["/no/such/file", "/dev/zero", "/"] {
            assert_eq!(digest(std::path::Path::new(no_file)), None, "{no_file}");
        }
        let long = vec![b'a'; 1_000_000];
        std::fs::write(file.path(), &long).unwrap();
        let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(digest(file.path()).as_deref(), Some(expected), "of a million letters");
    }

    #[test]
    fn records_keep_scheduling_parameters_and_nothing_private() {
        let line = "quiet isolcpus=2,3 root=UUID=1234 nohz_full=2-3 processor.max_cstate=1 key=x";
        assert_eq!(relevant_parameters(line), "isolcpus=2,3 nohz_full=2-3 processor.max_cstate=1");
    }

    #[test]
    fn the_clock_is_described() {
        let clock = clock();
        assert!(clock.read_cost_ns > 0.0 && clock.longest_gap_ns.unwrap() > 0);
    }
}
