//! The table: what each crate may depend on.

/// What one crate may depend on.
#[derive(Debug)]
pub struct CrateRule {
    /// The crate.
    pub name: &'static str,
    /// Crates of this workspace that it may know.
    pub workspace: &'static [&'static str],
    /// Crates of this workspace that its tests may know besides.
    pub workspace_dev: &'static [&'static str],
    /// Foreign crates in what is shipped; tests may use any.
    pub external: External,
    /// Whether it may read and write formats (`serde` and its family).
    pub serde: bool,
    /// Modules of the standard library that its sources must not name.
    pub std_banned: &'static [&'static [&'static str]],
    /// The reason, as the end of a sentence; printed with a refusal.
    pub because: &'static str,
}

/// Foreign crates.
#[derive(Debug, Clone, Copy)]
pub enum External {
    /// Any that passes review.
    Any,
    /// These and no other.
    Only(&'static [Allow]),
}

/// A foreign crate that is allowed.
#[derive(Debug)]
pub struct Allow {
    /// Its name.
    pub name: &'static str,
    /// The `cfg(...)` that it must stand under.
    pub only_under: Option<&'static str>,
}

const fn always(name: &'static str) -> Allow {
    Allow { name, only_under: None }
}

const fn under(name: &'static str, target: &'static str) -> Allow {
    Allow { name, only_under: Some(target) }
}

/// Modules and types of the standard library that bring in threads.
const THREADS: &[&str] =
    &["thread", "sync::Mutex", "sync::RwLock", "sync::Condvar", "sync::Barrier", "sync::mpsc"];
/// The same without a lock: outputs that a command checks on one thread may end on another.
const THREADS_BUT_A_LOCK: &[&str] =
    &["thread", "sync::RwLock", "sync::Condvar", "sync::Barrier", "sync::mpsc"];
/// Clocks.
const TIME: &[&str] = &["time"];
/// Files and other processes.
const FILES: &[&str] = &["fs", "process"];
/// The network.
const NET: &[&str] = &["net"];
/// What else is not a pure function of its arguments.
const SYSTEM: &[&str] = &["env", "io", "os"];

/// Endings that say nothing about what a crate holds.
pub const NO_SUBJECT: [&str; 6] = ["core", "common", "utils", "util", "misc", "shared"];

/// Every crate of the workspace. Leaves first, then those that join them.
pub const CRATES: &[CrateRule] = &[
    CrateRule {
        name: "hocket-plan",
        workspace: &["hocket-time"],
        workspace_dev: &[],
        external: External::Only(&[always("thiserror")]),
        serde: false,
        std_banned: &[THREADS, TIME, FILES, NET, SYSTEM],
        because: "a plan is a pure function of session and seats and must run for any machine",
    },
    CrateRule {
        name: "hocket-dsp",
        workspace: &["hocket-time"],
        workspace_dev: &[],
        external: External::Only(&[]),
        serde: false,
        std_banned: &[THREADS, TIME, FILES, NET, SYSTEM],
        because: "processors run inside the block and know nothing but samples",
    },
    CrateRule {
        name: "hocket-rt",
        workspace: &[],
        workspace_dev: &[],
        external: External::Only(&[always("libc"), under("loom", "cfg(loom)")]),
        serde: false,
        std_banned: &[FILES, NET],
        because: "every line between two threads must be small enough to be proved",
    },
    CrateRule {
        name: "hocket-kernels",
        workspace: &["hocket-rt"],
        workspace_dev: &[],
        external: External::Only(&[
            always("libc"),
            always("parking_lot"),
            always("realfft"),
            under("loom", "cfg(loom)"),
        ]),
        serde: false,
        std_banned: &[FILES, NET],
        because: "what an experiment runs must not know what it is run for, nor write anything but what it times",
    },
    CrateRule {
        name: "hocket-machine",
        workspace: &[],
        workspace_dev: &[],
        external: External::Any,
        serde: true,
        std_banned: &[NET],
        because: "it reports and obeys, and never learns what for",
    },
    CrateRule {
        name: "hocket-trace",
        workspace: &[],
        workspace_dev: &[],
        external: External::Any,
        serde: true,
        std_banned: &[THREADS, TIME, FILES, NET],
        because: "a trace is plain data that any program may read",
    },
    CrateRule {
        name: "hocket-files",
        workspace: &[],
        workspace_dev: &[],
        external: External::Only(&[always("rustix")]),
        serde: false,
        std_banned: &[THREADS_BUT_A_LOCK, TIME, NET],
        because: "leaves that must not know each other read and write files in the same way",
    },
    CrateRule {
        name: "hocket-time",
        workspace: &[],
        workspace_dev: &[],
        external: External::Only(&[always("thiserror")]),
        serde: false,
        std_banned: &[THREADS, TIME, FILES, NET, SYSTEM],
        because: "time and events are values that every crate may share, and that blocks compute with",
    },
    CrateRule {
        name: "hocket-media",
        workspace: &["hocket-files"],
        workspace_dev: &[],
        external: External::Any,
        serde: false,
        std_banned: &[NET],
        because: "files of sound are of use without an engine",
    },
    CrateRule {
        name: "hocket-disk",
        workspace: &["hocket-dsp", "hocket-rt", "hocket-files", "hocket-media", "hocket-time"],
        workspace_dev: &[],
        external: External::Only(&[always("midly"), always("thiserror")]),
        serde: false,
        std_banned: &[NET],
        because: "what waits for disks must not know what plays, nor the reverse",
    },
    CrateRule {
        name: "hocket-session",
        workspace: &["hocket-plan", "hocket-time", "hocket-files"],
        workspace_dev: &[],
        external: External::Any,
        serde: true,
        std_banned: &[THREADS, TIME, NET],
        because: "a reader of session files turns text into the plan's model and nothing else",
    },
    CrateRule {
        name: "hocket-dawproject",
        workspace: &[
            "hocket-plan",
            "hocket-time",
            "hocket-files",
            "hocket-session",
            "hocket-media",
        ],
        workspace_dev: &["hocket-engine"],
        external: External::Any,
        serde: false,
        std_banned: &[THREADS, TIME, NET],
        because: "what reads other programs' projects makes a session of them and nothing else",
    },
    CrateRule {
        name: "hocket-engine",
        workspace: &[
            "hocket-plan",
            "hocket-dsp",
            "hocket-time",
            "hocket-rt",
            "hocket-machine",
            "hocket-trace",
        ],
        workspace_dev: &[],
        external: External::Any,
        serde: false,
        std_banned: &[NET],
        because: "the engine is handed a plan and sound, never a file, and does not know the lab",
    },
    CrateRule {
        name: "hocket-streams",
        workspace: &[
            "hocket-files",
            "hocket-session",
            "hocket-media",
            "hocket-disk",
            "hocket-engine",
        ],
        workspace_dev: &[],
        external: External::Only(&[always("rustix"), always("tempfile"), always("thiserror")]),
        serde: false,
        std_banned: &[NET],
        because: "it joins the engine and the disk for the program and the C library alike",
    },
    CrateRule {
        name: "hocket-devices",
        workspace: &["hocket-engine", "hocket-machine"],
        workspace_dev: &["hocket-plan"],
        external: External::Only(&[always("libloading"), always("rubato"), always("thiserror")]),
        serde: false,
        std_banned: &[FILES, NET],
        because: "a device asks an engine for blocks and knows no session, file or lab",
    },
    CrateRule {
        name: "hocket-plugins",
        workspace: &["hocket-dsp", "hocket-time", "hocket-files"],
        workspace_dev: &[],
        external: External::Only(&[
            always("clack-extensions"),
            always("clack-host"),
            always("libc"),
            always("libloading"),
            always("rustix"),
            always("serde"),
            always("serde_json"),
            always("tempfile"),
            always("vst3"),
        ]),
        serde: true,
        std_banned: &[NET],
        because: "a host of plug-ins makes processors of them and knows no engine or session",
    },
    CrateRule {
        name: "hocket-convolution",
        workspace: &["hocket-dsp"],
        workspace_dev: &[],
        external: External::Only(&[always("rustfft")]),
        serde: false,
        std_banned: &[THREADS, TIME, FILES, NET, SYSTEM],
        because: "it makes a processor of rows of samples, and knows no file, engine or session",
    },
    CrateRule {
        name: "hocket-soundfont",
        workspace: &["hocket-dsp", "hocket-time"],
        workspace_dev: &[],
        external: External::Only(&[]),
        serde: false,
        std_banned: &[THREADS, TIME, NET],
        because: "it reads one kind of file and makes a processor of it, and knows no engine or session",
    },
    CrateRule {
        name: "hocket-stats",
        workspace: &[],
        workspace_dev: &[],
        external: External::Only(&[]),
        serde: false,
        std_banned: &[TIME, FILES, NET, SYSTEM],
        because: "what samples show depends on the samples alone",
    },
    CrateRule {
        name: "hocket-lab",
        workspace: &[
            "hocket-stats",
            "hocket-plan",
            "hocket-dsp",
            "hocket-kernels",
            "hocket-rt",
            "hocket-machine",
            "hocket-trace",
            "hocket-files",
            "hocket-media",
            "hocket-engine",
        ],
        workspace_dev: &[],
        external: External::Any,
        serde: true,
        std_banned: &[],
        because: "the lab measures through the engine's own door",
    },
    CrateRule {
        name: "hocket-c",
        workspace: &[
            "hocket-machine",
            "hocket-files",
            "hocket-session",
            "hocket-media",
            "hocket-disk",
            "hocket-engine",
            "hocket-streams",
        ],
        workspace_dev: &[],
        external: External::Only(&[]),
        serde: false,
        std_banned: &[NET],
        because: "it only translates: what it hands to C has to exist for Rust first",
    },
    CrateRule {
        name: "hocket",
        workspace: &[
            "hocket-plan",
            "hocket-dsp",
            "hocket-rt",
            "hocket-machine",
            "hocket-trace",
            "hocket-files",
            "hocket-session",
            "hocket-dawproject",
            "hocket-media",
            "hocket-disk",
            "hocket-engine",
            "hocket-streams",
            "hocket-devices",
            "hocket-plugins",
            "hocket-convolution",
            "hocket-soundfont",
            "hocket-lab",
        ],
        workspace_dev: &["hocket-disk"],
        external: External::Any,
        serde: true,
        std_banned: &[],
        because: "it wires the parts together",
    },
    CrateRule {
        name: "xtask",
        workspace: &[],
        workspace_dev: &[],
        external: External::Only(&[always("serde_json")]),
        serde: true,
        std_banned: &[],
        because: "the checks must build in seconds and not depend on what they check",
    },
];

/// The row of the crate called `name`.
pub fn of(name: &str) -> Option<&'static CrateRule> {
    CRATES.iter().find(|rule| rule.name == name)
}

/// Whether `name` is a crate of this project.
pub fn is_ours(name: &str) -> bool {
    name == "hocket" || name == "xtask" || name.starts_with("hocket-")
}

/// Whether `name` is `serde` or one of its family.
pub fn is_serialiser(name: &str) -> bool {
    name == "serde" || name.starts_with("serde_") || name.starts_with("serde-")
}

/// What to do instead of depending on serde.
pub fn serde_remedy() -> String {
    let edges: Vec<&str> = CRATES.iter().filter(|rule| rule.serde).map(|rule| rule.name).collect();
    format!("formats are read and written at the edges only: {}", edges.join(", "))
}
