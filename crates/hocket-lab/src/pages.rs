//! A run of the lab made readable: for a browser and for the terminal.
//!
//! Both draw from one [`Lab`], so they cannot disagree, and that draws from the record alone, so a
//! report can be made again years later on another machine.
//!
//! # The parts
//! | part | what it does |
//! |---|---|
//! | `lab.rs`, `chapter.rs`, `figures.rs`, `compared.rs` | what the rows show, computed once |
//! | `page.rs`, `summary.rs`, `ground.rs`, `section.rs` | the page |
//! | `tables.rs` | what a page and a terminal say in tables |
//! | `text.rs` | the same for a terminal |
//! | `short.rs` | the same for one screen |
//! | `pictures.rs` | every plot as a file of its own |
//!
//! # Limits
//! The page needs nothing but itself: no network, no fonts, no scripts. Pictures are drawn twice, for
//! a desk and for a phone, and the style sheet shows one of them; a picture that does not become
//! readable on a phone scrolls there. Nothing here judges: what is shown and what is not is said by
//! [`crate::harness::Results`] and the experiments.

mod lab;
mod chapter;
mod nearest;
mod figures;
mod compared;

mod page;
mod summary;
mod ground;
mod section;

mod tables;
mod text;
mod short;

mod pictures;

use crate::page_parts::plots;

pub use chapter::{Chapter, ThenNow, beside};
pub use figures::{Over, VariantFigure, VariantTable};
pub use lab::{Flagged, Lab};
pub use nearest::Today;
pub use page::html;
pub(crate) use page::html_with;
pub use pictures::{Picture, pictures};
pub use short::short;
pub use text::text;
