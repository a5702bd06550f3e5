//! A session file becomes the session that it describes.

mod common;

use common::{FULL, Few, Folder, PLUGIN, loaded};
use hocket_plan::session::{
    Automation, Clip, ClipFade, Destination, EffectAt, Group, GroupId, Input, InputId, LaneSpec,
    LaneTarget, LoopPoints, Media, MediaId, Output, OutputAt, Return, ReturnId, Send, SendAt,
    Session, SongTime, Strip, StripId, Tap, Track,
};
use hocket_plan::{Effect, Key};
use hocket_session::{WriteError, session_text};
use hocket_time::{Glide, LanePoint, MeterPoint, Shape, TempoPoint, TimeBase, TimeSignature};

fn strip(name: &str) -> Strip {
    let name = name.to_owned();
    Strip { name, chain: vec![], gain_db: 0.0, pan: 0.0, mute: false, solo: false, sends: vec![] }
}

fn effect(kind: &str, values: &[f32]) -> Effect {
    Effect::new(kind, values.to_vec())
}

fn whole_file(media: usize) -> Clip {
    Clip {
        media: MediaId(media),
        start_s: 0.0,
        offset_s: 0.0,
        length_s: None,
        looped: false,
        gain_db: 0.0,
        fade_in_s: 0.0,
        fade_out_s: 0.0,
        fade_curve: ClipFade::default(),
    }
}

fn drums() -> Track {
    let clip = Clip {
        media: MediaId(0),
        start_s: 1.0,
        offset_s: 0.5,
        length_s: Some(4.0),
        looped: true,
        gain_db: f32::NEG_INFINITY,
        fade_in_s: 0.1,
        fade_out_s: 0.2,
        fade_curve: ClipFade::EqualPower,
    };
    let key = Some(Key { from: StripId::Track(1), tap: Tap::PreFader });
    let compressor = Effect { bypass: true, key, ..effect("compressor", &[-18.0, 8.0]) };
    Track {
        strip: Strip {
            chain: vec![compressor, effect("reverb", &[0.98])],
            gain_db: -3.0,
            pan: -0.25,
            mute: true,
            solo: true,
            sends: vec![
                Send { to: ReturnId(1), gain_db: -12.0, tap: Tap::PreFader, feedback: false },
                Send { to: ReturnId(0), gain_db: 0.0, tap: Tap::PostFader, feedback: false },
            ],
            ..strip("drums")
        },
        output: Destination::Group(GroupId(0)),
        clips: vec![clip, whole_file(1)],
        input: Some(InputId(1)),
        from: None,
        notes: Vec::new(),
    }
}

fn groups() -> Vec<Group> {
    let rhythm = Strip {
        pan: 1.0,
        chain: vec![effect("reverb", &[0.3])],
        sends: vec![Send { to: ReturnId(0), gain_db: 0.0, tap: Tap::PostFader, feedback: false }],
        ..strip("rhythm")
    };
    let all = Strip { gain_db: f32::NEG_INFINITY, mute: true, solo: true, ..strip("all") };
    vec![
        Group { strip: rhythm, output: Destination::Group(GroupId(1)) },
        Group { strip: all, output: Destination::Master },
    ]
}

fn returns() -> Vec<Return> {
    let echo = Strip {
        gain_db: 1.0,
        chain: vec![effect("compressor", &[-18.0, 4.0])],
        sends: vec![Send { to: ReturnId(1), gain_db: -6.0, tap: Tap::PostFader, feedback: true }],
        ..strip("echo")
    };
    let back = Send { to: ReturnId(0), gain_db: -12.0, tap: Tap::PostFader, feedback: false };
    let hall = Strip { sends: vec![back], ..strip("hall") };
    vec![
        Return { strip: echo, output: Destination::Group(GroupId(1)) },
        Return { strip: hall, output: Destination::Master },
    ]
}

