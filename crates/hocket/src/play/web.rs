//! `--web`: the dashboard as a page for a browser.
//!
//! One ordinary thread serves every browser. It looks at the run as the terminal's dashboard does, and sends what it saw to all
//! who watch, 30 times a second. It never waits for a browser: one that has not taken the last update gets no new one. Commands
//! go the way of the keys and of OSC.
//!
//! Every request has bounds: its size, its time, and how many there are at once. So rubbish costs this thread a bounded time,
//! and the audio threads nothing.

mod access;
pub(super) mod action;
mod served;
mod token;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use hocket_lab::foreign;
use hocket_lab::report::theme_css;
use serde_json::{Value, json};

use super::listen::{ListenAddress, remedy};
use super::live::{CLASS_PERCENT, CLASSES};
use super::shown::{Shown, StripShown};
use super::steering::Steering;
use super::strips::Strips;
use super::view::View;
use crate::cli::PlayArgs;
use crate::failure::Failure;
use crate::http::connection::{Connection, Received};
use crate::http::connections::{Connections, TAKEN_AT_ONCE};
use crate::http::{Answer, Request, Status};
use crate::output::{detail, note, tell};
use access::{Access, may_command};
pub(super) use served::Served;
use token::Token;
pub use token::TokenSource;

/// The port where none is given: HOCK on the keys of a telephone.
pub const USUAL_PORT: &str = "4625";

/// The most updates that a browser gets in a second.
const UPDATES_PER_S: u64 = 30;
/// Between two of them.
const UPDATE_EVERY: Duration = Duration::from_nanos(1_000_000_000 / UPDATES_PER_S);
/// How often it looks whether the run has ended where nobody watches.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Loads are those of this time: the leader writes what the workers did 20 times a second.
pub(super) const RATES_OVER: Duration = Duration::from_millis(200);
/// Of the connections, so many may watch: the rest is for commands.
const MOST_WATCHERS: usize = 16;

/// The page; `{nonce}` and `{theme}` are filled in.
const PAGE: &str = include_str!("web/page.html");

/// A port for browsers.
pub(super) struct Page {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
    url: String,
}

impl Page {
    /// Takes the port, and prints where the page is. `None`: no page was asked for.
    ///
    /// # Errors
    /// An address of a network without `--web-anywhere`, or a token that cannot be used: exit code 2. A port that cannot be
    /// taken: 3.
    pub(super) fn open(args: &PlayArgs) -> Result<Option<Page>, Failure> {
        let Some(ListenAddress(asked)) = args.web else { return Ok(None) };
        if !asked.ip().is_loopback() && !args.web_anywhere {
            return Err(Failure::bad_input(format!(
                "--web={asked}: every computer that reaches this address could watch the run; give a port alone, or \
                 --web-anywhere if you want that"
            )));
        }
        let token = args.web_token.as_ref().map(Token::of).transpose()?;
        let refused = |error: std::io::Error| {
            Failure::not_possible(format!("--web={asked}: {error}; {}", remedy(&error)))
        };
        let listener = TcpListener::bind(asked).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let source = args.web_token.as_ref();
        let url = tell_where(address, source.zip(token.as_ref()));
        let access = Access { token, is_anywhere: !address.ip().is_loopback() };
        Ok(Some(Page { listener, address, access, url }))
    }

    /// Where it is, with a token that was made for this run.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Serves the page until the run ends. Returns what came.
    ///
    /// Thread: its own, control.
    pub(super) fn run(self, view: View<'_>, steering: Steering<'_>, strips: &Strips) -> Served {
        let served = Served::new(self.address);
        let (access, connections) = (self.access, Connections::new(self.listener));
        let is_watched = false;
        let mut server = Server { access, view, steering, strips, connections, is_watched, served };
        server.run();
        server.served
    }
}

/// Says who can see the page and who can steer, and returns the address for a browser.
fn tell_where(address: SocketAddr, token: Option<(&TokenSource, &Token)>) -> String {
    if !address.ip().is_loopback() {
        let can = if token.is_some() {
            "watch this run, and who reads the network can steer it, because nothing is encrypted"
        } else {
            "watch this run"
        };
        tell(format_args!(
            "warning: --web={address}: every computer that reaches this address can {can}"
        ));
    }
    let mut shown = address;
    if address.ip().is_unspecified() {
        // What a browser on this computer takes.
        let local = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        shown.set_ip(local[usize::from(address.is_ipv6())]);
    }
    let plain = format!("http://{shown}/");
    match token {
        None => {
            note(format_args!("page: {plain} (read-only; --web-token lets it steer)"));
            plain
        }
        Some((TokenSource::File(path), _)) => {
            note(format_args!("page: {plain} (steers with the token in {})", path.display()));
            plain
        }
        Some((TokenSource::Random, token)) => {
            let url = format!("{plain}#token={}", token.text());
            // Nobody could steer who does not see it.
            tell(format_args!("page: {url}"));
            url
        }
    }
}

/// Serves browsers.
struct Server<'a> {
    access: Access,
    view: View<'a>,
    steering: Steering<'a>,
    strips: &'a Strips,
    connections: Connections,
    /// Whether somebody watched at the last update.
    is_watched: bool,
    served: Served,
}

