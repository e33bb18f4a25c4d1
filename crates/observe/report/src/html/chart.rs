//! The charts and tables that a section can contain.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Bars, Diagram, Gantt, Grid, HeatMap, LineChart, Scaling, Table};

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
    /// A graph of modules.
    Diagram(Diagram),
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
into_chart!(Lines: LineChart, Heat: HeatMap, Grid: Grid, Gantt: Gantt, Bars: Bars, Diagram: Diagram, Scaling: Scaling, Table: Table);

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
            Chart::Diagram(chart) => {
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
