//! What the fuzzers of `fuzz_targets/` have in common: the [`targets`], those of the program, and a bound on their memory.
//!
//! `ci/fuzz.sh` builds and runs them. `crates/hocket/tests/corpus.rs` compiles both kinds a second time and feeds
//! the kept inputs to them in `make test`.
#![forbid(unsafe_code)]

use std::alloc::System;

use cap::Cap;

#[cfg(feature = "program")]
pub mod program;
pub mod targets;

use targets::Target;

/// All that are built.
const TARGETS: &[&[Target]] = &[
    &targets::TARGETS,
    #[cfg(feature = "program")]
    &program::TARGETS,
];

/// An allocation beyond the limit of a target fails, which ends the process: a crash that the fuzzer keeps.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Gives one input to the target of this name, within its memory.
///
/// # Panics
/// If the input shows a fault, or if there is no such target.
pub fn run(name: &str, bytes: &[u8]) {
    let mut targets = TARGETS.iter().copied().flatten();
    let target = targets.find(|target| target.name == name).expect("a target of this name");
    let most = MEMORY.allocated() + (target.memory_mib << 20);
    MEMORY.set_limit(most).expect("more than is in use");
    (target.check)(bytes);
    MEMORY.set_limit(usize::MAX).expect("more than is in use");
}

/// Lets panics reach those who catch them: hocket-media catches what panics inside Symphonia.
///
/// libfuzzer-sys ends the process at every panic. A panic that nobody catches still ends it.
pub fn leave_panics_to_their_catchers() {
    std::panic::set_hook(Box::new(|panic| {
        let inside = |location: &std::panic::Location<'_>| location.file().contains("symphonia");
        if !panic.location().is_some_and(inside) {
            eprintln!("{panic}");
        }
    }));
}

/// The body of a file in `fuzz_targets/`.
#[macro_export]
macro_rules! fuzz {
    ($name:literal) => {
        ::libfuzzer_sys::fuzz_target!(
            init: $crate::leave_panics_to_their_catchers(),
            |bytes: &[u8]| $crate::run($name, bytes)
        );
    };
}
