//! Who may see the page, and who may steer.
//!
//! A page of another site must not reach this one through a browser that runs here. The two checks of [`own_pages`] see to
//! that, and a third: a command has the token in a header, which a page of another site can neither read nor send.

use super::token::Token;
use crate::http::{Refused, Request, Status, own_pages, refused};

/// What is allowed.
pub(super) struct Access {
    /// `None`: nobody steers.
    pub(super) token: Option<Token>,
    /// Whether other computers may come.
    pub(super) is_anywhere: bool,
}

impl Access {
    /// Whether a request comes from the user and not from another site.
    pub(super) fn check(&self, request: &Request) -> Result<(), Refused> {
        own_pages::check(request, self.is_anywhere)
    }
}

/// Whether a request has the token.
pub(super) fn may_command(access: &Access, request: &Request) -> Result<(), Refused> {
    let Some(token) = &access.token else {
        return Err(refused(Status::Forbidden, "read-only: start hocket play with --web-token"));
    };
    let given = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    match given {
        Some(given) if token.is(given) => Ok(()),
        Some(_) => Err(refused(Status::NoToken, "this is not the token of this run")),
        None => Err(refused(Status::NoToken, "a command needs the token of this run")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::read;

    fn request(headers: &str) -> Request {
        let text = format!("POST /play HTTP/1.1\r\n{headers}\r\n\r\n");
        read(text.as_bytes()).unwrap().unwrap()
    }

    fn access(is_anywhere: bool) -> Access {
        Access { token: Token::new("0123456789abcdef"), is_anywhere }
    }

    #[test]
    fn a_host_is_an_address_of_this_computer() {
        let is_ours = |host: &str, anywhere| {
            access(anywhere).check(&request(&format!("Host: {host}"))).is_ok()
        };
        for host in ["127.0.0.1:4625", "127.0.0.1", "localhost:9", "LOCALHOST", "[::1]:4625"] {
            assert!(is_ours(host, false) && is_ours(host, true), "{host}");
        }
        for host in ["192.168.1.5:4625", "[fe80::1]:4625", "0.0.0.0:4625"] {
            assert!(!is_ours(host, false) && is_ours(host, true), "{host}");
        }
        for host in ["", "x", "evil.example:4625", "127.0.0.1.evil.example", "localhost.evil:1"] {
            assert!(!is_ours(host, false) && !is_ours(host, true), "{host}");
        }
        for host in
            ["::1", "::1:4625", "[127.0.0.1]", "[::1", "[localhost]", "localhost.:1", "1:2:3"]
        {
            assert!(!is_ours(host, false) && !is_ours(host, true), "{host}");
        }
        assert!(access(true).check(&request("Accept: x")).is_err());
    }

    #[test]
    fn other_pages_and_sites_are_refused() {
        let check = |more: &str| {
            access(false).check(&request(&format!("Host: localhost:4625{more}"))).is_ok()
        };
        assert!(check("") && check("\r\nOrigin: http://localhost:4625"));
        assert!(check("\r\nSec-Fetch-Site: same-origin") && check("\r\nSec-Fetch-Site: none"));
        for origin in ["http://localhost:3000", "https://localhost:4625", "null", "http://evil"] {
            assert!(!check(&format!("\r\nOrigin: {origin}")), "{origin}");
        }
        assert!(!check("\r\nSec-Fetch-Site: cross-site"));
        let link = b"GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n";
        assert!(access(false).check(&read(link).unwrap().unwrap()).is_ok());
    }

    #[test]
    fn commands_need_the_token() {
        let may = |access: &Access, headers: &str| may_command(access, &request(headers));
        let bearer = "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef";
        assert_eq!(may(&access(false), bearer), Ok(()));
        let status = |access: &Access, headers: &str| may(access, headers).unwrap_err().status;
        assert_eq!(status(&access(false), "Host: localhost"), Status::NoToken);
        for wrong in ["Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "0123456789abcdef"] {
            let headers = format!("Host: localhost\r\nAuthorization: {wrong}");
            assert_eq!(status(&access(false), &headers), Status::NoToken, "{wrong}");
        }
        let nobody = Access { token: None, is_anywhere: false };
        assert_eq!(status(&nobody, bearer), Status::Forbidden);
    }
}
