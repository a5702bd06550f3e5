//! Colours, once for everything that is drawn.
//!
//! Blue against vermilion carries meaning (in time, late): they stay apart in every common form of
//! colour blindness, and shape or text says the same again. The unit colours are Paul Tol's
//! "light" scheme, made for dark text on filled cells; they are the same in both themes.

/// One theme.
pub(super) struct Theme {
    /// Page.
    pub paper: &'static str,
    /// Panels on the page.
    pub panel: &'static str,
    /// Text.
    pub ink: &'static str,
    /// Text of second rank.
    pub muted: &'static str,
    /// Rules and grids.
    pub line: &'static str,
    /// Distributions and links.
    pub blue: &'static str,
    /// What is late.
    pub late: &'static str,
    /// The wake-up loop and other references.
    pub grey: &'static str,
}

pub(super) const LIGHT: Theme = Theme {
    paper: "#faf9f6",
    panel: "#ffffff",
    ink: "#1c2026",
    muted: "#59616b",
    line: "#dfdcd5",
    blue: "#2a6199",
    late: "#b5400f",
    grey: "#6d7681",
};

pub(super) const DARK: Theme = Theme {
    paper: "#14171b",
    panel: "#1b1f25",
    ink: "#e7e5e0",
    muted: "#a1a9b3",
    line: "#343a42",
    blue: "#86b8e8",
    late: "#f5925f",
    grey: "#929ba6",
};

/// Fills of units, by strip.
pub(crate) const STRIPS: [&str; 9] = [
    "#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00",
    "#dddddd",
];

/// Strips by turns, where orange is the colour of what waits: without the one that looks like it, and the last, which is that of
/// all others.
pub(crate) fn turn(place: usize) -> usize {
    const TURNS: [usize; 7] = [0, 2, 3, 4, 5, 6, 7];
    TURNS[place % TURNS.len()]
}

/// Text on unit fills.
pub(super) const ON_STRIP: &str = "#15181c";

impl Theme {
    /// The theme as custom properties.
    fn properties(&self) -> String {
        format!(
            "--paper:{};--panel:{};--ink:{};--muted:{};--line:{};--blue:{};--late:{};--grey:{}",
            self.paper,
            self.panel,
            self.ink,
            self.muted,
            self.line,
            self.blue,
            self.late,
            self.grey
        )
    }
}

/// The light theme as `--name:value` separated by semicolons, for pictures that cannot follow the reader's choice.
pub(crate) fn light() -> String {
    format!("{};--on-strip:{ON_STRIP}", LIGHT.properties())
}

/// The fills of strips as rules of a style sheet.
pub(crate) fn strips() -> String {
    let rule = |(at, fill): (usize, &&str)| format!(".fill.s{at}{{fill:{fill}}}");
    STRIPS.iter().enumerate().map(rule).collect()
}

/// Both themes as a style sheet: the system's choice, unless the reader chose one.
pub(crate) fn css() -> String {
    let (light, dark) = (LIGHT.properties(), DARK.properties());
    let strips = strips();
    format!(
        ":root{{color-scheme:light dark;{light}}}\
         @media(prefers-color-scheme:dark){{:root{{{dark}}}}}\
         :root:has(#theme-light:checked){{color-scheme:light;{light}}}\
         :root:has(#theme-dark:checked){{color-scheme:dark;{dark}}}\
         :root{{--on-strip:{ON_STRIP}}}{strips}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = u8::from_str_radix(&colour[at..at + 2], 16).expect("a hex colour");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_stands_out_in_both_themes() {
        for theme in [LIGHT, DARK] {
            for ground in [theme.paper, theme.panel] {
                for text in [theme.ink, theme.muted, theme.blue, theme.late] {
                    assert!(
                        contrast(text, ground) >= 4.5,
                        "{text} on {ground}: {}",
                        contrast(text, ground)
                    );
                }
                assert!(contrast(theme.grey, ground) >= 3.0);
            }
        }
    }

    #[test]
    fn unit_names_stand_out_on_their_fills() {
        for fill in STRIPS {
            assert!(contrast(ON_STRIP, fill) >= 4.5, "{fill}");
        }
    }
}
