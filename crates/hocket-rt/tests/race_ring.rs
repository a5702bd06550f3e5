//! Edges E7 and E8 with real threads: values in plain slots, in order, none lost.
#![cfg(not(loom))]

mod common;

use common::together;
use hocket_rt::{Ring, RingReader, RingWriter};
use std::sync::Mutex;

const VALUES: u64 = 20_000;

/// Each end is taken out by the thread that uses it, and put back for the main thread to drop: the
/// count of owners inside `Arc` is ordered by a fence, which ThreadSanitizer does not understand.
struct Ends<T> {
    writer: Mutex<Option<RingWriter<T>>>,
    reader: Mutex<Option<RingReader<T>>>,
}

impl<T> Ends<T> {
    fn new(capacity: usize) -> Ends<T> {
        let (writer, reader) = Ring::new(capacity);
        Ends { writer: Mutex::new(Some(writer)), reader: Mutex::new(Some(reader)) }
    }
}

fn write(writer: &mut RingWriter<Vec<u64>>) {
    for value in 0..VALUES {
        let mut refused = writer.push(vec![value; 3]);
        while let Err(value) = refused {
            std::thread::yield_now();
            refused = writer.push(value);
        }
    }
}

fn read(reader: &mut RingReader<Vec<u64>>) {
    for expected in 0..VALUES {
        let value = loop {
            match reader.pop() {
                Some(value) => break value,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(value, [expected; 3]);
    }
    assert_eq!(reader.pop(), None);
}

/// Lets `work` use an end that no other thread has.
fn borrow<E>(end: &Mutex<Option<E>>, work: impl FnOnce(&mut E)) {
    let mut taken = end.lock().unwrap().take().unwrap();
    work(&mut taken);
    *end.lock().unwrap() = Some(taken);
}

fn values_arrive_in_order(capacity: usize) {
    let ends = Ends::new(capacity);
    together(2, move |thread| match thread {
        0 => borrow(&ends.writer, write),
        _ => borrow(&ends.reader, read),
    });
}

#[test]
fn through_one_slot() {
    values_arrive_in_order(1);
}

#[test]
fn through_two_slots() {
    values_arrive_in_order(2);
}

#[test]
fn through_many_slots() {
    values_arrive_in_order(256);
}
