//! A graph as a text for Graphviz.

use crate::drawing::{Drawing, Role};
use std::fmt::Write;

pub(crate) fn text(drawing: &Drawing) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&drawing.title));
    text += "  rankdir=LR;\n  node [fontname=\"sans-serif\", fontsize=11];\n  edge [color=\"#8a929c\"];\n";
    for (number, node) in drawing.nodes.iter().enumerate() {
        let label = match node.detail.as_str() {
            "" => node.label.clone(),
            detail => format!("{}\n{detail}", node.label),
        };
        let marked = if node.marked { ", color=\"#c4560c\", penwidth=2.5" } else { "" };
        let (label, shape) = (quoted(&label), shape(node.role));
        let _ = writeln!(text, "  n{number} [label={label}, shape={shape}{marked}];");
    }
    for edge in drawing.drawn() {
        let style = match (edge.is_order, edge.marked) {
            (false, false) => "",
            (true, false) => " [style=dashed]",
            (false, true) => " [color=\"#c4560c\", penwidth=2.5]",
            (true, true) => " [color=\"#c4560c\", penwidth=2.5, style=dashed]",
        };
        let _ = writeln!(text, "  n{} -> n{}{style};", edge.from, edge.to);
    }
    text + "}\n"
}

fn shape(role: Role) -> &'static str {
    match role {
        Role::Source => "cylinder",
        Role::Producer => "box",
        Role::Filter => "diamond",
        Role::Analyzer => "ellipse",
        Role::Output => "note",
    }
}

/// A quoted text: within it, a backslash and a quotation mark have a meaning.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push(char::REPLACEMENT_CHARACTER),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{Edge, Node};

    #[test]
    fn each_node_and_edge_is_there_and_names_are_texts() {
        let mut drawing = Drawing::new("a \"graph\"");
        let a = drawing.node(Node::new("a\\\"];\nx", Role::Filter).detail("serial"));
        let b = drawing.node(Node::new("b", Role::Output));
        drawing.edge(Edge::order(a, b));
        drawing.edge(Edge::new(b, 7));
        drawing.mark(&["b"]);
        let text = drawing.dot();
        assert!(text.starts_with("digraph \"a \\\"graph\\\"\" {"), "{text}");
        assert!(text.contains(r#"n0 [label="a\\\"];\nx\nserial", shape=diamond];"#), "{text}");
        assert!(text.contains("n0 -> n1 [style=dashed];") && !text.contains("n7"), "{text}");
        assert!(text.contains("shape=note, color="), "{text}");
    }
}
