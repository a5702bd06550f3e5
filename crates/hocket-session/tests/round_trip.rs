//! A session that is written as a file is read back as the same session.

mod common;

use common::{FULL, Few, Folder, PLAYER, PLUGIN, STATE};
use hocket_plan::session::{
    Automation, Clip, ClipFade, ClipNote, Destination, EffectAt, Group, GroupId, Input, InputId,
    LaneSpec, LaneTarget, LoopPoints, Media, MediaId, MidiFile, NoteClip, NoteSource, Output,
    Return, ReturnId, Send, SendAt, Session, SongTime, Strip, StripId, Tap, Track,
};
use hocket_plan::{Effect, Key};
use hocket_session::{LoadOptions, WriteError, convert, session_text};
use hocket_time::{Glide, LanePoint, MeterPoint, Shape, TempoPoint, TimeBase, TimeSignature};
use proptest::prelude::*;
use proptest::sample::Index;

/// Writes and reads; panics with the text where it is refused.
fn again(folder: &Folder, session: &Session) -> Session {
    let path = folder.path("live.toml");
    let root = path.parent().expect("a folder");
    let text = session_text(session, &Few, root).unwrap_or_else(|error| panic!("{error}"));
    let loaded = folder.load(&text);
    loaded.unwrap_or_else(|errors| panic!("{errors}\n\n{text}")).session
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(0.1), 0.0..1e6, 0.0..1e-6]
}

fn level() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0), Just(-0.0), Just(f32::NEG_INFINITY), -200.0f32..24.0, -1e-30f32..1e-30]
}

fn tap() -> impl Strategy<Value = Tap> {
    prop_oneof![Just(Tap::PreFader), Just(Tap::PostFader)]
}

/// Anything that a name may be.
fn word() -> impl Strategy<Value = String> {
    "[a-z\"'\\\\#=\u{e4}\u{1f3b8} \\[\\]]{0,8}".prop_map(|word| format!("x{word}"))
}

fn clip(media: usize) -> impl Strategy<Value = Clip> {
    let times = [number(), number(), number(), number()];
    let length = prop::option::of(1e-9..1e6f64);
    let curve = prop::sample::select(ClipFade::ALL.to_vec());
    (0..media, times, length, any::<bool>(), level(), curve).prop_map(
        |(media, times, length_s, looped, gain_db, fade_curve)| Clip {
            media: MediaId(media),
            start_s: times[0],
            offset_s: times[1],
            length_s,
            looped,
            gain_db,
            fade_in_s: times[2],
            fade_out_s: times[3],
            fade_curve,
        },
    )
}

/// A compressor, which may have a key, or a reverb.
fn effect() -> impl Strategy<Value = Effect> {
    let compressor = (-60.0f32..=0.0, 1.0f32..=100.0)
        .prop_map(|(threshold, ratio)| Effect::new("compressor", vec![threshold, ratio]));
    let reverb = prop_oneof![Just(0.98f32), 0.0f32..=0.98]
        .prop_map(|mix| Effect { bypass: true, ..Effect::new("reverb", vec![mix]) });
    let synth = (0.0f32..=1.0).prop_map(|sustain| Effect::new("synth", vec![sustain]));
    prop_oneof![compressor, reverb, synth]
}

/// Notes that the session says itself, or those of the one MIDI file; its messages come with the reading.
fn notes() -> impl Strategy<Value = NoteClip> {
    let base = prop_oneof![Just(TimeBase::Seconds), Just(TimeBase::Beats)];
    let note = (0.0..1e4f64, 1e-3..1e2f64, 0u8..128, 0.0..=1.0f64, 0u8..16);
    let note = note.prop_map(|(at, length, key, velocity, channel)| ClipNote {
        at,
        length,
        key,
        velocity,
        channel,
    });
    let written =
        prop::collection::vec(note, 1..6).prop_map(|notes| NoteSource::Written(notes.into()));
    let file = prop_oneof![
        Just((None, None)),
        Just((Some(0), None)),
        Just((Some(1), Some(1))),
        Just((None, Some(0)))
    ];
    let file = file.prop_map(|(track, channel)| {
        NoteSource::File(MidiFile { path: "a.mid".into(), track, channel, messages: [].into() })
    });
    let source = prop_oneof![written, file];
    (base, 0.0..1e4f64, prop::option::of(1e-3..1e4f64), any::<bool>(), source).prop_map(
        |(base, start, length, chase, source)| NoteClip { base, start, length, chase, source },
    )
}

