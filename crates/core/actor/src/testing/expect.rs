//! What a test expects of its actors' lives, and of the messages that reached nobody.

use super::system::TestSystem;
use crate::actor_core::Core;
use crate::handle::at::{At, Handle};
use crate::stop_reason::StopReason;
use std::fmt::Write;

/// Expectations run the system until nobody is ready, without moving time; then they look.
impl TestSystem {
    /// There have been no dead letters.
    ///
    /// # Panics
    /// If there were some: it names the latest.
    #[track_caller]
    pub fn expect_no_dead_letters(&self) {
        self.expect_dead_letters(0);
    }

    /// There have been so many dead letters since the system began.
    ///
    /// # Panics
    /// If there were more, or fewer: it names the latest.
    #[track_caller]
    pub fn expect_dead_letters(&self, count: u64) {
        self.driver().run();
        let dead = self.audit().dead;
        if dead == count {
            return;
        }
        let mut but = format!("there were {dead}");
        for letter in self.dead_letters().iter().rev().take(5) {
            let _ = write!(but, "; {letter}");
        }
        self.fail(&format!("{count} dead letters"), &but);
    }

    /// The actor has been restarted so many times, and lives.
    ///
    /// ```
    /// # use actinium_actor::testing::TestSystem;
    /// # use actinium_actor::{Actor, Context, SpawnOptions, Supervision};
    /// struct Parser;
    /// impl Actor for Parser {
    ///     type Msg = &'static str;
    ///     fn handle(&mut self, text: &'static str, _ctx: &mut Context<'_, Self>) {
    ///         text.parse::<u32>().expect("a number");
    ///     }
    /// }
    /// let sys = TestSystem::seeded(1);
    /// let options = SpawnOptions::new().supervise(Supervision::restart());
    /// let parser = sys.spawn_with(options, || Parser)?;
    /// parser.tell("7");
    /// parser.tell("seven");
    /// sys.expect_restarts(&parser, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If it was restarted more often, or less, or has ended.
    #[track_caller]
    pub fn expect_restarts<H: Handle + ?Sized>(&self, actor: &H, count: u64) {
        self.driver().run();
        let actor = self.actor(actor);
        let restarts = self.restarts(actor);
        if let Some(reason) = ended(actor) {
            let but = format!("after {restarts} it ended: {reason}");
            self.fail_of(actor, &format!("{count} restarts"), &but);
        }
        if restarts != count {
            self.fail_of(actor, &format!("{count} restarts"), &format!("there were {restarts}"));
        }
    }

    /// The actor has not ended.
    ///
    /// # Panics
    /// If it has: it says why.
    #[track_caller]
    pub fn expect_running<H: Handle + ?Sized>(&self, actor: &H) {
        self.driver().run();
        let actor = self.actor(actor);
        if let Some(reason) = ended(actor) {
            self.fail_of(actor, "to live", &format!("it ended: {reason}"));
        }
    }

    /// The actor has ended, for a reason for which `holds` is true. Returns the reason.
    ///
    /// ```
    /// # use actinium_actor::testing::TestSystem;
    /// # use actinium_actor::{Actor, Context, StopReason};
    /// # struct Worker;
    /// # impl Actor for Worker {
    /// #     type Msg = ();
    /// #     fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
    /// # }
    /// let sys = TestSystem::seeded(1);
    /// let worker = sys.spawn(Worker);
    /// worker.stop();
    /// sys.expect_stopped(&worker, |reason| *reason == StopReason::Requested);
    /// ```
    ///
    /// # Panics
    /// If it lives, or has ended for another reason.
    #[track_caller]
    pub fn expect_stopped<H: Handle + ?Sized>(
        &self,
        actor: &H,
        holds: impl FnOnce(&StopReason) -> bool,
    ) -> StopReason {
        self.driver().run();
        let actor = self.actor(actor);
        let Some(reason) = ended(actor) else {
            let but = format!("it lives, after {} restarts", self.restarts(actor));
            self.fail_of(actor, "to have ended", &but)
        };
        if !holds(&reason) {
            let expected = "to have ended for a reason for which the condition holds";
            self.fail_of(actor, expected, &format!("it ended: {reason}"));
        }
        reason
    }

