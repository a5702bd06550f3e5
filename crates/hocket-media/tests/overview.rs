//! The overview of real and made files, whatever the piece size.

mod common;

use hocket_media::{Overview, Preview, THESIS_PIECE_BYTES, WavFormat, WavWriter, decode};

fn run(path: &std::path::Path, out: &std::path::Path, piece: usize) -> (Overview, u64) {
    let mut preview = Preview::open(path, out, piece).unwrap();
    let mut steps = 0;
    loop {
        let progress = preview.step().unwrap();
        steps += 1;
        if progress.done {
            assert_eq!(progress.bytes, preview.total_bytes());
            return (Overview::read(out).unwrap(), steps);
        }
        assert_eq!(progress.bytes, steps * piece as u64);
    }
}

#[test]
fn points_are_minimum_maximum_and_rms_of_256_frames() {
    let Some(data) = common::shared("points_are_minimum_maximum_and_rms_of_256_frames") else {
        return;
    };
    let path = data.join("audio/formats/wav24-48k-stereo.wav");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("overview");
    let audio = decode(&path).unwrap();
    // A frame has 6 bytes: no piece size below divides evenly into frames and points.
    for piece in [1, 7, THESIS_PIECE_BYTES, 1 << 20] {
        let (overview, _) = run(&path, &out, piece);
        assert_eq!((overview.sample_rate_hz, overview.frames_per_point), (48_000, 256));
        for (points, row) in overview.channels.iter().zip(&audio.channels) {
            assert_eq!(points.len(), row.len().div_ceil(256));
            for (point, samples) in points.iter().zip(row.chunks(256)) {
                assert_eq!(point.min, samples.iter().copied().fold(f32::INFINITY, f32::min));
                assert_eq!(point.max, samples.iter().copied().fold(f32::NEG_INFINITY, f32::max));
                let squares: f64 = samples.iter().map(|&x| f64::from(x).powi(2)).sum();
                let rms = (squares / samples.len() as f64).sqrt();
                assert!((f64::from(point.rms) - rms).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn a_preview_reads_exactly_one_piece_a_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    let mut writer = WavWriter::create(&path, 48_000, WavFormat::Pcm16).unwrap();
    writer.write(&[0.5; 10_000], &[-0.5; 10_000]).unwrap();
    writer.finish().unwrap();
    let (overview, steps) = run(&path, &folder.path().join("o"), THESIS_PIECE_BYTES);
    assert_eq!(steps, 40_000 / 1_600);
    let point = overview.channels[1][3];
    assert_eq!((point.min, point.max, point.rms), (-0.5, -0.5, 0.5));
}

#[test]
fn a_preview_can_be_stopped_and_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("a.wav"), folder.path().join("o"));
    let mut writer = WavWriter::create(&path, 48_000, WavFormat::Float32).unwrap();
    let ramp: Vec<f32> = (0..5_000).map(|n| n as f32 / 5_000.0).collect();
    writer.write(&ramp, &ramp).unwrap();
    writer.finish().unwrap();
    let mut preview = Preview::open(&path, &out, 999).unwrap();
    for _ in 0..7 {
        preview.step().unwrap();
    }
    assert!(!out.exists(), "nothing is written before the end");
    preview.restart().unwrap();
    while !preview.step().unwrap().done {}
    let first = Overview::read(&out).unwrap();
    assert!(preview.step().unwrap().done, "a step after the end does nothing");
    preview.restart().unwrap();
    while !preview.step().unwrap().done {}
    assert_eq!(Overview::read(&out).unwrap(), first);
    assert_eq!(first.channels[0].len(), 20);
}

#[test]
fn compressed_and_missing_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("o");
    let error = Preview::open(&folder.path().join("no.wav"), &out, 1600).unwrap_err();
    assert!(error.to_string().contains("no.wav"));
    let flac = folder.path().join("a.flac");
    std::fs::write(&flac, b"fLaC\0\0\0\x22").unwrap();
    let error = Preview::open(&flac, &out, 1600).unwrap_err();
    assert!(error.to_string().contains("unsupported format"), "{error}");
}

#[test]
fn an_unwritable_overview_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    WavWriter::create(&path, 48_000, WavFormat::Pcm16).unwrap().finish().unwrap();
    let out = folder.path().join("none/o");
    let error = Preview::open(&path, &out, 1600).unwrap().step().unwrap_err();
    assert!(error.to_string().contains("none/o: cannot write"), "{error}");
}

#[test]
fn a_preview_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Preview>();
    is_send::<WavWriter>();
}
