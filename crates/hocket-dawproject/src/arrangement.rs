//! Timelines: lanes, clips in clips and warps become plain clips of the session.

use std::collections::{HashMap, HashSet};

use hocket_plan::session::{Clip, ClipFade, ClipNote};
use hocket_time::{Glide, TempoMap, TempoPoint, TimeBase};
use roxmltree::NodeId;

use crate::ImportError;
use crate::clock::Scope;
use crate::media::MediaTable;
use crate::remarks::Remarks;
use crate::stretch::{Knot, Pitch, SPEEDS};
use crate::xml::{Element, Read, Xml, called, child, children, elements, flag, head, time_unit};

/// Clips after loops are laid out; a session holds a million parts.
const MAX_CLIPS: usize = 200_000;
/// Notes after loops are laid out: as many as a session file holds.
const MAX_NOTES: usize = 1_000_000;
/// The velocity of a note that says none, as in session files.
const USUAL_VELOCITY: f64 = 0.8;
/// Passes of loops and looks at timelines: a file of a few lines must not keep anybody waiting.
const MAX_STEPS: usize = 2_000_000;
/// Clips and references lead to timelines, which hold clips.
const MAX_NESTING: usize = 40;
/// Timelines in timelines, references followed: the readers call themselves.
const MAX_DEPTH: usize = 300;
/// Nothing of a song lies further from its start, in seconds; session files know no more.
const LAST_S: f64 = 1_000_000.0;
/// ... and nothing in beats or seconds.
const LAST: f64 = 1_000_000.0;
/// A clip whose file drifts less than this against its warps plays the file itself.
const DRIFT_S: f64 = 0.001;
/// ... if its speed is as near to the file's own.
const SPEED: f64 = 0.001;
/// Pieces of a gliding tempo, in beats.
const GLIDE_BEATS: f64 = 0.25;
/// Knots of one warped clip.
const MAX_KNOTS: usize = 100_000;
/// Places nearer than this are one place, in seconds; a frame lasts longer.
const SAME_S: f64 = 1e-6;

/// A part of the song, in seconds.
#[derive(Debug, Clone, Copy)]
struct Window {
    from: f64,
    to: f64,
}

impl Window {
    fn within(self, from: f64, to: f64) -> Window {
        Window { from: self.from.max(from), to: self.to.min(to) }
    }

    fn is_empty(self) -> bool {
        let length = self.to - self.from;
        length.is_nan() || length <= SAME_S
    }
}

/// Fades of the clips around, in the song's seconds.
#[derive(Debug, Clone, Default)]
struct Fades {
    ins: Vec<Window>,
    outs: Vec<Window>,
}

/// Where a walk through the timelines is.
#[derive(Debug, Clone)]
struct Place {
    scope: Scope,
    window: Window,
    channel: Option<usize>,
    fades: Fades,
    nesting: usize,
    depth: usize,
    in_clip: bool,
}

/// Points of automation that lie in the song itself.
pub(crate) struct PointsAt<'a> {
    pub element: Element<'a>,
    pub base: TimeBase,
}

/// A note of the project, on the song's time line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note {
    /// The unit of its times: that of the timeline it lies in.
    pub base: TimeBase,
    pub it: ClipNote,
}

/// What the arrangement holds.
pub(crate) struct Arrangement<'a> {
    /// By the number of the channel.
    pub clips: HashMap<usize, Vec<Clip>>,
    /// By the number of the channel.
    pub notes: HashMap<usize, Vec<Note>>,
    pub points: Vec<PointsAt<'a>>,
    /// Where the last clip ends, whether it sounds or not.
    pub end_s: f64,
}

/// Reads timelines.
pub(crate) struct Reader<'a, 'r> {
    xml: &'r Xml<'a>,
    map: &'r TempoMap,
    tempos: &'r [TempoPoint],
    channel_of_track: &'r HashMap<NodeId, usize>,
    media: &'r mut MediaTable,
    remarks: &'r mut Remarks,
    found: Arrangement<'a>,
    clips: usize,
    notes: usize,
    steps: usize,
    /// Audio that is remarked for its pitch.
    repitched: HashSet<NodeId>,
}

