//! Printing and progress.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Exit;

/// Whether something could not be printed. Relaxed everywhere: it stands for itself.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints to standard output. A reader that went away (`| head`) is no error; a full disk is, and the
/// program then ends with exit code 3.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("hocket: standard output: {error}: what was to be printed is lost");
            LOST.store(true, Relaxed);
        }
        _ => {}
    }
}

/// How a command ends that would otherwise have ended well.
pub(crate) fn checked(exit: Exit) -> Exit {
    if exit == Exit::Done && LOST.load(Relaxed) { Exit::NotPossible } else { exit }
}

/// A progress bar on standard error, hidden where that is no terminal.
pub(crate) fn bar(length: u64, what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style).with_message(what)
}

/// A line on standard error that tells how it goes, hidden where that is no terminal.
pub(crate) fn line() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg}");
    ProgressBar::no_length().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}
