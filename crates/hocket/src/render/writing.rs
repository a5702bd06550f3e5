//! The thread of a render that encodes and writes, beside the thread that leads the blocks.
//!
//! Pieces of finished sound go round between the two. The leader fills an empty one and sends it; the thread writes it
//! and gives it back. There are a few of them, so a slow disk makes the leader wait, and memory stays bounded.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hocket_media::{AudioWriter, LevelMeter, Levels, WriteError, Written};

use super::held::Held;
use crate::failure::Failure;

/// Pieces that go round: one is filled, one is written, and two take up what is uneven in between.
const PIECES: usize = 4;
/// Samples of a piece, in all files together: handing one over costs little beside encoding it.
const PIECE_SAMPLES: usize = 1 << 17;

/// Sound on its way into the files.
pub(super) struct Piece {
    /// For each file its left and right row; all are equally long.
    pub files: Vec<[Vec<f32>; 2]>,
}

impl Piece {
    /// `frames` and a block more fit without allocating.
    fn new(files: usize, frames: usize) -> Piece {
        let row = || Vec::with_capacity(frames + *hocket_engine::Settings::FRAMES.end() as usize);
        Piece { files: (0..files).map(|_| [row(), row()]).collect() }
    }

    fn frames(&self) -> usize {
        self.files.first().map_or(0, |[left, _]| left.len())
    }

    fn clear(&mut self) {
        self.files.iter_mut().flatten().for_each(Vec::clear);
    }
}

/// A file that is being written, or held until its gain is known.
pub(super) struct Output {
    pub file: AudioWriter,
    /// `None`: nobody asks how loud it is.
    pub meter: Option<LevelMeter>,
    /// `None`: its gain is 1.
    pub held: Option<(Held, LevelMeter)>,
}

/// A file that has all its sound.
pub(super) struct Ended {
    /// The levels of what was rendered.
    pub levels: Option<Levels>,
    pub rest: Rest,
}

/// What is left to do.
pub(super) enum Rest {
    /// Nothing: it has its name.
    Written(Written),
    /// The file is empty; it gets what is held, with a gain. The meter has not measured anything.
    Held(Box<(Held, AudioWriter, LevelMeter)>),
}

impl Output {
    fn write(&mut self, left: &[f32], right: &[f32]) -> Result<(), WriteError> {
        self.meter.iter_mut().for_each(|meter| meter.add(left, right));
        match &mut self.held {
            Some((held, _)) => held.write(left, right),
            None => self.file.write(left, right),
        }
    }

    fn end(self) -> Result<Ended, WriteError> {
        let levels = self.meter.map(|meter| meter.levels());
        let rest = match self.held {
            Some((held, meter)) => Rest::Held(Box::new((held, self.file, meter))),
            None => Rest::Written(self.file.finish()?),
        };
        Ok(Ended { levels, rest })
    }
}

enum Order {
    Write(Piece),
    /// No more pieces come: give the files their names. Without this order nothing gets a name.
    Finish,
}

/// The leader's end.
pub(super) struct Writing {
    filling: Piece,
    /// A piece with so many frames is sent.
    piece_frames: usize,
    /// `None`: nothing more is sent.
    orders: Option<SyncSender<Order>>,
    empty: Receiver<Piece>,
    /// `None`: it was joined.
    thread: Option<JoinHandle<Result<Finished, WriteError>>>,
    has_failed: bool,
    waited: Duration,
}

/// The files have all their sound.
pub(super) struct Finished {
    pub files: Vec<Ended>,
    /// How long the thread encoded and wrote.
    pub busy: Duration,
    /// How long the leader waited for it.
    pub waited: Duration,
}

impl Writing {
    /// Starts the thread for files that were begun. Start it before the leader enters its engine: a thread begins with
    /// the CPUs of the one that starts it.
    ///
    /// # Errors
    /// The system starts no thread: exit code 3.
    pub fn start(files: Vec<Output>) -> Result<Writing, Failure> {
        let piece_frames = (PIECE_SAMPLES / (2 * files.len().max(1))).max(1);
        let piece = || Piece::new(files.len(), piece_frames);
        let (give_back, empty) = channel();
        let filling = piece();
        for _ in 1..PIECES {
            // The receiver is here.
            let _ = give_back.send(piece());
        }
        // Room for every piece and the last order, so sending never waits.
        let (orders, ordered) = sync_channel(PIECES + 1);
        let thread = std::thread::Builder::new()
            .name("hocket-write".into())
            .spawn(move || write(files, &ordered, &give_back))
            .map_err(|error| Failure::not_possible(format!("no thread to write files: {error}")))?;
        Ok(Writing {
            filling,
            piece_frames,
            orders: Some(orders),
            empty,
            thread: Some(thread),
            has_failed: false,
            waited: Duration::ZERO,
        })
    }

