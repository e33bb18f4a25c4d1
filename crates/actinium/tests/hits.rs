//! The example `hits` as a process, with small files.
//!
//! A program of its own: it starts itself as the example, and needs a `main`.

#[path = "../examples/hits.rs"]
mod hits;

use actinium::events::data::{RowFile, Rows};
use hits::{Cluster, Hit};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Set in the processes that are the example.
const IS_EXAMPLE: &str = "HITS_IS_EXAMPLE";

fn main() -> ExitCode {
    if std::env::var_os(IS_EXAMPLE).is_some() {
        return hits::main();
    }
    let folder = std::env::temp_dir().join(format!("actinium-hits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    gains_are_those_of_the_run_and_hard_clusters_are_written(&folder);
    what_is_missing_is_named(&folder);
    std::fs::remove_dir_all(&folder).expect("removed");
    ExitCode::SUCCESS
}

/// Events of three runs in two files: event `n` of each run has `n` hits, each of 2.
fn write(folder: &Path) -> [String; 2] {
    let paths = ["first.csv", "second.csv"].map(|name| folder.join(name));
    let mut files = paths.clone().map(|path| RowFile::create(path).expect("created"));
    for run in 1..=3 {
        let gains = format!("{{\"7\": {run}}}");
        std::fs::write(folder.join(format!("gains-{run}.json")), gains).expect("written");
        for event in 1..=10 {
            for _ in 0..event {
                let hit = Hit { run, event, channel: 7, adc: 2.0 };
                files[usize::from(run == 3)].write(&hit).expect("written");
            }
        }
    }
    for file in files {
        file.finish().expect("written");
    }
    paths.map(|path| path.to_str().expect("UTF-8").to_owned())
}

fn run(folder: &Path, files: &[String; 2]) -> (Option<i32>, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(IS_EXAMPLE, "1").args(files).current_dir(folder);
    command.args(["--workers", "2", "--slots", "8", "--order", "input", "--report", "page.html"]);
    let output = command.output().expect("it starts");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

fn gains_are_those_of_the_run_and_hard_clusters_are_written(folder: &Path) {
    let (code, stderr) = run(folder, &write(folder));
    assert_eq!(code, Some(0), "{stderr}");
    let clusters = Rows::open(folder.join("clusters.csv")).expect("it is there");
    let clusters: Vec<Cluster> = clusters.map(|row| row.expect("a row")).collect();
    let of = |run: u64| {
        (1..=10).map(move |event| Cluster {
            event,
            energy: (2 * run * event) as f64,
            hits: event as usize,
        })
    };
    let expected: Vec<_> = (1..=3).flat_map(of).filter(|cluster| cluster.energy > 10.0).collect();
    assert_eq!(clusters, expected);
    let page = std::fs::read_to_string(folder.join("page.html")).expect("the page");
    for part in ["Products alive at a time", "calibrate", "clusters"] {
        assert!(page.contains(part), "{part}");
    }
    // 12 is 6 hits of run 1, 3 of run 2 and 2 of run 3.
    assert!(stderr.contains("22 clusters; most have an energy of 12\n"), "{stderr}");
}

fn what_is_missing_is_named(folder: &Path) {
    let files = write(folder);
    std::fs::remove_file(folder.join("gains-2.json")).expect("removed");
    std::fs::remove_file(folder.join("clusters.csv")).expect("removed");
    let (code, stderr) = run(folder, &files);
    assert!(code == Some(1) && stderr.contains("gains-2.json: No such file"), "{stderr}");
    assert!(!folder.join("clusters.csv").exists(), "no half file is left");
    let (code, stderr) = run(folder, &[files[0].clone(), "missing.csv".to_owned()]);
    assert!(code == Some(2) && stderr.contains("missing.csv: No such file"), "{stderr}");
}
