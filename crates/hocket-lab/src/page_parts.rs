//! What all pages are made of: colours, style sheet, head, plots. The pages of benches ([`crate::report`]), of the lab
//! ([`crate::pages`]), of traces ([`crate::trace_page`]) and of a site ([`crate::site`]) have no scale, picture or colour of
//! their own. How figures and tables are written is in [`crate::numbers`] and `table.rs`, because terminals need it, too.

pub(crate) mod palette;
pub(crate) mod plots;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// The style of pages without plots.
pub(crate) const PLAIN_STYLE: &str = include_str!("page_parts/style.css");

/// The style of all others, and of pictures.
pub(crate) const STYLE: &str =
    concat!(include_str!("page_parts/style.css"), include_str!("page_parts/plots.css"));

/// The head of a page that loads nothing. `scripts` is what the browser may run, as a directive of its policy.
pub(crate) fn head(title: &str, scripts: &str, styles: &[&str]) -> Markup {
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; {scripts}img-src data:; base-uri 'none'; form-action 'none'"
    );
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width,initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            link rel="icon" href="data:,";
            meta name="generator" content="Hocket";
            style { (PreEscaped(palette::css())) @for style in styles { (PreEscaped(style)) } }
        }
    }
}

/// What every page has directly before its style. Text between title and page cannot be the same: its `<` is escaped.
const MARK: &str =
    r#"<link rel="icon" href="data:,"><meta name="generator" content="Hocket"><style>"#;

/// Whether a file that begins with these bytes is a page with this `head`. 4096 bytes are enough.
pub fn is_page(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let first_style = text.find("<style").filter(|_| text.starts_with("<!DOCTYPE html><html "));
    let mark_at = text.find(MARK).map(|at| at + MARK.len() - "<style>".len());
    first_style.is_some() && first_style == mark_at
}

/// What a page with this [`head`] begins with, to the end of its policy. The browser applies the policy to all that follows.
pub(crate) fn policy_first(scripts: &str) -> String {
    let page = html! { (DOCTYPE) html lang="en" { (head("", scripts, &[])) } }.into_string();
    let policy = page.find("<meta name=\"viewport\"").expect("the head has it after its policy");
    page[..policy].into()
}

/// A choice that works without scripts; the first one is chosen.
pub(crate) fn choice(name: &str, legend: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        fieldset.choice {
            legend.vh { (legend) }
            @for (at, (value, words)) in options.iter().enumerate() {
                @let id = format!("{name}-{value}");
                input type="radio" name=(name) id=(id) checked[at == 0];
                label for=(id) { (words) }
            }
        }
    }
}

/// What lets the browser run a script and no other, as a source of its policy.
pub(crate) fn script_source(script: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(script.as_bytes())))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let six = bits >> (18 - 6 * at) & 63;
            out.push(if at <= three.len() { char::from(BASE64[six as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_known_by_its_mark_at_its_place() {
        let page = |title: &str| {
            html! { (DOCTYPE) html lang="en" { (head(title, "", &[])) } }.into_string()
        };
        let titles = ["", "mine", "<style>", MARK];
        assert!(titles.iter().all(|title| is_page(page(title).as_bytes())));
        let mine = format!("<!DOCTYPE html><html lang=\"en\"><style></style><pre>{MARK}</pre>");
        let quoted =
            "<!DOCTYPE html><html lang=\"en\">name=\"generator\" content=\"Hocket\"<style>";
        for other in [mine.as_str(), quoted, MARK, "<!DOCTYPE html><html lang=\"en\">", ""] {
            assert!(!is_page(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let coded = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (text, coded) in texts.iter().zip(coded) {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }
}
