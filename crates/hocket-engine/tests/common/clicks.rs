//! Clicks in a row of samples, without knowledge of its sound.
//!
//! The measure is the sixth difference. It leaves nearly nothing of what is smooth: a sine of 1 kHz at 48 kHz becomes
//! 126 dB quieter, and lower ones more so. A jump it leaves as it is.

/// By how much each sample counts.
const SIXTH: [f64; 7] = [1.0, -6.0, 15.0, -20.0, 15.0, -6.0, 1.0];
/// What it makes of a jump by 1.
const JUMP: f64 = 10.0;

/// Samples before a click with which it is seen.
pub const BEFORE: usize = SIXTH.len() - 1;

/// The loudest click; 1.0 = full scale. A jump has its height, a lone sample twice its height, and a corner 0.6 of what the
/// slope changes by, per frame.
pub fn loudest(row: &[f32]) -> f64 {
    let clicks = row.windows(SIXTH.len()).map(|samples| {
        let terms = samples.iter().zip(SIXTH).map(|(sample, times)| f64::from(*sample) * times);
        terms.sum::<f64>().abs() / JUMP
    });
    clicks.fold(0.0, f64::max)
}
