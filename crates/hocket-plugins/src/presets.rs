//! Presets: how a session names one, and how those of CLAP plug-ins are found and read.
//!
//! LV2 describes presets in data ([`crate::lv2::presets`]). A CLAP plug-in has to be asked: its code says which there are, and
//! loads one. So a process of its own does both, as in a [scan](crate::scan): [`PresetScanner`] starts the program again, and
//! that process ([`answer`]) writes line by line what it learns into a file. What a preset is then, are values of parameters and
//! a state. The plug-in that plays starts with these.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::PresetValues;
use crate::child::{self, Early};
use crate::clap;
use crate::description::Description;
use crate::lv2::PresetName;

/// How many labels a message names.
const MOST_NAMED: usize = 8;
/// The longest answer of a process.
const LONGEST: u64 = 256 << 20;

/// A preset of a CLAP plug-in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClapPreset {
    /// What the plug-in calls it.
    pub label: String,
    /// The file that holds it; `None`: the plug-in itself.
    pub file: Option<String>,
    /// Which one in there, if there are several.
    pub key: Option<String>,
}

impl ClapPreset {
    /// What tells it from others of its label: the file, `#` and the key.
    pub fn place(&self) -> String {
        let file = self.file.as_deref().unwrap_or_default();
        match (&self.key, file.is_empty()) {
            (None, false) => file.to_owned(),
            (key, _) => format!("{file}#{}", key.as_deref().unwrap_or_default()),
        }
    }

    fn name(&self) -> PresetName {
        PresetName { label: self.label.clone(), uri: self.place() }
    }
}

/// What a process is asked.
#[derive(Debug, Serialize, Deserialize)]
struct Question {
    /// The CLAP file.
    library: PathBuf,
    /// The plug-in.
    id: String,
    /// `None`: which presets there are.
    load: Option<ClapPreset>,
}

/// A line of its answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    /// There is this preset.
    Has(ClapPreset),
    /// What the preset sets.
    Sets(Vec<f32>, Option<Vec<u8>>),
    /// It cannot be had.
    Fails(String),
    /// There is no more.
    Ends,
}

/// Answers a question into a file. For the process of its own.
///
/// # Errors
/// The file cannot be written, or the question is none.
pub fn answer(question: &str, into: &Path) -> io::Result<()> {
    let Question { library, id, load } = serde_json::from_str(question)?;
    let mut file = OpenOptions::new().append(true).create(true).open(into)?;
    let mut say = move |line: &Line| -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        file.write_all(text.as_bytes())
    };
    let told = match load {
        Some(preset) => clap::preset_values(&library, &id, &preset)
            .map(|PresetValues { values, state }| vec![Line::Sets(values, state)]),
        None => {
            clap::presets(&library, &id).map(|presets| presets.into_iter().map(Line::Has).collect())
        }
    };
    match told {
        Ok(lines) => lines.iter().try_for_each(&mut say)?,
        Err(why) => say(&Line::Fails(why))?,
    }
    say(&Line::Ends)
}

/// Finds and reads presets of CLAP plug-ins in processes of their own.
#[derive(Debug, Clone)]
pub struct PresetScanner {
    /// A program that calls [`answer`] with its last two arguments: question, file.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<String>,
    /// How long it may take.
    pub limit: Duration,
}

impl PresetScanner {
    /// The presets of a plug-in, sorted by label.
    ///
    /// # Errors
    /// The plug-in crashed, hung or could not say. The text is for users.
    pub(crate) fn list(&self, plugin: &Description) -> Result<Vec<PresetName>, String> {
        Ok(self.found(plugin)?.iter().map(ClapPreset::name).collect())
    }

    fn found(&self, plugin: &Description) -> Result<Vec<ClapPreset>, String> {
        let lines = self.ask(plugin, None)?;
        let has = |line| if let Line::Has(preset) = line { Some(preset) } else { None };
        let mut presets: Vec<ClapPreset> = lines.into_iter().filter_map(has).collect();
        presets.sort();
        presets.dedup();
        Ok(presets)
    }

    /// What the preset of this label or place sets.
    ///
    /// # Errors
    /// As [`PresetScanner::list`]; there is no such preset, several have this label, or the plug-in cannot load it.
    pub(crate) fn load(&self, plugin: &Description, name: &str) -> Result<PresetValues, String> {
        let found = self.found(plugin)?;
        let names: Vec<PresetName> = found.iter().map(ClapPreset::name).collect();
        let chosen = choose(&names, name, "place")?;
        let preset = found.into_iter().find(|preset| preset.name() == *chosen);
        let lines = self.ask(plugin, preset)?;
        let sets = |line| match line {
            Line::Sets(values, state) => Some(PresetValues { values, state }),
            _ => None,
        };
        let set = lines.into_iter().find_map(sets);
        let PresetValues { values, state } = set.ok_or("the plug-in did not say what it sets")?;
        // What another process wrote is held against what the scan knows.
        let params = plugin.params.iter().enumerate();
        let value = |index: usize| values.get(index).copied().filter(|value| value.is_finite());
        let fitted = params.map(|(index, param)| {
            let (min, max) = param.range();
            value(index).map_or(param.default_value(), |value| value.clamp(min, max))
        });
        Ok(PresetValues { values: fitted.collect(), state: state.filter(|_| plugin.state) })
    }

