//! The lab's five graphs on rayon, beside Hocket's engine and the serial walk, in one run.
//!
//! Reading order: [`network`] is the memory and the work of a graph; [`walks`] runs it serially and
//! level by level in safe code; [`countdown`] runs it as a rayon task a ready node; [`pool`] starts
//! rayon's threads where Hocket's sit; [`executor`] puts all four behind one call; [`measure`]
//! lets them take turns; [`figures`], [`table`] and [`record`] say what came out.
//!
//! What is and what is not compared stands in the package's README.
#![deny(unsafe_code)]

pub mod network;
pub mod walks;
#[allow(unsafe_code)]
pub mod countdown;
pub mod pool;
pub mod setup;
pub mod executor;
pub mod measure;
pub mod figures;
pub mod table;
pub mod record;
pub mod options;
