//! The levels of a graph's nodes: each is above those that it needs.

use crate::drawing::Drawing;

/// The level of each node, from 0: the longest way to it. Where nodes need each other in a circle,
/// one edge of it leads back.
pub(crate) fn layers(drawing: &Drawing) -> Vec<usize> {
    let count = drawing.nodes.len();
    let given: Option<Vec<usize>> = drawing.nodes.iter().map(|it| it.level).collect();
    if let Some(given) = given {
        return given;
    }
    let (mut after, mut missing) = (vec![Vec::new(); count], vec![0_usize; count]);
    for edge in drawing.drawn().filter(|it| it.from != it.to) {
        after[edge.from].push(edge.to);
        missing[edge.to] += 1;
    }
    let needs_none: Vec<bool> = missing.iter().map(|&it| it == 0).collect();
    let (mut layers, mut is_done) = (vec![0_usize; count], vec![false; count]);
    let mut order = Vec::with_capacity(count);
    let mut next: Vec<usize> = (0..count).filter(|&node| missing[node] == 0).collect();
    let mut first_left = 0;
    while order.len() < count {
        let Some(node) = next.pop() else {
            // A circle: it is cut at the first node that is left.
            while is_done[first_left] {
                first_left += 1;
            }
            next.push(first_left);
            continue;
        };
        if std::mem::replace(&mut is_done[node], true) {
            continue;
        }
        order.push(node);
        for &to in after[node].iter().filter(|&&to| !is_done[to]) {
            layers[to] = layers[to].max(layers[node] + 1);
            missing[to] -= 1;
            if missing[to] == 0 {
                next.push(to);
            }
        }
    }
    // What needs nothing stands beside those that need it first, not far away from them.
    for &node in order.iter().filter(|&&node| needs_none[node]) {
        let first = after[node].iter().map(|&to| layers[to]).min();
        layers[node] = first.map_or(0, |first| first.saturating_sub(1));
    }
    layers
}
