//! A real headless browser for tests of pages. Other crates' tests include this file by its path.
//!
//! The browser is the one that `ACTINIUM_CHROMIUM` names, else `chromium` on the search path. Where
//! there is none, a test says "skipped" and passes; where the variable is set, there has to be one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

/// Asserts that all charts are drawn and nobody complained; answers with what the script said.
pub(crate) fn draws(html: &str, script: &str) -> Option<serde_json::Value> {
    let browser = find()?;
    for arguments in [&[][..], &["--blink-settings=preferredColorScheme=0"]] {
        let seen = browser.open(html, arguments);
        assert_eq!(seen.console, [""; 0], "the console has to be empty");
        let plots = html.matches("class=\"plot\"").count();
        assert_eq!(seen.dom.matches("data-drawn=\"yes\"").count(), plots, "each plot is drawn");
        // A number that went wrong would stand in a shape's attribute.
        assert!(
            !seen.dom.contains("NaN") && !seen.dom.contains("\"Infinity"),
            "{}",
            context(&seen.dom)
        );
    }
    let script = format!(
        "answer({{ said: (() => {{ {script} }})(), problems, \
         loaded: performance.getEntriesByType('resource').map((entry) => entry.name) }});"
    );
    let seen = browser.open(&asking(html, &script), &[]);
    let answer = seen.answer();
    assert_eq!(answer["problems"], json!([]), "{:?}", seen.console);
    assert_eq!(answer["loaded"], json!([]), "the page loads nothing");
    // That is about the test's own script, which looks at pixels.
    let ours = seen.console.iter().filter(|line| !line.contains("getImageData are faster"));
    assert_eq!(ours.collect::<Vec<_>>(), [""; 0], "the console has to be empty after that too");
    Some(answer["said"].clone())
}

/// Where in the document the wrong number is.
fn context(dom: &str) -> String {
    let at = dom.find("NaN").or_else(|| dom.find("\"Infinity")).unwrap_or(0);
    dom[..at].chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect()
}

/// A browser, and a folder for its files that goes away with it.
pub(crate) struct Browser {
    program: PathBuf,
    folder: TempDir,
}

/// What a page looked like after its script had run.
pub(crate) struct Seen {
    /// The document as the script left it.
    pub(crate) dom: String,
    /// What was written to the console: errors, warnings, and what the browser's policy refused.
    pub(crate) console: Vec<String>,
}

/// A program that is not there is skipped, unless somebody named it.
pub(crate) fn find() -> Option<Browser> {
    let named = std::env::var_os("ACTINIUM_CHROMIUM").filter(|name| !name.is_empty());
    let program = named.clone().map_or_else(|| PathBuf::from("chromium"), PathBuf::from);
    let version = Command::new(&program).arg("--version").stderr(Stdio::null()).output();
    match version {
        Ok(output) if output.status.success() => {
            let folder = tempfile::tempdir().expect("a folder for the browser");
            Some(Browser { program, folder })
        }
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
    /// Opens a page and lets its script run.
    pub(crate) fn open(&self, html: &str, arguments: &[&str]) -> Seen {
        let page = self.folder.path().join("page.html");
        fs::write(&page, html).expect("the page is written");
        let mut arguments = arguments.to_vec();
        arguments.push("--dump-dom");
        let (dom, log) = self.run(&page, &arguments);
        let console = log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
        Seen { dom, console: console.collect() }
    }

    /// Runs the browser on a page; answers with its stdout and stderr.
    fn run(&self, page: &Path, arguments: &[&str]) -> (String, String) {
        let output = Command::new(&self.program)
            // Its sandbox needs rights that a container's root may not have; the page is our own.
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--disable-sync", "--disable-extensions", "--hide-scrollbars"])
            // Whatever the page or the browser asks for by name is not found.
            .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0"])
            // Timers run as if time had passed, and then the page is looked at.
            .args(["--virtual-time-budget=5000", "--window-size=1200,900"])
            .arg(format!("--user-data-dir={}", self.folder.path().join("profile").display()))
            .args(arguments)
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .output()
            .expect("the browser runs");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let (out, log) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "the browser failed: {}\n{log}", output.status);
        (out, log)
    }
}

/// The page with one more script at its end, which answers by `answer(anything)`; the answer is
/// read with [`Seen::answer`].
pub(crate) fn asking(html: &str, script: &str) -> String {
    let watch = "<script>window.problems = [];\
        const answer = (value) => { const made = document.createElement('script'); made.type = 'application/json'; \
        made.id = 'answer'; made.textContent = encodeURIComponent(JSON.stringify(value)); document.body.append(made); };\
        addEventListener('error', (event) => problems.push(String(event.message)));\
        addEventListener('securitypolicyviolation', (event) => problems.push(event.blockedURI));</script>";
    let (before, after) = html.split_once("<style>").expect("a style");
    let html = format!("{before}{watch}<style>{after}");
    html.replace("</body>", &format!("<script>{script}</script></body>"))
}

impl Seen {
    /// What a script of [`asking`] answered.
    pub(crate) fn answer(&self) -> serde_json::Value {
        let start = "id=\"answer\">";
        let at = self
            .dom
            .find(start)
            .unwrap_or_else(|| panic!("no answer; console: {:?}", self.console));
        let rest = &self.dom[at + start.len()..];
        let coded = &rest[..rest.find('<').expect("an end")];
        serde_json::from_str(&decoded(coded)).expect("JSON")
    }
}

/// Undoes `encodeURIComponent`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
