//! A hierarchical timer wheel: arm and cancel in constant time, fire in order of deadline.
//!
//! The algorithm is scheme 7 of G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels:
//! Data Structures for the Efficient Implementation of a Timer Facility", SOSP 1987. It is a plain
//! data structure: it has no clock, no thread and no lock; a worker owns it and tells it the time.
//!
//! # Shape
//!
//! A deadline's *tick* is its time without the lowest `TICK_BITS` bits (65.536 µs). The 48 bits of
//! a tick are `LEVELS` digits of 6 bits, and each level has one slot for each value of its digit:
//! together they reach every deadline that a `u64` can state, so there is no horizon and no list of
//! what lies beyond it.
//!
//! ```text
//! level   7      6      5      4        3        2        1        0      exact deadline
//! bits  63-58  57-52  51-46  45-40    39-34    33-28    27-22    21-16  | 15-0
//! slot   9 y    52 d  19.5 h  18.3 min 17.2 s   268 ms   4.19 ms  65.5 µs
//! ```
//!
//! A timer lies on the level of the *highest digit in which its tick differs from the wheel's*, in
//! the slot of that digit. Hence, with `tick` for the wheel's own:
//!
//! 1. every slot of level L > 0 that holds a timer lies after the slot of `tick` on that level: no
//!    level wraps around;
//! 2. all timers of a level are earlier than all timers of the levels above it, and within a level
//!    the slots are in order: the earliest timer is in the first slot of the lowest level that
//!    holds any;
//! 3. when `tick` enters a slot of level L > 0, what lies there and is not due goes to a lower
//!    level: a timer moves at most `LEVELS - 1` times.
//!
//! Exact deadlines are kept and compared, so no timer fires before its deadline; ticks only sort
//! timers roughly. A deadline that has passed already lies in the slot of `tick` on level 0.
//!
//! # Cost
//!
//! [`Wheel::insert`], [`Wheel::cancel`] and [`Wheel::next_deadline`] take constant time.
//! [`Wheel::advance`] with nothing due is one comparison. With `k` timers due it looks at one
//! bitmap per level, whatever the time that has passed, and sorts `k` entries. Timers lie in a slab
//! and are linked by index: once the slab and the scratch space have grown to the most timers that
//! were ever armed and due at once, nothing is allocated any more.

use std::fmt;

/// Log2 of a tick in ns: 65.536 µs, about the shortest time that a thread can be asked to sleep.
const TICK_BITS: u32 = 16;

/// Log2 of the slots per level: one word holds the occupancy of a level.
const DIGIT_BITS: u32 = u64::BITS.ilog2();

/// Slots per level.
const DIGITS: usize = 1 << DIGIT_BITS;

/// Levels, counted from the finest.
const LEVELS: usize = ((u64::BITS - TICK_BITS) / DIGIT_BITS) as usize;

const _: () = {
    assert!(TICK_BITS + LEVELS as u32 * DIGIT_BITS == u64::BITS); // every deadline has a slot
    assert!(LEVELS <= u8::BITS as usize); // `Wheel::levels` has a bit for each level
};

/// No timer: the end of a list.
const NIL: u32 = u32::MAX;

/// The serial number of a free entry of the slab.
const FREE: u64 = u64::MAX;

/// Stands for one armed timer of one wheel, to cancel it.
///
/// A key whose timer has fired or was cancelled is *stale* and stays so: no two timers of a wheel
/// ever share a key. A key means nothing to another wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerKey {
    index: u32,
    serial: u64,
}

/// An entry of the slab: an armed timer, or a free place.
#[derive(Debug)]
struct Entry<T> {
    deadline_ns: u64,
    /// How many timers were armed before this one: orders equal deadlines, and tells a stale key.
    serial: u64,
    /// The neighbours in its slot's list; `next` is also the link of the free list.
    prev: u32,
    next: u32,
    /// Where it lies: `level * DIGITS + digit`.
    slot: u16,
    item: Option<T>,
}

