//! Plug-ins of a project play where they are installed, and are replaced where they are not.

mod common;

use std::sync::Arc;

use common::{CATALOGUE, Made, ONE, lanes, ramp, song};
use hocket_dawproject::{Import, Imported, import};
use hocket_plan::session::{EffectAt, LaneTarget, NoteSource, StripId};
use hocket_plan::{EffectCatalogue, ParamLabel, ParamSpec};

const CLAP: &str = "clap:org.test.drive";
const LV2: &str = "lv2:urn:test:drive";
const VST3: &str = "vst3:0123456789ABCDEF0123456789ABCDEF";
/// A plug-in with ids and titles: the names of its parameters in sessions are `lift`, `lift_2`, `cut_off` and `mode`.
const LABELLED: &str = "clap:org.test.labelled";

/// The built-in effects, and three plug-ins with three parameters each.
struct Installed;

impl EffectCatalogue for Installed {
    fn kinds(&self) -> Vec<&'static str> {
        CATALOGUE.kinds()
    }

    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        let spec = |name: &'static str, max| ParamSpec {
            name: name.into(),
            summary: "".into(),
            min: 0.0,
            max,
            default: 0.5,
            fixed: false,
        };
        match kind {
            CLAP | LV2 | VST3 => Some(vec![spec("Drive", 24.0), spec("7", 1.0), spec("On", 1.0)]),
            LABELLED => {
                let named = |name, min, max, default| ParamSpec { min, default, ..spec(name, max) };
                Some(vec![
                    named("lift", -50.0, 20.0, 0.0),
                    named("lift_2", -50.0, 20.0, 0.0),
                    named("cut_off", 0.0, 96_000.0, 100.0),
                    named("mode", 0.0, 3.0, 0.0),
                ])
            }
            _ => CATALOGUE.params(kind),
        }
    }

    fn param_labels(&self, kind: &str) -> Vec<ParamLabel> {
        let label = |id, title: &str, per_rate| ParamLabel { id, title: title.into(), per_rate };
        match kind {
            LABELLED => vec![
                label(0, "Lift", false),
                label(4_000_000_000, "Lift", false),
                label(7, "Cut Off", true),
                label(9, "Mode (of 4)", false),
            ],
            _ => Vec::new(),
        }
    }

    fn has_event_input(&self, kind: &str) -> bool {
        kind == LV2
    }

    fn takes_state(&self, kind: &str) -> bool {
        [CLAP, LV2, VST3].contains(&kind)
    }
}

fn read(devices: &str, inside: &str) -> (Imported, Made) {
    let devices = format!("role=\"regular\"><Devices>{devices}</Devices>");
    let xml = song(&ONE.replacen("role=\"regular\">", &devices, 1), &lanes(inside));
    let made = Made::of(&[
        ("project.xml", xml.as_bytes()),
        ("audio/ramp.wav", &ramp(480)),
        ("plugins/a.clap-preset", &[0, 255, 1]),
    ]);
    let how = Import { catalogue: &Installed, stand_in: &[], stop: None, checks_schema: false };
    let imported = import(&made.path, &made.unpacked(), &how);
    (imported.unwrap_or_else(|error| panic!("{error}")), made)
}

#[test]
fn installed_plugins_become_effects_with_state_values_and_lanes() {
    let devices = "<ClapPlugin deviceID=\"org.test.drive\" deviceName=\"Drive\" deviceRole=\"audioFX\">\
          <Parameters>\
            <RealParameter id=\"d\" name=\"Drive\" parameterID=\"3\" unit=\"linear\" value=\"99\"/>\
            <RealParameter id=\"s\" name=\"Seven\" parameterID=\"7\" unit=\"normalized\" value=\"0.25\"/>\
            <BoolParameter id=\"o\" name=\"On\" parameterID=\"9\" value=\"true\"/>\
            <RealParameter name=\"Other\" parameterID=\"10\" value=\"4\"/>\
          </Parameters>\
          <Enabled value=\"false\"/><State path=\"plugins/a.clap-preset\"/></ClapPlugin>\
        <Lv2Plugin deviceID=\"urn:test:drive\" deviceName=\"Drive\" deviceRole=\"audioFX\">\
          <Parameters><RealParameter name=\"Drive\" unit=\"normalized\" value=\"1\"/></Parameters>\
          <State path=\"plugins/gone\"/></Lv2Plugin>";
    let points = "<Points unit=\"linear\"><Target parameter=\"d\"/><RealPoint time=\"0\" value=\"3\"/></Points>";
    let (imported, made) = read(devices, points);
    let session = &imported.loaded.session;
    let [clap, lv2] = &session.tracks[0].strip.chain[..] else { panic!("{session:?}") };
    assert_eq!((clap.kind.as_str(), &clap.values[..]), (CLAP, &[24.0, 0.25, 1.0][..]));
    assert!(clap.bypass && !lv2.bypass);
    let state: Arc<[u8]> = Arc::from([0, 255, 1]);
    assert_eq!(clap.state, Some(state));
    let file = clap.state_file.as_ref().unwrap();
    assert_eq!(file.parent(), Some(made.unpacked().as_path()));
    assert_eq!(std::fs::read(file).unwrap(), [0, 255, 1]);
    assert_eq!((lv2.kind.as_str(), &lv2.values[..]), (LV2, &[24.0, 0.5, 0.5][..]));
    assert_eq!((&lv2.state, &lv2.state_file), (&None, &None));
    let at = EffectAt { strip: StripId::Track(0), index: 0 };
    assert_eq!(session.lane(LaneTarget::Param(at, 0)).unwrap().points[0].value, 3.0);
    assert_eq!(imported.replaced, 0);
    let all = imported.remarks.join("\n");
    let words = [
        "'plugins/gone' is not in the archive",
        "beyond the range of Drive",
        "the parameter 'Other' of 'Drive' is left out: the plug-in has none of this id or name",
    ];
    for word in words {
        assert!(all.contains(word), "{word}: {all}");
    }
}

