//! Carries out orders between two blocks: the leader's side of `control/orders.rs`.

use hocket_dsp::Event;
use hocket_rt::{RingReader, RingWriter};

use crate::block::bus::EVENTS_A_BLOCK;
use crate::block::leader::Leader;
use crate::control::orders::{Done, Order, Sent};

/// How many orders the leader carries out before one block.
const A_BLOCK: usize = 32;

/// The leader's side.
pub(crate) struct Inbox {
    orders: RingReader<Sent>,
    done: RingWriter<Done>,
    /// Taken out but not carried out: its node has no room for another change in this block.
    held: Option<Sent>,
}

impl Inbox {
    pub(crate) fn new(orders: RingReader<Sent>, done: RingWriter<Done>) -> Inbox {
        Inbox { orders, done, held: None }
    }

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
