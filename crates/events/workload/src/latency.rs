//! How long events took, on a page.

use actinium_events::RunSummary;
use actinium_observe::number::{nanoseconds, percent};
use actinium_report::html::{Bar, Bars, Section, Unit};
use std::collections::BTreeMap;

/// Most steps of the histogram; with more, two become one.
const STEPS_MAX: usize = 28;

/// The distribution of the times that events took; nothing, if these were not noted.
pub(crate) fn section(run: &RunSummary) -> Option<Section> {
    let latency = run.latency();
    if latency.is_empty() {
        return None;
    }
    let quantiles = latency.quantiles().quantiles_ns.named();
    let bars = quantiles.into_iter().map(|(name, ns)| Bar::new(name, ns as f64 * 1e-9));
    let quantiles = Bars::new("Quantiles", Unit::Seconds, bars.collect())
        .in_order()
        .note("Beside 90 % stands the time that 90 % of all events took at most.");
    let text = format!(
        "From the begin of an event, when the source has made it, to its end: waits, outputs and further attempts included. Mean {}, longest {}.",
        nanoseconds(latency.mean_ns()),
        nanoseconds(latency.max_ns() as f64)
    );
    Some(Section::new("Latency of events").text(text).chart(histogram(run)).chart(quantiles))
}

fn histogram(run: &RunSummary) -> Bars {
    let mut width = 0.125;
    let steps = loop {
        let steps = steps(&run.latency_buckets, width);
        if steps.len() <= STEPS_MAX {
            break steps;
        }
        width *= 2.0;
    };
    let all: u64 = steps.values().sum();
    // Steps without events between others are shown, so that the shape is that of the times.
    let (first, last) = (steps.keys().next().copied(), steps.keys().next_back().copied());
    let bars = first.zip(last).into_iter().flat_map(|(first, last)| first..=last).map(|step| {
        let events = steps.get(&step).copied().unwrap_or(0);
        let show = |step: i64| nanoseconds((step as f64 * width).exp2());
        Bar::new(format!("{} to {}", show(step), show(step + 1)), events as f64)
            .detail(percent(events as f64 / all as f64))
    });
    Bars::new("How many events took how long", Unit::Count, bars.collect()).in_order()
}

/// Events by the step that their time is in: so many of a doubling.
fn steps(buckets: &[(u64, u64)], width: f64) -> BTreeMap<i64, u64> {
    let mut steps = BTreeMap::new();
    for &(ns, events) in buckets {
        let step = ((ns.max(1) as f64).log2() / width).floor() as i64;
        let sum: &mut u64 = steps.entry(step).or_default();
        *sum = sum.saturating_add(events);
    }
    let (first, last) = (steps.keys().next().copied(), steps.keys().next_back().copied());
    for step in first.zip(last).into_iter().flat_map(|(first, last)| first..=last) {
        steps.entry(step).or_default();
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_has_all_events_and_a_bounded_number_of_steps() {
        let latency_buckets = (0..44).map(|bit| (1_u64 << bit, 10)).collect();
        let run = RunSummary { latency_buckets, ..RunSummary::default() };
        let bars = histogram(&run).bars;
        assert!((10..=STEPS_MAX).contains(&bars.len()), "{}", bars.len());
        assert_eq!(bars.iter().map(|bar| bar.value).sum::<f64>(), 440.0);
        let narrow = RunSummary { latency_buckets: vec![(1_000, 1), (1_500, 3)], ..run };
        let bars = histogram(&narrow).bars;
        assert!((4..9).contains(&bars.len()) && bars[1].value == 0.0, "{bars:?}");
        assert_eq!(bars.last().map(|bar| bar.detail.as_str()), Some("75.0 %"));
        assert!(section(&narrow).is_some() && section(&RunSummary::default()).is_none());
    }
}
