//! All audio files of a session: those that take next to no memory until they are ready are decoded on several threads at once.
//!
//! The thread that loads goes through the files in the session's order. It decodes by itself what fills the memory, one file after the
//! other, because each of them looks first whether there is room. For the others it waits. So messages come in the order of the
//! session, and an error names every file that failed, however many threads there are.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope, available_parallelism};

use hocket_engine::session::MediaId;

use super::ways::{Ready, Way};
use super::{LoadError, LoadErrors, SessionAudio, Told};

/// Threads that decode at once, at most: more of them write to one disk for nothing.
const MOST_THREADS: usize = 16;

/// What became of a file.
struct Gone {
    ready: Result<Ready, LoadError>,
    told: Told,
}

/// Every file goes its way; `tell` gets what is found out, in the session's order and as soon as it is known.
///
/// # Errors
/// Those of all files, in the session's order.
pub(super) fn load(
    audio: &SessionAudio<'_>,
    ways: Vec<Way>,
    tell: impl FnMut(Told),
) -> Result<Vec<Ready>, LoadErrors> {
    let threads = available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    load_on(threads, audio, ways, tell)
}

fn load_on(
    threads: usize,
    audio: &SessionAudio<'_>,
    ways: Vec<Way>,
    mut tell: impl FnMut(Told),
) -> Result<Vec<Ready>, LoadErrors> {
    let (queue, own) = split(ways);
    let (mut ready, mut errors) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let mut others = Others::start(scope, threads, audio, &queue);
        for (index, way) in own.into_iter().enumerate() {
            let gone = match way {
                Some(way) => Some(go(audio, index, way)),
                None => others.await_file(index),
            };
            // A thread that panicked has told nothing; the panic goes on when the scope ends.
            let Some(gone) = gone else { break };
            tell(gone.told);
            match gone.ready {
                Ok(file) => ready.push(file),
                Err(error) => errors.push(error),
            }
        }
    });
    if errors.is_empty() { Ok(ready) } else { Err(LoadErrors(errors)) }
}

fn go(audio: &SessionAudio<'_>, index: usize, way: Way) -> Gone {
    let mut told = Told::default();
    let ready = way.go(audio, MediaId(index), &mut told);
    Gone { ready, told }
}

/// Takes files until none is left.
fn work(audio: &SessionAudio<'_>, queue: &Queue, done: &Sender<(usize, Gone)>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((index, way)) = next else { return };
        // Nobody waits any more if the thread that loads has panicked.
        if done.send((index, go(audio, index, way))).is_err() {
            return;
        }
    }
}

/// Files that several threads take, in the session's order.
type Queue = Mutex<VecDeque<(usize, Way)>>;

/// Which files several threads take, and which ones the thread that loads takes by itself.
fn split(ways: Vec<Way>) -> (Queue, Vec<Option<Way>>) {
    let mut queue = VecDeque::new();
    let own = ways.into_iter().enumerate().map(|(index, way)| match way.is_frugal() {
        true => {
            queue.push_back((index, way));
            None
        }
        false => Some(way),
    });
    let own = own.collect();
    (Mutex::new(queue), own)
}

/// The files that other threads decode.
struct Others {
    done: Receiver<(usize, Gone)>,
    /// Those that came before their turn.
    early: BTreeMap<usize, Gone>,
}

impl Others {
    /// Starts as many of the threads as there are files for them. Where none can start, this one does their work first.
    fn start<'s>(
        scope: &'s Scope<'s, '_>,
        threads: usize,
        audio: &'s SessionAudio<'_>,
        queue: &'s Queue,
    ) -> Others {
        let (send, done) = channel();
        let wanted = threads.min(queue.lock().unwrap_or_else(PoisonError::into_inner).len());
        let spawn = |number: &usize| {
            let send = send.clone();
            let thread = Builder::new().name(format!("hocket-decode{number}"));
            thread.spawn_scoped(scope, move || work(audio, queue, &send)).is_ok()
        };
        if (0..wanted).take_while(spawn).count() == 0 {
            work(audio, queue, &send);
        }
        Others { done, early: BTreeMap::new() }
    }

    /// What became of a file; `None` where no thread is left that could say so.
    fn await_file(&mut self, index: usize) -> Option<Gone> {
        loop {
            if let Some(gone) = self.early.remove(&index) {
                return Some(gone);
            }
            let (other, gone) = self.done.recv().ok()?;
            self.early.insert(other, gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hocket_engine::Effects;
    use hocket_media::{WavFormat, WavLayout, Written};
    use hocket_session::LoadOptions;

    use super::super::ways::ReadyAudio;
    use super::*;
    use crate::{DiskUse, Wait, Words, read_session};

    const WORDS: Words = Words { stream: "", run_at: "", refuse_damaged: None };
    const FRAMES: u32 = 12 * 8_000;

    /// Twelve seconds of one channel.
    fn write(path: &Path, seed: u32) {
        let layout = WavLayout { samples: WavFormat::Pcm16, sample_rate_hz: 8_000, channels: 1 };
        let mut bytes = layout.header(FRAMES.into());
        let sample = |i: u32| ((i * seed) % 1_000) as f32 / 2_000.0;
        layout.encode((0..FRAMES).map(sample), &mut bytes, &mut Written::default());
        std::fs::write(path, bytes).unwrap();
    }

    /// All of what a temporary file holds.
    fn bytes(file: &Ready) -> Vec<u8> {
        let ReadyAudio::Disk(storage, ..) = &file.audio else { panic!("it is in memory") };
        let file = storage.open().unwrap();
        let mut bytes = vec![0; file.byte_len().unwrap() as usize];
        let read = file.read_at(0, &mut bytes).unwrap();
        assert_eq!(read, bytes.len());
        bytes
    }

    #[test]
    fn on_however_many_threads_all_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a.wav", "b.wav", "c.wav", "d.wav"];
        (3..).zip(names).for_each(|(seed, name)| write(&folder.path().join(name), seed));
        let clips = names.map(|name| format!("{{ file = \"{name}\" }}")).join(", ");
        let text = format!(
            "[session]\nsample_rate_hz = 16000\n[[track]]\nname = \"one\"\nclip = [{clips}]\n"
        );
        let file = folder.path().join("session.toml");
        std::fs::write(&file, text).unwrap();
        let options = LoadOptions::for_seats(1);
        let (loaded, facts) = read_session(&file, &Effects::builtin(), &options, &WORDS).unwrap();
        let wait = Wait::ForTheDisk;
        let disk = DiskUse { buffer_bytes: 16 << 20, wait, engines: 1, strict: false };
        let (facts, words, until) = (&facts, &WORDS, u64::MAX);
        let audio = SessionAudio { loaded: &loaded, facts, rate_hz: 16_000, until, disk, words };
        // One for each file, fewer, more, and none that could be started.
        let [first, others @ ..] = [4, 3, 9, 0].map(|threads| {
            let (plan, mut details) = (audio.plan(&[]).unwrap(), Vec::new());
            let tell = |told: Told| details.extend(told.details);
            let ready = load_on(threads, &audio, plan.ways, tell).unwrap();
            (details, ready.iter().map(bytes).collect::<Vec<_>>())
        });
        assert_eq!(first.0.len(), names.len());
        for (line, name) in first.0.iter().zip(names) {
            assert!(line.contains(&format!("{name}: plays from the disk, decoded")), "{line}");
        }
        assert!(first.1.windows(2).all(|pair| pair[0].len() > 700_000 && pair[0] != pair[1]));
        assert!(others.iter().all(|other| *other == first));
    }
}