/// What a strip has that depends on no other.
fn strip() -> impl Strategy<Value = Strip> {
    let chain = prop::collection::vec(effect(), 0..3);
    (chain, level(), -1.0f32..=1.0, any::<[bool; 2]>()).prop_map(
        |(chain, gain_db, pan, [mute, solo])| Strip {
            chain,
            gain_db,
            pan,
            mute,
            solo,
            ..Strip::new("later")
        },
    )
}

fn points(min: f64, max: f64) -> impl Strategy<Value = Vec<LanePoint>> {
    let shape = prop_oneof![
        Just(Shape::Hold),
        Just(Shape::Linear),
        (-20.0f32..=20.0).prop_map(Shape::Curve)
    ];
    let point = (number(), 0.0..=1.0f64, shape).prop_map(move |(at, part, shape)| LanePoint {
        at,
        value: (min + (max - min) * part).clamp(min, max),
        shape,
    });
    prop::collection::vec(point, 1..5).prop_map(|mut points| {
        points.sort_by(|a, b| a.at.total_cmp(&b.at));
        points
    })
}

fn lane(min: f64, max: f64) -> impl Strategy<Value = LaneSpec> {
    let base = prop_oneof![Just(TimeBase::Seconds), Just(TimeBase::Beats)];
    (points(min, max), base, prop_oneof![Just(32u32), 1u32..=8192]).prop_map(
        |(points, base, grid_frames)| LaneSpec { grid_frames, ..LaneSpec::new(base, points) },
    )
}

fn time() -> impl Strategy<Value = SongTime> {
    let tempo = (0.0..1e4f64, 20.0..1e3f64, any::<bool>()).prop_map(|(beats, bpm, line)| {
        let glide = if line { Glide::Linear } else { Glide::Step };
        TempoPoint { beats, bpm, glide }
    });
    let meter = (0.0..1e4f64, 1u16..=255, 0u32..7).prop_map(|(beats, numerator, power)| {
        let signature = TimeSignature { numerator, denominator: 1 << power };
        MeterPoint { beats, signature }
    });
    let base = prop_oneof![Just(TimeBase::Seconds), Just(TimeBase::Beats)];
    let repeat = (base, 0.0..1e4f64, 1.0..1e4f64).prop_map(|(base, from, length)| LoopPoints {
        base,
        from,
        to: from + length,
    });
    let tempos = prop::collection::vec(tempo, 0..5);
    let meters = prop::collection::vec(meter, 0..5);
    (tempos, meters, prop::option::of(repeat)).prop_map(|(mut tempos, mut meters, repeat)| {
        tempos.sort_by(|a, b| a.beats.total_cmp(&b.beats));
        meters.sort_by(|a, b| a.beats.total_cmp(&b.beats));
        meters.dedup_by_key(|meter| meter.beats);
        SongTime { tempos, meters, repeat }
    })
}

/// How the strips of a session hang together: groups and returns feed later ones only, but for feedback.
#[derive(Debug, Clone)]
struct Wires {
    outputs: Vec<Index>,
    sends: Vec<(Index, Index, f32, Tap, bool)>,
    keys: Vec<(Index, Index, Tap)>,
    events: Vec<(Index, Index)>,
    lanes: Vec<(Index, Index, [LaneSpec; 3])>,
    taps: Vec<(Index, Tap)>,
}

