//! Tables of the file to the session model.

use hocket_plan::session::{
    Clip, Group, MediaId, Return, Send, Session, Strip, StripId, Tap, Track,
};
use hocket_plan::{Effect, EffectCatalogue};
use toml::de::DeTable;

use crate::error::SessionError;
use crate::fields::{At, Fields};
use crate::media::MediaList;
use crate::routing::{MASTER, Names};
use crate::schema::{self, MAX_COUNT};
use crate::source::Source;
use crate::{LoadOptions, Span, effects};

type Read<T> = Result<T, SessionError>;

/// What a file says.
pub(crate) struct Built {
    pub(crate) session: Session,
    pub(crate) warnings: Vec<String>,
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
) -> Read<Built> {
    let document = DeTable::parse(source.text()).map_err(|error| syntax(source, &error))?;
    let root = Fields::root(source, document.get_ref(), &schema::ROOT)?;
    let tracks = root.tables(&schema::TRACK, &schema::TRACK_TABLE)?;
    let groups = root.tables(&schema::GROUP, &schema::GROUP_TABLE)?;
    let returns = root.tables(&schema::RETURN, &schema::RETURN_TABLE)?;
    let facts = facts(source, &root)?;
    let media = MediaList::new(source, facts.resample);
    let (names, warnings, end_s) = (Names::new(source), Vec::new(), facts.length_s);
    let open_fades = Vec::new();
    let mut builder =
        Builder { source, catalogue, names, media, warnings, open_fades, parts: 0, end_s };
    // All names first: an output or a send may name a strip further down.
    let tracks = builder.named_tracks(tracks, options)?;
    let groups = builder.named(groups, StripId::Group)?;
    let returns = builder.named(returns, StripId::Return)?;
    let preview = match root.table(&schema::PREVIEW, &schema::PREVIEW_TABLE)? {
        Some(fields) => Some(fields.require_text(&schema::FILE)?),
        None => None,
    };
    let mut session = Session {
        name: facts.name,
        sample_rate_hz: facts.sample_rate_hz,
        length_s: facts.length_s,
        tracks: builder.tracks(tracks)?,
        groups: builder.groups(groups)?,
        returns: builder.returns(returns)?,
        master: builder.master(&root)?,
        preview: preview.map(|file| builder.media.id(file)).transpose()?,
        media: Vec::new(),
    };
    builder.names.refuse_circle(&session)?;
    let media_spans;
    let (warnings, open_fades) = (builder.warnings, builder.open_fades);
    (session.media, media_spans) = builder.media.finish();
    Ok(Built { session, warnings, media_spans, open_fades })
}

fn syntax(source: &Source, error: &toml::de::Error) -> SessionError {
    let cause =
        format!("this is not TOML: {}", error.message().lines().collect::<Vec<_>>().join(", "));
    let remedy = "correct it: a line is `key = value`, text stands in quotes, a table begins with \
                  [session] or [[track]]";
    source.error(error.span().unwrap_or(0..0), cause, remedy)
}

/// What `[session]` says.
struct Facts {
    name: String,
    sample_rate_hz: u32,
    length_s: Option<f64>,
    resample: bool,
}

fn facts(source: &Source, root: &Fields<'_>) -> Read<Facts> {
    let mut facts =
        Facts { name: source.stem(), sample_rate_hz: 48_000, length_s: None, resample: false };
    let Some(fields) = root.table(&schema::SESSION, &schema::SESSION_TABLE)? else {
        return Ok(facts);
    };
    if let Some(name) = fields.text(&schema::SESSION_NAME)? {
        facts.name = name.value.to_owned();
    }
    if let Some(rate) = fields.whole(&schema::SAMPLE_RATE)? {
        facts.sample_rate_hz = u32::try_from(rate.value).unwrap_or(facts.sample_rate_hz);
    }
    facts.length_s = fields.number(&schema::SESSION_LENGTH)?.map(|length| length.value);
    facts.resample = fields.flag(&schema::RESAMPLE)?;
    Ok(facts)
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
    source: &'a Source,
    catalogue: &'a dyn EffectCatalogue,
    names: Names<'a>,
    media: MediaList<'a>,
    warnings: Vec<String>,
    open_fades: Vec<OpenFade>,
    /// Strips, clips, effects and sends so far.
    parts: usize,
    /// Where the session ends, if it says so.
    end_s: Option<f64>,
}

