//! The units that count events of cores, as the kernel names them in `/sys/bus/event_source/devices`.
//!
//! A machine with cores of one kind has one, `cpu`. A hybrid one has one per kind of core (`cpu_core`, `cpu_atom`), each
//! with a list of its CPUs. A virtual machine often has none.

use crate::cpuset::CpuSet;
use crate::kernel_files::KernelFiles;
use crate::sys::Counts;

use super::events::{Code, Event};

const DEVICES: &str = "sys/bus/event_source/devices";

/// Numbers of the kernel's own kinds of event (`perf_event.h`).
const HARDWARE: u32 = 0;
const CACHE: u32 = 3;

/// A unit that counts events of cores of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pmu {
    /// Its name, such as `cpu` or `cpu_atom`.
    pub name: String,
    /// Its number in `perf_event_attr`.
    kind: u32,
    fields: Vec<Field>,
    /// The CPUs whose events it counts; `None`: all, because there is no other unit.
    cpus: Option<CpuSet>,
}

/// Where the bits of one part of an event's code belong.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    name: String,
    /// 0 to 2: `config`, `config1`, `config2`.
    word: usize,
    /// First and last bit of each stretch, from the lowest bits of the value on.
    stretches: Vec<(u32, u32)>,
}

impl Pmu {
    /// All units of cores; the error says why there is none.
    pub(super) fn all(files: &KernelFiles) -> Result<Vec<Pmu>, String> {
        let names = files.names(DEVICES);
        let of_cores = names.iter().filter(|name| is_of_cores(name, files));
        let mut all: Vec<Pmu> =
            of_cores.map(|name| Pmu::read(name, files)).collect::<Result<_, _>>()?;
        all.sort_by(|a, b| a.name.cmp(&b.name));
        if all.is_empty() {
            return Err(format!(
                "the system offers no counters of the processor: /{DEVICES} has no unit for cores (a virtual machine \
                 without them?)"
            ));
        }
        // On ARM it has a list of its CPUs, too: all of them.
        if let [only] = &mut all[..] {
            only.cpus = None;
        }
        Ok(all)
    }

    fn read(name: &str, files: &KernelFiles) -> Result<Pmu, String> {
        let folder = format!("{DEVICES}/{name}");
        let mut fields = Vec::new();
        for field in files.names(&format!("{folder}/format")) {
            let text = files.text(&format!("{folder}/format/{field}"))?;
            let (word, stretches) = places(&text)
                .ok_or_else(|| format!("/{folder}/format/{field}: `{text}` names no bits"))?;
            fields.push(Field { name: field, word, stretches });
        }
        let cpus = format!("{folder}/cpus");
        let cpus = files.exists(&cpus).then(|| files.cpu_list(&cpus)).transpose()?;
        let kind = files.number(&format!("{folder}/type"))?;
        Ok(Pmu { name: name.into(), kind, fields, cpus })
    }

    /// Whether it counts what happens on `cpu`.
    pub fn covers(&self, cpu: u32) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu))
    }

    /// Whether it counts on all CPUs of the machine.
    pub(super) fn is_only_one(&self) -> bool {
        self.cpus.is_none()
    }

    /// What the kernel needs to count `event`.
    pub(super) fn counts(&self, event: &Event) -> Result<Counts, String> {
        match event.code {
            // The upper half names the unit, where there are several (since Linux 5.13).
            Code::Hardware(config) => Ok(self.generic(HARDWARE, config)),
            Code::Cache(config) => Ok(self.generic(CACHE, config)),
            Code::Software(_) => Err(format!("{} is no event of a core", event.name)),
            Code::Raw { event: code, umask, cmask } => {
                let mut config = [0; 3];
                self.place("event", code.into(), &mut config)?;
                self.place("umask", umask.into(), &mut config)?;
                self.place("cmask", cmask.into(), &mut config)?;
                Ok(Counts { kind: self.kind, config, in_kernel: false })
            }
        }
    }

    fn generic(&self, kind: u32, config: u64) -> Counts {
        let unit = if self.cpus.is_some() { u64::from(self.kind) << 32 } else { 0 };
        Counts { kind, config: [config | unit, 0, 0], in_kernel: false }
    }

    fn place(&self, name: &str, value: u64, config: &mut [u64; 3]) -> Result<(), String> {
        if value == 0 {
            return Ok(());
        }
        let why = |what: &str| format!("the unit {} {what} {name}={value:#x}", self.name);
        let field = self.fields.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| why("has no field for"))?;
        let mut left = value;
        for (first, last) in &field.stretches {
            let width = last - first + 1;
            let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
            config[field.word] |= (left & mask) << first;
            left = left.checked_shr(width).unwrap_or(0);
        }
        if left == 0 { Ok(()) } else { Err(why("has too few bits for")) }
    }
}

