//! An output that feeds an actor.

use crate::cause::Cause;
use crate::completion::Completion;
use crate::event::Event;
use crate::module::AsyncAnalyzer;
use crate::product::{Input, Product};
use actinium_actor::{Actor, Address, SendError};
use std::fmt;

/// Sends an actor a message about each event: an analyzer or output that waits, without holding a
/// worker, while the actor's bounded mailbox is full. So an actor that does not keep up slows the
/// graph down. If the actor has ended, the event fails.
///
/// ```
/// use actinium_actor::{Actor, Context, Mailbox, SpawnOptions, System};
/// use actinium_events::{Builder, Cause, Next, Processor, Settings, Source, Tell, Threads};
/// # struct Numbers;
/// # impl Source for Numbers {
/// #     type Product = u64;
/// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
/// #         Ok(if number < 100 { Next::Event(number) } else { Next::End })
/// #     }
/// # }
///
/// struct Sum(u64);
///
/// impl Actor for Sum {
///     type Msg = u64;
///     fn handle(&mut self, n: u64, _ctx: &mut Context<'_, Self>) {
///         self.0 += n;
///     }
/// }
///
/// let system = System::builder().workers(1).build()?;
/// let sum = system.spawn_with(SpawnOptions::new().mailbox(Mailbox::bounded(4)), || Sum(0))?;
/// let mut builder = Builder::new("numbers", Numbers);
/// builder.async_output("tell", Threads::Concurrent, move |inputs| {
///     Tell::new(inputs.get("numbers"), &sum, |_event, number: &u64| *number)
/// });
/// let settings = Settings::default().slots(16);
/// let summary = Processor::new(builder.build()?, settings).run_on(&system)?;
/// assert_eq!((summary.events, summary.failed), (100, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tell<T, A: Actor, F> {
    input: Input<T>,
    to: Address<A>,
    message: F,
}

impl<T, A: Actor, F> Tell<T, A, F> {
    /// `message` makes the actor's message of the event and one of its products.
    pub fn new(input: Input<T>, to: &Address<A>, message: F) -> Self
    where
        F: Fn(&Event<'_>, &T) -> A::Msg,
    {
        Tell { input, to: to.clone(), message }
    }
}

impl<T, A, F> AsyncAnalyzer for Tell<T, A, F>
where
    T: Product,
    A: Actor<Msg: Sync>,
    F: Fn(&Event<'_>, &T) -> A::Msg + Send + Sync + 'static,
{
    fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
        let message = (self.message)(event, &event.get(self.input));
        match self.to.try_send(message) {
            Ok(()) => done.finish(Ok(())),
            Err(SendError::Full(message)) => {
                let to = self.to.clone();
                done.run(async move { to.send_async(message).await.map_err(|_| ended(&to)) });
            }
            Err(_) => done.finish(Err(ended(&self.to))),
        }
        Ok(())
    }
}

fn ended<A: Actor>(to: &Address<A>) -> Cause {
    format!("{} ({}) has ended", to.id(), std::any::type_name::<A>()).into()
}

impl<T, A: Actor, F> fmt::Debug for Tell<T, A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tell({:?})", self.to)
    }
}
