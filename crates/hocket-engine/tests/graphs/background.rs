//! Background work of processors: requests, answers, their order and their end.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use hocket_engine::host::{BackgroundWork, Host, WorkAnswers, WorkRefused, WorkRequests, WorkRoom};
use hocket_engine::{Bypass, LostWork, offline};

use super::*;

const ROOM: WorkRoom = WorkRoom { messages: 8, bytes: 16, outlives_reset: false };

/// Requests work of its block's number in every block, and plays the sum of the answers.
struct Asks {
    work: Option<Box<dyn BackgroundWork>>,
    requests: Option<Box<dyn WorkRequests>>,
    block: u64,
    sum: f32,
    tells: Sender<Told>,
}

/// What an [`Asks`] tells the test.
#[derive(Debug, PartialEq)]
enum Told {
    /// It sent a request with this number.
    Sent(u64),
    Refused(WorkRefused),
    /// It had an answer, after so many blocks.
    Heard(u64, Vec<u8>),
}

fn asks(work: impl BackgroundWork + 'static) -> (Box<dyn Processor>, Receiver<Told>) {
    let (tells, told) = channel();
    let work = Some(Box::new(work) as _);
    (Box::new(Asks { work, requests: None, block: 0, sum: 0.0, tells }), told)
}

impl Processor for Asks {
    fn join(&mut self, host: &mut dyn Host) {
        assert_eq!(host.largest_block(), FRAMES);
        self.requests = self.work.take().map(|work| host.background(work, ROOM));
    }

    fn answered(&mut self, answer: &[u8]) {
        self.tells.send(Told::Heard(self.block, answer.to_vec())).unwrap();
        self.sum += answer.iter().map(|byte| f32::from(*byte)).sum::<f32>();
    }

    fn process(&mut self, block: &mut Block<'_>) {
        let requests = self.requests.as_mut().unwrap();
        let told = match requests.request(&self.block.to_le_bytes()) {
            Ok(()) => Told::Sent(self.block),
            Err(why) => Told::Refused(why),
        };
        // The test may have heard enough.
        let _ = self.tells.send(told);
        self.block += 1;
        block.main.left.fill(self.sum);
        block.main.right.fill(self.sum);
    }

    fn reset(&mut self) {
        (self.block, self.sum) = (0, 0.0);
    }
}

/// Work that is a function of the request.
struct Does<F>(F);

