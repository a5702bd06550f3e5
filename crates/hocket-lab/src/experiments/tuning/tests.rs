use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::experiments::beside::cpu_taken_away;

/// A made-up `/sys` and `/proc` of a machine with these CPUs, every setting of which can be changed.
struct Tree {
    folder: tempfile::TempDir,
    cpus: Vec<u32>,
}

impl Tree {
    fn of(cpus: &[u32]) -> Tree {
        let tree = Tree { folder: tempfile::tempdir().unwrap(), cpus: cpus.to_vec() };
        for cpu in cpus {
            tree.put(&tree.governor(*cpu), "powersave\n");
        }
        tree.put(&tree.interrupt(), "0-63\n");
        tree.put(&tree.preemption(), "none (voluntary) full\n");
        tree
    }

    fn put(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn governor(&self, cpu: u32) -> PathBuf {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        self.folder.path().join(path)
    }

    fn interrupt(&self) -> PathBuf {
        self.folder.path().join("proc/irq/24/smp_affinity_list")
    }

    fn preemption(&self) -> PathBuf {
        self.folder.path().join("sys/kernel/debug/sched/preempt")
    }

    fn machine(&self) -> Machine {
        let (cpu, cpus) = (self.cpus[0], self.cpus.clone());
        Machine { root: Root::at(self.folder.path()), cpu, cpus }
    }

    fn says(&self) -> [String; 3] {
        [self.governor(self.cpus[0]), self.interrupt(), self.preemption()]
            .map(|path| fs::read_to_string(path).unwrap().trim().to_string())
    }

    fn assert_is_as_before(&self) {
        let [governor, interrupt, preemption] = self.says();
        assert_eq!((governor.as_str(), interrupt.as_str()), ("powersave", "0-63"));
        assert!(preemption.contains("voluntary") && !preemption.contains("(full)"), "{preemption}");
        assert!(!self.folder.path().join("run/hocket/settings-restore").exists());
    }
}

fn missing<'a>(design: &'a Design, name: &str) -> &'a str {
    design.missing.iter().find(|(missing, _)| missing == name).map_or("", |(_, why)| why.as_str())
}

#[test]
fn every_variant_of_this_machine_can_be_measured() {
    let test = "every_variant_of_this_machine_can_be_measured";
    let host = Host::discover().unwrap();
    let machine = machine(Root::live(), &host);
    let design = designed(&host, Size::Quick, &machine, false).unwrap();
    assert_eq!(design.fault(), None);
    // Needs no right; slices need a kernel, and the others rights.
    assert!(design.index("ordinary timer-slack busy").is_some(), "{:?}", design.missing);
    let mut turns = Turns::prepare(&host, Size::Quick, &design, machine).unwrap();
    assert!(turns.keeper.is_none(), "nothing of the whole machine is touched");
    turns.setups.iter_mut().for_each(|setup| setup.wakes = 3);
    for (index, variant) in design.variants.iter().enumerate() {
        match (turns.measure(index), cpu_taken_away(&variant.cpus)) {
            (Ok(samples), _) => {
                assert_eq!(samples.len(), 1, "no p99 of three");
                assert_eq!((&samples[0].check, samples[0].ops), (&Check::Passed, 3));
            }
            (Err(_), Some(why)) => println!("SKIPPED {test}: {}: {why}", variant.name),
            (Err(fault), None) => panic!("{}: {fault}", variant.name),
        }
    }
}

#[test]
fn settings_of_the_whole_machine_are_tried_only_if_the_user_asks() {
    let host = Host::described_with_smt();
    let tree = Tree::of(&host.cpus);
    let design = designed(&host, Size::Quick, &tree.machine(), false).unwrap();
    for name in ["idle-latency", "governor", "interrupts", "preemption"] {
        assert!(missing(&design, name).contains("--system-wide"), "{:?}", design.missing);
    }
    let asked = designed(&host, Size::Full, &tree.machine(), true).unwrap();
    assert_eq!(asked.fault(), None);
    for name in ["governor", "interrupts", "preemption"] {
        assert_eq!(missing(&asked, name), "");
        let has = |variant: &Variant| variant.level("toggle") == name;
        assert_eq!(asked.variants.iter().filter(|it| has(it)).count(), 2, "at rest and busy");
    }
    tree.assert_is_as_before();
}

#[test]
fn what_is_not_there_says_why() {
    let host = Host::described_with_smt();
    let tree = Tree::of(&host.cpus);
    for cpu in &host.cpus {
        fs::write(tree.governor(*cpu), "performance").unwrap();
    }
    fs::remove_file(tree.preemption()).unwrap();
    fs::write(tree.interrupt(), "1-3").unwrap();
    let design = designed(&host, Size::Quick, &tree.machine(), true).unwrap();
    assert!(missing(&design, "governor").contains("`performance` already"));
    assert!(missing(&design, "preemption").contains("mount -t debugfs"));
    assert!(missing(&design, "interrupts").contains("may come to CPU 0"));
}

