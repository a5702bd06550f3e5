//! Carries out orders between two blocks: the leader's side of `control/orders.rs`.
//!
//! Orders take effect in the order in which they were sent, none overtakes another, and nothing of them is
//! lost: they are edits of one session, and a replay of [`crate::Applied`] gives the same sound. An order
//! takes effect before one block as a whole. The exception is one with more changes for a node than a
//! block takes ([`EVENTS_A_BLOCK`]): the rest of it follows before the next blocks, and later orders wait.

use hocket_dsp::TimedChange;
use hocket_rt::{RingReader, RingWriter};

use super::order::{Done, Order, Sent};
use crate::block::lanes::EVENTS_A_BLOCK;
use crate::block::leader::Leader;
use crate::block::node::Exchange;

/// How many orders the leader carries out before one block, besides those that [`Order::is_unheard`] marks.
const A_BLOCK: usize = EVENTS_A_BLOCK;

/// The leader's side.
pub(crate) struct Inbox {
    orders: RingReader<Sent>,
    done: RingWriter<Done>,
    /// Taken out but not carried out to its end: a node has no room for another change in this block.
    held: Option<Taken>,
}

/// An order that the leader has taken out of the ring.
struct Taken {
    sent: Sent,
    /// Of its changes, those that nodes have got.
    given: usize,
}

// A larger one is moved by a copy of the C library, in each block.
const _: () = assert!(size_of::<Option<Taken>>() <= 128);

/// How far an order came.
#[derive(PartialEq, Eq)]
enum Carried {
    /// All of it is done.
    Out,
    /// It goes on before the next block.
    On,
    /// Nothing of it is done before the next block.
    Over,
}

impl Inbox {
    pub(crate) fn new(orders: RingReader<Sent>, done: RingWriter<Done>) -> Inbox {
        Inbox { orders, done, held: None }
    }

    /// Carries out what has come, in order; returns how many orders took effect, in part or as a whole, and how many of them
    /// may be heard.
    ///
    /// Thread: leader, between blocks. No allocation, no lock, nothing freed; a system call where a plan
    /// needs more workers than the last.
    pub(crate) fn carry_out(&mut self, leader: &mut Leader) -> (u32, usize) {
        let frame = leader.transport().steady_frame();
        let (mut count, mut heard) = (0, 0);
        while heard < A_BLOCK {
            let Some(mut taken) = self.next() else { break };
            heard += usize::from(!taken.sent.order.is_unheard);
            let carried = taken.carry(leader);
            count += u32::from(carried != Carried::Over);
            if carried != Carried::Out {
                self.held = Some(taken);
                break;
            }
            let Sent { number, order } = taken.sent;
            // There is room for all that can be on their way; see `rings`.
            let _ = self.done.push(Done { number, frame, _retired: order });
        }
        (count, heard)
    }

    fn next(&mut self) -> Option<Taken> {
        let next = || Some(Taken { sent: self.orders.pop()?, given: 0 });
        self.held.take().or_else(next)
    }
}

impl Taken {
    /// Carries it out, as far as nodes have room. What it replaces is in its place afterwards.
    fn carry(&mut self, leader: &mut Leader) -> Carried {
        let order = &mut self.sent.order;
        if self.given == 0 {
            if !has_room(order, leader) {
                return Carried::Over;
            }
            if let Some(command) = order.transport {
                leader.command_with_place(command);
            }
            order.plan = order.plan.take().map(|plan| leader.exchange(plan));
            order.map = order.map.take().map(|map| leader.exchange_map(map));
            for (node, lanes) in &mut order.lanes {
                leader.node_mut(node).exchange_lanes(lanes);
            }
            for Exchange { node, made } in &mut order.exchanges {
                if let Some(made) = made {
                    let state = leader.node_mut(node);
                    state.call(|processor| processor.exchange(&mut **made));
                    node.show(state);
                }
            }
        }
        for (node, change) in &order.changes[self.given..] {
            let events = &mut leader.node_mut(node).events;
            if events.len() == EVENTS_A_BLOCK {
                return Carried::On;
            }
            events.push(TimedChange { frame: 0, change: *change });
            self.given += 1;
        }
        Carried::Out
    }
}

