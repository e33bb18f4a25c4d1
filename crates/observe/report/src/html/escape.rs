//! Data made safe for a page: whatever a label holds, it is shown and never read as markup.

use std::fmt::Write;

use serde::Serialize;

/// Data for a `<script type="application/json">`. In JSON, `<`, `>` and `&` stand in strings only,
/// where they may as well be escaped; so no label can end the script, open a comment or start a
/// tag.
pub(super) fn json(data: &impl Serialize) -> String {
    let plain = serde_json::to_string(data).unwrap_or_else(|error| {
        // Our own structs have string keys and no custom `Serialize`: there is nothing that could
        // fail.
        panic!("a report's data cannot be written as JSON: {error}")
    });
    let mut safe = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// A number in as few characters as `digits` significant ones take; NaN and infinity, which JSON
/// does not have, become null.
pub(super) fn rounded(value: f64, digits: usize) -> Option<f64> {
    if !value.is_finite() {
        return None;
    }
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_script_cannot_be_ended_from_inside() {
        let safe = json(&["</script><script>alert(1)</script>", "<!--", "]]>", "\u{2028}"]);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert!(safe.contains("\\u003c/script\\u003e"));
    }

    #[test]
    fn numbers_are_short_and_always_json() {
        assert_eq!(rounded(1.0 / 3.0, 6), Some(0.333333));
        assert_eq!(rounded(1234567.891, 9), Some(1234567.89));
        assert_eq!((rounded(0.0, 6), rounded(-0.25, 6)), (Some(0.0), Some(-0.25)));
        for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(rounded(none, 6), None);
        }
        // Rounding up the largest number leaves the range.
        assert_eq!(rounded(f64::MAX, 3), None);
    }

    proptest! {
        #[test]
        fn json_comes_back_as_it_was(texts: Vec<String>) {
            let back: Vec<String> = serde_json::from_str(&json(&texts)).expect("JSON");
            prop_assert_eq!(back, texts);
        }
    }
}
