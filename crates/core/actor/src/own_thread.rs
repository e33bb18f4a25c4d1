//! Values that live on a thread of their own, for libraries that demand one: contexts that are
//! bound to their thread, and calls that block for long.
//!
//! The actor that owns such a value stays an actor like any other: it runs on the workers, and
//! holds while its value is at work. So its mailbox, its supervision, its names, the ledger and the
//! end of the system are as ever.

use crate::actor::{Actor, Context};
use crate::actor_core::CoreRef;
use crate::offload::Running;
use crate::state::offloads::Work;
use actinium_scheduler::guard::{self, Guarded};
use futures_channel::oneshot;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

// tidy: guard: it catches the panics of what it calls, and holds it guarded.
type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A value on a thread of its own: see [`Context::own_thread`].
///
/// The value was made on that thread, is used there only ([`Context::hold_on`]) and dropped there,
/// when this is dropped and what was begun is done. Nobody waits for that. It need not be `Send`.
pub struct OwnThread<T: 'static> {
    jobs: Sender<Job<T>>,
}

impl<A: Actor> Context<'_, A> {
    /// Starts a thread with this name, and makes a value there; this actor holds until that is done
    /// ([`Context::hold`]). A panic of `make` is this actor's failure.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, OwnThread, Reply, Shutdown, System};
    /// use std::rc::Rc;
    ///
    /// /// Bound to the thread that made it, as some graphics libraries are.
    /// struct Canvas(Rc<std::cell::Cell<u32>>);
    ///
    /// struct Painter { canvas: Option<OwnThread<Canvas>> }
    ///
    /// impl Actor for Painter {
    ///     type Msg = (u32, Reply<u32>);
    ///
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         self.canvas = ctx.own_thread("canvas", || Canvas(Rc::default())).ok();
    ///     }
    ///
    ///     fn handle(&mut self, (color, reply): Self::Msg, ctx: &mut Context<'_, Self>) {
    ///         let Some(canvas) = &self.canvas else { return };
    ///         let paint = move |canvas: &mut Canvas| {
    ///             canvas.0.set(canvas.0.get() + color);
    ///             canvas.0.get()
    ///         };
    ///         ctx.hold_on(canvas, paint, |_this, painted, _ctx| drop(reply.send(painted)));
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let painter = system.spawn(Painter { canvas: None });
    /// assert_eq!(painter.ask(|reply| (3, reply)).wait()?, 3);
    /// assert_eq!(painter.ask(|reply| (4, reply)).wait()?, 7);
    /// # system.shutdown(Shutdown::Drain);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system can not start a thread, or the name holds a NUL.
    pub fn own_thread<T: 'static>(
        &self,
        name: impl Into<String>,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<OwnThread<T>> {
        let name = name.into();
        if name.contains('\0') {
            let error = format!("the name of a thread can not hold a NUL: {name:?}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let (jobs, received) = channel();
        let (me, make) = (CoreRef::new(self.core()), Guarded::new(make));
        let (told, is_made) = oneshot::channel();
        let running = Running::begin(self.core().system.clone(), Work::Closure);
        let live = move || {
            let mut value = None;
            running.run(|| {
                let made = guard::catch(make.into_inner()).map(|made| value = Some(made));
                // One that has ended needs no telling.
                let _ = told.send(made);
            });
            // Without a value nobody takes jobs: who sends one hears so.
            value.into_iter().for_each(|value| serve(value, &received, &me));
        };
        // It ends by itself.
        thread::Builder::new().name(name).spawn(live)?;
        self.hold_for_answer(is_made, |_, (), _| ());
        Ok(OwnThread { jobs })
    }

    /// Holds, as [`Context::hold`] does, for a closure that runs on a value's own thread, after
    /// those that were sent there before. A panic of it is this actor's failure.
    ///
    /// Like [`Context::hold_blocking`], it runs on when the actor ends meanwhile, is not run if it
    /// has not begun by then, and `Shutdown::Drain` waits for it.
    pub fn hold_on<T, R: Send + 'static>(
        &self,
        thread: &OwnThread<T>,
        closure: impl FnOnce(&mut T) -> R + Send + 'static,
        then: impl FnOnce(&mut A, R, &mut Context<'_, A>) + Send + 'static,
    ) {
        let (sender, result) = oneshot::channel();
        let running = Running::begin(self.core().system.clone(), Work::Closure);
        let closure = Guarded::new(closure);
        let job = move |value: &mut T| {
            running.run(|| {
                if sender.is_canceled() {
                    return;
                }
                let called = guard::catch(|| closure.into_inner()(value));
                if let Err(unwanted) = sender.send(called) {
                    guard::drop_guarded(unwanted);
                }
            });
        };
        // What no thread takes is dropped here, and so answers.
        let _ = thread.jobs.send(Box::new(job));
        self.hold_for_answer(result, then);
    }
}

/// Does what comes for a value, until nobody sends any more.
fn serve<T>(mut value: T, jobs: &Receiver<Job<T>>, owner: &CoreRef) {
    jobs.iter().for_each(|job| job(&mut value));
    if guard::drop_caught(value).is_err() {
        owner.system.count_panic();
    }
}

impl<T> fmt::Debug for OwnThread<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnThread({})", std::any::type_name::<T>())
    }
}
