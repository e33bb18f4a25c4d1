//! `actinium wire tap`.

use actinium_app::Failure;
use actinium_app::output;
use actinium_app::parse::one_of;
use actinium_lab::wire::look::{self, Wanted};
use actinium_lab::wire::tap::{self, Output, Settings, Side};
use actinium_tap::{Direction, TapFilter, TapPlace};
use std::path::PathBuf;

/// Sides that send messages.
const SIDES: &[(&str, &str)] =
    &[("client", "The side that has connected"), ("server", "The side that was listening")];

/// Directions of messages.
const DIRECTIONS: &[(&str, &str)] =
    &[("in", "What comes to the program"), ("out", "What goes from it")];

/// The description in `--help`.
pub(super) const ABOUT: &str = "\
Print the live messages of a program's nodes and gateways; or, with --listen, of a link that passes through this command.

A program serves taps if ACTINIUM_TAP says so: 1 (then it is found by the number of its process), the path of a socket, or an address of its host. \
Programs of other users are not shown. What is in messages is shown only with --contents.

With --listen, TARGET is the address of a server of links (wire::Link): the client connects to this command, which passes on all bytes.";

/// Arguments of `actinium wire tap`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ACTINIUM_TAP=1 ./shop &
  actinium wire tap $! --type Desk --direction in --sample 100
  actinium wire tap 127.0.0.1:7071 --peer 'node 3' --contents --json
  actinium wire tap 127.0.0.1:4000 --listen 127.0.0.1:4001 --from client")]
pub struct Args {
    /// The number of a process, the path of its socket, or an address as 127.0.0.1:7071
    #[arg(value_name = "TARGET")]
    target: String,

    /// Stand between the client and the server of a link, and listen here; port 0: any that is free
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,

    /// Only messages of these types: kinds of remote actors, names of protocols
    #[arg(
        long = "type",
        value_name = "NAME,..",
        value_delimiter = ',',
        help_heading = "Filters",
        conflicts_with = "listen"
    )]
    types: Vec<String>,

    /// Only messages that are this variant of the message type
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', help_heading = "Filters")]
    message: Vec<String>,

    /// Only messages to or from this peer: its whole name as printed, or a word of it
    #[arg(long, value_name = "NAME", help_heading = "Filters", conflicts_with = "listen")]
    peer: Option<String>,

    /// Only messages that come to the program, or go from it
    #[arg(long, value_name = "DIRECTION", help_heading = "Filters", conflicts_with = "listen", value_parser = one_of::<Direction>(DIRECTIONS))]
    direction: Option<Direction>,

    /// Only every so-manieth message
    #[arg(long, value_name = "N", help_heading = "Filters", conflicts_with = "listen", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,

    /// No more than so many messages in a second; the others are counted
    #[arg(long, value_name = "N", help_heading = "Filters", conflicts_with = "listen")]
    rate: Option<u64>,

    /// Show what is in the messages, too
    #[arg(long, conflicts_with = "listen")]
    contents: bool,

    /// Do not read messages of more bytes [default: 65536]
    #[arg(long, value_name = "BYTES", conflicts_with = "listen")]
    max_bytes: Option<usize>,

    /// Print each message as a line of JSON
    #[arg(long, conflicts_with = "listen")]
    json: bool,

    /// Only what this side says (with --listen)
    #[arg(long, value_name = "SIDE", help_heading = "Filters", requires = "listen", value_parser = one_of::<Side>(SIDES))]
    from: Option<Side>,

    /// Only messages whose text has this in it (with --listen)
    #[arg(long, value_name = "TEXT", help_heading = "Filters", requires = "listen")]
    contains: Option<String>,

    /// End when so many messages have been printed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// End when so many connections have been closed (with --listen)
    #[arg(long, value_name = "N", requires = "listen", value_parser = clap::value_parser!(u64).range(1..))]
    connections: Option<u64>,

    /// Write what is printed to this file as well, as a recording in binary (with --listen)
    #[arg(long, value_name = "FILE", requires = "listen")]
    record: Option<PathBuf>,
}

/// Taps until it has seen enough.
///
/// # Errors
/// If nobody serves taps there, an address is not allowed, or nothing can be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let output = Output { messages: std::io::stdout(), note: output::note };
    let Some(listen) = &args.listen else {
        let wanted = args.wanted();
        let place = TapPlace::of(&args.target);
        let place = place.map_err(|error| Failure::Asked(format!("TARGET: {error}")))?;
        return look::run(&place, &wanted, output);
    };
    let settings = Settings {
        address: args.target.clone(),
        listen: listen.clone(),
        from: args.from,
        message: args.message.clone(),
        contains: args.contains.clone(),
        count: args.count,
        connections: args.connections,
        record: args.record.clone(),
    };
    tap::run(&settings, output)
}

impl Args {
    fn wanted(&self) -> Wanted {
        let filter = TapFilter::new().contents(self.contents);
        let mut filter = filter.types(&self.types).variants(&self.message);
        if let Some(peer) = &self.peer {
            filter = filter.peer(peer);
        }
        if let Some(direction) = self.direction {
            filter = filter.direction(direction);
        }
        if let Some(n) = self.sample {
            filter = filter.sample(n);
        }
        if let Some(per_s) = self.rate {
            filter = filter.rate(per_s);
        }
        if let Some(bytes) = self.max_bytes {
            filter = filter.max_bytes(bytes);
        }
        Wanted { filter, count: self.count, json: self.json }
    }
}
