//! Effects that are tried out beside the audio before they play, and editors of engines that play already.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hocket_dsp::{Block, Change, Fader, Processor};
use hocket_engine::{
    ControlError, Edit, EditError, Editor, EffectAt, EffectSource, Effects, Engine, WarmUp,
};
use hocket_plan::session::{Session, StripId};
use hocket_plan::{Edge, Effect, Fusing, Graph, NodeKind, ParamSpec, ScheduleKind};

use crate::stage;

/// Blocks before an edit: enough for the costs of all units.
const BEFORE: usize = 100;
const AT: EffectAt = EffectAt { strip: StripId::Track(0), index: 0 };
const BRIEF: WarmUp = WarmUp { blocks: 20, at_most: Duration::from_secs(600) };

const SLEEPS: &str = "test:sleeps";
const PANICS: &str = "test:panics";
/// Much longer than any period here: 64 frames are 1.3 ms.
const SLEEP: Duration = Duration::from_millis(50);

/// An effect that takes long, and one that panics.
struct Slow;

struct Sleeper {
    panics: bool,
}

/// How many sleepers there are.
static ALIVE: AtomicU64 = AtomicU64::new(0);

impl Processor for Sleeper {
    fn process(&mut self, _: &mut Block<'_>) {
        assert!(!self.panics, "as asked");
        std::thread::sleep(SLEEP);
    }

    fn reset(&mut self) {}
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Relaxed);
    }
}

impl EffectSource for Slow {
    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        [SLEEPS, PANICS].contains(&kind).then(Vec::new)
    }

    fn has_side_chain(&self, _: &str) -> bool {
        false
    }

    fn has_event_input(&self, _: &str) -> bool {
        false
    }

    fn cost(&self, _: &Effect, _: u32) -> f64 {
        1.0
    }

    fn latency_frames(&self, _: &Effect, _: u32) -> u32 {
        0
    }

    fn build(&self, effect: &Effect, _: u32) -> Result<Box<dyn Processor>, String> {
        ALIVE.fetch_add(1, Relaxed);
        Ok(Box::new(Sleeper { panics: effect.kind == PANICS }))
    }
}

fn insert(kind: &str) -> Edit {
    Edit::InsertEffect(AT, stage::effect(kind))
}

fn insert_slow(kind: &str) -> Edit {
    Edit::InsertEffect(AT, Effect::new(kind, Vec::new()))
}

fn start(schedule: ScheduleKind, workers: usize) -> (Engine, Editor) {
    let policy = stage::policy(schedule);
    let media = stage::media().with_effects(Effects::with(Arc::new(Slow)));
    let seating = stage::seating(policy.sibling, workers);
    let (mut engine, editor) =
        Editor::start(stage::session(), media, stage::settings(policy), seating).unwrap();
    stage::play(&mut engine, BEFORE);
    (engine, editor)
}

#[test]
fn an_effect_that_was_tried_out_sounds_as_one_that_was_not() {
    let _alone = stage::alone();
    for kind in hocket_dsp::kinds() {
        let (mut engine, mut editor) = start(ScheduleKind::Serial, 1);
        editor.apply(insert(kind.name)).unwrap();
        let expected = stage::play(&mut engine, 60);
        let (mut engine, mut editor) = start(ScheduleKind::Serial, 1);
        let candidate = editor.try_out(insert(kind.name), BRIEF).unwrap();
        let cost = &candidate.admission().processors[..];
        assert_eq!(cost.len(), 1, "{}", kind.name);
        assert!((8..=20).contains(&cost[0].blocks) && cost[0].failed == 0, "{cost:?}");
        assert!(cost[0].median_ns > 0.0 && cost[0].median_ns <= cost[0].high_ns, "{cost:?}");
        editor.admit(candidate).unwrap();
        assert!(stage::play(&mut engine, 60) == expected, "{}", kind.name);
        assert_eq!(editor.session().tracks[0].strip.chain[0].kind, kind.name);
    }
}

