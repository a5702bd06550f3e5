//! Two processors side by side, and each by itself.

use hocket_dsp::{Block, Bypass, Param, Processor, StereoMut, TimedChange, kind};

use crate::common::{Stereo, event, noise, run_with};
use crate::kernel::Kernel;

pub const FRAMES: usize = 4000;
pub const RATE_HZ: u32 = 48_000;
const LENGTHS: [&[usize]; 5] = [&[64], &[1, 2, 3, 5, 8, 13], &[441], &[32, 31, 33], &[FRAMES]];

/// One of the two.
pub struct Side {
    build: Box<dyn Fn() -> Box<dyn Processor>>,
    rate_hz: u32,
    input: Stereo,
    events: Vec<TimedChange>,
}

impl Side {
    /// An equaliser.
    pub fn new(values: Vec<f32>, input: Stereo) -> Side {
        Side::of("eq", values, input)
    }

    pub fn of(name: &str, values: Vec<f32>, input: Stereo) -> Side {
        Side::at_rate(name, values, input, RATE_HZ)
    }

    pub fn at_rate(name: &str, values: Vec<f32>, input: Stereo, rate_hz: u32) -> Side {
        let kind = kind(name).unwrap();
        let build = Box::new(move || (kind.build)(&values, rate_hz));
        Side { build, rate_hz, input, events: Vec::new() }
    }

    pub fn with(self, events: Vec<TimedChange>) -> Side {
        Side { events, ..self }
    }

    pub fn bypassed(self, first: bool) -> Side {
        let Side { build, rate_hz, .. } = self;
        let build = Box::new(move || -> Box<dyn Processor> {
            Box::new(Bypass::new(build(), rate_hz, first))
        });
        Side { build, ..self }
    }
}

/// The effects besides the equaliser that run abreast.
pub const OTHERS: [&str; 3] = ["compressor", "amp", "correlation"];

/// Every parameter somewhere in its range.
pub fn anywhere(name: &str, seed: u32) -> Vec<f32> {
    let params = kind(name).unwrap().params;
    let places = noise(params.len(), 77 * seed + 1);
    let value =
        |(param, place): (&Param, f32)| param.min + (param.max - param.min) * (0.5 + 0.5 * place);
    params.iter().zip(places).map(value).collect()
}

/// Changes of every parameter, at frames that meet no border, some at the same frame and some that are no number.
pub fn changes(name: &str, seed: u32) -> Vec<TimedChange> {
    let params = kind(name).unwrap().params;
    let places = noise(12 * params.len(), seed);
    let mut changes: Vec<TimedChange> = places
        .chunks_exact(2)
        .enumerate()
        .map(|(n, at)| {
            let param = &params[n % params.len()];
            let value = param.min + (param.max - param.min) * (0.5 + 0.5 * at[1]);
            let value = if n % 11 == 10 { f32::NAN } else { value };
            let frame = ((0.5 + 0.5 * at[0]) * FRAMES as f32) as u32;
            event(frame / 7 * 7, (n % params.len()) as u16, value)
        })
        .collect();
    changes.sort_by_key(|change| change.frame);
    changes
}

/// An equaliser with so many bands on, the others off, each at another place for another seed.
pub fn eq(bands: usize, seed: u32) -> Vec<f32> {
    let kind = kind("eq").unwrap();
    let mut values = kind.defaults();
    let first = seed as usize % (5 - bands.max(1));
    for band in 0..4 {
        let on = (first..first + bands).contains(&band);
        let shape = 1 + (seed + band as u32) % 8;
        values[4 * band] = if on { shape as f32 } else { 0.0 };
        values[4 * band + 1] = 60.0 * (1 + seed + 5 * band as u32) as f32;
        values[4 * band + 2] = 0.4 + 0.3 * band as f32;
        values[4 * band + 3] = 6.0 - 3.0 * band as f32;
    }
    values
}

/// What one put out, and the bits of what its meter shows then.
#[derive(Clone)]
pub struct Out {
    pub rows: Stereo,
    pub reading: Option<u32>,
}

pub fn reading(processor: &dyn Processor) -> Option<u32> {
    processor.reading().map(f32::to_bits)
}