/// A list of timers whose ticks agree down to the digit of this slot's level, in no order.
#[derive(Clone, Copy, Debug)]
struct Slot {
    head: u32,
    /// No deadline in the list is earlier. It is exact until the timer that it came from is
    /// cancelled.
    bound_ns: u64,
}

impl Slot {
    const EMPTY: Slot = Slot { head: NIL, bound_ns: u64::MAX };
}

/// A timer that is due, as it is sorted: by deadline, then in order of insertion.
type Due = (u64, u64, u32);

/// Timers by deadline; see the [module](self).
///
/// ```
/// use actinium_scheduler::wheel::Wheel;
///
/// let mut wheel = Wheel::new(0);
/// wheel.insert(2_000_000, "second");
/// let key = wheel.insert(1_500_000, "cancelled");
/// wheel.insert(1_000_000, "first");
/// assert_eq!(wheel.next_deadline(), Some(1_000_000));
/// assert_eq!(wheel.cancel(key), Some("cancelled"));
///
/// let mut fired = Vec::new();
/// wheel.advance(1_999_999, &mut fired);
/// assert_eq!(fired, [(1_000_000, "first")]);
/// wheel.advance(u64::MAX, &mut fired);
/// assert_eq!(fired, [(1_000_000, "first"), (2_000_000, "second")]);
/// ```
pub struct Wheel<T> {
    /// The last time that it was told when it had something to do, without the lowest `TICK_BITS`
    /// bits.
    tick: u64,
    /// Levels that hold a timer: bit `level`.
    levels: u8,
    /// Slots that hold a timer: bit `digit` of word `level`.
    occupied: [u64; LEVELS],
    slots: Box<[Slot]>,
    entries: Vec<Entry<T>>,
    free: u32,
    len: usize,
    serial: u64,
    /// Scratch space of `advance`, empty outside of it.
    due: Vec<Due>,
}

impl<T> Wheel<T> {
    /// An empty wheel that has been told that it is `now_ns`.
    #[must_use]
    pub fn new(now_ns: u64) -> Self {
        Wheel {
            tick: now_ns >> TICK_BITS,
            levels: 0,
            occupied: [0; LEVELS],
            slots: vec![Slot::EMPTY; LEVELS * DIGITS].into_boxed_slice(),
            entries: Vec::new(),
            free: NIL,
            len: 0,
            serial: 0,
            due: Vec::new(),
        }
    }

    /// How many timers are armed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no timer is armed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Arms a timer. One whose deadline has passed fires at the next [`Wheel::advance`].
    ///
    /// # Panics
    /// If 2^32 - 1 timers are armed already.
    pub fn insert(&mut self, deadline_ns: u64, item: T) -> TimerKey {
        let serial = self.serial;
        self.serial += 1;
        let entry = Entry { deadline_ns, serial, prev: NIL, next: NIL, slot: 0, item: Some(item) };
        let index = self.free;
        let index = if index != NIL {
            self.free = self.entries[index as usize].next;
            self.entries[index as usize] = entry;
            index
        } else {
            self.grow(entry)
        };
        self.len += 1;
        self.link(index);
        TimerKey { index, serial }
    }

