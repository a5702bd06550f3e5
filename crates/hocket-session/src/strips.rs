//! Tables of the file to the session model.

use hocket_plan::EffectCatalogue;
use hocket_plan::session::{
    Automation, Clip, ClipFade, Group, LaneSpec, LaneTarget, MediaId, NoteClip, Return, Send,
    Session, Strip, StripId, Track,
};
use toml::de::DeTable;

use crate::automation::{self, Automated};
use crate::effects::EffectReader;
use crate::extra::{Finder, Wanted};
use crate::fields::{self, At, Fields};
use crate::media::{MediaCheck, MediaList, MediaUse};
use crate::mistakes::{Mistakes, SessionErrors};
use crate::notes::NoteReader;
use crate::ports::{self, Inputs, tap};
use crate::routing::{MASTER, Names};
use crate::schema::{self, FORMAT, MAX_COUNT, MAX_NOTES, MAX_POINTS};
use crate::source::Source;
use crate::state::StateReader;
use crate::{LoadOptions, Span, song};

/// What a file says.
pub(crate) struct Built {
    pub(crate) session: Session,
    pub(crate) warnings: Vec<String>,
    /// MIDI files that are not whole.
    pub(crate) damaged: Vec<String>,
    /// By [`hocket_plan::session::MediaId`].
    pub(crate) media_spans: Vec<Span>,
    pub(crate) open_fades: Vec<OpenFade>,
}

/// Fades of a clip that ends with its file, whose length the session file does not say.
#[derive(Debug, Clone)]
pub(crate) struct OpenFade {
    pub(crate) span: Span,
    pub(crate) media: MediaId,
    pub(crate) offset_s: f64,
    /// Both fades together.
    pub(crate) fades_s: f64,
}

/// The session that the text describes.
pub(crate) fn build(
    source: &Source,
    catalogue: &dyn EffectCatalogue,
    options: &LoadOptions,
    check: &MediaCheck<'_>,
) -> Result<Built, SessionErrors> {
    let mistakes = Mistakes::new(source);
    let (document, errors) = DeTable::parse_recoverable(source.text());
    // Of text that is not TOML nobody knows what it would say.
    if !errors.is_empty() {
        report_syntax(&mistakes, &errors);
        return Err(mistakes.into_errors());
    }
    if let Some(errors) = newer_format(&mistakes, document.get_ref()) {
        return Err(errors);
    }
    let built = built(&mistakes, document.get_ref(), catalogue, options, check);
    mistakes.or(built)
}

/// Of a file in a newer format nobody knows what its keys mean: that is the only mistake.
fn newer_format(mistakes: &Mistakes<'_>, document: &DeTable<'_>) -> Option<SessionErrors> {
    let session = document.get(schema::SESSION.name)?.get_ref().as_table()?;
    let version = session.get(schema::VERSION.name)?;
    let format = fields::whole(version.get_ref()).filter(|format| *format > FORMAT)?;
    let (newest, program) = (FORMAT, env!("CARGO_PKG_VERSION"));
    let cause = format!(
        "this session has the format {format}, and Hocket {program} reads the formats 1 to {newest}"
    );
    let remedy = format!("use a newer Hocket, one that reads format {format}");
    Some(mistakes.source().error(version.span(), cause, remedy).into())
}

