//! What small projects become.

mod common;

use common::{AUDIO, Made, ONE, lanes, song};
use hocket_plan::session::{Destination, LaneTarget, StripId, Tap};
use hocket_time::{Glide, Shape, TimeBase};

/// Start, offset and length of the clips of the first track, in seconds.
fn clips(made: &Made) -> Vec<(f64, f64, f64)> {
    clips_of(&made.read().loaded.session)
}

fn clips_of(session: &hocket_plan::Session) -> Vec<(f64, f64, f64)> {
    let clip = |clip: &hocket_plan::session::Clip| {
        let round = |s: f64| (s * 1e6).round() / 1e6;
        (round(clip.start_s), round(clip.offset_s), round(clip.length_s.unwrap_or(-1.0)))
    };
    session.tracks[0].clips.iter().map(clip).collect()
}

#[track_caller]
fn check_clips(inside: &str, expected: &[(f64, f64, f64)]) {
    assert_eq!(clips(&Made::project(&song(ONE, &lanes(inside)))), expected, "{inside}");
}

#[test]
fn a_clip_plays_its_part_of_the_file_where_it_lies() {
    check_clips(
        &format!(
            "<Clips><Clip time=\"2\" duration=\"1\" playStart=\"0.25\" contentTimeUnit=\"seconds\">{AUDIO}</Clip></Clips>"
        ),
        &[(1.0, 0.25, 0.5)],
    );
    // Without a duration it follows from where the content stops.
    check_clips(
        &format!(
            "<Clips><Clip time=\"2\" playStart=\"0.25\" playStop=\"0.75\" contentTimeUnit=\"seconds\">{AUDIO}</Clip></Clips>"
        ),
        &[(1.0, 0.25, 0.5)],
    );
    // A clip that is switched off does not play, and the file ends before the clip does.
    check_clips(
        &format!(
            "<Clips><Clip time=\"0\" duration=\"1\" enable=\"false\">{AUDIO}</Clip>\
             <Clip time=\"4\" duration=\"9\">{AUDIO}</Clip></Clips>"
        ),
        &[(2.0, 0.0, 1.0)],
    );
}

#[test]
fn loops_are_laid_out() {
    check_clips(
        &format!(
            "<Clips><Clip time=\"0\" duration=\"2.5\" playStart=\"0.5\" loopStart=\"0\" loopEnd=\"1\" \
             contentTimeUnit=\"beats\">{AUDIO}</Clip></Clips>"
        ),
        &[(0.0, 0.25, 0.25), (0.25, 0.0, 0.5), (0.75, 0.0, 0.5)],
    );
}

#[test]
fn clips_in_clips_are_cut_by_those_around() {
    check_clips(
        &format!(
            "<Clips><Clip time=\"2\" duration=\"2\" playStart=\"0.5\"><Clips>\
             <Clip time=\"0\" duration=\"1\" contentTimeUnit=\"seconds\">{AUDIO}</Clip>\
             <Clip time=\"2\" duration=\"2\" contentTimeUnit=\"seconds\" playStart=\"0.5\">{AUDIO}</Clip>\
             </Clips></Clip></Clips>"
        ),
        &[(1.0, 0.25, 0.25), (1.75, 0.5, 0.25)],
    );
}

#[test]
fn a_clip_may_refer_to_the_content_of_another() {
    check_clips(
        &format!(
            "<Clips><Clip time=\"0\" duration=\"1\"><Clips id=\"shared\"><Clip time=\"0\" duration=\"1\" \
             contentTimeUnit=\"seconds\">{AUDIO}</Clip></Clips></Clip>\
             <Clip time=\"4\" duration=\"1\" reference=\"shared\"/></Clips>"
        ),
        &[(0.0, 0.0, 0.5), (2.0, 0.0, 0.5)],
    );
    let made = Made::project(&song(
        ONE,
        &lanes("<Clips id=\"self\"><Clip time=\"0\" duration=\"1\" reference=\"self\"/></Clips>"),
    ));
    assert!(made.refused().contains("hold themselves"), "{}", made.refused());
}

