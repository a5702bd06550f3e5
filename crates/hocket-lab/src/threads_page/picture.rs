//! The lanes of threads and CPUs as a picture.

use std::fmt::Write;
use std::ops::Range;

use hocket_trace::system::{Did, Piece, SystemTrace};

use crate::foreign::plain;
use crate::page_parts::palette::{STRIPS, turn};

/// Columns of time.
const COLUMNS: usize = 1000;
/// Lanes of threads; those that ran longest.
const MOST_LANES: usize = 32;
/// Room for the names, the height of a lane and of its bars, in pixels.
const NAMES: usize = 220;
const ROW: usize = 26;
const BAR: f64 = 20.0;
/// Fills: strips by turns (`palette::turn`), the last for others, and one for waiting.
const OTHER: usize = STRIPS.len() - 1;
const WAITED: usize = STRIPS.len();
const FILLS: usize = STRIPS.len() + 1;

/// How much of each column has which fill, in nanoseconds.
struct Lane {
    name: String,
    columns: Vec<[f32; FILLS]>,
}

/// The picture of `span`.
pub(super) fn svg(system: &SystemTrace, span: Range<i64>) -> String {
    let lanes = lanes(system, &span);
    let (width, height) = (NAMES + COLUMNS, ROW * (lanes.len() + 1));
    let mut out = format!(
        "<svg role=\"img\" aria-label=\"Lanes of threads and CPUs\" viewBox=\"0 0 {width} {height}\" \
         font-size=\"13\" font-family=\"system-ui,sans-serif\" fill=\"var(--ink)\">"
    );
    axis(&mut out, system, &span, height);
    let column_ns = length_ns(&span) / COLUMNS as f64;
    for (row, lane) in lanes.iter().enumerate() {
        let bottom = (ROW * (row + 2)) as f64 - 3.0;
        let name = escaped(&plain(&lane.name));
        let _ = write!(out, "<text x=\"4\" y=\"{}\">{name}</text>", bottom - 5.0);
        bars(&mut out, lane, column_ns, bottom);
    }
    out + "</svg>"
}

fn length_ns(span: &Range<i64>) -> f64 {
    span.end.saturating_sub(span.start).max(1) as f64
}

fn axis(out: &mut String, system: &SystemTrace, span: &Range<i64>, height: usize) {
    let from_start = |ns: i64| ns.saturating_sub(system.about.start_ns);
    let (begin, end) = (from_start(span.start), from_start(span.end));
    let (marks, digits) = marks(begin, end);
    for at_ns in marks {
        let part = (at_ns - begin) as f64 / length_ns(span);
        let (x, ms) = (NAMES as f64 + part * COLUMNS as f64, at_ns as f64 / 1e6);
        let _ = write!(
            out,
            "<path d=\"M{x:.1} 0V{height}\" stroke=\"var(--line)\"/><text x=\"{:.1}\" y=\"15\">{ms:.digits$} ms</text>",
            x + 4.0
        );
    }
}

/// Round times from `begin` to `end`, four to ten of them or so, and their digits behind the point in milliseconds.
fn marks(begin: i64, end: i64) -> (Vec<i64>, usize) {
    let least = end.saturating_sub(begin).max(1) / 8;
    let powers = (0..19).map(|power| 10_i64.pow(power));
    let mut steps = powers.flat_map(|power| [1, 2, 5].map(|times| times * power));
    let step = steps.find(|step| *step > least).unwrap_or(i64::MAX);
    let first = begin.div_euclid(step).saturating_add(i64::from(begin.rem_euclid(step) != 0));
    let marks = (first..).map_while(|mark| mark.checked_mul(step).filter(|at| *at < end));
    // A name at the very end would be cut off.
    let marks = marks.filter(|at| (end - at) / 20 > end.saturating_sub(begin) / 400).collect();
    (marks, [1_000_000, 100_000, 10_000, 1000].iter().position(|ns| step >= *ns).unwrap_or(4))
}

