//! Which CPUs are measured, and what the system says of them.

use crate::harness::Host;

/// So many usable CPUs, ordered by topology: all, or those most likely to share cores.
///
/// Seats of one core are numbered next to each other or half of the machine apart, so of too many CPUs
/// the lowest are taken with those at these distances and with whatever the system calls their
/// siblings.
pub(crate) fn cpus(host: &Host, most: usize) -> Vec<u32> {
    let mut chosen = if host.cpus.len() <= most { host.cpus.clone() } else { likely(host, most) };
    chosen.sort_by_key(|cpu| place(host, *cpu));
    chosen
}

fn likely(host: &Host, most: usize) -> Vec<u32> {
    let n = host.cpus.len();
    let mut chosen = Vec::new();
    for (at, cpu) in host.cpus.iter().enumerate() {
        let said =
            host.cpus.iter().filter(|other| says_siblings(host, *cpu, **other) == Some(true));
        let half_way = host.cpus[(at + n / 2) % n];
        for candidate in said.copied().chain([*cpu, half_way]) {
            if chosen.len() < most && !chosen.contains(&candidate) {
                chosen.push(candidate);
            }
        }
    }
    chosen
}

/// Whether the system calls two CPUs siblings; `None` where it does not say which cores they are of.
pub(crate) fn says_siblings(host: &Host, a: u32, b: u32) -> Option<bool> {
    let core = |cpu| host.topology.seats[host.topology.seat_of_cpu(cpu)?].core;
    Some(core(a)? == core(b)?)
}

/// Package, core, number: what the system puts together stands together.
fn place(host: &Host, cpu: u32) -> (Option<usize>, Option<usize>, u32) {
    let seat = host.topology.seat_of_cpu(cpu).map(|seat| &host.topology.seats[seat]);
    (seat.and_then(|seat| seat.package), seat.and_then(|seat| seat.core), cpu)
}
