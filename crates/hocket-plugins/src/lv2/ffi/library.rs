//! The functions of liblilv that Hocket calls, looked up at run time, and what they say of a bundle.

use std::collections::HashMap;
use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null, null_mut};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use libloading::Library;

use super::abi::{self, Feature, LilvInstance, SetPort, UridMap};

mod presets;

pub use presets::PresetName;

/// `LilvWorld`, `LilvPlugin`, `LilvPort`, `LilvNode` and collections of them are known by address only.
type Opaque = *mut c_void;

/// The names under which the library is installed. The first one that loads is taken.
const NAMES: [&str; 2] = ["liblilv-0.so.0", "liblilv-0.so"];

macro_rules! functions {
    ($($field:ident: $type:ty = $name:literal;)*) => {
        /// The functions.
        struct Functions {
            $($field: $type,)*
        }

        impl Functions {
            fn find(library: &Library) -> Result<Functions, libloading::Error> {
                // SAFETY: Types.
                unsafe { Ok(Functions { $($field: *library.get::<$type>($name)?,)* }) }
            }
        }
    };
}

functions! {
    world_new: unsafe extern "C" fn() -> Opaque = "lilv_world_new";
    load_bundle: unsafe extern "C" fn(Opaque, Opaque) = "lilv_world_load_bundle";
    all_plugins: unsafe extern "C" fn(Opaque) -> Opaque = "lilv_world_get_all_plugins";
    ask: unsafe extern "C" fn(Opaque, Opaque, Opaque, Opaque) -> bool = "lilv_world_ask";
    new_uri: unsafe extern "C" fn(Opaque, *const c_char) -> Opaque = "lilv_new_uri";
    new_file_uri: unsafe extern "C" fn(Opaque, *const c_char, *const c_char) -> Opaque = "lilv_new_file_uri";
    node_free: unsafe extern "C" fn(Opaque) = "lilv_node_free";
    node_text: unsafe extern "C" fn(Opaque) -> *const c_char = "lilv_node_as_string";
    node_float: unsafe extern "C" fn(Opaque) -> f32 = "lilv_node_as_float";
    node_is_float: unsafe extern "C" fn(Opaque) -> bool = "lilv_node_is_float";
    node_is_int: unsafe extern "C" fn(Opaque) -> bool = "lilv_node_is_int";
    nodes_begin: unsafe extern "C" fn(Opaque) -> Opaque = "lilv_nodes_begin";
    nodes_next: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_nodes_next";
    nodes_is_end: unsafe extern "C" fn(Opaque, Opaque) -> bool = "lilv_nodes_is_end";
    nodes_get: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_nodes_get";
    nodes_free: unsafe extern "C" fn(Opaque) = "lilv_nodes_free";
    plugins_begin: unsafe extern "C" fn(Opaque) -> Opaque = "lilv_plugins_begin";
    plugins_next: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_plugins_next";
    plugins_is_end: unsafe extern "C" fn(Opaque, Opaque) -> bool = "lilv_plugins_is_end";
    plugins_get: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_plugins_get";
    plugin_uri: unsafe extern "C" fn(Opaque) -> Opaque = "lilv_plugin_get_uri";
    plugin_name: unsafe extern "C" fn(Opaque) -> Opaque = "lilv_plugin_get_name";
    plugin_required: unsafe extern "C" fn(Opaque) -> Opaque = "lilv_plugin_get_required_features";
    plugin_has_data: unsafe extern "C" fn(Opaque, Opaque) -> bool = "lilv_plugin_has_extension_data";
    plugin_port_count: unsafe extern "C" fn(Opaque) -> u32 = "lilv_plugin_get_num_ports";
    plugin_port: unsafe extern "C" fn(Opaque, u32) -> Opaque = "lilv_plugin_get_port_by_index";
    port_symbol: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_port_get_symbol";
    port_name: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_port_get_name";
    port_is_a: unsafe extern "C" fn(Opaque, Opaque, Opaque) -> bool = "lilv_port_is_a";
    port_has: unsafe extern "C" fn(Opaque, Opaque, Opaque) -> bool = "lilv_port_has_property";
    port_hears: unsafe extern "C" fn(Opaque, Opaque, Opaque) -> bool = "lilv_port_supports_event";
    port_get: unsafe extern "C" fn(Opaque, Opaque, Opaque) -> Opaque = "lilv_port_get";
    port_range: unsafe extern "C" fn(Opaque, Opaque, *mut Opaque, *mut Opaque, *mut Opaque) = "lilv_port_get_range";
    port_points: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_port_get_scale_points";
    points_begin: unsafe extern "C" fn(Opaque) -> Opaque = "lilv_scale_points_begin";
    points_next: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_scale_points_next";
    points_is_end: unsafe extern "C" fn(Opaque, Opaque) -> bool = "lilv_scale_points_is_end";
    points_get: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_scale_points_get";
    points_free: unsafe extern "C" fn(Opaque) = "lilv_scale_points_free";
    point_label: unsafe extern "C" fn(Opaque) -> Opaque = "lilv_scale_point_get_label";
    point_value: unsafe extern "C" fn(Opaque) -> Opaque = "lilv_scale_point_get_value";
    plugin_related: unsafe extern "C" fn(Opaque, Opaque) -> Opaque = "lilv_plugin_get_related";
    load_resource: unsafe extern "C" fn(Opaque, Opaque) -> i32 = "lilv_world_load_resource";
    get: unsafe extern "C" fn(Opaque, Opaque, Opaque, Opaque) -> Opaque = "lilv_world_get";
    state_of: unsafe extern "C" fn(Opaque, *const UridMap, Opaque) -> Opaque = "lilv_state_new_from_world";
    state_restore: unsafe extern "C" fn(Opaque, *mut LilvInstance, Option<SetPort>, *mut c_void, u32, *const *const Feature) = "lilv_state_restore";
    state_free: unsafe extern "C" fn(Opaque) = "lilv_state_free";
    instantiate: unsafe extern "C" fn(Opaque, f64, *const *const Feature) -> *mut LilvInstance = "lilv_plugin_instantiate";
    instance_free: unsafe extern "C" fn(*mut LilvInstance) = "lilv_instance_free";
}

