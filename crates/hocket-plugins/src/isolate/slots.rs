//! What lies where in the memory that a plug-in's process shares with the engine's.
//!
//! | words | what |
//! |---|---|
//! | 0 to 5 | `MAGIC`, `VERSION`, how many slots there are, frames of a slot, rows of extra outputs, and whether there are events in answers |
//! | 16 | `SENT`: the number of the last request. The engine's process writes it |
//! | 32 | `DONE`: the number of the last answer. The plug-in's process writes it |
//! | 64 to the end | the slots |
//!
//! The request with number *n* and its answer lie in slot *n* modulo the number of slots. Numbers wrap around. A slot:
//!
//! | words | what |
//! |---|---|
//! | 0 to 15 | the request's head ([`Request`]) |
//! | 16 to 47 | the song at the first frame, and behind the last |
//! | 48 on | changes of parameters, then events: `EVENT_WORDS` |
//! | then | four rows: left, right, and both of the side chain |
//! | then, 16 words | the answer's head ([`Answer`]) |
//! | then | the rows of the answer: left, right, and those of extra outputs |
//! | then | of a plug-in that sends events, these: `EVENT_WORDS` |

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::words::{Reader, SONG_WORDS, Writer};
use crate::extra::MOST_CHANNELS;

/// Says whose memory it is.
pub const MAGIC: u32 = u32::from_le_bytes(*b"HKIS");
/// Of this layout. Another one is refused.
pub const VERSION: u32 = 3;
/// The most frames of a slot.
pub const FRAMES: usize = 256;
/// Room for changes and events of a slot.
pub const EVENT_WORDS: usize = 1024;
/// The fewest and most slots.
const SLOTS: [usize; 2] = [16, 128];

const SENT: usize = 16;
const DONE: usize = 32;
const HEADER: usize = 64;
const SONG: usize = 16;
const EVENTS: usize = 48;
const ROWS: usize = EVENTS + EVENT_WORDS;
const ANSWER: usize = ROWS + 4 * FRAMES;
const ANSWER_ROWS: usize = ANSWER + 16;
/// Rows of an answer without extra outputs.
const MAIN_ROWS: usize = 2;

const _: () = assert!(2 * SONG_WORDS <= EVENTS - SONG);

/// How many slots blocks of `frames` frames need: one slot per 8 frames, because blocks may be shorter than the largest.
pub fn slots_for(frames: usize) -> usize {
    (frames / 8).next_power_of_two().clamp(SLOTS[0], SLOTS[1])
}

/// How many slots there are, how many rows of extra outputs an answer has, and whether it has events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub count: usize,
    pub extra: usize,
    pub sends: bool,
}

impl Shape {
    /// Words of a slot.
    fn slot(self) -> usize {
        self.answer_events() + if self.sends { EVENT_WORDS } else { 0 }
    }

    /// Where the events of an answer begin.
    fn answer_events(self) -> usize {
        ANSWER_ROWS + (MAIN_ROWS + self.extra) * FRAMES
    }

    /// How many words all of it has.
    pub fn words(self) -> usize {
        HEADER + self.count * self.slot()
    }

    fn header(self) -> [u32; 6] {
        let (count, extra) = (self.count as u32, self.extra as u32);
        [MAGIC, VERSION, count, FRAMES as u32, extra, u32::from(self.sends)]
    }
}

/// The words as slots. It holds no trust: all that it reads may be anything.
#[derive(Clone, Copy)]
pub struct Slots<'a> {
    words: &'a [AtomicU32],
    shape: Shape,
}

/// The head of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Request {
    pub number: u32,
    /// 1 to [`FRAMES`].
    pub frames: u32,
    /// Of [`flags`].
    pub flags: u32,
    /// Which loaded state to go on with.
    pub token: u32,
    /// How many values are set before a reset, and how many changes follow.
    pub presets: u32,
    pub changes: u32,
    /// Words of presets, changes and events together.
    pub used: u32,
}

