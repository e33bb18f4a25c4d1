//! The name of a message's variant, for figures.
//!
//! Which variant it is, is asked of the compiler and not of user code: the message lies in a
//! mailbox's memory or in registers at that moment, where nothing may come between.

use crate::actor::Actor;
use std::hash::{Hash, Hasher};
use std::mem::Discriminant;

/// What a variant is called whose number has no name.
const OTHER: &str = "other";

/// The name of the message's variant; nothing, if the actor's type names none.
#[inline(always)]
pub(crate) fn name_of<A: Actor>(msg: &A::Msg) -> &'static str {
    if A::MESSAGE_NAMES.is_empty() {
        return "";
    }
    let number = usize::try_from(number_of(std::mem::discriminant(msg)));
    let name = number.ok().and_then(|number| A::MESSAGE_NAMES.get(number));
    name.unwrap_or(&OTHER)
}

/// The number of a variant. The standard library tells it to a hasher only.
#[inline(always)]
fn number_of<M>(variant: Discriminant<M>) -> u64 {
    let mut number = Number(0);
    variant.hash(&mut number);
    number.0
}

/// A hasher that keeps the number which it is given.
struct Number(u64);

impl Hasher for Number {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        let mut number = [0; 8];
        let length = bytes.len().min(8);
        // Bytes of a number in the machine's order.
        let at = if cfg!(target_endian = "little") { 0 } else { 8 - length };
        number[at..at + length].copy_from_slice(&bytes[..length]);
        self.0 = u64::from_ne_bytes(number);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;

    #[expect(dead_code, reason = "an enum of this layout")]
    enum Msg {
        Plain,
        Boxed(Box<u8>),
        Named { text: String },
        Late,
    }

    struct Names;

    impl Actor for Names {
        type Msg = Msg;
        const MESSAGE_NAMES: &'static [&'static str] = &["plain", "boxed", "named"];

        fn handle(&mut self, _: Msg, _: &mut Context<'_, Self>) {}
    }

    struct Unnamed;

    impl Actor for Unnamed {
        type Msg = Option<Box<u8>>;

        fn handle(&mut self, _: Option<Box<u8>>, _: &mut Context<'_, Self>) {}
    }

    #[test]
    fn a_variant_has_its_name() {
        let named = Msg::Named { text: String::new() };
        let messages = [Msg::Plain, Msg::Boxed(Box::new(1)), named, Msg::Late];
        assert_eq!(messages.each_ref().map(name_of::<Names>), ["plain", "boxed", "named", "other"]);
        assert_eq!(name_of::<Unnamed>(&None), "");
        assert_eq!(number_of(std::mem::discriminant(&Some(1))), 1);
    }
}
