//! What makes flight recorders write without being asked by their programs: a panic that no
//! supervision looks after, the signal `SIGUSR1`, and a defect of the runtime.
//!
//! All of it is set up once in a process, when its first recorder starts, and told to all that are
//! there. Nobody waits long for a recorder: it may be the thread that panicked which holds what the
//! recorder needs.

use super::document::{Cause, Reason};
use actinium_scheduler::{log, logging};
use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;
use std::cell::Cell;
use std::io;
use std::panic::PanicHookInfo;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, TryLockError, Weak};
use std::time::Duration;

/// How long whoever panics, or ends the process, waits for a recorder to write.
const PATIENCE: Duration = Duration::from_secs(2);

/// Looks at a list that is held for as long as it takes to copy it.
const TRIES: usize = 1_000;

/// What an alarm is told to.
pub(super) trait Alarmed: Send + Sync {
    /// Writes for this reason. `is_broken`: the runtime is, and must not be asked for anything.
    /// Waits no longer than `patience`.
    fn alarm(&self, reason: Reason, is_broken: bool, patience: Duration);
}

static ALARMED: Mutex<Vec<Weak<dyn Alarmed>>> = Mutex::new(Vec::new());

thread_local! {
    /// The calling thread is a recorder's own, which no alarm may make wait for itself.
    static IS_RECORDER: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread is a recorder's own.
pub(super) fn exempt_this_thread() {
    IS_RECORDER.set(true);
}

/// Tells alarms to this one from now on, for as long as it lives.
///
/// # Errors
/// If the process may not listen to signals, or start a thread.
pub(super) fn tell(alarmed: Weak<dyn Alarmed>) -> io::Result<()> {
    listen()?;
    let mut all = lock();
    all.retain(|it| it.strong_count() > 0);
    all.push(alarmed);
    Ok(())
}

fn lock() -> MutexGuard<'static, Vec<Weak<dyn Alarmed>>> {
    ALARMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets all of it up, once.
fn listen() -> io::Result<()> {
    static HOOKS: Once = Once::new();
    static SIGNALS: Mutex<bool> = Mutex::new(false);
    HOOKS.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            before(info);
            on_panic(info);
        }));
        if !logging::set_last_words(on_defect) {
            log!(
                Warn,
                {},
                "a flight recorder will not hear of a defect of the runtime: another does"
            );
        }
    });
    let mut are_heard = SIGNALS.lock().unwrap_or_else(PoisonError::into_inner);
    if !*are_heard {
        let mut signals = Signals::new([SIGUSR1])?;
        let thread = std::thread::Builder::new().name("actinium-signals".to_owned());
        thread.spawn(move || signals.forever().for_each(|_| on_signal()))?;
        *are_heard = true;
    }
    Ok(())
}

fn on_panic(info: &PanicHookInfo<'_>) {
    if IS_RECORDER.get() || actinium_actor::is_supervised_here() {
        return;
    }
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("without a name");
    let payload = info.payload();
    let said = payload.downcast_ref::<&str>().copied();
    let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let said = said.unwrap_or("something that is no text");
    let place = info.location().map(|it| format!(", {it}")).unwrap_or_default();
    let text = format!("the thread '{name}' panicked: {said}{place}");
    alarm_all(&Reason { cause: Cause::Panic, text }, false);
}

fn on_defect(why: &str) {
    alarm_all(&Reason { cause: Cause::Defect, text: why.to_owned() }, true);
}

fn on_signal() {
    let reason = Reason { cause: Cause::Signal, text: "SIGUSR1 came".to_owned() };
    alarm_all(&reason, false);
}

fn alarm_all(reason: &Reason, is_broken: bool) {
    for alarmed in all() {
        alarmed.alarm(reason.clone(), is_broken, PATIENCE);
    }
}

/// Those that live. Whoever panics may hold the lock: it does not wait for that.
fn all() -> Vec<Arc<dyn Alarmed>> {
    for _ in 0..TRIES {
        let all = match ALARMED.try_lock() {
            Ok(all) => all,
            Err(TryLockError::Poisoned(all)) => all.into_inner(),
            Err(TryLockError::WouldBlock) => {
                std::thread::yield_now();
                continue;
            }
        };
        return all.iter().filter_map(Weak::upgrade).collect();
    }
    Vec::new()
}
