//! The states of all processors together: saved in one go, and restored before one block.

use std::collections::HashSet;
use std::sync::Arc;

use hocket_dsp::host::NoState;
use hocket_plan::NodeId;

use super::handle::{Control, ControlError};
use super::main_thread::{Exchange, Side, StateFailure};
use super::orders::Order;
use crate::block::node::NodeCell;

/// The state of a node's processor, to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedState {
    /// The node, in the graph in which it was saved.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// What its main side returned ([`MainSide::save`](hocket_dsp::host::MainSide::save)).
    pub state: Vec<u8>,
}

/// What [`Control::save_states`] could save.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SavedStates {
    /// In the order of the nodes.
    pub states: Vec<SavedState>,
    /// Processors that have a state and did not give it.
    pub failures: Vec<StateFailure>,
}

/// What [`Control::restore_states`] could restore.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RestoredStates {
    /// Number of the order that hands all of them over; of the edit, if an editor did it. `None`: there is nothing to hand
    /// over.
    pub number: Option<u64>,
    /// States that stay out, in the order of what was to be restored; those of nodes that are removed meanwhile come last.
    pub failures: Vec<StateFailure>,
}

/// A node of the newest graph whose processor has a main side.
struct Member {
    node: NodeId,
    cell: Arc<NodeCell>,
    side: Arc<Side>,
}

impl Control {
    /// The states of all processors of the newest graph, while it plays. Nodes without a processor, without a main side, or
    /// whose main side says [`NoState`] are left out.
    ///
    /// All main sides are called in one task on the main thread, in the order of the nodes. Blocks may run meanwhile: states
    /// that belong together exactly need an engine that stands still, or that is offline.
    ///
    /// # Errors
    /// [`ControlError::NotMainThread`], [`ControlError::Thread`]: nothing is saved. What single processors refuse is in
    /// [`SavedStates::failures`].
    pub fn save_states(&self) -> Result<SavedStates, ControlError> {
        let members = self.members();
        let sides: Vec<_> = members.iter().map(|member| Arc::clone(&member.side)).collect();
        let save = |side: Arc<Side>| side.call(|side| side.save());
        let all = on_main(self, sides, save)?;
        let mut saved = SavedStates::default();
        for (Member { node, cell, .. }, result) in members.into_iter().zip(all) {
            let name = cell.name.clone();
            match result {
                Some(Ok(state)) => saved.states.push(SavedState { node, name, state }),
                Some(Err(why)) if why.is::<NoState>() => {}
                result => saved.failures.push(refused(name, result.map(|it| it.map(|_| ())))),
            }
        }
        Ok(saved)
    }

    /// Has processors go on with states that were saved, all before the same block: before the first one in an engine that
    /// has played none, otherwise before the next.
    ///
    /// A state goes to the node of its number if that has its name, otherwise to the only other node of this name. So it also
    /// finds its node after edits.
    ///
    /// # Errors
    /// [`ControlError::NotMainThread`], [`ControlError::Thread`], [`ControlError::Full`]: nothing has changed then. What
    /// single nodes refuse, and nodes that are gone, are in [`RestoredStates::failures`]; the others are restored.
    pub fn restore_states(&self, states: &[SavedState]) -> Result<RestoredStates, ControlError> {
        let members = self.members();
        let places = places_of(states, &members);
        let mut failures = Vec::new();
        let mut found = Vec::new();
        for (state, place) in states.iter().zip(places) {
            match place {
                Some(place) => found.push((state, &members[place])),
                None => failures.push(self.not_found(state)),
            }
        }
        let calls = found.iter().map(|(it, member)| (Arc::clone(&member.side), it.state.clone()));
        let load = |(side, state): (Arc<Side>, Vec<u8>)| side.call(|side| side.load(&state));
        let all = on_main(self, calls.collect(), load)?;
        let mut exchanges = Vec::new();
        for ((state, member), result) in found.into_iter().zip(all) {
            match result {
                Some(Ok(made)) => {
                    let node = Arc::clone(&member.cell);
                    exchanges.push((state, Exchange { node, made: Some(made) }));
                }
                result => {
                    let result = result.map(|it| it.map(|_| ()));
                    failures.push(refused(member.cell.name.clone(), result));
                }
            }
        }
        let number = self.hand_over(exchanges, &mut failures)?;
        Ok(RestoredStates { number, failures })
    }

