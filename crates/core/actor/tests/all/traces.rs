//! One request is followed through all that an actor may do: its spans form the right tree.

use actinium_actor::testing::TestSystem;
use actinium_actor::trace::{self, Span, SpanKind, TraceContext};
use actinium_actor::{
    Actor, Address, Context, Mailbox, Policy, Reply, Shutdown, SpawnOptions, Supervision, System,
    SystemHandle,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Job<const N: u32> = Box<dyn FnOnce(&mut Runner<N>, &mut Context<'_, Runner<N>>) + Send>;

/// Does what a message says.
struct Runner<const N: u32>;

impl<const N: u32> Actor for Runner<N> {
    type Msg = Job<N>;

    fn handle(&mut self, job: Job<N>, ctx: &mut Context<'_, Self>) {
        job(self, ctx);
    }
}

/// A job that does nothing but what `f` does.
fn job<const N: u32>(f: impl FnOnce(&mut Context<'_, Runner<N>>) + Send + 'static) -> Job<N> {
    Box::new(move |_, ctx| f(ctx))
}

fn nothing<const N: u32>() -> Job<N> {
    job(|_| ())
}

/// The spans of a system that have ended.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Span>>>);

impl Spans {
    fn of(system: &SystemHandle) -> Self {
        let spans = Spans::default();
        let to = spans.clone();
        system.on_span(move |span| to.0.lock().unwrap().push(span.clone()));
        spans
    }

    fn all(&self) -> Vec<Span> {
        self.0.lock().unwrap().clone()
    }

    /// The names as a tree, those of one parent in alphabetical order: `a(b(c) d)`.
    fn tree(&self) -> String {
        let all = self.all();
        let is_known = |id| all.iter().any(|span| span.context.span_id() == id);
        let roots = all.iter().filter(|span| span.parent.is_none_or(|id| !is_known(id)));
        let mut roots: Vec<_> = roots.map(|root| text(root, &all)).collect();
        roots.sort();
        roots.join(" ")
    }
}

fn text(span: &Span, all: &[Span]) -> String {
    let children = all.iter().filter(|it| it.parent == Some(span.context.span_id()));
    let mut children: Vec<_> = children
        .inspect(|it| assert_eq!(it.context.trace_id(), span.context.trace_id()))
        .map(|it| text(it, all))
        .collect();
    children.sort();
    let name = span.name.replace("all::traces::Runner", "");
    let error = span.error.as_ref().map_or(String::new(), |error| format!("!{error}"));
    let children =
        if children.is_empty() { String::new() } else { format!("({})", children.join(" ")) };
    format!("{name}{error}{children}")
}

fn traced() -> (TestSystem, Spans) {
    let system = TestSystem::builder().seed(1).fifo().build();
    let spans = Spans::of(&system);
    system.sample_traces(1.0);
    (system, spans)
}

fn request() -> TraceContext {
    TraceContext::new(7, 8, true).unwrap()
}

#[test]
fn messages_of_a_handler_are_children_of_its_message() {
    let (mut system, spans) = traced();
    let (one, two, three) =
        (system.spawn(Runner::<1>), system.spawn(Runner::<2>), system.spawn(Runner::<3>));
    one.tell(job(move |_| {
        let last = three.clone();
        two.tell(job(move |_| last.tell(nothing())));
        three.tell(nothing());
        two.send_urgent(nothing()).unwrap();
        three.send_urgent(nothing()).unwrap();
    }));
    system.run_until_idle();
    assert_eq!(spans.tree(), "<1>(<2> <2>(<3>) <3> <3>)");
    let all = spans.all();
    assert!(all.iter().all(|span| span.kind == SpanKind::Message && span.error.is_none()));
    assert!(all.iter().all(|span| span.message.contains("Box<dyn")), "{all:?}");
    assert_eq!(system.trace_figures().began, 1);
    assert_eq!(trace::current(), None);
}

#[test]
fn an_ask_is_a_span_around_request_and_answer() {
    let (mut system, spans) = traced();
    let (one, two) = (system.spawn(Runner::<1>), system.spawn(Answers));
    one.tell(job(move |ctx| {
        ctx.ask(&two, |reply| reply, |_: Result<u32, _>| nothing());
    }));
    system.run_until_idle();
    assert_eq!(spans.tree(), "<1>(ask(all::traces::Answers(<1>)))");
}

struct Answers;

impl Actor for Answers {
    type Msg = Reply<u32>;

    fn handle(&mut self, reply: Reply<u32>, _: &mut Context<'_, Self>) {
        reply.send(7).unwrap();
    }
}

/// Answers a request with the message after it.
struct AnswersLater(Option<Reply<u32>>);

impl Actor for AnswersLater {
    type Msg = Option<Reply<u32>>;

    fn handle(&mut self, reply: Option<Reply<u32>>, _: &mut Context<'_, Self>) {
        match reply {
            Some(reply) => self.0 = Some(reply),
            None => self.0.take().unwrap().send(7).unwrap(),
        }
    }
}

#[test]
fn an_answer_from_no_traced_step_is_part_of_the_ask() {
    let (mut system, spans) = traced();
    let (one, two) = (system.spawn(Runner::<1>), system.spawn(AnswersLater(None)));
    let other = two.clone();
    one.tell(job(move |ctx| {
        ctx.ask(&other, Some, |_: Result<u32, _>| nothing());
    }));
    system.run_until_idle();
    system.sample_traces(0.0);
    two.tell(None);
    system.run_until_idle();
    let tree = spans.tree();
    assert_eq!(tree, "<1>(ask(<1> all::traces::AnswersLater))");
}

#[test]
fn a_timer_goes_on_with_the_request() {
    let (mut system, spans) = traced();
    let one = system.spawn(Runner::<1>);
    one.tell(job(|ctx| {
        ctx.after(Duration::from_secs(3), job(|ctx| ctx.address().tell(nothing())));
        let cancelled = ctx.after(Duration::from_secs(5), nothing());
        ctx.cancel(cancelled);
    }));
    system.advance(Duration::from_secs(10));
    assert_eq!(spans.tree(), "<1>(timer!dropped before it was done timer(<1>(<1>)))");
    let all = spans.all();
    let timer = all.iter().find(|span| span.name == "timer" && span.error.is_none()).unwrap();
    assert_eq!(timer.kind, SpanKind::Beside);
    assert_eq!(timer.actor, one.id().as_u64());
    assert_eq!(timer.end_ns - timer.begin_ns, 3_000_000_000);
}

#[test]
fn futures_go_on_with_the_request() {
    let (mut system, spans) = traced();
    let (one, two) = (system.spawn(Runner::<1>), system.spawn(Runner::<2>));
    one.tell(job(move |ctx| {
        let (to, done) = (two.clone(), two.clone());
        let held = async move { to.tell(nothing()) };
        ctx.hold(held, move |_, (), ctx| {
            done.tell(nothing());
            ctx.concurrent(4, async {}, move |_, (), _| two.tell(nothing()));
        });
    }));
    system.run_until_idle();
    assert_eq!(spans.tree(), "<1>(hold(<2> <2> concurrent(<2>)))");
}

#[test]
fn a_pipe_and_what_wakes_it_go_on_with_the_request() {
    let (mut system, spans) = traced();
    let (one, two) = (system.spawn(Runner::<1>), system.spawn(Answers));
    one.tell(job(move |ctx| {
        let answer = two.ask(|reply| reply);
        ctx.pipe(answer, |_| nothing());
    }));
    system.run_until_idle();
    // The answer wakes the future, which is no step.
    assert_eq!(spans.tree(), "<1>(all::traces::Answers pipe(<1>))");
}

#[test]
fn closures_on_other_threads_go_on_with_the_request() {
    let system = System::builder().workers(2).build().unwrap();
    let spans = Spans::of(&system);
    system.sample_traces(1.0);
    let (one, two) = (system.spawn(Runner::<1>), system.spawn(Runner::<2>));
    one.tell(job(move |ctx| {
        let (first, second) = (two.clone(), two);
        ctx.offload(
            move || {
                assert!(trace::current().is_some());
                first.tell(nothing());
            },
            |()| job(|_| ()),
        );
        ctx.hold_blocking(move || second.tell(nothing()), |_, (), _| ());
    }));
    system.wait_idle(Duration::from_secs(60)).unwrap();
    system.shutdown(Shutdown::Drain);
    assert_eq!(spans.tree(), "<1>(hold hold_blocking(<2>) offload(<1> <2>))");
}

#[test]
fn a_stashed_message_keeps_its_request() {
    struct Waits(Address<Runner<2>>, bool);
    impl Actor for Waits {
        type Msg = bool;
        fn handle(&mut self, opens: bool, ctx: &mut Context<'_, Self>) {
            if opens {
                self.1 = true;
                ctx.unstash_all();
            } else if self.1 {
                self.0.tell(nothing());
            } else {
                ctx.stash(false).unwrap();
            }
        }
    }
    let (mut system, spans) = traced();
    let two = system.spawn(Runner::<2>);
    let waits = system.spawn(Waits(two, false));
    waits.tell(false);
    system.run_until_idle();
    system.sample_traces(0.0);
    waits.tell(true);
    system.run_until_idle();
    let name = std::any::type_name::<Waits>();
    assert_eq!(spans.tree(), format!("{name}({name}(<2>))"));
}

#[test]
fn what_is_not_sampled_carries_nothing() {
    let mut system = TestSystem::seeded(1);
    let spans = Spans::of(&system);
    let one = system.spawn(Runner::<1>);
    // Nobody traces: a context is of no use.
    trace::scope(Some(request()), || one.tell(nothing()));
    system.run_until_idle();
    system.sample_traces(0.0);
    one.tell(job(|ctx| {
        assert_eq!(trace::current(), None);
        ctx.address().tell(nothing());
    }));
    system.run_until_idle();
    assert!(spans.all().is_empty());
    // One that comes with a context is traced; its flag decides.
    trace::scope(TraceContext::new(7, 8, false), || one.tell(nothing()));
    system.run_until_idle();
    assert!(spans.all().is_empty());
    trace::scope(Some(request()), || one.tell(job(|ctx| ctx.address().tell(nothing()))));
    system.run_until_idle();
    assert_eq!(spans.tree(), "<1>(<1>)");
    let all = spans.all();
    assert!(all.iter().all(|span| span.context.trace_id() == 7));
    assert!(all.iter().any(|span| span.parent == Some(8)));
    system.stop_traces();
    trace::scope(Some(request()), || one.tell(nothing()));
    system.run_until_idle();
    assert_eq!((spans.all().len(), system.trace_figures().spans), (2, 2));
}

#[test]
fn a_message_that_reaches_nobody_ends_its_span_with_the_reason() {
    let (mut system, spans) = traced();
    let one = system.spawn(Runner::<1>);
    // Dead in the mailbox.
    one.tell(job(|ctx| ctx.stop()));
    one.tell(nothing());
    one.send_urgent(job(|ctx| ctx.stop())).unwrap();
    system.run_until_idle();
    assert_eq!(spans.tree(), "<1> <1>!the actor has ended <1>!the actor has ended");
    // Dead before it is there.
    one.tell(nothing());
    assert!(one.send_urgent(nothing()).is_err());
    assert_eq!(spans.all().len(), 5);
    assert!(spans.all()[3..].iter().all(|it| it.error.as_deref() == Some("the actor has ended")));
    // A full mailbox.
    let options = SpawnOptions::new().mailbox(Mailbox::bounded(1));
    let full = system.spawn_with(options, Runner::<2>).unwrap();
    full.send(nothing()).unwrap();
    assert!(full.send(nothing()).is_err());
    let refused = spans.all().pop().unwrap();
    assert_eq!(refused.error.as_deref(), Some("the mailbox is full"));
    assert_eq!((refused.worker, refused.actor), (None, full.id().as_u64()));
    system.run_until_idle();
    assert_eq!(system.trace_figures().failed, 5);
    assert!(system.audit().is_balanced());
}

#[test]
fn a_handler_that_panics_or_fails_ends_its_span_with_that() {
    let (mut system, spans) = traced();
    let restarts = || SpawnOptions::new().supervise(Supervision::restart());
    let one = system.spawn_with(restarts(), || Runner::<1>).unwrap();
    one.tell(job(|_| panic!("no")));
    one.tell(job(|ctx| ctx.fail("not this one")));
    one.tell(nothing());
    system.run_until_idle();
    let errors: Vec<_> = spans.all().into_iter().map(|span| span.error).collect();
    assert!(errors[0].as_deref().unwrap().contains("no"), "{errors:?}");
    assert_eq!(errors[1].as_deref(), Some("its handler failed"));
    assert_eq!(errors[2], None);
    assert_eq!(trace::current(), None, "the worker is part of no trace any more");
}

#[test]
fn named_steps_nest() {
    let (mut system, spans) = traced();
    let one = system.spawn(Runner::<1>);
    let handle = system.handle();
    handle.span("outer", || {
        let handle = system.handle();
        one.tell(job(move |ctx| handle.span("inner", || ctx.address().tell(nothing()))));
    });
    system.run_until_idle();
    assert_eq!(spans.tree(), "outer(<1>(inner(<1>)))");
    drop(handle.begin_span("left", None));
    assert_eq!(spans.all().pop().unwrap().error.as_deref(), Some("dropped before it was done"));
    // Whether it is traced is decided for all that it sends: by its parent's flag, or its own luck.
    let before = spans.all().len();
    let one = system.spawn(Runner::<1>);
    let step = handle.begin_span("not", TraceContext::new(7, 8, false));
    step.scope(|| one.tell(nothing()));
    step.end(None);
    system.sample_traces(0.0);
    handle.span("not", || one.tell(nothing()));
    system.run_until_idle();
    assert_eq!(spans.all().len(), before);
}

#[test]
fn who_sends_to_itself_for_ever_is_not_traced_for_ever() {
    struct Counts;
    impl Actor for Counts {
        type Msg = u32;
        fn handle(&mut self, n: u32, ctx: &mut Context<'_, Self>) {
            if n > 0 {
                ctx.address().tell(n - 1);
            }
        }
    }
    let (mut system, spans) = traced();
    let counts = system.spawn(Counts);
    counts.tell(3_000);
    system.run_until_idle();
    assert_eq!(spans.all().len(), 1_000);
    assert_eq!((system.trace_figures().spans, system.trace_figures().cut), (1_000, 1));
    assert_eq!(system.stats().total().handled, 3_001);
}

#[test]
fn a_bad_traceparent_is_ignored_and_counted() {
    let (system, _) = traced();
    assert_eq!(system.read_traceparent("00-1-2-3"), None);
    assert_eq!(system.read_traceparent(&request().to_string()), Some(request()));
    assert_eq!(system.trace_figures().bad_traceparents, 1);
}

#[test]
fn a_listener_that_panics_or_sends_harms_nobody() {
    let (mut system, spans) = traced();
    let one = system.spawn(Runner::<1>);
    let again = one.clone();
    let once = Mutex::new(true);
    system.on_span(move |_| {
        if std::mem::take(&mut *once.lock().unwrap()) {
            again.tell(nothing());
        }
        panic!("in the listener");
    });
    one.tell(nothing());
    system.run_until_idle();
    // What a listener sends is part of no trace.
    assert_eq!(spans.tree(), "<1>");
    assert!(system.audit().is_balanced());
}

/// Passes a message on, twice, until it has gone far enough.
struct Ring(Vec<Address<Ring>>);

impl Actor for Ring {
    type Msg = (usize, usize);

    fn handle(&mut self, (at, left): (usize, usize), _: &mut Context<'_, Self>) {
        if left > 0 {
            let next = (at * 7 + left) % self.0.len();
            self.0[next].tell((next, left - 1));
            self.0[next].tell((next, 0));
        }
    }
}

#[test]
fn each_message_of_a_request_has_one_span_wherever_it_is_handled() {
    for policy in [Policy::affine(), Policy::pinned(), Policy::pool(), Policy::stealing()] {
        let system = System::builder().workers(3).policy(policy).build().unwrap();
        let spans = Spans::of(&system);
        let last: Vec<_> = (0..9).map(|_| system.spawn(Ring(Vec::new()))).collect();
        let ring = (0..9).map(|_| system.spawn(Ring(last.clone()))).collect();
        let first = system.spawn(Ring(ring));
        system.sample_traces(0.0);
        for n in 0..200 {
            let context = TraceContext::new(n as u128 + 1, 1, n % 10 == 0);
            trace::scope(context, || first.tell((n, 2)));
        }
        system.wait_idle(Duration::from_secs(60)).unwrap();
        let mut by_trace = BTreeMap::<u128, Vec<Span>>::new();
        for span in spans.all() {
            by_trace.entry(span.context.trace_id()).or_default().push(span);
        }
        assert_eq!(by_trace.len(), 20, "{policy:?}");
        for spans in by_trace.values() {
            let ids: BTreeSet<_> = spans.iter().map(|it| it.context.span_id()).collect();
            assert_eq!((spans.len(), ids.len()), (5, 5), "{policy:?}");
            assert_eq!(spans.iter().filter(|it| it.parent == Some(1)).count(), 1);
            let has_parent = |it: &Span| it.parent.is_some_and(|id| id == 1 || ids.contains(&id));
            assert!(spans.iter().all(has_parent));
            assert!(spans.iter().all(|it| it.sent_ns <= it.begin_ns && it.begin_ns <= it.end_ns));
            assert!(spans.iter().all(|it| it.error.is_none() && it.worker.is_some()));
        }
        // The countdown to the next sample, by which traced sends are found, counts right.
        let total = system.stats().total();
        assert_eq!((total.sent, total.handled), (1_000, 1_000), "{policy:?}");
        system.shutdown(Shutdown::Drain);
    }
}
