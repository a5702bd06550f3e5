//! Counts what the threads of a program did, event by event, in bounded memory.
//!
//! A thread of the program is asleep, ready, or runs on a CPU. What ran on the CPU where it waited was in its way. Every
//! count is brought up to date when a CPU's stretch ends: it needs only who has the other CPUs, and since when.

use std::collections::{BTreeSet, HashMap};

use super::{
    AboutSystem, BY_INTERRUPT, Beside, Cpu, Did, Happened, InTheWay, KernelEvent, Pairs, Piece,
    SystemTrace, ThreadSeen, Wake,
};
use crate::switches::{Follow, Stretch, SwitchAt, Who, overlap_ns};

/// Threads that have a place of their own.
const MOST_THREADS: usize = 20_000;
/// Pairs of threads of each kind.
const MOST_PAIRS: usize = 200_000;
/// Pieces that are drawn. As trace events they are some 150 MB.
const MOST_PIECES: usize = 500_000;
/// Wake-ups that are drawn.
const MOST_WAKES: usize = 250_000;

/// Follows a system and counts what concerns one program.
#[derive(Debug)]
pub struct Tally {
    trace: SystemTrace,
    /// Processes whose threads belong to the program.
    processes: BTreeSet<i32>,
    /// Whether processes that they start belong to it, too.
    with_children: bool,
    index: HashMap<i32, u32>,
    /// Of the same threads as in the trace.
    states: Vec<State>,
    /// By number.
    cpus: HashMap<u32, usize>,
    /// Of the same CPUs as in the trace.
    on_cpus: Vec<OnCpu>,
}

/// What a thread of the program does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Doing {
    Unknown,
    Asleep,
    /// Wants to run on this CPU.
    Ready {
        since_ns: i64,
        cpu: usize,
    },
    /// Runs.
    Running,
}

#[derive(Debug, Clone)]
struct State {
    doing: Doing,
    /// Where it ran last.
    last_cpu: Option<usize>,
    /// A wake-up that came while it ran: it counts if the thread was about to sleep.
    early_wake: Option<(i64, Option<u32>)>,
    has_ended: bool,
}

#[derive(Debug)]
struct OnCpu {
    follow: Follow,
    /// Which thread has it, as far as it is known.
    running: Option<u32>,
    /// Threads of the program that are ready here, and since when.
    waiting: Vec<(u32, i64)>,
    /// Whether the present stretch concerns the program, though the thread does not belong to it.
    concerns: bool,
    /// Since when an interrupt runs, and what it has put off.
    interrupted: [Option<i64>; 2],
    siblings: Vec<usize>,
}

impl Tally {
    /// Follows `cpus` from `about.start_ns` on, for the threads of `process`; also for those of processes that it starts, if
    /// `with_children`.
    pub fn new(about: AboutSystem, cpus: Vec<Cpu>, process: i32, with_children: bool) -> Tally {
        let start_ns = about.start_ns;
        let mut tally = Tally {
            trace: SystemTrace { about, ..SystemTrace::default() },
            processes: BTreeSet::from([process]),
            with_children,
            index: HashMap::new(),
            states: Vec::new(),
            cpus: cpus.iter().enumerate().map(|(at, cpu)| (cpu.number, at)).collect(),
            on_cpus: cpus.iter().map(|_| OnCpu::new(start_ns)).collect(),
        };
        for (on_cpu, cpu) in tally.on_cpus.iter_mut().zip(&cpus) {
            let at = |number: &u32| tally.cpus.get(number).copied();
            on_cpu.siblings = cpu.beside.iter().filter_map(at).collect();
        }
        tally.trace.cpus = cpus;
        tally
    }

    /// Adds a thread of the program that runs already.
    pub fn add_member(&mut self, tid: i32, process: i32) {
        if self.with_children {
            self.processes.insert(process);
        }
        let index = self.thread(tid) as usize;
        if let Some(thread) = self.trace.threads.get_mut(index).filter(|thread| thread.tid == tid) {
            thread.is_member = true;
        }
    }