fn wires() -> impl Strategy<Value = Wires> {
    let index = any::<Index>;
    let some = |most: usize| 0..most;
    let lanes = [lane(-200.0, 24.0), lane(-1.0, 1.0), lane(0.0, 1.0)];
    // Lanes of effects come with the range of any of them: 1 is in all.
    (
        prop::collection::vec(index(), 16),
        prop::collection::vec((index(), index(), level(), tap(), any::<bool>()), some(8)),
        prop::collection::vec((index(), index(), tap()), some(3)),
        prop::collection::vec((index(), index()), some(3)),
        prop::collection::vec((index(), index(), lanes), some(8)),
        prop::collection::vec((index(), tap()), some(3)),
    )
        .prop_map(|(outputs, sends, keys, events, lanes, taps)| Wires {
            outputs,
            sends,
            keys,
            events,
            lanes,
            taps,
        })
}

fn strip_mut(session: &mut Session, id: StripId) -> &mut Strip {
    match id {
        StripId::Track(i) => &mut session.tracks[i].strip,
        StripId::Group(i) => &mut session.groups[i].strip,
        StripId::Return(i) => &mut session.returns[i].strip,
        StripId::Master => &mut session.master,
    }
}

/// A target of a strip, and which of the three ranges of lanes it has.
fn target(session: &Session, id: StripId, which: &Index) -> (LaneTarget, usize) {
    let strip = session.strip(id);
    let mut all =
        vec![(LaneTarget::Gain(id), 0), (LaneTarget::Pan(id), 1), (LaneTarget::Mute(id), 2)];
    all.extend(
        (0..strip.sends.len()).map(|index| (LaneTarget::Send(SendAt { strip: id, index }), 0)),
    );
    for (index, effect) in strip.chain.iter().enumerate() {
        let at = EffectAt { strip: id, index };
        all.push((LaneTarget::Bypass(at), 2));
        if effect.kind == "reverb" {
            all.push((LaneTarget::Param(at, 0), 3));
        }
    }
    *which.get(&all)
}

fn wired(mut session: Session, wires: Wires) -> Session {
    let (groups, returns) = (session.groups.len(), session.returns.len());
    let group = |from: usize, which: &Index| match which.index(groups + 1) {
        to if to >= from && to < groups => Destination::Group(GroupId(to)),
        _ => Destination::Master,
    };
    let mut outputs = wires.outputs.iter().cycle();
    let mut next = |from| group(from, outputs.next().expect("there are sixteen"));
    session.tracks.iter_mut().for_each(|track| track.output = next(0));
    (0..groups).for_each(|i| session.groups[i].output = next(i + 1));
    let ids = session.strip_ids();
    let (master, strips) =
        ids.split_last().map(|(last, rest)| (*last, rest.to_vec())).expect("master");
    for (from, to, gain_db, tap, feedback) in wires.sends {
        let from = *from.get(&strips);
        let first = if let StripId::Return(i) = from { i + 1 } else { 0 };
        let (to, feedback) = match feedback {
            true if returns > 0 => (to.index(returns), true),
            false if first < returns => (first + to.index(returns - first), false),
            _ => continue,
        };
        let send = Send { to: ReturnId(to), gain_db, tap, feedback };
        strip_mut(&mut session, from).sends.push(send);
    }
    for (of, from, tap) in wires.keys {
        // Tracks hear nothing but clips, so all but tracks may listen to them.
        let listeners: Vec<StripId> = ids.iter().copied().skip(session.tracks.len()).collect();
        let key = Key { from: StripId::Track(from.index(session.tracks.len())), tap };
        let chain = &mut strip_mut(&mut session, *of.get(&listeners)).chain;
        let compressor = chain.iter_mut().find(|effect| effect.kind == "compressor");
        compressor.into_iter().for_each(|effect| effect.key = Some(key));
    }
    for (of, from) in wires.events {
        let from = StripId::Track(from.index(session.tracks.len()));
        let chain = &mut strip_mut(&mut session, *of.get(&ids)).chain;
        let synth = chain.iter_mut().find(|effect| effect.kind == "synth");
        synth.into_iter().for_each(|effect| effect.events = Some(from));
    }
    for (strip, which, lanes) in wires.lanes {
        let (target, range) = target(&session, *strip.get(&ids), &which);
        let mut lane = lanes[range.min(2)].clone();
        if range == 3 {
            let within = |point: &LanePoint| LanePoint { value: point.value * 0.98, ..*point };
            lane.points = lane.points.iter().map(within).collect();
        }
        session.set_lane(target, Some(lane));
    }
    // As they stand in a file: strip by strip.
    let place = |lane: &Automation| ids.iter().position(|id| *id == lane.target.strip());
    session.automation.sort_by_key(place);
    for (number, (from, tap)) in wires.taps.into_iter().enumerate() {
        session.outputs.push(Output { name: format!("out {number}"), from: *from.get(&ids), tap });
    }
    session.master.solo = false;
    debug_assert_eq!(master, StripId::Master);
    session
}

