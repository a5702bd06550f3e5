//! A headless Chromium that a test steers as its developer tools do: real keys, real sizes, every complaint.
//!
//! It takes commands from one pipe and answers through another, each a JSON object that ends with a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::Scheme;

/// Only there to end a hang.
const PATIENCE: Duration = Duration::from_secs(600);

/// The browser with one page.
pub struct Chromium {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    /// What came unasked.
    events: Vec<Value>,
    /// Empty before there is a page.
    page: String,
    last_id: u64,
    _profile: TempDir,
}

impl Chromium {
    pub fn start(browser: &Path, scheme: Scheme) -> Chromium {
        let profile = tempfile::tempdir().unwrap();
        let preferred = if scheme == Scheme::Dark { 0 } else { 1 };
        // The browser has its pipes as 3 and 4; a shell moves them there.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null"])
            .arg(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .arg(format!("--blink-settings=preferredColorScheme={preferred}"))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let (commands, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (to, answers) = channel();
        std::thread::spawn(move || {
            let (mut out, mut bytes) = (BufReader::new(out), Vec::new());
            while out.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
                bytes.pop();
                let _ = to.send(serde_json::from_slice(&bytes).unwrap());
                bytes.clear();
            }
        });
        let (events, page) = (Vec::new(), String::new());
        let mut it =
            Chromium { child, commands, answers, events, page, last_id: 0, _profile: profile };
        it.open_page();
        it
    }

    fn open_page(&mut self) {
        let begun = Instant::now();
        let target = loop {
            let all = self.call("Target.getTargets", json!({}))["targetInfos"].clone();
            let all = all.as_array().cloned().unwrap_or_default();
            if let Some(page) = all.into_iter().find(|target| target["type"] == "page") {
                break page["targetId"].clone();
            }
            assert!(begun.elapsed() < PATIENCE, "the browser shows no page");
            std::thread::sleep(Duration::from_millis(30));
        };
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = self.call("Target.attachToTarget", attach);
        self.page = attached["sessionId"].as_str().unwrap().into();
        for part in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{part}.enable"), json!({}));
        }
    }

    /// Asks for something and waits for the answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": params });
        if !self.page.is_empty() {
            command["sessionId"] = self.page.as_str().into();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).expect("the browser answers");
            if answer["id"] == self.last_id {
                return match answer["error"].is_null() {
                    true => Ok(answer["result"].clone()),
                    false => Err(answer["error"].clone()),
                };
            }
            self.events.push(answer);
        }
    }

    /// The value of an expression in the page; promises are waited for.
    #[track_caller]
    pub fn eval(&mut self, expression: &str) -> Value {
        self.try_eval(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn try_eval(&mut self, expression: &str) -> Result<Value, Value> {
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.try_call("Runtime.evaluate", params)?;
        match answer["exceptionDetails"].is_null() {
            true => Ok(answer["result"]["value"].clone()),
            false => Err(answer["exceptionDetails"].clone()),
        }
    }

    /// Waits until an expression is true. A page that is being loaded cannot answer yet.
    #[track_caller]
    pub fn await_that(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.try_eval(expression) != Ok(true.into()) {
            if begun.elapsed() > PATIENCE {
                let text = self.try_eval("document.body.innerText.slice(0, 600)");
                panic!("never {expression}: {text:?}");
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// Presses a key and lets it go. `code`: its place on the keyboard, such as `KeyL`.
    pub fn press(&mut self, key: &str, code: &str) {
        let number = match key {
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            "Enter" => 13,
            "Tab" => 9,
            // Signs are on other keys in each country; letters, digits and the space have a number of their own.
            key => match key.as_bytes()[0].to_ascii_uppercase() {
                byte if byte.is_ascii_alphanumeric() || byte == b' ' => byte.into(),
                _ => 0,
            },
        };
        let mut down =
            json!({ "type": "keyDown", "key": key, "code": code, "windowsVirtualKeyCode": number });
        match key {
            "Enter" => down["text"] = "\r".into(),
            key if key.len() == 1 => down["text"] = key.into(),
            _ => {}
        }
        let mut up = down.clone();
        up["type"] = "keyUp".into();
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", up);
    }

    /// What the browser complained of so far.
    pub fn complaints(&self) -> Vec<String> {
        let is_complaint = |event: &&Value| {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => true,
                "Log.entryAdded" => params["entry"]["level"] != "verbose",
                "Runtime.consoleAPICalled" => params["type"] != "log",
                _ => false,
            }
        };
        self.events.iter().filter(is_complaint).map(ToString::to_string).collect()
    }

    /// When messages of this name came in through server-sent events, in seconds on the browser's own clock.
    pub fn messages(&self, name: &str) -> Vec<f64> {
        let is_it = |event: &&Value| {
            event["method"] == "Network.eventSourceMessageReceived"
                && event["params"]["eventName"] == name
        };
        let at = |event: &Value| event["params"]["timestamp"].as_f64();
        self.events.iter().filter(is_it).filter_map(at).collect()
    }

    /// Addresses that were asked for something.
    pub fn requests(&self) -> Vec<String> {
        let sent = |event: &&Value| event["method"] == "Network.requestWillBeSent";
        let url = |event: &Value| event["params"]["request"]["url"].as_str().map(String::from);
        self.events.iter().filter(sent).filter_map(url).collect()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
