//! The picture: a look at a run, as cells of a terminal. 80 by 24 holds everything; a smaller one says less.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::keys::{KEYS, Key, footer};
use crate::play::kernel_times::KernelTimes;
use crate::play::live::{CLASS_PERCENT, CLASSES};
use crate::play::shown::{DiskShown, MeterShown, Shown, WorkerShown};
use crate::written::readable;

/// From this width on there are two columns.
const TWO_COLUMNS: u16 = 64;
/// Between them.
const GAP: u16 = 2;
/// The first class that is late.
const LATE: usize = (100 / CLASS_PERCENT) as usize;
/// A meter begins here, in dB of full scale.
const QUIETEST_DB: f32 = -60.0;
/// Lines of takes in trouble.
const MOST_TAKES: usize = 3;
/// Rows of the histogram.
const TALLEST: u16 = 6;
const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

const TITLE: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BAD: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
const GOOD: Style = Style::new().fg(Color::Green);

/// Draws the whole picture.
pub(super) fn draw(shown: &Shown, shows_help: bool, frame: &mut Frame<'_>) {
    let area = frame.area();
    let mut space = Space { left: area, buffer: frame.buffer_mut() };
    space.lines(&head(shown, area.height));
    if area.height > 5 {
        space.foot(Line::styled(footer(area.width.into()), DIM));
    }
    if area.height > 8 {
        space.foot(message(shown));
    }
    takes(shown, area.height).into_iter().rev().for_each(|line| space.foot(line));
    match shows_help {
        true => space.panel("keys", help(), u16::MAX),
        false if area.width >= TWO_COLUMNS => two_columns(shown, space),
        false => one_column(shown, space),
    }
}

fn two_columns(shown: &Shown, space: Space<'_>) {
    let width = (space.left.width - GAP) / 2;
    let Space { left: area, buffer } = space;
    let mut left = Space { left: Rect { width, ..area }, buffer };
    let causes = causes(shown);
    // What explains misses comes before the picture of all that went well.
    let for_causes = (causes.len() as u16 + 1).min(area.height / 2);
    let tall = TALLEST.min(area.height.saturating_sub(for_causes + 2));
    histogram(shown, &mut left, tall);
    left.panel("misses by cause", causes, u16::MAX);
    let right = Rect { x: area.x + width + GAP, width: area.width - width - GAP, ..area };
    let mut right = Space { left: right, buffer };
    workers_and_meters(shown, &mut right);
}

fn one_column(shown: &Shown, mut space: Space<'_>) {
    let most = space.left.height / 3;
    space.panel("misses by cause", causes(shown), most.max(2));
    workers_and_meters(shown, &mut space);
    if space.left.height > 3 {
        let tall = TALLEST.min(space.left.height - 2);
        histogram(shown, &mut space, tall);
    }
}

/// The disk and the meters keep room, however many workers there are.
fn workers_and_meters(shown: &Shown, space: &mut Space<'_>) {
    let (width, height) = (space.left.width, space.left.height);
    let disk = shown.disk.as_ref().map_or(Vec::new(), disk);
    let disk_rows = if disk.is_empty() { 0 } else { disk.len() as u16 + 1 };
    let rest = height.saturating_sub(disk_rows);
    let meter_rows = (shown.meters.len() as u16 + 1).min(rest / 2);
    let workers = shown.workers.iter().map(|worker| worker_line(worker, width)).collect();
    space.panel("workers: seat load share awake aside", workers, rest - meter_rows);
    let meters = shown.meters.iter().map(|meter| meter_line(meter, width)).collect();
    let most = space.left.height.saturating_sub(disk_rows);
    space.panel("outputs: peak in dB of full scale", meters, most);
    if !disk.is_empty() {
        space.panel("disk", disk, u16::MAX);
    }
}

/// The most important line first, because a low terminal shows no more.
fn head(shown: &Shown, height: u16) -> Vec<Line<'static>> {
    let mut lines = vec![transport(shown), load(shown)];
    if height > 6 {
        let policy = format!("{}; {}", shown.policy.join(" / "), shown.plan);
        lines.push(Line::raw(shown.device.join("; ")));
        lines.push(Line::styled(policy, DIM));
    }
    if height > 4 {
        let title = format!("{} ", shown.session);
        lines
            .insert(0, Line::from(vec![Span::styled("hocket: ", DIM), Span::styled(title, TITLE)]));
    }
    lines
}

