//! What the kernel answers when a group is read, and what that is worth.

/// Counts of a group over some time, in the order of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// One count per event.
    pub counts: Vec<u64>,
    /// How long the thread ran while the group was to count.
    pub enabled_ns: u64,
    /// How long the group counted.
    pub running_ns: u64,
}

/// Why a reading is no measurement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// Somebody else holds the counters.
    #[error(
        "the processor has too few free counters for these events at once; the kernel's watchdog holds one \
         (sysctl kernel.nmi_watchdog=0, as root), and other profilers may hold more"
    )]
    NoRoom,
    /// Not what the kernel documents.
    #[error("the kernel answered with {bytes} bytes for {events} events")]
    Length {
        /// Bytes that came.
        bytes: usize,
        /// Events of the group.
        events: usize,
    },
    /// The group took turns with others.
    #[error(
        "the group counted for only {running_ns} of {enabled_ns} ns, because others took turns on the counters; Hocket \
         does not extrapolate"
    )]
    Multiplexed {
        /// How long it was to count.
        enabled_ns: u64,
        /// How long it counted.
        running_ns: u64,
    },
    /// The thread did not run.
    #[error("the thread did not run")]
    NotRun,
    /// The counter of cycles opens, but counts nothing.
    #[error("the counters open but stand still (a virtual machine without them?)")]
    StandStill,
}

/// Between the kernel's "to count" and "counts" lies the switching on: less than this. Groups that take turns change every
/// millisecond at the fastest (`perf_event_mux_interval_ms`), so one that had to wait was not counted for far longer.
const SWITCHING_ON_NS: u64 = 20_000;

/// Eight bytes each: number of counts, time enabled, time running.
const HEAD: usize = 3;

impl Reading {
    /// Reads the kernel's words (`PERF_FORMAT_GROUP` with both times) for a group of so many events.
    ///
    /// # Errors
    /// [`ReadingError`]. A pinned group without room on the counters reads as nothing.
    pub fn parse(bytes: &[u8], events: usize) -> Result<Reading, ReadingError> {
        if bytes.is_empty() {
            return Err(ReadingError::NoRoom);
        }
        let wrong = ReadingError::Length { bytes: bytes.len(), events };
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        if !rest.is_empty() || words.len() != HEAD + events || words[0] != events as u64 {
            return Err(wrong);
        }
        Ok(Reading { enabled_ns: words[1], running_ns: words[2], counts: words[HEAD..].to_vec() })
    }

    /// The reading, if its counts are those of the whole time.
    ///
    /// # Errors
    /// [`ReadingError`]
    pub fn whole(self) -> Result<Reading, ReadingError> {
        let Reading { enabled_ns, running_ns, .. } = self;
        match (enabled_ns, running_ns) {
            (0, _) => Err(ReadingError::NotRun),
            (_, 0) => Err(ReadingError::NoRoom),
            _ if enabled_ns.abs_diff(running_ns) > SWITCHING_ON_NS => {
                Err(ReadingError::Multiplexed { enabled_ns, running_ns })
            }
            _ if self.counts.first() == Some(&0) => Err(ReadingError::StandStill),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel writes it on a machine of this byte order.
    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_reading_has_its_times_and_its_counts_in_order() {
        let reading = Reading::parse(&bytes(&[3, 900, 900, 70, 80, 90]), 3).unwrap();
        let expected = Reading { counts: vec![70, 80, 90], enabled_ns: 900, running_ns: 900 };
        assert_eq!(reading, expected);
        assert_eq!(reading.clone().whole(), Ok(reading));
    }

    #[test]
    fn what_is_no_reading_is_refused() {
        assert_eq!(Reading::parse(&[], 3), Err(ReadingError::NoRoom));
        let good = bytes(&[2, 900, 900, 70, 80]);
        for length in 1..good.len() {
            let why = Reading::parse(&good[..length], 2).unwrap_err();
            assert_eq!(why, ReadingError::Length { bytes: length, events: 2 });
        }
        assert!(Reading::parse(&good, 3).is_err() && Reading::parse(&good, 1).is_err());
        assert!(Reading::parse(&bytes(&[3, 900, 900, 70, 80]), 2).is_err());
    }

    #[test]
    fn a_group_that_took_turns_is_no_measurement() {
        let whole = |words: &[u64]| Reading::parse(&bytes(words), 2).unwrap().whole();
        // The shortest turn of the kernel in ten milliseconds.
        let (enabled_ns, running_ns) = (10_000_000, 9_000_000);
        let expected = ReadingError::Multiplexed { enabled_ns, running_ns };
        assert_eq!(whole(&[2, enabled_ns, running_ns, 70, 80]), Err(expected));
        assert!(whole(&[2, enabled_ns, enabled_ns - SWITCHING_ON_NS, 70, 80]).is_ok());
        assert!(whole(&[2, enabled_ns, enabled_ns - SWITCHING_ON_NS - 1, 70, 80]).is_err());
        assert_eq!(whole(&[2, 900, 0, 0, 0]), Err(ReadingError::NoRoom));
        assert_eq!(whole(&[2, 0, 0, 0, 0]), Err(ReadingError::NotRun));
        assert_eq!(whole(&[2, 900, 900, 0, 80]), Err(ReadingError::StandStill));
        // An event that did not happen is a result.
        assert!(whole(&[2, 900, 900, 70, 0]).is_ok());
    }
}
