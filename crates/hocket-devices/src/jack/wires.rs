//! The connections that this client has made, while it plays: which of them went with the ports of others, and how they come
//! back.
//!
//! A card that is unplugged takes its ports with it, and the server goes on. So what was connected to them is connected again, by the
//! rule of the start, as soon as such ports are there. Who disconnects a port by hand is not fought:
//!
//! | the other port | the connection | what it means |
//! |---|---|---|
//! | is there | is there | all is well |
//! | is gone | | it went with the port |
//! | is there | is gone, and no port has left the server since it was seen | somebody disconnected it, and so it stays |
//! | is there | is gone, and ports have left meanwhile | the port was gone for a moment |
//!
//! Some servers remove a connection before its port. So nothing counts as disconnected by hand before two looks have seen it.

use std::collections::BTreeSet;

use crate::wiring;

/// What a look asks the server.
pub(super) trait Patchbay {
    /// Whether there is a port of this name.
    fn exists(&self, port: &str) -> bool;
    /// What a port of our own is connected to.
    fn connections(&self, own: &str) -> Vec<String>;
    /// Connects two ports.
    ///
    /// # Errors
    /// The server's code.
    fn connect(&self, from: &str, to: &str) -> Result<(), i32>;
    /// The ports to connect to. None: there are none at present.
    fn targets(&self) -> Targets;
    /// How many ports have left the server so far.
    fn ports_gone(&self) -> u64;
}

/// The ports of others to connect to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Targets {
    /// Sound goes there.
    pub(super) plays: Vec<String>,
    /// Sound comes from there.
    pub(super) records: Vec<String>,
    /// MIDI comes from there.
    pub(super) senders: Vec<String>,
}

/// Our own ports that are connected at the start.
#[derive(Debug, Clone, Default)]
pub(super) struct Own {
    pub(super) outputs: Vec<String>,
    pub(super) inputs: Vec<String>,
    pub(super) midi: Vec<String>,
    /// The main output has one channel, which plays on both sides.
    pub(super) mono: bool,
}

impl Own {
    /// Which port is connected to which.
    pub(super) fn plan(&self, there: &Targets) -> wiring::Plan {
        let own = (&self.outputs[..], &self.inputs[..]);
        let mut plan = wiring::plan(own, (&there.plays, &there.records), self.mono);
        plan.add_midi(&self.midi, &there.senders);
        plan
    }

    /// Makes these connections. `is_named`: the user has named the client of the other ports. Where nobody has, one that has gone
    /// since it was listed is none to connect to.
    ///
    /// # Errors
    /// The server refuses another one.
    pub(super) fn connect(
        &self,
        pairs: Vec<(String, String)>,
        server: &impl Patchbay,
        is_named: bool,
    ) -> Result<Made, Refusal> {
        let mut made = Made::default();
        for (from, to) in pairs {
            let (own, other) = if self.has(&from) { (&from, &to) } else { (&to, &from) };
            match server.connect(&from, &to) {
                Ok(()) => made.pairs.push((from, to)),
                Err(_) if !is_named && !server.exists(other) => made.lost.push(own.clone()),
                Err(code) => return Err(Refusal { from, to, code }),
            }
        }
        made.lost.dedup();
        Ok(made)
    }

    fn has(&self, port: &String) -> bool {
        [&self.outputs, &self.inputs, &self.midi].iter().any(|ports| ports.contains(port))
    }
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wire {
    from: String,
    to: String,
    /// Ours of both.
    is_from_us: bool,
    /// Ports that had left the server when it was last seen.
    ports_gone: u64,
    /// Looks in a row that have not seen it.
    unseen: u32,
}

impl Wire {
    fn own(&self) -> &str {
        if self.is_from_us { &self.from } else { &self.to }
    }

    fn other(&self) -> &str {
        if self.is_from_us { &self.to } else { &self.from }
    }
}

/// After so many looks without it, a connection was taken away by hand.
const UNSEEN: u32 = 2;

/// What a look has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Own ports whose connections went with the ports of others.
    pub(super) lost: Vec<String>,
    /// Connected again, from and to.
    pub(super) connected: Vec<(String, String)>,
    /// Numbers of our MIDI ports that have lost a connection, ours or one that the user made.
    pub(super) cut: Vec<usize>,
}

/// What came of the connections of the start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    /// From and to.
    pub(super) pairs: Vec<(String, String)>,
    /// Our ports whose other end had left the server in the meantime.
    pub(super) lost: Vec<String>,
}

