//! What `hocket tune` wrote.

use hocket_lab::tune::{PROFILE_MARK, Profile};

use super::scratch;

pub fn check(bytes: &[u8]) {
    let path = scratch::file("machine.toml", bytes);
    match Profile::read(&path) {
        Ok(profile) => {
            for frames in [0, 1, 64, 100, 8192, u32::MAX] {
                profile.for_frames(frames);
            }
            let path = scratch::file("again.toml", profile.text().as_bytes());
            assert!(profile.text().starts_with(PROFILE_MARK));
            let again = Profile::read(&path).expect("what Hocket writes");
            assert_eq!(again.text(), profile.text());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
