//! What goes from one step of a request to the next: the ids of its trace and of its span, in the
//! form of W3C Trace Context.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;

/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;
/// How many steps a trace follows one after the other: who sends to itself for ever is not traced
/// for ever.
pub(crate) const STEPS_MAX: u16 = 1_000;
/// Characters of a `traceparent` of version 00.
const LENGTH: usize = 55;

/// A step of a traced request: the trace, and the span in it that causes what follows.
///
/// Its text is the header `traceparent` of
/// [W3C Trace Context](https://www.w3.org/TR/trace-context/):
///
/// ```
/// use actinium_scheduler::trace::TraceContext;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context: TraceContext = text.parse()?;
/// assert_eq!(context.span_id(), 0x00f0_67aa_0ba9_02b7);
/// assert!(context.is_sampled());
/// assert_eq!(context.to_string(), text);
/// # Ok::<(), actinium_scheduler::trace::BadTraceparent>(())
/// ```
///
/// A trace is followed for 1,000 steps one after the other, over all nodes, and no further.
#[derive(Clone, Copy)]
pub struct TraceContext {
    trace_id: NonZeroU128,
    span_id: NonZeroU64,
    flags: u8,
    /// How many steps came before, as far as is known: no part of what it is.
    steps: u16,
    /// Whether the step is one of another node: no part of what it is, either.
    is_remote: bool,
}

impl TraceContext {
    /// The bytes of [`TraceContext::to_bytes`].
    pub const BYTES: usize = 27;

    /// The context with these ids; `None` if one of them is 0. What is not sampled is not traced.
    pub fn new(trace_id: u128, span_id: u64, is_sampled: bool) -> Option<Self> {
        Some(TraceContext {
            trace_id: NonZeroU128::new(trace_id)?,
            span_id: NonZeroU64::new(span_id)?,
            flags: u8::from(is_sampled),
            steps: 0,
            is_remote: false,
        })
    }

    /// The id that all spans of the trace share; never 0.
    pub fn trace_id(self) -> u128 {
        self.trace_id.get()
    }

    /// The id of the span that causes what follows; never 0.
    pub fn span_id(self) -> u64 {
        self.span_id.get()
    }

    /// Whether the trace is recorded.
    pub fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// Whether it came in bytes, from another node.
    pub(crate) fn is_remote(self) -> bool {
        self.is_remote
    }

    /// The context of a span that this one causes; `None` if the trace is not followed any
    /// further.
    pub(crate) fn next(self, span_id: NonZeroU64) -> Option<Self> {
        let steps = self.steps.saturating_add(1);
        (steps < STEPS_MAX).then_some(TraceContext { span_id, steps, is_remote: false, ..self })
    }

    /// The same, followed for so many more steps only.
    pub(crate) fn for_steps(self, steps: u16) -> Self {
        TraceContext { steps: STEPS_MAX.saturating_sub(steps), ..self }
    }

    /// The trace's id, the span's, the flags, and how many steps came before, in this order and
    /// with the most significant byte first.
    pub fn to_bytes(self) -> [u8; TraceContext::BYTES] {
        let mut bytes = [0; TraceContext::BYTES];
        bytes[..16].copy_from_slice(&self.trace_id().to_be_bytes());
        bytes[16..24].copy_from_slice(&self.span_id().to_be_bytes());
        bytes[24] = self.flags;
        bytes[25..].copy_from_slice(&self.steps.to_be_bytes());
        bytes
    }

    /// The context in these bytes; `None` if an id is 0.
    pub fn from_bytes(bytes: &[u8; TraceContext::BYTES]) -> Option<Self> {
        let (trace_id, rest) = bytes.split_first_chunk::<16>()?;
        let (span_id, rest) = rest.split_first_chunk::<8>()?;
        let &[flags, ref steps @ ..] = rest else { return None };
        let (trace_id, span_id) = (u128::from_be_bytes(*trace_id), u64::from_be_bytes(*span_id));
        let context = TraceContext::new(trace_id, span_id, flags & SAMPLED != 0)?;
        let steps = u16::from_be_bytes(steps.try_into().ok()?);
        Some(TraceContext { steps, is_remote: true, ..context })
    }
}

impl PartialEq for TraceContext {
    fn eq(&self, other: &Self) -> bool {
        let all = |it: &Self| (it.trace_id, it.span_id, it.flags);
        all(self) == all(other)
    }
}

