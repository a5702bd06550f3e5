//! `--isolate` and the session's `isolate = true`: plug-ins in processes of their own, and that process
//! (`hocket plugin isolated`).

use std::sync::{Arc, Mutex, PoisonError};

use hocket_engine::Effects;
use hocket_machine::float_mode::FlushDenormals;
use hocket_machine::rights;
use hocket_plan::graph::{EffectFacts, session_graph};
use hocket_plan::{Effect, ExtraOutput, Fusing, Session, UnitGraph};
use hocket_plugins::isolate::{self, Group, Isolation, Pace, Patience, Report};
use hocket_plugins::{Catalog, Format, is_named};

use super::source::PLUGINS;
use crate::cli::IsolateArgs;
use crate::failure::{Exit, Failure};
use crate::output::tell;

/// Which plug-ins run in processes of their own, and how.
#[derive(Default)]
pub(super) struct Isolated(Mutex<Option<Wish>>);

#[derive(Clone)]
struct Wish {
    isolation: Isolation,
    /// `None`: all.
    kinds: Option<Vec<String>>,
}

impl Wish {
    fn means(&self, effect: &Effect) -> bool {
        let kinds = self.kinds.as_ref();
        effect.isolate || kinds.is_none_or(|kinds| kinds.contains(&effect.kind))
    }
}

impl Isolated {
    /// How this plug-in is isolated; `None`: it is not.
    pub fn of(&self, effect: &Effect) -> Option<Isolation> {
        let wish = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wish = wish.as_ref().filter(|wish| wish.means(effect))?;
        Some(wish.isolation.clone())
    }

    /// As [`go_on_with`].
    fn go_on_with(&self, frames: u32) {
        let mut wish = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Wish { isolation, .. }) = &mut *wish {
            isolation.frames = isolation.frames.max(frames);
        }
    }

    fn group(&self) -> Option<Group> {
        let wish = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wish.as_ref().map(|wish| wish.isolation.group.clone())
    }

    fn reports(&self) -> Vec<Report> {
        let wish = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wish.as_ref().map(|wish| wish.isolation.group.reports()).unwrap_or_default()
    }
}

/// Does what `--isolate` and the session ask for, before any plug-in of the session is built. `frames`: the largest block;
/// `priority`: that of the audio threads.
///
/// # Errors
/// A name that no plug-in of the session has: exit code 2. The program cannot start itself: exit code 3.
pub(crate) fn set_up(
    args: &IsolateArgs,
    session: &Session,
    (pace, frames, priority): (Pace, u32, Option<u8>),
) -> Result<(), Failure> {
    let is_asked = !args.isolate.is_empty() || used(session).any(|effect| effect.isolate);
    let wish = match std::env::current_exe() {
        Err(error) if is_asked => return Err(Failure::not_possible(error)),
        Err(_) => None,
        // An effect that comes later may be isolated, too.
        Ok(program) => {
            let patience = match pace {
                Pace::RealTime => Patience::REAL_TIME,
                Pace::Offline => Patience::OFFLINE,
            };
            let isolation = Isolation {
                program,
                arguments: vec!["plugin".into(), "isolated".into()],
                pace,
                frames,
                // Below the engine's own threads, so that a plug-in never holds up a block.
                priority: priority.map(|priority| (priority - 1).max(1)),
                request,
                patience,
                tell: Arc::new(|what| tell(format_args!("warning: {what}"))),
                group: Group::default(),
            };
            Some(Wish { isolation, kinds: kinds(args, session)? })
        }
    };
    *PLUGINS.isolated.0.lock().unwrap_or_else(PoisonError::into_inner) = wish;
    Ok(())
}

/// Plug-ins that are isolated from now on have blocks of up to so many frames. Those that play learn of longer blocks from the
/// engine.
///
/// Thread: control.
pub(crate) fn go_on_with(frames: u32) {
    PLUGINS.isolated.go_on_with(frames);
}

/// The kinds that are meant; `None`: all.
fn kinds(args: &IsolateArgs, session: &Session) -> Result<Option<Vec<String>>, Failure> {
    if args.isolate.iter().any(String::is_empty) {
        return Ok(None);
    }
    let mut kinds = Vec::new();
    for name in &args.isolate {
        let found: Vec<String> =
            kinds_of(session).filter(|kind| is_called(kind, name, PLUGINS.catalog())).collect();
        if found.is_empty() {
            let mut all: Vec<String> = kinds_of(session).collect();
            all.sort_unstable();
            all.dedup();
            let all = match all.as_slice() {
                [] => "it has none".into(),
                all => format!("it has {}", all.join(", ")),
            };
            return Err(Failure::bad_input(format!(
                "--isolate={name}: no plug-in of the session is called so; {all}"
            )));
        }
        kinds.extend(found);
    }
    Ok(Some(kinds))
}

