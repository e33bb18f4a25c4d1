//! A graph of modules as a picture. Drawn as SVG: it needs no script.

use serde::{Deserialize, Serialize};

use super::frame::{described, figure, values};
use actinium_drawing::Drawing;
use actinium_observe::number;

/// Most modules that the table below a picture has.
const ROWS_MAX: usize = 1_000;

/// A graph of modules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagram {
    /// The heading.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// The graph.
    pub drawing: Drawing,
}

described!(Diagram);

impl Diagram {
    /// A picture of this graph. One that is too large to be read is folded, and says so.
    #[must_use]
    pub fn new(title: impl Into<String>, drawing: Drawing) -> Self {
        Diagram { title: title.into(), drawing, ..Diagram::default() }
    }

    pub(super) fn render(&self, id: &str, html: &mut String) {
        figure(html, id, "rows diagram", &self.title, &self.note);
        if self.drawing.nodes.is_empty() {
            html.push_str("<p class=\"empty\">No data</p></figure>\n");
            return;
        }
        html.push_str("<div class=\"scroll\">");
        html.push_str(&self.drawing.svg());
        html.push_str("</div>");
        let nodes = &self.drawing.nodes;
        let mut needs = vec![Vec::new(); nodes.len()];
        for edge in self.drawing.edges.iter().filter(|edge| !edge.is_order) {
            if let (Some(needs), Some(node)) = (needs.get_mut(edge.to), nodes.get(edge.from)) {
                needs.push(node.label.as_str());
            }
        }
        let rows = nodes.iter().zip(needs).take(ROWS_MAX).map(|(node, needs)| {
            vec![node.label.clone(), node.role.name().into(), node.detail.clone(), needs.join(", ")]
        });
        let left_out = nodes.len().saturating_sub(ROWS_MAX) as u64;
        let caption = match left_out {
            0 => String::new(),
            more => format!("{} more modules are left out.", number::count(more)),
        };
        values(html, &caption, &["module", "role", "how many at a time", "needs"], rows);
        html.push_str("</figure>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_drawing::{Edge, Node, Role};

    #[test]
    fn the_picture_and_its_table_have_each_module() {
        let mut drawing = Drawing::new("t");
        let a = drawing.node(Node::new("<a>", Role::Source));
        let b = drawing.node(Node::new("b", Role::Filter));
        drawing.edge(Edge::new(a, b));
        let mut html = String::new();
        Diagram::new("Graph", drawing).render("c", &mut html);
        assert!(html.contains("<svg") && !html.contains("<a>"));
        assert!(html.contains("<td class=\"number\">filter</td>"), "{html}");
        assert!(
            html.ends_with("&lt;a&gt;</td></tr>\n</tbody></table></div></details>\n</figure>\n")
        );
    }

    #[test]
    fn what_the_table_leaves_out_is_counted() {
        let mut drawing = Drawing::new("t");
        (0..1_500).for_each(|n| _ = drawing.node(Node::new(n.to_string(), Role::Producer)));
        let mut html = String::new();
        Diagram::new("Graph", drawing).render("c", &mut html);
        assert!(html.contains("500 more modules are left out.") && html.contains("Folded"));
        Diagram::default().render("c", &mut html);
        assert!(html.contains("No data"));
    }
}
