//! The CPU time that the process's cgroups grant, as containers set it; and where its cgroups are,
//! for whoever looks for another limit.
//!
//! `/proc/self/cgroup` says in which cgroups the process is, `/proc/self/mountinfo` where they are
//! to be seen. A limit may stand in the process's own cgroup or in any above it, and in version 1
//! and version 2 of cgroups: the smallest counts.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::read_text;

/// CPU time that a cgroup grants: so much in each period, of all PUs together.
///
/// ```
/// use actinium_topology::Quota;
///
/// let quota = Quota::new(150_000, 100_000);
/// assert_eq!(quota.cpus(), 1.5);
/// assert_eq!(quota.whole_cpus(), 2);
/// assert_eq!(quota.to_string(), "1.5 CPUs");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    quota_us: u64,
    period_us: u64,
    file: Option<PathBuf>,
}

impl Quota {
    /// A quota of `quota_us` microseconds of CPU time in each period of `period_us` microseconds. A
    /// period of 0 counts as 1.
    #[must_use]
    pub fn new(quota_us: u64, period_us: u64) -> Quota {
        Quota { quota_us, period_us: period_us.max(1), file: None }
    }

    /// The CPUs that this keeps busy, on average.
    #[must_use]
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }

    /// The same, rounded up; at least 1.
    #[must_use]
    pub fn whole_cpus(&self) -> usize {
        let whole = self.quota_us.div_ceil(self.period_us).max(1);
        usize::try_from(whole).unwrap_or(usize::MAX)
    }

    /// The CPU time in each period.
    #[must_use]
    pub fn quota_us(&self) -> u64 {
        self.quota_us
    }

    /// The period.
    #[must_use]
    pub fn period_us(&self) -> u64 {
        self.period_us
    }

    /// The file that says so.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether this grants less than that.
    fn is_below(&self, other: &Quota) -> bool {
        let cross = |a: &Quota, b: &Quota| u128::from(a.quota_us) * u128::from(b.period_us);
        cross(self, other) < cross(other, self)
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.cpus() * 100.0).round() / 100.0;
        let plural = if hundredths == 1.0 { "" } else { "s" };
        write!(f, "{hundredths} CPU{plural}")?;
        match &self.file {
            Some(file) => write!(f, " ({})", file.display()),
            None => Ok(()),
        }
    }
}

impl Serialize for Quota {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Quota", 4)?;
        fields.serialize_field("quota_us", &self.quota_us)?;
        fields.serialize_field("period_us", &self.period_us)?;
        fields.serialize_field("cpus", &self.cpus())?;
        fields.serialize_field("file", &self.file)?;
        fields.end()
    }
}

/// The smallest quota found, and what could not be understood.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) quota: Option<Quota>,
    pub(crate) warnings: Vec<String>,
}

/// Reads the quota of the process whose `/proc` folder this is; mount points are looked up under
/// `root`.
pub(crate) fn read(process: &Path, root: &Path) -> Found {
    let mut found = Found::default();
    for (version, folder) in folders(process, root, "cpu") {
        let Some(quota) = version.quota_in(&folder, &mut found.warnings) else { continue };
        if found.quota.as_ref().is_none_or(|old| quota.is_below(old)) {
            found.quota = Some(quota);
        }
    }
    found
}

/// The folders of the cgroups that may limit what this controller hands out to the process: its own
/// and all above it.
pub(crate) fn folders(process: &Path, root: &Path, controller: &str) -> Vec<(Version, PathBuf)> {
    let text = |name| read_text(process.join(name)).unwrap_or_default();
    let (cgroups, mounts) = (text("cgroup"), text("mountinfo"));
    let mut folders = Vec::new();
    for mount in mounts.lines().filter_map(|line| Mount::parse(line, controller)) {
        let path = cgroups.lines().find_map(|line| mount.version.path_in(line, controller));
        let Some(path) = path else { continue };
        folders.extend(mount.walk_up(path, root).map(|folder| (mount.version, folder)));
    }
    folders
}

