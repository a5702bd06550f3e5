//! Real-time classes by the services of a desktop, on a bus of the test's own.
//!
//! A test binary of its own: what it asks for (classes, RLIMIT_RTTIME) belongs to the whole process, so every case runs
//! in a child, as a user without rights, with the bus addresses in its environment. RealtimeKit itself takes part where it
//! is installed; polkit, the portal and older services are stand-ins on the same bus that do what theirs do.
#![cfg(feature = "dbus")]

#[path = "rights/bus.rs"]
mod bus;
#[path = "rights/child.rs"]
mod child;
#[path = "rights/services.rs"]
mod services;

use bus::PrivateBus;
use child::{Case, Said};

/// The part of every case that runs in the child; by itself it has nothing to do.
#[test]
fn child() {
    child::run_if_asked();
}

#[test]
fn rtkit_promotes_threads_of_an_ordinary_user() {
    let name = "rtkit_promotes_threads_of_an_ordinary_user";
    let Some(bus) = PrivateBus::start_as_root(name) else { return };
    let _polkit = services::polkit(&bus, true);
    let Some(_rtkit) = bus.start_rtkit(name) else { return };
    let said = Case::new("default").system_bus(&bus.address).run();
    for thread in &said.threads {
        assert_eq!(thread.way, "rtkit", "{said:?}");
        assert_eq!((thread.policy.as_str(), thread.priority), ("round_robin", 20), "{said:?}");
        assert!(thread.reset_on_fork && thread.rttime_us == Some(200_000), "{said:?}");
        assert!(thread.outcomes[0].contains("RLIMIT_RTPRIO"), "{said:?}");
        assert!(thread.outcomes[1].contains("no session bus"), "{said:?}");
    }
    assert!(said.threads.len() == 2 && said.all_ordinary_afterwards, "{said:?}");
    assert!(said.probe.contains("SCHED_RR 1 of 20"), "{said:?}");
    said.left_nothing_behind();
}

#[test]
fn polkit_may_say_no() {
    let Some(bus) = PrivateBus::start_as_root("polkit_may_say_no") else { return };
    let _polkit = services::polkit(&bus, false);
    let Some(_rtkit) = bus.start_rtkit("polkit_may_say_no") else { return };
    let said = Case::new("default").system_bus(&bus.address).run();
    said.nobody_is_real_time("AccessDenied: Operation not permitted");
    assert!(said.probe.contains("refuses"), "{said:?}");
}

#[test]
fn the_portal_is_asked_before_rtkit() {
    let Some(bus) = PrivateBus::start_as_root("the_portal_is_asked_before_rtkit") else { return };
    let _portal = services::portal(&bus);
    let said = Case::new("default").session_bus(&bus.address).run();
    for thread in &said.threads {
        assert_eq!((thread.way.as_str(), thread.priority), ("portal", 15), "{said:?}");
        assert_eq!((thread.outcomes.len(), thread.rttime_us), (2, Some(150_000)), "{said:?}");
    }
    said.left_nothing_behind();
}

#[test]
fn an_old_rtkit_is_asked_by_thread_alone() {
    let name = "an_old_rtkit_is_asked_by_thread_alone";
    let Some(bus) = PrivateBus::start_as_root(name) else { return };
    let _old = services::old_rtkit(&bus);
    let said = Case::new("default").system_bus(&bus.address).run();
    assert!(said.threads.iter().all(|t| t.way == "rtkit" && t.priority == 9), "{said:?}");
}

#[test]
fn a_service_that_only_says_yes_is_not_believed() {
    let name = "a_service_that_only_says_yes_is_not_believed";
    let Some(bus) = PrivateBus::start(name) else { return };
    let _liar = services::liar(&bus);
    let said = Case::new("services").system_bus(&bus.address).run();
    said.nobody_is_real_time("the service agreed, but the kernel reports SCHED_OTHER");
    assert!(said.probe.contains("says yes, but the kernel"), "{said:?}");
}

#[test]
fn a_silent_bus_and_a_missing_one_are_named() {
    let silent = bus::SilentBus::start();
    let said = Case::new("services").session_bus(&silent.address).run();
    said.nobody_is_real_time("the realtime portal did not answer within 2s");
    said.nobody_is_real_time("no system bus");
    said.left_nothing_behind();
}

#[test]
fn a_bus_without_the_services_says_so() {
    let Some(bus) = PrivateBus::start("a_bus_without_the_services_says_so") else { return };
    let said = Case::new("services").system_bus(&bus.address).session_bus(&bus.address).run();
    said.nobody_is_real_time("ServiceUnknown");
}

impl Said {
    fn nobody_is_real_time(&self, because: &str) {
        for thread in &self.threads {
            assert!(thread.way != "rtkit" && thread.way != "portal", "{self:?}");
            assert_eq!(thread.policy, "other", "{self:?}");
            assert!(thread.outcomes.iter().any(|o| o.contains(because)), "{because}: {self:?}");
        }
    }

    fn left_nothing_behind(&self) {
        assert_eq!((self.threads_left, self.sockets_left), (0, 0), "{self:?}");
    }
}
