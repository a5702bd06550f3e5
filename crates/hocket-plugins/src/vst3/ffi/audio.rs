//! The half of an instance that plays.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

use vst3::ComPtr;
use vst3::Steinberg::Vst::ProcessContext_::StatesAndFlags_::{
    kBarPositionValid, kContTimeValid, kPlaying, kProjectTimeMusicValid, kTempoValid, kTimeSigValid,
};
use vst3::Steinberg::Vst::ProcessModes_::kRealtime;
use vst3::Steinberg::Vst::SymbolicSampleSizes_::kSample32;
use vst3::Steinberg::Vst::{
    AudioBusBuffers, AudioBusBuffers__type0, IAudioProcessor, IAudioProcessorTrait, ProcessContext,
    ProcessData,
};
use vst3::Steinberg::kResultOk;

use super::lists::Lists;
use crate::LONGEST_RUN;
use crate::song::SongPoint;

/// The rows of the buses of one direction.
struct Rows {
    /// Of each channel of each bus.
    rows: Vec<Vec<Vec<f32>>>,
    pointers: Vec<Vec<*mut f32>>,
    buses: Vec<AudioBusBuffers>,
}

impl Rows {
    fn new(channels: &[usize]) -> Rows {
        let rows = |channels: &usize| vec![vec![0.0; LONGEST_RUN]; *channels];
        let buffers = |channels: &usize| AudioBusBuffers {
            numChannels: *channels as i32,
            silenceFlags: 0,
            __field0: AudioBusBuffers__type0 { channelBuffers32: null_mut() },
        };
        Rows {
            rows: channels.iter().map(rows).collect(),
            pointers: channels.iter().map(|channels| vec![null_mut(); *channels]).collect(),
            buses: channels.iter().map(buffers).collect(),
        }
    }

    /// Writes the pointers anew.
    fn buses(&mut self) -> *mut AudioBusBuffers {
        let all = self.rows.iter_mut().zip(&mut self.pointers).zip(&mut self.buses);
        for ((rows, pointers), bus) in all {
            rows.iter_mut().zip(&mut *pointers).for_each(|(row, place)| *place = row.as_mut_ptr());
            bus.silenceFlags = 0;
            bus.__field0 = AudioBusBuffers__type0 { channelBuffers32: place_of(pointers) };
        }
        place_of(&mut self.buses)
    }
}

/// Null where there is nothing: some plug-ins look at the place alone.
fn place_of<T>(all: &mut [T]) -> *mut T {
    if all.is_empty() { null_mut() } else { all.as_mut_ptr() }
}

/// The half of an instance that plays. The instance outlives it.
pub struct Audio {
    processor: ComPtr<IAudioProcessor>,
    inputs: Rows,
    outputs: Rows,
    /// What changes and sounds in the next run.
    pub lists: Lists,
    rate_hz: u32,
}

// SAFETY: One audio thread; Rows: the pointers are written anew before each call.
unsafe impl Send for Audio {}

impl Audio {
    pub(super) fn new(
        processor: ComPtr<IAudioProcessor>,
        (inputs, outputs): (&[usize], &[usize]),
        lists: Lists,
        rate_hz: u32,
    ) -> Audio {
        let (inputs, outputs) = (Rows::new(inputs), Rows::new(outputs));
        Audio { processor, inputs, outputs, lists, rate_hz }
    }

    /// The channels of an input bus.
    pub fn input(&mut self, bus: usize) -> &mut [Vec<f32>] {
        self.inputs.rows.get_mut(bus).map_or(&mut [], Vec::as_mut_slice)
    }

    /// The channels of an output bus.
    pub fn output(&self, bus: usize) -> &[Vec<f32>] {
        self.outputs.rows.get(bus).map_or(&[], Vec::as_slice)
    }

    /// Silence, where the plug-in fails.
    pub fn clear(&mut self, frames: usize) {
        let rows = self.outputs.rows.iter_mut().flatten();
        rows.for_each(|row| row[..frames].fill(0.0));
    }

    /// Says that blocks come, or that none come.
    pub fn set_processing(&mut self, on: bool) {
        // SAFETY: Types; Counted; One audio thread.
        unsafe { self.processor.setProcessing(on.into()) };
    }

    /// One run of so many frames, at most [`LONGEST_RUN`]; of none, it takes the changes alone. `elapsed`: frames since the
    /// last reset. `false`: the plug-in fails.
    ///
    /// Thread: audio. Cost: that of the plug-in, and sorting the changes; no allocation, lock or system call of Hocket.
    pub fn process(&mut self, frames: usize, song: Option<&SongPoint>, elapsed: u64) -> bool {
        self.lists.commit();
        let mut context = context(song, elapsed, self.rate_hz);
        let has_audio = frames > 0;
        let count = |rows: &Rows| if has_audio { rows.buses.len() as i32 } else { 0 };
        let mut data = ProcessData {
            processMode: kRealtime as i32,
            symbolicSampleSize: kSample32 as i32,
            numSamples: frames.min(LONGEST_RUN) as i32,
            numInputs: count(&self.inputs),
            numOutputs: count(&self.outputs),
            inputs: if has_audio { self.inputs.buses() } else { null_mut() },
            outputs: if has_audio { self.outputs.buses() } else { null_mut() },
            inputParameterChanges: self.lists.input_changes(),
            outputParameterChanges: self.lists.output_changes(),
            inputEvents: self.lists.input_events(),
            outputEvents: self.lists.output_events(),
            processContext: &raw mut context,
        };
        // SAFETY: Types; Counted; One audio thread; Rows.
        unsafe { self.processor.process(&raw mut data) == kResultOk }
    }
}

fn context(song: Option<&SongPoint>, elapsed: u64, rate_hz: u32) -> ProcessContext {
    // SAFETY: Plain data.
    let mut context: ProcessContext = unsafe { MaybeUninit::zeroed().assume_init() };
    context.sampleRate = f64::from(rate_hz);
    context.continousTimeSamples = elapsed as i64;
    context.tempo = 120.0;
    (context.timeSigNumerator, context.timeSigDenominator) = (4, 4);
    context.state = kContTimeValid;
    if let Some(song) = song {
        context.projectTimeSamples = song.frame;
        context.projectTimeMusic = song.beats;
        context.barPositionMusic = song.bar_start;
        context.tempo = song.bpm;
        context.timeSigNumerator = i32::from(song.signature.numerator);
        context.timeSigDenominator = i32::from(song.signature.denominator);
        context.state |= kProjectTimeMusicValid | kBarPositionValid | kTempoValid | kTimeSigValid;
        context.state |= if song.playing { kPlaying } else { 0 };
    }
    context
}
