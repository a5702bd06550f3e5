//! A MIDI clock from one Hocket to another one, through a real jackd.
//!
//! The first follows the server's transport, so a client that records knows where its song is in every cycle.

use rosc::OscType;
use serde_json::Value;

use super::jackd::sentry::{ROLLING, SongCycle};
use super::jackd::{Mode, Server, wait_until};
use super::transport::{
    Following, LONG, OneClip, ROOM, await_rolling, await_standing, check_frames, part, rendered,
};
use super::{NOBODY, RATE_HZ, alone, check, run};

/// Frames of a sixteenth: the sessions have 120 quarter notes per minute.
const SIXTEENTH: u32 = 6_000;

fn of(told: &Value, side: &str, what: &str) -> u64 {
    told["clock"][side][what].as_u64().unwrap_or_else(|| panic!("{side} {what}: {told:#}"))
}

/// Lines of this run until its song stands still.
fn await_stop(run: &mut Following) {
    for _ in 0..120 {
        if run.line()["song"]["playing"] == false {
            return;
        }
    }
    panic!("it plays on");
}

/// The whole cycles of the recording in which the song that sends the clock is behind a frame, up to now.
fn behind(cycles: &[SongCycle], (begin, end): (usize, usize), frame: u32) -> Vec<SongCycle> {
    let all = part(cycles, begin, end);
    all.into_iter().filter(|cycle| cycle.state == ROLLING && cycle.frame >= frame).collect()
}

#[test]
fn a_song_starts_where_the_song_is_that_sends_the_clock() {
    const NAME: &str = "a_song_starts_where_the_song_is_that_sends_the_clock";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 128, Mode::WaitsForClients) else { return };
    let session = OneClip::new(LONG - 20_000);
    let rendered = rendered(&session.file, RATE_HZ);
    let other = server.client("other", (2, 1), ROOM);
    let sends = ["--transport", "jack", "--send-clock", "--connect", "no", "--client", "lead"];
    let follows = ["--transport", "clock", "--connect", "other", "--client", "after"];
    let lead = Following::start_with(&server, &session.file, &sends);
    let mut after = Following::start_with(&server, &session.looped, &follows);
    assert_eq!(after.line()["song"]["transport"], "clock");
    other.connect("lead:clock_out", "after:clock_in");
    // Notes, which are no business of a transport.
    other.connect("other:notes", "after:clock_in");
    let connected = other.length();
    wait_until("the connections", || other.length() > connected + 20 * 128);
    let begin = other.length();
    // At a sixteenth, within the clip.
    other.locate(16 * SIXTEENTH);
    await_standing(&other, 16 * SIXTEENTH);
    other.start();
    await_rolling(&other, 16 * SIXTEENTH, 150_000);
    other.locate(50 * SIXTEENTH);
    await_rolling(&other, 50 * SIXTEENTH, 310_000);
    let to_the_frame = other.length();
    // Between two: from the next one on.
    other.locate(52 * SIXTEENTH + 1);
    await_rolling(&other, 52 * SIXTEENTH + 1, 54 * SIXTEENTH + 10_000);
    let placed = other.length();
    // Steering is the sender's.
    after.send("/play", &[]);
    after.send("/loop", &[OscType::String("on".into())]);
    // An end of the sender while its song plays stops the other one.
    lead.send("/quit", &[]);
    let (sent, _) = lead.end(0);
    await_stop(&mut after);
    after.send("/quit", &[]);
    let (followed, messages) = after.end(0);
    other.stop();

    let word = "the MIDI clock at the port 'clock_in' starts, stops and places the song";
    assert!(
        messages.contains(word) && messages.contains("the session's loop is off"),
        "{messages}"
    );
    assert_eq!(
        (&followed["transport"], &followed["osc"]["not_possible"]),
        (&"clock".into(), &2.into())
    );
    assert_eq!(followed["clock"]["sent"], Value::Null);
    let (sent, followed) =
        (|what: &str| of(&sent, "sent", what), |what: &str| of(&followed, "followed", what));
    assert!(sent("pulses") > 50 && sent("starts") >= 3);
    assert_eq!(sent("pulses"), followed("pulses"));
    assert_eq!(sent("starts"), followed("starts"));
    // The last stop is that of the end.
    assert_eq!(sent("stops") + 1, followed("stops"));
    assert_eq!(
        (sent("no_room"), sent("beyond"), followed("no_room"), followed("lost")),
        (0, 0, 0, 0)
    );
    assert_eq!((followed("quarters_with_other_tempo"), followed("most_apart_frames")), (0, 0));
    assert!(followed("quarters") > 0 && followed("ignored") > 0);

    let (heard, cycles) = other.end_with_cycles();
    check_frames(&heard, &part(&cycles, begin, to_the_frame), &rendered);
    let late = behind(&cycles, (to_the_frame, placed), 53 * SIXTEENTH);
    let late: Vec<SongCycle> =
        late.into_iter().filter(|cycle| cycle.frame < 54 * SIXTEENTH + 10_000).collect();
    assert!(late.len() > 50, "{}", late.len());
    check_frames(&heard, &late, &rendered);
}

#[test]
fn a_sender_that_is_killed_stops_the_song_a_second_later() {
    const NAME: &str = "a_sender_that_is_killed_stops_the_song_a_second_later";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let session = OneClip::new(LONG - 20_000);
    let other = server.client("other", (0, 1), 0);
    // Its own transport, which plays from the start on: the other one joins without a start.
    let sends = ["--send-clock", "--length", "600", "--connect", "no", "--client", "lead"];
    let mut lead = Following::start_with(&server, &session.file, &sends);
    let follows = ["--transport", "clock", "--connect", "no", "--client", "after"];
    let mut after = Following::start_with(&server, &session.file, &follows);
    other.connect("lead:clock_out", "after:clock_in");
    after.line();
    assert_eq!(after.line()["song"]["playing"], false, "nothing has started it");
    // A jump starts it, also where the machine was too busy before.
    let mut lines = 0;
    while after.line()["song"]["playing"] == false {
        lead.send("/locate", &[OscType::Double(1.0)]);
        lines += 1;
        assert!(lines < 120, "it does not start");
    }
    lead.kill();
    await_stop(&mut after);
    after.send("/quit", &[]);
    let (told, messages) = after.end(0);
    assert!(of(&told, "followed", "lost") > 0, "{told:#}");
    assert!(of(&told, "followed", "unused_pulses") > 0, "{told:#}");
    assert!(messages.contains("warning: the MIDI clock comes no longer"), "{messages}");
}

#[test]
fn only_the_device_jack_has_ports_for_a_clock() {
    let session = OneClip::new(1_000);
    let file = session.file.as_str();
    let play = |more: &[&str]| run(NOBODY, &[&["play", file, "--length", "0.1"], more].concat());
    let words = ["--send-clock: only the device jack", "give --device jack"];
    check(&play(&["--send-clock"]), 2, &words);
    let instead = [&words[..], &["instead of --device virtual"]].concat();
    check(&play(&["--send-clock", "--device", "virtual"]), 2, &instead);
    let follows = ["--transport clock: only the device jack has this transport"];
    check(&play(&["--transport", "clock", "--device", "virtual"]), 2, &follows);
}
