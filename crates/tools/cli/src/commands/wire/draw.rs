//! `actinium wire draw`.

use actinium_app::Failure;
use actinium_app::output;
use actinium_lab::wire::file;
use actinium_wire_model::{Protocol, draw, parse};
use clap::ValueEnum;
use std::path::PathBuf;

/// Arguments of `actinium wire draw`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file of Rust with protocol! in it
    file: PathBuf,

    /// Format of the drawing
    #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
    format: Format,

    /// Only the protocol of this name
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A state diagram of Mermaid's.
    Mermaid,
    /// A graph of Graphviz's.
    Dot,
}

/// Draws.
///
/// # Errors
/// If the file is no Rust, a protocol in it makes no sense, there is none of that name, or stdout
/// can not be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let name = args.file.display();
    let asked = |problem: String| Failure::Asked(format!("{name}{problem}"));
    let source = file::read(&args.file, 16 << 20)?;
    let source = String::from_utf8(source).map_err(|error| asked(format!(": {error}")))?;
    let protocols = parse::file(&source).map_err(|error| {
        let place = error.span().start();
        asked(format!(":{}:{}: {error}", place.line, place.column + 1))
    })?;
    let wanted =
        |protocol: &&Protocol| args.protocol.as_ref().is_none_or(|name| protocol.name == name);
    let draw = |protocol: &Protocol| match args.format {
        Format::Mermaid => draw::mermaid(protocol),
        Format::Dot => draw::dot(protocol),
    };
    let drawn: Vec<String> = protocols.iter().filter(wanted).map(draw).collect();
    if drawn.is_empty() {
        let all: Vec<String> = protocols.iter().map(|one| one.name.to_string()).collect();
        return Err(match (&args.protocol, all.is_empty()) {
            (Some(wanted), false) => Failure::Asked(format!(
                "--protocol: '{wanted}' is not in {name}: there are {}",
                all.join(", ")
            )),
            _ => asked(": there is no protocol! in it".to_owned()),
        });
    }
    output::print(drawn.join("\n"))
}