/// liblilv is not there.
#[derive(Debug, Clone)]
pub struct LilvMissing(String);

impl fmt::Display for LilvMissing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LilvMissing(why) = self;
        write!(out, "LV2 plug-ins need the library lilv, which does not load ({why}); ")?;
        out.write_str("install it (Debian: liblilv-0-0, Fedora: lilv-libs, Arch: lilv)")
    }
}

impl Error for LilvMissing {}

/// Worlds by their bundles. See One lilv and Worlds stay.
#[derive(Default)]
pub(super) struct Worlds(HashMap<Vec<PathBuf>, Bundle>);

static LILV: LazyLock<Mutex<Worlds>> = LazyLock::new(Mutex::default);

fn functions() -> Result<&'static Functions, LilvMissing> {
    static LOADED: OnceLock<Result<Functions, LilvMissing>> = OnceLock::new();
    LOADED.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Functions, LilvMissing> {
    let mut why = Vec::new();
    for name in NAMES {
        // SAFETY: liblilv's start-up code has no conditions.
        match unsafe { Library::new(name) } {
            Ok(library) => {
                let found = Functions::find(&library).map_err(|error| said(&error));
                // Worlds stay, and so do the functions.
                std::mem::forget(library);
                return found;
            }
            Err(error) => why.push(said(&error)),
        }
    }
    Err(why.swap_remove(0))
}

/// The loader's own words: libloading has them as the error's source.
fn said(error: &libloading::Error) -> LilvMissing {
    LilvMissing(error.source().map_or_else(|| error.to_string(), ToString::to_string))
}

/// Whether liblilv is there.
///
/// # Errors
/// [`LilvMissing`].
pub fn check() -> Result<(), LilvMissing> {
    functions().map(|_| ())
}

/// A folder of plug-ins in a world of its own.
#[derive(Clone, Copy)]
pub struct Bundle {
    functions: &'static Functions,
    world: NonNull<c_void>,
}

// SAFETY: Worlds stay, and One lilv.
unsafe impl Send for Bundle {}
// SAFETY: as above.
unsafe impl Sync for Bundle {}

/// Proof that lilv is locked.
type Locked = MutexGuard<'static, Worlds>;

fn lock() -> Locked {
    LILV.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A node that is freed here.
struct Node<'a> {
    functions: &'static Functions,
    node: Opaque,
    _locked: &'a Locked,
}

impl Drop for Node<'_> {
    fn drop(&mut self) {
        // SAFETY: Nodes, One lilv.
        unsafe { (self.functions.node_free)(self.node) };
    }
}

