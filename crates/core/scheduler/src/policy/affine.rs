//! Work stealing with a soft affinity: move only what is worth moving.

use std::fmt;

use super::communication::{ALL_CROSS, is_mover, spread};
use super::domains::{Affinities, Domains, Elsewhere};
use super::views::{
    ApartView, ColocateView, LoadView, MoveView, PushView, QueueView, Ready, StealView, StolenView,
};

/// The parameters of `affine`: each with its unit and its reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// A queue is shared when what stands last in it would wait longer than this, in nanoseconds. A
    /// move costs a wake-up (4 to 18 µs) and some hundred nanoseconds of cache misses per runnable
    /// and per message that from then on crosses workers; a queue that the worker itself empties
    /// faster than that stays where it is warm.
    pub wait_worth_moving_ns: u64,
    /// A runnable that costs less than this per message, in nanoseconds, is not moved for a short
    /// wait: a move costs about as much, and every message that then crosses workers costs more
    /// than handling it. Nor is it pushed to a worker that is busy, if others have woken it.
    pub cost_worth_moving_ns: u32,
    /// A cheap runnable with so much waiting that this will take longer, in nanoseconds, is moved
    /// like an expensive one. 10 ns of each message do not count: so much more they take where they
    /// are in the wrong cache. The move itself costs some microseconds.
    pub work_worth_moving_ns: u64,
    /// A runnable that waits behind a single turn longer than this, in nanoseconds, is shared
    /// however little it costs.
    pub turn_too_long_ns: u64,
    /// Nanoseconds of expected wait that each step of distance adds to what a steal must save.
    pub distance_ns: u64,
    /// Nothing is stolen from, or pushed to, a worker whose PU is farther away than this, as a rank
    /// of distance: 0 to 6. 6: the whole machine. For machines of which each part has work of its
    /// own, and for memory that belongs to a part. What talks may still go to where it talks to.
    pub reach_rank: u32,
    /// The cost of a KiB of footprint for each step of distance that it moves, in nanoseconds: 16
    /// cache lines, some of which are fetched at a time. What has a footprint, declared or
    /// estimated, is offered to others only where it would wait longer than that takes.
    pub footprint_ns_per_kib: u64,
    /// The same worker must steal a runnable so many times in a row before its home moves there:
    /// hysteresis.
    pub steals_to_rehome: u32,
    /// A runnable that has run away from home so many turns in a row, whoever stole it, is at home
    /// where it runs: its old home has too much to do.
    pub away_to_rehome: u32,
    /// How often a worker compares its load with that of some others, in nanoseconds: rare enough
    /// that reading their lines costs little, often enough that a load of any size is spread within
    /// a millisecond, where the others are idle or what is spread goes on by itself. 0: never.
    pub balance_every_ns: u64,
    /// A worker pushes work to another when its load is greater by more than one part in so many:
    /// below that, it is noise.
    pub balance_part: u64,
    /// The cost of a message that crosses workers, for sender and receiver together, beyond that of
    /// one that stays: nanoseconds. Workers measure it; this holds until the first has crossed.
    pub crossing_ns: u32,
    /// Once in so many sampled sends of something it is looked whether it sends more to another
    /// NUMA node, third-level cache or worker than to its own; then it moves there, if who gets it
    /// has no more to do. With one send in 127 sampled, it has then sent some thousand messages.
    /// 0: never.
    pub colocate_after: u32,
    /// A runnable that costs less than this per message, in nanoseconds, goes to others that it
    /// talks to where one worker alone would do more than several, because of what crossing costs
    /// or because they wait for each other; or when the system often keeps its worker waiting: a
    /// message that crosses costs as much on a quiet machine, and then some milliseconds. 0: never.
    pub talk_worth_moving_ns: u32,
    /// The number of runnables in a row, of those that one runnable makes, that start near it: what
    /// is made together often belongs together, and few are soon spread by their load, but
    /// thousands are not, for only what is ready is ever moved. At least 1.
    pub start_together: u64,
    /// The number of runnables in a row, of those that threads outside the workers make, that start
    /// at the same worker. At least 1.
    pub outside_together: u64,
}

/// A cheap runnable must be stolen so many times as often before its home moves: it is cheap
/// because what it touches is warm.
const CHEAP: u32 = 16;

/// A first turn elsewhere counts as at most so many times as long as one at home.
const FIRST_TURN_MOST: u64 = 32;

/// Of loads of a turn or two, one may be so many times the other by chance. What is more is not:
/// otherwise chains of actors that each send to the next one would end at one worker.
const ALIKE: u64 = 4;

