//! From bytes to a request, and from an answer to bytes: the little of HTTP/1.1 that pages for a browser on this computer
//! need. Pure functions of the bytes: nothing here knows what is served, and no bytes make it panic. `connections` has the
//! sockets, [`own_pages`] tells a request of the user from one of another site.

pub(crate) mod connection;
pub(crate) mod connections;
pub mod own_pages;

/// The largest head of a request, in bytes: browsers send some hundred.
pub const LARGEST_HEAD: usize = 8 << 10;
/// The largest body of a request, in bytes: a command has one or two values.
pub const LARGEST_BODY: usize = 1 << 10;

/// Headers that would mean two things if they came twice.
const ONCE: [&str; 6] =
    ["host", "origin", "authorization", "content-length", "sec-fetch-site", "transfer-encoding"];

/// A request that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Such as `GET`: letters alone.
    pub method: String,
    /// It begins with `/`, as it was sent: nothing in it is decoded.
    pub target: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    /// [`LARGEST_BODY`] bytes at most.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header: the first, where it came several times. `name`: in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Why a request gets no answer of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// For programs.
    pub status: Status,
    /// For people.
    pub why: &'static str,
}

pub(crate) const fn refused(status: Status, why: &'static str) -> Refused {
    Refused { status, why }
}

/// What the bytes of a connection ask for. `None`: there is more to come. Once they ask for something or are refused, more
/// bytes change nothing.
///
/// Thread: any. Cost: O(bytes), allocates.
///
/// # Errors
/// They are no request, or one that is too large.
pub fn read(bytes: &[u8]) -> Result<Option<Request>, Refused> {
    let most = bytes.len().min(LARGEST_HEAD);
    let Some(end) = bytes[..most].windows(4).position(|four| four == b"\r\n\r\n") else {
        let too_large = refused(Status::LargeHead, "the head of the request is too large");
        return if bytes.len() >= LARGEST_HEAD { Err(too_large) } else { Ok(None) };
    };
    let malformed = |why| Err(refused(Status::Malformed, why));
    let (head, rest) = (&bytes[..end], &bytes[end + 4..]);
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let Some(head) =
        std::str::from_utf8(head).ok().filter(|text| text.bytes().all(|b| is_text(&b)))
    else {
        return malformed("the head of the request is no ASCII text");
    };
    let mut lines = head.split("\r\n");
    let Some((method, target)) = lines.next().and_then(first_line) else {
        return malformed("its first line is none of HTTP/1.1");
    };
    let Some(headers) = lines.map(header_line).collect::<Option<Vec<_>>>() else {
        return malformed("one of its headers is none");
    };
    let count = |name: &str| headers.iter().filter(|(known, _)| known == name).count();
    if ONCE.into_iter().any(|name| count(name) > 1) {
        return malformed("one of its headers came twice");
    }
    if count("transfer-encoding") > 0 {
        return malformed("its body comes in chunks");
    }
    let length = match header(&headers, "content-length").map(length) {
        None => 0,
        Some(None) => return malformed("its content-length is no number"),
        Some(Some(length)) => length,
    };
    if length > LARGEST_BODY as u64 {
        return Err(refused(Status::LargeBody, "the body of the request is too large"));
    }
    let Some(body) = rest.get(..length as usize) else { return Ok(None) };
    Ok(Some(Request { method: method.into(), target: target.into(), headers, body: body.into() }))
}

/// Method and target.
fn first_line(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_target = target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic());
    let is_version = matches!(version, "HTTP/1.1" | "HTTP/1.0");
    (is_method && is_target && is_version && words.next().is_none()).then_some((method, target))
}

fn header_line(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_value = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    let is_header = !name.is_empty() && name.bytes().all(is_name) && value.bytes().all(is_value);
    is_header.then(|| (name.to_ascii_lowercase(), value.trim().to_owned()))
}

/// Digits alone: no sign, no space. `None`: no such number.
fn length(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // More than 64 bits hold is too large in any case.
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// How a request was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// What was asked for is there, or was done.
    Done,
    /// The request is none, or its values make no sense.
    Malformed,
    /// A token that is missing or wrong.
    NoToken,
    /// It comes from another site, or nobody may do this.
    Forbidden,
    /// Nothing has this address.
    NotFound,
    /// The methods that are known.
    BadMethod(&'static str),
    /// The run cannot do it.
    NotPossible,
    /// More than [`LARGEST_BODY`].
    LargeBody,
    /// More than [`LARGEST_HEAD`].
    LargeHead,
    /// There are too many others.
    Busy,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Done => "200 OK",
            Status::Malformed => "400 Bad Request",
            Status::NoToken => "401 Unauthorized",
            Status::Forbidden => "403 Forbidden",
            Status::NotFound => "404 Not Found",
            Status::BadMethod(_) => "405 Method Not Allowed",
            Status::NotPossible => "409 Conflict",
            Status::LargeBody => "413 Content Too Large",
            Status::LargeHead => "431 Request Header Fields Too Large",
            Status::Busy => "503 Service Unavailable",
        }
    }
}

/// What goes back, after which the connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    status: Status,
    kind: &'static str,
    /// Lines of further headers.
    more: String,
    body: Vec<u8>,
    /// Whether only the head is sent.
    is_head: bool,
}

/// In every answer. No page of another origin may show, read or guess it, and nobody may keep it.
const ALWAYS: &str = "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n";

impl Answer {
    /// A line of text.
    pub fn text(status: Status, text: &str) -> Answer {
        let more = match status {
            Status::NoToken => "WWW-Authenticate: Bearer\r\n".into(),
            Status::BadMethod(allowed) => format!("Allow: {allowed}\r\n"),
            _ => String::new(),
        };
        let kind = "text/plain; charset=utf-8";
        Answer { status, kind, more, body: format!("{text}\n").into(), is_head: false }
    }

    /// A page that was written to a file. Its own policy says which scripts run; this one adds that none of them may ask
    /// for anything.
    pub(crate) fn file(page: Vec<u8>) -> Answer {
        let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
                      connect-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        Answer {
            status: Status::Done,
            kind: "text/html; charset=utf-8",
            more: format!("Content-Security-Policy: {policy}\r\n"),
            body: page,
            is_head: false,
        }
    }

    /// The same without its body, as HEAD asks for it.
    pub(crate) fn head(self) -> Answer {
        Answer { is_head: true, ..self }
    }

    /// The page, with a policy that lets the browser run what has this number and nothing else.
    pub(crate) fn page(page: &str, theme: &str, nonce: &str) -> Answer {
        let policy = format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        Answer {
            status: Status::Done,
            kind: "text/html; charset=utf-8",
            more: format!("Content-Security-Policy: {policy}\r\n"),
            body: page.replace("{nonce}", nonce).replace("{theme}", theme).into(),
            is_head: false,
        }
    }

    /// As it is sent.
    pub fn bytes(&self) -> Vec<u8> {
        let Answer { status, kind, more, body, is_head } = self;
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{ALWAYS}{more}\r\n",
            status.line(),
            body.len()
        );
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(if *is_head { &[] } else { body });
        bytes
    }
}

/// The head of an answer that goes on until somebody ends it. A browser that lost it comes back after a second.
pub(crate) fn stream_head() -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{ALWAYS}\r\nretry: 1000\n\n")
        .into()
}

#[cfg(test)]
mod tests;
