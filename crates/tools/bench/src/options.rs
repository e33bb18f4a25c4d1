//! The command line.

use crate::benchmark::Benchmark;
use crate::child::Order;
use crate::events::section_names;
use std::time::Duration;

pub(crate) const HELP: &str = "\
Actinium's benchmarks, side by side with tokio.

usage: cargo bench -p actinium-bench [-- OPTIONS]

What to measure (default: --times --allocations):
  --times           rates and memory, against targets: beside tokio, and beside a minimal runtime on one thread
  --allocations     allocations per message, once warm
  --policies        the rates of Actinium under each policy
  --instructions    instructions per message, on 1 worker; needs valgrind
  --only A,B        these benchmarks only; --list names them

Or one of these, by itself:
  --baseline COMMIT this tree against that commit: both built with the profile dist, run in turns; each row is better, worse, the
                    same, or nobody can tell, by the 95 % interval of the paired ratios; beside it, what costs no time to be sure of
  --counters        instructions, atomics and allocations per item against counters.toml; to cost 2 % more is a failure
  --accept WHY      writes them there instead, with the reason for those that cost more
  --events[=FILE]   the event processor against what is ideal, with the shipped workload or that one
  --section NAME    only that part of it: overhead, allocations, memory, busy, wait, flows (beside oneTBB and Taskflow)
  --patterns        five patterns of communication, at three costs of a handler: what a second worker adds, under each policy
  --encodings       the binary encoding beside other libraries
  --page            writes BENCHMARKS.md anew: ten minutes on a machine that does nothing else

How:
  --workers N       workers of Actinium (default 2); tokio runs with 1 and with N
  --reps N          measured runs of each (default 6)
  --limit S         seconds after which a process is given up (default 180)
  --pairs N         pairs of runs of each row of --baseline, --patterns and --section flows (default 15)
  --quick           a hundredth of the size: says whether it works, not how fast; with --baseline, 5 pairs of the full size

How to show it (default: tables):
  --markdown        tables for BENCHMARKS.md
  --json            everything, with schema_version

  --list            the benchmarks
  -h, --help        this

Without any argument, not even cargo's --bench, it does what `cargo test` wants: --times --quick --reps 1.
Exit codes: 0, 1 (a benchmark failed, or a counter rose), 2 (wrong arguments). To fall short of a target is no failure, nor
to be worse than the baseline.
";

/// More workers than any machine has PUs: an upper bound against slips.
const WORKERS_MAX: usize = 4096;
/// Pairs of a first look.
const QUICK_PAIRS: usize = 5;
/// More runs than anybody waits for.
const REPS_MAX: usize = 1000;

/// The task that the program is given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    Help,
    List,
    Measure(Options),
    /// Compare this tree with a commit.
    Baseline(String, Options),
    /// Compare what is counted with what is written down, or write it down for a reason.
    Counters(Option<String>, Options),
    /// Measure the event processor with a workload.
    Events {
        file: Option<String>,
        section: Option<String>,
        pairs: usize,
    },
    /// Compare workers in patterns of communication.
    Patterns(Options),
    /// Compare encodings.
    Encodings(Options),
    /// Write the page of benchmarks.
    Page(Options),
    /// This is a process of its own for some runs of one benchmark.
    Child(Order),
}

/// The choice of what to measure, how, and how to show it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) times: bool,
    pub(crate) allocations: bool,
    pub(crate) policies: bool,
    pub(crate) instructions: bool,
    pub(crate) benchmarks: Vec<Benchmark>,
    pub(crate) workers: usize,
    pub(crate) reps: usize,
    pub(crate) pairs: usize,
    pub(crate) limit: Duration,
    pub(crate) quick: bool,
    pub(crate) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Text,
    Markdown,
    Json,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            times: false,
            allocations: false,
            policies: false,
            instructions: false,
            benchmarks: Benchmark::ALL.to_vec(),
            workers: 2,
            reps: 6,
            pairs: 15,
            limit: Duration::from_secs(180),
            quick: false,
            output: Output::Text,
        }
    }
}

impl Options {
    /// How large a problem is.
    pub(crate) fn size(&self, benchmark: Benchmark) -> u64 {
        if self.quick { benchmark.quick_size() } else { benchmark.size() }
    }

    /// The benchmarks that are asked for and that a peer can do, too.
    pub(crate) fn with_peers(&self) -> Vec<Benchmark> {
        self.benchmarks.iter().copied().filter(|benchmark| benchmark.has_peer()).collect()
    }
}

/// Requests that stand alone.
enum Alone {
    Baseline(String),
    Counters(Option<String>),
    Events(Option<String>),
    Encodings,
    Patterns,
    Page,
}

