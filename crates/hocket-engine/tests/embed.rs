//! The example of `docs/embedding.md` runs, and what it changes is heard.

#[path = "../examples/embed.rs"]
mod embed;

#[test]
fn the_example_plays_and_its_edit_is_heard() {
    if hocket_machine::Topology::discover().is_err() {
        return println!("SKIPPED the_example_plays_and_its_edit_is_heard: no topology here");
    }
    let (mut peaks, mut blocks) = ([0.0_f32; 2], 0);
    embed::play(|left, right, times| {
        assert_eq!(left.len(), right.len());
        assert_eq!(times.block, blocks);
        // 50 ms after the edit its fade is over; before it the compressors take their time to settle.
        let half = usize::from(blocks > 187 + 38);
        if (120..187).contains(&blocks) || half == 1 {
            peaks[half] = left.iter().fold(peaks[half], |peak, s| peak.max(s.abs()));
        }
        blocks += 1;
    })
    .unwrap();
    assert_eq!(blocks, 375);
    // One of two equal tracks is left.
    assert!((peaks[1] / peaks[0] - 0.5).abs() < 0.05, "{peaks:?}");
    embed::main().unwrap();
}
