//! What the types promise: who may be shared, who may be sent, and how they lie in memory.
#![cfg(not(loom))]

use hocket_rt::*;

const fn shared<T: Send + Sync>() {}
const fn sent<T: Send>() {}

const _: () = {
    shared::<Strategy>();
    shared::<SpinCost>();
    shared::<Wait>();
    shared::<Waited>();
    shared::<Signal>();
    shared::<Countdown>();
    shared::<Barrier>();
    shared::<Turnstile>();
    shared::<Inside<'static>>();
    shared::<ReadySet>();
    // A cell may be sent and not shared: the ring only ever moves it.
    shared::<Ring<std::cell::Cell<u8>>>();
    sent::<RingWriter<std::cell::Cell<u8>>>();
    sent::<RingReader<std::cell::Cell<u8>>>();
};

#[test]
fn what_different_threads_write_lies_on_different_lines() {
    assert_eq!(align_of::<Padded<u8>>(), 128);
    assert_eq!(size_of::<Signal>(), 128);
    assert_eq!(size_of::<Turnstile>(), 128);
    assert_eq!(size_of::<Barrier>(), 256);
}

#[test]
fn a_countdown_is_small_enough_for_one_per_unit() {
    assert_eq!(size_of::<Countdown>(), 8);
}