impl<'a, 'r> Reader<'a, 'r> {
    pub(crate) fn new(
        xml: &'r Xml<'a>,
        (map, tempos): (&'r TempoMap, &'r [TempoPoint]),
        channel_of_track: &'r HashMap<NodeId, usize>,
        media: &'r mut MediaTable,
        remarks: &'r mut Remarks,
    ) -> Reader<'a, 'r> {
        let found = Arrangement {
            clips: HashMap::new(),
            notes: HashMap::new(),
            points: Vec::new(),
            end_s: 0.0,
        };
        Reader {
            xml,
            map,
            tempos,
            channel_of_track,
            media,
            remarks,
            found,
            clips: 0,
            notes: 0,
            steps: 0,
            repitched: HashSet::new(),
        }
    }

    /// What a project without an arrangement holds.
    pub(crate) fn nothing(self) -> Arrangement<'a> {
        self.found
    }

    /// All timelines of `<Arrangement>`.
    pub(crate) fn read(
        mut self,
        arrangement: &Element<'a>,
    ) -> Result<Arrangement<'a>, ImportError> {
        let place = Place {
            scope: Scope::SONG,
            window: Window { from: 0.0, to: LAST_S },
            channel: None,
            fades: Fades::default(),
            nesting: 0,
            depth: 0,
            in_clip: false,
        };
        for lanes in children(arrangement, "Lanes") {
            self.timeline(&lanes, &place)?;
        }
        Ok(self.found)
    }

    fn step(&mut self, element: &Element<'_>) -> Read<()> {
        self.steps += 1;
        match self.steps > MAX_STEPS {
            false => Ok(()),
            true => {
                let cause = "the clips around here repeat too often";
                Err(self.xml.error(element, cause, "make their loops longer, and export again"))
            }
        }
    }

    fn timeline(&mut self, element: &Element<'a>, around: &Place) -> Result<(), ImportError> {
        self.step(element)?;
        let mut place = around.clone();
        place.depth += 1;
        if place.depth > MAX_DEPTH {
            let cause = format!("timelines are nested more than {MAX_DEPTH} deep");
            return Err(self.xml.error(element, cause, crate::xml::EXPORT_AGAIN).into());
        }
        place.scope = self.scope_of(element, around);
        if let Some(track) = element.attribute("track") {
            place.channel = self.channel(element, track);
            if place.channel.is_none() {
                return Ok(());
            }
        }
        match element.tag_name().name() {
            "Lanes" => elements(element).try_for_each(|lane| self.timeline(&lane, &place)),
            "Clips" => children(element, "Clip").try_for_each(|clip| self.clip(&clip, &place)),
            "Notes" => Ok(self.notes(element, &place)?),
            "Audio" => self.audio(element, &place),
            "Warps" => self.warps(element, &place),
            "Points" if !place.in_clip => {
                let base = place.scope.unit;
                self.found.points.push(PointsAt { element: *element, base });
                Ok(())
            }
            "Points" => {
                self.remarks.add(element, "automation inside a clip", "is left out");
                Ok(())
            }
            "Video" => {
                self.remarks.add(element, "a video", "is left out");
                Ok(())
            }
            // A marker makes no sound; a slot is for scenes.
            "Markers" | "markers" | "ClipSlot" => Ok(()),
            _ => {
                let what = format!("the unknown timeline {}", called(element));
                self.remarks.add(element, what, "is left out");
                Ok(())
            }
        }
    }

    fn scope_of(&self, element: &Element<'_>, around: &Place) -> Scope {
        around.scope.in_unit(self.map, time_unit(element, "timeUnit", around.scope.unit))
    }

    /// The channel on which a track's clips play.
    fn channel(&mut self, lane: &Element<'_>, track: &str) -> Option<usize> {
        let found = self.xml.by_id(track);
        let channel = found.and_then(|track| self.channel_of_track.get(&track.id()).copied());
        if channel.is_none() {
            let what = format!("a lane of the track '{}', which is not there,", cut(track));
            self.remarks.add(lane, what, "is left out");
        }
        channel
    }

    fn clip(&mut self, clip: &Element<'a>, around: &Place) -> Result<(), ImportError> {
        self.step(clip)?;
        if !flag(clip, "enable", true) {
            return Ok(());
        }
        if around.nesting >= MAX_NESTING {
            let cause =
                format!("clips are nested more than {MAX_NESTING} deep, or hold themselves");
            return Err(self.xml.error(clip, cause, crate::xml::EXPORT_AGAIN).into());
        }
        let Some(content) = self.content(clip) else { return Ok(()) };
        let unit = time_unit(clip, "contentTimeUnit", around.scope.unit);
        let mut place = self.placed(clip, around, unit)?;
        if place.window.is_empty() {
            return Ok(());
        }
        if around.nesting == 0 && place.window.to < LAST_S {
            self.found.end_s = self.found.end_s.max(place.window.to);
        }
        place.nesting += 1;
        place.in_clip = true;
        self.laps(clip, &content, &place, unit)
    }

    /// What a clip plays: its child, or the timeline that it refers to.
    fn content(&mut self, clip: &Element<'a>) -> Option<Element<'a>> {
        if let Some(child) = elements(clip).next() {
            return Some(child);
        }
        let reference = clip.attribute("reference")?;
        let found = self.xml.by_id(reference);
        if found.is_none() {
            let what = format!("a clip that refers to '{}', which is not there,", cut(reference));
            self.remarks.add(clip, what, "is left out");
        }
        // A reference to a clip means what is in it.
        found.and_then(|found| match found.tag_name().name() {
            "Clip" => elements(&found).next(),
            _ => Some(found),
        })
    }

    /// Where a clip plays, and how it fades. Its scope is that of the timeline around it, but begins where the content's
    /// `playStart` is heard.
    fn placed(&mut self, clip: &Element<'_>, around: &Place, unit: TimeBase) -> Read<Place> {
        let mut place = around.clone();
        let xml = self.xml;
        let (scope, map) = (around.scope, self.map);
        let time = xml.required_number(clip, "time")?;
        let mut start = scope.seconds(map, time);
        let content_start = xml.number(clip, "playStart")?.unwrap_or(0.0);
        let end = match (xml.number(clip, "duration")?, xml.number(clip, "playStop")?) {
            (Some(duration), _) => scope.seconds(map, time + duration),
            (None, Some(stop)) => {
                let inside = Scope { unit, origin_s: start, zero: content_start };
                inside.seconds(map, stop)
            }
            (None, None) => LAST_S,
        };
        let fade_unit = time_unit(clip, "fadeTimeUnit", scope.unit);
        let length = |at: f64, length: f64| {
            Scope { unit: fade_unit, origin_s: at, zero: 0.0 }.seconds(map, length) - at
        };
        let fade_in = xml.number(clip, "fadeInTime")?.unwrap_or(0.0);
        if fade_in < 0.0 {
            // A cross-fade: the clip begins that much earlier, with what is before `playStart`.
            start += length(start, fade_in);
        }
        let fade_in_s = length(start, fade_in.abs());
        let fade_out = xml.number(clip, "fadeOutTime")?.unwrap_or(0.0);
        let fade_out_s = -length(end, -fade_out.abs());
        place.window = around.window.within(start, end);
        place.scope.origin_s = scope.seconds(map, time);
        if fade_in_s > SAME_S {
            place.fades.ins.push(Window { from: start, to: start + fade_in_s });
        }
        if fade_out_s > SAME_S && end < LAST_S {
            place.fades.outs.push(Window { from: end - fade_out_s, to: end });
        }
        Ok(place)
    }

    /// Plays the content once, or again and again.
    fn laps(
        &mut self,
        clip: &Element<'a>,
        content: &Element<'a>,
        place: &Place,
        unit: TimeBase,
    ) -> Result<(), ImportError> {
        let xml = self.xml;
        let play_start = xml.number(clip, "playStart")?.unwrap_or(0.0);
        let stop = xml.number(clip, "playStop")?;
        let loop_ends = xml.number(clip, "loopStart")?.zip(xml.number(clip, "loopEnd")?);
        let is_loop = |(from, to): &(f64, f64)| to > from && play_start < *to;
        let looped = loop_ends.filter(is_loop);
        let (mut at, mut from) = (place.scope.origin_s, play_start);
        // A cross-fade begins before `playStart` is heard.
        let mut begin_s = f64::NEG_INFINITY;
        loop {
            self.step(clip)?;
            let mut lap = place.clone();
            lap.scope = Scope { unit, origin_s: at, zero: from };
            let until = looped.map(|(_, end)| end).or(stop);
            let end = until.map_or(f64::INFINITY, |until| lap.scope.seconds(self.map, until));
            lap.window = place.window.within(begin_s, end);
            if !lap.window.is_empty() {
                self.timeline(content, &lap)?;
            }
            let Some((begin, _)) = looped else { return Ok(()) };
            if end >= place.window.to - SAME_S {
                return Ok(());
            }
            if end.is_nan() || end <= at {
                let cause = "this loop has no length";
                return Err(xml.error(clip, cause, crate::xml::EXPORT_AGAIN).into());
            }
            (at, from, begin_s) = (end, begin, end);
        }
    }

    fn notes(&mut self, element: &Element<'a>, place: &Place) -> Read<()> {
        let Some(channel) = place.channel else {
            if children(element, "Note").next().is_some() {
                self.remarks.add(element, "a list of notes outside of a track", "is left out");
            }
            return Ok(());
        };
        for element in children(element, "Note") {
            self.step(&element)?;
            let Some(note) = self.note(&element, place)? else { continue };
            self.notes += 1;
            if self.notes > MAX_NOTES {
                let cause = format!("more than {MAX_NOTES} notes after loops are laid out");
                let remedy = "make the loops longer, or split the project";
                return Err(self.xml.error(&element, cause, remedy));
            }
            self.found.notes.entry(channel).or_default().push(note);
        }
        Ok(())
    }

    /// A note, cut where its lap ends. `None`: it begins in another lap, or it cannot sound.
    fn note(&mut self, note: &Element<'a>, place: &Place) -> Read<Option<Note>> {
        let (scope, window) = (place.scope, place.window);
        let time = self.xml.required_number(note, "time")?;
        let duration = self.xml.number(note, "duration")?.unwrap_or(0.0);
        let start_s = scope.seconds(self.map, time);
        if start_s < window.from - SAME_S || start_s >= window.to - SAME_S {
            return Ok(None);
        }
        let end_s = scope.seconds(self.map, time + duration);
        let is_cut = end_s > window.to;
        let end = if is_cut { window.to } else { end_s };
        if place.nesting == 0 && end < LAST_S {
            self.found.end_s = self.found.end_s.max(end);
        }
        let (at, end) = match scope.unit {
            TimeBase::Seconds => (start_s, end),
            TimeBase::Beats if is_cut => {
                (scope.beats(self.map, time), self.map.beats_at_seconds(window.to))
            }
            TimeBase::Beats => {
                (scope.beats(self.map, time), scope.beats(self.map, time + duration))
            }
        };
        let (at, end) = (on_grid(at).max(0.0), on_grid(end));
        let whole = |name: &str| note.attribute(name)?.trim().parse::<u8>().ok();
        let Some(key) = whole("key").filter(|key| *key < 128) else {
            self.remarks.add(note, "a note without a key from 0 to 127", "is left out");
            return Ok(None);
        };
        if end <= at || end > LAST {
            let why = if end <= at { "a note without a length" } else { "a note far too late" };
            self.remarks.add(note, why, "is left out");
            return Ok(None);
        }
        if elements(note).next().is_some() {
            self.remarks.add(note, "what moves inside a note (an expression)", "is left out");
        }
        let velocity = self.xml.number(note, "vel")?.unwrap_or(USUAL_VELOCITY).clamp(0.0, 1.0);
        let channel = self.midi_channel(note);
        let it = ClipNote { at, length: length(at, end), key, velocity, channel };
        Ok(Some(Note { base: scope.unit, it }))
    }

    /// The MIDI channel of a note, from 0; the first one where it says none.
    fn midi_channel(&mut self, note: &Element<'a>) -> u8 {
        let Some(said) = note.attribute("channel") else { return 0 };
        let fits = said.trim().parse::<u8>().ok().filter(|channel| *channel < 16);
        fits.unwrap_or_else(|| {
            let what = "a note whose MIDI channel is none from 0 to 15";
            self.remarks.add(note, what, "plays on the first one");
            0
        })
    }

    /// Audio at its own speed: its first second plays where the timeline's zero is.
    fn audio(&mut self, audio: &Element<'a>, place: &Place) -> Result<(), ImportError> {
        let start = place.scope.seconds(self.map, 0.0);
        let line = [(start, 0.0), (start + 1.0, 1.0)];
        self.sound(audio, audio, place, &line)
    }

    fn warps(&mut self, warps: &Element<'a>, place: &Place) -> Result<(), ImportError> {
        let content_unit = time_unit(warps, "contentTimeUnit", TimeBase::Seconds);
        let Some(audio) = child(warps, "Audio").filter(|_| content_unit == TimeBase::Seconds)
        else {
            self.remarks.add(
                warps,
                "<Warps> of something else than audio in seconds",
                "is left out",
            );
            return Ok(());
        };
        let line = self.line(warps, place)?;
        if line.len() < 2 {
            self.remarks.add(
                warps,
                "<Warps> with less than two points",
                "plays at its file's own speed",
            );
            return self.audio(&audio, place);
        }
        self.sound(&audio, warps, place, &line)
    }

    /// What is heard where: places of the song and of the file, both in seconds, both rising.
    fn line(&mut self, warps: &Element<'_>, place: &Place) -> Read<Vec<Knot>> {
        let mut points = Vec::new();
        for warp in children(warps, "Warp") {
            self.step(&warp)?;
            let time = self.xml.required_number(&warp, "time")?;
            points.push((time, self.xml.required_number(&warp, "contentTime")?));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut line: Vec<Knot> = Vec::new();
        for (index, (time, content)) in points.iter().enumerate() {
            let at = place.scope.seconds(self.map, *time);
            let rises =
                line.last().is_none_or(|last| at > last.0 + SAME_S && *content > last.1 + SAME_S);
            if !rises {
                self.remarks.add(warps, "a warp that goes back or stands still", "is left out");
                continue;
            }
            if let Some(before) = index.checked_sub(1).and_then(|before| points.get(before)) {
                self.bends(warps, place, (*before, (*time, *content)), &mut line)?;
            }
            line.push((at, *content));
        }
        Ok(line)
    }

    /// Places between two warps where the tempo changes: there the way from one to the other has corners.
    fn bends(
        &mut self,
        warps: &Element<'_>,
        place: &Place,
        (from, to): (Knot, Knot),
        line: &mut Vec<Knot>,
    ) -> Read<()> {
        if place.scope.unit == TimeBase::Seconds || line.is_empty() {
            return Ok(());
        }
        let beats = |s: f64| self.map.beats_at_seconds(s);
        let (first, last) = (
            beats(place.scope.seconds(self.map, from.0)),
            beats(place.scope.seconds(self.map, to.0)),
        );
        let before = |beats: f64| self.tempos.partition_point(|tempo| tempo.beats <= beats);
        // With the tempo that holds at the beginning, and the one that a glide at the end leads to.
        let (begin, end) = (before(first), before(last).max(before(first)));
        let tempos = &self.tempos[begin.saturating_sub(1)..(end + 1).min(self.tempos.len())];
        let mut corners: Vec<f64> = tempos.iter().map(|tempo| tempo.beats).collect();
        for pair in tempos.windows(2).filter(|pair| pair[0].glide == Glide::Linear) {
            let (begin, end) = (pair[0].beats.max(first), pair[1].beats.min(last));
            let count = ((end - begin) / GLIDE_BEATS).clamp(0.0, MAX_KNOTS as f64) as usize;
            self.steps += count;
            corners.extend((1..=count).map(|step| begin + step as f64 * GLIDE_BEATS));
        }
        self.steps += tempos.len();
        self.step(warps)?;
        corners.retain(|corner| *corner > first && *corner < last);
        corners.sort_by(f64::total_cmp);
        for corner in corners.into_iter().take(MAX_KNOTS) {
            let share = (corner - first) / (last - first);
            let knot = (self.map.seconds_at_beats(corner), from.1 + share * (to.1 - from.1));
            if line.last().is_none_or(|last| knot.0 > last.0 + SAME_S && knot.1 > last.1 + SAME_S) {
                line.push(knot);
            }
        }
        Ok(())
    }

    /// Plays a file along a line: as it is where the line has the file's own speed, else made anew.
    fn sound(
        &mut self,
        audio: &Element<'a>,
        at: &Element<'a>,
        place: &Place,
        line: &[Knot],
    ) -> Result<(), ImportError> {
        let Some(channel) = place.channel else {
            self.remarks.add(audio, "audio outside of a track", "is left out");
            return Ok(());
        };
        let Some(media) = self.media.of_audio(self.xml, audio, self.remarks)? else {
            return Ok(());
        };
        let said = self.xml.number(audio, "duration")?.filter(|length| *length > 0.0);
        let end_s = self.media.length_s(media).or(said).unwrap_or(LAST_S).min(LAST_S);
        let line = extended(line, end_s);
        let (first, last) = (line[0], line[line.len() - 1]);
        let window = place.window.within(first.0, last.0).within(0.0, LAST_S);
        if window.is_empty() {
            return Ok(());
        }
        if is_own_speed(&line) {
            // All of the line moves alike, so its first point stands for it.
            let offset_s = first.1 + (window.from - first.0);
            return self.place(at, place, channel, (media, offset_s), window);
        }
        let line = part_of(&line, window);
        let begin = line[0].0;
        // Laps of one loop differ in the last bits of their places, and still share one file.
        let rounded = |s: f64| (s * 1e9).round() / 1e9;
        let knots = line.iter().map(|(at, content)| (rounded(at - begin), rounded(*content)));
        let knots: Vec<Knot> = knots.collect();
        let is_possible = knots.windows(2).all(|pair| SPEEDS.contains(&speed(pair[0], pair[1])));
        if !is_possible {
            self.remarks.add(at, "a clip that is warped to a speed beyond hearing", "is left out");
            return Ok(());
        }
        let pitch = Pitch::by_algorithm(algorithm_of(audio));
        let made = self.media.stretched(self.xml, media, (&knots, pitch), at, self.remarks)?;
        let source = match made {
            Some((made, got)) => {
                if got != pitch {
                    self.tell_of_pitch(audio);
                }
                (made, window.from - begin)
            }
            None => (media, content_at(&line, window.from)),
        };
        self.place(at, place, channel, source, window)
    }

    /// A clip that keeps its pitch in its program, and cannot here. Once, however often it loops.
    fn tell_of_pitch(&mut self, audio: &Element<'a>) {
        if self.repitched.insert(audio.id()) {
            let what = format!(
                "a clip that keeps its pitch ('{}') at less than a quarter or more than 4 times its speed, above 192 kHz, \
                 or after three hours of such clips:",
                cut(algorithm_of(audio))
            );
            self.remarks.add(audio, what, "here its pitch changes with the speed");
        }
    }

    fn place(
        &mut self,
        at: &Element<'_>,
        place: &Place,
        channel: usize,
        (media, offset_s): (hocket_plan::session::MediaId, f64),
        window: Window,
    ) -> Result<(), ImportError> {
        self.clips += 1;
        if self.clips > MAX_CLIPS {
            let cause = format!("more than {MAX_CLIPS} clips after loops are laid out");
            return Err(self
                .xml
                .error(at, cause, "make the loops longer, or split the project")
                .into());
        }
        if window.to < LAST_S {
            self.found.end_s = self.found.end_s.max(window.to);
        }
        let (fade_in_s, fade_out_s) = self.fades(at, place, window);
        let clip = Clip {
            media,
            start_s: window.from,
            offset_s: offset_s.clamp(0.0, LAST_S),
            length_s: Some(window.to - window.from),
            looped: false,
            gain_db: 0.0,
            fade_in_s,
            fade_out_s,
            // The format has no other.
            fade_curve: ClipFade::Linear,
        };
        self.found.clips.entry(channel).or_default().push(clip);
        Ok(())
    }

    /// The fades that begin or end with a piece; one that lies across its ends cannot be said. Where a file begins later
    /// than its clip, or ends earlier, the fade is that much shorter.
    fn fades(&mut self, at: &Element<'_>, place: &Place, window: Window) -> (f64, f64) {
        let touches = |fade: &&Window| !window.within(fade.from, fade.to).is_empty();
        let is_same = |a: f64, b: f64| (a - b).abs() <= SAME_S;
        let (mut fade_in_s, mut fade_out_s) = (0.0_f64, 0.0_f64);
        let mut is_cut = false;
        for fade in place.fades.ins.iter().filter(touches) {
            match is_same(fade.from, window.from) || is_same(fade.from, place.window.from) {
                true => fade_in_s = fade_in_s.max(fade.to - window.from),
                false => is_cut = true,
            }
        }
        for fade in place.fades.outs.iter().filter(touches) {
            match is_same(fade.to, window.to) || is_same(fade.to, place.window.to) {
                true => fade_out_s = fade_out_s.max(window.to - fade.from),
                false => is_cut = true,
            }
        }
        if is_cut {
            let what = "a fade that goes on over the edge of a clip inside";
            self.remarks.add_at(head(at), what, "is left out there");
        }
        (fade_in_s.min(LAST_S), fade_out_s.min(LAST_S))
    }
}

/// Times that are one place, but came there by different sums, become one number: else a note might end behind the place
/// where the next one of its key begins, and end that one. A frame lasts much longer than a step of this grid.
fn on_grid(time: f64) -> f64 {
    (time * 1e9).round() / 1e9
}

/// How long a note is that begins at `at`, so that the sum of both is not behind `end`. `end` is behind `at`, both on the
/// grid.
fn length(at: f64, end: f64) -> f64 {
    let mut length = on_grid(end - at);
    // Once for the grid, and once for the rounding of the sum.
    for _ in 0..2 {
        length -= (at + length - end).max(0.0);
    }
    length
}

/// How a message shows a name that somebody else chose.
fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

fn algorithm_of<'a>(audio: &Element<'a>) -> &'a str {
    audio.attribute("algorithm").unwrap_or_default().trim()
}

