//! A server that freewheels: blocks have no deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use hocket_devices::{BlockObserver, Connect, Device, End, Jack, JackOptions, Xrun};
use hocket_engine::{BlockTimes, Engine};

use super::jackd::{Mode, Server, wait_until};
use super::{RATE_HZ, alone, channels, engine};

const FRAMES: u32 = 64;
const PERIOD: Duration = Duration::from_nanos(FRAMES as u64 * 1_000_000_000 / RATE_HZ as u64);

/// What the observer was called with.
#[derive(Default)]
struct Calls {
    blocks: AtomicU64,
    periods: AtomicU64,
    freewheeled: AtomicU64,
    /// Changes between both.
    turns: AtomicU64,
    freewheels: AtomicBool,
    /// Calls of the other kind than the last change says.
    wrong: AtomicU64,
    skipped: AtomicU64,
    /// Blocks without a deadline take so long.
    sleep_us: AtomicU64,
}

struct Counts(Arc<Calls>);

impl Counts {
    fn note(&self, count: &AtomicU64, freewheeled: bool) {
        count.fetch_add(1, SeqCst);
        let is_wrong = self.0.freewheels.load(SeqCst) != freewheeled;
        self.0.wrong.fetch_add(u64::from(is_wrong), SeqCst);
    }
}

impl BlockObserver for Counts {
    fn block(&mut self, times: &BlockTimes, _: &Engine) -> bool {
        self.0.skipped.fetch_add(times.skipped, SeqCst);
        self.note(&self.0.blocks, false);
        true
    }

    fn period(&mut self, _: &BlockTimes) {
        self.note(&self.0.periods, false);
    }

    fn freewheels(&mut self, freewheels: bool) {
        self.0.turns.fetch_add(1, SeqCst);
        assert_ne!(self.0.freewheels.swap(freewheels, SeqCst), freewheels);
    }

    fn xrun(&mut self, _: &Xrun) {
        let freewheels = self.0.freewheels.load(SeqCst);
        self.0.wrong.fetch_add(u64::from(freewheels), SeqCst);
    }

    fn freewheeled(&mut self, times: &BlockTimes, _: &Engine) -> bool {
        assert_eq!(times.skipped, 0);
        self.note(&self.0.freewheeled, true);
        std::thread::sleep(Duration::from_micros(self.0.sleep_us.load(SeqCst)));
        true
    }
}

#[test]
fn blocks_of_a_server_that_freewheels_have_no_deadline() {
    let _alone = alone();
    const NAME: &str = "blocks_of_a_server_that_freewheels_have_no_deadline";
    let Some(server) = Server::start(NAME, RATE_HZ, FRAMES, Mode::WaitsForClients) else { return };
    let other = server.client("other", (0, 1), 0);
    let (server_name, client_name) = (Some(server.name.clone()), "hocket".into());
    let options = JackOptions { server: server_name, client_name, connect: Connect::Physical };
    let mut device = Jack::open(options).unwrap();
    let ready = device.prepare(&channels()).unwrap();
    let calls = Arc::new(Calls::default());
    // Far longer than a period.
    calls.sleep_us.store(20_000, SeqCst);
    let stop = AtomicBool::new(false);
    let changes = device.changes();
    let played = std::thread::scope(|scope| {
        let observer = Counts(Arc::clone(&calls));
        let playing = scope.spawn(|| device.play(engine(FRAMES), observer, &stop).unwrap());
        let more = |count: &AtomicU64| {
            let before = count.load(SeqCst);
            wait_until("blocks", || count.load(SeqCst) >= before + 40);
        };
        more(&calls.blocks);
        let (begun, before) = (Instant::now(), calls.skipped.load(SeqCst));
        other.freewheel(true);
        let with_clock = begun.elapsed();
        let blocks = calls.blocks.load(SeqCst);
        more(&calls.freewheeled);
        calls.sleep_us.store(0, SeqCst);
        more(&calls.freewheeled);
        assert_eq!(calls.blocks.load(SeqCst), blocks, "a block with a deadline in freewheel");
        let begun = Instant::now();
        other.freewheel(false);
        more(&calls.blocks);
        // A busy machine may skip periods before and behind. What passes without a clock is none.
        let skipped = calls.skipped.load(SeqCst) - before;
        let most = (with_clock + begun.elapsed()).as_nanos() / PERIOD.as_nanos();
        assert!(u128::from(skipped) <= most + 1, "{skipped} of {most}");
        // Ends while it freewheels.
        other.freewheel(true);
        more(&calls.freewheeled);
        stop.store(true, SeqCst);
        playing.join().unwrap()
    });
    other.freewheel(false);
    assert_eq!(played.end, End::Stopped);
    assert_eq!(calls.wrong.load(SeqCst), 0);
    assert_eq!(calls.turns.load(SeqCst), 4, "the engine comes back as it was");
    assert_eq!(calls.blocks.load(SeqCst), calls.periods.load(SeqCst));
    // The server itself makes the connections to its card again.
    let told: Vec<_> = changes.try_iter().collect();
    assert!(told.iter().all(|change| !format!("{change:?}").starts_with("Lost")), "{told:?}");
    let client = device.client_name();
    assert!(ready.connected.contains(&(format!("{client}:main_1"), "system:playback_1".into())));
}