/// Programs write the id of a VST3 plug-in in one piece or as other UUIDs.
#[test]
fn a_vst3_plugin_is_found_by_its_id_however_it_is_written() {
    let ids = [
        "0123456789ABCDEF0123456789ABCDEF",
        "01234567-89ab-cdef-0123-456789abcdef",
        "{01234567-89AB-CDEF-0123-456789ABCDEF}",
    ];
    for id in ids {
        let device = format!(
            "<Vst3Plugin deviceID=\"{id}\" deviceName=\"Drive\" deviceRole=\"audioFX\">\
               <State path=\"plugins/a.clap-preset\"/></Vst3Plugin>"
        );
        let (imported, _made) = read(&device, "");
        let [effect] = &imported.loaded.session.tracks[0].strip.chain[..] else { panic!("{id}") };
        assert_eq!((effect.kind.as_str(), imported.replaced), (VST3, 0));
        assert_eq!(effect.state.as_deref(), Some(&[0, 255, 1][..]));
    }
}

#[test]
fn a_plugin_that_is_not_installed_passes_the_sound_on() {
    let devices = "<ClapPlugin deviceID=\"org.test.other\" deviceName=\"Other\" deviceRole=\"audioFX\">\
        <State path=\"plugins/a.clap-preset\"/></ClapPlugin><Lv2Plugin deviceName=\"Nameless\"/>";
    let (imported, made) = read(devices, "");
    assert!(imported.loaded.session.tracks[0].strip.chain.is_empty());
    assert_eq!(imported.replaced, 2);
    let all = imported.remarks.join("\n");
    for word in ["the CLAP plug-in 'Other'", "the LV2 plug-in 'Nameless'"] {
        assert!(all.contains(word), "{word}: {all}");
    }
    assert!(!made.unpacked().join("a.clap-preset").exists());
}

/// The one effect of a plug-in with these parameters.
fn labelled(params: &str, points: &str) -> Imported {
    let device = format!(
        "<ClapPlugin deviceID=\"org.test.labelled\" name=\"Labelled\" deviceRole=\"audioFX\">\
         <Parameters>{params}</Parameters></ClapPlugin>"
    );
    read(&device, points).0
}

#[track_caller]
fn check_values(params: &str, expected: [f32; 4]) {
    let imported = labelled(params, "");
    assert!(imported.remarks.is_empty(), "{params}: {:?}", imported.remarks);
    let chain = &imported.loaded.session.tracks[0].strip.chain;
    assert_eq!(chain[0].values, expected, "{params}");
}

#[test]
fn parameters_are_found_by_the_id_then_the_title_then_the_name_of_sessions() {
    check_values(
        "<RealParameter name=\"Cut Off\" parameterID=\"0\" unit=\"linear\" value=\"12\"/>",
        [12.0, 0.0, 100.0, 0.0],
    );
    check_values(
        "<RealParameter name=\"Cut Off\" parameterID=\"1000\" unit=\"hertz\" value=\"12\"/>",
        [0.0, 0.0, 12.0, 0.0],
    );
    check_values(
        "<IntegerParameter parameterID=\"Mode (of 4)\" value=\"2\"/>",
        [0.0, 0.0, 100.0, 2.0],
    );
    check_values("<EnumParameter name=\"mode\" count=\"4\" value=\"3\"/>", [0.0, 0.0, 100.0, 3.0]);
    check_values("<BoolParameter parameterID=\"9\" value=\"true\"/>", [0.0, 0.0, 100.0, 3.0]);
    // The same 32 bits, as programs in other languages write them.
    for id in ["4000000000", "-294967296"] {
        let lift = format!(
            "<RealParameter name=\"Lift\" parameterID=\"{id}\" unit=\"linear\" value=\"3\"/>"
        );
        check_values(&lift, [0.0, 3.0, 100.0, 0.0]);
    }
}

