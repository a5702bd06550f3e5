//! Cycles at the server's rate from blocks at the engine's, where a server has changed its rate while it plays.
//!
//! The engine keeps its rate, because effects, plug-ins and takes were prepared for it. What it puts out is converted to the
//! server's rate, and what comes in to the engine's. What is heard then has the converter's bits; takes keep the engine's.

use rubato::audioadapter_buffers::direct::SequentialSliceOfVecs;
use rubato::{
    Async, FixedAsync, Resampler, Resizable, SincInterpolationParameters, SincInterpolationType,
    WindowFunction,
};

use hocket_engine::rows;
use hocket_machine::float_mode::FlushDenormals;

/// Taps at the lower of the two rates: flat to 0.8 of its Nyquist frequency, and half of them on the way.
const TAPS: usize = 128;
const WINDOW: WindowFunction = WindowFunction::BlackmanHarris2;
/// Filter phases: one for each position that occurs, or else so many, and interpolation between them.
const MOST_EXACT_PHASES: usize = 1_024;
const PHASES: usize = 256;
/// The longest cycle, in frames: PipeWire's usual limit.
pub(super) const LONGEST_CYCLE: usize = 8_192;

type Rows = Vec<Vec<f32>>;

fn silence(rows: usize, frames: usize) -> Rows {
    vec![vec![0.0; frames]; rows]
}

/// One direction: some rows, converted together.
struct OneWay {
    by: Async<f32>,
    from: Rows,
    to: Rows,
}

impl OneWay {
    fn new(from_hz: u32, to_hz: u32, rows: usize, fixed: FixedAsync) -> Option<OneWay> {
        let divisor = greatest_divisor(from_hz, to_hz);
        let phases = (to_hz / divisor.max(1)) as usize;
        let (phases, interpolation) = match phases {
            1..=MOST_EXACT_PHASES => (phases, SincInterpolationType::Nearest),
            _ => (PHASES, SincInterpolationType::Cubic),
        };
        let ratio = f64::from(to_hz) / f64::from(from_hz);
        let taps = ((TAPS as f64 / ratio.min(1.0)).ceil() as usize).next_multiple_of(8);
        let filter = SincInterpolationParameters::new(taps, WINDOW)
            .oversampling_factor(phases)
            .interpolation(interpolation);
        let by = Async::new_sinc(ratio, 1.0, &filter, LONGEST_CYCLE, rows, fixed).ok()?;
        let (from, to) = (by.input_frames_max(), by.output_frames_max());
        Some(OneWay { by, from: silence(rows, from), to: silence(rows, to) })
    }

    /// Converts what is in `from`, without denormals, of which it takes [`Resampler::input_frames_next`] frames. Returns how many are in `to`.
    fn convert(&mut self) -> usize {
        let _float_mode = FlushDenormals::enter();
        let rows = self.from.len();
        let (frames, room) = (self.from[0].len(), self.to[0].len());
        let from = SequentialSliceOfVecs::new(&self.from, rows, frames);
        let to = SequentialSliceOfVecs::new_mut(&mut self.to, rows, room);
        let (Ok(from), Ok(mut to)) = (from, to) else { return 0 };
        self.by.process_into_buffer(&from, &mut to, None).map_or(0, |(_, frames)| frames)
    }
}

/// Both directions. One is made for each change of rate.
///
/// In a cycle: [`Converter::begin`], [`Converter::input_mut`] for all rows, [`Converter::take_in`], then blocks of the engine
/// with [`Converter::bring_in`] and [`Converter::put_out`], then [`Converter::end`], and [`Converter::output`] for all rows.
/// Thread: the server's, but for [`Converter::new`]. No allocation. Cost: 128 multiplications for each sample.
pub(super) struct Converter {
    outputs: OneWay,
    inputs: Option<OneWay>,
    /// Inputs at the engine's rate, `waiting` frames of each.
    queue: Rows,
    waiting: usize,
    /// Frames of the server's cycle, and of the engine in it.
    cycle: usize,
    wanted: usize,
}

impl Converter {
    /// For so many rows out and in. `None`: these rates cannot be converted. Thread: control.
    pub(super) fn new(
        engine_hz: u32,
        server_hz: u32,
        [outputs, inputs]: [usize; 2],
    ) -> Option<Converter> {
        if engine_hz == 0 || server_hz == 0 {
            return None;
        }
        // Without outputs it counts the engine's frames all the same.
        let outputs = OneWay::new(engine_hz, server_hz, outputs.max(1), FixedAsync::Output)?;
        let inputs = match inputs {
            0 => None,
            rows => Some(OneWay::new(server_hz, engine_hz, rows, FixedAsync::Input)?),
        };
        let ahead = ahead(engine_hz, server_hz);
        let room = inputs.as_ref().map_or(0, |inputs| 2 * inputs.to[0].len() + ahead);
        let queue = silence(inputs.as_ref().map_or(0, |inputs| inputs.from.len()), room);
        Some(Converter { outputs, inputs, queue, waiting: ahead, cycle: 0, wanted: 0 })
    }

