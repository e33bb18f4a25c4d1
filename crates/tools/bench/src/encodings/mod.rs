//! `binary` beside the fastest and smallest libraries that take serde's types: `cargo bench -p
//! actinium-bench -- --encodings`.
//!
//! The messages are those of `actinium wire bench`. Each library encodes into a buffer that is used
//! again (if it takes one), and decodes to a message that owns its memory or shares its frame's, as
//! a message for an actor has to. Libraries with a derive of their own are not here: what they say
//! can not be said in any other encoding.

mod libraries;
// The file itself: all else of that crate, and what it depends on, would take longer to build than
// the benchmarks.
#[expect(unreachable_pub, reason = "they are public there")]
#[path = "../../../lab/src/wire/messages.rs"]
mod messages;
mod timing;

use actinium_observe::number::decimal;
use actinium_report::{Column, Table};
use libraries::OURS;
use serde::{Deserialize, Serialize};
use timing::{Cost, Plan};

/// Most that `binary` may cost, over the fastest of the others.
const TIME_MAX: f64 = 1.1;
/// Most bytes that it may have, over that fastest one. What the smallest one has is said too.
const BYTES_MAX: f64 = 1.05;

/// Telemetry as it would be without [`actinium_wire::Numbers`].
#[derive(PartialEq, Serialize, Deserialize)]
struct Listed {
    source: u32,
    time_ns: u64,
    samples: Vec<f64>,
}

/// The tables; an error if a message does not come back as it was. Quickly, they say whether it
/// works, not how fast. To be slower than another library is no failure.
pub(crate) fn compare(quick: bool) -> Result<String, String> {
    measured(if quick { Plan::QUICK } else { Plan::THOROUGH })
}

fn measured(plan: Plan) -> Result<String, String> {
    let bulk = messages::telemetry();
    let listed = Listed {
        source: bulk.source,
        time_ns: bulk.time_ns,
        samples: bulk.samples.to_slice().into_owned(),
    };
    // Numbers in bulk are bytes to serde, those in a `Vec` a list: a library may be better at
    // either. Ours travel in bulk.
    let mut telemetry = libraries::costs(&bulk, "in bulk", plan)?;
    telemetry.extend(libraries::costs(&listed, "as a list", plan)?);
    telemetry.retain(|cost| cost.library != OURS || cost.how == "in bulk");

    let mut table = Table::new([
        Column::left("message"),
        Column::left("library"),
        Column::right("bytes"),
        Column::right("encode ns"),
        Column::right("decode ns"),
        Column::right("CPU / binary"),
        Column::right("bytes / binary"),
    ]);
    let mut verdicts = String::new();
    for (message, costs) in [
        ("control", libraries::costs(&messages::control(), "", plan)?),
        ("order", libraries::costs(&messages::order(), "", plan)?),
        ("telemetry", telemetry),
    ] {
        verdicts += &show(message, &costs, &mut table)?;
    }
    Ok(format!("{table}\n{verdicts}"))
}

/// Adds the rows of a message; returns the line that compares.
fn show(message: &str, costs: &[Cost], table: &mut Table) -> Result<String, String> {
    let ours = costs.iter().find(|cost| cost.library == OURS).ok_or("binary was not measured")?;
    for cost in costs {
        table.row([
            message.into(),
            name(cost).into(),
            cost.bytes.into(),
            decimal(cost.encode_ns, 1).into(),
            decimal(cost.decode_ns, 1).into(),
            decimal(cost.both_ns() / ours.both_ns(), 2).into(),
            decimal(cost.bytes as f64 / ours.bytes as f64, 3).into(),
        ]);
    }
    let others = || costs.iter().filter(|cost| cost.library != OURS);
    let fastest = others().min_by(|a, b| a.both_ns().total_cmp(&b.both_ns()));
    let smallest = others().min_by_key(|cost| cost.bytes);
    let (fastest, smallest) = fastest.zip(smallest).ok_or("there is nothing to compare with")?;
    let time = ours.both_ns() / fastest.both_ns();
    let bytes = ours.bytes as f64 / fastest.bytes as f64;
    let verdict = |value: f64, most| if value <= most { "pass" } else { "short" };
    Ok(format!(
        "{message}: {} × the time of {} (≤ {TIME_MAX}: {}), {} × its bytes (≤ {BYTES_MAX}: {}), {} × those of {}\n",
        decimal(time, 2),
        fastest.library,
        verdict(time, TIME_MAX),
        decimal(bytes, 3),
        verdict(bytes, BYTES_MAX),
        decimal(ours.bytes as f64 / smallest.bytes as f64, 3),
        smallest.library,
    ))
}

/// The name of a cost in the table.
fn name(cost: &Cost) -> String {
    let parts = [cost.library, cost.how];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(library: &'static str, bytes: usize, both_ns: f64) -> Cost {
        Cost { library, how: "", bytes, encode_ns: both_ns / 2.0, decode_ns: both_ns / 2.0 }
    }

    fn table() -> Table {
        Table::new(["a", "b", "c", "d", "e", "f", "g"].map(Column::left))
    }

    #[test]
    fn the_fastest_other_library_is_the_measure() {
        let costs = [cost(OURS, 21, 12.0), cost("swift", 20, 10.0), cost("small", 10, 50.0)];
        let mut table = table();
        let line = show("control", &costs, &mut table).expect("there are others");
        assert_eq!(
            line,
            "control: 1.20 × the time of swift (≤ 1.1: short), 1.050 × its bytes (≤ 1.05: pass), 2.100 × those of small\n"
        );
        let table = table.to_string();
        assert!(["binary", "swift", "small"].iter().all(|name| table.contains(name)), "{table}");
    }

    #[test]
    fn without_another_library_there_is_nothing_to_compare_with() {
        let costs = [cost(OURS, 21, 12.0)];
        assert!(show("control", &costs, &mut table()).is_err());
    }
}
