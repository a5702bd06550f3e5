//! The record of `hocket capacity`, with which a later call goes on.

use std::collections::BTreeMap;
use std::path::Path;

use hocket_files::read_text;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::runs::{Verdict, Wish};
use super::search::Found;
use crate::foreign::plain;
use crate::record::{Build, Clock, MediaFacts, RecordError, ThreadGrant, write_text_atomic};
use crate::tune::Conditions;

/// Name and version of the format, the first thing in the file.
pub const FORMAT: &str = "hocket-capacity/1";

/// What the format of every version begins with.
const FAMILY: &str = "hocket-capacity/";

/// The largest record. One of all block lengths has some kilobytes.
const MAX_BYTES: u64 = 64 << 20;

/// All block lengths that are done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// [`FORMAT`].
    pub format: String,
    /// What measured.
    pub hocket: Build,
    /// The last command line, program name first, as it can be typed again.
    pub command: Vec<String>,
    /// RFC 3339, UTC: of the first call.
    pub started_at: String,
    /// RFC 3339, UTC: of the last block length.
    pub finished_at: String,
    /// What was played.
    pub session: PlayedSession,
    /// What was asked of the long runs.
    pub wish: Wish,
    /// What else must be the same when a call goes on: by option, or in words.
    pub conditions: BTreeMap<String, String>,
    /// What of the machine must be the same.
    pub machine_conditions: Conditions,
    /// `facts` and `topology` of the machine, as hocket-machine serialises them.
    #[serde(default)]
    pub machine: Value,
    /// What the system allows and why not.
    #[serde(default)]
    pub grants: Value,
    /// The clock all times were taken with.
    pub clock: Clock,
    /// By rising block length.
    pub sizes: Vec<SizeRecord>,
}

/// The session without copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayedSession {
    /// For people.
    pub name: String,
    /// As given on the command line.
    pub file: String,
    /// Digest of the file and of what it names besides audio.
    pub content_sha256: Option<String>,
    /// The sample rate at which it was played.
    pub rate_hz: u32,
    /// Its tracks: the fewest channels.
    pub tracks: usize,
    /// The audio files.
    pub media: Vec<MediaFacts>,
}

/// One block length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeRecord {
    /// Frames per block.
    pub frames: u32,
    /// `dataflow / off / hybrid`.
    pub way: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC.
    pub finished_at: String,
    /// The most channels that were to be tried.
    pub most_channels: usize,
    /// What each thread asked of the system, and what it got.
    #[serde(default)]
    pub threads: Vec<ThreadGrant>,
    /// What a reader has to know besides, a sentence each.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Probes and runs.
    pub found: Found,
}

impl SizeRecord {
    /// What its runs show.
    pub fn verdict(&self) -> Verdict<'_> {
        Verdict::of(&self.found.runs)
    }
}

/// Whether a file calls itself a record of this family, of whatever version.
pub fn is_record(path: &Path) -> bool {
    crate::provenance::format_of(path).is_some_and(|format| format.starts_with(FAMILY))
}

impl CapacityRecord {
    /// Reads a record.
    ///
    /// # Errors
    /// What is wrong with the file, and what to do.
    pub fn read(path: &Path) -> Result<CapacityRecord, String> {
        #[derive(Deserialize)]
        struct Head {
            format: Option<String>,
        }
        let refused = |why: String| {
            format!("{}: {why}; name another file, or begin anew with --force", path.display())
        };
        let text = read_text(path, MAX_BYTES)
            .map_err(|error| refused(format!("cannot be read: {error}")))?;
        let damaged =
            |error: serde_json::Error| refused(format!("this is no whole record: {error}"));
        let head: Head = serde_json::from_slice(&text).map_err(damaged)?;
        match head.format.as_deref() {
            Some(FORMAT) => serde_json::from_slice(&text).map_err(damaged),
            Some(other) => Err(refused(format!(
                "format \"{}\", and this hocket goes on with \"{FORMAT}\" only",
                plain(other)
            ))),
            None => Err(refused("this is JSON, but no record of `hocket capacity`".into())),
        }
    }

    /// Writes the record, all of it or nothing.
    ///
    /// # Errors
    /// [`RecordError::Write`].
    pub fn write_atomic(&self, path: &Path) -> Result<(), RecordError> {
        write_text_atomic(path, &self.json())
    }

