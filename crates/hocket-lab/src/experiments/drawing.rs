//! Drawing the Mandelbrot set as the study of 2006 did: one turn, and the picture as a file.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use hocket_files::OutputFile;
use hocket_kernels::ThreadGroup;
use hocket_kernels::mandelbrot::{Picture, View, Writing, render};
use hocket_machine::{pin, process};

use crate::harness::{Check, Fault, Metric, Sample};

/// The whole set in 1016 by 718 pixels. The study does not say how many iterations it allowed; with so few,
/// writing a pixel is a fair part of the work.
pub(super) const VIEW: View = View::whole(32);

/// The same with so many iterations that one CPU takes about a second, so that the start of many threads hardly counts. The
/// study prints no times, but found no difference between 1 and 512 threads.
pub(super) const LONG: View = View::whole(1_500);

/// Thread counts of the study.
pub(super) const THREADS: [usize; 6] = [1, 2, 8, 32, 128, 512];

/// Where pictures are written, if anywhere.
const FOLDER: &str = "HOCKET_LAB_PICTURES";

pub(super) const TIME: Metric = Metric::less("time", "ms").means(
    "From the first thread's beginning to the last one's end; without starting the threads.",
);

pub(super) const CPU_TIME: Metric = Metric::less("cpu-time", "ms").means(
    "CPU time of the process for the picture, with making the picture's memory and the threads.",
);

pub(super) const SWITCHES: Metric = Metric::less("switches", "")
    .means("Context switches of all threads, voluntary and involuntary, with those of starting and ending them.");

pub(super) const RETRIES: Metric = Metric::less("cas-retries", "").means(
    "How often the counter was read anew because another thread had changed it between reading and \
     exchanging it, in a picture of 729488 pixels.",
);

/// How the picture must be.
pub(super) struct Drawing {
    view: View,
    checksum: u64,
}

impl Drawing {
    /// Drawn by one thread without locks; written as a file where the environment names a folder for it.
    pub(super) fn new() -> Result<Drawing, Fault> {
        let place = std::env::var_os(FOLDER).map(PathBuf::from);
        let place = place.map(|folder| folder.join("mandelbrot.pgm"));
        place.as_deref().map_or(Ok(()), check_place)?;
        let drawn =
            render(&VIEW, &ThreadGroup::anywhere(1), Writing::Unlocked).map_err(Fault::new)?;
        place.map_or(Ok(()), |path| write_picture(&drawn.picture, &path))?;
        Ok(Drawing { view: VIEW, checksum: drawn.picture.checksum() })
    }

    /// That of the picture.
    pub(super) fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The same part of the plane with more iterations.
    pub(super) fn long() -> Result<Drawing, Fault> {
        Drawing::of(LONG)
    }

    /// Another picture.
    pub(super) fn of(view: View) -> Result<Drawing, Fault> {
        let drawn =
            render(&view, &ThreadGroup::anywhere(1), Writing::Unlocked).map_err(Fault::new)?;
        Ok(Drawing { view, checksum: drawn.picture.checksum() })
    }

    /// One picture by so many threads, all on this CPU.
    pub(super) fn turn_on(
        &self,
        cpu: u32,
        threads: usize,
        writing: Writing,
    ) -> Result<Vec<Sample>, Fault> {
        // Threads inherit where this one may run. Pinning each would be counted as theirs.
        let before = pin::current_affinity().map_err(Fault::new)?;
        pin::pin_current_thread(&[cpu].into_iter().collect()).map_err(Fault::new)?;
        let drawn = self.turn(threads, writing);
        pin::pin_current_thread(&before).map_err(Fault::new)?;
        drawn
    }

    /// One picture by so many threads, wherever the scheduler puts them.
    pub(super) fn turn(&self, threads: usize, writing: Writing) -> Result<Vec<Sample>, Fault> {
        let before = process::counters();
        let drawn =
            render(&self.view, &ThreadGroup::anywhere(threads), writing).map_err(Fault::new)?;
        let after = process::counters();
        let check = Check::of(drawn.check(self.checksum));
        let pixels = drawn.picture.pixels.len() as u64;
        let sample = |metric, value| Sample::new(metric, value, pixels, check.clone());
        let used = |after: Option<&u64>, before: Option<&u64>| {
            Some(after?.saturating_sub(*before?) as f64)
        };
        let cpu_ns = used(after.cpu_ns.value(), before.cpu_ns.value());
        let switches = used(after.switches.value(), before.switches.value());
        let mut samples = vec![sample(TIME.name, drawn.elapsed.as_secs_f64() * 1e3)];
        samples.extend(cpu_ns.map(|ns| sample(CPU_TIME.name, ns / 1e6)));
        samples.extend(switches.map(|switches| sample(SWITCHES.name, switches)));
        samples.extend(drawn.retries.map(|retries| sample(RETRIES.name, retries as f64)));
        Ok(samples)
    }
}

/// How every picture begins. The second line is a comment, by which an earlier picture is known.
const MARK: &[u8] = b"P5\n# hocket lab\n";

/// Refuses to replace what is no earlier picture.
fn check_place(path: &Path) -> Result<(), Fault> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    let mut head = Vec::new();
    file.take(MARK.len() as u64).read_to_end(&mut head).map_err(Fault::new)?;
    match head.is_empty() || head == MARK {
        true => Ok(()),
        false => Err(Fault(format!(
            "{}: there is a file that is no picture of the lab, and nothing was changed; move it away, or name another \
             folder with {FOLDER}",
            path.display()
        ))),
    }
}

/// As a portable grey map (PGM, binary): readable by most image programs.
fn write_picture(picture: &Picture, path: &Path) -> Result<(), Fault> {
    let mut file = MARK.to_vec();
    file.extend(format!("{} {}\n255\n", picture.width, picture.height).bytes());
    file.extend(picture.grey(VIEW.limit));
    let written = OutputFile::create(path).and_then(|mut out| {
        out.file().write_all(&file)?;
        out.commit()
    });
    written.map_err(|error| {
        Fault(format!("{} cannot be written: {error}; {FOLDER} must name a folder", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_right_under_every_lock_and_counted() {
        let drawing = Drawing::new().unwrap();
        for writing in Writing::ALL {
            let samples = drawing.turn(8, writing).unwrap();
            assert!(samples.iter().all(|s| s.check == Check::Passed && s.ops == 729_488));
            assert!(samples.iter().any(|s| s.metric == SWITCHES.name));
            let exchanges = samples.iter().any(|s| s.metric == RETRIES.name);
            assert_eq!(exchanges, writing == Writing::PixelLocksCasCounter);
        }
    }

    #[test]
    fn the_file_holds_head_and_pixels() {
        let folder = tempfile::tempdir().unwrap();
        let picture = Picture { width: 2, height: 1, pixels: vec![0, 32] };
        let path = folder.path().join("p.pgm");
        write_picture(&picture, &path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"P5\n# hocket lab\n2 1\n255\n\0\0");
        check_place(&path).unwrap();
        std::fs::write(&path, "P5\n# mine\n").unwrap();
        assert!(check_place(&path).unwrap_err().0.contains("nothing was changed"));
        let nowhere = write_picture(&picture, &folder.path().join("no/p.pgm")).unwrap_err();
        assert!(nowhere.0.contains(FOLDER), "{nowhere}");
    }
}
