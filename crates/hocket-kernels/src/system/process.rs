//! The processes that operations run in.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::{Operation, Ran};
use crate::biquads::Biquads;
use crate::kernel::Kernel;
use crate::sys::calls::{self, CpuMask};
use crate::sys::processes::{Child, fork};

/// No process is waited for any longer than this between two things that it says; then it is ended.
const PATIENCE_MS: libc::c_int = 10_000;
/// How long a process that has been given up is left to end its own children.
const TO_END_MS: libc::c_int = 1_000;
/// How long all know of the start before it is: enough for each to wake up.
const AHEAD_NS: u64 = 200_000;
/// Blocks of filters between two looks of a busy process.
const PIECE: u64 = 8;

/// Does each operation in a process of its own, all beginning together; process `n` runs on the `n`th of `places` only
/// (an empty one: wherever the scheduler likes). `busy` is a CPU that another process keeps busy with filters meanwhile.
///
/// All processes are gone when this returns. Cost: a fork for each, and what the operations take.
///
/// # Errors
/// In words: what the system refuses, a process that ends early or hangs.
pub fn run_in_processes(
    operations: &mut [Box<dyn Operation>],
    places: &[&[u32]],
    busy: Option<u32>,
    times: u64,
) -> Result<Vec<Ran>, String> {
    if operations.len() != places.len() {
        return Err("there must be as many places as operations".into());
    }
    if operations.iter().any(|operation| !operation.may_be_forked()) {
        return Err("this operation cannot be done in a forked process".into());
    }
    let _busy = busy.map(keep_busy).transpose()?;
    let mut members = Vec::with_capacity(operations.len());
    let ran = start_together(&mut members, operations, places, times);
    if ran.is_err() {
        give_up(members);
        return ran;
    }
    for member in members {
        if !member.child.ended_with(0).map_err(|error| error.to_string())? {
            return Err("a process did not end as it must".into());
        }
    }
    ran
}

fn start_together(
    members: &mut Vec<Member>,
    operations: &mut [Box<dyn Operation>],
    places: &[&[u32]],
    times: u64,
) -> Result<Vec<Ran>, String> {
    for (operation, place) in operations.iter_mut().zip(places) {
        members.push(Member::start(&mut **operation, place, times)?);
    }
    for member in &*members {
        hear(&member.reports)?;
    }
    let start_ns = (calls::now_ns() + AHEAD_NS).to_ne_bytes();
    for member in &*members {
        let told = calls::write_all(member.start.as_raw_fd(), &start_ns);
        told.map_err(|error| error.to_string())?;
    }
    members.iter().map(|member| hear(&member.reports)).collect()
}

/// Lets processes end that wait for a start, and with them their partners, for which nobody else waits: what is killed leaves
/// these to the first process of the system, which waits for none in many containers.
fn give_up(members: Vec<Member>) {
    // A process that was forked later also holds the ends of earlier ones: last first.
    for Member { child, start, reports } in members.into_iter().rev() {
        drop(start);
        let (reports, mut said) = (reports.as_raw_fd(), [0; Report::BYTES]);
        while matches!(calls::readable_within(reports, TO_END_MS), Ok(true))
            && calls::read_exact(reports, &mut said).is_ok()
        {}
        drop(child);
    }
}

/// Does the operation on the calling thread.
///
/// # Errors
/// What the system refuses.
pub fn run_here(operation: &mut dyn Operation, times: u64) -> io::Result<Ran> {
    let begun = operation.begin().and_then(|()| operation.run(first(times)));
    let ran = begun.and_then(|_| operation.run(times));
    operation.end();
    ran
}

/// So many are done first, so that code and data are there.
fn first(times: u64) -> u64 {
    (times / 16).clamp(1, 64)
}

/// A process as its parent sees it.
struct Member {
    child: Child,
    start: OwnedFd,
    reports: OwnedFd,
}