fn speed(from: Knot, to: Knot) -> f64 {
    (to.1 - from.1) / (to.0 - from.0)
}

/// The line from the first frame of the file to the last: its first and last pieces go on in their direction.
fn extended(line: &[Knot], end_s: f64) -> Vec<Knot> {
    let along = |from: Knot, to: Knot, content: f64| {
        let at = from.0 + (content - from.1) / speed(from, to);
        (at, content)
    };
    let mut line = line;
    // Pieces that lie before the file's first frame or behind its last one say nothing of the way between.
    while line.len() > 2 && line[1].1 <= 0.0 {
        line = &line[1..];
    }
    while line.len() > 2 && line[line.len() - 2].1 >= end_s {
        line = &line[..line.len() - 1];
    }
    let count = line.len();
    let first = along(line[0], line[1], 0.0);
    let last = along(line[count - 2], line[count - 1], end_s);
    let inside = line.iter().filter(|(_, content)| *content > 0.0 && *content < end_s);
    let mut all = vec![first];
    all.extend(inside.copied());
    all.push(last);
    // Warps behind the end of the file leave nothing between.
    if all[all.len() - 1].0 <= all[0].0 {
        let at = all[0].0;
        return vec![(at, 0.0), (at, 0.0)];
    }
    all
}

/// Whether a file played at its own speed from the line's beginning stays where the line is.
fn is_own_speed(line: &[Knot]) -> bool {
    let first = line[0];
    let drift = |knot: &Knot| ((knot.1 - first.1) - (knot.0 - first.0)).abs();
    line.iter().all(|knot| drift(knot) <= DRIFT_S)
        && line.windows(2).all(|pair| (speed(pair[0], pair[1]) - 1.0).abs() <= SPEED)
}

