//! Free runs of pages, by where they begin: neighbours are joined.

use std::collections::BTreeMap;
use std::ops::Range;

/// Free pages.
#[derive(Debug)]
pub(super) struct Runs(BTreeMap<u32, u32>);

impl Runs {
    pub(super) fn new(all: Range<u32>) -> Self {
        Runs(BTreeMap::from([(all.start, all.end - all.start)]))
    }

    /// Takes so many pages in a row, from the first run that has them. Low pages are used again
    /// before pages that were never touched.
    pub(super) fn take(&mut self, pages: u32) -> Option<u32> {
        debug_assert!(pages > 0, "a run of no pages stays free");
        let (&start, &len) = self.0.iter().find(|&(_, &len)| len >= pages)?;
        self.0.remove(&start);
        if len > pages {
            self.0.insert(start + pages, len - pages);
        }
        Some(start)
    }

    pub(super) fn give(&mut self, mut start: u32, mut pages: u32) {
        if let Some((&before, &len)) = self.0.range(..start).next_back()
            && before + len == start
        {
            self.0.remove(&before);
            (start, pages) = (before, len + pages);
        }
        if let Some(behind) = self.0.remove(&(start + pages)) {
            pages += behind;
        }
        self.0.insert(start, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_again() {
        let mut runs = Runs::new(10..20);
        let [a, b, c] = [3, 4, 2].map(|pages| runs.take(pages).unwrap());
        assert_eq!((a, b, c, runs.take(2)), (10, 13, 17, None));
        runs.give(b, 4);
        runs.give(a, 3);
        assert_eq!(runs.take(7), Some(10));
        runs.give(10, 7);
        runs.give(c, 2);
        assert_eq!(runs.0, BTreeMap::from([(10, 10)]));
    }
}
