//! The machine this process runs on: ask hwloc, else the kernel; then correct and cross-check.
//!
//! 1. hwloc's XML, unless the library is absent, fails, or `HOCKET_NO_HWLOC=1` forbids it; then the kernel's files.
//! 2. `allowed` is cut down to what the main thread of this process may use now.
//! 3. Where hwloc answered, the kernel's files are read as well and every disagreement becomes a note. The kernel's
//!    names of core types are used where hwloc (before 2.10) has none.
//! 4. Where the environment made hwloc describe some other machine, the result says so and must not be used to pin.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cpuset::CpuSet;
use crate::kernel_files::{KernelFiles, field};

use super::draft::{CacheDraft, Draft};
use super::kinds::KindRow;
use super::{CacheType, Source, Topology, TopologyError, hwloc, sysfs, xml};

/// Variables that make the library answer for another machine.
const REPLACING: [&str; 3] = ["HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT"];

pub(crate) fn discover() -> Result<Topology, TopologyError> {
    match ask_hwloc() {
        Ok((draft, version, is_this_system)) => Ok(with_hwloc(draft, version, is_this_system)),
        Err(why) => with_sysfs(&why),
    }
}

fn ask_hwloc() -> Result<(Draft, String, bool), String> {
    if std::env::var_os("HOCKET_NO_HWLOC").is_some_and(|v| v == "1") {
        return Err("HOCKET_NO_HWLOC=1 is set".into());
    }
    let exported = on_own_thread(hwloc::export)?;
    let read =
        xml::read(&exported.xml, "the XML of the hwloc library").map_err(|e| e.to_string())?;
    let version = read.hwloc_version.unwrap_or(exported.version);
    Ok((read.draft, version, exported.is_this_system))
}

/// The library moves its caller about and may load components; the caller's thread is spared that.
fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let thread = std::thread::Builder::new().name("topology".into()).spawn(work);
    let thread = thread.map_err(|e| format!("no thread could be started: {e}"))?;
    thread.join().unwrap_or_else(|_| Err("the hwloc library panicked".into()))
}

fn with_sysfs(why: &str) -> Result<Topology, TopologyError> {
    let mut draft = sysfs::read(Path::new("/"))?;
    draft.notes.push(format!("read from the kernel's files, not through hwloc: {why}"));
    allow_what_the_process_may(&mut draft);
    Ok(draft.finish(Source::Sysfs { root: "/".into() }, true))
}

fn with_hwloc(mut draft: Draft, version: String, says_this_system: bool) -> Topology {
    let kernel = sysfs::read(Path::new("/"));
    let doubt = doubt(&draft, kernel.as_ref().ok(), says_this_system);
    let is_this_system = doubt.is_none();
    match doubt {
        Some(why) => draft.notes.push(format!(
            "this is not this system ({why}): its CPU numbers must not be used to pin threads"
        )),
        None => {
            allow_what_the_process_may(&mut draft);
            cross_check(&mut draft, kernel);
        }
    }
    draft.finish(Source::HwlocLive { version }, is_this_system)
}

/// Why the answer may not be this system's, if it may not.
///
/// The library can be told to take a saved machine for this one, so where the environment replaces the
/// machine its word is not enough: the CPUs and their cores must be those that the kernel shows.
fn doubt(draft: &Draft, kernel: Option<&Draft>, says_this_system: bool) -> Option<String> {
    let set = |name: &&str| std::env::var_os(name).is_some();
    let replaced: Vec<&str> = REPLACING.into_iter().filter(set).collect();
    let shown = |d: &Draft| (d.cpus(), core_groups(d), package_groups(d));
    let looks_alike = kernel.is_some_and(|kernel| shown(kernel) == shown(draft));
    match (says_this_system, replaced.is_empty()) {
        (true, true) => None,
        (true, false) if looks_alike => None,
        (_, false) => Some(format!("{} in the environment replaces it", replaced.join(", "))),
        (false, true) => Some("hwloc says so".into()),
    }
}

