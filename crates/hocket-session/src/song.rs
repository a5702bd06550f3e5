//! Tempos, time signatures and the loop.

use hocket_plan::session::{LoopPoints, SongTime};
use hocket_time::{
    Glide, LoopError, MIN_LOOP_FRAMES, MeterPoint, TempoError, TempoMap, TempoPoint, TimeBase,
    TimeSignature,
};

use crate::Span;
use crate::fields::{At, Fields};
use crate::mistakes::Mistakes;
use crate::schema;

/// What is possible at this rate is possible at every lower one: the bounds of time count frames.
pub(crate) const HIGHEST_RATE_HZ: u32 = 384_000;

/// What the file says of time; with defaults where it is wrong.
pub(crate) fn time(mistakes: &Mistakes<'_>, root: &Fields<'_>, rate_hz: u32) -> SongTime {
    let before = mistakes.count();
    let tempos = tempos(mistakes, root);
    let tempos_are_known = mistakes.count() == before;
    let meters = meters(mistakes, root);
    let is_known = mistakes.count() == before;
    let (spans, mut time) = (tempos.1, SongTime { tempos: tempos.0, meters, repeat: None });
    if is_known && let Err(error) = time.map(HIGHEST_RATE_HZ) {
        let span = match error {
            TempoError::TooLate { index, .. } => spans.get(index).cloned(),
            _ => None,
        };
        let remedy = "use fewer of them, earlier ones, or faster tempos";
        mistakes.report(span.unwrap_or(0..0), error.to_string(), remedy);
    }
    if let Some(fields) = root.table(&schema::TRANSPORT, &schema::TRANSPORT_TABLE) {
        time.repeat = repeat(mistakes, &fields);
        let in_seconds = time.repeat.is_some_and(|repeat| repeat.base == TimeBase::Seconds);
        if tempos_are_known || in_seconds {
            check_loop(mistakes, &fields, &time, tempos_are_known, rate_hz);
        }
    }
    time
}

/// `beats` or `seconds`.
pub(crate) fn time_base(fields: &Fields<'_>) -> TimeBase {
    match fields.choice(&schema::TIME) {
        Some(1) => TimeBase::Beats,
        _ => TimeBase::Seconds,
    }
}

/// The points, and where each is in the file.
fn tempos(mistakes: &Mistakes<'_>, root: &Fields<'_>) -> (Vec<TempoPoint>, Vec<Span>) {
    let (mut points, mut spans) = (Vec::<TempoPoint>::new(), Vec::new());
    // Where the last point is in seconds; `None`: it depends on what is wrong.
    let mut seconds = Some(0.0);
    for fields in root.tables(&schema::TEMPO, &schema::TEMPO_TABLE) {
        let glide = match fields.choice(&schema::GLIDE) {
            Some(1) => Glide::Linear,
            _ => Glide::Step,
        };
        let bpm = fields.require_number(&schema::BPM);
        let beats = tempo_beats(mistakes, &fields, points.last(), seconds);
        let (Some(At { value: bpm, .. }), Some(At { value: beats, span })) = (bpm, beats) else {
            seconds = None;
            continue;
        };
        // Two tempos at one beat are a jump behind a line.
        let before = points.last().map_or(0.0, |point| point.beats);
        if beats < before {
            report_order(mistakes, span, "tempo");
            continue;
        }
        seconds = seconds.map(|seconds| seconds + between_s(points.last(), beats, bpm));
        points.push(TempoPoint { beats, bpm, glide });
        spans.push(fields.span.clone());
    }
    (points, spans)
}

/// Where a tempo begins, in beats. `seconds`: where `before` does.
fn tempo_beats(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    before: Option<&TempoPoint>,
    seconds: Option<f64>,
) -> Option<At<f64>> {
    if !fields.has(&schema::AT_S) {
        return place_in_beats(fields);
    }
    refuse_both(mistakes, fields, &schema::AT_S);
    let at = fields.number(&schema::AT_S)?;
    let Some(before) = before else {
        // Of the first tempo only the start is known: it holds before its point, too.
        let bpm = fields.number(&schema::BPM)?.value;
        return Some(At { value: at.value * bpm / 60.0, span: at.span });
    };
    if before.glide == Glide::Linear {
        let cause = "a tempo behind a linear glide cannot be placed in seconds: the glide would depend on its own end";
        mistakes.report(at.span, cause, "write at_beats, or let the tempo before it step");
        return None;
    }
    let value = before.beats + (at.value - seconds?) * before.bpm / 60.0;
    Some(At { value, span: at.span })
}

/// How long it takes from the last tempo to the next, in seconds.
fn between_s(last: Option<&TempoPoint>, beats: f64, bpm: f64) -> f64 {
    match last {
        None => beats * 60.0 / bpm,
        Some(last) if last.glide == Glide::Step => (beats - last.beats) * 60.0 / last.bpm,
        Some(last) => {
            let length = beats - last.beats;
            let way = [TempoPoint::linear(0.0, last.bpm), TempoPoint::step(length, bpm)];
            let map = TempoMap::new(HIGHEST_RATE_HZ, &way, &[]);
            map.map_or(0.0, |map| map.seconds_at_beats(length))
        }
    }
}

