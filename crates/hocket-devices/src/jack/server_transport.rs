//! The transport of the server, for control threads of a client that follows it.

use super::JackError;
use super::libjack::{Place, Requests, TransportAt};

/// The transport of a JACK server: all its clients ask the same one to roll, stop and locate.
///
/// The engine of a client that follows it ([`Jack::follow_transport`](super::Jack::follow_transport)) obeys the server
/// alone. A control thread that wants another place asks the server here, and the engine goes there when the server does.
///
/// The server counts 32 bits of frames, at its own rate: 24.8 hours at 48 kHz.
///
/// Thread: control, any. Clones have the same server. Each request takes a short lock, and none waits for a cycle.
#[derive(Clone)]
pub struct ServerTransport {
    requests: Requests,
    /// The server's name.
    server: String,
}

impl std::fmt::Debug for ServerTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTransport").field("server", &self.server).finish_non_exhaustive()
    }
}

impl ServerTransport {
    pub(super) fn new(requests: Requests, server: String) -> ServerTransport {
        ServerTransport { requests, server }
    }

    /// Asks it to roll. It does so from a later cycle on, when every client is ready.
    ///
    /// # Errors
    /// [`JackError::Ended`]: the server has ended, or the client has left.
    pub fn start(&self) -> Result<(), JackError> {
        self.requests.start().ok_or_else(|| self.ended())
    }

    /// Asks it to stop, from the next cycle on.
    ///
    /// # Errors
    /// As [`ServerTransport::start`].
    pub fn stop(&self) -> Result<(), JackError> {
        self.requests.stop().ok_or_else(|| self.ended())
    }

    /// Asks it to go to a frame of the song. A rolling transport stands still there until every client is ready.
    ///
    /// # Errors
    /// As [`ServerTransport::start`]; [`JackError::Place`] for a frame that it cannot count, or that it refuses.
    pub fn locate(&self, frame: i64) -> Result<(), JackError> {
        let place = u32::try_from(frame).map_err(|_| JackError::Place(frame))?;
        match self.requests.locate(place) {
            Some(true) => Ok(()),
            Some(false) => Err(JackError::Place(frame)),
            None => Err(self.ended()),
        }
    }

    /// Where it is. `None`: the server has ended, or the client has left.
    pub fn now(&self) -> Option<TransportAt> {
        self.requests.now()
    }

    /// The place at which the server waits for this client; `None`: it does not. A control thread brings into memory what
    /// plays there, and then calls [`ServerTransport::is_ready_at`]. Only for clients that asked the server to wait
    /// ([`Jack::follow_transport`](super::Jack::follow_transport)).
    pub fn awaited(&self) -> Option<Place> {
        self.requests.awaited()
    }

    /// What plays at this place is in memory. An answer for a place that the server has left means nothing.
    ///
    /// Thread: control, the one that asks for places.
    pub fn is_ready_at(&self, place: Place) {
        self.requests.is_ready_at(place);
    }

    fn ended(&self) -> JackError {
        JackError::Ended(format!("the JACK server '{}' has ended; start it again", self.server))
    }
}