impl<F: FnMut(&[u8], &mut dyn WorkAnswers) + Send> BackgroundWork for Does<F> {
    fn work(&mut self, request: &[u8], answers: &mut dyn WorkAnswers) {
        (self.0)(request, answers);
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

/// Answers each request with its number, and some with nothing besides.
fn echo(request: &[u8], answers: &mut dyn WorkAnswers) {
    answers.answer(request).unwrap();
    if number(request).is_multiple_of(3) {
        answers.answer(&[]).unwrap();
    }
}

/// Answers each request with its number.
fn repeat(request: &[u8], answers: &mut dyn WorkAnswers) {
    let _ = answers.answer(request);
}

/// These processors side by side.
fn beside(processors: Vec<Box<dyn Processor>>) -> (Graph, Vec<Option<Box<dyn Processor>>>) {
    let mut graph = Graph::default();
    let count = processors.len() as u32;
    for id in 0..count {
        graph.add(node(&format!("asks {id}"), &[])).unwrap();
    }
    let edges: Vec<_> = (0..count).map(|id| (id, 1.0 / (id + 1) as f32)).collect();
    graph.add(node("out", &edges)).unwrap();
    (graph, processors.into_iter().map(Some).chain([None]).collect())
}

fn most_workers(kind: ScheduleKind) -> usize {
    if kind == ScheduleKind::Serial { 1 } else { 3 }
}

/// How many requests before the last answered one have no answer. Live, an answer is refused, and counted, while no block
/// takes those before it.
fn unanswered(sent: &[u64], heard: &[u64]) -> u64 {
    let mut left = sent.iter();
    let before = |answered| left.by_ref().position(|sent| sent == answered);
    let passed = heard.iter().map(before);
    passed.map(|passed| passed.expect("answers come in the order of their requests") as u64).sum()
}

#[test]
fn live_every_request_is_answered_in_order_under_every_schedule() {
    for kind in ScheduleKind::ALL {
        let made = (0..3).map(|_| asks(Does(repeat)));
        let (processors, told): (Vec<_>, Vec<_>) = made.unzip();
        let (graph, processors) = beside(processors);
        let (mut engine, editor) = start(&graph, processors, (kind, most_workers(kind)));
        let (mut sent, mut heard) = (vec![Vec::new(); 3], vec![Vec::new(); 3]);
        let mut refused = [0; 3];
        // As long as it takes: a hang means that answers are lost.
        while heard.iter().any(|heard| heard.len() < 100) {
            block(&mut engine);
            for (id, told) in told.iter().enumerate() {
                for told in told.try_iter() {
                    match told {
                        Told::Sent(number) => sent[id].push(number),
                        Told::Refused(why) => {
                            assert_eq!(why, WorkRefused::Full, "{kind:?}");
                            refused[id] += 1;
                        }
                        Told::Heard(block, answer) => {
                            assert!(number(&answer) < block, "{kind:?}: before its request");
                            heard[id].push(number(&answer));
                        }
                    }
                }
            }
            thread::yield_now();
        }
        for id in 0..3 {
            let lost = editor.control().lost_work();
            let lost = lost.iter().find(|lost| lost.node == format!("asks {id}"));
            let (requests, answers) = lost.map_or((0, 0), |lost| (lost.requests, lost.answers));
            assert_eq!(requests, refused[id], "{kind:?}");
            let unanswered = unanswered(&sent[id], &heard[id]);
            assert!(unanswered <= answers, "{kind:?}: {unanswered} of {answers}");
        }
    }
}

/// What three such processors play offline.
fn rendered((kind, workers): (ScheduleKind, usize), blocks: u64) -> Vec<u32> {
    let slow = |request: &[u8], answers: &mut dyn WorkAnswers| {
        (0..100).for_each(|_| thread::yield_now());
        echo(request, answers);
    };
    let made = [asks(Does(echo)), asks(Does(slow)), asks(Does(repeat))];
    let (processors, told): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let (graph, processors) = beside(processors);
    let (mut engine, editor) = start(&graph, processors, (kind, workers));
    let mut bits = Vec::new();
    let mut render = |engine: &mut Engine, blocks| {
        let each = |rows: hocket_engine::StereoRef<'_>| {
            bits.extend(rows.left.iter().map(|sample| sample.to_bits()));
            Ok::<_, ()>(true)
        };
        offline::render(engine, blocks * FRAMES as u64, each).unwrap();
    };
    // In two parts, between which the threads may work.
    render(&mut engine, blocks / 2);
    thread::yield_now();
    render(&mut engine, blocks - blocks / 2);
    assert_eq!(editor.control().lost_work(), [], "{kind:?}");
    for told in told {
        let mut next = 0;
        for told in told.try_iter() {
            if let Told::Heard(block, answer) = told
                && !answer.is_empty()
            {
                assert_eq!((block, number(&answer)), (next + 1, next), "{kind:?} {workers}");
                next += 1;
            }
        }
        assert_eq!(next, blocks - 1, "{kind:?} {workers}");
    }
    bits
}

#[test]
fn offline_the_answers_come_with_the_next_block_and_the_bits_are_always_the_same() {
    let expected = rendered((ScheduleKind::Serial, 1), 60);
    assert!(expected.iter().any(|bits| *bits != 0));
    for kind in ScheduleKind::ALL {
        for workers in 1..=most_workers(kind) {
            assert_eq!(rendered((kind, workers), 60), expected, "{kind:?} {workers}");
        }
    }
}

#[test]
fn after_a_reset_offline_everything_sounds_as_at_first() {
    let (processor, _told) = asks(Does(repeat));
    let (graph, processors) = beside(vec![processor]);
    let (mut engine, _editor) = start(&graph, processors, (ScheduleKind::Dataflow, 2));
    engine.set_offline(true);
    let mut play = || {
        engine.reset();
        (0..20).map(|_| block(&mut engine)).collect::<Vec<_>>()
    };
    let first = play();
    assert_eq!(first[3], (0.0 + 1.0 + 2.0, 3.0));
    assert_eq!(play(), first);
    assert_eq!(play(), first);
}

#[test]
fn what_finds_no_room_is_an_error_and_counted() {
    let (hold, held) = channel::<()>();
    let mut answers_sent = Vec::new();
    let (tell, told_answers) = channel();
    let (processor, told) = asks(Does(move |request: &[u8], answers: &mut dyn WorkAnswers| {
        // Nobody hears these before the test goes on.
        let _ = held.recv();
        if number(request) == 0 {
            answers_sent.push(answers.answer(&[0; 17]));
            (0..9).for_each(|_| answers_sent.push(answers.answer(request)));
            tell.send(std::mem::take(&mut answers_sent)).unwrap();
        }
    }));
    let (graph, processors) = beside(vec![processor]);
    let (mut engine, editor) = start(&graph, processors, (ScheduleKind::Serial, 1));
    // The buffer of the request at work is not free again before its end.
    for _ in 0..10 {
        block(&mut engine);
    }
    let told: Vec<_> = told.try_iter().collect();
    let mut expected: Vec<_> = (0..8).map(Told::Sent).collect();
    expected.extend([Told::Refused(WorkRefused::Full), Told::Refused(WorkRefused::Full)]);
    assert_eq!(told, expected);
    drop(hold);
    let sent = told_answers.recv().unwrap();
    assert_eq!(sent[0], Err(WorkRefused::TooLong));
    assert_eq!(sent[1..9], [Ok(()); 8]);
    assert_eq!(sent[9], Err(WorkRefused::Full));
    let node = "asks 0".into();
    let lost = LostWork { node, requests: 2, answers: 2, panicked: false };
    assert_eq!(editor.control().lost_work(), [lost]);
}

#[test]
fn work_that_panics_ends_and_the_processor_goes_on() {
    for offline in [false, true] {
        let (processor, told) = asks(Does(|request: &[u8], answers: &mut dyn WorkAnswers| {
            assert!(number(request) < 2, "as the test asked");
            repeat(request, answers);
        }));
        let (graph, processors) = beside(vec![processor]);
        let (mut engine, editor) = start(&graph, processors, (ScheduleKind::Serial, 1));
        engine.set_offline(offline);
        let (mut heard, mut ended) = (0, 0);
        while ended < 10 {
            block(&mut engine);
            for told in told.try_iter() {
                heard += u32::from(matches!(told, Told::Heard(..)));
                ended += u32::from(told == Told::Refused(WorkRefused::Ended));
            }
            thread::yield_now();
        }
        assert_eq!(heard, 2, "offline: {offline}");
        assert_eq!(engine.contained(), [], "the processor itself has not failed");
        assert!(editor.control().lost_work()[0].panicked);
    }
}

#[test]
fn an_engine_that_goes_offline_and_back_loses_no_answer_that_it_does_not_count() {
    let (processor, told) = asks(Does(repeat));
    let (graph, processors) = beside(vec![processor]);
    let (mut engine, editor) = start(&graph, processors, (ScheduleKind::Dataflow, 2));
    let (mut sent, mut heard) = (Vec::new(), Vec::new());
    let mut round = 0;
    while heard.len() < 300 {
        assert_eq!(engine.set_offline(round % 3 == 1), round % 3 == 2, "round {round}");
        round += 1;
        for _ in 0..5 {
            block(&mut engine);
        }
        for told in told.try_iter() {
            match told {
                Told::Sent(number) => sent.push(number),
                Told::Heard(_, answer) => heard.push(number(&answer)),
                Told::Refused(why) => assert_eq!(why, WorkRefused::Full),
            }
        }
        thread::yield_now();
    }
    let lost = editor.control().lost_work().first().map_or(0, |lost| lost.answers);
    let unanswered = unanswered(&sent, &heard);
    assert!(unanswered <= lost, "{unanswered} of {lost}");
}

/// Asks for two works.
struct AsksTwice(Vec<Box<dyn WorkRequests>>);

impl Processor for AsksTwice {
    fn join(&mut self, host: &mut dyn Host) {
        self.0 = (0..2).map(|_| host.background(Box::new(Does(repeat)), ROOM)).collect();
    }
    fn process(&mut self, block: &mut Block<'_>) {
        let sent = [0, 1].map(|work| self.0[work].request(&[1]));
        let seen = sent == [Ok(()), Err(WorkRefused::Ended)];
        block.main.left.fill(f32::from(seen));
        block.main.right.fill(f32::from(seen));
    }
    fn reset(&mut self) {}
}

#[test]
fn a_second_background_work_is_refused() {
    let (graph, processors) = beside(vec![Box::new(AsksTwice(Vec::new()))]);
    let (mut engine, editor) = start(&graph, processors, (ScheduleKind::Serial, 1));
    assert_eq!(block(&mut engine).1, 1.0);
    assert_eq!(editor.control().lost_work()[0].requests, 1);
}

#[test]
fn a_processor_inside_a_bypass_has_its_work_done_too() {
    let (processor, told) = asks(Does(repeat));
    let bypass = Box::new(Bypass::new(processor, 48_000, false));
    let (graph, processors) = beside(vec![bypass]);
    let (mut engine, _editor) = start(&graph, processors, (ScheduleKind::Dataflow, 2));
    engine.set_offline(true);
    (0..3).for_each(|_| _ = block(&mut engine));
    let expected = [
        Told::Sent(0),
        Told::Heard(1, 0u64.to_le_bytes().to_vec()),
        Told::Sent(1),
        Told::Heard(2, 1u64.to_le_bytes().to_vec()),
        Told::Sent(2),
    ];
    assert_eq!(told.try_iter().collect::<Vec<_>>(), expected);
}

/// Work that waits before each answer until the test lets it go on.
struct Held {
    begun: Sender<u8>,
    go_on: Receiver<()>,
    done: Sender<()>,
}

impl BackgroundWork for Held {
    fn work(&mut self, request: &[u8], answers: &mut dyn WorkAnswers) {
        self.begun.send(request[0]).unwrap();
        self.go_on.recv().unwrap();
        answers.answer(request).unwrap();
        self.done.send(()).unwrap();
    }
}

/// Requests its generation when it joins, and when it is reset. It tells what it hears.
struct Generations {
    work: Option<Held>,
    requests: Option<Box<dyn WorkRequests>>,
    generation: u8,
    outlives_reset: bool,
    heard: Sender<u8>,
}

impl Processor for Generations {
    fn join(&mut self, host: &mut dyn Host) {
        let room = WorkRoom { messages: 4, bytes: 1, outlives_reset: self.outlives_reset };
        let mut requests = host.background(Box::new(self.work.take().unwrap()), room);
        requests.request(&[0]).unwrap();
        self.requests = Some(requests);
    }
    fn answered(&mut self, answer: &[u8]) {
        self.heard.send(answer[0]).unwrap();
    }
    fn process(&mut self, _: &mut Block<'_>) {}
    fn reset(&mut self) {
        self.generation += 1;
        self.requests.as_mut().unwrap().request(&[self.generation]).unwrap();
    }
}

/// The answer to a request from before a reset.
fn after_a_reset(outlives_reset: bool) -> Vec<u8> {
    let (begun, begins) = channel();
    let (lets, go_on) = channel();
    let (done, does) = channel();
    let (heard, hears) = channel();
    let work = Some(Held { begun, go_on, done });
    let asks = Generations { work, requests: None, generation: 0, outlives_reset, heard };
    let (graph, processors) = beside(vec![Box::new(asks)]);
    let (mut engine, _editor) = start(&graph, processors, (ScheduleKind::Serial, 1));
    let answer = |engine: &mut Engine| {
        lets.send(()).unwrap();
        does.recv().unwrap();
        engine.process(FRAMES);
        hears.try_iter().collect::<Vec<u8>>()
    };
    // Nothing has played yet, so what it requested when it joined is answered.
    engine.reset();
    assert_eq!(begins.recv(), Ok(0));
    assert_eq!(answer(&mut engine), [0]);
    // The work has begun with this one when the engine is reset.
    assert_eq!(begins.recv(), Ok(1));
    engine.reset();
    let late = answer(&mut engine);
    assert_eq!(begins.recv(), Ok(2));
    assert_eq!(answer(&mut engine), [2]);
    late
}

#[test]
fn answers_from_before_a_reset_do_not_come_after_it() {
    assert!(after_a_reset(false).is_empty());
}

#[test]
fn answers_that_outlive_a_reset_come_after_it() {
    assert_eq!(after_a_reset(true), [1]);
}
