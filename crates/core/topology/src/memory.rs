//! The amount of memory that the process's cgroups leave it.
//!
//! A process that takes more is not refused but killed, so a program that is about to take much had
//! better ask first.

use std::path::{Path, PathBuf};

use crate::cgroup::{self, Version};
use crate::read_text;

/// Limits at least as large as this are how version 1 says that there is none.
const NO_LIMIT: u64 = 1 << 60;

/// The cgroup that leaves the process the least memory.
///
/// ```
/// use actinium_topology::MemoryLimit;
///
/// if let Some(limit) = MemoryLimit::of_this_process() {
///     println!("{} bytes are left of {}: {}", limit.left_bytes(), limit.limit_bytes, limit.file.display());
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryLimit {
    /// How much the cgroup may use.
    pub limit_bytes: u64,
    /// How much it uses and could not give back at once: without cached files that nobody used
    /// lately.
    pub used_bytes: u64,
    /// The file that says so.
    pub file: PathBuf,
}

impl MemoryLimit {
    /// Looks at the cgroups of this process, in version 1 and version 2. None if none sets a limit,
    /// or none can be seen.
    #[must_use]
    pub fn of_this_process() -> Option<MemoryLimit> {
        read(Path::new("/proc/self"), Path::new("/"))
    }

    /// How much of the limit is left.
    #[must_use]
    pub fn left_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.used_bytes)
    }
}

/// The same, of the process whose `/proc` folder this is; mount points are looked up under `root`.
pub(crate) fn read(process: &Path, root: &Path) -> Option<MemoryLimit> {
    let folders = cgroup::usual_folders(process, root, "memory");
    let folders = folders.unwrap_or_else(|| cgroup::folders(process, root, "memory"));
    let limits = folders.into_iter().filter_map(|(version, folder)| limit_in(version, &folder));
    limits.min_by_key(MemoryLimit::left_bytes)
}

fn limit_in(version: Version, folder: &Path) -> Option<MemoryLimit> {
    let (limit, used, cached) = match version {
        Version::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        Version::V2 => ("memory.max", "memory.current", "inactive_file"),
    };
    let number = |name: &str| read_text(folder.join(name)).ok()?.trim().parse().ok();
    // `max` is no number, and no limit.
    let limit_bytes: u64 = number(limit).filter(|&limit| limit < NO_LIMIT)?;
    let stat = read_text(folder.join("memory.stat")).unwrap_or_default();
    let cached: u64 = stat
        .lines()
        .find_map(|line| line.strip_prefix(cached)?.strip_prefix(' ')?.trim().parse().ok())
        .unwrap_or(0);
    let used_bytes = number(used).unwrap_or(0_u64).saturating_sub(cached);
    Some(MemoryLimit { limit_bytes, used_bytes, file: folder.join(limit) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    fn found(cgroup: &str, mountinfo: &str, files: &[(&str, &str)]) -> Option<(u64, String)> {
        let folder = Folder::new();
        folder.write("proc/cgroup", cgroup);
        folder.write("proc/mountinfo", mountinfo);
        for (path, text) in files {
            folder.write(&format!("sys/fs/cgroup/{path}"), text);
        }
        let limit = read(&folder.path().join("proc"), folder.path())?;
        let file = limit.file.strip_prefix(folder.path().join("sys/fs/cgroup")).unwrap();
        Some((limit.left_bytes(), file.display().to_string()))
    }

    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const V1: &str = "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    #[test]
    fn version_2_counts_what_can_not_be_given_back() {
        let files = [
            ("a/memory.max", "1000\n"),
            ("a/memory.current", "700\n"),
            ("a/memory.stat", "anon 400\nactive_file 100\ninactive_file 200\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "600\n"),
        ];
        assert_eq!(found("0::/a/b\n", V2, &files), Some((500, "a/memory.max".to_owned())));
        assert_eq!(found("0::/z\n", V2, &files), None);
    }

    #[test]
    fn version_1_says_no_limit_by_a_huge_one() {
        let files = [
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/x/memory.limit_in_bytes", "4096\n"),
            ("memory/x/memory.usage_in_bytes", "5000\n"),
        ];
        let expected = Some((0, "memory/x/memory.limit_in_bytes".to_owned()));
        assert_eq!(found("4:memory:/x\n", V1, &files), expected);
        assert_eq!(found("4:memory:/\n", V1, &files), None);
    }

    #[test]
    fn what_is_mounted_as_usual_is_found_without_the_list_of_mounts() {
        let v2 = [("a/b/cgroup.procs", ""), ("a/memory.max", "1000"), ("a/memory.current", "1")];
        assert_eq!(found("0::/a/b\n", "", &v2), Some((999, "a/memory.max".to_owned())));
        let v1 = [
            ("memory/x/cgroup.procs", ""),
            ("memory/x/memory.limit_in_bytes", "4096"),
            ("memory/x/memory.usage_in_bytes", "96"),
            // Another hierarchy's, which is not about memory.
            ("memory.max", "1"),
        ];
        let expected = Some((4000, "memory/x/memory.limit_in_bytes".to_owned()));
        assert_eq!(found("4:memory:/x\n0::/\n", "", &v1), expected);
        // Not there under its name, or beside what is to be seen: only the list of mounts can say.
        assert_eq!(found("0::/c\n", "", &v2), None);
        assert_eq!(found("0::/../a/b\n", "", &v2), None);
        let below = "31 23 0:28 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let seen = [("b/memory.max", "500"), ("b/memory.current", "100")];
        assert_eq!(found("0::/a/b\n", below, &seen), Some((400, "b/memory.max".to_owned())));
    }

    #[test]
    fn the_one_that_leaves_least_counts() {
        let files = [
            ("memory.max", "5000"),
            ("memory.current", "4900"),
            ("a/memory.max", "1000"),
            ("a/memory.current", "100"),
        ];
        assert_eq!(found("0::/a\n", V2, &files), Some((100, "memory.max".to_owned())));
    }
}
