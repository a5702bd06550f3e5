//! What several test files need.
#![allow(dead_code)]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use hocket_disk::{Preloader, ReadAt, Settings, Storage, WavFormat};
use hocket_media::{AudioWriter, FileFormat};

/// A linear congruential generator: the same numbers every time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

pub fn noise(frames: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    // Never zero, so that silence is not mistaken for sound.
    (0..frames).map(|_| (1 + random.below(1 << 22)) as f32 / (1 << 23) as f32).collect()
}

pub fn bits(row: &[f32]) -> Vec<u32> {
    row.iter().map(|x| x.to_bits()).collect()
}

/// A stereo file at 48 kHz.
pub fn written(folder: &Path, name: &str, samples: WavFormat, frames: usize) -> PathBuf {
    let path = folder.join(name);
    let format = FileFormat::of(&path).unwrap();
    let mut writer = AudioWriter::create(&path, format, 48_000, samples, frames as u64).unwrap();
    writer.write(&noise(frames, 1), &noise(frames, 2)).unwrap();
    writer.finish().unwrap();
    path
}

/// Small chunks have many edges.
pub fn preloader(chunk_frames: usize) -> Preloader {
    let settings = Settings { chunk_frames, patience: Duration::ZERO, ..Settings::new(64 << 20) };
    Preloader::start(settings).unwrap()
}

/// Looks until it is so. A test that waits for ever would say less; and so would one that panics, because the end of a
/// preloader waits for the disk.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > Duration::from_secs(600) {
            eprintln!("never: {what}");
            std::process::exit(101);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A disk that a test can stop, break and repair.
pub struct Disk {
    pub path: PathBuf,
    pub device: u64,
    state: Mutex<State>,
    changed: Condvar,
}

pub struct State {
    pub bytes: Vec<u8>,
    /// As if the file were shorter.
    pub len: usize,
    /// A read waits while this is so.
    pub stalls: bool,
    /// A read fails, and so does opening.
    pub fails: Option<io::ErrorKind>,
    /// A read panics, as a decoder with a fault does.
    pub panics: bool,
    /// The end of the last byte that was read.
    pub read_up_to: u64,
    /// Reads so far.
    pub reads: usize,
    /// Reads that wait now.
    pub waiting: usize,
}

impl Disk {
    pub fn new(path: &Path, device: u64) -> Arc<Disk> {
        let bytes = std::fs::read(path).unwrap();
        let len = bytes.len();
        let state = State {
            bytes,
            len,
            stalls: false,
            fails: None,
            panics: false,
            read_up_to: 0,
            reads: 0,
            waiting: 0,
        };
        Arc::new(Disk {
            path: path.into(),
            device,
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    pub fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    pub fn see<T>(&self, see: impl FnOnce(&State) -> T) -> T {
        see(&self.state.lock().unwrap())
    }
}

/// Lets a disk go on when a test ends, however it ends: the end of a preloader waits for the disk. Make it last.
pub struct GoesOn(pub Arc<Disk>);

impl Drop for GoesOn {
    fn drop(&mut self) {
        self.0.change(|state| state.stalls = false);
    }
}

pub struct OnDisk(pub Arc<Disk>);

impl Storage for OnDisk {
    fn path(&self) -> &Path {
        &self.0.path
    }

    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        match self.0.see(|state| state.fails) {
            Some(kind) => Err(kind.into()),
            None => Ok(Arc::new(OnDisk(Arc::clone(&self.0)))),
        }
    }

    fn device(&self) -> u64 {
        self.0.device
    }
}

impl ReadAt for OnDisk {
    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.state.lock().unwrap();
        state.waiting += 1;
        while state.stalls {
            state = self.0.changed.wait(state).unwrap();
        }
        state.waiting -= 1;
        if state.panics {
            drop(state);
            std::panic::resume_unwind(Box::new("a decoder with a fault"));
        }
        if let Some(kind) = state.fails {
            return Err(kind.into());
        }
        let from = (position as usize).min(state.len);
        let count = buffer.len().min(state.len - from);
        buffer[..count].copy_from_slice(&state.bytes[from..from + count]);
        state.reads += 1;
        state.read_up_to = state.read_up_to.max((from + count) as u64);
        Ok(count)
    }

    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.0.see(|state| state.len as u64))
    }
}

/// A mono WAV file with IMA ADPCM: so many blocks of random codes.
pub fn ima_adpcm(blocks: u32) -> Vec<u8> {
    const BLOCK_BYTES: u32 = 256;
    const BLOCK_FRAMES: u32 = (BLOCK_BYTES - 4) * 2 + 1;
    let data_bytes = blocks * BLOCK_BYTES;
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((4 + 28 + 12 + 8 + data_bytes).to_le_bytes());
    bytes.extend(b"WAVEfmt \x14\0\0\0\x11\0\x01\0");
    bytes.extend(48_000u32.to_le_bytes());
    bytes.extend((48_000 * BLOCK_BYTES / BLOCK_FRAMES).to_le_bytes());
    bytes.extend((BLOCK_BYTES as u16).to_le_bytes());
    bytes.extend(b"\x04\0\x02\0");
    bytes.extend((BLOCK_FRAMES as u16).to_le_bytes());
    bytes.extend(b"fact\x04\0\0\0");
    bytes.extend((blocks * BLOCK_FRAMES).to_le_bytes());
    bytes.extend(b"data");
    bytes.extend(data_bytes.to_le_bytes());
    let mut random = Random(5);
    for _ in 0..blocks {
        // The first sample, the step index (0 to 88), and a byte that is always zero.
        bytes.extend([random.below(256) as u8, random.below(256) as u8, random.below(89) as u8, 0]);
        bytes.extend((0..BLOCK_BYTES - 4).map(|_| random.below(256) as u8));
    }
    bytes
}
