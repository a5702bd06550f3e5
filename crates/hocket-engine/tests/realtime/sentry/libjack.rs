//! The few calls of libjack that a client needs, looked up at run time: the tests build where JACK is not installed.

use std::ffi::{CString, c_char, c_int, c_void};

use libloading::Library;

enum JackClient {}
type Handle = *mut JackClient;
type Process = Box<dyn FnMut(usize) + Send>;

/// JackNoStartServer and JackServerName: this server, which runs already.
const OPTIONS: c_int = 0x01 | 0x04;

type Open = unsafe extern "C" fn(*const c_char, c_int, *mut c_int, ...) -> Handle;
type OfClient = unsafe extern "C" fn(Handle) -> c_int;
type OnProcess = extern "C" fn(u32, *mut c_void) -> c_int;
type SetProcess = unsafe extern "C" fn(Handle, OnProcess, *mut c_void) -> c_int;
type OnMessage = extern "C" fn(*const c_char);
type SetMessages = unsafe extern "C" fn(OnMessage);

/// The library.
pub struct Jack(Library);

/// A connection to a server; a drop closes it.
pub struct Client<'a> {
    jack: &'a Jack,
    handle: Handle,
    /// What each cycle calls, for the server's thread.
    process: *mut Process,
}

extern "C" fn say_nothing(_: *const c_char) {}

extern "C" fn on_process(frames: u32, process: *mut c_void) -> c_int {
    // SAFETY: `Client::open` passed this pointer, and frees it after the client is closed. Only the server's
    // thread uses it.
    let process = unsafe { &mut *process.cast::<Process>() };
    process(frames as usize);
    0
}

impl Jack {
    /// Loads the library, and silences its messages.
    pub fn load() -> Result<Jack, String> {
        // SAFETY: loading libjack runs no code but its own.
        let library = unsafe { Library::new("libjack.so.0") };
        let jack = Jack(library.map_err(|error| error.to_string())?);
        for name in [&b"jack_set_error_function"[..], b"jack_set_info_function"] {
            // SAFETY: both functions have this type in jack.h, and the callback lives as long as the process.
            unsafe { jack.function::<SetMessages>(name)?(say_nothing) };
        }
        Ok(jack)
    }

    /// # Safety
    /// `T` is the function's type in jack.h.
    unsafe fn function<T: Copy>(&self, name: &[u8]) -> Result<T, String> {
        // SAFETY: the caller's obligation; the library stays loaded while `self` lives.
        let symbol = unsafe { self.0.get::<T>(name) };
        symbol.map(|function| *function).map_err(|error| error.to_string())
    }

    /// Connects to a server. `process` runs in the server's thread once per cycle, from `activate` on.
    pub fn open(
        &self,
        server: &str,
        process: impl FnMut(usize) + Send + 'static,
    ) -> Result<Client<'_>, String> {
        let (name, server) = (CString::new("hocket").unwrap(), CString::new(server).unwrap());
        let mut status = 0;
        // SAFETY: the type is that of jack.h; with JackServerName the fourth argument is the server's name.
        let handle = unsafe {
            let open = self.function::<Open>(b"jack_client_open")?;
            open(name.as_ptr(), OPTIONS, &raw mut status, server.as_ptr())
        };
        if handle.is_null() {
            return Err(format!("jack_client_open: status {status:#x}"));
        }
        let process: *mut Process = Box::into_raw(Box::new(Box::new(process)));
        let client = Client { jack: self, handle, process };
        // SAFETY: the type is that of jack.h; `process` lives until the client is closed.
        let refused = unsafe {
            let set = self.function::<SetProcess>(b"jack_set_process_callback")?;
            set(handle, on_process, process.cast())
        };
        if refused == 0 { Ok(client) } else { Err("jack_set_process_callback".into()) }
    }
}

impl Client<'_> {
    fn call(&self, name: &str) -> Result<(), String> {
        // SAFETY: each caller names a function that has this type in jack.h; the handle is open.
        let answer = unsafe { self.jack.function::<OfClient>(name.as_bytes())?(self.handle) };
        if answer == 0 { Ok(()) } else { Err(format!("{name}: {answer}")) }
    }

    /// The server begins to call.
    pub fn activate(&self) -> Result<(), String> {
        self.call("jack_activate")
    }

    /// The server stops calling. It may cancel its thread in the midst of a call.
    pub fn deactivate(&self) -> Result<(), String> {
        self.call("jack_deactivate")
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        let closed = self.call("jack_client_close");
        // SAFETY: it came from `Box::into_raw`, and no thread calls it once the client is closed. If that failed,
        // it leaks.
        closed.map(|()| drop(unsafe { Box::from_raw(self.process) })).unwrap_or_default();
    }
}

/// Asks a process to end in its own way. A killed server would leave its shared memory behind.
pub fn terminate(process: u32) {
    // SAFETY: a system call; the caller has a child of this number that it has not waited for yet.
    unsafe { libc::kill(process as libc::pid_t, libc::SIGTERM) };
}
