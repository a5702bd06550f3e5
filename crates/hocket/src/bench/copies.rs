//! More channels for `hocket capacity`: copies of the session's tracks, which play for as long as it takes.

use std::collections::BTreeSet;

use hocket_engine::session_end_frames;
use hocket_engine::time::{MIN_LOOP_FRAMES, TimeBase};
use hocket_plan::Session;
use hocket_plan::session::{Automation, LoopPoints, StripId, Track};

use crate::load::LoadedSession;

/// Adds so many copies of the tracks, by turns: of none there are two more than of another. A copy has the clips, notes,
/// effects, sends, routes and lanes of its original, and its own name.
pub(super) fn add(session: &mut Session, copies: usize) {
    let tracks = session.tracks.len();
    if tracks == 0 || copies == 0 {
        return;
    }
    let lanes = lanes_of_tracks(session);
    let mut names: BTreeSet<String> =
        session.strip_ids().into_iter().map(|id| session.strip(id).name.clone()).collect();
    for number in 0..copies {
        let (original, copy) = (number % tracks, tracks + number);
        let mut track = session.tracks[original].clone();
        track.strip.name = free_name(&track.strip.name, number / tracks + 2, &mut names);
        follow(&mut track, StripId::Track(original), StripId::Track(copy));
        session.tracks.push(track);
        let own = lanes[original].iter().map(|lane| Automation {
            target: lane.target.on(StripId::Track(copy)),
            lane: lane.lane.clone(),
        });
        session.automation.extend(own);
    }
    session.name += &format!(", {} channels", session.tracks.len());
}

fn lanes_of_tracks(session: &Session) -> Vec<Vec<Automation>> {
    let of = |track| {
        let is_its = |lane: &&Automation| lane.target.strip() == StripId::Track(track);
        session.automation.iter().filter(is_its).cloned().collect()
    };
    (0..session.tracks.len()).map(of).collect()
}

/// `Drums 2`, or the next number that no strip has.
fn free_name(original: &str, from: usize, names: &mut BTreeSet<String>) -> String {
    let mut all = (from..).map(|number| format!("{original} {number}"));
    let free = all.find(|name| !names.contains(name)).unwrap_or_default();
    names.insert(free.clone());
    free
}

/// Keys and events that the track takes from itself come from the copy. Those that it takes from other strips stay.
fn follow(track: &mut Track, original: StripId, copy: StripId) {
    for effect in &mut track.strip.chain {
        let heard =
            effect.key.as_mut().map(|key| &mut key.from).into_iter().chain(effect.events.as_mut());
        heard.filter(|from| **from == original).for_each(|from| *from = copy);
    }
}

/// Plays the session again and again, so that a long run has as much to do at its end as at its beginning.
pub(super) fn repeat(loaded: &mut LoadedSession) {
    let end = session_end_frames(&loaded.session, &loaded.media, loaded.rate_hz);
    // Without an end it plays for ever already.
    let Some(end) = end.filter(|end| *end >= MIN_LOOP_FRAMES as u64) else { return };
    let to = end as f64 / f64::from(loaded.rate_hz);
    loaded.session.time.repeat = Some(LoopPoints { base: TimeBase::Seconds, from: 0.0, to });
}

#[cfg(test)]
mod tests {
    use hocket_plan::Effect;
    use hocket_plan::effect::Key;
    use hocket_plan::session::{Destination, LaneSpec, LaneTarget, Strip, Tap};

    use super::*;

    fn track(name: &str) -> Track {
        Track {
            strip: Strip::new(name),
            output: Destination::Master,
            clips: Vec::new(),
            input: None,
            from: None,
            notes: Vec::new(),
        }
    }

    fn session() -> Session {
        let mut session = Session { tracks: vec![track("a"), track("b")], ..Session::default() };
        let heard = |from| Effect {
            key: Some(Key { from: StripId::Track(from), tap: Tap::PostFader }),
            ..Effect::new("compressor", Vec::new())
        };
        session.tracks[1].strip.chain = vec![heard(0), heard(1)];
        session.set_lane(
            LaneTarget::Pan(StripId::Track(1)),
            Some(LaneSpec::new(TimeBase::Seconds, Vec::new())),
        );
        session
    }

    #[test]
    fn tracks_are_copied_by_turns_with_all_that_is_theirs() {
        let mut session = session();
        add(&mut session, 3);
        let names: Vec<&str> = session.tracks.iter().map(|it| it.strip.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a 2", "b 2", "a 3"]);
        assert!(session.name.ends_with("5 channels"), "{}", session.name);
        let heard = |at: usize| -> Vec<StripId> {
            session.tracks[at].strip.chain.iter().map(|it| it.key.unwrap().from).collect()
        };
        assert_eq!(
            heard(3),
            [StripId::Track(0), StripId::Track(3)],
            "itself, and the others as before"
        );
        let lanes: Vec<LaneTarget> = session.automation.iter().map(|it| it.target).collect();
        assert_eq!(lanes, [1, 3].map(|at| LaneTarget::Pan(StripId::Track(at))));
    }

    #[test]
    fn names_stay_unique() {
        let mut session = session();
        session.tracks.push(track("a 2"));
        add(&mut session, 6);
        let names: BTreeSet<&str> =
            session.tracks.iter().map(|it| it.strip.name.as_str()).collect();
        assert_eq!(names.len(), 9);
    }

    #[test]
    fn no_copy_changes_nothing() {
        let mut same = session();
        add(&mut same, 0);
        assert_eq!(same, session());
        let mut empty = Session::default();
        add(&mut empty, 4);
        assert_eq!(empty, Session::default());
    }
}
