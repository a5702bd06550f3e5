//! How long OpenMP's threads spin before they sleep.
//!
//! GCC's runtime reads it from the environment when the process starts, in passes of a loop. Left
//! alone, its threads spin for milliseconds, past the next block; with `OMP_WAIT_POLICY=passive`
//! they sleep at once, at every level of a graph. So that they neither keep a CPU between blocks nor
//! pay a wake-up inside of one, they are given what Hocket's workers have: 50 us.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Where the runtime reads it (GNU libgomp manual, "Environment Variables").
pub const VARIABLE: &str = "GOMP_SPINCOUNT";

/// Passes that are timed at once.
const PASSES: u32 = 20_000;

/// What this process started with.
pub fn passes() -> Option<OsString> {
    std::env::var_os(VARIABLE)
}

/// Starts the program anew with [`VARIABLE`] set, unless it is: somebody's own value stays.
///
/// # Errors
/// The program cannot be started anew. Else it does not return where the variable was not set.
pub fn bound(spin: Duration) -> Result<(), String> {
    if passes().is_some() {
        return Ok(());
    }
    let refused = |error: std::io::Error| {
        format!("cannot start anew with {VARIABLE} set: {error}; set it yourself")
    };
    let program = std::env::current_exe().map_err(refused)?;
    let mut again = Command::new(program);
    again.args(std::env::args_os().skip(1)).env(VARIABLE, passes_for(spin).to_string());
    Err(refused(again.exec()))
}

/// Passes that last `spin`. A pass of the runtime is a load and the processor's spin hint; the hint
/// is what takes the time.
fn passes_for(spin: Duration) -> u64 {
    let round = || {
        let begun = Instant::now();
        (0..PASSES).for_each(|_| std::hint::spin_loop());
        begun.elapsed().as_secs_f64()
    };
    // Interruptions only make a round longer.
    let shortest = (0..20).map(|_| round()).fold(f64::INFINITY, f64::min);
    (spin.as_secs_f64() / shortest * f64::from(PASSES)).ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_a_pass_and_more_time_more_passes() {
        assert_eq!(passes_for(Duration::ZERO), 1);
        assert!(passes_for(Duration::from_millis(1)) > 100);
    }
}