    /// Begins a cycle of the server of so many frames. Returns how many frames the engine is to play in it; `None`: the cycle
    /// has no frame, or is longer than any.
    pub(super) fn begin(&mut self, cycle: usize) -> Option<usize> {
        if cycle == 0 {
            return None;
        }
        if cycle != self.cycle {
            self.outputs.by.set_chunk_size(cycle).ok()?;
            if let Some(inputs) = &mut self.inputs {
                inputs.by.set_chunk_size(cycle).ok()?;
            }
            self.cycle = cycle;
        }
        self.wanted = self.outputs.by.input_frames_next();
        Some(self.wanted)
    }

    /// Where in the engine's frames of this cycle a frame of the server's is.
    pub(super) fn frame(&self, of_server: u32) -> u32 {
        let frame = u64::from(of_server) * self.wanted as u64 / self.cycle.max(1) as u64;
        frame as u32
    }

    /// Where what came in at a row of this cycle is to be put.
    pub(super) fn input_mut(&mut self, row: usize) -> Option<&mut [f32]> {
        self.inputs.as_mut()?.from.get_mut(row)?.get_mut(..self.cycle)
    }

    /// Converts what came in.
    pub(super) fn take_in(&mut self) {
        let Some(inputs) = &mut self.inputs else { return };
        let came = inputs.convert();
        for (queue, row) in self.queue.iter_mut().zip(&inputs.to) {
            if let Some(room) = queue.get_mut(self.waiting..self.waiting + came) {
                rows::copy(room, &row[..came]);
            }
        }
        let room = self.queue.first().map_or(0, Vec::len);
        self.waiting = (self.waiting + came).min(room);
    }

    /// Gives the engine a row's input from this frame of its own on. Silence where none has come yet.
    pub(super) fn bring_in(&self, row: usize, from: usize, to: &mut [f32]) {
        let waiting = self.queue.get(row).and_then(|queue| queue.get(from..self.waiting));
        let waiting = waiting.unwrap_or(&[]);
        let there = waiting.len().min(to.len());
        rows::copy(&mut to[..there], &waiting[..there]);
        rows::fill(&mut to[there..], 0.0);
    }

    /// Takes what the engine put out at a row, from this frame of its own on.
    pub(super) fn put_out(&mut self, row: usize, from: usize, samples: &[f32]) {
        let room = self.outputs.from.get_mut(row);
        if let Some(room) = room.and_then(|row| row.get_mut(from..from + samples.len())) {
            rows::copy(room, samples);
        }
    }

    /// Converts what was put out. What the engine has not played from this frame of its own on is silence.
    pub(super) fn end(&mut self, played: usize) {
        for row in &mut self.outputs.from {
            row.get_mut(played..self.wanted).iter_mut().for_each(|rest| rows::fill(rest, 0.0));
        }
        self.outputs.convert();
        let taken = self.wanted.min(self.waiting);
        for queue in &mut self.queue {
            queue.copy_within(taken..self.waiting, 0);
        }
        self.waiting -= taken;
    }

    /// A row for the server.
    pub(super) fn output(&self, row: usize) -> &[f32] {
        let row = self.outputs.to.get(row).and_then(|row| row.get(..self.cycle));
        row.unwrap_or(&[])
    }
}

/// Silence before the first input, in frames of the engine: each way rounds to whole frames, of which one of the server's may be
/// several of the engine's.
fn ahead(engine_hz: u32, server_hz: u32) -> usize {
    2 * engine_hz.div_ceil(server_hz.max(1)) as usize + 4
}

