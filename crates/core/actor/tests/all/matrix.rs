//! Each callback, what it does wrong, and when: all cells of the table in docs/faults.md.
//
// leaks: what a thread that was given up may reach is never freed.

use crate::common::{ON_PURPOSE, does, quiet, system};
use actinium_actor::{
    Actor, Address, Context, Policy, Reply, Shutdown, ShutdownReport, SpawnOptions, StopReason,
    Supervision, System, SystemHandle,
};
use futures_lite::stream;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

/// For longer than any test takes.
const LONG: Duration = Duration::from_secs(1 << 30);

const PANICS: &str = "panics";
const RE_ENTERS: &str = "re-enters";
const STAYS: &str = "does not return";
const PHASES: [&str; 3] = ["running", "draining", "dropping"];

const FAILS: &str = "fails";
const COUNTED: &str = "counted";
const QUEUED: &str = "queued";
const GIVEN_UP: &str = "given up";
const NOT_CALLED: &str = "not called";

type Row = (&'static str, &'static str, [&'static str; 3]);

const TABLE: [Row; 33] = [
    ("handler", PANICS, [FAILS, FAILS, NOT_CALLED]),
    ("handler", RE_ENTERS, [QUEUED, QUEUED, NOT_CALLED]),
    ("handler", STAYS, [GIVEN_UP, GIVEN_UP, NOT_CALLED]),
    ("held future", PANICS, [FAILS, FAILS, NOT_CALLED]),
    ("held future", RE_ENTERS, [QUEUED, QUEUED, NOT_CALLED]),
    ("held future", STAYS, [GIVEN_UP, GIVEN_UP, NOT_CALLED]),
    ("continuation", PANICS, [FAILS, FAILS, NOT_CALLED]),
    ("continuation", RE_ENTERS, [QUEUED, QUEUED, NOT_CALLED]),
    ("continuation", STAYS, [GIVEN_UP, GIVEN_UP, NOT_CALLED]),
    ("concurrent future", PANICS, [FAILS, FAILS, NOT_CALLED]),
    ("concurrent future", RE_ENTERS, [QUEUED, QUEUED, NOT_CALLED]),
    ("concurrent future", STAYS, [GIVEN_UP, GIVEN_UP, NOT_CALLED]),
    ("stream", PANICS, [FAILS, NOT_CALLED, NOT_CALLED]),
    ("stream", RE_ENTERS, [QUEUED, NOT_CALLED, NOT_CALLED]),
    ("stream", STAYS, [GIVEN_UP, NOT_CALLED, NOT_CALLED]),
    ("started", PANICS, [FAILS, FAILS, NOT_CALLED]),
    ("started", RE_ENTERS, [QUEUED, QUEUED, NOT_CALLED]),
    ("started", STAYS, [GIVEN_UP, GIVEN_UP, NOT_CALLED]),
    ("factory", PANICS, [FAILS, FAILS, NOT_CALLED]),
    ("factory", RE_ENTERS, [QUEUED, QUEUED, NOT_CALLED]),
    ("factory", STAYS, [GIVEN_UP, GIVEN_UP, NOT_CALLED]),
    ("stopped", PANICS, [COUNTED, COUNTED, COUNTED]),
    ("stopped", RE_ENTERS, [QUEUED, QUEUED, QUEUED]),
    ("stopped", STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
    ("drop", PANICS, [COUNTED, COUNTED, COUNTED]),
    ("drop", RE_ENTERS, [QUEUED, QUEUED, QUEUED]),
    ("drop", STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
    ("listener", PANICS, [COUNTED, COUNTED, COUNTED]),
    ("listener", RE_ENTERS, [QUEUED, QUEUED, QUEUED]),
    ("listener", STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
    ("waker", PANICS, [FAILS, FAILS, COUNTED]),
    ("waker", RE_ENTERS, [QUEUED, QUEUED, QUEUED]),
    ("waker", STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
];

/// What one callback does, and all that it needs for that.
struct Fault {
    callback: &'static str,
    does: &'static str,
    armed: AtomicBool,
    called: AtomicU64,
    gate: Mutex<Receiver<()>>,
    system: SystemHandle,
    gone: OnceLock<Address<Faulty>>,
    own: OnceLock<Address<Faulty>>,
}

impl Fault {
    fn at(&self, callback: &str) {
        if callback != self.callback || !self.armed.load(Ordering::SeqCst) {
            return;
        }
        self.called.fetch_add(1, Ordering::SeqCst);
        match self.does {
            PANICS => panic!("{ON_PURPOSE}"),
            STAYS => _ = self.gate.lock().unwrap().recv(),
            _ => self.re_enter(),
        }
    }

    /// Back to the runtime, by all that can be reached from everywhere.
    fn re_enter(&self) {
        let (own, gone) = (self.own.get().unwrap(), self.gone.get().unwrap());
        gone.tell(Msg::Nothing);
        own.tell(Msg::Nothing);
        // Nobody holds its address: it ends.
        drop(self.system.spawn(does(|(), _| {})));
    }
}

enum Msg {
    Nothing,
    Keep(Reply<()>),
    Watch(Address<Faulty>, Sender<StopReason>),
    Fail,
    Trigger,
}

struct Faulty {
    fault: Arc<Fault>,
    kept: Option<Reply<()>>,
}

impl Actor for Faulty {
    type Msg = Msg;

    fn started(&mut self, _: &mut Context<'_, Self>) {
        self.fault.at("started");
    }

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Nothing => {}
            Msg::Keep(reply) => self.kept = Some(reply),
            Msg::Watch(other, ends) => ctx.watch(&other, move |down| {
                let _ = ends.send(down.reason);
                Msg::Nothing
            }),
            Msg::Fail => panic!("{ON_PURPOSE}"),
            Msg::Trigger => match self.fault.callback {
                "started" | "factory" => panic!("{ON_PURPOSE}"),
                "stopped" | "drop" => ctx.stop(),
                "listener" => self.fault.gone.get().unwrap().tell(Msg::Nothing),
                "waker" => _ = self.kept.take().unwrap().send(()),
                callback @ ("held future" | "continuation" | "concurrent future" | "stream") => {
                    self.wait_for(callback, ctx);
                }
                _ => self.fault.at("handler"),
            },
        }
    }

    fn stopped(&mut self, _: &mut Context<'_, Self>, _: &StopReason) {
        self.fault.at("stopped");
    }
}

impl Faulty {
    /// Waits for something that ends, or is followed, by the fault.
    fn wait_for(&self, callback: &str, ctx: &mut Context<'_, Self>) {
        let fault = self.fault.clone();
        match callback {
            "held future" => ctx.hold(async move { fault.at("held future") }, |_, (), _| ()),
            "continuation" => {
                ctx.hold(async {}, |this, (), _| this.fault.at("continuation"));
            }
            "concurrent future" => {
                ctx.concurrent(1, async move { fault.at("concurrent future") }, |_, (), _| ());
            }
            _ => {
                let stream = stream::poll_fn(move |_| {
                    fault.at("stream");
                    Poll::Ready(None::<()>)
                });
                ctx.attach_stream(stream, |()| Msg::Nothing);
            }
        }
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        // Not of the instance that gave way to another.
        self.fault.at("drop");
    }
}

impl Wake for Fault {
    fn wake(self: Arc<Self>) {
        self.at("waker");
    }
}

/// A system with an actor that has a fault.
struct Cell {
    system: Arc<System>,
    fault: Arc<Fault>,
    faulty: Address<Faulty>,
    ends: Receiver<StopReason>,
    /// Kept alive, or it hears nothing.
    _watcher: Address<Faulty>,
    on_purpose: u64,
    release: Option<Sender<()>>,
}

impl Cell {
    fn new(callback: &'static str, does_wrong: &'static str, phase: &str) -> Self {
        let system = Arc::new(system(Policy::affine(), 2));
        let (release, gate) = mpsc::channel();
        let fault = Arc::new(Fault {
            callback,
            does: does_wrong,
            armed: AtomicBool::new(false),
            called: AtomicU64::new(0),
            gate: Mutex::new(gate),
            system: system.handle(),
            gone: OnceLock::new(),
            own: OnceLock::new(),
        });
        // Its handler is not called again before the system drains.
        let waits =
            matches!(callback, "held future" | "continuation" | "concurrent future" | "stream");
        let backs_off = phase == "dropping"
            && (matches!(callback, "handler" | "started" | "factory" | "listener") || waits);
        let wait = if backs_off { LONG } else { Duration::ZERO };
        let supervised = matches!(callback, "started" | "factory") || backs_off;
        let supervision = Supervision::restart().limit(3, LONG).backoff(wait, wait);
        let options = if supervised {
            SpawnOptions::new().supervise(supervision)
        } else {
            SpawnOptions::new()
        };
        let own = fault.clone();
        let make = move || {
            own.at("factory");
            Faulty { fault: own.clone(), kept: None }
        };
        let faulty = system.spawn_with(options, make).unwrap();
        let bystander = || {
            let fault = Arc::new(Fault::idle(&system));
            system.spawn(Faulty { fault, kept: None })
        };
        let gone = bystander();
        gone.stop();
        let (ended, ends) = mpsc::channel();
        let watcher = bystander();
        watcher.tell(Msg::Watch(faulty.clone(), ended));
        let listens = fault.clone();
        system.handle().on_dead_letter(move |_| listens.at("listener"));
        let _ = (fault.gone.set(gone), fault.own.set(faulty.clone()));
        if callback == "waker" {
            let waker = Waker::from(fault.clone());
            let answer = faulty.ask(Msg::Keep);
            let mut answer = Box::pin(answer);
            let mut cx = std::task::Context::from_waker(&waker);
            assert!(pin!(&mut answer).poll(&mut cx).is_pending());
            // It is asked for until the end.
            std::mem::forget(answer);
        }
        system.wait_idle(LONG).unwrap();
        let mut on_purpose = u64::from(matches!(callback, "started" | "factory"));
        if backs_off {
            on_purpose = 1;
            faulty.tell(Msg::Fail);
            while system.stats().total().panicked == 0 {
                thread::yield_now();
            }
        }
        fault.armed.store(true, Ordering::SeqCst);
        Cell { system, fault, faulty, ends, _watcher: watcher, on_purpose, release: Some(release) }
    }

    fn was_called(&self) -> bool {
        self.fault.called.load(Ordering::SeqCst) > 0
    }

    fn running(&self) -> ShutdownReport {
        self.faulty.tell(Msg::Trigger);
        if self.fault.does == STAYS {
            while !self.was_called() {
                thread::yield_now();
            }
            return self.system.shutdown(Shutdown::DrainWithin(Duration::ZERO));
        }
        self.system.wait_idle(LONG).unwrap();
        // Others are served as before.
        let echo = self.system.spawn(does(|reply: Reply<u32>, _| _ = reply.send(7)));
        assert_eq!(echo.ask(|reply| reply).wait(), Ok(7));
        self.fault.armed.store(false, Ordering::SeqCst);
        self.system.shutdown(Shutdown::Drain)
    }

    fn draining(&self) -> ShutdownReport {
        let (canary, faulty) = (self.system.spawn(does(|(), _| {})), self.faulty.clone());
        let holds = self.system.spawn(does(move |(), _| {
            // From outside it is refused as soon as the system drains.
            let canary = canary.clone();
            let drains = thread::spawn(move || {
                while canary.send(()).is_ok() {
                    thread::yield_now();
                }
            });
            drains.join().unwrap();
            faulty.tell(Msg::Trigger);
        }));
        holds.tell(());
        if self.fault.does != STAYS {
            return self.system.shutdown(Shutdown::Drain);
        }
        let system = self.system.clone();
        let drains = thread::spawn(move || system.shutdown(Shutdown::DrainWithin(LONG)));
        while !self.was_called() && !drains.is_finished() {
            thread::yield_now();
        }
        self.system.shutdown(Shutdown::DrainWithin(Duration::ZERO));
        drains.join().unwrap()
    }

    fn dropping(&self) -> ShutdownReport {
        if self.on_purpose > 0 || self.fault.callback == "handler" {
            self.faulty.tell(Msg::Trigger);
        }
        if self.fault.does != STAYS {
            return self.system.shutdown(Shutdown::Drop);
        }
        let system = self.system.clone();
        let drops = thread::spawn(move || system.shutdown(Shutdown::Drop));
        while !self.was_called() && !drops.is_finished() {
            thread::yield_now();
        }
        self.system.shutdown(Shutdown::DrainWithin(Duration::ZERO));
        drops.join().unwrap()
    }

    /// What has become of it.
    fn outcome(&mut self, phase: &str) -> &'static str {
        let report = match phase {
            "running" => self.running(),
            "draining" => self.draining(),
            _ => self.dropping(),
        };
        let panicked = self.system.stats().total().panicked - self.on_purpose;
        drop(self.release.take());
        if !self.was_called() {
            return NOT_CALLED;
        }
        if !report.stuck.is_empty() {
            return GIVEN_UP;
        }
        let failed = self.ends.try_iter().any(|it| matches!(it, StopReason::Failed(_)));
        match panicked {
            0 => QUEUED,
            _ if failed => FAILS,
            _ => COUNTED,
        }
    }
}

impl Fault {
    fn idle(system: &System) -> Self {
        Fault {
            callback: "none",
            does: PANICS,
            armed: AtomicBool::new(false),
            called: AtomicU64::new(0),
            gate: Mutex::new(mpsc::channel().1),
            system: system.handle(),
            gone: OnceLock::new(),
            own: OnceLock::new(),
        }
    }
}

fn check(does_wrong: &str) {
    quiet();
    let mut wrong = Vec::new();
    for (callback, does, expected) in TABLE.into_iter().filter(|row| row.1 == does_wrong) {
        for (phase, expected) in PHASES.into_iter().zip(expected) {
            let found = Cell::new(callback, does, phase).outcome(phase);
            if found != expected {
                wrong.push(format!("{callback} {does} {phase}: {found}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_callback_that_panics() {
    check(PANICS);
}

#[test]
fn each_callback_that_re_enters() {
    check(RE_ENTERS);
}

#[test]
fn each_callback_that_does_not_return() {
    check(STAYS);
}

#[test]
fn the_table_is_that_of_the_docs() {
    let text = include_str!("../../../../../docs/faults.md");
    let (_, text) = text.split_once("\n## Actors\n").unwrap();
    let (text, _) = text.split_once("\n## ").unwrap();
    let rows = |line: &&str| line.starts_with("| ") && !line.starts_with("| callback");
    let told: Vec<&str> = text.lines().filter(rows).collect();
    let own: Vec<String> = TABLE
        .iter()
        .map(|(callback, does, [a, b, c])| format!("| {callback} | {does} | {a} | {b} | {c} |"))
        .collect();
    assert_eq!(told, own);
}
