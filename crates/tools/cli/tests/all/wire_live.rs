//! `actinium wire draw` and `actinium wire tap`: what they print, and what each flag does.

use crate::common::{command, run};
use actinium_wire::recording::Recording;
use actinium_wire::{Encoding, Limits, Link, Message, Options};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;

const SHOPS: &str = "
mod inner {
    protocol! {
        pub protocol Shop, version 1, between client and server;
        state Idle { client signal Bye -> end; }
    }
}
actinium_wire::protocol! {
    protocol Bank, version 2, between teller and vault;
    state Shut within 5s { teller request Open -> vault Opened; }
}
";

/// A file of this test's own.
fn file(name: &str, content: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("wire-live-{name}"));
    std::fs::write(&path, content).expect("it is written");
    path.to_str().expect("it is UTF-8").to_owned()
}

#[test]
fn protocols_of_a_file_are_drawn() {
    let path = file("shops.rs", SHOPS);
    let both = run(&["wire", "draw", &path]).ok();
    assert!(both.contains("title: Shop, version 1") && both.contains("title: Bank, version 2"));
    assert!(both.contains("    Idle --> [*] : client: Bye\n"), "{both}");
    let one = run(&["wire", "draw", &path, "--protocol", "Bank", "--format", "dot"]).ok();
    assert!(one.starts_with("digraph Bank {\n") && !one.contains("Shop"), "{one}");
    assert!(one.contains("\"Shut\" [label=\"Shut\\nwithin 5 s\"];"), "{one}");
}

#[test]
fn what_can_not_be_drawn_is_said_with_its_place() {
    let refused = |path: &str, more: &[&str], line: &str| {
        let ran = run(&[&["wire", "draw", path], more].concat());
        assert_eq!((ran.code, ran.stderr), (Some(2), format!("actinium: {line}\n")));
    };
    let path = file(
        "wrong.rs",
        "\nprotocol! {\n    protocol A, version 1, between b and c;\n    state D { b shout E; }\n}\n",
    );
    refused(
        &path,
        &[],
        &format!("{path}:4:17: protocol: expected `request`, `signal` or `stream`, found `shout`"),
    );
    let path = file("none.rs", "fn main() {}");
    refused(&path, &[], &format!("{path}: there is no protocol! in it"));
    let path = file("other.rs", SHOPS);
    refused(
        &path,
        &["--protocol", "Inn"],
        &format!("--protocol: 'Inn' is not in {path}: there are Shop, Bank"),
    );
    let ran = run(&["wire", "draw", &path, "--format", "svg"]);
    assert_eq!(ran.stderr, "actinium: --format: 'svg' is not allowed: mermaid, dot\n");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
enum Talk {
    Ping(u32),
    Pong { text: String },
}

/// Runs a tap between a client that sends Ping(0), Ping(1), .. and a server that answers each with
/// Pong; gives what it prints.
fn tapped(pings: u32, encoding: Encoding, flags: &[&str]) -> (Vec<String>, String) {
    let (code, lines, notes) = ended(pings, encoding, flags);
    assert_eq!(code, Some(0), "{notes}");
    (lines, notes)
}

/// As `tapped`, with the tap's exit code.
fn ended(pings: u32, encoding: Encoding, flags: &[&str]) -> (Option<i32>, Vec<String>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let server = listener.local_addr().expect("it listens").to_string();
    let serving = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the tap connects");
        let mut link = Link::open_tcp::<Talk>(stream, &Options::default()).expect("it opens");
        while let Ok(Some(Talk::Ping(number))) = link.receive() {
            if link.send(&Talk::Pong { text: format!("{number}!") }).is_err() {
                break;
            }
        }
    });
    let between: &[&str] =
        if flags.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
    let mut tap = command(&[&["wire", "tap", &server], between, flags].concat());
    let mut tap = tap.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut notes = BufReader::new(tap.stderr.take().expect("it is a pipe"));
    let mut first = String::new();
    notes.read_line(&mut first).expect("it says where it listens");
    let address = first.strip_prefix("actinium: listening on ").expect("it listens");
    let address = address.split(',').next().expect("an address").to_owned();
    let options = Options { encodings: vec![encoding], ..Options::default() };
    let stream = TcpStream::connect(address).expect("it listens");
    let mut link = Link::open_tcp::<Talk>(stream, &options).expect("it opens");
    for number in 0..pings {
        // A tap that has seen enough is gone, and the link with it.
        if link.send(&Talk::Ping(number)).is_err() || !matches!(link.receive::<Talk>(), Ok(Some(_)))
        {
            break;
        }
    }
    drop(link);
    let output = tap.wait_with_output().expect("it ends");
    serving.join().expect("it does not panic");
    let mut rest = String::new();
    notes.read_to_string(&mut rest).expect("it is UTF-8");
    let stdout = String::from_utf8(output.stdout).expect("it is UTF-8");
    // The two directions may overtake each other on their way to the printer.
    let mut lines: Vec<String> = stdout.lines().map(ToOwned::to_owned).collect();
    lines.sort();
    (output.status.code(), lines, first + &rest)
}

