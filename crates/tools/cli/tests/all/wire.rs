//! `actinium wire`: what each subcommand prints, and what each flag does. Each test fails if its
//! flag does nothing.

use crate::common::{Ran, run, run_with};
use actinium_wire::hello::Hello;
use actinium_wire::recording::{append_hello, append_message};
use actinium_wire::{Encoding, Message, Numbers, hex};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
enum Shop {
    Open,
    Sold { article: String, cents: u32, weights: Numbers<f64> },
}

fn messages() -> Vec<Shop> {
    let weights = vec![0.5, f64::NAN].into();
    vec![Shop::Open, Shop::Sold { article: "cog\n".to_owned(), cents: 250, weights }]
}

fn recording(encoding: Encoding) -> Vec<u8> {
    let mut out = Vec::new();
    append_hello(encoding, &Hello::of::<Shop>(&Encoding::ALL, true), &mut out).expect("a hello");
    for message in messages() {
        let mut bytes = Vec::new();
        encoding.encode(&message, &mut bytes).expect("it is encoded");
        append_message(encoding, &bytes, &mut out).expect("it is short");
    }
    out
}

/// A file of this test's own.
fn file(name: &str, content: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("wire-{name}"));
    std::fs::write(&path, content).expect("it is written");
    path.to_str().expect("it is UTF-8").to_owned()
}

#[track_caller]
fn refused(ran: Ran, line: &str) {
    assert_eq!(ran.stderr, format!("actinium: {line}\n"));
    assert_eq!(ran.code, Some(2));
}

/// A benchmark that takes no time.
fn bench(more: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut arguments = vec!["wire", "bench", "--time", "1", "--link-messages", "10"];
    arguments.extend(more);
    run_with(&arguments, environment)
}

fn names(rows: &serde_json::Value, key: &str) -> Vec<String> {
    let rows = rows["rows"].as_array().expect("rows").iter();
    let mut names: Vec<String> =
        rows.map(|row| row[key].as_str().expect("a name").to_owned()).collect();
    names.dedup();
    names
}

#[test]
fn the_benchmark_measures_every_message_in_every_encoding() {
    let json = bench(&["--json"], &[]).json();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(12));
    assert_eq!(names(&json, "message"), ["control", "order", "telemetry"]);
    for row in json["rows"].as_array().expect("rows") {
        for key in [
            "bytes",
            "encode_ns",
            "decode_ns",
            "cpu_to_binary",
            "bytes_to_binary",
            "link_cpu_to_binary",
        ] {
            assert!(row[key].as_f64().is_some_and(|number| number > 0.0), "{key} in {row}");
        }
        let link = &row["link"];
        assert_eq!((link["messages"].as_u64(), link["received"].as_u64()), (Some(10), Some(10)));
        assert!(link["messages_per_s"].as_f64() > Some(0.0) && link["cpu_ns"].as_f64() > Some(0.0));
        let told = link["joules"].is_number() != link["no_joules_because"].is_string();
        assert!(told, "joules, or why there are none: {link}");
    }
    assert!(json["monitor_ns"].as_f64() > Some(0.0), "{}", json["monitor_ns"]);
    assert_eq!(json["rows"][0]["cpu_to_binary"], 1.0);
    assert_eq!(json["rows"][0]["bytes"], 13);
}