/// Of so many messages one crosses, or crossing is not what makes workers slow.
const CROSSES: u64 = 16;
/// A message that has crossed costs up to so many times what was measured of its sending and its
/// delivery, and so many nanoseconds: what it brings, and what it is answered with, lies in memory
/// that another core wrote. (Of probers on two workers it cost, in all, 1.2 to 5.6 times what was
/// measured: 63 ns where 20 were, 116 where 56, 274 where 49, 400 where 150.) It is for the
/// question whether several workers certainly do more than one.
const COLD_TIMES: u64 = 4;
const COLD_NS: u64 = 40;

/// A message that waits takes so many nanoseconds more where it is in another core's cache, or in
/// none: what costs less than that, however much waits for it, is done sooner where it is.
const COLD_READ_NS: u32 = 10;
/// Of something for which more waits, only the backlog would come to be elsewhere: others send to
/// it faster than it goes on, wherever it is.
const BACKLOG: usize = 1_024;

/// So many of `ALL_CROSS` messages count as crossing once a runnable has moved, however few of what
/// it sends do.
const CROSSES_LEAST: u32 = ALL_CROSS / 4;

/// Looks at others' loads become rarer until each comes after 2 to the power of so many times as
/// long a pause.
const VAIN_MOST: u32 = 6;

impl Affine {
    /// The defaults.
    pub const DEFAULT: Affine = Affine {
        wait_worth_moving_ns: 20_000,
        cost_worth_moving_ns: 2_000,
        work_worth_moving_ns: 100_000,
        turn_too_long_ns: 10_000_000,
        distance_ns: 500,
        reach_rank: 6,
        footprint_ns_per_kib: 50,
        steals_to_rehome: 2,
        away_to_rehome: 4,
        balance_every_ns: 50_000,
        balance_part: 32,
        crossing_ns: 60,
        colocate_after: 16,
        talk_worth_moving_ns: 100,
        start_together: 256,
        outside_together: 1,
    };

    /// Each parameter's name, which ends in its unit, and its value.
    pub fn constants(&self) -> [(&'static str, u64); 16] {
        [
            ("wait_worth_moving_ns", self.wait_worth_moving_ns),
            ("cost_worth_moving_ns", self.cost_worth_moving_ns.into()),
            ("work_worth_moving_ns", self.work_worth_moving_ns),
            ("turn_too_long_ns", self.turn_too_long_ns),
            ("distance_ns", self.distance_ns),
            ("reach_rank", self.reach_rank.into()),
            ("footprint_ns_per_kib", self.footprint_ns_per_kib),
            ("steals_to_rehome", self.steals_to_rehome.into()),
            ("away_to_rehome", self.away_to_rehome.into()),
            ("balance_every_ns", self.balance_every_ns),
            ("balance_part", self.balance_part),
            ("crossing_ns", self.crossing_ns.into()),
            ("colocate_after", self.colocate_after.into()),
            ("talk_worth_moving_ns", self.talk_worth_moving_ns.into()),
            ("start_together", self.start_together),
            ("outside_together", self.outside_together),
        ]
    }

    /// Sets the parameter of this name.
    ///
    /// # Errors
    /// If there is none of this name, or the value is not one of its.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), SetError> {
        let narrow = || u32::try_from(value).map_err(|_| SetError::Value(value, u32::MAX.into()));
        match name {
            "wait_worth_moving_ns" => self.wait_worth_moving_ns = value,
            "cost_worth_moving_ns" => self.cost_worth_moving_ns = narrow()?,
            "work_worth_moving_ns" => self.work_worth_moving_ns = value,
            "turn_too_long_ns" => self.turn_too_long_ns = value,
            "distance_ns" => self.distance_ns = value,
            "reach_rank" => self.reach_rank = narrow()?,
            "footprint_ns_per_kib" => self.footprint_ns_per_kib = value,
            "steals_to_rehome" => self.steals_to_rehome = narrow()?,
            "away_to_rehome" => self.away_to_rehome = narrow()?,
            "balance_every_ns" => self.balance_every_ns = value,
            "balance_part" => self.balance_part = value,
            "crossing_ns" => self.crossing_ns = narrow()?,
            "colocate_after" => self.colocate_after = narrow()?,
            "talk_worth_moving_ns" => self.talk_worth_moving_ns = narrow()?,
            "start_together" => self.start_together = value,
            "outside_together" => self.outside_together = value,
            _ => return Err(SetError::Name(name.to_owned())),
        }
        Ok(())
    }