    /// As JSON text.
    pub fn json(&self) -> String {
        let json = serde_json::to_string_pretty(self);
        json.expect("a record has names as keys and nothing that JSON lacks") + "\n"
    }

    /// Why `now`, which holds no size yet, cannot go on with this one.
    pub fn misfit(&self, now: &CapacityRecord) -> Option<String> {
        let changed = |what: &str, then: &str, now: &str| {
            (then != now).then(|| format!("{what} was '{}' and is '{}'", plain(then), plain(now)))
        };
        let build = |record: &CapacityRecord| {
            let Build { version, commit, program_sha256, .. } = &record.hocket;
            [Some(version.clone()), commit.clone(), program_sha256.clone().map(short)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let session = |record: &CapacityRecord| {
            record.session.content_sha256.clone().map_or("unknown".into(), short)
        };
        let wish = |record: &CapacityRecord| {
            let Wish { least_s, is_exact, late_per_hour } = record.wish;
            let wanted = late_per_hour
                .map_or(String::new(), |wanted| format!(" and {wanted} late blocks an hour"));
            format!("{} {least_s} s{wanted}", if is_exact { "just" } else { "at least" })
        };
        let names = self.conditions.keys().chain(now.conditions.keys());
        let condition = |record: &CapacityRecord, name: &String| {
            record.conditions.get(name).cloned().unwrap_or_default()
        };
        let other_audio = self.session.media != now.session.media;
        changed("the program", &build(self), &build(now))
            .or_else(|| changed("the session", &session(self), &session(now)))
            .or_else(|| other_audio.then(|| "the session played other audio files".into()))
            .or_else(|| {
                changed(
                    "the sample rate",
                    &self.session.rate_hz.to_string(),
                    &now.session.rate_hz.to_string(),
                )
            })
            .or_else(|| self.machine_conditions.changed(&now.machine_conditions).into_iter().next())
            .or_else(|| changed("the wish (--time, --late-per-hour)", &wish(self), &wish(now)))
            .or_else(|| {
                names
                    .into_iter()
                    .find_map(|name| changed(name, &condition(self, name), &condition(now, name)))
            })
    }

    /// Adds a block length that is done, in its place.
    pub fn add(&mut self, size: SizeRecord) {
        self.finished_at.clone_from(&size.finished_at);
        let at = self.sizes.partition_point(|known| known.frames < size.frames);
        self.sizes.insert(at, size);
    }

    /// Whether it has this block length.
    pub fn has(&self, frames: u32) -> bool {
        self.sizes.iter().any(|size| size.frames == frames)
    }
}

/// The first digits of a digest.
fn short(digest: String) -> String {
    digest.chars().take(12).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::runs::{Played, Probe, Run, outside};
    use super::*;

    /// A record with one block length for each of these: frames, and channels and misses of each run.
    pub(in super::super) fn record(sizes: &[(u32, &[(usize, u64)])]) -> CapacityRecord {
        let wish = Wish { least_s: 120.0, is_exact: true, late_per_hour: None };
        let run = |attempt: usize, &(channels, late): &(usize, u64)| {
            let played = Played {
                channels,
                late,
                blocks: 90_000,
                played_s: 120.0,
                is_whole: true,
                ready_p99_ns: 1e6,
                ..Played::default()
            };
            Run::of(played, outside(attempt), &wish)
        };
        let probes = vec![Probe { channels: 8, blocks: 750, load: 0.2, ..Probe::default() }];
        let size = |&(frames, runs): &(u32, &[(usize, u64)])| SizeRecord {
            frames,
            way: "dataflow / off / hybrid".into(),
            started_at: "2026-05-01T10:00:00Z".into(),
            finished_at: "2026-05-01T10:05:00Z".into(),
            most_channels: 2_000,
            threads: Vec::new(),
            remarks: Vec::new(),
            found: Found {
                probes: probes.clone(),
                runs: runs.iter().enumerate().map(|(at, it)| run(at, it)).collect(),
            },
        };
        CapacityRecord {
            format: FORMAT.into(),
            hocket: Build {
                version: "0.1.0".into(),
                commit: None,
                dirty: false,
                rustc: "rustc".into(),
                program_sha256: None,
            },
            command: vec!["hocket".into(), "capacity".into(), "a.toml".into()],
            started_at: "2026-05-01T10:00:00Z".into(),
            finished_at: "2026-05-01T10:05:00Z".into(),
            session: PlayedSession {
                name: "Song".into(),
                file: "a.toml".into(),
                content_sha256: Some("5f70bf18a086007016e948b04aed3b82".into()),
                rate_hz: 48_000,
                tracks: 8,
                media: Vec::new(),
            },
            wish,
            conditions: BTreeMap::from([("--workers".into(), "2".into())]),
            machine_conditions: Conditions {
                hocket: "0.1.0".into(),
                processor: "P".into(),
                microcode: "1".into(),
                kernel: "6.1".into(),
                hypervisor: "kvm".into(),
                governor: "unknown".into(),
                topology: "0 1".into(),
            },
            machine: Value::Null,
            grants: Value::Null,
            clock: Clock {
                source: "tsc".into(),
                resolution_ns: 1,
                read_cost_ns: 20.0,
                longest_gap_ns: None,
            },
            sizes: sizes.iter().map(size).collect(),
        }
    }

    #[test]
    fn a_record_is_read_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        let written = record(&[(64, &[(120, 3), (114, 0)]), (128, &[(300, 30)])]);
        written.write_atomic(&path).unwrap();
        assert_eq!(CapacityRecord::read(&path), Ok(written));
        assert!(is_record(&path));
    }

    #[test]
    fn other_files_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        for (text, word) in [
            ("{\"format\":\"hocket-bench/2\"}", "hocket-bench/2"),
            ("{\"format\":\"hocket-capacity/9\"}", "hocket-capacity/9"),
            ("{}", "no record of"),
            ("{\"format\":\"hocket-capacity/1\"}", "no whole record"),
            ("{\"form", "no whole record"),
        ] {
            std::fs::write(&path, text).unwrap();
            let why = CapacityRecord::read(&path).unwrap_err();
            assert!(
                why.contains("c.json") && why.contains(word) && why.contains("--force"),
                "{why}"
            );
        }
    }

