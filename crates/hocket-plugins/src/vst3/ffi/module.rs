//! A library and its factory.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use vst3::Steinberg::{
    IPluginFactory, IPluginFactory3, IPluginFactory3Trait, IPluginFactoryTrait, PClassInfo, TUID,
    kResultOk,
};
use vst3::{ComPtr, Interface};

use super::host::application;
use super::short_text;

/// What a class is that processes audio.
const EFFECT: &str = "Audio Module Class";
/// The most classes of a library.
const MOST_CLASSES: i32 = 4096;

type ModuleEntry = unsafe extern "C" fn(*mut c_void) -> bool;
type ModuleExit = unsafe extern "C" fn() -> bool;
type GetPluginFactory = unsafe extern "system" fn() -> *mut IPluginFactory;

/// A library that has been started. It stays so until the process ends: plug-ins leave threads and tables behind.
pub struct Module {
    factory: ComPtr<IPluginFactory>,
    _main: PhantomData<*const ()>,
}

/// A plug-in of a library.
pub struct Class {
    /// Its number.
    pub id: [u8; 16],
    /// For people.
    pub title: String,
}

impl Module {
    /// Loads a library and starts it.
    ///
    /// # Errors
    /// It does not load, or is no VST3 library.
    pub fn load(file: &Path) -> Result<Module, String> {
        // SAFETY: Foreign code.
        let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        let handle = library.map_err(|error| format!("it does not load: {error}"))?.into_raw();
        // SAFETY: Loaded for good: the handle is the one above, and nobody closes it.
        let library = ManuallyDrop::new(unsafe { Library::from_raw(handle) });
        // SAFETY: Types; Foreign code.
        let started = unsafe {
            let entry = library.get::<ModuleEntry>("ModuleEntry");
            entry.map(|entry| entry(handle))
        };
        match started {
            Err(_) => return Err("it is no VST3 plug-in: its library has no ModuleEntry".into()),
            Ok(false) => return Err("its library refuses to start (ModuleEntry)".into()),
            Ok(true) => {}
        }
        // SAFETY: Types; Foreign code; the factory that it returns holds a reference.
        let factory = unsafe {
            let factory = library.get::<GetPluginFactory>("GetPluginFactory");
            factory.ok().and_then(|factory| ComPtr::from_raw(factory()))
        };
        let Some(factory) = factory else {
            // SAFETY: Types; Foreign code: it was started above.
            let _ = unsafe { library.get::<ModuleExit>("ModuleExit").map(|exit| exit()) };
            return Err("its library has no plug-ins (GetPluginFactory)".into());
        };
        if let Some(factory) = factory.cast::<IPluginFactory3>() {
            // SAFETY: Types; Counted.
            unsafe { factory.setHostContext(application()) };
        }
        Ok(Module { factory, _main: PhantomData })
    }

    /// Its plug-ins, in its order.
    pub fn classes(&self) -> Vec<Class> {
        // SAFETY: Types; Counted.
        let count = unsafe { self.factory.countClasses() };
        (0..count.min(MOST_CLASSES)).filter_map(|index| self.class(index)).collect()
    }

    fn class(&self, index: i32) -> Option<Class> {
        // SAFETY: Plain data.
        let mut info = unsafe { MaybeUninit::<PClassInfo>::zeroed().assume_init() };
        // SAFETY: Types; Counted.
        let found = unsafe { self.factory.getClassInfo(index, &raw mut info) } == kResultOk;
        let is_effect = found && short_text(&info.category) == EFFECT;
        let id = info.cid.map(|byte| byte as u8);
        is_effect.then(|| Class { id, title: short_text(&info.name) })
    }

    /// An object of a class.
    pub(super) fn make<I: Interface>(&self, id: [u8; 16]) -> Option<ComPtr<I>> {
        let (class, wanted): (TUID, TUID) =
            (id.map(|byte| byte as _), I::IID.map(|byte| byte as _));
        let mut object: *mut c_void = std::ptr::null_mut();
        // SAFETY: Types; Counted: what it writes is a reference for us, of the interface that was wanted.
        unsafe {
            let (class, wanted) = (class.as_ptr().cast(), wanted.as_ptr().cast());
            let made = self.factory.createInstance(class, wanted, &raw mut object) == kResultOk;
            ComPtr::from_raw(object.cast::<I>()).filter(|_| made)
        }
    }
}
