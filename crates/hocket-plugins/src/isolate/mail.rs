//! Messages between the engine's process and a plug-in's that are no blocks: JSON, and bytes behind it.

use std::io::{self, Read};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Pace;
use crate::Description;

/// The longest text of a message.
const LONGEST_TEXT: usize = 64 << 20;
/// The most bytes behind it: the largest state that is read.
const MOST_BYTES: usize = 1 << 30;
/// How much is read at once. So a length that is not true costs no memory.
const PIECE: usize = 1 << 16;

/// What the plug-in's process is to do. A state is in the bytes behind it.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Make the plug-in and serve blocks.
    Start(Box<Job>),
    /// Send the state.
    Save,
    /// Make an instance with a state, and keep it for the request that names this number.
    Load { token: u32 },
}

/// Which plug-in, and how.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub plugin: Description,
    pub rate_hz: u32,
    /// As bits, so that none changes on the way.
    pub values: Vec<u32>,
    pub has_state: bool,
    pub pace: Pace,
    pub priority: Option<u8>,
    pub slots: usize,
    /// The last request that is not for this process.
    pub base: u32,
}

/// What the plug-in's process answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    Ready(Facts),
    /// The state is behind it.
    Saved,
    /// There is none.
    NoState,
    Loaded,
    /// What went wrong, for users.
    Refused(String),
}

/// What the plug-in says of itself.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Facts {
    pub latency: u32,
    pub keeps_time: bool,
}

/// A message as bytes.
pub fn encoded(message: &impl Serialize, bytes: &[u8]) -> Vec<u8> {
    let text = serde_json::to_vec(message).unwrap_or_default();
    let mut all = Vec::with_capacity(16 + text.len() + bytes.len());
    all.extend((text.len() as u64).to_le_bytes());
    all.extend((bytes.len() as u64).to_le_bytes());
    all.extend(text);
    all.extend(bytes);
    all
}

/// Reads a message. The sender is not trusted: lengths are bounded.
pub fn read<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<(M, Vec<u8>)> {
    let mut head = [0; 16];
    from.read_exact(&mut head)?;
    let length = |at: usize| {
        let mut length = [0; 8];
        length.copy_from_slice(&head[at..at + 8]);
        usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX)
    };
    let text = read_bytes(from, length(0), LONGEST_TEXT)?;
    let bytes = read_bytes(from, length(8), MOST_BYTES)?;
    Ok((serde_json::from_slice(&text)?, bytes))
}

fn read_bytes(from: &mut impl Read, length: usize, most: usize) -> io::Result<Vec<u8>> {
    if length > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
    }
    let (mut bytes, mut piece) = (Vec::new(), vec![0; PIECE.min(length)]);
    while bytes.len() < length {
        let count = piece.len().min(length - bytes.len());
        from.read_exact(&mut piece[..count])?;
        bytes.extend_from_slice(&piece[..count]);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in() {
        let state: Vec<u8> = (0..200_000).map(|n| n as u8).collect();
        let mut all = encoded(&Order::Load { token: 7 }, &state);
        all.extend(encoded(&Order::Save, &[]));
        let mut from = all.as_slice();
        let (order, bytes) = read::<Order>(&mut from).unwrap();
        assert!(matches!(order, Order::Load { token: 7 }) && bytes == state);
        assert!(matches!(read::<Order>(&mut from).unwrap().0, Order::Save));
        assert!(read::<Order>(&mut from).is_err());
    }

    #[test]
    fn lengths_that_are_not_true_are_refused() {
        let mut long = encoded(&Order::Save, &[]);
        long[..8].fill(0xff);
        assert!(read::<Order>(&mut long.as_slice()).is_err());
        let mut missing = encoded(&Order::Save, &[]);
        missing[8..16].copy_from_slice(&(1_u64 << 29).to_le_bytes());
        assert!(read::<Order>(&mut missing.as_slice()).is_err());
        assert!(read::<Reply>(&mut encoded(&Order::Save, &[]).as_slice()).is_err());
    }
}
