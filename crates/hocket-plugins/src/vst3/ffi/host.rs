//! What a VST3 plug-in may call: Hocket itself, messages that it makes, and the handler of one instance.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use vst3::Steinberg::Linux::{
    FileDescriptor, IEventHandler, IRunLoop, IRunLoopTrait, ITimerHandler, TimerInterval,
};
use vst3::Steinberg::Vst::RestartFlags_::{kIoChanged, kLatencyChanged, kReloadComponent};
use vst3::Steinberg::Vst::{
    IAttributeList, IAttributeListTrait, IComponentHandler, IComponentHandlerTrait,
    IHostApplication, IHostApplicationTrait, IMessage, IMessageTrait, ParamID, ParamValue,
    String128, TChar,
};
use vst3::Steinberg::{
    FIDString, FUnknown, TUID, kInvalidArgument, kNoInterface, kResultFalse, kResultOk, tresult,
};
use vst3::{Class, ComPtr, ComRef, ComWrapper, Interface};

use super::{put, run_loop};
use crate::vst3::main_thread::is_main;

/// The longest text of a message, in characters.
const LONGEST_TEXT: usize = 1 << 20;

/// Hocket, as plug-ins meet it.
struct Hocket;

impl Class for Hocket {
    type Interfaces = (IHostApplication, IRunLoop);
}

/// Hocket, for plug-ins. It lives until the process ends, because some keep it without a reference.
pub(super) fn application() -> *mut FUnknown {
    static HOCKET: OnceLock<Option<ComPtr<IHostApplication>>> = OnceLock::new();
    let hocket = HOCKET.get_or_init(|| ComWrapper::new(Hocket).to_com_ptr());
    hocket.as_ref().map_or(std::ptr::null_mut(), |hocket| hocket.as_ptr().cast())
}

impl IHostApplicationTrait for Hocket {
    unsafe fn getName(&self, name: *mut String128) -> tresult {
        let mut text: String128 = [0; 128];
        text.iter_mut().zip("Hocket".encode_utf16()).for_each(|(to, from)| *to = from as TChar);
        // SAFETY: Written by the host.
        if unsafe { put(name, text) } { kResultOk } else { kInvalidArgument }
    }

    unsafe fn createInstance(
        &self,
        class: *mut TUID,
        wanted: *mut TUID,
        object: *mut *mut c_void,
    ) -> tresult {
        if class.is_null() || wanted.is_null() || object.is_null() {
            return kInvalidArgument;
        }
        // SAFETY: Types.
        let (class, wanted) = unsafe { (*class, *wanted) };
        let made = match class.map(|byte| byte as u8) {
            _ if class != wanted => None,
            IMessage::IID => raw::<_, IMessage>(Message::default()),
            IAttributeList::IID => raw::<_, IAttributeList>(Attributes::default()),
            _ => None,
        };
        let Some(made) = made else { return kNoInterface };
        // SAFETY: Written by the host.
        unsafe { put(object, made) };
        kResultOk
    }
}

/// A new object. The pointer holds a reference, which its receiver has to give back.
fn raw<C, I>(object: C) -> Option<*mut c_void>
where
    C: Class + 'static,
    C::Interfaces: vst3::com_scrape_types::MakeHeader<C, ComWrapper<C>>,
    I: Interface,
{
    ComWrapper::new(object).to_com_ptr::<I>().map(|object| object.into_raw().cast())
}

impl IRunLoopTrait for Hocket {
    unsafe fn registerEventHandler(
        &self,
        handler: *mut IEventHandler,
        file: FileDescriptor,
    ) -> tresult {
        // SAFETY: Types: a plug-in hands over its own object.
        let handler = unsafe { ComRef::from_raw(handler) };
        of(handler
            .filter(|_| is_main())
            .is_some_and(|handler| run_loop::add_file(handler.to_com_ptr(), file)))
    }

    unsafe fn unregisterEventHandler(&self, handler: *mut IEventHandler) -> tresult {
        of(is_main() && run_loop::remove_file(handler))
    }

