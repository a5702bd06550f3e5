//! Core-scheduling cookies: the kernel keeps threads with different cookies from running on one core at the same time.
//!
//! A thread without a cookie (number 0) may share a core with every other thread without one. A thread with a cookie
//! shares it only with threads of the same cookie. If none of them wants to run, the sibling stays idle although others
//! wait for it (*forced idle*). So there are three uses:
//!
//! - one cookie for all workers keeps strangers off their siblings,
//! - one cookie per worker gives each a whole core while it runs,
//! - one cookie for the workers of a core makes them partners.
//!
//! - A leader makes a cookie ([`create`]) and hands it to the workers by their numbers ([`share_to`]), or starts them
//!   afterwards: threads and processes inherit the cookie of the thread that starts them.
//! - A worker makes its own ([`create`] with [`Scope::Thread`]), or the leader makes it one ([`create_for`]).
//! - Of the workers of one core, the first makes a cookie and the others fetch it ([`share_from`]).
//! - [`CookieGuard`] gives earlier cookies back.
//!
//! Limits: interrupts and the kernel's own threads still run on the sibling. The CPUs of a
//! core with cookies agree on every thread switch, so lightly loaded machines can lose by it: measure.
//!
//! Rights: none for threads of this process; for others, the right to read them with ptrace. Needs Linux 5.14 with
//! CONFIG_SCHED_CORE and cores with two hardware threads on line.
//!
//! Source: the kernel's `Documentation/admin-guide/hw-vuln/core-scheduling.rst`; the order of errors from
//! `kernel/sched/core_sched.c`.

use std::fmt;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use serde::Serialize;

use crate::kernel_files::plain;
use crate::pin::{ThreadId, current_thread};
use crate::sys::{self, CookieRequest};

/// A cookie's number, as the kernel shows it: equal numbers are equal cookies. It says nothing about order or age, and
/// is valid until the machine is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Cookie(u64);

impl Cookie {
    /// No cookie: what every thread has until somebody makes one.
    pub const NONE: Self = Self(0);

    /// The number.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Whether there is a cookie at all.
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_some() { write!(f, "cookie {:x}", self.0) } else { f.write_str("no cookie") }
    }
}

/// Which threads get a new cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The calling thread.
    Thread,
    /// All threads that this process has now; later ones inherit it.
    Process,
}

/// Why a thread does not have the requested cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CookieError {
    /// The kernel does not know cookies. A retry does not help.
    NotBuilt,
    /// No core has two hardware threads on line. A retry helps after SMT is switched on.
    NoSmt,
    /// This process may not inspect the thread's owner.
    NotAllowed(ThreadId),
    /// There is no such thread (any more).
    Gone(ThreadId),
    /// The kernel has no memory for another cookie.
    NoMemory,
    /// The kernel agreed, but the thread has another cookie than the requested one.
    NotKept {
        /// Which thread.
        thread: ThreadId,
        /// What it should have; none if any new cookie would do.
        asked: Option<Cookie>,
        /// What it has.
        got: Cookie,
    },
    /// No thread is left that has this cookie, so nobody can get it again.
    Lost(Cookie),
    /// Another refusal, in words.
    Refused(String),
}

