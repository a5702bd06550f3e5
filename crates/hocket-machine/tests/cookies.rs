//! Cookies on the machine the tests run on. A cookie of the process belongs to all its threads, so this binary has one
//! test, and runs its parts one after the other.

use std::sync::mpsc;

use hocket_machine::cookie::{self, Cookie, CookieError, CookieGuard, Scope};
use hocket_machine::grants::{self, GrantName};
use hocket_machine::pin::{self, ThreadId};

#[test]
fn cookies() {
    the_table_of_grants_agrees();
    match cookie::current() {
        Ok(_) => {
            a_leader_hands_its_cookie_to_workers();
            workers_make_their_own();
            a_guard_gives_back_what_was_there();
            a_guard_survives_a_cookie_for_the_process();
            a_thread_that_is_gone_is_named();
        }
        Err(why) => {
            println!("SKIPPED cookies: {why}");
            every_request_is_refused_alike(&why);
        }
    }
}

fn the_table_of_grants_agrees() {
    let table = grants::probe();
    let row = table.iter().find(|g| g.name == GrantName::CoreCookies).expect("in the table");
    assert_eq!(row.granted, cookie::current().is_ok(), "{row:?}");
}

fn every_request_is_refused_alike(why: &CookieError) {
    assert_eq!(cookie::create(Scope::Thread).as_ref(), Err(why));
    assert_eq!(cookie::create(Scope::Process).as_ref(), Err(why));
    assert_eq!(cookie::share_to(pin::current_thread()).as_ref(), Err(why));
    assert_eq!(cookie::share_from(pin::current_thread()).as_ref(), Err(why));
    assert_eq!(CookieGuard::remember().err().as_ref(), Some(why));
}

fn a_leader_hands_its_cookie_to_workers() {
    let worker = Worker::start();
    assert_eq!(cookie::of(worker.id), Ok(Cookie::NONE));
    let mut guard = CookieGuard::remember().expect("known here");
    guard.also(worker.id);
    let ours = cookie::create(Scope::Thread).expect("known here");
    assert!(ours.is_some());
    assert_eq!(cookie::of(worker.id), Ok(Cookie::NONE), "a thread's cookie is its own");
    assert_eq!(cookie::share_to(worker.id), Ok(ours));
    let child = Worker::start();
    assert_eq!(cookie::of(child.id), Ok(ours), "threads inherit");
    guard.also(child.id);
    assert_eq!(guard.restore(), Ok(Cookie::NONE));
    for thread in [pin::current_thread(), worker.id, child.id] {
        assert_eq!(cookie::of(thread), Ok(Cookie::NONE));
    }
}

fn workers_make_their_own() {
    let (first, second, third) = (Worker::start(), Worker::start(), Worker::start());
    let one = first.run(|| cookie::create(Scope::Thread)).expect("known here");
    let two = cookie::create_for(second.id).expect("known here");
    assert_ne!(one, two);
    let partner = first.id;
    assert_eq!(third.run(move || cookie::share_from(partner)), Ok(one), "a pair shares one");
    assert_eq!(cookie::of(second.id), Ok(two));
    assert_eq!(cookie::current(), Ok(Cookie::NONE), "the leader is not concerned");
}

fn a_guard_gives_back_what_was_there() {
    let worker = Worker::start();
    let first = worker.run(|| cookie::create(Scope::Thread)).expect("known here");
    let (inner, after) = worker.run(|| {
        let guard = CookieGuard::remember().expect("known here");
        let inner = cookie::create(Scope::Thread).expect("known here");
        drop(guard);
        (inner, cookie::current())
    });
    assert_ne!(inner, first);
    assert_eq!(after, Ok(first));
}

fn a_guard_survives_a_cookie_for_the_process() {
    let worker = Worker::start();
    let mut guard = CookieGuard::remember().expect("known here");
    guard.also(worker.id);
    let all = cookie::create(Scope::Process).expect("known here");
    assert_eq!(cookie::of(worker.id), Ok(all));
    match guard.restore() {
        Ok(cookie) => assert_eq!(cookie, Cookie::NONE),
        Err(CookieError::Lost(Cookie::NONE)) => {
            println!(
                "SKIPPED a_guard_survives_a_cookie_for_the_process: neither parent nor process 1 is in reach"
            );
            return;
        }
        Err(error) => panic!("{error}"),
    }
    assert_eq!(cookie::of(worker.id), Ok(Cookie::NONE));
    assert_eq!(cookie::current(), Ok(Cookie::NONE));
}

fn a_thread_that_is_gone_is_named() {
    let gone = {
        let worker = Worker::start();
        worker.id
    };
    // The kernel tells of a thread's end a little before it forgets its number.
    while cookie::of(gone).is_ok() {
        std::thread::yield_now();
    }
    assert_eq!(cookie::share_to(gone), Err(CookieError::Gone(gone)));
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread that does what it is asked, and has ended when it is dropped.
struct Worker {
    id: ThreadId,
    jobs: Option<mpsc::Sender<Job>>,
    handle: Option<std::thread::JoinHandle<()>>,
}

impl Worker {
    fn start() -> Self {
        let (jobs, taken) = mpsc::channel::<Job>();
        let (tell, told) = mpsc::channel();
        let handle = std::thread::spawn(move || {
            tell.send(pin::current_thread()).expect("heard");
            taken.into_iter().for_each(|job| job());
        });
        Self { id: told.recv().expect("the number"), jobs: Some(jobs), handle: Some(handle) }
    }

    fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (answer, answered) = mpsc::channel();
        let job = Box::new(move || answer.send(work()).expect("heard"));
        self.jobs.as_ref().expect("alive").send(job).expect("it listens");
        answered.recv().expect("an answer")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        self.handle.take().map(std::thread::JoinHandle::join);
    }
}
