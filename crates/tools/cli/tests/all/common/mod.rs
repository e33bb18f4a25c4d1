//! Runs the real command.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What a call of the command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ran {
    /// Stdout of a call that did what it was asked to do, and had nothing to remark.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    /// It was asked wrongly: the line on stderr has these parts.
    #[track_caller]
    pub(crate) fn refused(self, parts: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part} in {}", self.stderr);
        }
    }

    /// The same as [`Ran::ok`], as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let stdout = self.ok();
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error} in {stdout}"))
    }
}

/// A folder of one test's own, which is gone afterwards.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// An empty one. The name is no other test's of this crate.
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("actinium-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Scratch(folder)
    }

    /// Where a file of this name is, or may be made.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("it is UTF-8").to_owned()
    }

    /// Makes a file; where it is.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What stands in a file.
#[track_caller]
pub(crate) fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A call, without this test's environment settings.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_actinium"));
    command.args(arguments).stdin(Stdio::null());
    clean(&mut command);
    command
}

/// Takes away what would change what the command does.
pub(crate) fn clean(command: &mut Command) {
    let variables = [
        "ACTINIUM_BIND",
        "ACTINIUM_WORKERS",
        "ACTINIUM_POLICY",
        "ACTINIUM_BATCH",
        "ACTINIUM_SLOTS",
        "ACTINIUM_ENCODING",
        "ACTINIUM_REPORT",
        "ACTINIUM_TRACE",
        "ACTINIUM_FLIGHT",
        "ACTINIUM_TOKEN",
        "ACTINIUM_NODE",
        "ACTINIUM_NODES",
        "ACTINIUM_LISTEN",
        "ACTINIUM_CONNECT",
        "NO_COLOR",
    ];
    for variable in variables {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm");
    // Tests run beside each other, and each is to find the machine as if it were alone there.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("claims");
    std::fs::create_dir_all(&folder).expect("a folder");
    // Relaxed: only uniqueness matters.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    command.env("ACTINIUM_CLAIMS", folder.join(number.to_string()));
}

/// A workload that comes with the project.
pub(crate) fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name);
    path.to_str().expect("it is UTF-8").to_owned()
}

pub(crate) fn run(arguments: &[&str]) -> Ran {
    run_with(arguments, &[])
}

pub(crate) fn run_with(arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = command(arguments);
    command.envs(environment.iter().copied());
    command.output().expect("the command starts").into()
}

/// `mpiexec` for so many ranks, without what they are to run.
#[cfg(feature = "mpi")]
pub(crate) fn mpi_launcher(ranks: &str) -> Command {
    let mut command = Command::new("mpiexec");
    command.args(["-n", ranks]).stdin(Stdio::null());
    clean(&mut command);
    // A test machine may have one core, and its user may be root.
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("MPIEXEC_TIMEOUT", "900");
    command
}

/// This command as so many ranks of an MPI job.
#[cfg(feature = "mpi")]
pub(crate) fn mpiexec(ranks: &str, arguments: &[&str]) -> Command {
    let mut command = mpi_launcher(ranks);
    command.arg(env!("CARGO_BIN_EXE_actinium")).args(arguments);
    command
}

/// Runs it with stdout and stderr on a terminal (of `script`, which every Debian has); returns what
/// that shows.
pub(crate) fn on_a_terminal(arguments: &str, environment: &[(&str, &str)]) -> String {
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_actinium"));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).stdin(Stdio::null());
    clean(&mut command);
    let output = command.envs(environment.iter().copied()).output().expect("script starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A probe that takes no time: one worker, 4 actors, 50 pings each, no warm-up.
pub(crate) const SMALL: [&str; 9] =
    ["probe", "--workers", "1", "--actors", "4", "--messages", "50", "--warm-up", "0"];

/// [`SMALL`], with some arguments more.
pub(crate) fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    with(&SMALL, more)
}

/// A subcommand with flags that each have a value, and some arguments more; those flags that are
/// among these are replaced.
pub(crate) fn with<'a>(defaults: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec![defaults[0]];
    let pairs = defaults[1..].chunks(2).filter(|pair| !more.contains(&pair[0]));
    arguments.extend(pairs.flatten());
    arguments.extend(more);
    arguments
}

/// Figures of a small probe with these arguments more.
#[track_caller]
pub(crate) fn figures(more: &[&str]) -> Value {
    let mut arguments = small(more);
    arguments.push("--json");
    run(&arguments).json()
}

/// A number at a path like `counters.sent`.
#[track_caller]
pub(crate) fn number(json: &Value, path: &str) -> f64 {
    let value = at(json, path);
    value.as_f64().unwrap_or_else(|| panic!("{path} is {value}"))
}

/// What stands at a path.
pub(crate) fn at<'a>(json: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(json, |json, part| match part.parse::<usize>() {
        Ok(index) => &json[index],
        Err(_) => &json[part],
    })
}
