//! Whether a service would promote a thread of this user here, tried without touching this process.
//!
//! To ask for one of its own threads a process must first lower its hard RLIMIT_RTTIME, which it cannot take back. So the
//! probe asks for a helper process, `sleep`, which has the limit set from outside (prlimit(2)) and is ended afterwards.

use std::process::{Child, Command, Stdio};

use super::bus::{self, Talk};
use super::service::{Service, Terms};
use super::*;
use crate::sys::Limit;

/// Shorter than [`PATIENCE`]: somebody sits before a table of grants and waits for it.
const PROBE_PATIENCE: Duration = Duration::from_millis(1500);

/// What a service gives, tried on a helper process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// The highest priority it gives.
    pub max_priority: u8,
    /// The most CPU time, in microseconds, that a real-time thread may then use without blocking.
    pub rttime_us: u64,
    /// What the helper process got, read back from the kernel.
    pub got: ClassNow,
}

/// Tries whether a service ([`Way::Portal`] or [`Way::Rtkit`]) promotes threads for this user; why not, where it does
/// not. The other ways have no service.
///
/// Thread: control. Cost: a short-lived process, and up to 1.5 s where the service does not answer; a service that
/// is not running may be started by it.
pub fn probe(way: Way) -> Fact<Offer> {
    let service = match way {
        Way::Portal => Service::PORTAL,
        Way::Rtkit => Service::RTKIT,
        _ => return Fact::Unknown(format!("{way} needs no service")),
    };
    bus::converse(&service, PROBE_PATIENCE, async |talk: &Talk| try_on_helper(talk).await).into()
}

async fn try_on_helper(talk: &Talk) -> Result<Offer, String> {
    let Terms { max_priority, rttime_us } = talk.terms().await?;
    let helper = Helper::start(rttime_us)?;
    let offered = format!("it offers priority {max_priority}");
    let asked = talk.make_real_time(helper.0.id(), helper.thread(), 1).await;
    asked.map_err(|why| format!("{offered}, but refuses a thread of this user: {why}"))?;
    match class::now_of(helper.thread()) {
        Fact::Value(got) if got.is_real_time() => Ok(Offer { max_priority, rttime_us, got }),
        other => Err(format!("{offered} and says yes, but the kernel then reports {other}")),
    }
}

/// A process that sleeps; ended and waited for on drop, also where the conversation was cut off.
struct Helper(Child);

impl Helper {
    fn start(rttime_us: u64) -> Result<Self, String> {
        let mut sleep = Command::new("sleep");
        sleep.arg("5").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = sleep.spawn().map_err(|e| format!("`sleep` to try it on: {}", plain(&e)))?;
        let helper = Self(child);
        let now = sys::limit(Resource::RealTimeMicroseconds);
        let set = now.and_then(|now: Limit| {
            let limit = budget::within(now, rttime_us);
            sys::set_limit(helper.process(), Resource::RealTimeMicroseconds, limit)
        });
        set.map_err(|e| format!("RLIMIT_RTTIME of a helper process: {}", plain(&e)))?;
        Ok(helper)
    }

    fn process(&self) -> i32 {
        self.0.id() as i32
    }

    /// A process with one thread, which has its number.
    fn thread(&self) -> ThreadId {
        ThreadId(self.process())
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
