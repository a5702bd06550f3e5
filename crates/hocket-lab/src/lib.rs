//! Harness, statistics, records and reports: from raw samples to figures one can believe.
//!
//! A measurement leaves a [`record`]; [`stats`] says what its samples show and what they do not;
//! [`channels`] searches how many channels hold and says what a run shows of it;
//! [`siblings`] infers who shares a core; [`report`] and, for runs of the lab, [`pages`] print it for
//! the terminal, a browser or a read-me; [`trace_page`] shows the blocks of one run, [`threads_page`] the threads of a
//! program; [`site`] puts all records of some folders together; [`historic`] holds the figures of the experiments that are
//! repeated here; [`provenance`] keeps records from lying about where they come from;
//! [`numbers`] and [`foreign`] make figures and text from elsewhere fit to be shown; [`tune`] derives how to play on
//! this machine; [`guest`] has
//! other programs work for experiments; [`fleet`] writes what schedulers of many machines need to run the lab there.
#![forbid(unsafe_code)]

pub mod bench;
pub mod disturb;
pub mod graphs;
pub mod executors;
pub mod awake;
pub mod about;
pub mod provenance;

pub mod harness;
pub mod store;
pub mod experiments;
pub mod guest;
pub mod patterns;
pub mod tune;
pub mod fleet;

pub mod record;
pub mod channels;
pub use hocket_stats as stats;
pub mod numbers;
mod once;
mod table;
mod lines;
mod page_parts;
pub mod siblings;
pub mod report;
pub mod pages;
pub mod trace_page;
pub mod threads_page;
pub mod site;
pub mod historic;
pub mod foreign;
