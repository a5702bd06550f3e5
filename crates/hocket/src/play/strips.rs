//! Volume, pan, mute and solo of strips, while they play.
//!
//! It keeps the session as a model, because a solo decides which other strips are heard. Each change becomes an order to
//! the engine, whose faders move without clicks.
//!
//! Thread: control, any; one changes at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hocket_dsp::{Change, Fader};
use hocket_engine::{Control, NodeKind};
use hocket_lab::foreign;
use hocket_plan::Session;
use hocket_plan::graph::audible;
use hocket_plan::session::{Strip, StripId};

use super::shown::StripShown;
use super::steering::Steered;
use crate::takes::{MASTER, strip_named};

/// The loudest level that is taken, in decibels: what a slip of a finger could do to ears and loudspeakers.
const LOUDEST_DB: f32 = 24.0;

/// What is changed of a strip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StripChange {
    /// In decibels; minus infinity is silence.
    Volume(f32),
    /// -1, left, to +1, right.
    Pan(f32),
    Mute(bool),
    Solo(bool),
}

/// The strips of a session that plays.
pub(super) struct Strips {
    /// No audio thread locks it.
    mixer: Mutex<Mixer>,
}

/// What is changed under the lock.
struct Mixer {
    session: Session,
    control: Control,
    /// How often a strip was changed, and 1.
    changes: u64,
}

impl Strips {
    /// As the session begins.
    pub(super) fn new(session: &Session, control: Control) -> Strips {
        let mixer = Mixer { session: session.clone(), control, changes: 1 };
        Strips { mixer: Mutex::new(mixer) }
    }

    /// Changes a strip, by its name.
    ///
    /// Cost: O(strips) for mute and solo, O(nodes) for each fader that moves.
    ///
    /// # Errors
    /// An unknown name, or a value out of range; nothing has changed then.
    pub(super) fn change(&self, name: &str, change: StripChange) -> Steered {
        self.lock().change(name, change)
    }

    /// A number that is another one after every change, and never 0.
    pub(super) fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// How the strips are set, the master last.
    pub(super) fn shown(&self) -> Vec<StripShown> {
        self.lock().shown()
    }

    fn lock(&self) -> MutexGuard<'_, Mixer> {
        self.mixer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mixer {
    fn change(&mut self, name: &str, change: StripChange) -> Steered {
        let id = strip_named(name, &self.session)
            .ok_or_else(|| format!("the session has no strip '{name}'"))?;
        change.check()?;
        let heard = change.decides_who_is_heard().then(|| audible(&self.session));
        let strip = strip_mut(&mut self.session, id);
        let was = change.of(strip);
        change.apply(strip);
        let sent = match heard {
            None => self.send(vec![(id, change.param())]),
            Some(before) => self.send(self.newly_heard(&before)),
        };
        if let Err(why) = sent {
            was.apply(strip_mut(&mut self.session, id));
            return Err(why);
        }
        self.changes += 1;
        Ok(format!("{name}: {}", change.text()))
    }

    fn shown(&self) -> Vec<StripShown> {
        let heard = audible(&self.session);
        let shown = |(id, is_heard): (StripId, bool)| {
            let (strip, kind) = (self.session.strip(id), kind_of(id));
            // As the command line and OSC call it.
            let name = if id == StripId::Master { MASTER.into() } else { strip.name.clone() };
            StripShown {
                label: foreign::plain(&name),
                name,
                kind,
                volume_db: strip.gain_db,
                pan: strip.pan,
                mute: strip.mute,
                solo: strip.solo,
                is_heard,
            }
        };
        self.session.strip_ids().into_iter().zip(heard).map(shown).collect()
    }

    /// The strips that have become audible or silent.
    fn newly_heard(&self, before: &[bool]) -> Vec<(StripId, Change)> {
        let heard = before.iter().zip(audible(&self.session));
        let strips = self.session.strip_ids().into_iter().zip(heard);
        let changed = strips.filter(|(_, (before, now))| **before != *now);
        changed.map(|(id, (_, now))| (id, StripChange::Mute(!now).param())).collect()
    }

    fn send(&self, changes: Vec<(StripId, Change)>) -> Result<(), String> {
        let fader = |(id, change)| (NodeKind::Fader(id), change);
        // The thread for effects may put nodes in front of faders at any time.
        let sent = self.control.change_kinds(changes.into_iter().map(fader));
        sent.map(drop).map_err(|error| error.to_string())
    }
}

fn kind_of(id: StripId) -> &'static str {
    match id {
        StripId::Track(_) => "track",
        StripId::Group(_) => "group",
        StripId::Return(_) => "return",
        StripId::Master => "master",
    }
}

fn strip_mut(session: &mut Session, id: StripId) -> &mut Strip {
    match id {
        StripId::Track(i) => &mut session.tracks[i].strip,
        StripId::Group(i) => &mut session.groups[i].strip,
        StripId::Return(i) => &mut session.returns[i].strip,
        StripId::Master => &mut session.master,
    }
}

impl StripChange {
    fn check(self) -> Result<(), String> {
        match self {
            StripChange::Volume(db) if db.is_nan() || db > LOUDEST_DB => {
                Err(format!("a volume of {db} dB is not possible: choose at most {LOUDEST_DB}"))
            }
            StripChange::Pan(pan) if !(-1.0..=1.0).contains(&pan) => {
                Err(format!("a pan of {pan} is not possible: choose -1 to 1"))
            }
            _ => Ok(()),
        }
    }

    fn decides_who_is_heard(self) -> bool {
        matches!(self, StripChange::Mute(_) | StripChange::Solo(_))
    }

    /// What the fader of the strip is told.
    fn param(self) -> Change {
        let (index, value) = match self {
            StripChange::Volume(db) => (Fader::GAIN_DB, db),
            StripChange::Pan(pan) => (Fader::PAN, pan),
            StripChange::Mute(on) | StripChange::Solo(on) => (Fader::MUTE, f32::from(on)),
        };
        Change::Param { index, value }
    }

    /// What a strip has now.
    fn of(self, strip: &Strip) -> StripChange {
        match self {
            StripChange::Volume(_) => StripChange::Volume(strip.gain_db),
            StripChange::Pan(_) => StripChange::Pan(strip.pan),
            StripChange::Mute(_) => StripChange::Mute(strip.mute),
            StripChange::Solo(_) => StripChange::Solo(strip.solo),
        }
    }

    fn apply(self, strip: &mut Strip) {
        match self {
            StripChange::Volume(db) => strip.gain_db = db,
            StripChange::Pan(pan) => strip.pan = pan,
            StripChange::Mute(on) => strip.mute = on,
            StripChange::Solo(on) => strip.solo = on,
        }
    }

    fn text(self) -> String {
        let on = |on| if on { "on" } else { "off" };
        match self {
            StripChange::Volume(db) => format!("{db:.1} dB"),
            StripChange::Pan(pan) => format!("pan {pan:.2}"),
            StripChange::Mute(muted) => format!("mute {}", on(muted)),
            StripChange::Solo(solo) => format!("solo {}", on(solo)),
        }
    }
}
