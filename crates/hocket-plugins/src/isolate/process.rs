//! The process of a plug-in: its start, messages to it, and its end.
//!
//! Every wait here ends when the process ends: it waits for a pidfd besides.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::keeper::Link;
use super::mail::{Facts, Job, Order, Reply, encoded, read};
use super::{Isolation, lock};
use crate::child::Early;
use crate::extra::channels;
use crate::{Description, Wanted};

/// How often a wait looks whether its caller goes.
const LOOK: Duration = Duration::from_millis(50);
/// How long a process may take to end its plug-in.
const END: Duration = Duration::from_secs(2);

/// What a process is started from, the first time and again.
pub struct Launch {
    pub isolation: Isolation,
    plugin: Description,
    rate_hz: u32,
    /// The shared memory's.
    file: OwnedFd,
    /// What the plug-in saved last.
    pub state: Mutex<Option<Vec<u8>>>,
}

/// A process that serves blocks. A drop ends it.
pub struct Running {
    child: Child,
    pidfd: OwnedFd,
    /// `None` once it is to end.
    control: Option<UnixStream>,
    bell: UnixStream,
}

/// Why a plug-in does not start.
pub enum Refusal {
    /// What is wrong with the plug-in, for users.
    Plugin(String),
    /// What its process did, behind the plug-in's name.
    Process(String),
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    Ready,
    Ended,
    TooLong,
}

impl Launch {
    pub fn new(
        isolation: &Isolation,
        plugin: &Description,
        wanted: &Wanted<'_>,
        file: OwnedFd,
    ) -> Launch {
        let state = Mutex::new(wanted.state.map(<[u8]>::to_vec));
        let (isolation, plugin) = (isolation.clone(), plugin.clone());
        Launch { isolation, plugin, rate_hz: wanted.rate_hz, file, state }
    }

    pub fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    /// Whether silence is what an instrument adds.
    pub fn is_instrument(&self) -> bool {
        self.plugin.layout.inputs == 0
    }

    /// Whether it sends events.
    pub fn sends_events(&self) -> bool {
        self.plugin.sends_events
    }

    /// Rows of its extra outputs.
    pub fn extra_channels(&self) -> usize {
        channels(&self.plugin.extra_outputs)
    }

    /// Starts the process, and waits until it has made the plug-in. `is_ending`: nobody needs it any more.
    ///
    /// Thread: control, or the one beside the processor.
    ///
    /// # Errors
    /// What went wrong.
    pub fn start(
        &self,
        link: &Link,
        is_ending: &dyn Fn() -> bool,
    ) -> Result<(Running, Facts), Refusal> {
        let failed = |error| Refusal::Process(format!("has no process to run in: {error}"));
        let mut running = self.spawn().map_err(failed)?;
        let state = lock(&self.state).clone();
        let job = Job {
            plugin: self.plugin.clone(),
            rate_hz: self.rate_hz,
            values: link.values(),
            has_state: state.is_some(),
            pace: self.isolation.pace,
            priority: self.isolation.priority,
            slots: link.slots().count(),
            base: link.base(),
        };
        let order = Order::Start(Box::new(job));
        let patience = Patient { until: Instant::now() + self.isolation.patience.start, is_ending };
        let reply = running.ask(&order, &state.unwrap_or_default(), &patience);
        match reply.map_err(Refusal::Process)?.0 {
            Reply::Ready(facts) => Ok((running, facts)),
            Reply::Refused(why) => Err(Refusal::Plugin(why)),
            _ => Err(Refusal::Process("answers nonsense".into())),
        }
    }

