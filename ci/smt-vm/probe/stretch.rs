//! Who was on which CPU, from when to when.

use std::fmt;
use std::str::FromStr;

use hocket_machine::topology::Topology;

/// An uninterrupted stretch of one thread on one CPU, on the system's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Where.
    pub cpu: u32,
    /// When it began.
    pub from_ns: u64,
    /// When it ended.
    pub to_ns: u64,
}

impl Stretch {
    fn overlap_ns(&self, other: &Stretch) -> u64 {
        self.to_ns.min(other.to_ns).saturating_sub(self.from_ns.max(other.from_ns))
    }

    fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.cpu, self.from_ns, self.to_ns)
    }
}

impl FromStr for Stretch {
    type Err = String;

    fn from_str(line: &str) -> Result<Stretch, String> {
        let wrong = || format!("'{line}' is not a CPU with two times");
        let mut words = line.split(' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let mut read = || Some((number()?, number()?, number()?));
        let (cpu, from_ns, to_ns) = read().filter(|(_, from, to)| from <= to).ok_or_else(wrong)?;
        Ok(Stretch { cpu: u32::try_from(cpu).map_err(|_| wrong())?, from_ns, to_ns })
    }
}

/// The CPUs that share a core with each CPU.
#[derive(Debug, Clone)]
pub struct Siblings(Vec<Vec<u32>>);

impl Siblings {
    /// As the topology has it.
    pub fn of(topology: &Topology) -> Siblings {
        let cpus = |core: &hocket_machine::topology::Core| {
            core.seats.iter().map(|seat| topology.seats[*seat].cpu).collect()
        };
        Siblings(topology.cores.iter().map(cpus).collect())
    }

    /// The other CPUs of a CPU's core.
    pub fn beside(&self, cpu: u32) -> impl Iterator<Item = u32> {
        let core = self.0.iter().filter(move |core| core.contains(&cpu));
        core.flatten().copied().filter(move |other| *other != cpu)
    }
}

/// For how much of the time that units ran somebody of `others` ran beside them, from 0 to 1;
/// `None`: no unit ran on a CPU with a sibling.
pub fn share_beside(units: &[Stretch], others: &[Stretch], siblings: &Siblings) -> Option<f64> {
    let (mut possible_ns, mut found_ns) = (0, 0);
    for unit in units {
        for cpu in siblings.beside(unit.cpu) {
            possible_ns += unit.length_ns();
            let there = others.iter().filter(|other| other.cpu == cpu);
            found_ns += there.map(|other| other.overlap_ns(unit)).sum::<u64>();
        }
    }
    (possible_ns > 0).then(|| found_ns as f64 / possible_ns as f64)
}
