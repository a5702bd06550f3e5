//! What the points of a tempo map must obey.

use super::error::{PointKind, TempoError};
use super::point::{MAX_POINT_BEATS, MAX_POINTS, MeterPoint, RATES_HZ, TEMPO_BPM, TempoPoint};

/// Checks all but what depends on times.
pub(super) fn check(
    rate_hz: u32,
    tempos: &[TempoPoint],
    meters: &[MeterPoint],
) -> Result<(), TempoError> {
    if !RATES_HZ.contains(&rate_hz) {
        return Err(TempoError::Rate(rate_hz));
    }
    if tempos.is_empty() {
        return Err(TempoError::Empty);
    }
    check_count(PointKind::Tempo, tempos.len())?;
    check_count(PointKind::TimeSignature, meters.len())?;
    check_tempos(tempos)?;
    check_meters(meters)
}

fn check_count(kind: PointKind, count: usize) -> Result<(), TempoError> {
    if count > MAX_POINTS { Err(TempoError::TooMany { kind, count }) } else { Ok(()) }
}

fn check_tempos(points: &[TempoPoint]) -> Result<(), TempoError> {
    let mut before = 0.0;
    for (index, point) in points.iter().enumerate() {
        let TempoPoint { beats, bpm, .. } = *point;
        check_beats(PointKind::Tempo, index, beats)?;
        // Two tempos at one beat are a jump behind a line.
        if beats < before {
            return Err(TempoError::Order { kind: PointKind::Tempo, index, beats, before });
        }
        if !TEMPO_BPM.contains(&bpm) {
            return Err(TempoError::Tempo { index, beats, bpm });
        }
        before = beats;
    }
    Ok(())
}

fn check_meters(points: &[MeterPoint]) -> Result<(), TempoError> {
    let mut before = None;
    for (index, point) in points.iter().enumerate() {
        let MeterPoint { beats, signature } = *point;
        check_beats(PointKind::TimeSignature, index, beats)?;
        if let Some(before) = before.filter(|before| beats <= *before) {
            return Err(TempoError::Order { kind: PointKind::TimeSignature, index, beats, before });
        }
        let (numerator, denominator) = (signature.numerator, signature.denominator);
        let is_note = denominator.is_power_of_two() && denominator <= 64;
        if !(1..=255).contains(&numerator) || !is_note {
            return Err(TempoError::Signature { index, beats, numerator, denominator });
        }
        before = Some(beats);
    }
    Ok(())
}

fn check_beats(kind: PointKind, index: usize, beats: f64) -> Result<(), TempoError> {
    // A NaN is in no range.
    if (0.0..=MAX_POINT_BEATS).contains(&beats) {
        return Ok(());
    }
    Err(TempoError::Beats { kind, index, beats })
}
