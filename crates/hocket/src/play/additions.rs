//! Effects that come and go while a session plays.
//!
//! A new effect is made and run beside the audio first. It joins where what it takes fits what blocks leave of their period.
//! Otherwise the user is told both figures, and may ask for it all the same.
//!
//! A thread of its own does this, because it takes up to seconds: faders move on meanwhile. Nobody waits long for its end,
//! because a plug-in that hangs there cannot be ended.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hocket_engine::{Control, Edit, EditError, Editor, EffectAt, Effects, MediaPool, WarmUp};
use hocket_lab::foreign;
use hocket_plan::{Effect, EffectCatalogue, Session, is_plugin};

use super::steering::Steered;
use crate::load::LoadedSession;
use crate::output::{note, tell};
use crate::plugin::isolated;
use crate::takes::strip_named;

/// Requests that wait at most.
const WAITING: usize = 8;
/// How long the end of a run waits for one that is under way.
const PATIENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(10);

/// What is to happen to the effects of a strip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::play) enum EffectChange {
    /// One more, at the end of the chain.
    Add { kind: String, entry: Entry },
    /// The effect at this place, from 1.
    Remove(usize),
}

/// How a new effect comes in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::play) struct Entry {
    /// In a process of its own.
    pub isolate: bool,
    /// Also where it needs more than is free.
    pub force: bool,
}

/// Hears what came of a request: whether it was done, and the words for it.
pub(in crate::play) type Answer = Box<dyn FnOnce(bool, &str) + Send>;

struct Asked {
    strip: String,
    change: EffectChange,
    answer: Answer,
}

/// Takes requests, and has a thread for them.
pub(in crate::play) struct Additions {
    /// `None` where the thread could not be started.
    to: Option<SyncSender<Asked>>,
    thread: Option<JoinHandle<()>>,
    /// What waits for the thread.
    asked: Arc<Mutex<Receiver<Asked>>>,
    /// What still waits is not done any more.
    is_over: Arc<AtomicBool>,
}

impl Additions {
    /// Costs nothing before the first request, but a thread that sleeps.
    pub(in crate::play) fn start(loaded: &LoadedSession, control: Control) -> Additions {
        let (to, asked) = sync_channel(WAITING);
        let asked = Arc::new(Mutex::new(asked));
        let waiting = Arc::clone(&asked);
        let (session, media) = (loaded.session.clone(), loaded.media.clone());
        let mut chains = Chains { session, media, rate_hz: loaded.rate_hz, control, editor: None };
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::Builder::new().name("effects".into());
        let serve = move || serve(&waiting, &ends, |strip, change| chains.change(strip, change));
        let thread = thread.spawn(serve).ok();
        Additions { to: thread.is_some().then_some(to), thread, asked, is_over }
    }

    /// Asks for a change, and does not wait for it. One that is refused here is answered at once.
    pub(in crate::play) fn ask(
        &self,
        strip: String,
        change: EffectChange,
        answer: Answer,
    ) -> Steered {
        let done = format!("{strip}: {}", change.text());
        let asked = Asked { strip, change, answer };
        let (why, Asked { strip, answer, .. }) = match &self.to {
            None => ("the thread for it could not be started".to_owned(), asked),
            Some(to) => match to.try_send(asked) {
                Ok(()) => return Ok(done),
                Err(TrySendError::Full(asked)) => {
                    (format!("{WAITING} changes of effects wait already: ask again later"), asked)
                }
                Err(TrySendError::Disconnected(asked)) => {
                    ("the thread for it has ended: start the run again".to_owned(), asked)
                }
            },
        };
        answer(false, &foreign::plain(&format!("{strip}: {why}")));
        Err(why)
    }
}

impl Drop for Additions {
    fn drop(&mut self) {
        // Relaxed: it publishes nothing.
        self.is_over.store(true, Relaxed);
        self.to = None;
        // The thread may hang in a plug-in and get to none of those that wait.
        refuse_waiting(&self.asked);
        let begun = Instant::now();
        let is_over = || self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_over() && begun.elapsed() < PATIENCE {
            std::thread::sleep(POLL);
        }
    }
}

