//! `actinium wire tap`.

use actinium_app::Failure;
use actinium_app::output;
use actinium_app::parse::one_of;
use actinium_lab::wire::tap::{self, Output, Settings, Side};
use std::path::PathBuf;

/// Sides that send messages.
const SIDES: &[(&str, &str)] =
    &[("client", "The side that has connected"), ("server", "The side that was listening")];

/// Arguments of `actinium wire tap`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address at which the server listens, as 127.0.0.1:4000
    address: String,

    /// Address to which the client connects instead; port 0: any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: String,

    /// Only what this side says
    #[arg(long, value_name = "SIDE", help_heading = "Filters", value_parser = one_of::<Side>(SIDES))]
    from: Option<Side>,

    /// Only messages that are this variant of the message type
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', help_heading = "Filters")]
    message: Vec<String>,

    /// Only messages whose text has this in it
    #[arg(long, value_name = "TEXT", help_heading = "Filters")]
    contains: Option<String>,

    /// End when so many messages have been printed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// End when so many connections have been closed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    connections: Option<u64>,

    /// Write what is printed to this file as well, as a recording in binary
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Taps until it has seen enough.
///
/// # Errors
/// If an address is not allowed, or nothing can be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let settings = Settings {
        address: args.address.clone(),
        listen: args.listen.clone(),
        from: args.from,
        message: args.message.clone(),
        contains: args.contains.clone(),
        count: args.count,
        connections: args.connections,
        record: args.record.clone(),
    };
    tap::run(&settings, Output { messages: std::io::stdout(), note: output::note })
}
