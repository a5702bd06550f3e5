//! Sessions as text: what a program has made or changed, for [`load`](crate::load) to read back as the same session.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::path::Path;

use hocket_plan::session::{
    Alignment, Automation, Clip, ClipFade, ClipNote, Destination, EffectAt, EventsOf, Input,
    LaneTarget, LoopPoints, MediaId, MidiFile, NoteClip, NoteSource, Output, OutputAt, Send,
    SendAt, Session, Strip, StripId, TakeFrom, TakeSpec, Tap,
};
use hocket_plan::{Effect, EffectCatalogue};
use hocket_time::{CONTROL_GRID_FRAMES, Glide, LanePoint, MeterPoint, Shape, TempoPoint, TimeBase};

use crate::routing::MASTER;
use crate::schema::FORMAT;

/// Why a session cannot be written as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteError {
    /// The catalogue does not know the effect, or not with as many values.
    UnknownEffect {
        /// The strip.
        strip: String,
        /// The kind.
        kind: String,
    },
    /// A place names what the session does not have: media, a strip, an input, an effect, a parameter.
    Missing {
        /// The strip.
        strip: String,
    },
    /// Several effects of a strip have an extra output of one name, and a track plays one of them.
    SameOutput {
        /// The strip.
        strip: String,
        /// The output.
        output: String,
    },
    /// The path of an audio file is no text.
    Path {
        /// The path, with marks for what is no text.
        path: String,
    },
    /// An effect has a state that is in no file.
    State {
        /// The strip.
        strip: String,
        /// The effect's kind.
        kind: String,
    },
    /// Some audio files may be converted, and others not: a file says it once for all.
    Resample,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::UnknownEffect { strip, kind } => {
                write!(f, "strip '{strip}' has an effect '{kind}' that no session file can name")
            }
            WriteError::Missing { strip } => {
                write!(f, "strip '{strip}' names something that the session does not have")
            }
            WriteError::SameOutput { strip, output } => {
                write!(
                    f,
                    "several effects of strip '{strip}' have an extra output '{output}': \
                     put each of them on a strip of its own"
                )
            }
            WriteError::Path { path } => {
                write!(f, "the path '{path}' is not UTF-8: rename the file")
            }
            WriteError::State { strip, kind } => {
                write!(
                    f,
                    "strip '{strip}': the state of '{kind}' is in no file: write it to one first"
                )
            }
            WriteError::Resample => f.write_str(
                "some audio files may be converted to another sample rate and others may not: \
                 a session file says one for all",
            ),
        }
    }
}

impl std::error::Error for WriteError {}

type Written = Result<(), WriteError>;

/// The session as a file of the newest format. Audio files below `folder`, the folder of the file, get relative paths.
///
/// Reading it gives the same session, as far as a file can say it: audio files are numbered in the order in which clips
/// name them, a tempo placed in seconds is placed in beats, and copies that `count` made are tracks of their own.
///
/// Thread: control. Cost: O(length of the text).
///
/// # Errors
/// [`WriteError`].
pub fn session_text(
    session: &Session,
    catalogue: &dyn EffectCatalogue,
    folder: &Path,
) -> Result<String, WriteError> {
    let mut writer = Writer { session, catalogue, folder, out: String::new() };
    writer.all()?;
    Ok(writer.out)
}

struct Writer<'a> {
    session: &'a Session,
    catalogue: &'a dyn EffectCatalogue,
    folder: &'a Path,
    out: String,
}