    /// Adds a thread that runs, of the program or not, and names it.
    pub fn meet(&mut self, tid: i32, name: &str) {
        let index = self.thread(tid);
        if self.trace.threads[index as usize].tid == tid {
            self.name_at(index, name);
        }
    }

    /// Whether the thread that has this number belongs to the program.
    pub fn is_member(&self, tid: i32) -> bool {
        self.index.get(&tid).is_some_and(|index| self.trace.threads[*index as usize].is_member)
    }

    /// Notes that a thread ends: when it leaves its CPU, its number is free for another one.
    pub fn ended(&mut self, tid: i32) {
        if let Some(index) = self.index.get(&tid) {
            self.states[*index as usize].has_ended = true;
        }
    }

    /// Threads that have no name yet, with their numbers. They may have ended meanwhile.
    pub fn nameless(&self) -> Vec<(u32, i32)> {
        let nameless = |(_, thread): &(u32, &ThreadSeen)| thread.name.is_empty() && thread.tid > 0;
        let threads = (0..).zip(&self.trace.threads).filter(nameless);
        threads.map(|(index, thread)| (index, thread.tid)).collect()
    }

    /// Names the thread with this number. A later name is that of a thread that took another.
    pub fn name(&mut self, tid: i32, name: &str) {
        if let Some(index) = self.index.get(&tid) {
            self.name_at(*index, name);
        }
    }

    /// Names the thread at this index.
    pub fn name_at(&mut self, index: u32, name: &str) {
        if let Some(seen) = self.trace.threads.get_mut(index as usize)
            && seen.name != name
        {
            name.clone_into(&mut seen.name);
        }
    }

    /// The numbers of the program's threads that live, as far as the events say.
    pub fn living(&self) -> Vec<i32> {
        let threads = self.index.iter();
        let lives = |index: u32| {
            self.trace.threads[index as usize].is_member && !self.states[index as usize].has_ended
        };
        threads.filter(|(_, index)| lives(**index)).map(|(tid, _)| *tid).collect()
    }

    /// Takes in the next event; they come in order of time.
    pub fn add(&mut self, event: &KernelEvent) {
        self.trace.events += 1;
        let Some(cpu) = self.cpu(event.cpu) else { return };
        let at_ns = event.at_ns;
        match event.what {
            Happened::Switch { in_tid, out_tid, preempted } => {
                self.switch(cpu, &SwitchAt { at_ns, in_tid, out_tid, preempted });
            }
            Happened::Lost { after_ns, records } => {
                self.trace.lost += records;
                let [known, missing] = self.on_cpus[cpu].follow.lose(after_ns, at_ns);
                self.close(cpu, &known);
                self.forget(cpu);
                self.close(cpu, &missing);
            }
            Happened::Woken { tid, by } => self.wake(at_ns, tid, by),
            Happened::Moved { tid, to } => self.moved(at_ns, tid, to),
            Happened::Born { tid, process, parent_process } => {
                let is_child = self.with_children && self.processes.contains(&parent_process);
                if self.processes.contains(&process) || is_child {
                    self.add_member(tid, process);
                }
            }
            Happened::Ended { tid } => self.ended(tid),
            Happened::Interrupt { number, is_deferred, begins } => {
                self.interrupt(cpu, at_ns, number, is_deferred, begins);
            }
        }
    }

    /// Ends the watch.
    pub fn finish(mut self, end_ns: i64, ended: String) -> SystemTrace {
        for cpu in 0..self.on_cpus.len() {
            let stretch = self.on_cpus[cpu].follow.end(end_ns);
            self.close(cpu, &stretch);
        }
        for index in 0..self.states.len() as u32 {
            if let Doing::Ready { since_ns, .. } = self.states[index as usize].doing {
                self.waited(index, since_ns, end_ns);
            }
        }
        let about = &mut self.trace.about;
        (about.end_ns, about.ended) = (end_ns, ended);
        self.trace
    }

