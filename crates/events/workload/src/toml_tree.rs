//! TOML into a tree.

use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeTable, DeValue};

use super::fault::Reporter;
use super::tree::{Entry, Node, Value};

/// The tree, unless the text is no TOML.
pub(super) fn tree(text: &str, reporter: &mut Reporter<'_>) -> Option<Node> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let at = error.span().map_or(0, |span| span.start);
        reporter.error(at, format!("not TOML: {}", error.message().replace('\n', "; ")));
    }
    if !errors.is_empty() {
        return None;
    }
    let bytes = table.span();
    Some(Node { bytes, value: self::table(table.into_inner()) })
}

fn table(table: DeTable<'_>) -> Value {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| {
            let at = key.span().start;
            Entry { key: key.into_inner().into_owned(), at, node: node(value) }
        })
        .collect();
    // The parser sorts by key.
    entries.sort_by_key(|entry| entry.at);
    Value::Table(entries)
}

/// The parser bounds how deep values may lie in each other, so this recursion is bounded as well.
fn node(value: Spanned<DeValue<'_>>) -> Node {
    let bytes = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => integer(&number),
        DeValue::Float(number) => Value::Number(float(&number)),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(array) => Value::List(array.into_iter().map(node).collect()),
        DeValue::Table(entries) => table(entries),
    };
    Node { bytes, value }
}

fn integer(number: &DeInteger<'_>) -> Value {
    let number = i128::from_str_radix(number.as_str(), number.radix());
    number.map_or(Value::Number(f64::NAN), Value::whole)
}

fn float(number: &DeFloat<'_>) -> f64 {
    number.as_str().parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_in_the_order_of_the_text() {
        let text = "b = 0x10\na = -inf\nc = nan\nd = 1_000";
        let mut reporter = Reporter::new("a", text);
        let node = tree(text, &mut reporter).expect("it is TOML");
        let entries = node.entries("it", &mut reporter).expect("a table");
        assert_eq!(entries.iter().map(|e| e.key.as_str()).collect::<String>(), "bacd");
        let number = |index: usize| match entries[index].node.value {
            Value::Number(number) => number,
            _ => panic!("a number"),
        };
        assert_eq!((number(0), number(1), number(3)), (16.0, f64::NEG_INFINITY, 1_000.0));
        assert!(number(2).is_nan());
    }

    #[test]
    fn all_faults_of_the_text_are_found() {
        let text = "a = 1\na = 2\nb = = 3\n[c\n";
        let mut reporter = Reporter::new("a", text);
        assert!(tree(text, &mut reporter).is_none());
        let faults = reporter.finish().to_string();
        for start in ["a:2:", "a:3:", "a:4:"] {
            assert!(faults.lines().any(|line| line.starts_with(start)), "{faults}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = format!("a = {}", "[".repeat(100_000));
        let mut reporter = Reporter::new("a", &text);
        assert!(tree(&text, &mut reporter).is_none());
    }
}