impl Writer<'_> {
    fn all(&mut self) -> Written {
        self.about()?;
        self.time();
        self.session.inputs.iter().for_each(|input| self.input(input));
        let mut lanes: HashMap<StripId, Vec<&Automation>> = HashMap::new();
        for lane in &self.session.automation {
            lanes.entry(lane.target.strip()).or_default().push(lane);
        }
        for id in self.session.strip_ids() {
            self.strip(id, lanes.remove(&id).unwrap_or_default())?;
        }
        for output in &self.session.outputs {
            self.output(output)?;
        }
        for take in &self.session.takes {
            self.take(take)?;
        }
        if let Some(preview) = self.session.preview {
            self.header("[preview]");
            let file = self.file(preview, "preview")?;
            self.text("file", &file);
        }
        Ok(())
    }

    fn about(&mut self) -> Written {
        let Session { name, sample_rate_hz, length_s, feedback_s, media, .. } = self.session;
        self.out.push_str("[session]\n");
        self.value("format", FORMAT);
        self.text("name", name);
        self.value("sample_rate_hz", sample_rate_hz);
        if let Some(length_s) = length_s {
            self.value("length_s", number(*length_s));
        }
        if let Some(feedback_s) = feedback_s {
            self.value("feedback_s", number(*feedback_s));
        }
        let resample = media.first().is_none_or(|media| media.resample);
        if media.iter().any(|media| media.resample != resample) {
            return Err(WriteError::Resample);
        }
        if !resample {
            self.value("resample", false);
        }
        Ok(())
    }

    fn time(&mut self) {
        for TempoPoint { beats, bpm, glide } in &self.session.time.tempos {
            self.header("[[tempo]]");
            self.unless_zero("at_beats", *beats);
            self.value("bpm", number(*bpm));
            if *glide == Glide::Linear {
                self.text("glide", "linear");
            }
        }
        for MeterPoint { beats, signature } in &self.session.time.meters {
            self.header("[[meter]]");
            self.unless_zero("at_beats", *beats);
            self.text("signature", &format!("{}/{}", signature.numerator, signature.denominator));
        }
        if let Some(LoopPoints { base, from, to }) = self.session.time.repeat {
            self.header("[transport]");
            self.value("loop_from", number(from));
            self.value("loop_to", number(to));
            self.base(base);
        }
    }

    fn input(&mut self, Input { name, channels, events, latency_frames }: &Input) {
        self.header("[[input]]");
        self.text("name", name);
        if *channels != 2 {
            self.value("channels", channels);
        }
        self.flag("events", *events);
        if *latency_frames != 0 {
            self.value("latency_frames", latency_frames);
        }
    }

    fn output(&mut self, Output { name, from, tap }: &Output) -> Written {
        self.header("[[output]]");
        self.text("name", name);
        let from = self.name_of(*from, name)?;
        self.text("from", &from);
        self.tap("tap", *tap);
        Ok(())
    }

    fn take(&mut self, take: &TakeSpec) -> Written {
        let TakeSpec { from, file, armed, align, offset_frames } = take;
        self.header("[[take]]");
        let file = self.path(file)?;
        match from {
            TakeFrom::Strip(id, tap) => {
                let from = self.name_of(*id, &file)?;
                self.text("from", &from);
                self.tap("tap", *tap);
            }
            TakeFrom::Events(EventsOf::Track(index)) => {
                let from = self.name_of(StripId::Track(*index), &file)?;
                self.text("from", &from);
            }
            TakeFrom::Input(id) | TakeFrom::Events(EventsOf::Input(id)) => {
                let missing = || WriteError::Missing { strip: file.clone() };
                let input = self.session.inputs.get(id.0).ok_or_else(missing)?.name.clone();
                self.text("input", &input);
            }
        }
        self.text("file", &file);
        if !armed {
            self.value("armed", false);
        }
        if *align != from.usual_alignment() {
            let align = if *align == Alignment::Song { "song" } else { "none" };
            self.text("align", align);
        }
        if *offset_frames != 0 {
            self.value("offset_frames", offset_frames);
        }
        Ok(())
    }

    fn strip(&mut self, id: StripId, lanes: Vec<&Automation>) -> Written {
        let strip = self.session.strip(id);
        let table = table(id);
        match id {
            StripId::Master => self.header("[master]"),
            _ => self.header(&format!("[[{table}]]")),
        }
        if id != StripId::Master {
            self.text("name", &strip.name);
        }
        if let Some(Destination::Group(group)) = self.session.output(id) {
            let to = self.name_of(StripId::Group(group.0), &strip.name)?;
            self.text("output", &to);
        }
        self.level(strip.gain_db);
        self.unless_zero("pan", strip.pan);
        self.flag("mute", strip.mute);
        self.flag("solo", strip.solo);
        if let StripId::Track(index) = id {
            self.track_input(index)?;
            self.track_from(index)?;
            for clip in &self.session.tracks[index].clips {
                self.clip(clip, &strip.name)?;
            }
            for clip in &self.session.tracks[index].notes {
                self.notes(clip)?;
            }
        }
        for effect in &strip.chain {
            self.effect(effect, table, &strip.name)?;
        }
        for send in &strip.sends {
            self.send(send, table, &strip.name)?;
        }
        lanes.into_iter().try_for_each(|lane| self.lane(lane, table, strip))
    }

    fn track_input(&mut self, index: usize) -> Written {
        let track = &self.session.tracks[index];
        let Some(input) = track.input else { return Ok(()) };
        let missing = || WriteError::Missing { strip: track.strip.name.clone() };
        let input = self.session.inputs.get(input.0).ok_or_else(missing)?;
        self.text("input", &input.name);
        Ok(())
    }

    fn track_from(&mut self, index: usize) -> Written {
        let track = &self.session.tracks[index];
        let Some(OutputAt { effect: at, index }) = track.from else { return Ok(()) };
        let name = &track.strip.name;
        let from = self.name_of(at.strip, name)?;
        let missing = || WriteError::Missing { strip: name.clone() };
        let chain = &self.session.strip(at.strip).chain;
        let effect = chain.get(at.index).ok_or_else(missing)?;
        let outputs = self.catalogue.extra_outputs(&effect.kind);
        let output = outputs.into_iter().nth(index).ok_or_else(missing)?.name;
        let has_it = |effect: &&Effect| {
            let outputs = self.catalogue.extra_outputs(&effect.kind);
            outputs.iter().any(|own| own.name == output)
        };
        if chain.iter().filter(has_it).count() > 1 {
            return Err(WriteError::SameOutput { strip: from, output });
        }
        self.text("from", &from);
        self.text("from_output", &output);
        Ok(())
    }

    fn clip(&mut self, clip: &Clip, strip: &str) -> Written {
        let file = self.file(clip.media, strip)?;
        self.header("[[track.clip]]");
        self.text("file", &file);
        self.unless_zero("start_s", clip.start_s);
        self.unless_zero("offset_s", clip.offset_s);
        if let Some(length_s) = clip.length_s {
            self.value("length_s", number(length_s));
        }
        self.flag("loop", clip.looped);
        self.level(clip.gain_db);
        self.unless_zero("fade_in_s", clip.fade_in_s);
        self.unless_zero("fade_out_s", clip.fade_out_s);
        if clip.fade_curve != ClipFade::default() {
            self.text("fade_curve", clip.fade_curve.name());
        }
        Ok(())
    }

    fn notes(&mut self, clip: &NoteClip) -> Written {
        let NoteClip { base, start, length, chase, source } = clip;
        self.header("[[track.notes]]");
        self.unless_zero("start", *start);
        if let Some(length) = length {
            self.value("length", number(*length));
        }
        if *base == TimeBase::Seconds {
            self.text("time", "seconds");
        }
        if !chase {
            self.value("chase", false);
        }
        match source {
            NoteSource::Written(notes) => self.written(notes),
            NoteSource::File(MidiFile { path, track, channel, .. }) => {
                let file = self.path(path)?;
                self.text("file", &file);
                if let Some(track) = track {
                    self.value("midi_track", u32::from(*track) + 1);
                }
                if let Some(channel) = channel {
                    self.value("midi_channel", channel + 1);
                }
            }
        }
        Ok(())
    }

    fn written(&mut self, notes: &[ClipNote]) {
        self.out.push_str("notes = [\n");
        for ClipNote { at, length, key, velocity, channel } in notes {
            let (at, length, velocity) = (number(*at), number(*length), number(*velocity));
            let _ = write!(self.out, "    [{at}, {length}, {key}, {velocity}");
            if *channel > 0 {
                let _ = write!(self.out, ", {}", channel + 1);
            }
            self.out.push_str("],\n");
        }
        self.out.push_str("]\n");
    }

    fn effect(&mut self, effect: &Effect, table: &str, strip: &str) -> Written {
        let Effect { kind, values, bypass, key: heard, events, .. } = effect;
        let Effect { send_events, state, state_file, preset, file, isolate, .. } = effect;
        let params = self.catalogue.params(kind).filter(|params| params.len() == values.len());
        let unknown = || WriteError::UnknownEffect { strip: strip.into(), kind: kind.clone() };
        let params = params.ok_or_else(unknown)?;
        self.header(&format!("[[{table}.effect]]"));
        self.text("kind", kind);
        self.flag("bypass", *bypass);
        self.flag("isolate", *isolate);
        if let Some(file) = file {
            let file = self.path(file)?;
            self.text("file", &file);
        }
        // A preset that is gone since decides nothing: its values are written.
        let preset = preset.as_ref().and_then(|name| {
            let found = self.catalogue.preset(kind, name).ok()?;
            (found.state == *state).then_some((name, found.values))
        });
        let defaults = params.iter().map(|param| param.default).collect();
        let (name, base) = preset.map_or((None, defaults), |(name, base)| (Some(name), base));
        name.into_iter().for_each(|name| self.text("preset", name));
        for ((param, value), base) in params.iter().zip(values).zip(base) {
            if *value != base {
                self.value(&key(&param.name), small(*value));
            }
        }
        match (state, state_file) {
            _ if name.is_some() => {}
            (_, Some(file)) => {
                let file = self.path(file)?;
                self.text("state", &file);
            }
            (Some(_), None) => {
                return Err(WriteError::State { strip: strip.into(), kind: kind.clone() });
            }
            (None, None) => {}
        }
        if let Some(heard) = heard {
            let from = self.name_of(heard.from, strip)?;
            self.text("key", &from);
            self.tap("key_tap", heard.tap);
        }
        if let Some(events) = events {
            let from = self.name_of(*events, strip)?;
            self.text("events", &from);
        }
        if let Some(send_events) = send_events {
            self.value("send_events", send_events);
        }
        Ok(())
    }

    fn send(&mut self, send: &Send, table: &str, strip: &str) -> Written {
        self.header(&format!("[[{table}.send]]"));
        let to = self.name_of(send.to.into(), strip)?;
        self.text("to", &to);
        self.level(send.gain_db);
        self.tap("tap", send.tap);
        self.flag("feedback", send.feedback);
        Ok(())
    }

    fn lane(&mut self, lane: &Automation, table: &str, strip: &Strip) -> Written {
        self.header(&format!("[[{table}.automation]]"));
        let (part, parameter) = self.target(lane.target, strip)?;
        self.text("parameter", &parameter);
        match part {
            Part::Strip => {}
            Part::Effect(index) => self.value("effect", index + 1),
            Part::Send(index) => self.value("send", index + 1),
        }
        self.base(lane.lane.base);
        if lane.lane.grid_frames != CONTROL_GRID_FRAMES {
            self.value("grid_frames", lane.lane.grid_frames);
        }
        self.out.push_str("points = [\n");
        for LanePoint { at, value, shape } in lane.lane.points.iter() {
            let way = match shape {
                Shape::Hold => ", \"hold\"".to_owned(),
                Shape::Linear => String::new(),
                Shape::Curve(bend) => format!(", \"curve\", {}", small(*bend)),
            };
            let _ = writeln!(self.out, "    [{}, {}{way}],", number(*at), number(*value));
        }
        self.out.push_str("]\n");
        Ok(())
    }

    /// The part of the strip that a lane moves, and the parameter's name.
    fn target(&self, target: LaneTarget, strip: &Strip) -> Result<(Part, String), WriteError> {
        let missing = || WriteError::Missing { strip: strip.name.clone() };
        let named = |part, name: &str| Ok((part, name.to_owned()));
        match target {
            LaneTarget::Gain(_) => named(Part::Strip, "gain_db"),
            LaneTarget::Pan(_) => named(Part::Strip, "pan"),
            LaneTarget::Mute(_) => named(Part::Strip, "mute"),
            LaneTarget::Send(SendAt { index, .. }) => named(Part::Send(index), "gain_db"),
            LaneTarget::Bypass(EffectAt { index, .. }) => named(Part::Effect(index), "bypass"),
            LaneTarget::Param(EffectAt { index, .. }, param) => {
                let effect = strip.chain.get(index).ok_or_else(missing)?;
                let params = self.catalogue.params(&effect.kind).ok_or_else(missing)?;
                named(Part::Effect(index), &params.get(param).ok_or_else(missing)?.name)
            }
        }
    }
}

