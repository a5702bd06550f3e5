//! Orders from control threads to the leader, and what comes back: the control side.
//!
//! Orders go through a ring to the leader, which carries them out between two blocks
//! (`leader/inbox.rs`) and sends each back with the frame at which it took effect. What an order replaced
//! comes back with it, so the leader frees nothing.

use hocket_rt::{Ring, RingReader, RingWriter};

use crate::block::command_places::CommandPlaces;
use crate::leader::inbox::Inbox;
use crate::leader::order::{Done, Order, Sent};

/// How many orders may be under way.
const RING: usize = 256;

/// Both ends of both rings.
pub(crate) fn rings() -> (Outbox, Inbox) {
    let (orders, taken) = Ring::new(RING);
    // Every order on its way or carried out has a place here, so that the leader never has to keep one.
    let (done, carried_out) = Ring::new(2 * RING);
    let places = CommandPlaces::default();
    (Outbox { orders, carried_out, places, sent: 0, back: 0 }, Inbox::new(taken, done))
}

/// The control side.
pub(crate) struct Outbox {
    orders: RingWriter<Sent>,
    carried_out: RingReader<Done>,
    /// For commands that wait for their frame.
    pub(crate) places: CommandPlaces,
    sent: u64,
    back: u64,
}

impl Outbox {
    /// Sends an order; gives it back if too many are under way.
    pub(crate) fn send(&mut self, order: Order) -> Result<u64, Order> {
        if self.sent - self.back >= RING as u64 {
            return Err(order);
        }
        let number = self.sent;
        match self.orders.push(Sent { number, order }) {
            Ok(()) => {
                self.sent += 1;
                Ok(number)
            }
            Err(sent) => Err(sent.order),
        }
    }

    /// The next completed order; frees what it replaced.
    pub(crate) fn next_done(&mut self) -> Option<(u64, u64)> {
        let done = self.carried_out.pop()?;
        self.back += 1;
        Some((done.number, done.frame))
    }

    /// Whether every order is completed and collected.
    pub(crate) fn is_settled(&self) -> bool {
        self.sent == self.back
    }
}
