//! Figures printed long ago, to stand beside today's.
//!
//! They were measured on other machines, with other software and other questions, and are quoted,
//! not compared: a report prints them beside its own table with their source.

/// Sessions for which there is an old figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// Independent tracks that keep every core busy, nothing else running.
    BestCase,
    /// Four tracks while the program computes waveform previews of large files.
    WorstCase4,
    /// The same with eight tracks.
    WorstCase8,
}

impl SessionKind {
    /// The kind a session's name or file name tells, whatever its case and punctuation:
    /// `best-case`, `sessions/worst-case-4.toml`, `Worst case 8`.
    pub fn of_name(name: &str) -> Option<SessionKind> {
        let stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let stem = stem.strip_suffix(".toml").unwrap_or(stem);
        let plain: String = stem.chars().filter(char::is_ascii_alphanumeric).collect();
        match plain.to_ascii_lowercase().as_str() {
            "bestcase" | "bestcase8" => Some(SessionKind::BestCase),
            "worstcase4" => Some(SessionKind::WorstCase4),
            "worstcase8" => Some(SessionKind::WorstCase8),
            _ => None,
        }
    }
}

/// Mean and slowest block time of one configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockTime {
    /// Operating system.
    pub os: &'static str,
    /// What was switched on.
    pub configuration: &'static str,
    /// Mean over the blocks.
    pub mean_ms: f64,
    /// The slowest block.
    pub max_ms: f64,
}

/// A table from an old text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoricTable {
    /// What the text calls the session.
    pub project: &'static str,
    /// Where it is printed.
    pub source: &'static str,
    /// What it ran on.
    pub machine: &'static str,
    /// What a figure is.
    pub definition: &'static str,
    /// What was played, in words.
    pub played: &'static str,
    /// How many tracks that had.
    pub tracks: usize,
    /// Whether something was computed beside it.
    pub disturbed: bool,
    /// The figures.
    pub rows: &'static [BlockTime],
}

/// The table to print beside a session of this kind; `None` where nothing was printed for it.
pub fn for_session_kind(kind: SessionKind) -> Option<HistoricTable> {
    let worst = "four channels, with the waveform previews of several large files computed beside";
    let (project, rows, played, tracks, disturbed) = match kind {
        SessionKind::BestCase => {
            ("best-case", BEST_CASE, "eight independent channels, and nothing beside", 8, false)
        }
        SessionKind::WorstCase4 | SessionKind::WorstCase8 => {
            ("worst-case", WORST_CASE, worst, 4, true)
        }
    };
    Some(HistoricTable {
        project,
        source: SOURCE,
        machine: MACHINE,
        definition: DEFINITION,
        played,
        tracks,
        disturbed,
        rows,
    })
}

impl HistoricTable {
    /// What the table was made with, and what differs in a run of so many tracks beside these disturbers.
    pub fn caution(&self, tracks: usize, disturbers: &[String]) -> String {
        let played = format!("The table was made with {}.", self.played);
        let beside = match disturbers {
            [] => "nothing beside".to_string(),
            some => format!("beside {}", some.join(", ")),
        };
        let is_preview = disturbers.iter().all(|it| it.split(':').next() == Some("preview"));
        let alike = disturbers.is_empty() != self.disturbed && is_preview;
        match tracks == self.tracks && alike {
            true if disturbers.is_empty() => played,
            true => format!("{played} This run had the preview of one file."),
            false => {
                format!("{played} This run had {tracks} tracks, {beside}: the two do not compare.")
            }
        }
    }
}

const SOURCE: &str = "bachelor thesis, HAW Hamburg, 2009, section 8.3.4";
const MACHINE: &str = "Intel Core i7 Extreme 965 (4 cores, 8 threads, 3.2 GHz)";
const DEFINITION: &str = "Time to process one block, mean and slowest of 3000; effects were added until a block took about 2 ms. \
                          \"smt disabled\" was SMT switched off; the policy `off` leaves the siblings free.";

const fn row(
    os: &'static str,
    configuration: &'static str,
    mean_ms: f64,
    max_ms: f64,
) -> BlockTime {
    BlockTime { os, configuration, mean_ms, max_ms }
}

const XP: &str = "Windows XP";
const VISTA: &str = "Windows Vista";
const OFF: &str = "smt disabled";
const ON: &str = "smt enabled";
const BARRIERS: &str = "smt enabled, htBarriers";

const BEST_CASE: &[BlockTime] = &[
    row(XP, OFF, 2.069, 2.800),
    row(XP, ON, 1.850, 2.013),
    row(XP, BARRIERS, 1.860, 1.970),
    row(VISTA, OFF, 2.094, 2.346),
    row(VISTA, ON, 1.911, 2.374),
    row(VISTA, BARRIERS, 1.933, 2.122),
];

const WORST_CASE: &[BlockTime] = &[
    row(XP, OFF, 1.630, 1.861),
    row(XP, ON, 2.039, 2.528),
    row(XP, BARRIERS, 2.162, 2.358),
    row(VISTA, OFF, 1.705, 1.956),
    row(VISTA, ON, 2.243, 2.783),
    row(VISTA, BARRIERS, 2.259, 2.456),
];
