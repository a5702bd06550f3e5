//! Presets: what lilv reads of them.
//!
//! lilv hands over the values of ports one by one. It hands over a state only to a plug-in that asks for it key by key. So a
//! stand-in asks: it knows the keys, because lilv asked for the number of each when it read the preset.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

use super::super::abi::{
    self, Descriptor, Feature, Handle, LilvInstance, Retrieve, StateInterface, Urid, UridMap,
};
use super::super::urid::{uri_of, urid};
use super::{Bundle, Locked, Node, lock};
use crate::lv2::state::Entry;

/// A preset and what it is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PresetName {
    /// For people; the URI where it has none.
    pub label: String,
    /// What names it alone.
    pub uri: String,
}

/// What a preset sets.
#[derive(Debug, Default)]
pub struct PresetFacts {
    /// Symbols of ports, and their values.
    pub ports: Vec<(String, f32)>,
    /// The state.
    pub entries: Vec<Entry>,
}

/// What the functions below gather while lilv calls them. Only they touch it meanwhile, one at a time.
#[derive(Default)]
struct Gathered {
    keys: Vec<Urid>,
    facts: PresetFacts,
}

impl Bundle {
    /// The presets of a plug-in, sorted by label.
    pub fn presets(&self, uri: &str) -> Vec<PresetName> {
        let (locked, lilv) = (lock(), self.functions);
        let Some(plugin) = self.handle(uri, &locked) else { return Vec::new() };
        let class = self.uri(abi::PRESET, &locked);
        // SAFETY: Types, One lilv; the collection is ours.
        let uris = unsafe { lilv.texts((lilv.plugin_related)(plugin, class.node)) };
        let named = |uri: String| PresetName { label: self.label(&uri, &locked), uri };
        let mut presets: Vec<PresetName> = uris.into_iter().map(named).collect();
        presets.sort();
        presets.dedup();
        presets
    }

    /// The label of a preset, or its URI.
    fn label(&self, uri: &str, locked: &Locked) -> String {
        let Ok(text) = CString::new(uri) else { return uri.into() };
        let (preset, label) = (self.uri(&text, locked), self.uri(abi::LABEL, locked));
        // SAFETY: Types, One lilv, Nodes; no object means any.
        let found = unsafe {
            (self.functions.load_resource)(self.world(), preset.node);
            (self.functions.get)(self.world(), preset.node, label.node, null_mut())
        };
        self.own(found, locked).text().unwrap_or_else(|| uri.into())
    }

    /// What a preset sets; `None` where lilv cannot read it.
    pub fn preset(&self, uri: &str) -> Option<PresetFacts> {
        let locked = lock();
        let preset = self.uri(&CString::new(uri).ok()?, &locked);
        // SAFETY: Types, One lilv.
        unsafe { (self.functions.load_resource)(self.world(), preset.node) };
        self.facts(&preset, &locked)
    }

    /// The state that a plug-in's data give it to begin with; `None` where lilv cannot read it. lilv has read
    /// the plug-in's data by now: `ports` came before.
    pub fn default_state(&self, uri: &str) -> Option<Vec<Entry>> {
        let locked = lock();
        let plugin = self.uri(&CString::new(uri).ok()?, &locked);
        self.facts(&plugin, &locked).map(|facts| facts.entries)
    }

    fn facts(&self, preset: &Node, _: &Locked) -> Option<PresetFacts> {
        let lilv = self.functions;
        let mut gathered = Gathered::default();
        let gathered_at: *mut c_void = (&raw mut gathered).cast();
        let map = UridMap { handle: gathered_at, map: note_key };
        let descriptor = Descriptor {
            uri: null(),
            instantiate: null(),
            connect_port: None,
            activate: None,
            run: None,
            deactivate: None,
            cleanup: null(),
            extension_data: Some(extension_data),
        };
        let (descriptor, private) = (&raw const descriptor, null_mut());
        let mut stand_in = LilvInstance { descriptor, handle: gathered_at, private };
        let features: [*const Feature; 1] = [null()];
        // SAFETY: Types, One lilv. The map, the stand-in and what they point to outlive the state, which is freed here. lilv
        // uses of an instance only its descriptor and its handle (Types).
        unsafe {
            let state = (lilv.state_of)(self.world(), &raw const map, preset.node);
            if state.is_null() {
                return None;
            }
            let (set, list) = (Some(set_port as abi::SetPort), features.as_ptr());
            (lilv.state_restore)(state, &raw mut stand_in, set, gathered_at, 0, list);
            (lilv.state_free)(state);
        }
        Some(gathered.facts)
    }
}