#[test]
fn fades_go_to_the_ends_that_they_belong_to() {
    let inside = format!(
        "<Clips><Clip time=\"0\" duration=\"2\" loopStart=\"0\" loopEnd=\"1\" fadeTimeUnit=\"beats\" \
         fadeInTime=\"0.5\" fadeOutTime=\"0.25\">{AUDIO}</Clip></Clips>"
    );
    let session = Made::project(&song(ONE, &lanes(&inside))).read().loaded.session;
    let fades: Vec<(f64, f64)> =
        session.tracks[0].clips.iter().map(|clip| (clip.fade_in_s, clip.fade_out_s)).collect();
    assert_eq!(fades, [(0.25, 0.0), (0.0, 0.125)]);
}

#[test]
fn warps_at_the_files_own_speed_play_the_file() {
    let inside = format!(
        "<Clips><Clip time=\"0\" duration=\"2\"><Warps timeUnit=\"beats\" contentTimeUnit=\"seconds\">{AUDIO}\
         <Warp time=\"0\" contentTime=\"0\"/><Warp time=\"2\" contentTime=\"1\"/></Warps></Clip></Clips>"
    );
    check_clips(&inside, &[(0.0, 0.0, 1.0)]);
}

#[test]
fn warps_at_another_speed_play_a_new_file() {
    let inside = format!(
        "<Clips><Clip time=\"0\" duration=\"4\" loopStart=\"0\" loopEnd=\"2\"><Warps timeUnit=\"beats\" \
         contentTimeUnit=\"seconds\">{AUDIO}<Warp time=\"0\" contentTime=\"0\"/><Warp time=\"1\" contentTime=\"0.25\"/>\
         <Warp time=\"2\" contentTime=\"1\"/></Warps></Clip></Clips>"
    );
    let made = Made::project(&song(ONE, &lanes(&inside)));
    let imported = made.read();
    assert!(imported.remarks.is_empty(), "{:?}", imported.remarks);
    let session = imported.loaded.session;
    assert_eq!(session.media.len(), 1, "one file for both laps");
    let new = session.tracks[0].clips[0].media;
    assert!(session.tracks[0].clips.iter().all(|clip| clip.media == new && clip.offset_s == 0.0));
    let audio = hocket_media::decode(&session.media[new.0].path).expect("it is a WAV file");
    assert_eq!((audio.frames(), audio.sample_rate_hz), (48_000, 48_000));
    // The ramp rises half as fast up to a beat, and then one and a half times as fast.
    for (at, expected) in [(12_000, 0.0625), (24_000, 0.125), (36_000, 0.3125)] {
        let got = audio.channels[0][at];
        assert!((got - expected).abs() < 1e-3, "{at}: {got} {expected}");
    }
}

#[test]
fn a_clip_that_cannot_keep_its_pitch_is_told_once() {
    let told = |algorithm: &str, end: f64| {
        let audio = AUDIO.replacen("<Audio", &format!("<Audio algorithm=\"{algorithm}\""), 1);
        let inside = format!(
            "<Clips><Clip time=\"0\" duration=\"8\" loopStart=\"0\" loopEnd=\"2\"><Warps timeUnit=\"beats\" \
             contentTimeUnit=\"seconds\">{audio}<Warp time=\"0\" contentTime=\"0\"/>\
             <Warp time=\"{end}\" contentTime=\"1\"/></Warps></Clip></Clips>"
        );
        Made::project(&song(ONE, &lanes(&inside))).read().remarks
    };
    for algorithm in ["stretch", "elastique-pro", "elastique_solo"] {
        assert!(told(algorithm, 4.0).is_empty(), "it keeps its pitch");
        let remarks = told(algorithm, 0.2);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        for word in [algorithm, "here its pitch changes with the speed", "project.xml:"] {
            assert!(remarks[0].contains(word), "{word}: {remarks:?}");
        }
        assert!(told(algorithm, 2.0).is_empty(), "it plays at its own speed");
    }
    for algorithm in ["repitch", "Repitch", "none", ""] {
        assert!(told(algorithm, 4.0).is_empty(), "{algorithm}");
        assert!(told(algorithm, 0.2).is_empty(), "{algorithm}");
    }
}

