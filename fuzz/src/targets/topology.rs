//! Topologies of machines, as hwloc writes them.

use hocket_engine::seats_of;
use hocket_machine::Topology;
use hocket_plan::SiblingPolicy;
use hocket_plan::place::{capacity, place};

use super::scratch;

pub fn check(bytes: &[u8]) {
    let topology = match std::str::from_utf8(bytes) {
        Ok(text) => Topology::from_xml(text, "machine.xml"),
        Err(_) => Topology::from_file(&scratch::file("machine.xml", bytes)),
    };
    let topology = match topology {
        Ok(topology) => topology,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let text = std::str::from_utf8(bytes).expect("only text is a topology");
    assert_eq!(Topology::from_xml(text, "machine.xml").expect("as before"), topology);
    check_found(&topology);
}

/// What must hold of every topology.
pub fn check_found(topology: &Topology) {
    check_indices(topology);
    assert!(serde_json::to_string(topology).is_ok());
    check_placements(topology);
}

/// Each index names something that exists.
fn check_indices(topology: &Topology) {
    let seats = topology.seats.len();
    for (index, seat) in topology.seats.iter().enumerate() {
        assert_eq!(seat.index, index);
        assert!(seat.core.is_none_or(|core| topology.cores[core].seats.contains(&index)));
        assert!(seat.package.is_none_or(|package| package < topology.packages.len()));
        assert!(seat.numa.is_none_or(|node| node < topology.numa_nodes.len()));
        assert!(seat.kind < topology.kinds.len());
        assert!(topology.siblings(index).contains(&index));
        assert!(topology.seat_of_cpu(seat.cpu).is_some());
    }
    for core in &topology.cores {
        assert!(core.package.is_none_or(|package| package < topology.packages.len()));
        assert!(core.kind < topology.kinds.len());
        assert!(core.seats.iter().all(|seat| *seat < seats));
    }
    for pair in &topology.pairs {
        assert_eq!(topology.cores[pair.core].seats, pair.seats);
        assert!(pair.seats.len() > 1);
    }
    let lists = topology.caches.iter().map(|cache| &cache.seats);
    let lists = lists.chain(topology.kinds.iter().map(|kind| &kind.seats));
    let mut lists = lists.chain(topology.numa_nodes.iter().map(|node| &node.seats));
    assert!(lists.all(|list| list.iter().all(|seat| *seat < seats)));
}

/// Every policy finds seats for as many workers as it says, or says why not.
fn check_placements(topology: &Topology) {
    let (seats, cpus) = seats_of(topology);
    assert_eq!(seats.seats.len(), cpus.len());
    if seats.seats.is_empty() || seats.seats.len() > 64 {
        return;
    }
    for policy in SiblingPolicy::ALL {
        match place(&seats, policy, None) {
            Ok(placement) => assert_eq!(placement.workers.len(), capacity(&seats, policy)),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