impl Node<'_> {
    /// As text; nothing for a missing node.
    fn text(&self) -> Option<String> {
        self.functions.text(self.node)
    }

    fn number(&self) -> Option<f32> {
        self.functions.number(self.node)
    }
}

impl Functions {
    fn text(&self, node: Opaque) -> Option<String> {
        if node.is_null() {
            return None;
        }
        // SAFETY: Types, One lilv: the callers hold the lock; a text lives as long as its node.
        unsafe {
            let text = (self.node_text)(node);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }

    /// The texts of a collection of nodes, and frees it.
    ///
    /// # Safety
    /// The caller holds the lock, and the collection is its own or NULL.
    unsafe fn texts(&self, nodes: Opaque) -> Vec<String> {
        let mut texts = Vec::new();
        if nodes.is_null() {
            return texts;
        }
        // SAFETY: Types, One lilv; the caller's promise.
        unsafe {
            let mut at = (self.nodes_begin)(nodes);
            while !(self.nodes_is_end)(nodes, at) {
                texts.extend(self.text((self.nodes_get)(nodes, at)));
                at = (self.nodes_next)(nodes, at);
            }
            (self.nodes_free)(nodes);
        }
        texts
    }

    fn number(&self, node: Opaque) -> Option<f32> {
        // SAFETY: Types, One lilv: the callers hold the lock.
        unsafe {
            let is_number =
                !node.is_null() && ((self.node_is_float)(node) || (self.node_is_int)(node));
            is_number.then(|| (self.node_float)(node)).filter(|number| number.is_finite())
        }
    }
}

/// What a bundle says of a port.
#[derive(Debug, Clone, Default)]
pub struct PortFacts {
    pub symbol: String,
    pub name: String,
    pub is_input: bool,
    pub is_audio: bool,
    pub is_control: bool,
    pub is_atom: bool,
    pub is_optional: bool,
    pub is_side_chain: bool,
    pub is_toggled: bool,
    pub is_integer: bool,
    pub is_per_rate: bool,
    pub reports_latency: bool,
    pub hears_midi: bool,
    pub hears_time: bool,
    /// Its group, by URI or a name of this world.
    pub group: Option<String>,
    /// Of the group, for people; empty where it has none.
    pub group_name: String,
    /// A URI.
    pub designation: Option<String>,
    pub min: Option<f32>,
    pub max: Option<f32>,
    pub default: Option<f32>,
    /// Values with a name.
    pub points: Vec<(f32, String)>,
    /// Bytes that its buffer needs at least.
    pub minimum_size: Option<usize>,
}

impl Bundle {
    /// Reads the data of a bundle; runs no code of it.
    ///
    /// # Errors
    /// [`LilvMissing`].
    pub fn open(folder: &Path) -> Result<Bundle, LilvMissing> {
        Bundle::open_all(vec![folder.into()])
    }

    /// Reads the data of bundles that speak of each other, as one; runs no code of them.
    ///
    /// # Errors
    /// [`LilvMissing`].
    pub fn open_all(folders: Vec<PathBuf>) -> Result<Bundle, LilvMissing> {
        let functions = functions()?;
        let mut worlds = lock();
        if let Some(bundle) = worlds.0.get(&folders) {
            return Ok(*bundle);
        }
        // SAFETY: Types, One lilv.
        let world = unsafe { (functions.world_new)() };
        let world = NonNull::new(world).ok_or_else(|| LilvMissing("it makes no world".into()))?;
        let bundle = Bundle { functions, world };
        folders.iter().for_each(|folder| bundle.load(folder, &worlds));
        worlds.0.insert(folders, bundle);
        Ok(bundle)
    }

    fn load(&self, folder: &Path, locked: &Locked) {
        let mut path = folder.as_os_str().as_bytes().to_vec();
        path.push(b'/');
        let Ok(path) = CString::new(path) else { return };
        // SAFETY: Types, One lilv, Nodes.
        unsafe {
            let made = (self.functions.new_file_uri)(self.world(), null(), path.as_ptr());
            let node = self.own(made, locked);
            (self.functions.load_bundle)(self.world(), node.node);
        }
    }

    fn world(&self) -> Opaque {
        self.world.as_ptr()
    }

