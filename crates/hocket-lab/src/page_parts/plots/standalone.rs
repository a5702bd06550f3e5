//! A picture as a file that needs nothing else: title, legend and caption are drawn, and colours are
//! written out, since programs that show SVG files in a read-me know neither style sheets of pages nor
//! custom properties. The ground is light and opaque, so that it can be read on a dark page as well.

use maud::{Markup, PreEscaped, html};

use super::ink::{Anchor, SIZE, fitted, plain, px, shape, text, width};
use super::{Drawn, Key, heat_css};
use crate::page_parts::palette::{light, strips};

const EDGE: f64 = 20.0;
const LINE: f64 = 17.0;
/// Titles are larger and bold, captions smaller than what [`width`] measures.
const TITLE: f64 = 16.0 / SIZE * 1.1;
const CAPTION: f64 = 11.5 / SIZE;
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif";
const SHEET: &str = include_str!("../plots.css");

impl Drawn {
    /// The picture as an SVG file with these sentences below it; `from` is the command that writes it.
    pub(crate) fn file(&self, from: &str, caption: &str) -> String {
        let inner = self.wide.width.max(super::Room::Wide.width());
        let title = wrapped(&self.title, inner / TITLE);
        let caption = wrapped(caption, inner / CAPTION);
        let legend = flow(&self.legend, inner);
        let top = EDGE + title.len() as f64 * 20.0 + 8.0;
        let keys = top + self.wide.height + 8.0;
        let rows = legend.last().map_or(0.0, |(_, row, _)| *row as f64 + 1.0);
        let words = keys + rows * 20.0 + 12.0;
        let height = words + caption.len() as f64 * LINE + EDGE - 8.0;
        let page = Size { width: inner + 2.0 * EDGE, height };
        let body = html! {
            @for (at, line) in title.iter().enumerate() { (text(EDGE, EDGE + 12.0 + 20.0 * at as f64, Anchor::Start, "h", line)) }
            g transform={ "translate(" (px(EDGE)) " " (px(top)) ")" } { (self.wide.body) }
            @for (x, row, key) in &legend { (entry(EDGE + x, keys + 20.0 * *row as f64, key)) }
            @for (at, line) in caption.iter().enumerate() { (text(EDGE, words + 4.0 + LINE * at as f64, Anchor::Start, "cap", line)) }
        };
        page.svg(from, &self.title, &format!("{} {}", self.about(), caption.join(" ")), &body)
    }
}

struct Size {
    width: f64,
    height: f64,
}

impl Size {
    fn svg(&self, from: &str, title: &str, about: &str, body: &Markup) -> String {
        let (w, h) = (px(self.width), px(self.height));
        let picture = html! {
            svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox={ "0 0 " (w) " " (h) } width=(w) height=(h) role="img" data-from=(from) font-family=(FONTS) {
                title { (plain(title)) }
                desc { (plain(about)) }
                style { (PreEscaped(colours(&body.0))) }
                rect class="ground" width=(w) height=(h) {}
                (body)
            }
        };
        picture.into_string() + "\n"
    }
}

fn entry(x: f64, y: f64, key: &Key) -> Markup {
    html! {
        path class=(key.class) d=(shape(key.kind, x + 8.0, y, 5.0)) {}
        (text(x + 20.0, y + 4.5, Anchor::Start, "t", &plain(&key.words)))
    }
}

/// The keys with their places in rows of this width.
fn flow(keys: &[Key], room: f64) -> Vec<(f64, usize, &Key)> {
    let (mut x, mut row) = (0.0, 0);
    let mut placed = Vec::new();
    for key in keys {
        let wide = 20.0 + width(&key.words) + 16.0;
        if x > 0.0 && x + wide > room {
            (x, row) = (0.0, row + 1);
        }
        placed.push((x, row, key));
        x += wide;
    }
    placed
}

/// Lines that are no wider than `room`, broken between words; words that are wider are cut.
fn wrapped(words: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in plain(words).split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match longer.filter(|line| width(line) <= room) {
            Some(line) => *lines.last_mut().expect("there is a last line") = line,
            None => lines.push(fitted(word, room)),
        }
    }
    lines
}

/// The rules that a picture needs, with colours in place of their names.
fn colours(body: &str) -> String {
    let series = SHEET.split_once(":root{").and_then(|(_, rest)| rest.split_once('}'));
    let names = format!("{};{}", light(), series.map_or("", |(names, _)| names));
    let for_pictures =
        |line: &&str| [".plot ", ".line.", ".ribbon."].iter().any(|start| line.starts_with(start));
    let mut rules: String = SHEET.lines().filter(for_pictures).collect();
    if body.contains("class=\"h0\"") {
        rules += &heat_css();
    }
    if body.contains("class=\"fill s") {
        rules += &strips();
    }
    rules += ".ground{fill:var(--paper)}.plot .h{fill:var(--ink);font-size:16px;font-weight:600}\
              .plot .cap{fill:var(--muted);font-size:11.5px}";
    let named = names.split(';').filter_map(|pair| pair.split_once(':'));
    named.fold(rules, |rules, (name, value)| rules.replace(&format!("var({name})"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_colour_is_left_to_a_page() {
        let rules = colours("class=\"h0\"");
        assert!(!rules.contains("var(") && !rules.contains('<') && rules.contains(".h31{"));
        assert!(rules.contains(".line.c0{stroke:#2a6199}") && !colours("").contains(".h31{"));
    }

    #[test]
    fn long_words_are_broken_and_cut() {
        let lines = wrapped(&format!("{} {}", "word ".repeat(50), "x".repeat(500)), 300.0);
        assert!(lines.len() > 3 && lines.iter().all(|line| width(line) <= 300.0), "{lines:?}");
        assert!(wrapped("", 10.0).is_empty());
    }
}
