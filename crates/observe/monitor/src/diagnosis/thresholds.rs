//! From when on something is said, and why from then on.

/// A turn is meant to end after 100 µs. One of 2 s keeps its worker from 20,000 others. The time in
/// which the thread was ready, and had no CPU, does not count.
pub(super) const STUCK_S: f64 = 2.0;
/// A module of an event graph may compute for long: that is what graphs are for. One of half a
/// minute is worth a word.
pub(super) const STUCK_TASK_S: f64 = 30.0;

/// A second is what a person notices, and ten thousand times what a turn is meant to take.
pub(super) const STARVED_S: f64 = 1.0;
/// Fewer walks than this may find the same number of messages by chance.
pub(super) const STARVED_WALKS: usize = 4;
/// A worker that was seen at work less often than at four of five looks had time for the actor: it
/// waits for something else.
pub(super) const STARVED_BUSY: f64 = 0.8;
/// An actor that was itself seen to run at one look in twenty has no short turns: it is one of
/// those that the others wait for.
pub(super) const STARVED_OWN: f64 = 0.05;

/// A burst of messages is over in less.
pub(super) const GROWN_S: f64 = 2.0;
/// Fewer walks than this make no slope.
pub(super) const GROWN_WALKS: usize = 6;
/// Fewer messages than this take a few kilobytes, and are handled within a millisecond.
pub(super) const GROWN_MESSAGES: u64 = 1_000;
/// What grows by less than one part in fifty in seconds is level, within what a sender puts in at
/// once.
pub(super) const GROWN_SHARE: f64 = 0.02;

/// Muting comes and goes within milliseconds where a receiver is quick now and slow then. Who is
/// held back for 2 s on end has a receiver that is too slow.
pub(super) const MUTED_S: f64 = 2.0;
/// Fewer walks than this may meet the same actor in a short break each time.
pub(super) const MUTED_WALKS: usize = 6;

/// An answer from another actor takes microseconds. After 2 s without any turn, it does not come.
pub(super) const MUTUAL_S: f64 = 2.0;
/// As many walks as fit into that, with some to spare.
pub(super) const MUTUAL_WALKS: usize = 5;

/// With fewer actors of a type, one of them naturally has much of the work.
pub(super) const HOT_LIVING: u64 = 4;
/// More than all others of its type together.
pub(super) const HOT_SHARE: f64 = 0.5;
/// And at least three times its fair share.
pub(super) const HOT_TIMES_FAIR: f64 = 3.0;
/// An actor that keeps a worker busy for less than half of the time bounds nothing.
pub(super) const HOT_BUSY: f64 = 0.5;
/// Fewer turns say nothing about shares.
pub(super) const HOT_TURNS: u64 = 50;

/// What begins may look like anything.
pub(super) const CHATTY_S: f64 = 1.0;
/// So many chunks went between the two: fewer cost nothing.
pub(super) const CHATTY_CHUNKS: u64 = 200;
/// Of all that went between workers to or from one of the two, so much went between them.
pub(super) const CHATTY_SHARE: f64 = 0.9;
/// Of all that the two handled, so much came from the other one.
pub(super) const CHATTY_CROSSED: f64 = 0.8;
/// A lane carries up to hundreds of messages in a chunk where both workers work at the same time.
/// Fewer than two in each: one waits for the other.
pub(super) const CHATTY_PER_CHUNK: f64 = 2.0;

/// Far memory costs half as much again; a fifth of the turns there costs a tenth of the time.
pub(super) const FAR_SHARE: f64 = 0.2;
/// Fewer turns say nothing about where actors run.
pub(super) const FAR_TURNS: u64 = 200;
/// A module whose state is at home for less than half of its calls has no home.
pub(super) const FAR_CALLS_AT_HOME: f64 = 0.5;
/// Fewer calls say nothing.
pub(super) const FAR_CALLS: u64 = 1_000;

/// A thread that is ready waits for some microseconds where each has a CPU. One part in five of the
/// time is what remains of it if five threads share four CPUs.
pub(super) const READY_SHARE: f64 = 0.2;
/// Workers that wanted less than half a CPU are not slowed down noticeably.
pub(super) const READY_CPUS: f64 = 0.5;
/// A shorter time is one or two of Linux's time slices.
pub(super) const READY_S: f64 = 1.0;

/// A graph that has just begun fills its slots, and says nothing yet.
pub(super) const SERIAL_S: f64 = 1.0;
/// On average at least one event stood in line: whenever the resource was free, it was taken at
/// once.
pub(super) const SERIAL_WAITING: f64 = 1.0;
/// And the module that it is for ran at least so much of the time; the rest is what passing it on
/// to the next event takes. Below that, the line comes from something else, such as a module that
/// waits for a device.
pub(super) const SERIAL_BUSY: f64 = 0.5;

/// A network that works loses one frame in a thousand at most; a link slows down noticeably at one
/// in a hundred.
pub(super) const RESENT_SHARE: f64 = 0.01;
/// Fewer may be the loss of one moment.
pub(super) const RESENT_FRAMES: u64 = 10;