    /// The memory that it holds, apart from names.
    pub fn held_bytes(&self) -> usize {
        /// A node of a tree or a table has some overhead.
        const ENTRY: usize = 48;
        let trace = &self.trace;
        let pairs = trace.beside.len() + trace.in_the_way.len() + trace.wakes.len();
        let by_cpu: usize = trace.threads.iter().map(|thread| thread.by_cpu.len()).sum();
        trace.pieces.capacity() * size_of::<Piece>()
            + trace.wake_ups.capacity() * size_of::<Wake>()
            + trace.threads.capacity() * size_of::<ThreadSeen>()
            + self.states.capacity() * size_of::<State>()
            + (pairs + by_cpu + self.index.len()) * ENTRY
    }

    // --- switches -------------------------------------------------------------

    fn switch(&mut self, cpu: usize, record: &SwitchAt) {
        let stretch = self.on_cpus[cpu].follow.next(record);
        let leaving = self.close(cpu, &stretch);
        if let Some(thread) = leaving {
            self.leaves(cpu, thread, record);
        }
        self.on_cpus[cpu].running = None;
        self.on_cpus[cpu].concerns = false;
        if let Some(tid) = self.on_cpus[cpu].follow.running() {
            let thread = self.thread(tid);
            self.comes(cpu, thread, record.at_ns);
        }
    }

    fn leaves(&mut self, cpu: usize, thread: u32, record: &SwitchAt) {
        let seen = &mut self.trace.threads[thread as usize];
        seen.preempted += u64::from(record.preempted);
        let state = &mut self.states[thread as usize];
        if state.has_ended {
            self.index.remove(&seen.tid);
            return;
        }
        match (record.preempted, seen.is_member) {
            (false, _) => drop(self.becomes(thread, Doing::Asleep, record.at_ns)),
            (true, true) => {
                state.early_wake = None;
                self.becomes(thread, Doing::Ready { since_ns: record.at_ns, cpu }, record.at_ns);
            }
            // How long strangers wait is of no interest. To wake it up means nothing, as while it runs.
            (true, false) => {}
        }
    }

    fn comes(&mut self, cpu: usize, thread: u32, at_ns: i64) {
        let state = &mut self.states[thread as usize];
        let seen = &mut self.trace.threads[thread as usize];
        seen.runs += 1;
        seen.moves += u64::from(state.last_cpu.is_some_and(|last| last != cpu));
        state.last_cpu = Some(cpu);
        let early = state.early_wake.take();
        let is_member = seen.is_member;
        let before = self.becomes(thread, Doing::Running, at_ns);
        let on_cpu = &mut self.on_cpus[cpu];
        on_cpu.running = Some(thread);
        match is_member {
            true => self.concerns_siblings(cpu),
            false => {
                let on_cpu = &self.on_cpus[cpu];
                let concerns = !on_cpu.waiting.is_empty()
                    || on_cpu.siblings.iter().any(|at| self.is_member_on(*at));
                self.on_cpus[cpu].concerns = concerns;
            }
        }
        match (before, early) {
            (Doing::Ready { since_ns, .. }, _) => {
                self.waited(thread, since_ns, at_ns);
                self.draw(thread, cpu, Did::Waited, since_ns, at_ns);
            }
            // The wake-up came before it had left its CPU.
            (Doing::Asleep, Some((woken_ns, by))) => self.woken(woken_ns, thread, by),
            _ => {}
        }
    }

    fn concerns_siblings(&mut self, cpu: usize) {
        for at in 0..self.on_cpus[cpu].siblings.len() {
            let sibling = self.on_cpus[cpu].siblings[at];
            self.on_cpus[sibling].concerns = true;
        }
    }

    fn is_member_on(&self, cpu: usize) -> bool {
        let running = self.on_cpus[cpu].running;
        running.is_some_and(|thread| self.trace.threads[thread as usize].is_member)
    }

