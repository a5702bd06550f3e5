//! Leaders that belong to a sound server.

use super::*;
use hocket_c::follow::*;

/// The thread that the engine follows and the CPU that it keeps free; `None`: it follows nobody.
fn followed(engine: *const Engine) -> Option<(i64, i64)> {
    unsafe extern "C" fn keep(user: *mut c_void, report: *const FollowReport) {
        // SAFETY: told.
        unsafe {
            let report = &*report;
            assert_eq!(report.cpus.is_null(), report.thread == -1);
            assert_eq!(report.class_got.is_null(), report.thread == -1);
            *user.cast() = Some((report.thread, report.kept_free));
        }
    }
    let mut found: Option<(i64, i64)> = None;
    let user = (&raw mut found).cast();
    // SAFETY: told.
    let (status, text) =
        told(|error| unsafe { hocket_engine_followed(engine, Some(keep), user, error) });
    assert_eq!(status, Status::Ok, "{text}");
    found
}

#[test]
fn a_leader_that_did_not_enter_is_followed() {
    let engine = engine(Some(ones), null_mut());
    // SAFETY: told, for this test.
    unsafe {
        assert_eq!(followed(engine), None);
        assert_eq!(told(|e| hocket_engine_follow(engine, e)), (Status::Ok, String::new()));
        let (status, text) = told(|error| hocket_engine_follow(engine, error));
        assert!(status == Status::BadInput && text.contains("hocket_engine_unfollow"), "{text}");
        assert_eq!(followed(engine), Some((-1, -1)), "no block has run");
        assert_eq!(process(engine, 64).0, Status::Ok);
        let (thread, kept_free) = followed(engine).unwrap();
        assert!(thread > 0 && kept_free >= 0, "thread {thread}, CPU {kept_free}");
        assert!(!reports(engine).contains(&String::from("leader")));
        assert_eq!(hocket_engine_unfollow(engine, null_mut()), Status::Ok);
        assert_eq!(followed(engine), None);
        assert_eq!(hocket_engine_unfollow(engine, null_mut()), Status::Ok);

        assert_eq!(hocket_engine_enter(engine), Status::Ok);
        let (status, text) = told(|error| hocket_engine_follow(engine, error));
        assert!(status == Status::BadInput && text.contains("has entered"), "{text}");
        assert_eq!(hocket_engine_leave(engine), Status::Ok);
        assert_eq!(hocket_engine_follow(engine, null_mut()), Status::Ok);
        assert_eq!(hocket_engine_stop(engine), Status::Ok, "the stop ends it");
    }
}