    #[track_caller]
    fn actor<'h, H: Handle + ?Sized>(&self, actor: &'h H) -> &'h Core {
        match actor.place().0 {
            At::Here(core) if std::sync::Arc::ptr_eq(&core.system, &self.inner) => core,
            at => self.fail("an actor of this system", &format!("{} is of another", at.id())),
        }
    }

    fn restarts(&self, actor: &Core) -> u64 {
        self.inner.restarts.of(actor.id)
    }

    #[track_caller]
    fn fail_of(&self, actor: &Core, expected: &str, but: &str) -> ! {
        self.fail(&format!("{} ({}): {expected}", actor.id, actor.kind()), but)
    }

    #[track_caller]
    fn fail(&self, expected: &str, but: &str) -> ! {
        panic!("expected {expected}, but {but} ({})", self.driver().place())
    }
}

/// Why it has ended, if it has.
fn ended(actor: &Core) -> Option<StopReason> {
    actor.controls().ended()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Address, Context, SpawnOptions, Supervision};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Fails at messages above 9.
    struct Digit;

    impl Actor for Digit {
        type Msg = u32;

        fn handle(&mut self, n: u32, _: &mut Context<'_, Self>) {
            assert!(n < 10, "{n} is no digit");
        }
    }

    fn failure(what: impl FnOnce()) -> String {
        let payload = catch_unwind(AssertUnwindSafe(what)).expect_err("it should have panicked");
        *payload.downcast::<String>().expect("a message")
    }

    fn digit_of(sys: &TestSystem) -> Address<Digit> {
        let supervision = Supervision::restart().limit(2, std::time::Duration::from_secs(1));
        sys.spawn_with(SpawnOptions::new().supervise(supervision), || Digit).unwrap()
    }

    #[test]
    fn restarts_and_ends_are_expected_of_each_actor_by_itself() {
        let sys = TestSystem::seeded(3);
        let [one, other] = [digit_of(&sys), digit_of(&sys)];
        one.tell(1);
        one.tell(10);
        one.tell(11);
        other.tell(2);
        sys.expect_restarts(&one, 2);
        sys.expect_restarts(&other, 0);
        sys.expect_running(&one);
        let text = failure(|| sys.expect_restarts(&other, 1));
        assert!(
            text.contains("actor 2 (") && text.contains("Digit): 1 restarts, but there were 0")
        );
        assert!(text.contains("(seed 3, "), "{text}");
        let text = failure(|| _ = sys.expect_stopped(&one, |_| true));
        assert!(text.contains("to have ended, but it lives, after 2 restarts"), "{text}");
        one.tell(12);
        sys.expect_stopped(&one, |reason| reason.to_string().contains("12 is no digit"));
        let text = failure(|| _ = sys.expect_stopped(&one, |_| false));
        assert!(text.contains("for a reason for which the condition holds, but it ended: "));
        assert!(failure(|| sys.expect_running(&one)).contains("12 is no digit"));
        let text = failure(|| sys.expect_restarts(&one, 2));
        assert!(text.contains("2 restarts, but after 2 it ended: "), "{text}");
    }

    #[test]
    fn dead_letters_are_expected_by_their_number_and_named() {
        let sys = TestSystem::seeded(3);
        let digit = digit_of(&sys);
        sys.expect_no_dead_letters();
        digit.stop();
        sys.expect_stopped(&digit, |reason| *reason == StopReason::Requested);
        digit.tell(1);
        sys.expect_dead_letters(1);
        let text = failure(|| sys.expect_no_dead_letters());
        assert!(text.starts_with("expected 0 dead letters, but there were 1; 1 x u32 for actor 1"));
        let elsewhere = TestSystem::seeded(3).spawn(Digit);
        let text = failure(|| sys.expect_running(&elsewhere));
        assert!(text.starts_with("expected an actor of this system, but actor 1 is of another"));
    }
}
