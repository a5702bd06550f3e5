//! Where things lie in memory differs from process start to process start, on purpose.
//!
//! The size of the environment and the depth of the stack move variables relative to pages and cache
//! lines, which can change a time by more than what is compared (Mytkowicz, Diwan, Hauswirth and
//! Sweeney, "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009). A run
//! therefore has several process starts, each with an environment, a stack and a heap that are shifted
//! by another random amount, which is recorded.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use crate::stats::Rng;

/// The variable of the environment that only takes up room.
pub const PADDING: &str = "HOCKET_LAB_PADDING";

/// By how much a process start is shifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Bytes added to the environment.
    pub environment: u32,
    /// Stack frames of some hundred bytes below those who measure.
    pub stack_frames: u32,
    /// Bytes allocated before anything else.
    pub heap: u32,
}

impl Layout {
    /// A random one.
    pub fn draw(rng: &mut Rng) -> Layout {
        Layout {
            environment: rng.below(4096) as u32,
            stack_frames: rng.below(32) as u32,
            heap: rng.below(64 * 1024) as u32,
        }
    }
}

/// Set once at the start of a child, before it starts threads; publishes nothing.
static STACK_FRAMES: AtomicU32 = AtomicU32::new(0);

/// From now on [`shifted`] works so many frames deeper.
pub(super) fn set_stack_frames(frames: u32) {
    STACK_FRAMES.store(frames, Relaxed);
}

/// Runs `work` below the stack frames of this process start.
pub fn shifted<T>(work: impl FnOnce() -> T) -> T {
    let mut work = Some(work);
    let mut result = None;
    below(STACK_FRAMES.load(Relaxed), &mut || result = work.take().map(|work| work()));
    match result {
        Some(result) => result,
        // `below` calls its argument exactly once.
        None => unreachable!("the work was not carried out"),
    }
}

#[inline(never)]
fn below(frames: u32, work: &mut dyn FnMut()) {
    // 112 bytes and what the call needs: not a multiple of a cache line or page, so that the frames
    // of different starts fall on different places of both.
    let room = [0u8; 112];
    black_box(&room);
    if frames == 0 {
        work();
    } else {
        below(frames - 1, work);
    }
    // Used after the call, so that the frame cannot be given up before it.
    black_box(&room);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth() -> usize {
        shifted(|| {
            let here = 0u8;
            std::ptr::from_ref(black_box(&here)).addr()
        })
    }

    #[test]
    fn frames_move_the_stack() {
        set_stack_frames(0);
        let shallow = depth();
        set_stack_frames(20);
        let deep = depth();
        set_stack_frames(0);
        assert!(shallow.abs_diff(deep) >= 20 * 112, "{shallow:x} {deep:x}");
    }
}
