//! Automation lanes of a strip: what they move, and their points.

use hocket_plan::session::{EffectAt, LaneSpec, LaneTarget, SendAt, Strip, StripId};
use hocket_plan::{EffectCatalogue, ParamSpec};
use hocket_time::{LanePoint, MAX_CURVE, Shape};
use toml::Spanned;
use toml::de::DeValue;

use crate::Span;
use crate::fields::{At, Fields, PlaceOrName, describe, number};
use crate::mistakes::Mistakes;
use crate::schema::{self, MAX_S};
use crate::song::time_base;
use crate::suggest::{list, nearest};

/// A strip whose lanes are read.
pub(crate) struct Automated<'a> {
    pub(crate) id: StripId,
    pub(crate) strip: &'a Strip,
    /// Whether all effects of the file are in its chain; else places say nothing.
    pub(crate) has_all_effects: bool,
    /// The same of its sends.
    pub(crate) has_all_sends: bool,
    /// The return of this name.
    pub(crate) find_return: &'a dyn Fn(&str) -> Option<usize>,
}

/// What moves, and what values it may have.
struct Moves {
    target: LaneTarget,
    min: f32,
    max: f32,
}

/// Reads a lane; reports what is wrong with it.
pub(crate) fn lane(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    of: &Automated<'_>,
    catalogue: &dyn EffectCatalogue,
) -> Option<(LaneTarget, LaneSpec)> {
    let reader = Reader { mistakes, fields, of, catalogue };
    let moves = reader.moves();
    let base = time_base(fields);
    let range = moves.as_ref().map(|moves| (moves.min, moves.max));
    let points = points(mistakes, fields, range);
    let mut lane = LaneSpec::new(base, points?);
    if let Some(grid) = fields.whole(&schema::GRID) {
        lane.grid_frames = u32::try_from(grid.value).unwrap_or(lane.grid_frames);
    }
    Some((moves?.target, lane))
}

/// Finds out what a lane moves.
struct Reader<'a> {
    mistakes: &'a Mistakes<'a>,
    fields: &'a Fields<'a>,
    of: &'a Automated<'a>,
    catalogue: &'a dyn EffectCatalogue,
}

