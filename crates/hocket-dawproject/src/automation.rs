//! Points of automation become lanes of the session.

use std::collections::{HashMap, HashSet};

use hocket_plan::session::{Automation, EffectAt, LaneSpec, LaneTarget, SendAt, Session, StripId};
use hocket_plan::{EffectCatalogue, ParamSpec};
use hocket_time::{LanePoint, MAX_CURVE, Shape};

use crate::arrangement::PointsAt;
use crate::levels::{Convert, LOUDEST_DB, Quantity, SILENCE_DB};
use crate::remarks::Remarks;
use crate::xml::{Element, Read, Xml, child, elements, flag};

/// What a session file holds.
const MAX_POINTS: usize = 1_000_000;
/// How often a way between two points is halved.
const MAX_HALVINGS: u32 = 24;
/// Decibels that a lane may miss a level by. Nobody hears a hundred times as much.
const LEVEL_TOLERANCE_DB: f64 = 1e-4;
/// Levels below are all alike.
const INAUDIBLE_DB: f64 = -140.0;
/// The last second or beat of a session file.
const LAST: f64 = 1_000_000.0;

/// What a parameter of the project moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Moved {
    /// A strip's fader.
    Gain(StripId),
    /// A strip's pan.
    Pan(StripId),
    /// A strip's mute.
    Mute(StripId),
    /// A send's level.
    Send(SendAt),
    /// An effect's parameter.
    Param(EffectAt, usize, Quantity),
    /// Whether an effect is on.
    Enabled(EffectAt),
}

/// By the id of the parameter: equalisers move several sections with one.
pub(crate) type Targets<'a> = HashMap<&'a str, Vec<Moved>>;

