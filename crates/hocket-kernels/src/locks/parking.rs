//! That of parking_lot.

use super::Lock;

/// `parking_lot::Mutex`: one byte; those who wait spin shortly and then queue in a table of the process.
/// Now and then it is handed over in turn.
#[derive(Debug, Default)]
pub struct ParkingLot(parking_lot::Mutex<()>);

impl Lock for ParkingLot {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        let _held = self.0.lock();
        work()
    }
}
