//! Timers and files that plug-ins have the main thread watch, also where they show no window.

use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use vst3::ComPtr;
use vst3::Steinberg::Linux::{
    IEventHandler, IEventHandlerTrait, ITimerHandler, ITimerHandlerTrait,
};

/// No timer rings more often.
const SHORTEST: Duration = Duration::from_millis(5);
/// The most timers, and the most files.
const MOST: usize = 1024;

struct Timer {
    handler: ComPtr<ITimerHandler>,
    each: Duration,
    next: Instant,
}

#[derive(Default)]
struct Watched {
    timers: Vec<Timer>,
    files: Vec<(ComPtr<IEventHandler>, i32)>,
}

thread_local! {
    /// Of the main thread.
    static WATCHED: RefCell<Watched> = RefCell::default();
}

/// Has a handler called again and again. `false`: there are too many.
pub(super) fn add_timer(handler: ComPtr<ITimerHandler>, milliseconds: u64) -> bool {
    WATCHED.with_borrow_mut(|watched| {
        let each = Duration::from_millis(milliseconds.min(1 << 32)).max(SHORTEST);
        let fits = watched.timers.len() < MOST;
        if fits {
            watched.timers.push(Timer { handler, each, next: Instant::now() + each });
        }
        fits
    })
}

/// `false`: there is no such timer.
pub(super) fn remove_timer(handler: *mut ITimerHandler) -> bool {
    let removed: Vec<Timer> = WATCHED.with_borrow_mut(|watched| {
        let all = &mut watched.timers;
        all.extract_if(.., |timer| timer.handler.as_ptr() == handler).collect()
    });
    // The drop may call the plug-in, which may come back here.
    !removed.is_empty()
}

/// Has a handler called when a file can be read. `false`: there are too many, or it is no file.
pub(super) fn add_file(handler: ComPtr<IEventHandler>, file: i32) -> bool {
    WATCHED.with_borrow_mut(|watched| {
        let fits = watched.files.len() < MOST && file >= 0;
        if fits {
            watched.files.push((handler, file));
        }
        fits
    })
}

/// No file of this handler is watched any longer. `false`: there is no such handler.
pub(super) fn remove_file(handler: *mut IEventHandler) -> bool {
    remove_files(|known, _| known.as_ptr() == handler)
}

/// These files are closed, though their handlers have not taken them back.
pub fn forget(closed: &[i32]) {
    remove_files(|_, file| closed.contains(&file));
}

fn remove_files(gone: impl Fn(&ComPtr<IEventHandler>, i32) -> bool) -> bool {
    let removed: Vec<_> = WATCHED.with_borrow_mut(|watched| {
        watched.files.extract_if(.., |(handler, file)| gone(handler, *file)).collect()
    });
    !removed.is_empty()
}

/// When the next timer rings.
pub fn next_timer() -> Option<Instant> {
    WATCHED.with_borrow(|watched| watched.timers.iter().map(|timer| timer.next).min())
}

/// The files, for `poll`.
pub fn watched() -> Vec<BorrowedFd<'static>> {
    // SAFETY: Foreign code: a plug-in that registers a file leaves it open until it takes it back. Should it not, `poll`
    // reports an error for it, and reads nothing.
    let borrowed = |file: &i32| unsafe { BorrowedFd::borrow_raw(*file) };
    WATCHED.with_borrow(|watched| watched.files.iter().map(|(_, file)| borrowed(file)).collect())
}

/// Whether a plug-in has anything watched.
pub fn has_handlers() -> bool {
    WATCHED.with_borrow(|watched| !watched.timers.is_empty() || !watched.files.is_empty())
}

/// Calls what is due: the handlers of these files, and the timers.
pub fn dispatch(ready: &[i32]) {
    let files: Vec<(ComPtr<IEventHandler>, i32)> = WATCHED.with_borrow(|watched| {
        watched.files.iter().filter(|(_, file)| ready.contains(file)).cloned().collect()
    });
    let now = Instant::now();
    let timers: Vec<ComPtr<ITimerHandler>> = WATCHED.with_borrow_mut(|watched| {
        let due = watched.timers.iter_mut().filter(|timer| timer.next <= now);
        due.map(|timer| {
            timer.next = now + timer.each;
            timer.handler.clone()
        })
        .collect()
    });
    // One that was called may have taken back another one, and ended it.
    for (handler, file) in files {
        let is_there = WATCHED.with_borrow(|watched| {
            let own = (handler.as_ptr(), file);
            watched.files.iter().any(|(known, file)| (known.as_ptr(), *file) == own)
        });
        if is_there {
            // SAFETY: Types; Counted.
            unsafe { handler.onFDIsSet(file) };
        }
    }
    for handler in timers {
        let is_there = WATCHED.with_borrow(|watched| {
            watched.timers.iter().any(|timer| timer.handler.as_ptr() == handler.as_ptr())
        });
        if is_there {
            // SAFETY: Types; Counted.
            unsafe { handler.onTimer() };
        }
    }
}
