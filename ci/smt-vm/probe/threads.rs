//! What every thread of the system is doing, for a check that came to no end.

use std::fs;
use std::time::Duration;

/// Between the two looks that show who uses CPU time.
const BETWEEN: Duration = Duration::from_secs(1);

/// One line a thread: those of programs, and those of the kernel that run or want to.
///
/// Cost: reads some files a thread, twice, a second apart.
pub fn table() -> Vec<String> {
    let before = all();
    std::thread::sleep(BETWEEN);
    let line = |(path, before): (String, Thread)| Some(Thread::read(&path)?.line(before.ticks));
    before.into_iter().filter_map(line).collect()
}

/// Of the kernel (`include/linux/sched.h`).
const PF_KTHREAD: u64 = 0x0020_0000;

/// What proc(5) says about one thread.
struct Thread {
    /// Number and name, as `52 (exe`.
    name: String,
    state: String,
    is_kernel: bool,
    /// CPU time, in hundredths of a second.
    ticks: u64,
    cpu: String,
    class: String,
    /// The system call it is in, by number, with what it was given.
    waits: String,
    cpus: String,
}

/// By their folders.
fn all() -> Vec<(String, Thread)> {
    let folders = entries("/proc").into_iter().flat_map(|process| {
        let tasks = format!("/proc/{process}/task");
        entries(&tasks).into_iter().map(move |thread| format!("{tasks}/{thread}"))
    });
    let found = folders.filter_map(|folder| Thread::read(&folder).map(|thread| (folder, thread)));
    found.filter(|(_, thread)| thread.is_told()).collect()
}

/// The entries of a folder that are numbers.
fn entries(folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

impl Thread {
    /// `None`: it has ended meanwhile.
    fn read(folder: &str) -> Option<Thread> {
        let file = |name: &str| fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
        let stat = file("stat");
        let (front, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // As proc(5) counts, from 1; the first two are in front of the bracket.
        let field = |number: usize| fields.get(number - 3).copied().unwrap_or_default();
        let number = |index: usize| field(index).parse::<u64>().unwrap_or(0);
        let status = file("status");
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        Some(Thread {
            name: front.to_owned(),
            state: field(3).to_owned(),
            is_kernel: number(9) & PF_KTHREAD != 0,
            ticks: number(14) + number(15),
            cpu: field(39).to_owned(),
            class: class(number(41), number(40)),
            waits: file("syscall").trim().to_owned(),
            cpus: allowed.unwrap_or_default().trim().to_owned(),
        })
    }

    /// The kernel has many that only wait.
    fn is_told(&self) -> bool {
        !self.is_kernel || matches!(self.state.as_str(), "R" | "D")
    }

    fn line(&self, ticks_before: u64) -> String {
        let Thread { name, state, ticks, cpu, class, waits, cpus, .. } = self;
        let (used_ms, now_ms) = (10 * ticks, 10 * ticks.saturating_sub(ticks_before));
        format!(
            "{name}) {state} {class}, CPU {cpu} of {cpus}, {used_ms} ms used, {now_ms} of them now, call {waits}"
        )
    }
}

/// The scheduler's policies by number, sched(7).
fn class(policy: u64, priority: u64) -> String {
    match policy {
        0 => "other".into(),
        1 => format!("FIFO {priority}"),
        2 => format!("RR {priority}"),
        _ => format!("policy {policy}"),
    }
}
