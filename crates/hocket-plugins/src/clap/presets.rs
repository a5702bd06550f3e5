//! Presets of CLAP plug-ins: which there are (preset discovery), and what one sets (preset load). On the main thread, of a
//! process of its own: both run unknown code.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clack_extensions::params::PluginParams;
use clack_extensions::preset_discovery::factory::PresetDiscoveryFactory;
use clack_extensions::preset_discovery::prelude::{
    FileType, Flags as PresetFlags, IndexerImpl, Location, LocationInfo, MetadataReceiverImpl,
    PluginPresetLoad, Provider, Soundpack, Timestamp, UniversalPluginId,
};
use clack_extensions::state::PluginState;
use clack_host::prelude::*;

use super::host::Flags;
use super::instances::{Instances, facts, host_info, instance};
use crate::catalog::PresetValues;
use crate::presets::ClapPreset;

/// How deep folders below a plug-in's folder of presets may lie.
const DEEPEST: usize = 8;
/// The most files of a plug-in that are looked at, and the most presets that are listed.
const MOST: usize = 20_000;
/// The longest label, in characters.
const LONGEST_LABEL: usize = 200;

/// What a provider says of the places of its presets.
#[derive(Default)]
struct Places {
    /// Endings of files; an empty one stands for all.
    endings: Vec<String>,
    /// Files and folders; `None`: the plug-in itself.
    places: Vec<Option<CString>>,
}

impl IndexerImpl for Places {
    fn declare_filetype(&mut self, file: FileType<'_>) -> Result<(), HostError> {
        let ending = file.file_extension.map(|ending| ending.to_string_lossy().into_owned());
        self.endings.push(ending.unwrap_or_default());
        Ok(())
    }

    fn declare_location(&mut self, place: LocationInfo<'_>) -> Result<(), HostError> {
        self.places.push(place.location.file_path().map(CStr::to_owned));
        Ok(())
    }

    fn declare_soundpack(&mut self, _: Soundpack<'_>) -> Result<(), HostError> {
        Ok(())
    }
}

impl Places {
    fn holds(&self, file: &Path) -> bool {
        let ending = file.extension().map(|ending| ending.to_string_lossy());
        let is = |known: &String| {
            known.is_empty() || ending.as_ref().is_some_and(|e| e.eq_ignore_ascii_case(known))
        };
        self.endings.is_empty() || self.endings.iter().any(is)
    }
}

/// Collects the presets of one place.
struct Found<'f> {
    /// The plug-in whose presets are wanted.
    id: &'f CStr,
    file: Option<&'f str>,
    begun: Option<ClapPreset>,
    is_of_plugin: bool,
    presets: &'f mut Vec<ClapPreset>,
}

impl Found<'_> {
    /// The preset that was begun is complete.
    fn end(&mut self) {
        let begun = self.begun.take();
        if self.is_of_plugin && self.presets.len() < MOST {
            self.presets.extend(begun);
        }
        self.is_of_plugin = false;
    }

    fn label(&self, name: Option<&CStr>, key: Option<&str>) -> String {
        let of_file = self.file.and_then(|file| Path::new(file).file_stem());
        let name = name.map(CStr::to_string_lossy).filter(|name| !name.trim().is_empty());
        let name = name.or_else(|| of_file.map(|stem| stem.to_string_lossy()));
        let name = name.unwrap_or_else(|| key.unwrap_or("preset").into());
        name.trim().chars().filter(|c| !c.is_control()).take(LONGEST_LABEL).collect()
    }
}

impl MetadataReceiverImpl for Found<'_> {
    /// A file without presets is none.
    fn on_error(&mut self, _: i32, _: Option<&CStr>) {}

    fn begin_preset(&mut self, name: Option<&CStr>, key: Option<&CStr>) -> Result<(), HostError> {
        self.end();
        if self.presets.len() >= MOST {
            return Err(HostError::Message("too many presets"));
        }
        // A session is text, and so is a key in it.
        let key = key.map(CStr::to_str).transpose();
        let key = key.map_err(|_| HostError::Message("a load key is no UTF-8"))?;
        let label = self.label(name, key);
        let (file, key) = (self.file.map(Into::into), key.map(Into::into));
        self.begun = Some(ClapPreset { label, file, key });
        Ok(())
    }

    fn add_plugin_id(&mut self, plugin: UniversalPluginId<'_>) {
        self.is_of_plugin |= plugin.abi == c"clap" && plugin.id == self.id;
    }

    fn set_soundpack_id(&mut self, _: &CStr) {}

    fn set_flags(&mut self, _: PresetFlags) {}

    fn add_creator(&mut self, _: &CStr) {}

    fn set_description(&mut self, _: &CStr) {}

    fn set_timestamps(&mut self, _: Option<Timestamp>, _: Option<Timestamp>) {}

    fn add_feature(&mut self, _: &CStr) {}

    fn add_extra_info(&mut self, _: &CStr, _: &CStr) {}
}

