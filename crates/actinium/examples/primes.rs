//! A program with an event graph of its own, and with the flags, the progress bar, the summary and
//! the page that all such programs have: which numbers are prime?
//!
//! `cargo run --release -p actinium --features app --example primes -- --workers 2 --page out.html`

use actinium::app::{self, GraphArgs, clap};
use actinium::events::{
    Builder, Cause, Event, Filter, Graph, Input, Next, OutputMut, Source, Threads, ThreadsMut,
};
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs::File, io::Write};

/// Looks for prime numbers. Each number is an event.
#[derive(Parser)]
#[command(name = "primes", version)]
struct Args {
    /// The first number
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    from: u64,

    /// The last number
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    to: u64,

    /// Write the primes to this file, one a line
    #[arg(long, value_name = "FILE", default_value = "/dev/null")]
    output: PathBuf,

    #[command(flatten)]
    graph: GraphArgs,
}

struct Numbers {
    from: u64,
    to: u64,
}

impl Source for Numbers {
    type Product = u64;

    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        let value = self.from + number;
        Ok(if value <= self.to { Next::Event(value) } else { Next::End })
    }
}

struct IsPrime(Input<u64>);

impl Filter for IsPrime {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        match *event.get(self.0) {
            0 => Err("0 has every number as a divisor".into()),
            1 => Ok(false),
            n => Ok((2..).take_while(|d| d * d <= n).all(|d| n % d != 0)),
        }
    }
}

struct Lines(Input<u64>, File);

impl OutputMut for Lines {
    fn write(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        Ok(writeln!(self.1, "{}", *event.get(self.0))?)
    }
}

fn graph(numbers: Numbers, output: &Path) -> Result<Graph, app::Failure> {
    let asked = |error| app::Failure::Asked(format!("--output: {}: {error}", output.display()));
    let file = File::create(output).map_err(asked)?;
    let (mut builder, numbers) = Builder::with_source("numbers", numbers);
    let is_prime =
        builder.filter("is prime", Threads::Concurrent, move |inputs| IsPrime(inputs.get(numbers)));
    let primes = builder.path("primes", [is_prime]);
    builder.output_mut("write", ThreadsMut::Serial.select(primes), move |inputs| {
        Ok(Lines(inputs.get(numbers), file.try_clone()?))
    });
    Ok(builder.build()?)
}

pub(crate) fn main() -> ExitCode {
    app::main(|args: Args, matches| {
        let numbers = Numbers { from: args.from, to: args.to };
        args.graph.run(matches, |_| graph(numbers, &args.output))
    })
}
