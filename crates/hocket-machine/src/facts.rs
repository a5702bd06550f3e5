//! Facts on the machine that make a record credible: kernel, processor, governors of the clocks, load, isolation.
//!
//! This module reads the system's own files. It measures nothing and changes nothing. A fact that cannot be read says
//! why. Facts that change during a measurement (load, clocks) belong in the record twice, before and after.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cpuset::CpuSet;
use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, field};
use crate::sys;

const CPU: &str = "sys/devices/system/cpu";

/// The facts of one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineFacts {
    /// The kernel's release, such as `6.12.1`.
    pub kernel_release: Fact<String>,
    /// The kernel's version text: build number, flags, date.
    pub kernel_version: Fact<String>,
    /// The architecture, such as `x86_64`.
    pub architecture: Fact<String>,
    /// The kernel's preemption: `none`, `voluntary`, `full`, `lazy`, `rt`.
    pub preemption: Fact<String>,
    /// The distribution.
    pub distribution: Fact<String>,
    /// The processor's model.
    pub cpu_model: Fact<String>,
    /// Its vendor.
    pub cpu_vendor: Fact<String>,
    /// Its microcode.
    pub microcode: Fact<String>,
    /// The hypervisor, or `none` if the processor reports none.
    pub hypervisor: Fact<String>,
    /// The state of SMT: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Fact<String>,
    /// The governor and clock limits of each CPU.
    pub clocks: BTreeMap<u32, CpuClock>,
    /// Whether boost clocks are allowed.
    pub boost: Fact<bool>,
    /// The kernel's clock source.
    pub clocksource: Fact<String>,
    /// The load averages over 1, 5 and 15 minutes.
    pub load: Fact<[f64; 3]>,
    /// The control group of this process.
    pub cgroup: Fact<String>,
    /// The CPUs that the control group allows.
    pub cgroup_cpus: Fact<String>,
    /// The kernel's command line.
    pub command_line: Fact<String>,
    /// CPUs that the scheduler leaves alone (isolcpus, isolated partitions).
    pub isolated_cpus: Fact<CpuSet>,
    /// CPUs without a scheduler tick (nohz_full).
    pub tickless_cpus: Fact<CpuSet>,
    /// How the kernel limits real-time threads: microseconds of each period.
    pub real_time_throttle: Fact<String>,
    /// The memory of the machine, in bytes.
    pub memory_bytes: Fact<u64>,
    /// Swap space in use, in bytes.
    pub swap_used_bytes: Fact<u64>,
    /// How long the machine has been running, in seconds.
    pub uptime_s: Fact<f64>,
}

/// The governor and the clock limits of one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CpuClock {
    /// The governor, such as `performance`.
    pub governor: Fact<String>,
    /// The lowest clock in kHz.
    pub min_khz: Fact<u64>,
    /// The highest clock in kHz.
    pub max_khz: Fact<u64>,
    /// The clock at this moment in kHz, as the kernel believes.
    pub now_khz: Fact<u64>,
}

/// Reads the facts. Thread: control. Cost: a few files, and four per CPU; milliseconds on a large machine.
pub fn read() -> MachineFacts {
    Facts { files: KernelFiles::live() }.read()
}

struct Facts {
    files: KernelFiles,
}

