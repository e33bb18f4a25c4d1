//! What is made of a graph: texts and pictures.

use crate::drawing::Drawing;
use crate::{dot, fold, mermaid, svg};

/// Most nodes of a picture that people can read, and most edges.
const READABLE: (usize, usize) = (60, 240);
/// Mermaid refuses more edges than 500, unless the page says otherwise.
const MERMAID: (usize, usize) = (80, 480);

impl Drawing {
    /// The same graph with about as many nodes at most, and a sentence about what was folded;
    /// `None` if nothing had to be. Nodes of one role and about one level become one; marked nodes
    /// stay, unless they are more than half of what is allowed.
    #[must_use]
    pub fn folded(&self, nodes_max: usize) -> Option<(Drawing, String)> {
        fold::folded(self, (nodes_max, usize::MAX))
    }

    /// A text for Graphviz: `dot -Tpdf`. It has each node.
    #[must_use]
    pub fn dot(&self) -> String {
        dot::text(self)
    }

    /// A text for Mermaid, as Markdown pages take it between fences. A graph of more than 80 nodes
    /// is folded; a comment says so.
    #[must_use]
    pub fn mermaid(&self) -> String {
        match fold::folded(self, MERMAID) {
            Some((folded, note)) => mermaid::text(&folded, &note),
            None => mermaid::text(self, ""),
        }
    }

    /// A picture, whole as a file and as a part of a page. A graph of more than 60 nodes is folded:
    /// the picture says so. Names are shown as they are, whatever they hold.
    #[must_use]
    pub fn svg(&self) -> String {
        match fold::folded(self, READABLE) {
            Some((folded, note)) => svg::picture(&folded, &note),
            None => svg::picture(self, ""),
        }
    }
}