/// Understands the arguments, or says what is wrong with them.
pub(crate) fn parse(args: &[String]) -> Result<Request, String> {
    match args.split_first() {
        None => {
            let options = Options { times: true, quick: true, reps: 1, ..Options::default() };
            return Ok(Request::Measure(options));
        }
        Some((first, rest)) if first == "--child" => return Order::parse(rest).map(Request::Child),
        Some(_) => {}
    }
    let mut options = Options::default();
    let (mut pairs, mut section, mut alone) = (None, None, Vec::new());
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let (flag, inline) = match arg.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (arg, None),
        };
        let mut value = || {
            inline.or_else(|| args.next()).ok_or_else(|| format!("{flag} needs a value behind it"))
        };
        match flag {
            "--only" => options.benchmarks = benchmarks(value()?)?,
            "--workers" => options.workers = number(flag, value()?, WORKERS_MAX)?,
            "--events" => alone.push(Alone::Events(inline.map(str::to_owned))),
            "--section" => section = Some(self::section(value()?)?),
            "--baseline" => alone.push(Alone::Baseline(value()?.to_owned())),
            "--accept" => alone.push(Alone::Counters(Some(value()?.to_owned()))),
            "--pairs" => pairs = Some(number(flag, value()?, REPS_MAX)?),
            "--reps" => options.reps = number(flag, value()?, REPS_MAX)?,
            "--limit" => {
                options.limit = Duration::from_secs(number(flag, value()?, 86_400)? as u64);
            }
            _ if inline.is_some() => return Err(format!("'{arg}' is not known")),
            "-h" | "--help" => return Ok(Request::Help),
            "--list" => return Ok(Request::List),
            "--times" => options.times = true,
            "--allocations" => options.allocations = true,
            "--policies" => options.policies = true,
            "--instructions" => options.instructions = true,
            "--counters" => alone.push(Alone::Counters(None)),
            "--encodings" => alone.push(Alone::Encodings),
            "--patterns" => alone.push(Alone::Patterns),
            "--page" => alone.push(Alone::Page),
            "--quick" => options.quick = true,
            "--markdown" => options.show(Output::Markdown)?,
            "--json" => options.show(Output::Json)?,
            // From `cargo bench`.
            "--bench" => {}
            _ => return Err(format!("'{arg}' is not known")),
        }
    }
    choose(options, pairs, section, alone)
}

/// Makes a request of what was given, if it goes together.
fn choose(
    mut options: Options,
    pairs: Option<usize>,
    section: Option<String>,
    mut alone: Vec<Alone>,
) -> Result<Request, String> {
    options.pairs = pairs.unwrap_or(if options.quick { QUICK_PAIRS } else { options.pairs });
    let measures = options.times || options.allocations || options.policies || options.instructions;
    match alone.pop() {
        ref other if section.is_some() && !matches!(other, Some(Alone::Events(_))) => {
            return Err("--section goes with --events".to_owned());
        }
        None if pairs.is_some() => {
            return Err("--pairs goes with --baseline, --events, --patterns and --page".to_owned());
        }
        None => {}
        Some(_) if measures || !alone.is_empty() => {
            return Err("--baseline, --counters, --accept, --events, --patterns, --encodings and --page each stand alone".to_owned());
        }
        Some(Alone::Baseline(commit)) => return Ok(Request::Baseline(commit, options)),
        Some(Alone::Counters(why)) => return Ok(Request::Counters(why, options)),
        Some(Alone::Events(file)) => {
            return Ok(Request::Events { file, section, pairs: options.pairs });
        }
        Some(Alone::Patterns) => return Ok(Request::Patterns(options)),
        Some(Alone::Encodings) => return Ok(Request::Encodings(options)),
        Some(Alone::Page) => return Ok(Request::Page(options)),
    }
    if !measures {
        (options.times, options.allocations) = (true, true);
    }
    Ok(Request::Measure(options))
}

impl Options {
    fn show(&mut self, output: Output) -> Result<(), String> {
        if self.output != Output::Text && self.output != output {
            return Err("--json and --markdown exclude each other".to_owned());
        }
        self.output = output;
        Ok(())
    }
}

fn number(flag: &str, text: &str, max: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=max).contains(&number) => Ok(number),
        _ => Err(format!("{flag} {text}: allowed are 1 to {max}")),
    }
}

fn section(name: &str) -> Result<String, String> {
    let known = section_names();
    if known.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!("--section {name}: there are {}", known.join(", ")))
}