/// What a lane moves something of.
enum Part {
    Strip,
    /// By its place, from 0.
    Effect(usize),
    /// By its place, from 0.
    Send(usize),
}

fn table(id: StripId) -> &'static str {
    match id {
        StripId::Track(_) => "track",
        StripId::Group(_) => "group",
        StripId::Return(_) => "return",
        StripId::Master => "master",
    }
}

/// Names and paths.
impl Writer<'_> {
    fn name_of(&self, id: StripId, user: &str) -> Result<String, WriteError> {
        let Session { tracks, groups, returns, .. } = self.session;
        let name = match id {
            StripId::Track(i) => tracks.get(i).map(|track| track.strip.name.clone()),
            StripId::Group(i) => groups.get(i).map(|group| group.strip.name.clone()),
            StripId::Return(i) => returns.get(i).map(|back| back.strip.name.clone()),
            StripId::Master => Some(MASTER.to_owned()),
        };
        name.ok_or_else(|| WriteError::Missing { strip: user.into() })
    }

    fn file(&self, id: MediaId, user: &str) -> Result<String, WriteError> {
        let missing = || WriteError::Missing { strip: user.into() };
        self.path(&self.session.media.get(id.0).ok_or_else(missing)?.path)
    }

    fn path(&self, path: &Path) -> Result<String, WriteError> {
        let path = path.strip_prefix(self.folder).unwrap_or(path);
        let not_text = || WriteError::Path { path: path.display().to_string() };
        path.to_str().map(str::to_owned).ok_or_else(not_text)
    }
}

