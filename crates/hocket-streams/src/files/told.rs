//! What loading says, and the words in which a program says it.

/// What loading finds out about audio files, place included.
#[derive(Debug, Default)]
pub struct Told {
    /// What became of each file.
    pub details: Vec<String>,
    /// What the user ought to know.
    pub warnings: Vec<String>,
    /// Files that are cut short or damaged, for programs that refuse them if the user asks for that.
    pub damaged: Vec<String>,
}

/// How the user of a program changes what decides how files play, as messages name it.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// What lets long files play from the disk: `leave out --disk-buffer 0`.
    pub stream: &'static str,
    /// What runs a session at another rate, which follows: `run at its rate with --rate`.
    pub run_at: &'static str,
    /// The option that refuses damaged files: `--strict`. `None`: what can be read of them always plays.
    pub refuse_damaged: Option<&'static str>,
}
