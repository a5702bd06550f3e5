//! What plug-ins say to their host's log, for the program to show.

use std::sync::OnceLock;

/// Shows a line. The first argument is the kind of the plug-in.
pub type Listener = fn(&str, &str);

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Has the warnings and errors shown that CLAP plug-ins log: the first three of each instance, and at its end how many more
/// there were. Without a listener they are dropped. The first listener of a process stays.
///
/// Thread: any. `listener` is called on the main thread of CLAP plug-ins, never on an audio thread.
pub fn listen(listener: Listener) {
    let _ = LISTENER.set(listener);
}

/// Shows a line of a plug-in.
pub(crate) fn heard(kind: &str, line: &str) {
    if let Some(listener) = LISTENER.get() {
        listener(kind, line);
    }
}
