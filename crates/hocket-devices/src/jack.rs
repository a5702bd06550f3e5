//! A JACK server as a device: also that of PipeWire, which has a library of the same name and functions.
//!
//! Which library a client has is decided when it is opened ([`Jack::open`]): the loader's usual one. Where that finds no server,
//! nobody has named one, and PipeWire has its socket here, PipeWire's own. A server of JACK can be seen in no other way than by
//! its library, so that one comes first.
//!
//! The leader is the server's real-time thread. It keeps its class, priority and CPUs, and the workers sit beside it,
//! with a priority just below ([`Engine::follow_leader`]).
//!
//! The player (engine and observer) is behind a mutex that both sides only try. The control thread first sets a flag
//! at which the callback plays silence and leaves the mutex alone. So it gets the mutex when the callback that runs is
//! over, however soon the next one comes, and no thread waits in it. The engine is the control thread's again before the
//! client leaves the server: `jack_deactivate` may cancel the server's thread in the midst of a callback.
//!
//! A server that freewheels has no clock: it calls its clients as fast as they are ready, and waits for each. Then blocks have no
//! deadline and may wait for a disk, as in a render.
//!
//! A client may follow the server's transport ([`Jack::follow_transport`]). Each cycle then begins with a question to the
//! server, and the engine's own commands take the song there. Or it follows the place of another song, or a MIDI clock, through a port
//! ([`Jack::follow_port`], [`Jack::follow_clock`]).

mod converter;
#[allow(unsafe_code)]
mod libjack;
mod periods;
mod port_latency;
pub(crate) mod pipewire;
mod player;
mod note_ends;
mod server_transport;
mod slot;
mod song_place;
mod midi_clock;
mod wires;
mod connections;
mod ready;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use hocket_engine::time::TempoMap;
use hocket_engine::{Control, Engine, FollowReport, Following, Settings, ThreadReport};
use hocket_machine::clock::monotonic_ns;

use converter::{Converter, LONGEST_CYCLE};

pub use crate::wiring::Connect;
use crate::{
    BlockObserver, Change, Channels, Device, DeviceError, End, Format, Latency, Played, Ready,
};
use connections::Watched;
use libjack::{Client, Direction, Functions, Kind, Side};
pub use libjack::{Place, TransportAt, TransportState};
pub use midi_clock::{ClockFollowed, ClockSent, Count};
use midi_clock::{ClockFollower, ClockSender};
pub use note_ends::NoteEnds;
use player::Player;
use port_latency::Rates;
pub use server_transport::ServerTransport;
use slot::{Hangs, Slot};
use wires::Wires;

/// How often the control thread looks: how late it sees an end, and blocks that have become longer.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// How often it looks while the engine rests. Each look costs as much as several cycles of such an engine.
const LOOK_AT_REST_EVERY: Duration = Duration::from_millis(100);
/// Changes that wait for somebody who asks for them. Further ones are lost.
const CHANGES: usize = 256;
/// A server that has asked for nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(30);
/// The second cycle from now on is a whole one.
const CYCLES_TO_STOP: u64 = 2;
/// `JackServerFailed`.
const SERVER_FAILED: i32 = 0x10;
/// `JackServerError`, `JackShmFailure`, `JackVersionError`.
const WHY_REFUSED: [(i32, &str); 3] = [
    (0x400, "the library is for another version of the server"),
    (0x200, "the server's shared memory is not accessible; is it a server of another user?"),
    (0x20, "the connection to the server broke"),
];

/// What to ask of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JackOptions {
    /// The server's name; `None`: what `JACK_DEFAULT_SERVER` says, or else `default`.
    pub server: Option<String>,
    /// The client's name, as other programs see it. The server may add a number.
    pub client_name: String,
    /// What the ports are connected to.
    pub connect: Connect,
}