/// The same, if the hierarchy is where distributions mount it, whole: the list of all mounts takes
/// the kernel as long as everything else that a program asks it at its start. None if it is not
/// there.
pub(crate) fn usual_folders(
    process: &Path,
    root: &Path,
    controller: &str,
) -> Option<Vec<(Version, PathBuf)>> {
    let cgroups = read_text(process.join("cgroup")).ok()?;
    let path_in = |version: Version| {
        let path = cgroups.lines().find_map(|line| version.path_in(line, controller))?;
        Some((version, path))
    };
    let (version, path) = path_in(Version::V1).or_else(|| path_in(Version::V2))?;
    let point = match version {
        Version::V1 => Path::new("/sys/fs/cgroup").join(controller),
        Version::V2 => "/sys/fs/cgroup".into(),
    };
    let mount = Mount { version, top: "/".into(), point };
    // The first is the process's own cgroup: if it is there under this name, it is this.
    let folders: Vec<_> = mount.walk_up(path, root).map(|folder| (version, folder)).collect();
    let depth = Path::new(path).components().filter(|part| matches!(part, Component::Normal(_)));
    let is_whole = folders.len() == depth.count() + 1;
    (is_whole && folders.first()?.1.join("cgroup.procs").exists()).then_some(folders)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Version {
    V1,
    V2,
}

impl Version {
    /// The cgroup in a line of `/proc/self/cgroup`, if the line speaks about this version's
    /// controller: `4:cpu,cpuacct:/a/b` or `0::/a/b`.
    fn path_in<'a>(self, line: &'a str, controller: &str) -> Option<&'a str> {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let matches = match self {
            Version::V1 => controllers.split(',').any(|name| name == controller),
            Version::V2 => number == "0" && controllers.is_empty(),
        };
        matches.then_some(path)
    }

    fn quota_in(self, folder: &Path, warnings: &mut Vec<String>) -> Option<Quota> {
        let read = |name: &str| {
            let file = folder.join(name);
            // A file that is not there sets no limit: the root cgroup has none.
            let text = read_text(&file).ok()?;
            Some((file, text.trim().to_owned()))
        };
        let (file, quota, period) = match self {
            Version::V1 => {
                let (file, quota) = read("cpu.cfs_quota_us")?;
                (file, quota, read("cpu.cfs_period_us")?.1)
            }
            Version::V2 => {
                let (file, text) = read("cpu.max")?;
                let (quota, period) = text.split_once(' ').unwrap_or((&text, "100000"));
                (file, quota.to_owned(), period.to_owned())
            }
        };
        if quota == "max" || quota == "-1" {
            return None;
        }
        match (quota.parse(), period.parse()) {
            (Ok(quota_us), Ok(period_us)) if quota_us > 0 && period_us > 0 => {
                Some(Quota { file: Some(file), ..Quota::new(quota_us, period_us) })
            }
            _ => {
                warnings.push(format!(
                    "{}: '{quota}' in '{period}' us is no CPU quota: no limit is assumed",
                    file.display()
                ));
                None
            }
        }
    }
}

/// A mounted hierarchy of cgroups.
#[derive(Debug, PartialEq)]
struct Mount {
    version: Version,
    /// The cgroup that is to be seen at `point`.
    top: PathBuf,
    point: PathBuf,
}

impl Mount {
    /// `36 35 98:0 /top /point rw,noatime shared:1 - cgroup2 cgroup rw`: before the dash any number
    /// of optional fields.
    fn parse(line: &str, controller: &str) -> Option<Mount> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (top, point) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let version = match kind.next()? {
            "cgroup2" => Version::V2,
            "cgroup" if kind.nth(1)?.split(',').any(|name| name == controller) => Version::V1,
            _ => return None,
        };
        Some(Mount { version, top: unescape(top), point: unescape(point) })
    }

    /// The folder of this cgroup and of each above it that is to be seen, under `root`.
    fn walk_up(&self, path: &str, root: &Path) -> impl Iterator<Item = PathBuf> {
        let point = root.join(self.point.strip_prefix("/").unwrap_or(&self.point));
        // A cgroup outside of what is mounted (in a container: beside or above it) can not be seen:
        // begin at the mount.
        let below = Path::new(path).strip_prefix(&self.top).ok();
        let below =
            below.filter(|path| path.components().all(|c| matches!(c, Component::Normal(_))));
        let below: Vec<PathBuf> =
            below.unwrap_or(Path::new("")).ancestors().map(Path::to_owned).collect();
        below.into_iter().map(move |folder| point.join(folder))
    }
}

