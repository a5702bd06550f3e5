//! The engine's behaviour from outside: what it refuses, that every block completes, that it
//! forgets, ends and gives back what it took. A test binary of its own, because threads are
//! counted and moved by process.

mod stage;
#[path = "../common/clicks.rs"]
mod clicks;

mod admission;
mod automation;
mod blocks;
mod clips;
mod devices;
mod early;
mod edit_pairs;
mod editing;
mod fades;
mod flight;
mod foreign_leaders;
mod leaders;
mod life;
mod notes;
mod one_cpu;
mod panics;
mod plan_times;
mod refusals;
mod song;
mod steering;
mod transport;
