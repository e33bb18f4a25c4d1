//! The tuning of a worker: the times at which it looks up, the amounts that it moves at a time, and
//! its estimates of costs. The workers and the simulator must have these in common beside the
//! policy itself.

/// Turns between two rounds of housekeeping: often enough to notice within some microseconds that
/// others wait, rare enough that reading the clock costs below 1 ns per turn.
pub const ROUND: u32 = 64;
/// Turns after which a worker exchanges messages within a round, if others have nothing to do or
/// rounds take long: a power of two.
pub const EXCHANGE: u32 = 16;
/// In one of so many rounds, a power of two, a turn is timed of which nothing else demands it.
pub const TIMED_ROUNDS: u64 = 4;
/// A turn that is expected to take longer than this, in nanoseconds, is timed each time: reading
/// the clock is then below 3 % of it.
pub const TIMED_NS: u32 = 2_000;
/// Before a turn that is expected to take longer than this, in nanoseconds, the worker hands on
/// what others could do meanwhile.
pub const LONG_NS: u64 = 10_000;
/// A worker whose turn has taken longer than this, in nanoseconds, is given nothing until it ends.
pub const TOO_LONG_NS: u64 = 100_000;
/// After a turn of items that take longer than this, in nanoseconds, it is looked whether others
/// have nothing to do, and how much of its round it has used up: that is below 3 % of it.
pub const QUICK_NS: u32 = 256;
/// A turn of such items counts as several of its round, one for each so many nanoseconds: so a
/// round takes at most about 40 µs and a turn.
const ROUND_PART_NS: u64 = 40_000 / ROUND as u64;
/// Within a turn, what it has sent to workers that have nothing to do leaves after so many
/// nanoseconds.
pub const PUBLISH_NS: u64 = 5_000;
/// Items of a turn between two looks at the clock, as long as each is short (below `TIMED_NS`).
pub const CHECK_EVERY: u32 = 32;
/// Items of a turn between two looks at the clock, of items that cost so many nanoseconds each:
/// mostly such that a look comes when `PUBLISH_NS` have passed, and that it costs little. 0: the
/// cost is not known (0); the first look comes after one item, each further one after twice as many
/// as before or so many more, so that the looks make no large part of what is measured.
#[inline]
pub fn check_every(cost_ns: u32) -> u32 {
    match cost_ns {
        0 => 0,
        TIMED_NS.. => 1,
        _ => (PUBLISH_NS as u32 / cost_ns).clamp(1, CHECK_EVERY),
    }
}

/// Returns after how many further items a turn looks at the clock again that has handled so many;
/// `every` is what [`check_every`] says, or less.
#[inline]
pub fn look_after(every: u32, handled: u32) -> u32 {
    if every == 0 { handled.clamp(1, CHECK_EVERY) } else { every }
}

/// Returns for how many turns of a round one counts that took so many nanoseconds, itself left out:
/// for all of it if it was long, for at least one otherwise.
#[inline]
pub fn further_turns(took_ns: u64) -> u32 {
    if took_ns >= LONG_NS { ROUND } else { (took_ns / ROUND_PART_NS).max(1) as u32 }
}

/// Whether a worker whose turns take so long exchanges messages within a round, even while others
/// are busy: a round would else take more than about 40 µs.
#[inline]
pub fn exchanges_early(turn_ns: u64) -> bool {
    turn_ns > ROUND_PART_NS
}

/// Words delivered from one lane before others, and those that it was delivered to, get their turn:
/// so the mailboxes stay in the cache.
pub const DELIVERED_AT_ONCE: usize = 2 * 1024;
/// To deliver a word takes a worker about half of so many nanoseconds.
const DELIVERED_NS: u64 = 8;
/// Words delivered from one lane after a round that took so long: more after long turns, for more
/// has come meanwhile; but a worker delivers no longer than it runs turns.
#[inline]
pub fn delivered_after(took_ns: u64) -> usize {
    DELIVERED_AT_ONCE.max((took_ns / DELIVERED_NS) as usize)
}

