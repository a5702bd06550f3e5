//! Every recorded file, whole, odd or damaged: rate, channels, length, peak and RMS against an
//! independent decoder (libsndfile), or a clean error.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use hocket_media::{Audio, MediaError, decode};
use serde_json::Value;

/// Decoders of lossy formats may differ by rounding and by filter-bank details.
const LOSSY: &[&str] = &["MPEG_LAYER_III", "VORBIS", "IMA_ADPCM", "MS_ADPCM"];

/// Files where the independent decoder is no reference, and why.
const NO_REFERENCE: &[(&str, &str)] = &[
    ("waveformatextensible-24bit-4byte", "right-justified; libsndfile reads it 48 dB too low"),
    ("pcmwaveformat-24bit-4byte", "libsndfile ignores the 4-byte container"),
];

fn files(data: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(data.join("audio/ground-truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&text).unwrap();
    truth["files"].as_array().unwrap().clone()
}

fn mismatch(truth: &Value, audio: &Audio) -> Option<String> {
    let lossy = LOSSY.contains(&truth["subtype"].as_str()?);
    let rate = truth["rate"].as_u64()?;
    let channels = truth["channels"].as_u64()?;
    let (peak, rms) = (truth["peak"].as_f64()?, truth["rms"].as_f64()?);
    let frames = truth["frames_read"].as_u64()?;
    // Encoder delay and padding are trimmed by different rules; two MPEG granules are allowed.
    let frame_tolerance = if lossy { 2 * 1152 } else { 0 };
    let (peak_tolerance, rms_tolerance) = if lossy { (0.03, 0.01) } else { (1e-6, 1e-6) };
    let close = |ours: f64, theirs: f64, tolerance: f64| {
        (ours - theirs).abs() <= tolerance * theirs.abs().max(1e-3)
    };
    let fine = u64::from(audio.sample_rate_hz) == rate
        && audio.channels.len() as u64 == channels
        && (audio.frames() as u64).abs_diff(frames) <= frame_tolerance
        && close(f64::from(audio.peak()), peak, peak_tolerance)
        && close(audio.rms(), rms, rms_tolerance);
    (!fine).then(|| {
        format!(
            "{} Hz, {} channels, {} frames, peak {}, rms {}; expected {rate} {channels} {frames} {peak} {rms}",
            audio.sample_rate_hz,
            audio.channels.len(),
            audio.frames(),
            audio.peak(),
            audio.rms()
        )
    })
}

#[test]
fn intact_files_match_an_independent_decoder() {
    let Some(data) = common::shared("intact_files_match_an_independent_decoder") else { return };
    let mut failures = Vec::new();
    let mut compared = 0;
    for truth in files(&data) {
        let name = truth["file"].as_str().unwrap();
        let has_reference = !NO_REFERENCE.iter().any(|(part, _)| name.contains(part));
        if truth["frames_read"].is_null() || name.contains("damaged/") || !has_reference {
            continue;
        }
        match decode(&data.join("audio").join(name)) {
            Ok(audio) => {
                compared += 1;
                failures.extend(mismatch(&truth, &audio).map(|why| format!("{name}: {why}")));
            }
            Err(MediaError::Unsupported { format, .. }) if format.contains("Opus") => {}
            Err(error) => failures.push(error.to_string()),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared > 100, "only {compared} files were compared");
}

/// The reference cannot read these, but we do: the kind of outcome is fixed here.
#[test]
fn every_file_gives_audio_or_one_clean_error() {
    let Some(data) = common::shared("every_file_gives_audio_or_one_clean_error") else { return };
    for truth in files(&data) {
        let name = truth["file"].as_str().unwrap();
        match decode(&data.join("audio").join(name)) {
            Ok(audio) => {
                let frames = audio.frames();
                assert!(audio.channels.iter().all(|row| row.len() == frames), "{name}");
                assert!(audio.channels.iter().flatten().all(|x| x.is_finite()), "{name}");
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(name) && text.contains(';'), "no place or remedy: {text}");
                assert!(!text.contains('\n'), "more than one line: {text}");
                assert!(!matches!(error, MediaError::Decoder { .. }), "panicked: {text}");
            }
        }
    }
}

/// Frames that must come out of each damaged file and whether a warning must say so;
/// `None`: an error. (A range where the format leaves it open.)
fn expected_of_damaged() -> BTreeMap<&'static str, Option<(usize, usize, bool)>> {
    let exactly = |frames, warned| Some((frames, frames, warned));
    BTreeMap::from([
        ("wav-truncated-half.wav", exactly(11_025, true)),
        ("wav-truncated-odd-byte.wav", exactly(250, true)),
        ("wav-header-only.wav", exactly(0, true)),
        // Chosen: a header that was never completed is read to the end of the file.
        ("wav-data-size-zero.wav", exactly(22_050, true)),
        ("wav-data-size-ffffffff.wav", exactly(22_050, false)),
        ("wav-data-size-too-big.wav", exactly(22_050, true)),
        ("wav-data-size-too-small.wav", exactly(250, false)),
        ("wav-odd-chunk-not-padded.wav", exactly(22_050, true)),
        ("wav-no-fmt.wav", None),
        ("wav-no-data.wav", None),
        ("wav-channels-zero.wav", None),
        ("wav-rate-4294967295.wav", None),
        ("wav-bits-zero.wav", None),
        ("wav-bits-17.wav", Some((14_700, 14_700, false))),
        ("wav-format-mp3-tag-0x55.wav", None),
        ("wav-big-endian-rifx.wav", exactly(22_050, false)),
        ("wav-leading-garbage.wav", None),
        ("wav-trailing-id3.wav", exactly(22_050, false)),
        ("wav32f-nan-inf-denormal.wav", exactly(2_400, true)),
        ("empty.wav", None),
        ("text-named.wav", None),
        ("flac-bad-frame.flac", exactly(44_100, true)),
        ("flac-no-md5.flac", exactly(44_100, false)),
        ("flac-total-samples-unknown.flac", exactly(44_100, false)),
        ("flac-magic-only.flac", None),
        ("flac-in-wav-name.wav", exactly(44_100, false)),
        ("ogg-bad-crc.ogg", exactly(44_100, true)),
        ("ogg-headers-only.ogg", None),
        ("mp3-truncated.mp3", Some((24_000, 27_700, true))),
        ("mp3-leading-garbage.mp3", Some((44_000, 47_300, false))),
        ("mp3-id3-size-lies.mp3", None),
        ("aiff-truncated.aiff", exactly(22_039, true)),
        ("rf64-ds64-lies.wav", exactly(44_100, true)),
    ])
}

#[test]
fn damaged_files_give_what_is_intact_and_say_so() {
    let Some(data) = common::shared("damaged_files_give_what_is_intact_and_say_so") else { return };
    let mut failures = Vec::new();
    for (name, expected) in expected_of_damaged() {
        let result = decode(&data.join("audio/damaged").join(name));
        let fine = match (&result, expected) {
            (Ok(audio), Some((least, most, warned))) => {
                (least..=most).contains(&audio.frames()) && (!warned || !audio.warnings.is_empty())
            }
            (Err(_), None) => true,
            _ => false,
        };
        if !fine {
            let outcome = result.map(|audio| (audio.frames(), audio.warnings));
            failures.push(format!("{name}: {outcome:?}, expected {expected:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A damaged block becomes silence and everything around it stays in place.
#[test]
fn a_bad_flac_block_costs_no_other_block() {
    let Some(data) = common::shared("a_bad_flac_block_costs_no_other_block") else { return };
    let bad = decode(&data.join("audio/damaged/flac-bad-frame.flac")).unwrap();
    let good = decode(&data.join("audio/formats/flac16-44k1-stereo.flac")).unwrap();
    let differing = bad.channels[0].iter().zip(&good.channels[0]).filter(|(a, b)| a != b).count();
    assert!(differing > 0 && differing <= 4_608, "{differing} frames differ");
}

#[test]
fn lossless_formats_agree_bit_for_bit() {
    let Some(data) = common::shared("lossless_formats_agree_bit_for_bit") else { return };
    let formats = data.join("audio/formats");
    let wav = decode(&formats.join("wav16-44k1-stereo.wav")).unwrap();
    let same = [
        "aifc32f-44k1-stereo.aifc",
        "aiff16-44k1-stereo.aiff",
        "au16-44k1-stereo.au",
        "caf16-44k1-stereo.caf",
        "flac16-44k1-stereo.flac",
        "oggflac16-44k1-stereo.oga",
        "rf64-24-44k1-stereo.wav",
        "w64-24-44k1-stereo.w64",
        "wav16-bext-cue-smpl-list.wav",
        "wav16-fmt-18-after-junk.wav",
        "wav32f-44k1-stereo.wav",
    ];
    for name in same {
        let audio = decode(&formats.join(name)).unwrap();
        assert_eq!(audio.warnings, Vec::<String>::new(), "{name}");
        assert!(audio.channels == wav.channels, "{name} differs from the WAV");
    }
}

/// The run-in of the encoder and the filling of the last block are no part of the recording: the file has as many
/// frames as its source, and they lie where those of the source lie.
#[test]
fn aac_in_mp4_begins_and_ends_where_its_source_does() {
    let Some(data) = common::shared("aac_in_mp4_begins_and_ends_where_its_source_does") else {
        return;
    };
    let formats = data.join("audio/formats");
    let source = decode(&formats.join("wav16-44k1-stereo.wav")).unwrap();
    let aac = decode(&formats.join("aac-44k1-stereo.m4a")).unwrap();
    assert_eq!(aac.frames(), source.frames());
    assert_eq!(aac.warnings, Vec::<String>::new());
    let snr = |late: usize| common::snr_db(&source.channels[0][..40_000], &aac.channels[0][late..]);
    let (there, late) = (snr(0), snr(1024));
    assert!(there > 6.0 && there > late + 6.0, "{there:.1} dB, {late:.1} dB 1024 frames later");
}

/// What is missing is said with the place where it is missing.
#[test]
fn a_truncated_file_says_where_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.wav");
    let mut writer =
        hocket_media::WavWriter::create(&path, 44_100, hocket_media::WavFormat::Pcm16).unwrap();
    writer.write(&vec![0.25; 4410], &vec![-0.25; 4410]).unwrap();
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 4 * 2205]).unwrap();
    let audio = decode(&path).unwrap();
    assert_eq!(audio.frames(), 2205);
    assert!(
        audio.warnings[0].contains("ends early, after 0.050 s (frame 2205)"),
        "{:?}",
        audio.warnings
    );
    assert!(audio.cut_short().is_some());
}

/// Odd widths that the reference cannot read: all five frames of each file say the same thing.
#[test]
fn integers_of_unusual_width_are_read() {
    let Some(data) = common::shared("integers_of_unusual_width_are_read") else { return };
    let folder = data.join("audio/odd-real/scipy");
    let reference = decode(&folder.join("test-8000Hz-le-3ch-5S-24bit.wav")).unwrap();
    for bits in [36, 45, 53, 64] {
        let name = format!("test-8000Hz-le-3ch-5S-{bits}bit.wav");
        let audio = decode(&folder.join(&name)).unwrap();
        for (row, expected) in audio.channels.iter().zip(&reference.channels) {
            let close = row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(close, "{name}: {row:?} is not {expected:?}");
        }
    }
}

#[test]
fn right_justified_24_bit_samples_are_scaled() {
    let Some(data) = common::shared("right_justified_24_bit_samples_are_scaled") else { return };
    let folder = data.join("audio/odd-real/hound");
    for name in [
        "waveformatextensible-24bit-4byte-48kHz-stereo.wav",
        "pcmwaveformat-24bit-4byte-48kHz-stereo.wav",
    ] {
        let audio = decode(&folder.join(name)).unwrap();
        assert!(audio.peak() > 0.5, "{name}: peak {}", audio.peak());
        assert!(!audio.warnings.is_empty(), "{name}");
    }
}

#[test]
fn unsupported_formats_are_named_by_content() {
    let Some(data) = common::shared("unsupported_formats_are_named_by_content") else { return };
    let opus = data.join("audio/formats/opus-96k-48k-stereo.opus");
    assert!(decode(&opus).unwrap_err().to_string().contains("unsupported format: Opus"));
    let tagged = data.join("audio/damaged/wav-format-mp3-tag-0x55.wav");
    assert!(decode(&tagged).unwrap_err().to_string().contains("MP3 in WAV"));
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = |path: &Path| decode(path).unwrap_err().to_string();
    assert!(text(folder.path()).contains("is a folder"));
    assert!(text(&folder.path().join("missing.wav")).contains("missing.wav: cannot read"));
    assert!(text(Path::new("/dev/zero")).contains("device"));
}
