//! The report for programs. Field names carry their units; what has no result is an object with
//! `error`.

use super::{Comparison, CostTable, Costs, Report};
use crate::benchmark::{Benchmark, Target};
use crate::callgrind::Counted;
use crate::harness::{Cost, Outcome};
use crate::runtime::Setup;
use serde_json::{Value, json};

/// Goes up when a field is renamed or removed, or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

impl Report {
    /// Everything, as one document.
    pub(crate) fn json(&self) -> String {
        let document = json!({
            "schema_version": SCHEMA_VERSION,
            "circumstances": self.circumstances,
            "quick": self.quick,
            "workers": self.workers,
            "times": self.times.as_ref().map(|times| compared(times, self.workers)),
            "policies": self.policies.as_ref().map(policies),
            "allocations": self.allocations.as_ref().map(|costs| counted(costs, allocations)),
            "instructions": self.instructions.as_ref().map(|costs| counted(costs, instructions)),
        });
        format!("{document:#}\n")
    }
}

fn compared(times: &Comparison, workers: usize) -> Value {
    let row = |(benchmark, outcomes): &(Benchmark, Vec<Outcome>)| {
        let mut row = described(*benchmark);
        row["results"] = results(times, outcomes);
        row["ratio"] = json!(times.ratio(*benchmark, outcomes, workers));
        row["ratio_of_best_runs"] = json!(times.ratio_of_best(*benchmark, outcomes, workers));
        row["target"] = match benchmark.target() {
            Target::Ratio(least) => json!({ "ratio_min": least }),
            Target::Bytes(most) => json!({ "bytes_max": most }),
            Target::None => Value::Null,
        };
        row["verdict"] =
            json!(times.verdict(*benchmark, outcomes, workers).map(|verdict| verdict.name()));
        row["scaling"] = json!(times.scaling(*benchmark, outcomes, workers));
        row["ratio_to_minimal"] = json!(times.to_minimal(outcomes));
        row["ratio_to_minimal_min"] = json!(benchmark.floor());
        row
    };
    times.rows.iter().map(row).collect()
}

fn policies(policies: &Comparison) -> Value {
    let row = |(benchmark, outcomes): &(Benchmark, Vec<Outcome>)| {
        let mut row = described(*benchmark);
        row["results"] = results(policies, outcomes);
        let best = policies.best(*benchmark, outcomes);
        row["best"] = json!(best.map(|best| &policies.setups[best].policy));
        row
    };
    policies.rows.iter().map(row).collect()
}

fn described(benchmark: Benchmark) -> Value {
    let unit = match benchmark.target() {
        Target::Ratio(_) | Target::None => format!("{} per second", benchmark.item()),
        Target::Bytes(_) => benchmark.item().to_owned(),
    };
    json!({ "benchmark": benchmark.name(), "what": benchmark.what(), "unit": unit })
}

fn results(comparison: &Comparison, outcomes: &[Outcome]) -> Value {
    let result = |(setup, outcome): (&Setup, &Outcome)| match outcome {
        Ok(runs) => on(setup, json!(runs)),
        Err(error) => on(setup, json!({ "error": error })),
    };
    comparison.setups.iter().zip(outcomes).map(result).collect()
}

/// A result, and where it was measured.
fn on(setup: &Setup, mut result: Value) -> Value {
    result["runtime"] = json!(setup.runtime.name());
    result["workers"] = json!(setup.workers);
    if setup.runtime == crate::runtime::Runtime::Actinium {
        result["policy"] = json!(setup.policy);
    }
    result
}

fn counted<T>(costs: &Costs<T>, show: impl Fn(&T) -> Value) -> Value {
    match costs {
        Ok(table) => table.rows(show),
        Err(reason) => json!({ "skipped": reason }),
    }
}

impl<T> CostTable<T> {
    fn rows(&self, show: impl Fn(&T) -> Value) -> Value {
        let result = |(setup, outcome): (&Setup, &Result<T, String>)| match outcome {
            Ok(cost) => on(setup, show(cost)),
            Err(error) => on(setup, json!({ "error": error })),
        };
        let row = |(benchmark, outcomes): &(Benchmark, Vec<Result<T, String>>)| {
            let results: Value = self.setups.iter().zip(outcomes).map(result).collect();
            json!({ "benchmark": benchmark.name(), "per": benchmark.part(), "results": results })
        };
        self.rows.iter().map(row).collect()
    }
}

fn allocations(cost: &Cost) -> Value {
    json!({ "allocations": cost.calls, "bytes": cost.bytes })
}

fn instructions(cost: &Counted) -> Value {
    json!({ "instructions": cost.instructions, "atomics": cost.atomics })
}

#[cfg(test)]
mod tests {
    use crate::report::tests::example;
    use serde_json::Value;

    #[test]
    fn the_document_says_what_was_measured() {
        let document: Value = serde_json::from_str(&example().json()).expect("it is JSON");
        assert_eq!(document["schema_version"], 1);
        assert_eq!(document["circumstances"]["date"], "2025-01-31");
        assert_eq!(document["policies"], Value::Null);
        let ring = &document["times"][0];
        assert_eq!((&ring["benchmark"], &ring["verdict"]), (&"ring".into(), &"pass".into()));
        assert_eq!(ring["target"]["ratio_min"], 3.0);
        assert_eq!(ring["results"][2]["runtime"], "tokio");
        assert_eq!(ring["results"][2]["runs"], 3);
        assert_eq!(document["times"][2]["target"]["bytes_max"], 256.0);
    }
}