/// Blanks and the like stand as `\040` there.
fn unescape(text: &str) -> PathBuf {
    let mut parts = text.split('\\');
    let mut path = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|code| u8::from_str_radix(code, 8).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                path.push(code.into());
                path.push_str(&part[3..]);
            }
            None => {
                path.push('\\');
                path.push_str(part);
            }
        }
    }
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const V1: &str = "\
        25 23 0:22 / /proc rw - proc proc rw\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        33 31 0:30 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n";

    fn found(cgroup: &str, mountinfo: &str, files: &[(&str, &str)]) -> (Option<String>, usize) {
        let folder = Folder::new();
        folder.write("proc/cgroup", cgroup);
        folder.write("proc/mountinfo", mountinfo);
        for (path, text) in files {
            folder.write(&format!("sys/fs/cgroup/{path}"), text);
        }
        let found = read(&folder.path().join("proc"), folder.path());
        let quota = found.quota.map(|quota| {
            let file = quota.file().unwrap().strip_prefix(folder.path()).unwrap();
            let file = file.strip_prefix("sys/fs/cgroup").unwrap();
            format!("{} {}", quota.cpus(), file.display())
        });
        (quota, found.warnings.len())
    }

    fn quota(cgroup: &str, mountinfo: &str, files: &[(&str, &str)]) -> Option<String> {
        let (quota, warnings) = found(cgroup, mountinfo, files);
        assert_eq!(warnings, 0);
        quota
    }

    #[test]
    fn version_2_the_smallest_on_the_way_up_wins() {
        let files = [
            ("cpu.max", "max 100000\n"),
            ("a/cpu.max", "150000 100000\n"),
            ("a/b/cpu.max", "400000 100000\n"),
            ("a/c/cpu.max", "1000 100000\n"),
        ];
        assert_eq!(quota("0::/a/b\n", V2, &files).unwrap(), "1.5 a/cpu.max");
        assert_eq!(quota("0::/a/b/x\n", V2, &files).unwrap(), "1.5 a/cpu.max");
        assert_eq!(quota("0::/z\n", V2, &files), None);
        assert_eq!(quota("0::/\n", V2, &files), None);
    }

    #[test]
    fn version_1() {
        let files = [
            ("cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("cpu,cpuacct/docker/cpu.cfs_quota_us", "50000\n"),
            ("cpu,cpuacct/docker/cpu.cfs_period_us", "25000\n"),
        ];
        let expected = "2 cpu,cpuacct/docker/cpu.cfs_quota_us";
        let own = "4:cpuset:/\n3:cpu,cpuacct:/docker/x\n0::/\n";
        assert_eq!(quota(own, V1, &files).unwrap(), expected);
        assert_eq!(quota("3:cpuset:/docker\n", V1, &files), None);
    }

    #[test]
    fn both_versions_at_once() {
        let files = [
            ("cpu,cpuacct/cpu.cfs_quota_us", "300000"),
            ("cpu,cpuacct/cpu.cfs_period_us", "100000"),
            ("cpu.max", "200000 100000"),
        ];
        let mounts = format!("{V1}{V2}");
        let own = "3:cpu,cpuacct:/\n0::/\n";
        assert_eq!(quota(own, &mounts, &files).unwrap(), "2 cpu.max");
    }

    #[test]
    fn a_container_sees_its_cgroup_as_the_top() {
        let bound = "31 23 0:28 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let files = [("cpu.max", "100000 100000"), ("y/cpu.max", "50000 100000")];
        assert_eq!(quota("0::/docker/x\n", bound, &files).unwrap(), "1 cpu.max");
        assert_eq!(quota("0::/docker/x/y\n", bound, &files).unwrap(), "0.5 y/cpu.max");
        // The process was moved out of what is mounted, or the mount is another container's.
        for path in ["0::/docker\n", "0::/../z\n", "0::/docker/x/../..\n"] {
            assert_eq!(quota(path, bound, &files).unwrap(), "1 cpu.max");
        }
    }

    #[test]
    fn what_makes_no_sense_is_no_limit_and_is_said() {
        for text in ["", "x 100000", "1 x", "0 100000", "100000 0", "-5 100000"] {
            let (quota, warnings) = found("0::/\n", V2, &[("cpu.max", text)]);
            assert_eq!((quota, warnings), (None, 1), "{text:?}");
        }
        let without_period = [("cpu.max", "300000")];
        assert_eq!(quota("0::/\n", V2, &without_period).unwrap(), "3 cpu.max");
    }

    #[test]
    fn without_cgroups_there_is_no_limit() {
        assert_eq!(read(Path::new("/nowhere"), Path::new("/")), Found::default());
        for garbage in ["", "- - -", " - cgroup2", "a b c d e - cgroup x", "\u{0}"] {
            assert_eq!(found(garbage, garbage, &[]), (None, 0));
        }
    }

    #[test]
    fn escapes_in_mount_points() {
        assert_eq!(unescape(r"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape(r"/a\9\"), Path::new(r"/a\9\"));
    }
}
