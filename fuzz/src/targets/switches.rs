//! Texts of perf, ftrace and trace-cmd about the scheduler, and the pages made of them.

use hocket_trace::sched_text::{Choice, ReadError, read};
use hocket_trace::system::{AboutSystem, SystemTrace};

pub fn check(bytes: &[u8]) {
    let all = read_as(bytes, &Choice::default());
    assert_eq!(all, read_as(bytes, &Choice::default()));
    let some = Choice { threads: vec!["a".into(), "11".into()], with_children: true };
    for read in [all, read_as(bytes, &some)] {
        match read {
            Ok(system) => check_system(&system),
            Err(error) => {
                assert!(!error.why().is_empty());
                assert!(error.remedy().is_some(), "{error}");
            }
        }
    }
}

fn read_as(bytes: &[u8], choice: &Choice) -> Result<SystemTrace, ReadError> {
    read(bytes, AboutSystem::default(), choice, || false)
}

fn check_system(system: &SystemTrace) {
    assert!(!system.members().is_empty() && system.length_ns() >= 0);
    for thread in &system.threads {
        assert!(thread.ran_ns >= 0 && thread.waited_ns >= 0, "{thread:?}");
    }
    for piece in &system.pieces {
        assert!(piece.start_ns >= system.about.start_ns && piece.end_ns() <= system.about.end_ns);
    }
    let page = hocket_lab::threads_page::html(system);
    assert!(page.contains("</html>"));
}
