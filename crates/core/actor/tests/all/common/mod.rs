//! A small language for stories about actors.

use actinium_actor::testing::TestSystem;
use actinium_actor::{Actor, Bind, Context, Policy, System};
use std::sync::Once;

type Handler<M> = Box<dyn FnMut(M, &mut Context<'_, Does<M>>) + Send>;

/// An actor made of a closure.
pub(crate) struct Does<M: Send + 'static>(Handler<M>);

/// An actor that does this with each message.
pub(crate) fn does<M: Send + 'static>(
    handle: impl FnMut(M, &mut Context<'_, Does<M>>) + Send + 'static,
) -> Does<M> {
    Does(Box::new(handle))
}

impl<M: Send + 'static> Does<M> {
    /// Handles a message for another one.
    pub(crate) fn handle_as(&mut self, msg: M, ctx: &mut Context<'_, Self>) {
        (self.0)(msg, ctx);
    }
}

impl<M: Send + 'static> Actor for Does<M> {
    type Msg = M;

    fn handle(&mut self, msg: M, ctx: &mut Context<'_, Self>) {
        (self.0)(msg, ctx);
    }
}

/// A real system.
pub(crate) fn system(policy: Policy, workers: usize) -> System {
    System::builder().policy(policy).workers(workers).bind(Bind::None).build().expect("a system")
}

/// A test system for each of twenty seeds; the policies and the sizes of batches take turns.
pub(crate) fn test_systems() -> impl Iterator<Item = TestSystem> {
    (0..20).map(|seed| {
        let policy = Policy::ALL[seed as usize % Policy::ALL.len()];
        TestSystem::builder().seed(seed).batch(1 + seed as u32 % 3).policy(policy).build()
    })
}

/// What actors panic with here; such panics are not printed.
pub(crate) const ON_PURPOSE: &str = "on purpose";

/// Keeps panics on purpose off the test's output.
pub(crate) fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let owned = payload.downcast_ref::<String>().map(String::as_str);
            let message = owned.or_else(|| payload.downcast_ref::<&str>().copied());
            // What has no message is thrown on purpose, too.
            if message.is_some_and(|message| message != ON_PURPOSE) {
                usual(info);
            }
        }));
    });
}
