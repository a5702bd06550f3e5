//! A guest that is there for a process start, and its turns.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hocket_machine::pin::CpuSet;

use super::{Answer, Conversation, Hello, Request, command};
use crate::harness::{Check, Fault, ledger};

/// How long a guest may take until it has greeted.
pub const START: Duration = Duration::from_secs(if cfg!(test) { BUSY_S } else { 20 });
/// How long it may take for a round.
pub const ROUND: Duration = Duration::from_secs(if cfg!(test) { BUSY_S } else { 5 });
/// In tests, on machines that are busy with other things.
const BUSY_S: u64 = 600;

/// A guest that greeted.
pub struct Stage {
    /// The guest, or why there is none any more.
    guest: Result<Conversation, Fault>,
    /// What it can compare.
    pub variants: Vec<String>,
    rounds: u64,
    /// The first checksum of each variant: all others must be equal.
    checksums: BTreeMap<String, String>,
    patience: Duration,
    /// The CPUs that all its threads may use, and no others; any where it is `None`.
    mask: Option<CpuSet>,
    /// Its CPU time that the ledger has as that of a living guest.
    noted_ns: u64,
}

/// What came of a round.
#[derive(Debug, Clone)]
pub struct Turn {
    /// What the guest says.
    pub answer: Answer,
    /// From the request's first byte to the answer's last.
    pub waited_ns: u64,
    /// CPU time of the guest in this time, where the system counts it.
    pub cpu_ns: Option<u64>,
    /// Whether its checksum is that of the variant's first round.
    pub check: Check,
}

impl Stage {
    /// Starts the guest and waits for its greeting.
    ///
    /// # Errors
    /// It cannot be started, or says something else.
    pub fn open<S: AsRef<std::ffi::OsStr>>(words: &[S]) -> Result<Stage, Fault> {
        Stage::open_unless(words, &|| false)
    }

    /// The same, for somebody who may stop waiting.
    ///
    /// # Errors
    /// As above, or `is_ending` says that nobody needs the guest any more.
    pub fn open_unless<S: AsRef<std::ffi::OsStr>>(
        words: &[S],
        is_ending: &dyn Fn() -> bool,
    ) -> Result<Stage, Fault> {
        let mut guest = Conversation::start(words)?;
        let line = match guest.line_unless(Instant::now() + START, is_ending) {
            Ok(line) => line,
            Err(fault) => return Err(with(fault, guest.end())),
        };
        let hello =
            Hello::read(&line).map_err(|fault| guest.fault(&format!("is unclear: {fault}")))?;
        Ok(Stage {
            guest: Ok(guest),
            variants: hello.variants,
            rounds: 0,
            checksums: BTreeMap::new(),
            patience: ROUND,
            mask: None,
            noted_ns: 0,
        })
    }

    /// The same for a guest that may use these CPUs only. Each turn reads back that its threads may use no others.
    ///
    /// # Errors
    /// As above, or the system grants other CPUs.
    pub fn open_on<S: AsRef<std::ffi::OsStr>>(words: &[S], cpus: &[u32]) -> Result<Stage, Fault> {
        let mut stage = command::on(cpus, || Stage::open(words))?;
        stage.mask = Some(cpus.iter().copied().collect());
        match stage.outside() {
            None => Ok(stage),
            Some(other) => Err(Fault(format!("the guest may use the CPUs {other}"))),
        }
    }

    /// CPUs of one of its threads, where they are not those of the mask.
    fn outside(&self) -> Option<CpuSet> {
        let (mask, guest) = (self.mask.as_ref()?, self.guest.as_ref().ok()?);
        guest.cpus_of_threads().into_iter().find(|cpus| cpus != mask)
    }

    /// The same with another time for a round.
    pub fn with_patience(mut self, patience: Duration) -> Stage {
        self.patience = patience;
        self
    }

