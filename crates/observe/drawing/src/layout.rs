//! Places for nodes and edges: in layers, each node behind those that it needs.
//!
//! The usual four steps. Each node gets a layer; an edge over several layers passes a point in each
//! of those between. Layers are put in order by the mean place of their neighbours, again and
//! again. Then all move towards their neighbours, as far as the room between them allows.

use crate::drawing::Drawing;
use crate::layers::layers;

/// How often layers are put in order, and then moved.
const SWEEPS: usize = 24;
/// Most letters of a label that are shown; the rest is in the tooltip.
pub(crate) const LETTERS_MAX: usize = 28;
/// About the width of a letter.
const LETTER: f64 = 6.7;
/// A box without a second line, and with it.
const HEIGHTS: (f64, f64) = (25.0, 39.0);
/// Around all.
const MARGIN: f64 = 14.0;
/// The room of an edge that passes a layer.
const PASSING: f64 = 7.0;

/// A box: its middle and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Where all is.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Whether layers are columns.
    pub(crate) is_across: bool,
    /// Of each node.
    pub(crate) places: Vec<Place>,
    /// Of each edge that is drawn, the points that it passes: the middles of its ends included.
    pub(crate) ways: Vec<Vec<(f64, f64)>>,
}

/// A node, or a point that an edge passes.
struct Item {
    layer: usize,
    /// Its size along its layer.
    size: f64,
    /// Its middle along its layer.
    at: f64,
    /// Those in the layer before, and in the one behind.
    near: [Vec<usize>; 2],
}

pub(crate) fn layout(drawing: &Drawing) -> Layout {
    let sizes: Vec<(f64, f64)> =
        drawing.nodes.iter().map(|it| size(&it.label, &it.detail)).collect();
    // As columns or as rows: what is narrower, for pages scroll down.
    let (columns, rows) =
        (Layered::new(drawing, &sizes, true), Layered::new(drawing, &sizes, false));
    let [columns, rows] = [columns, rows].map(|it| it.finish(&sizes));
    match columns.width <= rows.width.max(900.0) {
        true => columns,
        false => rows,
    }
}

fn size(label: &str, detail: &str) -> (f64, f64) {
    let letters = label.chars().count().min(LETTERS_MAX).max(detail.chars().count() * 9 / 10);
    let height = if detail.is_empty() { HEIGHTS.0 } else { HEIGHTS.1 };
    (letters as f64 * LETTER + 24.0, height)
}

/// A graph in layers, whose items move along these.
struct Layered {
    is_across: bool,
    items: Vec<Item>,
    layers: Vec<Vec<usize>>,
    /// The items that each edge passes.
    ways: Vec<Vec<usize>>,
}

impl Layered {
    fn new(drawing: &Drawing, sizes: &[(f64, f64)], is_across: bool) -> Self {
        let levels = layers(drawing);
        let along = |&(width, height): &(f64, f64)| if is_across { height } else { width };
        let item = |layer, size| Item { layer, size, at: 0.0, near: Default::default() };
        let mut items: Vec<Item> =
            levels.iter().zip(sizes).map(|(&layer, size)| item(layer, along(size))).collect();
        let mut ways = Vec::new();
        for edge in drawing.drawn() {
            let mut way = vec![edge.from];
            for layer in levels[edge.from] + 1..levels[edge.to] {
                way.push(items.len());
                items.push(item(layer, PASSING));
            }
            way.push(edge.to);
            if levels[edge.from] < levels[edge.to] {
                for pair in way.windows(2) {
                    items[pair[0]].near[1].push(pair[1]);
                    items[pair[1]].near[0].push(pair[0]);
                }
            }
            ways.push(way);
        }
        // A level that nobody stands at is empty, and takes little room.
        let count = levels.iter().max().map_or(0, |most| most + 1);
        let mut layers = vec![Vec::new(); count];
        for (number, item) in items.iter().enumerate() {
            layers[item.layer].push(number);
        }
        Layered { is_across, items, layers, ways }
    }

    /// Puts the items of each layer in the order of their neighbours.
    fn sort(&mut self) {
        let mut rank = vec![0.0; self.items.len()];
        for layer in &self.layers {
            layer.iter().enumerate().for_each(|(nth, &item)| rank[item] = nth as f64);
        }
        for sweep in 0..SWEEPS {
            let side = sweep % 2;
            let mut numbers: Vec<usize> = (0..self.layers.len()).collect();
            if side == 1 {
                numbers.reverse();
            }
            for number in numbers {
                let mut keyed: Vec<(f64, usize)> = self.layers[number]
                    .iter()
                    .map(|&item| {
                        let near = &self.items[item].near[side];
                        let sum: f64 = near.iter().map(|&it| rank[it]).sum();
                        let mean = sum / near.len() as f64;
                        (if near.is_empty() { rank[item] } else { mean }, item)
                    })
                    .collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                // Ranks are shares of the layer, so that long and short ones compare.
                let step = 1.0 / keyed.len().max(1) as f64;
                for (nth, &(_, item)) in keyed.iter().enumerate() {
                    rank[item] = (nth as f64 + 0.5) * step;
                }
                self.layers[number] = keyed.into_iter().map(|(_, item)| item).collect();
            }
        }
    }

    /// The distance between the middles of two that lie side by side.
    fn apart(&self, a: usize, b: usize) -> f64 {
        let gap = if self.is_across { 9.0 } else { 14.0 };
        (self.items[a].size + self.items[b].size) / 2.0 + gap
    }