    /// Sets a parameter, given as `NAME=VALUE`.
    ///
    /// ```
    /// let mut affine = actinium_scheduler::Affine::DEFAULT;
    /// affine.assign("colocate_after=8")?;
    /// assert_eq!(affine.colocate_after, 8);
    /// assert!(affine.assign("colocate_after=many").is_err());
    /// # Ok::<(), actinium_scheduler::policy::SetError>(())
    /// ```
    ///
    /// # Errors
    /// If that is no such assignment, there is no parameter of this name, or the value is not one
    /// of its.
    pub fn assign(&mut self, assignment: &str) -> Result<(), SetError> {
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(SetError::Form(assignment.to_owned()));
        };
        let number = value.parse();
        let number = number.map_err(|_| SetError::Number(name.to_owned(), value.to_owned()))?;
        self.set(name, number)
    }

    /// Half of the queue, rounded up, when somebody is idle and the last in it would wait too long;
    /// all of it, when the present turn alone takes too long.
    pub(super) fn share(&self, view: &QueueView) -> usize {
        if view.idle_workers == 0 || view.len == 0 {
            return 0;
        }
        if view.current_ns >= self.wait_worth_moving_ns {
            return view.len;
        }
        if view.wait_ns() >= self.wait_worth_moving_ns { view.len.div_ceil(2) } else { 0 }
    }

    /// A runnable that nobody has measured may cost anything; cheap ones had better stay, however
    /// many they are, unless one turn holds them up, or much waits for it; and what declares a
    /// footprint stays unless it would wait longer than the move takes.
    pub(super) fn worth_sharing(&self, view: &MoveView, pending: impl FnOnce() -> usize) -> bool {
        let cost_ns = view.cost_ns;
        // Nobody could come for it.
        if !self.reaches(view.distance) {
            return false;
        }
        let pays = cost_ns == 0
            || cost_ns >= self.cost_worth_moving_ns
            || view.current_ns >= self.turn_too_long_ns
            || u64::from(cost_ns.saturating_sub(COLD_READ_NS)).saturating_mul(pending() as u64)
                >= self.work_worth_moving_ns;
        pays && (view.footprint_kib == 0 || view.wait_ns > self.move_ns(view))
    }

    pub(super) fn footprint_kib(&self, took_ns: u64, at_home_ns: u64, distance: u32) -> u32 {
        // More than so many times as long is hardly the memory's doing: the system did not run the
        // thread.
        let most_ns = at_home_ns.saturating_mul(FIRST_TURN_MOST);
        let more_ns = took_ns.min(most_ns).saturating_sub(at_home_ns);
        self.movable_kib(more_ns, distance)
    }

    pub(super) fn movable_kib(&self, ns: u64, distance: u32) -> u32 {
        let per_kib_ns = self.footprint_ns_per_kib.saturating_mul(distance.max(1).into());
        u32::try_from(ns / per_kib_ns.max(1)).unwrap_or(u32::MAX)
    }

    /// Distance times footprint: what it takes until its memory is warm elsewhere.
    fn move_ns(&self, view: &MoveView) -> u64 {
        let per_step_ns = self.footprint_ns_per_kib.saturating_mul(view.footprint_kib.into());
        per_step_ns.saturating_mul(view.distance.into())
    }

    pub(super) fn reaches(&self, distance: u32) -> bool {
        distance <= self.reach_rank
    }

    /// A shared runnable is worth taking unless it is about to be run at home, given the distance.
    pub(super) fn worth_stealing(&self, view: &StealView) -> bool {
        view.len > 0
            && self.reaches(view.distance)
            && view.len as u64 * view.turn_ns.max(1) * 64
                >= u64::from(view.distance) * self.distance_ns
    }

    /// Not to a home where it would only wait to be stolen again.
    pub(super) fn returns_home(&self, view: &StolenView) -> bool {
        view.home_turn_ns < self.wait_worth_moving_ns
    }

    /// Not before everything in the queue has been run once, for until then no figure says what the
    /// last move has brought. Where nothing was to be pushed, a while later each time.
    pub(super) fn balance_after_ns(&self, load_ns: u64, in_vain: u32) -> Option<u64> {
        let pause_ns = self.balance_every_ns.max(load_ns);
        (self.balance_every_ns > 0).then(|| pause_ns.saturating_mul(1 << in_vain.min(VAIN_MOST)))
    }

    /// Half of what one has more than the other, so that both then have the same, and no more than
    /// brings the other to the average; nothing if the other would then have more.
    pub(super) fn push(&self, view: &LoadView) -> usize {
        let more_ns = view.own_ns.saturating_sub(view.other_ns);
        let turn_ns = view.turn_ns.max(1);
        // One of two more evens out, one of one does not: between them lies one and a half.
        if 2 * more_ns < 3 * turn_ns || more_ns < view.own_ns / self.balance_part.max(1) {
            return 0;
        }
        let room_ns = view.average_ns.saturating_sub(view.other_ns);
        (more_ns / (2 * turn_ns)).min(room_ns / turn_ns).max(1) as usize
    }

    /// A runnable that goes on by itself takes its load along. One that others elsewhere have woken
    /// may be done soon; it is moved when the load is clearly uneven, and when it takes longer than
    /// a message that crosses: of things that only talk, each message would cost more once they are
    /// apart, and both workers together would do less than one alone. What talks to others here
    /// costs so much more elsewhere: spreading that pays only where more workers share it than it
    /// costs times as much.
    ///
    /// What talks, or was woken by others, does not go to a busy worker if it is known not to take
    /// long: nothing would be gained, and actors would go to and fro, away from those that they
    /// talk to.
    pub(super) fn may_push(&self, view: &PushView) -> bool {
        let price_ns = self.price_ns(view.crossing_ns);
        // What it sends to others there already crosses now, and would not from then on. But what
        // others here send to it would cross, too, and nobody counts that.
        let would_cross = view.would_cross.max(CROSSES_LEAST);
        let crossing_ns = price_ns * u64::from(would_cross) / u64::from(ALL_CROSS);
        let (cost_ns, own_ns) = (u64::from(view.cost_ns), view.own_ns);
        let is_short = (1..self.cost_worth_moving_ns).contains(&view.cost_ns);
        match view.ready {
            Ready::Again => true,
            Ready::ByOthers | Ready::ByNeighbours if view.is_busy && is_short => false,
            Ready::ByOthers => {
                let lasts = cost_ns == 0 || cost_ns >= crossing_ns;
                lasts && 2 * own_ns > 3 * view.average_ns
            }
            Ready::ByNeighbours => {
                // The costs apart and together; of what is not known, as if it cost one crossing.
                let together_ns = if cost_ns == 0 { price_ns.max(1) } else { cost_ns };
                let apart_ns = together_ns + crossing_ns;
                own_ns.saturating_mul(together_ns) > view.average_ns.saturating_mul(apart_ns)
            }
        }
    }

    /// What a message costs more if it crosses: as measured, if one has crossed (0: none has).
    fn price_ns(&self, measured_ns: u32) -> u64 {
        u64::from(if measured_ns > 0 { measured_ns } else { self.crossing_ns })
    }

    /// From the widest level to the narrowest: of two workers there, drawn by lot, the one with
    /// less to do. All with a reason to go there would else meet at the one with the least to do
    /// (M. Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", 2001).
    pub(super) fn colocate(
        &self,
        affinities: &Affinities,
        domains: &Domains,
        view: &ColocateView,
        load: impl Fn(usize) -> Option<u64>,
    ) -> Option<usize> {
        if self.colocate_after == 0 {
            return None;
        }
        let draw = spread(view.sender ^ spread(view.own_ns));
        let mut better = affinities.elsewhere(domains, view.own).filter(Elsewhere::is_better);
        better.find_map(|elsewhere| {
            let lot = |draw: u64| elsewhere.workers[draw as usize % elsewhere.workers.len()];
            let drawn = [lot(draw >> 40), lot((draw >> 16) & 0xff_ffff)];
            let loads = drawn.into_iter().filter_map(|worker| Some((load(worker)?, worker)));
            let (other_ns, other) = loads.min()?;
            self.may_colocate(view, other_ns).then_some(other)
        })
    }

    /// Never to one that has more to do. Between two that have about the same, one of the two that
    /// talk, not both: else they would change places; and not always towards the same worker, or
    /// that would soon have more to do.
    fn may_colocate(&self, view: &ColocateView, other_ns: u64) -> bool {
        // One that moves makes the one load less, and the other more.
        let part_ns = view.own_ns.max(other_ns) / self.balance_part.max(1);
        let noise_ns = part_ns.saturating_add(view.turn_ns.saturating_mul(2));
        if view.own_ns.abs_diff(other_ns) <= noise_ns {
            other_ns <= view.own_ns.saturating_mul(ALIKE)
                && is_mover(view.sender, view.target, view.now_ns)
        } else {
            other_ns < view.own_ns
        }
    }

    pub(super) fn leaves_delayed(&self, cost_ns: u32, pending: impl FnOnce() -> usize) -> bool {
        (1..self.talk_worth_moving_ns).contains(&cost_ns) && pending() <= BACKLOG
    }

    /// One worker alone would do what each does without what crossing costs, and that what crosses
    /// makes them slow must be likely.
    pub(super) fn pays_apart(&self, view: &ApartView, workers: usize, crossing_ns: u32) -> bool {
        let is_off = self.talk_worth_moving_ns == 0;
        if is_off || view.crossed == 0 || view.crossed < view.handled / CROSSES {
            return true;
        }
        let crossing_ns = self.price_ns(crossing_ns) * COLD_TIMES + COLD_NS;
        let crossings_ns = view.crossed.saturating_mul(crossing_ns);
        // Whatever was measured of crossings: the messages themselves cost something, too.
        let own_ns = view.busy_ns.saturating_sub(crossings_ns).max(view.busy_ns / 4);
        own_ns.saturating_mul(workers as u64) >= view.elapsed_ns
    }

    pub(super) fn place_spawned(&self, n: usize, workers: usize) -> usize {
        in_blocks(n, self.start_together, workers)
    }

    pub(super) fn place(&self, n: usize, workers: usize) -> usize {
        in_blocks(n, self.outside_together, workers)
    }

    pub(super) fn rehome(&self, view: &StolenView) -> bool {
        let cheap = view.cost_ns < self.cost_worth_moving_ns;
        let times = if cheap { CHEAP } else { 1 };
        view.steals_in_a_row >= self.steals_to_rehome.saturating_mul(times)
            || view.away_in_a_row >= self.away_to_rehome.saturating_mul(times)
    }
}

