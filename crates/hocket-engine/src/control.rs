//! Before and after playing: may allocate, may fail, never inside a block.

pub mod settings;
pub mod seating;
pub mod choose;
pub mod media;
pub mod clip_player;
pub mod prepare;
pub mod engine;
pub mod protect;
pub(crate) mod orders;
pub(crate) mod residence;
pub mod steering;
pub mod learning;
pub mod edit;
pub mod editor;
pub mod graph_editor;
pub(crate) mod auto;
pub(crate) mod autopilot;