#[test]
fn lanes_of_midi_controllers_are_told_by_name() {
    let lane = |target: &str| {
        format!("<Points><Target {target}/><RealPoint time=\"0\" value=\"0\"/></Points>")
    };
    let inside = lane("expression=\"channelController\" channel=\"0\" controller=\"7\"")
        + &lane("expression=\"pitchBend\" channel=\"0\"");
    let remarks = Made::project(&song(ONE, &lanes(&inside))).read().remarks.join("\n");
    for word in ["the MIDI controller 7 is left out", "the expression 'pitchBend' is left out"] {
        assert!(remarks.contains(word), "{word}: {remarks}");
    }
}

#[test]
fn tempos_move_clips_in_beats_and_not_those_in_seconds() {
    let clips_at = |unit: &str| {
        format!(
            "<Lanes timeUnit=\"{unit}\"><Lanes track=\"one\"><Clips><Clip time=\"8\" duration=\"1\" \
             contentTimeUnit=\"seconds\">{AUDIO}</Clip></Clips></Lanes></Lanes>\
             <TempoAutomation unit=\"bpm\"><Target parameter=\"tempo\"/>\
             <RealPoint time=\"0\" value=\"120\" interpolation=\"hold\"/>\
             <RealPoint time=\"4\" value=\"60\" interpolation=\"linear\"/>\
             <RealPoint time=\"16\" value=\"240\"/></TempoAutomation>"
        )
    };
    let made = Made::project(&song(ONE, &clips_at("beats")));
    let session = made.read().loaded.session;
    let tempos: Vec<(f64, f64, Glide)> =
        session.time.tempos.iter().map(|t| (t.beats, t.bpm, t.glide)).collect();
    let expected =
        [(0.0, 120.0, Glide::Step), (4.0, 60.0, Glide::Linear), (16.0, 240.0, Glide::Step)];
    assert_eq!(tempos, expected);
    // From 60 to 240 over 12 beats: 4 beats take 60/15 * ln(120/60) seconds.
    let start = 2.0 + 4.0 * 2.0_f64.ln();
    assert!((session.tracks[0].clips[0].start_s - start).abs() < 1e-9);
    let made = Made::project(&song(ONE, &clips_at("seconds")));
    assert_eq!(made.read().loaded.session.tracks[0].clips[0].start_s, 8.0);
}

/// Four strips around a return and a group, routed and tapped.
const MIXER: &str = "\
    <Track contentType=\"tracks\" id=\"g\" name=\"band\"><Channel id=\"g-c\" destination=\"m\" role=\"submix\">\
      <Volume unit=\"linear\" value=\"0.5\"/></Channel>\
      <Track contentType=\"audio\" id=\"a\" name=\"a\"><Channel id=\"a-c\" destination=\"g-c\" role=\"regular\" solo=\"true\">\
        <Sends><Send destination=\"fx-c\" type=\"pre\"><Volume unit=\"linear\" value=\"0.1\"/></Send>\
               <Send destination=\"fx-c\"><Enable value=\"false\"/><Volume unit=\"linear\" value=\"1\"/></Send></Sends>\
        <Pan unit=\"normalized\" value=\"1\"/><Volume unit=\"decibel\" value=\"-3\"/><Mute value=\"true\"/></Channel></Track>\
      <Track contentType=\"audio\" id=\"b\" name=\"a\"><Channel id=\"b-c\" destination=\"fx-c\" role=\"regular\"/></Track>\
    </Track>\
    <Track contentType=\"audio\" id=\"fx\" name=\"fx\"><Channel id=\"fx-c\" destination=\"m\" role=\"effect\">\
      <Sends><Send destination=\"fx-c\"><Volume unit=\"linear\" value=\"0.5\"/></Send></Sends></Channel></Track>\
    <Track contentType=\"audio\" id=\"mt\" name=\"Main\"><Channel id=\"m\" role=\"master\"><Volume unit=\"linear\" value=\"2\"/></Channel></Track>";

