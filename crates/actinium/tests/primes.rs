//! The example `primes` as a process: what it prints, what each flag does, and its exit codes.
//!
//! A program of its own: it starts itself as the example, and needs a `main`.

#[path = "../examples/primes.rs"]
mod primes;

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Set in the processes that are the example.
const IS_EXAMPLE: &str = "PRIMES_IS_EXAMPLE";

fn main() -> ExitCode {
    if std::env::var_os(IS_EXAMPLE).is_some() {
        return primes::main();
    }
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    for (name, test) in TESTS {
        if filter.as_ref().is_none_or(|filter| name.contains(&**filter)) {
            test();
            println!("test {name} ... ok");
        }
    }
    ExitCode::SUCCESS
}

const TESTS: &[(&str, fn())] = &[
    ("people_see_a_summary", people_see_a_summary),
    ("each_flag_has_its_effect", each_flag_has_its_effect),
    (
        "the_environment_counts_unless_there_is_a_flag",
        the_environment_counts_unless_there_is_a_flag,
    ),
    ("a_page_is_written", a_page_is_written),
    ("its_graph_is_drawn_and_its_calls_are_traced", its_graph_is_drawn_and_its_calls_are_traced),
    ("a_failed_event_is_a_failure", a_failed_event_is_a_failure),
    ("what_is_not_allowed_is_refused", what_is_not_allowed_is_refused),
    ("ctrl_c_ends_it_orderly", ctrl_c_ends_it_orderly),
];

fn example(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(arguments).env(IS_EXAMPLE, "1");
    for variable in ["ACTINIUM_WORKERS", "ACTINIUM_SLOTS", "ACTINIUM_POLICY", "ACTINIUM_BIND"] {
        command.env_remove(variable);
    }
    command
}

/// Exit code, stdout and stderr.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = example(arguments).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn ok(arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!(code, Some(0), "{stderr}");
    stdout
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let json = ok(&[&["--to", "1000", "--json"], arguments].concat());
    serde_json::from_str(&json).expect("JSON")
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("actinium-primes-{}-{name}", std::process::id()))
}

fn people_see_a_summary() {
    let text = ok(&["--to", "1000"]);
    for part in ["events", "1,000", "is prime", "primes", "168", "settings   slots"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!ok(&["--to", "1000", "--quiet"]).contains("settings   "));
    let shown = ok(&["--show-settings", "--order", "input"]);
    assert!(shown.contains("order") && shown.contains("flag"), "{shown}");
    assert!(!shown.contains("is prime"), "nothing runs: {shown}");
    let help = ok(&["--help"]);
    for flag in ["--from", "--workers", "--slots", "--events", "--bind", "--report", "--on-error"] {
        assert!(help.contains(flag), "{flag} in {help}");
    }
}

fn each_flag_has_its_effect() {
    let of = |arguments: &[&str], key: &str| json(arguments)[key].clone();
    assert_eq!(json(&[])["paths"][0]["passed"], 168);
    assert_eq!(of(&["--from", "901"], "events"), 100);
    assert_eq!(of(&["--events", "10"], "events"), 10);
    assert_eq!(of(&["--events", "10"], "events_due"), 10);
    assert_eq!(of(&["--slots", "1"], "in_flight_max"), 1);
    assert_eq!(of(&["--workers", "3", "--bind", "none"], "worker_pus"), Value::from(vec![(); 3]));
    let policy = of(&["--policy", "pool"], "settings");
    assert_eq!(policy["policy"], serde_json::json!({"value": "pool", "source": "flag"}));
    let (file, lines) = (scratch("lines"), |text: String| -> Vec<u64> {
        text.lines().map(|line| line.parse().expect("a number")).collect()
    });
    let output = file.to_str().expect("UTF-8");
    json(&["--output", output, "--order", "input", "--slots", "50", "--workers", "2"]);
    let primes = lines(std::fs::read_to_string(&file).expect("the lines"));
    assert!(primes.len() == 168 && primes.is_sorted(), "{primes:?}");
    std::fs::remove_file(&file).expect("removed");
}

fn the_environment_counts_unless_there_is_a_flag() {
    let workers = |arguments: &[&str]| {
        let mut command = example(&[&["--json", "--show-settings"], arguments].concat());
        let output = command.env("ACTINIUM_WORKERS", "3").output().expect("it starts");
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (
            json["settings"]["workers"]["value"].clone(),
            json["settings"]["workers"]["source"].clone(),
        )
    };
    assert_eq!(workers(&[]), ("3".into(), "env".into()));
    assert_eq!(workers(&["--workers", "2"]), ("2".into(), "flag".into()));
}

