//! Devices of a channel become effects of its strip, where an effect does the same.

use hocket_plan::{Effect, EffectCatalogue, ParamSpec};

use hocket_session::SessionError;

use crate::ImportError;
use crate::levels::{Quantity, within};
use crate::media::MediaTable;
use crate::remarks::Remarks;
use crate::xml::{Element, Read, Xml, called, child, children, flag};

/// A parameter of the project that moves something of a chain.
pub(crate) struct DeviceParam<'a> {
    pub id: &'a str,
    /// Place in the chain.
    pub effect: usize,
    /// `None`: whether the device is enabled.
    pub param: Option<(usize, Quantity)>,
}

/// The effects of a channel.
#[derive(Default)]
pub(crate) struct Chain<'a> {
    pub effects: Vec<Effect>,
    pub params: Vec<DeviceParam<'a>>,
    /// How many devices are replaced by nothing, or by what costs as much.
    pub replaced: usize,
}

/// What makes effects of devices.
pub(crate) struct Devices<'a, 'r> {
    pub xml: &'r Xml<'a>,
    pub catalogue: &'r dyn EffectCatalogue,
    pub remarks: &'r mut Remarks,
    /// Where states of plug-ins come from.
    pub files: &'r mut MediaTable,
    /// Effects that stand in for a device that is not played; none: it passes the sound on.
    pub stand_in: &'r [Effect],
    /// How many effects the session still has room for.
    pub room: usize,
}

/// As many as a session file holds.
pub(crate) const MAX_PARTS: usize = 1_000_000;
/// The bands of one `eq`.
const BANDS: usize = 4;
/// A gate of at least this ratio is a switch: 100 % of a share, of which [`Quantity::Ratio`] leaves out the last hundredth.
const SWITCH_RATIO: f64 = 99.9;