fn time() -> SongTime {
    // From beat 0 to 16 the tempo rises in a line: the time it takes is 16 * 60 * ln(120.5 / 90) / 30.5 s.
    let glide_s = 16.0 * 60.0 * (120.5f64 / 90.0).ln() / 30.5;
    let last = 16.0 + (30.0 - glide_s) * 120.5 / 60.0;
    let meter = |beats, numerator, denominator| MeterPoint {
        beats,
        signature: TimeSignature { numerator, denominator },
    };
    SongTime {
        tempos: vec![
            TempoPoint { beats: 0.0, bpm: 90.0, glide: Glide::Linear },
            TempoPoint::step(16.0, 120.5),
            TempoPoint::step(last, 60.0),
        ],
        // Two bars of 6/8 are 6 quarter notes.
        meters: vec![meter(0.0, 6, 8), meter(6.0, 3, 4), meter(12.0, 4, 4)],
        repeat: Some(LoopPoints { base: TimeBase::Beats, from: 4.0, to: 8.5 }),
    }
}

fn lane(target: LaneTarget, points: &[(f64, f64, Shape)]) -> Automation {
    let point = |(at, value, shape): &(f64, f64, Shape)| LanePoint {
        at: *at,
        value: *value,
        shape: *shape,
    };
    let points: Vec<LanePoint> = points.iter().map(point).collect();
    Automation { target, lane: LaneSpec::new(TimeBase::Seconds, points) }
}

fn automation() -> Vec<Automation> {
    use Shape::{Curve, Hold, Linear};
    let drums = StripId::Track(0);
    let effect = |index| EffectAt { strip: drums, index };
    let send = |strip, index| LaneTarget::Send(SendAt { strip, index });
    let mut ratio =
        lane(LaneTarget::Param(effect(0), 1), &[(0.0, 1.0, Linear), (4.0, 100.0, Linear)]);
    (ratio.lane.base, ratio.lane.grid_frames) = (TimeBase::Beats, 64);
    let gain =
        [(0.0, -200.0, Linear), (1.5, 0.0, Linear), (2.0, -6.0, Hold), (3.0, -6.5, Curve(-2.5))];
    let pans = (1..=8).map(|track| {
        lane(LaneTarget::Pan(StripId::Track(track)), &[(0.0, -1.0, Linear), (10.0, 1.0, Linear)])
    });
    let mut all = vec![
        lane(LaneTarget::Gain(drums), &gain),
        ratio,
        lane(LaneTarget::Bypass(effect(1)), &[(0.0, 1.0, Hold), (1.0, 0.0, Linear)]),
        lane(send(drums, 1), &[(0.0, -60.0, Linear), (1.0, 0.0, Linear)]),
    ];
    all.extend(pans);
    all.push(lane(send(StripId::Return(1), 0), &[(0.0, -12.0, Linear)]));
    all.push(lane(LaneTarget::Mute(StripId::Master), &[(0.0, 0.0, Hold), (20.0, 1.0, Linear)]));
    all
}

#[test]
fn every_key_lands_in_the_model() {
    let folder = Folder::new();
    let loaded = folder.load(FULL).unwrap_or_else(|error| panic!("{error}"));
    let voice = |number: usize| Track {
        strip: strip(&format!("voice {number}")),
        output: Destination::Master,
        clips: vec![whole_file(0)],
        input: None,
        from: None,
        notes: Vec::new(),
    };
    let media = |name: &str| Media { path: folder.path(name), resample: true };
    let master = Strip {
        gain_db: -1.0,
        pan: 0.5,
        mute: true,
        chain: vec![effect("compressor", &[-6.5, 4.0])],
        ..strip("master")
    };
    let expected = Session {
        name: "Full".to_owned(),
        sample_rate_hz: 44_100,
        length_s: Some(12.5),
        feedback_s: None,
        media: vec![media("audio/a.wav"), media("audio/b.wav")],
        tracks: [drums()].into_iter().chain((1..=8).map(voice)).collect(),
        groups: groups(),
        returns: returns(),
        master,
        preview: Some(MediaId(1)),
        time: time(),
        inputs: vec![
            Input { name: "mic".into(), channels: 1, events: false, latency_frames: 0 },
            Input { name: "keys".into(), channels: 2, events: false, latency_frames: 0 },
        ],
        outputs: vec![
            Output { name: "cue".into(), from: StripId::Return(1), tap: Tap::PreFader },
            Output { name: "all of it".into(), from: StripId::Master, tap: Tap::PostFader },
        ],
        automation: automation(),
        takes: Vec::new(),
    };
    // The last tempo is placed in seconds, and two ways to compute it round differently.
    let mut session = loaded.session;
    let placed = &mut session.time.tempos[2].beats;
    assert!((*placed - expected.time.tempos[2].beats).abs() < 1e-9, "{placed}");
    *placed = expected.time.tempos[2].beats;
    assert_eq!(session, expected);
    assert_eq!(loaded.warnings, Vec::<String>::new());
}

