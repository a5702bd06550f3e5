//! Talking to a service over D-Bus.
//!
//! The client is zbus. Everything happens inside one `block_on` on the calling thread, with the connection closed at its
//! end: outside of it zbus would hand what is still open to a helper thread of its own, with an affinity that nobody
//! chose.

use zbus::connection::Builder;
use zbus::{Connection, OwnedVariant, fdo};
use zruntime::SharedRuntime;

use super::service::{Bus, Service, Terms};
use super::*;

/// An open connection and the service to talk to on it.
pub(super) struct Talk {
    service: Service,
    connection: Connection,
}

/// Connects to the bus of `service`, runs `talk` and closes the connection, all within `patience`.
///
/// Thread: any that does not run a zbus conversation already. The error says which step failed, in words.
pub(super) fn converse<T>(
    service: &Service,
    patience: Duration,
    talk: impl AsyncFnOnce(&Talk) -> Result<T, String>,
) -> Result<T, String> {
    zruntime::block_on(async {
        let clock = SharedRuntime::current().map_err(|e| plain(&e))?;
        let late = |_| format!("{} did not answer within {patience:?}", service.label);
        let said = clock.timeout(patience, connect_and(service, talk)).await;
        said.map_err(late).flatten()
    })
}

async fn connect_and<T>(
    service: &Service,
    talk: impl AsyncFnOnce(&Talk) -> Result<T, String>,
) -> Result<T, String> {
    let (builder, name) = match service.bus {
        Bus::Session => (Builder::session(), "session bus"),
        Bus::System => (Builder::system(), "system bus"),
    };
    let connection = builder.build().await.map_err(|e| format!("no {name}: {}", words(&e)))?;
    let open = Talk { service: *service, connection };
    let result = talk(&open).await;
    // What was said counts, even where the bus is gone before the goodbye.
    let _ = open.connection.close().await;
    result
}

impl Talk {
    /// What the service has to give. A service that is not running may be started by this.
    pub async fn terms(&self) -> Result<Terms, String> {
        let missing = |e| format!("{} does not answer: {}", self.service.label, words(&e));
        let priority = self.property("MaxRealtimePriority").await.map_err(missing)?;
        let rttime = self.property("RTTimeUSecMax").await.map_err(missing)?;
        Terms::of(priority, rttime)
    }

    /// A property that is a number. It is 32 bits wide for some and 64 for others, so both are taken.
    async fn property(&self, name: &str) -> zbus::Result<i64> {
        let Service { name: to, path, interface, .. } = self.service;
        let get = Some("org.freedesktop.DBus.Properties");
        let body = &(interface, name);
        let reply = self.connection.call_method(Some(to), path, get, "Get", body).await?;
        let value: OwnedVariant = reply.body().deserialize()?;
        i64::try_from(&*value).or_else(|_| i32::try_from(&*value).map(i64::from))
    }

    /// Asks that a thread of `process` be made real-time.
    pub async fn make_real_time(
        &self,
        process: u32,
        thread: ThreadId,
        priority: u8,
    ) -> Result<(), String> {
        let (process, thread, priority) =
            (u64::from(process), thread.0 as u64, u32::from(priority));
        let with_process = &(process, thread, priority);
        match self.call("MakeThreadRealtimeWithPID", with_process).await {
            Err(e) if is_unknown_method(&e) => {
                self.call("MakeThreadRealtime", &(thread, priority)).await.map_err(|e| words(&e))
            }
            other => other.map_err(|e| words(&e)),
        }
    }

    async fn call<B>(&self, method: &str, body: &B) -> zbus::Result<()>
    where
        B: serde::Serialize + zbus::zvariant::DynamicType,
    {
        let Service { name, path, interface, .. } = self.service;
        self.connection.call_method(Some(name), path, Some(interface), method, body).await?;
        Ok(())
    }
}

fn is_unknown_method(error: &zbus::Error) -> bool {
    let unknown = "org.freedesktop.DBus.Error.UnknownMethod";
    match error {
        zbus::Error::FDO(error) => matches!(**error, fdo::Error::UnknownMethod(_)),
        zbus::Error::MethodError(name, ..) => name.as_str() == unknown,
        _ => false,
    }
}

/// An error in words: the service's own where it sent one, without the prefix that the standard ones share.
fn words(error: &zbus::Error) -> String {
    match error {
        zbus::Error::Connection(e, address) => format!("{address}: {}", plain(e)),
        zbus::Error::InputOutput(e) => plain(e),
        other => other.to_string().replacen("org.freedesktop.DBus.Error.", "", 1),
    }
}