    unsafe fn registerTimer(
        &self,
        handler: *mut ITimerHandler,
        milliseconds: TimerInterval,
    ) -> tresult {
        // SAFETY: Types: a plug-in hands over its own object.
        let handler = unsafe { ComRef::from_raw(handler) };
        of(handler
            .filter(|_| is_main())
            .is_some_and(|handler| run_loop::add_timer(handler.to_com_ptr(), milliseconds)))
    }

    unsafe fn unregisterTimer(&self, handler: *mut ITimerHandler) -> tresult {
        of(is_main() && run_loop::remove_timer(handler))
    }
}

fn of(done: bool) -> tresult {
    if done { kResultOk } else { kResultFalse }
}

/// What the two halves of a plug-in send each other.
#[derive(Default)]
struct Message {
    id: Mutex<CString>,
    attributes: Mutex<Option<ComWrapper<Attributes>>>,
}

impl Class for Message {
    type Interfaces = (IMessage,);
}

impl IMessageTrait for Message {
    /// Valid until another id is set.
    unsafe fn getMessageID(&self) -> FIDString {
        lock(&self.id).as_ptr()
    }

    unsafe fn setMessageID(&self, id: FIDString) {
        if !id.is_null() {
            // SAFETY: Types: the text ends with a zero.
            *lock(&self.id) = unsafe { CStr::from_ptr(id) }.into();
        }
    }

    unsafe fn getAttributes(&self) -> *mut IAttributeList {
        let mut attributes = lock(&self.attributes);
        let list = attributes.get_or_insert_with(|| ComWrapper::new(Attributes::default()));
        // The message owns the list, so the plug-in gets no reference of its own.
        list.as_com_ref::<IAttributeList>().map_or(std::ptr::null_mut(), |list| list.as_ptr())
    }
}

enum Attribute {
    Int(i64),
    Float(f64),
    Text(Vec<TChar>),
    Bytes(Vec<u8>),
}

/// Values under names.
#[derive(Default)]
struct Attributes(Mutex<HashMap<CString, Attribute>>);

impl Class for Attributes {
    type Interfaces = (IAttributeList,);
}

impl Attributes {
    /// # Safety
    /// Types: `id` is null or a text that ends with a zero.
    unsafe fn set(&self, id: *const c_char, value: Attribute) -> tresult {
        if id.is_null() {
            return kInvalidArgument;
        }
        // SAFETY: as above.
        lock(&self.0).insert(unsafe { CStr::from_ptr(id) }.into(), value);
        kResultOk
    }

    /// # Safety
    /// Types: `id` is null or a text that ends with a zero.
    unsafe fn get(&self, id: *const c_char, take: impl FnOnce(&Attribute) -> bool) -> tresult {
        if id.is_null() {
            return kInvalidArgument;
        }
        // SAFETY: as above.
        of(lock(&self.0).get(unsafe { CStr::from_ptr(id) }).is_some_and(take))
    }
}

impl IAttributeListTrait for Attributes {
    unsafe fn setInt(&self, id: *const c_char, value: i64) -> tresult {
        // SAFETY: Types.
        unsafe { self.set(id, Attribute::Int(value)) }
    }

    unsafe fn getInt(&self, id: *const c_char, value: *mut i64) -> tresult {
        // SAFETY: Types; Written by the host.
        unsafe {
            self.get(id, |found| matches!(found, Attribute::Int(found) if put(value, *found)))
        }
    }

    unsafe fn setFloat(&self, id: *const c_char, value: f64) -> tresult {
        // SAFETY: Types.
        unsafe { self.set(id, Attribute::Float(value)) }
    }

    unsafe fn getFloat(&self, id: *const c_char, value: *mut f64) -> tresult {
        // SAFETY: Types; Written by the host.
        unsafe {
            self.get(id, |found| matches!(found, Attribute::Float(found) if put(value, *found)))
        }
    }

    unsafe fn setString(&self, id: *const c_char, text: *const TChar) -> tresult {
        if text.is_null() {
            return kInvalidArgument;
        }
        // SAFETY: Types: the text ends with a zero.
        let length = (0..LONGEST_TEXT).find(|at| unsafe { *text.add(*at) } == 0);
        let Some(length) = length else { return kInvalidArgument };
        // SAFETY: Types: as many characters were read above.
        let text = unsafe { std::slice::from_raw_parts(text, length) };
        // SAFETY: Types.
        unsafe { self.set(id, Attribute::Text(text.to_vec())) }
    }

