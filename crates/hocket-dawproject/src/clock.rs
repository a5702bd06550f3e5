//! Tempos and time signatures of a project, and places in its timelines.

use hocket_plan::session::SongTime;
use hocket_time::{Glide, MeterPoint, TEMPO_BPM, TempoMap, TempoPoint, TimeBase, TimeSignature};

use crate::remarks::Remarks;
use crate::xml::{Element, Read, Xml, child, elements, head, time_unit};

/// The tempo of a project that says nothing of it.
const USUAL_BPM: f64 = 120.0;
/// Beats beyond which nothing of a song lies.
const MAX_BEATS: f64 = hocket_time::MAX_POINT_BEATS;

/// Tempos and time signatures, as the session says them.
pub(crate) fn song_time(
    xml: &Xml<'_>,
    project: &Element<'_>,
    remarks: &mut Remarks,
) -> Read<SongTime> {
    let transport = child(project, "Transport");
    let arrangement = child(project, "Arrangement");
    let tempo = transport.and_then(|transport| child(&transport, "Tempo"));
    let first = match tempo {
        Some(tempo) => Some(bpm(xml, &tempo, xml.number(&tempo, "value")?.unwrap_or(USUAL_BPM))?),
        None => None,
    };
    let automation = arrangement.and_then(|around| child(&around, "TempoAutomation"));
    let mut tempos = match automation {
        Some(points) => moving_tempos(xml, &points, remarks)?,
        None => Vec::new(),
    };
    if tempos.is_empty() {
        tempos.extend(first.map(|bpm| TempoPoint::step(0.0, bpm)));
    }
    let signature = transport.and_then(|transport| child(&transport, "TimeSignature"));
    let mut meters = Vec::new();
    if let Some(meter) = signature.and_then(|signature| meter(&signature, 0.0, remarks)) {
        meters.push(meter);
    }
    if let Some(points) = arrangement.and_then(|around| child(&around, "TimeSignatureAutomation")) {
        moving_meters(xml, &points, &mut meters, remarks)?;
    }
    Ok(SongTime { tempos, meters, repeat: None })
}

fn bpm(xml: &Xml<'_>, element: &Element<'_>, bpm: f64) -> Read<f64> {
    match TEMPO_BPM.contains(&bpm) {
        true => Ok(bpm),
        false => {
            let (least, most) = (TEMPO_BPM.start(), TEMPO_BPM.end());
            let cause = format!("a tempo of {bpm} beats per minute");
            let remedy =
                format!("choose a tempo from {least} to {most} and export the project again");
            let value = element.attribute_node("value");
            let span = value.map_or(head(element), |value| value.range());
            Err(xml.text().error(span, cause, remedy))
        }
    }
}

fn moving_tempos(
    xml: &Xml<'_>,
    points: &Element<'_>,
    remarks: &mut Remarks,
) -> Read<Vec<TempoPoint>> {
    let mut tempos: Vec<TempoPoint> = Vec::new();
    let unit = time_unit(points, "timeUnit", TimeBase::Beats);
    let mut seconds_before = 0.0;
    for (at, point) in in_order(xml, points, "RealPoint")? {
        let at = at.max(0.0);
        let bpm = bpm(xml, &point, xml.required_number(&point, "value")?)?;
        let mut is_line = point.attribute("interpolation") == Some("linear");
        let beats = match (unit, tempos.last()) {
            (TimeBase::Beats, _) => at,
            (TimeBase::Seconds, None) => at * bpm / 60.0,
            (TimeBase::Seconds, Some(last)) => last.beats + (at - seconds_before) * last.bpm / 60.0,
        };
        if unit == TimeBase::Seconds && is_line {
            remarks.add(&point, "a tempo that glides over seconds", "is carried as a step");
            is_line = false;
        }
        seconds_before = at;
        let beats = beats.min(MAX_BEATS);
        let beats = tempos.last().map_or(beats, |last| beats.max(last.beats));
        let glide = if is_line { Glide::Linear } else { Glide::Step };
        tempos.push(TempoPoint { beats, bpm, glide });
    }
    Ok(tempos)
}

fn meter(element: &Element<'_>, beats: f64, remarks: &mut Remarks) -> Option<MeterPoint> {
    let of = |name: &str| element.attribute(name)?.trim().parse::<u16>().ok();
    let (numerator, denominator) = (of("numerator")?, of("denominator")?);
    let is_known =
        (1..=255).contains(&numerator) && [1, 2, 4, 8, 16, 32, 64].contains(&denominator);
    if !is_known {
        let what = format!("the time signature {numerator}/{denominator}");
        remarks.add(element, what, "is not known here and is left out; it changes no sound");
        return None;
    }
    Some(MeterPoint { beats, signature: TimeSignature { numerator, denominator } })
}

fn moving_meters(
    xml: &Xml<'_>,
    points: &Element<'_>,
    meters: &mut Vec<MeterPoint>,
    remarks: &mut Remarks,
) -> Read<()> {
    for (beats, point) in in_order(xml, points, "TimeSignaturePoint")? {
        let beats = beats.clamp(0.0, MAX_BEATS);
        let Some(meter) = meter(&point, beats, remarks) else { continue };
        // The first one also says what the transport shows at the start. Of several at one place the last one counts.
        match meters.last_mut().filter(|earlier| earlier.beats >= meter.beats) {
            Some(earlier) => *earlier = meter,
            None => meters.push(meter),
        }
    }
    Ok(())
}

/// The points of this name with their times, in the order of these: no program has to write them so.
fn in_order<'a>(xml: &Xml<'_>, points: &Element<'a>, name: &str) -> Read<Vec<(f64, Element<'a>)>> {
    let mut found = Vec::new();
    for point in elements(points).filter(|point| point.tag_name().name() == name) {
        found.push((xml.required_number(&point, "time")?, point));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(found)
}

/// A timeline's own time: `zero`, counted in `unit`, is heard `origin_s` seconds after the song's start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    pub unit: TimeBase,
    pub origin_s: f64,
    pub zero: f64,
}

impl Scope {
    /// The arrangement itself.
    pub(crate) const SONG: Scope = Scope { unit: TimeBase::Beats, origin_s: 0.0, zero: 0.0 };

    /// Where in the song a place of this timeline is heard, in seconds.
    pub(crate) fn seconds(&self, map: &TempoMap, place: f64) -> f64 {
        let after = place - self.zero;
        match self.unit {
            TimeBase::Seconds => self.origin_s + after,
            // A place that is not moved keeps its bits.
            TimeBase::Beats if self.origin_s == 0.0 => map.seconds_at_beats(after),
            TimeBase::Beats => map.seconds_at_beats(map.beats_at_seconds(self.origin_s) + after),
        }
    }

    /// Where in the song a place of this timeline is heard, in beats.
    pub(crate) fn beats(&self, map: &TempoMap, place: f64) -> f64 {
        match self.unit {
            TimeBase::Beats if self.origin_s == 0.0 => place - self.zero,
            TimeBase::Beats => map.beats_at_seconds(self.origin_s) + (place - self.zero),
            TimeBase::Seconds => map.beats_at_seconds(self.seconds(map, place)),
        }
    }

    /// The same timeline with its content counted in another unit.
    pub(crate) fn in_unit(&self, map: &TempoMap, unit: TimeBase) -> Scope {
        match unit == self.unit {
            true => *self,
            false => Scope { unit, origin_s: self.seconds(map, 0.0), zero: 0.0 },
        }
    }
}
