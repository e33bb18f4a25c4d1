//! Spans in lanes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::Unit;
use super::escape::rounded;
use super::frame::{described, figure, plot, values};
use actinium_observe::number;

/// The most spans that one chart embeds: about 1 MB.
const SPANS_MAX: usize = 20_000;
/// Spans of a lane that overlap stand below each other, in at most this many rows.
const ROWS_MAX: usize = 12;
/// More lanes than this cannot be told apart.
const LANES_MAX: usize = 512;

/// One activity in a lane, from its begin to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The index of the span's lane, counted from 0.
    pub lane: usize,
    /// The time at which the activity began.
    pub start_s: f64,
    /// The time at which the activity ended.
    pub end_s: f64,
    /// The name of the activity, such as a module.
    pub label: String,
    /// The group that gives the span its colour: an event, a state. The legend shows the groups
    /// that took longest. With more than 24 groups, colours repeat and there is no legend.
    pub kind: String,
    /// More about it, shown under the pointer.
    pub detail: String,
}

/// Spans in lanes over time: which worker ran which module when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gantt {
    /// The heading.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// The lanes' names, from the top.
    pub lanes: Vec<String>,
    /// The spans, in any order. Of more than 20,000 the latest are shown.
    pub spans: Vec<Span>,
    /// Charts with the same name share their time axis; empty for none.
    pub link: String,
}

described!(Gantt);

impl Gantt {
    /// A chart of these lanes.
    #[must_use]
    pub fn new(title: impl Into<String>, lanes: Vec<String>, spans: Vec<Span>) -> Self {
        Gantt { title: title.into(), lanes, spans, ..Gantt::default() }
    }

    /// Shares the time axis with all charts of this name.
    #[must_use]
    pub fn link(mut self, link: impl Into<String>) -> Self {
        self.link = link.into();
        self
    }

    pub(super) fn render(&self, id: &str, html: &mut String) -> Json {
        figure(html, id, "gantt", &self.title, &self.note);
        plot(html, id);
        let lanes = &self.lanes[..self.lanes.len().min(LANES_MAX)];
        let mut spans: Vec<&Span> =
            self.spans.iter().filter(|span| is_drawn(span, lanes)).collect();
        spans.sort_by(|a, b| a.start_s.total_cmp(&b.start_s).then(b.end_s.total_cmp(&a.end_s)));
        let early = spans.len().saturating_sub(SPANS_MAX);
        let shown = &spans[early..];
        values(
            html,
            &left_out(early, self.spans.len() - spans.len()),
            &["", "spans", "time", "longest"],
            lanes.iter().enumerate().map(|(lane, label)| {
                let lengths = || {
                    shown
                        .iter()
                        .filter(|span| span.lane == lane)
                        .map(|span| span.end_s - span.start_s)
                };
                let longest = Unit::Seconds.show(lengths().fold(f64::NAN, f64::max));
                let total = Unit::Seconds.show(lengths().sum());
                vec![label.clone(), number::count(lengths().count() as u64), total, longest]
            }),
        );
        html.push_str("</figure>\n");

        let (rows, of_lane) = stack(shown, lanes.len());
        let mut texts = Texts::default();
        let columns =
            |f: fn(&Span) -> f64| shown.iter().map(|s| rounded(f(s), 12)).collect::<Vec<_>>();
        let (start, length) = (columns(|s| s.start_s), columns(|s| s.end_s - s.start_s));
        let mut indices =
            |f: fn(&Span) -> &str| shown.iter().map(|s| texts.at(f(s))).collect::<Vec<_>>();
        let (label, kind, detail) =
            (indices(|s| &s.label), indices(|s| &s.kind), indices(|s| &s.detail));
        json!({
            "kind": "gantt", "link": self.link,
            "lanes": lanes.iter().zip(of_lane).map(|(label, rows)| json!({"label": label, "rows": rows}))
                .collect::<Vec<_>>(),
            "lane": shown.iter().map(|span| span.lane).collect::<Vec<_>>(),
            "row": rows, "start": start, "length": length, "label": label, "kinds": kind, "detail": detail,
            "texts": texts.all,
        })
    }
}

