//! Elements of project.xml: attributes as numbers and references, with errors at their places.

use std::collections::HashMap;
use std::ops::Range;

use hocket_session::{ForeignText, SessionError};
use hocket_time::TimeBase;
use roxmltree::{Document, Error, Node, ParsingOptions};

/// An element of the project.
pub(crate) type Element<'a> = Node<'a, 'a>;
/// A result whose error is the one message for the user.
pub(crate) type Read<T> = Result<T, SessionError>;

/// More elements and texts than any project has; each takes about a hundred bytes.
const MAX_NODES: u32 = 4_000_000;
/// Tracks in folders and clips in clips are nested; nobody nests deeper, and the readers call themselves.
const MAX_DEPTH: usize = 200;
/// The parser compares each attribute of an element with all before it, so the number of them is bounded.
const MAX_ATTRIBUTES: usize = 1_000;
/// What to do with a project that no program has written like this.
pub(crate) const EXPORT_AGAIN: &str = "export the project again, or correct project.xml by hand";

/// The tree of the text.
pub(crate) fn parse(text: &ForeignText) -> Read<Document<'_>> {
    check_attributes(text)?;
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, entity_resolver: None };
    let document = Document::parse_with_options(text.text(), options)
        .map_err(|error| refused(text, &error))?;
    check_depth(text, &document)?;
    Ok(document)
}

/// Before the parse, in one pass over the text. What is not XML here is left to the parser, which stops there.
fn check_attributes(text: &ForeignText) -> Read<()> {
    let xml = text.text();
    let mut at = 0;
    while let Some(start) = xml[at..].find('<').map(|found| at + found) {
        let rest = &xml[start..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        let end = match skipped.into_iter().find(|(open, _)| rest.starts_with(open)) {
            Some((open, close)) => {
                rest[open.len()..].find(close).map(|found| open.len() + found + close.len())
            }
            None => end_of_tag(text, start)?,
        };
        let Some(length) = end else { break };
        at = start + length;
    }
    Ok(())
}

/// The length of the tag that begins at `start`; `None` where it has no end.
fn end_of_tag(text: &ForeignText, start: usize) -> Read<Option<usize>> {
    let mut quote = None;
    let mut attributes = 0;
    for (at, byte) in text.text().as_bytes()[start..].iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => {
                attributes += 1;
                quote = Some(byte);
            }
            (None, b'>') => return Ok(Some(at + 1)),
            _ => {}
        }
        if attributes > MAX_ATTRIBUTES {
            let cause = format!("an element with more than {MAX_ATTRIBUTES} attributes");
            return Err(text.error(start..start + 1, cause, EXPORT_AGAIN));
        }
    }
    Ok(None)
}

fn refused(text: &ForeignText, error: &Error) -> SessionError {
    let end = text.text().trim_end().len();
    let (span, cause, remedy) = match error {
        Error::DtdDetected => {
            let at = text.text().find("<!DOCTYPE").unwrap_or(0);
            let cause = "a document type with entities, which no project has";
            (at..at + 9, cause.to_owned(), "remove <!DOCTYPE ...> from project.xml")
        }
        Error::NodesLimitReached | Error::AttributesLimitReached => {
            let cause = format!("more than {MAX_NODES} elements");
            (0..0, cause, "split the project")
        }
        Error::UnexpectedEndOfStream | Error::UnclosedRootNode | Error::NoRootNode => {
            (end..end, "the XML ends early".to_owned(), EXPORT_AGAIN)
        }
        error => {
            let at = error.pos();
            let span = place(text.text(), at.row as usize, at.col as usize);
            (span, format!("this is not XML: {}", without_place(error)), EXPORT_AGAIN)
        }
    };
    text.error(span, cause, remedy)
}

/// The parser says the place at the end of its message; ours is at the front.
fn without_place(error: &Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at ").map_or(text.clone(), |(what, _)| what.to_owned())
}

/// The place of a row and a column, both from 1, in bytes.
fn place(text: &str, row: usize, column: usize) -> Range<usize> {
    let start: usize = text.split_inclusive('\n').take(row.saturating_sub(1)).map(str::len).sum();
    let line = &text[start.min(text.len())..];
    let inside = line.char_indices().nth(column.saturating_sub(1)).map_or(0, |(at, _)| at);
    start + inside..start + inside + 1
}

