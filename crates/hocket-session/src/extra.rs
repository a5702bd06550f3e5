//! Tracks that play extra outputs of plug-ins.

use std::ops::Range;

use hocket_plan::EffectCatalogue;
use hocket_plan::session::{EffectAt, OutputAt, Session, Strip, StripId, Track};

use crate::Span;
use crate::fields::{At, Fields};
use crate::mistakes::Mistakes;
use crate::routing::Names;
use crate::schema;
use crate::suggest::{list, nearest};

/// What a track and its copies are to play. The strip may come further down in the file.
pub(crate) struct Wanted {
    tracks: Range<usize>,
    strip: At<String>,
    output: At<String>,
}

impl Wanted {
    /// What a track says. `tracks`: its index and those of its copies.
    pub(crate) fn read(
        mistakes: &Mistakes<'_>,
        fields: &Fields<'_>,
        tracks: Range<usize>,
    ) -> Option<Wanted> {
        let has = [&schema::TRACK_FROM, &schema::FROM_OUTPUT].map(|key| fields.has(key));
        match has {
            [true, false] => {
                let cause = "from is there without from_output";
                let remedy =
                    "add from_output = \"...\", the extra output of a plug-in on that strip";
                mistakes.report(fields.span_of(&schema::TRACK_FROM), cause, remedy);
            }
            [false, true] => {
                let cause = "from_output is there without from";
                let remedy = "add from = \"...\", the name of the strip with the plug-in";
                mistakes.report(fields.span_of(&schema::FROM_OUTPUT), cause, remedy);
            }
            _ => {}
        }
        let owned = |at: At<&str>| At { value: at.value.to_owned(), span: at.span };
        let strip = fields.text(&schema::TRACK_FROM).map(owned);
        let output = fields.text(&schema::FROM_OUTPUT).map(owned);
        Some(Wanted { tracks, strip: strip?, output: output? })
    }
}

/// Finds what the tracks are to play, once all strips are there.
pub(crate) struct Finder<'r, 'a> {
    pub(crate) mistakes: &'r Mistakes<'a>,
    pub(crate) catalogue: &'r dyn EffectCatalogue,
    pub(crate) names: &'r mut Names<'a>,
    /// An effect is wrong and left out, so an unknown output may be its own.
    pub(crate) incomplete: bool,
}

impl Finder<'_, '_> {
    pub(crate) fn find(&mut self, session: &mut Session, wanted: Vec<Wanted>) {
        for Wanted { tracks, strip, output } in wanted {
            let strip = At { value: strip.value.as_str(), span: strip.span };
            let readers = tracks.clone().map(StripId::Track);
            let Some(strip) = self.names.source(strip, readers) else { continue };
            let from = self.output(session, strip, &output);
            let tracks = session.tracks.get_mut(tracks).unwrap_or_default();
            tracks.iter_mut().for_each(|track: &mut Track| track.from = from);
        }
    }

    fn output(&self, session: &Session, id: StripId, wanted: &At<String>) -> Option<OutputAt> {
        let strip = strip(session, id)?;
        let mut found = Vec::new();
        let mut known: Vec<String> = Vec::new();
        for (index, effect) in strip.chain.iter().enumerate() {
            let effect_at = EffectAt { strip: id, index };
            for (index, output) in
                self.catalogue.extra_outputs(&effect.kind).into_iter().enumerate()
            {
                if output.name == wanted.value {
                    found.push(OutputAt { effect: effect_at, index });
                }
                known.push(output.name);
            }
        }
        match found[..] {
            [found] => Some(found),
            [] if self.incomplete => None,
            [] => self.report_unknown(&strip.name, wanted, &known),
            _ => {
                let cause = format!(
                    "'{}' has several effects with an extra output '{}'",
                    strip.name, wanted.value
                );
                let remedy = "put each of them on a strip of its own";
                self.report(&wanted.span, cause, remedy)
            }
        }
    }

    fn report_unknown(
        &self,
        strip: &str,
        wanted: &At<String>,
        known: &[String],
    ) -> Option<OutputAt> {
        if self.mistakes.is_full() {
            return self.report(&wanted.span, String::new(), "");
        }
        if known.is_empty() {
            let cause = format!("no effect of '{strip}' has an extra output");
            let remedy = "take from and from_output out: only plug-ins have extra outputs, which `hocket plugin info` lists";
            return self.report(&wanted.span, cause, remedy);
        }
        let names = || known.iter().map(String::as_str);
        let all = format!("the extra outputs of '{strip}' are {}", list(names()));
        let remedy = match nearest(&wanted.value, names()) {
            Some(near) => format!("did you mean '{near}'? {all}"),
            None => all,
        };
        let cause = format!("'{strip}' has no extra output '{}'", wanted.value);
        self.report(&wanted.span, cause, &remedy)
    }

    fn report<T>(&self, span: &Span, cause: String, remedy: &str) -> Option<T> {
        self.mistakes.report(span.clone(), cause, remedy);
        None
    }
}

/// A strip may be missing where there are too many.
fn strip(session: &Session, id: StripId) -> Option<&Strip> {
    match id {
        StripId::Track(index) => session.tracks.get(index).map(|track| &track.strip),
        StripId::Group(index) => session.groups.get(index).map(|group| &group.strip),
        StripId::Return(index) => session.returns.get(index).map(|back| &back.strip),
        StripId::Master => Some(&session.master),
    }
}
