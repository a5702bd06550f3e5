//! RealtimeKit: the service that gives a desktop's programs real-time priority.

use hocket_machine::Fact;
use hocket_machine::grants::{Grant, GrantName};
use hocket_machine::rtkit::RtkitFiles;

use super::checks::grant;
use super::figures;
use super::finding::{Check, Finding};

const CHECK: Check = Check {
    name: "RealtimeKit",
    why: "it gives real-time priority where the system's limits do not; a thread that then computes for longer than its limit \
          without a pause ends the program",
    measured: Some(figures::CLASSES),
};

/// polkit asks this file whether a user who does not sit before the machine may have a priority.
const RULE: &str = "log in at the machine itself; for a service or a login from elsewhere, as root write \
                    /etc/polkit-1/rules.d/50-rtkit.rules with the line `polkit.addRule(function(action, subject) { if \
                    (action.id.indexOf(\"org.freedesktop.RealtimeKit1.\") == 0 && subject.isInGroup(\"audio\")) return \
                    polkit.Result.YES; });`, and then: usermod -aG audio NAME";

/// The finding. Who may set priorities without it needs nothing of it.
pub(super) fn check(rtkit: &RtkitFiles, grants: &[Grant]) -> Finding {
    let is_granted = |name| grant(grants, name).is_some_and(|grant| grant.granted);
    let answer = grant(grants, GrantName::Rtkit).map_or("not asked", |grant| &*grant.detail);
    let found = format!("{}; {answer}", state(rtkit));
    match () {
        () if is_granted(GrantName::Rtkit) => CHECK.good(found),
        () if is_granted(GrantName::RealTimePriority) => {
            CHECK.good(format!("{found}. Not needed: the system's limits give a priority"))
        }
        () if !rtkit.is_installed() => {
            CHECK.advice(found, "as root: apt install rtkit (elsewhere: the package rtkit)")
        }
        () if rtkit.bus.value().is_none() => {
            CHECK.advice(found, "as root: apt install dbus; systemctl start dbus.socket")
        }
        () => CHECK.advice(found, RULE),
    }
}

/// What is installed, and what runs.
fn state(rtkit: &RtkitFiles) -> String {
    let RtkitFiles { program, service, bus, process } = rtkit;
    let Some(installed) = program.value().or(service.value()) else {
        let why = |fact: &Fact<String>| fact.why().unwrap_or_default().to_owned();
        return format!("not here: {}; {}", why(program), why(service));
    };
    let runs = match (process, bus) {
        (Fact::Value(process), _) => format!("runs as process {process}"),
        (_, Fact::Value(_)) => "does not run; the system bus starts it for who asks".to_owned(),
        (_, Fact::Unknown(why)) => format!("does not run, and has no system bus: {why}"),
    };
    format!("installed ({installed}), {runs}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;

    fn there(path: &str) -> Fact<String> {
        Fact::Value(path.into())
    }

    fn missing<T>(what: &str) -> Fact<T> {
        Fact::Unknown(format!("there is no {what}"))
    }

    fn installed() -> RtkitFiles {
        RtkitFiles {
            program: there("/usr/libexec/rtkit-daemon"),
            service: there("/usr/share/x.service"),
            bus: there("/run/dbus/system_bus_socket"),
            process: Fact::Value(77),
        }
    }

    fn nothing() -> RtkitFiles {
        RtkitFiles {
            program: missing("/usr/libexec/rtkit-daemon"),
            service: missing("/usr/share/x.service"),
            bus: missing("/run/dbus/system_bus_socket"),
            process: missing("process rtkit-daemon"),
        }
    }

    /// What the system and RealtimeKit grant.
    fn grants(by_limits: bool, by_rtkit: bool) -> Vec<Grant> {
        let one = |name, granted, detail: &str| Grant {
            name,
            granted,
            detail: detail.into(),
            remedy: None,
        };
        vec![
            one(GrantName::RealTimePriority, by_limits, "by limits"),
            one(GrantName::Rtkit, by_rtkit, "SCHED_RR up to priority 20"),
        ]
    }

    #[test]
    fn what_it_grants_is_good_and_named_with_its_limits() {
        let found = check(&installed(), &grants(false, true));
        assert_eq!(found.verdict, Verdict::Good);
        for words in ["installed (/usr/libexec", "process 77", "up to priority 20"] {
            assert!(found.found.contains(words), "{found:?}");
        }
        assert!(found.remedy.is_none() && !found.why.is_empty());
    }

    #[test]
    fn without_it_the_limits_are_enough() {
        let found = check(&nothing(), &grants(true, false));
        assert_eq!(found.verdict, Verdict::Good);
        let words = "not here: there is no /usr/libexec/rtkit-daemon; there is no /usr/share";
        assert!(found.found.contains(words), "{found:?}");
        assert!(found.found.contains("Not needed"), "{found:?}");
    }

    #[test]
    fn what_is_missing_has_its_own_remedy() {
        let remedy = |rtkit: &RtkitFiles| {
            let found = check(rtkit, &grants(false, false));
            assert_eq!(found.verdict, Verdict::Advice, "{found:?}");
            found.remedy.expect("a remedy")
        };
        assert!(remedy(&nothing()).contains("apt install rtkit"));
        let no_bus = RtkitFiles { bus: missing("bus"), process: missing("process"), ..installed() };
        assert!(remedy(&no_bus).contains("dbus"));
        assert!(state(&no_bus).contains("no system bus: there is no bus"));
        assert!(remedy(&installed()).contains("polkit.addRule"));
        let sleeps = RtkitFiles { process: missing("process"), ..installed() };
        assert!(state(&sleeps).contains("starts it"));
    }
}
