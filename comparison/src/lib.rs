//! The lab's five graphs on rayon, oneTBB and OpenMP, beside Hocket's engine and the serial walk, in
//! one run; and Hocket's side of the comparison with audio servers.
//!
//! Reading order: [`network`] is the memory and the work of a graph, [`cells`] the same where many
//! threads share it; [`walks`] runs it serially and level by level in safe code; [`countdown`] runs
//! it as a rayon task a ready node; [`native`] hands it to C++; [`seats`], [`pool`] and [`rivals`] put everybody's
//! threads where Hocket's sit; [`executor`] puts them all behind one call; [`measure`] lets them take
//! turns, [`spinning`] says how long OpenMP's threads spin and [`idle`] whether anybody's threads do
//! between blocks; [`figures`], [`table`] and [`record`] say what came out. [`voices`] stands alone.
//!
//! What is and what is not compared stands in the package's README.
#![deny(unsafe_code)]

pub mod network;
#[allow(unsafe_code)]
pub mod cells;
pub mod walks;
#[allow(unsafe_code)]
pub mod countdown;
#[allow(unsafe_code)]
pub mod native;
pub mod seats;
pub mod pool;
pub mod rivals;
pub mod setup;
pub mod spinning;
pub mod idle;
pub mod executor;
pub mod measure;
pub mod figures;
pub mod table;
pub mod record;
pub mod options;
pub mod voices;
