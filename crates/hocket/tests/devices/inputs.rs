//! Takes of inputs through `hocket play`, beside what another client sent to their ports.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::jackd::sentry::counter;
use super::jackd::{Mode, Server, send, wait_until};
use super::{RATE_HZ, alone, check, hocket, json, run};

/// Two inputs that are recorded. No track plays the second one.
const SESSION: &str = "[session]\nsample_rate_hz = 48000\n\
                       [[input]]\nname = \"line\"\n\
                       [[input]]\nname = \"mic\"\nchannels = 1\n\
                       [[track]]\nname = \"one\"\ninput = \"line\"\n\
                       [[take]]\ninput = \"line\"\nfile = \"line.wav\"\n\
                       [[take]]\ninput = \"mic\"\nfile = \"mic.wav\"\n";
/// So many seconds are recorded.
const SECONDS: u32 = 2;

/// The first frame of the counter in a row that counts on from there without a gap.
#[track_caller]
fn first_of(row: &[f32]) -> u64 {
    let first = (f64::from(row[0]) * 1_048_576.0) as u64;
    let first = first.checked_sub(1).expect("no silence before the sound");
    let differs = |(sample, frame): (&f32, u64)| sample.to_bits() != counter(frame).to_bits();
    let place = row.iter().zip(first..).position(differs);
    assert_eq!(place, None, "the first frame that was not sent there");
    first
}

/// What was sent is what is recorded, some whole frames later, and all channels of all takes begin with the same frame. The
/// server waits for its clients, so nothing is lost on a busy machine.
fn records_what_another_client_sends(test: &str, frames: u32) {
    let _alone = alone();
    let Some(server) = Server::start(test, RATE_HZ, frames, Mode::WaitsForClients) else { return };
    let other = server.client("other", (0, 3), 0);
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("inputs.toml");
    std::fs::write(&session, SESSION).unwrap();
    let (session, length) = (session.display().to_string(), SECONDS.to_string());
    let args = ["play", &session, "--device", "jack", "--connect", "other", "--length", &length];
    let output = run(&server.name, &[&args[..], &["--json", "-v"]].concat());
    drop(other);
    let connected = ["other:out_1 -> hocket:line_1", "other:out_3 -> hocket:mic_1"];
    check(&output, 0, &connected);
    let told = json(&output);

    let mut begins = Vec::new();
    for (number, (name, channels)) in [("line", 2), ("mic", 1)].into_iter().enumerate() {
        let take = &told["takes"][number];
        assert_eq!((&take["bus"], &take["whole"]), (&name.into(), &true.into()), "{told:#}");
        let file: &Path = &folder.path().join(format!("{name}.wav"));
        let audio = hocket_media::decode(file).unwrap();
        assert_eq!((audio.sample_rate_hz, audio.channels.len()), (RATE_HZ, channels), "{name}");
        assert_eq!(audio.frames(), (SECONDS * RATE_HZ) as usize, "{name}");
        begins.extend(audio.channels.iter().map(|row| first_of(row)));
    }
    begins.dedup();
    assert_eq!(begins.len(), 1, "{begins:?}");
}

#[test]
fn a_take_of_an_input_is_what_another_client_sent_at_64_frames() {
    const NAME: &str = "a_take_of_an_input_is_what_another_client_sent_at_64_frames";
    records_what_another_client_sends(NAME, 64);
}

#[test]
fn a_take_of_an_input_is_what_another_client_sent_at_1024_frames() {
    const NAME: &str = "a_take_of_an_input_is_what_another_client_sent_at_1024_frames";
    records_what_another_client_sends(NAME, 1024);
}

/// A stopped program misses every period of that time, and its inputs miss what came in. Takes of strips miss nothing, because
/// the song stands still.
#[test]
fn what_never_arrived_is_missing_in_takes_of_inputs_and_told() {
    const NAME: &str = "what_never_arrived_is_missing_in_takes_of_inputs_and_told";
    const STOP: Duration = Duration::from_secs(1);
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();
    std::fs::write(path("inputs.toml"), SESSION).unwrap();
    let session = path("inputs.toml").display().to_string();
    let master = format!("master={}", path("master.wav").display());
    let log = path("log.jsonl").display().to_string();
    let args = ["play", &session, "--device", "jack", "--connect", "no", "--length", "600"];
    let args = [&args[..], &["--json", "--take", &master, "--log", &log]].concat();
    let mut command = hocket(&server.name, &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let size = || std::fs::metadata(path("mic.wav")).map_or(0, |facts| facts.len());
    wait_until("the take", || size() > 100_000);
    send(child.id(), "-STOP");
    std::thread::sleep(STOP);
    send(child.id(), "-CONT");
    wait_until("the news", || text("log.jsonl").contains("never arrived"));
    send(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    let warning = "warning: take mic: ";
    check(&output, 4, &[warning, "of the input never arrived, because periods were skipped"]);

    let told = json(&output);
    // The command line's take comes first.
    let [strip, line, mic] = [0, 1, 2].map(|number| &told["takes"][number]);
    assert_eq!((&strip["bus"], &strip["whole"]), (&"master".into(), &true.into()), "{told:#}");
    for take in [line, mic] {
        assert_eq!(take["whole"], false, "{told:#}");
        assert_eq!(take["frames"], strip["frames"], "as long as the song");
        // The first cycle after the stop is late and not skipped, and the next one begins at once. On a busy machine the
        // server runs late itself, and has fewer periods in that time.
        let missing = take["missing_frames"].as_u64().unwrap();
        let stopped = STOP.as_secs() * u64::from(RATE_HZ);
        assert!(2 * missing >= stopped, "{missing}: {told:#}");
        assert!(missing.is_multiple_of(64), "{missing}");
        assert!(!take["missing"].as_array().unwrap().is_empty(), "{told:#}");
    }
    let manifest: toml::Table = text("mic.wav.take.toml").parse().unwrap();
    let places = manifest["missing"].as_array().unwrap();
    assert_eq!(places.len() as u64, mic["missing_places"].as_u64().unwrap());
    let frames: i64 = places.iter().map(|place| place["frames"].as_integer().unwrap()).sum();
    assert_eq!(Some(frames), mic["missing_frames"].as_i64());
    assert_eq!(manifest["end"]["missing_frames"].as_integer(), Some(frames));
    let last = text("log.jsonl");
    let last: serde_json::Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!(last["takes"][2], *mic, "{last:#}");
}