/// Lines.
impl Writer<'_> {
    fn header(&mut self, header: &str) {
        let _ = write!(self.out, "\n{header}\n");
    }

    fn value(&mut self, key: &str, value: impl fmt::Display) {
        let _ = writeln!(self.out, "{key} = {value}");
    }

    fn text(&mut self, key: &str, text: &str) {
        self.value(key, toml::Value::String(text.to_owned()));
    }

    fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.value(key, true);
        }
    }

    fn level(&mut self, gain_db: f32) {
        self.unless_zero("gain_db", gain_db);
    }

    fn unless_zero(&mut self, key: &str, value: impl Number) {
        if !value.is_zero() {
            self.value(key, value.text());
        }
    }

    fn tap(&mut self, key: &str, tap: Tap) {
        if tap == Tap::PreFader {
            self.text(key, "pre");
        }
    }

    fn base(&mut self, base: TimeBase) {
        if base == TimeBase::Beats {
            self.text("time", "beats");
        }
    }
}

trait Number: Copy {
    /// Plain zero, which is what a missing key says.
    fn is_zero(self) -> bool;
    fn text(self) -> String;
}

impl Number for f64 {
    fn is_zero(self) -> bool {
        self.to_bits() == 0
    }

    fn text(self) -> String {
        number(self)
    }
}

impl Number for f32 {
    fn is_zero(self) -> bool {
        self.to_bits() == 0
    }

    fn text(self) -> String {
        small(self)
    }
}

/// A key as TOML wants it: names of parameters may have spaces and signs.
fn key(name: &str) -> String {
    let is_bare = |sign: char| sign.is_ascii_alphanumeric() || "_-".contains(sign);
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => toml::Value::String(name.to_owned()).to_string(),
    }
}

/// The shortest text that is read back as this number.
fn number(value: f64) -> String {
    format!("{value:?}")
}

/// The same of a number that the reader rounds to single precision.
fn small(value: f32) -> String {
    let short = format!("{value:?}");
    // The reader rounds twice, which nearly never matters.
    let is_same = short.parse::<f64>().is_ok_and(|read| (read as f32).to_bits() == value.to_bits());
    if is_same { short } else { number(f64::from(value)) }
}