impl Server<'_> {
    fn run(&mut self) {
        let mut next = Instant::now();
        let mut may_take = TAKEN_AT_ONCE;
        while !self.view.live().has_ended() {
            self.connections.wait(next.saturating_duration_since(Instant::now()), may_take > 0);
            may_take = self.connections.take(may_take);
            self.receive();
            let now = Instant::now();
            if now >= next {
                // A thread that was held up sends no burst.
                next = (next + self.pause()).max(now);
                may_take = TAKEN_AT_ONCE;
                self.update();
            }
            self.connections.send(now);
        }
        self.farewell();
    }

    fn pause(&self) -> Duration {
        if self.is_watched { UPDATE_EVERY } else { LOOK_EVERY }
    }

    fn receive(&mut self) {
        for at in 0..self.connections.all.len() {
            match self.connections.all[at].receive() {
                Received::Nothing => {}
                Received::Request(request) => self.serve(at, &request),
                Received::Refused(refused) => {
                    self.served.note_malformed();
                    self.connections.all[at].answer(&Answer::text(refused.status, refused.why));
                }
            }
        }
    }

    fn serve(&mut self, at: usize, request: &Request) {
        let answer = match self.access.check(request) {
            Err(refused) => {
                self.served.note_forbidden(refused.why, self.connections.all[at].from());
                Answer::text(refused.status, refused.why)
            }
            Ok(()) => match (request.method.as_str(), request.target.as_str()) {
                ("GET", "/") => {
                    self.served.note_page();
                    self.page_answer()
                }
                ("GET", "/events") => return self.begin_to_watch(at),
                ("POST", _) => self.command(request, self.connections.all[at].from()),
                ("GET", _) => Answer::text(Status::NotFound, "there is nothing here but /"),
                _ => Answer::text(Status::BadMethod("GET, POST"), "only GET and POST are known"),
            },
        };
        self.connections.all[at].answer(&answer);
    }

    fn page_answer(&self) -> Answer {
        match token::nonce() {
            Some(nonce) => Answer::page(PAGE, &theme_css(), &nonce),
            None => Answer::text(Status::Busy, "the system gives no random numbers"),
        }
    }

    fn begin_to_watch(&mut self, at: usize) {
        let watchers = self.connections.all.iter().filter(|it| it.is_watching()).count();
        if watchers >= MOST_WATCHERS {
            self.connections.all[at].answer(&Answer::text(Status::Busy, "too many pages watch"));
            return;
        }
        let facts = event("facts", &self.facts());
        self.connections.all[at].watch(&facts);
    }

    /// What holds for the whole run.
    fn facts(&self) -> Value {
        json!({
            "format": "hocket-play-page/1",
            "version": env!("CARGO_PKG_VERSION"),
            "class_percent": CLASS_PERCENT,
            "classes": CLASSES,
            "most_updates_per_s": UPDATES_PER_S,
            "steers": self.access.token.is_some(),
        })
    }

    fn command(&mut self, request: &Request, from: SocketAddr) -> Answer {
        if let Err(refused) = may_command(&self.access, request) {
            self.served.note_forbidden(refused.why, from);
            return Answer::text(refused.status, refused.why);
        }
        // Whether a token is the right one.
        if request.target == "/token" {
            return Answer::text(Status::Done, "this token steers");
        }
        match action::obey(request, &self.steering, self.strips) {
            Ok(said) => {
                self.served.note_obeyed();
                detail(format_args!("page: {said}"));
                Answer::text(Status::Done, &foreign::plain(&said))
            }
            Err((status, why)) => {
                self.served.note_not_possible();
                detail(format_args!("page: {}: {why}", foreign::plain(&request.target)));
                Answer::text(status, &foreign::plain(&why))
            }
        }
    }

    /// Sends how it goes to all who have taken the last update.
    fn update(&mut self) {
        let was_watched = self.is_watched;
        self.is_watched = self.connections.all.iter().any(Connection::is_watching);
        if !self.is_watched {
            return;
        }
        if !was_watched {
            // What was loudest while nobody watched is no news.
            let _ = self.view.look();
        }
        let now = event("now", &now(&self.view.look()));
        let changes = self.strips.changes();
        let mut seen = self.connections.all.iter().filter_map(Connection::strips_seen);
        let is_old = seen.any(|seen| seen != changes);
        let strips = is_old.then(|| event("strips", &strips(&self.strips.shown())));
        for watcher in self.connections.all.iter_mut().filter(|it| it.is_watching()) {
            match watcher.update(&now, changes, strips.as_deref().unwrap_or_default()) {
                true => self.served.note_update(),
                false => self.served.note_skipped(),
            }
        }
    }

    /// Says that the run is over to all who can take it at once.
    fn farewell(&mut self) {
        let end = event("end", &json!({}));
        for watcher in self.connections.all.iter_mut().filter(|it| it.is_watching()) {
            watcher.end(&end);
        }
    }
}

/// An event of a stream of server-sent events. JSON has no line breaks of its own, so it is one line.
fn event(name: &str, data: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {}\n\n", foreign::json(&data.to_string())).into_bytes()
}

/// What programs get of a look, and what only the page shows.
fn now(shown: &Shown) -> Value {
    let mut all = shown.json();
    all["device"] = json!(shown.device);
    all["last_late"] = json!(shown.last_late);
    all
}

fn strips(all: &[StripShown]) -> Value {
    Value::Array(all.iter().map(StripShown::json).collect())
}
