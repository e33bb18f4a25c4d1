//! Joules, where the processor counts them and the system lets us read (RAPL).

use std::path::{Path, PathBuf};

/// The counters of all packages.
#[derive(Debug)]
pub struct Energy {
    /// Folder of each package, and what its counter was.
    packages: Vec<(PathBuf, u64)>,
}

impl Energy {
    /// Begins to count.
    ///
    /// # Errors
    /// Why there is nothing to count by, as a clause.
    pub fn begin() -> Result<Self, String> {
        Self::begin_in(Path::new("/sys/class/powercap"))
    }

    fn begin_in(folder: &Path) -> Result<Self, String> {
        let entries = std::fs::read_dir(folder)
            .map_err(|_| "the system has no counters of energy (no powercap)".to_owned())?;
        let mut packages = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            // Packages are called intel-rapl:0; their parts, which they contain, intel-rapl:0:0.
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("intel-rapl:") && name.matches(':').count() == 1 {
                let count = read(&path, "energy_uj")?;
                packages.push((path, count));
            }
        }
        match packages.is_empty() {
            true => Err("the system has no counters of energy (no RAPL)".to_owned()),
            false => Ok(Energy { packages }),
        }
    }

    /// Joules of all packages since it began, whatever else ran there.
    ///
    /// # Errors
    /// If a counter can not be read any more.
    pub fn joules(&self) -> Result<f64, String> {
        let mut microjoules = 0;
        for (path, before) in &self.packages {
            let now = read(path, "energy_uj")?;
            microjoules += match now.checked_sub(*before) {
                Some(more) => more,
                None => now + read(path, "max_energy_range_uj")?.saturating_sub(*before),
            };
        }
        Ok(microjoules as f64 / 1e6)
    }
}

fn read(folder: &Path, file: &str) -> Result<u64, String> {
    let text = std::fs::read_to_string(folder.join(file))
        .map_err(|error| format!("the counters of energy can not be read: {error}"))?;
    text.trim().parse().map_err(|_| format!("the counter {file} is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_packages_are_added_and_may_begin_anew() {
        let folder = std::env::temp_dir().join(format!("actinium-rapl-{}", std::process::id()));
        let set = |name: &str, count: u64| {
            let package = folder.join(name);
            std::fs::create_dir_all(&package).expect("it can be made");
            for (file, value) in [("energy_uj", count), ("max_energy_range_uj", 10_000_000)] {
                std::fs::write(package.join(file), format!("{value}\n")).expect("it is written");
            }
        };
        set("intel-rapl:0", 1_000_000);
        set("intel-rapl:1", 9_000_000);
        set("intel-rapl:0:0", 5);
        let energy = Energy::begin_in(&folder).expect("there are counters");
        set("intel-rapl:0", 3_500_000);
        set("intel-rapl:1", 500_000);
        assert_eq!(energy.joules(), Ok(4.0));
        std::fs::remove_dir_all(&folder).expect("it is ours");
        assert!(Energy::begin_in(&folder).is_err());
    }
}
