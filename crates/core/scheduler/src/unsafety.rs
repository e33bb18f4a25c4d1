//! Tests that only `unsafe` code may make certain calls: each call is refused without `unsafe`, and
//! by nothing else.

/// For each call: a program with it that does not compile, and the same with `unsafe`, which does.
macro_rules! only_unsafe {
    ($($name:ident: $call:literal,)*) => { $(
        #[doc = concat!("```compile_fail,E0133\n", program!($call), "\n```\n")]
        #[doc = concat!("```no_run\n", program!(concat!("unsafe { ", $call, " }")), "\n```\n")]
        pub struct $name;
    )* };
}

macro_rules! program {
    ($call:expr) => {
        concat!(
            "#![allow(unused)]\n",
            "use actinium_scheduler::inbox::{Chain, Inbox};\n",
            "use actinium_scheduler::runnable::{Header, Runnable};\n",
            "use actinium_scheduler::{Shared, Worker};\n",
            "use std::ptr::NonNull;\n",
            "fn program(worker: &Worker, shared: &Shared, it: Runnable, header: NonNull<Header>) {\n",
            "    let _ = ",
            $call,
            ";\n}\n"
        )
    };
}

only_unsafe! {
    Make: "Runnable::new(header)",
    Follow: "it.header_unbound()",
    Schedule: "worker.schedule(it)",
    NotifyOwned: "worker.notify_owned(it)",
    Sample: "worker.sample(it)",
    Reaches: "worker.reaches(it)",
    IfOwned: "worker.if_owned(it).is_ok()",
    OpenLaneTo: "worker.open_lane_to::<u64>(it)",
    SendViaLane: "worker.send_via_lane(it, 0, 7).is_ok()",
    StartHere: "worker.start(it)",
    Start: "shared.start(it, 0)",
    Notify: "Worker::notify(shared, it, None)",
    Dispose: "worker.dispose(it)",
    MayDispose: "worker.may_dispose(it)",
    Push: "Inbox::new().push(it)",
    Add: "Chain::default().add(it)",
    Announce: "shared.sleep().announce(0)",
    Again: "Worker::new_unclaimed(worker.shared().clone(), 0)",
    Current: "actinium_scheduler::current_unbound()",
    RunBuffer: "worker.with_run_buffer(|_| ())",
}

/// A runnable is not made of any pointer:
///
/// ```compile_fail,E0603
/// let header = std::ptr::NonNull::<actinium_scheduler::Header>::dangling();
/// let it = actinium_scheduler::Runnable(header);
/// ```
pub struct Fields;

/// A worker stays with its thread:
///
/// ```compile_fail,E0277
/// fn elsewhere(worker: actinium_scheduler::Worker) {
///     std::thread::spawn(move || worker.run());
/// }
/// ```
/// ```compile_fail,E0277
/// fn elsewhere(worker: &'static actinium_scheduler::Worker) {
///     std::thread::spawn(move || worker.run());
/// }
/// ```
pub struct Threads;

/// Nor is the reference that a turn is lent kept:
///
/// ```compile_fail,E0521
/// use actinium_scheduler::Worker;
/// fn keep(kept: &mut Option<&Worker>) {
///     actinium_scheduler::current(|worker| *kept = worker);
/// }
/// ```
pub struct Lent;