/// Names.
impl<'a> Builder<'a> {
    fn named_tracks(
        &mut self,
        tables: Vec<Fields<'a>>,
        options: &LoadOptions,
    ) -> Read<Vec<Named<'a>>> {
        if tables.is_empty() {
            let remedy = "add [[track]] with a name and, below it, [[track.clip]] with a file";
            return Err(self.source.error(0..0, "the session has no tracks", remedy));
        }
        let mut counted = Vec::with_capacity(tables.len());
        for fields in tables {
            let copies = self.copies(&fields, options)?;
            self.count_parts(&fields, copies.unwrap_or(1))?;
            counted.push((fields, copies));
        }
        // Only now, so a file with far too many copies is refused before they all have names.
        let mut first = 0;
        let mut named = Vec::with_capacity(counted.len());
        for (fields, copies) in counted {
            let track = self.name(fields, copies, first, StripId::Track)?;
            first += track.names.len();
            named.push(track);
        }
        Ok(named)
    }

    fn named(
        &mut self,
        tables: Vec<Fields<'a>>,
        id: impl Fn(usize) -> StripId + Copy,
    ) -> Read<Vec<Named<'a>>> {
        let mut named = Vec::with_capacity(tables.len());
        for (first, fields) in tables.into_iter().enumerate() {
            self.count_parts(&fields, 1)?;
            named.push(self.name(fields, None, first, id)?);
        }
        Ok(named)
    }

    fn name(
        &mut self,
        fields: Fields<'a>,
        copies: Option<usize>,
        first: usize,
        id: impl Fn(usize) -> StripId,
    ) -> Read<Named<'a>> {
        let At { value: name, span } = fields.require_text(&schema::NAME)?;
        let names = match copies {
            None => vec![name.to_owned()],
            Some(copies) => (1..=copies).map(|copy| format!("{name} {copy}")).collect(),
        };
        for (copy, name) in names.iter().enumerate() {
            self.names.add(name, id(first + copy), span.clone())?;
        }
        Ok(Named { fields, names, first })
    }

    fn count_parts(&mut self, fields: &Fields<'_>, copies: usize) -> Read<()> {
        let lists = [&schema::CLIPS, &schema::EFFECTS, &schema::SENDS];
        let each: usize = 1 + lists.iter().map(|key| fields.length(key)).sum::<usize>();
        self.parts += each * copies;
        if self.parts <= MAX_PARTS {
            return Ok(());
        }
        let cause =
            format!("up to here the session has {} strips, clips, effects and sends", self.parts);
        let remedy = format!("use at most {MAX_PARTS} together, copies counted");
        Err(self.source.error(fields.span.clone(), cause, remedy))
    }

    /// How many copies of a track; `None` if the file does not say, and the name stays unchanged.
    fn copies(&self, fields: &Fields<'_>, options: &LoadOptions) -> Read<Option<usize>> {
        let key = &schema::COUNT;
        if !fields.is_text(key) {
            return Ok(fields.whole(key)?.and_then(|count| usize::try_from(count.value).ok()));
        }
        let Some(At { value, span }) = fields.text(key)? else { return Ok(None) };
        let Some(factor) = seat_factor(value) else {
            let remedy = format!("write {}", key.value.allowed());
            return Err(self.source.error(span, format!("'count' cannot be '{value}'"), remedy));
        };
        match factor.checked_mul(options.seats) {
            Some(count) if (1..=MAX_COUNT as usize).contains(&count) => Ok(Some(count)),
            _ => {
                let seats = options.seats;
                let cause = format!("count = \"{value}\" is out of range with {seats} seats");
                Err(self.source.error(span, cause, format!("make it 1 to {MAX_COUNT} in all")))
            }
        }
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
    fn tracks(&mut self, named: Vec<Named<'_>>) -> Read<Vec<Track>> {
        let mut tracks = Vec::new();
        for Named { fields, names, first } in named {
            let id = StripId::Track(first);
            let track = Track {
                strip: self.strip(&fields, id, String::new())?,
                output: self.names.output(id, fields.text(&schema::OUTPUT)?)?,
                clips: self.clips(&fields)?,
            };
            if track.clips.is_empty() {
                let text = format!("track '{}' has no clips: it is silent", names[0]);
                self.warn(&fields, &text);
            }
            tracks.extend(names.into_iter().map(|name| copy(&track, name)));
        }
        Ok(tracks)
    }

    fn groups(&mut self, named: Vec<Named<'_>>) -> Read<Vec<Group>> {
        let mut groups = Vec::new();
        for (index, Named { fields, mut names, .. }) in named.into_iter().enumerate() {
            let id = StripId::Group(index);
            let strip = self.strip(&fields, id, names.pop().unwrap_or_default())?;
            let output = self.names.output(id, fields.text(&schema::OUTPUT)?)?;
            groups.push(Group { strip, output });
        }
        Ok(groups)
    }

    fn returns(&mut self, named: Vec<Named<'_>>) -> Read<Vec<Return>> {
        let mut returns = Vec::new();
        for (index, Named { fields, mut names, .. }) in named.into_iter().enumerate() {
            let id = StripId::Return(index);
            let strip = self.strip(&fields, id, names.pop().unwrap_or_default())?;
            let output = self.names.output(id, fields.text(&schema::OUTPUT)?)?;
            returns.push(Return { strip, output });
        }
        Ok(returns)
    }

    fn master(&mut self, root: &Fields<'_>) -> Read<Strip> {
        match root.table(&schema::MASTER, &schema::MASTER_TABLE)? {
            Some(fields) => self.strip(&fields, StripId::Master, MASTER.to_owned()),
            None => Ok(silent_strip(MASTER.to_owned())),
        }
    }

    /// What all strips have; a key that the table's schema does not know is missing here too.
    fn strip(&mut self, fields: &Fields<'_>, id: StripId, name: String) -> Read<Strip> {
        Ok(Strip {
            name,
            chain: self.chain(fields)?,
            gain_db: fields.number_or_zero(&schema::GAIN)? as f32,
            pan: fields.number_or_zero(&schema::PAN)? as f32,
            mute: fields.flag(&schema::MUTE)?,
            solo: fields.flag(&schema::SOLO)?,
            sends: self.sends(fields, id)?,
        })
    }

    fn chain(&self, fields: &Fields<'_>) -> Read<Vec<Effect>> {
        effects::chain(self.source, fields, self.catalogue)
    }

    fn sends(&mut self, fields: &Fields<'_>, from: StripId) -> Read<Vec<Send>> {
        let tables = fields.tables(&schema::SENDS, &schema::SEND_TABLE)?;
        tables.iter().map(|send| self.send(send, from)).collect()
    }

    fn send(&mut self, fields: &Fields<'_>, from: StripId) -> Read<Send> {
        Ok(Send {
            to: self.names.send(from, fields.require_text(&schema::TO)?)?,
            gain_db: fields.number_or_zero(&schema::SEND_GAIN)? as f32,
            tap: match fields.choice(&schema::TAP)? {
                Some(0) => Tap::PreFader,
                _ => Tap::PostFader,
            },
        })
    }
}

