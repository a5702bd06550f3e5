//! `--input`: sound of files in the place of what a device would bring into the engine's inputs.

use std::path::PathBuf;
use std::sync::Arc;

use hocket_engine::{Block, NodeKind, Prepared, Processor, rows};
use hocket_plan::Session;
use hocket_plan::session::{EventsOf, InputId, TakeFrom, TakeSpec};
use hocket_streams::{Told, lack_of_memory};

use crate::cli::NamedFile;
use crate::failure::Failure;
use crate::output::warn;

/// So many names are listed where one is unknown.
const NAMES_LISTED: usize = 20;

/// A file that plays at an input.
#[derive(Debug, Clone)]
pub(crate) struct FedInput {
    /// The engine's number of the input.
    pub number: u16,
    /// As the session calls it.
    pub name: String,
    pub file: PathBuf,
}

/// The sound of an input: one row for each of its channels, or one that all of them play.
pub(crate) struct InputSound {
    number: u16,
    rows: Arc<[Vec<f32>]>,
}

/// The inputs that files feed.
///
/// # Errors
/// A name that no input has, or an input that two files feed: exit code 2.
pub(crate) fn fed(args: &[NamedFile], session: &Session) -> Result<Vec<FedInput>, Failure> {
    let mut all: Vec<FedInput> = Vec::new();
    for arg in args {
        let place = |name: &str| session.inputs.iter().position(|input| input.name == name);
        let (name, file) = arg.named(|name| place(name).is_some());
        let refused = |why: String| Err(Failure::bad_input(format!("--input {arg}: {why}")));
        let Some(place) = place(&name) else { return refused(unknown(&name, session)) };
        let number = u16::try_from(place).unwrap_or(u16::MAX);
        if all.iter().any(|other| other.number == number) {
            return refused(format!("another file feeds the input '{name}' already; name it once"));
        }
        if !is_used(InputId(place), session) {
            let file = file.display();
            warn(format_args!(
                "no track plays the input '{name}', and no take records it: {file} is silent"
            ));
        }
        all.push(FedInput { number, name, file });
    }
    Ok(all)
}

fn is_used(input: InputId, session: &Session) -> bool {
    let is_played = session.tracks.iter().any(|track| track.input == Some(input));
    let of_input = [TakeFrom::Input(input), TakeFrom::Events(EventsOf::Input(input))];
    let is_recorded = |take: &TakeSpec| take.armed && of_input.contains(&take.from);
    is_played || session.takes.iter().any(is_recorded)
}

