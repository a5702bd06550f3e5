use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::play::kernel_times::KernelTimes;
use crate::play::shown::{SongShown, TakeShown};

/// A run with everything that can be shown.
fn run() -> Shown {
    let mut classes = [0; CLASSES];
    (classes[4], classes[5], classes[LATE]) = (900, 90, 3);
    let worker = |number: usize| WorkerShown {
        name: if number == 0 { "leader".into() } else { format!("worker {number}") },
        seat: format!("CPU {number}"),
        load: 0.25,
        share: 1.0,
        kernel: match number {
            3 => KernelTimes::default(),
            _ => KernelTimes { awake: Some(0.4), put_aside: Some(0.012) },
        },
    };
    Shown {
        session: "band".into(),
        device: vec!["jack: latency: out 8.0 ms (384 frames)".into(), "48000 Hz".into()],
        policy: ["auto", "off", "hybrid"],
        plan: "serial: 12 units by the leader alone".into(),
        played_s: 62.34,
        planned_s: Some(120.0),
        song: SongShown {
            plays: true,
            bar: "32.1.000".into(),
            bpm: 120.0,
            signature: [6, 8],
            seconds: 62.34,
            repeat: Some(["1.1.000".into(), "9.1.000".into()]),
            transport: "own",
        },
        load: [0.231, 0.61],
        blocks: 993,
        misses: 4,
        classes,
        causes: vec![("seat-taken", 2), ("page-fault", 1)],
        last_late: Some("block 17 was 300 µs late".into()),
        workers: (0..4).map(worker).collect(),
        meters: vec![
            MeterShown { name: "main".into(), peak: 0.5 },
            MeterShown { name: "phones".into(), peak: 0.0 },
        ],
        disk: Some(DiskShown {
            streams: 24,
            used_bytes: 128 << 20,
            buffer_bytes: 256 << 20,
            silent_frames: 300,
            silent_clips: 2,
        }),
        takes: Vec::new(),
        message: String::new(),
    }
}

