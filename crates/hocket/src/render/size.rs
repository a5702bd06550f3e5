//! How long and how large a render gets, before it begins.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::held::FRAME_BYTES;
use super::region::Region;
use crate::cli::RenderArgs;
use crate::failure::Failure;
use crate::files::folder_of;
use crate::written::readable;

/// Nobody renders more than a day of audio by accident and wants it.
const USUAL_S: f64 = 86_400.0;

/// Refuses a render of more than a day, and one that the disks have no room for. What comes before `--from` is rendered,
/// too. `stems`: how many files besides.
///
/// # Errors
/// Without `--force`: bad input where the session is that long, not possible where a disk is too small.
pub(super) fn question(
    args: &RenderArgs,
    region: Region,
    rate_hz: u32,
    stems: u64,
) -> Result<(), Failure> {
    if args.force {
        return Ok(());
    }
    let frames = region.frames();
    let [length_s, whole_s] = [frames, region.to].map(|count| count as f64 / f64::from(rate_hz));
    let samples = hocket_media::WavFormat::from(args.format);
    let bytes = frames.saturating_mul(2 * samples.bytes() as u64);
    if length_s > USUAL_S {
        return Err(Failure::bad_input(format!(
            "--output {}: the session lasts {:.1} days, which are {} as WAV; render a part with --length SECONDS, \
             or all of it with --force",
            args.output.display(),
            length_s / USUAL_S,
            readable(bytes)
        )));
    }
    if whole_s > USUAL_S {
        return Err(Failure::bad_input(format!(
            "--output {}: Hocket renders from the start of the session, {:.1} days to the end of this part; choose an \
             earlier --from, or render it with --force",
            args.output.display(),
            whole_s / USUAL_S
        )));
    }
    let held = args.normalize.map_or(0, |_| frames.saturating_mul(FRAME_BYTES));
    let bytes = bytes.saturating_add(held);
    let of_stems = bytes.saturating_mul(stems);
    let mix = Disk::of(&args.output);
    let folder = args.stems.as_deref().and_then(|folder| Disk::of(&folder.join("stem")));
    match (mix, folder) {
        (Some(mix), Some(folder)) if mix.number == folder.number => {
            mix.check("--output", &args.output, bytes.saturating_add(of_stems))
        }
        (mix, folder) => {
            mix.map_or(Ok(()), |disk| disk.check("--output", &args.output, bytes))?;
            let stems = args.stems.as_deref().zip(folder);
            stems.map_or(Ok(()), |(path, disk)| disk.check("--stems", path, of_stems))
        }
    }
}

/// A disk that files are written to.
struct Disk {
    number: u64,
    /// What it has free for this user.
    free: u64,
}

impl Disk {
    /// The disk of a file; `None` for pipes and devices, and where the system does not say.
    fn of(file: &Path) -> Option<Disk> {
        if std::fs::metadata(file).is_ok_and(|there| !there.is_file()) {
            return None;
        }
        if hocket_files::is_standard_output(file) {
            return None;
        }
        let folder = folder_of(file);
        // A folder that does not exist yet is made in one that does.
        let folder = if folder.exists() { folder } else { folder_of(folder) };
        let number = std::fs::metadata(folder).ok()?.dev();
        let disk = rustix::fs::statvfs(folder).ok()?;
        Some(Disk { number, free: disk.f_bavail.saturating_mul(disk.f_frsize) })
    }

    fn check(&self, flag: &str, path: &Path, bytes: u64) -> Result<(), Failure> {
        if bytes <= self.free {
            return Ok(());
        }
        Err(Failure::not_possible(format!(
            "{flag} {}: up to {} are needed and the disk has {} free; free some space, name a file on another disk, or \
             try it with --force",
            path.display(),
            readable(bytes),
            readable(self.free)
        )))
    }
}
