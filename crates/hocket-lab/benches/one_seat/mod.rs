//! One described seat, for benchmarks of several crates: nobody is pinned, and no policy changes anything while it is measured.

use hocket_engine::{
    Policy, ScheduleKind, Seat, Seating, Seats, Settings, SiblingPolicy, Steer, Strategy,
};

/// An engine's seat and settings: the serial walk, without a real-time class.
pub fn one_seat(frames: usize, rate_hz: u32) -> (Seating, Settings) {
    let seats = Seats { seats: vec![Seat { core: 0, speed: 1.0 }] };
    let seating = Seating::described(&seats, SiblingPolicy::Off, None).expect("there is a seat");
    let policy = Policy {
        schedule: ScheduleKind::Serial,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Hybrid,
    };
    let settings = Settings {
        steer: Steer::Fixed,
        priority: None,
        ..Settings::new(frames as u32, rate_hz, policy)
    };
    (seating, settings)
}