    /// Sends what main sides made, in one order. Edits may have removed nodes meanwhile.
    fn hand_over(
        &self,
        exchanges: Vec<(&SavedState, Exchange)>,
        failures: &mut Vec<StateFailure>,
    ) -> Result<Option<u64>, ControlError> {
        let mut inner = self.lock();
        let present: HashSet<_> = inner.nodes().iter().flatten().map(Arc::as_ptr).collect();
        let is_there = |(_, it): &(_, Exchange)| present.contains(&Arc::as_ptr(&it.node));
        let (stay, gone): (Vec<_>, Vec<_>) = exchanges.into_iter().partition(is_there);
        failures.extend(gone.into_iter().map(|(state, _)| gone_failure(state)));
        let exchanges: Box<[Exchange]> = stay.into_iter().map(|(_, exchange)| exchange).collect();
        if exchanges.is_empty() {
            return Ok(None);
        }
        inner.send(Order { exchanges, ..Order::default() }).map(Some)
    }

    fn members(&self) -> Vec<Member> {
        let inner = self.lock();
        let member = |(node, place): (NodeId, &NodeId)| {
            let cell = inner.nodes()[place.index()].clone()?;
            let side = cell.side().cloned()?;
            Some(Member { node, cell, side })
        };
        (0..).map(NodeId).zip(&inner.places).filter_map(member).collect()
    }

    /// Why no main side belongs to a state.
    fn not_found(&self, state: &SavedState) -> StateFailure {
        match self.lock().cell(state.node) {
            Ok(cell) if cell.name == state.name && cell.side().is_none() => {
                StateFailure::NoState(state.name.clone())
            }
            _ => gone_failure(state),
        }
    }
}

/// Calls main sides in one task on the main thread. Nothing to call needs no main thread.
fn on_main<I: Send + 'static, T: Send + 'static>(
    control: &Control,
    calls: Vec<I>,
    call: impl Fn(I) -> T + Send + 'static,
) -> Result<Vec<T>, ControlError> {
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    control.services().on_main(move || calls.into_iter().map(call).collect())
}

/// By state: the place of its node among these.
fn places_of(states: &[SavedState], members: &[Member]) -> Vec<Option<usize>> {
    let mut taken = HashSet::new();
    let exact = |state: &SavedState| {
        members.iter().position(|it| it.node == state.node && it.cell.name == state.name)
    };
    let mut places: Vec<Option<usize>> =
        states.iter().map(|state| exact(state).filter(|place| taken.insert(*place))).collect();
    let lost = |places: &[Option<usize>], name: &str| {
        let states = states.iter().zip(places).filter(|(_, place)| place.is_none());
        states.filter(|(state, _)| state.name == name).count()
    };
    for at in 0..states.len() {
        let name = &states[at].name;
        let mut free = (0..members.len())
            .filter(|place| members[*place].cell.name == *name && !taken.contains(place));
        if let (None, Some(only), None) = (places[at], free.next(), free.next())
            && lost(&places, name) == 1
        {
            drop(free);
            taken.insert(only);
            places[at] = Some(only);
        }
    }
    places
}

fn gone_failure(state: &SavedState) -> StateFailure {
    StateFailure::Gone { node: state.node, name: state.name.clone() }
}

/// `result`: `None` for a main side that cannot be called.
fn refused(node: String, result: Option<Result<(), hocket_dsp::host::StateError>>) -> StateFailure {
    let why = match result {
        Some(Err(why)) => why.to_string(),
        _ => ControlError::Panicked.to_string(),
    };
    StateFailure::Refused { node, why }
}
