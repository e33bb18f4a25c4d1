//! Graphs of modules, drawn.
//!
//! A [`Drawing`] is plain data: nodes, and who needs whom. [`Drawing::dot`] is a text for Graphviz,
//! [`Drawing::mermaid`] one for Markdown, and [`Drawing::svg`] a picture by a layout of this crate.
//!
//! A picture of many nodes is none that people can read. So Mermaid and SVG fold a graph that is
//! too large ([`Drawing::folded`]): nodes of the same role and level become one box, which says how
//! many they are. What is marked stays as it is, and the picture says that it is folded. DOT has
//! each node. [`escaped`] makes text safe for any SVG or HTML.
//!
//! ```
//! use actinium_drawing::{Drawing, Edge, Node, Role};
//!
//! let mut drawing = Drawing::new("numbers");
//! let numbers = drawing.node(Node::new("numbers", Role::Source));
//! let square = drawing.node(Node::new("square", Role::Producer));
//! let sum = drawing.node(Node::new("sum", Role::Analyzer).detail("serial"));
//! drawing.edge(Edge::new(numbers, square));
//! drawing.edge(Edge::new(square, sum));
//! drawing.mark(&["square", "sum"]);
//! assert!(drawing.dot().contains("\"square\""));
//! assert!(drawing.mermaid().contains("n0 --> n1"));
//! assert!(drawing.svg().starts_with("<svg"));
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod dot;
mod draw;
mod drawing;
mod escape;
mod fold;
mod layers;
mod layout;
mod mermaid;
mod svg;

pub use drawing::{Drawing, Edge, Node, Role};
pub use escape::escaped;
