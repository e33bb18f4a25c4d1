//! Sizes of segments, and the modes and fabrics of the program that is started.

use actinium_memory::fabric::UringBuffers;
use actinium_memory::{Baseline, MemoryError, Size};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

/// `64m`, `1g`, `4096`, or a share of memory: `25%`.
///
/// # Errors
/// If it is none of these.
pub fn size(text: &str) -> Result<Size, String> {
    let wrong = || {
        format!(
            "'{text}' is no size: allowed are bytes like 4096, 64k, 512m, 16g, or a share of memory like 25%"
        )
    };
    if let Some(number) = text.strip_suffix('%') {
        let percent: f64 =
            digits(number).and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
        return match percent > 0.0 && percent <= 100.0 {
            true => Ok(Size::Share(percent / 100.0)),
            false => Err(wrong()),
        };
    }
    let shift = match text.as_bytes().last() {
        Some(b'k' | b'K') => 10,
        Some(b'm' | b'M') => 20,
        Some(b'g' | b'G') => 30,
        Some(b't' | b'T') => 40,
        _ => 0,
    };
    let number = if shift == 0 { text } else { &text[..text.len() - 1] };
    let number: u64 = digits(number)
        .filter(|number| !number.contains('.'))
        .and_then(|number| number.parse().ok())
        .ok_or_else(wrong)?;
    let bytes = number.checked_mul(1 << shift).filter(|&bytes| bytes > 0);
    bytes.map(Size::Bytes).ok_or_else(wrong)
}

/// A size that shows as it is typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentSize(pub Size);

impl Display for SegmentSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Size::Share(share) => write!(f, "{}%", share * 100.0),
            Size::Bytes(bytes) => {
                let units = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
                let whole = units.into_iter().find(|(shift, _)| bytes.trailing_zeros() >= *shift);
                let (shift, unit) = whole.unwrap_or((0, ""));
                write!(f, "{}{unit}", bytes >> shift)
            }
            // There are no others yet.
            other => write!(f, "{other:?}"),
        }
    }
}

/// The same as [`size`].
///
/// # Errors
/// As there.
pub fn segment(text: &str) -> Result<SegmentSize, String> {
    size(text).map(SegmentSize)
}

/// A number as people write it: no sign, no exponent.
fn digits(text: &str) -> Option<&str> {
    let is_plain = text.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    (is_plain && !text.is_empty()).then_some(text)
}

/// The no-op program's use of memory before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartupMode {
    /// Nothing.
    None,
    /// Reserves a segment.
    Lazy,
    /// Reserves a segment and lets it be faulted in behind its back.
    Background,
    /// Faults a segment in by one thread.
    EagerOne,
    /// Faults a segment in by all threads.
    Eager,
}

impl StartupMode {
    /// All that `startup` compares.
    pub const ALL: [StartupMode; 5] = [
        StartupMode::None,
        StartupMode::Lazy,
        StartupMode::Background,
        StartupMode::EagerOne,
        StartupMode::Eager,
    ];

    /// Whether it faults memory in.
    pub fn touches(self) -> bool {
        !matches!(self, StartupMode::None | StartupMode::Lazy)
    }
}

impl FromStr for StartupMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = StartupMode::ALL.into_iter().find(|mode| mode.to_string() == text);
        named.ok_or_else(|| format!("invalid variant: {text}"))
    }
}

/// Displays the mode as users type it.
impl Display for StartupMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StartupMode::None => "none",
            StartupMode::Lazy => "lazy",
            StartupMode::Background => "background",
            StartupMode::EagerOne => "eager-1",
            StartupMode::Eager => "eager",
        })
    }
}

impl Serialize for StartupMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The interface with which the segment is registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fabric {
    /// Nothing.
    #[default]
    None,
    /// An io_uring of the program's.
    IoUring,
    /// The first RDMA adapter.
    #[cfg(feature = "verbs")]
    Verbs,
}

impl FromStr for Fabric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Fabric::ALL.iter().find(|fabric| fabric.to_string() == text);
        named.copied().ok_or_else(|| format!("invalid variant: {text}"))
    }
}

impl Fabric {
    /// All that this build knows.
    pub const ALL: &[Fabric] = &[
        Fabric::None,
        Fabric::IoUring,
        #[cfg(feature = "verbs")]
        Fabric::Verbs,
    ];

    /// Opens it.
    ///
    /// # Errors
    /// If this machine has none, or forbids it.
    pub fn open(self) -> Result<Option<Arc<dyn actinium_memory::fabric::Fabric>>, MemoryError> {
        match self {
            Fabric::None => Ok(None),
            Fabric::IoUring => Ok(Some(Arc::new(UringBuffers::new(1)?))),
            #[cfg(feature = "verbs")]
            Fabric::Verbs => Ok(Some(Arc::new(actinium_memory::fabric::Verbs::open(None)?))),
        }
    }
}

/// Displays the interface as users type it.
impl Display for Fabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fabric::None => "none",
            Fabric::IoUring => "io-uring",
            #[cfg(feature = "verbs")]
            Fabric::Verbs => "verbs",
        })
    }
}

impl Serialize for Fabric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Parses a child's task: a mode, or one of the loops that show the machine's limits.
///
/// # Errors
/// If the text names neither.
pub fn child(text: &str) -> Result<ChildTask, String> {
    let baseline = Baseline::ALL.into_iter().find(|baseline| baseline.to_string() == text);
    match baseline {
        Some(baseline) => Ok(ChildTask::Baseline(baseline)),
        None => text.parse().map(ChildTask::Mode),
    }
}

/// The task of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildTask {
    /// Start up in this mode.
    Mode(StartupMode),
    /// Run a loop that shows the machine's limits.
    Baseline(Baseline),
}

impl Display for ChildTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChildTask::Mode(mode) => mode.fmt(f),
            ChildTask::Baseline(baseline) => baseline.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [("1", 1), ("4096", 4096), ("64k", 64 << 10), ("2G", 2 << 30)] {
            assert_eq!(size(text), Ok(Size::Bytes(bytes)));
        }
        assert_eq!(size("25%"), Ok(Size::Share(0.25)));
        assert_eq!(size("0.5%"), Ok(Size::Share(0.005)));
        for text in ["64k", "2g", "3m", "1025", "25%", "1t"] {
            assert_eq!(segment(text).map(|size| size.to_string()), Ok(text.to_owned()));
        }
        let wrong = [
            "",
            "0",
            "m",
            "1.5g",
            "-1",
            "+1",
            "1e9",
            "101%",
            "0%",
            "%",
            "nan%",
            "1x",
            "99999999t",
            "é",
        ];
        for text in wrong {
            assert!(size(text).unwrap_err().contains(&format!("'{text}' is no size")), "{text}");
        }
    }

    #[test]
    fn names_are_what_is_typed() {
        for mode in StartupMode::ALL {
            assert_eq!(child(&mode.to_string()), Ok(ChildTask::Mode(mode)));
        }
        for &fabric in Fabric::ALL {
            assert_eq!(fabric.to_string().parse(), Ok(fabric));
        }
        for baseline in Baseline::ALL {
            assert_eq!(child(&baseline.to_string()), Ok(ChildTask::Baseline(baseline)));
        }
        assert!(child("x").is_err());
    }
}
