//! A line of `JackEngineProfiling.log`: columns between tabs, in microseconds since the begin of the cycle.
//!
//! ```text
//! next begins | all finished | client 1 | client 2 | ...
//! client: number | signaled | awake | finished | awake - signaled | finished - awake | status
//! ```
//!
//! The columns of a client that was not triggered are empty.

use super::{Client, Cycle, LONGEST_NS, ns_of_us};

const COLUMNS: usize = 7;
/// What JACK says of a client that has been through its cycle.
const FINISHED: &str = "3";

/// `None`: it is no such line.
pub(super) fn line(text: &str) -> Option<Cycle> {
    let mut columns = text.trim_end_matches(['\r', '\n']).split('\t').map(str::trim);
    let length_ns = ns_of_us(columns.next()?).filter(|ns| *ns > 0)?;
    // JACK writes a difference below zero as it is.
    let finished_ns = ns_of_us(columns.next()?).unwrap_or(-LONGEST_NS);
    let columns: Vec<&str> = columns.collect();
    // What follows the last tab is not a client.
    let clients = columns.chunks_exact(COLUMNS).filter(|client| !client[0].is_empty());
    let clients: Vec<Client> = clients.map(client).collect::<Option<_>>()?;
    let rest = columns.chunks_exact(COLUMNS).remainder();
    rest.iter().all(|column| column.is_empty()).then_some(())?;
    let (length_ns, period_ns) = (Some(length_ns), None);
    Some(Cycle { finished_ns, length_ns, period_ns, clients, ..Cycle::default() })
}

fn client(columns: &[&str]) -> Option<Client> {
    let number: u32 = columns[0].parse().ok()?;
    Some(Client {
        name: format!("client {number}"),
        signaled_ns: ns_of_us(columns[1])?,
        awake_ns: ns_of_us(columns[2])?,
        finished_ns: ns_of_us(columns[3])?,
        has_finished: columns[6] == FINISHED,
    })
}
