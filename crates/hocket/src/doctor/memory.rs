//! Memory: whether it may be locked, and what can take pages away.

use hocket_machine::Fact;
use hocket_machine::facts::MachineFacts;
use hocket_machine::grants::{Grant, GrantName};
use hocket_machine::kernel_settings::{KernelSettings, SwapArea};

use super::checks::grant;
use super::figures;
use super::finding::{Check, Finding};

pub(super) fn lock(grants: &[Grant]) -> Finding {
    const CHECK: Check = Check {
        name: "locked memory",
        why: "memory that is not locked may be taken away, and comes back in the middle of a block",
        measured: Some(figures::PAGE_FAULT),
    };
    match grant(grants, GrantName::MemoryLock) {
        Some(grant) if grant.granted => CHECK.good(&*grant.detail),
        Some(grant) => {
            CHECK.problem(&*grant.detail, grant.remedy.as_deref().unwrap_or("raise RLIMIT_MEMLOCK"))
        }
        None => CHECK.unknown("not looked at"),
    }
}

/// The kernel's default is 60. At 10, the kernel swaps only when memory is short.
const HIGH_SWAPPINESS: u32 = 10;

const SWAP: Check = Check {
    name: "swap",
    why: "Hocket locks what its blocks touch, but its other threads and your desktop wait for what was swapped to a disk",
    measured: Some(figures::DISK),
};

/// Swap space on a disk is judged by how readily the kernel uses it. In compressed memory it may use it readily.
pub(super) fn swap(facts: &MachineFacts, settings: &KernelSettings) -> Finding {
    let swappiness = match &settings.swappiness {
        Fact::Value(number) => format!("swappiness {number}"),
        Fact::Unknown(why) => format!("swappiness unknown: {why}"),
    };
    let is_low = settings.swappiness.value().is_some_and(|number| *number <= HIGH_SWAPPINESS);
    match &settings.swaps {
        Fact::Value(areas) if areas.is_empty() => {
            SWAP.good(format!("off: no swap space is switched on, so {swappiness} has no effect"))
        }
        Fact::Value(areas) => {
            let found = format!("on: {}; {swappiness}", named(areas));
            match is_low || areas.iter().all(SwapArea::is_in_memory) {
                true => SWAP.good(found),
                false => SWAP.advice(found, LESS_SWAP),
            }
        }
        // Without the list, only what is in use can be judged.
        Fact::Unknown(why) => match &facts.swap_used_bytes {
            Fact::Value(used) if *used > 0 && !is_low => {
                SWAP.advice(format!("{} in use; {swappiness}", mib(*used)), LESS_SWAP)
            }
            _ => SWAP.unknown(format!("{why}; {swappiness}")),
        },
    }
}

const LESS_SWAP: &str = "as root: sysctl vm.swappiness=10; for later starts, too: echo vm.swappiness=10 > \
                         /etc/sysctl.d/90-audio.conf. Close programs that you do not need";

fn named(areas: &[SwapArea]) -> String {
    let one = |area: &SwapArea| {
        let kind = if area.is_in_memory() { " (compressed memory)" } else { "" };
        format!("{}{kind}, {} of {} in use", area.name, mib(area.used_bytes), mib(area.bytes))
    };
    areas.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

pub(super) fn numa_balancing(settings: &KernelSettings) -> Finding {
    const CHECK: Check = Check {
        name: "NUMA balancing",
        why: "with it the kernel takes pages away from threads to see who uses them, and each costs a page fault in a block",
        measured: Some(figures::PAGE_FAULT),
    };
    match settings.numa_balancing {
        Fact::Value(true) => CHECK.advice("on", "as root: sysctl kernel.numa_balancing=0"),
        Fact::Value(false) => CHECK.good("off"),
        Fact::Unknown(_) => CHECK.good("not in this kernel"),
    }
}

pub(super) fn huge_pages(settings: &KernelSettings) -> Finding {
    const CHECK: Check = Check {
        name: "huge pages",
        why: "with `always`, a program that asks for memory may wait for the kernel to move pages",
        measured: None,
    };
    match settings.huge_page_defrag.value().map(String::as_str) {
        Some("always") => CHECK.advice(
            "defrag is `always`",
            "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/defrag",
        ),
        Some(mode) => CHECK.good(format!("defrag is `{mode}`")),
        None => CHECK.unknown(settings.huge_page_defrag.why().unwrap_or("unknown")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;

    /// This machine with other swap space.
    fn found(areas: Fact<Vec<SwapArea>>, swappiness: Fact<u32>, used_bytes: u64) -> Finding {
        let mut facts = hocket_machine::facts::read();
        facts.swap_used_bytes = Fact::Value(used_bytes);
        let mut settings = hocket_machine::kernel_settings::read();
        (settings.swaps, settings.swappiness) = (areas, swappiness);
        swap(&facts, &settings)
    }

    fn area(name: &str) -> Fact<Vec<SwapArea>> {
        Fact::Value(vec![SwapArea { name: name.into(), bytes: 2 << 30, used_bytes: 3 << 20 }])
    }

    #[test]
    fn swap_that_is_off_is_good_whatever_the_swappiness() {
        let found = found(Fact::Value(Vec::new()), Fact::Value(60), 0);
        assert_eq!(found.verdict, Verdict::Good);
        assert!(found.found.contains("off") && found.found.contains("swappiness 60"), "{found:?}");
    }

    #[test]
    fn swap_on_a_disk_is_judged_by_swappiness() {
        let high = found(area("/dev/sda2"), Fact::Value(60), 3 << 20);
        assert_eq!(high.verdict, Verdict::Advice);
        assert!(high.found.contains("/dev/sda2, 3 MiB of 2048 MiB in use; swappiness 60"));
        assert!(high.remedy.is_some_and(|remedy| remedy.contains("sysctl vm.swappiness=10")));
        assert_eq!(found(area("/dev/sda2"), Fact::Value(10), 0).verdict, Verdict::Good);
        let unknown = found(area("/dev/sda2"), Fact::Unknown("no file".into()), 0);
        assert_eq!(unknown.verdict, Verdict::Advice, "it may be high");
    }

    #[test]
    fn swap_in_compressed_memory_waits_for_no_disk() {
        let found = found(area("/dev/zram0"), Fact::Value(180), 0);
        assert_eq!(found.verdict, Verdict::Good);
        assert!(found.found.contains("compressed memory"), "{found:?}");
    }

    #[test]
    fn swap_of_which_nothing_is_known_is_never_good() {
        let missing = || Fact::Unknown("no /proc/swaps".into());
        assert_eq!(found(missing(), Fact::Value(60), 0).verdict, Verdict::Unknown);
        assert_eq!(found(missing(), Fact::Value(60), 1 << 20).verdict, Verdict::Advice);
    }
}