impl CookieError {
    /// What would help, if anything would.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NotBuilt => {
                Some("use a kernel of version 5.14 or later that is built with CONFIG_SCHED_CORE=y")
            }
            Self::NoSmt => Some(
                "where the processor has SMT, switch it on (firmware, /sys/devices/system/cpu/smt/control); without it \
                 there is nobody to keep apart and the policy `off` does the same",
            ),
            Self::NotAllowed(_) => {
                Some("name threads of this process, or run as the user who owns the other one")
            }
            Self::Gone(_) => Some("hand cookies out while the threads are alive"),
            Self::NoMemory => Some("end some programs"),
            Self::NotKept { .. } => Some("look for another program that hands out cookies"),
            Self::Lost(_) => Some("make a new cookie, or start the program again"),
            Self::Refused(_) => None,
        }
    }

    /// What happened, without the remedy.
    pub fn why(&self) -> String {
        match self {
            Self::NotBuilt => {
                "this kernel is built without core scheduling (CONFIG_SCHED_CORE)".into()
            }
            Self::NoSmt => {
                "no core has two hardware threads on line, so there is nothing to keep apart".into()
            }
            Self::NotAllowed(thread) => {
                format!(
                    "this process may not look into thread {thread}, so it may not share a cookie with it"
                )
            }
            Self::Gone(thread) => format!("there is no thread {thread}"),
            Self::NoMemory => "the kernel has no memory for another cookie".into(),
            Self::NotKept { thread, asked: Some(asked), got } => {
                format!("thread {thread} was given {asked} and has {got}")
            }
            Self::NotKept { thread, asked: None, got } => {
                format!("thread {thread} was given a new cookie and has {got}")
            }
            Self::Lost(cookie) => format!("no thread within reach has {cookie} any more"),
            Self::Refused(why) => format!("prctl(PR_SCHED_CORE): {why}"),
        }
    }

    fn of(error: &io::Error, thread: ThreadId) -> Self {
        match error.raw_os_error() {
            // Every argument this module passes is valid, so only an unknown call is left.
            Some(libc::EINVAL) => Self::NotBuilt,
            Some(libc::ENODEV) => Self::NoSmt,
            Some(libc::EPERM) => Self::NotAllowed(thread),
            Some(libc::ESRCH) => Self::Gone(thread),
            Some(libc::ENOMEM) => Self::NoMemory,
            _ => Self::Refused(plain(error)),
        }
    }
}

impl fmt::Display for CookieError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why())?;
        self.remedy().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for CookieError {}

/// The cookie of a thread of any process. Thread: any. Cost: one system call.
///
/// # Errors
/// See [`CookieError`]; nothing is ever changed.
pub fn of(thread: ThreadId) -> Result<Cookie, CookieError> {
    sys::core_cookie(thread.0).map(Cookie).map_err(|e| CookieError::of(&e, thread))
}

/// The cookie of the calling thread. Cost: one system call.
///
/// # Errors
/// [`CookieError::NotBuilt`] and [`CookieError::NoSmt`]; use it to see whether cookies exist here.
pub fn current() -> Result<Cookie, CookieError> {
    of(current_thread())
}

/// Makes a new cookie and gives it to the calling thread or to every thread of this process. Returns it after reading
/// every one of them back.
///
/// Thread: the one that gets it, outside blocks. Cost: some system calls (with [`Scope::Process`] one per thread);
/// the first cookie on a machine turns core scheduling on for all of its CPUs, which stops them for a moment.
///
/// # Errors
/// See [`CookieError`]. After [`CookieError::NotKept`] some threads have a new cookie.
pub fn create(scope: Scope) -> Result<Cookie, CookieError> {
    let me = current_thread();
    request(CookieRequest::Create, me, scope == Scope::Process)?;
    let cookie = kept(me, None)?;
    if scope == Scope::Process {
        for thread in own_threads()? {
            kept_or_gone(thread, cookie)?;
        }
    }
    Ok(cookie)
}

/// Makes a new cookie, gives it to `thread` and returns it, read back.
///
/// Thread: any. Cost: like [`create`].
///
/// # Errors
/// See [`CookieError`].
pub fn create_for(thread: ThreadId) -> Result<Cookie, CookieError> {
    request(CookieRequest::Create, thread, false)?;
    kept(thread, None)
}

/// Gives the calling thread's cookie to `thread` and returns what that then has. A caller without a cookie takes the
/// other's away.
///
/// Thread: one that has the cookie. Cost: three system calls.
///
/// # Errors
/// See [`CookieError`].
pub fn share_to(thread: ThreadId) -> Result<Cookie, CookieError> {
    request(CookieRequest::ShareTo, thread, false)?;
    kept(thread, Some(current()?))
}