/// What the file says, with defaults in the place of what is wrong.
fn built<'a>(
    mistakes: &'a Mistakes<'a>,
    document: &'a DeTable<'a>,
    catalogue: &'a dyn EffectCatalogue,
    options: &LoadOptions,
    check: &'a MediaCheck<'a>,
) -> Built {
    let root = Fields::root(mistakes, document, &schema::ROOT);
    let all_known = mistakes.count() == 0;
    let tracks = root.tables(&schema::TRACK, &schema::TRACK_TABLE);
    let groups = root.tables(&schema::GROUP, &schema::GROUP_TABLE);
    let returns = root.tables(&schema::RETURN, &schema::RETURN_TABLE);
    if tracks.is_empty() && (mistakes.count() == 0 || all_known && !root.has(&schema::TRACK)) {
        let remedy = "add [[track]] with a name and, below it, [[track.clip]] with a file";
        mistakes.report(0..0, "the session has no tracks", remedy);
    }
    let facts = facts(mistakes, &root);
    let mut builder = Builder {
        mistakes,
        catalogue,
        names: Names::new(mistakes),
        inputs: Inputs::read(mistakes, &root),
        automation: Vec::new(),
        lane_spans: Vec::new(),
        points: 0,
        notes: NoteReader::new(mistakes),
        note_count: 0,
        note_spans: Vec::new(),
        states: StateReader::new(mistakes),
        media: MediaList::new(mistakes, facts.media, check),
        warnings: Vec::new(),
        open_fades: Vec::new(),
        extra: Vec::new(),
        lost_effects: false,
        parts: 0,
        end_s: facts.length_s,
    };
    // A table whose own name is wrong may hold what others name; so may one that is no table.
    let lost =
        |key: &schema::Key, read: usize| root.has(key) && (read == 0 || read < root.length(key));
    if !all_known || lost(&schema::GROUP, groups.len()) || lost(&schema::RETURN, returns.len()) {
        builder.names.add_unnamed();
    }
    // All names first: an output or a send may name a strip further down.
    let tracks = builder.named_tracks(tracks, options);
    let groups = builder.named(groups, StripId::Group);
    let returns = builder.named(returns, StripId::Return);
    let preview = root.table(&schema::PREVIEW, &schema::PREVIEW_TABLE);
    let preview = preview.and_then(|fields| fields.require_text(&schema::FILE));
    let rate_hz = options.rate_hz.unwrap_or(facts.media.sample_rate_hz);
    let mut session = Session {
        name: facts.name,
        sample_rate_hz: facts.media.sample_rate_hz,
        length_s: facts.length_s,
        feedback_s: facts.feedback_s,
        tracks: builder.tracks(tracks),
        groups: builder.groups(groups),
        returns: builder.returns(returns),
        master: builder.master(&root),
        preview: preview.and_then(|file| builder.media.id(file)),
        media: Vec::new(),
        time: song::time(mistakes, &root, rate_hz),
        inputs: Vec::new(),
        outputs: ports::outputs(mistakes, &root, &builder.names),
        automation: Vec::new(),
        takes: Vec::new(),
    };
    let known = (&builder.names, &builder.inputs);
    session.takes = ports::takes(mistakes, &root, known, &session.tracks);
    builder.check_reach(&session);
    builder.warn_of_unheard_notes(&session);
    session.automation = std::mem::take(&mut builder.automation);
    session.inputs = std::mem::take(&mut builder.inputs.list);
    builder.find_extra(&mut session);
    builder.names.refuse_cycles(&session, catalogue);
    let Builder { mut warnings, notes, open_fades, media, .. } = builder;
    warnings.extend(notes.warnings.into_iter().take(MAX_WARNINGS));
    let media_spans;
    (session.media, media_spans) = media.finish();
    let damaged = notes.damaged;
    Built { session, warnings, damaged, media_spans, open_fades }
}

/// One mistake in a line leads the parser to find more of them behind it.
fn report_syntax(mistakes: &Mistakes<'_>, errors: &[toml::de::Error]) {
    let mut last_line = 0;
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let line = mistakes.source().line(&span);
        if line != last_line {
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            let remedy = "correct it: a line is `key = value`, text stands in quotes, a table begins \
                          with [session] or [[track]]";
            mistakes.report(span, format!("this is not TOML: {message}"), remedy);
        }
        last_line = line;
    }
}

/// What `[session]` says.
struct Facts {
    name: String,
    length_s: Option<f64>,
    feedback_s: Option<f64>,
    media: MediaUse,
}