/// What a request is.
pub mod flags {
    /// Set the first values, then reset.
    pub const RESET: u32 = 1;
    /// There is a side chain.
    pub const KEY: u32 = 2;
    /// Its right row is empty.
    pub const MONO_KEY: u32 = 4;
    /// The right row is empty.
    pub const MONO: u32 = 8;
    /// It says where the song is.
    pub const SONG: u32 = 16;
    /// Go on with a loaded state.
    pub const EXCHANGE: u32 = 32;
    /// A block of the engine begins.
    pub const BLOCK: u32 = 64;
    /// Of an answer: the plug-in failed.
    pub const FAILED: u32 = 1;
    /// Of an answer: it wants to be made anew.
    pub const RESTART: u32 = 2;
    /// Of an answer: it goes on for so long.
    pub const TAIL: u32 = 4;
    /// Of an answer: the request was there before the process, which left it out.
    pub const SKIPPED: u32 = 8;
}

/// The head of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    pub number: u32,
    pub frames: u32,
    pub flags: u32,
    /// Of the plug-in, in frames.
    pub latency: u32,
    pub tail: u64,
    /// Events that found no room.
    pub lost: u32,
    /// Words of the events that it sends.
    pub used: u32,
}

impl<'a> Slots<'a> {
    /// `None`: slots of this shape do not fit.
    pub fn new(words: &'a [AtomicU32], shape: Shape) -> Option<Slots<'a>> {
        let Shape { count, extra, .. } = shape;
        let possible = count.is_power_of_two() && count <= SLOTS[1];
        let possible = possible && extra <= MOST_CHANNELS.into();
        (possible && words.len() >= shape.words()).then_some(Slots { words, shape })
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.shape.count
    }

    /// Relaxed: written before the other process starts.
    pub fn write_header(self) {
        let words = self.words.iter().zip(self.shape.header());
        words.for_each(|(place, word)| place.store(word, Relaxed));
    }

    /// Whether this program knows the layout.
    pub fn has_header(self) -> bool {
        let mut words = self.words.iter().zip(self.shape.header());
        words.all(|(word, expected)| word.load(Relaxed) == expected)
    }

    /// The number of the last request (I1).
    pub fn sent(self) -> &'a AtomicU32 {
        &self.words[SENT]
    }

    /// The number of the last answer (I2).
    pub fn done(self) -> &'a AtomicU32 {
        &self.words[DONE]
    }

    fn slot(self, number: u32) -> &'a [AtomicU32] {
        let (place, length) = (number as usize & (self.count() - 1), self.shape.slot());
        &self.words[HEADER + place * length..][..length]
    }

    pub fn write_request(self, request: &Request) {
        let mut to = Writer::new(&self.slot(request.number)[..SONG]);
        let Request { number, frames, flags, token, presets, changes, used } = *request;
        for word in [number, frames, flags, token, presets, changes, used] {
            to.word(word);
        }
    }

    /// `None`: it makes no sense.
    pub fn request(self, number: u32) -> Option<Request> {
        let mut from = Reader::new(self.slot(number));
        let request = Request {
            number: from.word()?,
            frames: from.word()?,
            flags: from.word()?,
            token: from.word()?,
            presets: from.word()?,
            changes: from.word()?,
            used: from.word()?,
        };
        let frames = (1..=FRAMES).contains(&(request.frames as usize));
        let possible = frames && request.number == number && request.used as usize <= EVENT_WORDS;
        possible.then_some(request)
    }

    /// Where the song is.
    pub fn song(self, number: u32) -> &'a [AtomicU32] {
        &self.slot(number)[SONG..EVENTS]
    }

    /// Changes of parameters and events.
    pub fn events(self, number: u32) -> &'a [AtomicU32] {
        &self.slot(number)[EVENTS..ROWS]
    }

    /// A row of the request: left, right, and both of the side chain.
    pub fn row(self, number: u32, row: usize) -> &'a [AtomicU32] {
        &self.slot(number)[ROWS + row * FRAMES..][..FRAMES]
    }

    /// A row of the answer: left, right, then those of extra outputs.
    pub fn answer_row(self, number: u32, row: usize) -> &'a [AtomicU32] {
        &self.slot(number)[ANSWER_ROWS + row * FRAMES..][..FRAMES]
    }

    /// The events of the answer; none where there is no room for any.
    pub fn answer_events(self, number: u32) -> &'a [AtomicU32] {
        &self.slot(number)[self.shape.answer_events()..]
    }

    pub fn write_answer(self, answer: &Answer) {
        let mut to = Writer::new(&self.slot(answer.number)[ANSWER..ANSWER_ROWS]);
        let Answer { number, frames, flags, latency, tail, lost, used } = *answer;
        for word in [number, frames, flags, latency, lost, used] {
            to.word(word);
        }
        to.wide(tail);
    }

    pub fn answer(self, number: u32) -> Option<Answer> {
        let mut from = Reader::new(&self.slot(number)[ANSWER..ANSWER_ROWS]);
        let (number, frames, flags) = (from.word()?, from.word()?, from.word()?);
        let (latency, lost, used) = (from.word()?, from.word()?, from.word()?);
        Some(Answer { number, frames, flags, latency, tail: from.wide()?, lost, used })
    }
}