/// Takes the cookie of `thread` for the calling thread and returns what that then has. If `thread` has none, the
/// caller has none afterwards.
///
/// Thread: the one that gets it, outside blocks. Cost: three system calls.
///
/// # Errors
/// See [`CookieError`].
pub fn share_from(thread: ThreadId) -> Result<Cookie, CookieError> {
    request(CookieRequest::ShareFrom, thread, false)?;
    kept(current_thread(), Some(of(thread)?))
}

fn request(what: CookieRequest, thread: ThreadId, process: bool) -> Result<(), CookieError> {
    sys::change_core_cookie(what, thread.0, process).map_err(|e| CookieError::of(&e, thread))
}

/// Reads back: `asked`, or any cookie if that is none.
fn kept(thread: ThreadId, asked: Option<Cookie>) -> Result<Cookie, CookieError> {
    let got = of(thread)?;
    let well = asked.map_or(got.is_some(), |asked| asked == got);
    if well { Ok(got) } else { Err(CookieError::NotKept { thread, asked, got }) }
}

fn kept_or_gone(thread: ThreadId, cookie: Cookie) -> Result<(), CookieError> {
    match kept(thread, Some(cookie)) {
        Ok(_) | Err(CookieError::Gone(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn own_threads() -> Result<Vec<ThreadId>, CookieError> {
    let threads = sys::threads().map_err(|e| CookieError::Refused(plain(&e)))?;
    Ok(threads.into_iter().map(ThreadId).collect())
}

/// Restores the cookie that the calling thread had when the guard was made.
///
/// The kernel knows no call that sets a cookie by its number: a cookie can only be taken from a thread that has it. So
/// the guard starts a thread, which inherits the cookie of its maker and sleeps until it has to hand it out: first to
/// the thread that made the guard, and to those named with [`CookieGuard::also`]. It may be dropped by any thread.
///
/// [`create`] with [`Scope::Process`] changes the cookie of the sleeping thread too. Then the guard looks for the old
/// one among the threads of this process, with its parent, and with process 1; the usual old cookie, none at all, is
/// found there. If nobody has it, [`CookieGuard::restore`] says [`CookieError::Lost`].
#[derive(Debug)]
#[must_use = "dropping it gives the old cookie back at once"]
pub struct CookieGuard {
    before: Cookie,
    threads: Vec<ThreadId>,
    keeper: Keeper,
}

impl CookieGuard {
    /// Remembers the cookie of the calling thread. Cost: a thread that sleeps as long as the guard lives.
    ///
    /// # Errors
    /// See [`CookieError`]; [`CookieError::NotBuilt`] and [`CookieError::NoSmt`] if there is nothing to remember.
    pub fn remember() -> Result<Self, CookieError> {
        Self::remember_of(current_thread())
    }

    /// Remembers the cookie of a thread of this process, to which it will be given back. Cost: as [`CookieGuard::remember`].
    ///
    /// # Errors
    /// As [`CookieGuard::remember`]; [`CookieError::Gone`].
    pub fn remember_of(thread: ThreadId) -> Result<Self, CookieError> {
        let before = of(thread)?;
        let keeper = Keeper::start()?;
        // It has inherited the cookie of the caller.
        if of(keeper.thread)? != before {
            keeper.fetch_from(thread)?;
        }
        kept(keeper.thread, Some(before))?;
        Ok(Self { before, threads: vec![thread], keeper })
    }

    /// The cookie that will be given back.
    pub fn before(&self) -> Cookie {
        self.before
    }

    /// Has the cookie also given to `thread`, for example to one with which a new cookie was shared.
    ///
    /// A thread that has ended by then is skipped. The system may use its number again: then the new thread of this
    /// process gets the cookie.
    pub fn also(&mut self, thread: ThreadId) {
        if !self.threads.contains(&thread) {
            self.threads.push(thread);
        }
    }

    /// Gives the cookie back and returns it, read back from every thread that is still alive.
    ///
    /// # Errors
    /// The first error; it still tries the other threads.
    pub fn restore(mut self) -> Result<Cookie, CookieError> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<Cookie, CookieError> {
        let threads = std::mem::take(&mut self.threads);
        let alive: Vec<_> = threads.into_iter().filter(|t| sys::is_own_thread(t.0)).collect();
        if alive.is_empty() {
            return Ok(self.before);
        }
        self.recover()?;
        let results: Vec<_> = alive.into_iter().map(|thread| self.keeper.hand_to(thread)).collect();
        let failed = |result| match result {
            Ok(_) | Err(CookieError::Gone(_)) => None,
            Err(error) => Some(error),
        };
        results.into_iter().find_map(failed).map_or(Ok(self.before), Err)
    }

    /// Makes sure that the keeper has the old cookie.
    fn recover(&self) -> Result<(), CookieError> {
        if of(self.keeper.thread)? == self.before {
            return Ok(());
        }
        let parent = ThreadId(std::os::unix::process::parent_id() as i32);
        let candidates = own_threads()?.into_iter().chain([parent, ThreadId(1)]);
        let mut holders = candidates.filter(|&thread| of(thread) == Ok(self.before));
        let holder = holders.next().ok_or(CookieError::Lost(self.before))?;
        self.keeper.fetch_from(holder).map(drop)
    }
}

impl Drop for CookieGuard {
    fn drop(&mut self) {
        let _ = self.give_back();
    }
}

/// A thread that has a cookie and hands it out.
#[derive(Debug)]
struct Keeper {
    thread: ThreadId,
    orders: Option<Sender<Order>>,
    answers: Receiver<Result<Cookie, CookieError>>,
    handle: Option<JoinHandle<()>>,
}

enum Order {
    HandTo(ThreadId),
    FetchFrom(ThreadId),
}

impl Keeper {
    fn start() -> Result<Self, CookieError> {
        let (orders, taken) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let life = move || {
            let _ = tell.send(current_thread());
            for order in taken {
                let result = match order {
                    Order::HandTo(thread) => share_to(thread),
                    Order::FetchFrom(thread) => share_from(thread),
                };
                let _ = answer.send(result);
            }
        };
        let started = std::thread::Builder::new().name("cookie keeper".into()).spawn(life);
        let handle = started.map_err(|e| CookieError::Refused(plain(&e)))?;
        let thread = told.recv().map_err(|_| Self::ended())?;
        Ok(Self { thread, orders: Some(orders), answers, handle: Some(handle) })
    }

    fn hand_to(&self, thread: ThreadId) -> Result<Cookie, CookieError> {
        self.ask(Order::HandTo(thread))
    }

    fn fetch_from(&self, thread: ThreadId) -> Result<Cookie, CookieError> {
        self.ask(Order::FetchFrom(thread))
    }

    fn ask(&self, order: Order) -> Result<Cookie, CookieError> {
        let sent = self.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok());
        if sent { self.answers.recv().map_err(|_| Self::ended())? } else { Err(Self::ended()) }
    }

    fn ended() -> CookieError {
        CookieError::Refused("the thread that keeps the old cookie has ended".into())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_its_reason() {
        let thread = ThreadId(7);
        let of = |number| CookieError::of(&io::Error::from_raw_os_error(number), thread);
        assert_eq!(of(libc::EINVAL), CookieError::NotBuilt);
        assert_eq!(of(libc::ENODEV), CookieError::NoSmt);
        assert_eq!(of(libc::EPERM), CookieError::NotAllowed(thread));
        assert_eq!(of(libc::ESRCH), CookieError::Gone(thread));
        assert!(of(libc::EINVAL).to_string().contains("CONFIG_SCHED_CORE=y"));
        assert!(of(libc::ENOSYS).to_string().contains("prctl(PR_SCHED_CORE)"));
    }
}
