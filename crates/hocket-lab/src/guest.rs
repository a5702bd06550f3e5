//! Other programs as workloads: processes that answer one line for each round, and commands that are measured as a whole.
//!
//! A guest's first line says what it is ([`Hello`]). Then each line that it gets is a round ([`Request`]), and each line
//! that it writes is what came of it ([`Answer`]). All are JSON objects. `docs/lab.md` teaches the protocol.
//!
//! - [`Stage`]: a guest that is there for a whole process start, and its turns
//! - [`Conversation`]: the process, its lines and their deadlines
//! - [`command`]: a command that runs once for each turn
//! - [`words`]: a command line as a list of words
//! - [`tools`]: guests that come with the lab, and the compilers that build them
//!
//! # What is believed
//! A guest may print rubbish, hang, or die. So lines are bounded, every wait has an end, a time that is longer than the
//! wait for it is refused, and the guest's process group ends with the process that started it, however that ends
//! ([`hocket_machine::process::GroupEnd`]). What leaves its group stays.

pub mod words;

mod protocol;
mod conversation;
mod stage;

pub mod command;
pub mod tools;

pub use conversation::Conversation;
pub use protocol::{Answer, Hello, Request};
pub use stage::{Stage, Turn};
