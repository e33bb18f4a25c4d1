//! Sets of PUs, kept as ranges: a core's set is as small as the machine's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

/// Indices beyond this are taken for garbage: Linux itself stops at 8,192.
pub(crate) const MAX_INDEX: u32 = (1 << 20) - 1;

/// A PU (hwloc: processing unit; a hardware thread), by the number that the operating system gives
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PuId(pub u32);

impl fmt::Display for PuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of PUs. Reads and writes the kernel's list format.
///
/// ```
/// use actinium_topology::{CpuSet, PuId};
///
/// let set: CpuSet = "0-3,8".parse()?;
/// assert_eq!(set.len(), 5);
/// assert!(set.contains(PuId(8)) && !set.contains(PuId(4)));
/// assert_eq!(set.to_string(), "0-3,8");
/// assert_eq!(set.intersection(&"2-9".parse()?).to_string(), "2-3,8");
/// # Ok::<(), actinium_topology::CpuSetError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// First and last, sorted, neither overlapping nor touching.
    ranges: Vec<(u32, u32)>,
}

impl CpuSet {
    /// The empty set.
    #[must_use]
    pub fn new() -> CpuSet {
        CpuSet::default()
    }

    /// How many PUs.
    #[must_use]
    pub fn len(&self) -> usize {
        let sizes = self.ranges.iter().map(|&(first, last)| last - first);
        sizes.map(|more| more as usize + 1).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether this PU is in it.
    #[must_use]
    pub fn contains(&self, pu: PuId) -> bool {
        let at = self.ranges.partition_point(|&(_, last)| last < pu.0);
        self.ranges.get(at).is_some_and(|&(first, _)| first <= pu.0)
    }

    /// The smallest.
    #[must_use]
    pub fn first(&self) -> Option<PuId> {
        self.ranges.first().map(|&(first, _)| PuId(first))
    }

    /// The largest.
    #[must_use]
    pub fn last(&self) -> Option<PuId> {
        self.ranges.last().map(|&(_, last)| PuId(last))
    }

    /// The PUs, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = PuId> + '_ {
        let ranges = self.ranges.iter();
        ranges.flat_map(|&(first, last)| (first..=last).map(PuId))
    }

    /// The PUs that are in either set.
    #[must_use]
    pub fn union(&self, other: &CpuSet) -> CpuSet {
        let both = self.ranges.iter().chain(&other.ranges);
        CpuSet::of_ranges(both.copied().collect())
    }

    /// The PUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        let (mut a, mut b, mut ranges) = (0, 0, Vec::new());
        while let (Some(x), Some(y)) = (self.ranges.get(a), other.ranges.get(b)) {
            let (first, last) = (x.0.max(y.0), x.1.min(y.1));
            if first <= last {
                ranges.push((first, last));
            }
            if x.1 < y.1 {
                a += 1;
            } else {
                b += 1;
            }
        }
        CpuSet { ranges }
    }

    /// The PUs that are in this set and not in the other.
    #[must_use]
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        let mut ranges = Vec::new();
        for &(first, last) in &self.ranges {
            let mut from = first;
            let begin = other.ranges.partition_point(|&(_, last)| last < first);
            let holes = other.ranges[begin..].iter();
            for &(start, end) in holes.take_while(|&&(start, _)| start <= last) {
                if from < start {
                    ranges.push((from, start - 1));
                }
                from = end.saturating_add(1);
            }
            if from <= last {
                ranges.push((from, last));
            }
        }
        CpuSet { ranges }
    }

    /// Reads the kernel's mask format: hexadecimal words of 32 bits, the highest first
    /// (`ff,0000000f`).
    pub(crate) fn from_mask(text: &str) -> Option<CpuSet> {
        let mut set = Vec::new();
        for (at, word) in (0u32..).zip(text.trim().rsplit(',')) {
            let bits = u32::from_str_radix(word, 16).ok()?;
            let base = at.checked_mul(32).filter(|&base| base <= MAX_INDEX)?;
            let ones = (0..32).filter(|bit| bits & (1 << bit) != 0);
            set.extend(ones.map(|bit| PuId(base + bit)));
        }
        Some(set.into_iter().collect())
    }

    fn of_ranges(mut unsorted: Vec<(u32, u32)>) -> CpuSet {
        unsorted.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(unsorted.len());
        for (first, last) in unsorted {
            match ranges.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => ranges.push((first, last)),
            }
        }
        CpuSet { ranges }
    }
}

