//! Page sizes: what is asked for, and what the system has.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use actinium_topology::read_text;
use serde::{Serialize, Serializer};

use crate::sys;

/// The pages that a segment is to be made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageSize {
    /// The processor's smallest, and nothing larger.
    Base,
    /// Transparent huge pages, wherever the kernel can: these need no preparation.
    #[default]
    TransparentHuge,
    /// Huge pages of this many bytes, from the pool that the administrator has filled.
    Huge(usize),
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageSize::Base => f.write_str("base"),
            PageSize::TransparentHuge => f.write_str("thp"),
            PageSize::Huge(bytes) if bytes % (1 << 30) == 0 => write!(f, "{}g", bytes >> 30),
            PageSize::Huge(bytes) if bytes % (1 << 20) == 0 => write!(f, "{}m", bytes >> 20),
            PageSize::Huge(bytes) => write!(f, "{}k", bytes >> 10),
        }
    }
}

impl Serialize for PageSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that names no page size.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageSizeError {
    /// The text.
    pub text: String,
}

impl fmt::Display for PageSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        write!(f, "'{text}' is no page size: allowed are base, thp, or huge pages like 2m or 1g")
    }
}

impl std::error::Error for PageSizeError {}

/// `base`, `thp`, `2m`, `1g`.
impl FromStr for PageSize {
    type Err = PageSizeError;

    fn from_str(text: &str) -> Result<Self, PageSizeError> {
        let huge = || {
            let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
            let shift = match unit {
                "k" | "K" => 10,
                "m" | "M" => 20,
                "g" | "G" => 30,
                _ => return None,
            };
            let number: usize =
                digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())??;
            let bytes = number.checked_mul(1 << shift)?;
            (bytes.is_power_of_two() && bytes <= 1 << 40).then_some(PageSize::Huge(bytes))
        };
        match text {
            "base" => Ok(PageSize::Base),
            "thp" => Ok(PageSize::TransparentHuge),
            _ => huge().ok_or_else(|| PageSizeError { text: text.to_owned() }),
        }
    }
}

/// The page sizes of this system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SystemPages {
    pub(crate) base_bytes: usize,
    /// The size of transparent huge pages, and whether they may be had; None if the kernel has
    /// none.
    pub(crate) transparent: Option<Transparent>,
    /// Sizes of the pools of huge pages, rising; none if others were asked for.
    pub(crate) pools: Vec<usize>,
}

/// Transparent huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transparent {
    pub(crate) bytes: usize,
    /// Memory of this kind may have them, if it asks.
    pub(crate) may: bool,
}

/// The kind of memory that pages are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Private,
    /// A file in memory.
    Shared,
}

impl Kind {
    /// The file that says whether such memory may have transparent huge pages.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Kind::Private => "enabled",
            Kind::Shared => "shmem_enabled",
        }
    }
}

impl SystemPages {
    /// Looks up what is needed for pages of this size: each file costs a program's start some
    /// microseconds.
    pub(crate) fn look(kind: Kind, asked: PageSize) -> Self {
        Self::read(Path::new("/sys/kernel/mm"), sys::base_page_bytes(), kind, asked)
    }

    fn read(mm: &Path, base_bytes: usize, kind: Kind, asked: PageSize) -> Self {
        let thp = |file: &str| read_text(mm.join("transparent_hugepage").join(file)).ok();
        let bytes = thp("hpage_pmd_size").and_then(|text| text.trim().parse::<usize>().ok());
        let bytes = bytes.filter(|bytes| bytes.is_power_of_two() && *bytes > base_bytes);
        let words: &[&str] = match kind {
            Kind::Private => &["[always]", "[madvise]"],
            Kind::Shared => &["[always]", "[advise]", "[within_size]", "[force]"],
        };
        let may = || {
            let text = thp(kind.file()).unwrap_or_default();
            words.iter().any(|word| text.contains(word))
        };
        let transparent =
            bytes.map(|bytes| Transparent { bytes, may: asked != PageSize::Base && may() });
        let pools = match asked {
            PageSize::Huge(_) => pools(mm),
            _ => Vec::new(),
        };
        SystemPages { base_bytes, transparent, pools }
    }
}

