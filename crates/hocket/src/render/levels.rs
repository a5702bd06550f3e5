//! The levels of what was rendered, for people.

use std::path::Path;

use hocket_media::{Levels, NotMeasurable};

use crate::output::note;

/// Tells them: one line for a mix alone, else a line for each file.
pub(super) fn tell<'a>(files: impl Iterator<Item = (&'a Path, Levels)>) {
    let files: Vec<(&Path, Levels)> = files.collect();
    match files.as_slice() {
        [] => {}
        [(_, levels)] => note(line(levels)),
        files => {
            note("  LUFS     LU   dBTP   dBFS    RMS  (loudness, range, true peak, sample peak)");
            files.iter().for_each(|(path, levels)| note(row(path, levels)));
        }
    }
}

/// `loudness -16.2 LUFS, range 5.3 LU, true peak -1.0 dBTP, sample peak -1.2 dBFS, RMS -19.1 dBFS`
fn line(levels: &Levels) -> String {
    let Levels { loudness_lufs, range_lu, true_peak_dbtp, sample_peak_dbfs, rms_dbfs } = *levels;
    if let Err(why @ NotMeasurable::Silent) = sample_peak_dbfs {
        return format!("loudness and levels are not measurable: {why}");
    }
    let all = [
        ("loudness", loudness_lufs, "LUFS"),
        ("range", range_lu, "LU"),
        ("true peak", true_peak_dbtp, "dBTP"),
        ("sample peak", sample_peak_dbfs, "dBFS"),
        ("RMS", rms_dbfs, "dBFS"),
    ];
    let text = |(name, level, unit): (&str, Result<f64, NotMeasurable>, &str)| match level {
        Ok(level) => format!("{name} {} {unit}", number(level)),
        Err(why) => format!("{name} not measurable ({why})"),
    };
    all.map(text).join(", ")
}

/// Five numbers and the file; where some are missing, the first reason.
fn row(path: &Path, levels: &Levels) -> String {
    let Levels { loudness_lufs, range_lu, true_peak_dbtp, sample_peak_dbfs, rms_dbfs } = *levels;
    let all = [loudness_lufs, range_lu, true_peak_dbtp, sample_peak_dbfs, rms_dbfs];
    let cell = |level: Result<f64, NotMeasurable>| level.map_or("-".into(), number);
    let cells = all.map(|level| format!("{:>6}", cell(level))).join(" ");
    let why = all.into_iter().find_map(Result::err);
    let why = why.map_or(String::new(), |why| format!(" (not measurable: {why})"));
    format!("{cells}  {}{why}", path.display())
}

/// With one decimal place, and no minus before a zero.
pub(super) fn number(level: f64) -> String {
    let tenths = (level * 10.0).round();
    format!("{:.1}", if tenths == 0.0 { 0.0 } else { tenths / 10.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels = Levels {
        loudness_lufs: Ok(-16.24),
        range_lu: Ok(5.3),
        true_peak_dbtp: Ok(-0.01),
        sample_peak_dbfs: Ok(-1.25),
        rms_dbfs: Ok(-19.0),
    };

    #[test]
    fn levels_are_a_line_or_a_row() {
        assert_eq!(
            line(&LEVELS),
            "loudness -16.2 LUFS, range 5.3 LU, true peak 0.0 dBTP, sample peak -1.3 dBFS, RMS -19.0 dBFS"
        );
        let path = Path::new("a.wav");
        assert_eq!(row(path, &LEVELS), " -16.2    5.3    0.0   -1.3  -19.0  a.wav");
    }

    #[test]
    fn what_is_missing_says_why() {
        let range_lu = Err(NotMeasurable::ShorterThan(3000));
        let short = Levels { range_lu, ..LEVELS };
        assert!(line(&short).contains(", range not measurable (shorter than 3 s), true peak"));
        let row = row(Path::new("a.wav"), &short);
        assert!(row.contains(" -16.2      -    0.0 "), "{row}");
        assert!(row.ends_with("a.wav (not measurable: shorter than 3 s)"), "{row}");
        let none = Err(NotMeasurable::Silent);
        let silent = Levels {
            loudness_lufs: none,
            range_lu: none,
            true_peak_dbtp: none,
            sample_peak_dbfs: none,
            rms_dbfs: none,
        };
        assert_eq!(line(&silent), "loudness and levels are not measurable: silent");
    }
}
