//! What clients of a file server ask for, made up to the mix of the first dbench.
//!
//! dbench plays a trace of an office benchmark. Its first version (1999 to 2002) has for each file that is
//! deleted 23 writes, 5 reads, 8 questions about a file of which every fifth is about one that is not there,
//! 5 attempts to open, and now and then a new name; 94 kB are written and 38 kB read. The trace itself is not
//! used here: documents live through these numbers, with lengths of writes and reads drawn as they occur in it.

use std::collections::VecDeque;

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Whether there is a file of this name; there must not be.
    Absent(Name),
    /// Makes and opens an empty file.
    Create(Name),
    /// Opens a file.
    Open(Name),
    /// Writes to the open file.
    Write(Piece),
    /// Reads from the open file what must be there.
    Read(Piece),
    /// Closes the open file.
    Close,
    /// Asks for a file's length; it must be so long.
    Length(Name, u32),
    /// Gives a file another name.
    Rename(Name, Name),
    /// Deletes a file.
    Delete(Name),
}

/// The name of a file: the number of the document, and whether it was renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    document: u32,
    renamed: bool,
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.renamed { "report" } else { "draft" };
        write!(f, "{kind}-{:05}.doc", self.document)
    }
}

/// A part of a file, and where its bytes stand in the [`pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// First byte in the file.
    pub at: u32,
    /// How many.
    pub bytes: u32,
    /// First byte in the pool.
    pub from: u32,
}

impl Piece {
    /// What it consists of.
    pub(super) fn of<'a>(&self, pool: &'a [u8]) -> &'a [u8] {
        &pool[self.from as usize..][..self.bytes as usize]
    }
}

/// The longest piece.
pub(super) const LONGEST: u32 = 65_534;
/// A document is at most so long.
const ROOM: u32 = 256 * 1024;
/// Documents that a client has at a time.
const KEPT: usize = 8;

/// Lengths of writes in 100, as the trace has them; for the rest any of the last length or less.
const WRITES: ([(u32, u32); 5], u32) = ([(4096, 30), (4, 16), (2048, 8), (512, 6), (2, 4)], 4_343);
const READS: ([(u32, u32); 4], u32) = ([(4096, 44), (LONGEST, 7), (2048, 5), (16_384, 4)], 4_100);
/// The trace's raw writes.
const RAW: u32 = 65_475;

/// Bytes that all contents are cut from: the same in every run, and no piece like another.
pub(super) fn pool() -> Vec<u8> {
    let mut draws = Draws(0x6f6c_6f70);
    let words = (0..2 * ROOM / 8).map(|_| draws.next().to_le_bytes());
    words.flatten().collect()
}

/// What client number `client` asks for: so many documents' lives, at the end of which all are deleted.
pub(super) fn script(client: u64, documents: u32) -> Vec<Step> {
    let mut writer = Writer { draws: Draws(client), steps: Vec::new(), kept: VecDeque::new() };
    (0..documents).for_each(|document| writer.live(document));
    while let Some(name) = writer.kept.pop_front() {
        writer.steps.push(Step::Delete(name));
    }
    writer.steps
}

struct Writer {
    draws: Draws,
    steps: Vec<Step>,
    kept: VecDeque<Name>,
}

/// The document that is written.
struct Document {
    name: Name,
    /// Where its contents begin in the pool.
    from: u32,
    bytes: u32,
}

impl Document {
    fn piece(&self, at: u32, bytes: u32) -> Piece {
        Piece { at, bytes, from: self.from + at }
    }
}

impl Writer {
    fn live(&mut self, number: u32) {
        let name = Name { document: number, renamed: false };
        let from = self.draws.below(ROOM);
        let mut document = Document { name, from, bytes: 0 };
        self.steps.extend([Step::Absent(name); 2]);
        self.write(&mut document);
        self.change(&document);
        self.ask(&document);
        self.read(&document);
        self.ask(&document);
        if self.draws.one_in_100(19) {
            let new = Name { renamed: true, ..name };
            self.steps.extend([Step::Rename(name, new), Step::Absent(name)]);
            document.name = new;
        }
        self.kept.push_back(document.name);
        if self.kept.len() > KEPT {
            self.steps.extend(self.kept.pop_front().map(Step::Delete));
        }
    }

