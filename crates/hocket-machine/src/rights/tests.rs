use super::budget::within;
use super::service::Terms;
use super::*;
use crate::sys::Limit;

#[test]
fn limits_are_lowered_and_never_raised() {
    let limit = |soft, hard| Limit { soft, hard };
    assert_eq!(within(limit(None, None), 200), limit(Some(200), Some(200)));
    assert_eq!(within(limit(Some(100), None), 200), limit(Some(100), Some(200)));
    assert_eq!(within(limit(Some(100), Some(150)), 200), limit(Some(100), Some(150)));
}

#[test]
fn terms_that_give_nothing_say_so() {
    assert_eq!(Terms::of(20, 200_000), Ok(Terms { max_priority: 20, rttime_us: 200_000 }));
    for (priority, rttime) in [(0, 0), (-1, 200_000), (20, 0), (20, -5)] {
        let why = Terms::of(priority, rttime).expect_err("nothing to give");
        assert!(why.contains("RealtimeKit"), "{why}");
    }
    assert_eq!(Terms::of(i64::MAX, 1).map(|t| t.max_priority), Ok(99));
}

#[test]
fn an_impossible_priority_is_refused_by_every_way_in_words() {
    for priority in [0, 100, 255] {
        let ways = [Way::Fifo, Way::Portal, Way::Rtkit];
        let got = obtain_by(&ways, &[pin::current_thread()], priority).remove(0);
        assert_eq!(got.way, Way::None, "{got}");
        assert_eq!(got.tried.iter().map(|t| t.way).collect::<Vec<_>>(), ways);
        let says = |t: &Tried| t.outcome.contains(&format!("{priority} is not a real-time"));
        assert!(got.tried.iter().all(says), "{got}");
    }
}

#[test]
fn a_thread_that_is_not_there_is_told_so() {
    let got = obtain_by(&[Way::Fifo, Way::Slice], &[ThreadId(i32::MAX)], 5).remove(0);
    assert_eq!(got.way, Way::None);
    assert!(got.class.value().is_none() && got.tried.len() == 2, "{got}");
}

#[test]
fn no_threads_no_answers() {
    assert!(obtain_for(&[], 10).is_empty());
}

/// On a thread of its own, which takes its class with it when it ends.
#[test]
fn the_way_and_the_class_agree() {
    let work = || {
        let me = pin::current_thread();
        let before = class::now();
        let guard = RightsGuard::remember(&[me]);
        let got = obtain_by(&[Way::Fifo, Way::Slice], &[me], 3).remove(0);
        let real_time = got.class.value().is_some_and(ClassNow::is_real_time);
        assert_eq!(got.way == Way::Fifo, real_time, "{got}");
        assert_eq!(got.class, class::now());
        drop(guard);
        let after = class::now();
        assert_eq!(
            after.value().map(ClassNow::is_real_time),
            before.value().map(ClassNow::is_real_time)
        );
        assert_eq!(after.value().map(|now| now.nice), before.value().map(|now| now.nice));
    };
    std::thread::spawn(work).join().expect("no panic");
}