fn greatest_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    const TONE_HZ: f64 = 1_000.0;
    /// What counts as flat.
    const FLAT_DB: f64 = 0.1;

    /// The engine puts out a tone and hears one. What the server gets and the engine hears, each with its rate.
    fn played(
        tone_hz: f64,
        [engine_hz, server_hz]: [u32; 2],
        cycles: &[usize],
    ) -> [(u32, Vec<f32>); 2] {
        let tone = |rate_hz: u32, frame: usize| {
            (TAU * tone_hz * frame as f64 / f64::from(rate_hz)).sin() as f32
        };
        let mut converter = Converter::new(engine_hz, server_hz, [2, 1]).unwrap();
        let (mut put, mut brought, mut of_server, mut of_engine) = (0, 0, Vec::new(), Vec::new());
        for cycle in cycles {
            let wanted = converter.begin(*cycle).unwrap();
            for sample in converter.input_mut(0).unwrap() {
                *sample = tone(server_hz, brought);
                brought += 1;
            }
            converter.take_in();
            // Two blocks of the engine.
            for (from, frames) in [(0, wanted / 3), (wanted / 3, wanted - wanted / 3)] {
                let mut heard = vec![9.0; frames];
                converter.bring_in(0, from, &mut heard);
                of_engine.extend(heard);
                let block: Vec<f32> = (0..frames).map(|at| tone(engine_hz, put + at)).collect();
                put += frames;
                converter.put_out(0, from, &block);
                converter.put_out(1, from, &block);
            }
            converter.end(wanted);
            assert_eq!(converter.output(0), converter.output(1));
            assert_eq!(converter.output(0).len(), *cycle);
            of_server.extend_from_slice(converter.output(0));
        }
        [(server_hz, of_server), (engine_hz, of_engine)]
    }

    /// After a beginning it is the tone, with some delay: each frame follows from the two before, and they say how loud it is.
    #[track_caller]
    fn check_tone(rate_hz: u32, samples: &[f32]) {
        let (cos, sin) = {
            let turn = TAU * TONE_HZ / f64::from(rate_hz);
            (turn.cos(), turn.sin())
        };
        for at in 600..samples.len() - 1 {
            let [before, here, after] = [at - 1, at, at + 1].map(|at| f64::from(samples[at]));
            assert!((before + after - 2.0 * cos * here).abs() < 2e-4, "frame {at} of {rate_hz} Hz");
            let loud = here.hypot((after - before) / (2.0 * sin));
            assert!((loud - 1.0).abs() < 2e-3, "frame {at} of {rate_hz} Hz: {loud}");
        }
    }

    #[test]
    fn a_tone_keeps_its_pitch_both_ways() {
        for rates in [[48_000, 44_100], [44_100, 48_000], [48_000, 96_000], [48_000, 44_101]] {
            for cycles in [vec![1_024; 24], vec![64; 300], [441, 64, 1_000, 3].repeat(12)] {
                for (rate_hz, samples) in played(TONE_HZ, rates, &cycles) {
                    check_tone(rate_hz, &samples);
                }
            }
        }
    }

    /// How loud a tone is, in dB of one with amplitude 1. A window makes its phase and its ends unimportant.
    fn level_db(rate_hz: u32, tone_hz: f64, samples: &[f32]) -> f64 {
        let (mut cos, mut sin, mut all) = (0.0, 0.0, 0.0);
        for (at, sample) in samples.iter().enumerate() {
            let window = 1.0 - (TAU * at as f64 / samples.len() as f64).cos();
            let turn = TAU * tone_hz * at as f64 / f64::from(rate_hz);
            cos += window * f64::from(*sample) * turn.cos();
            sin += window * f64::from(*sample) * turn.sin();
            all += window;
        }
        20.0 * (2.0 * f64::hypot(cos, sin) / all).log10()
    }

    #[test]
    fn it_is_flat_to_eight_tenths_of_half_of_the_lower_rate() {
        for rates in [[48_000, 44_100], [44_100, 48_000], [48_000, 96_000], [48_000, 44_101]] {
            let half_hz = f64::from(rates[0].min(rates[1])) / 2.0;
            for part in [0.01, 0.1, 0.3, 0.5, 0.7, 0.8] {
                for (rate_hz, samples) in played(part * half_hz, rates, &[1_024; 24]) {
                    let level = level_db(rate_hz, part * half_hz, &samples[600..]);
                    assert!(level.abs() < FLAT_DB, "{rates:?}, {part}: {level:.3} dB");
                }
            }
        }
    }

    #[test]
    fn a_long_run_neither_lacks_input_nor_collects_it() {
        for [engine_hz, server_hz] in
            [[48_000, 44_100], [192_000, 8_000], [8_000, 192_000], [44_101, 96_000]]
        {
            let mut converter = Converter::new(engine_hz, server_hz, [1, 1]).unwrap();
            let cycles = [128, 128, 128, 64, 1_023, 1, 7].into_iter().cycle().take(7_000);
            for cycle in cycles {
                let wanted = converter.begin(cycle).unwrap();
                converter.take_in();
                assert!(converter.waiting >= wanted, "{} of {wanted}", converter.waiting);
                converter.end(wanted);
                let most = 3 * ahead(engine_hz, server_hz);
                assert!(converter.waiting <= most, "{} of {most}", converter.waiting);
            }
        }
    }

    #[test]
    fn what_is_not_played_is_silence() {
        let mut converter = Converter::new(48_000, 44_100, [1, 0]).unwrap();
        for _ in 0..4 {
            let wanted = converter.begin(1_024).unwrap();
            converter.put_out(0, 0, &vec![1.0; wanted]);
            converter.end(wanted);
        }
        converter.begin(1_024).unwrap();
        converter.end(0);
        converter.begin(1_024).unwrap();
        converter.end(0);
        assert!(converter.output(0).iter().all(|sample| *sample == 0.0));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(Converter::new(48_000, 0, [2, 0]).is_none());
        let mut converter = Converter::new(48_000, 44_100, [0, 0]).unwrap();
        assert!(converter.begin(0).is_none() && converter.begin(LONGEST_CYCLE + 1).is_none());
        assert_eq!(converter.begin(441).map(|wanted| wanted.abs_diff(480) < 100), Some(true));
        assert_eq!(converter.frame(440), (440 * converter.wanted / 441) as u32);
        assert!(converter.input_mut(0).is_none());
    }
}
