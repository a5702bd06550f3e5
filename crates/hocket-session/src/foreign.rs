//! Sessions that another crate has read from a text of another format.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hocket_plan::Session;

use crate::Loaded;
use crate::error::SessionError;
use crate::source::Source;

/// The text from which a session of another format is read, for errors and warnings at its places.
#[derive(Debug, Clone)]
pub struct ForeignText(Source);

impl ForeignText {
    /// `name` is what messages call the text; nothing is read.
    ///
    /// Thread: control. Cost: O(length of the text).
    pub fn new(name: &Path, text: String) -> ForeignText {
        ForeignText(Source::new(name, text))
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// A mistake at `span`, in bytes. Cause and remedy are sentences without a full stop.
    pub fn error(
        &self,
        span: Range<usize>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> SessionError {
        self.0.error(span, cause, remedy)
    }

    /// One line with its place, for something that plays otherwise than it was meant.
    pub fn warning(&self, span: Range<usize>, text: &str) -> String {
        self.0.warning(span, text)
    }
}

impl SessionError {
    /// A mistake of a file as a whole. Cause and remedy are sentences without a full stop.
    pub fn of_file(
        file: impl Into<PathBuf>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> SessionError {
        SessionError::whole(file.into(), cause.into(), remedy.into())
    }
}

impl Loaded {
    /// A session that was read from `text`. `media_spans` are the places that name its audio files, one per file, in
    /// bytes. `names` says what people call the files that were unpacked, by their paths.
    pub fn foreign(
        session: Session,
        warnings: Vec<String>,
        text: ForeignText,
        media_spans: Vec<Range<usize>>,
        names: HashMap<PathBuf, String>,
    ) -> Loaded {
        let (damaged, open_fades) = (Vec::new(), Vec::new());
        Loaded { session, warnings, damaged, source: text.0, media_spans, names, open_fades }
    }
}