/// A block of them at one worker, the next at the next.
fn in_blocks(n: usize, block: u64, workers: usize) -> usize {
    (n as u64 / block.max(1) % workers as u64) as usize
}

/// A parameter that can not be set so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetError {
    /// No parameter has this name.
    Name(String),
    /// This value is above the greatest.
    Value(u64, u64),
    /// This is no assignment.
    Form(String),
    /// The value for the parameter of this name is no whole number.
    Number(String, String),
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetError::Name(name) => {
                let names = Affine::DEFAULT.constants().map(|(name, _)| name).join(", ");
                write!(f, "affine has no constant '{name}': there are {names}")
            }
            SetError::Value(value, most) => write!(f, "'{value}' is not allowed: 0 to {most}"),
            SetError::Form(text) => write!(f, "'{text}' is not allowed: NAME=VALUE"),
            SetError::Number(name, value) => write!(f, "{name}: '{value}' is no whole number"),
        }
    }
}

impl std::error::Error for SetError {}

impl Default for Affine {
    fn default() -> Self {
        Affine::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(len: usize, turn_ns: u64, current_ns: u64, idle_workers: usize) -> QueueView {
        QueueView { len, turn_ns, current_ns, idle_workers }
    }

    #[test]
    fn a_short_queue_of_short_turns_stays_where_it_is_warm() {
        assert_eq!(Affine::DEFAULT.share(&queue(200, 20, 0, 1)), 0);
    }

    #[test]
    fn half_of_a_long_queue_is_exposed_when_somebody_is_idle() {
        assert_eq!(Affine::DEFAULT.share(&queue(20, 2_000, 0, 1)), 10);
        assert_eq!(Affine::DEFAULT.share(&queue(20, 2_000, 0, 0)), 0);
    }

    #[test]
    fn what_is_cheap_moves_only_when_one_turn_holds_it_up_for_long() {
        let worth = |cost_ns, current_ns, pending| {
            let (wait_ns, footprint_kib, distance) = (current_ns, 0, 3);
            let view = MoveView { cost_ns, current_ns, wait_ns, footprint_kib, distance };
            Affine::DEFAULT.worth_sharing(&view, || pending)
        };
        assert!(!worth(20, 9_999_999, 1));
        assert!(worth(20, 10_000_000, 1));
        assert!(worth(2_000, 20_000, 1));
        assert!(worth(0, 20_000, 1), "what nobody has measured may cost anything");
        assert!(!worth(20, 20_000, 9_999));
        assert!(worth(20, 20_000, 10_000), "what has much waiting for it is not cheap");
        assert!(!worth(10, 20_000, usize::MAX), "to read that from another cache takes as long");
    }

    #[test]
    fn a_large_state_moves_only_for_a_wait_that_is_longer_than_the_move() {
        let worth = |footprint_kib, distance, wait_ns| {
            let (cost_ns, current_ns) = (5_000, 20_000);
            let view = MoveView { cost_ns, current_ns, wait_ns, footprint_kib, distance };
            Affine::DEFAULT.worth_sharing(&view, || 1)
        };
        assert!(worth(0, 6, 0), "what declares nothing is judged by its cost alone");
        // 3,125 KiB, three steps of 50 ns each.
        assert!(!worth(3_125, 3, 468_750));
        assert!(worth(3_125, 3, 468_751));
        assert!(worth(3_125, 1, 468_750), "to a nearer worker");
        assert!(worth(3_125, 0, 1), "to one that shares all caches it costs nothing");
    }

    #[test]
    fn what_a_first_turn_elsewhere_shows_is_what_a_move_is_taken_to_cost() {
        let kib = |took_ns, distance| Affine::DEFAULT.footprint_kib(took_ns, 10_000, distance);
        assert_eq!(kib(10_000 + 3 * 50 * 100, 3), 100);
        assert_eq!([kib(10_000, 3), kib(9_000, 3)], [0, 0]);
        assert_eq!(kib(u64::MAX, 1), kib(320_000, 1), "the system did not run the thread");
        assert_eq!(kib(10_100, 0), 2);
        let free = Affine { footprint_ns_per_kib: 0, ..Affine::DEFAULT };
        assert_eq!(free.footprint_kib(10_100, 10_000, 3), 100, "no division by 0");
    }

    #[test]
    fn nothing_is_offered_or_taken_farther_than_it_may_go() {
        let near = Affine { reach_rank: 3, ..Affine::DEFAULT };
        let takes =
            |distance| near.worth_stealing(&StealView { len: 1_000, turn_ns: 1_000_000, distance });
        let shares = |distance| {
            let (cost_ns, current_ns, wait_ns, footprint_kib) = (5_000, 0, u64::MAX, 0);
            let view = MoveView { cost_ns, current_ns, wait_ns, footprint_kib, distance };
            near.worth_sharing(&view, || 1_000)
        };
        assert_eq!([0, 3, 4, 6].map(takes), [true, true, false, false]);
        assert_eq!([0, 3, 4, 6].map(shares), [true, true, false, false]);
    }

    #[test]
    fn a_long_turn_exposes_all_that_waits_behind_it() {
        assert_eq!(Affine::DEFAULT.share(&queue(3, 20, 20_000, 1)), 3);
    }

    #[test]
    fn that_several_do_more_than_one_is_in_doubt_where_crossing_may_cost_as_much() {
        // Each message takes 1 us, and each second one crosses.
        let pays = |crossing_ns: u32, workers| {
            let busy_ns = 1_000_000;
            let view = ApartView { elapsed_ns: busy_ns, busy_ns, handled: 1_000, crossed: 500 };
            Affine::DEFAULT.pays_apart(&view, workers, crossing_ns)
        };
        // Half of the time may be for crossings: 500 times 4 times 240 ns and 40.
        assert!(pays(240, 2) && !pays(241, 2));
        assert!(pays(323, 3) && !pays(324, 3) && pays(1_000_000, 4), "a quarter is not");
        // Workers that wait for each other.
        let view = |elapsed_ns, crossed| ApartView {
            elapsed_ns,
            busy_ns: 50_000,
            handled: 1_000,
            crossed,
        };
        assert!(Affine::DEFAULT.pays_apart(&view(44_000, 100), 2, 60));
        assert!(!Affine::DEFAULT.pays_apart(&view(44_001, 100), 2, 60));
        assert!(Affine::DEFAULT.pays_apart(&view(90_000, 61), 2, 60), "that is not why");
        assert!(Affine::DEFAULT.pays_apart(&view(90_000, 0), 2, 60));
        assert!(!Affine::DEFAULT.pays_apart(&view(90_000, 100), 2, 0), "as long as none is timed");
        let off = Affine { talk_worth_moving_ns: 0, ..Affine::DEFAULT };
        assert!(off.pays_apart(&view(90_000, 100), 2, 60));
    }

    #[test]
    fn what_is_cheap_and_talks_leaves_but_for_a_long_backlog() {
        let leaves = |cost_ns, pending| Affine::DEFAULT.leaves_delayed(cost_ns, || pending);
        assert!(leaves(99, BACKLOG) && !leaves(99, BACKLOG + 1));
        assert!(!leaves(100, 1) && !leaves(0, 1));
    }

    #[test]
    fn nothing_returns_to_a_home_that_is_in_a_long_turn() {
        let view = |home_turn_ns| StolenView {
            steals_in_a_row: 1,
            away_in_a_row: 1,
            cost_ns: 20,
            home_turn_ns,
        };
        assert!(Affine::DEFAULT.returns_home(&view(1_000)));
        assert!(!Affine::DEFAULT.returns_home(&view(20_000)));
    }

    #[test]
    fn the_home_moves_when_the_same_thief_comes_again() {
        let rehome = |steals_in_a_row, away_in_a_row, cost_ns| {
            let home_turn_ns = 0;
            let view = StolenView { steals_in_a_row, away_in_a_row, cost_ns, home_turn_ns };
            Affine::DEFAULT.rehome(&view)
        };
        assert!(!rehome(1, 1, 5_000));
        assert!(rehome(2, 2, 5_000));
        assert!(rehome(1, 4, 5_000), "whoever comes, its home has too much to do");
        assert!(!rehome(31, 31, 20), "what is cheap stays where it is warm");
        assert!(rehome(32, 32, 20));
    }

    #[test]
    fn each_constant_can_be_set() {
        for (at, (name, value)) in Affine::DEFAULT.constants().into_iter().enumerate() {
            let mut affine = Affine::DEFAULT;
            affine.set(name, value + 1).unwrap();
            let changed = Affine::DEFAULT.constants().into_iter().zip(affine.constants());
            let changed: Vec<usize> =
                changed.enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at).collect();
            assert_eq!(changed, [at], "{name}");
        }
        let mut affine = Affine::DEFAULT;
        assert!(
            affine.set("x", 1).unwrap_err().to_string().starts_with("affine has no constant 'x'")
        );
        assert!(affine.set("steals_to_rehome", 1 << 32).is_err());
    }

