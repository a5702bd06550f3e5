//! Printing and progress. Nothing else of Hocket prints, so no text from elsewhere reaches a terminal as it is. What a
//! plug-in prints to standard output goes to standard error: see [`StandardOutput::keep`].

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use hocket_files::StandardOutput;
use hocket_lab::foreign;

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Exit;

/// Whether something could not be printed. Relaxed everywhere: it stands for itself.
static LOST: AtomicBool = AtomicBool::new(false);

/// How much is said beside results, warnings and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Talk {
    /// Nothing.
    Quiet,
    /// Progress, what was written, and what was found out.
    Usual,
    /// Also what it was done with, and where the time went.
    Verbose,
}

/// Set once, before the command begins. Relaxed everywhere: it stands for itself.
static TALK: AtomicU8 = AtomicU8::new(Talk::Usual as u8);

/// What the user asked for.
pub(crate) fn set_talk(talk: Talk) {
    TALK.store(talk as u8, Relaxed);
}

pub(crate) fn says(talk: Talk) -> bool {
    TALK.load(Relaxed) >= talk as u8
}

/// The flag with which the program, started by itself, says as much.
pub(crate) fn talk_flag() -> Option<&'static str> {
    match TALK.load(Relaxed) {
        talk if talk == Talk::Quiet as u8 => Some("--quiet"),
        talk if talk == Talk::Verbose as u8 => Some("--verbose"),
        _ => None,
    }
}

/// Tells what is good to know and no problem; not with `--quiet`.
pub(crate) fn note(what: impl Display) {
    if says(Talk::Usual) {
        tell(what);
    }
}

/// Tells what was asked for and is not done, or is done in another way; with `--quiet`, too.
pub(crate) fn warn(what: impl Display) {
    tell(format_args!("warning: {what}"));
}

/// Tells a detail; only with `--verbose`.
pub(crate) fn detail(what: impl Display) {
    if says(Talk::Verbose) {
        tell(what);
    }
}

/// Prints text for people to standard output, with control characters escaped. A reader that went away
/// (`| head`) is no error; a full disk is, and the program then ends with exit code 3.
pub(crate) fn print(text: &str) {
    let _ = print_part(text, Form::Text);
}

/// Prints JSON. Hidden characters get JSON's own escapes, so it stays the same value.
pub(crate) fn print_json(text: &str) {
    let _ = print_part(text, Form::Json);
}

/// Prints rows for other programs: every byte as it is, unless a terminal reads them.
pub(crate) fn print_rows(text: &str) {
    let _ = print_part(text, Form::Rows);
}

/// What is printed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// As [`print`].
    Text,
    /// As [`print_json`].
    Json,
    /// As [`print_rows`].
    Rows,
}

/// Prints a part of a text that is made piece by piece. `Break`: nothing more arrives, because the reader went away or
/// something was lost.
pub(crate) fn print_part(text: &str, form: Form) -> ControlFlow<()> {
    match form {
        Form::Json => put(&foreign::json(text)),
        Form::Rows if !StandardOutput.as_fd().is_terminal() => put(text),
        Form::Rows | Form::Text => put(&foreign::lines(&in_one_line(text))),
    }
}

/// Words of the command line with line breaks in them, such as names of files, are a part of a line wherever they are shown:
/// no name may begin a line that Hocket seems to say.
fn in_one_line(text: &str) -> Cow<'_, str> {
    static BROKEN: OnceLock<Vec<String>> = OnceLock::new();
    let broken = BROKEN.get_or_init(|| {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        words.flat_map(with_line_breaks).collect()
    });
    replaced(text, broken)
}

/// The word, what stands in it behind `=`, and of both, as paths, each name with and without its ending: what of it has line
/// breaks, the longest first. A name that only ends with one begins no line with words of its own.
fn with_line_breaks(word: String) -> impl Iterator<Item = String> {
    let value = word.split_once('=').map(|(_, value)| value.to_owned());
    let whole: Vec<String> = std::iter::once(word).chain(value).collect();
    let names: Vec<String> = whole.iter().flat_map(|path| names_in(path)).collect();
    let names = names.into_iter().filter(|name| name.trim_end_matches('\n').contains('\n'));
    let is_broken = |word: &String| word.contains('\n') && !word.trim().is_empty();
    whole.into_iter().chain(names).filter(is_broken)
}

