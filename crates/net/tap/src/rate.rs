//! So many in a second, and no more.

/// Lets through so many in each second: those that come first.
#[derive(Debug)]
pub(crate) struct Rate {
    per_s: u64,
    second: u64,
    used: u64,
}

impl Rate {
    pub(crate) fn new(per_s: u64) -> Self {
        Rate { per_s, second: 0, used: 0 }
    }

    /// Whether one may pass at this time, in nanoseconds.
    pub(crate) fn take(&mut self, now_ns: u64) -> bool {
        let second = now_ns / 1_000_000_000;
        if second != self.second {
            (self.second, self.used) = (second, 0);
        }
        let may = self.used < self.per_s;
        self.used += u64::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_its_share() {
        let mut rate = Rate::new(2);
        let taken = [0, 1, 2, 999_999_999, 1_000_000_000, 5_000_000_000].map(|ns| rate.take(ns));
        assert_eq!(taken, [true, true, false, false, true, true]);
        assert!(!Rate::new(0).take(7));
    }
}