#[test]
fn channels_become_strips_with_their_routes() {
    let imported = Made::project(&song(MIXER, "")).read();
    let session = imported.loaded.session;
    let names: Vec<&str> =
        session.strip_ids().iter().map(|id| session.strip(*id).name.as_str()).collect();
    assert_eq!(names, ["a", "a 2", "band", "routed by sends", "fx", "master"]);
    let band = session.groups[0].strip.clone();
    assert!((band.gain_db + 6.0206).abs() < 1e-3);
    let a = &session.tracks[0];
    assert_eq!(a.output, Destination::Group(hocket_plan::session::GroupId(0)));
    assert!(a.strip.mute && a.strip.solo);
    assert_eq!((a.strip.pan, a.strip.gain_db), (1.0, -3.0));
    assert_eq!(a.strip.sends.len(), 1, "a send that is off is none");
    assert_eq!(a.strip.sends[0].tap, Tap::PreFader);
    assert!((a.strip.sends[0].gain_db + 20.0).abs() < 1e-4);
    // An output to a return becomes a send behind the fader.
    let b = &session.tracks[1];
    assert_eq!(b.output, Destination::Group(hocket_plan::session::GroupId(1)));
    assert!(session.groups[1].strip.mute);
    assert_eq!((b.strip.sends[0].tap, b.strip.sends[0].gain_db), (Tap::PostFader, 0.0));
    // A return that feeds itself does so a block later.
    assert!(session.returns[0].strip.sends[0].feedback);
    assert!((session.master.gain_db - 6.0206).abs() < 1e-3);
    assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
    assert!(imported.remarks[0].contains("arrives one block later"));
}

#[test]
fn outputs_in_a_cycle_are_refused_with_their_names() {
    let structure = ONE.replace("destination=\"m\"", "destination=\"x-c\"")
        + "<Track id=\"x\" name=\"x\"><Channel id=\"x-c\" destination=\"one-c\" role=\"submix\"/></Track>";
    let error = Made::project(&song(&structure, "")).refused();
    assert!(error.contains("cycle") && error.contains("'one' -> 'x' -> 'one'"), "{error}");
    assert!(error.contains("song.dawproject/project.xml:"), "{error}");
}

#[test]
fn what_points_to_nothing_is_told_and_the_rest_plays() {
    let structure = ONE.replace("destination=\"m\"", "destination=\"gone\"");
    let inside = format!(
        "{}<Lanes track=\"nobody\"/>",
        lanes(&format!("<Clips><Clip time=\"0\" duration=\"1\">{AUDIO}</Clip></Clips>"))
    );
    let inside = inside.replace("</Lanes><Lanes track", "<Lanes track") + "</Lanes>";
    let imported = Made::project(&song(&structure, &inside)).read();
    let session = &imported.loaded.session;
    assert_eq!(session.tracks[0].clips.len(), 1);
    assert_eq!(session.tracks[0].output, Destination::Master);
    let all = imported.remarks.join("\n");
    assert!(all.contains("goes to the master") && all.contains("'nobody'"), "{all}");
}