/// The serial walk takes all of it, and so does one of several workers, whatever else it does.
#[test]
fn what_takes_longer_than_a_period_does_not_fit() {
    let _alone = stage::alone();
    for (schedule, workers) in [(ScheduleKind::Serial, 1), (ScheduleKind::Dataflow, 2)] {
        let (mut engine, mut editor) = start(schedule, workers);
        let candidate = editor.try_out(insert_slow(SLEEPS), BRIEF).unwrap();
        let admission = candidate.admission();
        assert!(admission.needed_ns > 10e6, "{admission:?}");
        assert!(!admission.fits(), "{admission}");
        assert_eq!(admission.period_ns, 1_333_333.0);
        // Nobody hears what is not admitted, and it is freed.
        drop(candidate);
        assert_eq!(editor.session(), &stage::session());
        stage::play(&mut engine, 10);
        drop((engine, editor));
        assert_eq!(ALIVE.load(Relaxed), 0);
    }
}

/// No block runs between them, so nothing of the first one is measured.
#[test]
fn what_was_admitted_counts_before_it_is_measured() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = start(ScheduleKind::Serial, 1);
    let first = editor.try_out(insert_slow(SLEEPS), BRIEF).unwrap();
    let needed_ns = first.admission().needed_ns;
    editor.admit(first).unwrap();
    let second = editor.try_out(insert("eq"), BRIEF).unwrap();
    let admission = second.admission();
    assert!(admission.block_ns >= needed_ns, "{admission:?}");
    assert!(admission.needed_ns > 0.0 && !admission.fits(), "{admission}");
    // Its order has been carried out, and too few blocks have run to rely on.
    stage::play(&mut engine, 2);
    let third = editor.try_out(insert("eq"), BRIEF).unwrap();
    assert!(third.admission().block_ns >= needed_ns, "{:?}", third.admission());
    drop((second, third, engine, editor));
    assert_eq!(ALIVE.load(Relaxed), 0);
}

#[test]
fn what_panics_while_it_is_tried_out_is_refused() {
    let _alone = stage::alone();
    let (_engine, mut editor) = start(ScheduleKind::Serial, 1);
    let refused = editor.try_out(insert_slow(PANICS), BRIEF).unwrap_err();
    let name = format!("{}: {PANICS}", stage::session().tracks[0].strip.name);
    assert_eq!(refused, EditError::Panicked(name));
    assert!(editor.is_settled());
}

#[test]
fn a_candidate_of_another_graph_is_refused() {
    let _alone = stage::alone();
    let (_engine, mut editor) = start(ScheduleKind::Serial, 1);
    let candidate = editor.try_out(insert("eq"), BRIEF).unwrap();
    editor.apply(Edit::Gain(StripId::Master, -3.0)).unwrap();
    let other = editor.try_out(insert("freeverb"), BRIEF).unwrap();
    // A level changes no graph.
    editor.admit(candidate).unwrap();
    assert_eq!(editor.admit(other), Err(EditError::Outdated));
    assert_eq!(editor.session().tracks[0].strip.chain[0].kind, "eq");
}

#[test]
fn an_edit_without_a_processor_needs_nothing_and_one_before_the_first_blocks_is_refused() {
    let _alone = stage::alone();
    let (_engine, mut editor) = start(ScheduleKind::Serial, 1);
    let candidate = editor.try_out(Edit::Gain(StripId::Master, -3.0), BRIEF).unwrap();
    assert_eq!(candidate.admission().needed_ns, 0.0);
    let policy = stage::policy(ScheduleKind::Serial);
    let (_engine, mut editor) = Editor::start(
        stage::session(),
        stage::media(),
        stage::settings(policy),
        stage::seating(policy.sibling, 1),
    )
    .unwrap();
    let refused = editor.try_out(insert("eq"), BRIEF).unwrap_err();
    assert_eq!(refused, EditError::Control(ControlError::NothingMeasured));
}

/// The fader has another number by then.
#[test]
fn a_change_of_a_kind_of_node_reaches_it_wherever_edits_have_put_it() {
    let _alone = stage::alone();
    let heard = |change: &dyn Fn(&mut Editor)| {
        let (mut engine, mut editor) = start(ScheduleKind::Serial, 1);
        editor.apply(insert("freeverb")).unwrap();
        change(&mut editor);
        stage::play(&mut engine, 60)
    };
    let gain = Change::Param { index: Fader::GAIN_DB, value: -40.0 };
    let made = heard(&|editor| {
        let unknown = NodeKind::Custom(9);
        let changes = [(NodeKind::Fader(AT.strip), gain), (unknown, gain)];
        assert_eq!(editor.control().change_kinds(changes), Err(EditError::NoKind(unknown)));
        editor.control().change_kinds([changes[0]]).unwrap();
    });
    let expected = heard(&|editor| editor.apply(Edit::Gain(AT.strip, -40.0)).unwrap());
    assert!(made == expected);
    assert!(made != heard(&|_| ()));
}

