//! The sketch beside exact counts.

use actinium_placement::{Edge, End, Sketch};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn edge(n: u32) -> Edge<u32> {
    Edge { from: n % 7, to: if n.is_multiple_of(5) { End::Fixed(n) } else { End::Actor(n) } }
}

proptest! {
    /// What Space-Saving promises: no weight is too large, none is too small by more than the
    /// stream's length over the capacity.
    #[test]
    fn weights_are_bounds(stream in proptest::collection::vec((0..40_u32, 1..50_u64), 0..300), capacity in 1..30_usize) {
        let (mut sketch, mut exact) = (Sketch::new(capacity), BTreeMap::new());
        let mut length = 0;
        for (n, messages) in stream {
            sketch.add(edge(n), n, messages);
            *exact.entry(edge(n)).or_insert(0) += messages;
            length += messages;
        }
        prop_assert!(sketch.len() <= capacity);
        let told: BTreeMap<_, _> = sketch.edges().map(|it| (it.edge, it.weight)).collect();
        for (edge, &messages) in &exact {
            let weight = told.get(edge).copied().unwrap_or(0);
            prop_assert!(weight <= messages);
            prop_assert!(messages - weight <= length / capacity as u64 + 1 || exact.len() > capacity);
            // A frequent one is there.
            prop_assert!(messages <= length / capacity as u64 || told.contains_key(edge));
        }
        if exact.len() <= capacity {
            prop_assert_eq!(told, exact);
            prop_assert_eq!(sketch.replaced(), 0);
        }
    }
}

#[test]
fn weights_fade_and_edges_are_forgotten() {
    let mut sketch = Sketch::new(100);
    (1..=20).for_each(|n| sketch.add(edge(n), 0, u64::from(n) * 100));
    sketch.fade(50);
    assert!(sketch.edges().all(|it| it.weight % 50 == 0));
    sketch.forget(3);
    assert!(sketch.edges().all(|it| it.edge.from != 3));
    assert_eq!(sketch.len(), 17, "3, 10 and 17 sent from actor 3");
    sketch.add(edge(3), 9, 1);
    let again: Vec<_> = sketch.edges().filter(|it| it.edge.from == 3).collect();
    assert_eq!((again.len(), again[0].weight, again[0].node), (1, 1, 9));
    (0..32).for_each(|_| sketch.fade(50));
    assert!(sketch.is_empty());
}

#[test]
fn an_edge_leads_to_where_it_was_last_seen() {
    let mut sketch = Sketch::new(4);
    sketch.add(edge(1), 5, 10);
    sketch.add(edge(1), 6, 10);
    let known: Vec<_> = sketch.edges().map(|it| (it.node, it.weight)).collect();
    assert_eq!(known, [(6, 20)]);
}
