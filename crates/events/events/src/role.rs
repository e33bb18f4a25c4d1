//! The roles of modules in a graph.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Producer,
    Filter,
    Analyzer,
    Output,
}