fn its_graph_is_drawn_and_its_calls_are_traced() {
    let mermaid = ok(&["--draw", "mermaid"]);
    assert!(mermaid.starts_with("flowchart LR\n") && mermaid.contains("is prime"), "{mermaid}");
    let [svg, trace, saved, page] = ["g.svg", "t.json", "run.json", "run.html"].map(scratch);
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("it was written");
    let name = |path: &PathBuf| path.to_str().expect("UTF-8").to_owned();
    ok(&["--draw", &name(&svg)]);
    assert!(text(&svg).starts_with("<svg"));
    ok(&["--to", "1000", "--quiet", "--trace", &name(&trace), "--report", &name(&saved)]);
    let traced: Value = serde_json::from_str(&text(&trace)).expect("JSON");
    let events = traced["traceEvents"].as_array().expect("a list");
    assert!(events.iter().any(|it| it["cat"] == "module" && it["name"] == "is prime"));
    // A page of the saved figures, as a program makes it itself.
    let made = actinium::app::saved::page(&saved).expect("they are figures");
    made.write(&page).expect("it is written");
    assert!(text(&page).contains("Modules and what they need"));
    for path in [svg, trace, saved, page] {
        let _ = std::fs::remove_file(path);
    }
    let (code, _, stderr) = run(&["--trace", "/no/such/folder/x"]);
    assert!(code == Some(2) && stderr.contains("--trace: "), "{stderr}");
}

fn a_page_is_written() {
    let file = scratch("page.html");
    let page = file.to_str().expect("UTF-8");
    for flag in ["--report", "--page"] {
        ok(&["--to", "1000", flag, page]);
        let html = std::fs::read_to_string(&file).expect("the page");
        for part in ["is prime", "Events per second", "Load of each CPU", "--to 1000"] {
            assert!(html.contains(part), "{part}");
        }
        std::fs::remove_file(&file).expect("removed");
    }
    let (code, _, stderr) = run(&["--report", "/no/such/folder/page.html"]);
    assert!(code == Some(2) && stderr.contains("--report"), "{stderr}");
}

fn a_failed_event_is_a_failure() {
    let (code, stdout, stderr) =
        run(&["--from", "0", "--to", "99", "--on-error", "skip", "--json"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("1 events failed") && stderr.contains("module 'is prime'"), "{stderr}");
    let json: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((&json["events"], &json["failed"]), (&99.into(), &1.into()));
    let (code, stdout, _) =
        run(&["--from", "0", "--on-error", "retry:3", "--events", "1", "--json"]);
    let json: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((code, &json["retries"]), (Some(1), &3.into()));
    let (_, stdout, _) = run(&["--from", "0", "--to", "99999", "--slots", "1", "--json"]);
    let json: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((&json["events"], &json["failed"]), (&0.into(), &1.into()), "stop is the default");
}

fn what_is_not_allowed_is_refused() {
    for (arguments, part) in [
        (&["--workers", "0"][..], "--workers"),
        (&["--slots", "many"], "--slots: 'many' is not allowed: 1 to"),
        (&["--evnts", "1"], "did you mean --events?"),
        (&["--policy", "fastest"], "--policy"),
        (&["--on-error", "retry:0"], "--on-error"),
        (&["--output", "/no/such/folder/lines"], "--output"),
    ] {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!((code, &*stdout), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(part) && stderr.lines().count() == 1, "{part} in {stderr}");
    }
}

fn ctrl_c_ends_it_orderly() {
    let file = scratch("interrupted");
    let output = file.to_str().expect("UTF-8");
    // It would take for ever.
    let mut command = example(&["--to", &u64::MAX.to_string(), "--output", output, "--json"]);
    let (stdout, stderr) = (std::process::Stdio::piped(), std::process::Stdio::piped());
    let child = command.stdout(stdout).stderr(stderr).spawn().expect("it starts");
    while std::fs::metadata(&file).map_or(0, |file| file.len()) == 0 {
        std::thread::yield_now();
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("there is kill").success());
    let output = child.wait_with_output().expect("it ends");
    std::fs::remove_file(&file).expect("removed");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("finishing the events in flight"), "{stderr}");
    assert!(stderr.contains("interrupted after "), "{stderr}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&json["interrupted"], &json["abandoned"]), (&true.into(), &0.into()));
}