    /// Counts a stretch that ends now. Returns the thread that ran.
    fn close(&mut self, cpu: usize, stretch: &Stretch) -> Option<u32> {
        let length_ns = stretch.end_ns - stretch.start_ns;
        let tid = match stretch.who {
            Who::Idle => return None,
            Who::Unknown => {
                self.trace.cpus[cpu].unknown_ns += length_ns;
                return None;
            }
            Who::Thread(tid) => tid,
        };
        self.trace.cpus[cpu].busy_ns += length_ns;
        let thread = self.thread(tid);
        let number = self.trace.cpus[cpu].number;
        let seen = &mut self.trace.threads[thread as usize];
        seen.ran_ns += length_ns;
        let is_member = seen.is_member;
        if is_member {
            *seen.by_cpu.entry(number).or_default() += length_ns;
        }
        self.ran_beside(cpu, thread, stretch);
        self.was_in_the_way(cpu, thread, stretch);
        if is_member || self.on_cpus[cpu].concerns {
            self.draw(thread, cpu, Did::Ran, stretch.start_ns, stretch.end_ns);
        }
        Some(thread)
    }

    /// Two stretches at the same time are counted when the first of them ends.
    fn ran_beside(&mut self, cpu: usize, thread: u32, stretch: &Stretch) {
        for at in 0..self.on_cpus[cpu].siblings.len() {
            let sibling = self.on_cpus[cpu].siblings[at];
            if let Some((pair, ns)) = self.together(thread, stretch, sibling, false) {
                pair.one_core_ns = pair.one_core_ns.saturating_add(ns);
            }
        }
        if !self.trace.threads[thread as usize].is_member {
            return;
        }
        for other in 0..self.on_cpus.len() {
            let is_of_core = other == cpu || self.on_cpus[cpu].siblings.contains(&other);
            if !is_of_core && let Some((pair, ns)) = self.together(thread, stretch, other, true) {
                pair.elsewhere_ns = pair.elsewhere_ns.saturating_add(ns);
            }
        }
    }

    /// How long `thread` ran at the same time as the thread on CPU `other`, and where to count it. `None`: not at all, or it
    /// does not concern the program: one of them must belong to it, or both.
    fn together(
        &mut self,
        thread: u32,
        stretch: &Stretch,
        other: usize,
        both: bool,
    ) -> Option<(&mut Beside, i64)> {
        let on_other = &self.on_cpus[other];
        let mate = on_other.running.filter(|mate| *mate != thread)?;
        let since_ns = on_other.follow.since_ns();
        let ns = overlap_ns(&(since_ns..stretch.end_ns), &(stretch.start_ns..stretch.end_ns));
        let is_member = |index: u32| self.trace.threads[index as usize].is_member;
        let counts = match both {
            true => is_member(thread) && is_member(mate),
            false => is_member(thread) || is_member(mate),
        };
        let key = (thread.min(mate), thread.max(mate));
        let pair = (counts && ns > 0)
            .then(|| pair(&mut self.trace.beside, key, &mut self.trace.lost_pairs));
        Some((pair.flatten()?, ns))
    }

    // --- waiting --------------------------------------------------------------

    /// Notes what a thread does from now on, and returns what it did until now. A thread waits on one CPU at most, even if
    /// the events contradict one another.
    fn becomes(&mut self, thread: u32, doing: Doing, at_ns: i64) -> Doing {
        let before = std::mem::replace(&mut self.states[thread as usize].doing, doing);
        if let Doing::Ready { cpu, .. } = before {
            self.stops_waiting(thread, cpu, at_ns);
        }
        if let Doing::Ready { cpu, .. } = doing {
            self.waits_on(thread, at_ns, cpu);
        }
        before
    }

    fn waits_on(&mut self, thread: u32, at_ns: i64, cpu: usize) {
        self.on_cpus[cpu].waiting.push((thread, at_ns));
        self.on_cpus[cpu].concerns = true;
    }

