//! `hocket devices`: what can play here, and what helps if it cannot.

use hocket_devices::alsa::CardFacts;
use hocket_devices::found::{Found, State, devices};
use hocket_devices::jack::ServerFacts;
use serde_json::{Value, json};

use crate::cli::DevicesArgs;
use crate::failure::{Exit, Failure};
use crate::output::{print, print_json};

/// Runs the command.
///
/// # Errors
/// None today.
pub fn run(args: &DevicesArgs) -> Result<Exit, Failure> {
    let found = devices();
    match args.json {
        true => print_json(&format!("{:#}\n", json(&found))),
        false => print(&text(&found)),
    }
    Ok(Exit::Done)
}

fn text(found: &[Found]) -> String {
    let line = |device: &Found| format!("{:<10}{}\n", device.name, state(&device.state));
    found.iter().map(line).collect()
}

fn state(state: &State) -> String {
    match state {
        State::NoSound => "there: a clock and a deadline, without sound".into(),
        State::Server(facts) => format!("there: {}", server(facts)),
        State::Cards(cards) => cards_text(cards),
        State::Missing(why) => format!("not there: {why}"),
        State::ThroughJack(how) => (*how).into(),
    }
}

/// The first card beside the device's name, the others below.
fn cards_text(cards: &[(CardFacts, Option<String>)]) -> String {
    let line = |(card, why): &(CardFacts, Option<String>)| {
        let why = why.as_ref().map_or(String::new(), |why| format!(", not free: {why}"));
        format!("alsa:{} ({}){why}", card.pcm, card.name)
    };
    let lines: Vec<String> = cards.iter().map(line).collect();
    format!("there: {}", lines.join(&format!("\n{:<17}", "")))
}

fn server(facts: &ServerFacts) -> String {
    let ServerFacts { server, version, library, format, real_time, outputs, inputs, latency } =
        facts;
    let library =
        library.as_ref().map_or(String::new(), |it| format!(", library {}", it.display()));
    let ms = |frames: Option<u32>| {
        frames.map_or("-".into(), |frames| format!("{:.1} ms", latency.ms(frames)))
    };
    let real_time = if *real_time { "real-time" } else { "not real-time" };
    format!(
        "server '{server}' (JACK {version}{library}), {} Hz, blocks of {} frames, {real_time}, {outputs} ports play, {inputs} \
         record, latency out {}, in {}",
        format.rate_hz,
        format.frames,
        ms(latency.out_frames),
        ms(latency.in_frames)
    )
}

fn json(found: &[Found]) -> Value {
    let device = |device: &Found| {
        let (there, why, facts) = match &device.state {
            State::NoSound | State::Cards(_) => (true, None, None),
            State::Server(facts) => (true, None, Some(facts)),
            State::Missing(why) => (false, Some(why.as_str()), None),
            State::ThroughJack(how) => (false, Some(*how), None),
        };
        let cards = match &device.state {
            State::Cards(cards) => Some(cards.iter().map(card_json).collect::<Vec<_>>()),
            _ => None,
        };
        json!({
            "name": device.name,
            "there": there,
            "why": why,
            "server": facts.map(server_json),
            "cards": cards,
        })
    };
    let devices: Vec<Value> = found.iter().map(device).collect();
    json!({ "format": "hocket-devices/1", "devices": devices })
}

fn card_json((card, why): &(CardFacts, Option<String>)) -> Value {
    json!({ "device": format!("alsa:{}", card.pcm), "name": card.name, "why_not_free": why })
}

fn server_json(facts: &ServerFacts) -> Value {
    json!({
        "name": facts.server,
        "version": facts.version,
        "library": facts.library.as_ref().map(|path| path.display().to_string()),
        "rate_hz": facts.format.rate_hz,
        "frames": facts.format.frames,
        "real_time": facts.real_time,
        "ports_that_play": facts.outputs,
        "ports_that_record": facts.inputs,
        "latency_out_frames": facts.latency.out_frames,
        "latency_in_frames": facts.latency.in_frames,
    })
}
