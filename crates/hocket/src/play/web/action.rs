//! What a command does: the addresses and values of OSC, as a path and JSON.
//!
//! `POST /strip/Drums/volume` with the body `[-6.5]` is the OSC message of the same name. So there is one list of commands.

use rosc::{OscMessage, OscType};
use serde_json::Value;

use crate::http::{Request, Status};
use crate::play::osc::request::{Refusal, Request as Command, request};
use crate::play::steering::Steering;
use crate::play::strips::Strips;

/// Does what a request asks for. Returns what was done.
///
/// # Errors
/// Why nothing was done.
pub(super) fn obey(
    asked: &Request,
    steering: &Steering<'_>,
    strips: &Strips,
) -> Result<String, (Status, String)> {
    let done = match command(asked)? {
        Command::Play => steering.play(),
        Command::Stop => steering.stop(),
        Command::Locate(position) => steering.locate_to(position),
        Command::LoopOn => steering.loop_on(),
        Command::LoopOff => steering.loop_off(),
        Command::Loop(start, end) => steering.loop_between(start, end),
        Command::Strip(name, change) => strips.change(&name, change),
        Command::EndNotes => steering.end_notes(),
        // A page that was left open must not end a concert.
        Command::Effects(..)
        | Command::Schedule(_)
        | Command::Wait(_)
        | Command::Spans(_)
        | Command::Policy(_)
        | Command::Status
        | Command::Quit => {
            return Err((Status::NotFound, "pages steer the song and its strips alone".into()));
        }
    };
    done.map_err(|why| (Status::NotPossible, why))
}

/// What a request asks for, whether a page may or not.
///
/// # Errors
/// Why it asks for nothing.
pub(in crate::play) fn command(asked: &Request) -> Result<Command, (Status, String)> {
    request(&message(asked)?).map_err(|refusal| match refusal {
        Refusal::Malformed(why) | Refusal::NotPossible(_, why) => (Status::Malformed, why),
        Refusal::Unknown(_) | Refusal::IsAnswer(_) => (Status::NotFound, refusal.text()),
    })
}

/// The message that a request stands for.
///
/// # Errors
/// Its body holds no values.
pub(in crate::play) fn message(asked: &Request) -> Result<OscMessage, (Status, String)> {
    let args = values(&asked.body).map_err(|why| (Status::Malformed, why.to_owned()))?;
    Ok(OscMessage { addr: asked.target.clone(), args })
}

/// The values of a body: a list, one value alone, or none. `null` is minus infinity, which JSON lacks.
fn values(body: &[u8]) -> Result<Vec<OscType>, &'static str> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let all = match serde_json::from_slice(body) {
        Ok(Value::Array(all)) => all,
        Ok(one) => vec![one],
        Err(_) => return Err("the body is no JSON"),
    };
    all.into_iter().map(value).collect()
}

fn value(value: Value) -> Result<OscType, &'static str> {
    match value {
        Value::Null => Ok(OscType::Float(f32::NEG_INFINITY)),
        Value::Bool(on) => Ok(OscType::Bool(on)),
        Value::Number(number) => {
            number.as_f64().map(OscType::Double).ok_or("a number is too large")
        }
        Value::String(text) => Ok(OscType::String(text)),
        Value::Array(_) | Value::Object(_) => Err("give numbers, texts, true, false or null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_values_of_osc() {
        let check = |body: &str, expected: &[OscType]| {
            assert_eq!(values(body.as_bytes()).as_deref(), Ok(expected), "{body}");
        };
        check("", &[]);
        check("[]", &[]);
        check("-6.5", &[OscType::Double(-6.5)]);
        check("[null]", &[OscType::Float(f32::NEG_INFINITY)]);
        let (text, number) = (OscType::String("9:1".into()), OscType::Double(8.0));
        check("[\"9:1\", 8, true]", &[text, number, OscType::Bool(true)]);
        for wrong in ["{}", "[{}]", "[[1]]", "play", "[1", "\u{0}"] {
            assert!(values(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