/// Why JACK is not there, or refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JackError {
    /// libjack cannot be loaded.
    #[error(
        "no JACK library: {0}; install it (Debian: jackd2, which brings a server too, or pipewire-jack where PipeWire runs)"
    )]
    Library(String),
    /// Nobody answers.
    #[error(
        "no JACK server '{0}' runs: start one, such as `jackd -d alsa`; JACK_DEFAULT_SERVER names another one, and without it \
         PipeWire counts, too"
    )]
    NoServer(String),
    /// PipeWire runs, and no JACK server; PipeWire's JACK library is not installed.
    #[error(
        "PipeWire runs, and its JACK library is not there: install it (Debian: pipewire-jack), or start a JACK server"
    )]
    NoPipeWireLibrary,
    /// PipeWire runs, and has no port of a sound card.
    #[error(
        "PipeWire runs, and has no sound card that plays; --device jack plays there all the same"
    )]
    NoPipeWirePorts,
    /// PipeWire has a socket, and does not take the client.
    #[error(
        "PipeWire does not take a client of its JACK library: {0}; restart it (`systemctl --user restart pipewire`), or start a \
         JACK server"
    )]
    PipeWire(String),
    /// The server does not take the client.
    #[error(
        "the JACK server '{server}' refuses a client: {why} (status {status:#x}); restart it as the user who plays"
    )]
    Refused {
        /// The server.
        server: String,
        /// For people.
        why: &'static str,
        /// `jack_status_t`.
        status: i32,
    },
    /// The name is too long, empty, or has a colon.
    #[error("the client name '{0}' is not possible: choose 1 to {1} bytes without a colon")]
    Name(String, usize),
    /// A port cannot be registered.
    #[error(
        "the JACK server refuses the port '{0}'; it has too many ports perhaps: restart it with more (`jackd -p`)"
    )]
    Port(String),
    /// The client cannot be activated.
    #[error("the JACK server does not activate the client (code {0}); restart the server")]
    Activate(i32),
    /// The client cannot leave.
    #[error(
        "the JACK server does not answer while Hocket leaves it; the end of Hocket frees the server, or restart it if other \
         programs hang, too"
    )]
    Stays,
    /// Nothing to connect to.
    #[error("{0}")]
    Connect(String),
    /// The server has ended, or calls no more.
    #[error("{0}")]
    Ended(String),
    /// The caller has asked to stop while it waited for the server ([`Jack::stop_with`]).
    #[error("stopped while it waited for the JACK server")]
    Stopped,
    /// The transport cannot be at this frame.
    #[error(
        "frame {0} is no place for the JACK server's transport, which counts frames from 0 to {most}; choose one of these",
        most = u32::MAX
    )]
    Place(i64),
    /// The engine's threads cannot follow.
    #[error("{0}")]
    Follow(String),
}

/// A client of a running JACK server. It never starts one.
pub struct Jack<O: BlockObserver> {
    client: Client,
    options: JackOptions,
    /// PipeWire's library; `None`: the usual one.
    pipewire: Option<PathBuf>,
    slot: Arc<Slot<Player<O>>>,
    inputs: Inputs,
    /// Channels of each output of the engine: as many audio ports.
    outputs: Vec<usize>,
    place: PlacePort,
    clocks: Clocks,
    note_ends: Arc<NoteEnds>,
    wires: Wires,
    /// For those who asked for them.
    changes: Option<SyncSender<Change>>,
    /// Ends a wait for the server.
    stop: Option<Arc<AtomicBool>>,
}

/// Whether the client has a port for the song's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlacePort {
    None,
    Sends,
    Follows,
}

/// The name of the port for the song's place.
const PLACE: &str = "transport";
/// The names of the ports for MIDI clocks, out and in.
const CLOCKS: [&str; 2] = ["clock_out", "clock_in"];
/// The number of the first among the MIDI outputs: there is no other.
const CLOCK_PORT: usize = 0;

/// The MIDI clocks of a client: tempos of the session, and counts.
#[derive(Debug, Default)]
struct Clocks {
    /// Sends one.
    sent: Option<(Arc<TempoMap>, Arc<ClockSent>)>,
    /// Follows one.
    followed: Option<(Arc<TempoMap>, Arc<ClockFollowed>)>,
}

impl Clocks {
    fn sender(&self) -> Option<ClockSender> {
        let (map, counts) = self.sent.as_ref()?;
        Some(ClockSender::new(Arc::clone(map), Arc::clone(counts)))
    }

    fn follower(&self) -> Option<ClockFollower> {
        let (map, counts) = self.followed.as_ref()?;
        Some(ClockFollower::new(Arc::clone(map), Arc::clone(counts)))
    }
}