#[test]
fn the_table_has_remarks_unless_it_is_quiet() {
    let text = bench(&["--message", "control"], &[]).ok();
    for part in [
        "CPU / binary",
        "self-describing",
        "over a link",
        "messages/s",
        "monitor of a protocol",
        "times     CPU time",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let quiet = bench(&["--message", "control", "--quiet"], &[]).ok();
    assert!(quiet.contains("over a link") && !quiet.contains("times     "), "{quiet}");
}

#[test]
fn messages_encodings_and_the_link_are_chosen() {
    let json =
        bench(&["--message", "telemetry,control", "--encoding", "xml,binary", "--json"], &[]);
    let json = json.json();
    assert_eq!(names(&json, "message"), ["telemetry", "control"]);
    assert_eq!(names(&json, "encoding"), ["xml", "binary", "xml", "binary"]);
    let without = run(&[
        "wire",
        "bench",
        "--time",
        "1",
        "--link-messages",
        "0",
        "--message",
        "control",
        "--json",
    ]);
    assert!(without.json()["rows"][0]["link"].is_null());
    let json = bench(&["--message", "control", "--checksum", "--json"], &[]).json();
    assert_eq!((&json["checksum"], &json["time_ms"]), (&true.into(), &1.into()));
    let longer = run(&[
        "wire",
        "bench",
        "--time",
        "7",
        "--link-messages",
        "0",
        "--message",
        "control",
        "--encoding",
        "binary",
        "--json",
    ]);
    assert_eq!(longer.json()["time_ms"], 7);
}

#[test]
fn the_environment_names_an_encoding_and_a_flag_hides_it() {
    let text = [("ACTINIUM_ENCODING", "text")];
    let json = bench(&["--message", "control", "--json"], &text).json();
    assert_eq!(names(&json, "encoding"), ["text"]);
    assert!(json["rows"][0]["cpu_to_binary"].is_null(), "there is no binary to compare with");
    let json = bench(&["--message", "control", "--encoding", "xml", "--json"], &text).json();
    assert_eq!(names(&json, "encoding"), ["xml"]);
    let unknown = "unknown encoding 'yaml': allowed are binary, self-describing, text, xml";
    let ran = bench(&["--message", "control"], &[("ACTINIUM_ENCODING", "yaml")]);
    refused(ran, &format!("ACTINIUM_ENCODING: {unknown}"));
    refused(bench(&["--encoding", "yaml"], &[]), &format!("--encoding: {unknown}"));
}

#[test]
fn the_report_is_a_page() {
    let path = file("report.html", b"");
    bench(&["--message", "order", "--report", &path], &[]).ok();
    let html = std::fs::read_to_string(path).expect("it was written");
    for part in [
        "What encodings cost",
        "CPU to encode and decode",
        "CPU over a loopback link",
        "of binary",
        "Monitor of a protocol",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let ran = bench(&["--report", "/nowhere/at/all.html"], &[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("actinium: --report: "), "{}", ran.stderr);
}

#[test]
fn a_recording_is_converted_to_every_encoding_and_back() {
    for from in Encoding::ALL {
        let path = file(&format!("from-{from}"), &recording(from));
        for to in Encoding::ALL {
            let out = file(&format!("{from}-to-{to}"), b"");
            let arguments = [
                "wire",
                "convert",
                &path,
                "--from",
                from.name(),
                "--to",
                to.name(),
                "--output",
                &out,
            ];
            assert_eq!(run(&arguments).ok(), "");
            assert_eq!(
                std::fs::read(out).expect("it was written"),
                recording(to),
                "{from} to {to}"
            );
        }
    }
    let path = file("to-stdout", &recording(Encoding::Binary));
    let stdout = run(&["wire", "convert", &path, "--to", "text"]).ok();
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with("{\"protocol\":\"Shop\",\"version\":1,"), "{stdout}");
    assert_eq!(
        lines[1..],
        ["\"Open\"", "{\"Sold\":{\"article\":\"cog\\n\",\"cents\":250,\"weights\":[0.5,\"NaN\"]}}",]
    );
}

#[test]
fn what_can_not_be_converted_is_said_and_nothing_is_written() {
    let path = file("binary", &recording(Encoding::Binary));
    let ran = run(&["wire", "convert", &path, "--from", "text", "--to", "xml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.ends_with("expected text (--from), found binary\n"), "{}", ran.stderr);
    let mut damaged = recording(Encoding::Binary);
    *damaged.last_mut().expect("it is not empty") ^= 1;
    let path = file("damaged", &damaged);
    let ran = run(&["wire", "convert", &path, "--to", "text"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("expected the checksum 0x"), "{}", ran.stderr);
    let path = file("no-recording", b"hello");
    let ran = run(&["wire", "convert", &path, "--to", "text"]);
    refused(
        ran,
        &format!(
            "{path}: offset 0: expected a recording, which begins with a hello; found the byte 0x68"
        ),
    );
    let path = file("cut.txt", b"{\"protocol\"");
    let ran = run(&["wire", "convert", &path, "--to", "text"]);
    assert_eq!(ran.code, Some(2));
    let missing = run(&["wire", "convert", "/nowhere", "--to", "text"]);
    refused(missing, "/nowhere: No such file or directory (os error 2)");
}

#[test]
fn bytes_are_explained() {
    let bytes = recording(Encoding::Binary);
    let text = run(&["wire", "decode", &hex::of(&bytes)]).ok();
    for part in [
        "frame: hello, self-describing, payload of",
        "checksum: right",
        "Shop, version 1, fingerprint",
        "Shop <Open, Sold{article: string, cents: u32, weights: numbers<f64>}>",
        "frame: message, binary, payload of 1 bytes",
        "\"Open\"",
        "{\"Sold\":{\"article\":\"cog\\n\",\"cents\":250,\"weights\":[0.5,\"NaN\"]}}",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let path = file("frames", &bytes);
    assert_eq!(run(&["wire", "decode", "--file", &path]).ok(), text);
    let digits = hex::of(&bytes);
    let (first, second) = digits.split_at(10);
    assert_eq!(run(&["wire", "decode", first, second]).ok(), text);
}

#[test]
fn one_message_is_explained_with_and_without_its_schema() {
    let text =
        run(&["wire", "decode", "--encoding", "self-describing", "81 a1 61 93 01 c0 c3"]).ok();
    assert!(text.contains("{\"a\":[1,null,true]}"), "{text}");
    let ran = run(&["wire", "decode", "--encoding", "binary", "00"]);
    refused(
        ran,
        "binary message, offset 0: expected a schema: this encoding does not say what it holds",
    );
    let path = file("schema", &recording(Encoding::Text));
    let text = run(&["wire", "decode", "--encoding", "binary", "--schema", &path, "00"]).ok();
    assert!(text.contains("\"Open\""), "{text}");
    let ran = run(&["wire", "decode", "--encoding", "binary", "--schema", &path, "07"]);
    assert!(
        ran.stderr.starts_with("actinium: binary message, offset 1: expected"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_can_not_be_explained_is_said() {
    refused(
        run(&["wire", "decode", "0g"]),
        "HEX: 'g' is no hexadecimal digit: allowed are 0 to 9, a to f",
    );
    refused(run(&["wire", "decode", "abc"]), "HEX: 3 digits are no whole number of bytes");
    let ran = run(&["wire", "decode", "4745"]);
    refused(
        ran,
        "offset 0: expected a frame, which begins with 0xac, found 0x47; --encoding explains a message without one",
    );
    let mut damaged = recording(Encoding::Binary);
    damaged.truncate(damaged.len() - 1);
    let ran = run(&["wire", "decode", &hex::of(&damaged)]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stdout.contains("\"Open\"") && ran.stdout.contains("error: frame at offset"),
        "{}",
        ran.stdout
    );
}