impl<'a> Devices<'a, '_> {
    /// The chain of a channel.
    pub(crate) fn chain(&mut self, channel: &Element<'a>) -> Result<Chain<'a>, ImportError> {
        let mut chain = Chain::default();
        let Some(devices) = child(channel, "Devices") else { return Ok(chain) };
        for device in devices.children().filter(|device| device.is_element()) {
            self.device(&device, &mut chain)?;
            if chain.effects.len() > self.room {
                return Err(too_many(self.xml, &device).into());
            }
        }
        Ok(chain)
    }

    fn device(&mut self, device: &Element<'a>, chain: &mut Chain<'a>) -> Result<(), ImportError> {
        if let Some(plugin) = self.installed(device) {
            return self.plugin(device, plugin, chain);
        }
        let read = match device.tag_name().name() {
            "Equalizer" if self.knows(&["eq", "gain"]) => self.equalizer(device, chain),
            "Compressor" if self.knows(&["compressor", "gain"]) => self.compressor(device, chain),
            "Limiter" if self.knows(&["limiter", "gain"]) => self.limiter(device, chain),
            "NoiseGate" if self.knows(&["gate"]) => self.noise_gate(device, chain),
            tag => {
                self.replace(device, tag, chain);
                Ok(())
            }
        };
        Ok(read?)
    }

    /// A device that Hocket does not have.
    fn replace(&mut self, device: &Element<'a>, tag: &str, chain: &mut Chain<'a>) {
        chain.replaced += 1;
        let sort = match tag {
            "Vst2Plugin" => "VST2 plug-in",
            "Vst3Plugin" => "VST3 plug-in",
            "ClapPlugin" => "CLAP plug-in",
            "Lv2Plugin" => "LV2 plug-in",
            "AuPlugin" => "AU plug-in",
            "NoiseGate" => "noise gate",
            _ => "device",
        };
        let role = match device.attribute("deviceRole") {
            Some("instrument") => " (an instrument)",
            _ => "",
        };
        let name = device.attribute("name").or(device.attribute("deviceName")).unwrap_or("");
        let name: String = name.chars().take(80).collect();
        let what = format!("the {sort} '{name}'{role}");
        let is_on = is_enabled(device) && flag(device, "loaded", true);
        let fate = match self.stand_in.is_empty() {
            true => "is not played: the sound passes it unchanged",
            false => {
                "is not played: effects that cost as much stand in, and the sound passes unchanged"
            }
        };
        self.remarks.add(device, what, fate);
        let bypass = !is_on;
        let effects = self.stand_in.iter().cloned();
        chain.effects.extend(effects.map(|effect| Effect { bypass, ..effect }));
    }

    fn equalizer(&mut self, device: &Element<'a>, chain: &mut Chain<'a>) -> Read<()> {
        let first = chain.effects.len();
        self.gain(device, "InputGain", chain)?;
        let mut slots = Slots::default();
        let has_order = !self.counts_bands(device)?;
        for band in children(device, "Band") {
            self.band(&band, has_order, &mut slots)?;
        }
        let eq = chain.effects.len();
        let specs = self.specs("eq");
        for slots in slots.0.chunks(BANDS) {
            let mut values = defaults(&specs);
            for band in 0..BANDS {
                let value = slots.get(band).map_or([0.0; 4], |slot| slot.values);
                values[band * 4..band * 4 + 4].copy_from_slice(&value_or(&specs, band, value));
            }
            chain.effects.push(effect("eq", values));
        }
        for (index, slot) in slots.0.iter().enumerate() {
            let (effect, band) = (eq + index / BANDS, index % BANDS);
            let params = slot.ids.iter().map(|&(id, param, quantity)| DeviceParam {
                id,
                effect,
                param: Some((band * 4 + param, quantity)),
            });
            chain.params.extend(params);
        }
        self.gain(device, "OutputGain", chain)?;
        self.switch(device, first, chain);
        Ok(())
    }

    /// Whether the `order` of the bands is their place, from 0 or from 1, and not that of a filter: the format does not
    /// say which, and programs differ. Two bands of the orders 1 and 2 may well be filters.
    fn counts_bands(&self, device: &Element<'a>) -> Read<bool> {
        let mut orders = Vec::new();
        for band in children(device, "Band") {
            orders.push(self.xml.number(&band, "order")?);
        }
        let from = |first: usize| {
            let mut places = orders.iter().zip(first..);
            places.all(|(order, place)| *order == Some(place as f64))
        };
        Ok(!orders.is_empty() && from(0) || orders.len() > 2 && from(1))
    }

    fn band(&mut self, band: &Element<'a>, has_order: bool, slots: &mut Slots<'a>) -> Read<()> {
        let shape = match band.attribute("type") {
            Some("bell") => 1.0,
            Some("lowShelf") => 2.0,
            Some("highShelf") => 3.0,
            Some("lowPass") => 4.0,
            Some("highPass") => 5.0,
            Some("notch") => 6.0,
            Some("bandPass") => 7.0,
            other => {
                let what = format!("an equaliser band of the type '{}'", other.unwrap_or(""));
                self.remarks.add(band, what, "is left out");
                return Ok(());
            }
        };
        let order = self.xml.number(band, "order")?.filter(|_| has_order).unwrap_or(2.0);
        let enabled = child(band, "Enabled").is_none_or(|switch| flag(&switch, "value", true));
        let is_pass = shape == 4.0 || shape == 5.0;
        let sections = if is_pass { (order / 2.0).ceil().clamp(1.0, 8.0) as usize } else { 1 };
        if order != 2.0 * sections as f64 {
            let what = format!("an equaliser band of order {order}");
            self.remarks.add(
                band,
                what,
                "is carried as the next order that pairs of poles can have",
            );
        }
        let (freq, gain, q) = (child(band, "Freq"), child(band, "Gain"), child(band, "Q"));
        let specs = self.specs("eq");
        let usual = |param: usize| f64::from(specs[param].default);
        let freq_hz = self.param(freq, &specs[1], Quantity::Frequency, usual(1))?;
        let gain_db = self.param(gain, &specs[3], Quantity::Gain, 0.0)?;
        let q_of_all = self.param(q, &specs[2], Quantity::Plain, usual(2))?;
        for section in 0..sections {
            let q_here = section_q(section, sections, f64::from(q_of_all));
            let (q_here, _) = within(&specs[2], q_here);
            let mut ids: Vec<(&'a str, usize, Quantity)> = Vec::new();
            ids.extend(freq.and_then(|freq| Some((freq.attribute("id")?, 1, Quantity::Frequency))));
            if sections == 1 {
                ids.extend(q.and_then(|q| Some((q.attribute("id")?, 2, Quantity::Plain))));
            }
            ids.extend(gain.and_then(|gain| Some((gain.attribute("id")?, 3, Quantity::Gain))));
            let shape = if enabled { shape } else { 0.0 };
            slots.0.push(Slot { values: [shape, freq_hz, q_here, gain_db], ids });
        }
        Ok(())
    }

    fn compressor(&mut self, device: &Element<'a>, chain: &mut Chain<'a>) -> Read<()> {
        let first = chain.effects.len();
        self.gain(device, "InputGain", chain)?;
        if child(device, "AutoMakeup").is_some_and(|auto| flag(&auto, "value", false)) {
            self.remarks.add(device, "automatic make-up gain of a compressor", "is left out");
        }
        let named = [
            ("Threshold", "threshold_db", Quantity::Gain),
            ("Ratio", "ratio", Quantity::Ratio),
            ("Attack", "attack_ms", Quantity::Time),
            ("Release", "release_ms", Quantity::Time),
            ("OutputGain", "makeup_db", Quantity::Gain),
        ];
        // The format knows no knee, so there is none.
        self.one(device, "compressor", &named, &[("knee_db", 0.0)], chain)?;
        self.switch(device, first, chain);
        Ok(())
    }

    fn limiter(&mut self, device: &Element<'a>, chain: &mut Chain<'a>) -> Read<()> {
        let first = chain.effects.len();
        let named = [
            ("Threshold", "ceiling_db", Quantity::Gain),
            ("InputGain", "input_db", Quantity::Gain),
            ("Attack", "lookahead_ms", Quantity::Time),
            ("Release", "release_ms", Quantity::Time),
        ];
        self.one(device, "limiter", &named, &[("ceiling_db", 0.0)], chain)?;
        self.gain(device, "OutputGain", chain)?;
        self.switch(device, first, chain);
        Ok(())
    }

    fn noise_gate(&mut self, device: &Element<'a>, chain: &mut Chain<'a>) -> Read<()> {
        let first = chain.effects.len();
        let named = [
            ("Threshold", "threshold_db", Quantity::Gain),
            ("Range", "range_db", Quantity::Gain),
            ("Attack", "attack_ms", Quantity::Time),
            ("Release", "release_ms", Quantity::Time),
        ];
        // The format knows one threshold. Without the usual hold, a gate would close at every zero of a wave.
        self.one(device, "gate", &named, &[("hysteresis_db", 0.0)], chain)?;
        if let Some(ratio) = child(device, "Ratio")
            && self.is_gradual(&ratio)?
        {
            let fate = "is left out: the gate closes by its whole range";
            self.remarks.add(&ratio, "the ratio of a noise gate", fate);
        }
        self.switch(device, first, chain);
        Ok(())
    }

    /// Whether a gate of this ratio closes the less, the nearer a level is to the threshold.
    fn is_gradual(&self, ratio: &Element<'a>) -> Read<bool> {
        let raw = self.xml.number_or_infinity(ratio, "value")?;
        Ok(raw.is_some_and(|raw| Quantity::Ratio.convert(ratio).value(raw) < SWITCH_RATIO))
    }

    /// One effect with parameters by name.
    fn one(
        &mut self,
        device: &Element<'a>,
        kind: &str,
        named: &[(&str, &str, Quantity)],
        fixed: &[(&str, f32)],
        chain: &mut Chain<'a>,
    ) -> Read<()> {
        let specs = self.specs(kind);
        let index_of = |name: &str| specs.iter().position(|spec| spec.name == name).unwrap_or(0);
        let mut values = defaults(&specs);
        for (name, value) in fixed {
            values[index_of(name)] = *value;
        }
        let effect_at = chain.effects.len();
        for (name, param, quantity) in named {
            let Some(given) = child(device, name) else { continue };
            let index = index_of(param);
            let usual = f64::from(values[index]);
            values[index] = self.param(Some(given), &specs[index], *quantity, usual)?;
            let id = given.attribute("id").filter(|_| !specs[index].fixed);
            let param =
                id.map(|id| DeviceParam { id, effect: effect_at, param: Some((index, *quantity)) });
            chain.params.extend(param);
        }
        chain.effects.push(effect(kind, values));
        Ok(())
    }

    /// A gain in decibels before or behind a device, where it does something or moves.
    fn gain(&mut self, device: &Element<'a>, name: &str, chain: &mut Chain<'a>) -> Read<()> {
        let Some(gain) = child(device, name) else { return Ok(()) };
        let specs = self.specs("gain");
        let value = self.param(Some(gain), &specs[0], Quantity::Gain, 0.0)?;
        let id = gain.attribute("id");
        if value == 0.0 && id.is_none() {
            return Ok(());
        }
        let effect_at = chain.effects.len();
        let param =
            id.map(|id| DeviceParam { id, effect: effect_at, param: Some((0, Quantity::Gain)) });
        chain.params.extend(param);
        chain.effects.push(effect("gain", vec![value]));
        Ok(())
    }

    /// The switch of a device is that of all its effects.
    pub(crate) fn switch(&mut self, device: &Element<'a>, first: usize, chain: &mut Chain<'a>) {
        let is_on = is_enabled(device) && flag(device, "loaded", true);
        let switch = child(device, "Enabled").and_then(|enabled| enabled.attribute("id"));
        for effect in first..chain.effects.len() {
            chain.effects[effect].bypass = !is_on;
            chain.params.extend(switch.map(|id| DeviceParam { id, effect, param: None }));
        }
    }

    pub(crate) fn param(
        &mut self,
        given: Option<Element<'a>>,
        spec: &ParamSpec,
        quantity: Quantity,
        usual: f64,
    ) -> Read<f32> {
        let Some(given) = given else { return Ok(usual as f32) };
        let Some(raw) = self.xml.number_or_infinity(&given, "value")? else {
            return Ok(usual as f32);
        };
        let converted = quantity.convert(&given).value(raw);
        let (value, is_outside) = within(spec, converted);
        if is_outside && !is_silence(spec, quantity, converted) {
            let what = format!("{} is beyond the range of {}: it", called(&given), spec.name);
            self.remarks.add(&given, what, "is held at its end");
        }
        Ok(value)
    }

    /// Whether effects of these kinds can be made. What stands for a device counts on their parameters.
    fn knows(&self, kinds: &[&str]) -> bool {
        let least = |kind: &str| if kind == "eq" { 4 * BANDS } else { 1 };
        kinds.iter().all(|kind| self.specs(kind).len() >= least(kind))
    }

    /// The parameters of a kind; none where the catalogue does not know it.
    fn specs(&self, kind: &str) -> Vec<ParamSpec> {
        self.catalogue.params(kind).unwrap_or_default()
    }
}

/// The strip, effect or send with which a session has more parts than it can have.
pub(crate) fn too_many(xml: &Xml<'_>, at: &Element<'_>) -> SessionError {
    let cause = format!("up to here the project has {MAX_PARTS} strips, clips, effects and sends");
    xml.error(at, cause, "split the project")
}

/// Whether the value is silence, as the lowest value of the parameter is.
fn is_silence(spec: &ParamSpec, quantity: Quantity, value: f64) -> bool {
    let ends_in_silence = matches!(&*spec.name, "gain_db" | "range_db");
    ends_in_silence && quantity == Quantity::Gain && value == f64::NEG_INFINITY
}

fn is_enabled(device: &Element<'_>) -> bool {
    child(device, "Enabled").is_none_or(|enabled| flag(&enabled, "value", true))
}

pub(crate) fn effect(kind: &str, values: Vec<f32>) -> Effect {
    Effect::new(kind, values)
}

pub(crate) fn defaults(specs: &[ParamSpec]) -> Vec<f32> {
    specs.iter().map(|spec| spec.default).collect()
}

/// Sections of an equaliser, four to an effect.
#[derive(Default)]
struct Slots<'a>(Vec<Slot<'a>>);

