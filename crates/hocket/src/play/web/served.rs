//! What came during a run, for its result.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::output::tell;

/// Counts of requests.
#[derive(Debug, Clone)]
pub(in crate::play) struct Served {
    address: SocketAddr,
    /// How often the page was loaded.
    pages: u64,
    /// Updates that were sent to somebody, and those that were not, because the last one was still on its way.
    updates: [u64; 2],
    /// Commands that were obeyed.
    obeyed: u64,
    /// What was no request of HTTP, not allowed, not possible.
    refused: [u64; 3],
}

impl Served {
    pub(super) fn new(address: SocketAddr) -> Served {
        Served { address, pages: 0, updates: [0; 2], obeyed: 0, refused: [0; 3] }
    }

    pub(super) fn note_page(&mut self) {
        self.pages += 1;
    }

    pub(super) fn note_update(&mut self) {
        self.updates[0] += 1;
    }

    pub(super) fn note_skipped(&mut self) {
        self.updates[1] += 1;
    }

    pub(super) fn note_obeyed(&mut self) {
        self.obeyed += 1;
    }

    pub(super) fn note_malformed(&mut self) {
        self.refused[0] += 1;
    }

    /// Names the first one: somebody tries what is not theirs.
    pub(super) fn note_forbidden(&mut self, why: &str, from: SocketAddr) {
        self.refused[1] += 1;
        if self.refused[1] == 1 {
            tell(format_args!(
                "warning: page, request from {from}: {why} (further ones of this kind are counted)"
            ));
        }
    }

    pub(super) fn note_not_possible(&mut self) {
        self.refused[2] += 1;
    }

    /// For people.
    pub(in crate::play) fn line(&self) -> String {
        let Served { pages, obeyed, refused: [malformed, forbidden, not_possible], .. } = self;
        format!(
            "page: loaded {pages} times, {obeyed} commands obeyed; {malformed} requests were no HTTP, {forbidden} were not \
             allowed, {not_possible} asked for what is not possible"
        )
    }

    /// For programs.
    pub(in crate::play) fn json(&self) -> Value {
        let ([sent, skipped], [malformed, forbidden, not_possible]) = (self.updates, self.refused);
        json!({
            "address": self.address.to_string(),
            "pages": self.pages,
            "updates": sent,
            "updates_skipped": skipped,
            "obeyed": self.obeyed,
            "malformed": malformed,
            "forbidden": forbidden,
            "not_possible": not_possible,
        })
    }
}
