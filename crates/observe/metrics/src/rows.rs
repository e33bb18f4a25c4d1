//! Metrics of which each source has one series: graphs, and links of nodes.

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use std::fmt;

/// A metric of something that `T` describes.
pub(crate) struct Row<T> {
    /// Its name, without a suffix for unit or type.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) unit: Option<Unit>,
    /// [`MetricType::Counter`] or [`MetricType::Gauge`].
    pub(crate) kind: MetricType,
    pub(crate) of: fn(&T) -> u64,
}

/// A gauge that is a part of a whole, from 0 to 1. A source of which it is unknown has no series.
#[cfg(feature = "cluster")]
pub(crate) struct Ratio<T> {
    /// Its name, which ends with `_ratio`.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) of: fn(&T) -> Option<f64>,
}

/// Writes all series of these metrics; each source has these labels.
pub(crate) fn encode<T, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    rows: &[Row<T>],
    sources: &[([(&'static str, String); N], T)],
) -> fmt::Result {
    if sources.is_empty() {
        return Ok(());
    }
    for row in rows {
        let unit = row.unit.as_ref();
        let mut metric = encoder.encode_descriptor(row.name, row.help, unit, row.kind)?;
        for (labels, source) in sources {
            let mut one = metric.encode_family(labels)?;
            match row.kind {
                MetricType::Counter => {
                    super::system::count(&mut one, (row.of)(source))?;
                }
                _ => one.encode_gauge(&(row.of)(source))?,
            }
        }
    }
    Ok(())
}

/// Writes all series of these ratios; each source has these labels. A ratio that is unknown of all
/// sources is told by name only.
#[cfg(feature = "cluster")]
pub(crate) fn encode_ratios<T, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    ratios: &[Ratio<T>],
    sources: &[([(&'static str, String); N], T)],
) -> fmt::Result {
    if sources.is_empty() {
        return Ok(());
    }
    for Ratio { name, help, of } in ratios {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, source) in sources {
            if let Some(value) = of(source) {
                metric.encode_family(labels)?.encode_gauge(&value)?;
            }
        }
    }
    Ok(())
}