#[test]
fn automation_moves_faders_pans_and_mutes() {
    let inside = "\
        <Points unit=\"linear\"><Target parameter=\"one-v\"/><RealPoint time=\"0\" value=\"1\" interpolation=\"linear\"/>\
          <RealPoint time=\"4\" value=\"0.5\"/></Points>\
        <Points unit=\"normalized\"><Target parameter=\"one-p\"/><RealPoint time=\"0\" value=\"0\" interpolation=\"linear\"/>\
          <RealPoint time=\"4\" value=\"1\" interpolation=\"linear\"/></Points>\
        <Points><Target parameter=\"one-m\"/><BoolPoint time=\"0\" value=\"false\"/><BoolPoint time=\"2\" value=\"true\"/></Points>\
        <Points><Target parameter=\"elsewhere\"/><RealPoint time=\"0\" value=\"1\"/></Points>";
    let imported = Made::project(&song(ONE, &lanes(inside))).read();
    let session = &imported.loaded.session;
    let id = StripId::Track(0);
    let pan = session.lane(LaneTarget::Pan(id)).expect("a lane");
    assert_eq!(pan.base, TimeBase::Beats);
    let points: Vec<(f64, f64)> = pan.points.iter().map(|point| (point.at, point.value)).collect();
    assert_eq!(points, [(0.0, -1.0), (4.0, 1.0)]);
    let mute = session.lane(LaneTarget::Mute(id)).expect("a lane");
    assert!(mute.points.iter().all(|point| point.shape == Shape::Hold));
    let gain = session.lane(LaneTarget::Gain(id)).expect("a lane");
    let map = session.time.map(48_000).expect("a tempo");
    let lane = gain.lane(&map).expect("it is right");
    for beat in [0.0, 0.7, 1.5, 2.0, 3.3, 4.0] {
        let frame = map.frame_at_beats(beat);
        let got = 10.0_f64.powf(lane.value_at(&map, frame) / 20.0);
        assert!((got - (1.0 - beat / 8.0)).abs() < 1e-4, "{beat}: {got}");
    }
    assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
    assert!(imported.remarks[0].contains("a parameter that is not there"));
}

#[test]
fn devices_become_effects_and_plug_ins_are_told() {
    let devices = "<Devices>\
        <Equalizer deviceName=\"EQ\" deviceRole=\"audioFX\"><Enabled value=\"true\" id=\"on\"/>\
          <Band type=\"highPass\" order=\"8\"><Freq unit=\"hertz\" value=\"80\" id=\"f\"/><Q unit=\"linear\" value=\"0.70710678\"/></Band>\
          <Band type=\"bell\"><Freq unit=\"semitones\" value=\"69\"/><Gain unit=\"decibel\" value=\"-40\"/><Q unit=\"linear\" value=\"1\"/></Band>\
          <OutputGain unit=\"decibel\" value=\"3\"/></Equalizer>\
        <Vst3Plugin deviceName=\"Some Reverb\" deviceRole=\"audioFX\"/>\
        <Compressor deviceName=\"C\" deviceRole=\"audioFX\" loaded=\"false\"><Ratio unit=\"percent\" value=\"50\"/>\
          <Attack unit=\"seconds\" value=\"0.02\"/><Threshold unit=\"decibel\" value=\"-12\"/></Compressor>\
        <NoiseGate deviceName=\"Gate\" deviceRole=\"audioFX\"/>\
        <Limiter deviceName=\"L\" deviceRole=\"audioFX\"><Threshold unit=\"decibel\" value=\"-2\"/></Limiter>\
        </Devices>";
    let structure = ONE.replacen("role=\"regular\">", &format!("role=\"regular\">{devices}"), 1);
    let inside = "<Points unit=\"hertz\"><Target parameter=\"f\"/><RealPoint time=\"0\" value=\"80\"/>\
        <RealPoint time=\"4\" value=\"200\"/></Points>\
        <Points><Target parameter=\"on\"/><BoolPoint time=\"0\" value=\"true\"/><BoolPoint time=\"4\" value=\"false\"/></Points>";
    let imported = Made::project(&song(&structure, &lanes(inside))).read();
    let session = &imported.loaded.session;
    let chain = &session.tracks[0].strip.chain;
    let kinds: Vec<(&str, bool)> = chain.iter().map(|e| (e.kind.as_str(), e.bypass)).collect();
    let expected = [
        ("eq", false),
        ("eq", false),
        ("gain", false),
        ("compressor", true),
        ("gate", false),
        ("limiter", false),
    ];
    assert_eq!(kinds, expected);
    // Four sections of eighth order, and the bell in the second effect.
    assert!(
        (0..4)
            .all(|band| chain[0].values[band * 4] == 5.0 && chain[0].values[band * 4 + 1] == 80.0)
    );
    assert_eq!(chain[1].values[..4], [1.0, 440.0, 1.0, -24.0]);
    assert_eq!(chain[1].values[4], 0.0, "the other bands are off");
    assert_eq!(chain[2].values, [3.0]);
    assert_eq!(&chain[3].values[..4], &[-12.0, 2.0, 0.0, 20.0]);
    assert_eq!(chain[5].values[1], -2.0);
    assert_eq!(imported.replaced, 1);
    // The frequency moves all four sections, and the switch both equalisers and the gain.
    let lanes = session.automation.len();
    assert_eq!(lanes, 4 + 3, "{:?}", session.automation);
    let all = imported.remarks.join("\n");
    for word in ["VST3 plug-in 'Some Reverb'", "beyond the range"] {
        assert!(all.contains(word), "{word}: {all}");
    }
}

