//! Plug-ins of a project play where they are installed, and are replaced where they are not.

mod common;

use std::sync::Arc;

use common::{CATALOGUE, Made, ONE, lanes, ramp, song};
use hocket_dawproject::{Import, Imported, import};
use hocket_plan::session::{EffectAt, LaneTarget, StripId};
use hocket_plan::{EffectCatalogue, ParamSpec};

const CLAP: &str = "clap:org.test.drive";
const LV2: &str = "lv2:urn:test:drive";
const VST3: &str = "vst3:0123456789ABCDEF0123456789ABCDEF";

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
            _ => CATALOGUE.params(kind),
        }
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
    let how = Import { catalogue: &Installed, stand_in: &[], stop: None };
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
    // A share of another range says nothing.
    assert_eq!((lv2.kind.as_str(), &lv2.values[..]), (LV2, &[0.5; 3][..]));
    assert_eq!((&lv2.state, &lv2.state_file), (&None, &None));
    let at = EffectAt { strip: StripId::Track(0), index: 0 };
    assert_eq!(session.lane(LaneTarget::Param(at, 0)).unwrap().points[0].value, 3.0);
    assert_eq!(imported.replaced, 0);
    let all = imported.remarks.join("\n");
    for word in ["'plugins/gone' is not in the archive", "beyond the range of Drive"] {
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
