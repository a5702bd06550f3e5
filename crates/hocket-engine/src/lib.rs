//! Workers, the block runner, deadline accounting and devices.
//!
//! The tree tells which thread runs when. `control/` runs before and after playing and may
//! allocate and fail; `block/` runs inside a block, on the leader and the workers, and does
//! neither: no allocation, no lock, no system call but a wake or a true wait at the edges of the
//! block, which are counted. `device/` calls the leader.
//!
//! Reading order: [`Settings`] and [`Seating`] say what is wanted and who sits where;
//! [`Engine::start`] takes a [`hocket_plan::VerifiedSchedule`] and one processor a node and starts
//! the workers; [`VirtualDevice`] or [`offline`] then asks for block after block.
#![deny(unsafe_code)]

pub mod catalogue;
pub mod control;
#[allow(unsafe_code)]
mod block;
mod worker;
mod watch;
pub mod device;
pub mod flight;
#[cfg(feature = "sentry")]
#[allow(unsafe_code)]
pub mod sentry;

pub use block::times::{BlockTimes, WorkerTotals};
pub use catalogue::BuiltinEffects;
pub use control::edit::{Edit, EditError, EffectAt};
pub use control::editor::{Applied, Editor};
pub use control::engine::{Engine, EngineError, Entered};
pub use control::media::{MediaPool, StereoAudio};
pub use control::prepare::{Prepared, prepare_session, session_end_frames};
pub use control::seating::{Seating, seats_of};
pub use control::settings::{Policy, Settings, SettingsError, Steer};
pub use control::steering::{Control, ControlError, Standing, UnitCost};
pub use device::offline;
pub use device::virtual_device::VirtualDevice;
pub use flight::{Flight, FlightDrain, FlightLog, FlightRecorder, FlightSettings};
pub use hocket_rt::Strategy;
pub use worker::{LeaderSeat, ThreadReport, settle_leader};
