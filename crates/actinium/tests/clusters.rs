//! The example `clusters` as a process: a job file run with the modules of a program, and what is
//! wrong with such a file.
//!
//! A program of its own: it starts itself as the example, and needs a `main`.

#[path = "../examples/clusters.rs"]
mod clusters;

use actinium::events::data::{RowFile, Rows};
use clusters::{Cluster, Hit};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Set in the processes that are the example.
const IS_EXAMPLE: &str = "CLUSTERS_IS_EXAMPLE";
const JOB: &str = include_str!("../examples/clusters.toml");
const RUNS: u64 = 3;
const EVENTS: u64 = 30;

fn main() -> ExitCode {
    if std::env::var_os(IS_EXAMPLE).is_some() {
        return clusters::main();
    }
    let folder = std::env::temp_dir().join(format!("actinium-clusters-{}", std::process::id()));
    fs::create_dir_all(folder.join("gains")).expect("a folder");
    let job = Job { text: JOB.replace("127.0.0.1:7070", &service()), folder };
    job.write_inputs();
    the_job_is_run(&job);
    a_sweep_runs_it_again(&job);
    it_is_planned_and_replayed(&job);
    if cfg!(feature = "cluster") {
        it_runs_on_several_nodes(&job);
    }
    what_is_wrong_with_the_file_is_named(&job);
    what_fails_in_a_run_is_named(&job);
    fs::remove_dir_all(&job.folder).expect("removed");
    ExitCode::SUCCESS
}

