//! The order in which workers take seats.

use super::{SeatId, Seats};

/// Fastest cores first, one seat per core; then the second seats in the same order, and so on.
pub(super) fn by_preference(seats: &Seats) -> Vec<SeatId> {
    let mut order: Vec<(usize, SeatId)> = Vec::with_capacity(seats.seats.len());
    for i in 0..seats.seats.len() {
        let core = seats.seats[i].core;
        let turn = seats.seats[..i].iter().filter(|seat| seat.core == core).count();
        order.push((turn, SeatId(i)));
    }
    order.sort_by(|(turn_a, a), (turn_b, b)| {
        let speed = |seat: &SeatId| seats.seats[seat.0].speed;
        turn_a.cmp(turn_b).then(speed(b).total_cmp(&speed(a))).then(a.cmp(b))
    });
    order.into_iter().map(|(_, seat)| seat).collect()
}
