//! The form in which a message waits: by value, or in a box of its own if it is large.
//!
//! A large message is moved once, into its box, and once more, to its handler; in between only a
//! pointer moves. By value it would be copied at each step, through the stacks of workers, and each
//! mailbox would keep memory for many of it. Which it is depends on the type alone: the code of
//! small messages is the same as if there were no boxes.

/// Messages of more bytes lie in a box: below, a copy costs no more than an allocation.
const BY_VALUE: usize = 2 << 10;

/// Messages of more bytes are refused when the program is compiled.
const LARGEST: usize = 1 << 20;

/// The form in which a message of type `M` lies in mailboxes and lanes. All users of one mailbox
/// name the same form: [`by_size`] chooses it, and [`carries`] is asked where it matters.
pub(crate) trait Carrier<M>: Send + 'static {
    /// Takes the message out.
    fn open(self) -> M;

    /// Looks at it.
    fn look(&self) -> &M;
}

impl<M: Send + 'static> Carrier<M> for M {
    #[inline(always)]
    fn open(self) -> M {
        self
    }

    #[inline(always)]
    fn look(&self) -> &M {
        self
    }
}

impl<M: Send + 'static> Carrier<M> for Box<M> {
    #[inline(always)]
    fn open(self) -> M {
        *self
    }

    #[inline(always)]
    fn look(&self) -> &M {
        self
    }
}

/// Whether messages of this type lie in boxes.
///
/// # Panics
/// If they are too large to be sent: when the program is compiled, for this is only asked then.
#[inline(always)]
pub(crate) const fn is_boxed<M>() -> bool {
    assert!(
        size_of::<M>() <= LARGEST,
        "this actor's messages are larger than 1 MiB, and a message is moved by value: put what is large in it into a Box, a Vec or an Arc"
    );
    size_of::<M>() > BY_VALUE
}

/// Whether `T` is what carries messages of type `M`.
#[inline(always)]
pub(crate) const fn carries<T: Carrier<M>, M>() -> bool {
    // A message is either carried by itself, or larger than the box that it is carried by.
    is_boxed::<M>() == (size_of::<T>() < size_of::<M>())
}

/// Calls a method that is generic over the carrier with that of an actor's messages.
macro_rules! by_size {
    ($actor:ident: $this:expr, $method:ident($($argument:expr),*)) => {
        if const { crate::mailbox::carrier::is_boxed::<$actor::Msg>() } {
            $this.$method::<Box<$actor::Msg>>($($argument),*)
        } else {
            $this.$method::<$actor::Msg>($($argument),*)
        }
    };
}
pub(crate) use by_size;