    fn ask(&self, plugin: &Description, load: Option<ClapPreset>) -> Result<Vec<Line>, String> {
        let question =
            Question { library: plugin.library.clone(), id: plugin.id().to_owned(), load };
        let (lines, early) = self
            .answered(&question)
            .map_err(|error| format!("no process can ask for its presets: {error}"))?;
        if let Some(Line::Fails(why)) = lines.iter().find(|line| matches!(line, Line::Fails(_))) {
            return Err(why.clone());
        }
        match early {
            None => Ok(lines),
            Some(early) => Err(format!("the plug-in {} when it was asked for presets", early.why)),
        }
    }

    fn answered(&self, question: &Question) -> io::Result<(Vec<Line>, Option<Early>)> {
        let file = tempfile::NamedTempFile::new()?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .arg(serde_json::to_string(question)?)
            .arg(file.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let ended = child::wait(&mut child, file.path(), self.limit)?;
        let text = hocket_files::read_bytes(file.path(), LONGEST).map_err(io::Error::other)?;
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<Line> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let is_complete = matches!(lines.last(), Some(Line::Ends));
        Ok((lines, (!is_complete).then(|| Early::of(ended))))
    }
}

/// The preset that a session names by its label or by what tells it from others (`kind_of_name`: "URI").
///
/// # Errors
/// None or several are called so. The text is for users.
pub(crate) fn choose<'a>(
    known: &'a [PresetName],
    name: &str,
    kind_of_name: &str,
) -> Result<&'a PresetName, String> {
    if let Some(preset) = known.iter().find(|preset| preset.uri == name) {
        return Ok(preset);
    }
    let labelled: Vec<&PresetName> = known.iter().filter(|preset| preset.label == name).collect();
    match labelled.as_slice() {
        [preset] => Ok(preset),
        [] => Err(unknown(known, name)),
        several => {
            let uris: Vec<&str> = several.iter().map(|preset| preset.uri.as_str()).collect();
            Err(format!(
                "several presets are called '{name}'; name one by its {kind_of_name}: {}",
                uris.join(", ")
            ))
        }
    }
}

fn unknown(known: &[PresetName], name: &str) -> String {
    if known.is_empty() {
        return format!("there is no preset '{name}': the plug-in has no presets");
    }
    let labels: Vec<String> =
        known.iter().take(MOST_NAMED).map(|preset| format!("'{}'", preset.label)).collect();
    let more = known.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there is no preset '{name}'; there are {}{more}", labels.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(uri: &str, label: &str) -> PresetName {
        PresetName { uri: uri.into(), label: label.into() }
    }

    #[test]
    fn a_preset_is_chosen_by_uri_or_by_a_label_that_one_has() {
        let known = [named("u:1", "Soft"), named("u:2", "Loud"), named("u:3", "Loud")];
        assert_eq!(choose(&known, "u:3", "URI"), Ok(&known[2]));
        assert_eq!(choose(&known, "Soft", "URI"), Ok(&known[0]));
        let several = choose(&known, "Loud", "URI").unwrap_err();
        assert!(several.contains("by its URI: u:2, u:3"), "{several}");
        let unknown = choose(&known, "soft", "URI").unwrap_err();
        assert!(
            unknown.contains("no preset 'soft'; there are 'Soft', 'Loud', 'Loud'"),
            "{unknown}"
        );
        assert!(choose(&[], "x", "URI").unwrap_err().contains("has no presets"));
        let many: Vec<PresetName> = (0..10).map(|n| named(&format!("u:{n}"), "Same")).collect();
        assert!(choose(&many, "x", "URI").unwrap_err().ends_with(" and 2 more"));
    }

    #[test]
    fn each_preset_of_a_plug_in_has_a_place_of_its_own() {
        let place = |file: Option<&str>, key: Option<&str>| {
            let (file, key) = (file.map(Into::into), key.map(Into::into));
            ClapPreset { label: "Same".into(), file, key }.place()
        };
        assert_eq!(place(None, None), "#");
        assert_eq!(place(None, Some("3")), "#3");
        assert_eq!(place(Some("/a/b.bank"), None), "/a/b.bank");
        assert_eq!(place(Some("/a/b.bank"), Some("3")), "/a/b.bank#3");
    }
}
