//! What a browser, or something that looks like one, sends to a page, and what goes back.

use hocket::fuzzed::{
    Answer, LARGEST_BODY, LARGEST_HEAD, LARGEST_PACKET, Refused, Request, Status, own_pages,
    page_command, page_packet, read, requests,
};
use hocket_lab::foreign;

/// An input is cut in about so many places.
const CUTS: usize = 256;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

pub fn check(bytes: &[u8]) {
    let whole = read(bytes);
    check_pieces(bytes, &whole);
    match whole {
        Ok(None) => assert!(bytes.len() < LARGEST_HEAD + LARGEST_BODY, "no end of waiting"),
        Ok(Some(request)) => check_request(bytes, &request),
        Err(refused) => check_refused(refused),
    }
}

/// A connection reads what has come so far. So the first answer has to be that of all bytes.
fn check_pieces(bytes: &[u8], whole: &Result<Option<Request>, Refused>) {
    let evenly = (0..bytes.len()).step_by(1 + bytes.len() / CUTS);
    let bounds = [LARGEST_HEAD - 1, LARGEST_HEAD, LARGEST_HEAD + LARGEST_BODY];
    for cut in evenly.chain(bounds).filter(|cut| *cut < bytes.len()) {
        let first = read(&bytes[..cut]);
        assert!(first == Ok(None) || first == *whole, "the first {cut} bytes ask for {first:?}");
    }
}

fn check_request(bytes: &[u8], request: &Request) {
    let (head, behind) = parts(bytes);
    let length = head.len() + request.body.len();
    assert!(head.len() <= LARGEST_HEAD && request.body.len() <= LARGEST_BODY);
    assert!(behind.starts_with(&request.body));
    assert_eq!(read(&bytes[..length]), Ok(Some(request.clone())), "what follows has a say");
    assert_eq!(read(&bytes[..length - 1]), Ok(None), "its last byte is missing");
    let mut lines = lines(head);
    let first = lines.next().expect("a line");
    let expected = |version| format!("{} {} HTTP/1.{version}", request.method, request.target);
    assert!(first == expected(0) || first == expected(1), "{first:?}");
    assert!(request.target.starts_with('/'));
    for line in lines {
        check_header(request, line);
    }
    let length = request.header("content-length").unwrap_or("0");
    assert_eq!(length.parse::<usize>(), Ok(request.body.len()));
    assert_eq!(request.header("transfer-encoding"), None, "its body has another end");
    check_site(bytes, request);
    check_command(request);
}

/// Everything up to the empty line, and what is behind it.
fn parts(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.windows(4).position(|four| four == END_OF_HEAD).expect("a head with an end");
    bytes.split_at(end + END_OF_HEAD.len())
}

fn lines(head: &[u8]) -> impl Iterator<Item = &str> {
    let text = std::str::from_utf8(&head[..head.len() - END_OF_HEAD.len()]);
    text.expect("a head is text").split("\r\n")
}

/// No line is lost or means something else. Of headers that may come twice, the first counts.
fn check_header(request: &Request, line: &str) {
    let (name, value) = line.split_once(':').expect("a name and a value");
    assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()), "{line:?}");
    assert!(!value.contains(|c: char| c.is_control() && c != '\t'), "{line:?}");
    let known = request.header(&name.to_ascii_lowercase()).expect("each header is kept");
    let decides = ["host", "origin", "sec-fetch-site", "authorization", "content-length"];
    if decides.iter().any(|header| name.eq_ignore_ascii_case(header)) {
        assert_eq!(known, value.trim(), "two values of {name}");
    }
}