fn copy(track: &Track, name: String) -> Track {
    let mut copy = track.clone();
    copy.strip.name = name;
    copy
}

fn silent_strip(name: String) -> Strip {
    Strip {
        name,
        chain: Vec::new(),
        gain_db: 0.0,
        pan: 0.0,
        mute: false,
        solo: false,
        sends: Vec::new(),
    }
}

/// Clips.
impl Builder<'_> {
    fn clips(&mut self, track: &Fields<'_>) -> Read<Vec<Clip>> {
        let tables = track.tables(&schema::CLIPS, &schema::CLIP_TABLE)?;
        tables.iter().map(|fields| self.clip(fields)).collect()
    }

    fn clip(&mut self, fields: &Fields<'_>) -> Read<Clip> {
        let clip = Clip {
            media: self.media.id(fields.require_text(&schema::FILE)?)?,
            start_s: fields.number_or_zero(&schema::START)?,
            offset_s: fields.number_or_zero(&schema::OFFSET)?,
            length_s: fields.number(&schema::CLIP_LENGTH)?.map(|length| length.value),
            looped: fields.flag(&schema::LOOP)?,
            gain_db: fields.number_or_zero(&schema::CLIP_GAIN)? as f32,
            fade_in_s: fields.number_or_zero(&schema::FADE_IN)?,
            fade_out_s: fields.number_or_zero(&schema::FADE_OUT)?,
        };
        self.warn_of_fades(fields, &clip);
        if self.end_s.is_some_and(|end| clip.start_s >= end) {
            self.warn(
                fields,
                "the clip starts after the session's length_s: no render includes it",
            );
        }
        Ok(clip)
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
            self.warnings.push(self.source.warning(fields.span.clone(), text));
        }
    }
}
