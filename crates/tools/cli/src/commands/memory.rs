//! `actinium memory`.

use super::tracing::TraceArgs;
use actinium::topology::Topology;
use actinium_app::BindArgs;
use actinium_app::Failure;
use actinium_app::machine;
use actinium_app::nodes::{FabricArgs, FabricKind, Nodes};
use actinium_app::output;
use actinium_app::output::{OutputArgs, ReportArgs};
use actinium_app::parse::{one_of, within};
use actinium_cluster::job;
use actinium_lab::memory::settings::{self, ChildTask, Fabric, StartupMode};
use actinium_lab::memory::stream::{self, Store};
use actinium_lab::memory::{
    child, startup, startup_mpi, startup_mpi_report, startup_report, stream_nodes,
    stream_nodes_report, stream_report,
};
use actinium_lab::nodes::Remarks;
use actinium_memory::{PageSize, Placement, Size};
use actinium_report::Table;
use actinium_report::html::Page;
use clap::{ArgMatches, Subcommand};
use serde::Serialize;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Measure segments of memory: what faulting one in costs at start-up, and what its placement is worth.

'startup' runs a program that does nothing but set a segment up, and sets its times beside what the machine can do. 'stream' runs the STREAM \
kernels over memory by placement. docs/memory.md says how to read them.";

/// Arguments of `actinium memory`.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, allow_negative_numbers = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Times of a no-op program with a segment, by mode and size, beside what the machine can do
    Startup(StartupArgs),
    /// STREAM's rates over memory by placement, in all and node by node
    Stream(StreamArgs),
}

/// Uses of memory by the no-op program before it ends.
const MODES: &[(&str, &str)] = &[
    ("none", "Nothing"),
    ("lazy", "Reserves a segment"),
    ("background", "Reserves a segment and lets it be faulted in behind its back"),
    ("eager-1", "Faults a segment in by one thread"),
    ("eager", "Faults a segment in by all threads"),
];

/// Fabrics with which the segment is registered.
const FABRICS: &[(&str, &str)] = &[
    ("none", "Nothing"),
    ("io-uring", "An io_uring of the program's"),
    #[cfg(feature = "verbs")]
    ("verbs", "The first RDMA adapter"),
];

fn threads_within(text: &str) -> Result<usize, String> {
    within(text, 1, 4096)
}

fn repeat(text: &str) -> Result<usize, String> {
    within(text, 1, 1000)
}

/// One reads and one is read.
fn ranks(text: &str) -> Result<u32, String> {
    within(text, 2, 1024)
}

/// STREAM's first round does not count, so there have to be two.
fn times(text: &str) -> Result<usize, String> {
    match within(text, 1, 1000) {
        Ok(1) | Err(_) => Err(format!("'{text}' is not allowed: 2 to 1000")),
        Ok(times) => Ok(times),
    }
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Pages of segments: base, thp (transparent huge), or a pool's huge pages like 2m or 1g
    #[arg(long, value_name = "PAGES", default_value = "thp")]
    pages: PageSize,

    /// Threads [default: as many as the cpuset and the CPU quota allow]
    #[arg(long, value_name = "N", value_parser = threads_within)]
    threads: Option<usize>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    report: ReportArgs,
}

#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
struct StartupArgs {
    /// Sizes of the segment: bytes like 64m or 16g, or shares of memory like 25%
    #[arg(long, value_name = "SIZE,...", default_value = "64m,1g", value_delimiter = ',', value_parser = settings::size)]
    size: Vec<Size>,

    /// Use of it by the program: none, lazy, background, eager-1 (one thread), eager (all threads)
    #[arg(
        long,
        value_name = "MODE,...",
        value_delimiter = ',',
        default_value = "none,lazy,background,eager-1,eager",
        value_parser = one_of::<StartupMode>(MODES)
    )]
    mode: Vec<StartupMode>,

    /// Place of pages: interleave, interleave:NODES, weighted, bind:NODES, first-touch, local
    #[arg(long, value_name = "WHERE", default_value = "interleave")]
    placement: Placement,

    /// Register segments with this: none, io-uring (a ring's buffers, whose pages are pinned), or,
    /// built with the feature verbs, verbs (the first RDMA adapter); lazy ones when they are used,
    /// the others as they are faulted in
    #[arg(long, value_name = "FABRIC", default_value = "none", value_parser = one_of::<Fabric>(FABRICS))]
    register: Fabric,

    /// Measure so often, and give medians
    #[arg(long, value_name = "N", default_value = "5", value_parser = repeat)]
    repeat: usize,

    /// Do not measure what the machine can do
    #[arg(long)]
    no_limit: bool,

    /// Be the program that is measured
    #[arg(long, hide = true, value_parser = settings::child)]
    child: Option<ChildTask>,

    /// mpi: start jobs of MPI instead, whose ranks register a segment each: not at all, with a
    /// static window, with a dynamic one. Measures no-op jobs from start to exit, and reads of 4
    /// KiB to 16 MiB from another rank's segment. Of the flags above it takes --size (one) and
    /// --repeat
    #[arg(long, value_name = "FABRIC")]
    fabric: Option<String>,

    /// With --fabric mpi: the number of ranks of a job
    #[arg(long, value_name = "N", default_value = "2", value_parser = ranks)]
    ranks: u32,

    /// With --fabric mpi: the command that starts a job, with arguments between blanks
    #[arg(long, value_name = "COMMAND", default_value = "mpiexec")]
    mpiexec: String,

    /// Be a rank of a job that is measured
    #[arg(long, hide = true)]
    rank: Option<startup_mpi::Task>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
