//! Stand-ins for services, on the test's own bus.

use std::collections::HashMap;
use std::process::Command;

use zbus::{Connection, Variant, connection::Builder, fdo, interface};

use crate::bus::PrivateBus;

const RTKIT: (&str, &str) = ("org.freedesktop.RealtimeKit1", "/org/freedesktop/RealtimeKit1");
const PORTAL: (&str, &str) = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop");
const POLKIT: (&str, &str) =
    ("org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority");

/// A polkit that allows everything or nothing.
pub fn polkit(bus: &PrivateBus, allows: bool) -> Connection {
    serve(bus, POLKIT, Polkit { allows })
}

/// A portal that sets the class as RealtimeKit would.
pub fn portal(bus: &PrivateBus) -> Connection {
    serve(bus, PORTAL, Portal)
}

/// A RealtimeKit from before `MakeThreadRealtimeWithPID`.
pub fn old_rtkit(bus: &PrivateBus) -> Connection {
    serve(bus, RTKIT, OldRtkit)
}

/// One that says yes and does nothing.
pub fn liar(bus: &PrivateBus) -> Connection {
    serve(bus, RTKIT, Liar)
}

fn serve(
    bus: &PrivateBus,
    (name, path): (&'static str, &'static str),
    service: impl zbus::object_server::Interface,
) -> Connection {
    let builder = Builder::address(bus.address.as_str()).name(name).serve_at(path, service);
    zbus::block_on(builder.build()).expect("our own bus lets us serve")
}

/// Sets SCHED_RR with SCHED_RESET_ON_FORK, after the check that both services make.
fn promote(thread: u64, priority: u32, max: u32) -> fdo::Result<()> {
    if priority > max {
        return Err(fdo::Error::AccessDenied("Operation not permitted".into()));
    }
    let mut chrt = Command::new("chrt");
    chrt.args(["--rr", "--reset-on-fork", "--pid"]);
    let done = chrt.arg(priority.to_string()).arg(thread.to_string()).status();
    match done.is_ok_and(|status| status.success()) {
        true => Ok(()),
        false => Err(fdo::Error::Failed("chrt".into())),
    }
}

struct Polkit {
    allows: bool,
}

#[interface(name = "org.freedesktop.PolicyKit1.Authority")]
impl Polkit {
    fn check_authorization(
        &self,
        _subject: (String, HashMap<String, Variant<'_>>),
        _action: String,
        _details: HashMap<String, String>,
        _flags: u32,
        _cancellation: String,
    ) -> ((bool, bool, HashMap<String, String>),) {
        ((self.allows, false, HashMap::new()),)
    }
}

struct Portal;

#[interface(name = "org.freedesktop.portal.Realtime")]
impl Portal {
    #[zbus(name = "MakeThreadRealtimeWithPID")]
    fn make(&self, _process: u64, thread: u64, priority: u32) -> fdo::Result<()> {
        promote(thread, priority, 15)
    }

    #[zbus(property, name = "MaxRealtimePriority")]
    fn max_priority(&self) -> i32 {
        15
    }

    #[zbus(property, name = "RTTimeUSecMax")]
    fn rttime(&self) -> i64 {
        150_000
    }
}

struct OldRtkit;

#[interface(name = "org.freedesktop.RealtimeKit1")]
impl OldRtkit {
    #[zbus(name = "MakeThreadRealtime")]
    fn make(&self, thread: u64, priority: u32) -> fdo::Result<()> {
        promote(thread, priority, 9)
    }

    #[zbus(property, name = "MaxRealtimePriority")]
    fn max_priority(&self) -> i32 {
        9
    }

    #[zbus(property, name = "RTTimeUSecMax")]
    fn rttime(&self) -> i64 {
        200_000
    }
}

struct Liar;

#[interface(name = "org.freedesktop.RealtimeKit1")]
impl Liar {
    #[zbus(name = "MakeThreadRealtimeWithPID")]
    fn make(&self, _process: u64, _thread: u64, _priority: u32) {}

    #[zbus(property, name = "MaxRealtimePriority")]
    fn max_priority(&self) -> i32 {
        20
    }

    #[zbus(property, name = "RTTimeUSecMax")]
    fn rttime(&self) -> i64 {
        200_000
    }
}
