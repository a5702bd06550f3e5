//! From the bytes of a packet to what is asked for. A pure function of the bytes: nothing here knows the run, and no bytes
//! make it panic.

use std::str::FromStr;

use clap::ValueEnum;
use rosc::{OscMessage, OscPacket, OscType};

use super::super::additions::{EffectChange, Entry};
use super::super::strips::StripChange;
use hocket_engine::{SiblingPolicy, Spans};

use crate::cli::{Position, ScheduleArg, WaitArg};

/// The largest packet that is read, in bytes: more than a network passes in one piece. It bounds how deep arrays can be
/// nested, too.
pub(in crate::play) const LARGEST: usize = 2048;
/// Bundles in bundles that are followed.
const DEEPEST: usize = 8;
/// How a bundle begins; a time tag follows.
const BUNDLE: &[u8] = b"#bundle\0";
const TIME_TAG_BYTES: usize = 8;

/// What a message asks for.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::play) enum Request {
    Play,
    Stop,
    Locate(Position),
    LoopOn,
    LoopOff,
    Loop(Position, Position),
    /// Of a strip, by its name.
    Strip(String, StripChange),
    /// Of the effects of a strip, by its name.
    Effects(String, EffectChange),
    Schedule(ScheduleArg),
    /// How threads wait.
    Wait(WaitArg),
    /// What is noted of each block.
    Spans(Spans),
    /// Who may run beside the workers.
    Policy(SiblingPolicy),
    /// All notes that came in at MIDI inputs end.
    EndNotes,
    Status,
    Quit,
}

/// Why a packet or a message is not obeyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The packet is no OSC.
    Malformed(String),
    /// Nothing has this address.
    Unknown(String),
    /// The address is known, its arguments are not possible, or the run cannot do it. Address and reason.
    NotPossible(String, String),
    /// What another run answers from this address. It gets no answer, or two runs would answer each other for ever.
    IsAnswer(String),
}

impl Refusal {
    /// For people; it may hold what came, as it came.
    pub(in crate::play) fn text(&self) -> String {
        match self {
            Refusal::Malformed(why) => format!("a packet is no OSC: {why}"),
            Refusal::Unknown(addr) => format!("there is nothing at '{addr}'"),
            Refusal::NotPossible(addr, why) => format!("{addr}: {why}"),
            Refusal::IsAnswer(addr) => format!("{addr}: this is the answer of another run"),
        }
    }
}

/// What a message asks for, with its address.
pub(in crate::play) type Asked = Result<(String, Request), Refusal>;

/// What a packet asks for, in its order: a message, or a bundle of messages. A packet that is cut short or has something
/// behind it, at any depth, is refused as a whole.
pub(in crate::play) fn requests(packet: &[u8]) -> Vec<Asked> {
    let mut messages = Vec::new();
    match collect(packet, &mut messages) {
        Ok(()) => messages
            .into_iter()
            .map(|message| request(&message).map(|request| (message.addr, request)))
            .collect(),
        Err(why) => vec![Err(Refusal::Malformed(why))],
    }
}

fn collect(packet: &[u8], messages: &mut Vec<OscMessage>) -> Result<(), String> {
    match packet.len() > LARGEST {
        true => Err(format!("it has more than {LARGEST} bytes")),
        false => collect_at(0, packet, messages),
    }
}

/// Bundles are taken apart here, because rosc forgets what is behind the last whole element of an inner one. Time tags are
/// not looked at: everything is obeyed when it comes.
fn collect_at(depth: usize, packet: &[u8], messages: &mut Vec<OscMessage>) -> Result<(), String> {
    let Some(bundle) = packet.strip_prefix(BUNDLE) else {
        messages.push(message(packet)?);
        return Ok(());
    };
    if depth == DEEPEST {
        return Err(format!("its bundles are nested more than {DEEPEST} deep"));
    }
    let mut rest = bundle.get(TIME_TAG_BYTES..).ok_or("a bundle ends in its time tag")?;
    while !rest.is_empty() {
        let (element, behind) = element(rest)?;
        collect_at(depth + 1, element, messages)?;
        rest = behind;
    }
    Ok(())
}

/// The first element of a bundle, and what is behind it.
fn element(bytes: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let (size, rest) =
        bytes.split_first_chunk().ok_or("a bundle ends in the size of an element")?;
    let size = u32::from_be_bytes(*size);
    if size % 4 != 0 {
        return Err("an element of a bundle has a size that is no multiple of four");
    }
    let size = usize::try_from(size).map_err(|_| "an element of a bundle is too large")?;
    rest.split_at_checked(size).ok_or("an element of a bundle is cut short")
}