/// Without recursion, since this decides whether there may be any.
fn check_depth(text: &ForeignText, document: &Document<'_>) -> Read<()> {
    let mut depth = 0_usize;
    let mut node = document.root();
    loop {
        if let Some(child) = node.first_child() {
            depth += 1;
            if depth > MAX_DEPTH {
                let cause = format!("elements are nested more than {MAX_DEPTH} deep");
                return Err(text.error(head(&child), cause, EXPORT_AGAIN));
            }
            node = child;
            continue;
        }
        loop {
            if let Some(next) = node.next_sibling() {
                node = next;
                break;
            }
            match node.parent() {
                Some(parent) => node = parent,
                None => return Ok(()),
            }
            depth -= 1;
        }
    }
}

/// The tag's name, without what is inside the element.
pub(crate) fn head(element: &Element<'_>) -> Range<usize> {
    let start = element.range().start;
    start..start + 1 + element.tag_name().name().len()
}

/// The project as its readers see it.
pub(crate) struct Xml<'a> {
    text: &'a ForeignText,
    ids: HashMap<&'a str, Element<'a>>,
}

impl<'a> Xml<'a> {
    pub(crate) fn new(text: &'a ForeignText, document: &'a Document<'a>) -> Xml<'a> {
        let elements = document.descendants().filter(Node::is_element);
        let with_id = elements.filter_map(|element| Some((element.attribute("id")?, element)));
        Xml { text, ids: with_id.collect() }
    }

    pub(crate) fn text(&self) -> &'a ForeignText {
        self.text
    }

    /// The element with this id.
    pub(crate) fn by_id(&self, id: &str) -> Option<Element<'a>> {
        self.ids.get(id).copied()
    }

    pub(crate) fn error(
        &self,
        element: &Element<'_>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> SessionError {
        self.text.error(head(element), cause, remedy)
    }

    /// A finite number.
    pub(crate) fn number(&self, element: &Element<'_>, name: &str) -> Read<Option<f64>> {
        let value = self.number_or_infinity(element, name)?;
        match value.filter(|value| value.is_infinite()) {
            None => Ok(value),
            Some(_) => Err(self.not_a_number(element, name)),
        }
    }

    /// A number, of which infinity is one: levels know minus infinity.
    pub(crate) fn number_or_infinity(
        &self,
        element: &Element<'_>,
        name: &str,
    ) -> Read<Option<f64>> {
        let Some(text) = element.attribute(name) else { return Ok(None) };
        match text.trim().parse::<f64>() {
            Ok(value) if !value.is_nan() => Ok(Some(value)),
            _ => Err(self.not_a_number(element, name)),
        }
    }

    pub(crate) fn required_number(&self, element: &Element<'_>, name: &str) -> Read<f64> {
        self.number(element, name)?.ok_or_else(|| {
            let cause = format!("<{}> has no {name}", element.tag_name().name());
            self.error(element, cause, EXPORT_AGAIN)
        })
    }

    fn not_a_number(&self, element: &Element<'_>, name: &str) -> SessionError {
        let attribute = element.attribute_node(name);
        let span = attribute.map_or(head(element), |attribute| attribute.range());
        let value = element.attribute(name).unwrap_or_default();
        self.text.error(
            span,
            format!("{name}: '{value}' is no number that can be used"),
            EXPORT_AGAIN,
        )
    }
}

/// The first child of this name.
pub(crate) fn child<'a>(element: &Element<'a>, name: &str) -> Option<Element<'a>> {
    element.children().find(|child| child.is_element() && child.tag_name().name() == name)
}

/// All children of this name.
pub(crate) fn children<'a>(
    element: &Element<'a>,
    name: &'static str,
) -> impl Iterator<Item = Element<'a>> + use<'a> {
    element.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// All children that are elements.
pub(crate) fn elements<'a>(element: &Element<'a>) -> impl Iterator<Item = Element<'a>> + use<'a> {
    element.children().filter(Node::is_element)
}

/// A truth value; whatever is neither counts as `usual`.
pub(crate) fn flag(element: &Element<'_>, name: &str, usual: bool) -> bool {
    match element.attribute(name).map(str::trim) {
        Some("true" | "1") => true,
        Some("false" | "0") => false,
        _ => usual,
    }
}

/// The unit that an attribute names; without one, or with one that nobody knows, that of what is around it.
pub(crate) fn time_unit(element: &Element<'_>, name: &str, around: TimeBase) -> TimeBase {
    match element.attribute(name) {
        Some("beats") => TimeBase::Beats,
        Some("seconds") => TimeBase::Seconds,
        _ => around,
    }
}

/// How a message calls an element: by its name, or by its tag.
pub(crate) fn called(element: &Element<'_>) -> String {
    let name = element.attribute("name").filter(|name| !name.trim().is_empty());
    name.map_or_else(|| format!("<{}>", element.tag_name().name()), |name| format!("'{name}'"))
}
