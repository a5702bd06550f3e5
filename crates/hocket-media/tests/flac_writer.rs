//! FLAC files hold the same integers as WAV files.

use std::path::Path;

use hocket_media::{AudioWriter, FileFormat, SOFTWARE, WavFormat, Written};

fn written(path: &Path, samples: WavFormat, rows: &[Vec<f32>; 2]) -> Written {
    let format = FileFormat::of(path).unwrap();
    let frames = rows[0].len() as u64;
    let mut writer = AudioWriter::create(path, format, 48_000, samples, frames).unwrap();
    for (left, right) in rows[0].chunks(1000).zip(rows[1].chunks(1000)) {
        writer.write(left, right).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn every_length_decodes_to_the_integers_of_the_wav_file() {
    let folder = tempfile::tempdir().unwrap();
    let (wav, flac) = (folder.path().join("a.wav"), folder.path().join("a.FLAC"));
    for frames in [1, 15, 16, 31, 4096, 4097, 12_345] {
        let noise = |seed: u32| -> Vec<f32> {
            let value = |i: u32| (i ^ seed).wrapping_mul(2_654_435_761) as f32 / 2e9 - 1.1;
            (0..frames).map(value).collect()
        };
        let rows = [noise(0), noise(0x55)];
        for samples in [WavFormat::Pcm16, WavFormat::Pcm24] {
            let of_wav = written(&wav, samples, &rows);
            assert_eq!(written(&flac, samples, &rows), of_wav);
            let (a, b) =
                (hocket_media::decode(&wav).unwrap(), hocket_media::decode(&flac).unwrap());
            assert_eq!(a.channels, b.channels, "{frames} {samples:?}");
            assert!(b.warnings.is_empty(), "{:?}", b.warnings);
        }
    }
    for file in [wav, flac] {
        let bytes = std::fs::read(file).unwrap();
        let head = &bytes[..200];
        assert!(head.windows(SOFTWARE.len()).any(|part| part == SOFTWARE.as_bytes()));
    }
}

#[test]
fn noise_is_never_larger_than_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.flac");
    let noise = |seed: u32| -> Vec<f32> {
        let value = |i: u32| (i ^ seed).wrapping_mul(2_654_435_761) as f32 / 4.3e9 * 2.0 - 1.0;
        (0..9_000).map(value).collect()
    };
    for samples in [WavFormat::Pcm16, WavFormat::Pcm24] {
        written(&path, samples, &[noise(0), noise(0x55)]);
        let bytes = std::fs::metadata(&path).unwrap().len();
        let limit = 9_000 * 2 * samples.bytes() as u64 + 1000;
        assert!(bytes < limit, "{samples:?}: {bytes} bytes, more than {limit}");
    }
}

#[test]
fn what_flac_cannot_hold_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.flac");
    for (rate, samples, word) in
        [(48_000, WavFormat::Float32, "16 or 24 bits"), (192_000, WavFormat::Pcm24, "lower rate")]
    {
        let refused = AudioWriter::create(&path, FileFormat::Flac, rate, samples, 1);
        let text = refused.err().unwrap().to_string();
        assert!(text.contains(word), "{text}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