impl Eq for TraceContext {}

impl Hash for TraceContext {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.trace_id, self.span_id, self.flags).hash(state);
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceContext({self})")
    }
}

/// A text is no `traceparent`: not `00-TRACE-SPAN-FLAGS` with 32, 16 and 2 hexadecimal digits in
/// lower case, or an id is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadTraceparent;

impl fmt::Display for BadTraceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this is no traceparent: it must be 00-TRACE-SPAN-FLAGS, with 32, 16 and 2 hexadecimal \
             digits in lower case, and no id that is 0",
        )
    }
}

impl std::error::Error for BadTraceparent {}

impl FromStr for TraceContext {
    type Err = BadTraceparent;

    fn from_str(text: &str) -> Result<Self, BadTraceparent> {
        parse(text.as_bytes()).ok_or(BadTraceparent)
    }
}

fn parse(text: &[u8]) -> Option<TraceContext> {
    let (head, rest) = text.split_at_checked(LENGTH)?;
    let version = hex(&head[..2])?;
    // Later versions may say more behind this; version ff is none.
    let fits = match version {
        0 => rest.is_empty(),
        0xff => false,
        _ => rest.first().is_none_or(|&next| next == b'-'),
    };
    let is_divided = [2, 35, 52].iter().all(|&at| head[at] == b'-');
    if !fits || !is_divided {
        return None;
    }
    let (trace_id, span_id, flags) = (hex(&head[3..35])?, hex(&head[36..52])?, hex(&head[53..])?);
    TraceContext::new(trace_id, span_id as u64, flags as u8 & SAMPLED != 0)
}

/// The number in hexadecimal digits, at most 32, in lower case.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number: u128, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(digit))
    })
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_no_traceparent_is_refused() {
        let bad = [
            String::new(),
            GOOD[..54].to_owned(),
            format!("{GOOD}-"),
            format!("{GOOD}0"),
            GOOD.to_uppercase(),
            GOOD.replace("00-4", "ff-4"),
            GOOD.replace("00-4", "0g-4"),
            GOOD.replace('-', "_"),
            format!("00-{:032}-00f067aa0ba902b7-01", 0),
            format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{:016}-01", 0),
            GOOD.replace("01", "0é"),
            format!("ä{}", &GOOD[2..]),
        ];
        for text in bad {
            assert_eq!(text.parse::<TraceContext>(), Err(BadTraceparent), "{text}");
        }
    }

    #[test]
    fn later_versions_may_say_more() {
        let context: TraceContext = GOOD.parse().unwrap();
        for text in [GOOD.replace("00-4", "01-4"), format!("{}-more", GOOD.replace("00-4", "cc-4"))]
        {
            assert_eq!(text.parse(), Ok(context), "{text}");
        }
        assert!(GOOD.replace("00-4", "01-4").add_more("x").parse::<TraceContext>().is_err());
    }

    trait AddMore {
        fn add_more(self, more: &str) -> String;
    }

    impl AddMore for String {
        fn add_more(mut self, more: &str) -> String {
            self.push_str(more);
            self
        }
    }

    #[test]
    fn only_the_flag_of_a_sampled_trace_counts() {
        let flags =
            |it: &str| GOOD.replace("-01", it).parse::<TraceContext>().unwrap().is_sampled();
        assert!(!flags("-00") && !flags("-fe") && flags("-01") && flags("-ff"));
    }

    #[test]
    fn a_trace_is_not_followed_for_ever() {
        let id = NonZeroU64::MIN;
        let mut context = TraceContext::new(1, 1, true);
        let mut steps = 0;
        while let Some(next) = context.and_then(|it| it.next(id)) {
            steps += 1;
            // Nor over nodes.
            context = TraceContext::from_bytes(&next.to_bytes());
        }
        assert_eq!(steps, STEPS_MAX - 1);
        let few = TraceContext::new(1, 1, true).unwrap().for_steps(2);
        assert!(few.next(id).unwrap().next(id).is_none());
    }

    proptest! {
        #[test]
        fn text_and_bytes_say_it_all(trace in 1u128.., span in 1u64.., sampled: bool) {
            let context = TraceContext::new(trace, span, sampled).unwrap();
            prop_assert_eq!(context.to_string().parse(), Ok(context));
            prop_assert_eq!(TraceContext::from_bytes(&context.to_bytes()), Some(context));
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<TraceContext>();
        }
    }
}