fn message(bytes: &[u8]) -> Result<OscMessage, String> {
    match rosc::decoder::decode_udp(bytes) {
        Ok(([], OscPacket::Message(message))) if has_whole_tags(&message.addr, bytes) => {
            Ok(message)
        }
        Ok(([], OscPacket::Message(_))) => {
            Err("its type tags begin without a comma, or an array has no end".into())
        }
        // A bundle begins otherwise, and was taken apart before.
        Ok(([], OscPacket::Bundle(_))) => {
            Err("it begins neither as a message nor as a bundle".into())
        }
        Ok((rest, _)) => Err(format!("its last {} bytes belong to no message", rest.len())),
        Err(error) => Err(error.to_string()),
    }
}

/// rosc takes any first character for the comma, and forgets the arguments in front of an array without an end. It refuses
/// ends without a beginning itself.
fn has_whole_tags(addr: &str, message: &[u8]) -> bool {
    let tags = message.get((addr.len() + 1).next_multiple_of(4)..).unwrap_or_default();
    let tags = tags.split(|byte| *byte == 0).next().unwrap_or_default();
    let count = |bracket| tags.iter().filter(|tag| **tag == bracket).count();
    tags.starts_with(b",") && count(b'[') == count(b']')
}

/// What one message asks for.
pub(in crate::play) fn request(message: &OscMessage) -> Result<Request, Refusal> {
    let OscMessage { addr, args } = message;
    let refused = |why: &str| Refusal::NotPossible(addr.clone(), why.into());
    if is_answer(addr, args) {
        return Err(Refusal::IsAnswer(addr.clone()));
    }
    match addr.as_str() {
        "/play" => Ok(Request::Play),
        "/stop" => Ok(Request::Stop),
        "/notes/off" => Ok(Request::EndNotes),
        "/quit" => Ok(Request::Quit),
        "/status" => Ok(Request::Status),
        "/locate" => match args.as_slice() {
            [to] => position(to).map(Request::Locate).map_err(|why| refused(&why)),
            _ => Err(refused("give one position")),
        },
        "/schedule" => schedule(args).map(Request::Schedule).map_err(|why| refused(&why)),
        "/wait" => wait(args).map(Request::Wait).map_err(|why| refused(&why)),
        "/spans" => spans(args).map(Request::Spans).map_err(|why| refused(&why)),
        "/policy" => policy(args).map(Request::Policy).map_err(|why| refused(&why)),
        "/loop" => repeat(args).map_err(|why| refused(&why)),
        _ => effects(addr, args)
            .or_else(|| strip(addr, args))
            .unwrap_or_else(|| Err(Refusal::Unknown(addr.clone()))),
    }
}

fn repeat(args: &[OscType]) -> Result<Request, String> {
    match args {
        [from, to] => Ok(Request::Loop(position(from)?, position(to)?)),
        [OscType::String(word)] if word == "on" => Ok(Request::LoopOn),
        [OscType::String(word)] if word == "off" => Ok(Request::LoopOff),
        [one] => match switch(one) {
            Some(true) => Ok(Request::LoopOn),
            Some(false) => Ok(Request::LoopOff),
            None => Err("give two positions, or on, or off".into()),
        },
        _ => Err("give two positions, or on, or off".into()),
    }
}

fn wait(args: &[OscType]) -> Result<WaitArg, String> {
    let all = WaitArg::value_variants();
    let found = match args {
        [OscType::String(name)] => all.iter().copied().find(|wait| wait.name() == name),
        _ => None,
    };
    let names = || all.iter().map(|wait| wait.name()).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("give the name of a wait: {}", names()))
}

fn policy(args: &[OscType]) -> Result<SiblingPolicy, String> {
    let found = match args {
        [OscType::String(name)] => SiblingPolicy::from_name(name),
        _ => None,
    };
    let names = || SiblingPolicy::ALL.map(SiblingPolicy::name).join(", ");
    found.ok_or_else(|| format!("give the name of a sibling policy: {}", names()))
}

fn spans(args: &[OscType]) -> Result<Spans, String> {
    match args {
        [OscType::String(name)] if name == "off" => Ok(Spans::Off),
        [OscType::String(name)] if name == "times" => Ok(Spans::Times),
        [OscType::String(name)] if name == "cpu-time" => Ok(Spans::CpuTime),
        _ => Err("give off, times or cpu-time".into()),
    }
}

fn schedule(args: &[OscType]) -> Result<ScheduleArg, String> {
    let all = ScheduleArg::value_variants();
    let named = |name: &String| all.iter().copied().find(|schedule| schedule.name() == name);
    let found = match args {
        [OscType::String(name)] => named(name),
        _ => None,
    };
    let names = || all.iter().map(|schedule| schedule.name()).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("give the name of a schedule: {}", names()))
}

