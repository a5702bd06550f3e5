//! Plug-ins of a channel, where they are installed here.

use std::collections::HashMap;
use std::hash::Hash;

use hocket_plan::{Effect, ParamLabel, ParamSpec};

use crate::ImportError;
use crate::archive::NoMedia;
use crate::devices::{Chain, DeviceParam, Devices, defaults, effect};
use crate::levels::Quantity;
use crate::media::{State, shortened};
use crate::xml::{Element, called, child, elements, flag};

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
        let labels = self.catalogue.param_labels(&kind);
        let places = Places::new(&specs, &labels);
        for given in child(device, "Parameters").iter().flat_map(elements) {
            let Some(index) = places.of(&given) else {
                self.left_out(
                    device,
                    &given,
                    "is left out: the plug-in has none of this id or name",
                );
                continue;
            };
            let Some(quantity) = quantity(&specs[index], labels.get(index), &given) else {
                self.left_out(device, &given, "is left out: its range depends on the sample rate");
                continue;
            };
            let usual = f64::from(values[index]);
            values[index] = match given.tag_name().name() {
                "BoolParameter" if given.has_attribute("value") => {
                    let is_on = flag(&given, "value", false);
                    if is_on { specs[index].max } else { specs[index].min }
                }
                "BoolParameter" => values[index],
                _ => self.param(Some(given), &specs[index], quantity, usual)?,
            };
            let id = given.attribute("id").filter(|_| !specs[index].fixed);
            let param = Some((index, quantity));
            chain.params.extend(id.map(|id| DeviceParam { id, effect: first, param }));
        }
        chain.effects.push(Effect { state, state_file, ..effect(&kind, values) });
        self.switch(device, first, chain);
        Ok(())
    }

    fn left_out(&mut self, device: &Element<'a>, given: &Element<'a>, fate: &'static str) {
        let name = device.attribute("name").or(device.attribute("deviceName")).unwrap_or("");
        let what = format!("the parameter {} of '{}'", called(given), shortened(name));
        self.remarks.add(given, what, fate);
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

/// Where parameters are, by what programs call them. Projects may name many, and plug-ins may have many.
struct Places<'s> {
    ids: HashMap<u32, Option<usize>>,
    titles: HashMap<&'s str, Option<usize>>,
    names: HashMap<&'s str, Option<usize>>,
}

impl<'s> Places<'s> {
    fn new(specs: &'s [ParamSpec], labels: &'s [ParamLabel]) -> Places<'s> {
        Places {
            ids: only(labels.iter().map(|label| label.id)),
            titles: only(labels.iter().map(|label| label.title.trim())),
            names: only(specs.iter().map(|spec| &*spec.name)),
        }
    }

    /// The parameter that the project means. Programs write the plug-in's own id and title; the name that it has in
    /// sessions counts, too. `None`: there is none, or more than one.
    fn of(&self, given: &Element<'_>) -> Option<usize> {
        let [id, name] = ["parameterID", "name"].map(|key| given.attribute(key).map(str::trim));
        let of_id = id.and_then(number).and_then(|id| *self.ids.get(&id)?);
        let by = |places: &HashMap<&str, Option<usize>>| {
            [name, id].into_iter().flatten().find_map(|name| *places.get(name)?)
        };
        of_id.or_else(|| by(&self.titles)).or_else(|| by(&self.names))
    }
}

/// `None` is the place of what is there more than once.
fn only<T: Eq + Hash>(all: impl Iterator<Item = T>) -> HashMap<T, Option<usize>> {
    let mut places = HashMap::new();
    for (index, it) in all.enumerate() {
        places.entry(it).and_modify(|place| *place = None).or_insert(Some(index));
    }
    places
}

/// An id. Those of VST3 have 32 bits, which programs also write with a sign.
fn number(text: &str) -> Option<u32> {
    let id = text.parse::<i64>().ok()?;
    u32::try_from(id).ok().or_else(|| i32::try_from(id).ok().map(|id| id as u32))
}

/// How values of this parameter are written; `None`: as shares of a range that nobody knows.
fn quantity(spec: &ParamSpec, label: Option<&ParamLabel>, given: &Element<'_>) -> Option<Quantity> {
    let is_share = given.attribute("unit") == Some("normalized");
    match label.is_some_and(|label| label.per_rate) {
        true if is_share => None,
        true => Some(Quantity::Plain),
        false => Some(Quantity::Ranged(spec.min, spec.max)),
    }
}
