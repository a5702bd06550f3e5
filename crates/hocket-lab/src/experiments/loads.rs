//! Loads of servers and their clients, as `chat`, `fileserver`, `tcpstream` and `smt-load` run them.

mod chat;
mod event_loop;
mod file_server;
mod loopback;
mod script;
mod served;
mod sieves;
mod tasks;
mod tcp_stream;

pub(super) use chat::{Chat, Mode, USERS};
pub(super) use file_server::{FileServer, probe as probe_files};
pub(super) use loopback::probe as probe_lines;
pub(super) use script::{Kind, Mix};
pub(super) use served::{
    CLIENTS, DOCUMENTS, Served, TRACE_MB, findings as served_findings, plots as served_plots,
};
pub(super) use sieves::Sieves;
pub(super) use tcp_stream::TcpStream;

use crate::harness::{Check, Fault};

/// What came of one turn of a load.
#[derive(Debug)]
pub(super) struct Turn {
    pub wall_ns: u64,
    pub cpu_ns: Option<u64>,
    pub ops: u64,
    /// Of contents; 0 where the load moves none.
    pub bytes: u64,
    pub check: Check,
    /// Each operation of a client: its kind and how long it took, in ns; none where the load has no kinds.
    pub took: Vec<(Kind, u64)>,
}

/// Work for several threads that is the same in every turn, wherever they may run.
pub(super) trait Load {
    /// All of it once, with every thread allowed on any of these CPUs; on all if none are named.
    ///
    /// # Errors
    /// What the system refuses, with what helps. Then nothing of the turn is left.
    fn turn(&mut self, cpus: &[u32]) -> Result<Turn, Fault>;
}
