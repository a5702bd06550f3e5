//! `hocket play --device alsa` on a card that runs empty, sleeps and is unplugged: a plug-in of ALSA that the tests build.
//!
//! Its clock waits for a slow machine, so what befalls it is all that befalls it, and every frame that it plays is known.

use std::path::Path;

use serde_json::Value;

use crate::sound_card::{Card, Plot, Run};
use crate::support::{Ran, example, hocket, run, session, write_wav};

const RATE_HZ: u32 = 48_000;
/// Of a period; the card's buffer has two.
const FRAMES: usize = 256;
/// How the card is reached: by itself, behind ALSA's conversions, and in memory, as a real card is.
const WAYS: [&str; 3] = ["card", "through", "mapped"];

fn band() -> String {
    example("band.toml").display().to_string()
}

fn play(card: &Card, session: &str, pcm: &str, more: &[&str]) -> Ran {
    let (device, frames) = (format!("alsa:{pcm}"), FRAMES.to_string());
    let args = ["play", session, "--device", &device, "--frames", &frames, "--json"];
    let mut command = hocket(&[&args[..], more].concat());
    command.env("ALSA_CONFIG_PATH", card.settings()).env("JACK_DEFAULT_SERVER", "hocket-nobody");
    command.output().unwrap().into()
}

