//! Who sends to whom.

/// A pattern of communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A game of life on a torus: each of 32 × 32 cells tells its eight neighbours its state when
    /// it knows theirs.
    Life,
    /// A pipeline of 20 stages with 64 items in it, whose end is its beginning.
    Pipeline,
    /// One actor publishes to 100 subscribers, again when all have answered.
    PubSub,
    /// A binary tree with 512 leaves: from the root to the leaves, and the answers back.
    Tree,
    /// k-means: a coordinator broadcasts to 16 workers, and gathers what each has found.
    KMeans,
}

/// The place of one actor in a pattern, by the numbers of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Whom it sends work.
    pub(super) next: Vec<usize>,
    /// Whom it answers; none: it begins anew instead.
    pub(super) up: Option<usize>,
    /// The messages of work after which it goes on.
    pub(super) needs: u32,
    /// Messages of work that it gets at the start.
    pub(super) starts_with: u32,
}

impl Shape {
    pub(super) const ALL: [Shape; 5] =
        [Shape::Life, Shape::Pipeline, Shape::PubSub, Shape::Tree, Shape::KMeans];

    pub(super) fn name(self) -> &'static str {
        match self {
            Shape::Life => "game of life, 1,024 cells",
            Shape::Pipeline => "pipeline, 20 stages",
            Shape::PubSub => "publisher, 100 subscribers",
            Shape::Tree => "tree, 512 leaves",
            Shape::KMeans => "k-means, 16 workers",
        }
    }

    /// The places of all its actors.
    pub(super) fn places(self) -> Vec<Place> {
        match self {
            Shape::Life => (0..1_024).map(cell).collect(),
            Shape::Pipeline => (0..20).map(stage).collect(),
            Shape::PubSub => star(100),
            Shape::Tree => (0..1_024).map(inner).collect(),
            Shape::KMeans => star(16),
        }
    }
}

const SIDE: usize = 32;

fn cell(at: usize) -> Place {
    let (x, y) = (at % SIDE, at / SIDE);
    let around = [SIDE - 1, 0, 1];
    let all = around.iter().flat_map(|dx| around.iter().map(move |dy| (dx, dy)));
    let next = all.map(|(dx, dy)| (x + dx) % SIDE + (y + dy) % SIDE * SIDE);
    Place { next: next.filter(|&other| other != at).collect(), up: None, needs: 8, starts_with: 8 }
}

fn stage(at: usize) -> Place {
    let starts_with = if at == 0 { 64 } else { 0 };
    Place { next: vec![(at + 1) % 20], up: None, needs: 1, starts_with }
}

/// The first is in the middle.
fn star(around: usize) -> Vec<Place> {
    let middle = Place { next: (1..=around).collect(), up: None, needs: 1, starts_with: 1 };
    let member = Place { next: Vec::new(), up: Some(0), needs: 1, starts_with: 0 };
    [middle].into_iter().chain(vec![member; around]).collect()
}

/// The children of place n are 2 n and 2 n + 1; the root is 1, and 0 begins.
fn inner(at: usize) -> Place {
    let next = match at {
        0 => vec![1],
        1..512 => vec![2 * at, 2 * at + 1],
        _ => Vec::new(),
    };
    let up = (at > 0).then_some(at / 2);
    Place { next, up, needs: 1, starts_with: u32::from(at == 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gets_what_it_needs() {
        for shape in Shape::ALL {
            let places = shape.places();
            let mut gets = vec![0; places.len()];
            for place in &places {
                place.next.iter().for_each(|&to| gets[to] += 1);
                assert!(place.up.is_none_or(|up| up < places.len()), "{place:?}");
            }
            for (place, gets) in places.iter().zip(gets) {
                let begins = place.up.is_none() && place.starts_with > 0;
                assert!(gets == place.needs || begins, "{shape:?}: {place:?} gets {gets}");
            }
        }
    }

    #[test]
    fn answers_go_to_whoever_has_sent_the_work() {
        for shape in [Shape::PubSub, Shape::Tree, Shape::KMeans] {
            let places = shape.places();
            for (at, place) in places.iter().enumerate() {
                assert!(place.next.iter().all(|&to| places[to].up == Some(at)), "{shape:?}, {at}");
            }
        }
    }
}
