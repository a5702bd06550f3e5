//! Real plug-ins, and one of our own, as processors.

mod check;
mod clap;
mod clap_presets;
mod common;
mod fixed;
mod isolate;
mod lv2;
mod outputs;
mod presets;
mod references;
mod scan;
mod sends;
mod vst3;
mod worker;
