//! Edge E13: who takes a flag sees what was done before it was raised.
#![cfg(loom)]

mod common;

use common::{Plain, model};
use hocket_rt::Flag;
use loom::sync::Arc;
use loom::thread;

#[test]
fn whoever_takes_it_sees_what_was_asked() {
    model(5, || {
        let shared = Arc::new((Flag::new(), Plain::new(0)));
        let other = Arc::clone(&shared);
        let asks = thread::spawn(move || {
            other.1.set(1);
            other.0.raise();
        });
        let early = shared.0.take();
        if early {
            assert_eq!(shared.1.get(), 1);
        }
        asks.join().unwrap();
        // That one of the two takes has it is checked by `a_flag_alone_hands_the_data_over`. loom cannot: it does not
        // keep a store from coming between the value that an exchange read and the value that it wrote.
        assert!(!(early && shared.0.take()), "it is taken once");
    });
}