fn facts(mistakes: &Mistakes<'_>, root: &Fields<'_>) -> Facts {
    let media = MediaUse { sample_rate_hz: 48_000, resample: true };
    let mut facts =
        Facts { name: mistakes.source().stem(), length_s: None, feedback_s: None, media };
    let Some(fields) = root.table(&schema::SESSION, &schema::SESSION_TABLE) else {
        return facts;
    };
    if let Some(name) = fields.text(&schema::SESSION_NAME) {
        facts.name = name.value.to_owned();
    }
    // All formats are read in the same way: each only adds keys. What counts is that it is one.
    let _ = fields.whole(&schema::VERSION);
    facts.length_s = fields.number(&schema::SESSION_LENGTH).map(|length| length.value);
    facts.feedback_s = fields.number(&schema::FEEDBACK_LENGTH).map(|late| late.value);
    facts.media.resample = fields.flag(&schema::RESAMPLE, true);
    if let Some(rate) = fields.whole(&schema::SAMPLE_RATE) {
        facts.media.sample_rate_hz = u32::try_from(rate.value).unwrap_or(48_000);
    } else if fields.has(&schema::SAMPLE_RATE) {
        // Which files have another rate than the one that was meant is not known.
        facts.media.resample = true;
    }
    facts
}

/// A table with its name and its place among the strips of its sort.
struct Named<'a> {
    fields: Fields<'a>,
    /// One per copy.
    names: Vec<String>,
    /// Index of the first copy.
    first: usize,
}

/// The most strips, clips, effects and sends together: 100 to 200 MiB of plan.
const MAX_PARTS: usize = 1_000_000;

/// Nobody reads more.
const MAX_WARNINGS: usize = 100;

struct Builder<'a> {
    mistakes: &'a Mistakes<'a>,
    catalogue: &'a dyn EffectCatalogue,
    names: Names<'a>,
    inputs: Inputs<'a>,
    automation: Vec<Automation>,
    /// Where each of them is.
    lane_spans: Vec<Span>,
    /// Automation points so far, copies counted.
    points: usize,
    notes: NoteReader<'a>,
    /// Notes and messages so far, copies counted.
    note_count: usize,
    /// For each clip of notes, without copies: its track, its place there, and where it is.
    note_spans: Vec<(usize, usize, Span)>,
    states: StateReader<'a>,
    media: MediaList<'a>,
    warnings: Vec<String>,
    open_fades: Vec<OpenFade>,
    /// What tracks play of other strips.
    extra: Vec<Wanted>,
    /// Whether a chain lacks effects that are wrong.
    lost_effects: bool,
    /// Strips, clips, effects and sends so far.
    parts: usize,
    /// Where the session ends, if it says so.
    end_s: Option<f64>,
}

/// Names.
impl<'a> Builder<'a> {
    fn named_tracks(&mut self, tables: Vec<Fields<'a>>, options: &LoadOptions) -> Vec<Named<'a>> {
        let mut counted = Vec::with_capacity(tables.len());
        for fields in tables {
            let copies = self.copies(&fields, options);
            if !self.has_room(&fields, copies.unwrap_or(1)) {
                // Far too many are refused before they all have names.
                return Vec::new();
            }
            counted.push((fields, copies));
        }
        let mut first = 0;
        let mut named = Vec::with_capacity(counted.len());
        for (fields, copies) in counted {
            let track = self.name(fields, copies, first, StripId::Track);
            first += track.names.len();
            named.push(track);
        }
        named
    }

    fn named(
        &mut self,
        tables: Vec<Fields<'a>>,
        id: impl Fn(usize) -> StripId + Copy,
    ) -> Vec<Named<'a>> {
        let mut named = Vec::with_capacity(tables.len());
        for (first, fields) in tables.into_iter().enumerate() {
            if !self.has_room(&fields, 1) {
                return Vec::new();
            }
            named.push(self.name(fields, None, first, id));
        }
        named
    }