fn pools(mm: &Path) -> Vec<usize> {
    let folders = fs::read_dir(mm.join("hugepages")).into_iter().flatten().flatten();
    let mut pools: Vec<usize> = folders
        .filter_map(|folder| {
            let name = folder.file_name();
            let kib = name.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?;
            kib.parse::<usize>().ok()?.checked_mul(1024)
        })
        .filter(|bytes| bytes.is_power_of_two())
        .collect();
    pools.sort_unstable();
    pools
}

/// How many bytes of huge pages of this size a pool could give now: the machine's, or a node's.
pub(crate) fn pool_free_bytes(page_bytes: usize, node: Option<u32>) -> Option<u64> {
    let above = match node {
        None => "/sys/kernel/mm".to_owned(),
        Some(node) => format!("/sys/devices/system/node/node{node}"),
    };
    let folder = format!("{above}/hugepages/hugepages-{}kB", page_bytes >> 10);
    let number = |file: &str| {
        let text = read_text(format!("{folder}/{file}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    // What others have reserved and not touched yet counts as free there; a node has no such file.
    // Pages that may be made when they are needed count as well.
    let reserved = number("resv_hugepages").unwrap_or(0);
    let more = number("nr_overcommit_hugepages").unwrap_or(0);
    let surplus = number("surplus_hugepages").unwrap_or(0);
    let pages = number("free_hugepages")?.saturating_sub(reserved) + more.saturating_sub(surplus);
    pages.checked_mul(page_bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn names_of_page_sizes() {
        for text in ["base", "thp", "2m", "1g", "64k", "512m"] {
            assert_eq!(text.parse::<PageSize>().unwrap().to_string(), text);
        }
        assert_eq!("2M".parse(), Ok(PageSize::Huge(2 << 20)));
        for text in ["", "m", "3m", "0m", "2", "2mb", "-2m", "+2m", "huge", "99999999999g", "é"] {
            let error = text.parse::<PageSize>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{text}' is no page size: allowed are ")), "{error}");
        }
    }

    #[test]
    fn what_the_system_has() {
        let folder = Folder::new();
        folder.write("transparent_hugepage/hpage_pmd_size", "2097152\n");
        folder.write("transparent_hugepage/enabled", "always [madvise] never\n");
        folder.write("transparent_hugepage/shmem_enabled", "always advise [never] deny\n");
        folder.write("hugepages/hugepages-1048576kB/free_hugepages", "0\n");
        folder.write("hugepages/hugepages-2048kB/free_hugepages", "0\n");
        let look = |kind, asked| SystemPages::read(folder.path(), 4096, kind, asked);
        let transparent = Transparent { bytes: 2 << 20, may: true };
        let pools = vec![2 << 20, 1 << 30];
        let expected = SystemPages { base_bytes: 4096, transparent: Some(transparent), pools };
        assert_eq!(look(Kind::Private, PageSize::Huge(4)), expected);
        // Who asks for no pool is not told of pools, and who asks for base pages need not know
        // whether others may be had.
        let expected = SystemPages { pools: vec![], ..expected };
        assert_eq!(look(Kind::Private, PageSize::TransparentHuge), expected);
        let may_not = Some(Transparent { may: false, ..transparent });
        let expected = SystemPages { transparent: may_not, ..expected };
        assert_eq!(look(Kind::Private, PageSize::Base), expected);
        assert_eq!(look(Kind::Shared, PageSize::TransparentHuge), expected);

        folder.write("transparent_hugepage/enabled", "always madvise [never]\n");
        assert_eq!(look(Kind::Private, PageSize::TransparentHuge), expected);
        let nothing = SystemPages { base_bytes: 4096, transparent: None, pools: vec![] };
        let asked = PageSize::Huge(4);
        assert_eq!(SystemPages::read(Path::new("/nowhere"), 4096, Kind::Shared, asked), nothing);
    }
}
