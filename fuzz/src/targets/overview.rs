//! Waveform overviews.

use hocket_media::Overview;

use super::scratch;

pub fn check(bytes: &[u8]) {
    let path = scratch::file("sound.overview", bytes);
    match Overview::read(&path) {
        Ok(overview) => {
            let points = overview.channels[0].len();
            assert!(overview.channels.iter().all(|row| row.len() == points));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
