//! What may stand in a section, and the HTML that all charts share.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::escape::text;
use super::{Bars, Gantt, Grid, HeatMap, LineChart, Scaling, Table};

/// One component of a section.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Chart {
    /// Values over time.
    Lines(LineChart),
    /// Rows of colour over time.
    Heat(HeatMap),
    /// Rows by columns of colour.
    Grid(Grid),
    /// Spans in lanes.
    Gantt(Gantt),
    /// The largest of many.
    Bars(Bars),
    /// Measured against perfect scaling.
    Scaling(Scaling),
    /// Rows and columns.
    Table(Table),
}

macro_rules! into_chart {
    ($($variant:ident: $type:ty),*) => {
        $(impl From<$type> for Chart {
            fn from(chart: $type) -> Self {
                Chart::$variant(chart)
            }
        })*
    };
}
into_chart!(Lines: LineChart, Heat: HeatMap, Grid: Grid, Gantt: Gantt, Bars: Bars, Scaling: Scaling, Table: Table);

impl Chart {
    /// Appends the chart's HTML; answers with the data that the script draws, if it draws.
    pub(super) fn render(&self, id: &str, html: &mut String) -> Option<Json> {
        match self {
            Chart::Lines(chart) => Some(chart.render(id, html)),
            Chart::Heat(chart) => Some(chart.render(id, html)),
            Chart::Gantt(chart) => Some(chart.render(id, html)),
            Chart::Scaling(chart) => Some(chart.render(id, html)),
            Chart::Bars(chart) => {
                chart.render(id, html);
                None
            }
            Chart::Grid(chart) => {
                chart.render(id, html);
                None
            }
            Chart::Table(chart) => {
                chart.render(id, html);
                None
            }
        }
    }
}

/// The frame around every component: a figure with its title and note.
pub(super) fn figure(html: &mut String, id: &str, class: &str, title: &str, note: &str) {
    let _ = write!(
        html,
        "<figure class=\"chart {class}\" id=\"{id}\" aria-labelledby=\"{id}-title\">\
         <figcaption><h3 id=\"{id}-title\">{}</h3>",
        text(title)
    );
    if !note.is_empty() {
        let _ = write!(html, "<p class=\"note\">{}</p>", text(note));
    }
    html.push_str("</figcaption>\n");
}

/// Where the script draws, and a word for those who have none.
pub(super) fn plot(html: &mut String, id: &str) {
    let _ = writeln!(
        html,
        "<div class=\"plot\" id=\"{id}-plot\"><noscript>The chart needs JavaScript; its values are in the table.</noscript></div>"
    );
}

/// A chart's values as a table, closed until somebody wants them: the alternative for those who cannot see the chart.
pub(super) fn values(
    html: &mut String,
    caption: &str,
    headings: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) {
    html.push_str("<details class=\"values\"><summary>Values</summary>");
    if !caption.is_empty() {
        let _ = write!(html, "<p class=\"note\">{}</p>", text(caption));
    }
    html.push_str("<div class=\"scroll\"><table><thead><tr>");
    for (at, heading) in headings.iter().enumerate() {
        let class = if at == 0 { "" } else { " class=\"number\"" };
        let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", text(heading));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let _ = match at {
                0 => write!(html, "<th scope=\"row\">{}</th>", text(cell)),
                _ => write!(html, "<td class=\"number\">{}</td>", text(cell)),
            };
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div></details>\n");
}

/// The setters that every component has.
macro_rules! described {
    ($type:ty) => {
        impl $type {
            /// A sentence below the title: what one sees, how it was measured.
            #[must_use]
            pub fn note(mut self, note: impl Into<String>) -> Self {
                self.note = note.into();
                self
            }
        }
    };
}
pub(super) use described;