/// Whether an order finds its nodes as empty as it needs them: the most that any of them could get is all
/// changes. One with more than a node takes finds room in empty ones and is then carried out in parts.
fn has_room(order: &Order, leader: &mut Leader) -> bool {
    let room = EVENTS_A_BLOCK - order.changes.len().min(EVENTS_A_BLOCK);
    order.changes.iter().all(|(node, _)| leader.node_mut(node).events.len() <= room)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use hocket_dsp::Change;
    use hocket_plan::{ScheduleKind, SiblingPolicy};

    use super::*;
    use crate::Engine;
    use crate::test_engines::{self, FRAMES, does};

    /// Two nodes that pass on what changes, each with the number of its block.
    fn engine() -> (Engine, [Receiver<(u64, f32)>; 2]) {
        let (mut sources, mut heard) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let (pass_on, changes) = channel();
            let mut block_number = 0;
            sources.push(does(move |block| {
                for event in block.events {
                    let Change::Param { value, .. } = event.change;
                    pass_on.send((block_number, value)).unwrap();
                }
                block_number += 1;
            }));
            heard.push(changes);
        }
        let settings = test_engines::settings(ScheduleKind::Serial, SiblingPolicy::All);
        let engine = test_engines::engine(test_engines::side_by_side(sources, None), settings, 1);
        (engine, heard.try_into().unwrap())
    }

    /// Sends `count` changes of a node in one order, numbered from `from` on.
    fn send(engine: &Engine, node: usize, from: usize, count: usize) {
        let control = engine.control();
        let mut planner = control.lock();
        let cell = planner.nodes()[node].clone().unwrap();
        let change = |i: usize| (cell.clone(), Change::Param { index: 0, value: i as f32 });
        let changes = (from..from + count).map(change).collect();
        planner.send(Order { changes, ..Order::default() }).unwrap();
    }

    /// Blocks in which orders took effect, in the order of their sending.
    fn blocks_of(engine: &Engine) -> Vec<u64> {
        let done = engine.control().lock().take_done();
        assert!(done.iter().enumerate().all(|(at, (number, _))| at as u64 == *number));
        done.iter().map(|(_, frame)| frame / FRAMES as u64).collect()
    }

    #[test]
    fn more_changes_than_a_node_takes_follow_in_the_next_blocks_and_none_is_lost() {
        let (mut engine, [first, second]) = engine();
        let orders = |engine: &mut Engine| engine.process(FRAMES).orders;
        send(&engine, 0, 0, 100);
        send(&engine, 1, 0, 1);
        let counts: Vec<u32> = (0..6).map(|_| orders(&mut engine)).collect();
        assert_eq!(counts, [1, 1, 1, 2, 0, 0]);
        let heard: Vec<_> = first.try_iter().collect();
        let expected: Vec<_> = (0..100).map(|i| (i / EVENTS_A_BLOCK as u64, i as f32)).collect();
        assert_eq!(heard, expected);
        assert_eq!(second.try_iter().collect::<Vec<_>>(), [(3, 0.0)], "it does not overtake");
        assert_eq!(blocks_of(&engine), [3, 3], "an order is done with its last change");
    }

    #[test]
    fn an_order_that_fits_into_a_block_is_never_split() {
        let (mut engine, [first, _]) = engine();
        send(&engine, 0, 0, 20);
        send(&engine, 0, 20, 20);
        (0..3).for_each(|_| _ = engine.process(FRAMES));
        let heard: Vec<u64> = first.try_iter().map(|(block, _)| block).collect();
        assert_eq!(heard, [[0; 20], [1; 20]].concat());
        assert_eq!(blocks_of(&engine), [0, 1]);
    }

    #[test]
    fn orders_of_one_change_never_wait_for_a_full_node() {
        let (mut engine, [first, second]) = engine();
        (0..A_BLOCK - 1).for_each(|i| send(&engine, 0, i, 1));
        send(&engine, 1, 7, 1);
        engine.process(FRAMES);
        assert_eq!(first.try_iter().count(), A_BLOCK - 1);
        assert_eq!(second.try_iter().collect::<Vec<_>>(), [(0, 7.0)]);
        assert_eq!(blocks_of(&engine), [0; A_BLOCK]);
    }
}
