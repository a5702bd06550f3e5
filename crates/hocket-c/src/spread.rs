//! Work that a processor of the host spreads over the workers.

use std::ffi::c_void;

use hocket_engine::Block as EngineBlock;

use crate::border::quiet;
use crate::processor::Block;
use crate::status::Status;

/// Where a block's work can be spread, for `hocket_block_spread`. It ends with the callback that gets it.
pub struct Spread {
    _opaque: [u8; 0],
}

/// One pass of a loop. `pass` counts from 0.
///
/// Thread: any worker, inside a block. Passes with the same `user` run at the same time.
pub type PassFn = Option<unsafe extern "C" fn(user: *mut c_void, pass: u32)>;

/// Calls `body` with every number below `passes`, once each and in any order, on this thread and on workers that have
/// nothing else to do. It returns after the last one, and the caller then sees what all of them wrote.
///
/// It is for processors with work that several cores can do, such as the voices of an instrument. Passes must not
/// depend on each other: then the output has the same bits with any number of workers. Passes of less than a few
/// microseconds are not worth it. What holds in a block holds in every pass: no allocation, lock or system call. A pass
/// may use the rows, events and time of the block. It must not send messages and must not spread work itself.
///
/// Thread: the worker, inside the callback that got the block. Cost: about a microsecond, and the wait for the last
/// pass; no allocation.
///
/// # Safety
/// P (`block` is the one of the running callback), C, S.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_block_spread(
    block: *const Block,
    passes: u32,
    body: PassFn,
    user: *mut c_void,
) -> Status {
    // SAFETY: P. `Spread::of` made the pointer from this type, and the callback still runs.
    let block = unsafe {
        let spread = block.as_ref().map(|block| block.spread.cast::<EngineBlock<'_>>());
        spread.and_then(|spread| spread.as_ref())
    };
    let (Some(block), Some(body)) = (block, body) else { return Status::BadInput };
    let body = Body { body, user };
    quiet(Status::Fault, || {
        block.spread(passes, &|pass| body.run(pass));
        Status::Ok
    })
}

impl Spread {
    /// For the block that a callback gets.
    pub(crate) fn of(block: &EngineBlock<'_>) -> *const Spread {
        std::ptr::from_ref(block).cast()
    }
}

/// The passes of a loop of the host.
struct Body {
    body: unsafe extern "C" fn(user: *mut c_void, pass: u32),
    user: *mut c_void,
}

// SAFETY: S: several threads may call `body` with `user` at the same time.
unsafe impl Sync for Body {}

impl Body {
    fn run(&self, pass: u32) {
        // SAFETY: C, S.
        unsafe { (self.body)(self.user, pass) }
    }
}
