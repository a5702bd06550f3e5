//! The interrupts of sound cards, and whether they come before the threads that wait for them.

use hocket_engine::Settings;
use hocket_machine::Fact;
use hocket_machine::kernel_settings::{InterruptThread, KernelSettings};

use super::finding::{Check, Finding};

/// The priority that docs/live.md recommends for the threads of a sound server.
const SERVER: u8 = 70;
/// What the remedy gives an interrupt: above a server, below the kernel's own threads of 99.
const ABOVE: u8 = 80;

pub(super) fn check(settings: &KernelSettings) -> Finding {
    const CHECK: Check = Check {
        name: "sound card",
        why: "interrupts without threads of their own come before the audio, whatever its priority: those of disks and networks, \
              too. A card's interrupt thread that does not come before the audio wakes it late",
        measured: None,
    };
    let cards = match &settings.sound_cards {
        Fact::Value(cards) if !cards.is_empty() => cards.join(", "),
        Fact::Value(_) => return CHECK.unknown("the kernel knows no sound card"),
        Fact::Unknown(_) => return CHECK.unknown("this kernel has no sound cards"),
    };
    let threads = &settings.sound_interrupts;
    match (settings.threaded_interrupts.value(), threads.as_slice()) {
        (Some(true), []) => {
            CHECK.good(format!("{cards}; its interrupt has no thread of its own (USB?)"))
        }
        (Some(true), threads) => judged(&CHECK, &cards, threads),
        _ => CHECK.advice(
            format!("{cards}; interrupts have no threads"),
            "boot with threadirqs, and give the card's interrupt a priority above 70 (package rtirq-init)",
        ),
    }
}

/// By the lowest of the threads.
fn judged(check: &Check, cards: &str, threads: &[InterruptThread]) -> Finding {
    let each = threads.iter().map(|thread| format!("{} at {}", thread.name, thread.priority));
    let each = each.collect::<Vec<_>>().join(", ");
    let lowest = threads.iter().map(|thread| thread.priority).min().unwrap_or(0);
    let audio = Settings::PRIORITY;
    if lowest > SERVER {
        return check.good(format!("{cards}; {each}"));
    }
    let found = match lowest > audio {
        true => format!("{cards}; {each}; not above the {SERVER} that docs/live.md gives to jackd"),
        false => format!(
            "{cards}; {each}; not above the {audio} that Hocket's audio asks for, nor the {SERVER} that docs/live.md gives to \
             jackd"
        ),
    };
    match lowest > audio {
        true => check.advice(found, remedy(threads)),
        false => check.problem(found, remedy(threads)),
    }
}

/// A command for each thread that is too low, and what lasts.
fn remedy(threads: &[InterruptThread]) -> String {
    let low = threads.iter().filter(|thread| thread.priority <= SERVER);
    let each: Vec<String> = low
        .map(|thread| format!("chrt --fifo --pid {ABOVE} $(pgrep -x '{}')", thread.name))
        .collect();
    format!(
        "as root, until the next start: {}; for good, install rtirq-init, whose usual settings give sound cards 90 and less",
        each.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;

    fn found(priorities: &[u8]) -> Finding {
        let thread = |(number, priority): (u32, &u8)| InterruptThread {
            name: format!("irq/{number}-snd_hda"),
            priority: *priority,
        };
        let unknown = || "not read here".to_string();
        check(&KernelSettings {
            swappiness: Fact::Unknown(unknown()),
            swaps: Fact::Unknown(unknown()),
            numa_balancing: Fact::Unknown(unknown()),
            huge_page_defrag: Fact::Unknown(unknown()),
            threaded_interrupts: Fact::Value(true),
            idle_states: Fact::Unknown(unknown()),
            sound_cards: Fact::Value(vec!["PCH".into()]),
            sound_interrupts: (128..).zip(priorities).map(thread).collect(),
            timer_device: Fact::Unknown(unknown()),
            timer_slack_ns: Fact::Unknown(unknown()),
        })
    }

    #[test]
    fn an_interrupt_below_the_audio_is_a_finding_with_the_command_that_raises_it() {
        // 50 is what the kernel gives every such thread.
        for (priorities, verdict) in [
            (&[50][..], Verdict::Problem),
            (&[60], Verdict::Problem),
            (&[61], Verdict::Advice),
            (&[70], Verdict::Advice),
            (&[71], Verdict::Good),
            (&[90, 50], Verdict::Problem),
            (&[90, 95], Verdict::Good),
            (&[], Verdict::Good),
        ] {
            assert_eq!(found(priorities).verdict, verdict, "{priorities:?}");
        }
        let finding = found(&[90, 50, 65]);
        let remedy = finding.remedy.unwrap();
        for word in
            ["80 $(pgrep -x 'irq/129-snd_hda')", "80 $(pgrep -x 'irq/130-snd_hda')", "rtirq-init"]
        {
            assert!(remedy.contains(word), "{word}: {remedy}");
        }
        assert!(!remedy.contains("irq/128") && finding.found.contains("60"), "{remedy}");
        assert!(found(&[65]).found.contains("70"));
    }
}
