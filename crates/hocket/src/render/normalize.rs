//! `--normalize`: the gain that brings the mix to a loudness or a peak, in a second pass over what was rendered.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_media::{AudioWriter, LevelMeter, Levels, NotMeasurable, Written};

use super::held::Held;
use super::levels::number;
use super::writing::{Ended, Rest};
use crate::cli::{FormatArg, Measure, Normalize};
use crate::failure::Failure;
use crate::output::{bar, tell};

/// A file that is complete.
pub(super) struct Complete {
    pub written: Written,
    /// Those of what was written, before integers clipped it.
    pub levels: Option<Levels>,
}

/// The files, the mix first, and the gain that they got in dB, if they were to get one.
pub(super) type Completed = (Vec<Complete>, Option<f64>);

/// Completes the files, the mix first: those that are held get the gain that the mix needs. `None`: the user stopped it;
/// then nothing has a name.
///
/// # Errors
/// What is asked for is not measurable, or the disk fails: exit code 3.
pub(super) fn complete(
    files: Vec<Ended>,
    asked: Option<Normalize>,
    frames: u64,
    stop: &AtomicBool,
) -> Result<Option<Completed>, Failure> {
    let levels = files.first().and_then(|mix| mix.levels);
    let gain_db = asked.zip(levels).map(|(asked, levels)| gain_db(asked, &levels)).transpose()?;
    let gain = 10f64.powf(gain_db.unwrap_or(0.0) / 20.0);
    let bar = bar(frames * files.len() as u64, "normalizing");
    let mut amplified = Vec::new();
    for Ended { levels, rest } in files {
        match rest {
            Rest::Written(written) => {
                amplified.push(Amplified::Whole(Complete { written, levels }))
            }
            Rest::Held(held) => {
                let (held, file, meter) = *held;
                let with_gain = amplify(held, (file, meter), gain, |frames| {
                    bar.inc(frames);
                    !stop.load(Relaxed)
                });
                let Some(with_gain) = with_gain.map_err(Failure::not_possible)? else {
                    return Ok(None);
                };
                amplified.push(with_gain);
            }
        }
    }
    bar.finish_and_clear();
    // Names come last, so that a stop or a full disk before leaves none.
    let complete = amplified.into_iter().map(Amplified::finish).collect::<Result<_, _>>()?;
    Ok(Some((complete, gain_db)))
}

enum Amplified {
    Whole(Complete),
    /// All sound is in it; it has no name yet.
    Unnamed(Box<(AudioWriter, LevelMeter)>),
}

impl Amplified {
    fn finish(self) -> Result<Complete, Failure> {
        match self {
            Amplified::Whole(complete) => Ok(complete),
            Amplified::Unnamed(unnamed) => {
                let (file, meter) = *unnamed;
                let written = file.finish().map_err(Failure::not_possible)?;
                Ok(Complete { written, levels: Some(meter.levels()) })
            }
        }
    }
}

/// `None`: the user stopped it.
fn amplify(
    held: Held,
    (mut file, mut meter): (AudioWriter, LevelMeter),
    gain: f64,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<Option<Amplified>, hocket_media::WriteError> {
    let mut rows = [Vec::new(), Vec::new()];
    let whole = held.play(|left, right| {
        for (row, from) in rows.iter_mut().zip([left, right]) {
            row.clear();
            row.extend(from.iter().map(|&sample| (f64::from(sample) * gain) as f32));
        }
        meter.add(&rows[0], &rows[1]);
        file.write(&rows[0], &rows[1])?;
        Ok(goes_on(left.len() as u64))
    })?;
    Ok(whole.then(|| Amplified::Unnamed(Box::new((file, meter)))))
}

fn gain_db(asked: Normalize, mix: &Levels) -> Result<f64, Failure> {
    let (what, level) = match asked.measure {
        Measure::Loudness => ("loudness", mix.loudness_lufs),
        Measure::Peak => ("sample peak", mix.sample_peak_dbfs),
        Measure::TruePeak => ("true peak", mix.true_peak_dbtp),
    };
    let level = level.map_err(|why| {
        let remedy = match why {
            NotMeasurable::Silent => "render it without --normalize",
            _ => "choose --normalize peak=DB or true-peak=DB",
        };
        Failure::not_possible(format!(
            "--normalize {asked}: the {what} of the mix is not measurable: it is {why}, and no output was written; {remedy}"
        ))
    })?;
    Ok(asked.target - level)
}

/// Peaks over 0 dBTP that the gain has made, in one warning: what players cut off, and integers too.
pub(super) fn warn<'a>(
    asked: Normalize,
    gain_db: f64,
    format: FormatArg,
    files: impl Iterator<Item = (&'a Path, &'a Complete)>,
) {
    let mut clipped = 0;
    let mut highest: Option<(&Path, f64)> = None;
    for (path, file) in files {
        clipped += file.written.clipped;
        let peak = file.levels.and_then(|levels| levels.true_peak_dbtp.ok()).unwrap_or(f64::MIN);
        if highest.is_none_or(|(_, other)| peak > other) {
            highest = Some((path, peak));
        }
    }
    // What is shown as 0.0 is no peak over it.
    let Some((path, peak)) = highest.filter(|(_, peak)| *peak >= 0.05 || clipped > 0) else {
        return;
    };
    let clips = match (format, clipped) {
        (FormatArg::Float32, _) | (_, 0) => String::new(),
        (_, clipped) => format!(", and {clipped} samples are clipped"),
    };
    let remedy = match asked.measure {
        Measure::Loudness => {
            let lower = number(((asked.target - peak) * 10.0).floor() / 10.0);
            format!("choose --normalize lufs={lower} or lower, or put a limiter on the master")
        }
        Measure::Peak => "choose --normalize true-peak=-1".into(),
        Measure::TruePeak => "choose a lower level".into(),
    };
    tell(format_args!(
        "warning: with a gain of {} dB the true peak of {} is {} dBTP: players cut off what is over 0{clips}; {remedy}",
        signed(gain_db),
        path.display(),
        signed(peak)
    ));
}

/// With a sign.
pub(super) fn signed(db: f64) -> String {
    let text = number(db);
    if text.starts_with('-') || text == "0.0" { text } else { format!("+{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_have_a_sign() {
        assert_eq!([3.12, -0.04, -2.0].map(signed), ["+3.1", "0.0", "-2.0"]);
    }
}
