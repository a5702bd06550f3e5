//! Which frames of which answer are due: the output is so many frames late, whatever lengths calls have.
//!
//! The frames that are not played yet are parts in a row: calls, and silence where there was none. Each call brings as many
//! frames as it takes, so there are always as many as the output is late.

use std::collections::VecDeque;

/// Frames that come out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The request that they answer. `None`: nothing was sent.
    pub number: Option<u32>,
    /// At least 1.
    pub frames: usize,
}

/// A piece of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub part: Part,
    /// The first frame of the part.
    pub from: usize,
    /// How many frames.
    pub count: usize,
}

/// The parts in order.
#[derive(Debug)]
pub struct Lead {
    parts: VecDeque<Part>,
    /// How many frames of the first part are played.
    played: usize,
    frames: usize,
}

impl Lead {
    /// So many frames late, with room for the calls of `slots` slots.
    ///
    /// Thread: control; allocates.
    pub fn new(frames: usize, slots: usize) -> Lead {
        // Between two calls may be silence.
        let mut lead = Lead { parts: VecDeque::with_capacity(2 * slots + 4), played: 0, frames };
        lead.reset();
        lead
    }

    /// How late it is.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Begins with silence again.
    pub fn reset(&mut self) {
        self.parts.clear();
        self.played = 0;
        self.push(Part { number: None, frames: self.frames });
    }

    /// Is later from now on; never earlier.
    pub fn grow(&mut self, frames: usize) {
        let more = frames.saturating_sub(self.frames);
        if more == 0 {
            return;
        }
        self.frames += more;
        if self.played == 0 && self.parts.len() < self.parts.capacity() {
            self.parts.push_front(Part { number: None, frames: more });
        } else {
            // In the midst of a part, its rest is silent too.
            let rest = self.parts.iter().map(|part| part.frames).sum::<usize>() - self.played;
            self.parts.clear();
            self.played = 0;
            self.push(Part { number: None, frames: rest + more });
        }
    }

    /// Appends a part. Silence joins silence.
    pub fn push(&mut self, part: Part) {
        if part.frames == 0 {
            return;
        }
        let has_room = self.parts.len() < self.parts.capacity();
        match self.parts.back_mut() {
            Some(last) if last.number.is_none() && part.number.is_none() => {
                last.frames += part.frames;
            }
            // Calls never find it full. What is lost then is silence that comes too early.
            _ if has_room => self.parts.push_back(part),
            _ => {}
        }
    }

    /// The oldest call that is not played to its end.
    pub fn oldest(&self) -> Option<u32> {
        self.parts.iter().find_map(|part| part.number)
    }

    /// Takes up to `most` frames of the first part. `None`: there is none.
    pub fn take(&mut self, most: usize) -> Option<Due> {
        let part = *self.parts.front()?;
        let (from, count) = (self.played, most.min(part.frames - self.played));
        self.played += count;
        if self.played == part.frames {
            self.parts.pop_front();
            self.played = 0;
        }
        Some(Due { part, from, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the calls whose frames come out, 0 for silence, with calls of these lengths.
    fn heard(late: usize, lengths: &[usize]) -> Vec<u32> {
        let mut lead = Lead::new(late, 1000);
        let mut heard = Vec::new();
        for (number, frames) in (1..).zip(lengths) {
            lead.push(Part { number: Some(number), frames: *frames });
            let mut left = *frames;
            while left > 0 {
                let due = lead.take(left).unwrap();
                heard.extend(std::iter::repeat_n(due.part.number.unwrap_or(0), due.count));
                left -= due.count;
            }
        }
        heard
    }

    #[test]
    fn the_output_is_as_late_as_it_says_whatever_the_lengths() {
        for lengths in [&[64; 10][..], &[64, 1, 63, 17, 64, 2, 2, 2, 64, 30], &[1; 200]] {
            let calls = (1..).zip(lengths);
            let input: Vec<u32> =
                calls.flat_map(|(number, frames)| std::iter::repeat_n(number, *frames)).collect();
            let heard = heard(64, lengths);
            assert!(heard[..64].iter().all(|number| *number == 0));
            assert_eq!(heard[64..], input[..input.len() - 64]);
        }
    }

    #[test]
    fn it_grows_and_never_shrinks() {
        let mut lead = Lead::new(4, 16);
        lead.push(Part { number: Some(1), frames: 4 });
        assert_eq!(lead.take(4).unwrap().part.number, None);
        lead.grow(6);
        lead.grow(5);
        assert_eq!(lead.frames(), 6);
        let silence = Part { number: None, frames: 2 };
        assert_eq!(lead.take(4), Some(Due { part: silence, from: 0, count: 2 }));
        assert_eq!(lead.take(4).unwrap().part.number, Some(1));
        assert_eq!(lead.take(4), None);
    }

    #[test]
    fn it_never_allocates_beyond_its_room() {
        let mut lead = Lead::new(64, 16);
        let room = lead.parts.capacity();
        for number in 0..10_000 {
            let number = (number % 3 > 0).then_some(number);
            lead.push(Part { number, frames: 1 });
        }
        assert_eq!(lead.parts.capacity(), room);
        lead.reset();
        assert_eq!(lead.oldest(), None);
    }
}
