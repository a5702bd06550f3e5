//! The limit of open files. A process of its own, because the limit is the process's.

use std::sync::Arc;

use hocket_disk::Settings;
use hocket_streams::{DiskBuffer, Wait};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const RATE_HZ: u32 = 48_000;

fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn buffer(streams: usize) -> Arc<DiskBuffer> {
    let settings = Settings::new(64 << 20);
    DiskBuffer::start(settings, &vec![1; streams], Wait::Never, RATE_HZ).unwrap()
}

/// Several sessions may be loaded at the same time, by several threads.
#[test]
fn the_streams_of_all_buffers_may_be_open_at_once() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(300), maximum }).unwrap();
    let buffers: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (1..=3).map(|tens| scope.spawn(move || buffer(10 * tens))).collect();
        started.into_iter().map(|buffer| buffer.join().unwrap()).collect()
    });
    assert!(limit() >= 60 + 256, "{}", limit());
    drop(buffers);
    let before = limit();
    let _one = buffer(50);
    assert_eq!(limit(), before, "what has ended counts no more");
}
