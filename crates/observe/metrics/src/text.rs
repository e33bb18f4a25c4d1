//! The two text formats that Prometheus reads.

use std::collections::BTreeSet;

/// The media type of OpenMetrics.
pub(crate) const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The media type of Prometheus' own format.
pub(crate) const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a client takes OpenMetrics, by its header `Accept`.
pub(crate) fn takes_openmetrics(accept: &str) -> bool {
    accept.split(',').any(|it| it.trim_start().starts_with("application/openmetrics-text"))
}

/// Rewrites OpenMetrics as Prometheus' own format. There a counter has `_total` in all its lines,
/// and there are neither units nor a mark of the end.
pub(crate) fn plain(openmetrics: &str) -> String {
    let counters: BTreeSet<&str> = openmetrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut plain = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines().filter(|it| !it.starts_with("# UNIT ") && *it != "# EOF") {
        let named = ["# HELP ", "# TYPE "].into_iter().find_map(|it| {
            let (name, rest) = line.strip_prefix(it)?.split_once(' ')?;
            counters.contains(name).then_some([it, name, "_total ", rest])
        });
        match named {
            Some(parts) => plain.extend(parts),
            None => plain.push_str(line),
        }
        plain.push('\n');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_suffix_in_the_plain_format() {
        let openmetrics = "# HELP a Help of a\n# TYPE a counter\n# UNIT a bytes\na_total{x=\"# EOF\"} 1\n\
                           # HELP b About # TYPE a\n# TYPE b gauge\nb 2\n# EOF\n";
        let expected = "# HELP a_total Help of a\n# TYPE a_total counter\na_total{x=\"# EOF\"} 1\n\
                        # HELP b About # TYPE a\n# TYPE b gauge\nb 2\n";
        assert_eq!(plain(openmetrics), expected);
    }

    #[test]
    fn openmetrics_is_for_those_that_ask_for_it() {
        assert!(takes_openmetrics("text/html, application/openmetrics-text;version=1.0.0;q=0.5"));
        assert!(!takes_openmetrics("*/*") && !takes_openmetrics(""));
    }
}
