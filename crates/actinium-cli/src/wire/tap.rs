//! `actinium wire tap`: a link between, that passes on every byte and prints every message.

use crate::{Failure, output};
use actinium_wire::frame::{Frame, Kind, Unframer};
use actinium_wire::hello::Hello;
use actinium_wire::link::hello_of;
use actinium_wire::recording::{append_hello, append_message};
use actinium_wire::{Encoding, Limits, Value};
use clap::ValueEnum;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::thread;

/// What can be typed after `actinium wire tap`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the server listens, as 127.0.0.1:4000
    address: String,

    /// Where the client is to connect instead; port 0: any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: String,

    /// Only what this side says
    #[arg(long, value_name = "SIDE", help_heading = "Filters")]
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

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Side {
    /// Who has connected.
    Client,
    /// Who was listening.
    Server,
}

/// What the threads tell.
enum News {
    Heard { connection: u64, side: Side, frame: Frame },
    Damaged { connection: u64, side: Side, problem: String },
    Closed,
    NoServer(String),
}

/// Taps until it has seen enough.
///
/// # Errors
/// If an address is not allowed, or nothing can be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let asked = |flag: &str, value: &str, error: std::io::Error| {
        Failure::Asked(format!("{flag}: '{value}': {error}"))
    };
    let listener =
        TcpListener::bind(&args.listen).map_err(|error| asked("--listen", &args.listen, error))?;
    // Whether somebody listens there is found when a client comes; whether it is an address, now.
    std::net::ToSocketAddrs::to_socket_addrs(&args.address)
        .map_err(|error| asked("ADDRESS", &args.address, error))?;
    let mut printer = Printer::new(args)?;
    let own = listener.local_addr().map_err(|error| asked("--listen", &args.listen, error))?;
    output::note(&format!("listening on {own}, passing on to {}", args.address));
    let (sender, news) = mpsc::channel();
    let address = args.address.clone();
    thread::spawn(move || accept(&listener, &address, &sender));
    let mut closed = 0;
    for news in news {
        match news {
            News::Heard { connection, side, frame } => printer.heard(connection, side, &frame)?,
            News::Damaged { connection, side, problem } => {
                output::note(&format!("connection {connection}, {}: {problem}", name(side)));
            }
            News::NoServer(problem) => {
                output::note(&format!("{}: {problem}", args.address));
                closed += 1;
            }
            News::Closed => closed += 1,
        }
        let enough = args.count.is_some_and(|count| printer.printed >= count);
        if enough || args.connections.is_some_and(|connections| closed >= connections) {
            break;
        }
    }
    Ok(())
}

fn accept(listener: &TcpListener, address: &str, news: &Sender<News>) {
    for (connection, client) in (1..).zip(listener.incoming()) {
        let Ok(client) = client else { continue };
        let both = TcpStream::connect(address)
            .and_then(|server| Ok((client.try_clone()?, server.try_clone()?, server)));
        match both {
            Ok((client2, server2, server)) => {
                let news = news.clone();
                thread::spawn(move || {
                    let other = news.clone();
                    let back = thread::spawn(move || {
                        pass(server2, client2, connection, Side::Server, &other);
                    });
                    pass(client, server, connection, Side::Client, &news);
                    let _ = back.join();
                    let _ = news.send(News::Closed);
                });
            }
            Err(error) => drop(news.send(News::NoServer(error.to_string()))),
        }
    }
}

