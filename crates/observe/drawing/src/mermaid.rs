//! A graph as a text for Mermaid.

use crate::drawing::{Drawing, Role};
use std::fmt::Write;

/// With a comment, if `note` is not empty.
pub(crate) fn text(drawing: &Drawing, note: &str) -> String {
    let mut text = String::from("flowchart LR\n");
    if !note.is_empty() {
        let _ = writeln!(text, "  %% {note}");
    }
    for (number, node) in drawing.nodes.iter().enumerate() {
        let mut label = escaped(&node.label);
        if !node.detail.is_empty() {
            let _ = write!(label, "<br/>{}", escaped(&node.detail));
        }
        let (open, close) = brackets(node.role);
        let _ = writeln!(text, "  n{number}{open}\"{label}\"{close}");
    }
    let mut marked = Vec::new();
    for (number, edge) in drawing.drawn().enumerate() {
        let arrow = if edge.is_order { "-.->" } else { "-->" };
        let _ = writeln!(text, "  n{} {arrow} n{}", edge.from, edge.to);
        if edge.marked {
            marked.push(number.to_string());
        }
    }
    let nodes = drawing.nodes.iter().enumerate().filter(|(_, node)| node.marked);
    let nodes: Vec<String> = nodes.map(|(number, _)| format!("n{number}")).collect();
    if !nodes.is_empty() {
        let _ = writeln!(text, "  classDef critical stroke:#c4560c,stroke-width:3px");
        let _ = writeln!(text, "  class {} critical", nodes.join(","));
    }
    if !marked.is_empty() {
        let _ = writeln!(text, "  linkStyle {} stroke:#c4560c,stroke-width:3px", marked.join(","));
    }
    text
}

fn brackets(role: Role) -> (&'static str, &'static str) {
    match role {
        Role::Source => ("[(", ")]"),
        Role::Producer => ("[", "]"),
        Role::Filter => ("{{", "}}"),
        Role::Analyzer => ("([", "])"),
        Role::Output => ("[/", "/]"),
    }
}

/// A text between quotation marks: what has a meaning there or in HTML is written by its number.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '"' | '<' | '>' | '&' | '#' | '`' | ';' | '\\' => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{Edge, Node};

    #[test]
    fn names_are_texts_and_the_way_is_marked() {
        let mut drawing = Drawing::new("t");
        let a = drawing.node(Node::new("<b>\"a\"#\n", Role::Source));
        let b = drawing.node(Node::new("b", Role::Filter).detail("serial"));
        let c = drawing.node(Node::new("c", Role::Output));
        drawing.edge(Edge::new(a, b));
        drawing.edge(Edge::order(b, c));
        drawing.mark(&["b", "c"]);
        let text = drawing.mermaid();
        assert!(text.contains("n0[(\"#60;b#62;#34;a#34;#35; \")]"), "{text}");
        assert!(text.contains("n1{{\"b<br/>serial\"}}\n"), "{text}");
        assert!(text.contains("n0 --> n1\n") && text.contains("n1 -.-> n2\n"), "{text}");
        assert!(text.contains("class n1,n2 critical") && text.contains("linkStyle 1 "), "{text}");
    }

    #[test]
    fn a_way_has_arrows_also_where_nothing_is_handed_on() {
        let mut drawing = Drawing::new("t");
        let [a, b] = ["a", "b"].map(|name| drawing.node(Node::new(name, Role::Producer)));
        drawing.node(Node::new("c", Role::Output));
        drawing.edge(Edge::new(a, b));
        drawing.mark(&["a", "b", "nobody", "c"]);
        let text = drawing.mermaid();
        assert!(text.contains("n0 --> n1\n") && text.contains("n1 -.-> n2\n"), "{text}");
        assert!(text.contains("linkStyle 0,1 "), "{text}");
    }

    #[test]
    fn more_edges_than_it_takes_are_folded() {
        let mut drawing = Drawing::new("t");
        let source = drawing.node(Node::new("source", Role::Source));
        for n in 0..600 {
            let node = drawing.node(Node::new(format!("p{n}"), Role::Producer));
            drawing.edge(Edge::new(source, node));
        }
        let text = drawing.mermaid();
        assert!(text.contains("%% Folded to be readable: 600 of 601 modules"), "{text}");
        assert_eq!(text.matches("-->").count(), 1);
    }
}