impl EffectChange {
    fn text(&self) -> String {
        match self {
            EffectChange::Add { kind, .. } => format!("tries {kind} out"),
            EffectChange::Remove(place) => format!("removes effect {place}"),
        }
    }
}

/// The effects of all strips.
struct Chains {
    /// As the run began.
    session: Session,
    media: MediaPool,
    rate_hz: u32,
    control: Control,
    /// Made with the first request.
    editor: Option<Editor>,
}

/// Takes what waits longest.
fn next(asked: &Mutex<Receiver<Asked>>) -> Option<Asked> {
    asked.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Answers what waits when the run is over. Nobody can ask any more, so this ends.
fn refuse_waiting(asked: &Mutex<Receiver<Asked>>) {
    while let Some(asked) = next(asked) {
        refuse_late(asked);
    }
}

fn refuse_late(Asked { strip, answer, .. }: Asked) {
    answer(false, &foreign::plain(&format!("{strip}: the run ended before this was begun")));
}

/// Does what is asked for until the run is over, and refuses what waits then.
///
/// Thread: control, its own.
fn serve(
    asked: &Mutex<Receiver<Asked>>,
    is_over: &AtomicBool,
    mut change_effects: impl FnMut(&str, &EffectChange) -> Steered,
) {
    while let Some(asked) = next(asked) {
        // Relaxed: it publishes nothing.
        if is_over.load(Relaxed) {
            refuse_late(asked);
            continue;
        }
        let Asked { strip, change, answer } = asked;
        let (is_done, text) = match change_effects(&strip, &change) {
            Ok(text) => (true, text),
            Err(why) => (false, why),
        };
        let text = foreign::plain(&format!("{strip}: {text}"));
        match is_done {
            true => note(&text),
            false => tell(format_args!("warning: {text}")),
        }
        answer(is_done, &text);
    }
}

impl Chains {
    fn change(&mut self, strip: &str, change: &EffectChange) -> Steered {
        let id = strip_named(strip, &self.session).ok_or("the session has no such strip")?;
        let editor = self.editor().map_err(|error| error.to_string())?;
        let chain = &editor.session().strip(id).chain;
        match change {
            EffectChange::Add { kind, entry } => {
                let at = EffectAt { strip: id, index: chain.len() };
                let effect = new_effect(kind, entry.isolate)?;
                add(editor, Edit::InsertEffect(at, effect), kind, entry.force)
            }
            EffectChange::Remove(place) => {
                let (index, count) = (place.wrapping_sub(1), chain.len());
                let removed = chain.get(index).map(|effect| effect.kind.clone());
                let removed = removed.ok_or(format!("it has no effect {place}, but {count}"))?;
                let edit = Edit::RemoveEffect(EffectAt { strip: id, index });
                editor.apply(edit).map_err(|error| error.to_string())?;
                Ok(format!("removed {removed}"))
            }
        }
    }

    fn editor(&mut self) -> Result<&mut Editor, EditError> {
        if self.editor.is_none() {
            let (session, media) = (self.session.clone(), self.media.clone());
            let adopted = Editor::adopt(&self.control, session, media, self.rate_hz)?;
            self.editor = Some(adopted);
        }
        self.editor.as_mut().ok_or(EditError::OtherSession)
    }
}

/// With the defaults of its kind.
fn new_effect(kind: &str, isolate: bool) -> Result<Effect, String> {
    let effects: Effects = crate::load::effects();
    if isolate && !is_plugin(kind) {
        return Err(format!("{kind} is no plug-in, and only those run in processes of their own"));
    }
    let unknown = || match is_plugin(kind) {
        true => format!("{kind} cannot be used here: see `hocket plugin list`"),
        false => format!("there is no effect {kind}: the kinds are {}", effects.kinds().join(", ")),
    };
    let params = effects.params(kind).ok_or_else(unknown)?;
    if effects.takes_file(kind) {
        return Err(format!("{kind} needs a file, which only a session can name"));
    }
    let values = params.iter().map(|param| param.default).collect();
    Ok(Effect { isolate, ..Effect::new(kind, values) })
}

fn add(editor: &mut Editor, edit: Edit, kind: &str, force: bool) -> Steered {
    let text = |error: EditError| format!("{kind} is not added: {error}");
    // A sound server may have made its block longer since the start, and may do so meanwhile.
    let frames = editor.control().largest_block();
    isolated::go_on_with(frames);
    let candidate = editor.try_out(edit, WarmUp::default()).map_err(text)?;
    if editor.control().largest_block() != frames {
        return Err(text(EditError::Grew));
    }
    let (needs, fits) = (candidate.admission().to_string(), candidate.admission().fits());
    if !fits && !force {
        return Err(format!(
            "{kind} is not added: {needs}; remove something, play with longer blocks, or ask again with \"force\""
        ));
    }
    editor.admit(candidate).map_err(text)?;
    Ok(match fits {
        true => format!("added {kind}: {needs}"),
        false => format!("added {kind}, as asked, although it does not fit: {needs}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_still_waits_at_the_end_of_a_run_is_refused() {
        let (to, asked) = sync_channel(WAITING);
        let (heard, answers) = std::sync::mpsc::channel();
        for place in 1..=3 {
            let heard = heard.clone();
            let answer: Answer = Box::new(move |done, _| heard.send((place, done)).unwrap());
            let change = EffectChange::Remove(place);
            to.send(Asked { strip: "a".into(), change, answer }).unwrap();
        }
        drop(to);
        let (asked, is_over) = (Mutex::new(asked), AtomicBool::new(false));
        // The run ends while the second one is under way.
        serve(&asked, &is_over, |_, change| {
            is_over.store(*change == EffectChange::Remove(2), Relaxed);
            Ok("removed".into())
        });
        assert_eq!(answers.try_iter().collect::<Vec<_>>(), [(1, true), (2, true), (3, false)]);
    }

    #[test]
    fn every_request_is_answered_also_one_too_many_and_one_too_late() {
        let (to, asked) = sync_channel(WAITING);
        let asked = Arc::new(Mutex::new(asked));
        let is_over = Arc::new(AtomicBool::new(false));
        let additions = Additions { to: Some(to), thread: None, asked, is_over };
        let (heard, answers) = std::sync::mpsc::channel();
        for place in 0..=WAITING {
            let heard = heard.clone();
            let answer: Answer =
                Box::new(move |done, text| heard.send((place, done, text.to_owned())).unwrap());
            let asked = additions.ask("a".into(), EffectChange::Remove(place + 1), answer);
            assert_eq!(asked.is_ok(), place < WAITING, "{asked:?}");
        }
        let (place, done, text) = answers.try_recv().unwrap();
        assert_eq!((place, done), (WAITING, false));
        assert!(text.starts_with("a: 8 changes of effects wait already"), "{text}");
        assert!(answers.try_recv().is_err(), "the others wait");
        drop(additions);
        let late: Vec<_> = answers.try_iter().collect();
        assert_eq!(late.len(), WAITING);
        for (place, (at, done, text)) in late.into_iter().enumerate() {
            assert_eq!((at, done), (place, false));
            assert!(text.starts_with("a: the run ended before"), "{text}");
        }
    }

    #[test]
    fn an_effect_begins_with_its_defaults_or_is_refused() {
        let effect = new_effect("freeverb", false).unwrap();
        let known = hocket_dsp::kind("freeverb").unwrap();
        assert_eq!((effect.kind.as_str(), effect.values), ("freeverb", known.defaults()));
        let why = |kind, isolate| new_effect(kind, isolate).unwrap_err();
        assert!(
            why("reverbs", false).contains("no effect reverbs: the kinds are "),
            "{}",
            why("reverbs", false)
        );
        assert!(why("freeverb", true).contains("no plug-in"));
        assert!(why("soundfont", false).contains("needs a file"));
    }
}
