//! Bytes as hexadecimal digits.

/// Two digits a byte.
#[must_use]
pub fn of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// The bytes that the digits stand for; none if there is anything else among them, or an odd
/// number.
#[must_use]
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(high << 4 | low),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_and_back() {
        assert_eq!(super::of(&[0, 0xAB, 255]), "00abff");
        assert_eq!(super::bytes("00aBff"), Some(vec![0, 0xAB, 255]));
        assert_eq!(super::bytes(""), Some(vec![]));
        for bad in ["0", "0g", "é0", "00 ab"] {
            assert_eq!(super::bytes(bad), None, "{bad}");
        }
    }
}
