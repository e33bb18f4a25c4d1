//! `actinium wire tap` of a program that serves taps: what it prints, and what each flag does.

use crate::common::{Scratch, command, run};
use actinium_tap::{Direction, Seen, TapPlace, TapPoint, TapServer};
use actinium_wire::{Encoding, Message};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

#[derive(Debug, Serialize, Deserialize, Message)]
enum Talk {
    Ping(u32),
    Pong,
}

fn show(point: &TapPoint, direction: Direction, kind: &str, talk: &Talk) {
    let mut bytes = Vec::new();
    Encoding::Binary.encode(talk, &mut bytes).expect("it has bytes");
    let mut seen = Seen::new(direction, "node 7", kind, Encoding::Binary, &bytes);
    seen.schema = Some(Talk::schema);
    point.show(&seen);
}

/// What the command prints of Ping(0), which comes, and Pong, which goes, of each of two types, ten
/// times; and what it says.
fn looked(flags: &[&str]) -> (Vec<String>, String) {
    let point = TapPoint::new("node 3");
    let server = TapServer::start(&TapPlace::to_serve("127.0.0.1:0").expect("a place"));
    let server = server.expect("it serves");
    let target = server.place().to_string();
    let mut tap = command(&[&["wire", "tap", &target], flags].concat());
    let mut tap = tap.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut notes = BufReader::new(tap.stderr.take().expect("it is a pipe"));
    let mut said = String::new();
    notes.read_line(&mut said).expect("it says what it looks at");
    for number in 0..10 {
        for kind in ["one", "other"] {
            show(&point, Direction::In, kind, &Talk::Ping(number));
            show(&point, Direction::Out, kind, &Talk::Pong);
        }
    }
    let mut text = String::new();
    if flags.contains(&"--count") {
        tap.stdout.take().expect("a pipe").read_to_string(&mut text).expect("it is UTF-8");
    } else {
        // Nothing comes to an end by itself: the program does.
        notes.read_line(&mut said).expect("it says more");
        drop(server);
        tap.stdout.take().expect("a pipe").read_to_string(&mut text).expect("it is UTF-8");
    }
    notes.read_to_string(&mut said).expect("it is UTF-8");
    assert_eq!(tap.wait().expect("it ends").code(), Some(0), "{said}");
    (text.lines().map(ToOwned::to_owned).collect(), said)
}

#[test]
fn the_messages_of_a_program_are_printed_without_their_contents_unless_asked_for() {
    let (lines, said) = looked(&["--count", "2"]);
    let expected = [
        "node 3 in  node 7 message one::Ping, 2 bytes of binary",
        "node 3 out node 7 message one::Pong, 1 bytes of binary",
    ];
    assert_eq!(lines, expected);
    assert!(said.contains("looking at process ") && said.contains("node 3"), "{said}");

    let (lines, _) = looked(&["--count", "1", "--contents"]);
    assert!(lines[0].ends_with(": {\"Ping\":0}"), "{lines:?}");
    let (lines, _) = looked(&["--count", "1", "--contents", "--max-bytes", "1"]);
    assert!(lines[0].contains("not shown: 2 bytes are more than the 1"), "{lines:?}");
    let (lines, _) = looked(&["--count", "1", "--contents", "--json"]);
    let message: Value = serde_json::from_str(&lines[0]).expect("it is JSON");
    assert_eq!((&message["type"], &message["at"]), (&"one".into(), &"node 3".into()));
    assert_eq!(message["contents"], serde_json::json!({ "Ping": 0 }));
}

#[test]
fn each_filter_leaves_some_out() {
    let kinds = |flags: &[&str]| {
        let (lines, _) = looked(&[flags, &["--count", "3"]].concat());
        assert_eq!(lines.len(), 3);
        lines
    };
    assert!(kinds(&["--type", "other"]).iter().all(|it| it.contains(" other::")));
    assert!(kinds(&["--direction", "out"]).iter().all(|it| it.starts_with("node 3 out")));
    assert!(kinds(&["--message", "Pong"]).iter().all(|it| it.contains("::Pong")));
    assert!(kinds(&["--peer", "7"]).iter().all(|it| it.contains(" node 7 ")));
    let sample = kinds(&["--sample", "8", "--contents"]);
    let numbers = ["0", "2", "4"].map(|number| format!("{{\"Ping\":{number}}}"));
    assert!(sample.iter().zip(numbers).all(|(line, number)| line.ends_with(&number)), "{sample:?}");
}

#[test]
fn more_than_the_rate_is_said() {
    let (lines, said) = looked(&["--rate", "0"]);
    assert!(lines.is_empty(), "{lines:?}");
    assert!(said.contains("beyond the rate") && said.contains("the program has ended"), "{said}");
}

#[test]
fn who_is_not_there_or_makes_no_sense_is_said() {
    let ran = run(&["wire", "tap", "nowhere"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("actinium: TARGET: 'nowhere' is not allowed"), "{}", ran.stderr);
    let scratch = Scratch::new("wire-look");
    let ran = run(&["wire", "tap", &scratch.path("no.sock")]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("no.sock") && ran.stderr.contains("ACTINIUM_TAP"),
        "{}",
        ran.stderr
    );
    for (flags, parts) in [
        (&["--from", "client"][..], ["--listen", "missing"]),
        (&["--listen", "127.0.0.1:0", "--contents"], ["--contents", "--listen"]),
        (&["--direction", "up"], ["--direction", "up"]),
        (&["--sample", "0"], ["--sample", "0"]),
    ] {
        run(&[&["wire", "tap", "127.0.0.1:1"], flags].concat()).refused(&parts);
    }
}

#[test]
fn a_program_that_knows_nothing_of_taps_is_looked_at_by_the_number_of_its_process() {
    let scratch = Scratch::new("wire-look-probe");
    let runtime = scratch.path("");
    let environment = [("ACTINIUM_TAP", "1"), ("XDG_RUNTIME_DIR", &runtime)];
    let nodes = ["--fabric", "in-process", "--nodes", "2", "--workers", "1", "--actors", "4"];
    let probe = [&["probe"], &nodes[..], &["--messages", "1000000", "--quiet"]].concat();
    let mut probe = command(&probe);
    probe.envs(environment).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut probe = probe.spawn().expect("it starts");
    let process = probe.id().to_string();
    // It says where it serves.
    let mut said = String::new();
    let mut notes = BufReader::new(probe.stderr.take().expect("a pipe"));
    notes.read_line(&mut said).expect("it says so");
    assert!(said.contains(&format!("tap-{process}.sock")), "{said}");
    let mut tap = command(&["wire", "tap", &process, "--count", "4", "--contents"]);
    let output = tap.envs(environment).output().expect("it runs");
    probe.kill().expect("it is ours");
    probe.wait().expect("it ends");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(lines.lines().count(), 4);
    for line in lines.lines() {
        assert!(line.starts_with("node 0 ") || line.starts_with("node 1 "), "{line}");
        assert!(
            line.contains(" message ") || line.contains(" request ") || line.contains("answer"),
            "{line}"
        );
    }
}
