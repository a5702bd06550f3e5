//! Background work and state of an LV2 plug-in that the test builds from C.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hocket_dsp::host::{
    BackgroundWork, Host, MainRequests, MainSide, WorkAnswers, WorkRefused, WorkRequests, WorkRoom,
};
use hocket_dsp::{Block, Processor, StereoMut};
use hocket_plugins::lv2::{build, describe};

use crate::common::compiled;

pub const URI: &str = "urn:hocket:test:worker";

/// The bundle, with its library built.
pub fn bundle(test: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    compiled(test, "worker")
}

/// Messages that wait.
type Messages = Arc<Mutex<Vec<Vec<u8>>>>;

#[derive(Default)]
struct TestHost {
    requests: Messages,
    work: Option<Box<dyn BackgroundWork>>,
    side: Option<Box<dyn MainSide>>,
}

struct Requests(Messages);

impl WorkRequests for Requests {
    fn request(&mut self, request: &[u8]) -> Result<(), WorkRefused> {
        self.0.lock().unwrap().push(request.to_vec());
        Ok(())
    }
}

struct Answers(Vec<Vec<u8>>);

impl WorkAnswers for Answers {
    fn answer(&mut self, answer: &[u8]) -> Result<(), WorkRefused> {
        self.0.push(answer.to_vec());
        Ok(())
    }

    fn is_ending(&self) -> bool {
        false
    }
}

struct Quiet;

impl MainRequests for Quiet {
    fn call(&mut self) {}

    fn latency_changed(&mut self, _: u32) {}

    fn tail_changed(&mut self, _: u64) {}

    fn restart(&mut self) {}
}

impl Host for TestHost {
    fn largest_block(&self) -> usize {
        64
    }

    fn background(
        &mut self,
        work: Box<dyn BackgroundWork>,
        room: WorkRoom,
    ) -> Box<dyn WorkRequests> {
        assert!(room.outlives_reset, "a plug-in waits for its answers");
        self.work = Some(work);
        Box::new(Requests(self.requests.clone()))
    }

    fn main_side(&mut self, side: Box<dyn MainSide>) -> Box<dyn MainRequests> {
        self.side = Some(side);
        Box::new(Quiet)
    }
}

impl TestHost {
    /// Works on all requests, as the leader does offline. Returns the answers.
    fn work(&mut self) -> Vec<Vec<u8>> {
        let requests = std::mem::take(&mut *self.requests.lock().unwrap());
        let mut answers = Answers(Vec::new());
        let work = self.work.as_mut().unwrap();
        requests.iter().for_each(|request| work.work(request, &mut answers));
        answers.0
    }
}

/// What comes out of one frame: left, and the runs that have ended on the right.
pub fn frame(processor: &mut dyn Processor, sample: f32) -> (f32, f32) {
    let (mut left, mut right) = ([sample], [0.0]);
    processor.process(&mut Block::new(StereoMut { left: &mut left, right: &mut right }));
    (left[0], right[0])
}

#[test]
fn work_is_done_and_answered_and_each_run_ends() {
    let Some((_folder, bundle)) = bundle("work_is_done_and_answered_and_each_run_ends") else {
        return;
    };
    let found = describe(&bundle, URI).unwrap();
    assert_eq!((found.refusal, found.state), (None, true));
    let mut host = TestHost::default();
    let mut processor = build(&bundle, URI, &[], 48_000, None).unwrap();
    processor.join(&mut host);
    assert_eq!(frame(&mut *processor, 1.0), (1.0, 0.0), "asks, with an empty message");
    for answer in host.work() {
        processor.answered(&answer);
    }
    assert_eq!(frame(&mut *processor, 2.0), (1.0, 1.0), "the gain is 0.5, and asks with a number");
    for answer in host.work() {
        processor.answered(&answer);
    }
    assert_eq!(frame(&mut *processor, 0.25), (0.75, 2.0), "the gain is 3");
    assert!(host.work().is_empty());
}

