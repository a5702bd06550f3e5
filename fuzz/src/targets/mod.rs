//! One target per parser: a function that takes any bytes and panics where Hocket breaks a promise.
//!
//! A target checks more than that nothing panics: what is read twice is equal, what is written and read again is
//! equal, an error has a message, and what a parser accepts can be used.

mod scratch;
mod words;

mod audio;
mod costs;
mod cycles;
mod dawproject;
mod hosts;
mod job;
mod lab;
mod lists;
mod midi;
mod overview;
mod patterns;
mod plugins;
mod profile;
mod record;
mod recover;
mod session;
mod soundfont;
mod switches;
mod sysfs;
mod tempo;
mod topology;
mod traces;

/// A parser and its bounds.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its folders in `corpus/` and `regressions/`, and of its file in `fuzz_targets/`.
    pub name: &'static str,
    /// Takes any bytes.
    pub check: fn(&[u8]),
    /// The most memory that one input may take. Fuzzers alone hold it to this.
    #[allow(dead_code, reason = "the test of the kept inputs does not count memory")]
    pub memory_mib: usize,
}

/// A target of this name.
pub const fn target(name: &'static str, check: fn(&[u8]), memory_mib: usize) -> Target {
    Target { name, check, memory_mib }
}

/// All of them.
pub const TARGETS: [Target; 22] = [
    // A compressed file of some kilobytes may hold minutes of silence.
    target("audio", audio::check, 1024),
    target("costs", costs::check, 64),
    target("cycles", cycles::check, 256),
    // A text of some kilobytes may lay out its loops as hundreds of thousands of clips.
    target("dawproject", dawproject::check, 512),
    target("hosts", hosts::check, 64),
    target("job", job::check, 64),
    target("lab", lab::check, 256),
    target("lists", lists::check, 64),
    target("midi", midi::check, 64),
    target("overview", overview::check, 64),
    target("patterns", patterns::check, 64),
    target("plugins", plugins::check, 128),
    target("profile", profile::check, 64),
    target("record", record::check, 256),
    target("recover", recover::check, 64),
    // A short file may ask for 1024 copies of each strip.
    target("session", session::check, 512),
    // A file of some kilobytes may have hundreds of thousands of regions.
    target("soundfont", soundfont::check, 512),
    // Each of 2048 CPUs may have a lane on the page.
    target("switches", switches::check, 256),
    target("sysfs", sysfs::check, 256),
    target("tempo", tempo::check, 64),
    target("topology", topology::check, 256),
    target("traces", traces::check, 256),
];