/// Items that wait for a runnable before more for it stay where they are, in the lane: beyond that
/// they would be in no cache when their turn comes, and touch ever more memory until then.
const CROWDED: usize = 4 * 1024;
/// Items so cheap that what stays in a lane meanwhile is handled within four milliseconds:
/// messages to others lie behind it.
const BRIEF_NS: u32 = 64;
/// Whether so many items that wait for a runnable, each of which costs so much (0: not known), are
/// enough for now.
pub fn is_crowded(waiting: usize, cost_ns: u32) -> bool {
    waiting >= CROWDED && (1..=BRIEF_NS).contains(&cost_ns)
}

/// Whether so many items that wait for a runnable, each of which costs so much, are so many that it
/// is to get as much time as the others: also if they seem not quite so cheap. Its first turn, in
/// memory that is cold, may have taken many times as long as others will, and as long as it has
/// hardly any, nobody measures it again.
pub fn deserves_time(waiting: usize, cost_ns: u32) -> bool {
    waiting >= CROWDED && (1..QUICK_NS).contains(&cost_ns)
}

/// A runnable that was crowded is so until it has so many times less.
pub const LEFT_IN_CROWD: usize = 4;
/// Chunks that wait to be delivered before their sender waits, too.
pub const AHEAD: u64 = 32;
/// Returns how many chunks stay in a lane for what is favoured, whose items cost so much: as many
/// as a sender fills in some turns of others, and no more than are handled within a few
/// milliseconds, for messages to others lie behind them.
pub fn chunks_ahead(cost_ns: u32) -> u64 {
    (64 * AHEAD / u64::from(cost_ns.max(1))).clamp(AHEAD, 8 * AHEAD)
}

/// Returns for how long what is crowded is favoured after turns of others that took so long.
/// `is_fed`: other workers send to it, whose turns are not counted in that.
pub fn favoured_ns(others_ns: u64, is_fed: bool) -> u64 {
    others_ns.saturating_mul(if is_fed { 4 } else { 1 }).min(FAVOURED_MOST_NS)
}
/// However long the turns of others are, they come again after so many nanoseconds.
const FAVOURED_MOST_NS: u64 = 10_000_000;
/// However short the turns of others are, what is favoured comes again behind so many.
pub const MOST_BETWEEN: usize = 64;

/// So many of the run queue, the youngest, are looked at for what has become crowded: a microsecond
/// at most.
pub const LOOKED_AT: usize = 1024;
/// An item in so many may send something: its runnable counts as one that sends nothing on.
pub const SENDS_ON: u32 = 16;
/// For so many questions it is believed that a kind of runnables sends on: it may have been an
/// exception.
pub const SENDS_ON_BELIEVED: u32 = 4096;

/// Most runnables shared under one hold of a queue's lock: it is held for some microseconds at
/// most.
pub const SHARED_AT_ONCE: usize = 512;
/// Most runnables taken by a thief under one hold of a queue's lock, for the same reason.
pub const STOLEN_AT_ONCE: usize = 64;
/// Most runnables that a worker looks at in vain when it shares.
pub const KEPT_AT_ONCE: usize = 16;
/// Rounds of looking for work before a worker goes to sleep: about 20 to 50 µs, a few times what
/// waking it would cost.
pub const SPINS: u32 = 300;
/// Fewest rounds.
pub const SPINS_LEAST: u32 = 8;
/// To be woken from a shorter sleep than this, in nanoseconds, costs more than to look for so long.
pub const SHORT_NAP_NS: u64 = 20_000;
/// One in so many sends is sampled: at first, and where samples come too fast. Primes: senders that
/// take turns are never in step with the samples, else always the same one would be sampled.
const SAMPLED_EVERY: [u32; 3] = [127, 257, 509];
/// One in so many sends is sampled, at first and at the most.
pub const SAMPLED: u32 = SAMPLED_EVERY[0];
/// A worker that wanted to share, and found nothing worth it among so many, tries again after twice
/// as many rounds each time, up to 2 to the power of so many: to look costs a lock and cold memory,
/// some hundredths of a round of short turns.
pub const VAIN_SHARES_MOST: u32 = 3;
/// Most other workers whose load a worker looks at, at a time, unless the looks before were in
/// vain: each is a cache line of somebody else's.
const BALANCE_LOOKS: usize = 8;
/// After looks in vain it looks at more, up to 2 to the power of so many times as many.
const BALANCE_DOUBLINGS: u32 = 4;

