//! The song's place as a signal of an audio port: in each cycle, where the song is at the cycle's first frame.
//!
//! JACK's network carries ports and no transport, so this is how an engine on another machine follows one here. The first
//! samples of a cycle are whole numbers, and so small that nobody is hurt who connects the port to a loudspeaker: -60 dB of
//! full scale at most. Sound, silence and two signals at once are no place.

/// The size of one: numbers below [`LIMIT`] stay below -60 dB, and floats hold them exactly.
const STEP: f32 = 1.0 / (1u32 << 30) as f32;
/// Numbers in a sample are below.
const LIMIT: i64 = 1 << 20;
/// What the first sample says.
const MARK: i64 = 0x5_0c4e;
/// Mark, whether it plays, the frame's high and low part, and the sum of all.
const SAMPLES: usize = 5;

/// Where a song is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SongPlace {
    /// The frame of the song.
    pub(super) frame: i64,
    /// Whether it moves on.
    pub(super) plays: bool,
}

impl SongPlace {
    /// Writes a cycle of the signal. A place that it cannot express is silence.
    ///
    /// Thread: the server's. Cost: O(frames); no allocation, lock or system call.
    pub(super) fn write(self, row: &mut [f32]) {
        hocket_engine::rows::fill(row, 0.0);
        let (high, low) = (self.frame / LIMIT, self.frame % LIMIT);
        if row.len() < SAMPLES || self.frame < 0 || high >= LIMIT {
            return;
        }
        for (sample, number) in row.iter_mut().zip(numbers(self.plays, high, low)) {
            *sample = number as f32 * STEP;
        }
    }

    /// Reads a cycle of the signal. `None`: it is none.
    ///
    /// Thread: the server's. Cost: O(1); no allocation, lock or system call.
    pub(super) fn read(row: &[f32]) -> Option<SongPlace> {
        let mut read = [0; SAMPLES];
        for (number, sample) in read.iter_mut().zip(row.get(..SAMPLES)?) {
            let value = sample / STEP;
            let is_whole = value >= 0.0 && value < LIMIT as f32 && value.fract() == 0.0;
            *number = is_whole.then_some(value as i64)?;
        }
        let [_, plays, high, low, _] = read;
        let plays = plays == 1;
        (read == numbers(plays, high, low))
            .then_some(SongPlace { frame: high * LIMIT + low, plays })
    }
}

fn numbers(plays: bool, high: i64, low: i64) -> [i64; SAMPLES] {
    let plays = i64::from(plays);
    [MARK, plays, high, low, (MARK + plays + high + low) % LIMIT]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(frame: i64, plays: bool) -> Vec<f32> {
        let mut row = vec![1.0; 16];
        SongPlace { frame, plays }.write(&mut row);
        row
    }

    #[test]
    fn every_place_is_read_as_it_was_written_and_stays_quiet() {
        for frame in [0, 1, 255, LIMIT - 1, LIMIT, 48_000 * 3600 * 24, LIMIT * LIMIT - 1] {
            for plays in [false, true] {
                let row = written(frame, plays);
                assert_eq!(SongPlace::read(&row), Some(SongPlace { frame, plays }));
                assert!(row.iter().all(|sample| sample.abs() < 0.001), "{row:?}");
                assert!(row[SAMPLES..].iter().all(|sample| *sample == 0.0));
            }
        }
    }

    #[test]
    fn sound_silence_and_two_signals_are_no_place() {
        assert_eq!(SongPlace::read(&[0.0; 16]), None);
        assert_eq!(SongPlace::read(&[f32::NAN; 16]), None);
        assert_eq!(SongPlace::read(&[]), None);
        let sine: Vec<f32> = (0..16).map(|i| (i as f32 * 0.1).sin()).collect();
        assert_eq!(SongPlace::read(&sine), None);
        let (one, two) = (written(1000, true), written(2000, true));
        let both: Vec<f32> = one.iter().zip(&two).map(|(a, b)| a + b).collect();
        assert_eq!(SongPlace::read(&both), None);
        let mut changed = one;
        changed[3] += STEP;
        assert_eq!(SongPlace::read(&changed), None);
    }

    #[test]
    fn a_place_that_cannot_be_expressed_is_silence() {
        for frame in [-1, LIMIT * LIMIT] {
            assert!(written(frame, true).iter().all(|sample| *sample == 0.0));
        }
        let mut short = [1.0; 4];
        SongPlace { frame: 5, plays: true }.write(&mut short);
        assert_eq!(short, [0.0; 4]);
    }
}