    fn write(&mut self, document: &mut Document) {
        self.steps.push(Step::Create(document.name));
        for _ in 0..18 {
            let bytes = self.draws.length(&WRITES.0, WRITES.1);
            self.append(document, bytes);
        }
        if self.draws.one_in_100(68) {
            self.append(document, RAW);
        }
        self.steps.push(Step::Close);
    }

    fn append(&mut self, document: &mut Document, bytes: u32) {
        self.steps.push(Step::Write(document.piece(document.bytes, bytes)));
        document.bytes += bytes;
    }

    /// Writes over some of it.
    fn change(&mut self, document: &Document) {
        self.steps.push(Step::Open(document.name));
        for _ in 0..5 {
            let bytes = self.draws.length(&WRITES.0, WRITES.1);
            self.steps.push(Step::Write(self.draws.within(document, bytes)));
        }
        self.steps.push(Step::Close);
    }

    fn read(&mut self, document: &Document) {
        self.steps.push(Step::Open(document.name));
        for _ in 0..5 {
            let bytes = self.draws.length(&READS.0, READS.1);
            self.steps.push(Step::Read(self.draws.within(document, bytes)));
        }
        self.steps.push(Step::Close);
    }

    fn ask(&mut self, document: &Document) {
        self.steps.extend([Step::Length(document.name, document.bytes); 3]);
    }
}

/// SplitMix64: the same for the same seed.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound.max(1))) as u32
    }

    fn one_in_100(&mut self, times: u32) -> bool {
        self.below(100) < times
    }

    fn length(&mut self, common: &[(u32, u32)], most: u32) -> u32 {
        let mut draw = self.below(100);
        for (bytes, times) in common {
            if draw < *times {
                return *bytes;
            }
            draw -= times;
        }
        1 + self.below(most)
    }

    /// So many bytes anywhere in a document; fewer where it is shorter.
    fn within(&mut self, document: &Document, bytes: u32) -> Piece {
        let bytes = bytes.min(document.bytes);
        let at = self.below(document.bytes - bytes + 1);
        document.piece(at, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(steps: &[Step], is: fn(&Step) -> bool) -> f64 {
        steps.iter().filter(|step| is(step)).count() as f64
    }

    #[test]
    fn the_mix_is_that_of_the_trace() {
        let steps = script(1, 2_000);
        let a_file = |is| count(&steps, is) / count(&steps, |step| matches!(step, Step::Delete(_)));
        let near = |found: f64, due: f64| assert!((found / due - 1.0).abs() < 0.1, "{found} {due}");
        near(a_file(|step| matches!(step, Step::Write(_))), 23.2);
        near(a_file(|step| matches!(step, Step::Read(_))), 4.7);
        near(a_file(|step| matches!(step, Step::Absent(_) | Step::Length(..))), 7.9);
        near(a_file(|step| matches!(step, Step::Rename(..))), 0.19);
        let bytes = |of: fn(&Step) -> u32| {
            steps.iter().map(|step| f64::from(of(step))).sum::<f64>() / 2_000.0
        };
        near(bytes(|step| if let Step::Write(piece) = step { piece.bytes } else { 0 }), 94_300.0);
        near(bytes(|step| if let Step::Read(piece) = step { piece.bytes } else { 0 }), 37_800.0);
    }

    #[test]
    fn every_piece_lies_in_the_pool_and_every_file_is_deleted() {
        let (pool, steps) = (pool(), script(7, 300));
        let pieces = steps.iter().filter_map(|step| match step {
            Step::Write(piece) | Step::Read(piece) => Some(piece),
            _ => None,
        });
        for piece in pieces {
            assert_eq!(piece.of(&pool).len(), piece.bytes as usize);
            assert!(piece.bytes <= LONGEST);
        }
        let made = count(&steps, |step| matches!(step, Step::Create(_)));
        assert_eq!(made, count(&steps, |step| matches!(step, Step::Delete(_))));
        assert_eq!(script(7, 300), steps);
        assert_ne!(script(8, 300), steps);
    }
}