fn transport(shown: &Shown) -> Line<'static> {
    let song = &shown.song;
    let (sign, style) = if song.plays { ("▶ ", GOOD) } else { ("■ ", TITLE) };
    let [beats, unit] = song.signature;
    let mut text =
        format!("bar {}  {:.1} bpm {beats}/{unit}  {}", song.bar, song.bpm, clock(song.seconds));
    match (song.follows(), &song.repeat) {
        (Some(follows), _) => text += &format!("  {follows}"),
        (None, Some([from, to])) => text += &format!("  loop {from} to {to}"),
        (None, None) => text += "  no loop",
    }
    Line::from(vec![Span::styled(sign, style), Span::raw(text)])
}

fn load(shown: &Shown) -> Line<'static> {
    let [mean, most] = shown.load.map(|load| 100.0 * load);
    let style = if shown.misses > 0 { BAD } else { GOOD };
    let of = shown.planned_s.map_or(String::new(), |all| format!(" of {}", clock(all)));
    let played = format!("{}{of}", clock(shown.played_s));
    Line::from(vec![
        Span::raw(format!("load {mean:.0} % (at most {most:.0} %)  ")),
        Span::styled(format!("{} misses", shown.misses), style),
        Span::raw(format!(" in {} blocks  {played}", shown.blocks)),
    ])
}

/// `1:02.3`.
fn clock(seconds: f64) -> String {
    let tenths = (seconds.abs() * 10.0).floor();
    let (minutes, rest) = ((tenths / 600.0).floor(), tenths % 600.0);
    let sign = if seconds < 0.0 { "-" } else { "" };
    format!("{sign}{minutes:.0}:{:04.1}", rest / 10.0)
}

fn message(shown: &Shown) -> Line<'static> {
    match (shown.message.is_empty(), &shown.last_late) {
        (false, _) => Line::raw(shown.message.clone()),
        (true, Some(last)) => Line::styled(format!("last late block: {last}"), DIM),
        (true, None) => Line::default(),
    }
}

/// Takes in trouble in every terminal, and else how many there are where there is room.
fn takes(shown: &Shown, height: u16) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'_>> =
        shown.takes_in_trouble().map(|take| Line::styled(take, BAD)).collect();
    if lines.len() > MOST_TAKES {
        let more = lines.len() - (MOST_TAKES - 1);
        lines.truncate(MOST_TAKES - 1);
        lines.push(Line::styled(format!("and {more} more takes in trouble"), BAD));
    }
    if lines.is_empty() && !shown.takes.is_empty() && height > 8 {
        let records = format!("takes: {} recorded, none in trouble", shown.takes.len());
        lines.push(Line::styled(records, DIM));
    }
    lines
}

fn causes(shown: &Shown) -> Vec<Line<'static>> {
    let line = |(cause, count): &(&'static str, u64)| Line::raw(format!("{count:>7} {cause}"));
    let mut lines: Vec<Line<'_>> = shown.causes.iter().map(line).collect();
    let explained: u64 = shown.causes.iter().map(|(_, count)| count).sum();
    if explained < shown.misses {
        let rest = shown.misses - explained;
        lines.push(Line::styled(format!("{rest:>7} not explained, or skipped"), DIM));
    }
    if lines.is_empty() {
        lines.push(Line::styled("none", GOOD));
    }
    lines
}

fn worker_line(worker: &WorkerShown, width: u16) -> Line<'static> {
    let text = format!("{:<10}{:<8}", cut(&worker.name, 9), cut(&worker.seat, 7));
    let KernelTimes { awake, put_aside } = worker.kernel;
    let figures = [Some(worker.load), Some(worker.share), awake].map(percent).concat();
    let aside = put_aside.map_or("     ?".into(), |part| format!("{:>5.1}%", 100.0 * part));
    let taken = [&text, &figures, &aside].map(|text| text.chars().count()).iter().sum();
    let bar = bar(worker.load, width, taken);
    // From a hundredth on, it matters to a block.
    let style = if put_aside.is_some_and(|part| part >= 0.01) { BAD } else { Style::new() };
    Line::from(vec![
        Span::raw(text),
        Span::styled(bar, GOOD),
        Span::raw(figures),
        Span::styled(aside, style),
    ])
}

/// In five columns; a question mark where it is not known.
fn percent(part: Option<f64>) -> String {
    part.map_or("    ?".into(), |part| format!("{:>4.0}%", 100.0 * part))
}

fn meter_line(meter: &MeterShown, width: u16) -> Line<'static> {
    let (name, db) = (format!("{:<14}", cut(&meter.name, 13)), meter.db());
    let figure = if db > -100.0 { format!("{db:>7.1}") } else { "   -inf".into() };
    let part = f64::from((db - QUIETEST_DB) / -QUIETEST_DB);
    let bar = bar(part, width, name.chars().count() + figure.chars().count());
    let style = if meter.peak > 1.0 { BAD } else { GOOD };
    Line::from(vec![Span::raw(name), Span::styled(bar, style), Span::raw(figure)])
}

