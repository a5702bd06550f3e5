//! The check: topology, what the kernel can do, Hocket's own tests of it, then every policy.

use std::process::ExitCode;

use hocket_machine::pin::CpuSet;
use hocket_machine::topology::Topology;
use hocket_plan::SiblingPolicy;

use crate::expect::{self, Beside};
use crate::kernel::{self, By};
use crate::play::Since;
use crate::strangers::{Strangers, Whose};
use crate::stretch::{Siblings, Stretch, share_beside};
use crate::switch::{self, End};
use crate::watch::Watch;
use crate::{play, suites};

/// A run that a busy host disturbed may be repeated.
const TRIES: usize = 3;

/// Counts what was found, and prints it line by line.
#[derive(Debug)]
struct Findings {
    watch: Watch,
    passed: usize,
    failed: usize,
    unsaid: usize,
}

/// Runs everything, or the named policies alone; exit code 1 where something is not as promised.
pub fn run(names: &[&str]) -> ExitCode {
    let watch = match Watch::start() {
        Ok(watch) => watch,
        Err(error) => {
            println!("smt-vm: FAILED  nobody watches over the time: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut findings = Findings { watch, passed: 0, failed: 0, unsaid: 0 };
    match Topology::discover() {
        Err(error) => findings.failed(&format!("topology: {error}")),
        Ok(topology) => {
            findings.topology(&topology);
            if names.is_empty() {
                findings.kernel(&topology);
                findings.switch(&topology);
                findings.suites();
            }
            findings.policies(&topology, names);
        }
    }
    findings.exit_code()
}

impl Findings {
    fn failed(&mut self, what: &str) {
        self.failed += 1;
        println!("smt-vm: FAILED  {what}");
    }

    fn passed(&mut self, what: &str) {
        self.passed += 1;
        println!("smt-vm: ok      {what}");
    }

    /// Two seats on every core.
    fn topology(&mut self, topology: &Topology) {
        let cores = topology.cores.len();
        let found = format!(
            "topology: {cores} cores, {} seats, {} pairs",
            topology.seats.len(),
            topology.pairs.len()
        );
        let pairs = topology.pairs.len() == cores && topology.seats.len() == 2 * cores;
        if pairs && cores > 1 { self.passed(&found) } else { self.failed(&found) }
    }

    /// One thread, without the engine: nothing asked for comparison, then what keeps others off.
    fn kernel(&mut self, topology: &Topology) {
        let seats = topology.cores.first().map(|core| core.seats.as_slice()).unwrap_or_default();
        let core: CpuSet = seats.iter().map(|seat| topology.seats[*seat].cpu).collect();
        for (by, promise) in [
            (By::Nothing, Beside::Runs),
            (By::Cookie, Beside::KeptOff),
            (By::Partition, Beside::KeptOff),
        ] {
            self.judge(by.name(), promise, Whose::Stranger, || {
                beside(topology, Whose::Stranger, |strangers| {
                    strangers.go()?;
                    kernel::work(&core, by)
                })
            });
        }
    }

    fn switch(&mut self, topology: &Topology) {
        for end in [End::Normal, End::Killed] {
            self.watch.begin(end.name().to_owned());
            self.one(end.name(), switch::check(topology, end));
        }
    }

    fn suites(&mut self) {
        for suite in suites::all() {
            self.watch.begin(suite.name());
            self.one(&suite.name(), suite.run());
        }
    }

    fn one(&mut self, what: &str, outcome: Result<String, String>) {
        match outcome {
            Ok(found) => self.passed(&format!("{what}: {found}")),
            Err(why) => self.failed(&format!("{what}: {why}")),
        }
    }

    fn policies(&mut self, topology: &Topology, names: &[&str]) {
        let wanted = |policy: &SiblingPolicy| names.is_empty() || names.contains(&policy.name());
        for policy in SiblingPolicy::ALL.into_iter().filter(wanted) {
            self.policy(topology, (policy, Since::TheStart), Whose::Stranger);
            self.policy(topology, (policy, Since::TheStart), Whose::Own);
            if policy.changes_live() {
                self.policy(topology, (policy, Since::AChange), Whose::Own);
            }
        }
        for name in names.iter().filter(|name| SiblingPolicy::from_name(name).is_none()) {
            self.failed(&format!("there is no policy '{name}'"));
        }
    }

    fn exit_code(&self) -> ExitCode {
        let Findings { passed, failed, unsaid, .. } = self;
        println!("smt-vm: {passed} passed, {failed} failed, {unsaid} without expectation");
        if *failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn policy(
        &mut self,
        topology: &Topology,
        (policy, since): (SiblingPolicy, Since),
        whose: Whose,
    ) {
        let name = match since {
            Since::TheStart => policy.name().to_owned(),
            Since::AChange => {
                format!("{}, after {} while it plays", policy.name(), play::before(policy).name())
            }
        };
        let workers = expect::workers(policy, topology.cores.len());
        let promise = expect::promised(policy, whose);
        let mut refused = Vec::new();
        self.judge(&name, promise, whose, || {
            beside(topology, whose, |strangers| {
                let played = play::play(topology, (policy, since), workers, strangers)?;
                refused = played.refused;
                Ok(played.units)
            })
        });
        for why in refused {
            self.failed(&format!("{name}: {why}"));
        }
    }

    /// Tries until the promise is kept, at most [`TRIES`] times.
    fn judge(
        &mut self,
        what: &str,
        promise: Beside,
        whose: Whose,
        mut measure: impl FnMut() -> Result<f64, String>,
    ) {
        let mut shares = Vec::new();
        for _ in 0..TRIES {
            self.watch.begin(format!("{what}, {}", whose.name()));
            match measure() {
                Err(why) => return self.failed(&format!("{what}: {why}")),
                Ok(share) => {
                    shares.push(format!("{:.0} %", 100.0 * share));
                    if promise.holds(share) {
                        return self.kept(what, promise, whose, &shares);
                    }
                }
            }
        }
        self.failed(&line(what, promise, whose, &shares));
    }

    fn kept(&mut self, what: &str, promise: Beside, whose: Whose, shares: &[String]) {
        let line = line(what, promise, whose, shares);
        if promise == Beside::Unsaid {
            self.unsaid += 1;
            println!("smt-vm: unsaid  {line}");
        } else {
            self.passed(&line);
        }
    }
}

fn line(what: &str, promise: Beside, whose: Whose, shares: &[String]) -> String {
    let (whose, shares, words) = (whose.name(), shares.join(", then "), promise.words());
    format!("{what}: {whose} beside a worker {shares} of the time ({words})")
}

/// For how much of the time of `work` busy threads ran beside it.
fn beside(
    topology: &Topology,
    whose: Whose,
    work: impl FnOnce(&mut Strangers) -> Result<Vec<Stretch>, String>,
) -> Result<f64, String> {
    let cpus: Vec<u32> = topology.seats.iter().map(|seat| seat.cpu).collect();
    let mut strangers = Strangers::start(whose, &cpus)?;
    let worked = work(&mut strangers);
    let others = strangers.stop()?;
    share_beside(&worked?, &others, &Siblings::of(topology))
        .ok_or_else(|| "no unit ran on a core with siblings".into())
}