    fn stops_waiting(&mut self, thread: u32, cpu: usize, at_ns: i64) {
        let on_cpu = &mut self.on_cpus[cpu];
        let Some(at) = on_cpu.waiting.iter().position(|(waiting, _)| *waiting == thread) else {
            return;
        };
        let (_, since_ns) = on_cpu.waiting.swap_remove(at);
        // The one that has the CPU was in the way until now. Its stretch goes on.
        let present = on_cpu.running.map(|running| (running, on_cpu.follow.since_ns()));
        if let Some((running, from_ns)) = present.filter(|(running, _)| *running != thread) {
            self.in_the_way(thread, running, at_ns - from_ns.max(since_ns));
        }
    }

    fn was_in_the_way(&mut self, cpu: usize, thread: u32, stretch: &Stretch) {
        for at in 0..self.on_cpus[cpu].waiting.len() {
            let (waiting, since_ns) = self.on_cpus[cpu].waiting[at];
            if waiting != thread {
                self.in_the_way(waiting, thread, stretch.end_ns - stretch.start_ns.max(since_ns));
            }
        }
    }

    fn in_the_way(&mut self, waiting: u32, running: u32, ns: i64) {
        if ns <= 0 {
            return;
        }
        let lost = &mut self.trace.lost_pairs;
        let Some(pair) = pair(&mut self.trace.in_the_way, (waiting, running), lost) else { return };
        let InTheWay { times, ns: sum_ns, longest_ns } = pair;
        (*times, *sum_ns) = (*times + 1, *sum_ns + ns);
        *longest_ns = ns.max(*longest_ns);
    }

    fn waited(&mut self, thread: u32, since_ns: i64, at_ns: i64) {
        let seen = &mut self.trace.threads[thread as usize];
        let ns = (at_ns - since_ns).max(0);
        seen.waited_ns += ns;
        seen.longest_wait_ns = seen.longest_wait_ns.max(ns);
    }

    /// After a loss nobody knows what the threads that were on this CPU do.
    fn forget(&mut self, cpu: usize) {
        if let Some(running) = self.on_cpus[cpu].running.take() {
            self.states[running as usize].doing = Doing::Unknown;
        }
        // A thread that waits here is unknown from now on, so it leaves the list.
        for (waiting, _) in std::mem::take(&mut self.on_cpus[cpu].waiting) {
            self.states[waiting as usize].doing = Doing::Unknown;
        }
    }

    // --- wake-ups and moves ---------------------------------------------------

    fn wake(&mut self, at_ns: i64, tid: i32, by: Option<i32>) {
        // A CPU that is idle wakes nobody up but in interrupts.
        let by_index = by.filter(|by| *by > 0).map(|by| self.thread(by));
        let is_member = |index: u32| self.trace.threads[index as usize].is_member;
        let of_program = by_index.is_some_and(is_member);
        let is_known = self.index.get(&tid).is_some_and(|index| is_member(*index));
        if !of_program && !is_known {
            return;
        }
        let thread = self.thread(tid);
        let state = &mut self.states[thread as usize];
        match state.doing {
            Doing::Running => state.early_wake = Some((at_ns, by_index)),
            Doing::Ready { .. } => {}
            Doing::Unknown | Doing::Asleep => {
                let last_cpu = state.last_cpu;
                state.early_wake = None;
                self.woken(at_ns, thread, by_index);
                if is_known && let Some(cpu) = last_cpu {
                    self.becomes(thread, Doing::Ready { since_ns: at_ns, cpu }, at_ns);
                }
            }
        }
    }

    fn woken(&mut self, at_ns: i64, woken: u32, by: Option<u32>) {
        self.trace.threads[woken as usize].woken += 1;
        let key = (by.unwrap_or(BY_INTERRUPT), woken);
        if let Some(times) = pair(&mut self.trace.wakes, key, &mut self.trace.lost_pairs) {
            *times += 1;
        }
        match self.trace.wake_ups.len() < MOST_WAKES {
            true => self.trace.wake_ups.push(Wake { at_ns, by, woken }),
            false => self.trace.not_drawn += 1,
        }
    }

