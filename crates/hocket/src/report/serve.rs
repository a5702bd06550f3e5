//! `--serve`: the files of a site for browsers on this computer.
//!
//! One ordinary thread serves all. It knows the names of the pages that it wrote and serves nothing else, so no request
//! leads to another file. It changes nothing, and other computers do not reach it.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hocket_lab::site::INDEX;

use crate::failure::Failure;
use crate::http::connection::Received;
use crate::http::connections::{Connections, TAKEN_AT_ONCE};
use crate::http::{Answer, Request, Status, own_pages};
use crate::output::print;
use crate::play::remedy_of_port;

/// How often it looks whether it was asked to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A port of this computer alone.
pub(super) struct Port {
    listener: TcpListener,
    end: Arc<AtomicBool>,
}

impl Port {
    /// Takes the port.
    ///
    /// # Errors
    /// It cannot be taken, or Ctrl-C cannot be caught: exit code 3.
    pub(super) fn open(port: u16) -> Result<Port, Failure> {
        let refused = |error: std::io::Error| {
            let remedy = remedy_of_port(&error);
            Failure::not_possible(format!("--serve={port}: {error}; {remedy}"))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        Ok(Port { listener, end: crate::interrupt::flag()? })
    }

    /// Serves these pages of the folder until Ctrl-C.
    ///
    /// Thread: control.
    ///
    /// # Errors
    /// The port is gone: exit code 3.
    pub(super) fn serve(self, folder: &Path, pages: &[String]) -> Result<(), Failure> {
        let address = self.listener.local_addr().map_err(Failure::not_possible)?;
        print(&format!("site: http://{address}/ (Ctrl-C ends it)\n"));
        let mut connections = Connections::new(self.listener);
        // Relaxed: the flag stands for itself.
        while !self.end.load(Relaxed) {
            connections.wait(LOOK_EVERY, true);
            connections.take(TAKEN_AT_ONCE);
            for connection in &mut connections.all {
                match connection.receive() {
                    Received::Nothing => {}
                    Received::Request(request) => {
                        connection.answer(&answer(&request, folder, pages))
                    }
                    Received::Refused(refused) => {
                        connection.answer(&Answer::text(refused.status, refused.why));
                    }
                }
            }
            connections.send(Instant::now());
        }
        Ok(())
    }
}

fn answer(request: &Request, folder: &Path, pages: &[String]) -> Answer {
    if let Err(refused) = own_pages::check(request, false) {
        return Answer::text(refused.status, refused.why);
    }
    match request.method.as_str() {
        "GET" => file(&request.target, folder, pages),
        "HEAD" => file(&request.target, folder, pages).head(),
        _ => Answer::text(Status::BadMethod("GET, HEAD"), "only GET and HEAD are known"),
    }
}

/// The page of this name, if it is one.
fn file(target: &str, folder: &Path, pages: &[String]) -> Answer {
    let path = target.split('?').next().unwrap_or(target);
    let name = match path.trim_start_matches('/') {
        "" => INDEX,
        name => name,
    };
    let Some(known) = pages.iter().find(|page| page.as_str() == name) else {
        return Answer::text(Status::NotFound, "this site has no such page");
    };
    match std::fs::read(folder.join(known)) {
        Ok(page) => Answer::file(page),
        Err(_) => Answer::text(Status::NotFound, "the page is gone; make the site again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::read;

    fn ask(line: &str, folder: &Path) -> String {
        let request = read(format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n").as_bytes());
        let pages = [INDEX.to_string(), "gone.html".into()];
        let answer = answer(&request.unwrap().unwrap(), folder, &pages);
        String::from_utf8(answer.bytes()).unwrap()
    }

    #[test]
    fn only_pages_of_the_site_are_served() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("site");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(outer.path().join("secret.html"), "secret").unwrap();
        std::fs::write(folder.join("note.html"), "secret").unwrap();
        std::fs::write(folder.join(INDEX), "<p>all</p>").unwrap();
        for line in ["GET /", "GET /index.html", "GET /?x=1"] {
            let answer = ask(line, &folder);
            assert!(
                answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("<p>all</p>"),
                "{answer}"
            );
        }
        let head = ask("HEAD /", &folder);
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
        for path in [
            "/note.html",
            "/gone.html",
            "/../secret.html",
            "/%2e%2e/secret.html",
            "/..%2fsecret.html",
        ] {
            let answer = ask(&format!("GET {path}"), &folder);
            assert!(answer.starts_with("HTTP/1.1 404 ") && !answer.contains("secret"), "{answer}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            assert!(ask(&format!("{method} /"), &folder).starts_with("HTTP/1.1 405 "));
        }
    }
}
