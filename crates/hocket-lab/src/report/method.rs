//! How it was measured, what that does not show, how to repeat it.

use maud::{Markup, html};

use super::analysis::{Analysis, ENOUGH_STARTS};
use super::verdict::none_allows;
use crate::foreign::plain;
use crate::numbers::{block_time, capital, count, listed, percent, us};
use crate::record::{Round, ThreadGrant};
use crate::stats::{MIN_ROUNDS, median};

/// Where intervals come from; [`crate::stats::compare_starts`] and [`crate::stats::all_at_once`] say more.
const INTERVALS: &str = "Intervals of ratios are Student's over the process starts, or those of the rounds within the \
    starts (a circular block bootstrap) where these are wider. They are widened by Bonferroni's inequality, so that all \
    of them hold at once in 95 % of runs (Dunn 1961). Intervals of shares are Wilson's.";

/// `once`, `5 times`.
fn times(n: usize) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}

/// How it was measured.
pub(super) fn method(analysis: &Analysis) -> Markup {
    let record = analysis.record;
    let it = &record.settings;
    let commit = record.hocket.commit.as_deref().unwrap_or("unknown commit");
    html! {
        section {
            h2 { "How it was measured" }
            p {
                "The program was started " (times(analysis.starts)) ". In all, the variants ran one after the other in " (it.rounds) " rounds, in a new random order each round, " (count(it.blocks_per_round))
                " measured blocks each after " (count(it.warmup)) " thrown away; the bare wake-up loop took its turn among them. "
                "Every block has a planned start, and lateness counts from there, so a slow block cannot hide the wait it causes. "
                (INTERVALS)
            }
            dl.facts {
                (fact("Started", &record.started_at))
                (fact("Finished", &record.finished_at))
                (fact("Hocket", &format!("{} ({commit}{})", record.hocket.version, if record.hocket.dirty { ", with uncommitted changes" } else { "" })))
                (fact("Compiler", &record.hocket.rustc))
                (fact("Seed", &it.seed.to_string()))
                (fact("Clock", &record.clock.source))
                (fact("Smallest step of the clock", &format!("{} ns", record.clock.resolution_ns)))
                (fact("Cost of reading it", &format!("{:.0} ns", record.clock.read_cost_ns)))
                @if let Some(gap) = record.clock.longest_gap_ns {
                    (fact("Longest gap in a busy loop", &block_time(gap as f64)))
                }
                @if let Some((low, high)) = analysis.drift_ns() {
                    (fact("First variant's median per round", &format!("{} to {} µs", us(low), us(high))))
                }
                (fact("Disturbed turns", &format!("{} of {}", analysis.turns.disturbed, analysis.turns.all)))
                (fact("Units, edges, longest chain", &format!("{}, {}, {}", record.session.units, record.session.edges, record.session.critical_path_units)))
                @for media in &record.session.media {
                    (fact(&media.path, &media.sha256.as_deref().map_or("no digest".into(), digest)))
                }
            }
            (order(analysis))
        }
    }
}

fn fact(name: &str, says: &str) -> Markup {
    html! { div { dt { (plain(name)) } dd { (plain(says)) } } }
}

fn digest(sha256: &str) -> String {
    format!("sha256 {}…", sha256.chars().take(12).collect::<String>())
}

/// Height of the picture of turns.
const HEIGHT: f64 = 110.0;

/// Every turn in the order it ran: shows drift, interleaving and who was disturbed.
fn order(analysis: &Analysis) -> Markup {
    let turns: Vec<(u32, f64, bool)> =
        analysis.rows.iter().flat_map(|row| deviations(&row.variant.rounds)).collect();
    let last = turns.iter().map(|(order, ..)| *order).max().unwrap_or(0).max(1);
    let reach = turns.iter().map(|(_, deviation, _)| deviation.abs()).fold(0.01, f64::max);
    let y = |deviation: f64| HEIGHT / 2.0 - deviation / reach * (HEIGHT / 2.0 - 8.0);
    let words = format!(
        "{} turns in the order they ran; a turn's median block time differs from its variant's by at most {}",
        turns.len(),
        percent(reach)
    );
    html! {
        @if !turns.is_empty() {
            figure {
                figcaption { (words) ". Rings: the turn was disturbed by foreign work." }
                svg.order width="100%" height=(HEIGHT) role="img" aria-label=(words) {
                    line.zero x1="0" x2="100%" y1=(HEIGHT / 2.0) y2=(HEIGHT / 2.0) {}
                    @for (order, deviation, disturbed) in &turns {
                        @let x = format!("{:.2}%", 1.0 + 98.0 * f64::from(*order) / f64::from(last));
                        circle.flag[*disturbed] cx=(x) cy=(format!("{:.1}", y(*deviation))) r=(if *disturbed { "3" } else { "2" }) {}
                    }
                }
            }
        }
    }
}

