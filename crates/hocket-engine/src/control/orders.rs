//! From control threads to the leader and back: what is to change, and what has changed when.
//!
//! Orders go through a ring to the leader, who carries them out between two blocks and sends each back
//! with the frame at which it took effect. What an order replaced comes back with it, so nothing is
//! freed on the leader.

use std::sync::Arc;

use hocket_dsp::{Change, Event};
use hocket_rt::{Ring, RingReader, RingWriter};

use crate::block::bus::{EVENTS_A_BLOCK, NodeCell};
use crate::block::leader::Leader;
use crate::block::plan::Plan;

/// How many orders may be on their way.
const RING: usize = 256;
/// How many the leader carries out before one block.
const A_BLOCK: usize = 32;

/// What the leader is to do before one block, all of it or nothing.
#[derive(Default)]
pub(crate) struct Order {
    /// Go on with another plan.
    pub plan: Option<Box<Plan>>,
    /// Change parameters of nodes, in this order.
    pub changes: Vec<(Arc<NodeCell>, Change)>,
}

/// An order on its way.
pub(crate) struct Sent {
    pub number: u64,
    pub order: Order,
}

/// An order carried out.
pub(crate) struct Done {
    pub number: u64,
    /// Frames since the start at which it took effect.
    pub frame: u64,
    /// What is not needed any more; freed by whoever takes this out of the ring.
    _retired: Order,
}

/// Both ends of both rings.
pub(crate) fn rings() -> (Outbox, Inbox) {
    let (orders, taken) = Ring::new(RING);
    // Every order on its way or carried out has a place here, so that the leader never has to keep one.
    let (done, carried_out) = Ring::new(2 * RING);
    (Outbox { orders, carried_out, sent: 0, back: 0 }, Inbox { orders: taken, done, held: None })
}

/// The control side.
pub(crate) struct Outbox {
    orders: RingWriter<Sent>,
    carried_out: RingReader<Done>,
    sent: u64,
    back: u64,
}

impl Outbox {
    /// Sends an order; gives it back where too many are on their way.
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

    /// The next order that was carried out; frees what it replaced.
    pub(crate) fn next_done(&mut self) -> Option<(u64, u64)> {
        let done = self.carried_out.pop()?;
        self.back += 1;
        Some((done.number, done.frame))
    }

    /// Whether every order was carried out and looked at.
    pub(crate) fn is_settled(&self) -> bool {
        self.sent == self.back
    }
}

/// The leader's side.
pub(crate) struct Inbox {
    orders: RingReader<Sent>,
    done: RingWriter<Done>,
    /// Taken out but not carried out: its node has no room for another change in this block.
    held: Option<Sent>,
}

impl Inbox {
    /// Carries out what has come, in order; returns how many orders.
    ///
    /// Thread: leader, between blocks. No allocation, no lock, nothing freed; a system call where a plan
    /// needs more workers than the last.
    pub(crate) fn carry_out(&mut self, leader: &mut Leader, frame: u64) -> u32 {
        let mut count = 0;
        for _ in 0..A_BLOCK {
            let Some(Sent { number, order }) = self.held.take().or_else(|| self.orders.pop())
            else {
                break;
            };
            match apply(order, leader, frame) {
                Ok(retired) => {
                    count += 1;
                    // There is room for all that can be on their way; see `rings`.
                    let _ = self.done.push(Done { number, frame, _retired: retired });
                }
                Err(order) => {
                    self.held = Some(Sent { number, order });
                    break;
                }
            }
        }
        count
    }
}

/// Returns what is to be freed elsewhere, or the order if it has to wait for the next block.
fn apply(mut order: Order, leader: &mut Leader, frame: u64) -> Result<Order, Order> {
    // The most that any node could get is all of them, so a long order waits for empty ones.
    let room = EVENTS_A_BLOCK.saturating_sub(order.changes.len().min(EVENTS_A_BLOCK));
    if order.changes.iter().any(|(node, _)| leader.node_mut(node).events.len() > room) {
        return Err(order);
    }
    if let Some(plan) = order.plan.take() {
        order.plan = Some(leader.exchange(plan, frame));
    }
    for (node, change) in &order.changes {
        let events = &mut leader.node_mut(node).events;
        if events.len() < EVENTS_A_BLOCK {
            events.push(Event { frame: 0, change: *change });
        }
    }
    Ok(order)
}