/// Other units count memory controllers, power and the like. On ARM, every unit of cores has a list of its CPUs and
/// begins with the architecture.
fn is_of_cores(name: &str, files: &KernelFiles) -> bool {
    let is_x86 = matches!(name, "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower");
    is_x86 || (name.starts_with("armv") && files.exists(&format!("{DEVICES}/{name}/cpus")))
}

/// Reads a text such as `config:0-7,32-35`.
fn places(text: &str) -> Option<(usize, Vec<(u32, u32)>)> {
    let (word, bits) = text.split_once(':')?;
    let word = ["config", "config1", "config2"].iter().position(|known| *known == word)?;
    let stretch = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last < 64).then_some((first, last))
    };
    Some((word, bits.split(',').map(stretch).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A folder that looks like the kernel's.
    fn system(files: &[(&str, &str)]) -> (TempDir, KernelFiles) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(DEVICES).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        let files = KernelFiles::at(folder.path());
        (folder, files)
    }

    fn raw(event: u16, umask: u8, cmask: u8) -> Event {
        Event { name: "test", code: Code::Raw { event, umask, cmask } }
    }

    /// The formats are those of the kernel's drivers for AMD (an event of 12 bits in two stretches) and Intel.
    #[test]
    fn codes_are_put_where_the_unit_wants_them() {
        let (_folder, files) = system(&[
            ("cpu/type", "4"),
            ("cpu/format/event", "config:0-7,32-35"),
            ("cpu/format/umask", "config:8-15"),
            ("cpu/format/cmask", "config:24-31"),
            ("power/type", "9"),
        ]);
        let all = Pmu::all(&files).unwrap();
        assert!(all.len() == 1 && all[0].covers(0) && all[0].covers(99));
        let counts = |event: Event| all[0].counts(&event).unwrap();
        assert_eq!(
            counts(raw(0x1a0, 0x1e, 0)),
            Counts { kind: 4, config: [0x1_0000_1ea0, 0, 0], in_kernel: false }
        );
        assert_eq!(
            counts(raw(0xa3, 0x04, 4)),
            Counts { kind: 4, config: [0x0400_04a3, 0, 0], in_kernel: false }
        );
        let cycles = Event { name: "cycles", code: Code::Hardware(0) };
        assert_eq!(counts(cycles), Counts { kind: 0, config: [0, 0, 0], in_kernel: false });
    }

    #[test]
    fn a_hybrid_machine_has_a_unit_for_each_kind_of_core() {
        let (_folder, files) = system(&[
            ("cpu_core/type", "4"),
            ("cpu_core/cpus", "0-3"),
            ("cpu_core/format/event", "config:0-7"),
            ("cpu_atom/type", "10"),
            ("cpu_atom/cpus", "4-11"),
            ("cpu_atom/format/event", "config:0-7"),
        ]);
        let all = Pmu::all(&files).unwrap();
        let names: Vec<&str> = all.iter().map(|pmu| &*pmu.name).collect();
        assert_eq!(names, ["cpu_atom", "cpu_core"]);
        assert!(all[0].covers(4) && !all[0].covers(3) && all[1].covers(3) && !all[1].covers(4));
        let cycles = Event { name: "cycles", code: Code::Hardware(0) };
        let expected = Counts { kind: 0, config: [10 << 32, 0, 0], in_kernel: false };
        assert_eq!(all[0].counts(&cycles), Ok(expected));
    }

    #[test]
    fn what_a_unit_cannot_count_is_refused_with_its_reason() {
        let (_folder, files) = system(&[("cpu/type", "4"), ("cpu/format/event", "config:0-7")]);
        let pmu = &Pmu::all(&files).unwrap()[0];
        let wide = pmu.counts(&raw(0x1a0, 0, 0)).unwrap_err();
        assert!(wide.contains("too few bits") && wide.contains("0x1a0"), "{wide}");
        let mask = pmu.counts(&raw(0xa0, 4, 0)).unwrap_err();
        assert!(mask.contains("no field") && mask.contains("umask"), "{mask}");
    }

    #[test]
    fn a_machine_without_units_and_one_with_odd_files_say_so() {
        let (_folder, files) = system(&[("software/type", "1"), ("msr/type", "7")]);
        assert!(Pmu::all(&files).unwrap_err().contains("no counters of the processor"));
        for odd in ["", "config", "config:8-", "config:9-8", "config:0-64", "config7:0-7"] {
            let (_folder, files) = system(&[("cpu/type", "4"), ("cpu/format/event", odd)]);
            let why = Pmu::all(&files).unwrap_err();
            assert!(why.contains("cpu/format/event"), "{odd:?}: {why}");
        }
        let (_folder, files) = system(&[("cpu/type", "four")]);
        assert!(Pmu::all(&files).unwrap_err().contains("cpu/type"));
    }
}
