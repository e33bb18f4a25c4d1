//! A system inside a tokio program: it shares the machine, and blocks no thread of tokio's.

use actinium::runtime::{self as program, Part};
use actinium::topology::Topology;
use actinium::{Actor, BuildError, Context, Reply, Shutdown, System};
use std::error::Error;
use std::future::Future;
use std::process::Command;
use std::sync::{Mutex, mpsc};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// A runtime with so many worker threads; 0: only this thread.
fn runtime(threads: usize) -> Runtime {
    let mut builder = match threads {
        0 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.worker_threads(threads.max(1)).enable_all().build().expect("a runtime")
}

/// Runs it on both kinds of runtimes.
fn on_both<F: Future<Output = Result<(), Box<dyn Error>>>>(test: impl Fn() -> F) {
    for threads in [0, 2] {
        runtime(threads).block_on(test()).expect("it succeeds");
    }
}

/// Runs closures that it is sent.
struct Does;

type Job = Box<dyn FnOnce(&Context<'_, Does>) + Send>;

impl Actor for Does {
    type Msg = Job;

    fn handle(&mut self, job: Job, ctx: &mut Context<'_, Self>) {
        job(ctx);
    }
}

fn job(job: impl FnOnce(&Context<'_, Does>) + Send + 'static) -> Job {
    Box::new(job)
}

#[test]
fn workers_take_what_tokio_leaves_and_one_at_least() {
    let machine = Topology::synthetic("package:1 numa:1 core:8 pu:1").expect("a machine");
    let shared = || System::builder().topology(machine.clone()).share_with_tokio();
    for (threads, workers) in [(0, 7), (3, 5), (8, 1), (9, 1)] {
        let runtime = runtime(threads);
        let _inside = runtime.enter();
        let system = shared().build().expect("a system");
        assert_eq!(system.workers(), workers, "{threads} threads");
        assert!(system.pus().iter().all(Option::is_none));
        assert_eq!(shared().workers(2).build().expect("a system").workers(), 2);
    }
    let unbound =
        runtime(2).block_on(async { System::builder().workers(1).share_with_tokio().build() });
    assert_eq!(unbound.expect("a system").pus(), [None]);
    let error = shared().build().expect_err("there is no runtime");
    assert!(matches!(error, BuildError::Setting { name: "share_with_tokio", .. }), "{error}");
    assert!(error.to_string().contains("only inside a tokio runtime"), "{error}");
}

#[test]
fn asks_are_awaited_and_futures_of_actors_use_sockets_and_timers() {
    on_both(|| async {
        let system = System::builder().workers(2).share_with_tokio().build()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await?;
            let mut name = [0; 3];
            stream.read_exact(&mut name).await?;
            stream.write_all(b"hello ").await?;
            stream.write_all(&name).await
        });
        let talk = async move {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(b"Ada").await?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await?;
            Ok::<_, std::io::Error>(text)
        };
        let actor = system.spawn(Does);
        let piped = actor.ask(|reply: Reply<String>| {
            job(move |ctx| {
                ctx.pipe(talk, |text| job(move |_| _ = reply.send(text.expect("an answer"))));
            })
        });
        assert_eq!(piped.await?, "hello Ada");
        server.await??;
        let held = actor.ask(|reply: Reply<bool>| {
            job(move |ctx| {
                let late =
                    tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>());
                ctx.hold(async { late.await.is_err() }, |_, late, _| _ = reply.send(late));
            })
        });
        assert!(held.await?);
        let report = system.shutdown_async(Shutdown::Drain).await;
        assert_eq!((report.dropped, report.dead), (0, 0));
        Ok(())
    });
}

/// An actor whose handler goes on when the sender sends, or is gone; and what says that it did.
fn held_up(system: &System) -> (mpsc::Sender<()>, mpsc::Receiver<()>) {
    let ((go, wait), (end, ended)) = (mpsc::channel::<()>(), mpsc::channel());
    let (begin, begun) = mpsc::channel();
    let actor = system.spawn(Does);
    actor.tell(job(move |_| {
        let _ = begin.send(());
        let _ = wait.recv();
        let _ = end.send(());
    }));
    begun.recv().expect("it runs");
    (go, ended)
}