/// What the ports of the engine's inputs are for.
#[derive(Debug, Clone, Default)]
struct Inputs {
    /// Channels of each input: as many audio ports.
    channels: Vec<usize>,
    /// The input of each MIDI port.
    midi: Vec<u16>,
    /// The output port that says where the song is.
    place_out: Option<usize>,
    /// The input port that says where it has to be.
    place_in: Option<usize>,
    /// The MIDI output that sends the clock.
    clock_out: Option<usize>,
    /// The MIDI input that brings one.
    clock_in: Option<usize>,
}

impl Inputs {
    fn of(channels: &Channels) -> Inputs {
        let with_events = (0..).zip(&channels.inputs).filter(|(_, input)| input.events);
        Inputs {
            channels: channels.inputs.iter().map(|input| input.channels).collect(),
            midi: with_events.map(|(number, _)| number).collect(),
            place_out: None,
            place_in: None,
            clock_out: None,
            clock_in: None,
        }
    }
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// Its name.
    pub server: String,
    /// The library's version.
    pub version: String,
    /// PipeWire's library, where that was taken; `None`: the loader's usual one.
    pub library: Option<PathBuf>,
    /// Rate and block length.
    pub format: Format,
    /// Whether its clients get a real-time class.
    pub real_time: bool,
    /// Ports of the sound card that play.
    pub outputs: usize,
    /// Ports of the sound card that record.
    pub inputs: usize,
    /// From the ports of the sound card.
    pub latency: Latency,
}

impl ServerFacts {
    /// Whether it is PipeWire, through whichever library.
    pub fn is_pipewire(&self) -> bool {
        self.library.is_some() || self.version.contains("PipeWire")
    }
}

/// The server that somebody has named.
fn named_server(named: Option<&String>) -> Option<String> {
    let variable = || std::env::var("JACK_DEFAULT_SERVER").ok().filter(|name| !name.is_empty());
    named.cloned().or_else(variable)
}

/// The server that libjack connects to.
fn server_name(named: Option<&String>) -> String {
    named_server(named).unwrap_or_else(|| "default".into())
}

/// A client through this library.
fn open_client(functions: &'static Functions, options: &JackOptions) -> Result<Client, JackError> {
    let (name, longest) = (&options.client_name, libjack::longest_client_name(functions));
    if name.is_empty() || name.len() > longest || name.contains([':', '\0']) {
        return Err(JackError::Name(name.clone(), longest));
    }
    let server = options.server.as_ref();
    Client::open(functions, name, server.map(String::as_str))
        .map_err(|error| refused(error.0, server_name(server)))
}

/// A client of PipeWire, and its library.
fn open_pipewire(options: &JackOptions) -> Result<(Client, PathBuf), JackError> {
    let path = pipewire::library().ok_or(JackError::NoPipeWireLibrary)?;
    let functions = libjack::load_pipewire(&path).map_err(JackError::PipeWire)?;
    let client = open_client(functions, options).map_err(|error| match error {
        JackError::NoServer(_) => JackError::PipeWire("it does not answer".into()),
        JackError::Refused { why, .. } => JackError::PipeWire(why.into()),
        other => other,
    })?;
    Ok((client, path))
}

impl<O: BlockObserver> Jack<O> {
    /// Becomes a client of the server that runs. Nothing sounds yet.
    ///
    /// Where no JACK server runs and none is named, it becomes a client of a PipeWire that runs, through PipeWire's library.
    ///
    /// Thread: control. Cost: as long as the server takes to answer; the server waits for nobody.
    ///
    /// # Errors
    /// [`JackError`]: no library, no server, or a server that refuses.
    pub fn open(options: JackOptions) -> Result<Jack<O>, JackError> {
        let usual = libjack::load().map_err(JackError::Library);
        let (client, pipewire) = match usual.and_then(|usual| open_client(usual, &options)) {
            Err(JackError::Library(_) | JackError::NoServer(_))
                if named_server(options.server.as_ref()).is_none() && pipewire::runs() =>
            {
                let (client, path) = open_pipewire(&options)?;
                (client, Some(path))
            }
            usual => (usual?, None),
        };
        Ok(Jack {
            client,
            options,
            pipewire,
            slot: Arc::new(Slot::empty()),
            inputs: Inputs::default(),
            outputs: Vec::new(),
            place: PlacePort::None,
            clocks: Clocks::default(),
            note_ends: Arc::default(),
            wires: Wires::default(),
            changes: None,
            stop: None,
        })
    }

