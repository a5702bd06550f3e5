//! What the figures rest on: clock, noise, machine, grants.

use maud::{Markup, html};
use serde_json::Value;

use super::page::{GROUND, heading};
use super::{Chapter, Flagged, Lab};
use crate::foreign::plain;
use crate::numbers::counted;
use crate::report::shared::{facts, grants, topology};

/// The heading of the section.
pub(super) const TITLE: &str = "What the figures rest on";

/// The section after the verdicts.
pub(super) fn section(lab: &Lab<'_>) -> Markup {
    html! {
        section id=(GROUND) {
            (heading(TITLE))
            h3 { "Clock" }
            p { (plain(&lab.clock())) " " (tick_source(lab)) }
            h3 { "Noise" }
            (noise(lab))
            (absent(lab))
            (machine(lab))
        }
    }
}

fn tick_source(lab: &Lab<'_>) -> Markup {
    let why = lab.meta("/clock/check/tick_source_why").and_then(Value::as_str);
    html! { @if let Some(why) = why { span.sub { (plain(why)) } } }
}

fn noise(lab: &Lab<'_>) -> Markup {
    html! {
        p {
            (lab.flagged().rounds_in_words()) "; " (lab.flagged().verdicts_in_words()) ". "
            (limits(lab))
        }
        div.scroll tabindex="0" role="region" aria-label="Noise by experiment" {
            table {
                thead { tr {
                    @for head in ["Experiment", "rounds", "disturbed", "causes"] { th scope="col" { (head) } }
                    th.left scope="col" { "verdicts without the disturbed rounds" }
                } }
                tbody { @for chapter in &lab.chapters { (row(chapter)) } }
            }
        }
    }
}

fn row(chapter: &Chapter<'_>) -> Markup {
    let Flagged { rounds, flagged, causes, .. } = chapter.flagged();
    let causes: Vec<String> =
        causes.iter().map(|(cause, n)| format!("{} {n}", plain(cause))).collect();
    html! {
        @if rounds > 0 {
            tr {
                th scope="row" { (plain(chapter.id())) }
                td { (rounds) }
                td { (flagged) }
                td { (if causes.is_empty() { "–".into() } else { causes.join(", ") }) }
                td.why { (chapter.flagged().verdicts_in_words()) }
            }
        }
    }
}

/// From which amount a turn was flagged in this run.
fn limits(lab: &Lab<'_>) -> Markup {
    let number = |key: &str| lab.meta(&format!("/limits/{key}")).and_then(Value::as_f64);
    let share =
        |key: &str| number(key).map_or("?".into(), |share| format!("{:.0} %", share * 100.0));
    let put_aside = match number("waited_share") {
        Some(_) => format!("waited for a CPU for more than {} of the turn", share("waited_share")),
        None => {
            let times = number("involuntary_switches");
            let times = times.map_or("?".into(), |n| counted(n as usize, "time"));
            format!("was put aside {times} or more")
        }
    };
    html! {
        "A round is disturbed when in one of its turns others used more than " (share("foreign_share")) " of the machine's processor time (foreign), the host took more than "
        (share("steal_share")) " (steal), or a thread " (put_aside) " (put-aside)."
    }
}

/// What could not be watched.
fn absent(lab: &Lab<'_>) -> Markup {
    let absent = lab.meta("/ledger_absent").and_then(Value::as_object);
    html! {
        @if let Some(absent) = absent.filter(|absent| !absent.is_empty()) {
            p.small {
                "Not watched here: "
                @for (at, (name, why)) in absent.iter().enumerate() {
                    @if at > 0 { "; " }
                    (plain(&name.replace('_', " "))) " (" (plain(why.as_str().unwrap_or("unknown why"))) ")"
                }
                "."
            }
        }
    }
}

fn machine(lab: &Lab<'_>) -> Markup {
    let granted =
        lab.meta("/grants").filter(|grants| grants.as_array().is_some_and(|all| !all.is_empty()));
    html! {
        @if let Some(machine) = lab.meta("/machine") {
            h3 { "Machine" }
            (topology(machine))
            details { summary { "Facts about the machine" } (facts(machine)) }
        }
        @if let Some(granted) = granted {
            details {
                summary { "What the system allows" }
                div.scroll tabindex="0" role="region" aria-label="What the system allows" { (grants(granted)) }
            }
        }
    }
}
