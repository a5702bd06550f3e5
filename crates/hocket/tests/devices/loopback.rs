//! Takes of an input, where what Hocket plays comes back to it: as through a card whose output is connected to its input.
//!
//! The card is a client of its own. It gives what it gets back some frames later, and its ports state a latency. In JACK a
//! client's cycle reads what another one wrote in the cycle before, where the two are connected in a circle. So the way round is
//! the card's own delay and a block.

use std::ffi::{CString, c_char, c_int, c_ulong, c_void};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use serde_json::Value;

use super::jackd::{Mode, Server, send, wait_until};
use super::{RATE_HZ, alone, check, hocket, json, run};

/// JackNoStartServer and JackServerName.
const OPTIONS: c_int = 0x01 | 0x04;
const IS_INPUT: c_ulong = 1;
const IS_OUTPUT: c_ulong = 2;
/// JackCaptureLatency and JackPlaybackLatency.
const CAPTURE: c_int = 0;
const PLAYBACK: c_int = 1;

/// jack_latency_range_t.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Range {
    min: u32,
    max: u32,
}

type Handle = *mut c_void;
type Buffer = unsafe extern "C" fn(*mut c_void, u32) -> *mut f32;
type SetRange = unsafe extern "C" fn(*mut c_void, c_int, *mut Range);

/// What the server's threads use.
struct Shared {
    buffer: Buffer,
    set_range: SetRange,
    inputs: [*mut c_void; 2],
    output: *mut c_void,
    /// What its ports state: how long sound takes to the ears, and from the microphone.
    out_frames: AtomicU32,
    in_frames: AtomicU32,
    /// What came in last, as long as the delay.
    line: Vec<f32>,
    oldest: usize,
}

/// A client with inputs `in_1`, `in_2` and an output `out_1`, on which the first input comes back.
struct Card {
    library: libloading::Library,
    handle: Handle,
    shared: *mut Shared,
}

extern "C" fn on_process(frames: u32, shared: *mut c_void) -> c_int {
    // SAFETY: `open` passed this pointer, and frees it after the client is closed; the other threads use other fields.
    let shared = unsafe { &mut *shared.cast::<Shared>() };
    let count = frames as usize;
    // SAFETY: jack.h: buffers of so many frames, valid in this cycle, of which nobody else writes the second one.
    let (input, output) = unsafe {
        let input = (shared.buffer)(shared.inputs[0], frames);
        let output = (shared.buffer)(shared.output, frames);
        (std::slice::from_raw_parts(input, count), std::slice::from_raw_parts_mut(output, count))
    };
    for (from, to) in input.iter().zip(output) {
        match shared.line.get_mut(shared.oldest) {
            Some(place) => *to = std::mem::replace(place, *from),
            None => *to = *from,
        }
        shared.oldest = (shared.oldest + 1) % shared.line.len().max(1);
    }
    0
}

extern "C" fn on_latency(side: c_int, shared: *mut c_void) {
    // SAFETY: as in `on_process`; these fields do not change, or are atomics.
    let shared = unsafe { &*shared.cast::<Shared>() };
    shared.state(side);
}

impl Shared {
    fn state(&self, side: c_int) {
        let range = |frames: &AtomicU32| {
            let frames = frames.load(SeqCst);
            Range { min: frames, max: frames }
        };
        let (mut range, ports) = match side {
            CAPTURE => (range(&self.in_frames), &[self.output][..]),
            _ => (range(&self.out_frames), &self.inputs[..]),
        };
        for port in ports {
            // SAFETY: the type is that of jack.h, and the port is the client's own.
            unsafe { (self.set_range)(*port, side, &raw mut range) };
        }
    }
}

