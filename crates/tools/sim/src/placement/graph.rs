//! Who talks with whom.

use actinium_scheduler::mixing;
use serde::Serialize;

/// A kind of graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphKind {
    /// Communities of 100. Each actor talks with 10, of which 95 % are of its own.
    Communities,
    /// Each actor talks with the next one.
    Ring,
    /// Stars of 100: all of one talk with its first.
    Star,
    /// Communities, which are drawn anew from time to time.
    Changing,
    /// Each actor always talks with actors of one other node, wherever it is.
    Adversarial,
}

impl GraphKind {
    /// All of them.
    pub const ALL: [GraphKind; 5] = [
        GraphKind::Communities,
        GraphKind::Ring,
        GraphKind::Star,
        GraphKind::Changing,
        GraphKind::Adversarial,
    ];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            GraphKind::Communities => "communities",
            GraphKind::Ring => "ring",
            GraphKind::Star => "star",
            GraphKind::Changing => "changing",
            GraphKind::Adversarial => "adversarial",
        }
    }
}

/// SplitMix64's numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(mixing::STEP);
        (mixing::scramble(self.0) % u64::from(n.max(1))) as u32
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}

/// The size of a community, and of a star.
const SIZE: u32 = 100;
const DEGREE: u32 = 10;

/// Whom each actor talks with, with each of them as much.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    kind: GraphKind,
    pub(crate) others: Vec<Vec<u32>>,
}

impl Graph {
    pub(crate) fn new(kind: GraphKind, at: &[Vec<u32>], actors: u32, random: &mut Random) -> Self {
        let mut graph = Graph { kind, others: Vec::new() };
        graph.draw(at, actors, random);
        graph
    }

    /// Draws the edges; `at`: the actors of each node.
    pub(crate) fn draw(&mut self, at: &[Vec<u32>], actors: u32, random: &mut Random) {
        self.others = match self.kind {
            GraphKind::Ring => (0..actors).map(|n| vec![(n + 1) % actors]).collect(),
            GraphKind::Star => {
                let of = |n: u32| {
                    if n.is_multiple_of(SIZE) { Vec::new() } else { vec![n / SIZE * SIZE] }
                };
                (0..actors).map(of).collect()
            }
            GraphKind::Communities | GraphKind::Changing => communities(actors, random),
            GraphKind::Adversarial => adversary(at, actors, random),
        };
    }

    /// Whether the edges are others from this round on, counted from 0.
    pub(super) fn changes(&self, round: u32, every: u32) -> bool {
        round > 0
            && match self.kind {
                GraphKind::Changing => round.is_multiple_of(every.max(1)),
                GraphKind::Adversarial => true,
                _ => false,
            }
    }
}

fn communities(actors: u32, random: &mut Random) -> Vec<Vec<u32>> {
    let mut places: Vec<u32> = (0..actors).collect();
    random.shuffle(&mut places);
    let mut others = vec![Vec::new(); actors as usize];
    for (place, &actor) in (0..).zip(&places) {
        let first = place / SIZE * SIZE;
        let size = SIZE.min(actors - first);
        for _ in 0..DEGREE {
            let inside = random.below(100) < 95;
            let other = if inside { first + random.below(size) } else { random.below(actors) };
            if other != place {
                others[actor as usize].push(places[other as usize]);
            }
        }
    }
    others
}

fn adversary(at: &[Vec<u32>], actors: u32, random: &mut Random) -> Vec<Vec<u32>> {
    let mut others = vec![Vec::new(); actors as usize];
    for (node, here) in at.iter().enumerate() {
        let there = &at[(node + 1) % at.len()];
        for &actor in here {
            for _ in 0..DEGREE {
                let other = there.get(random.below(there.len() as u32) as usize);
                others[actor as usize].extend(other.filter(|&&other| other != actor));
            }
        }
    }
    others
}
