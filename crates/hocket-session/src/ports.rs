//! What the host brings into the engine, what it reads beside the master, and what is recorded.

use std::collections::HashMap;

use hocket_plan::session::{
    Alignment, EventsOf, Input, InputId, Output, StripId, TakeFrom, TakeSpec, Tap, Track,
};

use crate::Span;
use crate::fields::{At, Fields};
use crate::mistakes::Mistakes;
use crate::routing::{MASTER, Names};
use crate::schema::{self, Key};
use crate::suggest::{list, nearest};

/// The inputs by name.
pub(crate) struct Inputs<'a> {
    mistakes: &'a Mistakes<'a>,
    pub(crate) list: Vec<Input>,
    ids: HashMap<String, InputId>,
    /// One has no name that can be read, so an unknown name may be its own.
    incomplete: bool,
}

impl<'a> Inputs<'a> {
    pub(crate) fn read(mistakes: &'a Mistakes<'a>, root: &Fields<'_>) -> Inputs<'a> {
        let mut inputs =
            Inputs { mistakes, list: Vec::new(), ids: HashMap::new(), incomplete: false };
        let tables = root.tables(&schema::INPUTS, &schema::INPUT_TABLE);
        inputs.incomplete = tables.len() < root.length(&schema::INPUTS);
        for fields in &tables {
            inputs.add(fields);
        }
        inputs
    }

    fn add(&mut self, fields: &Fields<'_>) {
        let channels = fields.whole(&schema::CHANNELS).map_or(2, |channels| channels.value);
        let channels = u16::try_from(channels).unwrap_or(2);
        let events = fields.flag(&schema::INPUT_EVENTS, false);
        let latency = fields.whole(&schema::INPUT_LATENCY).map_or(0, |latency| latency.value);
        let latency_frames = u32::try_from(latency).unwrap_or(0);
        let Some(At { value: name, span }) = fields.require_text(&schema::INPUT_NAME) else {
            self.incomplete = true;
            return;
        };
        if self.ids.contains_key(name) {
            report_taken(self.mistakes, name, span, "input");
            return;
        }
        if self.list.len() == MOST {
            let remedy = "use fewer inputs";
            self.mistakes.report(span, format!("more than {MOST} inputs"), remedy);
            self.incomplete = true;
            return;
        }
        self.ids.insert(name.to_owned(), InputId(self.list.len()));
        self.list.push(Input { name: name.to_owned(), channels, events, latency_frames });
    }

    /// The input that a track plays. A strip has two channels, so a wider input does not fit.
    pub(crate) fn played(&self, name: At<&str>) -> Option<InputId> {
        let span = name.span.clone();
        let id = self.find(name)?;
        let Input { name: input, channels, .. } = &self.list[id.0];
        if *channels <= 2 {
            return Some(id);
        }
        let cause = format!("a track has 2 channels, and the input '{input}' has {channels}");
        let remedy = "record it with [[take]]; for tracks, split it into inputs of 1 or 2 channels";
        self.mistakes.report(span, cause, remedy);
        None
    }

    /// The input of a name.
    pub(crate) fn find(&self, name: At<&str>) -> Option<InputId> {
        if let Some(id) = self.ids.get(name.value) {
            return Some(*id);
        }
        if self.incomplete {
            return None;
        }
        let known = || self.list.iter().map(|input| input.name.as_str());
        let remedy = match nearest(name.value, known()) {
            _ if self.list.is_empty() => {
                "the session has no inputs: add [[input]] with a name".into()
            }
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("the inputs are {}", list(known())),
        };
        let cause = format!("the input '{}' does not exist", name.value);
        self.mistakes.report(name.span, cause, remedy);
        None
    }
}

/// More have no numbers in the engine, or nobody's machine has them.
const MOST: usize = 1024;

fn report_taken(mistakes: &Mistakes<'_>, name: &str, span: Span, what: &str) {
    let cause = format!("'{name}' is already the name of another {what}");
    mistakes.report(span, cause, format!("choose another name: each {what} has its own"));
}

/// `pre` or `post`.
pub(crate) fn tap(fields: &Fields<'_>, key: &Key) -> Tap {
    match fields.choice(key) {
        Some(0) => Tap::PreFader,
        _ => Tap::PostFader,
    }
}

/// What the host reads beside the master.
pub(crate) fn outputs(
    mistakes: &Mistakes<'_>,
    root: &Fields<'_>,
    names: &Names<'_>,
) -> Vec<Output> {
    let mut outputs: Vec<Output> = Vec::new();
    for fields in root.tables(&schema::OUTPUTS, &schema::OUTPUT_TABLE) {
        let name = fields.require_text(&schema::OUTPUT_NAME);
        let from = fields.require_text(&schema::FROM);
        let from = from.and_then(|from| names.any(from, "strip"));
        let tap = tap(&fields, &schema::OUTPUT_TAP);
        let Some(At { value: name, span }) = name else { continue };
        if name == MASTER || outputs.iter().any(|output| output.name == name) {
            report_taken(mistakes, name, span, "output");
        } else if outputs.len() == MOST {
            mistakes.report(span, format!("more than {MOST} outputs"), "use fewer outputs");
        } else if let Some(from) = from {
            outputs.push(Output { name: name.to_owned(), from, tap });
        }
    }
    outputs
}

/// What is recorded.
pub(crate) fn takes(
    mistakes: &Mistakes<'_>,
    root: &Fields<'_>,
    (names, inputs): (&Names<'_>, &Inputs<'_>),
    tracks: &[Track],
) -> Vec<TakeSpec> {
    let known = (inputs, tracks);
    let mut takes: Vec<TakeSpec> = Vec::new();
    for fields in root.tables(&schema::TAKES, &schema::TAKE_TABLE) {
        let file = fields.require_text(&schema::TAKE_FILE);
        let armed = fields.flag(&schema::ARMED, true);
        let tap = tap(&fields, &schema::OUTPUT_TAP);
        let (align, offset_frames) = (alignment(&fields), offset_frames(&fields));
        let from = match (fields.has(&schema::TAKE_FROM), fields.has(&schema::TAKE_INPUT)) {
            (true, true) => {
                let cause = "a take records a strip or an input, and this one names both";
                let remedy = "keep one of the two; write another [[take]] for the other";
                mistakes.report(fields.span_of(&schema::TAKE_INPUT), cause, remedy);
                None
            }
            (false, true) => take_of_input(mistakes, &fields, inputs),
            (_, false) => {
                let from = fields.require_text(&schema::TAKE_FROM);
                let from = from.and_then(|from| names.any(from, "strip"));
                from.map(|strip| TakeFrom::Strip(strip, tap))
            }
        };
        let (Some(from), Some(At { value: file, span })) = (from, file) else { continue };
        let Some(from) = of_file(mistakes, &fields, from, file, known) else { continue };
        let file = mistakes.source().folder().join(file).components().collect();
        if takes.iter().any(|take| take.file == file) {
            let cause = "an earlier take is recorded to the same file";
            mistakes.report(span, cause, "name another file");
        } else if takes.len() == MOST {
            mistakes.report(span, format!("more than {MOST} takes"), "use fewer takes");
        } else {
            let align = align.unwrap_or(from.usual_alignment());
            takes.push(TakeSpec { from, file, armed, align, offset_frames });
        }
    }
    takes
}

/// `song` or `none`. `None`: as is usual.
fn alignment(fields: &Fields<'_>) -> Option<Alignment> {
    fields.choice(&schema::ALIGN).map(|place| match place {
        0 => Alignment::Song,
        _ => Alignment::Arrival,
    })
}

fn offset_frames(fields: &Fields<'_>) -> i32 {
    let offset = fields.whole(&schema::OFFSET_FRAMES).map_or(0, |offset| offset.value);
    i32::try_from(offset).unwrap_or(0)
}

/// What a take records into a file of this name: into a MIDI file, events.
fn of_file(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    from: TakeFrom,
    file: &str,
    (inputs, tracks): (&Inputs<'_>, &[Track]),
) -> Option<TakeFrom> {
    if !TakeSpec::holds_events(file.as_ref()) {
        return Some(from);
    }
    let takes_events = |id: InputId| inputs.list[id.0].events;
    let refused = |key: &Key, cause: &str, remedy: &str| {
        mistakes.report(fields.span_of(key), cause, remedy);
        None
    };
    match from {
        TakeFrom::Strip(..) if fields.has(&schema::OUTPUT_TAP) => {
            refused(&schema::OUTPUT_TAP, "notes have no fader, and so no tap", "take the tap out")
        }
        TakeFrom::Strip(StripId::Track(index), _) => {
            // A track that could not be read as a whole may have notes.
            let track = tracks.get(index)?;
            let has_events = !track.notes.is_empty() || track.input.is_some_and(takes_events);
            match has_events {
                true => Some(TakeFrom::Events(EventsOf::Track(index))),
                false if mistakes.count() > 0 => None,
                false => refused(
                    &schema::TAKE_FROM,
                    "the track has no notes, and no input that takes events",
                    "record audio (.wav or .flac), or add [[track.notes]] or an input with events = true",
                ),
            }
        }
        TakeFrom::Input(id) if takes_events(id) => Some(TakeFrom::Events(EventsOf::Input(id))),
        TakeFrom::Input(_) => refused(
            &schema::TAKE_INPUT,
            "the input takes no events",
            "record audio (.wav or .flac), or add events = true to the [[input]]",
        ),
        _ => refused(
            &schema::TAKE_FROM,
            "only tracks and inputs have notes",
            "record audio (.wav or .flac), or name a track or an input",
        ),
    }
}

fn take_of_input(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    inputs: &Inputs<'_>,
) -> Option<TakeFrom> {
    let input = inputs.find(fields.text(&schema::TAKE_INPUT)?)?;
    if fields.has(&schema::OUTPUT_TAP) {
        let cause = "an input has no fader, and so no tap";
        mistakes.report(fields.span_of(&schema::OUTPUT_TAP), cause, "take the tap out");
    }
    Some(TakeFrom::Input(input))
}