    /// Disarms a timer and gives its item back; `None` if it has fired or was cancelled before.
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        let entry = self.entries.get(key.index as usize)?;
        if entry.serial != key.serial {
            return None;
        }
        self.unlink(key.index);
        self.release(key.index).map(|(_, item)| item)
    }

    /// A time before which no timer is due; `None` if none is armed.
    ///
    /// The time is never later than the earliest deadline, and it is exactly that unless the timer
    /// that it belonged to has been cancelled: then it may be earlier, once, for after `advance(t)`
    /// it is always later than `t`. So a worker that sleeps until then wakes at most once in vain
    /// for each cancelled timer, and never late.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        let digit = self.occupied[level].trailing_zeros() as usize;
        Some(self.slots[level * DIGITS + digit].bound_ns)
    }

    /// Tells the wheel the time: appends every timer with a deadline of at most `now_ns` to
    /// `fired`, with that deadline, in order of deadline and, where deadlines are equal, of
    /// insertion.
    ///
    /// A time before the one that it was last told fires what is due at that time.
    pub fn advance(&mut self, now_ns: u64, fired: &mut Vec<(u64, T)>) {
        // With nothing due, the wheel's tick may stay behind: nothing lies between it and now.
        if self.next_deadline().is_some_and(|bound| bound <= now_ns) {
            self.collect(now_ns);
            self.fire(fired);
        }
    }

    /// Disarms all timers and gives them back as [`Wheel::advance`] would.
    pub fn drain(&mut self) -> Vec<(u64, T)> {
        let mut drained = Vec::with_capacity(self.len);
        let tick = self.tick;
        self.advance(u64::MAX, &mut drained);
        // The end of time was not meant. An empty wheel can be told any.
        self.tick = tick;
        drained
    }

    /// Moves what is due at `now_ns` from the slots to `due`, and the wheel's tick to now.
    fn collect(&mut self, now_ns: u64) {
        let was = self.tick;
        self.tick = was.max(now_ns >> TICK_BITS);
        if self.tick != was {
            // On the levels below the highest digit that changed, and on that level before the new
            // digit, all is due.
            let top = level_of(was, self.tick);
            for level in 0..top {
                self.empty(level, u64::MAX, now_ns);
            }
            let reached = digit_of(self.tick, top);
            // The slot of the new digit is divided: due, or to a lower level.
            self.empty(top, u64::MAX >> (DIGITS - 1 - reached), now_ns);
        } else {
            // Within this tick, or before it.
            self.empty(0, 1 << digit_of(self.tick, 0), now_ns);
        }
    }

    /// Empties the slots of a level that are in `mask`: what is due to `due`, the rest to where it
    /// belongs.
    fn empty(&mut self, level: usize, mask: u64, now_ns: u64) {
        let mut slots = self.occupied[level] & mask;
        self.clear(level, slots);
        while slots != 0 {
            let slot = level * DIGITS + slots.trailing_zeros() as usize;
            slots &= slots - 1;
            let mut index = std::mem::replace(&mut self.slots[slot], Slot::EMPTY).head;
            while index != NIL {
                let entry = &self.entries[index as usize];
                let next = entry.next;
                if entry.deadline_ns <= now_ns {
                    self.due.push((entry.deadline_ns, entry.serial, index));
                } else {
                    self.link(index);
                }
                index = next;
            }
        }
    }

    /// Releases what is in `due`, in order.
    fn fire(&mut self, fired: &mut Vec<(u64, T)>) {
        let mut due = std::mem::take(&mut self.due);
        due.sort_unstable();
        fired.reserve(due.len());
        fired.extend(due.iter().filter_map(|&(.., index)| self.release(index)));
        due.clear();
        self.due = due;
    }

    /// Puts an entry into the list of the slot where it belongs.
    fn link(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let tick = (entry.deadline_ns >> TICK_BITS).max(self.tick);
        let level = level_of(self.tick, tick);
        let digit = digit_of(tick, level);
        let slot = &mut self.slots[level * DIGITS + digit];
        let head = std::mem::replace(&mut slot.head, index);
        slot.bound_ns = slot.bound_ns.min(entry.deadline_ns);
        entry.slot = (level * DIGITS + digit) as u16;
        entry.prev = NIL;
        entry.next = head;
        if head != NIL {
            self.entries[head as usize].prev = index;
        }
        self.occupied[level] |= 1 << digit;
        self.levels |= 1 << level;
    }

    /// Takes an entry out of the list of its slot.
    fn unlink(&mut self, index: u32) {
        let Entry { prev, next, slot, .. } = self.entries[index as usize];
        let slot = usize::from(slot);
        if next != NIL {
            self.entries[next as usize].prev = prev;
        }
        if prev != NIL {
            self.entries[prev as usize].next = next;
        } else if next != NIL {
            self.slots[slot].head = next;
        } else {
            self.slots[slot] = Slot::EMPTY;
            self.clear(slot / DIGITS, 1 << (slot % DIGITS));
        }
    }

    /// Notes that the slots of a level that are in `mask` hold nothing.
    fn clear(&mut self, level: usize, mask: u64) {
        self.occupied[level] &= !mask;
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    /// Gives an entry that is in no list back to the slab; its key is stale from here on.
    fn release(&mut self, index: u32) -> Option<(u64, T)> {
        let entry = &mut self.entries[index as usize];
        entry.serial = FREE;
        entry.next = std::mem::replace(&mut self.free, index);
        self.len -= 1;
        entry.item.take().map(|item| (entry.deadline_ns, item))
    }

    #[cold]
    fn grow(&mut self, entry: Entry<T>) -> u32 {
        let index = self.entries.len();
        assert!(index < NIL as usize, "more than 2^32 - 1 timers");
        self.entries.push(entry);
        index as u32
    }
}

