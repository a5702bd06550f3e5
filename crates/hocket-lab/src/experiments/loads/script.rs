//! What clients of a file server ask for, made up to the mixes of dbench.
//!
//! dbench plays a trace of an office benchmark. The traces themselves are not used here: documents live through numbers of
//! operations, and lengths of writes and reads, that have been published of them.
//!
//! | of each file that is deleted | 1999 (version 1) | current (version 4) |
//! |---|---|---|
//! | writes, bytes | 23.2, 94 kB | 2.5, 64 kB |
//! | reads, bytes | 4.7, 38 kB | 7.8, 92 kB |
//! | questions about a file | 7.9, every fifth about one that is not there | 4.5 by name, 0.8 of an open one |
//! | opened or made, and attempts that fail | 3.6 and 1.2 | 3.6 and 1.3 |
//! | lists, flushes, times set, questions about the file system | none that are carried out | 1.7, 0.35, 0.4, 0.8 |
//! | renamed | 0.19 | 0.21 |
//!
//! Of 1999, the numbers and lengths are those of the trace. Of the current one, the numbers of operations are those that dbench
//! prints, and the bytes those of the whole trace; the single lengths are ours. Locks, and folders that are made and removed,
//! are left out.

use std::collections::VecDeque;

/// Which mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::experiments) enum Mix {
    /// Version 1 (1999 to 2002).
    Of1999,
    /// Version 4.
    Current,
}

impl Mix {
    pub(in crate::experiments) const ALL: [Mix; 2] = [Mix::Of1999, Mix::Current];

    pub(in crate::experiments) fn name(self) -> &'static str {
        match self {
            Mix::Of1999 => "1999",
            Mix::Current => "current",
        }
    }
}

/// Documents whose lives are a whole trace of 1999: so many files are deleted in it.
pub(in crate::experiments) const TRACE_1999: u32 = 1004;

/// A kind of steps, of which latencies are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::experiments) enum Kind {
    Create,
    Open,
    Close,
    Read,
    Write,
    Stat,
    List,
    Flush,
    Rename,
    Delete,
}

impl Kind {
    pub(in crate::experiments) const ALL: [Kind; 10] = [
        Kind::Create,
        Kind::Open,
        Kind::Close,
        Kind::Read,
        Kind::Write,
        Kind::Stat,
        Kind::List,
        Kind::Flush,
        Kind::Rename,
        Kind::Delete,
    ];

    /// The metric of its latency.
    pub(in crate::experiments) fn metric(self) -> &'static str {
        match self {
            Kind::Create => "latency-create",
            Kind::Open => "latency-open",
            Kind::Close => "latency-close",
            Kind::Read => "latency-read",
            Kind::Write => "latency-write",
            Kind::Stat => "latency-stat",
            Kind::List => "latency-list",
            Kind::Flush => "latency-flush",
            Kind::Rename => "latency-rename",
            Kind::Delete => "latency-delete",
        }
    }
}

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Whether there is a file of this name; there must not be.
    Absent(Name),
    /// Opens a file of this name; there must be none.
    OpenAbsent(Name),
    /// Makes and opens an empty file.
    Create(Name),
    /// Opens a file.
    Open(Name),
    /// Writes to the open file.
    Write(Piece),
    /// Reads from the open file what must be there.
    Read(Piece),
    /// Waits until the open file is on its disk.
    Flush,
    /// Asks for the length of the open file; it must be so long.
    OpenLength(u32),
    /// Sets the time of the open file.
    Touch,
    /// Closes the open file.
    Close,
    /// Asks for a file's length; it must be so long.
    Length(Name, u32),
    /// Lists the folder; there must be so many files.
    List(u32),
    /// Asks for the room on the file system.
    Room,
    /// Gives a file another name.
    Rename(Name, Name),
    /// Deletes a file.
    Delete(Name),
}

impl Step {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Step::Create(_) => Kind::Create,
            Step::Open(_) | Step::OpenAbsent(_) => Kind::Open,
            Step::Close => Kind::Close,
            Step::Read(_) => Kind::Read,
            Step::Write(_) => Kind::Write,
            Step::Absent(_) | Step::Length(..) | Step::OpenLength(_) => Kind::Stat,
            Step::Touch | Step::Room => Kind::Stat,
            Step::List(_) => Kind::List,
            Step::Flush => Kind::Flush,
            Step::Rename(..) => Kind::Rename,
            Step::Delete(_) => Kind::Delete,
        }
    }
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
pub(super) const LONGEST: u32 = 65_536;
/// A document is at most so long.
const ROOM: u32 = 256 * 1024;
/// Documents that a client has at a time.
const KEPT: usize = 8;

