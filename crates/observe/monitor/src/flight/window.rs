//! What is kept of the last seconds.

use super::document::{At, GraphFigures, Look, NodeFigures, RecordNow, Records, Walk};
use super::look::Lanes;
use actinium_actor::recording::WorkerRecords;
use std::collections::VecDeque;

/// Records that are kept of all workers together: about two megabytes of a document.
const RECORDS_MAX: usize = 1 << 14;

/// Looks that are kept, and at most twice as many where somebody asks again and again: twice what
/// the recorder takes by itself in ten seconds.
const KEPT_MAX: f64 = 400.0;

/// Things with their moments, of which those older than some seconds are forgotten.
#[derive(Debug)]
pub(super) struct Kept<T>(VecDeque<(f64, T)>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept(VecDeque::new())
    }
}

impl<T> Kept<T> {
    /// Adds the latest. It takes the place of the one before if that came so soon after those
    /// before it that there would be too many, however often somebody asks.
    pub(super) fn add(&mut self, at_s: f64, it: T, seconds: f64) {
        let last_but_one = self.0.len().checked_sub(2).and_then(|at| self.0.get(at));
        if last_but_one.is_some_and(|(then_s, _)| at_s - then_s < seconds / KEPT_MAX) {
            self.0.pop_back();
        }
        self.0.push_back((at_s, it));
        while self.0.front().is_some_and(|(then_s, _)| at_s - then_s > seconds) {
            self.0.pop_front();
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(f64, T)> {
        self.0.iter()
    }

    pub(super) fn latest(&self) -> Option<&T> {
        self.0.back().map(|(_, it)| it)
    }
}

/// The last seconds.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) looks: Kept<Look>,
    pub(super) walks: Kept<(Walk, Lanes)>,
    pub(super) graphs: Kept<Vec<GraphFigures>>,
    pub(super) nodes: Kept<Vec<NodeFigures>>,
    /// How long records were kept each time, and how many were lost.
    kept: Kept<(f64, u64)>,
    /// The records of each worker, with the moment at which they were taken.
    records: Vec<VecDeque<(f64, RecordNow)>>,
}

impl Window {
    /// Adds what workers have done, of which records were kept for `kept_s`.
    pub(super) fn add_records(
        &mut self,
        at_s: f64,
        kept_s: f64,
        taken: Vec<WorkerRecords>,
        seconds: f64,
    ) {
        let most = RECORDS_MAX / taken.len().max(1);
        self.records.resize_with(taken.len(), VecDeque::new);
        let mut lost = 0;
        for (kept, taken) in self.records.iter_mut().zip(taken) {
            lost += taken.lost;
            kept.extend(taken.records.iter().map(|record| (at_s, record.into())));
            let too_many = kept.len().saturating_sub(most);
            let old = kept.iter().take_while(|(then_s, _)| at_s - then_s > seconds).count();
            // What does not fit counts as lost, what is old does not.
            lost += too_many.saturating_sub(old) as u64;
            kept.drain(..too_many.max(old));
        }
        self.kept.add(at_s, (kept_s, lost), seconds);
    }

    /// The records as they go into a document.
    pub(super) fn records(&self, missing: Option<String>) -> Records {
        let records = |kept: &VecDeque<(f64, RecordNow)>| {
            kept.iter().map(|(_, record)| record.clone()).collect()
        };
        Records {
            workers: self.records.iter().map(records).collect(),
            kept_s: self.kept.iter().map(|(_, (kept_s, _))| kept_s).sum(),
            lost: self.kept.iter().map(|(_, (_, lost))| lost).sum(),
            missing,
        }
    }
}

/// Copies of what is kept, as they go into a document.
pub(super) fn with_moments<T: Clone>(kept: &Kept<T>) -> Vec<At<T>> {
    kept.iter().map(|(at_s, it)| At { at_s: *at_s, figures: it.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_actor::recording::{Act, Record};

    fn taken(records: usize, lost: u64) -> Vec<WorkerRecords> {
        let record = |n| Record { begin_ns: n as u64, took_ns: 0, act: Act::Sleep };
        vec![WorkerRecords { records: (0..records).map(record).collect(), lost }]
    }

    #[test]
    fn however_often_somebody_asks_there_are_only_so_many() {
        let mut kept = Kept::default();
        (0..100_000).for_each(|n| kept.add(f64::from(n) * 1e-3, n, 10.0));
        let count = kept.iter().count();
        assert!((100..=2 * KEPT_MAX as usize).contains(&count), "{count}");
        assert_eq!(kept.latest(), Some(&99_999));
    }

    #[test]
    fn what_is_old_is_forgotten_and_what_does_not_fit_is_counted() {
        let mut window = Window::default();
        window.add_records(0.0, 0.01, taken(5, 1), 10.0);
        window.add_records(5.0, 0.01, taken(RECORDS_MAX, 2), 10.0);
        let records = window.records(None);
        assert_eq!((records.workers[0].len(), records.lost), (RECORDS_MAX, 1 + 2 + 5));
        window.add_records(15.5, 0.01, taken(3, 0), 10.0);
        let records = window.records(None);
        assert_eq!((records.workers[0].len(), records.lost), (3, 0));
        assert!((records.kept_s - 0.01).abs() < 1e-9);
    }
}
