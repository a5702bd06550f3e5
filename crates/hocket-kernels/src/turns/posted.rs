//! Ways in which the turn itself is sent: semaphores, eventfds, pipes. Each side has a box of its own
//! and sleeps until something is in it.

use std::io;

use hocket_rt::Padded;

use super::table::{Over, Side, Table};
use crate::sys::{Channel, Semaphore};

/// What can be posted to.
pub(super) trait Post: Sync + Sized {
    fn put(&self);
    fn take(&self);
}

impl Post for Semaphore {
    fn put(&self) {
        self.post();
    }

    fn take(&self) {
        self.wait();
    }
}

impl Post for Channel {
    fn put(&self) {
        Channel::put(self);
    }

    fn take(&self) {
        Channel::take(self);
    }
}

/// A box for each side. A begins with something in it.
pub(super) struct Posted<P> {
    boxes: [P; 2],
    over: Padded<Over>,
}

impl<P: Post> Posted<P> {
    pub(super) fn new(make: impl Fn() -> io::Result<P>) -> io::Result<Posted<P>> {
        let boxes = [make()?, make()?];
        boxes[0].put();
        Ok(Posted { boxes, over: Padded(Over::default()) })
    }

    fn of(&self, side: Side) -> &P {
        match side {
            Side::A => &self.boxes[0],
            Side::B => &self.boxes[1],
        }
    }
}

impl<P: Post> Table for Posted<P> {
    fn await_turn(&self, side: Side) -> bool {
        self.of(side).take();
        // What the timekeeper posts looks like a turn; whoever takes it sees the flag.
        !self.over.is()
    }

    fn hand_over(&self, side: Side) {
        self.of(side.other()).put();
    }

    fn stop(&self) {
        self.over.set();
        self.of(Side::A).put();
        self.of(Side::B).put();
    }
}
