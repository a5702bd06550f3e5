//! The terminal: taken over, drawn to, and given back on every way out.
//!
//! Pictures go through a file description of the terminal that is Hocket's own and never blocks. While the terminal
//! takes nothing, the rest of a picture waits and no new one is made.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use hocket_files::StandardOutput;
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, ttyname};

use crate::failure::Failure;
use crate::output::{hold, is_held, release, tell};

/// The other screen, no cursor, nothing on it.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
/// Cancels a sequence that was cut off; then colours, cursor and screen as before.
const LEAVE: &[u8] = b"\x18\x1b[0m\x1b[?25h\x1b[?1049l";
/// How long a terminal may take to accept the end.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether the terminal is Hocket's now. Relaxed: it stands for itself.
static ENTERED: AtomicBool = AtomicBool::new(false);
/// The way to the terminal.
static TERMINAL: Mutex<Option<Arc<File>>> = Mutex::new(None);

/// Whether there is a terminal to draw on: one that shows pictures and that this process may use now.
pub(in crate::play) fn is_possible() -> bool {
    let usable = std::env::var("TERM").is_ok_and(|name| !name.is_empty() && name != "dumb");
    let input = io::stdin();
    let is_terminal = input.is_terminal() && StandardOutput.as_fd().is_terminal();
    // A background process that touches the terminal's modes is stopped by the system.
    usable && is_terminal && tcgetpgrp(&input).is_ok_and(|foreground| foreground == getpgrp())
}

/// The terminal, until it is dropped.
pub(in crate::play) struct Screen {
    terminal: Terminal<CrosstermBackend<Queue>>,
    queue: Queue,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// It cannot be opened, or its modes cannot be changed: exit code 3.
    pub(in crate::play) fn enter() -> Result<Screen, Failure> {
        let refused = |error: io::Error| {
            Failure::not_possible(format!("the terminal: {error}; play with --headless"))
        };
        let file = Arc::new(open().map_err(refused)?);
        *TERMINAL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&file));
        hold_panics();
        enable_raw_mode().map_err(refused)?;
        hold();
        ENTERED.store(true, Relaxed);
        let queue = Queue::new(file, ENTER);
        let terminal = Terminal::new(CrosstermBackend::new(queue.clone()));
        // From here on a drop gives the terminal back.
        terminal.map(|terminal| Screen { terminal, queue }).map_err(|error| {
            leave();
            refused(error)
        })
    }

    /// Draws a picture, if the terminal has taken the last one.
    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) {
        if self.queue.push(Duration::ZERO) && ENTERED.load(Relaxed) {
            // A terminal that has gone takes no picture; a signal ends the run.
            let _ = self.terminal.draw(picture);
        }
    }

    /// Draws everything with the next picture.
    pub(super) fn forget(&mut self) {
        // `Terminal::clear` would ask the terminal where the cursor is, and wait for the answer.
        self.queue.waiting().extend_from_slice(b"\x1b[2J");
        if let Ok(anew) = Terminal::new(CrosstermBackend::new(self.queue.clone())) {
            self.terminal = anew;
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // What a terminal has not taken by now would come in the midst of the result.
        if !self.queue.push(PATIENCE) {
            self.queue.waiting().clear();
        }
        leave();
    }
}

/// Gives the terminal back, and prints the messages that waited. Does nothing the second time.
pub(crate) fn leave() {
    if !ENTERED.swap(false, Relaxed) {
        return;
    }
    if let Some(file) = TERMINAL.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Queue::new(file, LEAVE).push(PATIENCE);
    }
    let _ = disable_raw_mode();
    release();
}

/// A message of a panic waits, too; it would be lost with the picture.
fn hold_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match is_held() {
            true => tell(panic),
            false => before(panic),
        }));
    });
}

/// The terminal of the standard output, by a description of its own: one that never blocks, while those of other
/// programs on the terminal stay as they are.
fn open() -> io::Result<File> {
    let name = ttyname(StandardOutput, Vec::new())?;
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    OpenOptions::new().write(true).custom_flags(flags as i32).open(path)
}

/// What is on its way to the terminal.
#[derive(Clone)]
struct Queue {
    file: Arc<File>,
    /// The backend of the picture has the other end.
    waiting: Arc<Mutex<Vec<u8>>>,
}

impl Queue {
    fn new(file: Arc<File>, first: &[u8]) -> Queue {
        Queue { file, waiting: Arc::new(Mutex::new(first.to_vec())) }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<u8>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what the terminal takes within this time; whether that is everything. What it refuses for good is
    /// dropped.
    fn push(&self, patience: Duration) -> bool {
        let (begun, mut waiting) = (Instant::now(), self.waiting());
        while !waiting.is_empty() {
            match (&*self.file).write(&waiting) {
                Ok(written @ 1..) => _ = waiting.drain(..written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = patience.saturating_sub(begun.elapsed());
                    if left.is_zero() || !self.takes_more(left) {
                        return false;
                    }
                }
                Ok(0) | Err(_) => waiting.clear(),
            }
        }
        true
    }

    fn takes_more(&self, within: Duration) -> bool {
        let mut fds = [PollFd::new(&*self.file, PollFlags::OUT)];
        let within = Timespec::try_from(within).ok();
        poll(&mut fds, within.as_ref()).is_ok_and(|ready| ready > 0)
    }
}

impl Write for Queue {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push(Duration::ZERO);
        Ok(())
    }
}