/// The number of a URI, as always; and it is noted.
unsafe extern "C" fn note_key(gathered: *mut c_void, uri: *const c_char) -> Urid {
    if uri.is_null() {
        return 0;
    }
    // SAFETY: Types: lilv passes a text that ends with NUL, and what `Bundle::facts` gave it.
    let (uri, gathered) = unsafe { (CStr::from_ptr(uri), &mut *gathered.cast::<Gathered>()) };
    let number = urid(uri);
    gathered.keys.push(number);
    number
}

unsafe extern "C" fn set_port(
    symbol: *const c_char,
    gathered: *mut c_void,
    value: *const c_void,
    bytes: u32,
    kind: Urid,
) {
    if symbol.is_null() || value.is_null() {
        return;
    }
    // SAFETY: Types: lilv passes a text, a value of so many bytes, and what `Bundle::facts` gave it.
    let (symbol, value, gathered) = unsafe {
        let value = std::slice::from_raw_parts(value.cast::<u8>(), bytes as usize);
        (CStr::from_ptr(symbol), value, &mut *gathered.cast::<Gathered>())
    };
    let symbol = symbol.to_string_lossy().into_owned();
    gathered.facts.ports.extend(number(value, kind).map(|value| (symbol, value)));
}

/// The value of an atom's body; `None` for what is no number.
fn number(body: &[u8], kind: Urid) -> Option<f32> {
    let four = || body.try_into().ok();
    let eight = || body.try_into().ok();
    match uri_of(kind)? {
        uri if uri == abi::ATOM_FLOAT => four().map(f32::from_ne_bytes),
        uri if uri == abi::ATOM_DOUBLE => eight().map(|bytes| f64::from_ne_bytes(bytes) as f32),
        uri if uri == abi::ATOM_LONG => eight().map(|bytes| i64::from_ne_bytes(bytes) as f32),
        uri if uri == abi::ATOM_INT || uri == abi::ATOM_BOOL => {
            four().map(|bytes| i32::from_ne_bytes(bytes) as f32)
        }
        _ => None,
    }
}

/// The stand-in has a state and nothing else.
unsafe extern "C" fn extension_data(uri: *const c_char) -> *const c_void {
    static STATE: StateInterface = StateInterface { save: None, restore: Some(gather) };
    // SAFETY: Types: lilv passes a text that ends with NUL.
    match !uri.is_null() && unsafe { CStr::from_ptr(uri) } == abi::STATE_INTERFACE {
        true => (&raw const STATE).cast(),
        false => null(),
    }
}

/// Asks for every key that was noted.
unsafe extern "C" fn gather(
    gathered: Handle,
    retrieve: Retrieve,
    state: *mut c_void,
    _: u32,
    _: *const *const Feature,
) -> u32 {
    // SAFETY: Types: the handle is what `Bundle::facts` put into the stand-in. `retrieve` looks into lilv's state alone.
    let Gathered { keys, facts } = unsafe { &mut *gathered.cast::<Gathered>() };
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let (mut bytes, mut kind, mut flags) = (0, 0, 0);
        // SAFETY: Types; the state is lilv's, whose call this is.
        let value = unsafe { retrieve(state, *key, &raw mut bytes, &raw mut kind, &raw mut flags) };
        let (Some(key), Some(kind)) = (uri_of(*key), uri_of(kind)) else { continue };
        if value.is_null() {
            continue;
        }
        // SAFETY: Types: the value has so many bytes, and lives as long as the state.
        let value = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), bytes) };
        facts.entries.push(Entry {
            key: key.to_string_lossy().into_owned(),
            kind: kind.to_string_lossy().into_owned(),
            flags,
            value: value.to_vec(),
        });
    }
    abi::STATE_DONE
}