    /// The piece that is being filled. After each block call [`Writing::pass_on`].
    pub fn piece(&mut self) -> &mut Piece {
        &mut self.filling
    }

    /// Sends the piece if it is full. `false`: the thread has ended with an error, which [`Writing::finish`] returns.
    pub fn pass_on(&mut self) -> bool {
        self.filling.frames() < self.piece_frames || self.send()
    }

    /// Whether the thread has taken no piece because it has ended with an error.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Writes the rest, and waits until all files are on the disk under their names. A `Writing` that is dropped before
    /// leaves no file behind.
    ///
    /// # Errors
    /// The disk is full or fails, the reader of a pipe went away. What is not complete is removed.
    pub fn finish(mut self) -> Result<Finished, WriteError> {
        if self.filling.frames() > 0 {
            self.send();
        }
        if let Some(orders) = self.orders.take() {
            // A thread that has failed takes none, and says why below.
            let _ = orders.send(Order::Finish);
        }
        let Some(thread) = self.thread.take() else { unreachable!("only this joins it") };
        let finished = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Finished { waited: self.waited, ..finished })
    }

    fn send(&mut self) -> bool {
        let begun = Instant::now();
        let empty = self.empty.recv();
        self.waited += begun.elapsed();
        let sent = empty.is_ok_and(|empty| {
            let full = std::mem::replace(&mut self.filling, empty);
            self.orders.as_ref().is_some_and(|orders| orders.send(Order::Write(full)).is_ok())
        });
        self.has_failed |= !sent;
        sent
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // The parts are removed before the program ends.
            let _ = thread.join();
        }
    }
}

/// The thread.
fn write(
    mut files: Vec<Output>,
    orders: &Receiver<Order>,
    give_back: &Sender<Piece>,
) -> Result<Finished, WriteError> {
    let mut busy = Duration::ZERO;
    while let Ok(order) = orders.recv() {
        let begun = Instant::now();
        match order {
            Order::Write(mut piece) => {
                for (file, [left, right]) in files.iter_mut().zip(&piece.files) {
                    file.write(left, right)?;
                }
                piece.clear();
                // A leader that has been interrupted takes none.
                let _ = give_back.send(piece);
            }
            Order::Finish => {
                let files = files.into_iter().map(Output::end).collect::<Result<_, _>>()?;
                return Ok(Finished {
                    files,
                    busy: busy + begun.elapsed(),
                    waited: Duration::ZERO,
                });
            }
        }
        busy += begun.elapsed();
    }
    // Dropped writers leave nothing behind.
    Ok(Finished { files: Vec::new(), busy, waited: Duration::ZERO })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hocket_media::{FileFormat, WavFormat};

    use super::*;

    fn file(path: &Path) -> Output {
        let file = AudioWriter::create(path, FileFormat::Wav, 48_000, WavFormat::Float32, 0);
        Output { file: file.unwrap(), meter: None, held: None }
    }

    /// Fills pieces with a count, in blocks of this length. Returns how many blocks were taken.
    fn fill(writing: &mut Writing, blocks: usize, frames: usize) -> usize {
        let mut count = 0..;
        let taken = (0..blocks).take_while(|_| {
            for [left, right] in &mut writing.piece().files {
                let from = left.len();
                left.extend(count.by_ref().take(frames).map(|n: i32| n as f32));
                right.extend(left[from..].iter().map(|n| -n));
            }
            writing.pass_on()
        });
        taken.count()
    }

    #[test]
    fn every_frame_arrives_in_order_whatever_the_block() {
        let folder = tempfile::tempdir().unwrap();
        for frames in [1000, 8192] {
            let path = folder.path().join(format!("{frames}.wav"));
            let mut writing = Writing::start(vec![file(&path)]).unwrap();
            assert_eq!(fill(&mut writing, 300, frames), 300);
            assert!(!path.exists());
            let finished = writing.finish().unwrap();
            let Rest::Written(written) = &finished.files[0].rest else { panic!("it is held") };
            assert_eq!(written.frames, 300 * frames as u64);
            let audio = hocket_media::decode(&path).unwrap();
            let expected = |(n, x): (usize, &f32)| *x == n as f32;
            assert!(audio.channels[0].iter().enumerate().all(expected));
            assert!(audio.channels[0].iter().zip(&audio.channels[1]).all(|(l, r)| *l == -r));
        }
    }

    #[test]
    fn a_failed_file_stops_the_leader_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other.wav");
        let mut writing = Writing::start(vec![file(&other), file(Path::new("/dev/full"))]).unwrap();
        assert!(fill(&mut writing, 10_000, 1000) < 10_000, "the leader goes on");
        assert!(writing.finish().is_err_and(|error| error.to_string().contains("disk is full")));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut writing = Writing::start(vec![file(&folder.path().join("out.wav"))]).unwrap();
        assert_eq!(fill(&mut writing, 100, 1000), 100);
        drop(writing);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
