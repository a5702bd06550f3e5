//! The first page: every record, by machine.

use maud::{Markup, html};

use super::entry::{Detail, Entry, Unread};
use super::frame::{Page, Place};
use super::identity::machines;
use crate::foreign::plain;
use crate::numbers::counted;

/// What the first page lists.
pub(super) struct List<'a> {
    /// Sorted by date.
    pub(super) entries: &'a [Entry],
    pub(super) unread: &'a [Unread],
    pub(super) passed_over: usize,
    /// Why not everything was looked at.
    pub(super) stopped: Option<String>,
}

impl List<'_> {
    pub(super) fn page(&self) -> String {
        let page = Page {
            place: Place::Index,
            title: "Records",
            setting: html! { (self.extent()) },
            body: html! {
                (self.summary())
                @for machine in machines(self.entries) {
                    section { h2 { (machine.name) } (records(&self.of(&machine.name))) }
                }
                (self.traces())
                (self.unread())
                (self.limits())
            },
            script: None,
        };
        page.text()
    }

    fn records(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !matches!(entry.detail, Detail::Trace))
    }

    /// Those of a machine, the latest first.
    fn of(&self, machine: &str) -> Vec<&Entry> {
        let mut own: Vec<&Entry> = self.records().filter(|it| it.machine.name == machine).collect();
        // Those without a date stay last.
        let dated = own.iter().take_while(|entry| entry.seconds().is_some()).count();
        own[..dated].reverse();
        own
    }

    fn extent(&self) -> String {
        let mut dated = self.records().filter(|entry| entry.seconds().is_some());
        let first = dated.next();
        match (first, dated.last()) {
            (None, _) => "None of them has a date.".into(),
            (Some(only), None) => format!("Of {}.", only.date()),
            (Some(first), Some(last)) => format!("From {} to {} (UTC).", first.date(), last.date()),
        }
    }

    fn summary(&self) -> Markup {
        let count = self.records().count();
        let of = |is: fn(&Detail) -> bool| self.entries.iter().filter(|it| is(&it.detail)).count();
        let kinds = [
            (of(|it| matches!(it, Detail::Bench(_))), "bench record"),
            (of(|it| matches!(it, Detail::Lab(_))), "lab run"),
            (of(|it| matches!(it, Detail::Other)), "benchmark record"),
            (of(|it| matches!(it, Detail::Trace)), "trace"),
        ];
        let kinds: Vec<String> =
            kinds.iter().filter(|(n, _)| *n > 0).map(|(n, name)| counted(*n, name)).collect();
        html! {
            div class=(if count == 0 { "verdict unsure" } else { "verdict holds" }) {
                p {
                    @if count == 0 { "No record was found." }
                    @else { (counted(count, "record")) " of " (counted(machines(self.entries).len(), "machine")) "." }
                }
                ul.findings {
                    @if !kinds.is_empty() { li { (kinds.join(", ")) "." } }
                    @if !self.unread.is_empty() { li { (counted(self.unread.len(), "file")) " could not be used: " a href="#unread" { "which, and why" } "." } }
                    @if let Some(stopped) = &self.stopped { li { (stopped) } }
                }
            }
        }
    }

    fn traces(&self) -> Markup {
        let traces: Vec<&Entry> =
            self.entries.iter().filter(|it| matches!(it.detail, Detail::Trace)).collect();
        html! {
            @if !traces.is_empty() {
                section {
                    h2 { "Traces" }
                    p.note { "Copies of the pages that hocket trace wrote." }
                    ul.plain { @for trace in traces { (trace_line(trace)) } }
                }
            }
        }
    }

    fn unread(&self) -> Markup {
        html! {
            @if !self.unread.is_empty() {
                section id="unread" {
                    h2 { "Files that could not be used" }
                    table.records {
                        thead { tr { th scope="col" { "file" } th scope="col" { "why" } } }
                        tbody { @for it in self.unread { tr { th scope="row" { (plain(&it.shown)) } td.why { (plain(&it.why)) } } } }
                    }
                }
            }
        }
    }

    fn limits(&self) -> Markup {
        html! {
            section {
                h2 { "How to read this" }
                ul.plain {
                    li { "Records count as one machine's if the processor, the number of CPUs and whether it is virtual are the same." }
                    li { "Times are UTC. A record of a benchmark may lack a date." }
                    @if self.passed_over > 0 { li { (counted(self.passed_over, "other file")) " passed over: no records, or pages that Hocket makes anew." } }
                }
            }
        }
    }
}

fn trace_line(trace: &Entry) -> Markup {
    html! {
        li {
            a href=(trace.page) { (trace.subject) }
            " " span.sub { (plain(&trace.shown)) }
            @for remark in &trace.remarks { " " span.sub { (remark) } }
        }
    }
}

fn records(all: &[&Entry]) -> Markup {
    html! {
        table.records {
            thead { tr { th scope="col" { "record" } th scope="col" { "begun" } th scope="col" { "found" } th scope="col" { "hocket" } } }
            tbody { @for entry in all { (record(entry)) } }
        }
    }
}

fn record(entry: &Entry) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(entry.page) { (plain(&entry.subject)) } span.sub { (entry.kind) } }
            td.date data-label="begun" { (entry.date()) }
            td.found data-label="found" {
                (plain(&entry.finding))
                @for remark in &entry.remarks { span.sub { (remark) } }
                span.sub { (plain(&entry.shown)) }
            }
            td data-label="hocket" { (entry.program) }
        }
    }
}
