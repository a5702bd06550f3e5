//! The command as a user meets it: right and wrong input, exit codes, nothing lost.

mod support;
mod tuning;
mod bad_input;
mod check;
mod good_runs;
mod playing;
mod capacity;
mod session;
mod lab;
mod guests;
mod interrupted;
mod lab_limits;
mod lab_interrupted;
mod leftovers;
mod faults;
mod talking;
mod installed;
mod doctor;
mod documented;
mod dawproject;
mod references;
mod midi_files;
mod impulses;
mod disks;
mod long_files;
mod conformed;
mod stalled_disk;
mod inputs;
mod long_inputs;
mod plugins;
mod isolated;
mod watched;
mod parts;
mod split;
mod levels;
mod dashboard;
mod pty;
mod json_run;
mod osc;
mod web;
#[allow(dead_code)]
#[path = "../../../hocket-lab/tests/browser/mod.rs"]
mod browser;
mod chromium;
mod web_page;
mod site;
mod site_pages;
mod trace;
mod attach;
mod from_text;
mod two_traces;
mod counters;
mod alsa;
mod alsa_card;
#[path = "../../../hocket-devices/tests/alsa_card/mod.rs"]
mod sound_card;
mod sentry;
#[path = "../streamed/mod.rs"]
mod streamed;
