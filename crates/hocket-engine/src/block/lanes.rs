//! The automation lanes of a node in a block: their values become events, in order with the edits of the block.
//!
//! A lane gives at most one value per frame. There is room for so many, as long as that takes little memory
//! ([`room`]). If more come, values on ramps are thinned out: of each lane every second one goes, but never its first
//! and its last in the block, and no point or jump. If that is not enough, a new value takes the place of the last one
//! of its lane. Every value that goes is counted. Only then does the output depend on how time is cut into blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use hocket_dsp::{Change, TimedChange, rows};
use hocket_plan::session::LaneSpec;
use hocket_time::{BlockTime, Lane, LaneCursor, LaneValue, Segment, Segments, TempoMap};

use super::now::Now;

/// How many changes of parameters a node takes in one block. The leader carries out as many orders, so orders
/// of one change each never find a node full.
pub(crate) const EVENTS_A_BLOCK: usize = 32;

/// A node has room for so many values per block, unless its lanes cannot give as many.
const LEAST_ROOM: usize = 4096;

/// Values per block that a node has room for. A lane on the usual control grid gives `frames / 32`, and its points.
fn room(lanes: usize, frames: usize) -> usize {
    let enough = (lanes * (frames / 16 + 16)).max(LEAST_ROOM);
    // Two for each lane: for its first and its last one.
    enough.min(lanes * frames).max(2 * lanes)
}

/// The most changes of parameters that [`Block::events`](hocket_dsp::Block::events) can have for a node with so many
/// automation lanes, edits included. Blocks have up to `frames` frames. For processors that copy the changes.
pub fn most_events(lanes: usize, frames: usize) -> usize {
    EVENTS_A_BLOCK + if lanes == 0 { 0 } else { room(lanes, frames) }
}

/// A lane with the tempo map that it was made with. Its values are those of this map, whatever the engine goes on with.
#[derive(Debug)]
pub(crate) struct MappedLane {
    pub lane: Lane,
    pub map: Arc<TempoMap>,
}

/// The lanes of a node by parameter: what each is made of, and the lane.
pub(crate) type Automated = BTreeMap<u16, (LaneSpec, Arc<MappedLane>)>;

/// Plays the lane of one parameter.
///
/// A value on a ramp accesses two cache lines, and nothing of the lane itself.
#[repr(C, align(64))]
struct Player {
    cursor: LaneCursor,
    lane: Arc<MappedLane>,
    param: u16,
}

const _: () = assert!(size_of::<Player>() == 128);

impl Player {
    fn run(&mut self, time: &BlockTime<'_>, give: impl FnMut(LaneValue)) {
        let time = BlockTime { map: &self.lane.map, ..*time };
        self.cursor.run(&self.lane.lane, &time, give);
    }

    /// The same if the song plays on. Returns the song frame of the next value.
    fn play_on(&mut self, segment: &Segment, give: impl FnMut(LaneValue)) -> i64 {
        self.cursor.play_on(&self.lane.lane, &self.lane.map, segment, give)
    }
}

/// Where all lanes are, as long as the song plays on without a jump: nearly always. Then no cursor need compare positions,
/// and where nothing is due a block need not look at them.
struct Onward {
    /// Where the last block led to.
    position: i64,
    /// No lane is due before this song frame.
    until: i64,
}

/// All lanes of a node, and room for their values.
pub(crate) struct Lanes {
    /// Sorted by parameter.
    players: Box<[Player]>,
    /// `None`: each cursor knows where it is.
    onward: Option<Onward>,
    values: Values,
    /// The block's time as the node hears it. Only behind a latency.
    late: Segments,
}

impl Lanes {
    /// Plays these lanes, one for each parameter, in blocks of up to `frames` frames.
    ///
    /// Thread: control; allocates all that blocks will need.
    pub(crate) fn new(mut lanes: Vec<(u16, Arc<MappedLane>)>, frames: usize) -> Lanes {
        lanes.sort_unstable_by_key(|(param, _)| *param);
        let player = |(param, lane)| Player { cursor: LaneCursor::new(), lane, param };
        let values = Values::new(room(lanes.len(), frames), frames);
        let players = lanes.into_iter().map(player).collect();
        Lanes { players, onward: None, values, late: Segments::EMPTY }
    }

    /// How many events a block has at most, with edits.
    pub(super) fn most_events(&self) -> usize {
        self.values.room + EVENTS_A_BLOCK
    }

    /// Goes on where `before` is, in lanes that both have. New ones chase.
    pub(super) fn go_on_from(&mut self, before: &mut Lanes) {
        before.wake();
        let mut before = before.players.iter_mut().peekable();
        for player in &mut self.players {
            while before.next_if(|before| before.param < player.param).is_some() {}
            if let Some(before) = before.next_if(|before| before.param == player.param)
                // block-path: it compares two addresses.
                && Arc::ptr_eq(&before.lane, &player.lane)
            {
                std::mem::swap(&mut before.cursor, &mut player.cursor);
            }
        }
    }

