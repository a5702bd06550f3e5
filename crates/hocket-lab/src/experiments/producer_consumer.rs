//! `producer-consumer`: what it costs to hand items from one thread to another.

use std::collections::VecDeque;
use std::sync::mpsc::sync_channel;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use hocket_rt::Ring;

use super::words::where_two_are;
use crate::harness::timed::calibrate;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Axis, Bar, Check, Design, Experiment, Fault, Host, Metric, NamedRatio, NotMeasurable,
    Opened, Parameter, Plot, Relation, Results, Rounds, Sample, Section, Sentence, Size, Variant,
    judged_together, ratio_told,
};
use crate::numbers;

/// See [`About`].
pub struct ProducerConsumer;

static ABOUT: About = About {
    id: "producer-consumer",
    section: Section::Sharing,
    question: "What does it cost to hand items from one thread to another?",
    origin: "the producer and the consumer of the 2009 thesis on SMT in audio engines, figure 30, which wait for a semaphore",
    method: "One pinned thread makes numbers, another one takes them, through a queue that has room for 1 or for 64: \
             `ring` is hocket-rt's queue of one writer and one reader, whose ends look again and again (and yield after \
             many looks), `channel` the standard library's bounded channel, `condvar` a queue under a mutex with a \
             condition each for room and for items. For every relation of two CPUs that the machine has. Every number \
             must arrive, once and in order.",
    limits: "Neither thread does anything else, so the queue is always full or always empty: the most hand-overs that it \
             carries, not how long one item is on its way. A ring keeps its CPUs busy; `idle-cost` shows what that costs.",
    metrics: &[Metric::more("items", "1/s").means(
        "Items that arrive, a second, from the first thread's beginning to the last one's end.",
    )],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("rooms", &ROOMS)],
};

const TURN: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(20)];
/// Items that a queue has room for.
const ROOMS: [usize; 2] = [1, 64];
/// Looks of an end of a ring after which it offers its CPU.
const LOOKS: u32 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    Condvar,
    Channel,
    Ring,
}

impl Queue {
    /// The first is what the others are compared with.
    const ALL: [Queue; 3] = [Queue::Condvar, Queue::Channel, Queue::Ring];

    fn name(self) -> &'static str {
        match self {
            Queue::Condvar => "condvar",
            Queue::Channel => "channel",
            Queue::Ring => "ring",
        }
    }
}

impl Experiment for ProducerConsumer {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        for (relation, (a, b)) in host.pairs_by_relation() {
            for room in ROOMS {
                add(&mut design, relation, [a, b], room);
            }
        }
        Ok(design.without_relations_of(host).twinned())
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let mut pairs = design.each(Pair::of)?;
        for pair in &mut pairs {
            let measured = calibrate(size.of(TURN), |items| Ok(pair.hand_over(items)?.0));
            pair.items = measured.map_err(NotMeasurable::new)?;
        }
        Ok(Box::new(move |variant: usize| pairs[variant].turn()))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let cases =
            Relation::ALL.into_iter().flat_map(|relation| ROOMS.map(|room| (relation, room)));
        cases.filter_map(|(relation, room)| told_of(results, relation, room)).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let bar = |relation: Relation, room: usize, queue: Queue| {
            let estimate = results.estimate(&name(queue, room, relation), "items")?;
            let label = format!("{}, room for {room}", queue.name());
            Some(Bar { label, estimate, group: relation.to_string() })
        };
        let cases =
            Relation::ALL.into_iter().flat_map(|relation| ROOMS.map(|room| (relation, room)));
        let of = |(relation, room)| Queue::ALL.map(|queue| bar(relation, room, queue));
        vec![Plot::Bars {
            title: "Items a second by queue and relation of the CPUs".into(),
            axis: Axis::log("items", "1/s"),
            bars: cases.flat_map(of).flatten().collect(),
        }]
    }
}

fn name(queue: Queue, room: usize, relation: Relation) -> String {
    format!("{}-{room} {relation}", queue.name())
}

/// The queues of one size between one pair of CPUs, compared with the first.
fn add(design: &mut Design, relation: Relation, cpus: [u32; 2], room: usize) {
    let variant = |queue: Queue| {
        let variant = Variant::new(name(queue, room, relation))
            .with("queue", queue.name())
            .with("room", room)
            .with("relation", relation)
            .on(&cpus, Some(relation));
        variant.crowded_if(relation == Relation::SameCpu)
    };
    design.group("items", Queue::ALL.map(variant));
}

/// A queue between two threads.
struct Pair {
    queue: Queue,
    room: usize,
    cpus: [u32; 2],
    items: u64,
}

impl Pair {
    fn of(variant: &Variant) -> Option<Pair> {
        let queue = Queue::ALL.into_iter().find(|queue| queue.name() == variant.level("queue"))?;
        let cpus = variant.cpus.as_slice().try_into().ok()?;
        Some(Pair { queue, room: variant.level("room").parse().ok()?, cpus, items: 1 })
    }

    fn turn(&self) -> Result<Vec<Sample>, Fault> {
        let (ns, arrived) = self.hand_over(self.items)?;
        let rate = self.items as f64 * 1e9 / ns.max(1) as f64;
        Ok(vec![Sample::new("items", rate, self.items, arrived.check(self.items))])
    }

