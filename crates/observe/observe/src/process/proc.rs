//! Reads what `/proc` says of this process and its machine: memory, threads, names.

/// The most memory that this process has ever had in RAM; 0 if Linux does not say.
#[must_use]
pub fn memory_max_bytes() -> u64 {
    let kib = status("VmHWM:");
    kib.unwrap_or(0) * 1_024
}

/// The memory that this process has in RAM; 0 if Linux does not say.
#[must_use]
pub fn memory_bytes() -> u64 {
    status("VmRSS:").unwrap_or(0) * 1_024
}

/// How many threads this process has; 0 if Linux does not say.
#[must_use]
pub fn threads() -> u64 {
    status("Threads:").unwrap_or(0)
}

fn status(key: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The name of the machine that it runs on; empty if Linux does not say.
#[must_use]
pub fn host() -> String {
    line("/proc/sys/kernel/hostname")
}

/// Which machine that is: two processes with the same value have the same CPUs, whatever their
/// hosts are called. Empty if Linux does not say.
#[must_use]
pub fn machine() -> String {
    line("/proc/sys/kernel/random/boot_id")
}

fn line(file: &str) -> String {
    std::fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_a_thread() {
        assert!(memory_max_bytes() > 1 << 16);
        assert!(threads() >= 1 && memory_bytes() > 1 << 16);
    }
}