impl Instances {
    /// The presets of a plug-in, in the order in which its file tells them.
    pub fn presets(&mut self, file: &Path, id: &str) -> Result<Vec<ClapPreset>, String> {
        let entry = self.entry(file)?;
        let Some(factory) = entry.get_factory::<PresetDiscoveryFactory<'_>>() else {
            return Ok(Vec::new());
        };
        let refused = |error: &dyn std::fmt::Display| format!("it lists no presets: {error}");
        let id = CString::new(id).map_err(|error| refused(&error))?;
        let info = host_info().map_err(|error| refused(&error))?;
        let mut presets = Vec::new();
        for provider in factory.provider_descriptors().filter_map(|provider| provider.id()) {
            let provider = Provider::instantiate(Places::default(), &entry, provider, &info);
            let mut provider = provider.map_err(|error| refused(&error))?;
            let places = std::mem::take(provider.indexer_mut());
            for place in &places.places {
                match place {
                    None => ask(&mut provider, (id.as_c_str(), None), &mut presets),
                    Some(path) => {
                        for file in files(Path::new(&*path.to_string_lossy()), &places) {
                            let place = (id.as_c_str(), Some(file.as_str()));
                            ask(&mut provider, place, &mut presets);
                        }
                    }
                }
            }
        }
        Ok(presets)
    }

    /// What a plug-in has after it has loaded a preset.
    pub fn preset_values(
        &mut self,
        file: &Path,
        id: &str,
        preset: &ClapPreset,
    ) -> Result<PresetValues, String> {
        let entry = self.entry(file)?;
        let flags = Arc::new(Flags::default());
        let mut instance = instance(&entry, id, &flags)?;
        let params = facts(&mut instance)?.params;
        load(&mut instance, preset).map_err(|()| {
            let said = flags.log.take_news().join("; ");
            let said = if said.is_empty() { said } else { format!(": {said}") };
            format!("the plug-in does not load the preset '{}'{said}", preset.label)
        })?;
        if flags.take_callback() {
            instance.call_on_main_thread_callback();
        }
        let handle = instance.plugin_handle();
        let extension = handle.get_extension::<PluginParams>();
        let value = |param: &crate::Param| {
            let value = extension?.get_value(&handle, ClapId::from_raw(param.id)?)?;
            Some(value as f32).filter(|value| value.is_finite())
        };
        let values = params.iter().map(|param| value(param).unwrap_or(param.default)).collect();
        let mut state = None;
        if let Some(extension) = handle.get_extension::<PluginState>() {
            let mut bytes = Vec::new();
            extension.save(&handle, &mut bytes).map_err(|error| error.to_string())?;
            state = Some(bytes);
        }
        Ok(PresetValues { values, state })
    }
}

/// The presets of one place.
fn ask(
    provider: &mut Provider<Places>,
    (id, file): (&CStr, Option<&str>),
    presets: &mut Vec<ClapPreset>,
) {
    let path = file.map(CString::new).transpose();
    let Ok(path) = path else { return };
    let place = path.as_deref().map_or(Location::Plugin, |path| Location::File { path });
    let mut found = Found { id, file, begun: None, is_of_plugin: false, presets };
    provider.get_metadata(place, &mut found);
    found.end();
}

fn load(instance: &mut PluginInstance<super::host::Hocket>, preset: &ClapPreset) -> Result<(), ()> {
    let handle = instance.plugin_handle();
    let extension: PluginPresetLoad = handle.get_extension().ok_or(())?;
    let text = |text: &Option<String>| text.as_deref().map(CString::new).transpose();
    let (file, key) = (text(&preset.file).map_err(drop)?, text(&preset.key).map_err(drop)?);
    let place = file.as_deref().map_or(Location::Plugin, |path| Location::File { path });
    extension.load_from_location(&handle, place, key.as_deref()).map_err(drop)
}

/// The files of a place in which presets may be, sorted. Names that are no text are left out.
fn files(place: &Path, places: &Places) -> Vec<String> {
    let mut found = Vec::new();
    if place.is_file() {
        found.extend(place.to_str().map(Into::into));
    } else {
        crawl(place, DEEPEST, places, &mut found);
    }
    found
}

fn crawl(folder: &Path, deep: usize, places: &Places, found: &mut Vec<String>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).take(MOST).collect();
    paths.sort();
    for path in paths {
        if found.len() >= MOST {
            return;
        }
        if path.is_dir() {
            if deep > 0 {
                crawl(&path, deep - 1, places, found);
            }
        } else if places.holds(&path) {
            found.extend(path.to_str().map(Into::into));
        }
    }
}