    /// The process gets its end of the messages as standard input, its end of the bell as standard output, and the memory as
    /// standard error. It moves them away before it runs any code of the plug-in.
    fn spawn(&self) -> io::Result<Running> {
        let ((control, its_control), (bell, its_bell)) = (UnixStream::pair()?, UnixStream::pair()?);
        let child = Command::new(&self.isolation.program)
            .args(&self.isolation.arguments)
            .stdin(OwnedFd::from(its_control))
            .stdout(OwnedFd::from(its_bell))
            .stderr(self.file.try_clone()?)
            // Ctrl-C in a terminal goes to every process of the group. This one ends with its parent's end of the messages.
            .process_group(0)
            .spawn()?;
        let mut child = Unstarted(Some(child));
        let pid = child.0.as_ref().map(Pid::from_child);
        let pidfd = pidfd_open(pid.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
        // These are our ends alone, so the other process cannot make them block.
        control.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        let child = child.0.take().ok_or(io::ErrorKind::NotFound)?;
        Ok(Running { child, pidfd, control: Some(control), bell })
    }
}

/// A child that is ended if something goes wrong behind its start.
struct Unstarted(Option<Child>);

impl Drop for Unstarted {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How long a wait may take.
pub struct Patient<'a> {
    pub until: Instant,
    pub is_ending: &'a dyn Fn() -> bool,
}

impl Running {
    /// Sends an order and waits for its reply.
    ///
    /// # Errors
    /// What went wrong, behind the plug-in's name.
    pub fn ask(
        &mut self,
        order: &Order,
        bytes: &[u8],
        patience: &Patient<'_>,
    ) -> Result<(Reply, Vec<u8>), String> {
        let mut waiting = Waiting { running: self, patience, why: None };
        let message = encoded(order, bytes);
        let sent = waiting.write_all(&message);
        let replied = sent.and_then(|()| read::<Reply>(&mut waiting));
        let why = waiting.why;
        replied.map_err(|error| match why {
            Some(Waited::TooLong) => "took too long".into(),
            _ => match self.ended(END) {
                Some(how) => how,
                None => format!("answers nonsense: {error}"),
            },
        })
    }

    /// How it ended, if it has. `patience`: how long the end may take that shows already.
    pub fn ended(&mut self, patience: Duration) -> Option<String> {
        let until = Instant::now() + patience;
        let patience = Patient { until, is_ending: &|| false };
        match wait(&self.pidfd, None, &patience) {
            Waited::Ended => self.child.try_wait().ok().map(|status| Early::of(status).why),
            Waited::Ready | Waited::TooLong => None,
        }
    }

    /// Waits for the bell, or until the process ends.
    pub fn listen(&mut self, most: Duration) {
        let patience = Patient { until: Instant::now() + most, is_ending: &|| false };
        if wait(&self.pidfd, Some((self.bell.as_fd(), PollFlags::IN)), &patience) == Waited::Ready {
            // How often it rang says nothing.
            let _ = self.bell.read(&mut [0; 64]);
        }
    }
}

impl Drop for Running {
    /// Asks it to end, by the end of the messages; kills it if it does not.
    fn drop(&mut self) {
        drop(self.control.take());
        let patience = Patient { until: Instant::now() + END, is_ending: &|| false };
        if wait(&self.pidfd, None, &patience) != Waited::Ended {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Running {
    /// Ends it at once.
    pub fn kill(mut self) {
        let _ = self.child.kill();
    }
}

/// Waits until `other` is ready, or the process has ended. What is ready goes first: a process may answer and end.
fn wait(
    pidfd: &OwnedFd,
    other: Option<(BorrowedFd<'_>, PollFlags)>,
    patience: &Patient<'_>,
) -> Waited {
    loop {
        let left = patience.until.saturating_duration_since(Instant::now());
        let step = left.min(LOOK);
        let step = Timespec { tv_sec: 0, tv_nsec: step.subsec_nanos().into() };
        let died = PollFd::new(pidfd, PollFlags::IN);
        let polled = match &other {
            None => {
                let mut all = [died];
                poll(&mut all, Some(&step)).map(|_| (false, !all[0].revents().is_empty()))
            }
            Some((other, flags)) => {
                let mut all = [PollFd::new(other, *flags), died];
                poll(&mut all, Some(&step))
                    .map(|_| (!all[0].revents().is_empty(), !all[1].revents().is_empty()))
            }
        };
        match polled {
            Ok((true, _)) => return Waited::Ready,
            Ok((_, true)) => return Waited::Ended,
            _ if left.is_zero() || (patience.is_ending)() => return Waited::TooLong,
            _ => {}
        }
    }
}

/// The messages, with patience.
struct Waiting<'a> {
    running: &'a mut Running,
    patience: &'a Patient<'a>,
    /// Why it gave up.
    why: Option<Waited>,
}

impl Waiting<'_> {
    fn until_ready(
        &mut self,
        flags: PollFlags,
        mut once: impl FnMut(&mut UnixStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            let control = self.running.control.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            match once(control) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            let control = control.as_fd();
            match wait(&self.running.pidfd, Some((control, flags)), self.patience) {
                Waited::Ready => {}
                other => {
                    self.why = Some(other);
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
        }
    }
}

impl Read for Waiting<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.until_ready(PollFlags::IN, |control| control.read(into))
    }
}

impl Write for Waiting<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.until_ready(PollFlags::OUT, |control| control.write(from))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
