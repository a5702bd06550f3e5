//! What a record says about a run besides its figures.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hocket_machine::{Topology, clock, facts};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::run::absent_from_ledger;
use super::{Budget, Host, NotMeasurable, Plan};
use crate::about;
use crate::store::RunHead;

/// Clock, machine, grants, command and load, as they are before anything is measured.
///
/// The clock comes first: one that runs backwards makes every figure worthless. Cost: up to two seconds.
///
/// # Errors
/// A clock that is not fit to measure with.
pub fn head(plan: &Plan, host: &Host, command: &[String]) -> Result<RunHead, NotMeasurable> {
    let check = clock::check();
    if check.backward_steps > 0 {
        return Err(NotMeasurable(format!(
            "the clock went backwards {} times in the check before the run, so nothing can be timed; \
             see `hocket machine` for the clock source",
            check.backward_steps
        )));
    }
    let machine = about::machine(&host.topology);
    let started_at = about::now();
    let absent: serde_json::Map<String, Value> =
        absent_from_ledger(host).into_iter().map(|(name, why)| (name.into(), why.into())).collect();
    let meta = json!({
        "build": about::build(),
        "command": command,
        "size": plan.size.name(),
        "budget": budget(plan.budget),
        "width": plan.width,
        "limits": plan.limits,
        "clock": { "check": check, "longest_gap_ns_in_100_ms": longest_gap_ns() },
        "cpus": host.cpus,
        "machine": machine,
        "grants": about::grants(),
        "ledger_absent": absent,
        "load_before": load(),
    });
    let host = digest(&machine);
    let uuid = fresh_uuid(plan.seed, &host);
    Ok(RunHead { uuid, started_at, host, seed: plan.seed, meta })
}

/// What is added when the run is over: `wall_s` is how long its experiments took together.
pub fn tail(interrupted: bool, wall: Duration) -> Value {
    json!({ "load_after": load(), "interrupted": interrupted, "wall_s": wall.as_secs_f64() })
}

fn budget(budget: Budget) -> Value {
    match budget {
        Budget::Each(each) => json!({ "each_s": each.as_secs_f64() }),
        Budget::All(all) => json!({ "all_s": all.as_secs_f64() }),
    }
}

fn load() -> Value {
    json!(facts::read().load)
}

/// The longest time between two readings in a row of a busy loop of 100 ms.
fn longest_gap_ns() -> u64 {
    let start = clock::monotonic_ns();
    let (mut last, mut longest) = (start, 0);
    while last - start < 100_000_000 {
        let now = clock::monotonic_ns();
        longest = longest.max(now - last);
        last = now;
    }
    longest
}

/// What stands as a run's host in the records of this machine.
///
/// Thread: control. Cost: some tens of files.
pub fn host_digest(topology: &Topology) -> String {
    digest(&about::machine(topology))
}

/// Tells machines apart without naming them: processor, kernel and topology.
fn digest(machine: &Value) -> String {
    let part = |pointer: &str| machine.pointer(pointer).map(Value::to_string).unwrap_or_default();
    let parts = [
        "/facts/cpu_model",
        "/facts/hypervisor",
        "/facts/memory_bytes",
        "/topology/cores",
        "/topology/caches",
    ];
    let mut digest = Sha256::new();
    parts.iter().for_each(|pointer| digest.update(part(pointer)));
    hexadecimal(&digest.finalize()[..8])
}

/// Unlike that of any other run: time, process and seed, digested (a random UUID needs a source of
/// randomness that a seed must not be).
pub(crate) fn fresh_uuid(seed: u64, host: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let text = format!("{now} {} {seed} {host}", std::process::id());
    hexadecimal(&Sha256::digest(text.as_bytes())[..16])
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
