//! How long and how large a render gets, before it begins.

use crate::cli::RenderArgs;
use crate::failure::Failure;
use crate::files::folder_of;
use crate::written::readable;

/// Nobody renders more than a day of audio by accident and wants it.
const USUAL_S: f64 = 86_400.0;

/// Refuses a render of more than a day, and one that the disk has no room for.
///
/// # Errors
/// Without `--force`: bad input where the session is that long, not possible where the disk is too small.
pub(super) fn question(args: &RenderArgs, frames: u64, rate_hz: u32) -> Result<(), Failure> {
    if args.force {
        return Ok(());
    }
    let length_s = frames as f64 / f64::from(rate_hz);
    let samples = hocket_media::WavFormat::from(args.format);
    let bytes = frames.saturating_mul(2 * samples.bytes() as u64);
    let output = args.output.display();
    if length_s > USUAL_S {
        return Err(Failure::bad_input(format!(
            "--output {output}: the session lasts {:.1} days, which are {} as WAV; render a part with --length SECONDS, \
             or all of it with --force",
            length_s / USUAL_S,
            readable(bytes)
        )));
    }
    match free_bytes(args) {
        Some(free) if bytes > free => Err(Failure::not_possible(format!(
            "--output {output}: up to {} are needed and the disk has {} free; free some space, name a file on another \
             disk, or try it with --force",
            readable(bytes),
            readable(free)
        ))),
        _ => Ok(()),
    }
}

/// What the disk has free for this user; `None` for pipes and devices, and where the system does not say.
fn free_bytes(args: &RenderArgs) -> Option<u64> {
    if std::fs::metadata(&args.output).is_ok_and(|there| !there.is_file()) {
        return None;
    }
    if hocket_files::is_standard_output(&args.output) {
        return None;
    }
    let disk = rustix::fs::statvfs(folder_of(&args.output)).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
