//! The numbers of the timeline for its script, which is that of the page of a run's trace (`trace_page/script.js`).
//!
//! There is one list of names for all lanes, and `fills` has the colour of each. The whole time stands in for a block.

use std::collections::BTreeMap;

use hocket_trace::system::{Did, Piece, SystemTrace, interrupt_name};

use crate::page_parts::palette::{STRIPS, turn};
use crate::trace_page::{list, quoted};

/// Lanes of threads; those that ran longest.
pub(super) const MOST_THREADS: usize = 100;
/// Lanes of CPUs, and as many of their interrupts.
pub(super) const MOST_CPUS: usize = 256;
/// The strip of those that are not the program's.
const OTHER: usize = STRIPS.len() - 1;
/// Stands for the colour of what is late.
const READY: &str = "ready";

/// The object. It is fit to stand in a `script` element: it has no `<`.
pub(super) fn json(system: &SystemTrace) -> String {
    let mut lanes = Lanes::of(system);
    for piece in system.in_order() {
        lanes.add(piece);
    }
    lanes.json()
}

/// What is drawn, while it is gathered.
struct Lanes<'a> {
    system: &'a SystemTrace,
    members: Vec<u32>,
    cpus: Vec<u32>,
    /// Who woke a thread when.
    wakers: BTreeMap<(u32, i64), String>,
    /// Flat lists as `trace_page/data.rs` has them, of threads, CPUs and interrupts of CPUs.
    spans: Vec<String>,
    names: Names,
}

impl Lanes<'_> {
    fn of(system: &SystemTrace) -> Lanes<'_> {
        let members: Vec<u32> = system.members().into_iter().take(MOST_THREADS).collect();
        let cpus: Vec<u32> = system.drawn_cpus().into_iter().take(MOST_CPUS).collect();
        let waker = |by: Option<u32>| system.waker(by.unwrap_or(u32::MAX));
        let wakers =
            system.wake_ups.iter().map(|wake| ((wake.woken, wake.at_ns), waker(wake.by))).collect();
        let spans = vec![String::new(); members.len() + 2 * cpus.len()];
        Lanes { system, members, cpus, wakers, spans, names: Names::default() }
    }

    fn add(&mut self, piece: &Piece) {
        let member = self.members.iter().position(|member| *member == piece.thread);
        let cpu = self.cpus.iter().position(|cpu| *cpu == u32::from(piece.cpu));
        let of_cpu = cpu.map(|cpu| self.members.len() + cpu);
        match piece.did {
            Did::Interrupted => {
                let name = self.names.at(interrupt_name(piece.thread), STRIPS[OTHER]);
                self.push(of_cpu.map(|lane| lane + self.cpus.len()), piece, name);
            }
            Did::Waited => {
                let by = self.wakers.get(&(piece.thread, piece.start_ns));
                let name = by.map_or("ready".into(), |by| format!("ready, woken by {by}"));
                let name = self.names.at(name, READY);
                self.push(member, piece, name);
            }
            Did::Ran => {
                let fill = cpu.map_or(OTHER, turn);
                let name = self.names.at(format!("CPU {}", piece.cpu), STRIPS[fill]);
                self.push(member, piece, name);
                let fill = member.map_or(OTHER, turn);
                let title = self.system.threads[piece.thread as usize].title();
                let name = self.names.at(title, STRIPS[fill]);
                self.push(of_cpu, piece, name);
            }
        }
    }

    fn push(&mut self, lane: Option<usize>, piece: &Piece, name: usize) {
        let Some(lane) = lane else { return };
        let start_ns = piece.start_ns.saturating_sub(self.system.about.start_ns);
        let comma = if self.spans[lane].is_empty() { "" } else { "," };
        self.spans[lane] += &format!("{comma}{start_ns},{},{name},0", piece.length_ns);
    }

    fn json(&self) -> String {
        let title = |member: &u32| self.system.threads[*member as usize].title();
        let threads = self.members.iter().map(|member| pair(&title(member), "thread"));
        let cpus = self.cpus.iter().map(|cpu| pair(&self.system.cpu_title(*cpu), "who ran"));
        let begun = self.members.len() + self.cpus.len();
        let interrupts = self.cpus.iter().zip(&self.spans[begun..]);
        let interrupts = interrupts
            .filter(|(_, spans)| !spans.is_empty())
            .map(|(cpu, _)| pair(&format!("CPU {cpu}"), "interrupts"));
        let spans = self.spans.iter().enumerate();
        let spans = spans.filter(|(at, spans)| *at < begun || !spans.is_empty());
        let length_ns = self.system.length_ns().max(1).to_string();
        let whole = ["0", "0", "0", &length_ns, &length_ns, "0", "0"].map(String::from);
        let parts = [
            ("strips", list(STRIPS.iter().map(|colour| quoted(colour)))),
            ("names", list([list(self.names.all.iter().map(|name| quoted(name)))].into_iter())),
            ("fills", list(self.names.fills.iter().map(|fill| quoted(fill)))),
            ("threads", list(threads.chain(cpus).chain(interrupts))),
            ("sums", self.members.len().to_string()),
            ("blocks", list([list(whole.into_iter())].into_iter())),
            ("why", "[\"\"]".into()),
            ("ways", "[[]]".into()),
            ("spans", list(spans.map(|(_, spans)| format!("[{spans}]")))),
            ("others", "[]".into()),
            ("says", quoted(SAYS)),
            ("legend", legend()),
        ];
        let parts = parts.map(|(name, json)| format!("\"{name}\":{json}"));
        format!("{{{}}}", parts.join(","))
    }
}

