//! A message bus of the test's own, and one that accepts and never answers.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const CONFIG: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path=SOCKET</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/> <allow own="*"/> <allow send_destination="*" eavesdrop="false"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>"#;

/// A daemon with its own socket and rules; ended on drop.
pub struct PrivateBus {
    _daemon: Ended,
    _folder: tempfile::TempDir,
    pub address: String,
}

/// A child process that ends with its owner.
pub struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl PrivateBus {
    /// None, with the reason printed, where there is no `dbus-daemon`.
    pub fn start(test: &str) -> Option<Self> {
        let folder = open_folder();
        let (socket, config) = (folder.path().join("bus"), folder.path().join("bus.conf"));
        std::fs::write(&config, CONFIG.replace("SOCKET", &socket.display().to_string())).ok()?;
        let mut daemon = Command::new("dbus-daemon");
        daemon
            .arg("--nofork")
            .arg("--nopidfile")
            .arg(format!("--config-file={}", config.display()));
        let Ok(daemon) = daemon.stderr(Stdio::null()).spawn() else {
            println!("SKIPPED {test}: dbus-daemon is not installed");
            return None;
        };
        let bus = Self {
            _daemon: Ended(daemon),
            address: format!("unix:path={}", socket.display()),
            _folder: folder,
        };
        assert!(appears(|| socket.exists()), "dbus-daemon opened no socket");
        Some(bus)
    }

    /// As [`Self::start`], for tests whose service must set classes itself.
    pub fn start_as_root(test: &str) -> Option<Self> {
        if !super::child::is_root() {
            println!("SKIPPED {test}: only root can start a service that sets classes");
            return None;
        }
        Self::start(test)
    }

    /// RealtimeKit itself; none, with the reason printed, where it is not installed.
    pub fn start_rtkit(&self, test: &str) -> Option<Ended> {
        let places = ["/usr/libexec/rtkit-daemon", "/usr/lib/rtkit/rtkit-daemon"];
        let Some(path) = places.into_iter().find(|path| Path::new(path).exists()) else {
            println!("SKIPPED {test}: RealtimeKit is not installed");
            return None;
        };
        let mut daemon = Command::new(path);
        // Its watchdog would demote real-time threads of the whole machine, those of other tests too.
        daemon.arg("--no-canary").env("DBUS_SYSTEM_BUS_ADDRESS", &self.address);
        let daemon = daemon.stderr(Stdio::null()).spawn().expect("it is there");
        assert!(appears(|| self.has("org.freedesktop.RealtimeKit1")), "RealtimeKit did not start");
        Some(Ended(daemon))
    }

    fn has(&self, name: &str) -> bool {
        let mut send = Command::new("dbus-send");
        send.arg(format!("--bus={}", self.address)).arg("--print-reply");
        send.args(["--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.GetNameOwner"]);
        let send = send.arg(format!("string:{name}")).stdout(Stdio::null()).stderr(Stdio::null());
        send.status().is_ok_and(|status| status.success())
    }
}

/// A socket that takes connections and says nothing.
pub struct SilentBus {
    _listener: UnixListener,
    _folder: tempfile::TempDir,
    pub address: String,
}

impl SilentBus {
    pub fn start() -> Self {
        let folder = open_folder();
        let socket = folder.path().join("bus");
        let listener = UnixListener::bind(&socket).expect("a socket in a new folder");
        let all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(&socket, all).expect("our own file");
        let address = format!("unix:path={}", socket.display());
        Self { _listener: listener, _folder: folder, address }
    }
}

/// A folder that other users may enter.
pub fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("our own folder");
    folder
}

/// Waits for something; two minutes are only there to end a hang.
fn appears(there: impl Fn() -> bool) -> bool {
    (0..6000).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        there()
    })
}
