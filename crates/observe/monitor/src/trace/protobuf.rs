//! The bytes of protobuf messages, appended field by field.

const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const BYTES: u32 = 2;

fn varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

fn tag(field: u32, kind: u32, into: &mut Vec<u8>) {
    varint(u64::from(field << 3 | kind), into);
}

/// An integer that is not negative, a boolean or an enum.
pub(super) fn uint(field: u32, value: impl Into<u64>, into: &mut Vec<u8>) {
    tag(field, VARINT, into);
    varint(value.into(), into);
}

pub(super) fn double(field: u32, value: f64, into: &mut Vec<u8>) {
    tag(field, FIXED_64, into);
    into.extend_from_slice(&value.to_le_bytes());
}

/// An integer that has eight bytes, whatever it is.
pub(super) fn fixed(field: u32, value: u64, into: &mut Vec<u8>) {
    tag(field, FIXED_64, into);
    into.extend_from_slice(&value.to_le_bytes());
}

pub(super) fn text(field: u32, value: &str, into: &mut Vec<u8>) {
    tag(field, BYTES, into);
    varint(value.len() as u64, into);
    into.extend_from_slice(value.as_bytes());
}

/// A message whose fields `write` appends.
pub(super) fn message(field: u32, into: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    tag(field, BYTES, into);
    // Most are short: then its length has one byte.
    let at = into.len();
    into.push(0);
    write(into);
    let len = into.len() - at - 1;
    if len < 0x80 {
        into[at] = len as u8;
        return;
    }
    let mut bytes = Vec::new();
    varint(len as u64, &mut bytes);
    into.splice(at..=at, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_format_s_description() {
        let mut bytes = Vec::new();
        uint(1, 150_u64, &mut bytes);
        text(2, "testing", &mut bytes);
        message(3, &mut bytes, |inner| uint(1, 150_u64, inner));
        let expected = b"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01";
        assert_eq!(bytes, expected);
        bytes.clear();
        double(4, 1.0, &mut bytes);
        assert_eq!(bytes, [0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    }

    #[test]
    fn a_long_message_has_a_long_length() {
        let mut bytes = Vec::new();
        message(1, &mut bytes, |inner| text(1, &"x".repeat(300), inner));
        assert_eq!(bytes[..6], [0x0a, 0xaf, 0x02, 0x0a, 0xac, 0x02]);
        assert_eq!(bytes.len(), 306);
    }
}