#[test]
fn what_is_left_out_has_its_default() {
    let loaded = loaded("[[track]]\nname = 'a'\n[[track.clip]]\nfile = 'audio/a.wav'\n");
    let session = &loaded.session;
    assert_eq!((session.name.as_str(), session.sample_rate_hz), ("live", 48_000));
    assert_eq!((session.length_s, session.preview), (None, None));
    assert!(session.media[0].resample);
    assert_eq!(session.master, strip("master"));
    let track = Track {
        strip: strip("a"),
        output: Destination::Master,
        clips: vec![whole_file(0)],
        input: None,
        from: None,
        notes: Vec::new(),
    };
    assert_eq!(session.tracks, [track]);
}

#[test]
fn inline_tables_mean_the_same() {
    let text = "track = [{ name = 'a', clip = [{ file = 'audio/a.wav' }] }]\nmaster.pan = 1\n";
    let session = loaded(text).session;
    assert_eq!(session.tracks[0].clips, [whole_file(0)]);
    assert_eq!(session.master.pan, 1.0);
}

#[test]
fn copies_differ_in_their_names_only() {
    let text = "[[track]]\nname = 'a'\ncount = COUNT\npan = 0.5\noutput = 'g'\n\
                [[track.clip]]\nfile = 'audio/a.wav'\n[[track.effect]]\nkind = 'reverb'\n\
                [[track.send]]\nto = 'r'\n[[track]]\nname = 'b'\n[[track.clip]]\nfile = 'audio/b.wav'\n\
                [[group]]\nname = 'g'\n[[return]]\nname = 'r'\n";
    let names = |count: &str, seats: usize| -> Vec<String> {
        let loaded = Folder::new().load_for(text.replace("COUNT", count), seats);
        let session = loaded.unwrap_or_else(|error| panic!("{error}")).session;
        let mut first = session.tracks[0].clone();
        for track in &session.tracks[..session.tracks.len() - 1] {
            first.strip.name.clone_from(&track.strip.name);
            assert_eq!(first, *track);
        }
        assert_eq!(session.media.len(), 2);
        session.tracks.into_iter().map(|track| track.strip.name).collect()
    };
    assert_eq!(names("1", 4), ["a 1", "b"]);
    assert_eq!(names("3", 4), ["a 1", "a 2", "a 3", "b"]);
    assert_eq!(names("'seats'", 2), ["a 1", "a 2", "b"]);
    assert_eq!(names("'seats x 2'", 1), ["a 1", "a 2", "b"]);
    assert_eq!(names("'seats*3'", 1).len(), 4);
    assert_eq!(names("'seats x 4'", 256).len(), 1025);
}

#[test]
fn a_file_is_one_medium_however_it_is_written() {
    let clip = |file: &str| format!("[[track.clip]]\nfile = '{file}'\n");
    let folder = Folder::new();
    let absolute = folder.path("audio/a.wav");
    let files = ["audio/a.wav", "./audio/a.wav", "audio//a.wav", &absolute.display().to_string()];
    let text: String = files.iter().map(|file| clip(file)).collect();
    let loaded = folder.load(format!("[[track]]\nname = 'a'\n{text}"));
    let session = loaded.unwrap_or_else(|error| panic!("{error}")).session;
    assert_eq!(session.media, [Media { path: absolute, resample: true }]);
    assert!(session.tracks[0].clips.iter().all(|clip| clip.media == MediaId(0)));
}

