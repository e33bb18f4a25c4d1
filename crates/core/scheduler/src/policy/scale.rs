//! Elastic workers: how many of them are given work.
//!
//! A worker that is not *working* sleeps; nobody wakes it for work that others could do, and what
//! has its home there is handed on when it wakes. The number of workers that work grows when
//! something waits for long, at once and by as many as could do it, or when those that work are
//! busy all the time; it shrinks when fewer would do. It is judged by measured delay and busy time,
//! never by how many messages wait: in a closed loop each actor has at most one, however much there
//! is to do.

/// The rules by which the number of working workers changes, each with its unit and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elastic {
    /// Fewest workers that work.
    pub least: usize,
    /// More workers are called when something would wait longer than this, in nanoseconds: a few
    /// times what it takes to wake one.
    pub wait_worth_growing_ns: u64,
    /// One more worker is called when those that work were busy for so much of a window, in
    /// percent, and something waits that it could do: what is left is noise.
    pub busy_to_grow_percent: u64,
    /// The largest share of a window, in percent, that each worker kept may be busy: as many
    /// workers are kept as this takes. It leaves room for work that comes unevenly, and lies well
    /// below what makes the workers grow again.
    pub busy_kept_percent: u64,
    /// Length of a window, in nanoseconds: many turns, so that busy time means something, and
    /// little against the time for which load lasts.
    pub window_ns: u64,
}

impl Elastic {
    /// The defaults.
    pub const DEFAULT: Elastic = Elastic {
        least: 1,
        wait_worth_growing_ns: 20_000,
        busy_to_grow_percent: 90,
        busy_kept_percent: 70,
        window_ns: 5_000_000,
    };
}

impl Default for Elastic {
    fn default() -> Self {
        Elastic::DEFAULT
    }
}

/// The view of a worker that asks whether enough workers work.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ScaleView {
    /// Workers that work.
    pub working: usize,
    /// Workers that there are.
    pub workers: usize,
    /// How long what stands last in its queue will wait: nanoseconds.
    pub wait_ns: u64,
    /// Runnables in its queue that others could run.
    pub movable: usize,
    /// The time of a window, at its end, for which the working workers were busy, all together, in
    /// percent of one worker's time.
    pub busy_percent: Option<u64>,
}

/// Why the number of working workers changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum ScaleReason {
    /// Something would have waited too long.
    Delay,
    /// The workers that worked were busy all the time, and something waited.
    Busy,
    /// Fewer can do what there is to do.
    Idle,
}

impl ScaleReason {
    /// The reason in one word.
    pub fn name(self) -> &'static str {
        match self {
            ScaleReason::Delay => "delay",
            ScaleReason::Busy => "busy",
            ScaleReason::Idle => "idle",
        }
    }
}

impl Elastic {
    /// How many shall work, and why, if not as many as now.
    pub fn scale(&self, view: &ScaleView) -> Option<(usize, ScaleReason)> {
        let can_grow = view.working < view.workers && view.movable > 0;
        if can_grow && view.wait_ns > self.wait_worth_growing_ns {
            // One for each that waits: a burst gets all it needs at once.
            let to = view.working.saturating_add(view.movable).min(view.workers);
            return Some((to, ScaleReason::Delay));
        }
        let busy_percent = view.busy_percent?;
        if can_grow && busy_percent >= self.busy_to_grow_percent * view.working as u64 {
            return Some((view.working + 1, ScaleReason::Busy));
        }
        let needed = busy_percent.div_ceil(self.busy_kept_percent.max(1)) as usize;
        let needed = needed.max(self.least).max(1);
        (needed < view.working).then_some((needed, ScaleReason::Idle))
    }
}

/// One change of the number of working workers, with the figures that led to it.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ScaleEvent {
    /// The time of the change, in nanoseconds of the scheduler's clock.
    pub at_ns: u64,
    /// Workers that worked before.
    pub from: usize,
    /// Workers that work from now on.
    pub to: usize,
    /// The reason for the change.
    pub reason: ScaleReason,
    /// The view that decided it.
    pub view: ScaleView,
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: ScaleView =
        ScaleView { working: 2, workers: 8, wait_ns: 0, movable: 0, busy_percent: None };

    fn scale(view: ScaleView) -> Option<(usize, ScaleReason)> {
        Elastic::DEFAULT.scale(&view)
    }

    #[test]
    fn a_burst_gets_as_many_as_it_needs_at_once() {
        let burst = |movable| scale(ScaleView { wait_ns: 20_001, movable, ..QUIET });
        assert_eq!(burst(3), Some((5, ScaleReason::Delay)));
        assert_eq!(burst(100), Some((8, ScaleReason::Delay)));
        assert_eq!(burst(0), None, "what nobody else could run calls nobody");
        assert_eq!(scale(ScaleView { wait_ns: 20_000, movable: 3, ..QUIET }), None);
    }

    #[test]
    fn busy_workers_get_one_more_if_there_is_something_for_it() {
        let busy =
            |percent, movable| scale(ScaleView { busy_percent: Some(percent), movable, ..QUIET });
        assert_eq!(busy(180, 1), Some((3, ScaleReason::Busy)));
        assert_eq!((busy(179, 1), busy(200, 0)), (None, None));
        let all = ScaleView {
            working: 8,
            busy_percent: Some(800),
            movable: 9,
            wait_ns: 1 << 40,
            ..QUIET
        };
        assert_eq!(scale(all), None, "there are no more");
    }

    #[test]
    fn as_many_are_kept_as_have_enough_to_do() {
        let kept = |percent| scale(ScaleView { working: 4, busy_percent: Some(percent), ..QUIET });
        assert_eq!(kept(0), Some((1, ScaleReason::Idle)));
        assert_eq!(kept(140), Some((2, ScaleReason::Idle)));
        assert_eq!(kept(141), Some((3, ScaleReason::Idle)));
        assert_eq!(kept(211), None);
        let two = Elastic { least: 2, ..Elastic::DEFAULT };
        let idle = ScaleView { working: 4, busy_percent: Some(0), ..QUIET };
        assert_eq!(two.scale(&idle), Some((2, ScaleReason::Idle)));
    }

    #[test]
    fn what_was_taken_away_is_not_given_back_by_the_same_load() {
        for working in 2..=8 {
            for busy in 0..=100 * working as u64 {
                let view = ScaleView { working, busy_percent: Some(busy), ..QUIET };
                if let Some((to, ScaleReason::Idle)) = scale(view) {
                    let after = ScaleView { working: to, movable: 1, ..view };
                    assert_eq!(scale(after), None, "{view:?}");
                }
            }
        }
    }
}
