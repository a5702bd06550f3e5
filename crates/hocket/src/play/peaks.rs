//! Peaks of the outputs, for several who look.
//!
//! The leader keeps one figure per output, and a look takes it. So what one look takes is kept here for the others.

use std::sync::{Arc, Mutex, PoisonError};

use super::live::Live;

/// Who looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looker {
    /// The dashboard, or the lines of `--headless`.
    Terminal,
    Page,
}

/// The largest magnitudes since each one's own last look.
pub(super) struct Peaks {
    live: Arc<Live>,
    /// A row for each [`Looker`]. The leader never locks it.
    kept: Mutex<[Vec<f32>; 2]>,
}

impl Peaks {
    /// `outputs`: how many have a meter.
    pub(super) fn new(live: &Arc<Live>, outputs: usize) -> Peaks {
        let kept = std::array::from_fn(|_| vec![0.0; outputs]);
        Peaks { live: Arc::clone(live), kept: Mutex::new(kept) }
    }

    /// Thread: control, any.
    pub(super) fn take(&self, looker: Looker) -> Vec<f32> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let new = self.live.take_peaks();
        take_own(&mut kept, &new, looker)
    }
}

fn take_own(kept: &mut [Vec<f32>; 2], new: &[f32], looker: Looker) -> Vec<f32> {
    for row in kept.iter_mut() {
        row.iter_mut().zip(new).for_each(|(kept, new)| *kept = kept.max(*new));
    }
    let own = &mut kept[looker as usize];
    std::mem::replace(own, vec![0.0; own.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_look_takes_is_there_for_the_other() {
        let mut kept = [vec![0.0; 2], vec![0.0; 2]];
        assert_eq!(take_own(&mut kept, &[0.5, 0.1], Looker::Terminal), [0.5, 0.1]);
        assert_eq!(take_own(&mut kept, &[0.2, 0.3], Looker::Terminal), [0.2, 0.3]);
        assert_eq!(take_own(&mut kept, &[0.0, 0.0], Looker::Page), [0.5, 0.3]);
        assert_eq!(take_own(&mut kept, &[0.0, 0.0], Looker::Page), [0.0, 0.0]);
    }
}
