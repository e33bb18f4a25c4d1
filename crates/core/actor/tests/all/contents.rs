//! What messages contain is seen while somebody looks, of types that opted in.

use actinium_actor::{Actor, Contents, Context, Measure, ShowMessage, System, actor};
use std::error::Error;
use std::fmt;
use std::time::Duration;

type Outcome = Result<(), Box<dyn Error>>;

const LONG: Duration = Duration::from_secs(60);
/// More than there are sends between two samples, by far.
const MANY: usize = 2_000;

/// Its text panics.
struct Bomb;

impl fmt::Debug for Bomb {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("as it must")
    }
}

#[derive(Default)]
struct Open {
    handled: usize,
}

#[actor(debug)]
impl Open {
    fn add(&mut self, n: u64, r#type: &'static str) {
        self.handled += (n > 0 && !r#type.is_empty()) as usize;
    }

    fn keep(&mut self, bytes: Vec<u8>) {
        self.handled += (!bytes.is_empty()) as usize;
    }

    fn blow(&mut self, _bomb: Bomb) {
        self.handled += 1;
    }

    fn large(&mut self, _page: [u64; 1_000]) {
        self.handled += 1;
    }

    fn handled(&self) -> usize {
        self.handled
    }
}

struct Generic<T>(Option<T>);

#[actor(debug, msg = GenericMessage)]
impl<T: fmt::Debug + Send + 'static> Generic<T> {
    fn set(&mut self, value: T) {
        self.0 = Some(value);
    }
}

struct Closed;

#[actor]
impl Closed {
    fn add(&mut self, _secret: &'static str) {}
}

/// Shows a part.
struct Door;

impl Actor for Door {
    type Msg = (&'static str, &'static str);
    const SHOW_MESSAGE: Option<ShowMessage<Self::Msg>> = Some(|(user, _), f| f.write_str(user));

    fn handle(&mut self, _: Self::Msg, _: &mut Context<'_, Self>) {}
}

/// What is seen of an actor that is sent many messages.
fn seen<A: Actor>(
    system: &System,
    actor: A,
    measure: impl Fn(Measure) -> Measure,
    send: impl Fn(&actinium_actor::Address<A>),
) -> Result<Vec<Contents>, Box<dyn Error>> {
    let actor = system.spawn(actor);
    let _measuring = system.measure(&measure(Measure::new().every_turn().actors([actor.id()])));
    // A worker begins with its next round, and shows a round's messages when it has ended.
    for _ in 0..4 {
        (0..MANY).for_each(|_| send(&actor));
        system.wait_idle(LONG)?;
    }
    let found = system.measured().actors.into_iter().find(|it| it.actor == actor.id());
    let found = found.ok_or("no figures")?;
    assert!(found.figures.handled > 0);
    Ok(found.contents)
}

fn system() -> Result<System, Box<dyn Error>> {
    Ok(System::builder().workers(1).build()?)
}

#[test]
fn a_type_that_opted_in_is_seen() -> Outcome {
    let system = system()?;
    let shown = seen(&system, Open::default(), Measure::contents, |it| it.add(7, "x"))?;
    let last = shown.last().ok_or("nothing is seen")?;
    assert_eq!((last.name, &*last.text), ("add", "add { n: 7, type: \"x\" }"));
    assert!(shown.len() <= 20 && shown.is_sorted_by_key(|it| it.at_ns), "{shown:?}");
    let door = seen(&system, Door, Measure::contents, |it| it.tell(("Ann", "secret")))?;
    assert!(door.iter().all(|it| (it.name, &*it.text) == ("", "Ann")) && !door.is_empty());
    let set = seen(&system, Generic(None), Measure::contents, |it| it.set("x"))?;
    assert_eq!(set.last().map(|it| &*it.text), Some("set { value: \"x\" }"));
    Ok(())
}

#[test]
fn others_are_not_seen_and_nobody_is_unless_somebody_asks() -> Outcome {
    let system = system()?;
    assert_eq!(seen(&system, Closed, Measure::contents, |it| it.add("secret"))?, []);
    let add = |it: &actinium_actor::Address<Open>| it.add(7, "x");
    assert_eq!(seen(&system, Open::default(), |measure| measure, add)?, []);
    assert!(!seen(&system, Open::default(), Measure::contents, add)?.is_empty());
    let left = system.measured().actors;
    assert!(left.iter().all(|it| it.contents.is_empty()), "they are forgotten: {left:?}");
    Ok(())
}

#[test]
fn a_long_text_is_cut_and_one_that_panics_is_noted() -> Outcome {
    let system = system()?;
    let long = seen(&system, Open::default(), Measure::contents, |it| it.keep(vec![1; 10_000]))?;
    let last = long.last().ok_or("nothing is seen")?;
    assert!(last.text.len() < 210 && last.text.ends_with('…'), "{last:?}");
    let large = seen(&system, Open::default(), Measure::contents, |it| it.large([3; 1_000]))?;
    assert!(
        large.last().is_some_and(|it| it.text.starts_with("large { _page: [3, 3")),
        "{large:?}"
    );

    let open = system.spawn(Open::default());
    let measure = Measure::new().every_turn().actors([open.id()]).contents();
    let _measuring = system.measure(&measure);
    (0..MANY).for_each(|_| open.blow(Bomb));
    system.wait_idle(LONG)?;
    (0..MANY).for_each(|_| open.blow(Bomb));
    assert_eq!(open.handled().wait()?, 2 * MANY, "the actor goes on");
    system.wait_idle(LONG)?;
    let found = system.measured().actors.into_iter().find(|it| it.actor == open.id());
    let last = found.and_then(|it| it.contents.into_iter().rfind(|it| it.name == "blow"));
    let text = last.ok_or("nothing is seen")?.text;
    assert!(
        text.starts_with("blow { _bomb: ") && text.ends_with("(writing it panicked)"),
        "{text}"
    );
    Ok(())
}
