//! The log of the runtime: what goes wrong while a program runs, and nobody gets as a result.
//!
//! Each remark is a [`Record`], and goes one way:
//!
//! 1. to the program's hook, if there is one ([`set_hook`]);
//! 2. else, with the feature `tracing`, it is an event for the program's subscriber, if there is
//!    one, with the record's fields;
//! 3. else it is a line on stderr.
//!
//! The hook and the subscriber are the program's code. If they panic, the record and the panic go
//! to stderr. So does what they cause the runtime to log on the same thread.
//!
//! ```
//! use actinium_scheduler::logging::{self, Level};
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! static WARNINGS: AtomicU64 = AtomicU64::new(0);
//!
//! logging::set_hook(|record| {
//!     if record.level() <= Level::Warn {
//!         WARNINGS.fetch_add(1, Ordering::Relaxed);
//!     }
//!     eprintln!("{}: {record}", record.target());
//! });
//! ```
//!
//! The line of a failure that ends the process always goes to stderr: nothing of the program's is
//! called then. A flight recorder, if there is one, writes what it has.

use crate::guard::{self, Guarded};
use std::cell::Cell;
use std::fmt;
// Not the model checkers': a failure that ends the process is no part of a model.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

#[cfg(feature = "tracing")]
#[doc(hidden)]
pub use tracing;

/// How much a record matters: `Error` is the least value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Something has failed, and does not go on.
    Error,
    /// Something is not as it should be, and goes on.
    Warn,
    /// Something has changed.
    Info,
    /// For whoever looks for a fault.
    Debug,
}

impl Level {
    /// The same level in `tracing`.
    #[cfg(feature = "tracing")]
    #[doc(hidden)]
    pub const fn of_tracing(self) -> tracing::Level {
        match self {
            Level::Error => tracing::Level::ERROR,
            Level::Warn => tracing::Level::WARN,
            Level::Info => tracing::Level::INFO,
            Level::Debug => tracing::Level::DEBUG,
        }
    }
}

/// The value of a record's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A number, such as an actor's id.
    Number(u64),
    /// A text, such as the name of an actor's type.
    Text(&'a str),
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Value::Number(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => text.fmt(f),
        }
    }
}

/// A remark of the runtime. Its `Display` is the message, behind `warning: `, `note: ` or `debug: `
/// if it is no error.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    level: Level,
    target: &'static str,
    message: fmt::Arguments<'a>,
    fields: &'a [(&'static str, Value<'a>)],
}

impl<'a> Record<'a> {
    /// A record of the runtime's own: `log!` makes it.
    #[doc(hidden)]
    pub fn new(
        level: Level,
        target: &'static str,
        message: fmt::Arguments<'a>,
        fields: &'a [(&'static str, Value<'a>)],
    ) -> Self {
        Record { level, target, message, fields }
    }

    /// How much it matters.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The module that it comes from: `actinium_actor::ending`, say.
    pub fn target(&self) -> &'static str {
        self.target
    }

    /// The message: one line, without its level.
    pub fn message(&self) -> fmt::Arguments<'a> {
        self.message
    }

    /// The things that it is about, by name: `actor` (an id), `actor_type`, `worker`, `node`. The
    /// message says the same in words.
    pub fn fields(&self) -> &'a [(&'static str, Value<'a>)] {
        self.fields
    }
}

impl fmt::Display for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Error => "",
            Level::Warn => "warning: ",
            Level::Info => "note: ",
            Level::Debug => "debug: ",
        };
        write!(f, "{level}{}", self.message)
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {:?} {:?}", self.level, self.target, self.fields, self.message)
    }
}