/// `/strip/NAME/WHAT`. A name may have slashes in it; what an address cannot hold is written as `%` and two digits.
/// `None`: another address.
fn strip(addr: &str, args: &[OscType]) -> Option<Result<Request, Refusal>> {
    let (name, what) = addr.strip_prefix("/strip/")?.rsplit_once('/')?;
    let change = match what {
        "volume" => number_of(args).map(|db| StripChange::Volume(db as f32)),
        "pan" => number_of(args).map(|pan| StripChange::Pan(pan as f32)),
        "mute" => switch_of(args).map(StripChange::Mute),
        "solo" => switch_of(args).map(StripChange::Solo),
        _ => return None,
    };
    let refused = |why: &str| Refusal::NotPossible(addr.into(), why.into());
    let name = decoded_name(name).ok_or_else(|| refused("its name is no text"));
    let change = change.map_err(refused);
    Some(name.and_then(|name| Ok(Request::Strip(name, change?))))
}

/// Whether it is what a run says at an address that it answers at.
fn is_answer(addr: &str, args: &[OscType]) -> bool {
    match args {
        [OscType::Double(_), OscType::String(_), ..] => addr == "/status",
        [OscType::Int(_), OscType::String(_)] => is_answered(addr),
        _ => false,
    }
}

/// Whether each message to this address is answered there.
pub(super) fn is_answered(addr: &str) -> bool {
    let what = addr.strip_prefix("/strip/").and_then(|rest| rest.rsplit_once("/effect/"));
    matches!(what, Some((_, "add" | "remove")))
}

/// `/strip/NAME/effect/add` and `/strip/NAME/effect/remove`. `None`: another address.
fn effects(addr: &str, args: &[OscType]) -> Option<Result<Request, Refusal>> {
    let (name, what) = addr.strip_prefix("/strip/")?.rsplit_once("/effect/")?;
    let change = match what {
        "add" => added(args),
        "remove" => removed(args),
        _ => return None,
    };
    let refused = |why: &str| Refusal::NotPossible(addr.into(), why.into());
    let name = decoded_name(name).ok_or_else(|| refused("its name is no text"));
    let change = change.map_err(refused);
    Some(name.and_then(|name| Ok(Request::Effects(name, change?))))
}

fn added(args: &[OscType]) -> Result<EffectChange, &'static str> {
    const USAGE: &str =
        "give the kind of an effect, then \"force\" or \"isolate\" or both, if you want";
    let [OscType::String(kind), words @ ..] = args else { return Err(USAGE) };
    let mut entry = Entry::default();
    for word in words {
        match word {
            OscType::String(word) if word == "force" => entry.force = true,
            OscType::String(word) if word == "isolate" => entry.isolate = true,
            _ => return Err(USAGE),
        }
    }
    Ok(EffectChange::Add { kind: kind.clone(), entry })
}

/// A place from 1.
fn removed(args: &[OscType]) -> Result<EffectChange, &'static str> {
    let place = number_of(args)?;
    match (1.0..=1e6).contains(&place) && place.fract() == 0.0 {
        true => Ok(EffectChange::Remove(place as usize)),
        false => Err("give the place of an effect in its chain, from 1"),
    }
}

fn number_of(args: &[OscType]) -> Result<f64, &'static str> {
    match args {
        [one] => number(one).ok_or("give a number"),
        _ => Err("give one number"),
    }
}

fn switch_of(args: &[OscType]) -> Result<bool, &'static str> {
    match args {
        [one] => switch(one).ok_or("give 1 or 0"),
        _ => Err("give one value, 1 or 0"),
    }
}

/// Of any type that programs send numbers as.
fn number(arg: &OscType) -> Option<f64> {
    match arg {
        OscType::Int(value) => Some(f64::from(*value)),
        OscType::Long(value) => Some(*value as f64),
        OscType::Float(value) => Some(f64::from(*value)),
        OscType::Double(value) => Some(*value),
        _ => None,
    }
}

/// True and false, or a number: buttons of most programs send 1.0 and 0.0.
fn switch(arg: &OscType) -> Option<bool> {
    match arg {
        OscType::Bool(on) => Some(*on),
        arg => number(arg).filter(|value| !value.is_nan()).map(|value| value >= 0.5),
    }
}

/// A number of seconds, or a text: `12.5`, or a bar and a beat, `9:1`.
fn position(arg: &OscType) -> Result<Position, String> {
    match arg {
        OscType::String(text) => Position::from_str(text),
        arg => {
            let seconds = number(arg).filter(|seconds| seconds.is_finite());
            seconds.map(Position::Seconds).ok_or_else(|| {
                "give a number of seconds, or a text such as 9:1 for a bar and a beat".into()
            })
        }
    }
}

/// `Room%20Mic` is `Room Mic`. A `%` without two digits behind it stands for itself. `None`: no UTF-8.
fn decoded_name(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, more @ ..] = rest {
        let digit = |at: usize| more.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((16 * high + low) as u8);
                rest = &more[2..];
            }
            _ => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