/// The affinity of the main thread, as the kernel states it.
fn allow_what_the_process_may(draft: &mut Draft) {
    let status = KernelFiles::live().text("proc/self/status").unwrap_or_default();
    let listed = field(&status, "Cpus_allowed_list").and_then(|list| list.parse::<CpuSet>().ok());
    let asked = crate::sys::affinity(std::process::id() as i32).ok();
    let allowed = match (listed, asked) {
        (Some(listed), Some(asked)) => {
            if listed.intersection(&draft.cpus()) != asked.intersection(&draft.cpus()) {
                let note = format!(
                    "/proc/self/status allows CPUs {listed}, sched_getaffinity {asked}; only both count"
                );
                draft.notes.push(note);
            }
            listed.intersection(&asked)
        }
        (Some(set), None) | (None, Some(set)) => set,
        (None, None) => {
            draft.notes.push("the CPUs this process may use could not be asked".into());
            return;
        }
    };
    draft.seats.iter_mut().for_each(|(&cpu, seat)| seat.allowed &= allowed.contains(cpu));
}

type Groups = BTreeSet<CpuSet>;
/// What is compared, and how to get it out of a draft.
type Aspect = (&'static str, fn(&Draft) -> Groups);

/// Compares with the kernel's files; borrows the kernel's names of core types.
fn cross_check(draft: &mut Draft, kernel: Result<Draft, TopologyError>) {
    let kernel = match kernel {
        Ok(kernel) => kernel,
        Err(e) => {
            draft.notes.push(format!("hwloc could not be checked against the kernel: {e}"));
            return;
        }
    };
    let aspects: [Aspect; 5] = [
        ("which CPUs there are", |d| [d.cpus()].into()),
        ("which CPUs share a core", core_groups),
        ("which CPUs share a package", package_groups),
        ("which CPUs share an L2 cache", |d| shared_caches(d, 2)),
        ("which CPUs share an L3 cache", |d| shared_caches(d, 3)),
    ];
    for (what, of) in aspects {
        let (hwloc, kernel) = (of(draft), of(&kernel));
        note_difference(&mut draft.notes, what, &hwloc, &kernel);
    }
    borrow_names(draft, kernel);
}

/// Older versions of hwloc group CPUs by clock alone where the kernel has names of core types.
fn borrow_names(draft: &mut Draft, kernel: Draft) {
    let has_name = |row: &KindRow| row.core_type.is_some() || row.part.is_some();
    let named = |d: &Draft| !d.kind_rows.is_empty() && d.kind_rows.iter().all(has_name);
    if named(&kernel) && !named(draft) {
        draft.kind_rows = kernel.kind_rows;
        draft
            .notes
            .push("the kinds of core are the kernel's: this hwloc does not name core types".into());
    }
}

fn core_groups(draft: &Draft) -> Groups {
    groups(draft.cores.iter().map(|c| c.cpus.as_slice()))
}

fn package_groups(draft: &Draft) -> Groups {
    groups(draft.packages.iter().map(|p| p.cpus.as_slice()))
}

fn groups<'a>(groups: impl Iterator<Item = &'a [u32]>) -> Groups {
    groups
        .map(|cpus| cpus.iter().copied().collect())
        .filter(|set: &CpuSet| !set.is_empty())
        .collect()
}

fn shared_caches(draft: &Draft, level: u32) -> Groups {
    let is_it = |c: &&CacheDraft| c.level == level && c.cache_type != CacheType::Instruction;
    groups(draft.caches.iter().filter(is_it).map(|c| c.cpus.as_slice()))
}

fn note_difference(notes: &mut Vec<String>, what: &str, hwloc: &Groups, kernel: &Groups) {
    if hwloc == kernel {
        return;
    }
    let show = |only: Vec<&CpuSet>| match only.as_slice() {
        [] => "nothing of its own".to_string(),
        some => some.iter().take(4).map(|set| format!("[{set}]")).collect::<Vec<_>>().join(" "),
    };
    let only_hwloc = show(hwloc.difference(kernel).collect());
    let only_kernel = show(kernel.difference(hwloc).collect());
    notes.push(format!("hwloc and the kernel disagree on {what}: hwloc alone says {only_hwloc}, the kernel alone {only_kernel}"));
}