type Hook = Guarded<Box<dyn Fn(&Record<'_>) + Send + Sync>>;

/// The program's hook. The standard library's lock: the model checkers do not look at the log.
static HOOK: RwLock<Option<Arc<Hook>>> = RwLock::new(None);

thread_local! {
    /// Whether this thread is in the hook, or in the subscriber.
    static IS_TELLING: Cell<bool> = const { Cell::new(false) };
}

/// Gives all records of this process to `hook`, instead of to `tracing` or to stderr, and drops the
/// hook before it. It is called on the thread that something happened on, which is often a worker:
/// it should be quick.
pub fn set_hook(hook: impl Fn(&Record<'_>) + Send + Sync + 'static) {
    replace(Some(Arc::new(Guarded::new(Box::new(hook)))));
}

/// Takes the hook away: records go to `tracing` or to stderr again.
pub fn remove_hook() {
    replace(None);
}

fn replace(hook: Option<Arc<Hook>>) {
    let before =
        std::mem::replace(&mut *HOOK.write().unwrap_or_else(PoisonError::into_inner), hook);
    // Dropped without the lock: what it holds may log.
    drop(before);
}

/// Passes on a record; `event` makes one of `tracing`. The macro `log!` calls it.
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn tell(record: &Record<'_>, event: Option<&dyn Fn()>) {
    // A thread that ends has no such variable any more.
    if IS_TELLING.try_with(|it| it.replace(true)).unwrap_or(true) {
        return to_stderr(record);
    }
    let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
    let told = match (&hook, event) {
        (Some(hook), _) => guard::catch(|| (***hook)(record)),
        (None, Some(event)) if is_subscribed() => guard::catch(event),
        _ => {
            to_stderr(record);
            Ok(())
        }
    };
    let _ = IS_TELLING.try_with(|it| it.set(false));
    if let Err(panicked) = told {
        to_stderr(record);
        to_stderr(&format_args!("the line above was logged, and {panicked}"));
    }
}

/// Whether a hook or a subscriber of `tracing` gets the records, and not stderr.
#[doc(hidden)]
pub fn is_heard() -> bool {
    is_subscribed() || HOOK.read().unwrap_or_else(PoisonError::into_inner).is_some()
}

#[cfg(feature = "tracing")]
fn is_subscribed() -> bool {
    tracing::dispatcher::has_been_set()
}

#[cfg(not(feature = "tracing"))]
fn is_subscribed() -> bool {
    false
}

/// Writes a line to stderr. (`eprintln` panics if stderr is closed; but tests capture what it
/// writes.)
#[doc(hidden)]
pub fn to_stderr(line: &dyn fmt::Display) {
    // tidy: stderr: the one place.
    let _ = guard::catch(|| eprintln!("actinium: {line}"));
}

/// What is called with the reason before [`fatal`] ends the process.
static LAST_WORDS: OnceLock<fn(&str)> = OnceLock::new();

/// Sets what [`fatal`] calls, once, before it ends the process. Whoever is fatal may hold any lock
/// of the runtime: the function must not wait for one. There is one; false if there was one before.
#[doc(hidden)]
pub fn set_last_words(speak: fn(&str)) -> bool {
    LAST_WORDS.set(speak).is_ok()
}

/// Ends the process, and says why on stderr. It calls nothing of the program's.
#[cold]
#[inline(never)]
pub fn fatal(why: fmt::Arguments<'_>) -> ! {
    static SPOKEN: AtomicBool = AtomicBool::new(false);
    to_stderr(&why);
    // Relaxed: the first one speaks, and hands nothing over.
    if let (Some(speak), false) = (LAST_WORDS.get(), SPOKEN.swap(true, Ordering::Relaxed)) {
        let _ = guard::catch(|| speak(&why.to_string()));
    }
    std::process::abort();
}

/// Logs: `log!(Warn, {actor: 7, actor_type: "Disk"}, "it has {n} blocks")`. The values are numbers
/// (`u64`) and texts (`&str`).
#[doc(hidden)]
#[macro_export]
macro_rules! log {
    ($level:ident, {$($field:ident: $value:expr),*}, $($message:tt)+) => {
        $crate::logging::tell(
            &$crate::logging::Record::new(
                $crate::logging::Level::$level,
                module_path!(),
                format_args!($($message)+),
                &[$((stringify!($field), $crate::logging::Value::from($value))),*],
            ),
            $crate::log_event!($level, {$($field: $value),*}, $($message)+),
        )
    };
}

#[cfg(feature = "tracing")]
#[doc(hidden)]
#[macro_export]
macro_rules! log_event {
    ($level:ident, {$($field:ident: $value:expr),*}, $($message:tt)+) => {
        Some(&|| {
            $crate::logging::tracing::event!(
                $crate::logging::Level::$level.of_tracing(),
                $($field = $value,)*
                $($message)+
            )
        })
    };
}

#[cfg(not(feature = "tracing"))]
#[doc(hidden)]
#[macro_export]
macro_rules! log_event {
    ($($all:tt)*) => {
        None
    };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::sync::{Mutex, lock};
    use std::sync::MutexGuard;

    /// The hook is the process's: one test at a time.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        lock(&ALONE)
    }

    fn log_each() {
        crate::log!(Error, {actor: 7, actor_type: "Disk"}, "it is {}", "full");
        crate::log!(Warn, {worker: 3}, "it sleeps");
        crate::log!(Info, {}, "it is there");
        crate::log!(Debug, {node: 1}, "it asks");
    }

    fn said(record: &Record<'_>) -> String {
        assert_eq!(record.target(), module_path!());
        let fields: Vec<_> =
            record.fields().iter().map(|(name, it)| format!("{name}={it}")).collect();
        format!("{:?} [{}] {record}", record.level(), fields.join(" "))
    }

    #[test]
    fn the_hook_gets_each_level_with_its_fields() {
        let _alone = alone();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let to = lines.clone();
        set_hook(move |record| lock(&to).push(said(record)));
        log_each();
        remove_hook();
        log_each();
        let expected = [
            "Error [actor=7 actor_type=Disk] it is full",
            "Warn [worker=3] warning: it sleeps",
            "Info [] note: it is there",
            "Debug [node=1] debug: it asks",
        ];
        assert_eq!(*lock(&lines), expected);
        assert_eq!(Arc::strong_count(&lines), 1, "the hook is gone");
    }

    #[test]
    fn a_hook_that_panics_or_logs_harms_nobody() {
        let _alone = alone();
        static CALLS: Mutex<Vec<String>> = Mutex::new(Vec::new());
        struct Loud;
        impl Drop for Loud {
            fn drop(&mut self) {
                crate::log!(Warn, {}, "the hook ends");
                panic!("in the destructor of the hook");
            }
        }
        let loud = Loud;
        set_hook(move |record| {
            let _ = &loud;
            lock(&CALLS).push(said(record));
            crate::log!(Warn, {}, "from the hook: to stderr");
            panic!("in the hook");
        });
        crate::log!(Info, {}, "one");
        crate::log!(Info, {}, "two");
        set_hook(|record| lock(&CALLS).push(said(record)));
        remove_hook();
        let calls = std::mem::take(&mut *lock(&CALLS));
        assert_eq!(
            calls,
            ["Info [] note: one", "Info [] note: two", "Warn [] warning: the hook ends"]
        );
    }
}