/// Copies samples into shared memory. Relaxed: `SENT` or `DONE` publishes them (I1, I2).
pub fn write_row(from: &[f32], to: &[AtomicU32]) {
    to.iter().zip(from).for_each(|(to, from)| to.store(from.to_bits(), Relaxed));
}

/// Copies samples out of shared memory. Returns whether all are finite. Relaxed: as above.
pub fn read_row(from: &[AtomicU32], to: &mut [f32]) -> bool {
    let mut finite = true;
    for (to, from) in to.iter_mut().zip(from) {
        *to = f32::from_bits(from.load(Relaxed));
        finite &= to.is_finite();
    }
    finite
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap() {
        let shape = Shape { count: slots_for(64), extra: 3, sends: true };
        let words: Vec<AtomicU32> = (0..shape.words()).map(|_| AtomicU32::new(0)).collect();
        let (slots, count) = (Slots::new(&words, shape).unwrap(), shape.count);
        slots.write_header();
        let request = |number| Request {
            number,
            frames: 7,
            flags: 3,
            token: 4,
            presets: 5,
            changes: 6,
            used: 1024,
        };
        let answer = |number| Answer {
            number,
            frames: 7,
            flags: 1,
            latency: 9,
            tail: u64::MAX,
            lost: 2,
            used: 1024,
        };
        // Numbers wrap around.
        let numbers = || (0..count as u32).map(|n| n.wrapping_sub(3));
        for number in numbers() {
            slots.write_request(&request(number));
            slots.write_answer(&answer(number));
            (0..4).for_each(|row| write_row(&[number as f32; FRAMES], slots.row(number, row)));
            (0..5).for_each(|row| {
                write_row(&[-(number as f32); FRAMES], slots.answer_row(number, row))
            });
            let all = [slots.song(number), slots.events(number), slots.answer_events(number)];
            all.iter().for_each(|words| words.iter().for_each(|word| word.store(number, Relaxed)));
        }
        assert!(slots.has_header());
        for number in numbers() {
            assert_eq!(slots.request(number), Some(request(number)));
            assert_eq!(slots.answer(number), Some(answer(number)));
            let mut row = [0.0; FRAMES];
            assert!(read_row(slots.row(number, 3), &mut row));
            assert_eq!(row, [number as f32; FRAMES]);
            assert!(read_row(slots.answer_row(number, 4), &mut row));
            assert_eq!(row, [-(number as f32); FRAMES]);
            for words in [slots.events(number), slots.answer_events(number)] {
                assert_eq!(words.len(), EVENT_WORDS);
                assert!(words.iter().all(|word| word.load(Relaxed) == number));
            }
        }
        assert_eq!(slots.request(count as u32 - 3), None, "another number lies there");
    }

    #[test]
    fn memory_that_is_too_short_or_of_another_version_is_refused() {
        let shape = |count, extra| Shape { count, extra, sends: false };
        let words: Vec<AtomicU32> = (0..shape(16, 0).words()).map(|_| AtomicU32::new(0)).collect();
        for (count, extra) in [(32, 0), (3, 0), (16, 1), (16, 65)] {
            assert!(Slots::new(&words, shape(count, extra)).is_none(), "{count} {extra}");
        }
        assert!(Slots::new(&words, Shape { sends: true, ..shape(16, 0) }).is_none());
        let slots = Slots::new(&words, shape(16, 0)).unwrap();
        assert!(slots.answer_events(0).is_empty());
        slots.write_header();
        words[1].store(VERSION + 1, Relaxed);
        assert!(!slots.has_header());
    }

    #[test]
    fn what_is_no_number_is_noticed() {
        let words: Vec<AtomicU32> = [1.0, f32::NAN].map(|it| AtomicU32::new(it.to_bits())).into();
        assert!(!read_row(&words, &mut [0.0; 2]));
        assert!(read_row(&words, &mut [0.0; 1]));
    }
}
