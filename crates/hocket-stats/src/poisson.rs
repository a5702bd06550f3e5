//! How often what was counted for a while may happen.

use super::special;

/// From this count on the exact bound takes too many terms. Wilson and Hilferty's formula deviates by less than 1e-6 there.
const MANY: u64 = 2_000;

/// The largest mean of a Poisson distribution that a count of `count` leaves possible: with a larger one, at most `count`
/// happens in fewer than `outside` of all cases. `outside` is above 0 and below 1.
///
/// This is the upper end of Garwood's exact interval ("Fiducial limits for the Poisson distribution", Biometrika 28, 1936),
/// one-sided: 3.00 for none at 5 %, so none in an hour means "at most 3 an hour". It takes the events as independent. Events
/// that come in bursts happen less regularly than this allows for.
pub fn poisson_most(count: u64, outside: f64) -> f64 {
    if count >= MANY {
        return roughly(count, outside);
    }
    let shape = count as f64 + 1.0;
    special::rising(0.0, 4.0 * shape + 800.0, |mean| special::gamma_above(shape, mean) <= outside)
}

/// By the cube of a normal figure (Wilson and Hilferty, "The distribution of chi-square", PNAS 17, 1931).
fn roughly(count: u64, outside: f64) -> f64 {
    let z = special::rising(-40.0, 40.0, |z| special::normal_below(-z) <= outside);
    let shape = count as f64 + 1.0;
    let cube = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt());
    shape * cube.powi(3)
}
