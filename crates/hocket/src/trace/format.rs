//! Which format a file gets.

use std::path::Path;

use hocket_trace::run::RunTrace;
use hocket_trace::system::SystemTrace;
use hocket_trace::write;

use crate::failure::Failure;

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Page,
    Text,
    Chrome,
    Perfetto,
}

impl Format {
    /// By the file's ending.
    ///
    /// # Errors
    /// Another ending, or none: exit code 2.
    pub(super) fn of(path: &Path) -> Result<Format, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("html" | "htm") => Ok(Format::Page),
            Some("txt") => Ok(Format::Text),
            Some("json") => Ok(Format::Chrome),
            Some("pftrace" | "perfetto-trace") => Ok(Format::Perfetto),
            _ => Err(Failure::bad_input(format!(
                "--output {}: no format has this ending; name a file that ends in .html, .txt, .json, .pftrace or \
                 .perfetto-trace",
                path.display()
            ))),
        }
    }

    /// The file. A page may have two runs, all other formats show the first.
    pub(super) fn bytes(self, runs: &[RunTrace]) -> Vec<u8> {
        let run = &runs[0];
        match self {
            Format::Page => hocket_lab::trace_page::html(runs).into_bytes(),
            Format::Text => hocket_lab::foreign::lines(&write::text(run)).into_bytes(),
            Format::Chrome => write::chrome_json(run),
            Format::Perfetto => write::perfetto(run),
        }
    }

    /// The file of what a system did.
    pub(super) fn bytes_of_system(self, system: &SystemTrace) -> Vec<u8> {
        match self {
            Format::Page => hocket_lab::threads_page::html(system).into_bytes(),
            Format::Text => hocket_lab::foreign::lines(&write::system_text(system)).into_bytes(),
            Format::Chrome => write::chrome_json_of_system(system),
            Format::Perfetto => write::perfetto_of_system(system),
        }
    }

    /// What opens it.
    pub(super) fn hint(self) -> &'static str {
        match self {
            Format::Page => "open the page in a browser",
            Format::Text => "for a picture, write a file that ends in .html",
            Format::Chrome => "open the file at ui.perfetto.dev or profiler.firefox.com",
            Format::Perfetto => "open the file at ui.perfetto.dev",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_chooses_the_format() {
        let of = |name: &str| Format::of(Path::new(name)).ok();
        assert_eq!(of("a/b.HTML"), Some(Format::Page));
        assert_eq!(of("b.txt"), Some(Format::Text));
        assert_eq!(of("b.c.json"), Some(Format::Chrome));
        assert_eq!([of("b.pftrace"), of("b.perfetto-trace")], [Some(Format::Perfetto); 2]);
        assert_eq!([of("b"), of("json"), of("b.wav"), of("-"), of(".txt")], [None; 5]);
    }
}