/// `at_beats`, or the start.
fn place_in_beats(fields: &Fields<'_>) -> Option<At<f64>> {
    let start = At { value: 0.0, span: fields.span.clone() };
    match fields.has(&schema::AT_BEATS) {
        true => fields.number(&schema::AT_BEATS),
        false => Some(start),
    }
}

/// One place is enough.
fn refuse_both(mistakes: &Mistakes<'_>, fields: &Fields<'_>, other: &schema::Key) {
    if fields.has(&schema::AT_BEATS) {
        let cause = format!("the place is given twice, by at_beats and by {}", other.name);
        mistakes.report(fields.span_of(other), cause, "keep one of the two");
    }
}

fn report_order(mistakes: &Mistakes<'_>, span: Span, what: &str) {
    let cause = format!("this {what} begins before the one above it");
    mistakes.report(span, cause, "sort them by place");
}

/// A time signature and the bar that it begins, counted from 0.
struct Meter {
    point: MeterPoint,
    bar: f64,
}

fn meters(mistakes: &Mistakes<'_>, root: &Fields<'_>) -> Vec<MeterPoint> {
    let mut meters: Vec<Meter> = Vec::new();
    for fields in root.tables(&schema::METER, &schema::METER_TABLE) {
        let signature = signature(mistakes, &fields);
        let common = MeterPoint { beats: 0.0, signature: TimeSignature::COMMON };
        let before = meters.last().map_or((common, 0.0), |meter| (meter.point, meter.bar));
        let Some((At { value: beats, span }, bar)) = meter_place(mistakes, &fields, before) else {
            continue;
        };
        // The first may be where the usual one begins.
        if beats < before.0.beats || beats == before.0.beats && !meters.is_empty() {
            report_order(mistakes, span, "time signature");
        } else if let Some(signature) = signature {
            meters.push(Meter { point: MeterPoint { beats, signature }, bar });
        }
    }
    meters.into_iter().map(|meter| meter.point).collect()
}

/// Where a time signature begins, in beats and in bars. `before`: the one before it, and its first bar.
fn meter_place(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    (before, first_bar): (MeterPoint, f64),
) -> Option<(At<f64>, f64)> {
    let bar_beats = before.signature.bar_beats();
    if !fields.has(&schema::AT_BAR) {
        let at = place_in_beats(fields)?;
        // A bar that is cut short counts.
        let bar = first_bar + ((at.value - before.beats) / bar_beats).ceil();
        return Some((at, bar));
    }
    refuse_both(mistakes, fields, &schema::AT_BAR);
    let At { value: bar, span } = fields.whole(&schema::AT_BAR)?;
    let bar = (bar - 1) as f64;
    let value = before.beats + (bar - first_bar) * bar_beats;
    Some((At { value, span }, bar))
}

fn signature(mistakes: &Mistakes<'_>, fields: &Fields<'_>) -> Option<TimeSignature> {
    let At { value, span } = fields.require_text(&schema::SIGNATURE)?;
    let signature = parsed(value);
    if signature.is_none() {
        let remedy = format!("write {}", schema::SIGNATURE.value.allowed());
        mistakes.report(span, format!("'{value}' is no time signature"), remedy);
    }
    signature
}

fn parsed(text: &str) -> Option<TimeSignature> {
    let (numerator, denominator) = text.split_once('/')?;
    let number = |text: &str| text.trim().parse::<u16>().ok();
    let (numerator, denominator) = (number(numerator)?, number(denominator)?);
    let fits = (1..=255).contains(&numerator) && denominator.is_power_of_two() && denominator <= 64;
    fits.then_some(TimeSignature { numerator, denominator })
}

fn repeat(mistakes: &Mistakes<'_>, fields: &Fields<'_>) -> Option<LoopPoints> {
    let base = time_base(fields);
    let ends = [(&schema::LOOP_FROM, &schema::LOOP_TO), (&schema::LOOP_TO, &schema::LOOP_FROM)];
    for (there, missing) in ends {
        if fields.has(there) && !fields.has(missing) {
            let cause = format!("{} is there and {} is missing", there.name, missing.name);
            mistakes.report(fields.span_of(there), cause, format!("add {} = ...", missing.name));
        }
    }
    let (from, to) = (fields.number(&schema::LOOP_FROM), fields.number(&schema::LOOP_TO));
    Some(LoopPoints { base, from: from?.value, to: to?.value })
}

/// Time signatures place no loop, and tempos place none in seconds: where they are wrong, the loop is seen without them.
fn check_loop(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    time: &SongTime,
    tempos_are_known: bool,
    rate_hz: u32,
) {
    let tempos = if tempos_are_known { time.tempos.clone() } else { Vec::new() };
    let only = SongTime { tempos, meters: Vec::new(), repeat: time.repeat };
    let Ok(map) = only.map(rate_hz) else { return };
    let Err(error) = only.loop_range(&map) else { return };
    let (cause, remedy) = match error {
        LoopError::Short { .. } => {
            let cause = format!("the loop is shorter than {MIN_LOOP_FRAMES} frames");
            (cause, "move loop_to further behind loop_from; a shorter one would sound as a tone")
        }
        LoopError::Position { .. } => (error.to_string(), "choose an earlier place"),
    };
    mistakes.report(fields.span_of(&schema::LOOP_TO), cause, remedy);
}
