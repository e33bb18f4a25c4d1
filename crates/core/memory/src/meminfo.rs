//! The kernel's figures about memory: the machine's, or a node's.

use actinium_topology::read_text;

use crate::sys;

/// The text of `/proc/meminfo`, or of a node's, whose lines begin with `Node 0 ` in addition.
#[derive(Debug)]
pub(crate) struct Meminfo(String);

impl Meminfo {
    pub(crate) fn of_machine() -> Option<Self> {
        read_text("/proc/meminfo").ok().map(Meminfo)
    }

    /// Reads the figures of a node; those of the machine for node 0 of a kernel that has no files
    /// for nodes.
    pub(crate) fn of_node(node: u32) -> Option<Self> {
        let file = format!("/sys/devices/system/node/node{node}/meminfo");
        match read_text(file) {
            Ok(text) => Some(Meminfo(text)),
            Err(_) => (node == 0).then(Self::of_machine).flatten(),
        }
    }

    /// A line's value; most are in kB.
    pub(crate) fn bytes(&self, name: &str) -> Option<u64> {
        let mut lines = self.0.lines();
        let value = lines.find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.rsplit(' ').next() == Some(name)).then_some(value)
        })?;
        let mut words = value.split_whitespace();
        let number: u64 = words.next()?.parse().ok()?;
        if words.next() == Some("kB") { number.checked_mul(1024) } else { Some(number) }
    }

    /// Bytes that could be had now without swapping. The machine's kernel says so itself; of a
    /// node, it is what is free, and half of the cached files and of what else can be reclaimed,
    /// less a sixty-fourth that the kernel keeps for emergencies.
    pub(crate) fn available_bytes(&self) -> u64 {
        let bytes = |name| self.bytes(name).unwrap_or(0);
        self.bytes("MemAvailable").unwrap_or_else(|| {
            let cached = bytes("Active(file)") + bytes("Inactive(file)") + bytes("SReclaimable");
            (bytes("MemFree") + cached / 2).saturating_sub(bytes("MemTotal") / 64)
        })
    }
}

/// Bytes of this process that are in memory, without pools' pages; None if the kernel does not say.
pub(crate) fn resident_bytes() -> Option<u64> {
    let pages = read_text("/proc/self/statm").ok()?.split(' ').nth(1)?.parse::<u64>().ok()?;
    Some(pages * sys::base_page_bytes() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_s_lines_and_the_machine_s() {
        let node = Meminfo(
            "Node 1 MemTotal:  6400 kB\nNode 1 MemFree:  1000 kB\nNode 1 Active(file): 20 kB\n\
             Node 1 SReclaimable: 40 kB\nNode 1 HugePages_Free:    7\n"
                .to_owned(),
        );
        assert_eq!(node.bytes("MemTotal"), Some(6400 << 10));
        assert_eq!(node.bytes("HugePages_Free"), Some(7));
        assert_eq!(node.bytes("Free"), None);
        assert_eq!(node.available_bytes(), (1000 + 30 - 100) << 10);
        let machine = Meminfo("MemFree: 1 kB\nMemAvailable: 3 kB\n".to_owned());
        assert_eq!(machine.available_bytes(), 3 << 10);
    }

    #[test]
    fn this_machine_has_memory() {
        let machine = Meminfo::of_machine().expect("Linux has this file");
        assert!(machine.available_bytes() > 0);
        assert!(machine.bytes("MemTotal") >= Some(machine.available_bytes()));
    }
}
