//! Edges E7 and E8: a slot belongs to one side at a time.
#![cfg(loom)]

mod common;

use common::model;
use hocket_rt::{Ring, RingReader};
use loom::thread;

fn pop_soon<T>(reader: &mut RingReader<T>) -> T {
    loop {
        match reader.pop() {
            Some(value) => return value,
            None => thread::yield_now(),
        }
    }
}

/// The slots themselves are loom's cells: any overlap of writer and reader fails the model.
fn values_arrive_in_order(capacity: usize, values: u64, preemptions: usize) {
    model(preemptions, move || {
        let (mut writer, mut reader) = Ring::new(capacity);
        let other = thread::spawn(move || {
            for value in 0..values {
                let mut refused = writer.push(Box::new(value));
                while let Err(value) = refused {
                    thread::yield_now();
                    refused = writer.push(value);
                }
            }
        });
        for value in 0..values {
            assert_eq!(*pop_soon(&mut reader), value);
        }
        other.join().unwrap();
        assert!(reader.pop().is_none());
    });
}

#[test]
fn values_arrive_in_order_through_one_slot() {
    values_arrive_in_order(1, 3, 5);
}

#[test]
fn values_arrive_in_order_through_two_slots() {
    values_arrive_in_order(2, 4, 4);
}

#[test]
fn what_is_left_is_dropped_by_the_last_end() {
    model(5, || {
        let (mut writer, reader) = Ring::new(2);
        let value = loom::sync::Arc::new(());
        let left = loom::sync::Arc::clone(&value);
        let other = thread::spawn(move || {
            let _ = writer.push(left);
        });
        drop(reader);
        other.join().unwrap();
        assert_eq!(loom::sync::Arc::strong_count(&value), 1);
    });
}