    unsafe fn getString(&self, id: *const c_char, text: *mut TChar, bytes: u32) -> tresult {
        let room = bytes as usize / size_of::<TChar>();
        let take = |found: &Attribute| {
            let Attribute::Text(found) = found else { return false };
            if text.is_null() || room == 0 {
                return false;
            }
            let count = found.len().min(room - 1);
            // SAFETY: Written by the host: there is room for so many characters, and for the zero.
            unsafe {
                text.copy_from_nonoverlapping(found.as_ptr(), count);
                text.add(count).write(0);
            }
            true
        };
        // SAFETY: Types.
        unsafe { self.get(id, take) }
    }

    unsafe fn setBinary(&self, id: *const c_char, data: *const c_void, bytes: u32) -> tresult {
        let bytes = match bytes {
            0 => Vec::new(),
            _ if data.is_null() => return kInvalidArgument,
            // SAFETY: Types: there are as many bytes as is said.
            _ => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes as usize) }.to_vec(),
        };
        // SAFETY: Types.
        unsafe { self.set(id, Attribute::Bytes(bytes)) }
    }

    /// Valid until the value is set again.
    unsafe fn getBinary(
        &self,
        id: *const c_char,
        data: *mut *const c_void,
        bytes: *mut u32,
    ) -> tresult {
        let take = |found: &Attribute| {
            let Attribute::Bytes(found) = found else { return false };
            // SAFETY: Written by the host.
            unsafe { put(data, found.as_ptr().cast()) && put(bytes, found.len() as u32) }
        };
        // SAFETY: Types.
        unsafe { self.get(id, take) }
    }
}

/// Threads that panicked left plain data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an instance has asked for. Relaxed everywhere: each flag stands for itself and publishes nothing.
#[derive(Debug, Default)]
pub struct Flags {
    /// To have its latency read again.
    latency_asked: AtomicBool,
    /// The processor has passed that on.
    latency_due: AtomicBool,
    /// To be made anew.
    restart: AtomicBool,
    /// What the main thread has read last.
    latency: AtomicU32,
}

impl Flags {
    pub fn take_latency_asked(&self) -> bool {
        let asked = take(&self.latency_asked);
        if asked {
            self.latency_due.store(true, Relaxed);
        }
        asked
    }

    /// Whether this instance asked for it, and not another one of the same processor.
    pub fn take_latency_due(&self) -> bool {
        take(&self.latency_due)
    }

    pub fn take_restart(&self) -> bool {
        take(&self.restart)
    }

    pub fn ask_restart(&self) {
        self.restart.store(true, Relaxed);
    }

    pub fn latency(&self) -> u32 {
        self.latency.load(Relaxed)
    }

    pub fn set_latency(&self, frames: u32) {
        self.latency.store(frames, Relaxed);
    }
}

/// Mostly there is nothing to take, and then a load is enough.
fn take(flag: &AtomicBool) -> bool {
    flag.load(Relaxed) && flag.swap(false, Relaxed)
}

/// Where the controller of one instance says what has changed. Plug-ins call it on any thread, also inside `process`.
pub(super) struct Handler(pub Arc<Flags>);

impl Class for Handler {
    type Interfaces = (IComponentHandler,);
}

impl IComponentHandlerTrait for Handler {
    unsafe fn beginEdit(&self, _: ParamID) -> tresult {
        kResultOk
    }

    /// There is no window, so nobody turns a knob there.
    unsafe fn performEdit(&self, _: ParamID, _: ParamValue) -> tresult {
        kResultOk
    }

    unsafe fn endEdit(&self, _: ParamID) -> tresult {
        kResultOk
    }

    unsafe fn restartComponent(&self, flags: i32) -> tresult {
        let has = |flag: i32| flags & flag != 0;
        if has(kLatencyChanged) {
            self.0.latency_asked.store(true, Relaxed);
        }
        if has(kReloadComponent) || has(kIoChanged) {
            self.0.restart.store(true, Relaxed);
        }
        kResultOk
    }
}
