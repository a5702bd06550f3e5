//! `--transport jack`: the song is where the server's transport is.
//!
//! The device takes it there. Here is what goes with it: a server that is to start somewhere waits until the disk has what
//! plays there.

use std::time::{Duration, Instant};

use hocket_devices::ServerTransport;
use hocket_devices::jack::{Place, TransportState};

use super::live::Live;
use crate::cli::{PlayArgs, TransportArg};
use crate::load::LoadedSession;
use crate::output::{note, warn};

/// How often the thread looks whether the server waits. Each start takes as much longer, and each look costs as much as several
/// cycles of an engine that rests.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long the server waits for the disk: a disk that needs longer for its first chunks would not keep up either. Servers
/// wait for some seconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it looks whether the server wants to start somewhere else meanwhile.
const STEP: Duration = Duration::from_millis(100);

/// Says whom the song follows, and what does not hold then.
pub(super) fn tell(server: &ServerTransport, loaded: &LoadedSession) {
    let Some(at) = server.now() else { return };
    let does = match at.state {
        TransportState::Stopped => "is stopped",
        TransportState::Starting => "is starting",
        TransportState::Rolling => "rolls",
    };
    let seconds = f64::from(at.frame) / f64::from(loaded.rate_hz);
    note(format_args!("follows the JACK server's transport, which {does} at {seconds:.1} s"));
    if loaded.session.time.repeat.is_some() {
        warn("the session's loop is off: the JACK server's transport has none");
    }
}

/// Says what the port for the song's place is for.
pub(super) fn tell_ports(args: &PlayArgs) {
    if args.transport == TransportArg::Port {
        note(
            "the song is where the port 'transport' says, and stands still until something is connected to it",
        );
    }
    if args.send_transport {
        note("the port 'transport' says where the song is");
    }
}

/// Reads ahead where the server waits for it, until the run ends.
///
/// Thread: its own, control.
pub(super) fn read_ahead(server: &ServerTransport, loaded: &LoadedSession, live: &Live) {
    while !live.has_ended() {
        match server.awaited() {
            Some(place) => {
                bring(server, loaded, place);
                server.is_ready_at(place);
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// What is not in memory after [`PATIENCE`] is silent, and counted as such.
fn bring(server: &ServerTransport, loaded: &LoadedSession, place: Place) {
    if let Some(disk) = &loaded.disk {
        disk.expect_jump();
    }
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE && server.awaited() == Some(place) {
        if loaded.media.preroll(place.frame.into(), STEP).is_ok() {
            return;
        }
        // A disk that fails says so at once.
        std::thread::sleep(LOOK_EVERY);
    }
}
