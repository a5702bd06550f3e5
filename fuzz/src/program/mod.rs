//! Targets for parsers inside the program `hocket`. They build all of it, so they are of the feature `program`.

mod http;
mod osc;

use crate::targets::{Target, target};

/// All of them.
pub const TARGETS: [Target; 2] = [target("http", http::check, 64), target("osc", osc::check, 64)];