impl Reader<'_> {
    fn moves(&self) -> Option<Moves> {
        let (fields, parameter) = (self.fields, self.fields.require_text(&schema::PARAMETER));
        match (fields.has(&schema::OF_EFFECT), fields.has(&schema::OF_SEND)) {
            (true, true) => {
                let cause =
                    "a lane moves something of an effect or of a send, and this one names both";
                let remedy = "keep one of the two; write another lane for the other";
                self.mistakes.report(fields.span_of(&schema::OF_SEND), cause, remedy);
                None
            }
            (true, false) => self.effect(parameter),
            (false, true) => self.send(parameter),
            (false, false) => self.strip(parameter?),
        }
    }

    fn strip(&self, parameter: At<&str>) -> Option<Moves> {
        let id = self.of.id;
        let moves = |target, (min, max)| Some(Moves { target, min, max });
        match parameter.value {
            "gain_db" => moves(LaneTarget::Gain(id), LEVELS),
            "pan" => moves(LaneTarget::Pan(id), (-1.0, 1.0)),
            "mute" => moves(LaneTarget::Mute(id), SWITCH),
            _ => {
                let known = ["gain_db", "pan", "mute"];
                self.unknown(parameter, "a strip", &known, "; for an effect name it: effect = 1")
            }
        }
    }

    fn send(&self, parameter: Option<At<&str>>) -> Option<Moves> {
        let index = self.send_index(self.fields.place_or_name(&schema::OF_SEND)?)?;
        let parameter = parameter?;
        if parameter.value != "gain_db" {
            return self.unknown(parameter, "a send", &["gain_db"], "");
        }
        let target = LaneTarget::Send(SendAt { strip: self.of.id, index });
        Some(Moves { target, min: LEVELS.0, max: LEVELS.1 })
    }

    fn send_index(&self, which: PlaceOrName<'_>) -> Option<usize> {
        let sends = &self.of.strip.sends;
        match which {
            PlaceOrName::Place(at) => self.place(at, sends.len(), self.of.has_all_sends, "sends"),
            PlaceOrName::Name(At { value: name, span }) => {
                let to = (self.of.find_return)(name);
                let mut places = (0..sends.len()).filter(|i| Some(sends[*i].to.0) == to);
                let found = (places.next(), places.next());
                self.only(found, self.of.has_all_sends, span, &format!("send to '{name}'"))
            }
        }
    }

    fn effect(&self, parameter: Option<At<&str>>) -> Option<Moves> {
        let index = self.effect_index(self.fields.place_or_name(&schema::OF_EFFECT)?)?;
        let (at, parameter) = (EffectAt { strip: self.of.id, index }, parameter?);
        if parameter.value == "bypass" {
            return Some(Moves { target: LaneTarget::Bypass(at), min: SWITCH.0, max: SWITCH.1 });
        }
        let kind = &self.of.strip.chain[index].kind;
        let params = self.catalogue.params(kind)?;
        let found = params.iter().position(|param| param.name == parameter.value);
        let Some(place) = found else {
            let free = params.iter().filter(|param| !param.fixed).map(|param| &*param.name);
            let names: Vec<&str> = free.chain(["bypass"]).collect();
            return self.unknown(parameter, &format!("'{kind}'"), &names, "");
        };
        let ParamSpec { min, max, fixed, .. } = params[place];
        if fixed {
            let cause = format!("'{}' of '{kind}' cannot change while it plays", parameter.value);
            let remedy = "set it in the effect's own table, once";
            self.mistakes.report(parameter.span, cause, remedy);
            return None;
        }
        Some(Moves { target: LaneTarget::Param(at, place), min, max })
    }

    fn effect_index(&self, which: PlaceOrName<'_>) -> Option<usize> {
        let (chain, has_all) = (&self.of.strip.chain, self.of.has_all_effects);
        match which {
            PlaceOrName::Place(at) => self.place(at, chain.len(), has_all, "effects"),
            PlaceOrName::Name(At { value: kind, span }) => {
                let mut places = (0..chain.len()).filter(|i| chain[*i].kind == kind);
                let found = (places.next(), places.next());
                self.only(found, has_all, span, &format!("effect of the kind '{kind}'"))
            }
        }
    }

    /// A place in a list of the strip.
    fn place(&self, at: At<usize>, length: usize, has_all: bool, what: &str) -> Option<usize> {
        if !has_all {
            return None;
        }
        if at.value < length {
            return Some(at.value);
        }
        let cause =
            format!("the strip has {length} {what}, so there is no number {}", at.value + 1);
        let remedy = format!("count the strip's {what} from 1, or name one");
        self.mistakes.report(at.span, cause, remedy);
        None
    }

    /// The one that is meant by a name: the first two of that name.
    fn only(
        &self,
        found: (Option<usize>, Option<usize>),
        has_all: bool,
        span: Span,
        what: &str,
    ) -> Option<usize> {
        if !has_all {
            return None;
        }
        let (cause, remedy) = match found {
            (Some(place), None) => return Some(place),
            (Some(_), Some(_)) => {
                (format!("the strip has more than one {what}"), "say which by its number, from 1")
            }
            _ => {
                let cause = format!("the strip has no {what}");
                (cause, "name one that it has, or say which by its number, from 1")
            }
        };
        self.mistakes.report(span, cause, remedy);
        None
    }

    fn unknown<T>(&self, name: At<&str>, of: &str, known: &[&str], more: &str) -> Option<T> {
        let all = list(known.iter().copied());
        let remedy = match nearest(name.value, known.iter().copied()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("write one of {all}{more}"),
        };
        let cause = format!("{of} has no parameter '{}' that could move", name.value);
        self.mistakes.report(name.span, cause, remedy);
        None
    }
}

/// Of faders and sends; the lowest is silence.
const LEVELS: (f32, f32) = (-200.0, 24.0);
/// Off and on.
const SWITCH: (f32, f32) = (0.0, 1.0);