#[test]
fn neither_a_shutdown_nor_a_drop_blocks_the_only_thread_of_a_runtime() {
    runtime(0).block_on(async {
        let system = System::builder().workers(1).share_with_tokio().build().expect("a system");
        let (go, ended) = held_up(&system);
        let down = system.shutdown_async(Shutdown::Drain);
        let goes = async move {
            tokio::task::yield_now().await;
            go.send(()).expect("the handler waits");
        };
        let (report, ()) = tokio::join!(down, goes);
        assert_eq!((report.handled, report.dropped), (1, 0));
        ended.recv().expect("the handler has ended");

        let system = System::builder().workers(1).share_with_tokio().build().expect("a system");
        let (go, ended) = held_up(&system);
        let stopped = system.stopped();
        drop(system);
        go.send(()).expect("the handler waits still");
        ended.recv().expect("the handler has ended");
        stopped.await;
    });
}

/// A part that ends when the sender sends, or is gone.
struct Slow(Mutex<mpsc::Receiver<()>>);

impl Part for Slow {
    fn stop(&self) {}

    fn wait(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.0.lock().expect("nobody panics with it").recv()?)
    }
}

#[test]
fn nor_does_the_end_of_a_whole_program() {
    runtime(0).block_on(async {
        let program = || {
            let (go, wait) = mpsc::channel();
            let system = System::builder().workers(1).share_with_tokio().build().expect("a system");
            (go, program::Runtime::new(system).source("slow", Slow(Mutex::new(wait))))
        };
        let (go, whole) = program();
        whole.stop();
        let down = whole.run_until_signal(Duration::from_secs(3600));
        let goes = async move {
            tokio::task::yield_now().await;
            go.send(()).expect("the part waits");
        };
        let (report, ()) = tokio::join!(down, goes);
        let report = report.expect("it listens to signals");
        assert!(report.is_clean() && report.parts.len() == 1, "{report}");

        let (go, whole) = program();
        let stopped = whole.stopped();
        drop(whole);
        go.send(()).expect("the part waits still");
        stopped.await;
    });
}

#[test]
fn who_waits_for_a_stop_hears_of_it_whenever_it_comes() {
    on_both(|| async {
        let system = System::builder().workers(1).build()?;
        let (early, given_up) = (system.stopped(), system.stopped());
        drop(given_up);
        let handle = system.handle();
        system.spawn(Does).tell(job(move |_| handle.stop()));
        early.await;
        system.stopped().await;
        let handle = system.handle();
        system.shutdown_async(Shutdown::Drop).await;
        handle.stopped().await;
        Ok(())
    });
}

/// It never comes to rest.
struct Restless;

impl Actor for Restless {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        ctx.address().tell(());
    }
}

#[test]
#[cfg(unix)]
fn a_signal_stops_a_system_and_a_second_one_cuts_its_drain_short() {
    let terminate = || {
        let pid = std::process::id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    };
    runtime(0).block_on(async {
        let system = System::builder().workers(1).build().expect("a system");
        // It listens at once, and so keeps the process from the signal's own effect.
        let listening = system.stop_on_signals().expect("it listens");
        system.spawn(Restless).tell(());
        let handle = system.handle();
        terminate();
        system.stopped().await;
        let down = system.shutdown_async(Shutdown::Drain);
        terminate();
        let report = down.await;
        assert_eq!(report.dropped, 1, "{report:?}");
        assert!(handle.stop_on_signals().is_ok(), "a system that has ended may listen, too");
        drop(listening);

        // What `run_until_signal` adds: whoever stops it, it reports.
        let system = System::builder().workers(1).build().expect("a system");
        system.handle().stop();
        let report = system.run_until_signal(Duration::from_secs(3600)).await.expect("a report");
        assert_eq!(report.unfinished, None);
        let system = System::builder().workers(1).build().expect("a system");
        system.stop();
        let report = system.wait_for_signal(Duration::from_secs(3600)).expect("a report");
        assert_eq!(report.unfinished, None);
    });
}
