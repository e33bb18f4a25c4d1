//! Measures the cost of a message on a link: a TCP connection of the process to itself, with one
//! thread that sends and one that receives.

use super::energy::Energy;
use actinium_observe::process::cpu_time::thread_time;
use actinium_wire::{Encoding, Link, Message, Options};
use serde::Serialize;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The cost of messages on a link in one encoding.
#[derive(Clone, Debug, Serialize)]
pub struct OnLink {
    /// How many were sent.
    pub messages: u64,
    /// How many came, whole and as they were sent.
    pub received: u64,
    /// Messages per second.
    pub messages_per_s: f64,
    /// CPU time of both ends, the system's part included.
    pub cpu_ns: f64,
    /// Joules of the whole machine, if it tells.
    pub joules: Option<f64>,
    /// Why it does not, if so.
    pub no_joules_because: Option<String>,
}

/// Sends a message so many times.
///
/// # Errors
/// If the connection fails.
pub fn measure<M: Message + Clone + PartialEq + Sync>(
    message: &M,
    encoding: Encoding,
    messages: u64,
    checksum: bool,
) -> Result<OnLink, String> {
    let io = |error: std::io::Error| format!("the loopback link: {error}");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(io)?;
    let near = TcpStream::connect(listener.local_addr().map_err(io)?).map_err(io)?;
    let (far, _) = listener.accept().map_err(io)?;
    let options =
        Options { encodings: vec![encoding], checksum: Some(checksum), ..Options::default() };
    let energy = Energy::begin();
    let begun = Instant::now();
    let (sent, received) = thread::scope(|scope| {
        let sender = scope.spawn(|| send(near, &options, message, messages));
        let received = receive(far, &options, message);
        (sender.join(), received)
    });
    let elapsed = begun.elapsed();
    let joules = energy.and_then(|energy| energy.joules());
    let sent = sent.map_err(|_| "the sending thread has panicked".to_owned())??;
    let (received, receiving) = received?;
    let cpu = sent + receiving;
    Ok(OnLink {
        messages,
        received,
        messages_per_s: received as f64 / elapsed.as_secs_f64(),
        cpu_ns: cpu.as_secs_f64() * 1e9 / messages as f64,
        joules: joules.as_ref().ok().copied(),
        no_joules_because: joules.err(),
    })
}

fn send<M: Message>(
    stream: TcpStream,
    options: &Options,
    message: &M,
    messages: u64,
) -> Result<Duration, String> {
    let before = thread_time();
    let mut link = Link::open_tcp::<M>(stream, options).map_err(|error| error.to_string())?;
    for _ in 0..messages {
        link.queue(message).map_err(|error| error.to_string())?;
    }
    link.flush().map_err(|error| error.to_string())?;
    Ok(thread_time() - before)
}

fn receive<M: Message + PartialEq>(
    stream: TcpStream,
    options: &Options,
    expected: &M,
) -> Result<(u64, Duration), String> {
    let before = thread_time();
    let mut link = Link::open_tcp::<M>(stream, options).map_err(|error| error.to_string())?;
    let mut received = 0;
    let mut last = None;
    while let Some(message) = link.receive::<M>().map_err(|error| error.to_string())? {
        received += 1;
        last = Some(message);
    }
    let cpu = thread_time() - before;
    match last {
        Some(last) if last != *expected => Err("a message did not come as it was sent".to_owned()),
        _ => Ok((received, cpu)),
    }
}
