//! What a sibling policy asks of threads that are not the engine's.

use hocket_machine::pin::{self, ConfinedProcess, CpuSet, ThreadId};

use super::seating::Seating;

/// What became of the other threads of the process; they are moved back when this is dropped.
#[derive(Debug)]
pub struct Protection {
    /// The CPUs they were asked to stay on; `None`: the policy does not ask.
    pub asked: Option<String>,
    /// How many threads the system now reports there.
    pub moved: usize,
    /// What could not be done, and why.
    pub refused: Vec<String>,
    _confined: Option<ConfinedProcess>,
}

impl Protection {
    /// For everybody but `own`, as the seating's policy says.
    pub(crate) fn apply(seating: &Seating, own: &[ThreadId]) -> Protection {
        let seats = seating.placement().others.as_ref();
        let cpus: Option<CpuSet> =
            seats.and_then(|seats| seats.iter().map(|seat| seating.cpu(*seat)).collect());
        let Some(cpus) = cpus else {
            return Protection { asked: None, moved: 0, refused: Vec::new(), _confined: None };
        };
        let asked = Some(cpus.to_string());
        match pin::confine_process(&cpus, own) {
            Err(error) => {
                Protection { asked, moved: 0, refused: vec![error.to_string()], _confined: None }
            }
            Ok(confined) => Protection {
                asked,
                moved: confined.threads(),
                refused: confined.refused().iter().map(|(_, error)| error.to_string()).collect(),
                _confined: Some(confined),
            },
        }
    }
}