#[test]
fn a_noise_gate_becomes_a_gate_without_hysteresis() {
    let devices = "<Devices>\
        <NoiseGate deviceName=\"G\" deviceRole=\"audioFX\"><Enabled value=\"false\" id=\"on\"/>\
          <Attack unit=\"seconds\" value=\"0.002\"/><Range unit=\"decibel\" value=\"-inf\" id=\"r\"/>\
          <Ratio unit=\"percent\" value=\"100\"/><Release unit=\"seconds\" value=\"0.05\"/>\
          <Threshold unit=\"linear\" value=\"0.1\"/></NoiseGate>\
        <NoiseGate deviceName=\"H\" deviceRole=\"audioFX\"><Ratio unit=\"percent\" value=\"60\" id=\"q\"/>\
          <Threshold unit=\"decibel\" value=\"-33\"/></NoiseGate></Devices>";
    let structure = ONE.replacen("role=\"regular\">", &format!("role=\"regular\">{devices}"), 1);
    let inside = "<Points unit=\"linear\"><Target parameter=\"r\"/><RealPoint time=\"0\" value=\"0\"/>\
        <RealPoint time=\"4\" value=\"0.1\"/></Points>\
        <Points><Target parameter=\"on\"/><BoolPoint time=\"0\" value=\"false\"/><BoolPoint time=\"4\" value=\"true\"/></Points>\
        <Points unit=\"percent\"><Target parameter=\"q\"/><RealPoint time=\"0\" value=\"60\"/></Points>";
    let imported = Made::project(&song(&structure, &lanes(inside))).read();
    let session = &imported.loaded.session;
    let chain = &session.tracks[0].strip.chain;
    let gates: Vec<(&str, bool)> = chain.iter().map(|e| (e.kind.as_str(), e.bypass)).collect();
    assert_eq!(gates, [("gate", true), ("gate", false)]);
    let check = |values: &[f32], expected: [f32; 6]| {
        let near = |(value, expected): (&f32, f32)| (value - expected).abs() < 1e-4;
        assert!(values.iter().zip(expected).all(near), "{values:?} for {expected:?}");
        assert_eq!(values.len(), expected.len());
    };
    // Threshold, range, attack, hold, release, hysteresis.
    check(&chain[0].values, [-20.0, -96.0, 2.0, 20.0, 50.0, 0.0]);
    check(&chain[1].values, [-33.0, -60.0, 1.0, 20.0, 100.0, 0.0]);
    let gate = hocket_plan::session::EffectAt { strip: StripId::Track(0), index: 0 };
    let range = session.lane(LaneTarget::Param(gate, 1)).expect("a lane");
    let values: Vec<f64> = range.points.iter().map(|point| point.value).collect();
    assert!((values[0] + 96.0).abs() < 1e-4 && (values[1] + 20.0).abs() < 1e-4, "{values:?}");
    assert!(session.lane(LaneTarget::Bypass(gate)).is_some());
    assert_eq!((session.automation.len(), imported.replaced), (2, 0));
    let all = imported.remarks.join("\n");
    assert_eq!(imported.remarks.len(), 2, "{all}");
    for word in ["the ratio of a noise gate is left out", "automation of"] {
        assert!(all.contains(word), "{word}: {all}");
    }
}

