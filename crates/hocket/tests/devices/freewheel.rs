//! A server that freewheels calls as fast as its clients are ready: an export of another program, through Hocket.

use super::jackd::{Mode, Server, wait_until};
use super::transport::{Following, OneClip, await_standing, check_frames, part, rendered};
use super::{RATE_HZ, alone};

const CYCLE: u32 = 1024;
/// Of the clip, in frames.
const LENGTH: usize = 20 * RATE_HZ as usize;
/// Where it ends.
const END: u32 = 72_000 + LENGTH as u32;

/// The stream reads 4096 frames ahead, and a thread looks for room every 10 ms: that is about eight times the speed of a clock, and
/// less than what a server asks for. So blocks have to wait, as those of a render do. What is recorded waits for its disk, too.
#[test]
fn a_server_that_freewheels_gets_what_render_writes() {
    const NAME: &str = "a_server_that_freewheels_gets_what_render_writes";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, CYCLE, Mode::WaitsForClients) else { return };
    let session = OneClip::new(LENGTH);
    let rendered = rendered(&session.file, RATE_HZ);
    let other = server.client("other", (2, 0), 200 * RATE_HZ as usize);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("take.wav");
    let take = format!("master={}", file.display());
    let args = ["--transport", "jack", "--connect", "other", "--take", &take];
    let run = Following::start_with(
        &server,
        &session.file,
        &[&args[..], &["--disk-buffer", "96K"]].concat(),
    );
    await_standing(&other, 0);
    let begin = other.length();
    other.freewheel(true);
    other.start();
    wait_until("the end of the clip", || other.transport().1 >= END + CYCLE);
    let end = other.length();
    other.stop();
    other.freewheel(false);
    run.send("/quit", &[]);
    let (told, messages) = run.end(0);
    assert_eq!(told["disk"]["silent_frames"], 0, "{told:#}");
    let of = |what: &str| told[what].as_u64().unwrap();
    let least = u64::from(END / CYCLE);
    assert!(of("freewheeled") >= least && of("freewheeled") < of("blocks"), "{told:#} {messages}");
    assert!(of("late") <= of("blocks") - of("freewheeled"), "{told:#}");
    let (heard, cycles) = other.end_with_cycles();
    let cycles = part(&cycles, begin, end);
    assert!(cycles.iter().any(|cycle| cycle.frame + CYCLE >= END), "the recording is too short");
    check_frames(&heard, &cycles, &rendered);
    // The take has every frame of the run.
    let take = &told["takes"][0];
    assert_eq!((&take["whole"], &take["silent_frames"]), (&true.into(), &0.into()), "{told:#}");
    let written = hocket_media::decode(&file).unwrap();
    assert_eq!(written.frames() as u64, of("frames_played"));
    let sounds = |row: &[f32]| row.iter().position(|sample| *sample != 0.0);
    let first = sounds(&written.channels[0]).unwrap() - sounds(&rendered[0]).unwrap();
    for (written, rendered) in written.channels.iter().zip(&rendered) {
        let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
        assert_eq!(written[first..].iter().zip(rendered).position(differs), None);
    }
}
