//! A report as one self-contained HTML page: figures, charts and tables that open from a disk,
//! without a network, in any browser of the last years.
//!
//! A caller fills plain structs and never writes HTML: a [`Page`] has headline [`Figure`]s,
//! settings and [`Section`]s; a section has charts. The page shows its figures and each chart's
//! values without JavaScript too; one small script draws the charts from data embedded as JSON.
//!
//! | component | shows |
//! |---|---|
//! | [`LineChart`] | values over time, as lines, steps or stacked areas; zoom, values under the pointer |
//! | [`HeatMap`] | one row per CPU, worker, ..., its value over time as colour |
//! | [`Grid`] | rows by columns, a value as colour |
//! | [`Gantt`] | thousands of spans in lanes; zoom, hover |
//! | [`Bars`] | the largest of many, longest first |
//! | [`Scaling`] | what was measured against perfect scaling |
//! | [`Diagram`] | a graph of modules |
//! | [`Table`] | rows that can be sorted and filtered |
//!
//! What cannot be drawn is left out and counted, never a reason to fail: a value that is NaN or
//! infinite is a gap, a chart without data says so. Long series are thinned before they are
//! embedded, and keep their mean and their extremes ([`downsample`]).
//!
//! ```
//! use actinium_report::html::{Figure, LineChart, Page, Section, Series, Unit};
//!
//! let threads = LineChart::new("Threads active", Unit::Count)
//!     .steps()
//!     .series(Series::new("busy", vec![(0.0, 1.0), (0.5, 2.0), (1.5, 0.0)]));
//! let page = Page::new("Reconstruction")
//!     .summary("100 events in 1.5 s")
//!     .figure(Figure::new("Throughput", "66.7 events/s").note("97 % of the ideal"))
//!     .setting("slots", 4)
//!     .section(Section::new("Threads").chart(threads));
//!
//! let html = page.html();
//! assert!(html.contains("66.7 events/s"));
//! ```

mod bars;
mod chart;
mod diagram;
mod downsample;
mod escape;
mod frame;
mod gantt;
mod grid;
mod heat;
mod lines;
pub mod load;
mod page;
mod scaling;
mod table;
mod unit;

pub use actinium_observe::file::{WriteError, writable};
pub use bars::{Bar, Bars};
pub use chart::Chart;
pub use diagram::Diagram;
pub use downsample::{Bucket, downsample};
pub use gantt::{Gantt, Span};
pub use grid::{Grid, GridRow};
pub use heat::{HeatMap, HeatRow};
pub use lines::{LineChart, Series};
pub use page::{COLOURS, Figure, Page, Section};
pub use scaling::{Scaling, ScalingCurve, ScalingPoint};
pub use table::{Column, Table, Value};
pub use unit::Unit;
