//! The dashboard: a picture of the run on the terminal, and keys that steer it.
//!
//! A thread of its own reads keys and draws. It shares relaxed numbers with the leader and nothing else, and writes to
//! the terminal only as fast as that takes it, so a terminal that stands still holds nothing up.

mod keys;
mod picture;
mod screen;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossterm::event;

use super::steering::Steering;
use super::view::View;
use crate::failure::Exit;
use crate::output::last_held;
use keys::Asked;
pub(crate) use screen::leave;
pub(super) use screen::{Screen, is_possible};

/// How often it draws.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Draws and listens until the run ends. `stop` ends it as Ctrl-C does.
pub(super) fn run(mut screen: Screen, mut view: View<'_>, stop: &AtomicBool) {
    let (mut drawn, mut shows_help): (Option<Instant>, bool) = (None, false);
    while !view.live().has_ended() {
        if drawn.is_none_or(|at| at.elapsed() >= DRAW_EVERY) {
            drawn = Some(Instant::now());
            let mut shown = view.look();
            if let Some(warning) = last_held() {
                shown.message = warning.trim_end().to_string();
            }
            screen.draw(|frame| picture::draw(&shown, shows_help, frame));
        }
        let Some(asked) = next_key() else { continue };
        match asked {
            Asked::Help => shows_help = !shows_help,
            Asked::Redraw => screen.forget(),
            Asked::Interrupt => interrupt(stop),
            asked => obey(asked, &mut view),
        }
        drawn = None;
    }
}

/// What was asked for within a short time. A terminal that gives no keys is a picture only.
fn next_key() -> Option<Asked> {
    match event::poll(DRAW_EVERY / 2) {
        Ok(true) => event::read().ok().and_then(|event| keys::asked(&event)),
        Ok(false) => None,
        Err(_) => {
            std::thread::sleep(DRAW_EVERY);
            None
        }
    }
}

fn obey(asked: Asked, view: &mut View<'_>) {
    match asked {
        Asked::PlayOrStop => view.steer(Steering::play_or_stop),
        Asked::Bars(bars) => view.steer(|run| run.locate_by(bars)),
        Asked::Start => view.steer(|run| run.locate(0)),
        Asked::Loop => view.steer(Steering::loop_or_not),
        Asked::Schedule => view.steer(Steering::next_schedule),
        Asked::Wait => view.steer(Steering::next_wait),
        Asked::Spans => view.steer(Steering::next_spans),
        Asked::Plan => view.steer(Steering::replan),
        Asked::Policy => view.steer(Steering::next_policy),
        Asked::EndNotes => view.steer(Steering::end_notes),
        Asked::Quit => view.steer(Steering::quit),
        Asked::Help | Asked::Redraw | Asked::Interrupt => {}
    }
}

/// In this mode of the terminal, Ctrl-C is a key. The second one ends the process at once, as elsewhere.
fn interrupt(stop: &AtomicBool) {
    if stop.swap(true, Relaxed) {
        leave();
        std::process::exit(i32::from(Exit::Interrupted.code()));
    }
}
