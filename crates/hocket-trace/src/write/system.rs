//! What a system did, as tracks with events on them: a lane per thread of the program, and a lane per CPU.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::events::{Drawn, Ends, Event, Exact, Track, interrupt_track};
use crate::system::{DEFERRED, Did, FORMAT, Piece, SystemTrace, interrupt_name};

impl Drawn for SystemTrace {
    fn tracks(&self) -> Vec<(Track, String)> {
        let member =
            |index: u32| (Track::Thread(index as usize), self.threads[index as usize].title());
        let cpu = |cpu: u32| (Track::Others(cpu), self.cpu_title(cpu));
        let interrupted: BTreeSet<(u32, bool)> = self
            .pieces
            .iter()
            .filter(|piece| piece.did == Did::Interrupted)
            .map(|piece| (u32::from(piece.cpu), piece.thread & DEFERRED != 0))
            .collect();
        let interrupts =
            interrupted.into_iter().map(|(cpu, is_deferred)| interrupt_track(cpu, is_deferred));
        let members = self.members().into_iter().map(member);
        members.chain(self.drawn_cpus().into_iter().map(cpu)).chain(interrupts).collect()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let about = &self.about;
        let mut facts = vec![
            ("format", FORMAT.to_owned()),
            ("hocket", about.hocket.clone()),
            ("program", about.program.clone()),
            ("length_ns", self.length_ns().to_string()),
            ("ended", about.ended.clone()),
            ("events", self.events.to_string()),
            ("lost_records", self.lost.to_string()),
            ("not_drawn", self.not_drawn.to_string()),
        ];
        facts.extend(self.limits.iter().map(|limit| ("not seen here", limit.clone())));
        facts
    }

    fn events<'a>(&'a self, each: &mut dyn FnMut(Event<'a>)) {
        let titles: Vec<String> =
            self.threads.iter().map(crate::system::ThreadSeen::title).collect();
        let mut ends = Ends::default();
        let mut slice = |track: Track, name: String, category, piece: &Piece, detail: String| {
            let last = ends.of(track);
            let start_ns = piece.start_ns.max(*last);
            let end_ns = piece.end_ns().max(start_ns);
            *last = end_ns;
            let (name, detail) = (Cow::from(name), Cow::from(detail));
            let exact = Exact::Nothing;
            Event::Slice { track, name, category, start_ns, end_ns, detail, exact }
        };
        for piece in self.in_order() {
            let cpu = u32::from(piece.cpu);
            let thread = Track::Thread(piece.thread as usize);
            match piece.did {
                Did::Ran => {
                    let index = piece.thread as usize;
                    if self.threads[index].is_member {
                        each(slice(thread, format!("CPU {cpu}"), "ran", piece, String::new()));
                    }
                    each(slice(
                        Track::Others(cpu),
                        titles[index].clone(),
                        "ran",
                        piece,
                        String::new(),
                    ));
                }
                Did::Waited => {
                    let detail = format!("until CPU {cpu} took it");
                    each(slice(thread, "ready".into(), "waited", piece, detail));
                }
                Did::Interrupted => {
                    let is_deferred = piece.thread & DEFERRED != 0;
                    let track = Track::Interrupts(cpu, is_deferred);
                    let name = interrupt_name(piece.thread);
                    each(slice(track, name, "interrupt", piece, String::new()));
                }
            }
        }
        for wake in self.wake_ups.iter().filter(|wake| self.threads[wake.woken as usize].is_member)
        {
            let by = wake.by.map_or("an interrupt", |by| &titles[by as usize]);
            each(Event::Instant {
                track: Track::Thread(wake.woken as usize),
                name: "woken".into(),
                category: "woken",
                at_ns: wake.at_ns,
                detail: format!("by {by}").into(),
            });
        }
    }

    fn origin_ns(&self) -> u64 {
        self.about.start_ns.max(0) as u64
    }

    fn has_blocks(&self) -> bool {
        false
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::system::{AboutSystem, Cpu, Happened, KernelEvent, Tally};
    use crate::write::{chrome_json_of_system, perfetto_of_system, system_text};

    /// A program with two threads; a stranger takes the CPU of the first.
    pub(in crate::write) fn system() -> SystemTrace {
        let about = AboutSystem {
            hocket: "0.1.0".into(),
            program: "host </script> (100)".into(),
            start_ns: 5_000_000_000,
            ..AboutSystem::default()
        };
        let cpus = [0, 1].map(|number| Cpu { number, beside: vec![1 - number], ..Cpu::default() });
        let mut tally = Tally::new(about, cpus.to_vec(), 100, false);
        tally.add_member(101, 100);
        tally.add_member(102, 100);
        let at = |us: i64| 5_000_000_000 + us * 1000;
        let switch = |us, cpu, out, into, preempted| KernelEvent {
            at_ns: at(us),
            cpu,
            what: Happened::Switch { in_tid: Some(into), out_tid: Some(out), preempted },
        };
        for event in [
            switch(0, 0, 0, 101, false),
            KernelEvent {
                at_ns: at(90),
                cpu: 0,
                what: Happened::Woken { tid: 102, by: Some(101) },
            },
            switch(100, 1, 0, 102, false),
            switch(150, 0, 101, 900, true),
            switch(250, 0, 900, 101, false),
            switch(300, 1, 102, 0, false),
            switch(400, 0, 101, 0, false),
        ] {
            tally.add(&event);
        }
        tally.name(101, "audio");
        tally.name(102, "disk\nio");
        tally.name(900, "browser");
        let mut trace = tally.finish(at(1000), "the time was over".into());
        trace.limits.push("moves are not recorded".into());
        trace
    }

    #[test]
    fn threads_and_cpus_have_lanes() {
        let all: serde_json::Value =
            serde_json::from_slice(&chrome_json_of_system(&system())).unwrap();
        assert_eq!(all["otherData"]["format"], FORMAT);
        let events = all["traceEvents"].as_array().unwrap();
        let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
        let lanes = events.iter().filter(|event| event["name"] == "thread_name");
        let lanes: Vec<&str> = lanes.map(|event| event["args"]["name"].as_str().unwrap()).collect();
        let expected =
            ["audio (101)", "disk\nio (102)", "CPU 0, beside CPU 1", "CPU 1, beside CPU 0"];
        assert_eq!(lanes, expected);
        assert_eq!((named("browser (900)"), named("ready"), named("woken")), (1, 1, 1));
        let woken = events.iter().find(|event| event["name"] == "woken").unwrap();
        assert_eq!(
            (&woken["args"]["detail"], &woken["s"]),
            (&"by audio (101)".into(), &"t".into())
        );
        let ready = events.iter().find(|event| event["name"] == "ready").unwrap();
        assert_eq!((&ready["ts"], &ready["dur"]), (&150.0.into(), &100.0.into()));
    }

    #[test]
    fn the_beginning_of_each_file_says_what_it_is() {
        let system = system();
        let has = |bytes: &[u8]| {
            bytes[..1024.min(bytes.len())]
                .windows(FORMAT.len())
                .any(|part| part == FORMAT.as_bytes())
        };
        assert!(has(&perfetto_of_system(&system)) && has(&chrome_json_of_system(&system)));
        assert!(system_text(&system).starts_with(FORMAT));
        let empty = SystemTrace::default();
        assert!(
            !perfetto_of_system(&empty).is_empty() && !chrome_json_of_system(&empty).is_empty()
        );
    }
}