    /// Moves the items of each layer towards their neighbours.
    fn settle(&mut self) {
        for layer in 0..self.layers.len() {
            let mut at = 0.0;
            for nth in 0..self.layers[layer].len() {
                let item = self.layers[layer][nth];
                if nth > 0 {
                    at += self.apart(self.layers[layer][nth - 1], item);
                }
                self.items[item].at = at;
            }
            for &item in &self.layers[layer] {
                self.items[item].at -= at / 2.0;
            }
        }
        for sweep in 0..SWEEPS {
            for nth in 0..self.layers.len() {
                let layer = if sweep % 2 == 0 { nth } else { self.layers.len() - 1 - nth };
                self.settle_layer(layer);
            }
        }
    }

    fn settle_layer(&mut self, layer: usize) {
        let items = &self.layers[layer];
        let wanted: Vec<f64> = items
            .iter()
            .map(|&item| {
                let near = self.items[item].near.iter().flatten();
                let (sum, count) =
                    near.fold((0.0, 0.0), |(sum, n), &it| (sum + self.items[it].at, n + 1.0));
                if count == 0.0 { self.items[item].at } else { sum / count }
            })
            .collect();
        // As far down as each wants, and as far up: both keep the distances, and so does the mean.
        let (mut down, mut up) = (wanted.clone(), wanted);
        for nth in 1..items.len() {
            down[nth] = down[nth].max(down[nth - 1] + self.apart(items[nth - 1], items[nth]));
        }
        for nth in (1..items.len()).rev() {
            up[nth - 1] = up[nth - 1].min(up[nth] - self.apart(items[nth - 1], items[nth]));
        }
        for nth in 0..items.len() {
            let item = self.layers[layer][nth];
            self.items[item].at = f64::midpoint(down[nth], up[nth]);
        }
    }

    /// Decides, and turns places along and between layers into points.
    fn finish(mut self, sizes: &[(f64, f64)]) -> Layout {
        self.sort();
        self.settle();
        let least = |it: &Item| it.at - it.size / 2.0;
        let first = self.items.iter().map(least).fold(f64::INFINITY, f64::min);
        let first = if first.is_finite() { first } else { 0.0 };
        let last = self.items.iter().map(|it| it.at + it.size / 2.0).fold(first, f64::max);
        let thick = |node: usize| if self.is_across { sizes[node].0 } else { sizes[node].1 };
        let (mut middles, mut end) = (Vec::new(), MARGIN);
        for layer in &self.layers {
            let nodes = layer.iter().filter(|&&item| item < sizes.len());
            let most = nodes.map(|&node| thick(node)).fold(0.0, f64::max);
            // Where many edges leave they need room to turn.
            let edges: usize = layer.iter().map(|&item| self.items[item].near[1].len()).sum();
            middles.push(end + most / 2.0);
            end += most + 34.0 + (edges as f64 * 1.2).min(50.0);
        }
        let ends = middles.last().map_or(MARGIN, |&middle| {
            let last = self.layers.last().into_iter().flatten();
            let nodes = last.filter(|&&item| item < sizes.len()).map(|&node| thick(node));
            middle + nodes.fold(0.0, f64::max) / 2.0
        });
        let point = |item: usize| {
            let (at, between) =
                (self.items[item].at - first + MARGIN, middles[self.items[item].layer]);
            if self.is_across { (between, at) } else { (at, between) }
        };
        let place = |(node, &(width, height)): (usize, &(f64, f64))| {
            let (x, y) = point(node);
            Place { x, y, width, height }
        };
        let (length, thickness) = (last - first + 2.0 * MARGIN, ends + MARGIN);
        let (width, height) =
            if self.is_across { (thickness, length) } else { (length, thickness) };
        Layout {
            width,
            height,
            is_across: self.is_across,
            places: sizes.iter().enumerate().map(place).collect(),
            ways: self.ways.iter().map(|way| way.iter().map(|&it| point(it)).collect()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{Edge, Node, Role};
    use proptest::prelude::*;

    fn overlap(a: &Place, b: &Place) -> bool {
        (a.x - b.x).abs() * 2.0 < a.width + b.width && (a.y - b.y).abs() * 2.0 < a.height + b.height
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        /// Whatever the graph is, circles included: all is within the picture, and no box is on
        /// another one.
        #[test]
        fn boxes_lie_apart_and_inside(
            labels in prop::collection::vec("[a-z]{0,40}", 1..30),
            ends in prop::collection::vec((0..30_usize, 0..30_usize), 0..80),
        ) {
            let mut drawing = Drawing::new("t");
            for label in labels {
                drawing.node(Node::new(label, Role::Producer).detail("x"));
            }
            let count = drawing.nodes.len();
            ends.into_iter().for_each(|(a, b)| drawing.edge(Edge::new(a % count, b % count)));
            let layout = layout(&drawing);
            for (n, a) in layout.places.iter().enumerate() {
                prop_assert!(a.x - a.width / 2.0 >= 0.0 && a.x + a.width / 2.0 <= layout.width);
                prop_assert!(a.y - a.height / 2.0 >= 0.0 && a.y + a.height / 2.0 <= layout.height);
                for b in &layout.places[..n] {
                    prop_assert!(!overlap(a, b), "{a:?} {b:?}");
                }
            }
            for (way, edge) in layout.ways.iter().zip(&drawing.edges) {
                let from = layout.places[edge.from];
                prop_assert_eq!(way[0], (from.x, from.y));
            }
        }
    }

    #[test]
    fn a_chain_is_a_straight_line() {
        let mut drawing = Drawing::new("t");
        for n in 0..4 {
            drawing.node(Node::new("module", Role::Producer));
            if n > 0 {
                drawing.edge(Edge::new(n - 1, n));
            }
        }
        let layout = layout(&drawing);
        assert!(layout.is_across && layout.places.windows(2).all(|it| it[0].y == it[1].y));
        assert!(layout.places.windows(2).all(|it| it[0].x < it[1].x));
    }
}