/// A connection that the server does not make.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) code: i32,
}

/// All connections of a client. Thread: control.
#[derive(Debug, Default)]
pub(super) struct Wires {
    own: Own,
    wires: Vec<Wire>,
    /// Own ports that wait for others.
    lost: BTreeSet<String>,
    /// What the last look found to connect to. Ports of a card come one by one, so only what stays the same counts.
    before: Option<Targets>,
    /// What was connected to each own MIDI port at the last look.
    senders: Vec<BTreeSet<String>>,
}

impl Wires {
    /// Of a client that has made these connections. Own ports that have lost theirs wait for others.
    pub(super) fn new(own: Own, made: &Made, ports_gone: u64) -> Wires {
        let senders_of = |port: &String| {
            let to_it = made.pairs.iter().filter(|(_, to)| to == port);
            to_it.map(|(from, _)| from.clone()).collect()
        };
        let (senders, lost) =
            (own.midi.iter().map(senders_of).collect(), made.lost.iter().cloned().collect());
        let mut wires = Wires { own, senders, lost, ..Wires::default() };
        made.pairs.iter().for_each(|pair| wires.add(pair, ports_gone));
        wires
    }

    fn add(&mut self, (from, to): &(String, String), ports_gone: u64) {
        let is_from_us = self.own.has(from);
        let (from, to) = (from.clone(), to.clone());
        self.wires.push(Wire { from, to, is_from_us, ports_gone, unseen: 0 });
    }

    /// The ports of others to which sound goes, and from which it comes.
    pub(super) fn others(&self) -> (Vec<String>, Vec<String>) {
        let of = |ports: &[String], is_from_us: bool| {
            let wires = self.wires.iter().filter(|wire| wire.is_from_us == is_from_us);
            let ours = wires.filter(|wire| ports.iter().any(|port| port == wire.own()));
            ours.map(|wire| wire.other().to_owned()).collect()
        };
        (of(&self.own.outputs, true), of(&self.own.inputs, false))
    }

    /// The client's own ports, out and in.
    pub(super) fn own(&self) -> (&[String], &[String]) {
        (&self.own.outputs, &self.own.inputs)
    }

    /// Looks at all connections, and connects what waits. Cost: some questions to the server for each connection.
    pub(super) fn look(&mut self, server: &impl Patchbay) -> Found {
        let cut = self.cut_now(server);
        let mut found = Found { lost: self.lost_now(server), cut, ..Found::default() };
        if self.lost.is_empty() {
            self.before = None;
            return found;
        }
        let there = server.targets();
        if self.before.as_ref() == Some(&there) {
            found.connected = self.connect(server, &there);
        }
        self.before = Some(there);
        found
    }

    /// Numbers of our MIDI ports that have lost a connection since the last look.
    pub(super) fn cut_now(&mut self, server: &impl Patchbay) -> Vec<usize> {
        let ports = self.own.midi.iter().zip(&mut self.senders).enumerate();
        let cut = ports.filter_map(|(number, (port, senders))| {
            let now: BTreeSet<String> = server.connections(port).into_iter().collect();
            let before = std::mem::replace(senders, now);
            (!before.is_subset(senders)).then_some(number)
        });
        cut.collect()
    }

    fn lost_now(&mut self, server: &impl Patchbay) -> Vec<String> {
        let ports_gone = server.ports_gone();
        let mut lost = Vec::new();
        self.wires.retain_mut(|wire| {
            let is_there = server.exists(wire.other());
            if is_there && server.connections(wire.own()).iter().any(|port| port == wire.other()) {
                (wire.ports_gone, wire.unseen) = (ports_gone, 0);
                return true;
            }
            wire.unseen += 1;
            let went_with_its_port = !is_there || wire.ports_gone != ports_gone;
            if went_with_its_port {
                lost.push(wire.own().to_owned());
            }
            !went_with_its_port && wire.unseen < UNSEEN
        });
        lost.dedup();
        self.lost.extend(lost.iter().cloned());
        lost
    }

