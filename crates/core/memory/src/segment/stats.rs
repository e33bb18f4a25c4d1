//! The places and the state of a segment's pages, as the kernel reports them.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use serde::Serialize;

use super::asked::{Asked, Mode};
use super::fault_in::{FaultFigures, FaultIn};
use crate::fabric::{RegistrationFigures, Table};
use crate::{PageSize, Placement, Warning, sys};

/// Pages on one node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NodeFigures {
    /// The node.
    pub node: u32,
    /// Bytes of the segment that are there.
    pub bytes: u64,
    /// The speed at which these bytes were faulted in, in GB (10⁹ bytes) per second, if they were.
    pub gb_per_s: Option<f64>,
}

/// The state of a segment now. It serialises as the JSON that `actinium memory` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SegmentStats {
    /// The segment's size.
    pub size_bytes: u64,
    /// The pages that were asked for.
    pub pages_asked: PageSize,
    /// The pages that the segment is made of.
    pub pages_used: PageSize,
    /// The placement that was asked for.
    pub placement: Placement,
    /// The mode that was asked for.
    pub mode: Mode,
    /// Bytes on each node: exact, from `move_pages`. Empty if that can not be asked.
    pub nodes: Vec<NodeFigures>,
    /// Bytes that are not faulted in; None if that can not be asked.
    pub absent_bytes: Option<u64>,
    /// Bytes in transparent huge pages.
    pub transparent_huge_bytes: u64,
    /// Bytes in huge pages of the pool.
    pub pool_bytes: u64,
    /// Bytes that are locked.
    pub locked_bytes: u64,
    /// Figures of the fault-in, if it has ended; registering behind it included.
    pub fault_in: Option<FaultFigures>,
    /// Figures of registration; None without a fabric.
    pub registration: Option<RegistrationFigures>,
}

/// How many bytes of a range are on which node, and how many are not there.
pub(super) fn places(
    inner: &FaultIn,
    used_pages: PageSize,
    range: Range<usize>,
) -> Result<(BTreeMap<u32, u64>, u64), i32> {
    let step = match used_pages {
        PageSize::Huge(bytes) => bytes,
        _ => sys::base_page_bytes(),
    };
    let (mut on, mut absent) = (BTreeMap::<u32, u64>::new(), 0_u64);
    sys::query_nodes(&inner.mapping, range, step, |node| match node {
        Some(node) => *on.entry(node).or_default() += step as u64,
        None => absent += step as u64,
    })?;
    Ok((on, absent))
}

pub(super) fn look(inner: &FaultIn, asked: &Asked) -> SegmentStats {
    let mapping = &inner.mapping;
    let fault_in = inner.figures().filter(|_| asked.mode != Mode::Lazy);
    let (on, absent) = match places(inner, asked.used_pages, 0..mapping.len()) {
        Ok((on, absent)) => (on, Some(absent)),
        Err(errno) => {
            inner.warnings.add(Warning::PlacesUnknown { errno });
            (BTreeMap::new(), None)
        }
    };
    let rate = |bytes: u64| fault_in.as_ref().map(|all| bytes as f64 / all.elapsed_s / 1e9);
    let nodes = on
        .into_iter()
        .map(|(node, bytes)| NodeFigures { node, bytes, gb_per_s: rate(bytes) })
        .collect();
    let from = mapping.start().as_ptr() as u64;
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let pages = Pages::in_text(&smaps, from..from + mapping.len() as u64);
    SegmentStats {
        size_bytes: mapping.len() as u64,
        pages_asked: asked.pages,
        pages_used: asked.used_pages,
        placement: asked.placement.clone(),
        mode: asked.mode,
        nodes,
        absent_bytes: absent,
        transparent_huge_bytes: pages.transparent_huge,
        pool_bytes: pages.pool,
        locked_bytes: pages.locked,
        fault_in,
        registration: inner.registration.as_ref().map(Table::figures),
    }
}

/// Figures of `/proc/self/smaps` about a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pages {
    transparent_huge: u64,
    pool: u64,
    locked: u64,
}

impl Pages {
    /// Sums up the areas that lie within the range: a policy or an advice may have split it.
    fn in_text(smaps: &str, range: Range<u64>) -> Self {
        let mut pages = Pages::default();
        let mut is_within = false;
        for line in smaps.lines() {
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            let Some(name) = first.strip_suffix(':') else {
                // `7f0a00000000-7f0a40000000 rw-p ...` begins an area.
                let area = first.split_once('-').and_then(|(from, to)| {
                    let hex = |text| u64::from_str_radix(text, 16).ok();
                    Some((hex(from)?, hex(to)?))
                });
                is_within = area.is_some_and(|(from, to)| range.start <= from && to <= range.end);
                continue;
            };
            let kib = words.next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
            let field = match name {
                _ if !is_within => continue,
                "AnonHugePages" | "ShmemPmdMapped" => &mut pages.transparent_huge,
                "Private_Hugetlb" | "Shared_Hugetlb" => &mut pages.pool,
                "Locked" => &mut pages.locked,
                _ => continue,
            };
            *field += kib * 1024;
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_within_the_range_are_summed_up() {
        let smaps = "\
            1000-3000 rw-p 00000000 00:00 0 \nAnonHugePages:  2 kB\nLocked:  1 kB\nVmFlags: rd wr\n\
            3000-5000 rw-p 00000000 00:00 0 \nShmemPmdMapped: 3 kB\nPrivate_Hugetlb: 4 kB\n\
            5000-9000 rw-p 00000000 00:00 0 [heap]\nAnonHugePages: 1000 kB\n";
        let pages = |range| Pages::in_text(smaps, range);
        let expected = Pages { transparent_huge: 5 << 10, pool: 4 << 10, locked: 1 << 10 };
        assert_eq!(pages(0x1000..0x5000), expected);
        assert_eq!(pages(0x1000..0x2000), Pages::default());
        assert_eq!(Pages::in_text("garbage\n-:\n: x", 0..u64::MAX), Pages::default());
    }
}
