//! The largest of many. Drawn by HTML alone: a bar is a box, and its label and value are text.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::Unit;
use super::frame::{described, figure};
use actinium_drawing::escaped;
use actinium_observe::number;

/// One bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// The text before the bar.
    pub label: String,
    /// The length of the bar.
    pub value: f64,
    /// More about it, shown small behind the value.
    pub detail: String,
}

impl Bar {
    /// A bar without detail.
    #[must_use]
    pub fn new(label: impl Into<String>, value: f64) -> Self {
        Bar { label: label.into(), value, detail: String::new() }
    }

    /// More about it.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }
}

/// The largest of many as horizontal bars, the longest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// The heading.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// The unit of the values.
    pub unit: Unit,
    /// The bars, in any order.
    pub bars: Vec<Bar>,
    /// How many are shown; the rest is one line.
    pub top: usize,
    /// Whether they stand in the order in which they were given, and all of them: the steps of a
    /// histogram.
    #[serde(default)]
    pub in_order: bool,
}

described!(Bars);

impl Bars {
    /// The 15 largest of these.
    #[must_use]
    pub fn new(title: impl Into<String>, unit: Unit, bars: Vec<Bar>) -> Self {
        Bars { title: title.into(), unit, bars, top: 15, ..Bars::default() }
    }

    /// How many are shown.
    #[must_use]
    pub fn top(mut self, top: usize) -> Self {
        self.top = top;
        self
    }

    /// Shows all, in the order in which they were given: the steps of a histogram.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.in_order = true;
        self
    }

    pub(super) fn render(&self, id: &str, html: &mut String) {
        figure(html, id, "bars half", &self.title, &self.note);
        let mut bars: Vec<&Bar> = self.bars.iter().collect();
        // Stable, so that equal ones stay in the caller's order; what is no number comes last.
        let size = |bar: &Bar| if bar.value.is_finite() { bar.value } else { f64::NEG_INFINITY };
        if !self.in_order {
            bars.sort_by(|a, b| size(b).total_cmp(&size(a)));
        }
        let top = if self.in_order { bars.len() } else { self.top.min(bars.len()) };
        let (shown, rest) = bars.split_at(top);
        let longest = shown.iter().map(|bar| size(bar)).fold(0.0, f64::max);
        if bars.is_empty() {
            html.push_str("<p class=\"empty\">No data</p>");
        }
        html.push_str("<ol class=\"bar-list\">");
        for bar in shown {
            let share = bar.value / longest * 100.0;
            let width = if share.is_finite() { share.clamp(0.0, 100.0) } else { 0.0 };
            let label = escaped(&bar.label);
            let _ = write!(
                html,
                "<li><span class=\"bar-label\" title=\"{label}\">{label}</span>\
                 <span class=\"bar-track\"><span class=\"bar-fill\" style=\"width:{width:.2}%\"></span></span>\
                 <span class=\"bar-value\">{}",
                escaped(&self.unit.show(bar.value))
            );
            if !bar.detail.is_empty() {
                let _ = write!(html, " <small>{}</small>", escaped(&bar.detail));
            }
            html.push_str("</span></li>\n");
        }
        html.push_str("</ol>");
        if !rest.is_empty() {
            let total: f64 =
                rest.iter().map(|bar| bar.value).filter(|value| value.is_finite()).sum();
            let _ = write!(
                html,
                "<p class=\"note\">and {} more, {} together</p>",
                number::count(rest.len() as u64),
                escaped(&self.unit.show(total))
            );
        }
        html.push_str("</figure>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(bars: Bars) -> String {
        let mut html = String::new();
        bars.render("c", &mut html);
        html
    }

    #[test]
    fn the_longest_comes_first_and_the_rest_is_counted() {
        let bars = (1..=20).map(|n| Bar::new(format!("m{n}"), f64::from(n))).collect();
        let html = html(Bars::new("t", Unit::Seconds, bars).top(2));
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} in {html}"));
        assert!(at(">m20<") < at(">m19<"));
        assert!(html.contains("width:100.00%") && html.contains("width:95.00%"));
        assert!(html.contains("and 18 more, 2.85 min together"), "{html}");
    }

    #[test]
    fn steps_stay_in_their_order() {
        let bars = (1..=20).map(|n| Bar::new(format!("m{n}"), f64::from(n))).collect();
        let html = html(Bars::new("t", Unit::Count, bars).in_order());
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} in {html}"));
        assert!(at(">m1<") < at(">m2<") && at(">m2<") < at(">m20<"));
        assert!(html.contains("width:100.00%") && html.contains("width:5.00%"));
    }

    #[test]
    fn odd_values_have_no_odd_width() {
        let bars = [f64::NAN, f64::INFINITY, -3.0, 0.0].map(|value| Bar::new("x", value));
        let html = html(Bars::new("t", Unit::Count, bars.to_vec()));
        assert_eq!(html.matches("width:0.00%").count(), 4);
        assert!(self::html(Bars::default()).contains("No data"));
    }
}