struct StreamArgs {
    /// Size of each of the three arrays [default: four times the last level's caches, by STREAM's
    /// rules]
    #[arg(long, value_name = "SIZE", value_parser = settings::size)]
    size: Option<Size>,

    /// Memory of the arrays: heap (written by one thread first), heap-touched (by all), interleave,
    /// interleave:NODES, weighted, bind:NODES, first-touch, local
    #[arg(long, value_name = "WHERE,...", default_value = "heap heap-touched interleave first-touch local", value_parser = stores)]
    placement: Stores,

    /// Rounds; the first does not count
    #[arg(long, value_name = "N", default_value = "10", value_parser = times)]
    times: usize,

    /// Measure each node by itself, too
    #[arg(long, conflicts_with = "fabric")]
    nodes: bool,

    #[command(flatten)]
    bind: BindArgs,

    #[command(flatten)]
    fabric: FabricArgs,

    #[command(flatten)]
    trace: TraceArgs,

    #[command(flatten)]
    common: Common,
}

/// Several stores: between blanks or commas; the commas of a list of nodes belong to that.
#[derive(Clone, Debug)]
struct Stores(Vec<Store>);

fn stores(text: &str) -> Result<Stores, String> {
    let mut names: Vec<String> = Vec::new();
    for word in text.split([' ', ',']) {
        match names.last_mut() {
            Some(last) if last.contains(':') && word.starts_with(|c: char| c.is_ascii_digit()) => {
                *last += &format!(",{word}");
            }
            _ => names.push(word.to_owned()),
        }
    }
    names.iter().map(|name| name.parse()).collect::<Result<_, String>>().map(Stores)
}

/// Does what was asked.
///
/// # Errors
/// If it was asked wrongly, memory can not be had, or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    match &args.what {
        What::Startup(args) => run_startup(args),
        What::Stream(args) => run_stream(args, matches),
    }
}

fn run_startup(args: &StartupArgs) -> Result<(), Failure> {
    let common = &args.common;
    if let Some(task) = args.rank {
        return run_rank(args, task);
    }
    if let Some(fabric) = &args.fabric {
        return run_startup_mpi(args, fabric);
    }
    if let (Some(task), [size, ..]) = (args.child, args.size.as_slice()) {
        // It is told how many threads, so that it need not look at the machine.
        let threads = common.threads.unwrap_or(1);
        let said = child::run(task, *size, common.pages, &args.placement, args.register, threads)?;
        return output::print_json_line(&said);
    }
    let threads = threads(common, &machine()?)?;
    common.report.check()?;
    // Here, so that a ring that can not be had is said once and at once.
    args.register.open().map_err(actinium_lab::memory::failure)?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::Failed(format!("this program: {error}")))?;
    let sizes = args.size.iter();
    let sizes = sizes.map(|&size| startup::bytes_of(size, common.pages, &args.placement));
    let settings = startup::Settings {
        sizes: sizes.collect::<Result<_, _>>()?,
        modes: args.mode.clone(),
        pages: common.pages,
        placement: args.placement.clone(),
        register: args.register,
        threads,
        repeat: args.repeat,
        limit: !args.no_limit,
        program: vec![program.into(), "memory".into(), "startup".into()],
    };
    let measured = startup::measure(&settings, |line| common.note(line))?;
    let report = startup_report::Report::new(&settings, &measured);
    report.warnings().for_each(|warning| common.note(warning));
    common.tell(&report, || report.page(), || report.table())
}

/// The first of the sizes that are the default.
const DEFAULT_BYTES: u64 = 64 << 20;

/// The one size of a segment.
fn one_size(args: &StartupArgs) -> Result<u64, Failure> {
    let size = match *args.size.as_slice() {
        [size] => size,
        // The default, of which a job takes the first.
        [first @ Size::Bytes(DEFAULT_BYTES), Size::Bytes(0x4000_0000)] => first,
        _ => return Err(Failure::Asked("--size: one with --fabric".to_owned())),
    };
    let bytes = startup::bytes_of(size, PageSize::Base, &Placement::Interleave)?;
    match startup_mpi::TRANSFER_BYTES.1 {
        most if bytes < most => {
            Err(Failure::Asked(format!("--size: at least {most} bytes, the largest read")))
        }
        _ => Ok(bytes),
    }
}