    fn name(
        &mut self,
        fields: Fields<'a>,
        copies: Option<usize>,
        first: usize,
        id: impl Fn(usize) -> StripId,
    ) -> Named<'a> {
        let Some(At { value: name, span }) = fields.require_text(&schema::NAME) else {
            self.names.add_unnamed();
            return Named { fields, names: vec![String::new()], first };
        };
        let names = match copies {
            None => vec![name.to_owned()],
            Some(copies) => (1..=copies).map(|copy| format!("{name} {copy}")).collect(),
        };
        // Where one copy's name is taken, those of the next are likely to be taken, too.
        let mut ids = names.iter().enumerate().map(|(copy, name)| (name, id(first + copy)));
        let _ = ids.all(|(name, id)| self.names.add(name, id, span.clone()));
        Named { fields, names, first }
    }

    /// Counts the parts of a strip; reports the strip with which they are too many.
    fn has_room(&mut self, fields: &Fields<'_>, copies: usize) -> bool {
        let had_room = self.parts <= MAX_PARTS;
        let lists = [
            &schema::CLIPS,
            &schema::NOTE_CLIPS,
            &schema::EFFECTS,
            &schema::SENDS,
            &schema::AUTOMATION,
        ];
        let each: usize = 1 + lists.iter().map(|key| fields.length(key)).sum::<usize>();
        self.parts += each * copies;
        if self.parts <= MAX_PARTS {
            return true;
        }
        if had_room {
            let parts = self.parts;
            let cause =
                format!("up to here the session has {parts} strips, clips, effects and sends");
            let remedy = format!("use at most {MAX_PARTS} together, copies counted");
            self.mistakes.report(fields.span.clone(), cause, remedy);
            // A strip that names one of those left out is not wrong.
            self.names.add_unnamed();
        }
        false
    }

    /// How many copies of a track; `None` if the file does not say, and the name stays unchanged.
    fn copies(&self, fields: &Fields<'_>, options: &LoadOptions) -> Option<usize> {
        let key = &schema::COUNT;
        if !fields.is_text(key) {
            return fields.whole(key).and_then(|count| usize::try_from(count.value).ok());
        }
        let At { value, span } = fields.text(key)?;
        let Some(factor) = seat_factor(value) else {
            let remedy = format!("write {}", key.value.allowed());
            self.mistakes.report(span, format!("'count' cannot be '{value}'"), remedy);
            return None;
        };
        let count = factor.checked_mul(options.seats);
        let count = count.filter(|count| (1..=MAX_COUNT as usize).contains(count));
        if count.is_none() {
            let seats = options.seats;
            let cause = format!("count = \"{value}\" is out of range with {seats} seats");
            self.mistakes.report(span, cause, format!("make it 1 to {MAX_COUNT} in all"));
        }
        count
    }
}

/// The `N` of `seats x N` or `seats * N`; 1 of `seats`.
fn seat_factor(text: &str) -> Option<usize> {
    let rest = text.trim().strip_prefix("seats")?.trim_start();
    if rest.is_empty() {
        return Some(1);
    }
    rest.strip_prefix(['x', '*'])?.trim_start().parse().ok()
}

