//! A real headless browser, which is told what to do over a pair of pipes.
//!
//! The browser is the one that `ACTINIUM_CHROMIUM` names, else `chromium` on the search path. Where
//! there is none, a test says "skipped" and passes; where the variable is set, there has to be one.

use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The browser, and the page that it shows.
pub(crate) struct Browser {
    child: Child,
    pipes: RefCell<Pipes>,
    session: String,
    _folder: TempDir,
}

struct Pipes {
    to: File,
    from: BufReader<File>,
    number: u64,
    /// What it has told by itself.
    events: Vec<Value>,
}

/// A program that is not there is skipped, unless somebody named it.
pub(crate) fn open() -> Option<Browser> {
    let named = std::env::var_os("ACTINIUM_CHROMIUM").filter(|name| !name.is_empty());
    let program = named.clone().map_or_else(|| PathBuf::from("chromium"), PathBuf::from);
    let version = Command::new(&program).arg("--version").stderr(Stdio::null()).output();
    match version {
        Ok(output) if output.status.success() => Some(Browser::start(&program)),
        result if named.is_some() => {
            panic!("ACTINIUM_CHROMIUM names {}, which does not run: {result:?}", program.display())
        }
        _ => {
            println!("skipped: no chromium on the search path, and ACTINIUM_CHROMIUM is not set");
            None
        }
    }
}

impl Browser {
    fn start(program: &PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the browser");
        let [asked, told] = ["asked", "told"].map(|name| folder.path().join(name));
        let made = Command::new("mkfifo").args([&asked, &told]).status().expect("mkfifo runs");
        assert!(made.success(), "no pipes: {made}");
        // It reads from 3 and writes to 4.
        let child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<\"$ASKED\" 4>\"$TOLD\""])
            .arg(program)
            // Its sandbox needs rights that a container's root may not have; the page is our own.
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--hide-scrollbars"])
            .args(["--disable-component-update", "--disable-sync", "--disable-extensions"])
            .args(["--remote-debugging-pipe", "about:blank"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .env("ASKED", &asked)
            .env("TOLD", &told)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let to = OpenOptions::new().write(true).open(&asked).expect("a pipe to it");
        let from = BufReader::new(File::open(&told).expect("a pipe from it"));
        let pipes = Pipes { to, from, number: 0, events: Vec::new() };
        let mut browser =
            Browser { child, pipes: RefCell::new(pipes), session: String::new(), _folder: folder };
        let page = browser.tell("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = browser.tell("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for what in ["Runtime.enable", "Log.enable", "Page.enable"] {
            browser.tell(what, &json!({}));
        }
        browser
    }

    /// Tells it something, and waits for the answer.
    pub(crate) fn tell(&self, method: &str, params: &Value) -> Value {
        let mut pipes = self.pipes.borrow_mut();
        pipes.number += 1;
        let number = pipes.number;
        let mut message = json!({ "id": number, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        write!(pipes.to, "{message}\0").expect("it listens");
        loop {
            let mut bytes = Vec::new();
            pipes.from.read_until(0, &mut bytes).expect("it answers");
            assert_eq!(bytes.pop(), Some(0), "the browser has ended");
            let mut said: Value = serde_json::from_slice(&bytes).expect("JSON");
            if said["id"] == number {
                let error = said["error"]["message"].as_str().unwrap_or("");
                // It went on to another page meanwhile: what was asked of this one has no answer.
                let is_gone = error.contains("navigated") || error.contains("context");
                assert!(error.is_empty() || is_gone, "{method}: {said}");
                return said["result"].take();
            }
            pipes.events.push(said);
        }
    }

    pub(crate) fn go(&self, url: &str) {
        self.tell("Page.navigate", &json!({ "url": url }));
    }

    pub(crate) fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.tell("Emulation.setDeviceMetricsOverride", &size);
    }

    /// What the system's colours are: `light` or `dark`.
    pub(crate) fn prefer(&self, colours: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": colours });
        self.tell("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Presses a key, where the focus is.
    pub(crate) fn press(&self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowRight" => 39,
            _ => 0,
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for sort in ["keyDown", "keyUp"] {
            let mut event =
                json!({ "type": sort, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if sort == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.tell("Input.dispatchKeyEvent", &event);
        }
    }

    /// The value of an expression in the page; of a promise, what comes of it.
    pub(crate) fn eval(&self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut found = self.tell("Runtime.evaluate", &asked);
        assert!(found["exceptionDetails"].is_null(), "{expression}: {found}");
        found["result"]["value"].take()
    }

    /// Waits until this is so in the page, and fails if that does not come.
    pub(crate) fn until(&self, expression: &str) {
        let wait = format!(
            "new Promise((done) => {{ const begin = performance.now(); const look = () => {{ \
             let is = false; try {{ is = Boolean({expression}); }} catch {{}} \
             if (is || performance.now() - begin > 60000) done(is); else setTimeout(look, 20); \
             }}; look(); }})"
        );
        // Once more if the page has gone meanwhile.
        let came = (0..10).map(|_| self.eval(&wait)).find(|it| !it.is_null());
        assert_eq!(
            came,
            Some(json!(true)),
            "{expression}: {}",
            self.eval("document.body.innerText")
        );
    }

    /// What was written to the console so far, and what went wrong.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.eval("1");
        let pipes = self.pipes.borrow();
        let complaint = |event: &Value| match event["method"].as_str() {
            Some("Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded") => {
                Some(event["params"].to_string())
            }
            _ => None,
        };
        // That is about a test's own script, which looks at pixels.
        let ours = |it: &String| !it.contains("getImageData are faster");
        pipes.events.iter().filter_map(complaint).filter(ours).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = write!(self.pipes.borrow_mut().to, "{{\"id\":0,\"method\":\"Browser.close\"}}\0");
        if std::thread::panicking() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
