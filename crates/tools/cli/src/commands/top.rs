//! `actinium top`.

use actinium::monitor::live::Snapshot;
use actinium::monitor::socket::Folder;
use actinium_app::Failure;
use actinium_app::output::{print, print_json};
use actinium_top::{Client, ClientError, Settings, Target};
use std::io::IsTerminal;
use std::time::Duration;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Look at a running program: throughput, workers, types of actors, actors, supervision, dead letters, latencies, CPUs, and what the program \
shows of its own.

A program of the same user is found by itself if it was started with ACTINIUM_TOP=1, or builds its system with .observable(). One that \
serves a live page is seen at its address. Nothing can be changed.";

/// Arguments of `actinium top`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ACTINIUM_TOP=1 actinium probe & actinium top
  actinium top 127.0.0.1:7070
  actinium top --once | head
  actinium top --json > look.json")]
pub struct Args {
    /// The program: the number of its process, or HOST:PORT of its live page. Not needed if only
    /// one program can be looked at.
    program: Option<String>,
    /// Print one look as text, and end. The rates are those of one interval.
    #[arg(long)]
    once: bool,
    /// Print one look as JSON, and end.
    #[arg(long, conflicts_with = "once")]
    json: bool,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// What the live page at an address asks for.
    #[arg(long, env = "ACTINIUM_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|it| (0.1..=3_600.0).contains(it));
    let seconds = seconds.ok_or("expected a number from 0.1 to 3600")?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Shows the program.
///
/// # Errors
/// If there is no such program, it does not answer, or this is no terminal.
pub fn run(args: &Args) -> Result<(), Failure> {
    let target = Target::choose(args.program.as_deref(), &Folder::of_user());
    let target = target.map_err(|error| Failure::Asked(error.to_string()))?;
    let client = Client::new(target, args.token.clone());
    if args.json {
        return print_json(&look(&client)?);
    }
    if args.once {
        let before = look(&client)?;
        std::thread::park_timeout(args.interval);
        let seen = look(&client)?;
        return print(actinium_top::plain(Some(&before), &seen));
    }
    if !std::io::stdout().is_terminal() {
        let why = "top needs a terminal: --once and --json print a look at the program";
        return Err(Failure::Asked(why.to_owned()));
    }
    // What can not be reached at first is an error; later on, it may come back.
    look(&client)?;
    actinium_top::run(client, Settings { interval: args.interval }).map_err(failed)
}

fn look(client: &Client) -> Result<Snapshot, Failure> {
    client.snapshot().map_err(|error| match error {
        ClientError::Token(_) => Failure::Asked(error.to_string()),
        _ => failed(error),
    })
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}
