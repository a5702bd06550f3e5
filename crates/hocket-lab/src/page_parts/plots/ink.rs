//! What pictures are made of: text that is known to fit, numbers that are numbers, marks.

use maud::{Markup, PreEscaped, html};

pub(super) use crate::foreign::plain;

/// A length or place in pixels as an attribute; never anything but a number.
pub(super) fn px(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e5, 1e5) } else { 0.0 };
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), String::from)
}

/// Size of names and ticks in pixels; the style sheet says the same.
pub(super) const SIZE: f64 = 12.5;

/// How wide a text of [`SIZE`] is at most in the widest of the usual fonts.
pub(super) fn width(text: &str) -> f64 {
    text.chars().map(advance).sum::<f64>() * SIZE
}

/// Advance in em, from the widths of DejaVu Sans and Verdana, which are wider than most.
fn advance(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '·' | 'I' | 'f' => 0.38,
        't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '"' => 0.46,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        '+' | '=' | '<' | '>' | '~' | '→' => 0.84,
        'a'..='z' | '0'..='9' => 0.645,
        c if c.is_ascii() => 0.74,
        c if (c as u32) < 0x2E80 => 0.8,
        _ => 1.1,
    }
}

/// The text, or as much of its beginning as fits into `room` pixels.
pub(super) fn fitted(text: &str, room: f64) -> String {
    let text = plain(text);
    if width(&text) <= room {
        return text;
    }
    let mut left = room - width("…");
    let begins = |c: &char| {
        left -= advance(*c) * SIZE;
        left >= 0.0
    };
    let kept: String = text.chars().take_while(begins).collect();
    let kept = kept.trim_end();
    if kept.is_empty() { String::new() } else { format!("{kept}…") }
}

/// Which end of a text lies at its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A text on its baseline. `class` is `l` for names, `t` for what is of second rank.
pub(super) fn text(x: f64, y: f64, anchor: Anchor, class: &str, words: &str) -> Markup {
    html! { @if !words.is_empty() { text class=(class) x=(px(x)) y=(px(y)) text-anchor=(anchor.name()) { (plain(words)) } } }
}

/// The same around `x`, moved so that it stays between `left` and `right`.
pub(super) fn centred(
    x: f64,
    y: f64,
    (left, right): (f64, f64),
    class: &str,
    words: &str,
) -> Markup {
    let words = fitted(words, right - left);
    let half = width(&words) / 2.0;
    let x = x.max(left + half).min(right - half);
    text(x, y, Anchor::Middle, class, &words)
}

/// A straight line.
pub(super) fn line(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Markup {
    html! { path class=(class) d={ "M" (px(x1)) " " (px(y1)) "L" (px(x2)) " " (px(y2)) } {} }
}

/// What a pointer over a mark tells.
pub(super) fn hover(words: &str) -> Markup {
    html! { title { (plain(words)) } }
}

/// Number of colours of series, and of shapes.
pub(super) const KINDS: usize = 8;

/// A mark of one of [`KINDS`] shapes around a point.
pub(super) fn shape(kind: usize, x: f64, y: f64, r: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{} {}", px(x + dx * r), px(y + dy * r));
    let closed = |points: &[(f64, f64)]| {
        let points: Vec<String> = points.iter().map(|(dx, dy)| at(*dx, *dy)).collect();
        format!("M{}Z", points.join("L"))
    };
    match kind % KINDS {
        0 => format!(
            "M{}A{r} {r} 0 1 0 {}A{r} {r} 0 1 0 {}Z",
            at(-1.0, 0.0),
            at(1.0, 0.0),
            at(-1.0, 0.0)
        ),
        1 => closed(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => closed(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
        3 => closed(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        4 => closed(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]),
        5 => closed(&[(-1.2, -0.5), (1.2, -0.5), (1.2, 0.5), (-1.2, 0.5)]),
        6 => closed(&[(-0.5, -1.2), (0.5, -1.2), (0.5, 1.2), (-0.5, 1.2)]),
        _ => closed(&[
            (0.0, -1.3),
            (0.4, -0.4),
            (1.3, 0.0),
            (0.4, 0.4),
            (0.0, 1.3),
            (-0.4, 0.4),
            (-1.3, 0.0),
            (-0.4, -0.4),
        ]),
    }
}

/// A picture of a size of its own.
pub(super) struct Drawing {
    pub width: f64,
    pub height: f64,
    pub body: Markup,
}

impl Drawing {
    /// Nothing to draw.
    pub(super) fn empty() -> Drawing {
        Drawing { width: 0.0, height: 0.0, body: PreEscaped(String::new()) }
    }

    /// As SVG that follows the width of the page; `about` is told to those who do not see it.
    pub(super) fn svg(&self, title: &str, about: &str) -> Markup {
        let view = format!("0 0 {} {}", px(self.width), px(self.height));
        html! {
            svg class="plot" viewBox=(view) width=(px(self.width)) height=(px(self.height)) role="img" aria-label=(plain(title)) {
                title { (plain(title)) }
                desc { (plain(about)) }
                (self.body)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_numbers() {
        assert_eq!([1.0, 1.25, f64::NAN, f64::INFINITY].map(px), ["1", "1.2", "0", "0"]);
        assert!((0..KINDS).all(|kind| !shape(kind, 1.0, f64::NAN, 4.0).contains("NaN")));
    }

    #[test]
    fn texts_are_shortened_to_what_fits() {
        assert_eq!(fitted("short", 500.0), "short");
        let long = fitted(&"wide ".repeat(40), 100.0);
        assert!(long.ends_with('…') && width(&long) <= 100.0);
        assert_eq!(fitted("anything", 2.0), "");
        assert_eq!(plain("a\u{0}b"), "a\\u{0}b");
    }
}