pub fn out_of(side: &Side) -> Out {
    let mut processor = (side.build)();
    let rows = run_with(&mut *processor, &side.input, None, &[FRAMES], &side.events);
    Out { rows, reading: reading(&*processor) }
}

/// One of the two, at work.
pub struct Playing<'a> {
    side: &'a Side,
    processor: Box<dyn Processor>,
    out: Stereo,
}

impl<'a> Playing<'a> {
    pub fn of(side: &'a Side) -> Playing<'a> {
        Playing { side, processor: (side.build)(), out: side.input.clone() }
    }

    pub fn alone(&mut self, start: usize, end: usize) {
        let events = in_block(&self.side.events, start, end);
        self.processor.process(&mut block(&mut self.out, start, end, &events));
    }

    pub fn end(self) -> Out {
        let reading = reading(&*self.processor);
        Out { rows: self.out, reading }
    }
}

/// A block of both, abreast if they can be. Whether they were.
pub fn together(
    kernel: Kernel,
    [one, beside]: [&mut Playing<'_>; 2],
    start: usize,
    end: usize,
) -> bool {
    let events = [&one.side, &beside.side].map(|side| in_block(&side.events, start, end));
    let mut block = block(&mut one.out, start, end, &events[0]);
    let mut block_beside = self::block(&mut beside.out, start, end, &events[1]);
    let lanes = (one.processor.abreast(&events[0]), beside.processor.abreast(&events[1]));
    let (Some(first), Some(second)) = lanes else {
        one.processor.process(&mut block);
        beside.processor.process(&mut block_beside);
        return false;
    };
    kernel.process([first, second], [&mut block, &mut block_beside]);
    true
}

/// Both, abreast where they can be; also in how many blocks they were.
pub fn abreast_of(kernel: Kernel, sides: [&Side; 2], lengths: &[usize]) -> ([Out; 2], usize) {
    let [mut one, mut other] = sides.map(Playing::of);
    let (mut start, mut count) = (0, 0);
    for length in lengths.iter().cycle() {
        let end = (start + length).min(FRAMES);
        count += usize::from(together(kernel, [&mut one, &mut other], start, end));
        start = end;
        if start == FRAMES {
            break;
        }
    }
    ([one.end(), other.end()], count)
}

pub fn in_block(events: &[TimedChange], start: usize, end: usize) -> Vec<TimedChange> {
    let inside = events.iter().filter(|event| (start..end).contains(&(event.frame as usize)));
    inside.map(|event| TimedChange { frame: event.frame - start as u32, ..*event }).collect()
}

pub fn block<'a>(
    out: &'a mut Stereo,
    start: usize,
    end: usize,
    events: &'a [TimedChange],
) -> Block<'a> {
    let main = StereoMut { left: &mut out.left[start..end], right: &mut out.right[start..end] };
    Block { events, ..Block::new(main) }
}

/// Equal bits; one not-a-number is as good as another, because the engine lets none through.
pub fn assert_same(got: &Out, expected: &Out, what: &str) {
    assert_eq!(got.reading, expected.reading, "{what}: what the meter shows");
    for (got, expected) in got.rows.rows().into_iter().zip(expected.rows.rows()) {
        let differs =
            |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan());
        let at = got.iter().zip(expected).position(differs);
        assert_eq!(at, None, "{what}: {:?} and {:?}", at.map(|n| got[n]), at.map(|n| expected[n]));
    }
}

/// With every kernel, in blocks of all lengths. Returns how many blocks of 64 frames ran abreast.
pub fn check(one: &Side, other: &Side, what: &str) -> usize {
    let expected = [one, other].map(out_of);
    let check = |kernel: Kernel, lengths: &[usize]| {
        let (outs, together) = abreast_of(kernel, [one, other], lengths);
        for (side, (got, expected)) in outs.iter().zip(&expected).enumerate() {
            let place = format!("{what}, side {side}, {kernel:?}, blocks of {lengths:?}");
            assert_same(got, expected, &place);
        }
        together
    };
    let mut of_64 = 0;
    for kernel in Kernel::all() {
        of_64 = check(kernel, LENGTHS[0]);
        LENGTHS[1..].iter().for_each(|lengths| _ = check(kernel, lengths));
    }
    of_64
}