/// Strips.
impl Builder<'_> {
    fn tracks(&mut self, named: Vec<Named<'_>>) -> Vec<Track> {
        let mut tracks = Vec::new();
        for Named { fields, names, first } in named {
            let id = StripId::Track(first);
            let track = Track {
                strip: self.strip(&fields, id, String::new()),
                output: self.names.output(id, fields.text(&schema::OUTPUT)),
                clips: self.clips(&fields),
                input: fields.text(&schema::TRACK_INPUT).and_then(|name| self.inputs.played(name)),
                from: None,
                notes: self.note_clips(&fields, first, names.len()),
            };
            self.automate(&fields, id, &track.strip, names.len());
            let copies = first..first + names.len();
            self.extra.extend(Wanted::read(self.mistakes, &fields, copies));
            let sources = [&schema::TRACK_INPUT, &schema::TRACK_FROM, &schema::NOTE_CLIPS];
            let plays = sources.into_iter().any(|key| fields.has(key));
            if track.clips.is_empty() && !plays {
                let text = format!("track '{}' has no clips: it is silent", names[0]);
                self.warn(&fields, &text);
            }
            tracks.extend(names.into_iter().map(|name| copy(&track, name)));
        }
        tracks
    }

    fn groups(&mut self, named: Vec<Named<'_>>) -> Vec<Group> {
        let mut groups = Vec::new();
        for (index, Named { fields, mut names, .. }) in named.into_iter().enumerate() {
            let id = StripId::Group(index);
            let strip = self.strip(&fields, id, names.pop().unwrap_or_default());
            let output = self.names.output(id, fields.text(&schema::OUTPUT));
            self.automate(&fields, id, &strip, 1);
            groups.push(Group { strip, output });
        }
        groups
    }

    fn returns(&mut self, named: Vec<Named<'_>>) -> Vec<Return> {
        let mut returns = Vec::new();
        for (index, Named { fields, mut names, .. }) in named.into_iter().enumerate() {
            let id = StripId::Return(index);
            let strip = self.strip(&fields, id, names.pop().unwrap_or_default());
            let output = self.names.output(id, fields.text(&schema::OUTPUT));
            self.automate(&fields, id, &strip, 1);
            returns.push(Return { strip, output });
        }
        returns
    }

    fn master(&mut self, root: &Fields<'_>) -> Strip {
        match root.table(&schema::MASTER, &schema::MASTER_TABLE) {
            Some(fields) => {
                let strip = self.strip(&fields, StripId::Master, MASTER.to_owned());
                self.automate(&fields, StripId::Master, &strip, 1);
                strip
            }
            None => Strip::new(MASTER),
        }
    }

    /// What tracks play of other strips, which are all there now.
    fn find_extra(&mut self, session: &mut Session) {
        let wanted = std::mem::take(&mut self.extra);
        let Builder { mistakes, catalogue, names, lost_effects, .. } = self;
        let (catalogue, incomplete) = (*catalogue, *lost_effects);
        Finder { mistakes, catalogue, names, incomplete }.find(session, wanted);
    }

    /// What all strips have; a key that the table's schema does not know is missing here too.
    fn strip(&mut self, fields: &Fields<'_>, id: StripId, name: String) -> Strip {
        let Builder { mistakes, catalogue, names, states, .. } = self;
        let mut effects = EffectReader { mistakes, catalogue: *catalogue, names, states };
        let chain = effects.chain(fields, id);
        self.lost_effects |= chain.len() < fields.length(&schema::EFFECTS);
        Strip {
            name,
            chain,
            gain_db: fields.number_or_zero(&schema::GAIN) as f32,
            pan: fields.number_or_zero(&schema::PAN) as f32,
            mute: fields.flag(&schema::MUTE, false),
            solo: fields.flag(&schema::SOLO, false),
            sends: self.sends(fields, id),
        }
    }

    fn sends(&mut self, fields: &Fields<'_>, from: StripId) -> Vec<Send> {
        let tables = fields.tables(&schema::SENDS, &schema::SEND_TABLE);
        tables.iter().filter_map(|send| self.send(send, from)).collect()
    }

    fn send(&mut self, fields: &Fields<'_>, from: StripId) -> Option<Send> {
        let feedback = fields.flag(&schema::FEEDBACK, false);
        let to = fields.require_text(&schema::TO);
        let to = to.and_then(|to| self.names.send(from, to, feedback));
        let gain_db = fields.number_or_zero(&schema::SEND_GAIN) as f32;
        let tap = tap(fields, &schema::TAP);
        Some(Send { to: to?, gain_db, tap, feedback })
    }
}

