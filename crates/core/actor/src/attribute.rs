//! The references of `#[actor]` and `#[test]`.

/// Makes an actor of an impl block: its methods become messages, and methods of the address.
///
/// ```
/// use actinium_actor::{System, actor};
///
/// struct Counter {
///     total: u64,
/// }
///
/// #[actor]
/// impl Counter {
///     /// Adds to the total.
///     pub fn add(&mut self, n: u64) {
///         self.total += n;
///     }
///
///     /// The total.
///     pub fn get(&self) -> u64 {
///         self.total
///     }
/// }
///
/// let system = System::builder().workers(1).build()?;
/// let counter = system.spawn(Counter { total: 0 });
/// counter.add(2);
/// counter.add(40);
/// assert_eq!(counter.get().wait()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Messages
///
/// Each method of the block is a message. Its name in CamelCase names a variant of the enum
/// `CounterMsg`, and its parameters are that variant's fields. The trait `CounterAddress` gives the
/// address methods of the same names. Documentation is carried over. The trait is as visible as the
/// most visible method; another module imports it to send by its methods.
///
/// | a method | is sent by | as |
/// |---|---|---|
/// | `fn add(&mut self, n: u64)` | `counter.add(3)` | a [tell](crate::Address::tell) |
/// | `fn get(&self) -> u64` | `counter.get()` | an [ask](crate::Address::ask) |
/// | `fn next(&mut self, reply: Reply<u64>)` | `counter.next()` | an ask, answered later |
///
/// An ask returns an [`Answer<u64>`](crate::Answer): `.await` it, or `.wait()` for it. The method
/// `next` keeps the [`Reply`](crate::Reply), and answers when it can. An answer that is a
/// `Result<T, E>` comes as a [`TryAnswer<T, E>`](crate::TryAnswer): one `Result<T, AskError<E>>`
/// says what has become of the ask. (The macro sees only how the type is written. An alias with
/// fewer parameters, such as `io::Result<T>`, comes as an `Answer`: call `.flat()` on it.)
///
/// - A last parameter of the type `&mut Context<'_, Self>` is the actor's context, and no field.
/// - `#[tell]` on a method that returns a `Result<(), E>` makes it a tell. An error is then the
///   actor's failure: see [`Context::fail`](crate::Context::fail). So it is of a method that
///   answers by a `Reply`. Without `#[tell]`, and without a `Reply`, the `Result` is the answer.
/// - A result `()` that is written out, `-> ()`, is an answer, too: the asker knows that the actor
///   has done its work.
/// - What is no typed method stands on the enum: `counter.send(CounterMsg::Add { n: 3 })?` returns
///   an error where `counter.add(3)` makes a dead letter, and timers take
///   `ctx.after(delay, CounterMsg::Add { n: 3 })`. A method without parameters or answer is a
///   variant without fields: `CounterMsg::Tick`.
/// - `cfg` on a method holds for its message, too.
/// - The methods stay methods: a test calls them on a `Counter` without a system.
/// - The block may have type parameters: `#[actor] impl<T: Send + 'static> Cache<T> { .. }`.
///
/// # What is no message
///
/// The methods `started`, `stopped` and `footprint_bytes` are those of the trait
/// [`Actor`](trait@crate::Actor). `started` may also return a `Result<(), E>`, whose error is the
/// actor's failure, and may leave out the context.
///
/// Everything else, such as helpers, constants, and functions without `self`, stands in another
/// impl block of the same type.
///
/// # Other nodes
///
/// With `#[actor(remote = "bank.account", version = 1)]`, other nodes of a cluster reach the
/// methods that have a visibility, such as `pub` or `pub(crate)`. Private methods stay on their
/// node. (The facade needs its feature `cluster`.) The macro then also makes
///
/// - the enums `CounterMessage`, `CounterRequest` and `CounterAnswer`, which are data, and the
///   implementation of `RemoteActor` with them. The name and the version are its `KIND` and
///   `VERSION`;
/// - the trait `CounterRemote`, which gives a `RemoteAddress` and an `AnyAddress` the same methods.
///   A tell returns a `Result<(), RemoteSendError<CounterMessage>>`. An ask takes a timeout as its
///   last argument, and returns a `RemoteAnswer<u64>`.
///
/// Versions evolve as those of other messages do. A parameter with `#[serde(default)]` may be
/// missing in an older program; `#[serde(alias = "Add")]` on a method, or `alias` on a parameter,
/// gives its former name. A new method needs nothing: an older program refuses it, and understands
/// the others.
///
/// # Browsers and services
///
/// With `#[actor(gateway)]`, clients of a gateway reach the methods that have a visibility, by
/// WebSocket and HTTP POST. (The facade needs its feature `gateway`.) The macro then also makes
///
/// - the enum `CounterTalk`, which is data: the protocol between client and actor. A tell is a
///   message of the client, `Add { n: u64 }`. An ask is a request, `Get`, and the actor answers by
///   the message `GetAnswer(u64)`;
/// - the implementation of the gateway's trait `Served`, so that `Builder::serve` takes the actor.
///
/// The protocol has the name of the actor, unless `gateway = "Counting"` names it, and version 1,
/// unless `version = 2` says so. (`remote` may stand beside it; the version is that of both.) An
/// ask in which a `Reply` is dropped unanswered ends in the error `no_answer`. If the client goes,
/// [`Reply::is_cancelled`](crate::Reply::is_cancelled) says so. Actors that send to clients without
/// being asked, or need to know who they are, write `Served` by hand.
///
/// # What messages contain
///
/// With `#[actor(debug)]`, whoever looks at the actor on the live page sees what the last of its
/// messages contain: the parameters of the methods, by their `Debug`. Without it nobody does. See
/// [`Actor::SHOW_MESSAGE`](const@crate::Actor::SHOW_MESSAGE). Of a message from another node or
/// from a client, only that there was one is seen.
///
/// # Settings
///
/// Besides `remote`, `gateway`, `version` and `debug`, `#[actor(msg = Name)]` names the enum, and
/// `#[actor(address = Name)]` the trait. Only a crate that reaches this one through another path
/// than `actinium` needs `#[actor(crate = path)]`.
///
/// # What it makes
///
/// What one would write by hand: it costs a message nothing. The example above becomes
///
/// ```
/// # struct Counter { total: u64 }
/// impl Counter {
///     /// Adds to the total.
///     pub fn add(&mut self, n: u64) {
///         self.total += n;
///     }
///     /// The total.
///     pub fn get(&self) -> u64 {
///         self.total
///     }
/// }
/// /// The messages of a [`Counter`].
/// #[allow(missing_docs, private_interfaces, unreachable_pub)]
/// pub enum CounterMsg {
///     /// Adds to the total.
///     Add { n: u64 },
///     /// The total.
///     Get { reply: actinium_actor::Reply<u64> },
/// }
/// impl actinium_actor::Actor for Counter {
///     type Msg = CounterMsg;
///     const MESSAGE_NAMES: &'static [&'static str] = &["add", "get"];
///     #[inline]
///     fn handle(&mut self, msg: Self::Msg, _ctx: &mut actinium_actor::Context<'_, Self>) {
///         match msg {
///             CounterMsg::Add { n } => Self::add(self, n),
///             CounterMsg::Get { reply } => {
///                 let _ = reply.send(Self::get(self));
///             }
///         }
///     }
/// }
/// /// Sends messages to a [`Counter`] by its methods.
/// #[allow(dead_code, missing_docs, private_interfaces, unreachable_pub)]
/// pub trait CounterAddress {
///     /// Adds to the total.
///     fn add(&self, n: u64);
///     /// The total.
///     fn get(&self) -> actinium_actor::Answer<u64>;
/// }
/// impl CounterAddress for actinium_actor::Address<Counter> {
///     #[inline]
///     fn add(&self, n: u64) {
///         actinium_actor::Address::tell(self, CounterMsg::Add { n })
///     }
///     #[inline]
///     fn get(&self) -> actinium_actor::Answer<u64> {
///         actinium_actor::Address::ask(self, |reply| CounterMsg::Get { reply })
///     }
/// }
/// ```
pub use actinium_actor_macros::actor;