fn adopted(engine: &Engine, session: Session) -> Result<Editor, EditError> {
    Editor::adopt(&engine.control(), session, stage::media(), stage::RATE_HZ)
}

#[test]
fn an_engine_that_plays_is_edited_as_one_that_began_with_an_editor() {
    let _alone = stage::alone();
    let policy = stage::policy(ScheduleKind::Dataflow);
    let edits =
        || [insert("freeverb"), Edit::Mute(StripId::Track(1), true), Edit::RemoveEffect(AT)];
    let heard = |engine: &mut Engine, editor: &mut Editor| {
        let mut heard = stage::play(engine, 20);
        for edit in edits() {
            editor.apply(edit).unwrap();
            heard.extend(stage::play(engine, 40));
        }
        heard
    };
    let settings = stage::settings(policy);
    let seating = || stage::seating(policy.sibling, 2);
    let (mut engine, mut editor) =
        Editor::start(stage::session(), stage::media(), settings.clone(), seating()).unwrap();
    let expected = heard(&mut engine, &mut editor);
    drop((engine, editor));
    let mut engine = Engine::start(stage::prepared(), settings, seating()).unwrap();
    let mut editor = adopted(&engine, stage::session()).unwrap();
    let bypass = Edit::Bypass(EffectAt { strip: StripId::Track(2), index: 0 }, true);
    assert!(matches!(editor.apply(bypass), Err(EditError::NoBypass { index: 0, .. })));
    assert!(heard(&mut engine, &mut editor) == expected);
    // An effect that joined has a bypass.
    editor.apply(insert("eq")).unwrap();
    editor.apply(Edit::Bypass(AT, true)).unwrap();
}

#[test]
fn an_engine_of_another_session_is_not_adopted() {
    let _alone = stage::alone();
    let engine = stage::engine(stage::prepared(), stage::policy(ScheduleKind::Serial), 1);
    let mut other = stage::session();
    other.tracks.pop();
    assert_eq!(adopted(&engine, other).err(), Some(EditError::OtherSession));
}

/// A further output in front of a fader hears the effects that join its chain; one that would go is kept from it.
#[test]
fn outputs_that_the_host_added_stay_with_their_nodes() {
    let _alone = stage::alone();
    let prepared = stage::prepared();
    let graph: &Graph = &prepared.graph;
    let fader =
        graph.nodes().iter().position(|node| node.kind == NodeKind::Fader(AT.strip)).unwrap();
    let before = graph.nodes()[fader].inputs.first().map(|edge: &Edge| edge.from).unwrap();
    let mut tapped = graph.clone();
    let outputs = [graph.outputs(), vec![before]].concat();
    tapped.set_outputs(outputs).unwrap();
    let prepared =
        hocket_engine::Prepared::from_graph(&tapped, prepared.processors, Fusing::Chains);
    let mut engine = stage::engine(prepared.unwrap(), stage::policy(ScheduleKind::Serial), 1);
    let mut editor = adopted(&engine, stage::session()).unwrap();
    let last = editor.session().tracks[0].strip.chain.len();
    let row = |engine: &mut Engine| {
        engine.process(stage::FRAMES);
        engine.output_rows(1, stage::FRAMES).unwrap().row(0).to_vec()
    };
    assert!(row(&mut engine).iter().any(|sample| *sample != 0.0));
    let at = EffectAt { strip: StripId::Track(0), index: last };
    let mut quiet = stage::effect("gain");
    quiet.values[0] = -60.0;
    editor.apply(Edit::InsertEffect(at, quiet)).unwrap();
    stage::play(&mut engine, 400);
    let closed = row(&mut engine);
    let loudest = closed.iter().fold(0.0_f32, |most, sample| most.max(sample.abs()));
    assert!(loudest < 0.01, "{loudest}");
}