#[test]
fn a_record_that_finds_no_room_ends_the_tap_and_says_so() {
    let (code, lines, notes) = ended(3, Encoding::Binary, &["--record", "/dev/full"]);
    assert_eq!((code, lines.len()), (Some(1), 0), "{notes}");
    assert!(notes.contains("--record: No space left on device"), "{notes}");
}

#[test]
fn a_tap_prints_what_both_sides_say_whatever_the_encoding() {
    for encoding in Encoding::ALL {
        let (lines, notes) = tapped(2, encoding, &["--connections", "1"]);
        assert_eq!(
            lines,
            [
                format!("1 client {encoding} {{\"Ping\":0}}"),
                format!("1 client {encoding} {{\"Ping\":1}}"),
                format!("1 server {encoding} {{\"Pong\":{{\"text\":\"0!\"}}}}"),
                format!("1 server {encoding} {{\"Pong\":{{\"text\":\"1!\"}}}}"),
            ]
        );
        for part in [
            "passing on to 127.0.0.1:",
            "connection 1, client: Talk, version 1",
            "connection 1, server: Talk",
        ] {
            assert!(notes.contains(part), "{part} in {notes}");
        }
    }
}

#[test]
fn a_tap_filters() {
    let ping = |number: u32| format!("1 client binary {{\"Ping\":{number}}}");
    let tapped =
        |flags: &[&str]| tapped(12, Encoding::Binary, &[&["--connections", "1"], flags].concat()).0;
    let all: Vec<String> = (0..12).map(ping).collect();
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    assert_eq!(tapped(&["--from", "client"]), sorted(all.clone()));
    assert_eq!(tapped(&["--message", "Ping,Other"]), sorted(all));
    assert_eq!(tapped(&["--contains", "g\":1"]), sorted(vec![ping(1), ping(10), ping(11)]));
    assert_eq!(tapped(&["--from", "server", "--message", "Ping"]), [""; 0]);
}

#[test]
fn a_tap_ends_when_it_has_seen_enough_and_records() {
    let path = file("tap.rec", "");
    let (lines, _) =
        tapped(5, Encoding::Text, &["--count", "2", "--from", "client", "--record", &path]);
    assert_eq!(lines, ["1 client text {\"Ping\":0}", "1 client text {\"Ping\":1}"]);
    let bytes = std::fs::read(path).expect("it was written");
    let recording = Recording::read(bytes.into(), &Limits::default()).expect("it is one");
    let messages: Vec<Talk> = recording
        .messages
        .iter()
        .map(|recorded| {
            assert_eq!(recorded.encoding, Encoding::Binary);
            recorded
                .encoding
                .decode(&recorded.payload, &Limits::default())
                .expect("it is a message")
        })
        .collect();
    assert_eq!(messages, [Talk::Ping(0), Talk::Ping(1)]);
}

#[test]
fn a_tap_listens_where_it_is_told() {
    let (_, notes) =
        tapped(1, Encoding::Binary, &["--listen", "127.0.0.2:0", "--connections", "1"]);
    assert!(notes.starts_with("actinium: listening on 127.0.0.2:"), "{notes}");
    for (arguments, line) in [
        (
            &["wire", "tap", "nowhere", "--listen", "127.0.0.1:0"][..],
            "actinium: ADDRESS: 'nowhere': ",
        ),
        (&["wire", "tap", "127.0.0.1:1", "--listen", "x"], "actinium: --listen: 'x': "),
        (
            &[
                "wire",
                "tap",
                "127.0.0.1:1",
                "--listen",
                "127.0.0.1:0",
                "--record",
                "/nowhere/at/all",
            ],
            "actinium: --record: '/nowhere/at/all': ",
        ),
    ] {
        let ran = run(arguments);
        assert!(ran.code == Some(2) && ran.stderr.starts_with(line), "{}", ran.stderr);
    }
}