/// Returns the number of other workers' loads at which a worker looks that has looked so often in a
/// row and pushed nothing. The longer the pause between two looks, the more are looked at: so who
/// has one too many finds who has one too few as soon as before, and the looks cost the same share
/// of the time.
#[inline]
pub fn balance_looks(in_vain: u32) -> usize {
    BALANCE_LOOKS << in_vain.min(BALANCE_DOUBLINGS)
}

/// Returns how many looks in a row were in vain, with one more. If it found somebody with less to
/// do to whom nothing might go (see [`super::Policy::may_push`]), they count as a few at most: that
/// may change soon.
#[inline]
pub fn vain_looks(in_vain: u32, has_found: bool) -> u32 {
    let more = in_vain.saturating_add(1);
    if has_found { more.min(FOUND_IN_VAIN_MOST) } else { more }
}
const FOUND_IN_VAIN_MOST: u32 = 3;

/// One in how many sends is sampled next, if one in so many comes too fast.
#[inline]
pub fn sampled_less(every: u32) -> u32 {
    let mut rarer = SAMPLED_EVERY.into_iter().filter(|&other| other > every);
    rarer.next().unwrap_or(every)
}

/// One in how many sends is sampled next, if one in so many comes too slowly.
#[inline]
pub fn sampled_more(every: u32) -> u32 {
    let mut denser = SAMPLED_EVERY.into_iter().rev().filter(|&other| other < every);
    denser.next().unwrap_or(every)
}

/// The load that a worker shows while it does not yet know how long its turns take, or is in a very
/// long one: nobody pushes it anything, or goes there. (Nor to one that really has so much to do.)
/// It fits into 32 bits.
pub const LOAD_UNKNOWN_NS: u64 = 1 << 31;

/// Whether a load is so much more than it was when looking at others' was in vain that it is time
/// to look again.
#[inline]
pub fn has_grown(load_ns: u64, then_ns: u64) -> bool {
    load_ns > then_ns.saturating_add(then_ns / 4)
}

/// The load that a worker shows.
#[inline]
pub fn shown_load(load_ns: u64, turn_ns: u64, queued: usize) -> u64 {
    if turn_ns == 0 && queued > 0 {
        return LOAD_UNKNOWN_NS;
    }
    load_ns.max(turn_ns.saturating_mul(queued as u64))
}

/// A load weighted over some rounds: an eighth of the new value. The first after a time without any
/// counts whole.
#[inline]
pub fn weigh_load(old_ns: u64, new_ns: u64) -> u64 {
    if old_ns == 0 { new_ns } else { (old_ns.saturating_mul(7).saturating_add(new_ns)) / 8 }
}