    /// Forgets where it was.
    pub(super) fn restart(&mut self) {
        self.onward = None;
        self.players.iter_mut().for_each(|player| player.cursor.restart());
    }

    /// The values at the song's start, by parameter.
    ///
    /// Thread: control before it plays, or the leader between blocks. Cost: O(lanes * log points); no allocation.
    pub(super) fn first_values(&self) -> impl Iterator<Item = Change> + '_ {
        self.players.iter().map(|Player { param, lane, .. }| {
            let value = lane.lane.value_at(&lane.map, 0) as f32;
            Change::Param { index: *param, value }
        })
    }

    /// Adds what happens in a block to its edits, in order. Returns how many values were thinned out.
    ///
    /// `late`: how many frames what the node hears is late. `events`: the edits of the block, all at frame 0, with room
    /// for [`Lanes::most_events`].
    ///
    /// Thread: worker, inside a block. Cost: O(lanes + values * log values), O(1) if no lane is due; no allocation.
    pub(super) fn play(&mut self, now: &Now, late: u32, events: &mut Vec<TimedChange>) -> u64 {
        let Lanes { players, onward, values, late: delayed } = self;
        let time = now.time_in(late, delayed);
        match onward.as_mut().and_then(|onward| Some((onward.segment(&time)?, onward))) {
            Some((segment, onward)) => {
                onward.position = segment.end_position();
                if onward.position <= onward.until {
                    return 0;
                }
                onward.until = values.play_on(players, segment);
            }
            None => {
                wake(players, onward);
                values.run(players, &time);
                *onward = Onward::after(&time, players);
            }
        }
        if !values.list.is_empty() {
            let end = time.segments.as_slice().last();
            let frames = end.map_or(0, |last| last.end() as usize);
            values.merge(frames, events);
        }
        values.thinned
    }

    fn wake(&mut self) {
        wake(&mut self.players, &mut self.onward);
    }
}

/// Lets the cursors know how far the song has come.
fn wake(players: &mut [Player], onward: &mut Option<Onward>) {
    if let Some(Onward { position, .. }) = onward.take() {
        players.iter_mut().for_each(|player| player.cursor.rest(position));
    }
}

impl Onward {
    /// If the lanes have run in this block.
    fn after(time: &BlockTime<'_>, players: &[Player]) -> Option<Onward> {
        let position = time.segments.as_slice().last()?.end_position();
        let mut until = i64::MAX;
        for player in players {
            until = until.min(player.cursor.rests_until()?);
        }
        Some(Onward { position, until })
    }

    /// The block's segment, if the song plays on in it.
    fn segment<'a>(&self, time: &BlockTime<'a>) -> Option<&'a Segment> {
        let [segment] = time.segments.as_slice() else { return None };
        let plays_on = segment.playing && !segment.jumped && segment.position == self.position;
        plays_on.then_some(segment)
    }
}

/// A value of a lane, or of an edit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Value {
    frame: u32,
    /// What comes first at a frame: the lane's place, or the edit's behind [`EDITS`].
    place: u32,
    param: u16,
    on_ramp: bool,
    value: f32,
}

impl Value {
    #[inline]
    fn of(LaneValue { offset, value, on_ramp }: LaneValue, place: u32, param: u16) -> Value {
        Value { frame: offset, place, param, on_ramp, value: value as f32 }
    }

    fn timed(&self) -> TimedChange {
        let change = Change::Param { index: self.param, value: self.value };
        TimedChange { frame: self.frame, change }
    }
}

/// Values are sorted by counting them where a block has at most so many frames for each.
const FRAMES_A_VALUE: usize = 8;

/// At a frame, edits take effect behind all lanes, so an edit wins ([`hocket_time::Source::LIVE`]).
const EDITS: u32 = 1 << 31;

/// The values of a block.
struct Values {
    /// It has room for `room` values and [`EVENTS_A_BLOCK`] edits and never grows beyond.
    list: Vec<Value>,
    room: usize,
    /// Room for the lane that plays and those before it.
    room_now: usize,
    /// Nothing is left that could be thinned out.
    is_thin: bool,
    /// How many values went in this block.
    thinned: u64,
    /// By frame of a block: how many values lie there, then where the next one of them goes.
    places: Box<[u32]>,
}

impl Values {
    /// Thread: control; allocates.
    fn new(room: usize, frames: usize) -> Values {
        let list = Vec::with_capacity(room + EVENTS_A_BLOCK);
        let places = vec![0; frames].into();
        Values { list, room, room_now: room, is_thin: false, thinned: 0, places }
    }

