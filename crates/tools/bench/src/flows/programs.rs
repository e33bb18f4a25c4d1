//! The programs of the other schedulers: built where there are a C++ compiler and the library.

use crate::run::{self, Limit};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Most time for one run.
const LIMIT: Limit = Limit::from_secs(300);

const HEADER: &str = include_str!("cpp/flow.hpp");

/// Another scheduler of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Tbb,
    Taskflow,
}

impl Peer {
    pub(super) const ALL: [Peer; 2] = [Peer::Tbb, Peer::Taskflow];

    pub(super) fn name(self) -> &'static str {
        match self {
            Peer::Tbb => "oneTBB flow graph",
            Peer::Taskflow => "Taskflow",
        }
    }

    fn source(self) -> (&'static str, &'static str) {
        match self {
            Peer::Tbb => ("tbb.cpp", include_str!("cpp/tbb.cpp")),
            Peer::Taskflow => ("taskflow.cpp", include_str!("cpp/taskflow.cpp")),
        }
    }

    /// A header of the library, Debian's package of it, and what is linked.
    fn needs(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Peer::Tbb => ("oneapi/tbb/flow_graph.h", "libtbb-dev", "-ltbb"),
            Peer::Taskflow => ("taskflow/taskflow.hpp", "libtaskflow-dev", "-pthread"),
        }
    }

    /// Builds its program in this folder, or says why it can not.
    pub(super) fn build(self, folder: &Path) -> Result<PathBuf, String> {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let (header, package, library) = self.needs();
        let includes = format!("#include <{header}>\nint main() {{}}\n");
        let probe = folder.join("probe.cpp");
        write(&probe, &includes)?;
        if !runs(Command::new(&compiler).arg("--version")) {
            return Err(format!(
                "skipped: there is no C++ compiler ({compiler}; CXX names another)"
            ));
        }
        if !runs(Command::new(&compiler).args(["-std=c++17", "-fsyntax-only"]).arg(&probe)) {
            return Err(format!("skipped: there is no {header} (Debian: {package})"));
        }
        let (name, text) = self.source();
        let (source, program) = (folder.join(name), folder.join(name.replace(".cpp", "")));
        write(&source, text)?;
        write(&folder.join("flow.hpp"), HEADER)?;
        let mut command = Command::new(&compiler);
        command.args(["-std=c++17", "-O3", "-DNDEBUG", "-pthread", "-o"]).arg(&program);
        let built = command.arg(&source).arg(library).output();
        let built = built.map_err(|error| format!("skipped: {compiler}: {error}"))?;
        if built.status.success() {
            return Ok(program);
        }
        let said = String::from_utf8_lossy(&built.stderr);
        let first = said.lines().find(|line| line.contains("error")).unwrap_or("no reason");
        Err(format!("skipped: {compiler} can not build {name}: {first}"))
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("can not write {}: {error}", path.display()))
}

/// Whether a command runs to a good end; it says nothing.
fn runs(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// What a program says of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) elapsed_ns: u64,
    pub(super) checksum: u64,
}

/// Runs a program with a graph.
pub(super) fn run(program: &Path, graph: &Path) -> Result<Said, String> {
    let mut command = Command::new(program);
    command.arg(graph).stdin(Stdio::null()).stdout(Stdio::piped());
    let text = run::output(command, LIMIT)?;
    let said = |text: &str| {
        let (elapsed, checksum) = text.trim().split_once(' ')?;
        Some(Said { elapsed_ns: elapsed.parse().ok()?, checksum: checksum.parse().ok()? })
    };
    said(&text).ok_or_else(|| format!("{}: it says '{}'", program.display(), text.trim()))
}
