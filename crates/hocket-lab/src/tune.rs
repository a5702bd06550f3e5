//! The machine profile: what the lab's records say about how to play on this machine.
//!
//! `hocket tune` measures what is missing, derives a [`Profile`] and writes it as TOML; `bench`,
//! `play` and `render` take their defaults from it for as long as its [`Conditions`] hold.

mod conditions;
mod derive;
mod profile;
mod recommend;
mod waits;

pub use conditions::Conditions;
pub use derive::{EXPERIMENTS, Evidence, derive};
pub use profile::{
    PROFILE_MARK, Pairs, Profile, ProfileError, Recommended, Seat, Together, Undecided, WaitCost,
};

#[cfg(test)]
mod tests;
