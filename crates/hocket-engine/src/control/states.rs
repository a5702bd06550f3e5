//! The states of all processors together: saved in one go, and restored before one block.

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;

use hocket_dsp::host::NoState;
use hocket_plan::NodeId;

use super::handle::{Control, ControlError};
use super::main_thread::StateFailure;
use super::planner::Planner;
use crate::block::joined::Side;
use crate::block::node::{Exchange, NodeCell};
use crate::leader::order::Order;

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

/// What a main side made of a state, for its processor.
pub(super) struct Loaded {
    side: Arc<Side>,
    turn: u64,
    exchange: Exchange,
}

impl Loaded {
    pub(super) fn new(
        cell: &Arc<NodeCell>,
        side: &Arc<Side>,
        turn: u64,
        made: Box<dyn Any + Send>,
    ) -> Loaded {
        let exchange = Exchange { node: Arc::clone(cell), made: Some(made) };
        Loaded { side: Arc::clone(side), turn, exchange }
    }
}

impl Planner {
    /// Whether this is a node of the newest graph. One that only fades out is none.
    pub(super) fn has(&self, cell: &Arc<NodeCell>) -> bool {
        let mut cells = self.places.iter().flat_map(|place| &self.nodes()[place.index()]);
        cells.any(|other| Arc::ptr_eq(other, cell))
    }

    /// Sends what main sides made of states, in one order. `None`: make it anew, because one of the processors gets
    /// something newer that its main side made, such as room for longer blocks.
    pub(super) fn hand_over(&mut self, loaded: Vec<Loaded>) -> Result<Option<u64>, ControlError> {
        if loaded.iter().any(|it| it.side.is_outdated(it.turn)) {
            return Ok(None);
        }
        let turns: Vec<_> = loaded.iter().map(|it| (Arc::clone(&it.side), it.turn)).collect();
        let exchanges = loaded.into_iter().map(|it| it.exchange).collect();
        let number = self.send(Order { exchanges, ..Order::default() })?;
        turns.into_iter().for_each(|(side, turn)| side.is_handed_over(turn));
        Ok(Some(number))
    }
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
    /// Other orders may come between, such as longer blocks ([`Control::set_largest_block`]). Then it loads the states anew, so
    /// that they reach the processors that play on. A node that is removed meanwhile is in [`RestoredStates::failures`], also if
    /// it still fades out.
    ///
    /// # Errors
    /// [`ControlError::NotMainThread`], [`ControlError::Thread`], [`ControlError::Full`]: nothing has changed then. What
    /// single nodes refuse, and nodes that are gone, are in [`RestoredStates::failures`]; the others are restored.
    pub fn restore_states(&self, states: &[SavedState]) -> Result<RestoredStates, ControlError> {
        loop {
            let mut failures = Vec::new();
            let loaded = self.load(states, &mut failures)?;
            if let Some(number) = self.hand_over(loaded, &mut failures)? {
                return Ok(RestoredStates { number, failures });
            }
        }
    }

