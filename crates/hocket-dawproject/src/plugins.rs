//! Plug-ins of a channel, where they are installed here.

use hocket_plan::{Effect, ParamSpec};

use crate::ImportError;
use crate::archive::NoMedia;
use crate::devices::{Chain, DeviceParam, Devices, defaults, effect};
use crate::levels::Quantity;
use crate::media::{State, shortened};
use crate::xml::{Element, child, elements, flag};

/// What begins the kind of a device that is a plug-in which Hocket could have.
pub(crate) fn prefix(tag: &str) -> Option<&'static str> {
    match tag {
        "ClapPlugin" => Some("clap:"),
        "Lv2Plugin" => Some("lv2:"),
        "Vst3Plugin" => Some("vst3:"),
        _ => None,
    }
}

/// The kind of a plug-in. Hosts write the id of a VST3 plug-in in one piece, or as other UUIDs, in small or in capital letters.
fn kind(tag: &str, id: &str) -> Option<String> {
    let prefix = prefix(tag)?;
    if tag != "Vst3Plugin" {
        return Some(format!("{prefix}{id}"));
    }
    let digits = id.chars().filter(|letter| !"{}-".contains(*letter));
    Some(format!("{prefix}{}", digits.collect::<String>().to_ascii_uppercase()))
}

impl<'a> Devices<'a, '_> {
    /// The kind of a plug-in that is installed, and its parameters.
    pub(crate) fn installed(&self, device: &Element<'a>) -> Option<(String, Vec<ParamSpec>)> {
        let kind = kind(device.tag_name().name(), device.attribute("deviceID")?)?;
        let specs = self.catalogue.params(&kind)?;
        Some((kind, specs))
    }

    /// A plug-in that is installed: with its state, and the values that the project gives.
    pub(crate) fn plugin(
        &mut self,
        device: &Element<'a>,
        (kind, specs): (String, Vec<ParamSpec>),
        chain: &mut Chain<'a>,
    ) -> Result<(), ImportError> {
        let first = chain.effects.len();
        let (state_file, state) = self.state(device, &kind)?.unzip();
        let mut values = defaults(&specs);
        for given in child(device, "Parameters").iter().flat_map(elements) {
            let Some(index) = place(&specs, &given) else { continue };
            values[index] = match given.tag_name().name() {
                "BoolParameter" => f32::from(flag(&given, "value", values[index] != 0.0)),
                _ => {
                    let usual = f64::from(values[index]);
                    self.param(Some(given), &specs[index], Quantity::Plain, usual)?
                }
            };
            let id = given.attribute("id").filter(|_| !specs[index].fixed);
            let param = Some((index, Quantity::Plain));
            chain.params.extend(id.map(|id| DeviceParam { id, effect: first, param }));
        }
        chain.effects.push(Effect { state, state_file, ..effect(&kind, values) });
        self.switch(device, first, chain);
        Ok(())
    }

    /// The state of a plug-in: its file, unpacked, and what is in it. One that cannot be read is remarked.
    fn state(&mut self, device: &Element<'a>, kind: &str) -> Result<Option<State>, ImportError> {
        let state = child(device, "State").filter(|_| self.catalogue.takes_state(kind));
        let Some((state, path)) = state.and_then(|state| Some((state, state.attribute("path")?)))
        else {
            return Ok(None);
        };
        match self.files.state(path, flag(&state, "external", false)) {
            Ok(found) => Ok(Some(found)),
            Err(NoMedia::NotPossible(text)) => Err(ImportError::NotPossible(text)),
            Err(NoMedia::Stopped) => Err(ImportError::Stopped),
            Err(NoMedia::Missing(cause)) => {
                let what = format!("the state '{}' {cause}: its plug-in", shortened(path));
                self.remarks.add(&state, what, "starts with its own");
                Ok(None)
            }
        }
    }
}

/// The parameter that the project means: its ID or its name is the one that the source gives, and no other has it. A share
/// of a range that is not from 0 to 1 says nothing.
fn place(specs: &[ParamSpec], given: &Element<'_>) -> Option<usize> {
    let names = [given.attribute("parameterID"), given.attribute("name")];
    let index = names.into_iter().flatten().find_map(|name| {
        let mut places = (0..specs.len()).filter(|index| specs[*index].name == name);
        places.next().filter(|_| places.next().is_none())
    })?;
    let is_share = given.attribute("unit") == Some("normalized");
    (!is_share || (specs[index].min, specs[index].max) == (0.0, 1.0)).then_some(index)
}