    /// One round of a variant.
    ///
    /// # Errors
    /// The guest says why it has no figure; or what it did wrong. After a mistake it is ended, and every further round
    /// fails with the same words.
    pub fn turn(
        &mut self,
        variant: &str,
        factors: &BTreeMap<String, String>,
    ) -> Result<Turn, Fault> {
        let round = self.rounds;
        self.rounds += 1;
        let asked = self.ask(&Request { round, variant, factors });
        let (answer, waited_ns, cpu_ns) = match asked {
            Ok(answered) => answered,
            Err(fault) => {
                let fault = with(fault, self.end());
                self.guest = Err(fault.clone());
                return Err(fault);
            }
        };
        ledger::note_guest(cpu_ns.unwrap_or(0));
        self.noted_ns += cpu_ns.unwrap_or(0);
        if let Some(why) = &answer.error {
            return Err(Fault(format!(
                "the guest cannot do this: {}",
                super::protocol::shown(why)
            )));
        }
        let check = self.check(variant, &answer).and(self.check_mask());
        Ok(Turn { answer, waited_ns, cpu_ns, check })
    }

    fn ask(&mut self, request: &Request<'_>) -> Result<(Answer, u64, Option<u64>), Fault> {
        let guest = self.guest.as_mut().map_err(|fault| fault.clone())?;
        if guest.is_ahead()? {
            return Err(guest.fault("says more than one line for a round"));
        }
        let line = serde_json::to_string(request).map_err(Fault::new)?;
        let cpu_before = guest.cpu_ns();
        let begun = Instant::now();
        guest.say(&line)?;
        let line = guest.line(begun + self.patience)?;
        let waited_ns = begun.elapsed().as_nanos() as u64;
        let cpu_ns =
            guest.cpu_ns().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
        let answer = Answer::read(&line, request.round, waited_ns)
            .map_err(|fault| guest.fault(&format!("answers nonsense: {fault}")))?;
        Ok((answer, waited_ns, cpu_ns))
    }

    /// Ends the guest. When it has been waited for, it counts among the children with all that it has used.
    ///
    /// # Errors
    /// It cannot be ended.
    pub fn end(&mut self) -> Result<(), Fault> {
        if let Ok(guest) = &mut self.guest {
            guest.end()?;
            ledger::forget_guest(std::mem::take(&mut self.noted_ns));
        }
        Ok(())
    }

    fn check_mask(&self) -> Check {
        self.outside().map_or(Check::Passed, |cpus| {
            Check::Failed(format!(
                "a thread of the guest may use the CPUs {cpus}, which it must not"
            ))
        })
    }

    fn check(&mut self, variant: &str, answer: &Answer) -> Check {
        let Some(checksum) = &answer.checksum else {
            return Check::None("the guest gives no checksum".into());
        };
        let first = self.checksums.entry(variant.into()).or_insert_with(|| checksum.clone());
        match first == checksum {
            true => Check::Passed,
            false => {
                let [first, now] = [&*first, checksum].map(|text| super::protocol::shown(text));
                Check::Failed(format!("the checksum is {now}, and was {first} in the first round"))
            }
        }
    }
}