    fn begin(&mut self) {
        self.list.clear();
        (self.is_thin, self.thinned) = (false, 0);
    }

    /// The values of a block.
    fn run(&mut self, players: &mut [Player], time: &BlockTime<'_>) {
        self.begin();
        let lanes = players.len();
        for (place, player) in players.iter_mut().enumerate() {
            self.begin_lane(lanes - place - 1);
            let (param, place) = (player.param, place as u32);
            player.run(time, |value| self.push(Value::of(value, place, param)));
        }
    }

    /// The values of a block in which the song plays on. Returns the song frame before which no lane is due again.
    fn play_on(&mut self, players: &mut [Player], segment: &Segment) -> i64 {
        self.begin();
        let (lanes, mut until) = (players.len(), i64::MAX);
        for (place, player) in players.iter_mut().enumerate() {
            self.begin_lane(lanes - place - 1);
            let (param, place) = (player.param, place as u32);
            let due = player.play_on(segment, |value| self.push(Value::of(value, place, param)));
            until = until.min(due);
        }
        until
    }

    /// The next lane plays, and so many play after it: each keeps room for its first and its last value.
    fn begin_lane(&mut self, after: usize) {
        self.room_now = self.room - 2 * after;
    }

    fn push(&mut self, value: Value) {
        if self.list.len() == self.room_now && !self.is_thin {
            self.thin();
        }
        if self.list.len() < self.room_now {
            self.list.push(value);
        } else if let Some(last) = self.list.last_mut() {
            // It is of the same lane, because the lane has found room for two.
            *last = value;
            self.thinned += 1;
        }
    }

    /// Takes out every second value on a ramp of each lane, but not its first and its last. The values of a lane lie
    /// side by side.
    #[cold]
    fn thin(&mut self) {
        let (mut kept, mut before, mut goes) = (0, None, false);
        for at in 0..self.list.len() {
            let value = self.list[at];
            let is_last = self.list.get(at + 1).is_none_or(|next| next.place != value.place);
            let is_first = before.replace(value.place) != Some(value.place);
            goes = !is_first && !is_last && value.on_ramp && !goes;
            if !goes {
                self.list[kept] = value;
                kept += 1;
            }
        }
        let thinned = self.list.len() - kept;
        self.list.truncate(kept);
        self.is_thin = thinned == 0;
        self.thinned += thinned as u64;
    }

    /// Sorts the values of a block of so many frames, and the edits, into `events`.
    fn merge(&mut self, frames: usize, events: &mut Vec<TimedChange>) {
        for (place, event) in (EDITS..).zip(&*events) {
            let Change::Param { index: param, value } = event.change;
            let frame = event.frame;
            self.list.push(Value { frame, place, param, on_ramp: false, value });
        }
        events.clear();
        if let Some(frames_each) = self.same_frames() {
            for first in 0..frames_each {
                let at_frame = self.list[first..].iter().step_by(frames_each);
                at_frame.for_each(|value| events.push(value.timed()));
            }
        // To count them takes one look per value and frame.
        } else if frames <= self.places.len().min(FRAMES_A_VALUE * self.list.len()) {
            self.count_into(frames, events);
        } else {
            // No two are equal, so the order is one for all.
            self.list.sort_unstable_by_key(|value| (value.frame, value.place));
            self.list.iter().for_each(|value| events.push(value.timed()));
        }
    }

    /// How many values each lane has, if all have theirs at the same frames, as those that go the same way do. The list is
    /// in order of the places, and the values of a lane in order of their frames.
    fn same_frames(&self) -> Option<usize> {
        let pairs = self.list.iter().zip(self.list.get(1..)?);
        let one = pairs.take_while(|(value, next)| value.frame < next.frame).count() + 1;
        let repeats = self.list.iter().zip(self.list.get(one..)?);
        let whole = self.list.len().is_multiple_of(one);
        let mut repeats = repeats.map(|(value, next)| value.frame == next.frame);
        (whole && repeats.all(|same| same)).then_some(one)
    }