impl FromIterator<PuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = PuId>>(pus: I) -> CpuSet {
        CpuSet::of_ranges(pus.into_iter().map(|pu| (pu.0, pu.0)).collect())
    }
}

impl From<PuId> for CpuSet {
    fn from(pu: PuId) -> CpuSet {
        CpuSet { ranges: vec![(pu.0, pu.0)] }
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Not a list of PUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSetError {
    found: String,
}

impl fmt::Display for CpuSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is no list of PUs: expected numbers up to {MAX_INDEX} and ranges, such as '0-3,8'",
            self.found
        )
    }
}

impl std::error::Error for CpuSetError {}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(text: &str) -> Result<CpuSet, CpuSetError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(CpuSet::new());
        }
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|_| digits);
            number.filter(|&number: &u32| number <= MAX_INDEX)
        };
        let range = |item: &str| {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let range = (number(first.trim())?, number(last.trim())?);
            (range.0 <= range.1).then_some(range)
        };
        let ranges = text.split(',').map(|item| {
            let found = item.chars().take(40).collect();
            range(item).ok_or(CpuSetError { found })
        });
        Ok(CpuSet::of_ranges(ranges.collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[test]
    fn lists_are_read_and_written() {
        for (text, normal) in [
            ("", ""),
            ("\n", ""),
            ("0", "0"),
            ("0-1\n", "0-1"),
            ("0-3,8,10-11", "0-3,8,10-11"),
            ("8,0-3,4", "0-4,8"),
            ("1,1,0-5,3", "0-5"),
        ] {
            assert_eq!(set(text).to_string(), normal, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_list_is_named() {
        for text in ["a", "1-", "-1", "3-1", "1,,2", "+1", "4294967296", "1048576", "0-3,x"] {
            let error = text.parse::<CpuSet>().unwrap_err().to_string();
            assert!(error.contains("is no list of PUs"), "{text}: {error}");
        }
        assert_eq!("0-3,x".parse::<CpuSet>().unwrap_err().found, "x");
    }

    #[test]
    fn masks_are_read() {
        assert_eq!(CpuSet::from_mask("3\n").unwrap().to_string(), "0-1");
        assert_eq!(CpuSet::from_mask("1,80000000").unwrap().to_string(), "31-32");
        assert_eq!(CpuSet::from_mask("0").unwrap(), CpuSet::new());
        assert_eq!(CpuSet::from_mask("x"), None);
        assert_eq!(CpuSet::from_mask(""), None);
    }

    proptest! {
        #[test]
        fn behaves_as_a_set(a in btree_set(0u32..60, 0..30), b in btree_set(0u32..60, 0..30)) {
            let of = |set: &std::collections::BTreeSet<u32>| set.iter().map(|&n| PuId(n)).collect::<CpuSet>();
            let (x, y) = (of(&a), of(&b));
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(x.union(&y), of(&(&a | &b)));
            prop_assert_eq!(x.intersection(&y), of(&(&a & &b)));
            prop_assert_eq!(x.difference(&y), of(&(&a - &b)));
            prop_assert_eq!(set(&x.to_string()), x.clone());
            prop_assert!((0..60).all(|n| x.contains(PuId(n)) == a.contains(&n)));
            prop_assert!(x.iter().map(|pu| pu.0).eq(a.iter().copied()));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}", list in "[0-9,-]{0,30}") {
            for text in [text, list] {
                let _ = text.parse::<CpuSet>();
                let _ = CpuSet::from_mask(&text);
            }
        }
    }
}
