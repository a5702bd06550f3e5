//! What is counted of a server's time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use hocket_devices::{BlockObserver, Connect, Device, Jack, JackOptions};
use hocket_engine::{BlockTimes, Engine};

use super::jackd::{Mode, Server, wait_until};
use super::{RATE_HZ, alone, channels, engine};

/// Adds up periods, played and skipped.
#[derive(Default)]
struct Sums {
    begun_ns: Option<u64>,
    ended_ns: u64,
    counted_ns: u64,
    /// What rounding to whole periods may leave out.
    rounded_ns: u64,
    last_ns: u64,
    lengths: Arc<AtomicU64>,
}

impl BlockObserver for Sums {
    fn block(&mut self, _: &BlockTimes, _: &Engine) -> bool {
        true
    }

    fn period(&mut self, times: &BlockTimes) {
        let period_ns = times.deadline_ns;
        self.begun_ns.get_or_insert(times.signaled_ns);
        self.ended_ns = times.signaled_ns + period_ns;
        self.counted_ns += period_ns * (1 + times.skipped);
        let last_ns = std::mem::replace(&mut self.last_ns, period_ns);
        if last_ns != period_ns {
            // Half a period of both series.
            self.rounded_ns += period_ns.max(last_ns);
            self.lengths.fetch_add(1, SeqCst);
        }
    }
}

#[test]
fn no_time_is_lost_between_two_block_lengths() {
    let _alone = alone();
    const NAME: &str = "no_time_is_lost_between_two_block_lengths";
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
    if server.tool("jack_bufsize", &["64"]).is_none() {
        return println!("SKIPPED {NAME}: no jack_bufsize");
    }
    let (server_name, client_name) = (Some(server.name.clone()), "hocket".into());
    let options = JackOptions { server: server_name, client_name, connect: Connect::No };
    let mut device = Jack::open(options).unwrap();
    device.prepare(&channels()).unwrap();
    let lengths = Arc::new(AtomicU64::new(0));
    let observer = Sums { lengths: Arc::clone(&lengths), ..Sums::default() };
    let stop = AtomicBool::new(false);
    let sums = std::thread::scope(|scope| {
        let playing = scope.spawn(|| device.play(engine(512), observer, &stop).unwrap().observer);
        wait_until("blocks", || lengths.load(SeqCst) == 1);
        // Short ones, because rounding to whole periods hides more of long ones. A change takes some milliseconds.
        for (seen, frames) in (2..).zip(["32", "64"].repeat(10)) {
            assert_eq!(server.tool("jack_bufsize", &[frames]), Some(true), "jack_bufsize");
            wait_until("the new length", || lengths.load(SeqCst) == seen);
        }
        stop.store(true, SeqCst);
        playing.join().unwrap()
    });
    let passed_ns = sums.ended_ns - sums.begun_ns.unwrap();
    let least_ns = passed_ns - sums.rounded_ns;
    assert!(sums.counted_ns >= least_ns, "{} of {passed_ns}", sums.counted_ns);
}
