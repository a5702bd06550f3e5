//! Inside a block: the leader and the workers, and nothing that could make them wait for the system. Functions that control
//! threads or the leader between blocks call say so.

pub(crate) mod bus;
pub(crate) mod command_places;
pub(crate) mod delay;
pub(crate) mod before;
pub(crate) mod events;
pub(crate) mod fade;
mod port;
pub(crate) mod now;
pub(crate) mod spread;
pub(crate) mod work;
pub(crate) mod lanes;
mod memory;
mod rows;
mod ring;
mod heard;
mod sum;
pub(crate) mod abreast;
pub mod cascades;
pub mod clip_source;
pub(crate) mod clip_times;
pub mod clip_cue;
pub mod stereo_audio;
pub mod audio_parts;
pub mod clip_player;
pub mod note_player;
pub(crate) mod event_relay;
pub(crate) mod fetch;
pub(crate) mod costs;
pub(crate) mod plan;
mod cpu_time;
pub(crate) mod probe;
pub(crate) mod part_counts;
pub(crate) mod stamps;
pub(crate) mod waits;
pub(crate) mod runner;
pub(crate) mod walk;
pub(crate) mod leader;
pub mod times;
pub(crate) mod joined;
pub mod node;
#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