#[track_caller]
fn json(ran: &Ran, code: i32) -> Value {
    assert_eq!(ran.code, Some(code), "{}\n{}", ran.out, ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

fn xruns(told: &Value) -> u64 {
    told["xruns"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
}

fn rendered(args: &[&str]) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.wav").display().to_string();
    let rate = RATE_HZ.to_string();
    let ran =
        run(&[&["render"][..], args, &["-o", &out, "--format", "32f", "--rate", &rate]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    hocket_media::decode(Path::new(&out)).unwrap().channels
}

/// What a second of the band puts out, up to the end of its last period.
fn song() -> Vec<Vec<f32>> {
    let mut channels = rendered(&[&band(), "--length", "1.1"]);
    let length = (RATE_HZ as usize).next_multiple_of(FRAMES);
    channels.iter_mut().for_each(|channel| channel.truncate(length));
    channels
}

fn befell(runs: &[Run]) -> Vec<&str> {
    runs.iter().filter_map(|run| run.befell.as_deref()).collect()
}

/// After each start a period of silence, then the song where it was, less what the card has lost.
#[track_caller]
fn check_song(card: &Card, rendered: &[Vec<f32>]) {
    let (played, mut song) = (card.played(rendered.len()), 0);
    for Run { from, to, lost, .. } in card.runs("PLAYBACK") {
        let length = to - from;
        assert!(length > FRAMES, "a run of {length} frames");
        for (channel, (played, rendered)) in played.iter().zip(rendered).enumerate() {
            let rendered = rendered[song.min(rendered.len())..].iter().copied();
            let begin = std::iter::repeat_n(0.0, FRAMES);
            let expected = begin.chain(rendered).chain(std::iter::repeat(0.0));
            let mut both = played[from..to].iter().zip(expected);
            let place = both.position(|(played, expected)| played.to_bits() != expected.to_bits());
            assert_eq!(
                place, None,
                "channel {channel}, frame of the run from {from} on, song {song}"
            );
        }
        song += length + lost - FRAMES;
    }
    assert!(song >= rendered[0].len(), "the song ends at {song}");
    assert!(rendered.iter().flatten().any(|sample| *sample != 0.0));
}

#[test]
fn after_each_xrun_the_song_goes_on_and_lost_periods_are_counted_and_named() {
    let test = "after_each_xrun_the_song_goes_on_and_lost_periods_are_counted_and_named";
    let plot = Plot { playback: "xrun@20 xrun@60 xrun@100", rests_ms: 40, ..Plot::default() };
    let rendered = song();
    for way in WAYS {
        let Some(card) = Card::build(test, plot) else { return };
        let log = card.path("log.jsonl").display().to_string();
        let told = json(&play(&card, &band(), way, &["--length", "1", "--log", &log]), 0);
        let runs = card.runs("PLAYBACK");
        assert_eq!(befell(&runs), ["xrun"; 3], "{way}: {runs:?}");
        assert_eq!(xruns(&told), 3, "{way}: {told}");
        // Each time it had nothing to play for 40 ms at least: 7.5 periods.
        assert!(told["skipped"].as_u64().unwrap() >= 3 * 7, "{way}: {told}");
        assert_eq!(runs.iter().map(|run| run.lost).sum::<usize>(), runs.last().unwrap().lost);
        check_song(&card, &rendered);
        check_log(&log, &told);
    }
}

/// Each xrun and each gap has its line, with whose fault it was.
fn check_log(log: &str, told: &Value) {
    let text = std::fs::read_to_string(log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    assert_eq!(of("xrun").len() as u64, xruns(told), "{text}");
    assert!(of("xrun").iter().all(|line| line["whose"].is_string()), "{text}");
    let misses = [of("late"), of("skipped")].concat();
    assert!(misses.len() >= 3 && misses.iter().all(|line| line["whose"].is_string()), "{text}");
    assert_eq!(lines.last().unwrap()["skipped"], told["skipped"], "{text}");
}

#[test]
fn a_period_that_the_card_refuses_is_lost_and_no_other_is() {
    let test = "a_period_that_the_card_refuses_is_lost_and_no_other_is";
    let rendered = song();
    for way in WAYS {
        let Some(card) = Card::build(test, Plot { playback: "late@30", ..Plot::default() }) else {
            return;
        };
        let told = json(&play(&card, &band(), way, &["--length", "1"]), 0);
        let runs = card.runs("PLAYBACK");
        assert_eq!((befell(&runs), xruns(&told)), (vec!["late"], 1), "{way}: {runs:?}");
        assert_eq!(runs[0].lost, FRAMES, "{way}");
        check_song(&card, &rendered);
    }
}

#[test]
fn a_card_that_slept_plays_on_whether_or_not_its_driver_can_resume_it() {
    let test = "a_card_that_slept_plays_on_whether_or_not_its_driver_can_resume_it";
    let plot = Plot { playback: "suspend@20 suspend@80", rests_ms: 30, ..Plot::default() };
    let rendered = song();
    let [card, through, mapped] = WAYS;
    let awakes = [(card, true, 0), (card, false, 6), (through, false, 0), (mapped, false, 0)];
    for (way, resumes, dozes) in awakes {
        let Some(card) = Card::build(test, Plot { resumes, dozes, ..plot }) else { return };
        let told = json(&play(&card, &band(), way, &["--length", "1"]), 0);
        let (runs, what) = (card.runs("PLAYBACK"), format!("{way}, {resumes}, {dozes}: {told}"));
        assert_eq!(befell(&runs), ["suspend"; 2], "{what}: {runs:?}");
        assert_eq!(xruns(&told), 0, "sleep is no xrun: {what}");
        // Each time it begins anew, and the period that was due is lost at least.
        assert!(told["skipped"].as_u64().unwrap() >= 2, "{what}");
        check_song(&card, &rendered);
    }
}

/// What came in while the card slept is missing in a take of it, and the take of a strip misses nothing.
#[test]
fn a_take_of_an_input_is_not_whole_after_the_card_slept() {
    let test = "a_take_of_an_input_is_not_whole_after_the_card_slept";
    let plot = Plot { playback: "suspend@30", rests_ms: 30, ..Plot::default() };
    let Some(card) = Card::build(test, plot) else { return };
    let text = format!(
        "[session]\nname = \"try\"\nsample_rate_hz = {RATE_HZ}\nlength_s = 1\n\n[[input]]\nname = \"mic\"\n\n\
         [[track]]\nname = \"one\"\ninput = \"mic\"\n\n[[take]]\ninput = \"mic\"\nfile = \"mic.wav\"\n"
    );
    let (folder, file) = session(&text);
    let master = format!("master={}", folder.path().join("master.wav").display());
    let ran = play(&card, &file, "card", &["--length", "1", "--take", &master]);
    let told = json(&ran, 4);
    assert_eq!((befell(&card.runs("PLAYBACK")), xruns(&told)), (vec!["suspend"], 0), "{told}");
    let [strip, mic] = [0, 1].map(|number| &told["takes"][number]);
    assert_eq!((&strip["whole"], &mic["whole"]), (&true.into(), &false.into()), "{told}");
    let missing = mic["missing_frames"].as_u64().unwrap();
    assert!(missing > 0 && missing.is_multiple_of(FRAMES as u64), "{told}");
    assert_eq!(mic["frames"], strip["frames"], "{told}");
    assert!(ran.err.contains("of the input never arrived"), "{}", ran.err);
}

/// It ends with exit code 3, and says why once. It still reports and records what it played until then.
#[track_caller]
fn check_end(card: &Card, way: &str, why: &str) {
    let take = card.path(&format!("{way}.wav")).display().to_string();
    let ran = play(card, &band(), way, &["--length", "60", "--take", &format!("master={take}")]);
    let told = json(&ran, 3);
    let ended = told["device_ended"].as_str().unwrap();
    assert!(ended.starts_with(&format!("the ALSA device '{way}' has ended: ")), "{ended}");
    assert!(ended.contains(why) && ended.contains("plugged in"), "{ended}");
    assert_eq!(ran.err.matches("has ended").count(), 1, "{}", ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    let recorded = hocket_media::decode(Path::new(&take)).unwrap().channels;
    assert_eq!((&told["takes"][0]["whole"], xruns(&told)), (&true.into(), 0), "{told}");
    assert_eq!(told["frames_played"].as_u64(), Some(recorded[0].len() as u64));
    assert!(recorded[0].len() > 10 * FRAMES, "{told}");
    for (recorded, rendered) in recorded.iter().zip(song()) {
        let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
        assert!(recorded.iter().zip(&rendered).all(same), "{way}");
    }
}

#[test]
fn a_card_that_is_unplugged_ends_the_play_with_one_error() {
    let test = "a_card_that_is_unplugged_ends_the_play_with_one_error";
    for way in WAYS {
        let plot = Plot { playback: "unplug@30", ..Plot::default() };
        let Some(card) = Card::build(test, plot) else { return };
        check_end(&card, way, "No such device");
    }
}

#[test]
fn a_card_that_never_wakes_ends_the_play() {
    let test = "a_card_that_never_wakes_ends_the_play";
    let plot = Plot { playback: "suspend@30", dozes: 1_000_000, ..Plot::default() };
    let Some(card) = Card::build(test, plot) else { return };
    check_end(&card, "card", "it does not begin anew");
}

#[test]
fn a_card_that_hangs_ends_the_play() {
    let test = "a_card_that_hangs_ends_the_play";
    let Some(card) = Card::build(test, Plot { playback: "hang@30", ..Plot::default() }) else {
        return;
    };
    check_end(&card, "card", "it has asked for nothing for 10 s");
}

/// What the card records, frame by frame.
fn counter(frames: usize) -> Vec<f32> {
    (1..=frames).map(|number| number as f32 / 1_048_576.0).collect()
}

/// Within a run of the card, what it records comes out again without a gap.
#[test]
fn what_a_card_records_goes_on_after_each_trouble_of_either_side() {
    let test = "what_a_card_records_goes_on_after_each_trouble_of_either_side";
    let text = format!(
        "[session]\nname = \"try\"\nsample_rate_hz = {RATE_HZ}\nlength_s = 1\n\n[[input]]\nname = \"mic\"\n\n\
         [[track]]\nname = \"one\"\ninput = \"mic\"\n"
    );
    let (folder, file) = session(&text);
    let wav = folder.path().join("mic.wav").display().to_string();
    write_wav(Path::new(&wav), RATE_HZ, &counter(4 * RATE_HZ as usize));
    let input = format!("mic={wav}");
    let sounds = rendered(&[&file, "--length", "4", "--input", &input]).swap_remove(0);
    let (playback, capture) = ("suspend@30 xrun@90", "xrun@60 suspend@120");
    for resumes in [true, false] {
        let plot = Plot { playback, capture, resumes, ..Plot::default() };
        let Some(card) = Card::build(test, plot) else { return };
        let told = json(&play(&card, &file, "card", &["--length", "1"]), 0);
        let [plays, records] = ["PLAYBACK", "CAPTURE"].map(|side| card.runs(side));
        assert_eq!(befell(&plays), ["suspend", "xrun"], "{plays:?}");
        assert_eq!(befell(&records), ["xrun", "suspend"], "{records:?}");
        assert_eq!((plays.len(), records.len(), xruns(&told)), (5, 5, 2), "{told}");
        let [left, right] = &card.played(2)[..] else { panic!("two channels") };
        assert!(left.iter().zip(right).all(|(left, right)| left.to_bits() == right.to_bits()));
        for (plays, records) in plays.iter().zip(&records) {
            let heard = &left[plays.from + FRAMES..plays.to];
            // Behind the session's end there is silence.
            let length = heard.iter().rposition(|sample| *sample != 0.0).map_or(0, |last| last + 1);
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
            assert!(length > FRAMES, "{plays:?}");
            assert!(heard[..length].iter().zip(&sounds[records.from..]).all(same), "{plays:?}");
        }
    }
}