    /// What changes while it plays: block length, connections, latency. Where nobody takes them, at most 256 wait.
    pub fn changes(&mut self) -> Receiver<Change> {
        let (sender, receiver) = sync_channel(CHANGES);
        self.changes = Some(sender);
        receiver
    }

    /// For those who want the notes that have come in at MIDI ports to end.
    pub fn note_ends(&self) -> Arc<NoteEnds> {
        Arc::clone(&self.note_ends)
    }

    /// [`Device::prepare`] waits for some cycles of the server, up to 30 s. From now on it ends with [`JackError::Stopped`] as soon
    /// as `stop` is true.
    pub fn stop_with(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    fn tell(&self, change: Change) {
        self.changes.iter().for_each(|changes| _ = changes.try_send(change.clone()));
    }

    /// From now on the engine's song is where the server's transport is: it plays while that rolls, and stands still at the
    /// same frame while it does not. The song's own loop is off. Call it before [`Device::prepare`].
    ///
    /// `waits`: before it starts anywhere, the server waits until [`ServerTransport::is_ready_at`] that place. Its patience
    /// is some seconds (jackd: 10); then it starts without this client, and the song is where the server is all the same.
    /// When [`Device::play`] has ended, the server waits no longer.
    pub fn follow_transport(&mut self, waits: bool) -> ServerTransport {
        ServerTransport::new(self.client.follow_transport(waits), self.server_name())
    }

    /// Adds an output port `transport` that says in each cycle where the song is, for [`Jack::follow_port`] of an engine
    /// elsewhere. Call it before [`Device::prepare`]. It is connected to nothing.
    pub fn send_transport(&mut self) {
        self.place = PlacePort::Sends;
    }

    /// Adds an input port `transport`, and the engine's song is where this says: it plays, stops and jumps with the song of
    /// the engine that sends it ([`Jack::send_transport`]). Without a signal it stands still. The song's own loop is off.
    /// Call it before [`Device::prepare`]. It is connected to nothing.
    pub fn follow_port(&mut self) {
        self.place = PlacePort::Follows;
    }

    /// Adds a MIDI output `clock_out` that sends the song's clock: 24 messages per quarter note of `map`, each in its frame,
    /// and start, continue, stop and song position where the song is started, stopped and moved. When [`Device::play`] has
    /// ended, a stop is sent. Call it before [`Device::prepare`]. It is connected to nothing.
    ///
    /// `map`: the tempos of the song, at the server's rate. Returns what is counted while it plays.
    pub fn send_clock(&mut self, map: Arc<TempoMap>) -> Arc<ClockSent> {
        let counts = Arc::new(ClockSent::default());
        self.clocks.sent = Some((map, Arc::clone(&counts)));
        counts
    }

    /// Adds a MIDI input `clock_in`, and the engine's song is started, stopped and moved by the MIDI clock that it brings, each
    /// in the frame of its message. The song keeps its own tempos; the clock's are measured. Without a clock it stands still.
    /// The song's own loop is off. Call it before [`Device::prepare`]. It is connected to nothing.
    ///
    /// `map`: the tempos of the song, at the server's rate. Returns what is counted while it plays.
    pub fn follow_clock(&mut self, map: Arc<TempoMap>) -> Arc<ClockFollowed> {
        let counts = Arc::new(ClockFollowed::default());
        self.clocks.followed = Some((map, Arc::clone(&counts)));
        counts
    }

    /// The name that the server gave.
    pub fn client_name(&self) -> String {
        self.client.name()
    }

    /// What the server says of itself.
    pub fn server(&self) -> ServerFacts {
        let physical = |direction| self.client.all_ports(Kind::Audio, direction, true);
        // The card plays what its input ports get.
        let (plays, records) = (physical(Direction::Input), physical(Direction::Output));
        ServerFacts {
            server: self.server_name(),
            version: self.client.version(),
            library: self.pipewire.clone(),
            format: self.now(),
            real_time: self.client.is_realtime(),
            latency: self.latency(&plays, &records),
            outputs: plays.len(),
            inputs: records.len(),
        }
    }

    /// The server's name.
    pub fn server_name(&self) -> String {
        match self.pipewire {
            Some(_) => pipewire::NAME.into(),
            None => server_name(self.options.server.as_ref()),
        }
    }

    /// Whether it came to a PipeWire that has no port of a sound card. Some desktops have a PipeWire for their pictures, and
    /// another server for their sound.
    pub fn is_without_card(&self) -> bool {
        let outputs = || self.client.all_ports(Kind::Audio, Direction::Input, true);
        self.pipewire.is_some() && outputs().is_empty()
    }

    fn now(&self) -> Format {
        Format { rate_hz: self.client.sample_rate(), frames: self.client.buffer_size() }
    }

    /// The longest ways to and from these ports of others.
    fn latency(&self, plays: &[String], records: &[String]) -> Latency {
        let longest = |ports: &[String], side| {
            ports.iter().filter_map(|port| Some(self.client.latency(port, side)?.max)).max()
        };
        Latency {
            out_frames: longest(plays, Side::Playback),
            in_frames: longest(records, Side::Capture),
            rate_hz: self.client.sample_rate(),
            ..Latency::default()
        }
    }

    /// Waits until the server has called so many times, and calls on, or until `stop` is true.
    fn await_cycles(&self, cycles: u64, stop: Option<&AtomicBool>) -> Result<(), JackError> {
        let events = self.client.events();
        let (from, begun) = (events.cycles(), Instant::now());
        while events.cycles().wrapping_sub(from) < cycles {
            // Relaxed: the flag publishes nothing.
            if stop.is_some_and(|stop| stop.load(Relaxed)) {
                return Err(JackError::Stopped);
            }
            if let Some(why) = self.ended(begun.elapsed()) {
                return Err(JackError::Ended(why));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Why there will be no more cycles. `silent_for`: since the last one.
    fn ended(&self, silent_for: Duration) -> Option<String> {
        let events = self.client.events();
        if let Some(reason) = events.gone() {
            let server = self.server_name();
            let reason = reason.trim();
            let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
            return Some(format!("the JACK server '{server}' has ended{reason}; start it again"));
        }
        if events.panicked() {
            return Some(
                "the engine failed in the JACK server's thread; please report this".into(),
            );
        }
        (silent_for >= PATIENCE).then(|| {
            format!(
                "the JACK server '{}' has asked for nothing for {} s; restart it",
                self.server_name(),
                PATIENCE.as_secs()
            )
        })
    }

    fn rate_hz(&self) -> u32 {
        self.client.events().rate_hz().unwrap_or_else(|| self.client.sample_rate())
    }

    /// Why an engine of this rate cannot begin: the server has another one by now.
    fn other_rate(&self, rate_hz: u32) -> Option<String> {
        let now = self.rate_hz();
        (now != rate_hz).then(|| rates_differ(now, rate_hz))
    }

    /// Whether what comes from outside counts frames of the server: its transport, another song's place, a MIDI clock.
    fn counts_server_frames(&self) -> bool {
        let has_clock = self.clocks.sent.is_some() || self.clocks.followed.is_some();
        self.client.follows_transport() || self.place != PlacePort::None || has_clock
    }

    /// Has the player convert between the engine's rate and the server's new one. While the player is out, the server's
    /// thread plays silence.
    fn follow_rate(&self, blocks: &mut Blocks) -> Result<(), NotFollowed<O>> {
        let (now, frames) = (self.rate_hz(), self.client.buffer_size() as usize);
        let is_too_long = now != blocks.rates.engine_hz && frames > LONGEST_CYCLE;
        if now == blocks.rates.server_hz && !is_too_long {
            return Ok(());
        }
        let refused = || NotFollowed::because(rates_differ(now, blocks.rates.engine_hz));
        if self.counts_server_frames() || is_too_long {
            return Err(refused());
        }
        // Its tables take some milliseconds, so they are made while the engine plays.
        let converter = match now == blocks.rates.engine_hz {
            true => None,
            false => {
                Some(Converter::new(blocks.rates.engine_hz, now, blocks.rows).ok_or_else(refused)?)
            }
        };
        let taken_out = self.slot.exchange(None, PATIENCE)?;
        let mut player = taken_out.ok_or_else(|| NotFollowed::because(hangs()))?;
        player.follow_rate(now, converter);
        self.slot.exchange(Some(player), PATIENCE)?;
        blocks.rates.server_hz = now;
        Ok(())
    }

    /// Waits until playing ends, and follows the server's block length and rate. Returns the player, too, if it is not in the slot.
    fn watch(
        &self,
        mut blocks: Blocks,
        mut wires: Watched<'_>,
        (done, stop): (&AtomicBool, &AtomicBool),
    ) -> (End, Option<Box<Player<O>>>) {
        let events = self.client.events();
        let (mut cycles, mut moved) = (events.cycles(), Instant::now());
        loop {
            // Relaxed: both flags publish nothing.
            if done.load(Relaxed) {
                return (End::Finished, None);
            }
            if stop.load(Relaxed) {
                return (End::Stopped, None);
            }
            if cycles != events.cycles() {
                (cycles, moved) = (events.cycles(), Instant::now());
            }
            if let Some(why) = self.ended(moved.elapsed()) {
                return (End::DeviceEnded(why), None);
            }
            if let Err(NotFollowed { why, player }) = self.follow_rate(&mut blocks) {
                return (End::DeviceEnded(why), player);
            }
            let frames = self.client.buffer_size();
            blocks.follow(frames);
            self.follow_wires(&mut wires, frames, &blocks);
            let rests = self.slot.engine_rests();
            std::thread::sleep(if rests { LOOK_AT_REST_EVERY } else { LOOK_EVERY });
        }
    }
}

/// A server's new rate is not followed.
struct NotFollowed<O> {
    why: String,
    /// `None`: it is in the slot.
    player: Option<Box<Player<O>>>,
}

impl<O> NotFollowed<O> {
    fn because(why: String) -> NotFollowed<O> {
        NotFollowed { why, player: None }
    }
}

impl<O> From<Hangs<Player<O>>> for NotFollowed<O> {
    fn from(Hangs(player): Hangs<Player<O>>) -> NotFollowed<O> {
        NotFollowed { why: hangs(), player: player.map(Box::new) }
    }
}

fn hangs() -> String {
    "the JACK server's thread hangs inside the engine".into()
}

/// The engine's blocks while it plays.
struct Blocks {
    control: Control,
    rates: Rates,
    /// How many rows the engine puts out and takes in.
    rows: [usize; 2],
    /// The most frames that server or engine have had in a block, at the engine's rate.
    largest: u32,
}

impl Blocks {
    fn of(engine: &Engine, now: Format, inputs: usize) -> Blocks {
        let largest = now.frames.max(engine.largest_block() as u32);
        let rate_hz = engine.settings().rate_hz;
        let outputs =
            (0..).map_while(|number| engine.output_rows(number, 0)).map(|rows| rows.len());
        let rows = [outputs.sum(), inputs];
        Blocks { control: engine.control(), rates: Rates::same(rate_hz), rows, largest }
    }

    /// The server now has blocks of so many frames. Longer ones than ever before are to be one block of the engine, too.
    /// Where that is refused, each stays several blocks, as it is until then.
    fn follow(&mut self, frames: u32) {
        let frames = self.at_engine_rate(frames).min(*Settings::FRAMES.end());
        if frames > self.largest {
            self.largest = frames;
            let _ = self.control.set_largest_block(frames);
        }
    }

    /// The most frames of the engine in a cycle of so many.
    fn at_engine_rate(&self, frames: u32) -> u32 {
        let Rates { engine_hz, server_hz } = self.rates;
        if engine_hz == server_hz {
            return frames;
        }
        let exactly = u64::from(frames) * u64::from(engine_hz);
        let whole = exactly.div_ceil(u64::from(server_hz.max(1)));
        // The converter takes a frame more now and then.
        u32::try_from(whole + 1).unwrap_or(u32::MAX)
    }
}

fn rates_differ(now: u32, prepared: u32) -> String {
    format!(
        "the JACK server now runs at {now} Hz, and the session was prepared for {prepared} Hz; play again"
    )
}

fn refused(status: i32, server: String) -> JackError {
    if status & SERVER_FAILED != 0 {
        return JackError::NoServer(server);
    }
    let known = WHY_REFUSED.iter().find(|(bit, _)| status & bit != 0);
    JackError::Refused { server, why: known.map_or("it gives no reason", |(_, why)| why), status }
}

impl<O: BlockObserver> Device<O> for Jack<O> {
    fn leave(&mut self) -> Result<(), DeviceError> {
        if self.client.leave() { Ok(()) } else { Err(JackError::Stays.into()) }
    }

    fn name(&self) -> &'static str {
        "jack"
    }

    fn format(&self) -> Format {
        self.now()
    }

    fn prepare(&mut self, channels: &Channels) -> Result<Ready, DeviceError> {
        let ready = self.make_ready(channels);
        ready.map_err(|error| self.cause_of(error).into())
    }

    fn play(
        &mut self,
        engine: Engine,
        mut observer: O,
        stop: &AtomicBool,
    ) -> Result<Played<O>, DeviceError> {
        let rate_hz = engine.settings().rate_hz;
        if let Some(why) = self.other_rate(rate_hz) {
            return Err(JackError::Ended(why).into());
        }
        let inputs = self.inputs.channels.iter().sum();
        let blocks = Blocks::of(&engine, self.now(), inputs);
        self.client.events().thread().into_iter().for_each(|leader| observer.led_by(leader));
        let following = engine.follow_leader().map_err(|why| JackError::Follow(why.to_string()))?;
        let done = Arc::new(AtomicBool::new(false));
        let events = Arc::clone(self.client.events());
        let player = Player::new(
            engine,
            observer,
            self.inputs.clone(),
            (&self.clocks, Arc::clone(&self.note_ends)),
            (events, Arc::clone(&done)),
        );
        let (end, given_back) = match self.slot.exchange(Some(player), PATIENCE) {
            Ok(_) => {
                let mut wires = std::mem::take(&mut self.wires);
                let session_frames =
                    self.tell_delays(&blocks.control.output_delays(), blocks.rates);
                let latency = self.latency_of(&wires, session_frames);
                let (frames, looked) = (self.now().frames, Instant::now());
                let freewheels = false;
                let seen = Watched { wires: &mut wires, latency, frames, freewheels, looked };
                let ended = self.watch(blocks, seen, (done.as_ref(), stop));
                self.wires = wires;
                ended
            }
            Err(Hangs(player)) => (End::DeviceEnded(hangs()), player.map(Box::new)),
        };
        self.client.events().let_start();
        let in_slot = || self.slot.exchange(None, PATIENCE).ok().flatten();
        let Some(player) = given_back.map(|player| *player).or_else(in_slot) else {
            // The thread may use all this for ever: the client then leaks what its callback has.
            std::mem::forget(following);
            return Err(JackError::Ended(hangs()).into());
        };
        if self.clocks.sent.is_some() && !matches!(end, End::DeviceEnded(_)) {
            // A whole cycle, in which the clock is stopped. A server that ends meanwhile stops it, too.
            let _ = self.await_cycles(CYCLES_TO_STOP, None);
        }
        let (engine, mut observer, attribution) = player.end();
        let (xruns, last) = attribution.end(monotonic_ns(), self.client.events().xruns());
        let report = following.report();
        let protection = following.others().summary();
        let threads = threads(&following, report);
        last.iter().for_each(|xrun| observer.xrun(xrun));
        Ok(Played { engine, observer, end, threads, protection, xruns: Some(xruns) })
    }
}

/// The leader as the server made it, and the workers beside it.
fn threads(following: &Following, report: FollowReport) -> Vec<ThreadReport> {
    // The last regular look may have been before the first block.
    let report = if report.leader.is_none() { following.look() } else { report };
    let leader = report.leader.map(|leader| ThreadReport {
        name: "leader".into(),
        tid: leader.tid,
        cpu_asked: None,
        cpus_got: leader.cpus,
        class_asked: "the server's".into(),
        class_got: leader.class,
        real_time: leader.real_time,
        why: (!leader.real_time).then(|| {
            "the JACK server gives its clients no real-time class: start it with one (`jackd -R`), which needs the \
             right to it"
                .into()
        }),
        // The engine does so inside a block, and gives the thread back as it was.
        denormals_flushed: false,
    });
    leader.into_iter().chain(report.threads).collect()
}

impl<O: BlockObserver> std::fmt::Debug for Jack<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jack").field("options", &self.options).finish_non_exhaustive()
    }
}