#[test]
fn shares_and_lanes_of_shares_become_values_of_the_range() {
    let params = "<RealParameter id=\"l\" parameterID=\"0\" unit=\"normalized\" min=\"0\" max=\"1\" value=\"0.5\"/>";
    check_values(params, [-15.0, 0.0, 100.0, 0.0]);
    let lane = |unit: &str| {
        let points = format!(
            "<Points{unit}><Target parameter=\"l\"/><RealPoint time=\"0\" value=\"0\" interpolation=\"linear\"/>\
             <RealPoint time=\"8\" value=\"1\" interpolation=\"linear\"/></Points>"
        );
        let imported = labelled(params, &points);
        let at = EffectAt { strip: StripId::Track(0), index: 0 };
        let points = &imported.loaded.session.lane(LaneTarget::Param(at, 0)).unwrap().points;
        points.iter().map(|point| (point.at, point.value)).collect::<Vec<_>>()
    };
    assert_eq!(lane(""), [(0.0, -50.0), (8.0, 20.0)]);
    assert_eq!(lane(" unit=\"normalized\""), [(0.0, -50.0), (8.0, 20.0)]);
    assert_eq!(lane(" unit=\"linear\""), [(0.0, 0.0), (8.0, 1.0)]);
}

#[test]
fn parameters_that_a_plugin_does_not_have_are_told_with_their_lanes() {
    let params = "<RealParameter id=\"two\" name=\"Lift\" unit=\"linear\" value=\"1\"/>\
        <RealParameter id=\"gone\" name=\"Gone\" parameterID=\"5\" unit=\"linear\" value=\"1\"/>\
        <RealParameter name=\"Cut Off\" parameterID=\"7\" unit=\"normalized\" value=\"1\"/>";
    let points = "<Points><Target parameter=\"gone\"/><RealPoint time=\"0\" value=\"0\"/></Points>";
    let imported = labelled(params, points);
    let chain = &imported.loaded.session.tracks[0].strip.chain;
    assert_eq!(chain[0].values, [0.0, 0.0, 100.0, 0.0]);
    assert!(imported.loaded.session.automation.is_empty());
    let all = imported.remarks.join("\n");
    let words = [
        "the parameter 'Lift' of 'Labelled' is left out",
        "the parameter 'Gone' of 'Labelled' is left out",
        "the parameter 'Cut Off' of 'Labelled' is left out: its range depends on the sample rate",
        "automation of 'Gone' is left out",
    ];
    for word in words {
        assert!(all.contains(word), "{word}: {all}");
    }
}

/// Notes of two channels, on the track `one`, which holds another track or not.
fn notes_of_a_folder(inner: &str) -> Imported {
    let device = "<Devices><Lv2Plugin deviceID=\"urn:test:drive\"/><ClapPlugin deviceID=\"org.test.drive\"/></Devices>";
    let structure = format!(
        "<Track id=\"one\" name=\"one\">{inner}<Channel id=\"c\" destination=\"m\">{device}</Channel></Track>\
         <Track id=\"mt\"><Channel id=\"m\" role=\"master\"/></Track>"
    );
    let notes = "<Notes><Note time=\"0\" duration=\"1\" key=\"60\" channel=\"9\"/>\
        <Note time=\"1\" duration=\"1\" key=\"60\" channel=\"16\"/></Notes>";
    let xml = song(&structure, &lanes(notes));
    let made = Made::of(&[("project.xml", xml.as_bytes())]);
    let how = Import { catalogue: &Installed, stand_in: &[], stop: None, checks_schema: false };
    import(&made.path, &made.unpacked(), &how).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn instruments_receive_the_notes_of_their_channel() {
    let imported = notes_of_a_folder("");
    let session = &imported.loaded.session;
    assert_eq!((session.tracks.len(), session.tracks[0].notes[0].len()), (1, 2));
    assert!(session.tracks[0].strip.chain.iter().all(|effect| effect.events.is_none()));
    assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
    let told = "a note whose MIDI channel is none from 0 to 15";
    assert!(imported.remarks[0].contains(told), "{:?}", imported.remarks);
    let NoteSource::Written(notes) = &session.tracks[0].notes[0].source else { panic!("a file") };
    assert_eq!(notes.iter().map(|note| note.channel).collect::<Vec<_>>(), [9, 0]);
    // A group has no notes: a track does, and the instruments of the group name it.
    let imported =
        notes_of_a_folder("<Track id=\"inner\" name=\"inner\"><Channel id=\"ic\"/></Track>");
    let session = &imported.loaded.session;
    let [_, played] = &session.tracks[..] else { panic!("{session:?}") };
    assert_eq!((played.strip.name.as_str(), played.notes[0].len()), ("one clips", 2));
    let events: Vec<_> = session.groups[0].strip.chain.iter().map(|effect| effect.events).collect();
    assert_eq!(events, [Some(StripId::Track(1)), None]);
}
