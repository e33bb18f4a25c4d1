//! The example `dimuon_nodes` as processes: alone, and where a build has the features, as four
//! nodes over Zenoh, one of which is killed, and as four ranks of MPI.
//!
//! A program of its own: it starts itself as the example, and needs a `main`.

#[path = "../examples/dimuon_nodes.rs"]
mod dimuon_nodes;

use actinium::events::data::{RowFile, Rows};
use dimuon_nodes::{Muon, Pair};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

/// Set in the processes that are the example.
const IS_EXAMPLE: &str = "DIMUON_IS_EXAMPLE";
const FILES: u64 = 12;
const EVENTS_PER_FILE: u64 = 100;

fn main() -> ExitCode {
    if std::env::var_os(IS_EXAMPLE).is_some() {
        return dimuon_nodes::main();
    }
    let folder = std::env::temp_dir().join(format!("actinium-dimuon-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let files = write(&folder);
    let alone = it_runs_alone(&folder, &files);
    #[cfg(feature = "zenoh")]
    zenoh::four_processes_write_the_same_and_three_of_them_too(&folder, &files, &alone);
    #[cfg(feature = "mpi")]
    four_ranks_write_the_same(&folder, &files, &alone);
    drop(alone);
    std::fs::remove_dir_all(&folder).expect("removed");
    ExitCode::SUCCESS
}

/// Files of events that have one to three muons each.
fn write(folder: &Path) -> Vec<PathBuf> {
    let file = |file: u64| {
        let path = folder.join(format!("muons-{file}.parquet"));
        let mut rows = RowFile::create(&path).expect("created");
        for event in file * EVENTS_PER_FILE..(file + 1) * EVENTS_PER_FILE {
            for n in 0..=event % 3 {
                let (x, charge) = ((7 * event + n) as f64, if n == 1 { 1 } else { -1 });
                let (pt, eta, phi) = (30.0 + x.sin() * 9.0, (x * 0.7).cos(), (x * 1.3).sin() * 3.0);
                rows.write(&Muon { event, pt, eta, phi, charge }).expect("written");
            }
        }
        rows.finish().expect("written");
        path
    };
    (0..FILES).map(file).collect()
}

/// The example, with a correction of so many steps.
fn example(to: &Path, files: &[PathBuf], steps: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    arguments(&mut command, to, files, steps);
    command
}

fn arguments(command: &mut Command, to: &Path, files: &[PathBuf], steps: u32) {
    command.arg(to).args(files).env(IS_EXAMPLE, "1").env("STEPS", steps.to_string());
    command.env("ACTINIUM_WORKERS", "1");
}

#[track_caller]
fn check(output: &Output, to: &Path) -> Vec<u8> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let events = FILES * EVENTS_PER_FILE;
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(stdout, format!("{} pairs in {events} events\n", events / 3), "{stderr}");
    std::fs::read(to).expect("it is there")
}

/// The bytes that one process writes.
fn it_runs_alone(folder: &Path, files: &[PathBuf]) -> Vec<u8> {
    let to = folder.join("alone.parquet");
    let bytes = check(&example(&to, files, 100).output().expect("it starts"), &to);
    let pairs: Vec<Pair> =
        Rows::open(&to).expect("it is there").map(|row| row.expect("a row")).collect();
    let of = pairs.iter().map(|pair| pair.event);
    assert!(of.eq((0..FILES * EVENTS_PER_FILE).filter(|event| event % 3 == 1)));
    assert!(pairs.iter().all(|pair| pair.mass > 0.0));
    bytes
}

#[cfg(feature = "mpi")]
fn four_ranks_write_the_same(folder: &Path, files: &[PathBuf], alone: &[u8]) {
    let to = folder.join("ranks.parquet");
    let mut command = Command::new(std::env::var_os("MPIEXEC").unwrap_or_else(|| "mpiexec".into()));
    for (name, value) in [("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]
    {
        command.env(name, value);
    }
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").args(["-n", "4"]);
    command.arg(std::env::current_exe().expect("this program"));
    arguments(&mut command, &to, files, 100);
    assert!(check(&command.output().expect("mpiexec starts"), &to) == alone, "other bytes");
}

#[cfg(feature = "zenoh")]
mod zenoh {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, Stdio};

    /// Takes long enough to be killed on the way.
    const STEPS: u32 = 400_000;

    fn nodes(to: &Path, files: &[PathBuf], steps: u32) -> Vec<Child> {
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("tcp/{}", port.local_addr().expect("an address"));
        drop(port);
        let node = |node: u32| {
            let mut command = example(to, files, steps);
            command.env("ACTINIUM_NODE", node.to_string()).env("ACTINIUM_NODES", "4");
            let how = if node == 0 { "ACTINIUM_LISTEN" } else { "ACTINIUM_CONNECT" };
            command.env(how, &address).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("it starts")
        };
        (0..4).map(node).collect()
    }

    pub(super) fn four_processes_write_the_same_and_three_of_them_too(
        folder: &Path,
        files: &[PathBuf],
        alone: &[u8],
    ) {
        let to = folder.join("four.parquet");
        let ended =
            nodes(&to, files, 100).into_iter().map(|it| it.wait_with_output().expect("ends"));
        let ended: Vec<Output> = ended.collect();
        assert!(ended.iter().all(|output| output.status.success()), "{ended:?}");
        assert!(check(&ended[0], &to) == alone, "other bytes");

        let one = folder.join("slowly.parquet");
        let slowly = check(&example(&one, files, STEPS).output().expect("it starts"), &one);
        let to = folder.join("three.parquet");
        let mut nodes = nodes(&to, files, STEPS);
        let mut told = BufReader::new(nodes[0].stderr.take().expect("a pipe"));
        // All are there when the first event begins.
        let is_under_way = |line: &String| line.ends_with(" events") && line != "0 events";
        let mut lines = told.by_ref().lines().map(|line| line.expect("a line"));
        assert!(lines.any(|line| is_under_way(&line)), "it is over before it has begun");
        nodes[2].kill().expect("it is there");
        let rest: Vec<String> = lines.collect();
        let ended = nodes.into_iter().map(|it| it.wait_with_output().expect("ends"));
        let ended: Vec<Output> = ended.collect();
        assert!(rest.iter().any(|line| line.starts_with("node 2 is down")), "{rest:?}");
        assert!(check(&ended[0], &to) == slowly, "other bytes");
        assert!(ended[1].status.success() && ended[3].status.success(), "{ended:?}");
    }
}