/// Place in the run, relative deviation of the turn's median from the variant's, disturbed or not.
fn deviations(rounds: &[Round]) -> Vec<(u32, f64, bool)> {
    let figure =
        |round: &Round| median(&round.duration_ns.iter().map(|ns| *ns as f64).collect::<Vec<_>>());
    let medians: Vec<f64> = rounds.iter().filter_map(figure).collect();
    let Some(usual) = median(&medians).filter(|usual| *usual > 0.0) else { return Vec::new() };
    let turn = |round: &Round| {
        Some((round.order, figure(round)? / usual - 1.0, round.noise.disturbed().is_some()))
    };
    rounds.iter().filter_map(turn).collect()
}

/// What threads asked for and got, variants with the same outcome together.
pub(super) fn threads(analysis: &Analysis) -> Markup {
    let mut groups: Vec<(Vec<&str>, &[ThreadGrant])> = Vec::new();
    for row in analysis.rows.iter().filter(|row| !row.variant.threads.is_empty()) {
        match groups.iter_mut().find(|(_, threads)| *threads == row.variant.threads.as_slice()) {
            Some((labels, _)) => labels.push(&row.label),
            None => groups.push((vec![&row.label], &row.variant.threads)),
        }
    }
    html! {
        @for (labels, threads) in &groups {
            details {
                summary { "Threads: what they asked for and got " span { "· " (listed(labels)) } }
                div.scroll tabindex="0" role="group" aria-label={ "Threads of " (listed(labels)) } { (thread_table(threads)) }
            }
        }
    }
}

fn thread_table(threads: &[ThreadGrant]) -> Markup {
    let cpu = |cpu: Option<u32>| cpu.map_or("any".into(), |cpu| cpu.to_string());
    html! {
        table {
            thead { tr { @for head in ["Thread", "CPU asked", "got", "Class asked", "got", "Why"] { th.left scope="col" { (head) } } } }
            tbody { @for it in threads {
                tr {
                    th scope="row" { (plain(&it.thread)) }
                    td.left { (cpu(it.cpu_asked)) } td.left { (cpu(it.cpu_got)) }
                    td.left { (plain(&it.class_asked)) } td.left { (plain(&it.class_got)) }
                    td.why { (it.why.as_deref().map_or(String::new(), plain)) }
                }
            } }
        }
    }
}

/// What the figures do not say.
pub(super) fn limits(analysis: &Analysis) -> Markup {
    let record = analysis.record;
    let first = analysis.measured().next().map(|(_, measured)| measured);
    html! {
        section {
            h2 { "What it does not show" }
            ul.plain {
                li { "Other sessions, block sizes, machines or days. One run, one machine, " (count(analysis.late().of)) " blocks." }
                li { "A sound device: the blocks were timed by a virtual one. A real driver adds interrupts and its own wake-ups." }
                @if let Some(words) = first.and_then(none_allows) { li { (words) } }
                @if let Some(measured) = first { li { (capital(&measured.ready.p999_meaning())) "." } }
                li { "Bursts: the intervals of late blocks take each block on its own. Late blocks come together, so the true intervals are wider, and verdicts count turns with a late block instead." }
                @if analysis.starts < ENOUGH_STARTS {
                    li { "Which variant is faster: that needs at least " (ENOUGH_STARTS) " process starts (" code { "--starts" } ")." }
                }
                @if record.settings.rounds < MIN_ROUNDS {
                    li { "Which variant is faster: that needs at least " (MIN_ROUNDS) " rounds." }
                }
                @if analysis.turns.unknown > 0 {
                    li { "Whether other work disturbed " (analysis.turns.unknown) " of " (analysis.turns.all) " turns: the system does not tell." }
                }
                @if analysis.turns.disturbed > 0 {
                    li { (analysis.turns.disturbed) " of " (analysis.turns.all) " turns saw work that was not the bench's, or time stolen by a hypervisor. They are kept in all figures." }
                }
                @if record.settings.disturb.is_empty() {
                    li { "What foreign load would do: no disturbers ran. Add " code { "--disturb" } "." }
                }
                @if let Some(why) = &record.partial { li { "The whole run: " (plain(why)) "." } }
            }
        }
    }
}

/// The command that measures again.
pub(super) fn repeat(analysis: &Analysis) -> Markup {
    html! {
        section {
            h2 { "Repeat it" }
            pre data-copy { (plain(&shell(&analysis.record.command))) }
        }
    }
}

/// Command arguments so that a shell reads them back as they are.
fn shell(command: &[String]) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let quoted = |word: &String| {
        let bare = !word.is_empty() && word.chars().all(safe);
        if bare { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::shell;

    #[test]
    fn commands_survive_a_shell() {
        let command = ["hocket", "bench", "my songs/it's.toml", ""].map(String::from);
        assert_eq!(shell(&command), r"hocket bench 'my songs/it'\''s.toml' ''");
    }
}