#[test]
fn clips_on_a_group_or_a_return_get_a_track() {
    let structure = MIXER.to_owned();
    let inside = format!(
        "<Lanes><Lanes track=\"g\"><Clips><Clip time=\"0\" duration=\"1\">{AUDIO}</Clip></Clips></Lanes>\
         <Lanes track=\"fx\"><Clips><Clip time=\"0\" duration=\"1\">{AUDIO}</Clip></Clips></Lanes></Lanes>"
    );
    let session = Made::project(&song(&structure, &inside)).read().loaded.session;
    let names: Vec<&str> = session.tracks.iter().map(|track| track.strip.name.as_str()).collect();
    assert_eq!(names, ["a", "a 2", "band clips", "fx clips"]);
    assert_eq!(session.tracks[3].strip.sends[0].to.0, 0);
}

#[test]
fn a_cross_fade_begins_earlier_and_moves_nothing() {
    // Half a second of what is before `playStart` fades in, and then the clip sounds where it lies.
    let clip = |start: &str, more: &str| {
        format!(
            "<Clips><Clip time=\"2\" duration=\"1\" playStart=\"{start}\" contentTimeUnit=\"seconds\" \
             fadeTimeUnit=\"seconds\" fadeInTime=\"-0.5\"{more}>{AUDIO}</Clip></Clips>"
        )
    };
    check_clips(&clip("0.5", ""), &[(0.5, 0.0, 1.0)]);
    // The file has only a quarter of a second there: silence is before it.
    let session = Made::project(&song(ONE, &lanes(&clip("0.25", "")))).read().loaded.session;
    assert_eq!(clips_of(&session), [(0.75, 0.0, 0.75)]);
    assert_eq!(session.tracks[0].clips[0].fade_in_s, 0.25);
    // Laps begin where the first one ends.
    check_clips(
        &clip("0.5", " loopStart=\"0.5\" loopEnd=\"0.75\""),
        &[(0.5, 0.0, 0.75), (1.25, 0.5, 0.25)],
    );
}

#[test]
fn a_fade_out_ends_with_a_file_that_ends_before_its_clip() {
    let inside = format!(
        "<Clips><Clip time=\"0\" duration=\"2.25\" fadeTimeUnit=\"seconds\" fadeOutTime=\"0.5\">{AUDIO}</Clip></Clips>"
    );
    let imported = Made::project(&song(ONE, &lanes(&inside))).read();
    assert!(imported.remarks.is_empty(), "{:?}", imported.remarks);
    let clip = &imported.loaded.session.tracks[0].clips[0];
    assert_eq!((clip.length_s, clip.fade_out_s), (Some(1.0), 0.375));
}

#[test]
fn a_session_ends_with_its_last_sound() {
    let inside = format!(
        "<Clips><Clip time=\"0\" duration=\"1\">{AUDIO}</Clip><Clip time=\"4\">{AUDIO}</Clip></Clips>"
    );
    let session = Made::project(&song(ONE, &lanes(&inside))).read().loaded.session;
    assert_eq!(session.length_s, Some(3.0));
}

#[test]
fn points_have_a_unit_of_their_own() {
    let inside = "\
        <Points unit=\"decibel\"><Target parameter=\"one-v\"/><RealPoint time=\"0\" value=\"-6\"/></Points>\
        <Points unit=\"linear\"><Target parameter=\"one-p\"/><RealPoint time=\"0\" value=\"-0.5\"/></Points>";
    let session = Made::project(&song(ONE, &lanes(inside))).read().loaded.session;
    let first = |target: LaneTarget| session.lane(target).expect("a lane").points[0].value;
    assert_eq!(first(LaneTarget::Gain(StripId::Track(0))), -6.0);
    assert_eq!(first(LaneTarget::Pan(StripId::Track(0))), -0.5);
}

