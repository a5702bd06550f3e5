//! How a record looks as JSON: readable where it is structure, dense where it is samples.
//!
//! Objects are indented; an array of numbers or strings stays on one line, however long, so a
//! column of samples is one line and a text tool can pick it out.

use std::io::{self, Write};

use serde::{Deserialize, Deserializer};
use serde_json::ser::Formatter;

const INDENT: &[u8] = b"  ";

/// A formatter for [`serde_json::Serializer::with_formatter`].
#[derive(Default)]
pub(super) struct Columns {
    /// What the current position is nested in, outermost first.
    open: Vec<Nest>,
}

/// An object or array that is not closed yet.
struct Nest {
    array: bool,
    /// Whether anything inside began a line of its own, so the closing bracket needs one, too.
    broken: bool,
}

impl Columns {
    fn line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(nest) = self.open.last_mut() {
            nest.broken = true;
        }
        writer.write_all(b"\n")?;
        (0..self.open.len()).try_for_each(|_| writer.write_all(INDENT))
    }

    /// An object or array inside an array gets a line of its own; after a key it does not.
    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, array: bool) -> io::Result<()> {
        if self.open.last().is_some_and(|nest| nest.array) {
            self.line(writer)?;
        }
        self.open.push(Nest { array, broken: false });
        writer.write_all(if array { b"[" } else { b"{" })
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.open.pop().is_some_and(|nest| nest.broken) {
            writer.write_all(b"\n")?;
            (0..self.open.len()).try_for_each(|_| writer.write_all(INDENT))?;
        }
        writer.write_all(bracket)
    }
}

impl Formatter for Columns {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, true)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, false)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// A number, or `null`, which is how JSON says that there is none.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(deserializer).map(|number| number.unwrap_or(f64::NAN))
}

/// The same for a list.
pub(super) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let all = Vec::<Option<f64>>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}