fn content_at(line: &[Knot], at: f64) -> f64 {
    let behind = line.partition_point(|knot| knot.0 <= at).clamp(1, line.len() - 1);
    let (from, to) = (line[behind - 1], line[behind]);
    from.1 + (at - from.0) * speed(from, to)
}

/// The whole line, so that all clips of it share one file; only the part in the window where that is much less.
fn part_of(line: &[Knot], window: Window) -> Vec<Knot> {
    let (first, last) = (line[0].0, line[line.len() - 1].0);
    if (window.to - window.from) * 4.0 > last - first {
        return line.to_vec();
    }
    let edge = |at: f64| (at, content_at(line, at));
    let inside =
        line.iter().filter(|(at, _)| *at > window.from + SAME_S && *at < window.to - SAME_S);
    let mut part = vec![edge(window.from)];
    part.extend(inside.copied());
    part.push(edge(window.to));
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sum_of_place_and_length_is_behind_the_end() {
        for step in 1..2000_u32 {
            for at in [0.1, 0.7, 3.3, 1_234.567_890_123, 999_998.123_456_789] {
                let at = on_grid(at + f64::from(step) * 0.1);
                let end = on_grid(at + f64::from(step % 7 + 1) / 7.0);
                let length = length(at, end);
                assert!(
                    length > 0.0 && at + length <= end && end - (at + length) < 1e-8,
                    "{at} {end}"
                );
            }
        }
    }
}