/// What a guest did wrong, and that it cannot be ended if that is so.
fn with(fault: Fault, ended: Result<(), Fault>) -> Fault {
    match ended {
        Ok(()) => fault,
        Err(still) => Fault(format!("{fault}; {still}")),
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Greets, and answers by `answer`, in which `$n` counts the rounds.
    fn stage(answer: &str) -> Stage {
        let script = format!(
            "echo '{{\"hocket-guest\": 1, \"variants\": [\"a\", \"b\"]}}'; n=0; \
             while read line; do {answer}; n=$((n+1)); done"
        );
        Stage::open(&["sh", "-c", &script]).unwrap().with_patience(Duration::from_secs(60))
    }

    fn turn(stage: &mut Stage) -> Result<Turn, Fault> {
        stage.turn("a", &BTreeMap::new())
    }

    #[test]
    fn rounds_are_answered_and_checked() {
        let mut stage =
            stage(r#"echo "{\"round\": $n, \"time_ns\": 1000, \"checksum\": \"$((n/2))\"}""#);
        assert_eq!(stage.variants, ["a", "b"]);
        let first = turn(&mut stage).unwrap();
        assert!(first.answer.time_ns == 1000.0 && first.waited_ns > 0);
        assert!(first.cpu_ns.is_some() && first.check == Check::Passed);
        assert_eq!(turn(&mut stage).unwrap().check, Check::Passed);
        let wrong = turn(&mut stage).unwrap().check;
        assert!(
            matches!(&wrong, Check::Failed(why) if why.contains("is 1, and was 0")),
            "{wrong:?}"
        );
        let other = stage.turn("b", &BTreeMap::new()).unwrap().check;
        assert_eq!(other, Check::Passed, "each variant has results of its own");
    }

    #[test]
    fn what_a_guest_does_wrong_ends_it_and_is_said_every_time() {
        for (answer, words) in [
            ("echo rubbish", "answers nonsense: what it says is no answer"),
            (r#"echo "{\"round\": 9, \"time_ns\": 1}""#, "answers round 9"),
            ("echo why >&2; exit 3", "ended early (exit status: 3); it says: why"),
        ] {
            let mut stage = stage(answer);
            let first = turn(&mut stage).unwrap_err();
            assert!(first.0.contains(words), "{first}");
            assert_eq!(turn(&mut stage).unwrap_err(), first);
        }
        let mut hanging = stage("sleep 1000").with_patience(Duration::from_millis(50));
        assert!(turn(&mut hanging).unwrap_err().0.contains("does not answer in time"));
        let mut chatty =
            stage(r#"printf '{"round": 0, "time_ns": 1}\n{"round": 1, "time_ns": 1}\n'"#);
        turn(&mut chatty).unwrap();
        // The shell may write the second line later than the first.
        while !chatty.guest.as_mut().unwrap().is_ahead().unwrap() {
            std::thread::yield_now();
        }
        assert!(turn(&mut chatty).unwrap_err().0.contains("more than one line"));
    }

    #[test]
    fn a_guest_that_dies_between_rounds_ended_early() {
        let mut stage = stage(r#"echo '{"round": 0, "time_ns": 1}'; exit 5"#);
        turn(&mut stage).unwrap();
        while stage.guest.as_mut().unwrap().is_ahead().is_ok() {
            std::thread::yield_now();
        }
        let why = turn(&mut stage).unwrap_err().0;
        assert!(why.contains("ended early (exit status: 5)"), "{why}");
        assert_eq!(stage.noted_ns, 0, "it counts among the children now");
    }

    #[test]
    fn greetings_are_not_waited_for_when_nobody_needs_them() {
        let why = Stage::open_unless(&["sleep", "1000"], &|| true).err().unwrap().0;
        assert!(why.contains("as was asked for"), "{why}");
    }

    #[test]
    fn a_guest_that_cannot_do_a_round_goes_on() {
        let answer = r#"if [ $n = 0 ]; then echo '{"round": 0, "error": "no memory"}'; \
            else echo "{\"round\": $n, \"time_ns\": 1}"; fi"#;
        let mut stage = stage(answer);
        assert!(turn(&mut stage).unwrap_err().0.contains("cannot do this: no memory"));
        assert!(turn(&mut stage).is_ok());
    }

    #[test]
    fn a_guest_on_one_cpu_may_use_no_other() {
        let all = hocket_machine::pin::current_affinity().unwrap();
        let cpus: Vec<u32> = all.iter().collect();
        let good = r#"echo '{"hocket-guest": 1}'; n=0; while read line; do
            echo "{\"round\": $n, \"time_ns\": 1, \"checksum\": \"c\"}"; n=$((n+1)); done"#;
        let mut stage = Stage::open_on(&["sh", "-c", good], &cpus[..1]).unwrap();
        assert_eq!(turn(&mut stage).unwrap().check, Check::Passed);
        assert_eq!(hocket_machine::pin::current_affinity().unwrap(), all, "this thread is free");
        let [first, second, ..] = cpus[..] else {
            println!("SKIPPED a_guest_on_one_cpu_may_use_no_other: a second CPU is needed");
            return;
        };
        // Another mask than was granted is seen.
        stage.mask = Some([second].into_iter().collect());
        let wrong = turn(&mut stage).unwrap().check;
        let words = format!("may use the CPUs {first}, which it must not");
        assert!(matches!(&wrong, Check::Failed(why) if why.contains(&words)), "{wrong:?}");
    }

    #[test]
    fn greetings_that_are_none_are_refused() {
        let refused = |script: &str| Stage::open(&["sh", "-c", script]).err().unwrap().0;
        assert!(refused("echo hello").contains("the first line is no greeting"));
        assert!(refused("exit 4").contains("exit status: 4"));
    }
}