    /// Connects ports that wait, as at the start. One that somebody has connected meanwhile waits no longer, and a port that
    /// another one of ours has is not taken a second time.
    fn connect(&mut self, server: &impl Patchbay, there: &Targets) -> Vec<(String, String)> {
        let is_known =
            |wires: &[Wire], port: &String| wires.iter().any(|wire| wire.other() == port);
        let wires = &self.wires;
        self.lost.retain(|own| {
            let connections = server.connections(own);
            connections.iter().all(|port| is_known(wires, port))
        });
        let mut connected = Vec::new();
        for pair in self.own.plan(there).pairs {
            let (own, other) = match self.own.has(&pair.0) {
                true => (&pair.0, &pair.1),
                false => (&pair.1, &pair.0),
            };
            let is_free = !is_known(&self.wires, other);
            if self.lost.contains(own) && is_free && server.connect(&pair.0, &pair.1).is_ok() {
                connected.push(pair);
            }
        }
        for pair in &connected {
            self.lost.remove(&pair.0);
            self.lost.remove(&pair.1);
            self.add(pair, server.ports_gone());
        }
        connected
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// A server with one card and whatever else is connected.
    #[derive(Default)]
    struct Server {
        card: RefCell<Vec<String>>,
        connected: RefCell<BTreeSet<(String, String)>>,
        gone: Cell<u64>,
        refuses_other: Cell<bool>,
    }

    impl Server {
        fn plug(&self, ports: &[&str]) {
            *self.card.borrow_mut() = texts(ports);
        }

        fn unplug(&self) {
            let ports = self.card.take();
            self.gone.set(self.gone.get() + ports.len() as u64);
            let mut connected = self.connected.borrow_mut();
            connected.retain(|(from, to)| !ports.contains(to) && !ports.contains(from));
        }

        fn disconnect(&self, from: &str, to: &str) {
            assert!(self.connected.borrow_mut().remove(&(from.into(), to.into())));
        }
    }

    impl Patchbay for Server {
        fn exists(&self, port: &str) -> bool {
            self.card.borrow().iter().any(|there| there == port) || port.starts_with("other:")
        }

        fn connections(&self, own: &str) -> Vec<String> {
            let connected = self.connected.borrow();
            let others = connected.iter().filter_map(|(from, to)| match (from == own, to == own) {
                (true, _) => Some(to.clone()),
                (false, true) => Some(from.clone()),
                (false, false) => None,
            });
            others.collect()
        }

        fn connect(&self, from: &str, to: &str) -> Result<(), i32> {
            let is_there = |port: &str| port.starts_with("h:") || self.exists(port);
            let is_refused = [from, to].contains(&"other:in") && self.refuses_other.get();
            if is_refused || !is_there(from) || !is_there(to) {
                return Err(-1);
            }
            self.connected.borrow_mut().insert((from.into(), to.into()));
            Ok(())
        }

        fn targets(&self) -> Targets {
            Targets { plays: self.card.borrow().clone(), ..Targets::default() }
        }

        fn ports_gone(&self) -> u64 {
            self.gone.get()
        }
    }

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn pairs(all: &[(String, String)]) -> Vec<String> {
        all.iter().map(|(from, to)| format!("{from} {to}")).collect()
    }

    /// A client with two outputs on a card with two ports.
    fn start(mono: bool) -> (Server, Wires) {
        let server = Server::default();
        server.plug(&["card:l", "card:r"]);
        let outputs = if mono { texts(&["h:1"]) } else { texts(&["h:1", "h:2"]) };
        let own = Own { outputs, mono, ..Own::default() };
        let pairs = own.plan(&server.targets()).pairs;
        let made = own.connect(pairs, &server, false).unwrap();
        assert!(!made.pairs.is_empty() && made.lost.is_empty(), "{made:?}");
        (server, Wires::new(own, &made, 0))
    }

    #[test]
    fn what_went_with_a_card_is_told_once_and_comes_back_with_it() {
        for mono in [false, true] {
            let (server, mut wires) = start(mono);
            assert_eq!(wires.look(&server), Found::default());
            server.unplug();
            let lost = if mono { texts(&["h:1"]) } else { texts(&["h:1", "h:2"]) };
            assert_eq!(wires.look(&server), Found { lost, ..Found::default() });
            assert_eq!(wires.others().0, texts(&[]));
            assert_eq!(wires.look(&server), Found::default(), "once");
            // Its ports come one by one.
            server.plug(&["card:r"]);
            assert_eq!(wires.look(&server), Found::default());
            server.plug(&["card:l", "card:r"]);
            assert_eq!(wires.look(&server), Found::default());
            let expected = match mono {
                true => ["h:1 card:l", "h:1 card:r"],
                false => ["h:1 card:l", "h:2 card:r"],
            };
            assert_eq!(pairs(&wires.look(&server).connected), expected);
            assert_eq!(wires.look(&server), Found::default());
            assert_eq!(wires.others().0, texts(&["card:l", "card:r"]));
        }
    }

    #[test]
    fn a_card_that_was_gone_for_a_moment_is_connected_again() {
        let (server, mut wires) = start(false);
        assert_eq!(wires.look(&server), Found::default());
        server.unplug();
        server.plug(&["card:l", "card:r"]);
        assert_eq!(wires.look(&server).lost, ["h:1", "h:2"]);
        assert_eq!(wires.look(&server).connected.len(), 2);
    }

    #[test]
    fn what_somebody_disconnects_stays_so() {
        let (server, mut wires) = start(false);
        server.disconnect("h:1", "card:l");
        for _ in 0..5 {
            assert_eq!(wires.look(&server), Found::default());
        }
        server.unplug();
        assert_eq!(wires.look(&server).lost, ["h:2"]);
        server.plug(&["card:l", "card:r"]);
        wires.look(&server);
        assert_eq!(pairs(&wires.look(&server).connected), ["h:2 card:r"]);
    }

    #[test]
    fn what_somebody_connects_meanwhile_is_left_alone() {
        let (server, mut wires) = start(false);
        server.unplug();
        wires.look(&server);
        server.connect("h:2", "other:in").unwrap();
        server.plug(&["card:l", "card:r"]);
        wires.look(&server);
        assert_eq!(pairs(&wires.look(&server).connected), ["h:1 card:l"]);
    }

    #[test]
    fn a_connection_may_go_before_its_port() {
        let (server, mut wires) = start(false);
        server.disconnect("h:1", "card:l");
        assert_eq!(wires.look(&server), Found::default());
        server.unplug();
        assert_eq!(wires.look(&server).lost, ["h:1", "h:2"]);
    }
    #[test]
    fn a_port_that_went_before_it_was_connected_waits_and_comes_back() {
        let server = Server::default();
        server.plug(&["card:l", "card:r"]);
        let own = Own { outputs: texts(&["h:1", "h:2"]), ..Own::default() };
        let listed = own.plan(&server.targets()).pairs;
        server.plug(&["card:l"]);
        let named = own.connect(listed.clone(), &server, true).unwrap_err();
        assert_eq!((&*named.from, &*named.to, named.code), ("h:2", "card:r", -1));
        let made = own.connect(listed, &server, false).unwrap();
        assert_eq!((pairs(&made.pairs), &made.lost), (texts(&["h:1 card:l"]), &texts(&["h:2"])));

        let mut wires = Wires::new(own, &made, 0);
        server.plug(&["card:l", "card:r"]);
        assert_eq!(wires.look(&server), Found::default());
        assert_eq!(pairs(&wires.look(&server).connected), ["h:2 card:r"]);
    }

    #[test]
    fn a_connection_that_the_server_refuses_is_an_error_while_the_port_is_there() {
        let server = Server::default();
        server.refuses_other.set(true);
        let own = Own { outputs: texts(&["h:1"]), ..Own::default() };
        let pair = || vec![("h:1".into(), "other:in".into())];
        for is_named in [false, true] {
            assert_eq!(own.connect(pair(), &server, is_named).unwrap_err().code, -1);
        }
    }

    #[test]
    fn a_midi_port_that_loses_a_connection_is_reported_once() {
        let server = Server::default();
        server.plug(&["keys:out", "pads:out"]);
        let own = Own { midi: texts(&["h:a", "h:b"]), ..Own::default() };
        let pairs = vec![("keys:out".into(), "h:a".into()), ("pads:out".into(), "h:b".into())];
        let made = own.connect(pairs, &server, false).unwrap();
        let mut wires = Wires::new(own, &made, 0);
        assert_eq!(wires.look(&server).cut, [0; 0]);
        server.disconnect("pads:out", "h:b");
        assert_eq!(wires.look(&server).cut, [1]);
        assert_eq!(wires.look(&server).cut, [0; 0], "once");
        // What somebody connects by hand counts, too.
        server.connect("other:out", "h:b").unwrap();
        assert_eq!(wires.look(&server).cut, [0; 0]);
        server.disconnect("other:out", "h:b");
        assert_eq!(wires.look(&server).cut, [1]);
        server.unplug();
        let found = wires.look(&server);
        assert_eq!((found.cut, found.lost), (vec![0], texts(&["h:a"])));
    }
}