    fn own<'a>(&self, node: Opaque, locked: &'a Locked) -> Node<'a> {
        Node { functions: self.functions, node, _locked: locked }
    }

    fn uri<'a>(&self, uri: &CStr, locked: &'a Locked) -> Node<'a> {
        // SAFETY: Types, One lilv, Worlds stay.
        let node = unsafe { (self.functions.new_uri)(self.world(), uri.as_ptr()) };
        self.own(node, locked)
    }

    /// The URIs of its plug-ins, sorted.
    pub fn plugins(&self) -> Vec<String> {
        let locked = lock();
        let mut uris: Vec<String> = self.handles(&locked).into_iter().map(|(uri, _)| uri).collect();
        uris.sort();
        uris
    }

    fn handles(&self, _locked: &Locked) -> Vec<(String, Opaque)> {
        let lilv = self.functions;
        let mut found = Vec::new();
        // SAFETY: Types, One lilv, Worlds stay.
        unsafe {
            let all = (lilv.all_plugins)(self.world());
            let mut at = (lilv.plugins_begin)(all);
            while !(lilv.plugins_is_end)(all, at) {
                let plugin = (lilv.plugins_get)(all, at);
                if let Some(uri) = lilv.text((lilv.plugin_uri)(plugin)) {
                    found.push((uri, plugin));
                }
                at = (lilv.plugins_next)(all, at);
            }
        }
        found
    }

    fn handle(&self, uri: &str, locked: &Locked) -> Option<Opaque> {
        self.handles(locked).into_iter().find(|(known, _)| known == uri).map(|(_, plugin)| plugin)
    }

    /// The name of a plug-in.
    pub fn title(&self, uri: &str) -> Option<String> {
        let locked = lock();
        let plugin = self.handle(uri, &locked)?;
        // SAFETY: Types, One lilv, Nodes.
        let name = unsafe { (self.functions.plugin_name)(plugin) };
        self.own(name, &locked).text()
    }

    /// URIs of the features without which it does not run.
    pub fn required_features(&self, uri: &str) -> Vec<String> {
        let (locked, lilv) = (lock(), self.functions);
        let Some(plugin) = self.handle(uri, &locked) else { return Vec::new() };
        // SAFETY: Types, One lilv; the collection is ours.
        unsafe { lilv.texts((lilv.plugin_required)(plugin)) }
    }

    /// Whether a plug-in says that it has an interface.
    pub fn has_interface(&self, uri: &str, interface: &CStr) -> bool {
        let locked = lock();
        let Some(plugin) = self.handle(uri, &locked) else { return false };
        let interface = self.uri(interface, &locked);
        // SAFETY: Types, One lilv.
        unsafe { (self.functions.plugin_has_data)(plugin, interface.node) }
    }

    /// The ports of a plug-in, in the order of their numbers.
    pub fn ports(&self, uri: &str) -> Vec<PortFacts> {
        let locked = lock();
        let Some(plugin) = self.handle(uri, &locked) else { return Vec::new() };
        // SAFETY: Types, One lilv.
        let count = unsafe { (self.functions.plugin_port_count)(plugin) };
        (0..count).map(|index| self.port(plugin, index, &locked)).collect()
    }

    fn port(&self, plugin: Opaque, index: u32, locked: &Locked) -> PortFacts {
        let lilv = self.functions;
        // SAFETY: Types, One lilv; `index` is below the number of ports.
        let port = unsafe { (lilv.plugin_port)(plugin, index) };
        if port.is_null() {
            return PortFacts::default();
        }
        // SAFETY: Types, One lilv, for all three; the answers belong to the port.
        let is_a =
            |class: &CStr| unsafe { (lilv.port_is_a)(plugin, port, self.uri(class, locked).node) };
        // SAFETY: as above.
        let has = |property: &CStr| unsafe {
            (lilv.port_has)(plugin, port, self.uri(property, locked).node)
        };
        // SAFETY: as above.
        let hears =
            |event: &CStr| unsafe { (lilv.port_hears)(plugin, port, self.uri(event, locked).node) };
        // SAFETY: Types, One lilv, Nodes: the caller frees this one.
        let value = |predicate: &CStr| unsafe {
            self.own((lilv.port_get)(plugin, port, self.uri(predicate, locked).node), locked)
        };
        // SAFETY: Types, One lilv; the symbol belongs to the port, the name is freed by us.
        let (symbol, name) = unsafe {
            let name = self.own((lilv.port_name)(plugin, port), locked);
            (lilv.text((lilv.port_symbol)(plugin, port)), name.text())
        };
        let [default, min, max] = self.range(plugin, port, locked);
        let group = value(abi::PORT_GROUP);
        let of_group = || {
            let of = self.uri(abi::SIDE_CHAIN_OF, locked);
            // SAFETY: Types, One lilv; no object means any.
            unsafe { (lilv.ask)(self.world(), group.node, of.node, null_mut()) }
        };
        let group_name = || {
            let label = |predicate: &CStr| {
                let predicate = self.uri(predicate, locked);
                // SAFETY: Types, One lilv, Nodes: the caller frees this one; no object means any.
                let node =
                    unsafe { (lilv.get)(self.world(), group.node, predicate.node, null_mut()) };
                self.own(node, locked).text()
            };
            [abi::NAME, abi::LABEL, abi::SYMBOL].into_iter().find_map(label)
        };
        let has_group = !group.node.is_null();
        PortFacts {
            symbol: symbol.unwrap_or_else(|| format!("port{index}")),
            name: name.unwrap_or_default(),
            is_input: is_a(abi::INPUT_PORT),
            is_audio: is_a(abi::AUDIO_PORT),
            is_control: is_a(abi::CONTROL_PORT),
            is_atom: is_a(abi::ATOM_PORT),
            is_optional: has(abi::CONNECTION_OPTIONAL),
            is_side_chain: has(abi::IS_SIDE_CHAIN) || has_group && of_group(),
            is_toggled: has(abi::TOGGLED),
            is_integer: has(abi::INTEGER),
            is_per_rate: has(abi::SAMPLE_RATE),
            reports_latency: has(abi::REPORTS_LATENCY),
            hears_midi: hears(abi::MIDI_EVENT),
            hears_time: hears(abi::TIME_POSITION),
            group: group.text(),
            group_name: has_group.then(group_name).flatten().unwrap_or_default(),
            designation: value(abi::DESIGNATION).text(),
            min,
            max,
            default,
            points: self.points(plugin, port, locked),
            minimum_size: value(abi::MINIMUM_SIZE).number().map(|bytes| bytes as usize),
        }
    }

    fn range(&self, plugin: Opaque, port: Opaque, locked: &Locked) -> [Option<f32>; 3] {
        let mut nodes = [null_mut(); 3];
        let [default, min, max] = &mut nodes;
        // SAFETY: Types, One lilv, Nodes.
        unsafe { (self.functions.port_range)(plugin, port, default, min, max) };
        nodes.map(|node| self.own(node, locked).number())
    }

    fn points(&self, plugin: Opaque, port: Opaque, _locked: &Locked) -> Vec<(f32, String)> {
        let lilv = self.functions;
        let mut points = Vec::new();
        // SAFETY: Types, One lilv; the collection is freed by us.
        unsafe {
            let all = (lilv.port_points)(plugin, port);
            if all.is_null() {
                return points;
            }
            let mut at = (lilv.points_begin)(all);
            while !(lilv.points_is_end)(all, at) {
                let point = (lilv.points_get)(all, at);
                let value = lilv.number((lilv.point_value)(point));
                let label = lilv.text((lilv.point_label)(point)).unwrap_or_default();
                points.extend(value.map(|value| (value, label)));
                at = (lilv.points_next)(all, at);
            }
            (lilv.points_free)(all);
        }
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points
    }

    /// Loads the plug-in's library and makes an instance. `features`: ends with NULL.
    ///
    /// # Safety
    /// The features live as long as the instance (Alive).
    pub(super) unsafe fn instantiate(
        &self,
        uri: &str,
        rate_hz: f64,
        features: &[*const Feature],
    ) -> Option<Made> {
        let locked = lock();
        let plugin = self.handle(uri, &locked)?;
        // SAFETY: Types, One lilv; the caller's promise.
        let made = unsafe { (self.functions.instantiate)(plugin, rate_hz, features.as_ptr()) };
        NonNull::new(made).map(|instance| Made { functions: self.functions, instance })
    }
}

/// What lilv made of a plug-in. Cleaned up at the drop.
pub(super) struct Made {
    functions: &'static Functions,
    instance: NonNull<LilvInstance>,
}

impl Made {
    pub(super) fn instance(&self) -> &LilvInstance {
        // SAFETY: Types, Alive.
        unsafe { self.instance.as_ref() }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _locked = lock();
        // SAFETY: Types, One lilv, Alive.
        unsafe { (self.functions.instance_free)(self.instance.as_ptr()) };
    }
}
