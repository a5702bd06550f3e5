//! A line of `profiler.log`: columns between tabs, in microseconds since the driver's signal.
//!
//! ```text
//! since the signal before | finished | delay | period | client 1 | client 2 | ...
//! client: number | signaled | awake | finished | awake - signaled | finished - awake | status | 0
//! ```
//!
//! The columns of a client that was not triggered are empty.

use super::{Client, Cycle, ns_of_us};

const COLUMNS: usize = 8;
/// What PipeWire says of a client that has been through its cycle.
const FINISHED: &str = "3";

/// `None`: it is no such line.
pub(super) fn line(text: &str) -> Option<Cycle> {
    let mut columns = text.trim_end_matches(['\r', '\n']).split('\t').map(str::trim);
    let since_ns = ns_of_us(columns.next()?).filter(|ns| *ns >= 0)?;
    let finished_ns = ns_of_us(columns.next()?)?;
    let _delay = columns.next()?;
    let period_ns = ns_of_us(columns.next()?).filter(|ns| *ns > 0)?;
    let columns: Vec<&str> = columns.collect();
    let clients = columns.chunks_exact(COLUMNS).filter(|client| !client[0].is_empty());
    let clients: Vec<Client> = clients.map(client).collect::<Option<_>>()?;
    let rest = columns.chunks_exact(COLUMNS).remainder();
    rest.iter().all(|column| column.is_empty()).then_some(())?;
    let (since_ns, period_ns) = (Some(since_ns), Some(period_ns));
    Some(Cycle { since_ns, finished_ns, period_ns, clients, ..Cycle::default() })
}

fn client(columns: &[&str]) -> Option<Client> {
    let number: u32 = columns[0].parse().ok()?;
    Some(Client {
        name: format!("node {number}"),
        signaled_ns: ns_of_us(columns[1])?,
        awake_ns: ns_of_us(columns[2])?,
        finished_ns: ns_of_us(columns[3])?,
        has_finished: columns[6] == FINISHED,
    })
}