    /// Where something at worker 0 goes that has sent so much to worker 1, and so much to its own.
    fn goes(affine: &Affine, sends: (u32, u32), numbers: (u64, u64), loads: (u64, u64)) -> bool {
        let domains = Domains::new(2, |_, _| 3);
        let mut affinities = Affinities::default();
        for (worker, sends) in [(1, sends.0), (0, sends.1)] {
            for _ in 0..sends {
                affinities.note(&domains, worker, 1_000);
            }
        }
        let (sender, target) = numbers;
        let (own, now_ns, own_ns, turn_ns) = (0, 0, loads.0, 100);
        let view = ColocateView { own, sender, target, now_ns, own_ns, turn_ns };
        let load = |worker: usize| Some([loads.0, loads.1][worker]);
        affine.colocate(&affinities, &domains, &view, load) == Some(1)
    }

    #[test]
    fn of_two_that_talk_one_moves_and_never_to_who_has_more_to_do() {
        let mover = if is_mover(1, 2, 0) { (1, 2) } else { (2, 1) };
        let other = (mover.1, mover.0);
        let goes_with = |other, own| goes(&Affine::DEFAULT, (other, own), mover, (0, 0));
        assert!(goes_with(5, 0) && !goes_with(4, 0), "not often enough");
        assert!(goes_with(13, 3) && !goes_with(12, 4), "it may talk to both alike");
        assert!(goes_with(36, 18) && !goes_with(0, 0) && !goes_with(3, 13));
        let step = if cfg!(miri) { 2_500 } else { 100 };
        for own_ns in (0..20_000).step_by(step) {
            for other_ns in (0..20_000).step_by(step) {
                let there = goes(&Affine::DEFAULT, (16, 0), mover, (own_ns, other_ns));
                let back = goes(&Affine::DEFAULT, (16, 0), other, (other_ns, own_ns));
                assert!(!(there && back), "not both: {own_ns} {other_ns}");
                let is_alike = own_ns.max(other_ns) <= 4 * own_ns.min(other_ns);
                assert!(there || back || !is_alike, "one of them: {own_ns} {other_ns}");
                assert!(!there || other_ns <= own_ns + 20_000 / 32 + 200, "{own_ns} {other_ns}");
            }
        }
        let never = Affine { colocate_after: 0, ..Affine::DEFAULT };
        assert!(!goes(&never, (16, 0), mover, (0, 0)));
    }

