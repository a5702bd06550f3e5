//! What each policy promises.

use hocket_plan::SiblingPolicy;

use crate::strangers::Whose;

/// What a thread that nobody keeps off exceeds. Usual are 0.94 to 1, whatever else the host does.
const RUNS_ABOVE: f64 = 0.6;
/// What a thread that is kept off stays below. Usual are 0 to 0.1; up to 0.25 with `pair-barrier`, and on a
/// host that runs five programs a CPU now and then 0.5, since the kernel's word to a virtual CPU has to
/// wait until the host lets that one run.
const KEPT_OFF_BELOW: f64 = 0.4;

/// How a busy thread fares beside a worker that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Nobody keeps it from running there.
    Runs,
    /// It does not get to run there.
    KeptOff,
    /// The policy promises nothing.
    Unsaid,
}

impl Beside {
    /// Whether a share of time is what was promised.
    pub fn holds(self, share: f64) -> bool {
        match self {
            Beside::Runs => share > RUNS_ABOVE,
            Beside::KeptOff => share < KEPT_OFF_BELOW,
            Beside::Unsaid => true,
        }
    }

    /// For reports.
    pub fn words(self) -> String {
        match self {
            Beside::Runs => format!("promised: more than {:.0} %", 100.0 * RUNS_ABOVE),
            Beside::KeptOff => format!("promised: less than {:.0} %", 100.0 * KEPT_OFF_BELOW),
            Beside::Unsaid => "no expectation".into(),
        }
    }
}

/// What a policy promises about threads of another process and of its own.
#[derive(Debug, Clone, Copy)]
struct Promise {
    policy: &'static str,
    stranger: Beside,
    own: Beside,
}

const fn promise(policy: &'static str, stranger: Beside, own: Beside) -> Promise {
    Promise { policy, stranger, own }
}

/// By the policy's name, so that a policy that is not in it is found and named.
const PROMISES: [Promise; 11] = [
    promise("off", Beside::Runs, Beside::Runs),
    promise("all", Beside::Runs, Beside::Runs),
    promise("process-affinity", Beside::Runs, Beside::KeptOff),
    promise("reserve-core", Beside::Runs, Beside::KeptOff),
    promise("idle-thread", Beside::KeptOff, Beside::KeptOff),
    promise("pair-barrier", Beside::KeptOff, Beside::KeptOff),
    promise("cookie", Beside::KeptOff, Beside::KeptOff),
    promise("cookie-worker", Beside::KeptOff, Beside::KeptOff),
    promise("cookie-pair", Beside::KeptOff, Beside::KeptOff),
    promise("partition", Beside::KeptOff, Beside::KeptOff),
    promise("offline", Beside::KeptOff, Beside::KeptOff),
];

/// What a policy promises; [`Beside::Unsaid`] for one that the table does not know.
pub fn promised(policy: SiblingPolicy, whose: Whose) -> Beside {
    let known = PROMISES.iter().find(|promise| promise.policy == policy.name());
    known.map_or(Beside::Unsaid, |promise| match whose {
        Whose::Stranger => promise.stranger,
        Whose::Own => promise.own,
    })
}

/// How many workers show the policy best; `None`: as many as it can place.
///
/// Workers on every seat leave nothing to a stranger by their mere number, whatever the policy. So
/// one worker a core, except where the policy is made of the partner on the same core.
pub fn workers(policy: SiblingPolicy, cores: usize) -> Option<usize> {
    (policy.uses_siblings() && policy != SiblingPolicy::PairBarrier).then_some(cores)
}
