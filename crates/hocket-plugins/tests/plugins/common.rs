//! What the tests share.

use std::path::{Path, PathBuf};

use hocket_dsp::{Block, Processor, StereoMut, TimedChange};

/// Two rows.
pub type Stereo = [Vec<f32>; 2];

/// Says why a test has nothing to do.
pub fn skipped(test: &str, why: &str) {
    println!("SKIPPED {test}: {why}");
}

/// The bundle of an LV2 plug-in, if it is installed.
pub fn bundle(test: &str, name: &str) -> Option<PathBuf> {
    if let Err(why) = hocket_plugins::lv2::available() {
        skipped(test, &why);
        return None;
    }
    let folder = Path::new("/usr/lib/lv2").join(name);
    if !folder.exists() {
        skipped(test, &format!("no {} here", folder.display()));
        return None;
    }
    Some(folder)
}

/// A VST3 bundle, if it is installed.
pub fn vst3_bundle(test: &str, name: &str) -> Option<PathBuf> {
    let bundle = Path::new("/usr/lib/vst3").join(name);
    if !bundle.exists() {
        skipped(test, &format!("no {} here", bundle.display()));
        return None;
    }
    Some(bundle)
}

/// The tests' own CLAP plug-in, which cargo builds with all examples.
pub fn test_clap(test: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().unwrap().parent().unwrap().join("examples");
    let file = folder.join("libtest_clap.so");
    if !file.exists() {
        skipped(test, "the example test_clap is not built: build with --examples");
        return None;
    }
    Some(file)
}

/// A bundle of this name with the tests' own VST3 plug-in.
pub fn test_vst3(test: &str, folder: &Path, name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().unwrap();
    let examples = program.parent().unwrap().parent().unwrap().join("examples");
    let file = examples.join("libtest_vst3.so");
    if !file.exists() {
        skipped(test, "the example test_vst3 is not built: build with --examples");
        return None;
    }
    let bundle = folder.join(format!("{name}.vst3"));
    let place = bundle.join(format!("Contents/{}-linux", std::env::consts::ARCH));
    std::fs::create_dir_all(&place).unwrap();
    std::fs::copy(&file, place.join(format!("{name}.so"))).unwrap();
    Some(bundle)
}

/// A sound that no plug-in leaves as it is by chance.
pub fn noise(frames: usize) -> Stereo {
    let mut seed = 1_u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut row = || (0..frames).map(|_| next() * 0.5).collect();
    [row(), row()]
}

/// What a processor makes of a sound, in blocks of these lengths in turn, with changes at frames of the sound.
pub fn played(
    processor: &mut dyn Processor,
    sound: &Stereo,
    lengths: &[usize],
    changes: &[TimedChange],
) -> Stereo {
    let [mut left, mut right] = sound.clone();
    let (mut at, mut turn) = (0, 0);
    while at < left.len() {
        let end = left.len().min(at + lengths[turn % lengths.len()]);
        let within = |change: &&TimedChange| (at..end).contains(&(change.frame as usize));
        let moved =
            |change: &TimedChange| TimedChange { frame: change.frame - at as u32, ..*change };
        let events: Vec<TimedChange> = changes.iter().filter(within).map(moved).collect();
        let mut block =
            Block::new(StereoMut { left: &mut left[at..end], right: &mut right[at..end] });
        block.events = &events;
        processor.process(&mut block);
        (at, turn) = (end, turn + 1);
    }
    [left, right]
}

/// The bits of a sound.
pub fn bits(sound: &Stereo) -> Vec<u32> {
    sound.iter().flatten().map(|sample| sample.to_bits()).collect()
}
