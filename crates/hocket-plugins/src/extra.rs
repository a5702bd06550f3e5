//! Extra outputs: the audio outputs of a plug-in beside its first one, such as the snare of a drum sampler.
//!
//! The first output is the plug-in's part of its chain (`layout.rs`). Each extra one has a name and one or two channels. Their
//! rows lie one after the other in [`MoreRows::extra`], in the plug-in's order. What is wider is left out, and so is what goes
//! beyond [`MOST_CHANNELS`]. Of two instances, none has extra outputs: each of them would have half of every one.

use std::collections::HashSet;

use hocket_dsp::MoreRows;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::layout::Layout;

/// The most channels of all extra outputs of a plug-in: as many as a port of the engine has.
pub const MOST_CHANNELS: u16 = 64;

/// An extra output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtraOutput {
    /// As in sessions: the plug-in's own name of it, with a number behind it if another one has the same.
    pub name: String,
    /// 1 or 2.
    pub channels: u16,
}

/// An extra output, and where its rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub output: ExtraOutput,
    /// The plug-in's own number of it: a port, a bus or a group.
    pub place: usize,
}

/// The extra outputs among what a plug-in has beside its first output: place, name and channels.
pub(crate) fn offered(
    layout: &Layout,
    found: impl IntoIterator<Item = (usize, String, usize)>,
) -> Vec<Placed> {
    let (mut names, mut rows, mut offered) = (HashSet::new(), 0, Vec::new());
    if layout.instances() > 1 {
        return offered;
    }
    for (place, name, channels) in found {
        let channels = channels.min(usize::from(MOST_CHANNELS)) as u16;
        if !(1..=2).contains(&channels) || rows + channels > MOST_CHANNELS {
            continue;
        }
        rows += channels;
        let name = match name.trim() {
            "" => format!("output {}", place + 1),
            name => name.to_owned(),
        };
        let name = unique(&name, &mut names);
        offered.push(Placed { output: ExtraOutput { name, channels }, place });
    }
    offered
}

/// The second output of a name gets a number.
fn unique(name: &str, names: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name} {number}"));
    let mut all = std::iter::once(name.to_owned()).chain(numbered);
    all.find(|name| names.insert(name.clone())).unwrap_or_default()
}

/// The outputs alone, as descriptions have them.
pub(crate) fn described(placed: &[Placed]) -> Vec<ExtraOutput> {
    placed.iter().map(|placed| placed.output.clone()).collect()
}

/// How many rows they have.
pub(crate) fn channels(outputs: &[ExtraOutput]) -> usize {
    outputs.iter().map(|output| usize::from(output.channels)).sum()
}

/// Puts the rows of a run, frames `at` to `end` of the block, into the extra rows of a node, if it has any.
///
/// Thread: audio. Cost: O(rows * frames); no allocation, lock or system call.
pub(crate) fn put<'r>(
    more: &mut Option<&mut MoreRows<'_>>,
    (at, end): (usize, usize),
    rows: impl Iterator<Item = &'r [f32]>,
) {
    let Some(more) = more else { return };
    for (into, from) in more.extra.iter_mut().zip(rows) {
        into[at..end].iter_mut().zip(from).for_each(|(into, from)| *into = *from);
    }
}

/// The process that looks at a plug-in may be damaged by it, and so may what it writes.
pub(crate) fn sound_outputs<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<ExtraOutput>, D::Error> {
    let outputs = Vec::<ExtraOutput>::deserialize(from)?;
    let mut names = HashSet::new();
    let is_sound = |output: &ExtraOutput| {
        (1..=2).contains(&output.channels)
            && !output.name.trim().is_empty()
            && names.insert(output.name.clone())
    };
    let few = outputs.len() <= usize::from(MOST_CHANNELS);
    match few && outputs.iter().all(is_sound) && channels(&outputs) <= MOST_CHANNELS.into() {
        true => Ok(outputs),
        false => Err(de::Error::custom("its extra outputs make no sense")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEREO: Layout = Layout { inputs: 0, outputs: 2, side_chain: 0 };

    fn found(outputs: &[(&str, usize)]) -> Vec<(usize, String, usize)> {
        let all = outputs.iter().enumerate();
        all.map(|(index, (name, channels))| (index + 1, (*name).into(), *channels)).collect()
    }

    fn names(layout: Layout, outputs: &[(&str, usize)]) -> Vec<(String, u16, usize)> {
        let placed = offered(&layout, found(outputs)).into_iter();
        placed.map(|it| (it.output.name, it.output.channels, it.place)).collect()
    }

    #[test]
    fn each_output_has_a_name_of_its_own() {
        let outputs = [("Kick", 2), (" Kick ", 1), ("", 2), ("Kick 2", 1)];
        let expected = [("Kick", 2, 1), ("Kick 2", 1, 2), ("output 4", 2, 3), ("Kick 2 2", 1, 4)];
        let expected = expected.map(|(name, channels, place)| (name.to_owned(), channels, place));
        assert_eq!(names(STEREO, &outputs), expected);
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let outputs = [("none", 0), ("wide", 6), ("huge", usize::MAX), ("fits", 1)];
        assert_eq!(names(STEREO, &outputs), [("fits".to_owned(), 1, 4)]);
        assert_eq!(names(STEREO, &[("out", 2); 40]).len(), 32);
        let two = Layout { inputs: 1, outputs: 1, side_chain: 0 };
        assert_eq!(names(two, &outputs), []);
    }

    #[test]
    fn descriptions_that_make_no_sense_are_refused() {
        let read = |text: &str| sound_outputs(&mut serde_json::Deserializer::from_str(text)).ok();
        let kick = ExtraOutput { name: "Kick".into(), channels: 1 };
        assert_eq!(read(r#"[{"name":"Kick","channels":1}]"#), Some(vec![kick]));
        for bad in [
            r#"[{"name":"Kick","channels":3}]"#,
            r#"[{"name":" ","channels":1}]"#,
            r#"[{"name":"a","channels":1},{"name":"a","channels":1}]"#,
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