    /// Calls the main sides of all states whose nodes there are.
    fn load<'a>(
        &self,
        states: &'a [SavedState],
        failures: &mut Vec<StateFailure>,
    ) -> Result<Vec<(&'a SavedState, Loaded)>, ControlError> {
        let members = self.members();
        let places = places_of(states, &members);
        let mut found = Vec::new();
        for (state, place) in states.iter().zip(places) {
            match place {
                Some(place) => found.push((state, &members[place])),
                None => failures.push(self.not_found(state)),
            }
        }
        let calls = found.iter().map(|(it, member)| (Arc::clone(&member.side), it.state.clone()));
        let load = |(side, state): (Arc<Side>, Vec<u8>)| side.make(|side| side.load(&state));
        let all = on_main(self, calls.collect(), load)?;
        let mut loaded = Vec::new();
        for ((state, Member { cell, side, .. }), result) in found.into_iter().zip(all) {
            match result {
                Some((turn, Ok(made))) => {
                    loaded.push((state, Loaded::new(cell, side, turn, made)));
                }
                result => {
                    let result = result.map(|(_, it)| it.map(|_| ()));
                    failures.push(refused(cell.name.clone(), result));
                }
            }
        }
        Ok(loaded)
    }

    /// Sends what main sides made, in one order. Edits may have removed nodes meanwhile. Returns the order's number, if there
    /// is one; `None`: load the states anew.
    fn hand_over(
        &self,
        loaded: Vec<(&SavedState, Loaded)>,
        failures: &mut Vec<StateFailure>,
    ) -> Result<Option<Option<u64>>, ControlError> {
        let mut inner = self.lock();
        let present = inner.places.iter().filter_map(|place| inner.nodes()[place.index()].as_ref());
        let present: HashSet<_> = present.map(Arc::as_ptr).collect();
        let is_there = |it: &Loaded| present.contains(&Arc::as_ptr(&it.exchange.node));
        let (stay, gone): (Vec<_>, Vec<_>) = loaded.into_iter().partition(|(_, it)| is_there(it));
        failures.extend(gone.into_iter().map(|(state, _)| gone_failure(state)));
        if stay.is_empty() {
            return Ok(Some(None));
        }
        let stay = stay.into_iter().map(|(_, loaded)| loaded).collect();
        Ok(inner.hand_over(stay)?.map(Some))
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

#[cfg(test)]
mod tests {
    use hocket_dsp::host::{Host, MainSide, StateError};
    use hocket_dsp::{Block, Processor};
    use hocket_plan::{Edge, Graph, ScheduleKind, SiblingPolicy};

    use super::*;
    use crate::test_engines::{FRAMES, engine, node, seating, settings, side_by_side};
    use crate::{Engine, GraphEditor, NodeSource};

    const GROWN: usize = 4 * FRAMES;

    /// All that a processor has: what its main side makes is a whole one, as that of a plug-in may be.
    #[derive(Debug, Clone, Copy)]
    struct Whole {
        number: f32,
        room: usize,
    }

    impl MainSide for Whole {
        fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
            self.number = f32::from_le_bytes(state.try_into()?);
            Ok(Box::new(*self))
        }
        fn grow(&mut self, frames: usize) -> Option<Box<dyn Any + Send>> {
            self.room = frames;
            Some(Box::new(*self))
        }
    }

    impl Processor for Whole {
        fn join(&mut self, host: &mut dyn Host) {
            self.room = host.largest_block();
            _ = host.main_side(Box::new(*self));
        }
        fn process(&mut self, block: &mut Block<'_>) {
            assert!(block.frames() <= self.room, "it has room for {}", self.room);
            block.main.left.fill(self.number);
        }
        fn exchange(&mut self, new: &mut (dyn Any + Send)) {
            *self = *new.downcast_ref().unwrap();
        }
        fn reset(&mut self) {}
    }

    fn started() -> Engine {
        let whole = Box::new(Whole { number: 1.0, room: 0 });
        engine(
            side_by_side(vec![whole], None),
            settings(ScheduleKind::Serial, SiblingPolicy::Off),
            1,
        )
    }

    fn state(number: f32) -> [SavedState; 1] {
        let (node, name) = (NodeId(0), "node 0".into());
        [SavedState { node, name, state: number.to_le_bytes().into() }]
    }

    /// What it plays in a block of full length.
    fn plays(engine: &mut Engine) -> f32 {
        // The leader takes up longer blocks before the next one.
        engine.process(FRAMES);
        assert_eq!(engine.process(GROWN).frames, GROWN);
        assert_eq!(engine.control().contained(), []);
        let left = engine.output(GROWN).left;
        assert!(left.iter().all(|sample| *sample == left[0]));
        left[0]
    }

    #[test]
    fn states_that_were_loaded_before_blocks_grew_are_loaded_anew() {
        let mut engine = started();
        let control = engine.control().clone();
        let (states, mut failures) = (state(5.0), Vec::new());
        let loaded = control.load(&states, &mut failures).unwrap();
        control.set_largest_block(GROWN as u32).unwrap();
        assert_eq!(control.hand_over(loaded, &mut failures), Ok(None));
        assert!(control.restore_states(&states).unwrap().number.is_some());
        assert_eq!(plays(&mut engine), 5.0);
    }

    #[test]
    fn what_was_made_for_longer_blocks_before_a_state_was_loaded_is_made_anew() {
        let mut engine = started();
        let control = engine.control().clone();
        let grown = control.services().grow(GROWN as u32).unwrap();
        control.restore_states(&state(5.0)).unwrap();
        assert_eq!(control.lock().grow(GROWN as u32, grown), Ok(None));
        control.set_largest_block(GROWN as u32).unwrap();
        assert_eq!(plays(&mut engine), 5.0);
    }

    #[test]
    fn of_two_that_load_a_state_the_later_one_counts() {
        let mut engine = started();
        let control = engine.control().clone();
        control.set_largest_block(GROWN as u32).unwrap();
        let (first, mut failures) = (state(5.0), Vec::new());
        let loaded = control.load(&first, &mut failures).unwrap();
        control.load_state(NodeId(0), &6.0f32.to_le_bytes()).unwrap();
        assert_eq!(control.hand_over(loaded, &mut failures), Ok(None));
        assert_eq!(plays(&mut engine), 6.0);
    }

    #[test]
    fn a_state_is_refused_whose_node_is_removed_meanwhile_and_fades_out() {
        let mut graph = Graph::default();
        graph.add(node(0, Vec::new())).unwrap();
        graph.add(node(1, vec![Edge::new(NodeId(0), 1.0)])).unwrap();
        let whole = || Box::new(Whole { number: 1.0, room: 0 }) as Box<dyn Processor>;
        let policy = settings(ScheduleKind::Serial, SiblingPolicy::Off);
        let seats = seating(SiblingPolicy::Off, 1);
        let processors = vec![Some(whole()), None];
        let (mut engine, mut editor) =
            GraphEditor::start(&graph, processors, policy, seats).unwrap();
        engine.process(FRAMES);
        let control = editor.control().clone();
        let (states, mut failures) = (state(5.0), Vec::new());
        let loaded = control.load(&states, &mut failures).unwrap();
        let sources = vec![NodeSource::New(whole()), NodeSource::Kept(NodeId(1))];
        editor.replace(&graph, sources).unwrap();
        assert_eq!(control.hand_over(loaded, &mut failures), Ok(Some(None)));
        assert_eq!(failures, [gone_failure(&states[0])]);
    }
}
