//! JSON into a tree. Strict: no comments, no trailing commas, and no key twice.

use std::collections::HashMap;

use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::fault::{Reporter, quoted};
use super::tree::{Entry, Node, Value};

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    // As others write them; they are refused as times, with a better word than the parser's.
    allow_non_finite_numbers: true,
    allow_extended_string_escapes: false,
};

/// The tree, unless the text is no JSON.
pub(super) fn tree(text: &str, reporter: &mut Reporter<'_>) -> Option<Node> {
    match parse_to_ast(text, &CollectOptions::default(), &STRICT) {
        Ok(parsed) => match parsed.value {
            Some(value) => Some(node(value, reporter)),
            None => {
                reporter.error(0, "the file is empty: it has to be a JSON object");
                None
            }
        },
        Err(error) => {
            let (at, message) = explain(&error, text);
            reporter.error(at, message);
            None
        }
    }
}

/// The parser bounds how deep values may lie in each other, so this recursion is bounded as well.
fn node(value: Ast<'_>, reporter: &mut Reporter<'_>) -> Node {
    let range = value.range();
    let value = match value {
        Ast::StringLit(text) => Value::Text(text.value.into_owned()),
        Ast::NumberLit(number) => self::number(number.value),
        Ast::BooleanLit(literal) => Value::Bool(literal.value),
        Ast::NullKeyword(_) => Value::Null,
        Ast::Array(array) => {
            Value::List(array.elements.into_iter().map(|value| node(value, reporter)).collect())
        }
        Ast::Object(object) => {
            let mut seen: HashMap<String, usize> = HashMap::new();
            let mut entries = Vec::with_capacity(object.properties.len());
            for property in object.properties {
                let at = property.range.start;
                let key = property.name.as_str().to_owned();
                if let Some(first) = seen.get(&key) {
                    let line = reporter.position(*first).line;
                    let key = quoted(&key);
                    reporter.error(
                        at,
                        format!("the key {key} stands here again: first in line {line}"),
                    );
                    continue;
                }
                seen.insert(key.clone(), at);
                let node = node(property.value, reporter);
                entries.push(Entry { key, at, node });
            }
            Value::Table(entries)
        }
    };
    Node { bytes: range.start..range.end, value }
}

fn number(text: &str) -> Value {
    if let Ok(whole) = text.parse() {
        return Value::whole(whole);
    }
    Value::Number(match text {
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ => text.parse().unwrap_or(f64::NAN),
    })
}

/// Where the fault is, and what would be right.
fn explain(error: &ParseError, text: &str) -> (usize, String) {
    let start = error.range().start;
    let unclosed = |what: &str, bracket: char| {
        // Where the text ends is where something is missing; where the value begins says what it
        // is.
        let line = text[..start].bytes().filter(|&b| b == b'\n').count() + 1;
        let end = text.trim_end().len();
        (
            end,
            format!(
                "the file ends before the {what} of line {line} has its '{bracket}': it is cut off"
            ),
        )
    };
    match error.kind() {
        ParseErrorKind::UnterminatedObject => unclosed("object", '}'),
        ParseErrorKind::UnterminatedArray => unclosed("list", ']'),
        ParseErrorKind::NestingDepthExceeded => {
            (start, "values lie too deep in each other: no workload is like that".to_owned())
        }
        ParseErrorKind::ExpectedComma => (start, "expected ',' or the closing bracket".to_owned()),
        ParseErrorKind::TrailingCommasNotAllowed => {
            (start, "a comma before a closing bracket is no JSON: leave it out".to_owned())
        }
        ParseErrorKind::CommentsNotAllowed => {
            (start, "JSON has no comments: write the workload as TOML to have some".to_owned())
        }
        kind => {
            let kind = kind.to_string();
            let mut characters = kind.chars();
            let first = characters.next().map(|first| first.to_lowercase().to_string());
            (start, format!("not JSON: {}{}", first.unwrap_or_default(), characters.as_str()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        let mut reporter = Reporter::new("a", text);
        tree(text, &mut reporter);
        reporter.finish().to_string()
    }

    #[test]
    fn what_is_no_json_has_a_place() {
        for (text, expected) in [
            ("", "a:1:1: error: the file is empty"),
            ("{\n\"a\": [1, 2", "a:2:11: error: the file ends before the list of line 2"),
            ("{\n\"a\": 1", "a:2:7: error: the file ends before the object of line 1"),
            ("{\"a\" 1}", "a:1:"),
            ("{\"a\": 1,}", "a:1:"),
            ("[1 2]", "a:1:"),
            ("{} {}", "a:1:"),
            (
                "{\"a\": 1,\n \"a\": 2}",
                "a:2:2: error: the key 'a' stands here again: first in line 1",
            ),
            ("// x\n{}", "a:1:1: error: JSON has no comments"),
        ] {
            let fault = fault(text);
            assert!(fault.starts_with(expected), "{text:?}: {fault}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let fault = fault(&"[".repeat(1_000_000));
        assert!(fault.contains("too deep"), "{fault}");
    }

    #[test]
    fn odd_numbers_are_numbers() {
        assert!(matches!(number("NaN"), Value::Number(number) if number.is_nan()));
        for (text, expected) in
            [("-Infinity", f64::NEG_INFINITY), ("1e3", 1_000.0), ("1e999", f64::INFINITY)]
        {
            assert_eq!(number(text), Value::Number(expected));
        }
        assert_eq!(number("9007199254740993"), Value::Large(9_007_199_254_740_993));
    }
}