fn benchmarks(names: &str) -> Result<Vec<Benchmark>, String> {
    let mut found = Vec::new();
    for name in names.split(',') {
        let Some(benchmark) = Benchmark::by_name(name.trim()) else {
            let known = Benchmark::ALL.map(Benchmark::name).join(", ");
            return Err(format!("--only {names}: there is no '{name}', but {known}"));
        };
        if !found.contains(&benchmark) {
            found.push(benchmark);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &str) -> Result<Request, String> {
        parse(&args.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn options(args: &str) -> Options {
        match parsed(args) {
            Ok(Request::Measure(options)) => options,
            other => panic!("{args}: {other:?}"),
        }
    }

    #[test]
    fn cargo_bench_measures_times_and_allocations() {
        let default = Options { times: true, allocations: true, ..Options::default() };
        assert_eq!(options("--bench"), default);
    }

    #[test]
    fn cargo_test_tries_everything_once() {
        let options = options("");
        assert!(options.quick && options.times && !options.allocations);
        assert_eq!((options.reps, options.benchmarks.len()), (1, Benchmark::ALL.len()));
    }

    #[test]
    fn options_are_understood() {
        let options = options(
            "--only ring,count,ring --workers=1 --reps 5 --policies --json --bench --quick",
        );
        assert_eq!(options.benchmarks, [Benchmark::Ring, Benchmark::Count]);
        assert_eq!((options.workers, options.reps), (1, 5));
        assert!(options.policies && options.quick && !options.times && !options.allocations);
        assert_eq!(options.output, Output::Json);
        assert_eq!(options.size(Benchmark::Count), 100_000);
        assert_eq!(parsed("--bench --help"), Ok(Request::Help));
        assert_eq!(parsed("--list"), Ok(Request::List));
    }

    #[test]
    fn a_baseline_has_pairs() {
        let of = |args| match parsed(args) {
            Ok(Request::Baseline(commit, options)) => (commit, options.pairs, options.workers),
            other => panic!("{args}: {other:?}"),
        };
        assert_eq!(of("--baseline HEAD~1 --bench"), ("HEAD~1".to_owned(), 15, 2));
        assert_eq!(of("--baseline=main --quick"), ("main".to_owned(), 5, 2));
        assert_eq!(of("--quick --pairs 30 --workers 1 --baseline v1"), ("v1".to_owned(), 30, 1));
    }

    #[test]
    fn what_stands_alone_is_understood() {
        let default = Options::default;
        assert_eq!(parsed("--counters"), Ok(Request::Counters(None, default())));
        assert_eq!(
            parsed("--accept why"),
            Ok(Request::Counters(Some("why".to_owned()), default()))
        );
        assert_eq!(parsed("--page"), Ok(Request::Page(default())));
        assert_eq!(parsed("--encodings"), Ok(Request::Encodings(default())));
        assert_eq!(
            parsed("--patterns --pairs 5 --workers 4"),
            Ok(Request::Patterns(Options { pairs: 5, workers: 4, ..default() }))
        );
        let (file, section) = (Some("a.json".to_owned()), Some("busy".to_owned()));
        assert_eq!(
            parsed("--events=a.json --section busy"),
            Ok(Request::Events { file, section, pairs: 15 })
        );
        assert_eq!(
            parsed("--events"),
            Ok(Request::Events { file: None, section: None, pairs: 15 })
        );
        let section = Some("flows".to_owned());
        assert_eq!(
            parsed("--events --section flows --pairs 3"),
            Ok(Request::Events { file: None, section, pairs: 3 })
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (args, part) in [
            ("--fast", "'--fast' is not known"),
            ("ring", "'ring' is not known"),
            ("--json=1", "'--json=1' is not known"),
            ("--only", "--only needs a value"),
            ("--only rings", "there is no 'rings', but ping_pong, count"),
            ("--reps 0", "--reps 0: allowed are 1 to 1000"),
            ("--workers many", "--workers many: allowed are 1 to 4096"),
            ("--json --markdown", "exclude each other"),
            ("--child ring", "--child"),
            ("--baseline", "--baseline needs a value"),
            ("--baseline HEAD --times", "stand alone"),
            ("--page --counters", "stand alone"),
            ("--pairs 20", "--pairs goes with"),
            ("--accept", "--accept needs a value"),
            ("--section busy", "--section goes with --events"),
            (
                "--events --section lazy",
                "--section lazy: there are overhead, allocations, memory, busy, wait, flows",
            ),
            ("--events --encodings", "stand alone"),
        ] {
            let error = parsed(args).expect_err(args);
            assert!(error.contains(part), "{args}: {error}");
        }
    }
}