#[test]
fn a_state_is_saved_loaded_and_given_at_the_start() {
    let Some((_folder, bundle)) = bundle("a_state_is_saved_loaded_and_given_at_the_start") else {
        return;
    };
    let mut host = TestHost::default();
    let mut processor = build(&bundle, URI, &[], 48_000, None).unwrap();
    processor.join(&mut host);
    let first = host.side.as_mut().unwrap().save().unwrap();
    frame(&mut *processor, 1.0);
    for answer in host.work() {
        processor.answered(&answer);
    }
    let half = host.side.as_mut().unwrap().save().unwrap();
    assert_ne!(first, half);

    let mut again = build(&bundle, URI, &[], 48_000, Some(&half)).unwrap();
    assert_eq!(frame(&mut *again, 0.5).0, 0.25);
    let refused = build(&bundle, URI, &[], 48_000, Some(b"no state")).err().unwrap();
    assert!(refused.contains("not the state of an LV2 plug-in"), "{refused}");

    // An answer to what an earlier instance asked finds nobody.
    frame(&mut *processor, 2.0);
    let late = host.work();
    let mut made = host.side.as_mut().unwrap().load(&first).unwrap();
    processor.exchange(&mut *made);
    drop(made);
    late.iter().for_each(|answer| processor.answered(answer));
    assert_eq!(frame(&mut *processor, 0.5).0, 0.5);
    assert_eq!(host.side.as_mut().unwrap().save().unwrap(), first);
}

/// Does something while the plug-in works on a request.
struct Meanwhile<F>(F);

impl<F: FnMut() + Send> WorkAnswers for Meanwhile<F> {
    fn answer(&mut self, _: &[u8]) -> Result<(), WorkRefused> {
        (self.0)();
        Ok(())
    }

    fn is_ending(&self) -> bool {
        false
    }
}

/// A processor that has asked for work, and the request.
fn asked(bundle: &Path, host: &mut TestHost) -> (Box<dyn Processor>, Vec<u8>) {
    let mut processor = build(bundle, URI, &[], 48_000, None).unwrap();
    processor.join(host);
    assert_eq!(frame(&mut *processor, 1.0), (1.0, 0.0));
    let request = host.requests.lock().unwrap().remove(0);
    (processor, request)
}

#[test]
fn a_reset_beside_work_comes_before_the_first_run_after_it() {
    let test = "a_reset_beside_work_comes_before_the_first_run_after_it";
    let Some((_folder, bundle)) = bundle(test) else { return };
    let mut host = TestHost::default();
    let (mut processor, request) = asked(&bundle, &mut host);
    let mut heard = Vec::new();
    let mut meanwhile = Meanwhile(|| {
        processor.reset();
        heard.extend([frame(&mut *processor, 0.5), frame(&mut *processor, 0.5)]);
    });
    host.work.as_mut().unwrap().work(&request, &mut meanwhile);
    assert_eq!(heard, [(0.5, 1.0), (0.5, 2.0)], "it plays on as if it was not reset");
    assert_eq!(frame(&mut *processor, 0.5), (0.5, 0.0));
    assert_eq!(frame(&mut *processor, 0.5), (0.5, 1.0), "one reset");
}

#[test]
fn an_instance_ends_after_its_work() {
    let Some((_folder, bundle)) = bundle("an_instance_ends_after_its_work") else { return };
    let mut host = TestHost::default();
    let (processor, request) = asked(&bundle, &mut host);
    let (mut processor, mut dropping) = (Some(processor), None);
    let mut meanwhile = Meanwhile(|| {
        let processor = processor.take();
        let (begins, begun) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            begins.send(()).unwrap();
            drop(processor);
        });
        begun.recv().unwrap();
        // Long enough for a drop that does not wait; one that waits is not over however long this takes.
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!thread.is_finished());
        dropping = Some(thread);
    });
    host.work.as_mut().unwrap().work(&request, &mut meanwhile);
    dropping.unwrap().join().unwrap();
    host.requests.lock().unwrap().push(request);
    assert!(host.work().is_empty(), "nobody works for it");
}

#[test]
fn a_plug_in_that_requires_to_resize_its_ports_is_refused() {
    let test = "a_plug_in_that_requires_to_resize_its_ports_is_refused";
    let Some((_folder, bundle)) = bundle(test) else { return };
    let (data, feature) =
        (bundle.join("worker.ttl"), "http://lv2plug.in/ns/ext/resize-port#resize");
    let requires = format!("lv2:requiredFeature <{feature}> , urid:map");
    let text = std::fs::read_to_string(&data).unwrap();
    std::fs::write(&data, text.replace("lv2:requiredFeature urid:map", &requires)).unwrap();
    let refused = describe(&bundle, URI).unwrap().refusal.unwrap();
    assert_eq!(refused, format!("it requires the feature {feature}, which Hocket does not offer"));
}
