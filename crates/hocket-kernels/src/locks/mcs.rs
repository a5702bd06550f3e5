//! A queue in which everybody waits at a place of its own.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::Lock;
use crate::sync::{AtomicBool, AtomicPtr, Looks};

/// The lock of Mellor-Crummey and Scott (1991): waiters form a list, and each spins on its own node.
/// Fair; a release moves one line, however many wait. A PAUSE between two looks.
///
/// Invariant NODE: a node lives on the stack of [`with`](Lock::with) from before it is put into the
/// list until after `release` has returned, and then nobody has its address (PROTOCOL.md, MCS).
#[derive(Debug)]
pub struct Mcs {
    /// The last in the list; null if the lock is free.
    tail: AtomicPtr<Node>,
}

/// A thread's place in the list; alone on its lines, as its thread spins on it.
#[derive(Debug)]
#[repr(align(128))]
struct Node {
    next: AtomicPtr<Node>,
    waits: AtomicBool,
}

impl Mcs {
    /// A free lock.
    pub fn new() -> Mcs {
        Mcs { tail: AtomicPtr::new(ptr::null_mut()) }
    }

    #[inline]
    fn acquire(&self, node: &Node) {
        let this = ptr::from_ref(node).cast_mut();
        let before = self.tail.swap(this, AcqRel); // E6 (load), E7 (store, load)
        if !before.is_null() {
            // SAFETY: NODE: its thread does not return from `release` before it has seen this store.
            unsafe { &(*before).next }.store(this, Release); // E8 (store)
            node.await_turn();
        }
    }

    #[inline]
    fn release(&self, node: &Node) {
        let this = ptr::from_ref(node).cast_mut();
        let mut next = node.successor();
        if next.is_null() {
            if self.give_up(this) {
                return;
            }
            // Somebody has taken our place at the end of the list and is about to say who it is.
            let mut looks = Looks::new();
            while next.is_null() {
                looks.rest();
                next = node.successor();
            }
        }
        // SAFETY: NODE: its thread waits for just this store.
        unsafe { (*next).let_go() };
    }

    /// Frees the lock, if nobody waits.
    #[inline]
    fn give_up(&self, this: *mut Node) -> bool {
        let free = ptr::null_mut();
        self.tail.compare_exchange(this, free, Release, Relaxed).is_ok() // E6 (store)
    }
}

impl Node {
    fn new() -> Node {
        Node { next: AtomicPtr::new(ptr::null_mut()), waits: AtomicBool::new(true) }
    }

    #[inline]
    fn successor(&self) -> *mut Node {
        self.next.load(Acquire) // E8 (load)
    }

    #[inline]
    fn await_turn(&self) {
        let mut looks = Looks::new();
        while self.still_waits() {
            looks.rest();
        }
    }

    #[inline]
    fn still_waits(&self) -> bool {
        self.waits.load(Acquire) // E9 (load)
    }

    #[inline]
    fn let_go(&self) {
        self.waits.store(false, Release); // E9 (store)
    }
}

impl Default for Mcs {
    fn default() -> Mcs {
        Mcs::new()
    }
}

impl Lock for Mcs {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        let node = Node::new();
        self.acquire(&node);
        // Dropped before the node, also when `work` panics.
        let _held = Held { lock: self, node: &node };
        work()
    }
}

struct Held<'a> {
    lock: &'a Mcs,
    node: &'a Node,
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.lock.release(self.node);
    }
}
