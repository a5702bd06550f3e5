//! Takes of inputs through `hocket play`, beside what another client sent to their ports.

use std::path::Path;

use super::jackd::sentry::counter;
use super::jackd::{Mode, Server};
use super::{RATE_HZ, alone, check, json, run};

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