/// All lanes of the project.
pub(crate) fn lanes(
    xml: &Xml<'_>,
    points: &[PointsAt<'_>],
    targets: &Targets<'_>,
    catalogue: &dyn EffectCatalogue,
    session: &mut Session,
    remarks: &mut Remarks,
) -> Read<()> {
    let mut count = 0;
    let mut taken = HashSet::new();
    for PointsAt { element, base } in points {
        let target = child(element, "Target");
        let id = target.and_then(|target| target.attribute("parameter"));
        let moved = id.and_then(|id| targets.get(id));
        let Some(moved) = moved else {
            tell_left_out(xml, element, id, remarks);
            continue;
        };
        for moved in moved {
            let target = lane_target(*moved);
            if !taken.insert(target) {
                remarks.add(element, "a second lane of one parameter", "is left out");
                continue;
            }
            let lane = lane(xml, element, *moved, session, catalogue)?;
            if lane.is_empty() {
                continue;
            }
            count += lane.len();
            if count > MAX_POINTS {
                let cause = format!("more than {MAX_POINTS} points of automation");
                return Err(xml.error(element, cause, "thin the automation out, and export again"));
            }
            session.automation.push(Automation { target, lane: LaneSpec::new(*base, lane) });
        }
    }
    Ok(())
}

fn tell_left_out(xml: &Xml<'_>, points: &Element<'_>, id: Option<&str>, remarks: &mut Remarks) {
    // Without points nothing moves.
    if !elements(points).any(|point| point.tag_name().name().ends_with("Point")) {
        return;
    }
    let parameter = id.and_then(|id| xml.by_id(id));
    let what = match parameter {
        Some(parameter) => format!("automation of {}", crate::xml::called(&parameter)),
        None if id.is_some() => "automation of a parameter that is not there".to_owned(),
        None => automation_of_expression(points),
    };
    remarks.add(points, what, "is left out");
}

fn automation_of_expression(points: &Element<'_>) -> String {
    let target = child(points, "Target");
    let of =
        |name: &str| target.and_then(|target| target.attribute(name)).map(crate::media::shortened);
    match (of("expression"), of("controller")) {
        (Some(expression), Some(number)) if expression == "channelController" => {
            format!("automation of the MIDI controller {number}")
        }
        (Some(expression), _) => format!("automation of the expression '{expression}'"),
        (None, _) => "automation of an expression".to_owned(),
    }
}

fn lane_target(moved: Moved) -> LaneTarget {
    match moved {
        Moved::Gain(strip) => LaneTarget::Gain(strip),
        Moved::Pan(strip) => LaneTarget::Pan(strip),
        Moved::Mute(strip) => LaneTarget::Mute(strip),
        Moved::Send(send) => LaneTarget::Send(send),
        Moved::Param(effect, param, _) => LaneTarget::Param(effect, param),
        Moved::Enabled(effect) => LaneTarget::Bypass(effect),
    }
}

/// A value of the project: where, what, and whether it moves on in a straight line.
#[derive(Debug, Clone, Copy)]
struct Raw {
    at: f64,
    value: f64,
    is_line: bool,
}

fn lane(
    xml: &Xml<'_>,
    element: &Element<'_>,
    moved: Moved,
    session: &Session,
    catalogue: &dyn EffectCatalogue,
) -> Read<Vec<LanePoint>> {
    let spec = |at: EffectAt, param: usize| -> Option<ParamSpec> {
        let effect = session.strip(at.strip).chain.get(at.index)?;
        catalogue.params(&effect.kind)?.into_iter().nth(param)
    };
    let raw = raw_points(xml, element, moved)?;
    let parameter = child(element, "Target").and_then(|target| target.attribute("parameter"));
    let parameter = parameter.and_then(|id| xml.by_id(id));
    // The points have a unit of their own, which need not be the parameter's.
    let convert = |quantity: Quantity| {
        let unit = element.attribute("unit");
        parameter.map_or(Convert::SAME, |parameter| quantity.convert_in(&parameter, unit))
    };
    let scale = match moved {
        Moved::Gain(_) | Moved::Send(_) => Scale {
            convert: convert(Quantity::Level),
            min: SILENCE_DB,
            max: LOUDEST_DB,
            is_level: true,
        },
        Moved::Pan(_) => {
            Scale { convert: convert(Quantity::Pan), min: -1.0, max: 1.0, is_level: false }
        }
        Moved::Param(at, param, quantity) => match spec(at, param) {
            Some(spec) => Scale {
                convert: convert(quantity),
                min: f64::from(spec.min),
                max: f64::from(spec.max),
                is_level: spec.name.ends_with("_db"),
            },
            None => return Ok(Vec::new()),
        },
        Moved::Mute(_) => Scale { convert: Convert::SAME, min: 0.0, max: 1.0, is_level: false },
        Moved::Enabled(_) => {
            let convert = Convert::Affine { factor: -1.0, offset: 1.0 };
            Scale { convert, min: 0.0, max: 1.0, is_level: false }
        }
    };
    Ok(scale.points(&raw))
}

fn raw_points(xml: &Xml<'_>, element: &Element<'_>, moved: Moved) -> Read<Vec<Raw>> {
    let mut raw = Vec::new();
    for point in elements(element) {
        let value = match point.tag_name().name() {
            "BoolPoint" => f64::from(u8::from(flag(&point, "value", false))),
            "RealPoint" | "IntegerPoint" | "EnumPoint" | "Point" => {
                match xml.number_or_infinity(&point, "value")? {
                    Some(value) => value,
                    None => continue,
                }
            }
            _ => continue,
        };
        let at = xml.required_number(&point, "time")?;
        let is_switch = matches!(moved, Moved::Mute(_) | Moved::Enabled(_));
        let is_line = point.attribute("interpolation") == Some("linear") && !is_switch;
        raw.push(Raw { at, value, is_line });
    }
    raw.sort_by(|a, b| a.at.total_cmp(&b.at));
    Ok(from_the_start(raw))
}

/// Points before the start become one there, with the value that they have led to.
fn from_the_start(mut raw: Vec<Raw>) -> Vec<Raw> {
    let behind = raw.partition_point(|point| point.at <= 0.0);
    if let Some(before) = behind.checked_sub(1) {
        raw.drain(..before);
        let from = raw[0];
        raw[0].at = 0.0;
        if let Some(to) = raw.get(1).filter(|_| from.is_line && from.at < 0.0) {
            let value = from.value + (to.value - from.value) * (-from.at / (to.at - from.at));
            raw[0].value = if value.is_nan() { from.value } else { value };
        }
    }
    raw.iter_mut().for_each(|point| point.at = point.at.min(LAST));
    raw
}

/// The values of one parameter.
struct Scale {
    convert: Convert,
    min: f64,
    max: f64,
    is_level: bool,
}

impl Scale {
    fn value(&self, raw: f64) -> f64 {
        let value = self.convert.value(raw).max(self.min).min(self.max);
        // Values of effects are single precision, and so are the ends of their ranges.
        if value.is_nan() { self.min } else { value }
    }

    fn points(&self, raw: &[Raw]) -> Vec<LanePoint> {
        let mut points = Vec::with_capacity(raw.len());
        for (index, from) in raw.iter().enumerate() {
            let next = raw.get(index + 1).filter(|next| from.is_line && next.at > from.at);
            match next {
                Some(to) => self.way(*from, *to, MAX_HALVINGS, &mut points),
                None => {
                    let shape = if from.is_line { Shape::Linear } else { Shape::Hold };
                    points.push(LanePoint { at: from.at, value: self.value(from.value), shape });
                }
            }
        }
        points
    }

    /// A way that is straight in the project's unit, in as many curves as it takes in the session's.
    fn way(&self, from: Raw, to: Raw, halvings: u32, points: &mut Vec<LanePoint>) {
        let (first, last) = (self.value(from.value), self.value(to.value));
        let at = from.at;
        if matches!(self.convert, Convert::Affine { .. })
            && self.is_inside(from)
            && self.is_inside(to)
            || first == last
        {
            points.push(LanePoint { at, value: first, shape: Shape::Linear });
            return;
        }
        let between = |share: f64| from.value + (to.value - from.value) * share;
        let shape = curve(first, self.value(between(0.5)), last);
        let fits =
            |share: f64| self.is_near(self.value(between(share)), along(first, last, shape, share));
        if halvings == 0 || [0.125, 0.25, 0.5, 0.75, 0.875].into_iter().all(fits) {
            points.push(LanePoint { at, value: first, shape });
            return;
        }
        let middle = Raw { at: (from.at + to.at) / 2.0, value: between(0.5), is_line: true };
        // Positions that are too near for numbers between them.
        let is_between = middle.at > from.at && middle.at < to.at;
        if !is_between || !middle.value.is_finite() {
            points.push(LanePoint { at, value: first, shape: Shape::Linear });
            return;
        }
        self.way(from, middle, halvings - 1, points);
        self.way(middle, to, halvings - 1, points);
    }

    fn is_inside(&self, raw: Raw) -> bool {
        let value = self.convert.value(raw.value);
        value >= self.min && value <= self.max
    }

    fn is_near(&self, a: f64, b: f64) -> bool {
        match self.is_level {
            true => (a - b).abs() <= LEVEL_TOLERANCE_DB || a.max(b) < INAUDIBLE_DB,
            false => (a - b).abs() <= 1e-6 * (a.abs() + b.abs()),
        }
    }
}

/// The curve through three values of which the second is half way.
fn curve(first: f64, middle: f64, last: f64) -> Shape {
    let share = (middle - first) / (last - first);
    let bend = (2.0 * ((1.0 - share) / share).ln()) as f32;
    match bend.is_finite() && bend.abs() > 1e-4 {
        true => Shape::Curve(bend.clamp(-MAX_CURVE, MAX_CURVE)),
        false => Shape::Linear,
    }
}

/// Where a lane is at a share of the way.
fn along(first: f64, last: f64, shape: Shape, share: f64) -> f64 {
    let part = match shape {
        Shape::Hold => 0.0,
        Shape::Linear => share,
        Shape::Curve(bend) => {
            let bend = f64::from(bend);
            (bend * share).exp_m1() / bend.exp_m1()
        }
    };
    first + (last - first) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(
        convert: Convert,
        min: f64,
        max: f64,
        is_level: bool,
        raw: &[(f64, f64)],
    ) -> Vec<LanePoint> {
        let raw: Vec<Raw> =
            raw.iter().map(|(at, value)| Raw { at: *at, value: *value, is_line: true }).collect();
        Scale { convert, min, max, is_level }.points(&raw)
    }

    fn value_at(points: &[LanePoint], at: f64) -> f64 {
        let behind = points.partition_point(|point| point.at <= at);
        let from = points[behind - 1];
        let Some(to) = points.get(behind) else { return from.value };
        along(from.value, to.value, from.shape, (at - from.at) / (to.at - from.at))
    }

    #[test]
    fn a_straight_line_of_factors_stays_one_in_decibels() {
        let lane =
            points(Convert::LINEAR, -200.0, 24.0, true, &[(0.0, 1.0), (1.5, 0.354813), (4.0, 0.0)]);
        assert!(lane.len() < 400, "{}", lane.len());
        for step in 0..4000 {
            let at = f64::from(step) / 1000.0;
            let wanted = match at < 1.5 {
                true => 1.0 + (0.354813 - 1.0) * at / 1.5,
                false => 0.354813 * (1.0 - (at - 1.5) / 2.5),
            };
            let got = 10.0_f64.powf(value_at(&lane, at) / 20.0);
            assert!((got - wanted).abs() < 2e-5, "{at}: {got} {wanted}");
        }
    }

    #[test]
    fn a_line_of_semitones_is_one_curve_of_hertz() {
        let lane = points(Convert::Hertz, 10.0, 24_000.0, false, &[(0.0, 57.0), (1.0, 81.0)]);
        assert_eq!(lane.len(), 2);
        assert!((value_at(&lane, 0.5) - 440.0).abs() < 1e-2);
    }

    #[test]
    fn a_line_that_begins_before_the_start_is_cut_there() {
        let raw = |at: f64, value: f64, is_line: bool| Raw { at, value, is_line };
        let cut = from_the_start(vec![
            raw(-9.0, 7.0, true),
            raw(-1.0, 0.0, true),
            raw(3.0, 1.0, true),
            raw(4.0, 0.0, true),
        ]);
        let got: Vec<(f64, f64)> = cut.iter().map(|raw| (raw.at, raw.value)).collect();
        assert_eq!(got, [(0.0, 0.25), (3.0, 1.0), (4.0, 0.0)]);
        let held = from_the_start(vec![raw(-1.0, 0.5, false), raw(3.0, 1.0, true)]);
        assert_eq!((held[0].at, held[0].value), (0.0, 0.5));
    }

    #[test]
    fn steps_stay_steps() {
        let raw = [
            Raw { at: 0.0, value: 0.0, is_line: false },
            Raw { at: 2.0, value: 1.0, is_line: false },
        ];
        let lane =
            Scale { convert: Convert::SAME, min: 0.0, max: 1.0, is_level: false }.points(&raw);
        let expected = [(0.0, 0.0), (2.0, 1.0)];
        let got: Vec<(f64, f64)> = lane.iter().map(|point| (point.at, point.value)).collect();
        assert_eq!(got, expected);
        assert!(lane.iter().all(|point| point.shape == Shape::Hold));
    }
}
