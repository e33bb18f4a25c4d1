//! A link in between, which passes on every byte and prints every message.

use crate::Failure;
use actinium_wire::frame::{Frame, Kind, Unframer};
use actinium_wire::hello::Hello;
use actinium_wire::link::hello_of;
use actinium_wire::recording::{append_hello, append_message};
use actinium_wire::schema::ValidSchema;
use actinium_wire::{Encoding, Limits, Value};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{self, Sender};
use std::thread;

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that connected.
    Client,
    /// The side that listened.
    Server,
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "client" => Ok(Side::Client),
            "server" => Ok(Side::Server),
            _ => Err(format!("'{text}' is not allowed: client, server")),
        }
    }
}

/// The settings of a tap: the connection to tap, and the messages to print.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where the server listens.
    pub address: String,
    /// Where the client is to connect instead.
    pub listen: String,
    /// Only what this side says.
    pub from: Option<Side>,
    /// Only messages that are one of these variants of the message type; all if empty.
    pub message: Vec<String>,
    /// Only messages whose text has this in it.
    pub contains: Option<String>,
    /// The end comes when so many messages have been printed.
    pub count: Option<u64>,
    /// The end comes when so many connections have been closed.
    pub connections: Option<u64>,
    /// Where to write the same as a recording in binary.
    pub record: Option<PathBuf>,
}

/// Where a tap says what it has to say.
#[derive(Debug)]
pub struct Output<W, N> {
    /// Takes the messages, a line each.
    pub messages: W,
    /// Takes remarks: hellos, faults, connections.
    pub note: N,
}

/// A report from a thread to the printer.
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
pub fn run<W: Write, N: FnMut(&str)>(args: &Settings, output: Output<W, N>) -> Result<(), Failure> {
    let asked = |flag: &str, value: &str, error: std::io::Error| {
        Failure::Asked(format!("{flag}: '{value}': {error}"))
    };
    let listener =
        TcpListener::bind(&args.listen).map_err(|error| asked("--listen", &args.listen, error))?;
    // Whether somebody listens there is found when a client comes; whether it is an address, now.
    std::net::ToSocketAddrs::to_socket_addrs(&args.address)
        .map_err(|error| asked("ADDRESS", &args.address, error))?;
    let mut printer = Printer::new(args, output)?;
    let own = listener.local_addr().map_err(|error| asked("--listen", &args.listen, error))?;
    (printer.output.note)(&format!("listening on {own}, passing on to {}", args.address));
    let (sender, news) = mpsc::channel();
    let address = args.address.clone();
    thread::spawn(move || accept(&listener, &address, &sender));
    let mut closed = 0;
    for news in news {
        match news {
            News::Heard { connection, side, frame } => printer.heard(connection, side, &frame)?,
            News::Damaged { connection, side, problem } => {
                (printer.output.note)(&format!(
                    "connection {connection}, {}: {problem}",
                    name(side)
                ));
            }
            News::NoServer(problem) => {
                (printer.output.note)(&format!("{}: {problem}", args.address));
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

struct Printer<'a, W, N> {
    args: &'a Settings,
    output: Output<W, N>,
    /// The hello of each side of each connection.
    hellos: Vec<(u64, Side, Hello, ValidSchema<'static>)>,
    record: Option<(File, Option<Hello>)>,
    printed: u64,
}

impl<'a, W: Write, N: FnMut(&str)> Printer<'a, W, N> {
    fn new(args: &'a Settings, output: Output<W, N>) -> Result<Self, Failure> {
        let create = |path: &Path| {
            File::create(path)
                .map(|file| (file, None))
                .map_err(|error| Failure::Asked(format!("--record: '{}': {error}", path.display())))
        };
        let record = args.record.as_deref().map(create).transpose()?;
        Ok(Printer { args, output, hellos: Vec::new(), record, printed: 0 })
    }

    fn heard(&mut self, connection: u64, side: Side, frame: &Frame) -> Result<(), Failure> {
        let who = format!("connection {connection}, {}", name(side));
        match frame.kind {
            Kind::Hello => match hello_of(frame) {
                Ok(hello) => {
                    let Hello { protocol, version, fingerprint, .. } = &hello;
                    (self.output.note)(&format!(
                        "{who}: {protocol}, version {version}, fingerprint {fingerprint:016x}"
                    ));
                    self.hellos.retain(|(other, of, ..)| (*other, *of) != (connection, side));
                    match hello.schema.clone().into_valid() {
                        Ok(types) => self.hellos.push((connection, side, hello, types)),
                        Err(fault) => (self.output.note)(&format!("{who}: {fault}")),
                    }
                }
                Err(error) => (self.output.note)(&format!("{who}: {error}")),
            },
            Kind::Refusal => {
                let why: Result<String, _> =
                    frame.encoding.decode(&frame.payload, &Limits::default());
                (self.output.note)(&format!("{who} refuses: {}", why.unwrap_or_default()));
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
        let said = self.hellos.iter().find(|(of, by, ..)| (*of, *by) == (connection, side));
        let Some((_, _, hello, types)) = said else {
            (self.output.note)(&format!(
                "{who}: a message without a hello that makes sense before it"
            ));
            return Ok(());
        };
        let limits = Limits { frame_bytes: FRAME_BYTES_MAX, ..Limits::default() };
        let value = match Value::decode(frame.encoding, &frame.payload, types, &limits) {
            Ok(value) => value,
            Err(error) => {
                (self.output.note)(&format!("{who}, offset {}: {error}", frame.offset));
                return Ok(());
            }
        };
        let variant = value.variant().unwrap_or(&hello.protocol);
        if !args.message.is_empty() && !args.message.iter().any(|wanted| wanted == variant) {
            return Ok(());
        }
        let mut text = Vec::new();
        if let Err(error) = value.encode(Encoding::Text, &mut text) {
            (self.output.note)(&format!("{who}, offset {}: {error}", frame.offset));
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
        let written = self.output.messages.write_all(line.as_bytes());
        written.and_then(|()| self.output.messages.flush()).map_err(actinium_app::output::failure)
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