/// Audio files are numbered in the order in which clips name them.
fn number_media(session: &mut Session, folder: &Folder) {
    let mut order: Vec<usize> = Vec::new();
    for clip in session.tracks.iter_mut().flat_map(|track| &mut track.clips) {
        let place = order.iter().position(|own| *own == clip.media.0);
        clip.media.0 = place.unwrap_or_else(|| {
            order.push(clip.media.0);
            order.len() - 1
        });
    }
    let path = |file: &usize| folder.path(["audio/a.wav", "audio/b.wav"][*file]);
    session.media = order.iter().map(|file| Media { path: path(file), resample: true }).collect();
}

/// MIDI files are in the folder, and their messages are those that the reader found. What these are, other tests see.
fn take_messages(session: &mut Session, read: &Session, folder: &Folder) {
    for (track, read) in session.tracks.iter_mut().zip(&read.tracks) {
        for (clip, read) in track.notes.iter_mut().zip(&read.notes) {
            let (NoteSource::File(file), NoteSource::File(read)) = (&mut clip.source, &read.source)
            else {
                continue;
            };
            assert!(!read.messages.is_empty());
            (file.path, file.messages) = (folder.path("a.mid"), read.messages.clone());
        }
    }
}

fn sessions() -> impl Strategy<Value = Session> {
    let inputs = prop::collection::vec((1u16..=2, any::<bool>()), 0..3);
    let clips = (prop::collection::vec(clip(2), 0..3), prop::collection::vec(notes(), 0..3));
    let track = (strip(), clips, prop::option::of(any::<Index>()));
    let strips = || prop::collection::vec(strip(), 0..4);
    let lengths = (prop::option::of(1e-3..1e6f64), prop::option::of(1e-4..10.0f64));
    let about = (word(), 8_000u32..=384_000, lengths, time());
    let parts = (prop::collection::vec(track, 1..5), strips(), strips(), strip());
    (about, parts, inputs, wires()).prop_map(
        |(
            (name, sample_rate_hz, (length_s, feedback_s), time),
            (tracks, groups, returns, master),
            inputs,
            wires,
        )| {
            let named = |sort: &str, number: usize, strip: Strip| Strip {
                name: format!("{sort} {name} {number}"),
                ..strip
            };
            let mut session =
                Session { sample_rate_hz, length_s, feedback_s, time, ..Session::default() };
            for (number, (channels, events)) in inputs.into_iter().enumerate() {
                let (name, latency_frames) = (format!("in {number}"), 300 * number as u32);
                session.inputs.push(Input { name, channels, events, latency_frames });
            }
            let count = session.inputs.len();
            for (number, (strip, (clips, notes), input)) in tracks.into_iter().enumerate() {
                let input = input.filter(|_| count > 0).map(|which| InputId(which.index(count)));
                let strip = named("track", number, strip);
                let output = Destination::Master;
                session.tracks.push(Track { strip, output, clips, input, from: None, notes });
            }
            for (number, strip) in groups.into_iter().enumerate() {
                let strip = named("group", number, strip);
                session.groups.push(Group { strip, output: Destination::Master });
            }
            for (number, strip) in returns.into_iter().enumerate() {
                let strip = named("return", number, strip);
                session.returns.push(Return { strip, output: Destination::Master });
            }
            session.master = Strip { name: "master".into(), ..master };
            session.name = name;
            wired(session, wires)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_is_read_back(session in sessions()) {
        let folder = Folder::new();
        let mut session = session;
        number_media(&mut session, &folder);
        let read = again(&folder, &session);
        take_messages(&mut session, &read, &folder);
        prop_assert_eq!(read, session);
    }
}

#[test]
fn the_session_with_every_key_stays_the_same() {
    let folder = Folder::new();
    let session = folder.load(FULL).unwrap_or_else(|errors| panic!("{errors}")).session;
    let once = again(&folder, &session);
    assert_eq!(once, session);
    assert_eq!(again(&folder, &once), session);
}

#[test]
fn what_no_file_can_say_is_refused() {
    let folder = Folder::new();
    let session = folder.load(FULL).unwrap_or_else(|errors| panic!("{errors}")).session;
    let refused = |change: &dyn Fn(&mut Session)| {
        let mut changed = session.clone();
        change(&mut changed);
        session_text(&changed, &Few, &folder.path("")).expect_err("nothing says this")
    };
    let unknown = refused(&|session| session.master.chain[0].kind = "plug-in".into());
    assert!(matches!(unknown, WriteError::UnknownEffect { .. }), "{unknown}");
    let missing = refused(&|session| session.tracks[0].clips[0].media = MediaId(9));
    assert_eq!(missing, WriteError::Missing { strip: "drums".into() });
    let missing = refused(&|session| session.outputs[0].from = StripId::Group(9));
    assert_eq!(missing, WriteError::Missing { strip: "cue".into() });
    let mixed = refused(&|session| session.media[1].resample = false);
    assert_eq!(mixed, WriteError::Resample);
}

#[test]
fn a_plugin_and_its_state_are_kept() {
    let folder = Folder::new();
    let text = format!(
        "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n[[track.effect]]\nkind = \"{PLUGIN}\"\n\
         \"Drive (dB)\" = 12 # loud\nstate = \"a.state\"\n[[track.automation]]\neffect = \"{PLUGIN}\"\n\
         parameter = \"Drive (dB)\"\npoints = [[0, 24]]\n"
    );
    let session = folder.load(&text).unwrap_or_else(|errors| panic!("{errors}")).session;
    let effect = &session.tracks[0].strip.chain[0];
    assert_eq!((effect.kind.as_str(), &effect.values[..]), (PLUGIN, &[12.0, 1.0][..]));
    assert_eq!(effect.state.as_deref(), Some(&STATE[..]));
    assert_eq!(again(&folder, &session), session);
    let at = EffectAt { strip: StripId::Track(0), index: 0 };
    assert_eq!(session.automation[0].target, LaneTarget::Param(at, 0));
    // Elsewhere the same file has another path.
    std::fs::create_dir(folder.path("new")).unwrap();
    let (path, to) = (folder.path("old.toml"), folder.path("new"));
    std::fs::write(&path, &text).unwrap();
    let converted = convert(&path, &to, &Few, &LoadOptions::for_seats(1)).unwrap();
    assert!(converted.contains("state = \"../a.state\"") && converted.contains("# loud"));
    let mut in_no_file = session;
    in_no_file.tracks[0].strip.chain[0].state_file = None;
    let refused = session_text(&in_no_file, &Few, &folder.path("")).unwrap_err();
    assert!(matches!(refused, WriteError::State { .. }), "{refused}");
}

#[test]
fn the_file_of_an_effect_is_kept() {
    let folder = Folder::new();
    let text = format!(
        "[[track]]\nname = \"a\"\n[[track.notes]]\nnotes = [[0, 1, 60]]\n[[track.effect]]\nkind = \"{PLAYER}\"\n\
         file = \"audio/./a.wav\" # mine\nprogram = 2\n"
    );
    let session = folder.load(&text).unwrap_or_else(|errors| panic!("{errors}")).session;
    let effect = &session.tracks[0].strip.chain[0];
    assert_eq!(effect.file.as_deref(), Some(&*folder.path("audio/a.wav")));
    assert_eq!(again(&folder, &session), session);
    std::fs::create_dir(folder.path("new")).unwrap();
    let (path, to) = (folder.path("old.toml"), folder.path("new"));
    std::fs::write(&path, &text).unwrap();
    let converted = convert(&path, &to, &Few, &LoadOptions::for_seats(1)).unwrap();
    assert!(converted.contains("file = \"../audio/./a.wav\" # mine"), "{converted}");
}

#[test]
fn a_preset_is_kept_with_what_differs_from_it() {
    let folder = Folder::new();
    let text = |more: &str| {
        format!(
            "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n[[track.effect]]\nkind = \"{PLUGIN}\"\n\
             preset = \"Warm\"\n{more}"
        )
    };
    let load = |text: &str| folder.load(text).unwrap_or_else(|errors| panic!("{errors}")).session;
    let plain = load(&text(""));
    let effect = &plain.tracks[0].strip.chain[0];
    assert_eq!((&effect.values[..], effect.preset.as_deref()), (&[18.0, 0.5][..], Some("Warm")));
    assert_eq!((effect.state.as_deref(), &effect.state_file), (Some(&STATE[..]), &None));
    assert_eq!(again(&folder, &plain), plain);
    // A value of the file goes before the preset's, the plug-in's own default too.
    let own = load(&text("mix = 1\n"));
    assert_eq!(own.tracks[0].strip.chain[0].values, [18.0, 1.0]);
    assert_eq!(again(&folder, &own), own);
    // A preset that is gone, or holds another state by now, decides nothing.
    let mut gone = own;
    let effect = &mut gone.tracks[0].strip.chain[0];
    (effect.preset, effect.state) = (Some("Gone".into()), None);
    let mut written = gone.clone();
    written.tracks[0].strip.chain[0].preset = None;
    assert_eq!(again(&folder, &gone), written);
}

#[test]
fn isolation_is_kept() {
    let folder = Folder::new();
    let load = |isolate: &str| {
        let text = format!(
            "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n[[track.effect]]\nkind = \"{PLUGIN}\"\n{isolate}"
        );
        folder.load(&text).unwrap_or_else(|errors| panic!("{errors}")).session
    };
    for (text, isolated) in [("", false), ("isolate = false\n", false), ("isolate = true\n", true)]
    {
        let session = load(text);
        assert_eq!(session.tracks[0].strip.chain[0].isolate, isolated, "{text}");
        assert_eq!(again(&folder, &session), session, "{text}");
    }
}

#[test]
fn what_is_said_of_sent_events_is_kept() {
    let folder = Folder::new();
    let load = |send: &str| {
        let text = format!(
            "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n[[track.effect]]\nkind = \"{PLUGIN}\"\n{send}"
        );
        folder.load(&text).unwrap_or_else(|errors| panic!("{errors}")).session
    };
    let says =
        [("", None), ("send_events = false\n", Some(false)), ("send_events = true\n", Some(true))];
    for (text, sends) in says {
        let session = load(text);
        assert_eq!(session.tracks[0].strip.chain[0].send_events, sends, "{text}");
        assert_eq!(again(&folder, &session), session, "{text}");
    }
}
