//! Control threads, before, beside and after playing: may allocate, wait and fail. Functions that the leader calls say so.

pub mod settings;
pub mod seating;
pub mod choose_sibling_policy;
pub mod clip_streams;
pub mod media;
pub mod prepare;
pub mod start;
pub mod engine;
pub mod protect;
pub mod follow;
pub(crate) mod memory_lock;
pub(crate) mod orders;
pub mod handle;
pub(crate) mod planner;
pub(crate) mod regular_thread;
pub mod measured_costs;
pub(crate) mod choose_schedule;
pub mod automation;
pub mod background;
pub mod main_thread;
pub mod states;
pub mod lost_events;
pub mod edit;
pub mod editor;
pub mod graph_editor;
pub(crate) mod transition;