    #[test]
    fn what_talks_to_all_of_a_node_goes_to_the_worker_of_it_with_less_to_do() {
        // Two nodes of four workers, whose caches are their own.
        let domains = Domains::new(8, |a, b| if a / 4 == b / 4 { 4 } else { 6 });
        let mut affinities = Affinities::default();
        for n in 0..16 {
            affinities.note(&domains, 4 + n % 4, 1_000);
        }
        affinities.note(&domains, 0, 1_000);
        let goes = |sender, load: &dyn Fn(usize) -> Option<u64>| {
            let (own, target, now_ns, own_ns, turn_ns) = (0, 0, 0, 9_000, 100);
            let view = ColocateView { own, sender, target, now_ns, own_ns, turn_ns };
            Affine::DEFAULT.colocate(&affinities, &domains, &view, load)
        };
        let places: Vec<usize> =
            (0..64).filter_map(|sender| goes(sender, &|worker| Some(worker as u64))).collect();
        let at = |worker| places.iter().filter(|&&place| place == worker).count();
        assert_eq!((places.len(), at(4) + at(5) + at(6) + at(7)), (64, 64));
        assert!(at(4) > at(7), "of two that are drawn, the one with less to do");
        assert!((4..8).all(|worker| at(worker) > 0), "not all go to the same one");
        assert!((0..64).all(|sender| goes(sender, &|_| Some(10_000)).is_none()), "more to do");
        assert!((0..64).all(|sender| goes(sender, &|_| None).is_none()), "nobody takes it");
    }