struct Slot<'a> {
    /// Shape, frequency, quality, gain.
    values: [f32; 4],
    /// The project's parameters that move them: id, which one, how.
    ids: Vec<(&'a str, usize, Quantity)>,
}

/// The values of a band; one that is not used has the shape `off` and the usual rest.
fn value_or(specs: &[ParamSpec], band: usize, value: [f32; 4]) -> [f32; 4] {
    match value[0] == 0.0 && value[1] == 0.0 {
        false => value,
        true => {
            let usual = |param: usize| specs.get(band * 4 + param).map_or(0.0, |spec| spec.default);
            [0.0, usual(1), usual(2), usual(3)]
        }
    }
}

/// The quality of one section of a steep pass: those of Butterworth's filter, the sharpest times what the band asks for
/// above the flattest.
fn section_q(section: usize, sections: usize, q: f64) -> f64 {
    if sections == 1 {
        return q;
    }
    let order = 2.0 * sections as f64;
    let angle = std::f64::consts::PI * (2.0 * section as f64 + 1.0) / (2.0 * order);
    let flattest = 1.0 / (2.0 * angle.cos());
    let is_sharpest = section + 1 == sections;
    if is_sharpest { flattest * q * std::f64::consts::SQRT_2 } else { flattest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steep_pass_is_flat_at_the_usual_quality() {
        let q: Vec<f64> =
            (0..2).map(|s| section_q(s, 2, std::f64::consts::FRAC_1_SQRT_2)).collect();
        assert!((q[0] - 0.541_196).abs() < 1e-5, "{q:?}");
        assert!((q[1] - 1.306_563).abs() < 1e-5, "{q:?}");
        assert_eq!(section_q(0, 1, 2.0), 2.0);
    }
}