/// The points of a lane; `None` where there are none that could play. `range`: of values, if it is known.
fn points(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    range: Option<(f32, f32)>,
) -> Option<Vec<LanePoint>> {
    let items = fields.require_items(&schema::POINTS)?;
    if items.is_empty() {
        let remedy = "give it at least one point, as in [[0, -6]], or remove the lane";
        mistakes.report(fields.span_of(&schema::POINTS), "the lane has no points", remedy);
        return None;
    }
    let mut points: Vec<LanePoint> = Vec::with_capacity(items.len());
    for item in items {
        let Some(point) = point(mistakes, item, range) else { continue };
        let before = points.last().map_or(0.0, |point| point.at);
        if point.at < before {
            let cause = format!("the point at {} comes behind the one at {before}", point.at);
            mistakes.report(item.span(), cause, "sort the points by time");
        } else {
            points.push(point);
        }
    }
    Some(points)
}

/// `[time, value]`, and maybe the way to the next.
fn point(
    mistakes: &Mistakes<'_>,
    item: &Spanned<DeValue<'_>>,
    range: Option<(f32, f32)>,
) -> Option<LanePoint> {
    let parts = item.get_ref().as_array().map(|parts| &parts[..]);
    let (at, value, way) = match parts {
        Some([at, value, way @ ..]) if way.len() <= 2 => (at, value, way),
        _ => {
            let cause = match parts {
                Some(parts) => format!("a point cannot have {} parts", parts.len()),
                None => format!("a point cannot be {}", describe(item.get_ref())),
            };
            let remedy = "write [time, value], [time, value, \"hold\"], [time, value, \"linear\"] or \
                          [time, value, \"curve\", bend]";
            mistakes.report(item.span(), cause, remedy);
            return None;
        }
    };
    let at = part(mistakes, at, "the time of a point", Some((0.0, MAX_S)));
    let range = range.map(|(min, max)| (f64::from(min), f64::from(max)));
    let value = part(mistakes, value, "the value of a point", range);
    let shape = shape(mistakes, way);
    Some(LanePoint { at: at?, value: value?, shape: shape? })
}

/// A number of a point, in its range.
fn part(
    mistakes: &Mistakes<'_>,
    found: &Spanned<DeValue<'_>>,
    what: &str,
    range: Option<(f64, f64)>,
) -> Option<f64> {
    let Some(value) = number(found.get_ref()) else {
        let cause = format!("{what} cannot be {}", describe(found.get_ref()));
        mistakes.report(found.span(), cause, "write a number");
        return None;
    };
    let (min, max) = range.unwrap_or((f64::from(f32::MIN), f64::from(f32::MAX)));
    // As the parameter is in f32, 0.98 written in the file must be one.
    let fits = (min..=max).contains(&value) || (min..=max).contains(&f64::from(value as f32));
    if fits {
        return Some(value);
    }
    let text = mistakes.source().text().get(found.span()).unwrap_or_default();
    let silence = if (min, max) == (-200.0, 24.0) { "; -200 is silence" } else { "" };
    let remedy = format!("write a number from {min} to {max}{silence}");
    mistakes.report(found.span(), format!("{what} is out of range: {text}"), remedy);
    None
}

/// The way to the next point: a line unless the point says something else.
fn shape(mistakes: &Mistakes<'_>, way: &[Spanned<DeValue<'_>>]) -> Option<Shape> {
    let Some((word, bend)) = way.split_first() else { return Some(Shape::Linear) };
    let shape = match (word.get_ref().as_str(), bend) {
        (Some("hold"), []) => Some(Shape::Hold),
        (Some("linear"), []) => Some(Shape::Linear),
        (Some("curve"), [bend]) => {
            let most = f64::from(MAX_CURVE);
            let bend = part(mistakes, bend, "the bend of a curve", Some((-most, most)))?;
            Some(Shape::Curve(bend as f32))
        }
        _ => None,
    };
    if shape.is_none() {
        let cause = match (word.get_ref().as_str(), bend.is_empty()) {
            (Some("curve"), _) => "a curve needs its bend".to_owned(),
            (Some("hold" | "linear"), _) => "only a curve has a bend".to_owned(),
            (Some(other), _) => format!("a point has no way '{other}' to the next"),
            (None, _) => {
                format!("the way to the next point cannot be {}", describe(word.get_ref()))
            }
        };
        let remedy = format!(
            "write \"hold\", \"linear\", or \"curve\" and a number from -{MAX_CURVE} to {MAX_CURVE}"
        );
        mistakes.report(word.span(), cause, remedy);
    }
    shape
}
