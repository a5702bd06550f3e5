//! Headings under which the long `--help` and the man pages gather options. What has no heading stands first.

/// Options that decide which threads play, and how.
pub const WORKERS: &str = "Workers";
/// Options of `play` for JACK and sound cards.
pub const DEVICE: &str = "Sound device";
/// Options of `play` for what it keeps.
pub const RECORDING: &str = "Recording and log";
/// Options of `play` for who may steer it.
pub const REMOTE: &str = "Remote control";
/// Options of `trace` for what it watches in place of a session.
pub const WATCHING: &str = "Other programs and files";
/// Options of `bench` for how it measures.
pub const MEASURING: &str = "Measurement";
/// Options for plug-ins.
pub const PLUGINS: &str = "Plug-ins";
/// Options for files that are no session files.
pub const PROJECTS: &str = "DAWproject and MIDI files";