    fn load(own_ns: u64, other_ns: u64) -> LoadView {
        LoadView { own_ns, turn_ns: 100, other_ns, average_ns: u64::MAX }
    }

    #[test]
    fn two_workers_end_with_the_same_load() {
        assert_eq!(Affine::DEFAULT.push(&load(2_400, 0)), 12);
        assert_eq!(Affine::DEFAULT.push(&load(400, 200)), 1, "three and three");
        assert_eq!(Affine::DEFAULT.push(&load(400, 300)), 0, "the other would then have more");
        assert_eq!(Affine::DEFAULT.push(&load(300, 400)), 0);
        assert_eq!(Affine::DEFAULT.push(&load(100_000, 97_000)), 0, "that is noise");
    }

    #[test]
    fn a_look_that_was_in_vain_is_not_soon_repeated() {
        let after = |load_ns, in_vain| Affine::DEFAULT.balance_after_ns(load_ns, in_vain);
        assert_eq!(after(0, 0), Some(50_000));
        assert_eq!(after(200_000, 0), Some(200_000), "not before everything has been run once");
        assert_eq!(after(0, 2), Some(200_000));
        assert_eq!(after(0, 99), Some(3_200_000));
        let never = Affine { balance_every_ns: 0, ..Affine::DEFAULT };
        assert_eq!(never.balance_after_ns(1_000_000, 0), None);
    }

