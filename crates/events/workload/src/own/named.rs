//! The type of a source or module, if it is one of the program's own.

use crate::draft::OwnType;
use crate::fault::Reporter;
use crate::tree::{Node, Table, Value};

/// `type` and `parameters`, if it is one of the program's own.
pub(super) fn own_type(table: &mut Table<'_>, reporter: &mut Reporter<'_>) -> Option<OwnType> {
    let what = [table.name("type"), table.name("parameters")];
    let (named, parameters) = (table.get("type"), table.get("parameters"));
    if let (None, Some(node)) = (named, parameters) {
        reporter.error(node.at(), format!("{} belong to a 'type', which is not there", what[1]));
    }
    let named = named?;
    let name = named.text(&what[0], reporter)?.to_owned();
    let none = || Node { bytes: table.at()..table.at(), value: Value::Table(Vec::new()) };
    let given = parameters.filter(|node| node.entries(&what[1], reporter).is_some()).cloned();
    let at = reporter.position(named.at());
    Some(OwnType { name, at, parameters: given.unwrap_or_else(none) })
}
