//! The two services: where they are, what they are called, what they ask for.

/// The bus that a service is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bus {
    /// One for each user who has logged in.
    Session,
    /// One for the machine.
    System,
}

/// A service that hands out real-time classes.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "dbus"), expect(dead_code, reason = "only a D-Bus client reads them"))]
pub(super) struct Service {
    pub label: &'static str,
    pub bus: Bus,
    /// Its name on the bus.
    pub name: &'static str,
    pub path: &'static str,
    pub interface: &'static str,
}

impl Service {
    /// <https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Realtime.html>
    pub const PORTAL: Self = Self {
        label: "the realtime portal",
        bus: Bus::Session,
        name: "org.freedesktop.portal.Desktop",
        path: "/org/freedesktop/portal/desktop",
        interface: "org.freedesktop.portal.Realtime",
    };

    /// RealtimeKit's README, section CLIENTS, and its `org.freedesktop.RealtimeKit1.xml`.
    pub const RTKIT: Self = Self {
        label: "RealtimeKit",
        bus: Bus::System,
        name: "org.freedesktop.RealtimeKit1",
        path: "/org/freedesktop/RealtimeKit1",
        interface: "org.freedesktop.RealtimeKit1",
    };
}

/// What a service has to give and what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// The highest priority it gives, 1 to 99.
    pub max_priority: u8,
    /// The most that RLIMIT_RTTIME may be, in microseconds.
    pub rttime_us: u64,
}

impl Terms {
    /// From the properties as the service sends them; a portal that has found no RealtimeKit sends zeros.
    #[cfg_attr(
        not(any(feature = "dbus", test)),
        expect(dead_code, reason = "only a D-Bus client reads properties")
    )]
    pub fn of(max_priority: i64, rttime_us: i64) -> Result<Self, String> {
        let priority = u8::try_from(max_priority.min(99)).ok().filter(|p| *p > 0);
        let rttime = u64::try_from(rttime_us).ok().filter(|us| *us > 0);
        match priority.zip(rttime) {
            Some((max_priority, rttime_us)) => Ok(Self { max_priority, rttime_us }),
            None => Err(format!(
                "it has nothing to give (highest priority {max_priority}, CPU time {rttime_us} µs): RealtimeKit is \
                 probably not installed"
            )),
        }
    }
}
