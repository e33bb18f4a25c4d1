//! An output that feeds an actor.

use crate::cause::Cause;
use crate::completion::Completion;
use crate::event::Event;
use crate::module::AsyncAnalyzer;
use crate::product::{Input, Product};
use actinium_actor::{Recipient, SendError};
use actinium_scheduler::trace::follow;
use std::fmt;

/// Sends an actor a message about each event: an analyzer or output that waits, without holding a
/// worker, while the actor's bounded mailbox is full, or too much waits for its node. So an actor
/// that does not keep up slows the graph down. If the actor has ended, or its node is down, the
/// event fails.
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
pub struct Tell<T, M, F> {
    input: Input<T>,
    to: Recipient<M>,
    message: F,
}

impl<T, M: Send + 'static, F> Tell<T, M, F> {
    /// `message` makes the message of the event and one of its products. `to` is a [`Recipient`],
    /// or what becomes one: an address of this process, for example, or of another node.
    pub fn new(input: Input<T>, to: impl Into<Recipient<M>>, message: F) -> Self
    where
        F: Fn(&Event<'_>, &T) -> M,
    {
        Tell { input, to: to.into(), message }
    }
}

impl<T, M, F> AsyncAnalyzer for Tell<T, M, F>
where
    T: Product,
    M: Send + 'static,
    F: Fn(&Event<'_>, &T) -> M + Send + Sync + 'static,
{
    fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
        let message = (self.message)(event, &event.get(self.input));
        match self.to.try_send(message) {
            Ok(()) => done.finish(Ok(())),
            Err(SendError::Full(message)) => {
                let to = self.to.clone();
                let sent =
                    follow(async move { to.send_async(message).await.map_err(|it| not(&to, &it)) });
                done.run(sent);
            }
            Err(error) => done.finish(Err(not(&self.to, &error))),
        }
        Ok(())
    }
}

fn not<M>(to: &Recipient<M>, error: &SendError<M>) -> Cause {
    format!("{to:?} was not told: {error}").into()
}

impl<T, M, F> fmt::Debug for Tell<T, M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tell({:?})", self.to)
    }
}
