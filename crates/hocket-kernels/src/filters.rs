//! Filters over an image in several parts.
//!
//! The example of the article of 2003 on Hyper-Threading: a filter that looks at one pixel can be split anywhere; one
//! that looks at neighbours must not overwrite what they still read; and one of several stages needs that all have
//! finished a stage before anybody begins the next, or that each part computes the margin that it needs by itself.

mod image;

mod stage;

mod split;

pub use image::Image;
pub use split::{Filtered, Split, filter};
pub use stage::Filter;
