//! Random graphs through the compiler, the planners and the rules.
//!
//! `random` makes the graphs, `compiled` checks what the compiler makes of them, `broken` breaks
//! each rule on purpose, `model` runs schedules under chosen interleavings and shows what each
//! rule is for, `large` sees that size alone stops nothing, `events` does all of that with event edges.

mod broken;
mod compiled;
mod costs;
mod events;
mod large;
mod model;
mod random;