/// Automation.
impl Builder<'_> {
    /// The lanes of a strip and its copies, whose ids follow its own.
    fn automate(&mut self, fields: &Fields<'_>, id: StripId, strip: &Strip, copies: usize) {
        let mut seen: Vec<LaneTarget> = Vec::new();
        for table in fields.tables(&schema::AUTOMATION, &schema::AUTOMATION_TABLE) {
            if !self.has_room_for_points(&table, copies) {
                return;
            }
            let Some((target, lane)) = self.lane(fields, &table, id, strip) else { continue };
            if seen.contains(&target) {
                let cause = "an earlier lane of the strip moves the same parameter";
                let remedy = "put the points of both into one lane";
                self.mistakes.report(table.span.clone(), cause, remedy);
                continue;
            }
            seen.push(target);
            self.add_lane(target, &lane, copies);
            self.lane_spans.resize(self.automation.len(), table.span_of(&schema::POINTS));
        }
    }

    fn lane(
        &self,
        strip_fields: &Fields<'_>,
        table: &Fields<'_>,
        id: StripId,
        strip: &Strip,
    ) -> Option<(LaneTarget, LaneSpec)> {
        let find_return = |name: &str| self.names.return_named(name);
        let of = Automated {
            id,
            strip,
            has_all_effects: strip.chain.len() == strip_fields.length(&schema::EFFECTS),
            has_all_sends: strip.sends.len() == strip_fields.length(&schema::SENDS),
            find_return: &find_return,
        };
        automation::lane(self.mistakes, table, &of, self.catalogue)
    }

    /// Copies share the points.
    fn add_lane(&mut self, target: LaneTarget, lane: &LaneSpec, copies: usize) {
        for copy in 0..copies {
            let target = target.on(match target.strip() {
                StripId::Track(first) => StripId::Track(first + copy),
                other => other,
            });
            self.automation.push(Automation { target, lane: lane.clone() });
        }
    }

    /// Counts the points of a lane; reports the lane with which they are too many.
    fn has_room_for_points(&mut self, table: &Fields<'_>, copies: usize) -> bool {
        let had_room = self.points <= MAX_POINTS;
        self.points += table.length(&schema::POINTS) * copies;
        if self.points > MAX_POINTS && had_room {
            let cause = format!("up to here the session has {} automation points", self.points);
            let remedy =
                format!("use at most {MAX_POINTS} together, copies counted: thin them out");
            self.mistakes.report(table.span_of(&schema::POINTS), cause, remedy);
        }
        self.points <= MAX_POINTS
    }

    /// Points and notes in beats may lie further than any song, if the tempo is slow.
    fn check_reach(&self, session: &Session) {
        if self.mistakes.count() > 0 {
            return;
        }
        let Ok(map) = session.time.map(song::HIGHEST_RATE_HZ) else { return };
        for (automation, span) in self.automation.iter().zip(&self.lane_spans) {
            let Some(last) = automation.lane.points.last() else { continue };
            let place = automation.lane.base.position(last.at);
            if let Err(error) = map.song_frame(place) {
                let remedy = "move the last points to earlier beats, or raise the tempo";
                self.mistakes.report(span.clone(), error.to_string(), remedy);
            }
        }
        for (track, place, span) in &self.note_spans {
            let clip = &session.tracks[*track].notes[*place];
            if let Err(error) = map.song_frame(clip.base.position(clip.end())) {
                let remedy = "move the notes to earlier beats, or raise the tempo";
                self.mistakes.report(span.clone(), error.to_string(), remedy);
            }
        }
    }
}

fn copy(track: &Track, name: String) -> Track {
    let mut copy = track.clone();
    copy.strip.name = name;
    copy
}

