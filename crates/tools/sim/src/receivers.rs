//! The receivers of messages that travel: some actors get more than others.

use actinium_scheduler::mixing::SplitMix64;
use serde::Serialize;

/// How uneven the shares of the actors are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Skew {
    /// The n-th actor is chosen with a probability in proportion to 1 / n to the power of the
    /// exponent: Zipf's law.
    Zipf {
        /// 0: all get as many; 1: the classic law; with greater ones the first get nearly all.
        exponent: f64,
    },
    /// So many actors get this share of the messages, and all together the rest.
    Hot {
        /// How many are hot.
        actors: u32,
        /// The share of the messages that the hot actors get together.
        share: f64,
    },
}

/// Steps in which the fraction of an exponent counts: 1/1,024.
const FRACTION_BITS: u32 = 10;

/// Chooses receivers. Which actors get more, is drawn at the start.
#[derive(Clone, Debug)]
pub struct Receivers {
    skew: Option<Skew>,
    actors: u32,
    /// Which actors are hot; for Zipf, the actors by falling weight.
    order: Vec<u32>,
    /// For Zipf: cumulative weights.
    cumulative: Vec<f64>,
}

impl Receivers {
    /// Of so many actors; without a skew, each is chosen as often.
    pub fn new(skew: Option<Skew>, actors: u32, random: &mut SplitMix64) -> Self {
        let mut order: Vec<u32> = (0..actors).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at as u64 + 1) as usize);
        }
        let mut cumulative = Vec::new();
        match skew {
            Some(Skew::Hot { actors, .. }) => order.truncate(actors.max(1) as usize),
            Some(Skew::Zipf { exponent }) => {
                let mut sum = 0.0;
                cumulative.extend((1..=actors).map(|n| {
                    sum += 1.0 / power(f64::from(n), exponent);
                    sum
                }));
            }
            None => {}
        }
        Receivers { skew, actors, order, cumulative }
    }

    /// The receiver of the next message.
    pub fn next(&self, random: &mut SplitMix64) -> u32 {
        match self.skew {
            Some(Skew::Hot { share, .. }) if random.unit() < share => {
                self.order[random.below(self.order.len() as u64) as usize]
            }
            Some(Skew::Zipf { .. }) => {
                let total = self.cumulative.last().copied().unwrap_or(1.0);
                let at = random.unit() * total;
                let rank = self.cumulative.partition_point(|&sum| sum <= at);
                self.order[rank.min(self.order.len() - 1)]
            }
            _ => random.below(self.actors.into()) as u32,
        }
    }
}

/// A power, by multiplications and square roots: `powf` is not the same everywhere.
fn power(base: f64, exponent: f64) -> f64 {
    let mut left = (exponent.max(0.0) * f64::from(1 << FRACTION_BITS)).round() as u32;
    let mut factor = (0..FRACTION_BITS).fold(base, |root, _| root.sqrt());
    // The roots squared again are not exact; whole exponents are.
    let mut product = 1.0;
    for _ in 0..FRACTION_BITS {
        if left & 1 == 1 {
            product *= factor;
        }
        (left, factor) = (left >> 1, factor * factor);
    }
    (0..left).fold(product, |product, _| product * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares of the actors, the greatest first, of many messages.
    fn shares(skew: Option<Skew>, actors: u32) -> Vec<f64> {
        const MESSAGES: u32 = 200_000;
        let mut random = SplitMix64::new(7);
        let receivers = Receivers::new(skew, actors, &mut random);
        let mut counts = vec![0.0; actors as usize];
        for _ in 0..MESSAGES {
            counts[receivers.next(&mut random) as usize] += 1.0 / f64::from(MESSAGES);
        }
        counts.sort_by(|a, b| b.total_cmp(a));
        counts
    }

    #[track_caller]
    fn near(is: f64, due: f64) {
        assert!((is / due - 1.0).abs() < 0.1, "{is} instead of {due}");
    }

    #[test]
    fn powers_are_those_of_the_library() {
        for exponent in [0.0, 0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 3.0] {
            for base in [1.0_f64, 2.0, 3.0, 1_000.0, 1e6] {
                // 0.9 is no multiple of 1/1,024.
                assert!((power(base, exponent) / base.powf(exponent) - 1.0).abs() < 0.01);
            }
        }
        assert_eq!((power(3.0, 1.0), power(7.0, 2.0), power(9.0, 0.0)), (3.0, 49.0, 1.0));
    }

    #[test]
    fn zipf_s_law_by_its_exponent() {
        let harmonic = |exponent: f64| (1..=50).map(|n| f64::from(n).powf(-exponent)).sum::<f64>();
        for exponent in [0.5, 1.0, 2.0] {
            let shares = shares(Some(Skew::Zipf { exponent }), 50);
            near(shares[0], 1.0 / harmonic(exponent));
            near(shares[3], 4f64.powf(-exponent) / harmonic(exponent));
        }
        near(shares(Some(Skew::Zipf { exponent: 0.0 }), 50)[0], 0.02);
    }

    #[test]
    fn hot_actors_get_their_share_and_all_the_rest() {
        let shares = shares(Some(Skew::Hot { actors: 4, share: 0.8 }), 100);
        near(shares[..4].iter().sum(), 0.8 + 0.2 * 0.04);
        near(shares[4..].iter().sum(), 0.2 * 0.96);
        near(self::shares(None, 10)[0], 0.1);
    }

    #[test]
    fn one_alone_gets_all_and_more_hot_ones_than_there_are_are_all() {
        for skew in [Skew::Zipf { exponent: 1.0 }, Skew::Hot { actors: 9, share: 0.5 }].map(Some) {
            assert!((shares(skew, 1)[0] - 1.0).abs() < 1e-6);
        }
        near(shares(Some(Skew::Hot { actors: 9, share: 0.5 }), 2)[0], 0.5);
    }
}