    /// Nanoseconds for so many items, and what arrived.
    fn hand_over(&self, items: u64) -> Result<(u64, Arrived), Fault> {
        match self.queue {
            Queue::Ring => {
                let (mut writer, mut reader) = Ring::new(self.room);
                let put = move |item: u64| look_until(|| writer.push(item).ok());
                self.together(items, put, move || look_until(|| reader.pop()))
            }
            Queue::Channel => {
                let (sender, receiver) = sync_channel(self.room);
                // An end that is gone has no more to do with it; what is missing then is noticed.
                self.together(
                    items,
                    move |item| sender.send(item).unwrap_or_default(),
                    move || receiver.recv().unwrap_or(u64::MAX),
                )
            }
            Queue::Condvar => {
                let queue = Guarded::default();
                self.together(items, |item| queue.put(item, self.room), || queue.take())
            }
        }
    }

    fn together(
        &self,
        items: u64,
        mut put: impl FnMut(u64) + Send,
        mut take: impl FnMut() -> u64 + Send,
    ) -> Result<(u64, Arrived), Fault> {
        let team = TurnThreads::new()
            .with(Place::on(self.cpus[0]), move || {
                (0..items).for_each(&mut put);
                Arrived::default()
            })
            .with(Place::on(self.cpus[1]), move || {
                let mut arrived = Arrived::default();
                (0..items).for_each(|_| arrived.note(take()));
                arrived
            });
        let run = team.run()?;
        let ns = run.wall_ns();
        run.into_results()
            .pop()
            .map(|arrived| (ns, arrived))
            .ok_or_else(|| Fault::new("nobody took"))
    }
}

/// Looks until there is something; after many looks it yields, so that the other end can run where it has the same CPU.
fn look_until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let mut looks = 0;
    loop {
        if let Some(found) = look() {
            return found;
        }
        match looks < LOOKS {
            true => std::hint::spin_loop(),
            false => std::thread::yield_now(),
        }
        looks = looks.saturating_add(1);
    }
}

/// What the consumer took.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arrived {
    items: u64,
    out_of_order: u64,
}

impl Arrived {
    fn note(&mut self, item: u64) {
        self.out_of_order += u64::from(item != self.items);
        self.items += 1;
    }

    fn check(&self, items: u64) -> Check {
        let order = Check::equal("items that are not the next one", self.out_of_order, 0);
        Check::equal("items that arrived", self.items, items).and(order)
    }
}

/// A queue under a mutex.
#[derive(Default)]
struct Guarded {
    items: Mutex<VecDeque<u64>>,
    room: Condvar,
    some: Condvar,
}

impl Guarded {
    fn put(&self, item: u64, room: usize) {
        let items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let items = self.room.wait_while(items, |items| items.len() >= room);
        items.unwrap_or_else(PoisonError::into_inner).push_back(item);
        self.some.notify_one();
    }

    fn take(&self) -> u64 {
        let items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let items = self.some.wait_while(items, |items| items.is_empty());
        let item = items.unwrap_or_else(PoisonError::into_inner).pop_front();
        self.room.notify_one();
        // The condition has just said that there is one.
        item.unwrap_or(u64::MAX)
    }
}

/// Every queue of one size on one pair of CPUs, in one sentence.
fn told_of(results: &Results, relation: Relation, room: usize) -> Option<Sentence> {
    let reference = name(Queue::ALL[0], room, relation);
    let pair = |queue: Queue| {
        NamedRatio::new(queue.name(), reference.clone(), name(queue, room, relation), "items")
    };
    let judged = judged_together(results, &[Queue::Channel, Queue::Ring].map(pair));
    let ratios: Vec<String> =
        judged.iter().map(|(label, ratio)| format!("{label} {}", ratio_told(ratio))).collect();
    let text = format!(
        "{}, room for {room}: {} items through a mutex with conditions; against it {}",
        where_two_are(relation),
        numbers::estimate(&results.estimate(&reference, "items")?, "1/s"),
        ratios.join(", ")
    );
    Some(Sentence::about(text, judged.iter().map(|(_, ratio)| ratio)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_arrives_in_order_through_every_queue() {
        let host = Host::discover().unwrap();
        let design = ProducerConsumer.design(&host, Size::Quick).unwrap();
        for variant in &design.variants {
            let pair = Pair { items: 500, ..Pair::of(variant).unwrap() };
            // Another test confines the threads of this process meanwhile, and puts them back.
            let moved = |turn: &Result<_, Fault>| {
                turn.as_ref().is_err_and(|fault| fault.to_string().contains("asked for CPUs"))
            };
            let mut turns = std::iter::repeat_with(|| pair.turn()).take(50);
            let turn = turns.find(|turn| !moved(turn)).expect("CPUs to itself, once in 50 turns");
            assert_eq!(turn.unwrap()[0].check, Check::Passed, "{}", variant.name);
        }
    }

    #[test]
    fn an_item_that_is_lost_or_late_fails_the_check() {
        let check = |taken: &[u64]| {
            let mut arrived = Arrived::default();
            taken.iter().for_each(|item| arrived.note(*item));
            arrived.check(3)
        };
        assert_eq!(check(&[0, 1, 2]), Check::Passed);
        for wrong in [&[0, 1][..], &[0, 2, 1], &[0, 1, 1], &[0, 1, 3]] {
            assert!(matches!(check(wrong), Check::Failed(_)), "{wrong:?}");
        }
    }
}