/// Makes a test of a function that gets a [`TestSystem`](crate::testing::TestSystem): the time is
/// virtual, and one seed is one order of turns.
///
/// `#[test(seeds = 1000)]` runs it with that many seeds; the smallest that fails is told, with how
/// to run only that one: see [`explore`](crate::testing::explore), which this calls. The function
/// may return a `Result`; an error fails the test.
///
/// Name it by its path, beside plain `#[test]`s. The prelude does not bring it; `use actinium::*`
/// does, and makes `#[test]` ambiguous (`use core::prelude::v1::test;` settles that).
///
/// ```
/// use actinium_actor::testing::TestSystem;
/// use actinium_actor::{AskError, actor};
///
/// struct Counter(u64);
///
/// #[actor]
/// impl Counter {
///     fn add(&mut self, n: u64) {
///         self.0 += n;
///     }
///
///     fn get(&self) -> u64 {
///         self.0
///     }
/// }
///
/// #[actinium_actor::test(seeds = 100)]
/// fn a_counter_counts(sys: &mut TestSystem) -> Result<(), AskError> {
///     let counter = sys.spawn(Counter(0));
///     counter.add(2);
///     let sum = counter.get();
///     sys.run_until_idle();
///     assert_eq!(sum.wait()?, 2);
///     Ok(())
/// }
/// ```
pub use actinium_actor_macros::test;
