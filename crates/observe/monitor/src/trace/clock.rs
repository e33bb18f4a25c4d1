//! Clocks of several nodes: whose times are in one trace.

/// A question to another node for its time, and the answer, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// The own time when it was asked.
    pub sent_ns: u64,
    /// The other node's time when it answered.
    pub there_ns: u64,
    /// The own time when the answer had come.
    pub back_ns: u64,
}

/// How far a node's clock is behind the one whose time a trace of several nodes shows.
///
/// ```
/// use actinium_monitor::{ClockOffset, Ping};
///
/// let pings = [
///     Ping { sent_ns: 1_000, there_ns: 9_000, back_ns: 5_000 },
///     Ping { sent_ns: 6_000, there_ns: 10_100, back_ns: 6_200 },
/// ];
/// // The one that was back soonest says most.
/// let clock = ClockOffset::of_pings(&pings).expect("there are some");
/// assert_eq!((clock.offset_ns, clock.uncertainty_ns), (4_000, 100));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// What is added to the own time, in nanoseconds.
    pub offset_ns: i64,
    /// By how much that may be wrong, in nanoseconds.
    pub uncertainty_ns: u64,
    /// How it was found, for whoever reads the trace.
    pub how: String,
}

impl ClockOffset {
    /// The other node is on the same host, and has the same clock.
    #[must_use]
    pub fn same_host() -> Self {
        let how = "CLOCK_REALTIME of one host";
        ClockOffset { offset_ns: 0, uncertainty_ns: 0, how: how.to_owned() }
    }

    /// Of the ping that was back soonest: the other node answered at some time between question and
    /// answer. None if there are no pings.
    #[must_use]
    pub fn of_pings(pings: &[Ping]) -> Option<Self> {
        let length = |ping: &Ping| ping.back_ns.saturating_sub(ping.sent_ns);
        let best = pings.iter().min_by_key(|ping| length(ping))?;
        let half = length(best).div_ceil(2);
        let middle_ns = best.sent_ns.saturating_add(half);
        let offset_ns = i128::from(best.there_ns) - i128::from(middle_ns);
        Some(ClockOffset {
            offset_ns: i64::try_from(offset_ns).unwrap_or(0),
            uncertainty_ns: half,
            how: format!("the fastest of {} pings to the first node", pings.len()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_is_put_back() {
        let ping = Ping { sent_ns: 10_000, there_ns: 2_000, back_ns: 10_501 };
        let clock = ClockOffset::of_pings(&[ping]).expect("one");
        assert_eq!((clock.offset_ns, clock.uncertainty_ns), (-8_251, 251));
        assert_eq!(ClockOffset::of_pings(&[]), None);
    }
}