impl Card {
    /// `delay`: of the card alone. `latency`: what its ports state, out and in.
    fn open(server: &Server, delay: usize, [out_frames, in_frames]: [u32; 2]) -> Card {
        type Open = unsafe extern "C" fn(*const c_char, c_int, *mut c_int, ...) -> Handle;
        type Register = unsafe extern "C" fn(
            Handle,
            *const c_char,
            *const c_char,
            c_ulong,
            c_ulong,
        ) -> *mut c_void;
        type Process = extern "C" fn(u32, *mut c_void) -> c_int;
        type SetProcess = unsafe extern "C" fn(Handle, Process, *mut c_void) -> c_int;
        type OnLatency = extern "C" fn(c_int, *mut c_void);
        type SetLatency = unsafe extern "C" fn(Handle, OnLatency, *mut c_void) -> c_int;
        let text = |text: &str| CString::new(text).unwrap();
        let (name, server) = (text("card"), text(&server.name));
        let mut status = 0;
        // SAFETY: loading libjack has no conditions; the types are those of jack.h, and the handle is open from here on.
        unsafe {
            let library = libloading::Library::new("libjack.so.0").unwrap();
            let open = *library.get::<Open>("jack_client_open").unwrap();
            let handle = open(name.as_ptr(), OPTIONS, &raw mut status, server.as_ptr());
            assert!(!handle.is_null(), "jack_client_open: status {status:#x}");
            let register = *library.get::<Register>("jack_port_register").unwrap();
            let port = |name: &str, flags| {
                let (name, kind) = (text(name), text("32 bit float mono audio"));
                let port = register(handle, name.as_ptr(), kind.as_ptr(), flags, 0);
                assert!(!port.is_null(), "jack_port_register");
                port
            };
            let shared = Box::into_raw(Box::new(Shared {
                buffer: *library.get("jack_port_get_buffer").unwrap(),
                set_range: *library.get("jack_port_set_latency_range").unwrap(),
                inputs: ["in_1", "in_2"].map(|name| port(name, IS_INPUT)),
                output: port("out_1", IS_OUTPUT),
                out_frames: AtomicU32::new(out_frames),
                in_frames: AtomicU32::new(in_frames),
                line: vec![0.0; delay],
                oldest: 0,
            }));
            let set = *library.get::<SetProcess>("jack_set_process_callback").unwrap();
            assert_eq!(set(handle, on_process, shared.cast()), 0);
            let set = *library.get::<SetLatency>("jack_set_latency_callback").unwrap();
            assert_eq!(set(handle, on_latency, shared.cast()), 0);
            let card = Card { library, handle, shared };
            assert_eq!(card.call("jack_activate"), 0);
            card.tell_latency();
            card
        }
    }

    /// The ports state another latency, and the card delays as before.
    fn set_latency(&self, [out_frames, in_frames]: [u32; 2]) {
        // SAFETY: it lives as long as the client; these are atomics.
        let shared = unsafe { &*self.shared };
        shared.out_frames.store(out_frames, SeqCst);
        shared.in_frames.store(in_frames, SeqCst);
        self.tell_latency();
    }

    /// States it, and has the server ask all clients anew.
    fn tell_latency(&self) {
        // SAFETY: it lives as long as the client.
        let shared = unsafe { &*self.shared };
        [CAPTURE, PLAYBACK].into_iter().for_each(|side| shared.state(side));
        self.call("jack_recompute_total_latencies");
    }

    fn call(&self, name: &str) -> c_int {
        // SAFETY: each caller names a function of this type, and the handle is open.
        unsafe {
            self.library.get::<unsafe extern "C" fn(Handle) -> c_int>(name).unwrap()(self.handle)
        }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.call("jack_deactivate");
        self.call("jack_client_close");
        // SAFETY: it came from `Box::into_raw`, and the client is closed.
        drop(unsafe { Box::from_raw(self.shared) });
    }
}

/// A song of noise through a limiter, which delays it by 96 frames. Nothing plays the input.
const SESSION: &str = "[session]\nsample_rate_hz = 48000\nlength_s = 2\n[[input]]\nname = \"mic\"\nchannels = 1\n\
                       [[track]]\nname = \"one\"\nclip = [{ file = \"noise.wav\" }]\n\
                       [master]\n[[master.effect]]\nkind = \"limiter\"\n\
                       [[take]]\ninput = \"mic\"\nfile = \"mic.wav\"\n\
                       [[take]]\ninput = \"mic\"\nfile = \"moved.wav\"\noffset_frames = 7\n\
                       [[take]]\ninput = \"mic\"\nfile = \"late.wav\"\nalign = \"none\"\n\
                       [[take]]\nfrom = \"master\"\nfile = \"song.wav\"\nalign = \"song\"\n";
