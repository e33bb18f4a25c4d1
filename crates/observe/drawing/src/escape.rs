//! Text made safe for SVG and HTML: whatever it holds, it is shown and never read as markup.

/// A text for an element's content or for a quoted attribute.
///
/// XML has no control characters but tab and line feed, and HTML gives them no meaning: they become
/// the replacement character.
///
/// ```
/// assert_eq!(actinium_drawing::escaped("Pool<Till>"), "Pool&lt;Till&gt;");
/// ```
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                safe.push(char::REPLACEMENT_CHARACTER);
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_is_shown_and_not_read() {
        assert_eq!(escaped("<b a='1' b=\"2\">&"), "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;");
        assert_eq!(escaped("a\0b\u{1b}[31m\n\u{fffe}"), "a\u{fffd}b\u{fffd}[31m\n\u{fffd}");
        assert_eq!(escaped("µs → π"), "µs → π");
    }

    proptest! {
        #[test]
        fn no_text_holds_markup(any: String) {
            prop_assert!(!escaped(&any).contains(['<', '>', '"', '\'']));
        }
    }
}