/// Clips.
impl Builder<'_> {
    fn clips(&mut self, track: &Fields<'_>) -> Vec<Clip> {
        let tables = track.tables(&schema::CLIPS, &schema::CLIP_TABLE);
        tables.iter().filter_map(|fields| self.clip(fields)).collect()
    }

    fn clip(&mut self, fields: &Fields<'_>) -> Option<Clip> {
        let media = fields.require_text(&schema::FILE).and_then(|file| self.media.id(file));
        let mut clip = Clip {
            media: MediaId(0),
            start_s: fields.number_or_zero(&schema::START),
            offset_s: fields.number_or_zero(&schema::OFFSET),
            length_s: fields.number(&schema::CLIP_LENGTH).map(|length| length.value),
            looped: fields.flag(&schema::LOOP, false),
            gain_db: fields.number_or_zero(&schema::CLIP_GAIN) as f32,
            fade_in_s: fields.number_or_zero(&schema::FADE_IN),
            fade_out_s: fields.number_or_zero(&schema::FADE_OUT),
            fade_curve: fields
                .choice(&schema::FADE_CURVE)
                .map_or(ClipFade::default(), |place| ClipFade::ALL[place]),
        };
        clip.media = media?;
        self.warn_of_fades(fields, &clip);
        if self.end_s.is_some_and(|end| clip.start_s >= end) {
            self.warn(
                fields,
                "the clip starts after the session's length_s: no render includes it",
            );
        }
        Some(clip)
    }

    /// The notes of a track and its copies.
    fn note_clips(&mut self, track: &Fields<'_>, index: usize, copies: usize) -> Vec<NoteClip> {
        let mut clips = Vec::new();
        for fields in track.tables(&schema::NOTE_CLIPS, &schema::NOTE_TABLE) {
            let Some(clip) = self.notes.clip(&fields) else { continue };
            if !self.has_room_for_notes(&fields, clip.len() * copies) {
                break;
            }
            self.note_spans.push((index, clips.len(), fields.span.clone()));
            clips.push(clip);
        }
        clips
    }

    /// Counts the notes of a clip; reports the clip with which they are too many.
    fn has_room_for_notes(&mut self, fields: &Fields<'_>, count: usize) -> bool {
        let had_room = self.note_count <= MAX_NOTES;
        self.note_count += count;
        if self.note_count > MAX_NOTES && had_room {
            let cause =
                format!("up to here the session has {} notes and messages", self.note_count);
            let remedy = format!("use at most {MAX_NOTES} together, copies counted");
            self.mistakes.report(fields.span.clone(), cause, remedy);
        }
        self.note_count <= MAX_NOTES
    }

    /// Notes that no effect receives are silent.
    fn warn_of_unheard_notes(&mut self, session: &Session) {
        let mut heard = vec![false; session.tracks.len()];
        for id in session.strip_ids() {
            for effect in &session.strip(id).chain {
                let from = effect.events.unwrap_or(id);
                if let StripId::Track(index) = from
                    && self.catalogue.has_event_input(&effect.kind)
                {
                    heard[index] = true;
                }
            }
        }
        for (track, place, span) in std::mem::take(&mut self.note_spans) {
            if place == 0 && !heard[track] && self.warnings.len() < MAX_WARNINGS {
                let text = "no effect receives these notes: they are silent; add one with an event input, such as synth";
                self.warnings.push(self.mistakes.source().warning(span, text));
            }
        }
    }

    fn warn_of_fades(&mut self, fields: &Fields<'_>, clip: &Clip) {
        let text: String = match clip.length_s {
            None if clip.looped && clip.fade_out_s > 0.0 => {
                "fade_out_s has no effect: the clip loops without length_s, so it has no end".into()
            }
            Some(length) if clip.fade_in_s + clip.fade_out_s > length => {
                format!("the fades are longer than the clip's length_s = {length}: they overlap")
            }
            _ => return self.keep_fades(fields, clip),
        };
        self.warn(fields, &text);
    }

    /// The file may be shorter than the clip's `length_s`, or than its fades.
    fn keep_fades(&mut self, fields: &Fields<'_>, clip: &Clip) {
        let fades_s = clip.fade_in_s + clip.fade_out_s;
        if fades_s > 0.0 && !clip.looped && self.open_fades.len() < MAX_WARNINGS {
            let (span, media, offset_s) = (fields.span.clone(), clip.media, clip.offset_s);
            self.open_fades.push(OpenFade { span, media, offset_s, fades_s });
        }
    }

    fn warn(&mut self, fields: &Fields<'_>, text: &str) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(self.mistakes.source().warning(fields.span.clone(), text));
        }
    }
}