impl Facts {
    fn read(&self) -> MachineFacts {
        let names = Fact::from(sys::kernel_names().map_err(|e| crate::kernel_files::plain(&e)));
        let cpuinfo = self.files.fact("proc/cpuinfo");
        let version = names.clone().map(|n| n.1);
        MachineFacts {
            kernel_release: names.clone().map(|n| n.0),
            preemption: self.preemption(&version),
            kernel_version: version,
            architecture: names.map(|n| n.2),
            distribution: self.distribution(),
            cpu_model: cpu_field(&cpuinfo, &["model name", "cpu", "machine", "Hardware"]),
            cpu_vendor: cpu_field(&cpuinfo, &["vendor_id", "vendor", "CPU implementer"]),
            microcode: self.microcode(&cpuinfo),
            hypervisor: self.hypervisor(&cpuinfo),
            smt: self.files.fact(&format!("{CPU}/smt/control")),
            clocks: self.clocks(),
            boost: self.boost(),
            clocksource: self
                .files
                .fact("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            load: self.load(),
            cgroup: self.files.fact("proc/self/cgroup").map(|text| text.replace('\n', " ")),
            cgroup_cpus: self.cgroup_cpus(),
            command_line: self.files.fact("proc/cmdline"),
            isolated_cpus: self.files.cpu_list(&format!("{CPU}/isolated")).into(),
            tickless_cpus: self.tickless(),
            real_time_throttle: self.throttle(),
            memory_bytes: self.meminfo("MemTotal"),
            swap_used_bytes: self.swap_used(),
            uptime_s: self.uptime(),
        }
    }

    /// `/sys/kernel/debug/sched/preempt` needs root; the version text holds the built-in choice.
    fn preemption(&self, version: &Fact<String>) -> Fact<String> {
        if let Ok(text) = self.files.text("sys/kernel/debug/sched/preempt") {
            let chosen = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
            if let Some((mode, _)) = chosen {
                return Fact::Value(mode.to_string());
            }
        }
        version.clone().and_then(|text| {
            let has = |word: &str| text.split_whitespace().any(|w| w == word);
            match () {
                () if has("PREEMPT_RT") => Fact::Value("rt".into()),
                () if has("PREEMPT_DYNAMIC") => self.dynamic_preemption(),
                () if has("PREEMPT") => Fact::Value("full".into()),
                () => Fact::Value("none or voluntary".into()),
            }
        })
    }

    fn dynamic_preemption(&self) -> Fact<String> {
        let line = self.files.text("proc/cmdline").unwrap_or_default();
        match line.split_whitespace().find_map(|word| word.strip_prefix("preempt=")) {
            Some(mode) => Fact::Value(mode.to_string()),
            None => Fact::Unknown(
                "chosen at boot (PREEMPT_DYNAMIC); /sys/kernel/debug/sched/preempt cannot be read"
                    .into(),
            ),
        }
    }

    fn distribution(&self) -> Fact<String> {
        let text = self.files.fact("etc/os-release");
        text.and_then(|text| {
            let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
            let name = name.map(|name| name.trim_matches(['"', '\'']).to_string());
            name.map_or(Fact::Unknown("/etc/os-release has no PRETTY_NAME".into()), Fact::Value)
        })
    }

    fn microcode(&self, cpuinfo: &Fact<String>) -> Fact<String> {
        match self.files.fact(&format!("{CPU}/cpu0/microcode/version")) {
            Fact::Value(version) => Fact::Value(version),
            Fact::Unknown(_) => cpu_field(cpuinfo, &["microcode"]),
        }
    }

    fn hypervisor(&self, cpuinfo: &Fact<String>) -> Fact<String> {
        if let Ok(kind) = self.files.text("sys/hypervisor/type") {
            return Fact::Value(kind);
        }
        let product = self.files.text("sys/class/dmi/id/product_name").ok();
        let vendor = self.files.text("sys/class/dmi/id/sys_vendor").ok();
        let board = [vendor, product].into_iter().flatten().collect::<Vec<_>>().join(" ");
        cpuinfo.clone().and_then(|text| match field(&text, "flags") {
            Some(flags) if flags.split_whitespace().any(|f| f == "hypervisor") => {
                let names = [crate::arch::hypervisor().unwrap_or_default(), board];
                let names = names.join(" ").trim().to_string();
                let nameless = "one that does not say its name".to_string();
                Fact::Value(if names.is_empty() { nameless } else { names })
            }
            Some(_) => Fact::Value("none".into()),
            None => Fact::Unknown("this processor does not say whether it is a virtual one".into()),
        })
    }

    fn clocks(&self) -> BTreeMap<u32, CpuClock> {
        let clock = |cpu: u32| {
            let path = |name: &str| format!("{CPU}/cpu{cpu}/cpufreq/{name}");
            let number = |name: &str| Fact::from(self.files.number(&path(name)));
            CpuClock {
                governor: self.files.fact(&path("scaling_governor")),
                min_khz: number("cpuinfo_min_freq"),
                max_khz: number("cpuinfo_max_freq"),
                now_khz: number("scaling_cur_freq"),
            }
        };
        self.files.numbered(CPU, "cpu").into_iter().map(|cpu| (cpu, clock(cpu))).collect()
    }

    fn boost(&self) -> Fact<bool> {
        let intel =
            self.files.number::<u8>(&format!("{CPU}/intel_pstate/no_turbo")).map(|no| no == 0);
        intel
            .or_else(|_| self.files.number::<u8>(&format!("{CPU}/cpufreq/boost")).map(|b| b == 1))
            .into()
    }

    fn load(&self) -> Fact<[f64; 3]> {
        self.files.fact("proc/loadavg").and_then(|text| {
            let numbers: Vec<f64> =
                text.split_whitespace().take(3).filter_map(|n| n.parse().ok()).collect();
            <[f64; 3]>::try_from(numbers)
                .map_or(Fact::Unknown("/proc/loadavg has no three numbers".into()), Fact::Value)
        })
    }

    fn cgroup_cpus(&self) -> Fact<String> {
        let Some((mount, group)) = crate::grants::cgroup_v2(&self.files) else {
            return Fact::Unknown("no unified control groups (cgroup v2) are mounted".into());
        };
        let folder = format!("{}{}", mount.trim_start_matches('/'), group);
        self.files.fact(&format!("{}/cpuset.cpus.effective", folder.trim_end_matches('/')))
    }

    /// The file says ` (null)` if the kernel supports it and nothing was requested.
    fn tickless(&self) -> Fact<CpuSet> {
        let text = self.files.text(&format!("{CPU}/nohz_full"));
        let parse =
            |text: String| if text.contains("null") { Ok(CpuSet::new()) } else { text.parse() };
        text.and_then(parse).into()
    }

    fn throttle(&self) -> Fact<String> {
        let runtime = self.files.number::<i64>("proc/sys/kernel/sched_rt_runtime_us");
        let period = self.files.number::<i64>("proc/sys/kernel/sched_rt_period_us");
        let both = runtime.and_then(|runtime| Ok((runtime, period?)));
        Fact::from(both).map(|(runtime, period)| match runtime {
            -1 => "unlimited".into(),
            _ => format!("{runtime} of {period} µs"),
        })
    }

    fn meminfo(&self, key: &str) -> Fact<u64> {
        self.files.fact("proc/meminfo").and_then(|text| {
            let kib = field(&text, key)
                .and_then(|v| v.strip_suffix("kB"))
                .and_then(|v| v.trim().parse::<u64>().ok());
            kib.map_or(Fact::Unknown(format!("/proc/meminfo has no {key}")), |kib| {
                Fact::Value(kib.saturating_mul(1024))
            })
        })
    }

    fn swap_used(&self) -> Fact<u64> {
        let free = self.meminfo("SwapFree");
        self.meminfo("SwapTotal").and_then(|total| free.map(|free| total.saturating_sub(free)))
    }

    fn uptime(&self) -> Fact<f64> {
        self.files.fact("proc/uptime").and_then(|text| {
            let seconds = text.split_whitespace().next().and_then(|n| n.parse().ok());
            seconds.map_or(Fact::Unknown("/proc/uptime has no number".into()), Fact::Value)
        })
    }
}

/// The first of some names that `/proc/cpuinfo` has; architectures name things differently.
fn cpu_field(cpuinfo: &Fact<String>, names: &[&str]) -> Fact<String> {
    cpuinfo.clone().and_then(|text| {
        let value = names.iter().find_map(|name| field(&text, name)).filter(|v| !v.is_empty());
        let missing = || Fact::Unknown(format!("/proc/cpuinfo has no line `{}`", names[0]));
        value.map_or_else(missing, |v| Fact::Value(v.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_files_is_unknown_and_never_zero() {
        let empty = tempfile::tempdir().expect("a folder");
        let facts = Facts { files: KernelFiles::at(empty.path()) }.read();
        assert!(
            facts.cpu_model.why().is_some()
                && facts.load.why().is_some()
                && facts.memory_bytes.why().is_some()
        );
        assert!(facts.isolated_cpus.why().is_some() && facts.clocks.is_empty());
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let facts = read();
        assert!(facts.kernel_release.value().is_some_and(|r| !r.is_empty()));
        assert!(facts.memory_bytes.value().is_some_and(|&bytes| bytes > 0));
        assert!(!facts.clocks.is_empty());
    }
}
