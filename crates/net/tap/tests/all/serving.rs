//! Taps of other processes, and whoever comes with something else.

use crate::tapping::{Order, show};
use actinium_tap::{
    Direction, ENV_TAP, Heard, TapClient, TapFilter, TapPlace, TapPoint, TapServer,
};
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;

type Outcome = Result<(), Box<dyn Error>>;

/// The next message that a client hears.
fn next(client: &mut TapClient) -> Result<String, Box<dyn Error>> {
    match client.next_heard()? {
        Some(Heard::Message(message)) => Ok(message.to_string()),
        other => Err(format!("{other:?}").into()),
    }
}

#[test]
fn another_process_looks_by_socket_and_by_port() -> Outcome {
    let folder = tempfile::tempdir()?;
    let point = TapPoint::new("served");
    let socket = TapPlace::Socket(folder.path().join("tap.sock"));
    for place in [socket.clone(), TapPlace::to_serve("127.0.0.1:0")?] {
        let server = TapServer::start(&place)?;
        let filter = TapFilter::new().contents(true).direction(Direction::Out);
        let mut client = TapClient::connect(server.place(), &filter)?;
        assert!(client.points().contains(&"served".to_owned()), "{client:?}");
        assert_eq!(client.process(), u64::from(std::process::id()));
        show(&point, Direction::In, &Order::Cancel(1));
        show(&point, Direction::Out, &Order::Cancel(2));
        let line = next(&mut client)?;
        assert!(line.starts_with("served out node 1 message tests.order::Cancel"), "{line}");
        assert!(line.ends_with("{\"Cancel\":2}"), "{line}");
        // A program that ends says so by hanging up.
        drop(server);
        while client.next_heard()?.is_some() {}
    }
    let TapPlace::Socket(path) = socket else { unreachable!("it is one") };
    assert!(!path.exists(), "it is taken away at the end");
    Ok(())
}

#[test]
fn who_asks_for_nonsense_is_told_so() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tap.sock");
    let server = TapServer::start(&TapPlace::Socket(path.clone()))?;
    let answer = |request: &[u8]| -> Result<String, Box<dyn Error>> {
        let mut stream = UnixStream::connect(&path)?;
        stream.write_all(request)?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    };
    assert!(answer(b"GET / HTTP/1.1\r\n\r\n")?.contains("\"error\""));
    assert!(answer(b"{\"tap\":7}\n")?.contains("version 1, not 7"));
    assert!(answer(b"{\"tap\":1,\"rate\":\"x\"}\n")?.contains("\"error\""));
    // Without end.
    assert!(answer(&[b'{'; 100_000]).map_or(true, |line| line.contains("error")));
    assert!(answer(b"{\"tap\":1}\n")?.contains("\"points\""), "it still serves");
    drop(server);
    Ok(())
}

#[test]
fn too_many_clients_are_refused_and_slow_ones_lose_messages() -> Outcome {
    let server = TapServer::start(&TapPlace::to_serve("127.0.0.1:0")?)?;
    let TapPlace::Port(address) = server.place() else { unreachable!("it is one") };
    let point = TapPoint::new("busy");
    let filter = TapFilter::new().types(["tests.order"]);
    let mut slow = TapClient::connect(server.place(), &filter)?;
    // More than sockets and queue hold: whoever shows them does not wait.
    for number in 0..200_000 {
        show(&point, Direction::In, &Order::Cancel(number));
    }
    let missed = loop {
        match slow.next_heard()? {
            Some(Heard::Missed(missed)) => break missed,
            Some(_) => {}
            None => panic!("it is still there"),
        }
    };
    assert!(missed.overflow > 0, "{missed:?}");

    let all: Vec<_> =
        (0..20).map(|_| TapClient::connect(server.place(), &TapFilter::new())).collect();
    let refused = all.iter().filter_map(|it| it.as_ref().err()).map(ToString::to_string);
    let refused: Vec<_> = refused.collect();
    assert!(refused.len() >= 5, "{}", refused.len());
    let mut last = String::new();
    TcpStream::connect(address)?.read_to_string(&mut last)?;
    assert!(last.contains("too many look"), "{last}");
    Ok(())
}

#[test]
fn a_socket_in_use_is_an_error_and_a_dead_one_is_taken_away() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tap.sock");
    let place = TapPlace::Socket(path.clone());
    let living = TapServer::start(&place)?;
    assert!(TapServer::start(&place).is_err());
    drop(living);
    drop(std::os::unix::net::UnixListener::bind(&path)?);
    assert!(path.exists());
    drop(TapServer::start(&place)?);
    std::fs::write(&path, "a file of somebody")?;
    assert!(TapServer::start(&place).is_err() && path.exists());
    assert!(TapServer::start(&TapPlace::Port("0.0.0.0:0".parse()?)).is_err());
    Ok(())
}

/// A program that knows nothing of servers of taps. Run by itself, it does nothing.
#[test]
fn a_program_with_a_point() {
    if std::env::var_os(ENV_TAP).is_none() {
        return;
    }
    let point = TapPoint::new("a program's");
    while !point.is_on() {
        std::thread::yield_now();
    }
    show(&point, Direction::In, &Order::Cancel(3));
    while point.is_on() {
        std::thread::yield_now();
    }
}

#[test]
fn the_environment_alone_lets_a_program_be_looked_at() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tap.sock");
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "serving::a_program_with_a_point", "--nocapture"]);
    let mut child = command.env(ENV_TAP, &path).spawn()?;
    let place = TapPlace::Socket(path.clone());
    let mut client = loop {
        match TapClient::connect(&place, &TapFilter::new()) {
            Ok(client) => break client,
            // It has not come so far.
            Err(_) if child.try_wait()?.is_none() => std::thread::yield_now(),
            Err(error) => return Err(error.into()),
        }
    };
    assert_eq!(client.process(), u64::from(child.id()));
    let line = next(&mut client)?;
    assert!(line.starts_with("a program's in  node 1 message tests.order::Cancel"), "{line}");
    // It ends when nobody looks any more.
    drop(client);
    assert!(child.wait()?.success());
    assert!(!path.exists(), "the socket goes with the last point");

    // What makes no sense is said, and the program runs.
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "serving::a_program_with_a_bad_setting", "--nocapture"]);
    let output = command.env(ENV_TAP, "0.0.0.0:1").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("ACTINIUM_TAP") && said.contains("'0.0.0.0:1' is not allowed"), "{said}");
    Ok(())
}

#[test]
fn a_program_with_a_bad_setting() {
    let point = TapPoint::new("a program's");
    show(&point, Direction::In, &Order::Cancel(3));
}