const LIMITER: usize = 96;

/// A folder with the session and its sound.
fn session() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let layout = hocket_media::WavLayout {
        samples: hocket_media::WavFormat::Float32,
        sample_rate_hz: RATE_HZ,
        channels: 1,
    };
    let frames = 4 * u64::from(RATE_HZ);
    let mut bytes = layout.header(frames);
    let mut state = 1_u32;
    let noise = (0..frames).map(|_| {
        // A linear congruential generator (Numerical Recipes), of which the upper bits are good.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 25) as f32 - 0.25
    });
    layout.encode(noise, &mut bytes, &mut hocket_media::Written::default());
    std::fs::write(folder.path().join("noise.wav"), bytes).unwrap();
    let file = folder.path().join("song.toml");
    std::fs::write(&file, SESSION).unwrap();
    (folder, file.display().to_string())
}

fn decoded(folder: &Path, name: &str) -> Vec<Vec<f32>> {
    hocket_media::decode(&folder.join(name)).unwrap().channels
}

#[track_caller]
fn check_equal(what: &str, recorded: &[f32], song: &[f32]) {
    let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
    let place = recorded.iter().zip(song).position(differs);
    assert_eq!(place, None, "{what}: the first frame that differs");
}

fn manifest(folder: &Path, name: &str) -> toml::Table {
    let text = std::fs::read_to_string(folder.join(format!("{name}.take.toml"))).unwrap();
    text.parse().unwrap()
}

/// The take of the input is the song, frame by frame and from the song's first frame to its last one.
fn a_take_is_in_time_with_the_song(test: &str, frames: u32, latency: [u32; 2], more: &[&str]) {
    let _alone = alone();
    let Some(server) = Server::start(test, RATE_HZ, frames, Mode::WaitsForClients) else { return };
    let round = latency[0] + latency[1];
    let card = Card::open(&server, (round - frames) as usize, latency);
    let (folder, session) = session();
    let args = ["play", &session, "--device", "jack", "--connect", "card", "--json", "-v"];
    let output = run(&server.name, &[&args[..], more].concat());
    drop(card);
    check(&output, 0, &["hocket:main_1 -> card:in_1", "card:out_1 -> hocket:mic_1"]);
    let told = json(&output);
    let shown = format!("{:#}", told["takes"]);

    let all = 2 * RATE_HZ as usize;
    let song = decoded(folder.path(), "song.wav");
    let late = round as usize + LIMITER;
    for (name, dropped) in [("mic.wav", late), ("moved.wav", late + 7), ("late.wav", 0)] {
        let recorded = &decoded(folder.path(), name)[0];
        assert_eq!((recorded.len(), song[0].len()), (all, all), "{shown}");
        match dropped >= late {
            true => {
                let (moved, rest) = (dropped - late, all - (dropped - late));
                check_equal(name, &recorded[..rest], &song[0][moved..]);
                assert!(recorded[rest..].iter().any(|sample| *sample != 0.0) || moved == 0);
            }
            false => {
                assert!(recorded[..late].iter().all(|sample| *sample == 0.0), "{name}");
                check_equal(name, &recorded[late..], &song[0]);
            }
        }
        let notes = manifest(folder.path(), name);
        let number = |key: &str| notes.get(key).and_then(toml::Value::as_integer).unwrap_or(0);
        let left = late.saturating_sub(dropped) as i64;
        assert_eq!((number("dropped_frames"), number("latency_frames")), (dropped as i64, left));
    }
    assert!(
        song[0].iter().all(|sample| sample.is_finite()) && song[0][100..1000] != song[0][200..1100]
    );
    let aligned = &told["takes"][0]["aligned"];
    let number = |key: &str| aligned[key].as_u64().unwrap();
    assert_eq!([number("out_frames"), number("in_frames")], latency.map(u64::from), "{shown}");
    assert_eq!((number("session_frames"), number("frames")), (LIMITER as u64, late as u64));
    assert_eq!((number("short_frames"), &aligned["to"]), (0, &"song".into()), "{shown}");
    assert_eq!(aligned["latency_changed"], Value::Null, "{shown}");
    assert_eq!(told["takes"][3]["aligned"]["frames"], LIMITER, "{shown}");
}