/// The plug-ins of a session.
fn used(session: &Session) -> impl Iterator<Item = &Effect> {
    let chains = session.strip_ids().into_iter().flat_map(|id| &session.strip(id).chain);
    chains.filter(|effect| Format::of_kind(&effect.kind).is_some())
}

/// Whether it has any.
pub(crate) fn has_plugins(session: &Session) -> bool {
    used(session).next().is_some()
}

/// Their kinds.
fn kinds_of(session: &Session) -> impl Iterator<Item = String> + '_ {
    used(session).map(|effect| effect.kind.clone())
}

/// By kind, by URI or id, or by the name for people.
fn is_called(kind: &str, name: &str, catalog: &Catalog) -> bool {
    let title = catalog.find(kind).map(|plugin| plugin.title.to_lowercase());
    is_named(kind, name) || title == Some(name.to_lowercase())
}

/// The plug-ins in processes of their own, for who waits for them. Thread: control.
pub(crate) fn group() -> Option<Group> {
    PLUGINS.isolated.group()
}

/// What happened to isolated plug-ins that play.
pub(crate) fn reports() -> Vec<Report> {
    PLUGINS.isolated.reports()
}

/// How many frames later the session's first output is, because plug-ins of it are isolated.
pub(crate) fn added_frames(session: &Session, effects: &Effects, rate_hz: u32) -> u64 {
    let at = effects.at(rate_hz);
    let arrival = |facts: &dyn EffectFacts| {
        let graph = session_graph(session, facts).ok()?;
        // A session that has none is refused when it is prepared.
        let units = UnitGraph::compile(&graph, Fusing::Chains).ok()?;
        units.outputs().first().map(|output| units.arrival_frames(*output))
    };
    if !used(session).any(|effect| PLUGINS.isolated.of(effect).is_some()) {
        return 0;
    }
    let (with, without) = (arrival(&at), arrival(&Together(&at)));
    with.zip(without).map_or(0, |(with, without)| with.saturating_sub(without).into())
}

/// The effects as if none were isolated.
struct Together<'a>(&'a dyn EffectFacts);

impl EffectFacts for Together<'_> {
    fn cost(&self, effect: &Effect) -> f64 {
        self.0.cost(effect)
    }

    fn latency_frames(&self, effect: &Effect) -> u32 {
        let added = PLUGINS.isolated.of(effect).map_or(0, |isolation| isolation.frames);
        self.0.latency_frames(effect).saturating_sub(added)
    }

    fn has_event_input(&self, effect: &Effect) -> bool {
        self.0.has_event_input(effect)
    }

    fn has_event_output(&self, effect: &Effect) -> bool {
        self.0.has_event_output(effect)
    }

    fn extra_outputs(&self, effect: &Effect) -> Vec<ExtraOutput> {
        self.0.extra_outputs(effect)
    }
}

/// The process of an isolated plug-in.
///
/// # Errors
/// It was not started by Hocket.
pub(super) fn serve() -> Result<Exit, Failure> {
    isolate::serve(audio_thread).map_err(|error| {
        Failure::bad_input(format!("only Hocket itself uses `hocket plugin isolated`: {error}"))
    })?;
    Ok(Exit::Done)
}

/// Whatever the system grants.
fn request(priority: u8) {
    let _ = rights::obtain(priority);
}

fn audio_thread(priority: Option<u8>, run: &mut dyn FnMut()) {
    if let Some(priority) = priority {
        request(priority);
    }
    let _float = FlushDenormals::enter();
    run();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plug_ins_that_come_after_blocks_have_grown_are_late_by_the_longer_ones() {
        let isolation = Isolation {
            program: "hocket".into(),
            arguments: Vec::new(),
            pace: Pace::RealTime,
            frames: 256,
            priority: None,
            request,
            patience: Patience::REAL_TIME,
            tell: Arc::new(|_| ()),
            group: Group::default(),
        };
        let wish = Wish { isolation, kinds: None };
        let isolated = Isolated(Mutex::new(Some(wish)));
        let effect = Effect { isolate: true, ..Effect::new("clap:org.example.echo", Vec::new()) };
        let mut frames = |most| {
            isolated.go_on_with(most);
            isolated.of(&effect).unwrap().frames
        };
        assert_eq!([512, 128].map(&mut frames), [512, 512]);
    }
}