/// Passes on what comes, byte by byte as it is, and tells of the frames in it.
fn pass(mut from: TcpStream, mut to: TcpStream, connection: u64, side: Side, news: &Sender<News>) {
    let _ = to.set_nodelay(true);
    let mut unframer = Some(Unframer::new(FRAME_BYTES_MAX));
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
        if let Some(frames) = &mut unframer {
            frames.feed(&buffer[..count]);
            if !tell(frames, connection, side, news) {
                unframer = None;
            }
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Whether the next frame can be found.
fn tell(frames: &mut Unframer, connection: u64, side: Side, news: &Sender<News>) -> bool {
    loop {
        match frames.next() {
            Ok(Some(frame)) => drop(news.send(News::Heard { connection, side, frame })),
            Ok(None) => return true,
            Err(error) => {
                let problem = error.to_string();
                drop(news.send(News::Damaged { connection, side, problem }));
                if error.is_fatal() {
                    return false;
                }
            }
        }
    }
}

/// More than any link takes by default.
const FRAME_BYTES_MAX: usize = 256 << 20;

fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

struct Printer<'a> {
    args: &'a Args,
    /// Who has said which hello.
    hellos: Vec<(u64, Side, Hello)>,
    record: Option<(File, Option<Hello>)>,
    printed: u64,
}

impl<'a> Printer<'a> {
    fn new(args: &'a Args) -> Result<Self, Failure> {
        let create = |path: &PathBuf| {
            File::create(path)
                .map(|file| (file, None))
                .map_err(|error| Failure::Asked(format!("--record: '{}': {error}", path.display())))
        };
        let record = args.record.as_ref().map(create).transpose()?;
        Ok(Printer { args, hellos: Vec::new(), record, printed: 0 })
    }

    fn heard(&mut self, connection: u64, side: Side, frame: &Frame) -> Result<(), Failure> {
        let who = format!("connection {connection}, {}", name(side));
        match frame.kind {
            Kind::Hello => match hello_of(frame) {
                Ok(hello) => {
                    let Hello { protocol, version, fingerprint, .. } = &hello;
                    output::note(&format!(
                        "{who}: {protocol}, version {version}, fingerprint {fingerprint:016x}"
                    ));
                    self.hellos.retain(|(other, of, _)| (*other, *of) != (connection, side));
                    self.hellos.push((connection, side, hello));
                }
                Err(error) => output::note(&format!("{who}: {error}")),
            },
            Kind::Refusal => {
                let why: Result<String, _> =
                    frame.encoding.decode(&frame.payload, &Limits::default());
                output::note(&format!("{who} refuses: {}", why.unwrap_or_default()));
            }
            Kind::Message => return self.message(connection, side, frame),
        }
        Ok(())
    }

    fn message(&mut self, connection: u64, side: Side, frame: &Frame) -> Result<(), Failure> {
        let args = self.args;
        if args.from.is_some_and(|wanted| wanted != side) {
            return Ok(());
        }
        let who = format!("connection {connection}, {}", name(side));
        let said = self.hellos.iter().find(|(of, by, _)| (*of, *by) == (connection, side));
        let Some((_, _, hello)) = said else {
            output::note(&format!("{who}: a message without a hello before it"));
            return Ok(());
        };
        let limits = Limits { frame_bytes: FRAME_BYTES_MAX, ..Limits::default() };
        let value = match Value::decode(frame.encoding, &frame.payload, &hello.schema, &limits) {
            Ok(value) => value,
            Err(error) => {
                output::note(&format!("{who}, offset {}: {error}", frame.offset));
                return Ok(());
            }
        };
        let variant = value.variant().unwrap_or(&hello.protocol);
        if !args.message.is_empty() && !args.message.iter().any(|wanted| wanted == variant) {
            return Ok(());
        }
        let mut text = Vec::new();
        if let Err(error) = value.encode(Encoding::Text, &mut text) {
            output::note(&format!("{who}, offset {}: {error}", frame.offset));
            return Ok(());
        }
        let text = String::from_utf8_lossy(&text);
        if args.contains.as_ref().is_some_and(|wanted| !text.contains(wanted)) {
            return Ok(());
        }
        self.printed += 1;
        let line = format!("{connection} {} {} {text}", name(side), frame.encoding);
        if let Some((file, head)) = &mut self.record {
            record(file, head, hello, &value)
                .map_err(|problem| Failure::Failed(format!("--record: {problem}")))?;
        }
        output::print(line)
    }
}

/// Adds a message, if it is of the same types as the first one.
fn record(
    file: &mut File,
    head: &mut Option<Hello>,
    hello: &Hello,
    value: &Value,
) -> Result<(), String> {
    let mut out = Vec::new();
    match head {
        None => {
            append_hello(Encoding::Binary, hello, &mut out)?;
            *head = Some(hello.clone());
        }
        Some(first) if first.fingerprint != hello.fingerprint => {
            return Err(
                "the two sides have different types: record one of them (--from)".to_owned()
            );
        }
        Some(_) => {}
    }
    let mut message = Vec::new();
    value.encode(Encoding::Binary, &mut message).map_err(|error| error.to_string())?;
    append_message(Encoding::Binary, &message, &mut out)?;
    file.write_all(&out).map_err(|error| error.to_string())
}