#[test]
fn strips_may_be_named_before_they_stand_in_the_file() {
    let text = "[[return]]\nname = 'r'\noutput = 'g'\n[[group]]\nname = 'g'\noutput = 'h'\n\
                [[group]]\nname = 'h'\n[[track]]\nname = 'a'\noutput = 'h'\n";
    let session = loaded(text).session;
    assert_eq!(session.returns[0].output, Destination::Group(GroupId(0)));
    assert_eq!(session.groups[0].output, Destination::Group(GroupId(1)));
}

fn check_warning(text: &str, line: usize, expected: &str) {
    let warnings = loaded(text).warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let place = format!("live.toml:{line}:1: ");
    assert!(warnings[0].contains(&place) && warnings[0].contains(expected), "{warnings:?}");
}

#[test]
fn what_is_probably_not_meant_is_told() {
    let clip = |more: &str| {
        format!("[[track]]\nname = 'a'\n[[track.clip]]\nfile = 'audio/a.wav'\n{more}\n")
    };
    check_warning("\n[[track]]\nname = 'a'\n", 2, "track 'a' has no clips: it is silent");
    check_warning(&clip("loop = true\nfade_out_s = 1"), 3, "fade_out_s has no effect");
    check_warning(&clip("length_s = 3\nfade_in_s = 2\nfade_out_s = 2"), 3, "they overlap");
    let late = format!("[session]\nlength_s = 2\n{}", clip("start_s = 2"));
    check_warning(&late, 5, "the clip starts after the session's length_s");
    assert!(loaded(&clip("fade_out_s = 1")).warnings.is_empty());
}

#[test]
fn warnings_end_where_nobody_reads_on() {
    let tracks: String = (0..5_000).map(|n| format!("[[track]]\nname = 't{n}'\n")).collect();
    assert_eq!(loaded(&tracks).warnings.len(), 100);
}

/// The strip stands further down, and each copy plays the output.
#[test]
fn tracks_and_their_copies_play_extra_outputs() {
    let folder = Folder::new();
    let text = format!(
        "[[track]]\nname = \"click\"\ncount = 2\nfrom = \"drums\"\nfrom_output = \"Click\"\n\
         [[track]]\nname = \"drums\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n\
         [[track.effect]]\nkind = \"reverb\"\n[[track.effect]]\nkind = \"{PLUGIN}\"\n"
    );
    let loaded = folder.load(text).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.warnings, [""; 0]);
    let session = loaded.session;
    let effect = EffectAt { strip: StripId::Track(2), index: 1 };
    let from = Some(OutputAt { effect, index: 1 });
    let found: Vec<Option<OutputAt>> = session.tracks.iter().map(|track| track.from).collect();
    assert_eq!(found, [from, from, None]);
    let text = session_text(&session, &Few, &folder.path("")).unwrap();
    let again = folder.load(text).unwrap_or_else(|errors| panic!("{errors}")).session;
    assert_eq!(again, session);
    // No file can say which of two effects is meant.
    let mut twice = session.clone();
    let plugin = twice.tracks[2].strip.chain[1].clone();
    twice.tracks[2].strip.chain.push(plugin);
    let refused = session_text(&twice, &Few, &folder.path("")).unwrap_err();
    let output = "Click".to_owned();
    assert_eq!(refused, WriteError::SameOutput { strip: "drums".into(), output });
    let mut gone = session;
    gone.tracks[2].strip.chain.pop();
    let refused = session_text(&gone, &Few, &folder.path("")).unwrap_err();
    assert_eq!(refused, WriteError::Missing { strip: "click 1".into() });
}