/// Exponentially weighted: an eighth of the new value. The first value counts whole; never 0, which
/// means unknown.
///
/// A new value counts as at most so many times the old one: mostly such an outlier means that the
/// system did not run this thread for a while. What has really become slow is known as such after a
/// few more turns.
#[inline]
pub fn weigh(old: u32, new: u64) -> u32 {
    const OUTLIER: u64 = 4;
    let new = new.clamp(1, u64::from(u32::MAX));
    if old == 0 {
        return new as u32;
    }
    let old = u64::from(old);
    ((old * 7 + new.min(old * OUTLIER)) / 8).clamp(1, u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_an_item_takes_the_more_often_the_clock_is_looked_at() {
        let looks = [20, 156, 500, 1_999, 2_000, 1_000_000, 0].map(check_every);
        assert_eq!(looks, [32, 32, 10, 2, 1, 1, 0]);
    }

    #[test]
    fn a_cost_that_is_not_known_is_looked_at_after_1_2_4_and_so_on() {
        let looks = |every| {
            std::iter::successors(Some(look_after(every, 0)), move |at| {
                Some(at + look_after(every, *at))
            })
        };
        assert_eq!(looks(0).take(8).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64, 96]);
        assert_eq!(looks(10).take(3).collect::<Vec<_>>(), [10, 20, 30]);
    }

    #[test]
    fn a_round_ends_early_if_its_turns_take_long() {
        let turns = [0, 300, 1_250, 6_250, LONG_NS - 1, LONG_NS, u64::MAX].map(further_turns);
        assert_eq!(turns, [1, 1, 2, 10, 15, ROUND, ROUND]);
    }

    #[test]
    fn only_what_is_cheap_has_enough() {
        assert!(is_crowded(CROWDED, 1) && is_crowded(CROWDED, BRIEF_NS));
        assert!(!is_crowded(CROWDED, BRIEF_NS + 1), "messages to others would wait for long");
        assert!(!is_crowded(CROWDED, 0), "nobody knows what it costs");
        assert!(!is_crowded(CROWDED - 1, 1));
        let deserves = [0, 1, BRIEF_NS + 1, QUICK_NS - 1, QUICK_NS];
        let deserves = deserves.map(|cost_ns| deserves_time(CROWDED, cost_ns));
        assert_eq!(deserves, [false, true, true, true, false]);
        assert!(!deserves_time(CROWDED - 1, 1));
    }

    #[test]
    fn what_is_favoured_leaves_others_a_share() {
        assert_eq!([false, true].map(|is_fed| favoured_ns(1_000, is_fed)), [1_000, 4_000]);
        assert_eq!(favoured_ns(u64::MAX, true), FAVOURED_MOST_NS);
        assert_eq!([1, 8, 64].map(chunks_ahead), [8 * AHEAD, 8 * AHEAD, AHEAD]);
    }

    #[test]
    fn looks_that_find_somebody_do_not_become_rare() {
        let looks = |has_found| (0..8).fold(0, |in_vain, _| vain_looks(in_vain, has_found));
        assert_eq!((looks(true), looks(false)), (FOUND_IN_VAIN_MOST, 8));
        assert_eq!(vain_looks(u32::MAX, false), u32::MAX);
    }

    #[test]
    fn more_is_delivered_after_a_long_round_and_never_for_longer_than_turns_were_run() {
        assert_eq!([0, 10_000].map(delivered_after), [DELIVERED_AT_ONCE; 2]);
        // Each round consists of a turn of 1 ms, and of what the last one left to deliver.
        let round = |took_ns, _| 1_000_000 + delivered_after(took_ns) as u64 * DELIVERED_NS / 2;
        let took_ns = (0..100).fold(1_000_000, round);
        assert!((1_900_000..=2_000_000).contains(&took_ns), "{took_ns}");
    }

    #[test]
    fn samples_come_less_and_more_often_within_bounds() {
        let less: Vec<u32> =
            std::iter::successors(Some(SAMPLED), |&every| Some(sampled_less(every)))
                .take(4)
                .collect();
        assert_eq!(less, [127, 257, 509, 509]);
        let more: Vec<u32> =
            std::iter::successors(Some(509), |&every| Some(sampled_more(every))).take(4).collect();
        assert_eq!(more, [509, 257, 127, 127]);
    }

    #[test]
    fn the_first_measure_counts_whole_and_later_ones_an_eighth() {
        assert_eq!(weigh(0, 80), 80);
        assert_eq!(weigh(80, 160), 90);
        assert_eq!(weigh(0, 0), 1);
        assert_eq!(weigh(u32::MAX, u64::MAX), u32::MAX);
    }

    #[test]
    fn an_outlier_counts_little_and_a_lasting_change_soon_counts() {
        assert!(weigh(100, 50_000_000) < 150);
        let estimate = (0..40).fold(100, |cost_ns, _| weigh(cost_ns, 1_000_000));
        assert!(estimate > 500_000, "{estimate}");
    }
}