/// A span with a lane, two times and a length.
fn is_drawn(span: &Span, lanes: &[String]) -> bool {
    let finite = span.start_s.is_finite() && span.end_s.is_finite();
    finite && span.start_s <= span.end_s && span.lane < lanes.len()
}

fn left_out(early: usize, undrawn: usize) -> String {
    let mut texts = Vec::new();
    for (n, why) in [
        (early, "came before those that are shown"),
        (undrawn, "have no lane or no proper times, and are left out"),
    ] {
        if n > 0 {
            texts.push(format!("{} spans {why}.", number::count(n as u64)));
        }
    }
    texts.join(" ")
}

/// The row of each span in its lane, such that spans of one row do not overlap; and how many rows
/// each lane has.
fn stack(spans: &[&Span], lanes: usize) -> (Vec<usize>, Vec<usize>) {
    // For each lane and row, when its last span ends.
    let mut ends: Vec<Vec<f64>> = vec![Vec::new(); lanes];
    let mut rows = Vec::with_capacity(spans.len());
    for span in spans {
        let lane = &mut ends[span.lane];
        let free = lane.iter().position(|&end| end <= span.start_s);
        let row = free.unwrap_or(lane.len()).min(ROWS_MAX - 1);
        match lane.get_mut(row) {
            Some(end) => *end = end.max(span.end_s),
            None => lane.push(span.end_s),
        }
        rows.push(row);
    }
    (rows, ends.iter().map(|lane| lane.len().max(1)).collect())
}

/// Every text once.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    known: BTreeMap<String, usize>,
}

impl Texts {
    fn at(&mut self, text: &str) -> usize {
        if let Some(&at) = self.known.get(text) {
            return at;
        }
        let at = self.all.len();
        self.all.push(text.to_owned());
        self.known.insert(text.to_owned(), at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(lane: usize, start_s: f64, end_s: f64) -> Span {
        Span { lane, start_s, end_s, ..Span::default() }
    }

    #[test]
    fn spans_that_overlap_stand_below_each_other() {
        let spans = [
            span(0, 0.0, 4.0),
            span(0, 1.0, 2.0),
            span(0, 2.0, 3.0),
            span(1, 2.0, 3.0),
            span(0, 4.0, 5.0),
        ];
        let (rows, of_lane) = stack(&spans.iter().collect::<Vec<_>>(), 3);
        assert_eq!(rows, [0, 1, 1, 0, 0]);
        assert_eq!(of_lane, [2, 1, 1]);

        let many: Vec<Span> = (0..100).map(|n| span(0, f64::from(n), 1_000.0)).collect();
        let (_, of_lane) = stack(&many.iter().collect::<Vec<_>>(), 1);
        assert_eq!(of_lane, [ROWS_MAX]);
    }

    #[test]
    fn what_cannot_be_drawn_is_counted() {
        let spans = vec![
            span(0, 0.0, 1.0),
            span(1, 0.0, 1.0),
            span(0, 2.0, 1.0),
            span(0, f64::NAN, 1.0),
            span(0, 0.0, f64::INFINITY),
        ];
        let mut html = String::new();
        let data = Gantt::new("t", vec!["w".into()], spans).render("c", &mut html);
        assert_eq!(data["start"], json!([0.0]));
        assert!(html.contains("4 spans have no lane or no proper times"), "{html}");
    }

    #[test]
    fn of_too_many_the_latest_are_shown() {
        let spans = (0..SPANS_MAX as u32 + 5).map(|n| span(0, f64::from(n), f64::from(n) + 1.0));
        let mut html = String::new();
        let data = Gantt::new("t", vec!["w".into()], spans.collect()).render("c", &mut html);
        assert_eq!(data["start"].as_array().expect("an array").len(), SPANS_MAX);
        assert_eq!(data["start"][0], json!(5.0));
        assert!(html.contains("5 spans came before"));
        assert_eq!(data["texts"], json!([""]));
    }
}
