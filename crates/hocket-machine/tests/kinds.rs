//! The rules for kinds of core, each on machines that it must divide and on machines that it must leave whole.

use std::fmt::Write;

use hocket_machine::Topology;

/// A machine in hwloc's XML: clusters of cores, each with an L2 per `l2` cores and perhaps an L3.
#[derive(Default)]
struct Machine {
    body: String,
    kinds: String,
    next: u32,
    vendor: &'static str,
    family: u32,
}

impl Machine {
    fn new(vendor: &'static str, family: u32) -> Self {
        Self { vendor, family, ..Self::default() }
    }

    /// `cores` cores of `threads` seats under one L3 of `mib`; 0 is no L3. Returns their CPUs.
    fn cores(&mut self, cores: u32, threads: u32, per_l2: u32, mib: u64) -> Vec<u32> {
        if mib > 0 {
            let _ = write!(
                self.body,
                "<object type='L3Cache' cache_size='{}' cache_type='0'>",
                mib << 20
            );
        }
        let mut cpus = Vec::new();
        for core in 0..cores {
            if core % per_l2 == 0 {
                self.body.push_str("<object type='L2Cache' cache_size='2097152' cache_type='0'>");
            }
            self.body.push_str("<object type='Core'>");
            for _ in 0..threads {
                let _ = write!(self.body, "<object type='PU' os_index='{}'/>", self.next);
                cpus.push(self.next);
                self.next += 1;
            }
            self.body.push_str("</object>");
            if core % per_l2 == per_l2 - 1 || core == cores - 1 {
                self.body.push_str("</object>");
            }
        }
        if mib > 0 {
            self.body.push_str("</object>");
        }
        cpus
    }

    /// Ends this package and starts another.
    fn package(&mut self) {
        let open = self.package_tag();
        let _ = write!(self.body, "</object>{open}");
    }

    fn package_tag(&self) -> String {
        format!(
            "<object type='Package'><info name='CPUVendor' value='{}'/><info name='CPUFamilyNumber' value='{}'/>\
             <info name='CPUModel' value='a model'/>",
            self.vendor, self.family
        )
    }

    /// A row of hwloc's kinds; `infos` is `name=value` separated by blanks.
    fn row(&mut self, cpus: &[u32], infos: &str) {
        let mask = cpus.iter().fold(0_u64, |mask, cpu| mask | 1 << cpu);
        let _ = write!(self.kinds, "<cpukind cpuset='{mask:#x}'>");
        for info in infos.split_whitespace() {
            let (name, value) = info.split_once('=').expect("name=value");
            let _ = write!(self.kinds, "<info name='{name}' value='{value}'/>");
        }
        self.kinds.push_str("</cpukind>");
    }

    fn read(&self) -> Topology {
        let open = self.package_tag();
        let xml = format!(
            "<topology version='2.0'><object type='Machine'>{open}{}</object></object>{}</topology>",
            self.body, self.kinds
        );
        Topology::from_xml(&xml, "made").unwrap_or_else(|e| panic!("{e}\n{xml}"))
    }

    /// Kinds as `name:cpus`, slowest first.
    fn check(&self, expected: &[&str]) {
        let t = self.read();
        let got: Vec<String> =
            t.kinds.iter().map(|k| format!("{}:{}", k.name, t.cpus_of(&k.seats))).collect();
        assert_eq!(got, expected, "{:?}", t.kinds);
    }
}

/// Two fast cores with two threads, eight small ones in clusters of four, two low-power ones without L3.
fn client() -> (Machine, [Vec<u32>; 3]) {
    let mut m = Machine::new("GenuineIntel", 6);
    // One L3 over fast and small cores.
    m.body.push_str("<object type='L3Cache' cache_size='12582912' cache_type='0'>");
    let fast = m.cores(2, 2, 1, 0);
    let small = m.cores(8, 1, 4, 0);
    m.body.push_str("</object>");
    let low = m.cores(2, 1, 2, 0);
    (m, [fast, small, low])
}

const CLIENT: [&str; 3] = ["IntelLowPower:12-13", "IntelAtom:4-11", "IntelCore:0-3"];

#[test]
fn low_power_cores_are_found_under_a_common_name() {
    let (mut m, [fast, small, low]) = client();
    m.row(&[small, low].concat(), "CoreType=IntelAtom");
    m.row(&fast, "CoreType=IntelCore");
    m.check(&CLIENT);
}

#[test]
fn low_power_cores_are_found_without_names() {
    let (mut m, [fast, small, low]) = client();
    m.row(&[small, low].concat(), "FrequencyMaxMHz=3800 FrequencyBaseMHz=1300");
    m.row(&fast, "FrequencyMaxMHz=4800 FrequencyBaseMHz=1500");
    m.check(&CLIENT);
}

