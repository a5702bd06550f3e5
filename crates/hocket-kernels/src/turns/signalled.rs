//! Hocket's own way: a signal whose value says whose turn it is.

use hocket_rt::{Padded, Signal, SpinCost, Strategy, Wait};

use super::table::{Over, Side, Table};

/// One signal for both; an even value is A's turn.
pub(super) struct Signalled {
    turns: Signal,
    over: Padded<Over>,
    wait: Wait,
}

impl Signalled {
    pub(super) fn new(strategy: Strategy) -> Signalled {
        let wait = Wait::new(strategy, &SpinCost::measure(), Strategy::USUAL_SPIN);
        Signalled { turns: Signal::new(), over: Padded(Over::default()), wait }
    }
}

impl Table for Signalled {
    #[inline]
    fn await_turn(&self, side: Side) -> bool {
        let mut value = self.turns.value();
        while Side::of(value as usize) != side {
            if self.over.is() {
                return false;
            }
            value = self.turns.wait_until(value, &self.wait, || self.over.is()).0;
        }
        // The timekeeper's advance looks like a turn; whoever sees it sees the flag.
        !self.over.is()
    }

    #[inline]
    fn hand_over(&self, _side: Side) {
        self.turns.advance();
    }

    fn stop(&self) {
        self.over.set();
        self.turns.advance();
    }
}
