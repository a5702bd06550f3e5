//! What the tests share.

use std::path::{Path, PathBuf};
use std::process::Command;

use hocket_dsp::{Block, MoreRows, Processor, RowsMut, StereoMut, TimedChange};

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

/// The bundle of an LV2 plug-in of the tests' own, with its library built from C.
pub fn compiled(test: &str, name: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    if let Err(why) = hocket_plugins::lv2::available() {
        skipped(test, &why);
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/plugins/{name}.lv2"));
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join(format!("{name}.lv2"));
    std::fs::create_dir(&bundle).unwrap();
    for file in ["manifest.ttl".to_owned(), format!("{name}.ttl")] {
        std::fs::copy(source.join(&file), bundle.join(file)).unwrap();
    }
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(bundle.join(format!("{name}.so")));
    match compiler.arg(source.join(format!("{name}.c"))).status() {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            skipped(test, &format!("no cc: {error}"));
            return None;
        }
    }
    Some((folder, bundle))
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
    example(test, "test_clap")
}

/// The tests' own CLAP instrument.
pub fn test_instrument(test: &str) -> Option<PathBuf> {
    example(test, "test_instrument")
}

/// The tests' own CLAP plug-in that sends events.
pub fn test_sender(test: &str) -> Option<PathBuf> {
    example(test, "test_sender")
}

/// The library of an example of this crate.
fn example(test: &str, name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().unwrap().parent().unwrap().join("examples");
    let file = folder.join(format!("lib{name}.so"));
    if !file.exists() {
        skipped(test, &format!("the example {name} is not built: build with --examples"));
        return None;
    }
    Some(file)
}

/// A bundle of this name with the tests' own VST3 plug-in.
pub fn test_vst3(test: &str, folder: &Path, name: &str) -> Option<PathBuf> {
    let file = example(test, "test_vst3")?;
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
    played_wide(processor, sound, lengths, changes, 0).0
}

/// The same of a processor with so many rows of extra outputs, and these.
pub fn played_wide(
    processor: &mut dyn Processor,
    sound: &Stereo,
    lengths: &[usize],
    changes: &[TimedChange],
    rows: usize,
) -> (Stereo, Vec<Vec<f32>>) {
    let [mut left, mut right] = sound.clone();
    let mut extra = vec![Vec::new(); rows];
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
        let mut silence = vec![0.0; rows * (end - at)];
        let wide = RowsMut::new(&mut silence, end - at, end - at);
        let mut more = MoreRows { extra: wide, ..MoreRows::default() };
        block.more = (rows > 0).then_some(&mut more);
        processor.process(&mut block);
        for (row, all) in extra.iter_mut().enumerate() {
            all.extend_from_slice(&silence[row * (end - at)..][..end - at]);
        }
        (at, turn) = (end, turn + 1);
    }
    ([left, right], extra)
}

/// The bits of a sound.
pub fn bits(sound: &Stereo) -> Vec<u32> {
    sound.iter().flatten().map(|sample| sample.to_bits()).collect()
}