fn lanes(system: &SystemTrace, span: &Range<i64>) -> Vec<Lane> {
    let members: Vec<u32> = system.members().into_iter().take(MOST_LANES).collect();
    let cpus = system.drawn_cpus();
    let lane = |name: String| Lane { name, columns: vec![[0.0; FILLS]; COLUMNS] };
    let threads = members.iter().map(|it| lane(system.threads[*it as usize].title()));
    let mut lanes: Vec<Lane> =
        threads.chain(cpus.iter().map(|cpu| lane(system.cpu_title(*cpu)))).collect();
    let is_within = |piece: &&Piece| piece.start_ns < span.end && piece.end_ns() > span.start;
    for piece in system.pieces.iter().filter(is_within) {
        let member = members.iter().position(|member| *member == piece.thread);
        let cpu = cpus.iter().position(|cpu| *cpu == u32::from(piece.cpu)).unwrap_or(0);
        let of_thread = match piece.did {
            Did::Ran => turn(cpu),
            Did::Waited => WAITED,
            Did::Interrupted => continue,
        };
        if let Some(member) = member {
            lanes[member].add(piece, span, of_thread);
        }
        if piece.did == Did::Ran {
            let fill = member.map_or(OTHER, turn);
            lanes[members.len() + cpu].add(piece, span, fill);
        }
    }
    lanes
}

impl Lane {
    fn add(&mut self, piece: &Piece, span: &Range<i64>, fill: usize) {
        let column_ns = length_ns(span) / COLUMNS as f64;
        let at = |ns: i64| (ns.clamp(span.start, span.end) - span.start) as f64 / column_ns;
        let (from, to) = (at(piece.start_ns), at(piece.end_ns()));
        for column in from as usize..=(to as usize).min(COLUMNS - 1) {
            let within = to.min(column as f64 + 1.0) - from.max(column as f64);
            self.columns[column][fill] += (within.max(0.0) * column_ns) as f32;
        }
    }

    /// The fill that has most of a column, and the height of all in twentieths.
    fn bar(&self, column: usize, column_ns: f64) -> (usize, u32) {
        let fills = &self.columns[column];
        let most = (0..FILLS).max_by(|a, b| fills[*a].total_cmp(&fills[*b])).unwrap_or(0);
        let share = f64::from(fills.iter().sum::<f32>()) / column_ns;
        // What is there at all is seen.
        (most, if share > 0.0 { ((share * 20.0).ceil() as u32).min(20) } else { 0 })
    }
}

/// Neighbours that look the same are one bar.
fn bars(out: &mut String, lane: &Lane, column_ns: f64, bottom: f64) {
    let mut column = 0;
    while column < COLUMNS {
        let bar = lane.bar(column, column_ns);
        let same = (column..COLUMNS).take_while(|next| lane.bar(*next, column_ns) == bar).count();
        let (fill, twentieths) = bar;
        if twentieths > 0 {
            let fill = STRIPS.get(fill).copied().unwrap_or("var(--late)");
            let tall = BAR * f64::from(twentieths) / 20.0;
            let (x, y) = (NAMES + column, bottom - tall);
            let _ = write!(
                out,
                "<rect x=\"{x}\" y=\"{y:.0}\" width=\"{same}\" height=\"{tall:.0}\" fill=\"{fill}\"/>"
            );
        }
        column += same;
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_share_of_its_time() {
        let mut lane = Lane { name: String::new(), columns: vec![[0.0; FILLS]; COLUMNS] };
        let piece = Piece { start_ns: 1000, length_ns: 1500, thread: 0, cpu: 0, did: Did::Ran };
        lane.add(&piece, &(0..1_000_000), 3);
        assert_eq!(lane.bar(0, 1000.0).1, 0);
        assert_eq!([lane.bar(1, 1000.0), lane.bar(2, 1000.0)], [(3, 20), (3, 10)]);
        assert_eq!(lane.bar(3, 1000.0).1, 0);
    }

    #[test]
    fn marks_are_round() {
        let ms = |numbers: &[i64]| numbers.iter().map(|ms| ms * 1_000_000).collect::<Vec<_>>();
        assert_eq!(marks(0, 1_000_384_000), (ms(&[0, 200, 400, 600, 800]), 0));
        assert_eq!(marks(375_432_000, 475_432_000), (ms(&[380, 400, 420, 440, 460]), 0));
        assert_eq!(marks(1_000_250, 1_001_950), (vec![1_000_500, 1_001_000, 1_001_500], 4));
        assert_eq!(marks(-5, i64::MAX).1, 0);
        assert_eq!(marks(7, 7).0, [0; 0]);
    }

    #[test]
    fn names_do_not_end_the_picture() {
        assert_eq!(escaped("</svg>&"), "&lt;/svg&gt;&amp;");
    }
}
