use proptest::prelude::*;

use super::*;

fn complete(text: &str) -> Request {
    read(text.as_bytes()).unwrap().unwrap()
}

fn status(text: &str) -> Status {
    match read(text.as_bytes()) {
        Err(refused) => refused.status,
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn a_request_is_read_wherever_it_is_cut() {
    let text =
        "POST /strip/a%20b/mute HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: 3\r\n\r\n[1]";
    for cut in 0..text.len() {
        assert_eq!(read(&text.as_bytes()[..cut]), Ok(None), "{cut}");
    }
    let request = complete(text);
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/strip/a%20b/mute"));
    assert_eq!((request.header("host"), request.header("origin")), (Some("localhost:1"), None));
    assert_eq!(request.body, b"[1]");
    // What comes behind it belongs to nobody.
    assert_eq!(complete(&format!("{text}GET / HTTP/1.1\r\n\r\n")), request);
}

#[test]
fn what_is_no_request_is_refused() {
    for line in [
        "",
        "GET",
        "GET /",
        "GET / HTTP/2",
        "get / HTTP/1.1",
        "GET  / HTTP/1.1",
        "GET / HTTP/1.1 x",
        "GET http://localhost/ HTTP/1.1",
        "GET /\u{7f} HTTP/1.1",
        "GET /é HTTP/1.1",
        "\u{16}\u{3}\u{1}",
    ] {
        assert_eq!(status(&format!("{line}\r\n\r\n")), Status::Malformed, "{line:?}");
    }
    for headers in [
        "no colon",
        ": no name",
        "a b: space in a name",
        " folded: line",
        "Host: a\r\nHost: b",
        "Content-Length: 1\r\ncontent-length: 1",
        "Content-Length: -1",
        "Content-Length: +1",
        "Content-Length:",
        "Transfer-Encoding: chunked",
        "A: a\nb",
    ] {
        let text = format!("POST /play HTTP/1.1\r\n{headers}\r\n\r\n");
        assert_eq!(status(&text), Status::Malformed, "{headers:?}");
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_complete() {
    let begins = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(LARGEST_HEAD));
    assert_eq!(status(&begins), Status::LargeHead);
    assert_eq!(read(&begins.as_bytes()[..LARGEST_HEAD - 1]), Ok(None));
    for length in [LARGEST_BODY as u64 + 1, u64::MAX] {
        let text = format!("POST /play HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
        assert_eq!(status(&text), Status::LargeBody);
    }
    let text =
        format!("POST /play HTTP/1.1\r\nContent-Length: {length}9\r\n\r\n", length = u64::MAX);
    assert_eq!(status(&text), Status::LargeBody);
    let largest = format!("POST / HTTP/1.1\r\nContent-Length: {LARGEST_BODY}\r\n\r\n");
    assert_eq!(complete(&(largest + &"x".repeat(LARGEST_BODY))).body.len(), LARGEST_BODY);
}

#[test]
fn an_answer_has_its_length_and_its_policy() {
    let text = String::from_utf8(Answer::text(Status::NoToken, "é").bytes()).unwrap();
    assert!(text.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{text}");
    assert!(text.contains("\r\nContent-Length: 3\r\n") && text.ends_with("\r\n\r\né\n"), "{text}");
    assert!(text.contains("\r\nWWW-Authenticate: Bearer\r\n"), "{text}");
    let page = Answer::page("<style nonce=\"{nonce}\">{theme}</style>", "a{}", "123").bytes();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("script-src 'nonce-123'; style-src 'nonce-123';"), "{page}");
    assert!(page.ends_with("\r\n\r\n<style nonce=\"123\">a{}</style>"), "{page}");
}

#[test]
fn a_head_has_the_length_of_the_body_and_not_the_body() {
    let page = || Answer::file(b"<p>page</p>".to_vec());
    let [whole, head] = [page(), page().head()].map(|it| String::from_utf8(it.bytes()).unwrap());
    assert!(whole.contains("\r\nContent-Length: 11\r\n") && whole.contains("connect-src 'none'"));
    assert_eq!(whole.strip_suffix("<p>page</p>"), Some(head.as_str()));
    let refused = Answer::text(Status::BadMethod("GET, HEAD"), "no").bytes();
    assert!(String::from_utf8(refused).unwrap().contains("\r\nAllow: GET, HEAD\r\n"));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(&bytes);
    }

    #[test]
    fn nothing_that_looks_like_a_request_makes_it_panic(
        line in "[A-Z]{0,5} /[ -~]{0,20} HTTP/1.[01]",
        headers in prop::collection::vec("[ -~]{0,40}(: )?[ -~\r\n]{0,20}", 0..6),
        body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = format!("{line}\r\n{}\r\n\r\n", headers.join("\r\n")).into_bytes();
        bytes.extend(body);
        if let Ok(Some(request)) = read(&bytes) {
            prop_assert!(request.body.len() <= LARGEST_BODY);
            prop_assert!(request.target.starts_with('/'));
        }
    }
}