/// The rows of the picture.
fn drawn(shown: &Shown, help: bool, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(shown, help, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(row).collect()
}

#[track_caller]
fn check(rows: &[String], words: &[&str]) {
    let text = rows.join("\n");
    for word in words {
        assert!(text.contains(word), "nothing of '{word}':\n{text}");
    }
}

#[test]
fn eighty_by_twenty_four_holds_everything() {
    let rows = drawn(&run(), false, 80, 24);
    check(&rows, &["hocket: band", "▶ bar 32.1.000", "120.0 bpm 6/8", "1:02.3", "of 2:00.0"]);
    check(
        &rows,
        &["loop 1.1.000 to 9.1.000", "load 23 % (at most 61 %)", "4 misses", "993 blocks"],
    );
    check(&rows, &["out 8.0 ms", "48000 Hz", "auto / off / hybrid", "12 units"]);
    check(&rows, &["2 seat-taken", "1 page-fault", "1 not explained"]);
    check(&rows, &["leader    CPU 0", "worker 3  CPU 3", "25% 100%  40%  1.2%"]);
    check(&rows, &["25% 100%    ?     ?"]);
    check(&rows, &["main", "-6.0", "phones", "-inf"]);
    check(&rows, &["24 streams", "(50 %)", "300 frames silent in 2 clips"]);
    check(&rows, &["last late block: block 17", "q quit", "0         50        100"]);
}

#[test]
fn a_take_in_trouble_is_named_in_every_terminal_and_one_that_is_well_only_counts() {
    let take = |name: &str| TakeShown {
        name: name.into(),
        file: "evening.wav".into(),
        frames: 48_000,
        ..TakeShown::default()
    };
    let mut recording = run();
    recording.takes = vec![take("master"), take("Drums")];
    check(&drawn(&recording, false, 80, 24), &["takes: 2 recorded, none in trouble", "worker 3"]);
    assert!(recording.line().ends_with("because of the disk"), "{}", recording.line());

    recording.takes[0].error = Some("evening.wav: the disk is full".into());
    (recording.takes[1].lost_frames, recording.takes[1].stalled_s) = (4_800, Some(6.2));
    let full = "take master: ended early: evening.wav: the disk is full";
    let slow =
        "take Drums: evening.wav: 4800 frames lost, because the disk is too slow; the disk has";
    check(&drawn(&recording, false, 90, 24), &[full, slow]);
    check(&drawn(&recording, false, 60, 8), &[full]);
    assert!(recording.line().contains(full) && recording.line().contains("answered for 6 s"));

    recording.takes = vec![recording.takes[0].clone(); 5];
    check(&drawn(&recording, false, 80, 24), &[full, "and 3 more takes in trouble"]);
    let now = recording.json();
    assert_eq!(
        (&now["takes"][0]["writes"], &now["takes"][0]["frames"]),
        (&false.into(), &48_000.into())
    );
}

#[test]
fn a_song_that_follows_says_whom() {
    let mut following = run();
    for (transport, says) in
        [("jack", "follows JACK"), ("port", "follows a port"), ("clock", "follows a clock")]
    {
        following.song.transport = transport;
        check(&drawn(&following, false, 80, 24), &["▶ bar 32.1.000", &format!("1:02.3  {says}")]);
        // The page writes the same words.
        assert_eq!(following.json()["song"]["follows"], says);
    }
    assert_eq!(run().json()["song"]["follows"], serde_json::Value::Null);
}

#[test]
fn a_column_is_as_high_as_the_logarithm_of_its_count() {
    let rows = drawn(&run(), false, 80, 24);
    let scale = rows.iter().position(|row| row.starts_with("0         50")).unwrap();
    let height = |class: usize| {
        let column = rows[scale - usize::from(TALLEST)..scale].iter();
        column.filter(|row| row.chars().nth(class) != Some(' ')).count()
    };
    assert_eq!(height(4), usize::from(TALLEST), "the most");
    assert!((1..height(5)).contains(&height(LATE)), "{} {}", height(5), height(LATE));
    assert_eq!(height(0), 0);
}

#[test]
fn what_is_late_is_red_and_what_is_in_time_is_not() {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(&run(), false, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = drawn(&run(), false, 80, 24);
    let bottom = rows.iter().position(|row| row.starts_with("0         50")).unwrap() as u16 - 1;
    let colour = |class: usize| buffer[(class as u16, bottom)].fg;
    assert_eq!(
        (colour(4), colour(LATE - 1), colour(LATE)),
        (Color::Green, Color::Green, Color::Red)
    );
}

#[test]
fn a_low_or_narrow_terminal_shows_the_transport_and_the_misses_first() {
    check(&drawn(&run(), false, 40, 2), &["bar 32.1.000", "4 misses"]);
    check(&drawn(&run(), false, 50, 24), &["4 misses", "seat-taken", "worker 3", "main", "gaps"]);
    check(&drawn(&run(), false, 80, 10), &["4 misses", "seat-taken", "leader", "q quit"]);
}

#[test]
fn what_finds_no_room_is_counted() {
    let mut many = run();
    let worker = many.workers[0].clone();
    many.workers = vec![worker; 64];
    check(&drawn(&many, false, 80, 24), &["and 5", "main", "gaps"]);
}

#[test]
fn no_size_panics() {
    let empty = Shown::default();
    let mut odd = run();
    odd.meters[0].peak = f32::NAN;
    odd.workers[0].load = f64::INFINITY;
    odd.session = "\u{1b}[2J\u{202e}日本語のセッション".repeat(20);
    odd.song.seconds = -1e18;
    odd.classes = [u64::MAX; CLASSES];
    for width in (1..=12).chain((13..=300).step_by(19)) {
        for height in (1..=30).chain([50, 99, 100]) {
            for shown in [&empty, &odd] {
                drawn(shown, width % 2 == 0, width, height);
            }
        }
    }
}

#[test]
fn the_help_names_every_key() {
    let rows = drawn(&run(), true, 80, 24);
    check(&rows, &["space", "play, or stop", "one bar back", "loop on or off", "quit and print"]);
}

#[test]
fn clocks_count_minutes_and_tenths() {
    for (seconds, text) in
        [(0.0, "0:00.0"), (59.96, "0:59.9"), (62.34, "1:02.3"), (-1.5, "-0:01.5")]
    {
        assert_eq!(clock(seconds), text);
    }
}