/// What is said while nothing is chosen.
const SAYS: &str = "A thread's lane has the CPUs where it ran. A CPU's lane has the threads that ran there. Click on a span to read its times.";

fn legend() -> String {
    let entries = [
        pair("ready, and did not run", READY),
        pair("threads of other programs, and interrupts", STRIPS[OTHER]),
    ];
    list(entries.into_iter())
}

fn pair(a: &str, b: &str) -> String {
    list([quoted(a), quoted(b)].into_iter())
}

/// All names, each once, with its colour.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    fills: Vec<&'static str>,
    places: BTreeMap<String, usize>,
}

impl Names {
    fn at(&mut self, name: String, fill: &'static str) -> usize {
        if let Some(place) = self.places.get(&name) {
            return *place;
        }
        self.all.push(name.clone());
        self.fills.push(fill);
        self.places.insert(name, self.all.len() - 1);
        self.all.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use hocket_trace::system::{AboutSystem, Cpu, ThreadSeen, Wake};

    use super::*;

    fn system() -> SystemTrace {
        let thread = |tid, name: &str, is_member| ThreadSeen {
            tid,
            name: name.into(),
            is_member,
            ..ThreadSeen::default()
        };
        let piece =
            |start_ns, length_ns, thread, did| Piece { start_ns, length_ns, thread, cpu: 4, did };
        SystemTrace {
            about: AboutSystem { start_ns: 1000, end_ns: 5000, ..AboutSystem::default() },
            cpus: vec![Cpu { number: 4, ..Cpu::default() }],
            threads: vec![thread(7, "</script>", true), thread(8, "load", false)],
            // In order of their ends.
            pieces: vec![
                piece(1500, 100, 1, Did::Ran),
                piece(1400, 200, 0, Did::Waited),
                piece(1700, 10, 34, Did::Interrupted),
                piece(1600, 900, 0, Did::Ran),
            ],
            wake_ups: vec![Wake { at_ns: 1400, by: Some(1), woken: 0 }],
            ..SystemTrace::default()
        }
    }

    #[test]
    fn lanes_have_what_ran_where_and_who_woke_it() {
        let json: serde_json::Value = serde_json::from_str(&json(&system())).unwrap();
        let lanes = [["</script> (7)", "thread"], ["CPU 4", "who ran"], ["CPU 4", "interrupts"]];
        assert_eq!(json["threads"], serde_json::json!(lanes));
        let named = |lane: usize, span: usize| {
            let name = json["spans"][lane][4 * span + 2].as_u64().unwrap() as usize;
            (json["names"][0][name].as_str().unwrap(), json["fills"][name].as_str().unwrap())
        };
        assert_eq!(named(0, 0), ("ready, woken by load (8)", "ready"));
        assert_eq!(named(0, 1), ("CPU 4", STRIPS[0]));
        assert_eq!(named(1, 0), ("load (8)", STRIPS[OTHER]));
        assert_eq!(named(1, 1), ("</script> (7)", STRIPS[0]));
        assert_eq!(named(2, 0), ("irq 34", STRIPS[OTHER]));
        assert_eq!(json["spans"][0], serde_json::json!([400, 200, 0, 0, 600, 900, 1, 0]));
        assert_eq!((&json["sums"], &json["blocks"][0][3]), (&1.into(), &4000.into()));
    }

    /// Who runs must not look like one who is ready and does not run.
    #[test]
    fn no_cpu_and_no_thread_has_the_colour_of_waiting() {
        let mut system = system();
        system.cpus = (0..20).map(|number| Cpu { number, ..Cpu::default() }).collect();
        system.pieces = (0..20).map(|cpu| Piece { cpu, ..system.pieces[3] }).collect();
        let json: serde_json::Value = serde_json::from_str(&json(&system)).unwrap();
        let fills = json["fills"].as_array().unwrap();
        assert!(fills.len() > 20 && fills.iter().all(|fill| *fill != "#ee8866"), "{fills:?}");
    }

    #[test]
    fn names_do_not_end_the_script() {
        assert!(!json(&system()).contains('<'));
    }
}
