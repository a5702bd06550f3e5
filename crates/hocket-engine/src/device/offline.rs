//! As fast as the machine goes: no clock, no deadline.

use hocket_dsp::StereoRef;

use crate::control::engine::Engine;

/// Runs `total_frames` frames in blocks of the engine's length (the last one shorter) and hands
/// each block to `each`, which says whether to go on.
///
/// Processors get the answers of their background work with the next block ([`Engine::set_offline`]).
///
/// Returns the number of frames rendered.
pub fn render<E>(
    engine: &mut Engine,
    total_frames: u64,
    mut each: impl FnMut(StereoRef<'_>) -> Result<bool, E>,
) -> Result<u64, E> {
    render_blocks(engine, total_frames, |engine, frames| each(engine.output(frames)))
}

/// The same for callers that read more than the first output: `each` gets the engine and the block's length in frames.
///
/// Returns the number of frames rendered.
pub fn render_blocks<E>(
    engine: &mut Engine,
    total_frames: u64,
    each: impl FnMut(&Engine, usize) -> Result<bool, E>,
) -> Result<u64, E> {
    let before = engine.set_offline(true);
    let rendered = render_offline(engine, total_frames, each);
    engine.set_offline(before);
    rendered
}

fn render_offline<E>(
    engine: &mut Engine,
    total_frames: u64,
    mut each: impl FnMut(&Engine, usize) -> Result<bool, E>,
) -> Result<u64, E> {
    let largest = u64::from(engine.settings().frames);
    let mut done = 0;
    while done < total_frames {
        let frames = largest.min(total_frames - done) as usize;
        engine.process(frames);
        done += frames as u64;
        if !each(engine, frames)? {
            break;
        }
    }
    Ok(done)
}
