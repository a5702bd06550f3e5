//! A sound card of a test's own: a real libasound with a plug-in that has a card's clock, and what befalls cards.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The plug-in's source; its first lines say what can befall the card.
const SOURCE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../hocket-devices/tests/alsa_card/card.c");
const HEADER: &str = "alsa/asoundlib.h";

/// What befalls the card, and how it takes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plot<'a> {
    /// Each as `xrun@20`, with a space between.
    pub playback: &'a str,
    pub capture: &'a str,
    /// For so long it asks for nothing, beyond what it has to play.
    pub rests_ms: u32,
    /// Whether it goes on where it was when it is asked to.
    pub resumes: bool,
    /// So many times after a suspend it is not yet awake when it is asked to begin anew.
    pub dozes: u32,
}

/// The card: its plug-in, and ALSA's settings for it alone. Its PCM is `card`; `through` is the same behind ALSA's `plug`,
/// and `mapped` behind its `file`, which is written to in memory, as a card is.
pub struct Card {
    folder: tempfile::TempDir,
}

impl Card {
    /// `None`, and a line that says why: it cannot be built here.
    pub fn build(test: &str, plot: Plot<'_>) -> Option<Card> {
        let folder = tempfile::tempdir().unwrap();
        if let Err(why) = compile(&folder.path().join("card.so")) {
            println!("SKIPPED {test}: {why}");
            return None;
        }
        let card = Card { folder };
        std::fs::write(card.settings(), card.settings_text(plot)).unwrap();
        Some(card)
    }

    /// What `ALSA_CONFIG_PATH` has to be.
    pub fn settings(&self) -> PathBuf {
        self.path("alsa.conf")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The stretches that the side ran, and what befell it meanwhile.
    pub fn runs(&self, side: &str) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut is_running = false;
        for Entry { what, at, lost } in self.journal(side) {
            if what == "start" {
                runs.push(Run { from: at, to: at, lost: 0, befell: None });
                is_running = true;
            }
            let Some(run) = runs.last_mut().filter(|_| is_running) else { continue };
            (run.to, run.lost) = (at, run.lost + lost);
            match what.as_str() {
                "start" | "resume" => {}
                "stop" => is_running = false,
                _ => run.befell = Some(what),
            }
        }
        runs
    }

    fn settings_text(&self, plot: Plot<'_>) -> String {
        let folder = self.folder.path().display();
        let Plot { playback, capture, rests_ms, resumes, dozes } = plot;
        let resumes = u8::from(resumes);
        format!(
            "pcm_type.hocket_card {{\n  lib \"{folder}/card.so\"\n}}\n\
             pcm.card {{\n  type hocket_card\n  folder \"{folder}\"\n  playback \"{playback}\"\n  \
             capture \"{capture}\"\n  rests_ms {rests_ms}\n  resumes {resumes}\n  dozes {dozes}\n}}\n\
             pcm.through {{\n  type plug\n  slave.pcm card\n}}\n\
             pcm.mapped {{\n  type file\n  slave.pcm card\n  file /dev/null\n  format raw\n}}\n"
        )
    }

    /// What the card has played, by channel.
    pub fn played(&self, channels: usize) -> Vec<Vec<f32>> {
        let bytes = std::fs::read(self.path("PLAYBACK-sound")).unwrap();
        let samples: Vec<f32> =
            bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let channel = |first: usize| samples[first..].iter().step_by(channels).copied().collect();
        (0..channels).map(channel).collect()
    }

    /// What happened to the side that plays (`PLAYBACK`), or to the one that records (`CAPTURE`).
    fn journal(&self, side: &str) -> Vec<Entry> {
        let text = std::fs::read_to_string(self.path(&format!("{side}-journal"))).unwrap();
        text.lines().map(Entry::read).collect()
    }
}

/// A line of a card's journal.
struct Entry {
    /// `start`, `stop`, `resume`, or what befell it.
    what: String,
    /// Frames that it had moved by then.
    at: usize,
    /// Frames that were written, or recorded, and are lost with it.
    lost: usize,
}

impl Entry {
    fn read(line: &str) -> Entry {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, at, lost] = words[..] else { panic!("{line}") };
        Entry { what: what.into(), at: at.parse().unwrap(), lost: lost.parse().unwrap() }
    }
}

/// From a start to a stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Frames that the card had moved before it, and at its end.
    pub from: usize,
    pub to: usize,
    /// Frames that were written, or recorded, and are lost.
    pub lost: usize,
    /// What befell the card; `None`: it was stopped.
    pub befell: Option<String>,
}

/// Errors: what is missing, and what helps.
fn compile(plug_in: &Path) -> Result<(), String> {
    let cc = |args: &[&str]| {
        let done = Command::new("cc").args(args).output();
        done.map_err(|error| {
            format!("no compiler: cc: {error}; install one (Debian: gcc libc6-dev)")
        })
    };
    let has_header = cc(&["-E", "-include", HEADER, "-x", "c", "/dev/null"])?;
    if !has_header.status.success() {
        return Err(format!("no {HEADER}: install ALSA's headers (Debian: libasound2-dev)"));
    }
    let out = plug_in.display().to_string();
    // PIC: ALSA's macros then make what its loader looks for.
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-DPIC", "-shared"];
    let built = cc(&[&flags[..], &["-o", &out, SOURCE, "-lasound"]].concat())?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Ok(())
}