#[test]
fn low_power_cores_that_were_reported_keep_their_place() {
    let (mut m, [fast, small, low]) = client();
    m.row(&low, "FrequencyMaxMHz=2400 FrequencyBaseMHz=700");
    m.row(&small, "FrequencyMaxMHz=3800 FrequencyBaseMHz=1300");
    m.row(&fast[..2], "FrequencyMaxMHz=4800 FrequencyBaseMHz=1500");
    m.row(&fast[2..], "FrequencyMaxMHz=4700 FrequencyBaseMHz=1500");
    m.check(&CLIENT);
    let (mut m, [fast, small, low]) = client();
    m.row(&low, "CoreType=IntelLowPower");
    m.row(&small, "CoreType=IntelAtom");
    m.row(&fast, "CoreType=IntelCore");
    m.check(&CLIENT);
}

#[test]
fn low_power_cores_are_found_in_rows_without_any_measure() {
    let (mut m, [fast, small, low]) = client();
    m.row(&[small, low].concat(), "");
    m.row(&fast, "");
    m.check(&CLIENT);
}

#[test]
fn low_power_cores_may_have_a_small_last_level_of_their_own() {
    let mut m = Machine::new("GenuineIntel", 6);
    m.body.push_str("<object type='L3Cache' cache_size='12582912' cache_type='0'>");
    let fast = m.cores(2, 1, 1, 0);
    let small = m.cores(4, 1, 4, 0);
    m.body.push_str("</object>");
    let low = m.cores(2, 1, 2, 2);
    m.row(&[small, low].concat(), "CoreType=IntelAtom");
    m.row(&fast, "CoreType=IntelCore");
    m.check(&["IntelLowPower:6-7", "IntelAtom:2-5", "IntelCore:0-1"]);
}

#[test]
fn small_cores_that_all_lack_the_last_level_are_one_kind() {
    let mut m = Machine::new("GenuineIntel", 6);
    let fast = m.cores(4, 1, 1, 12);
    let small = m.cores(4, 1, 4, 0);
    m.row(&small, "CoreType=IntelAtom");
    m.row(&fast, "CoreType=IntelCore");
    m.check(&["IntelAtom:4-7", "IntelCore:0-3"]);
}

#[test]
fn without_rows_a_hybrid_is_one_kind() {
    client().0.check(&["core:0-13"]);
}

#[test]
fn favoured_cores_are_no_kind() {
    let mut m = Machine::new("GenuineIntel", 6);
    let all = m.cores(8, 2, 1, 16);
    m.row(&all[..12], "FrequencyMaxMHz=5500 FrequencyBaseMHz=3600");
    m.row(&all[12..], "FrequencyMaxMHz=5800 FrequencyBaseMHz=3600");
    m.check(&["core:0-15"]);
    let mut m = Machine::new("GenuineIntel", 6);
    let all = m.cores(8, 2, 1, 16);
    m.row(&all[..12], "CoreType=IntelCore FrequencyMaxMHz=5500");
    m.row(&all[12..], "CoreType=IntelCore FrequencyMaxMHz=6900");
    m.check(&["IntelCore:0-15"]);
}

#[test]
fn preferred_cores_in_many_small_steps_are_no_kinds() {
    let mut m = Machine::new("AuthenticAMD", 25);
    let all = m.cores(8, 1, 1, 32);
    for (i, &cpu) in all.iter().enumerate() {
        m.row(&[cpu], &format!("FrequencyMaxMHz={}", 5300 + 50 * i));
    }
    m.check(&["core:0-7"]);
}

#[test]
fn dense_cores_that_clock_lower_are_a_kind() {
    let mut m = Machine::new("AuthenticAMD", 25);
    let fast = m.cores(2, 2, 1, 16);
    let dense = m.cores(4, 2, 1, 8);
    m.row(&fast, "FrequencyMaxMHz=4900 FrequencyBaseMHz=2000");
    m.row(&dense, "FrequencyMaxMHz=3500 FrequencyBaseMHz=2000");
    m.check(&["3500 MHz:4-11", "4900 MHz:0-3"]);
}

#[test]
fn dense_cores_are_found_by_their_caches_alone() {
    let mut m = Machine::new("AuthenticAMD", 26);
    m.cores(4, 2, 1, 16);
    m.cores(6, 2, 1, 8);
    m.check(&["AMDEfficiency:8-19", "AMDPerformance:0-7"]);
}