    #[test]
    fn what_talks_is_spread_where_workers_gain_more_than_crossing_costs() {
        let view = |ready, cost_ns, crossing_ns, own_ns, average_ns| PushView {
            ready,
            is_busy: false,
            cost_ns,
            crossing_ns,
            would_cross: 1_024,
            own_ns,
            average_ns,
        };
        let may = |view: PushView| Affine::DEFAULT.may_push(&view);
        assert!(may(view(Ready::Again, 1, 100, 101, 100)));
        // All at one of two workers: it pays if a message takes longer than to cross.
        let neighbours =
            |cost_ns, crossing_ns| may(view(Ready::ByNeighbours, cost_ns, crossing_ns, 1_000, 500));
        assert!(!neighbours(20, 40));
        assert!(!neighbours(40, 40));
        assert!(neighbours(41, 40));
        assert!(!neighbours(200, 240), "the cores are far from each other");
        // At one of eight, a message may cost seven times as much.
        assert!(may(view(Ready::ByNeighbours, 20, 139, 800, 100)));
        assert!(!may(view(Ready::ByNeighbours, 20, 140, 800, 100)));
        // What others elsewhere have woken.
        let others = |cost_ns, own_ns| may(view(Ready::ByOthers, cost_ns, 40, own_ns, 100));
        assert!(others(40, 151) && !others(40, 150));
        assert!(!others(39, 200), "to talk across costs more than that");
        assert!(others(0, 200), "what nobody has measured may cost anything");
        // What sends as much to others there pays for a quarter, for what is sent to it.
        let knows = |ready, cost_ns, would_cross| {
            may(PushView { would_cross, ..view(ready, cost_ns, 40, 120, 100) })
        };
        assert!(knows(Ready::ByNeighbours, 51, 0) && !knows(Ready::ByNeighbours, 50, 256));
        assert!(knows(Ready::ByNeighbours, 101, 512) && !knows(Ready::ByNeighbours, 100, 512));
        assert!(!knows(Ready::ByOthers, 10, 0), "the load must be clearly uneven");
        let uneven = |cost_ns| view(Ready::ByOthers, cost_ns, 40, 151, 100);
        assert!(may(PushView { would_cross: 0, ..uneven(10) }));
        assert!(!may(PushView { would_cross: 0, ..uneven(9) }));
        // To a busy worker goes what takes long, or goes on by itself.
        let busy = |ready, cost_ns| {
            let wanted = view(ready, cost_ns, 40, 1_000, 100);
            assert!(may(wanted));
            may(PushView { is_busy: true, ..wanted })
        };
        for ready in [Ready::ByOthers, Ready::ByNeighbours] {
            assert!(!busy(ready, 1_999) && busy(ready, 2_000) && busy(ready, 0), "{ready:?}");
        }
        assert!(busy(Ready::Again, 1_999));
    }

    #[test]
    fn until_a_message_has_crossed_the_price_is_the_constant() {
        let may = |policy: Affine, cost_ns| {
            policy.may_push(&PushView {
                ready: Ready::ByNeighbours,
                is_busy: false,
                cost_ns,
                crossing_ns: 0,
                would_cross: 1_024,
                own_ns: 200,
                average_ns: 100,
            })
        };
        assert!(may(Affine::DEFAULT, 61) && !may(Affine::DEFAULT, 60));
        let dear = Affine { crossing_ns: 500, ..Affine::DEFAULT };
        assert!(may(dear, 501) && !may(dear, 500));
        assert!(!may(dear, 0), "what nobody has measured counts as one crossing");
    }
}
