//! Converting a recorded stream to another encoding.

use crate::Failure;
use actinium_wire::recording::{Recording, append_hello, append_message};
use actinium_wire::{Encoding, Limits, Value};

/// Converts a recording, which comes with a name for errors; `from` is what it is expected to hold,
/// if anything.
///
/// # Errors
/// If the bytes are no recording, hold something else than was said, or can not be converted.
pub fn convert(
    name: &str,
    recorded: Vec<u8>,
    from: Option<Encoding>,
    to: Encoding,
) -> Result<Vec<u8>, Failure> {
    let limits = Limits { frame_bytes: u32::MAX as usize, ..Limits::default() };
    let recording = Recording::read(recorded.into(), &limits)
        .map_err(|error| Failure::Asked(format!("{name}: {error}")))?;
    let mut out = Vec::new();
    let failed = |problem: String| Failure::Failed(format!("{name}: {problem}"));
    append_hello(to, &recording.hello, &mut out).map_err(failed)?;
    let mut message = Vec::new();
    let schema = recording.hello.schema.valid();
    let schema = schema.map_err(|fault| Failure::Asked(format!("{name}: {fault}")))?;
    for (index, recorded) in recording.messages.iter().enumerate() {
        let (number, offset) = (index + 1, recorded.offset);
        let problem = |problem: String| {
            Failure::Asked(format!("{name}: message {number} at offset {offset}: {problem}"))
        };
        if let Some(from) = from.filter(|from| *from != recorded.encoding) {
            let line = format!("expected {from} (--from), found {}", recorded.encoding);
            return Err(problem(line));
        }
        let value = Value::decode(recorded.encoding, &recorded.payload, &schema, &limits)
            .map_err(|error| problem(error.to_string()))?;
        message.clear();
        value.encode(to, &mut message).map_err(|error| problem(error.to_string()))?;
        append_message(to, &message, &mut out).map_err(problem)?;
    }
    Ok(out)
}