impl Member {
    fn start(operation: &mut dyn Operation, place: &[u32], times: u64) -> Result<Member, String> {
        let refused = |error: io::Error| error.to_string();
        let mask = mask_of(place)?;
        // One after the other: no process has the end of another one's pipe that would hide that one's end.
        let [start_here, start] = calls::pipe().map_err(refused)?;
        let [reports, report_here] = calls::pipe().map_err(refused)?;
        operation.is_for_forks(true).map_err(refused)?;
        let work = || {
            let told = (start_here.as_raw_fd(), report_here.as_raw_fd());
            i32::from(measure(operation, mask.as_ref(), told, times).is_err())
        };
        // SAFETY: CHILD: operations keep to it, see `Operation`.
        let child = unsafe { fork(work) };
        operation.is_for_forks(false).map_err(refused)?;
        Ok(Member { child: child.map_err(refused)?, start, reports })
    }
}

/// The next thing that a process says.
fn hear(reports: &OwnedFd) -> Result<Ran, String> {
    let reports = reports.as_raw_fd();
    let mut bytes = [0; Report::BYTES];
    let heard = calls::readable_within(reports, PATIENCE_MS).and_then(|there| match there {
        true => calls::read_exact(reports, &mut bytes),
        false => Err(io::ErrorKind::TimedOut.into()),
    });
    match heard {
        Ok(()) => Report::from_bytes(&bytes).outcome().map_err(|error| error.to_string()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err("the process ended before it was done".into())
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(format!("the process said nothing for {} s", PATIENCE_MS / 1000))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// `None` for everywhere.
fn mask_of(place: &[u32]) -> Result<Option<CpuMask>, String> {
    if place.is_empty() {
        return Ok(None);
    }
    let mask =
        CpuMask::of(place).ok_or("a CPU's number is beyond what the C library's set holds")?;
    Ok(Some(mask))
}

/// What a measuring process does from its beginning to its end.
fn measure(
    operation: &mut dyn Operation,
    mask: Option<&CpuMask>,
    (start, reports): (RawFd, RawFd),
    times: u64,
) -> io::Result<()> {
    let placed = mask.map_or(Ok(()), CpuMask::take);
    let ready = placed.and_then(|()| operation.begin()).and_then(|()| operation.run(first(times)));
    calls::write_all(reports, &Report::of(&ready).bytes())?;
    if ready.is_err() {
        operation.end();
        return Ok(());
    }
    let mut start_ns = [0; 8];
    if let Err(gone) = calls::read_exact(start, &mut start_ns) {
        operation.end();
        return Err(gone);
    }
    while calls::now_ns() < u64::from_ne_bytes(start_ns) {
        std::hint::spin_loop();
    }
    let ran = operation.run(times);
    operation.end();
    calls::write_all(reports, &Report::of(&ran).bytes())
}

/// A process that computes filters on this CPU until it is ended.
fn keep_busy(cpu: u32) -> Result<Child, String> {
    let mask = mask_of(&[cpu])?;
    let mut kernel = Biquads::new(1);
    let [told, tell] = calls::pipe().map_err(|error| error.to_string())?;
    let work = || {
        let placed = mask.as_ref().map_or(Ok(()), CpuMask::take);
        let ready = Report::of(&placed.map(|()| Ran::default()));
        let told = calls::write_all(tell.as_raw_fd(), &ready.bytes());
        if told.is_err() || ready.error != 0 {
            return 1;
        }
        loop {
            std::hint::black_box(kernel.run(PIECE));
        }
    };
    // SAFETY: CHILD: a kernel allocates nothing and does not call the system.
    let child = unsafe { fork(work) }.map_err(|error| error.to_string())?;
    drop(tell);
    hear(&told)?;
    Ok(child)
}

/// What goes through the pipe, in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Report {
    ran: Ran,
    /// The system's number of an error; 0 for none.
    error: u64,
}

impl Report {
    const BYTES: usize = 40;

    fn of(ran: &io::Result<Ran>) -> Report {
        match ran {
            Ok(ran) => Report { ran: *ran, error: 0 },
            Err(error) => {
                // What has no number is the end of a partner.
                let error = error.raw_os_error().unwrap_or(libc::EPIPE);
                Report { ran: Ran::default(), error: error.unsigned_abs().into() }
            }
        }
    }

    fn outcome(self) -> io::Result<Ran> {
        match i32::try_from(self.error) {
            Ok(0) => Ok(self.ran),
            Ok(error) => Err(io::Error::from_raw_os_error(error)),
            Err(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn words(self) -> [u64; 5] {
        let Ran { ns, times, right, without_switches_ns } = self.ran;
        [ns, times, right, without_switches_ns, self.error]
    }

    fn bytes(self) -> [u8; Report::BYTES] {
        let mut bytes = [0; Report::BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.words()) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; Report::BYTES]) -> Report {
        let mut words = [0; 5];
        for (word, place) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_ne_bytes(*place);
        }
        let [ns, times, right, without_switches_ns, error] = words;
        Report { ran: Ran { ns, times, right, without_switches_ns }, error }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sealed::Sealed;
    use super::super::{Call, Latency, Starts, WalkOrder};
    use super::*;

    fn null() -> Box<dyn Operation> {
        Box::new(Call::null())
    }

    /// Others end at the first load.
    #[test]
    fn only_a_process_that_is_forked_for_it_has_the_memory_of_an_operation() {
        let mut loads = Latency::over(1 << 20, 64, WalkOrder::Random).unwrap();
        let mut has_memory = |asked: Option<bool>| {
            if let Some(is) = asked {
                loads.is_for_forks(is).unwrap();
            }
            // SAFETY: CHILD: it loads.
            let child = unsafe { fork(|| i32::from(loads.begin().is_err())) };
            child.unwrap().ended_with(0).unwrap()
        };
        assert_eq!([None, Some(true), Some(false)].map(&mut has_memory), [false, true, false]);
    }

    /// Refuses to begin, or ends its process in the middle.
    struct Broken {
        begins: bool,
    }

    impl Sealed for Broken {}

    impl Operation for Broken {
        fn begin(&mut self) -> io::Result<()> {
            if self.begins { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EMFILE)) }
        }

        fn run(&mut self, _: u64) -> io::Result<Ran> {
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(0) }
        }
    }

    #[test]
    fn several_processes_do_the_same_beside_a_busy_one() {
        let Some(cpu) = allowed() else {
            println!(
                "SKIPPED several_processes_do_the_same_beside_a_busy_one: no CPU can be chosen"
            );
            return;
        };
        let mut three = [null(), null(), null()];
        let ran = run_in_processes(&mut three, &[&[cpu], &[cpu], &[]], Some(cpu), 10).unwrap();
        assert_eq!(ran.iter().map(|ran| ran.right).collect::<Vec<_>>(), [10, 10, 10]);
    }

    #[test]
    fn what_goes_wrong_is_told() {
        let told = |operation: Box<dyn Operation>, place: &[u32]| {
            run_in_processes(&mut [operation], &[place], None, 1).unwrap_err()
        };
        assert!(told(Box::new(Broken { begins: false }), &[]).contains("os error 24"));
        assert!(told(Box::new(Broken { begins: true }), &[]).contains("before it was done"));
        assert!(told(null(), &[1_000]).contains("os error"));
        assert!(told(null(), &[100_000]).contains("beyond"));
        assert!(run_in_processes(&mut [null()], &[], None, 1).is_err());
        assert!(run_in_processes(&mut [null()], &[&[]], Some(1_000), 1).is_err());
    }

    #[test]
    fn an_operation_that_is_wrong_is_counted_as_wrong() {
        let start = super::super::Start::ForkExecute;
        let wrong = Starts::new(start, "/nowhere/none", "").unwrap();
        let ran = run_in_processes(&mut [Box::new(wrong)], &[&[]], None, 2).unwrap();
        assert_eq!((ran[0].times, ran[0].right), (2, 0));
    }

    #[test]
    fn reports_come_out_as_they_went_in() {
        let ran = Ran { ns: 1, times: 2, right: 3, without_switches_ns: u64::MAX };
        let report = Report::of(&Ok(ran));
        assert_eq!(Report::from_bytes(&report.bytes()), report);
        assert_eq!(report.outcome().unwrap(), ran);
        let gone = Report::of(&Err(io::ErrorKind::UnexpectedEof.into()));
        assert_eq!(gone.outcome().unwrap_err().raw_os_error(), Some(libc::EPIPE));
    }

    /// A CPU that a test may use.
    fn allowed() -> Option<u32> {
        let works = |cpu: &u32| run_in_processes(&mut [null()], &[&[*cpu]], None, 1).is_ok();
        (0..1024).find(works)
    }
}