impl<T> fmt::Debug for Wheel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel")
            .field("len", &self.len)
            .field("next_deadline_ns", &self.next_deadline())
            .finish_non_exhaustive()
    }
}

/// The level of the highest digit in which two ticks differ; 0 if they are equal.
fn level_of(a: u64, b: u64) -> usize {
    (((a ^ b) | 1).ilog2() / DIGIT_BITS) as usize
}

/// A tick's digit on a level.
fn digit_of(tick: u64, level: usize) -> usize {
    (tick >> (level as u32 * DIGIT_BITS)) as usize % DIGITS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const TICK_NS: u64 = 1 << TICK_BITS;
    const DAY_NS: u64 = 86_400_000_000_000;
    /// Miri takes half a second for a step.
    const STEPS_MAX: usize = if cfg!(miri) { 12 } else { 200 };

    /// How long a slot of a level is.
    fn slot_ns(level: usize) -> u64 {
        TICK_NS << (level as u32 * DIGIT_BITS)
    }

    fn advance<T>(wheel: &mut Wheel<T>, now_ns: u64) -> Vec<(u64, T)> {
        let mut fired = Vec::new();
        wheel.advance(now_ns, &mut fired);
        wheel.assert_consistent();
        fired
    }

    impl<T> Wheel<T> {
        /// The level on which a timer lies.
        fn level(&self, key: TimerKey) -> usize {
            usize::from(self.entries[key.index as usize].slot) / DIGITS
        }

        /// Everything that the module's header says of the shape.
        fn assert_consistent(&self) {
            if cfg!(miri) {
                return; // Minutes there, and no memory of its own to check.
            }
            let mut listed = 0;
            for (index, slot) in self.slots.iter().enumerate() {
                let (level, digit) = (index / DIGITS, index % DIGITS);
                let is_occupied = self.occupied[level] & (1 << digit) != 0;
                assert_eq!(is_occupied, slot.head != NIL);
                assert!(is_occupied || slot.bound_ns == u64::MAX);
                assert!(!is_occupied || level == 0 || digit > digit_of(self.tick, level));
                let (mut previous, mut at) = (NIL, slot.head);
                while at != NIL {
                    let entry = &self.entries[at as usize];
                    let tick = (entry.deadline_ns >> TICK_BITS).max(self.tick);
                    assert_eq!(usize::from(entry.slot), index);
                    assert_eq!(level_of(tick, self.tick), level);
                    assert_eq!(digit_of(tick, level), digit);
                    assert!(entry.item.is_some() && entry.serial < self.serial);
                    assert!(entry.deadline_ns >= slot.bound_ns);
                    assert_eq!(entry.prev, previous);
                    (previous, at) = (at, entry.next);
                    listed += 1;
                }
            }
            for level in 0..LEVELS {
                assert_eq!(self.levels & (1 << level) != 0, self.occupied[level] != 0);
            }
            assert_eq!(listed, self.len);
            let (mut free, mut at) = (0, self.free);
            while at != NIL {
                let entry = &self.entries[at as usize];
                assert!(entry.item.is_none() && entry.serial == FREE);
                (free, at) = (free + 1, entry.next);
            }
            assert_eq!(listed + free, self.entries.len());
            assert!(self.due.is_empty());
        }
    }

    #[test]
    fn an_empty_wheel_has_nothing_to_say() {
        let mut wheel = Wheel::<()>::new(5);
        assert!(wheel.is_empty());
        assert_eq!(wheel.next_deadline(), None);
        assert_eq!(advance(&mut wheel, u64::MAX), []);
        assert_eq!(wheel.drain(), []);
    }

    #[test]
    fn at_the_end_of_time_and_of_serial_numbers_order_holds_and_keys_stay_stale() {
        let mut wheel = Wheel::new(u64::MAX - 100);
        wheel.serial = FREE - 4;
        let stale = wheel.insert(u64::MAX - 50, 'a');
        wheel.insert(u64::MAX, 'd');
        wheel.insert(u64::MAX - 50, 'b');
        wheel.insert(u64::MAX - 1, 'c');
        let due = [(u64::MAX - 50, 'a'), (u64::MAX - 50, 'b'), (u64::MAX - 1, 'c')];
        assert_eq!(advance(&mut wheel, u64::MAX - 1), due);
        assert_eq!(wheel.cancel(stale), None);
        assert_eq!(advance(&mut wheel, u64::MAX), [(u64::MAX, 'd')]);
    }

    #[test]
    fn it_fires_in_order_of_deadline_then_of_insertion() {
        let mut wheel = Wheel::new(0);
        for (deadline_ns, item) in [(7, 'c'), (3, 'a'), (DAY_NS, 'e'), (7, 'd'), (3, 'b')] {
            wheel.insert(deadline_ns, item);
        }
        let expected = [(3, 'a'), (3, 'b'), (7, 'c'), (7, 'd'), (DAY_NS, 'e')];
        assert_eq!(advance(&mut wheel, 2 * DAY_NS), expected);
    }

    /// One of two equal deadlines has moved down three levels before the other is armed.
    #[test]
    fn equal_deadlines_keep_their_order_across_levels() {
        let mut wheel = Wheel::new(0);
        let deadline_ns = 5 * slot_ns(3) + 7 * slot_ns(2) + 9 * slot_ns(1) + 100;
        let early = wheel.insert(deadline_ns, "early");
        assert_eq!(wheel.level(early), 3);
        wheel.insert(deadline_ns - 50, "nudge");
        assert_eq!(advance(&mut wheel, deadline_ns - 50).len(), 1);
        let late = wheel.insert(deadline_ns, "late");
        assert_eq!((wheel.level(early), wheel.level(late)), (0, 0));
        let fired = advance(&mut wheel, deadline_ns);
        assert_eq!(fired, [(deadline_ns, "early"), (deadline_ns, "late")]);
    }

    #[test]
    fn it_fires_at_its_deadline_and_not_before() {
        for level in 0..LEVELS {
            for deadline_ns in [slot_ns(level) - 1, slot_ns(level), slot_ns(level) * 3 + 1] {
                let mut wheel = Wheel::new(0);
                wheel.insert(deadline_ns, ());
                assert_eq!(advance(&mut wheel, deadline_ns - 1), []);
                assert_eq!(wheel.next_deadline(), Some(deadline_ns));
                assert_eq!(advance(&mut wheel, deadline_ns), [(deadline_ns, ())]);
                assert!(wheel.is_empty());
            }
        }
    }

    /// Each time that a timer wakes the wheel, those that wait in the same slot of a high level
    /// come down.
    #[test]
    fn a_timer_comes_down_level_by_level() {
        let mut wheel = Wheel::new(0);
        let last_ns: u64 = (0..LEVELS).map(|level| 2 * slot_ns(level)).sum();
        let last = wheel.insert(last_ns, usize::MAX);
        let mut now_ns = 0;
        for level in (1..LEVELS).rev() {
            assert_eq!(wheel.level(last), level);
            now_ns += 2 * slot_ns(level);
            wheel.insert(now_ns, level);
            assert_eq!(advance(&mut wheel, now_ns), [(now_ns, level)]);
        }
        assert_eq!(wheel.level(last), 0);
        assert_eq!(advance(&mut wheel, last_ns), [(last_ns, usize::MAX)]);
    }

    #[test]
    fn a_deadline_that_has_passed_fires_at_the_next_advance() {
        let mut wheel = Wheel::new(DAY_NS);
        wheel.insert(DAY_NS, 2);
        wheel.insert(0, 1);
        assert_eq!(wheel.next_deadline(), Some(0));
        assert_eq!(advance(&mut wheel, DAY_NS), [(0, 1), (DAY_NS, 2)]);
    }

    #[test]
    fn time_that_goes_back_fires_nothing_early() {
        let mut wheel = Wheel::new(DAY_NS);
        wheel.insert(DAY_NS / 2, ());
        assert_eq!(advance(&mut wheel, DAY_NS / 2 - 1), []);
        assert_eq!(advance(&mut wheel, DAY_NS / 2).len(), 1);
    }

    #[test]
    fn the_end_of_time_is_a_deadline() {
        let mut wheel = Wheel::new(0);
        wheel.insert(u64::MAX, 'b');
        wheel.insert(u64::MAX - 1, 'a');
        assert_eq!(wheel.next_deadline(), Some(u64::MAX - 1));
        assert_eq!(advance(&mut wheel, u64::MAX - 1), [(u64::MAX - 1, 'a')]);
        assert_eq!(advance(&mut wheel, u64::MAX), [(u64::MAX, 'b')]);
        wheel.insert(u64::MAX, 'c');
        assert_eq!(advance(&mut wheel, u64::MAX), [(u64::MAX, 'c')]);
    }

    #[test]
    fn a_stale_key_cancels_nothing() {
        let mut wheel = Wheel::new(0);
        let fired = wheel.insert(1, "fired");
        advance(&mut wheel, 1);
        let cancelled = wheel.insert(2, "cancelled");
        assert_eq!(cancelled.index, fired.index);
        assert_eq!(wheel.cancel(fired), None);
        assert_eq!(wheel.cancel(cancelled), Some("cancelled"));
        assert_eq!(wheel.cancel(cancelled), None);
        wheel.insert(3, "armed");
        assert_eq!(wheel.cancel(cancelled), None);
        assert_eq!(advance(&mut wheel, 3), [(3, "armed")]);
    }

    #[test]
    fn cancelling_the_earliest_wakes_once_in_vain() {
        let mut wheel = Wheel::new(0);
        let first = wheel.insert(10 * slot_ns(2), "first");
        let second_ns = 10 * slot_ns(2) + slot_ns(1);
        wheel.insert(second_ns, "second");
        wheel.cancel(first);
        assert_eq!(wheel.next_deadline(), Some(10 * slot_ns(2)));
        assert_eq!(advance(&mut wheel, 10 * slot_ns(2)), []);
        assert_eq!(wheel.next_deadline(), Some(second_ns));
    }

    #[test]
    fn a_drained_wheel_still_knows_the_time() {
        let mut wheel = Wheel::new(DAY_NS);
        wheel.insert(DAY_NS + 2, 'b');
        wheel.insert(DAY_NS + 1, 'a');
        assert_eq!(wheel.drain(), [(DAY_NS + 1, 'a'), (DAY_NS + 2, 'b')]);
        assert!(wheel.is_empty());
        let key = wheel.insert(2 * DAY_NS, 'c');
        assert!(wheel.level(key) > 0);
    }

    #[test]
    fn a_steady_state_allocates_nothing() {
        let mut wheel = Wheel::new(0);
        let mut fired = Vec::with_capacity(64);
        let mut capacities = None;
        for round in 0..10 {
            let now_ns = round * DAY_NS / 7;
            for timer in 0..64 {
                wheel.insert(now_ns + timer * DAY_NS / 500, timer);
            }
            wheel.advance(now_ns + DAY_NS / 7, &mut fired);
            assert_eq!(fired.len(), 64);
            fired.clear();
            let now = (wheel.entries.capacity(), wheel.due.capacity());
            assert_eq!(*capacities.get_or_insert(now), now);
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64),
        Cancel(usize),
        Advance(u64),
        AdvanceToNext,
        Back(u64),
        Drain,
    }

    /// Times of every magnitude, many of them equal or a nanosecond apart.
    fn span_ns() -> impl Strategy<Value = u64> {
        let near = (0..64u32, 0..4u64).prop_map(|(bits, more)| (1 << bits) - 1 + more);
        let any = (any::<u64>(), 0..64u32).prop_map(|(ns, bits)| ns >> bits);
        prop_oneof![0..4u64, near, any, Just(u64::MAX)]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => span_ns().prop_map(Step::Insert),
            3 => any::<usize>().prop_map(Step::Cancel),
            3 => span_ns().prop_map(|ns| Step::Advance(ns >> 8)),
            3 => Just(Step::AdvanceToNext),
            1 => span_ns().prop_map(Step::Back),
            1 => Just(Step::Drain),
        ]
    }

    proptest! {
        #[test]
        fn it_does_as_a_sorted_map_does(
            start_ns in span_ns(),
            steps in prop::collection::vec(step(), 1..STEPS_MAX),
        ) {
            let mut now_ns = start_ns >> 1;
            let mut wheel = Wheel::new(now_ns);
            // By deadline and order of insertion; the latter is also the item.
            let mut model = BTreeMap::new();
            let mut keys = Vec::new();
            for step in steps {
                let (until_ns, drains) = match step {
                    Step::Insert(in_ns) => {
                        // Every eighth in the past.
                        let deadline_ns = match in_ns % 8 {
                            7 => now_ns.saturating_sub(in_ns),
                            _ => now_ns.saturating_add(in_ns),
                        };
                        let serial = keys.len();
                        keys.push((deadline_ns, wheel.insert(deadline_ns, serial)));
                        model.insert((deadline_ns, serial), ());
                        (None, false)
                    }
                    Step::Cancel(_) if keys.is_empty() => (None, false),
                    Step::Cancel(any) => {
                        let serial = any % keys.len();
                        let (deadline_ns, key) = keys[serial];
                        let expected = model.remove(&(deadline_ns, serial)).map(|()| serial);
                        prop_assert_eq!(wheel.cancel(key), expected);
                        (None, false)
                    }
                    Step::Advance(by_ns) => {
                        now_ns = now_ns.saturating_add(by_ns);
                        (Some(now_ns), false)
                    }
                    Step::AdvanceToNext => {
                        now_ns = now_ns.max(wheel.next_deadline().unwrap_or(now_ns));
                        (Some(now_ns), false)
                    }
                    Step::Back(by_ns) => (Some(now_ns.saturating_sub(by_ns)), false),
                    Step::Drain => (Some(u64::MAX), true),
                };
                if let Some(until_ns) = until_ns {
                    let later = model.split_off(&(until_ns, usize::MAX));
                    let due = std::mem::replace(&mut model, later);
                    let due: Vec<_> = due.into_keys().collect();
                    let fired = if drains { wheel.drain() } else { advance(&mut wheel, until_ns) };
                    prop_assert_eq!(fired, due);
                    prop_assert!(wheel.next_deadline().is_none_or(|bound| bound > until_ns));
                }
                wheel.assert_consistent();
                prop_assert_eq!(wheel.len(), model.len());
                let earliest = model.keys().next().map(|&(deadline_ns, _)| deadline_ns);
                prop_assert_eq!(wheel.next_deadline().is_some(), earliest.is_some());
                prop_assert!(wheel.next_deadline() <= earliest);
            }
        }
    }
}