#[test]
fn caches_that_prove_nothing_divide_nothing() {
    let whole = |vendor, family, l3s: &[(u32, u64)]| {
        let mut m = Machine::new(vendor, family);
        l3s.iter().for_each(|&(cores, mib)| drop(m.cores(cores, 1, 1, mib)));
        let seats = m.next - 1;
        m.check(&[&format!("core:0-{seats}")]);
    };
    // A stacked cache on one of two equal chiplets.
    whole("AuthenticAMD", 25, &[(8, 96), (8, 32)]);
    // The same with cores that are switched off.
    whole("AuthenticAMD", 25, &[(6, 96), (8, 32)]);
    // Equal caches, cores that are switched off.
    whole("AuthenticAMD", 25, &[(8, 32), (6, 32)]);
    // Fewer cores on the smaller cache.
    whole("AuthenticAMD", 26, &[(8, 16), (4, 8)]);
    // A third cache that fits no picture.
    whole("AuthenticAMD", 26, &[(4, 16), (8, 8), (2, 8)]);
    // A generation without dense cores, another maker.
    whole("AuthenticAMD", 23, &[(4, 16), (8, 8)]);
    whole("GenuineIntel", 6, &[(4, 16), (8, 8)]);
}

#[test]
fn capacity_steps_at_one_clock_are_no_kinds() {
    let mut m = Machine::new("", 0);
    let small = m.cores(4, 1, 1, 4);
    let big = m.cores(4, 1, 1, 8);
    m.row(&small[..2], "LinuxCapacity=718 FrequencyMaxMHz=2808");
    m.row(&small[2..], "LinuxCapacity=731 FrequencyMaxMHz=2808");
    m.row(&big[..2], "LinuxCapacity=997 FrequencyMaxMHz=3900");
    m.row(&big[2..], "LinuxCapacity=1024 FrequencyMaxMHz=3900");
    m.check(&["2808 MHz:0-3", "3900 MHz:4-7"]);
}

#[test]
fn capacity_alone_tells_types_apart() {
    let mut m = Machine::new("", 0);
    let [little, middle, big] = [m.cores(4, 1, 1, 0), m.cores(3, 1, 1, 0), m.cores(1, 1, 1, 0)];
    m.row(&big, "LinuxCapacity=1024");
    m.row(&little, "LinuxCapacity=250");
    m.row(&middle, "LinuxCapacity=760");
    m.check(&["capacity 250:0-3", "capacity 760:4-6", "capacity 1024:7"]);
}

#[test]
fn part_numbers_decide_and_have_names() {
    let mut m = Machine::new("", 0);
    let [a, b, c] = [m.cores(2, 1, 1, 0), m.cores(2, 1, 1, 0), m.cores(2, 1, 1, 0)];
    m.row(&a, "CPUImplementer=0x41 CPUPart=0xd87 LinuxCapacity=718");
    m.row(&b, "CPUImplementer=0x41 CPUPart=0xd85 LinuxCapacity=1024");
    m.row(&c, "CPUImplementer=0x41 CPUPart=0xd87 LinuxCapacity=500");
    m.check(&["Cortex-A725:0-1,4-5", "Cortex-X925:2-3"]);
}

#[test]
fn sockets_of_one_model_are_one_kind() {
    let mut m = Machine::new("GenuineIntel", 6);
    let first = m.cores(4, 2, 1, 20);
    m.package();
    let second = m.cores(4, 2, 1, 20);
    m.row(&first, "FrequencyMaxMHz=2600");
    m.row(&second, "FrequencyMaxMHz=3900");
    m.check(&["core:0-15"]);
}

#[test]
fn cpus_without_a_row_follow_what_is_known() {
    let mut m = Machine::new("GenuineIntel", 6);
    let all = m.cores(4, 2, 1, 8);
    m.row(&[all[0], all[4], all[5]], "FrequencyMaxMHz=2927");
    m.check(&["core:0-7"]);
    // Two kinds: a seat follows its core; a core of which nothing is known is a kind of its own.
    let mut m = Machine::new("", 0);
    m.cores(3, 2, 1, 8);
    m.row(&[0], "LinuxCapacity=300");
    m.row(&[2], "LinuxCapacity=1024");
    m.check(&["unclassified:4-5", "capacity 300:0-1", "capacity 1024:2-3"]);
    assert!(m.read().notes.iter().any(|n| n.contains("4-5")));
}

#[test]
fn a_cpu_in_two_rows_belongs_to_the_first() {
    let mut m = Machine::new("", 0);
    m.cores(4, 1, 1, 8);
    m.row(&[0, 1], "LinuxCapacity=300");
    m.row(&[1, 2, 3], "LinuxCapacity=1024");
    m.check(&["capacity 300:0-1", "capacity 1024:2-3"]);
    assert!(m.read().notes.iter().any(|n| n.contains("more than one kind")));
}
