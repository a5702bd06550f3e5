//! What the pages of the site share: head, way to the others, foot.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::INDEX;
use super::entry::Entry;
use crate::foreign::plain;
use crate::page_parts::{STYLE, choice, head, script_source};

const OWN_STYLE: &str = include_str!("style.css");

/// Remembers the colours, as the pages of the records do.
const THEME_SCRIPT: &str = include_str!("theme.js");

/// A page of the site that is none of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Index,
    Trends,
    Capacity,
    Compare,
    /// One of many, to which the others lead.
    Within,
}

impl Place {
    const NAMED: [Place; 4] = [Place::Index, Place::Trends, Place::Capacity, Place::Compare];

    /// The name of its file.
    pub(super) fn file(self) -> &'static str {
        match self {
            Place::Index | Place::Within => INDEX,
            Place::Trends => "trends.html",
            Place::Capacity => "capacity.html",
            Place::Compare => "compare.html",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Place::Index | Place::Within => "Records",
            Place::Trends => "Trends",
            Place::Capacity => "Capacity",
            Place::Compare => "Compare two",
        }
    }
}

/// A page before it is text.
pub(super) struct Page<'a> {
    pub(super) place: Place,
    pub(super) title: &'a str,
    /// Below the title.
    pub(super) setting: Markup,
    pub(super) body: Markup,
    /// A script of its own, with the data that it reads as JSON.
    pub(super) script: Option<(&'static str, String)>,
}

impl Page<'_> {
    pub(super) fn text(self) -> String {
        let own = self.script.as_ref().map(|(script, _)| script_source(script));
        let sources = [Some(script_source(THEME_SCRIPT)), own];
        let sources = sources.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let title = plain(self.title);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&format!("{title} – hocket report"), &format!("script-src {sources}; "), &[STYLE, OWN_STYLE]))
                body {
                    header {
                        p.brand { "Hocket report" }
                        (choice("theme", "Colours", &[("auto", "auto"), ("light", "light"), ("dark", "dark")]))
                        h1 { (title) }
                        p.setting { (self.setting) }
                        (ways(self.place))
                    }
                    main { (self.body) }
                    footer { "Made by hocket " (env!("CARGO_PKG_VERSION")) " from the records alone. The pages of this site load nothing." }
                    @if let Some((script, data)) = self.script {
                        script type="application/json" id="data" { (PreEscaped(data)) }
                        script { (PreEscaped(script)) }
                    }
                    script { (PreEscaped(THEME_SCRIPT)) }
                }
            }
        };
        page.into_string()
    }
}

/// The way to the other pages.
fn ways(here: Place) -> Markup {
    html! {
        nav.contents aria-label="Pages of this site" {
            ul {
                @for place in Place::NAMED {
                    li { a href=(place.file()) aria-current=[(place == here).then_some("page")] { (place.title()) } }
                }
            }
        }
    }
}

/// The way from the page of a record to the others.
pub(super) fn way_back() -> Markup {
    ways(Place::Within)
}

/// The page of a record that has no page elsewhere.
pub(super) fn record_page(entry: &Entry, body: &Markup) -> String {
    let page = Page {
        place: Place::Within,
        title: &entry.subject,
        setting: html! { (entry.kind) " · " (entry.machine.name) " · " (entry.date()) " · hocket " (entry.program) },
        body: html! {
            div.verdict.unsure { p { (plain(&entry.finding)) } @for remark in &entry.remarks { p.small { (remark) } } }
            p.note { "From " (plain(&entry.shown)) "." }
            (body)
        },
        script: None,
    };
    page.text()
}

/// JSON that is fit to stand in a `script` element: nothing in it ends that element.
pub(super) fn in_script(json: &serde_json::Value) -> String {
    crate::foreign::json(&json.to_string()).replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_script() {
        let text = in_script(&serde_json::json!({ "name": "</script><b>\u{202e}" }));
        assert!(!text.contains('<') && !text.contains('\u{202e}'), "{text}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["name"],
            "</script><b>\u{202e}"
        );
    }
}
