//! What the runtime logs reaches the program's hook, and its subscriber of `tracing`.

use actinium::logging;
use actinium::prelude::*;
use actinium::testing::TestSystem;
use std::sync::{Arc, Mutex};

struct Disk;

impl TryActor for Disk {
    type Msg = bool;
    type Error = std::io::Error;

    fn try_handle(&mut self, panics: bool, _: &mut Context<'_, Self>) -> Result<(), Self::Error> {
        assert!(!panics, "in the handler");
        Err(std::io::Error::other("no block is free"))
    }
}

/// One actor fails, and leaves a message to nobody, which a listener panics at; another one panics
/// and is restarted.
fn fail() {
    let mut sys = TestSystem::seeded(1);
    sys.on_dead_letter(|_| panic!("in the listener"));
    let ends = sys.spawn(Disk);
    ends.tell(false);
    ends.tell(false);
    let options = SpawnOptions::new().supervise(Supervision::restart());
    sys.spawn_with(options, || Disk).expect("it starts").tell(true);
    sys.run_until_idle();
}

type Lines = Arc<Mutex<Vec<String>>>;

#[track_caller]
fn check(lines: &Lines) {
    let lines = std::mem::take(&mut *lines.lock().unwrap());
    for (level, text) in [
        ("error", "failed: no block is free; it ends"),
        ("warn", "panicked: in the handler; it is restarted"),
        ("error", "a listener to dead letters panicked at: 1 x bool for actor"),
    ] {
        let said = lines.iter().filter(|line| line.starts_with(level) && line.contains(text));
        assert_eq!(said.count(), 1, "{level} {text:?} in {lines:#?}");
    }
}

/// Hook and subscriber are the process's, and other tests' actors fail meanwhile: theirs are not
/// looked at.
#[test]
fn failures_reach_the_hook_and_then_the_subscriber() {
    let lines: Lines = Arc::default();
    let to = lines.clone();
    logging::set_hook(move |record| {
        let fields: Vec<_> =
            record.fields().iter().map(|(name, it)| format!("{name}={it}")).collect();
        if let [actor, kind] = &fields[..]
            && actor.starts_with("actor=")
            && kind.starts_with("actor_type=")
            && kind.ends_with("logging::Disk")
        {
            let level = format!("{:?}", record.level()).to_lowercase();
            to.lock().unwrap().push(format!("{level} {}", record.message()));
        }
    });
    fail();
    check(&lines);
    logging::remove_hook();
    fail();
    assert!(lines.lock().unwrap().is_empty(), "the hook is gone");
    #[cfg(feature = "tracing")]
    {
        tracing::subscriber::with_default(events::Kept(lines.clone()), fail);
        check(&lines);
    }
}

#[cfg(feature = "tracing")]
mod events {
    use super::Lines;
    use std::fmt::Debug;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    /// Keeps the events of the runtime that name an actor of this file.
    pub(super) struct Kept(pub(super) Lines);

    #[derive(Default)]
    struct Seen {
        actor: Option<u64>,
        actor_type: Option<String>,
        message: String,
    }

    impl Visit for Seen {
        fn record_u64(&mut self, field: &Field, value: u64) {
            assert_eq!(field.name(), "actor");
            self.actor = Some(value);
        }

        fn record_str(&mut self, field: &Field, value: &str) {
            assert_eq!(field.name(), "actor_type");
            self.actor_type = Some(value.to_owned());
        }

        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            assert_eq!(field.name(), "message");
            self.message = format!("{value:?}");
        }
    }

    impl Subscriber for Kept {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target().starts_with("actinium_actor")
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut seen = Seen::default();
            event.record(&mut seen);
            let is_ours = seen.actor_type.is_some_and(|it| it.ends_with("logging::Disk"));
            if is_ours && seen.actor.is_some() {
                let level = event.metadata().level().to_string().to_lowercase();
                self.0.lock().unwrap().push(format!("{level} {}", seen.message));
            }
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }
}