    #[test]
    fn a_call_goes_on_only_under_the_same_conditions() {
        let before = record(&[(64, &[(120, 0)])]);
        let now = record(&[]);
        assert_eq!(before.misfit(&now), None);
        let mut others = Vec::new();
        let mut other = |change: fn(&mut CapacityRecord), word: &'static str| {
            let mut changed = now.clone();
            change(&mut changed);
            others.push((changed, word));
        };
        other(|it| it.hocket.version = "0.2.0".into(), "the program was '0.1.0' and is '0.2.0'");
        other(|it| it.session.content_sha256 = Some("aa".into()), "the session");
        other(|it| it.session.rate_hz = 96_000, "the sample rate was '48000'");
        other(
            |it| it.session.media.push(MediaFacts { path: "a.wav".into(), sha256: None }),
            "other audio",
        );
        other(|it| it.machine_conditions.kernel = "6.2".into(), "the kernel was '6.1'");
        other(|it| it.wish.least_s = 60.0, "just 120 s' and is 'just 60 s");
        other(|it| it.wish.late_per_hour = Some(5.0), "5 late blocks an hour");
        other(
            |it| _ = it.conditions.insert("--workers".into(), "1".into()),
            "--workers was '2' and is '1'",
        );
        other(
            |it| _ = it.conditions.insert("--policy".into(), "all".into()),
            "--policy was '' and is 'all'",
        );
        for (changed, word) in others {
            let why = before.misfit(&changed).unwrap_or_default();
            assert!(why.contains(word), "{word}: {why}");
        }
    }

    #[test]
    fn sizes_are_kept_by_their_length() {
        let mut all = record(&[(32, &[(1, 0)]), (256, &[(1, 0)])]);
        let more = record(&[(64, &[(1, 0)])]).sizes.remove(0);
        all.add(more);
        assert_eq!(all.sizes.iter().map(|size| size.frames).collect::<Vec<_>>(), [32, 64, 256]);
        assert!(all.has(64) && !all.has(128));
    }
}
