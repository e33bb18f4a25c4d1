//! The time until all others know that a node is dead: a simulation with the links of the runtime,
//! one per survivor.

use super::Links;
use crate::link::{BadConfig, DownReason, Link, LinkConfig, LinkEvent};

/// The times at which the survivors of a dead node have noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detection {
    /// The number of survivors that have noticed: all.
    pub noticed: u32,
    /// The time from the death until the first survivor has noticed.
    pub first_ns: u64,
    /// The time until the last survivor has noticed.
    pub last_ns: u64,
    /// The share of a node's thread that heartbeats to and from all others take, in parts per
    /// million.
    pub heartbeats_ppm: u64,
}

/// The frames under way, each with its time of arrival.
type Frames = Vec<(u64, Vec<u8>)>;

/// The time between two looks at the links.
const STEP_NS: u64 = 1_000_000;

/// Simulates a node that talks with all others and then dies.
///
/// # Errors
/// If the configuration makes no sense.
pub fn detection(nodes: u32, links: &Links, config: &LinkConfig) -> Result<Detection, BadConfig> {
    let survivors = nodes.saturating_sub(1);
    let mut pairs = Vec::new();
    for _ in 0..survivors {
        // The dead one's, the other's.
        pairs.push((Link::new(config.clone(), 1, 0)?, Link::new(config.clone(), 1, 0)?));
    }
    // The dead one's thread says one thing after the other: its heartbeats are spread over so long.
    let spread_ns = |survivor: usize| survivor as u64 * links.between_ns(0);
    let mut under_way: Vec<(Frames, Frames)> = vec![Default::default(); pairs.len()];
    // Long enough to be up, and to be anywhere between two heartbeats.
    let dies_ns = 5 * config.heartbeat_ns / 2;
    let (mut noticed, mut first_ns, mut last_ns) = (0, u64::MAX, 0);
    let until_ns = dies_ns + 2 * config.down_after_ns + 2 * config.heartbeat_ns;
    let mut now_ns = 0;
    while noticed < survivors && now_ns < until_ns {
        for (survivor, (dead, other)) in pairs.iter_mut().enumerate() {
            let (to_dead, to_other) = &mut under_way[survivor];
            for (_, frame) in to_other.extract_if(.., |(at_ns, _)| *at_ns <= now_ns) {
                other.receive(frame, now_ns);
            }
            let way_ns = links.hop_ns() + spread_ns(survivor);
            if now_ns < dies_ns {
                for (_, frame) in to_dead.extract_if(.., |(at_ns, _)| *at_ns <= now_ns) {
                    dead.receive(frame, now_ns);
                }
                dead.tick(now_ns);
                dead.transmit(now_ns, |frame| {
                    to_other.push((now_ns + way_ns, frame.to_vec()));
                    true
                });
                while dead.poll_event().is_some() {}
            }
            other.tick(now_ns);
            other.transmit(now_ns, |frame| {
                if now_ns < dies_ns {
                    to_dead.push((now_ns + links.hop_ns(), frame.to_vec()));
                }
                true
            });
            while let Some(event) = other.poll_event() {
                if let LinkEvent::Down(down) = event
                    && matches!(down.reason, DownReason::Silent { .. })
                {
                    noticed += 1;
                    first_ns = first_ns.min(now_ns - dies_ns.min(now_ns));
                    last_ns = now_ns - dies_ns.min(now_ns);
                }
            }
        }
        now_ns += STEP_NS;
    }
    let per_heartbeat_ns = 2 * u64::from(survivors) * links.end_ns();
    let heartbeats_ppm = per_heartbeat_ns.saturating_mul(1_000_000) / config.heartbeat_ns.max(1);
    let first_ns = if noticed == 0 { 0 } else { first_ns };
    Ok(Detection { noticed, first_ns, last_ns, heartbeats_ppm })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_notice_within_the_configured_time() {
        let config = LinkConfig::default();
        let detection = detection(200, &Links::default(), &config).unwrap();
        assert_eq!(detection.noticed, 199);
        let earliest_ns = config.down_after_ns - config.heartbeat_ns;
        let latest_ns = config.down_after_ns + config.heartbeat_ns;
        assert!(
            detection.first_ns >= earliest_ns - 2 * STEP_NS && detection.last_ns <= latest_ns,
            "{detection:?}"
        );
        // 199 there and back of 1 µs each in 100 ms.
        assert_eq!(detection.heartbeats_ppm, 3_980);
    }
}