#[test]
fn a_take_is_in_time_with_the_song_at_64_frames() {
    const NAME: &str = "a_take_is_in_time_with_the_song_at_64_frames";
    a_take_is_in_time_with_the_song(NAME, 64, [640, 129], &[]);
}

/// Whoever steers the song may prolong it, so nobody knows its length before it has ended.
#[test]
fn a_take_is_in_time_with_a_song_that_may_be_steered() {
    const NAME: &str = "a_take_is_in_time_with_a_song_that_may_be_steered";
    a_take_is_in_time_with_the_song(NAME, 64, [640, 129], &["--osc", "0"]);
}

#[test]
fn a_take_is_in_time_with_the_song_at_1024_frames() {
    const NAME: &str = "a_take_is_in_time_with_the_song_at_1024_frames";
    a_take_is_in_time_with_the_song(NAME, 1024, [2048, 1031], &[]);
}

/// Nothing is moved within a take. What was left out at the start is missing at the end of one that is interrupted.
#[test]
fn a_latency_that_changes_meanwhile_is_told_and_moves_nothing() {
    const NAME: &str = "a_latency_that_changes_meanwhile_is_told_and_moves_nothing";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::WaitsForClients) else { return };
    let card = Card::open(&server, 700 - 64, [500, 200]);
    let (folder, session) = session();
    let log = folder.path().join("log.jsonl");
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    let args =
        ["play", &session, "--device", "jack", "--connect", "card", "--length", "600", "--log"];
    let mut command = hocket(&server.name, &[&args[..], &[log.to_str().unwrap()]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let size = || std::fs::metadata(folder.path().join("mic.wav")).map_or(0, |facts| facts.len());
    wait_until("the take", || size() > 100_000);
    card.set_latency([900, 300]);
    wait_until("the latency", || logged().contains("\"event\":\"latency\""));
    send(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    drop(card);
    let late = 700 + LIMITER;
    let words = format!(
        "{late} frames left out at its start to be in time with the song (out 500, in 200, effects 96), and {late} frames \
         shorter for that, because the play ended before they came in"
    );
    let changed =
        "the latency changed meanwhile to out 900 frames, in 300 frames: nothing was moved";
    check(&output, 130, &[&words, changed]);
    let (song, mic) =
        (&decoded(folder.path(), "song.wav")[0], &decoded(folder.path(), "mic.wav")[0]);
    // The song's own delay is left out there, too.
    assert_eq!(mic.len() + 700, song.len());
    check_equal("mic.wav", mic, song);

    let lines: Vec<Value> =
        logged().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (first, last) = (&lines[0]["takes"][0], &lines[lines.len() - 1]["takes"][0]);
    assert_eq!((&first["bus"], &first["aligned"]["frames"]), (&"mic".into(), &late.into()));
    let aligned = &last["aligned"];
    assert_eq!((&aligned["frames"], &aligned["short_frames"]), (&late.into(), &late.into()));
    assert_eq!(aligned["latency_changed"]["out_frames"], 900, "{last:#}");
    // What is as it arrives, and what a strip put out, have nothing to do with it.
    let takes = lines[lines.len() - 1]["takes"].as_array().unwrap();
    assert!(
        takes[2..].iter().all(|take| take["aligned"]["latency_changed"].is_null()),
        "{takes:#?}"
    );
}

#[test]
fn a_take_of_an_input_that_nothing_is_connected_to_leaves_nothing_out_and_says_so() {
    const NAME: &str =
        "a_take_of_an_input_that_nothing_is_connected_to_leaves_nothing_out_and_says_so";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::WaitsForClients) else { return };
    let (folder, session) = session();
    let args = ["play", &session, "--device", "jack", "--connect", "no", "--length", "0.5"];
    let output = run(&server.name, &args);
    let why = "because nothing is connected to the outputs";
    let warned = format!("warning: take mic: its latency is unknown, {why}");
    check(&output, 0, &[&warned, &format!("24000 frames, nothing left out for latency, {why}")]);
    assert_eq!(decoded(folder.path(), "mic.wav")[0].len(), 24_000);
}