fn run_startup_mpi(args: &StartupArgs, fabric: &str) -> Result<(), Failure> {
    let asked = |line: &str| Err(Failure::Asked(line.to_owned()));
    if fabric != FabricKind::Mpi.name() {
        let line = "--fabric: 'startup' measures one process on one machine, or with 'mpi' jobs of that. \
                    'memory stream' measures several nodes at the same time";
        return asked(line);
    }
    if cfg!(not(feature = "mpi")) {
        return asked("--fabric: 'mpi' is not in this build: it needs the feature mpi");
    }
    if std::env::var_os("OMPI_COMM_WORLD_SIZE").or_else(|| std::env::var_os("PMI_SIZE")).is_some() {
        return asked(
            "--fabric: 'startup' starts its jobs by itself, and measures that: start it without \
             mpiexec (--ranks says how many ranks a job has, --mpiexec by which command)",
        );
    }
    let common = &args.common;
    common.report.check()?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::Failed(format!("this program: {error}")))?;
    let settings = startup_mpi::Settings {
        size_bytes: one_size(args)?,
        ranks: args.ranks,
        repeat: args.repeat,
        launcher: args.mpiexec.split_whitespace().map(Into::into).collect(),
        program: vec![program.into(), "memory".into(), "startup".into()],
    };
    let jobs = startup_mpi::measure(&settings, |line| common.note(line))?;
    let report = startup_mpi_report::Report::new(&settings, &jobs);
    common.tell(&report, || report.page(), || report.table())
}

#[cfg(feature = "mpi")]
fn run_rank(args: &StartupArgs, task: startup_mpi::Task) -> Result<(), Failure> {
    let said = actinium_lab::memory::startup_mpi_rank::run(task, one_size(args)?)?;
    said.map_or(Ok(()), |said| output::print_json_line(&said))
}

#[cfg(not(feature = "mpi"))]
fn run_rank(_: &StartupArgs, task: startup_mpi::Task) -> Result<(), Failure> {
    Err(Failure::Asked(format!("--rank: '{task}' needs the feature mpi")))
}

fn run_stream(args: &StreamArgs, matches: &ArgMatches) -> Result<(), Failure> {
    let nodes = Nodes::resolve_unnumbered(&args.fabric, matches)?;
    let (common, machine) = (&args.common, machine()?);
    let threads = threads(common, &machine)?;
    common.report.check()?;
    let bytes = match args.size {
        None => stream::default_bytes(&machine),
        Some(size) => startup::bytes_of(size, PageSize::Base, &Placement::Interleave)?,
    };
    let settings = stream::Settings {
        numbers: usize::try_from(bytes / 8).unwrap_or(usize::MAX),
        stores: args.placement.0.clone(),
        pages: common.pages,
        threads,
        bind: args.bind.resolve(matches)?.value,
        times: args.times,
        nodes: args.nodes,
    };
    if let Some(kind) = nodes.fabric.value {
        let note = &|line: &str| common.note(line);
        let remarks = Remarks { note: output::note, start: actinium_app::nodes::remark(kind) };
        let job = stream_nodes::Job {
            settings: &settings,
            machine: &machine,
            note,
            remarks,
            trace: args.trace.path(),
        };
        return over_nodes(kind, &nodes, &job, common);
    }
    if args.trace.path().is_some() {
        let line = "--trace: only with --fabric: without it, no system of actors is at work";
        return Err(Failure::Asked(line.to_owned()));
    }
    let achieved = stream::measure(&settings, &machine, &|| (), |line| common.note(line))?;
    let report = stream_report::Report::new(&settings, achieved);
    report.warnings().for_each(|warning| common.note(&warning));
    common.tell(&report, || report.page(), || report.table())?;
    report.verdict()
}

/// Elsewhere another process tells what came of it.
fn over_nodes(
    kind: FabricKind,
    nodes: &Nodes,
    job: &stream_nodes::Job<'_>,
    common: &Common,
) -> Result<(), Failure> {
    let fabric = actinium_app::nodes::fabric(kind, nodes)?;
    let Some(measured) = job::run(fabric, output::note, job)? else { return Ok(()) };
    let report =
        stream_nodes_report::Report::new(kind.name(), job.remarks.start, job.settings, measured);
    report.remark().into_iter().for_each(output::note);
    report.warnings().for_each(|warning| common.note(&warning));
    common.tell(&report, || report.page(), || report.table())?;
    report.verdict()
}

impl Common {
    /// Draws a report, and prints it.
    fn tell(
        &self,
        report: &impl Serialize,
        page: impl FnOnce() -> Page,
        table: impl FnOnce() -> Table,
    ) -> Result<(), Failure> {
        self.report.write(page)?;
        self.output.report(report, |_, _| table().to_string())
    }

    fn note(&self, line: &str) {
        if !self.output.quiet && !self.output.json {
            output::note(line);
        }
    }
}

fn threads(common: &Common, machine: &Topology) -> Result<usize, Failure> {
    let usable = machine.allowed().len();
    match common.threads {
        None => Ok(machine.usable_workers().workers),
        Some(threads) if threads <= usable => Ok(threads),
        Some(threads) => Err(Failure::Asked(format!(
            "--threads: '{threads}' is not allowed: 1 to {usable}, one for each PU that may be used"
        ))),
    }
}
