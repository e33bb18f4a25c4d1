//! Measures the cost of strangers: memory of the gateway's process and latency of a client that was
//! let in, with nobody else, with idle strangers, and with slow ones. It prints, and asserts
//! nothing.
//!
//! `cargo run --release -p actinium-gateway --example strangers -- [IDLE [SLOW]]`, 10,000 and 1,000
//! by default. The strangers are another process, so that the memory is the gateway's alone; each
//! of the two needs a descriptor per connection, and raises its own limit as far as it may.

#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use actinium_actor::{Actor, Context, System};
use actinium_gateway::{Call, Gateway, Limits, Served};
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

actinium_wire::protocol! {
    /// Says what it hears.
    protocol Echo, version 1, between client and server;
    state Open { client request Say(u64) -> server Said(u64); }
}

struct Echoes;

impl Actor for Echoes {
    type Msg = Call<echo::Message>;

    fn handle(&mut self, call: Self::Msg, _ctx: &mut Context<'_, Self>) {
        if let echo::Message::Say(number) = call.message {
            // An error, if the client has gone meanwhile.
            let _ = call.peer.send(echo::Message::Said(number));
        }
    }
}

impl Served for Echoes {
    type Talk = echo::Message;

    fn heard(call: Call<echo::Message>) -> Self::Msg {
        call
    }
}

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    raise_descriptors()?;
    match args.first().map(String::as_str) {
        Some("hold") => hold(args[1].parse()?, args[2].parse()?, args[3].parse()?),
        first => measure(
            first.map_or(Ok(10_000), str::parse)?,
            args.get(1).map_or(Ok(1000), |text| text.parse())?,
        ),
    }
}

/// Raises this process's limit of descriptors as far as it may.
fn raise_descriptors() -> Result<(), Failed> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(())
}

fn measure(idle: usize, slow: usize) -> Result<(), Failed> {
    let all = idle + slow;
    let roomy = Limits {
        strangers: all + 64,
        strangers_per_address: all + 64,
        admission: Duration::from_secs(3600),
        ..Limits::default()
    };
    println!(
        "| limits | strangers | held | refused | displaced | RSS, MiB | median, µs | 99 %, µs |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, limits) in [("default", Limits::default()), ("as many as come", roomy)] {
        for (idle, slow) in [(0, 0), (idle, 0), (idle, slow)] {
            row(name, limits, idle, slow)?;
        }
    }
    Ok(())
}

fn row(name: &str, limits: Limits, idle: usize, slow: usize) -> Result<(), Failed> {
    let system = System::builder().workers(1).build()?;
    let echoes = system.spawn(Echoes);
    let gateway = Gateway::builder().serve("echo", &echoes)?.token("own", "s3cret").limits(limits);
    let gateway = gateway.start("127.0.0.1:0")?;
    let mut holding = Command::new(std::env::current_exe()?)
        .args(["hold", &gateway.address().to_string(), &idle.to_string(), &slow.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut ready = String::new();
    let out = holding.stdout.take().ok_or("no output")?;
    BufReader::new(out).read_line(&mut ready)?;
    let mut times = latencies(gateway.address())?;
    times.sort_unstable();
    let stats = gateway.stats();
    println!(
        "| {name} | {} | {} | {} | {} | {:.1} | {} | {} |",
        idle + slow,
        stats.strangers,
        stats.refused,
        stats.displaced,
        resident_mib()?,
        times[times.len() / 2].as_micros(),
        times[times.len() * 99 / 100].as_micros(),
    );
    drop(holding.stdin.take());
    holding.wait()?;
    gateway.stop();
    system.shutdown(actinium_actor::Shutdown::Drop);
    Ok(())
}

/// Of requests on a connection of their own each, as a client has to that was not there before.
fn latencies(address: SocketAddr) -> Result<Vec<Duration>, Failed> {
    let body = "{\"Say\":1}";
    let head =
        "POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer s3cret";
    let text = format!(
        "{head}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut times = Vec::new();
    for _ in 0..500 {
        let start = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(text.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if !answer.starts_with("HTTP/1.1 200") {
            return Err(format!("expected an answer, found {answer}").into());
        }
        times.push(start.elapsed());
    }
    Ok(times)
}

fn resident_mib() -> Result<f64, Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}

/// Holds connections until stdin ends: idle ones, and slow ones that say a byte of a head every now
/// and then.
fn hold(address: SocketAddr, idle: usize, slow: usize) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut held = Vec::new();
        for index in 0..idle + slow {
            let socket = tokio::net::TcpSocket::new_v4()?;
            // From many addresses: all of 127.0.0.0/8 is this host.
            let from = [127, 1, (index / 200 % 256) as u8, (index % 200) as u8 + 1];
            socket.bind((from, 0).into())?;
            let stream = socket.connect(address).await?;
            if index < idle {
                held.push(stream);
            } else {
                tokio::spawn(trickle(stream));
            }
        }
        println!("ready");
        let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        ended.await??;
        Ok::<(), Failed>(())
    })
}

async fn trickle(mut stream: tokio::net::TcpStream) {
    use tokio::io::AsyncWriteExt;
    let head = b"POST /echo HTTP/1.1\r\nx-slow: ";
    for index in 0.. {
        let byte = head.get(index).copied().unwrap_or(b'x');
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
