//! A graph, to be drawn.

use crate::graph::Graph;
use crate::layout::Layout;
use crate::role::Role;
use actinium_drawing::{Drawing, Edge, Node};
use std::collections::HashSet;

impl Graph {
    /// The graph as a [`Drawing`], from which a text for Graphviz or Mermaid is made, or a picture.
    /// Nodes have the labels of modules, in the order of their registration; the source comes last.
    /// Steps of a path that follow each other have an edge, too.
    ///
    /// ```
    /// use actinium_events::{Analyzer, Builder, Cause, Event, Input, Next, Source, Threads};
    /// # struct Numbers;
    /// # impl Source for Numbers {
    /// #     type Product = u64;
    /// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> { Ok(Next::End) }
    /// # }
    /// # struct See(Input<u64>);
    /// # impl Analyzer for See {
    /// #     fn analyze(&self, _: &Event<'_>) -> Result<(), Cause> { Ok(()) }
    /// # }
    ///
    /// let mut builder = Builder::new("numbers", Numbers);
    /// builder.analyzer("see", Threads::Serial, |inputs| See(inputs.get("numbers")));
    /// let graph = builder.build()?;
    /// assert!(graph.drawing().mermaid().contains("n1 --> n0"));
    /// // For a page or a file: graph.drawing().svg(), graph.drawing().dot().
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        drawing(&self.layout, self.name())
    }
}

fn drawing(layout: &Layout, title: &str) -> Drawing {
    let mut drawing = Drawing::new(title);
    for module in 0..layout.modules {
        let role = match layout.roles[usize::from(module)] {
            Role::Producer => actinium_drawing::Role::Producer,
            Role::Filter => actinium_drawing::Role::Filter,
            Role::Analyzer => actinium_drawing::Role::Analyzer,
            Role::Output => actinium_drawing::Role::Output,
        };
        drawing.node(Node::new(layout.label(module), role).detail(detail(layout, module)));
    }
    let source = drawing.node(Node::new(title, actinium_drawing::Role::Source));
    // One of several products is drawn as the module that makes it.
    let node = |number: u16| match number {
        _ if number == layout.source => source,
        _ if number >= layout.modules => {
            layout.links.inputs(number).first().map_or(source, |&it| usize::from(it))
        }
        _ => usize::from(number),
    };
    let mut known = HashSet::new();
    let mut add = |from: usize, to: usize, edge: fn(usize, usize) -> Edge| {
        if from != to && known.insert((from, to)) {
            drawing.edge(edge(from, to));
        }
    };
    for module in 0..layout.modules {
        for &port in layout.links.ports(module) {
            add(node(port), usize::from(module), Edge::new);
        }
    }
    for (_, steps) in &layout.paths {
        for pair in steps.windows(2) {
            add(usize::from(pair[0]), usize::from(pair[1]), Edge::order);
        }
    }
    for &(output, select) in &layout.outputs {
        if let Some(&last) = select.and_then(|path| layout.paths[path].1.last()) {
            add(usize::from(last), usize::from(output), Edge::order);
        }
    }
    drawing
}

/// How many events may be in the module at a time, unless any number may; and whether it waits.
fn detail(layout: &Layout, module: u16) -> String {
    let traits = layout.traits(module);
    let resource = traits.resource.map(|resource| &layout.resources[usize::from(resource)]);
    let threads = match resource {
        _ if traits.streams => "stream".to_owned(),
        Some((name, 1)) if layout.exclusives.contains(name) => format!("exclusive({name})"),
        Some((_, 1)) => "serial".to_owned(),
        Some((_, most)) => format!("limited({most})"),
        None => String::new(),
    };
    let waits = if traits.waits { "waits" } else { "" };
    [threads.as_str(), waits].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ")
}