/// A request of the user is answered. The same one is refused if it comes from another site.
fn check_site(bytes: &[u8], request: &Request) {
    let asked = [false, true].map(|is_anywhere| own_pages::check(request, is_anywhere));
    asked.into_iter().filter_map(Result::err).for_each(check_refused);
    let [here, anywhere] = asked.map(|asked| asked.is_ok());
    assert!(anywhere || !here, "only this computer may ask what every computer may");
    if !anywhere {
        return;
    }
    let host = request.header("host").expect("without a host it is refused");
    let accepted = |name, value: &str| {
        let changed = read(&with_header(bytes, name, value));
        let changed = changed.ok().flatten().filter(|changed| changed.body == request.body);
        let check =
            |is_anywhere| changed.as_ref().map(|it| own_pages::check(it, is_anywhere).is_ok());
        [check(false), check(true)]
    };
    let is_none = |accepted: [Option<bool>; 2]| !accepted.contains(&Some(true));
    for other in ["http://evil.example", "null", "https://localhost", "http://"] {
        assert!(is_none(accepted("Origin", other)), "from {other} to {host}");
    }
    for name in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""] {
        assert!(is_none(accepted("Host", name)), "as {name}");
    }
    assert!(request.target == "/" || is_none(accepted("Sec-Fetch-Site", "cross-site")));
    // A longer head may be too large.
    for (name, value) in [("Origin", &*format!("http://{host}")), ("Sec-Fetch-Site", "none")] {
        let [still_here, still] = accepted(name, value);
        assert!(still != Some(false) && (!here || still_here != Some(false)), "{name}: {value}");
    }
}

/// The same bytes with this value of a header.
fn with_header(bytes: &[u8], name: &str, value: &str) -> Vec<u8> {
    let (head, behind) = parts(bytes);
    let is_other = |line: &&str| {
        !line.split_once(':').is_some_and(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    let mut lines = lines(head);
    let first = lines.next().expect("a line");
    let others: String = lines.filter(is_other).map(|line| format!("{line}\r\n")).collect();
    let head = format!("{first}\r\n{others}{name}: {value}\r\n\r\n");
    [head.as_bytes(), behind].concat()
}

/// A command of the page is an OSC message in another form.
fn check_command(request: &Request) {
    let command = page_command(request);
    let said = match &command {
        Ok(command) => (Status::Done, command),
        Err((status, why)) => (*status, why),
    };
    check_answer(said.0, &foreign::plain(said.1));
    // OSC ends a text at its first zero.
    let has_zeros = request.body.windows(5).any(|five| five == b"u0000");
    let packet = page_packet(request).filter(|packet| packet.len() <= LARGEST_PACKET);
    if let Some(packet) = packet.filter(|_| !has_zeros) {
        let asked = requests(&packet);
        assert_eq!(asked.len(), 1, "a command is one message");
        assert_eq!(asked[0].as_ref().ok(), command.as_ref().ok(), "{asked:?}");
    }
}

fn check_refused(refused: Refused) {
    assert_ne!(refused.status, Status::Done);
    check_answer(refused.status, refused.why);
}

/// As a browser reads it.
fn check_answer(status: Status, text: &str) {
    let bytes = Answer::text(status, text).bytes();
    let (head, body) = parts(&bytes);
    let mut lines = lines(head);
    let first = lines.next().expect("a line").strip_prefix("HTTP/1.1 ").expect("a version");
    let (code, reason) = first.split_once(' ').expect("a number and its words");
    assert!(code.len() == 3 && !reason.is_empty(), "{first:?}");
    assert_eq!(code == "200", status == Status::Done);
    let headers: Vec<(&str, &str)> =
        lines.map(|line| line.split_once(": ").expect("a name and a value")).collect();
    let named = |name| {
        let mut values = headers.iter().filter(|(known, _)| *known == name);
        let value = values.next().unwrap_or_else(|| panic!("no {name}")).1;
        assert!(values.next().is_none(), "two of {name}");
        value
    };
    assert_eq!(named("Content-Length").parse::<usize>(), Ok(body.len()));
    assert_eq!((named("Connection"), named("Cache-Control")), ("close", "no-store"));
    assert!(!text.is_empty());
    let line = body.strip_suffix(b"\n").expect("a line of text");
    assert_eq!(line, text.as_bytes());
}
