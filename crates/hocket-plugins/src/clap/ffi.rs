//! The only unsafe code for CLAP: loading a file, and what a call lends to the host's half. The library clack does the rest.
//!
//! The SAFETY comments cite these invariants:
//!
//! - **Foreign code.** A file that is loaded runs start-up code that can do anything. A scan in a process of its own has
//!   seen it load; nothing more can be known.
//! - **Lent for a call.** [`during`] borrows all that a [`Lent`] points to for its whole run: the instance and those who help.
//!   [`share`] alone reads a `Lent`. It finds it only on the thread of [`during`], before that returns: a guard takes it
//!   back, also from a call that unwinds. What it hands to other threads ends before it returns ([`Helpers::share`]).
//! - **No buffers.** A list without buffers has none that a number of frames could exceed.

use std::cell::Cell;
use std::mem::transmute;
use std::path::Path;

use clack_extensions::thread_pool::PluginThreadPool;
use clack_host::entry::{PluginEntry, PluginEntryError};
use clack_host::prelude::{InputAudioBuffers, PluginSharedHandle, StartedPluginAudioProcessor};
use hocket_dsp::Helpers;

use super::host::Hocket;

/// Loads a file.
///
/// # Errors
/// It does not load, or is no CLAP file.
pub fn load(file: &Path) -> Result<PluginEntry, PluginEntryError> {
    // SAFETY: Foreign code.
    unsafe { PluginEntry::load(file) }
}

/// The inputs of a plug-in that has none, in a run of so many frames. Without a channel, nothing else says how long it is.
pub fn no_inputs(frames: usize) -> InputAudioBuffers<'static> {
    // SAFETY: No buffers.
    unsafe { InputAudioBuffers::from_raw_buffers(&[], frames as u32) }
}

/// What the host's half finds while a plug-in processes.
#[derive(Clone, Copy)]
struct Lent {
    plugin: PluginSharedHandle<'static>,
    pool: PluginThreadPool,
    helpers: Option<&'static dyn Helpers>,
}

thread_local! {
    static LENT: Cell<Option<Lent>> = const { Cell::new(None) };
}

/// Takes back what was lent.
struct Back(Option<Lent>);

impl Drop for Back {
    fn drop(&mut self) {
        LENT.set(self.0);
    }
}

/// Calls a plug-in, which may ask for its tasks of `pool` meanwhile ([`share`]). `helpers`: who runs them beside this thread.
///
/// Thread: that of the call. Cost: a few stores.
pub fn during<R>(
    plugin: &mut StartedPluginAudioProcessor<Hocket>,
    (pool, helpers): (PluginThreadPool, Option<&dyn Helpers>),
    call: impl FnOnce(&mut StartedPluginAudioProcessor<Hocket>) -> R,
) -> R {
    let handle = plugin.shared_plugin_handle();
    // SAFETY: Lent for a call.
    let handle =
        unsafe { transmute::<PluginSharedHandle<'_>, PluginSharedHandle<'static>>(handle) };
    // SAFETY: Lent for a call.
    let lasting = |helpers| unsafe { transmute::<&dyn Helpers, &'static dyn Helpers>(helpers) };
    let lent = Lent { plugin: handle, pool, helpers: helpers.map(lasting) };
    let _back = Back(LENT.replace(Some(lent)));
    call(plugin)
}

/// Runs so many tasks of the plug-in that this thread is calling, on this thread and on those that help. `around` calls each.
/// Returns after the last one; `false`: this thread calls no plug-in that has tasks.
pub fn share(count: u32, around: &(dyn Fn(&dyn Fn()) + Sync)) -> bool {
    let Some(Lent { plugin, pool, helpers }) = LENT.get() else { return false };
    let task = |index| around(&|| pool.exec(&plugin, index));
    match helpers {
        Some(helpers) => helpers.share(count, &task),
        None => (0..count).for_each(task),
    }
    true
}