/// A service that knows the temperature at each event: 20 degrees and one per run. It does not know
/// the others. Returns its address.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let questions = BufReader::new(stream.try_clone().expect("a stream")).lines();
                for question in questions.map_while(Result::ok) {
                    let run = question.split(' ').next().and_then(|run| run.parse::<u64>().ok());
                    let answer = match run {
                        Some(run) if run <= RUNS => writeln!(stream, "{}", 20 + run),
                        _ => writeln!(stream, "unknown"),
                    };
                    if answer.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

struct Job {
    folder: PathBuf,
    text: String,
}

impl Job {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Two runs in a CSV file, one in a Parquet file. Event `n` has `n` hits of 1 and one that is
    /// below the threshold; the gain of a run is its number.
    fn write_inputs(&self) {
        let mut files = ["hits-1.csv", "hits-2.parquet"]
            .map(|name| RowFile::create(self.path(name)).expect("created"));
        for run in 1..=RUNS {
            let gains = format!("{{\"7\": {run}}}");
            fs::write(self.path(&format!("gains/gains-{run}.json")), gains).expect("written");
            for event in 1..=EVENTS {
                for hit in 0..=event {
                    let adc = if hit == 0 { 0.125 } else { 1.0 };
                    let hit = Hit { run, event, cell: 7, adc };
                    files[usize::from(run == RUNS)].write(&hit).expect("written");
                }
            }
        }
        for file in files {
            file.finish().expect("written");
        }
    }

    /// Exit code, stdout and stderr with a file of this text.
    fn call(&self, text: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
        fs::write(self.path("job.toml"), text).expect("written");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg("job.toml").args(arguments).current_dir(&self.folder).env(IS_EXAMPLE, "1");
        for variable in ["ACTINIUM_WORKERS", "ACTINIUM_SLOTS", "ACTINIUM_POLICY", "ACTINIUM_BIND"] {
            command.env_remove(variable);
        }
        let output = command.output().expect("it starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.call(&self.text, arguments);
        assert_eq!(code, Some(0), "{stderr}");
        stdout
    }

    /// Takes what the job writes, as it should be: the clusters in order, and their spectrum.
    fn take_results(&self) -> Vec<Cluster> {
        let rows = Rows::open(self.path("clusters.parquet")).expect("it is there");
        let rows: Vec<Cluster> = rows.map(|row| row.expect("a row")).collect();
        let bins = fs::read(self.path("spectrum.json")).expect("it is there");
        let bins: Vec<u64> = serde_json::from_slice(&bins).expect("JSON");
        let mut expected = vec![0; 20];
        rows.iter().for_each(|row| expected[((row.energy / 5.0) as usize).min(19)] += 1);
        assert_eq!(bins, expected);
        remove(&self.path("clusters.parquet"));
        remove(&self.path("spectrum.json"));
        rows
    }
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("removed");
}

/// The clusters that the job selects, by hand.
fn expected() -> Vec<Cluster> {
    let of_run = |run| {
        (1..=EVENTS)
            .map(move |event| (run, event, (run * event) as f64))
            .map(move |(run, event, energy)| Cluster { run, event, cells: event, energy })
    };
    let hard = (1..=RUNS).flat_map(of_run).filter(|cluster| cluster.energy > 10.0);
    hard.map(|it| Cluster { energy: it.energy * (1.0 + 0.02 * it.run as f64), ..it }).collect()
}

fn the_job_is_run(job: &Job) {
    let files = ["--report", "page.html", "--output", "events.csv"];
    let stdout = job.ok(&[&["--workers", "2", "--order", "input", "--json"], &files[..]].concat());
    let json: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((&json["events"], &json["workload"]), (&90.into(), &"clusters".into()), "{json}");
    assert_eq!((&json["checksum"], &json["events_due"]), (&Value::Null, &Value::Null));
    assert_eq!(job.take_results(), expected());
    let lines = fs::read_to_string(job.path("events.csv")).expect("the lines");
    let numbers: Vec<String> = (0..90).map(|number| number.to_string()).collect();
    assert_eq!(lines, format!("event\n{}\n", numbers.join("\n")));
    let page = fs::read_to_string(job.path("page.html")).expect("the page");
    for part in ["cluster", "Load of each CPU", "job.toml", "temperature"] {
        assert!(page.contains(part), "{part}");
    }
    let text = job.ok(&["--events", "10"]);
    assert!(text.contains("cluster") && !text.contains("checksum"), "{text}");
    assert_eq!(job.take_results(), [], "the first ten are not hard");
    let help = job.ok(&["--help"]);
    for part in ["--validate", "--sweep", "hit-files: a source of ", "hard: a filter from "] {
        assert!(help.contains(part), "{part} in {help}");
    }
}

fn a_sweep_runs_it_again(job: &Job) {
    let stdout = job.ok(&["--sweep", "slots=1,3", "--json", "--workers", "2"]);
    let json: Value = serde_json::from_str(&stdout).expect("JSON");
    let events: Vec<_> =
        json["points"].as_array().expect("points").iter().map(|p| &p["events"]).collect();
    assert_eq!(events, [90, 90]);
    let mut rows = job.take_results();
    rows.sort_by_key(|row| (row.run, row.event));
    assert_eq!(rows, expected());
}

/// They write the same bytes as one.
fn it_runs_on_several_nodes(job: &Job) {
    let bytes = |more: &[&str]| {
        job.ok(&[&["--order", "input", "--workers", "1", "--slots", "3"], more].concat());
        let bytes = fs::read(job.path("clusters.parquet")).expect("it is there");
        assert_eq!(job.take_results(), expected());
        bytes
    };
    assert!(bytes(&["--fabric", "in-process", "--nodes", "3"]) == bytes(&[]), "other bytes");
    let counts = job.ok(&["--fabric", "in-process", "--json"]);
    let json: Value = serde_json::from_str(&counts).expect("JSON");
    assert_eq!((&json["events"], &json["node_count"]), (&90.into(), &2.into()), "{json}");
    job.take_results();
    let (code, _, stderr) = job.call(&job.text, &["--fabric", "in-process", "--output", "lines"]);
    assert!(
        code == Some(2) && stderr.contains("--output: with --fabric only for a replay"),
        "{stderr}"
    );
    let gains = "gains = \"gains\"";
    let (code, _, stderr) =
        job.call(&job.text.replace(gains, "gains = \"nowhere\""), &["--fabric", "in-process"]);
    assert!(code == Some(1) && stderr.contains("nowhere/gains-1.json: No such file"), "{stderr}");
    assert!(!job.path("clusters.parquet").exists(), "no half file is left");
}

fn it_is_planned_and_replayed(job: &Job) {
    let plan = job.ok(&["--plan"]);
    assert!(plan.contains("critical path of event") && plan.contains("cluster"), "{plan}");
    let replay = ["--replay", "--time-scale", "0.01", "--events", "50", "--json"];
    let json: Value = serde_json::from_str(&job.ok(&replay)).expect("JSON");
    assert!(json["events"] == 50 && json["checksum"].is_string(), "{json}");
    assert!(!job.path("clusters.parquet").exists(), "nothing of its own has run");
    let (code, _, stderr) = job.call(&job.text, &["--time-scale", "0.5"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--time-scale: ") && stderr.contains("with --replay"), "{stderr}");
}

fn what_is_wrong_with_the_file_is_named(job: &Job) {
    let valid = job.ok(&["--validate"]);
    assert_eq!(valid, "job.toml: it can be run: no warnings\n");
    assert!(!job.path("clusters.parquet").exists(), "no module is made");
    for (from, to, expected) in [
        (
            "\"cluster-finder\"",
            "\"cluster-fnder\"",
            "job.toml:29:8: error: module 'clusters' is of the type 'cluster-fnder': this program has no such type of modules; did you mean 'cluster-finder'?",
        ),
        (
            "threshold = 0.5",
            "treshold = 0.5",
            "job.toml:30:16: error: parameters of module 'clusters' (cluster-finder): no parameter is called 'treshold'; did you mean 'threshold'?; there are: threshold",
        ),
        (
            "threshold = 0.5",
            "threshold = \"0.5\"",
            "job.toml:30:28: error: parameters of module 'clusters' (cluster-finder): 'threshold': invalid type: string \"0.5\", expected f64",
        ),
        (
            "[\"clusters\", \"temperature\"]",
            "[\"energies\", \"temperature\"]",
            "job.toml:54:11: error: module 'corrected' has 'energies', which is alloc::vec::Vec<f64>, as its input 1: it has to be ",
        ),
        (
            "[\"clusters\", \"temperature\"]",
            "[\"clusters\"]",
            "job.toml:51:1: error: module 'corrected' needs the inputs ",
        ),
        (
            "threads = \"stream\"\nparameters = { file",
            "threads = \"concurrent\"\nparameters = { file",
            "job.toml:57:1: error: module 'spectrum' changes a state of its own",
        ),
    ] {
        assert!(job.text.contains(from), "{from}");
        let wrong = job.text.replacen(from, to, 1);
        let (code, stdout, _) = job.call(&wrong, &["--validate"]);
        assert_eq!(code, Some(2));
        assert!(stdout.lines().any(|line| line.starts_with(expected)), "{expected}\nin {stdout}");
        let (code, _, stderr) = job.call(&wrong, &[]);
        assert!(code == Some(2) && stderr.contains(expected), "{expected}\nin {stderr}");
    }
}

fn what_fails_in_a_run_is_named(job: &Job) {
    for (from, to, arguments, expected_code, part) in [
        (
            "bins = 20",
            "bins = 0",
            &[][..],
            2,
            "module 'spectrum' of slot 0 could not be made: a spectrum has at least one bin",
        ),
        (
            "threads = \"serial\"",
            "threads = \"stream\"",
            &[],
            2,
            "module 'write' of slot 0 could not be made: it writes one file",
        ),
        (
            "hits-2.parquet",
            "hits-3.parquet",
            &[],
            2,
            "the source 'hits' could not be made: hits-3.parquet: No such file",
        ),
        (
            "gains = \"gains\"",
            "gains = \"no-gains\"",
            &[],
            1,
            "module 'energies': BeginRun(1): no-gains/gains-1.json: No such file",
        ),
    ] {
        let (code, _, stderr) = job.call(&job.text.replacen(from, to, 1), arguments);
        assert!(code == Some(expected_code) && stderr.contains(part), "{code:?} {stderr}");
        assert!(!job.path("clusters.parquet").exists(), "no half file is left");
    }
    // A run that the service does not know: its events fail, and the others are written.
    let hits = fs::read_to_string(job.path("hits-1.csv")).expect("the hits");
    fs::write(job.path("hits-1.csv"), hits + "9,1,7,100\n").expect("written");
    fs::write(job.path("gains/gains-9.json"), "{}").expect("written");
    let (code, _, stderr) = job.call(&job.text, &["--on-error", "skip", "--order", "input"]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("1 events failed")
            && stderr.contains("'temperature', event 60: invalid float"),
        "{stderr}"
    );
    assert_eq!(job.take_results(), expected());
    let (code, _, _) = job.call(&job.text, &[]);
    assert_eq!(code, Some(1));
    assert!(!job.path("clusters.parquet").exists(), "a failure has ended the run");
}