fn disk(disk: &DiskShown) -> Vec<Line<'static>> {
    let part = disk.used_bytes as f64 / disk.buffer_bytes.max(1) as f64;
    let (used, all) = (readable(disk.used_bytes as u64), readable(disk.buffer_bytes as u64));
    let fill = format!("{} streams, {used} of {all} ({:.0} %)", disk.streams, 100.0 * part);
    let gaps = match disk.silent_frames {
        0 => Line::styled("no gaps", GOOD),
        frames => {
            let text = format!("gaps: {frames} frames silent in {} clips", disk.silent_clips);
            Line::styled(text, BAD)
        }
    };
    vec![Line::raw(fill), gaps]
}

fn help() -> Vec<Line<'static>> {
    let line = |Key { name, help, .. }: &Key| {
        Line::from(vec![Span::styled(format!("{name:<12}"), TITLE), Span::raw(*help)])
    };
    KEYS.iter().map(line).collect()
}

/// A bar in what `others` leave of the width.
fn bar(part: f64, width: u16, others: usize) -> String {
    let cells = usize::from(width).saturating_sub(others);
    let full = (part.clamp(0.0, 1.0) * cells as f64).round() as usize;
    "█".repeat(full.min(cells)) + &"·".repeat(cells - full.min(cells))
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// Block times against the deadline: a column for each class, heights by the logarithm of the count.
fn histogram(shown: &Shown, space: &mut Space<'_>, tall: u16) {
    if tall == 0 || space.left.height < tall + 2 {
        return;
    }
    space.lines(&[Line::styled("output ready, in % of the deadline", TITLE)]);
    let most = shown.classes.iter().copied().max().unwrap_or(0);
    for row in (0..tall).rev() {
        let cell = |(class, count): (usize, &u64)| {
            let eighths = (level(*count, most) * f64::from(8 * tall)).ceil() as i64;
            let here = (eighths - i64::from(8 * row)).clamp(0, 8) as usize;
            Span::styled(EIGHTHS[here], if class < LATE { GOOD } else { BAD })
        };
        space.lines(&[shown.classes.iter().enumerate().map(cell).collect::<Line<'_>>()]);
    }
    space.lines(&[scale()]);
}

/// 0 for none, more than 0 for one, 1 for the most.
fn level(count: u64, most: u64) -> f64 {
    let log = |count: u64| (count as f64 + 1.0).ln();
    if count == 0 { 0.0 } else { log(count) / log(most) }
}

/// `0         50        100`, under the columns where these percents begin.
fn scale() -> Line<'static> {
    let mut text = [b' '; CLASSES + 4];
    for percent in [0, 50, 100, 150] {
        let (at, digits) = ((percent / CLASS_PERCENT) as usize, percent.to_string());
        let end = (at + digits.len()).min(text.len());
        text[at..end].copy_from_slice(&digits.as_bytes()[..end - at]);
    }
    Line::styled(String::from_utf8_lossy(&text).trim_end().to_string(), DIM)
}

/// What is left of an area, from its top on.
struct Space<'a> {
    left: Rect,
    buffer: &'a mut Buffer,
}

impl Space<'_> {
    /// As many of the lines as there is room for.
    fn lines(&mut self, lines: &[Line<'_>]) {
        for line in lines.iter().take(self.left.height.into()) {
            line.render(Rect { height: 1, ..self.left }, self.buffer);
            self.left.y += 1;
            self.left.height -= 1;
        }
    }

    /// A line at the bottom.
    fn foot(&mut self, line: Line<'_>) {
        if self.left.height > 0 {
            self.left.height -= 1;
            let y = self.left.y + self.left.height;
            line.render(Rect { y, height: 1, ..self.left }, self.buffer);
        }
    }

    /// A title and lines, in `most` rows. The last row counts what finds no room.
    fn panel(&mut self, title: &'static str, mut lines: Vec<Line<'static>>, most: u16) {
        let rows = usize::from(most.min(self.left.height));
        // A title alone says nothing.
        if rows < 2 || lines.is_empty() {
            return;
        }
        if lines.len() > rows - 1 {
            let more = lines.len() - (rows - 2);
            lines.truncate(rows - 2);
            lines.push(Line::styled(format!("and {more} more"), DIM));
        }
        self.lines(&[Line::styled(title, TITLE)]);
        self.lines(&lines);
    }
}

#[cfg(test)]
mod tests;