#[test]
fn a_setting_is_changed_for_a_turn_and_put_back() {
    let host = Host::discover().unwrap();
    let tree = Tree::of(&host.cpus);
    let toggles = [Toggle::Governor, Toggle::Interrupts, Toggle::Preemption];
    for toggle in toggles {
        let machine = tree.machine();
        let changes = match machine.changes(toggle) {
            Ok(changes) => changes,
            // One CPU has nobody to leave interrupts to.
            Err(why) => {
                assert!(toggle == Toggle::Interrupts && host.cpus.len() == 1, "{why}");
                continue;
            }
        };
        let keeper = machine.root.keep(&changes).unwrap();
        let held = Held::ask(toggle, &changes, Some(&keeper)).unwrap();
        let [governor, interrupt, preemption] = tree.says();
        match toggle {
            Toggle::Governor => assert_eq!(governor, "performance"),
            Toggle::Interrupts => {
                let first = host.cpus[0].to_string();
                assert!(!interrupt.split([',', '-']).any(|cpu| cpu == first), "{interrupt}");
            }
            _ => assert_eq!(preemption, "full"),
        }
        held.put_back().unwrap();
        keeper.finish().unwrap();
        tree.assert_is_as_before();
    }
}

#[test]
fn turns_of_a_design_change_their_settings_alone() {
    let host = Host::discover().unwrap();
    let tree = Tree::of(&host.cpus);
    let mut design = designed(&host, Size::Quick, &tree.machine(), true).unwrap();
    design.variants.retain(|it| it.level("toggle") == "governor" && it.level("load") == "rest");
    design.contrasts.clear();
    let mut turns = Turns::prepare(&host, Size::Quick, &design, tree.machine()).unwrap();
    turns.setups[0].wakes = 3;
    match (turns.measure(0), cpu_taken_away(&design.variants[0].cpus)) {
        (Ok(samples), _) => assert_eq!(samples[0].check, Check::Passed),
        (Err(_), Some(why)) => println!("SKIPPED turns_of_a_design, in part: {why}"),
        (Err(fault), None) => panic!("{fault}"),
    }
    assert_eq!(tree.says()[0], "powersave", "after the turn, not after the process start");
    drop(turns);
    tree.assert_is_as_before();
}

/// The error names the file and the value, the run fails by it, and nothing is measured on a machine that is not as it
/// seems.
#[test]
fn a_setting_that_cannot_be_put_back_ends_the_measurement() {
    let host = Host::discover().unwrap();
    let tree = Tree::of(&host.cpus);
    let made_up = tree.machine();
    let changes = made_up.changes(Toggle::Preemption).unwrap();
    let keeper = made_up.root.keep(&changes).unwrap();
    let held = Held::ask(Toggle::Preemption, &changes, Some(&keeper)).unwrap();
    // Nobody can write to a folder, whatever the rights.
    fs::remove_file(tree.preemption()).unwrap();
    fs::create_dir(tree.preemption()).unwrap();
    let lost = held.put_back().unwrap_err();
    for words in ["/sys/kernel/debug/sched/preempt", "write `voluntary` to it"] {
        assert!(lost.contains(words), "{lost}");
    }
    let design = designed(&host, Size::Quick, &machine(Root::live(), &host), false).unwrap();
    let mut turns =
        Turns::prepare(&host, Size::Quick, &design, machine(Root::live(), &host)).unwrap();
    turns.setups[0].wakes = 2;
    let samples = turns.conclude(0, Ok(vec![1.0, 2.0]), Err(lost.clone())).unwrap();
    assert_eq!(samples[0].check, Check::Failed(lost.clone()));
    assert_eq!(turns.measure(0), Err(Fault(lost)));
}

#[test]
fn a_refused_toggle_is_an_error_with_its_reason() {
    // More CPU time than there is in a period: no kernel grants it, whatever the rights.
    let asked = || Toggle::Deadline.in_thread(toggle::RESERVED / 2);
    let refused = std::thread::spawn(asked).join().unwrap().unwrap_err();
    assert!(refused.contains("sched_setattr") || refused.contains("SCHED_DEADLINE"), "{refused}");
}

#[test]
fn what_a_thread_sets_ends_with_it() {
    let slack = || hocket_machine::kernel_settings::read().timer_slack_ns.value().copied();
    let before = slack();
    std::thread::spawn(|| Toggle::TimerSlack.in_thread(PERIOD)).join().unwrap().unwrap();
    assert_eq!(slack(), before);
}