    /// The list is in order of the places already, so those at one frame keep their order.
    fn count_into(&mut self, frames: usize, events: &mut Vec<TimedChange>) {
        let Values { list, places, .. } = self;
        let places = &mut places[..frames];
        rows::fill(places, 0);
        list.iter().for_each(|value| places[value.frame as usize] += 1);
        let mut before = 0;
        for place in places.iter_mut() {
            before += std::mem::replace(place, before);
        }
        // All of them are written over.
        list.iter().for_each(|value| events.push(value.timed()));
        for value in list {
            let place = &mut places[value.frame as usize];
            events[*place as usize] = value.timed();
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(place: u32, frame: u32, on_ramp: bool) -> Value {
        Value { frame, place, param: place as u16, on_ramp, value: frame as f32 }
    }

    /// What is left of lanes of values at every frame, with how many went. `is_ramp`: by frame.
    fn left(room: usize, lanes: &[u32], is_ramp: impl Fn(u32) -> bool) -> (Vec<Vec<u32>>, u64) {
        let mut values = Values::new(room, 64);
        values.begin();
        for (place, frames) in lanes.iter().enumerate() {
            values.begin_lane(lanes.len() - place - 1);
            (0..*frames).for_each(|frame| values.push(value(place as u32, frame, is_ramp(frame))));
        }
        assert!(values.list.len() <= room);
        let of = |place: usize| {
            let own = values.list.iter().filter(|value| value.place as usize == place);
            own.map(|value| value.frame).collect()
        };
        ((0..lanes.len()).map(of).collect(), values.thinned)
    }

    #[test]
    fn nothing_goes_as_long_as_there_is_room() {
        let all = |frames| (0..frames).collect::<Vec<u32>>();
        assert_eq!(left(10, &[4, 6], |_| true), (vec![all(4), all(6)], 0));
    }

    #[test]
    fn every_second_value_on_a_ramp_goes_but_never_the_first_and_the_last() {
        assert_eq!(left(8, &[9], |_| true), (vec![vec![0, 2, 4, 6, 7, 8]], 3));
        assert_eq!(left(8, &[9], |frame| frame != 3), (vec![vec![0, 2, 3, 5, 7, 8]], 3));
    }

    #[test]
    fn points_give_way_only_to_the_last_one_of_their_lane() {
        assert_eq!(left(6, &[9], |_| false), (vec![vec![0, 1, 2, 3, 4, 8]], 3));
        let (kept, gone) = left(6, &[9, 9, 9], |_| false);
        assert_eq!((kept, gone), (vec![vec![0, 8]; 3], 21));
    }

    #[test]
    fn there_is_room_for_a_value_per_lane_and_frame_or_for_what_lanes_usually_give() {
        assert_eq!((room(1, 64), room(64, 64), room(3, 1)), (64, 4096, 6));
        assert_eq!((room(1, 8192), room(1_000, 1024)), (4096, 80_000));
    }

    #[test]
    fn edits_come_behind_the_lanes_of_their_frame_in_their_order() {
        // Sorted by counting, and as a block with few values is.
        for frames in [8, 64] {
            edits_behind_lanes(frames);
        }
    }

    /// Lanes with values at these frames, and edits, in every way to sort them.
    #[test]
    fn values_come_by_frame_then_by_lane_then_edits() {
        let cases: [&[&[u32]]; 7] = [
            &[&[3, 35], &[3, 35], &[3, 35]],
            &[&[3, 35], &[4, 36], &[3, 36]],
            &[&[0], &[0], &[0]],
            &[&[0, 1, 2], &[], &[0, 1, 2]],
            &[&[0], &[5], &[0], &[5]],
            &[&[7, 9, 60]],
            &[&[1, 2], &[1, 2], &[1]],
        ];
        for lanes in cases {
            for edits in 0..3 {
                let mut values = Values::new(64, 64);
                values.begin();
                for (place, frames) in (0..).zip(lanes) {
                    values.begin_lane(lanes.len() - place as usize - 1);
                    frames.iter().for_each(|frame| values.push(value(place, *frame, true)));
                }
                let mut sorted = values.list.clone();
                sorted.sort_by_key(|value| (value.frame, value.place));
                let edit = |index: u16| TimedChange {
                    frame: 0,
                    change: Change::Param { index, value: 0.5 },
                };
                let mut events: Vec<TimedChange> = (90..90 + edits).map(edit).collect();
                let (before, after): (Vec<_>, Vec<_>) =
                    sorted.iter().map(Value::timed).partition(|event| event.frame == 0);
                let expected = [&before[..], &events, &after].concat();
                values.merge(64, &mut events);
                assert_eq!(events, expected, "{lanes:?}, {edits} edits");
            }
        }
    }

    fn edits_behind_lanes(frames: usize) {
        let mut values = Values::new(8, 64);
        values.begin();
        for (place, frames) in [(0, [0, 5]), (1, [0, 3])] {
            values.begin_lane(1 - place as usize);
            frames.into_iter().for_each(|frame| values.push(value(place, frame, false)));
        }
        let event =
            |frame, index, value| TimedChange { frame, change: Change::Param { index, value } };
        let mut events = vec![event(0, 9, 1.0), event(0, 8, 2.0)];
        values.merge(frames, &mut events);
        let lanes = [event(0, 0, 0.0), event(0, 1, 0.0)];
        let expected = [event(0, 9, 1.0), event(0, 8, 2.0), event(3, 1, 3.0), event(5, 0, 5.0)];
        assert_eq!(events, [&lanes[..], &expected].concat());
    }
}
