//! What the kernel writes into a ring, read into words: `perf_event_open(2)`, section on the ring buffer.
//!
//! Every record ends in thread, time and CPU, because the event asks for that (`sample_id_all`). Only the record of a
//! tracepoint begins with them. A record of an unknown kind is passed over; text that is no record ends the reading, since
//! what follows cannot be found.

use super::tracefs::{Formats, Traced};

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub at_ns: u64,
    pub cpu: u32,
    /// Of the thread that was current; `None`: it has ended, or is not reported.
    pub tid: Option<i32>,
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// The current thread gives its CPU to `next` (`None`: not reported).
    Out { next: Option<i32>, preempted: bool },
    /// The current thread has got its CPU from `before` (`None`: not reported).
    In { before: Option<i32> },
    /// A thread has a new name.
    Named { tid: i32, name: String },
    /// A thread begins in a process.
    Born { tid: i32, parent: i32, process: i32, parent_process: i32 },
    /// A thread ends.
    Ended { tid: i32 },
    /// The current thread, or an interrupt beside it, passed a tracepoint.
    Traced(Traced),
    /// The ring was full: this many records before this one are missing.
    Lost(u64),
    /// Of no interest here.
    Other,
}

/// The records in `bytes`, oldest first. `formats` says what tracepoints write.
pub(super) fn records(bytes: &[u8], formats: &Formats) -> impl Iterator<Item = Record> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let size = usize::from(u16::from_ne_bytes(take(rest, 6)?));
        let record = Raw::of(rest.get(..size)?)?;
        rest = &rest[size..];
        Some(record.read(formats))
    })
}

const HEADER: usize = 8;
/// Process, thread, time, CPU and four bytes of nothing: at the end, but at the begin of a sample.
const TRAILER: usize = 24;

/// Kinds of records.
mod kind {
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const SWITCH: u32 = 14;
    pub const SWITCH_CPU_WIDE: u32 = 15;
}

/// Bits of the header's second field, for switches.
const SWITCH_OUT: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;

/// One record, cut into its three parts.
struct Raw<'a> {
    kind: u32,
    misc: u16,
    body: &'a [u8],
    trailer: &'a [u8],
}

impl<'a> Raw<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.get(HEADER..)?;
        let kind = u32::from_ne_bytes(take(bytes, 0)?);
        let body_end = rest.len().checked_sub(TRAILER)?;
        let (body, trailer) = match kind {
            kind::SAMPLE => (&rest[TRAILER..], &rest[..TRAILER]),
            _ => rest.split_at(body_end),
        };
        Some(Self { kind, misc: u16::from_ne_bytes(take(bytes, 4)?), body, trailer })
    }

    fn read(&self, formats: &Formats) -> Record {
        let number = |at| take(self.trailer, at).map_or(0, u32::from_ne_bytes);
        Record {
            at_ns: take(self.trailer, 8).map_or(0, u64::from_ne_bytes),
            cpu: number(16),
            tid: told(number(4)),
            what: self.what(formats).unwrap_or(What::Other),
        }
    }

    fn what(&self, formats: &Formats) -> Option<What> {
        let number = |at| take(self.body, at).map(|bytes| u32::from_ne_bytes(bytes) as i32);
        match self.kind {
            kind::SWITCH => Some(self.switch(None)),
            kind::SWITCH_CPU_WIDE => Some(self.switch(told(number(4)? as u32))),
            kind::LOST => Some(What::Lost(u64::from_ne_bytes(take(self.body, 8)?))),
            kind::COMM => Some(What::Named { tid: number(4)?, name: name(self.body.get(8..)?) }),
            kind::FORK => Some(What::Born {
                tid: number(8)?,
                parent: number(12)?,
                process: number(0)?,
                parent_process: number(4)?,
            }),
            kind::EXIT => Some(What::Ended { tid: number(8)? }),
            kind::SAMPLE => Some(What::Traced(formats.read(self.body.get(4..)?)?)),
            _ => None,
        }
    }

    fn switch(&self, other: Option<i32>) -> What {
        match self.misc & SWITCH_OUT {
            0 => What::In { before: other },
            _ => What::Out { next: other, preempted: self.misc & PREEMPTED != 0 },
        }
    }
}

/// The `N` bytes at `at`, where there are so many.
pub(super) fn take<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The kernel says -1 of a thread that has ended.
fn told(tid: u32) -> Option<i32> {
    i32::try_from(tid).ok()
}

/// The text before the first zero.
fn name(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A record as the kernel would write it.
    pub fn raw(kind: u32, misc: u16, body: &[u8], tid: u32, at_ns: u64, cpu: u32) -> Vec<u8> {
        let size = (HEADER + body.len() + TRAILER) as u16;
        let mut bytes = Vec::new();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(misc.to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(body);
        bytes.extend([tid.to_ne_bytes(), tid.to_ne_bytes()].concat());
        bytes.extend(at_ns.to_ne_bytes());
        bytes.extend([cpu.to_ne_bytes(), [0; 4]].concat());
        bytes
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    #[test]
    fn every_kind_is_read() {
        let text = [
            raw(15, SWITCH_OUT | PREEMPTED, &words(&[9, 12]), 11, 100, 3),
            raw(15, 0, &words(&[9, u32::MAX]), 12, 101, 3),
            raw(14, SWITCH_OUT, &[], 12, 102, 2),
            raw(3, 0, b"\x05\0\0\0\x0c\0\0\0preview\0", 12, 103, 3),
            raw(7, 0, &words(&[5, 5, 13, 12, 0, 0]), 12, 104, 3),
            raw(2, 0, &words(&[1, 0, 40, 0]), 12, 105, 3),
            raw(99, 0, &words(&[1, 2]), 12, 106, 3),
        ]
        .concat();
        let read: Vec<Record> = records(&text, &Formats::default()).collect();
        let what: Vec<What> = read.iter().map(|r| r.what.clone()).collect();
        let expected = [
            What::Out { next: Some(12), preempted: true },
            What::In { before: None },
            What::Out { next: None, preempted: false },
            What::Named { tid: 12, name: "preview".into() },
            What::Born { tid: 13, parent: 12, process: 5, parent_process: 5 },
            What::Lost(40),
            What::Other,
        ];
        // The names and births above are written for machines with the lowest byte first.
        if cfg!(target_endian = "little") {
            assert_eq!(what, expected);
        }
        assert_eq!((read[0].tid, read[0].at_ns, read[0].cpu), (Some(11), 100, 3));
        assert_eq!(read[2].cpu, 2);
    }

    proptest! {
        #[test]
        fn nonsense_is_read_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(records(&bytes, &Formats::default()).count() <= bytes.len() / (HEADER + TRAILER));
        }

        #[test]
        fn a_cut_record_ends_the_reading(cut in 1_usize..40) {
            let whole = raw(15, 0, &words(&[1, 2]), 3, 4, 5);
            let text = [whole.clone(), whole[..whole.len() - cut.min(whole.len())].to_vec()].concat();
            prop_assert_eq!(records(&text, &Formats::default()).count(), 1);
        }
    }
}
