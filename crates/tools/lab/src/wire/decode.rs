//! Explaining bytes: frames, hellos, messages.

use crate::Failure;
use actinium_report::{Column, Table};
use actinium_wire::frame::{Frame, HEADER_BYTES, Kind, MAGIC, Unframer};
use actinium_wire::hello::Hello;
use actinium_wire::link::hello_of;
use actinium_wire::recording::Recording;
use actinium_wire::schema::ValidSchema;
use actinium_wire::{Encoding, Limits, Value, hex};

/// A row per part of the bytes: offset, length, meaning. What is wrong is the last row, and the
/// result beside the table.
///
/// With an encoding, the bytes are one message without a frame, of this schema.
pub fn explain(
    bytes: &[u8],
    encoding: Option<Encoding>,
    schema: Option<ValidSchema<'static>>,
) -> (Table, Result<(), Failure>) {
    let mut table =
        Table::new([Column::right("offset"), Column::right("bytes"), Column::left("meaning")]);
    let explained = match encoding {
        Some(encoding) => {
            let (text, explained) = match message(encoding, bytes, schema.as_ref()) {
                Ok(text) => (text, Ok(())),
                Err(problem) => (format!("error: {problem}"), Err(problem)),
            };
            table.row([0_usize.into(), bytes.len().into(), text.into()]);
            explained
        }
        None => frames(bytes, schema, &mut table),
    };
    (table, explained.map_err(Failure::Asked))
}

/// The types of a recording, which comes with a name for errors.
///
/// # Errors
/// If the bytes are no recording, or its types make no sense.
pub fn schema(name: &str, recorded: Vec<u8>) -> Result<ValidSchema<'static>, Failure> {
    let asked = |problem: String| Failure::Asked(format!("{name}: {problem}"));
    let recording = Recording::read(recorded.into(), &Limits::default());
    let schema = recording.map_err(|error| asked(error.to_string()))?.hello.schema.into_valid();
    schema.map_err(|fault| asked(fault.to_string()))
}

/// The bytes that hexadecimal digits stand for, with white space anywhere.
///
/// # Errors
/// If a character is no digit, or the last byte has only one.
pub fn bytes(text: &str) -> Result<Vec<u8>, Failure> {
    let digits: String = text.split_whitespace().collect();
    let digits = digits.strip_prefix("0x").unwrap_or(&digits);
    hex::bytes(digits).ok_or_else(|| {
        let wrong = digits.chars().find(|c| !c.is_ascii_hexdigit());
        Failure::Asked(match wrong {
            Some(wrong) => {
                format!("HEX: '{wrong}' is no hexadecimal digit: allowed are 0 to 9, a to f")
            }
            None => format!("HEX: {} digits are no whole number of bytes", digits.len()),
        })
    })
}

/// A row per part of each frame; what is wrong is the last row, and the result.
fn frames(
    bytes: &[u8],
    mut schema: Option<ValidSchema<'static>>,
    table: &mut Table,
) -> Result<(), String> {
    if bytes.first() != Some(&MAGIC) {
        let found = bytes.first().map_or("nothing".to_owned(), |byte| format!("{byte:#04x}"));
        return Err(format!(
            "offset 0: expected a frame, which begins with {MAGIC:#04x}, found {found}; --encoding explains a message without one"
        ));
    }
    let mut unframer = Unframer::new(bytes.len());
    unframer.feed(bytes);
    loop {
        let offset = unframer.offset();
        match unframer.next() {
            Ok(Some(frame)) => explain_frame(&frame, &mut schema, table),
            Ok(None) => break,
            Err(error) => {
                table.row([offset.into(), "".into(), format!("error: {error}").into()]);
                return Err(error.to_string());
            }
        }
    }
    unframer.end().map_err(|error| {
        table.row([unframer.offset().into(), "".into(), format!("error: {error}").into()]);
        error.to_string()
    })
}

fn explain_frame(frame: &Frame, schema: &mut Option<ValidSchema<'static>>, table: &mut Table) {
    let Frame { kind, encoding, checksum, offset, payload } = frame;
    let what = match kind {
        Kind::Hello => "hello",
        Kind::Message => "message",
        Kind::Refusal => "refusal",
    };
    let header = format!("frame: {what}, {encoding}, payload of {} bytes", payload.len());
    table.row([(*offset).into(), HEADER_BYTES.into(), header.into()]);
    let mut offset = offset + HEADER_BYTES as u64;
    if *checksum {
        table.row([offset.into(), 4_usize.into(), "checksum: right".into()]);
        offset += 4;
    }
    let meaning = match kind {
        Kind::Hello => hello_of(frame).map(|hello| {
            let text = introduce(&hello);
            match hello.schema.into_valid() {
                Ok(valid) => {
                    *schema = Some(valid);
                    text
                }
                Err(fault) => format!("{text} error: {fault}"),
            }
        }),
        Kind::Message => return row(table, offset, frame, schema.as_ref()),
        Kind::Refusal => encoding.decode(payload, &Limits::default()),
    };
    let meaning = meaning.unwrap_or_else(|error| format!("error: {error}"));
    table.row([offset.into(), payload.len().into(), meaning.into()]);
}

fn row(table: &mut Table, offset: u64, frame: &Frame, schema: Option<&ValidSchema<'_>>) {
    let meaning = message(frame.encoding, &frame.payload, schema);
    let meaning = meaning.unwrap_or_else(|problem| format!("error: {problem}"));
    table.row([offset.into(), frame.payload.len().into(), meaning.into()]);
}

fn introduce(hello: &Hello) -> String {
    let Hello { protocol, version, fingerprint, encodings, checksum, schema } = hello;
    let checksum = if *checksum { "wanted" } else { "not wanted" };
    format!(
        "{protocol}, version {version}, fingerprint {fingerprint:016x}, takes {}, checksums {checksum}; {schema}",
        encodings.join(", ")
    )
}

/// A message as text.
fn message(
    encoding: Encoding,
    bytes: &[u8],
    schema: Option<&ValidSchema<'_>>,
) -> Result<String, String> {
    let limits = Limits { frame_bytes: usize::MAX, ..Limits::default() };
    let value = match schema {
        Some(schema) => Value::decode(encoding, bytes, schema, &limits),
        None => Value::decode_any(encoding, bytes, &limits),
    };
    let mut text = Vec::new();
    let value = value.map_err(|error| error.to_string())?;
    value.encode(Encoding::Text, &mut text).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(text.trim_ascii_end()).into_owned())
}
