//! `actinium wire typescript`: what it makes of what a gateway says.

use crate::common::run;
use actinium_wire::{Description, Encoding};
use std::path::PathBuf;

actinium_wire::protocol! {
    /// Counts.
    protocol Counting, version 3, between client and server;
    state Open {
        client request Add(u64) -> server Total(u64);
        server stream Beat;
        client signal Bye -> end;
    }
}

fn file(name: &str, content: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("wire-typescript-{name}"));
    std::fs::write(&path, content).expect("it is written");
    path.to_str().expect("it is UTF-8").to_owned()
}

#[test]
fn a_description_becomes_a_client() {
    let mut json = Vec::new();
    let description = Description::of::<counting::Message>();
    Encoding::Text.encode(&description, &mut json).expect("it can be said");
    let module = run(&["wire", "typescript", &file("counting.json", &json)]).ok();
    for line in [
        "export class Counting extends Client {",
        "  add(data: number): Promise<number> {",
        "  onBeat(heard: () => void): void {",
        "  bye(): Promise<void> {",
    ] {
        assert!(module.lines().any(|found| found == line), "no line '{line}' in:\n{module}");
    }
}

#[test]
fn what_is_no_description_is_said_with_its_place() {
    let path = file("wrong.json", b"{\"schema\": 1}");
    let ran = run(&["wire", "typescript", &path]);
    assert_eq!(ran.code, Some(2));
    let start = format!("actinium: {path}: text message, offset 11: invalid type: integer `1`");
    assert!(ran.stderr.starts_with(&start), "{}", ran.stderr);
}