fn names_in(path: &str) -> impl Iterator<Item = String> {
    Path::new(path).components().flat_map(|part| {
        let name = Path::new(part.as_os_str());
        [Some(name.as_os_str()), name.file_stem()]
            .into_iter()
            .flatten()
            .map(|it| it.to_string_lossy().into_owned())
    })
}

fn replaced<'a>(text: &'a str, broken: &[String]) -> Cow<'a, str> {
    broken.iter().fold(Cow::Borrowed(text), |text, word| match text.contains(word) {
        true => text.replace(word, &word.replace('\n', "\\n")).into(),
        false => text,
    })
}

fn put(text: &str) -> ControlFlow<()> {
    let printed = say(text.as_bytes());
    let flow = if printed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    note_loss(printed);
    flow
}

/// Writes a whole message to standard output: results, and what a child process tells its parent.
pub(crate) fn say(message: &[u8]) -> std::io::Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    StandardOutput.write_all(message)
}

fn note_loss(printed: std::io::Result<()>) {
    match printed {
        // Once: a run that prints a line each second would say it each second.
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !LOST.swap(true, Relaxed) => {
            tell(format_args!("standard output: {error}: what was to be printed is lost"));
        }
        _ => {}
    }
}

/// Tells the user something on standard error, beginning with the program's name: a warning, an error.
pub fn tell(what: impl Display) {
    let text = foreign::message(&in_one_line(&format!("hocket: {what}\n")));
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    match held.as_mut() {
        Some(held) => held.push(text),
        // Nobody is left to tell where standard error cannot be written.
        None => _ = std::io::stderr().lock().write_all(text.as_bytes()),
    }
}

/// What waits until a picture has left the terminal; `None`: nothing has to wait.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// From now on messages wait, because a picture fills the terminal.
pub(crate) fn hold() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Whether messages wait.
pub(crate) fn is_held() -> bool {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// The last message that waits.
pub(crate) fn last_held() -> Option<String> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.last().cloned()
}

/// Prints the messages that waited.
pub(crate) fn release() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    let text = held.unwrap_or_default().concat();
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// How the program ends after clap printed the help or the version.
pub fn after_printing(printed: std::io::Result<()>) -> Exit {
    note_loss(printed.and_then(|()| std::io::stdout().flush()));
    checked(Exit::Done)
}

/// How a command ends that would otherwise have ended well.
pub(crate) fn checked(exit: Exit) -> Exit {
    if exit == Exit::Done && LOST.load(Relaxed) { Exit::NotPossible } else { exit }
}

/// Whether anybody looks at progress.
fn is_watched() -> bool {
    says(Talk::Usual) && std::io::stderr().is_terminal()
}

/// A progress bar on standard error, hidden where that is no terminal.
pub(crate) fn bar(length: u64, what: &'static str) -> ProgressBar {
    if !is_watched() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style).with_message(what)
}

/// A line on standard error that tells how it goes, hidden where that is no terminal.
pub(crate) fn line() -> ProgressBar {
    if !is_watched() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg}");
    ProgressBar::no_length().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_line_breaks_are_part_of_a_line() {
        let words = ["a\nhocket: b.wav", "\n", "master=c\n.wav", "plain"].map(String::from);
        let broken: Vec<String> = words.into_iter().flat_map(with_line_breaks).collect();
        for word in ["a\nhocket: b.wav", "a\nhocket: b", "master=c\n.wav", "c\n.wav"] {
            assert!(broken.iter().any(|it| it == word), "{word:?}: {broken:?}");
        }
        let text = "wrote x/a\nhocket: b.wav\nc\n.wav is there\n";
        assert_eq!(replaced(text, &broken), "wrote x/a\\nhocket: b.wav\nc\\n.wav is there\n");
        assert_eq!(replaced("a\nhocket: b: 75 blocks\n", &broken), "a\\nhocket: b: 75 blocks\n");
        assert!(matches!(replaced("nothing\n", &broken), Cow::Borrowed(_)));
    }
}
