//! Records made readable: for the terminal, a browser, a read-me.
//!
//! All three draw from one [`Analysis`], so they cannot disagree, and the analysis draws from the
//! record alone, so a report can be made again years later on another machine.
//!
//! The page of [`html`] needs nothing but itself: no network, no fonts, no scripts from elsewhere
//! (a content security policy in it says so to the browser). It can be read without scripts;
//! they remember the theme and copy the command.

mod analysis;
mod baseline;
mod causes;
mod counters;
mod kind_counters;
mod distributions;
mod machine;
mod method;
mod page;
mod speeds;
mod tables;
mod text;
mod timeline;
mod verdict;

pub use crate::page_parts::is_page;
pub use analysis::{Analysis, Judgement, Measured, Row, Turns, Wake};
pub use baseline::{Baseline, MAX_SLOWER, Misfit, baseline_misfit};
pub use page::{html, svg_comparison};
pub use text::text_table;

/// The colours of both themes as a style sheet, for other pages of the family: the system's choice, unless an element with
/// the id `theme-light` or `theme-dark` is checked.
pub fn theme_css() -> String {
    crate::page_parts::palette::css()
}

/// Parts that the pages of the lab use as well.
pub(crate) mod shared {
    pub(crate) use super::analysis::{any, round_figures};
    pub(crate) use super::baseline::{fact, incomparable, usable};
    pub(crate) use super::machine::{facts, grants, seats as topology};
    pub(crate) use super::page::html_with;
}

pub use verdict::{Headline, Holding};