    fn moved(&mut self, at_ns: i64, tid: i32, to: u32) {
        let Some(to) = self.cpu(to) else { return };
        let Some(thread) = self.index.get(&tid).copied() else { return };
        if let Doing::Ready { since_ns, .. } = self.states[thread as usize].doing {
            self.becomes(thread, Doing::Ready { since_ns, cpu: to }, at_ns);
        }
    }

    // --- interrupts -----------------------------------------------------------

    fn interrupt(&mut self, cpu: usize, at_ns: i64, number: i32, is_deferred: bool, begins: bool) {
        let since = &mut self.on_cpus[cpu].interrupted[usize::from(is_deferred)];
        if begins {
            *since = Some(at_ns);
            return;
        }
        let Some(since_ns) = since.take() else { return };
        let count = |interrupts: &mut super::Interrupts| {
            interrupts.count += 1;
            interrupts.ns += (at_ns - since_ns).max(0);
        };
        count(&mut self.trace.cpus[cpu].interrupts);
        if let Some(running) = self.on_cpus[cpu].running {
            let seen = &mut self.trace.threads[running as usize];
            count(&mut seen.interrupts);
            if seen.is_member {
                let number = number.max(0) as u32 | if is_deferred { super::DEFERRED } else { 0 };
                self.draw(number, cpu, Did::Interrupted, since_ns, at_ns);
            }
        }
    }

    // --- what is kept ---------------------------------------------------------

    fn draw(&mut self, thread: u32, cpu: usize, did: Did, start_ns: i64, end_ns: i64) {
        let cpu = self.trace.cpus[cpu].number as u16;
        let mut start_ns = start_ns;
        while start_ns < end_ns {
            if self.trace.pieces.len() >= MOST_PIECES {
                self.trace.not_drawn += 1;
                self.trace.drawn_until_ns.get_or_insert(start_ns);
                return;
            }
            let length_ns = u32::try_from(end_ns - start_ns).unwrap_or(u32::MAX);
            self.trace.pieces.push(Piece { start_ns, length_ns, thread, cpu, did });
            start_ns += i64::from(length_ns);
        }
    }

    fn cpu(&mut self, number: u32) -> Option<usize> {
        if let Some(at) = self.cpus.get(&number) {
            return Some(*at);
        }
        // A CPU that came on line, or any where only threads are watched. None has such a number.
        if number > u32::from(u16::MAX) {
            return None;
        }
        let at = self.on_cpus.len();
        self.trace.cpus.push(Cpu { number, ..Cpu::default() });
        self.on_cpus.push(OnCpu::new(self.trace.about.start_ns));
        self.cpus.insert(number, at);
        Some(at)
    }

    /// The index of a thread, which is new perhaps. Threads that are too many share the number 0.
    fn thread(&mut self, tid: i32) -> u32 {
        if let Some(index) = self.index.get(&tid) {
            return *index;
        }
        let is_full = self.trace.threads.len() >= MOST_THREADS;
        let tid = if is_full { 0 } else { tid };
        if let Some(index) = self.index.get(&tid) {
            return *index;
        }
        let index = self.trace.threads.len() as u32;
        self.trace.threads.push(ThreadSeen { tid, ..ThreadSeen::default() });
        self.states.push(State {
            doing: Doing::Unknown,
            last_cpu: None,
            early_wake: None,
            has_ended: false,
        });
        self.index.insert(tid, index);
        index
    }
}

impl OnCpu {
    fn new(start_ns: i64) -> OnCpu {
        OnCpu {
            follow: Follow::new(start_ns),
            running: None,
            waiting: Vec::new(),
            concerns: false,
            interrupted: [None; 2],
            siblings: Vec::new(),
        }
    }
}

/// The counts of a pair. `None` if there are too many.
fn pair<'a, T: Default>(
    pairs: &'a mut Pairs<T>,
    key: (u32, u32),
    lost: &mut u64,
) -> Option<&'a mut T> {
    if pairs.len() >= MOST_PAIRS && !pairs.contains_key(&key) {
        *lost += 1;
        return None;
    }
    Some(pairs.entry(key).or_default())
}

#[cfg(test)]
mod tests;