#[test]
fn a_line_of_automation_from_before_the_start_is_cut_there() {
    let inside = "<Points><Target parameter=\"one-p\"/><RealPoint time=\"-1\" value=\"0\" interpolation=\"linear\"/>\
        <RealPoint time=\"1\" value=\"1\"/></Points>";
    let session = Made::project(&song(ONE, &lanes(inside))).read().loaded.session;
    let lane = session.lane(LaneTarget::Pan(StripId::Track(0))).expect("a lane");
    let points: Vec<(f64, f64)> = lane.points.iter().map(|point| (point.at, point.value)).collect();
    assert_eq!(points, [(0.0, 0.0), (1.0, 1.0)]);
}

#[test]
fn a_level_in_percent_is_a_share_of_full() {
    let structure =
        ONE.replace("<Volume unit=\"linear\" value=\"1\"", "<Volume unit=\"percent\" value=\"10\"");
    let session = Made::project(&song(&structure, "")).read().loaded.session;
    assert!((session.tracks[0].strip.gain_db + 20.0).abs() < 1e-5);
}

#[test]
fn what_a_vca_and_a_returns_solo_would_do_is_told() {
    let structure = ONE.replacen("destination=\"m\"", "destination=\"v-c\"", 1)
        + "<Track id=\"v\" name=\"v\"><Channel id=\"v-c\" role=\"vca\"/></Track>\
           <Track id=\"r\" name=\"r\"><Channel id=\"r-c\" destination=\"m\" role=\"effect\" solo=\"true\"/></Track>";
    let imported = Made::project(&song(&structure, "")).read();
    assert_eq!(imported.loaded.session.tracks[0].output, Destination::Master);
    let told = imported.remarks.join("\n");
    for words in ["the output of 'one' to a VCA", "the solo of 'r'"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn tempos_and_warps_may_lie_anywhere() {
    // Points out of order, and warps of which two lie before the file.
    let inside = format!(
        "{}<TempoAutomation unit=\"bpm\"><Target parameter=\"tempo\"/><RealPoint time=\"4\" value=\"60\"/>\
         <RealPoint time=\"0\" value=\"120\"/></TempoAutomation>",
        lanes(&format!(
            "<Clips><Clip time=\"0\" duration=\"4\"><Warps timeUnit=\"seconds\" contentTimeUnit=\"seconds\">{AUDIO}\
             <Warp time=\"-2\" contentTime=\"-9\"/><Warp time=\"-1\" contentTime=\"-1\"/>\
             <Warp time=\"1\" contentTime=\"1\"/></Warps></Clip></Clips>"
        ))
    );
    let session = Made::project(&song(ONE, &inside)).read().loaded.session;
    let tempos: Vec<(f64, f64)> = session.time.tempos.iter().map(|t| (t.beats, t.bpm)).collect();
    assert_eq!(tempos, [(0.0, 120.0), (4.0, 60.0)]);
    assert_eq!(clips_of(&session), [(0.0, 0.0, 1.0)]);
}

#[test]
fn orders_of_bands_that_count_them_are_places() {
    let first_shapes = |orders: [u32; 3]| {
        let band = |order: u32| {
            format!(
                "<Band type=\"highPass\" order=\"{order}\"><Freq unit=\"hertz\" value=\"80\"/></Band>"
            )
        };
        let devices = format!(
            "<Devices><Equalizer deviceName=\"E\">{}</Equalizer></Devices>",
            orders.map(band).concat()
        );
        let structure =
            ONE.replacen("role=\"regular\">", &format!("role=\"regular\">{devices}"), 1);
        let session = Made::project(&song(&structure, "")).read().loaded.session;
        session.tracks[0].strip.chain.iter().map(|eq| eq.values[12]).collect::<Vec<f32>>()
    };
    assert_eq!(first_shapes([0, 1, 2]), [0.0], "three sections");
    assert_eq!(first_shapes([1, 2, 3]), [0.0]);
    assert_eq!(first_shapes([2, 2, 4]), [5.0], "four sections");
}