fn unknown(name: &str, session: &Session) -> String {
    if session.inputs.is_empty() {
        return "the session has no inputs; add [[input]] with a name, and input = \"...\" to a track"
            .into();
    }
    let names = session.inputs.iter().take(NAMES_LISTED).map(|input| input.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    let more = if session.inputs.len() > NAMES_LISTED { ", ..." } else { "" };
    format!("the session has no input '{name}'; choose one of: {names}{more}")
}

/// Decodes the files, and converts them to the rate and channels of their inputs: mono plays on all channels, and an
/// input of one channel gets the mean of the first two.
///
/// # Errors
/// A file that cannot be decoded: exit code 2. One that takes more memory than is free: exit code 3.
pub(super) fn load(
    fed: &[FedInput],
    session: &Session,
    rate_hz: u32,
    told: &mut Told,
) -> Result<Vec<InputSound>, Failure> {
    fed.iter().map(|input| sound(input, session, rate_hz, told)).collect()
}

fn sound(
    fed: &FedInput,
    session: &Session,
    rate_hz: u32,
    told: &mut Told,
) -> Result<InputSound, Failure> {
    let FedInput { number, name, file } = fed;
    let shown = file.display();
    let text = |why: &str| format!("--input {name}={shown}: {why}");
    let refused = |why: &str| Failure::bad_input(text(why));
    if file.is_dir() {
        return Err(refused("this is a folder; name an audio file in it"));
    }
    let decoded = hocket_media::decode(file).map_err(|error| refused(&error.to_string()))?;
    for fault in &decoded.warnings {
        told.warnings.push(format!("{}; what can be read is played", text(fault)));
        told.damaged.push(format!("{}; replace the file, or leave out --strict", text(fault)));
    }
    let whole = (decoded.length_s() * f64::from(rate_hz)).ceil() as usize;
    if decoded.sample_rate_hz != rate_hz
        && let Some(cause) = lack_of_memory(whole, decoded.channels.len(), rate_hz)
    {
        let remedy = "convert the file before, or choose a lower rate";
        return Err(Failure::not_possible(text(&format!("{cause}; {remedy}"))));
    }
    let audio = match decoded.sample_rate_hz == rate_hz {
        true => decoded,
        false => hocket_media::resample(&decoded, rate_hz),
    };
    told.details.push(format!("input {name}: {shown}, {:.2} s", audio.length_s()));
    let channels = session.inputs.get(usize::from(*number)).map_or(2, |input| input.channels);
    let mut rows = of_width(audio.channels, usize::from(channels));
    let strange: u64 = rows.iter_mut().map(|row| hocket_media::silence_not_finite(row)).sum();
    if strange > 0 {
        told.warnings
            .push(text(&format!("{strange} samples are not finite numbers; they are silent")));
    }
    Ok(InputSound { number: *number, rows: rows.into() })
}

/// One row for each of so many channels at most; a single one is for all of them.
fn of_width(mut rows: Vec<Vec<f32>>, channels: usize) -> Vec<Vec<f32>> {
    if channels == 1 && rows.len() > 1 {
        let both = rows[0].iter().zip(&rows[1]);
        return vec![both.map(|(left, right)| 0.5 * (left + right)).collect()];
    }
    rows.truncate(channels);
    rows
}

/// The same graph, in which the nodes of these inputs play their files.
pub(crate) fn feed(mut prepared: Prepared, sounds: &[InputSound]) -> Prepared {
    for (place, node) in prepared.graph.nodes().iter().enumerate() {
        let own = |sound: &&InputSound| node.kind == NodeKind::Input(sound.number);
        if let Some(sound) = sounds.iter().find(own) {
            let rows = Arc::clone(&sound.rows);
            prepared.processors[place] = Some(Box::new(InputFile { rows }));
        }
    }
    prepared
}

/// Plays a file from the engine's start on, whatever the song does: as a microphone would.
///
/// Shape: overwrites the block. Thread: worker, inside a block. Cost: O(frames); no allocation, lock or system call.
struct InputFile {
    /// A single one plays on all channels.
    rows: Arc<[Vec<f32>]>,
}

impl Processor for InputFile {
    fn process(&mut self, block: &mut Block<'_>) {
        let Some(time) = block.time else { return };
        let start = usize::try_from(time.steady_frame).unwrap_or(usize::MAX);
        for channel in 0..block.channels() {
            let out = block.channel_mut(channel);
            let row = if self.rows.len() == 1 { 0 } else { channel };
            let from = self.rows.get(row).and_then(|row| row.get(start..)).unwrap_or(&[]);
            let frames = from.len().min(out.len());
            rows::copy(&mut out[..frames], &from[..frames]);
            rows::fill(&mut out[frames..], 0.0);
        }
    }

    fn reset(&mut self) {}

    fn keeps_time(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_any_width_fit_an_input() {
        let rows = || vec![vec![1.0, 0.5], vec![0.0, -0.5], vec![9.0, 9.0]];
        assert_eq!(of_width(rows(), 1), [[0.5, 0.0]]);
        assert_eq!(of_width(rows(), 2), rows()[..2]);
        assert_eq!(of_width(rows()[..1].to_vec(), 2), [[1.0, 0.5]], "for both");
        assert_eq!(of_width(rows()[..1].to_vec(), 1), [[1.0, 0.5]]);
    }
}