/// Lengths of writes in 100, as the trace has them; for the rest any of the last length or less.
const WRITES: ([(u32, u32); 5], u32) = ([(4096, 30), (4, 16), (2048, 8), (512, 6), (2, 4)], 4_343);
const READS: ([(u32, u32); 4], u32) = ([(4096, 44), (65_534, 7), (2048, 5), (16_384, 4)], 4_100);
/// The same for the current mix, made up so that a write has 26 kB and a read 12 kB on average.
const WRITES_NOW: ([(u32, u32); 2], u32) = ([(LONGEST, 36), (4096, 30)], 4_096);
const READS_NOW: ([(u32, u32); 3], u32) = ([(LONGEST, 19), (4096, 45), (16_384, 5)], 4_096);
/// The trace's raw writes.
const RAW: u32 = 65_475;

/// Bytes that all contents are cut from: the same in every run, and no piece like another.
pub(super) fn pool() -> Vec<u8> {
    let mut draws = Draws(0x6f6c_6f70);
    let words = (0..2 * ROOM / 8).map(|_| draws.next().to_le_bytes());
    words.flatten().collect()
}

/// What client number `client` asks for: so many documents' lives, at the end of which all are deleted.
pub(super) fn script(client: u64, documents: u32, mix: Mix) -> Vec<Step> {
    let mut writer = Writer { draws: Draws(client), steps: Vec::new(), kept: VecDeque::new() };
    (0..documents).for_each(|document| match mix {
        Mix::Of1999 => writer.live(document),
        Mix::Current => writer.live_now(document),
    });
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
        self.steps.extend([Step::Absent(name), Step::OpenAbsent(name)]);
        self.sometimes(39, Step::Absent(name));
        self.sometimes(21, Step::OpenAbsent(name));
        self.write(&mut document);
        self.change(&document);
        self.ask(&document);
        // Opened 3.6 times in all: made, changed, and read at once or in two parts.
        let parts: &[u32] = if self.draws.one_in_100(57) { &[3, 2] } else { &[5] };
        parts.iter().for_each(|reads| self.read(&document, *reads));
        self.ask(&document);
        self.sometimes(35, Step::Length(document.name, document.bytes));
        if self.draws.one_in_100(19) {
            self.rename(&mut document);
            self.steps.push(Step::Absent(name));
        }
        self.keep(&document);
    }

    fn rename(&mut self, document: &mut Document) {
        let new = Name { renamed: true, ..document.name };
        self.steps.push(Step::Rename(document.name, new));
        document.name = new;
    }

    /// Among those that are there for a while.
    fn keep(&mut self, document: &Document) {
        self.kept.push_back(document.name);
        if self.kept.len() > KEPT {
            self.steps.extend(self.kept.pop_front().map(Step::Delete));
        }
    }

    /// In the current mix.
    fn live_now(&mut self, number: u32) {
        let name = Name { document: number, renamed: false };
        let mut document = Document { name, from: self.draws.below(ROOM), bytes: 0 };
        self.steps.extend([Step::Absent(name), Step::OpenAbsent(name)]);
        self.sometimes(31, Step::OpenAbsent(name));
        self.write_now(&mut document);
        let length = Step::Length(name, document.bytes);
        self.steps.extend([length; 3]);
        self.sometimes(49, length);
        self.read_now(&document, 3);
        self.read_now(&document, 3);
        if self.draws.one_in_100(64) {
            let reads = if self.draws.one_in_100(75) { 3 } else { 2 };
            self.read_now(&document, reads);
        }
        let there = Step::List(self.kept.len() as u32 + 1);
        self.steps.push(there);
        self.sometimes(74, there);
        self.sometimes(82, Step::Room);
        if self.draws.one_in_100(21) {
            self.rename(&mut document);
        }
        self.keep(&document);
    }

    fn sometimes(&mut self, times: u32, step: Step) {
        let is_now = self.draws.one_in_100(times);
        self.steps.extend(is_now.then_some(step));
    }

    fn write_now(&mut self, document: &mut Document) {
        self.steps.push(Step::Create(document.name));
        let writes = if self.draws.one_in_100(47) { 3 } else { 2 };
        for _ in 0..writes {
            let bytes = self.draws.length(&WRITES_NOW.0, WRITES_NOW.1);
            self.append(document, bytes);
        }
        self.sometimes(40, Step::Touch);
        self.sometimes(35, Step::Flush);
        self.sometimes(79, Step::OpenLength(document.bytes));
        self.steps.push(Step::Close);
    }

    fn read_now(&mut self, document: &Document, reads: u32) {
        self.steps.push(Step::Open(document.name));
        for _ in 0..reads {
            let bytes = self.draws.length(&READS_NOW.0, READS_NOW.1);
            self.steps.push(Step::Read(self.draws.within(document, bytes)));
        }
        self.steps.push(Step::Close);
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

    fn read(&mut self, document: &Document, reads: u32) {
        self.steps.push(Step::Open(document.name));
        for _ in 0..reads {
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
    fn the_mix_of_1999_is_that_of_the_trace() {
        let steps = script(1, 2_000, Mix::Of1999);
        let a_file = |is| count(&steps, is) / count(&steps, |step| matches!(step, Step::Delete(_)));
        let near = |found: f64, due: f64| assert!((found / due - 1.0).abs() < 0.1, "{found} {due}");
        near(a_file(|step| matches!(step, Step::Write(_))), 23.2);
        near(a_file(|step| matches!(step, Step::Read(_))), 4.7);
        near(a_file(|step| matches!(step, Step::Absent(_) | Step::Length(..))), 7.93);
        near(a_file(|step| matches!(step, Step::Absent(_))), 1.58);
        near(a_file(|step| matches!(step, Step::Create(_) | Step::Open(_))), 3.56);
        near(a_file(|step| matches!(step, Step::OpenAbsent(_))), 1.22);
        near(a_file(|step| matches!(step, Step::Close)), 3.60);
        near(a_file(|step| matches!(step, Step::Rename(..))), 0.19);
        let bytes = |of: fn(&Step) -> u32| {
            steps.iter().map(|step| f64::from(of(step))).sum::<f64>() / 2_000.0
        };
        near(bytes(|step| if let Step::Write(piece) = step { piece.bytes } else { 0 }), 94_300.0);
        near(bytes(|step| if let Step::Read(piece) = step { piece.bytes } else { 0 }), 37_800.0);
    }

    /// Counts that dbench 4 printed, of each file that was deleted; bytes of its whole trace.
    #[test]
    fn the_current_mix_is_that_which_was_printed() {
        let steps = script(1, 3_000, Mix::Current);
        let deleted = count(&steps, |step| matches!(step, Step::Delete(_)));
        let near = |of: &dyn Fn(&Step) -> f64, due: f64| {
            let found = steps.iter().map(of).sum::<f64>() / deleted;
            assert!((found / due - 1.0).abs() < 0.1, "{found} {due}");
        };
        let unlinked = 1_980_066.0;
        let kind = |kind: Kind| move |step: &Step| f64::from(u8::from(step.kind() == kind));
        let is = |is: fn(&Step) -> bool| move |step: &Step| f64::from(u8::from(is(step)));
        near(
            &is(|step| matches!(step, Step::Create(_) | Step::Open(_) | Step::OpenAbsent(_))),
            9_805_011.0 / unlinked,
        );
        near(&kind(Kind::Close), 7_202_525.0 / unlinked);
        near(&kind(Kind::Rename), 415_213.0 / unlinked);
        near(
            &is(|step| matches!(step, Step::Absent(_) | Step::Length(..))),
            8_887_512.0 / unlinked,
        );
        near(&is(|step| matches!(step, Step::OpenLength(_))), 1_557_262.0 / unlinked);
        near(&is(|step| matches!(step, Step::Room)), 1_629_582.0 / unlinked);
        near(&is(|step| matches!(step, Step::Touch)), 798_756.0 / unlinked);
        near(&kind(Kind::List), 3_436_004.0 / unlinked);
        near(&kind(Kind::Write), 4_887_239.0 / unlinked);
        near(&kind(Kind::Read), 15_370_483.0 / unlinked);
        near(&kind(Kind::Flush), 687_205.0 / unlinked);
        let bytes = |step: &Step| match step {
            Step::Write(piece) => f64::from(piece.bytes),
            _ => 0.0,
        };
        near(&bytes, 63_500.0);
        let bytes = |step: &Step| match step {
            Step::Read(piece) => f64::from(piece.bytes),
            _ => 0.0,
        };
        near(&bytes, 92_000.0);
    }

    #[test]
    fn every_piece_lies_in_the_pool_and_every_file_is_deleted() {
        Mix::ALL.into_iter().for_each(is_whole);
    }

    fn is_whole(mix: Mix) {
        let (pool, steps) = (pool(), script(7, 300, mix));
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
        assert_eq!(script(7, 300, mix), steps);
        assert_ne!(script(8, 300, mix), steps);
    }
}
