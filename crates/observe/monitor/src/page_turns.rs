//! Where the time went: types of actors by the time of their turns, and how long these took.

use crate::recording::{Recording, TypeTurns};
use actinium_observe::Latency;
use actinium_observe::number::percent;
use actinium_report::html::{Bar, Bars, Column, Section, Table, Unit, Value};
use std::collections::BTreeMap;

/// Types whose turns are drawn by the time that they took.
const DRAWN: usize = 4;

impl Recording {
    /// The section about turns.
    pub(crate) fn turns(&self) -> Section {
        let section = Section::new("Turns").text(
            "Where the workers' time went, and how long messages waited for it. Estimated from a \
             sample of the turns and of the messages.",
        );
        if self.turns.is_empty() {
            return section.text("The recording has no turns.");
        }
        let all_ns = sum(self.turns.iter().map(|it| it.busy_ns));
        let bars = self.turns.iter().map(|it| {
            let share = percent(it.busy_ns as f64 / all_ns.max(1) as f64);
            Bar::new(it.short_name(), it.busy_ns as f64 * 1e-9).detail(share)
        });
        let section = section
            .chart(
                Bars::new("Types by time", Unit::Seconds, bars.collect())
                    .note("The time of all turns of all actors of a type."),
            )
            .chart(self.turns_table());
        let section = match self.messages_table() {
            Some(table) => section.chart(table),
            None => section,
        };
        self.turns.iter().take(DRAWN).fold(section, |section, it| section.chart(distribution(it)))
    }

    fn turns_table(&self) -> Table {
        let columns = vec![
            Column::text("type"),
            Column::number("turns", Unit::Count),
            Column::number("messages", Unit::Count),
            Column::number("bytes", Unit::Bytes),
            Column::number("turn, median", Unit::Seconds),
            Column::number("99 %", Unit::Seconds),
            Column::number("longest", Unit::Seconds),
            Column::number("wait, median", Unit::Seconds),
            Column::number("99 %", Unit::Seconds),
        ];
        let table = Table::new("Turns and waiting times by types", columns);
        self.turns.iter().fold(table, |table, it| {
            let (turn, wait) = (latency(&it.turn_ns), latency(&it.wait_ns));
            table.row(vec![
                it.kind.as_str().into(),
                it.turns.into(),
                it.handled.into(),
                it.bytes.into(),
                quantile(&turn, 0.5),
                quantile(&turn, 0.99),
                quantile(&turn, 1.0),
                quantile(&wait, 0.5),
                quantile(&wait, 0.99),
            ])
        })
    }

    fn messages_table(&self) -> Option<Table> {
        let columns = vec![
            Column::text("type"),
            Column::text("message"),
            Column::number("messages", Unit::Count),
            Column::number("wait, mean", Unit::Seconds),
        ];
        let table = Table::new("Messages by what they are", columns)
            .note("Of actors that name their messages, as those of #[actor] do.");
        let rows = self.turns.iter().flat_map(|it| it.messages.iter().map(move |of| (it, of)));
        let mut rows = rows.peekable();
        rows.peek()?;
        Some(rows.fold(table, |table, (it, of)| {
            let mean_s = of.wait_ns as f64 / of.handled.max(1) as f64 * 1e-9;
            let (kind, name) = (it.kind.as_str(), of.name.as_str());
            table.row(vec![kind.into(), name.into(), of.handled.into(), mean_s.into()])
        }))
    }
}

/// How many turns of a type took how long, in steps of doubled time.
fn distribution(it: &TypeTurns) -> Bars {
    let mut powers = BTreeMap::<u32, u64>::new();
    for &(ns, turns) in &it.turn_ns {
        let power = powers.entry(ns.max(1).ilog2()).or_default();
        *power = power.saturating_add(turns);
    }
    let all = sum(powers.values().copied());
    let show = |power: u32| Unit::Seconds.show((1u64 << power) as f64 * 1e-9);
    let bars = powers.iter().map(|(&power, &turns)| {
        let to = power.saturating_add(1).min(63);
        Bar::new(format!("{} to {}", show(power), show(to)), turns as f64)
            .detail(percent(turns as f64 / all.max(1) as f64))
    });
    Bars::new(format!("Turns of {} by their time", it.short_name()), Unit::Count, bars.collect())
        .note("Those of most turns first.")
}

fn latency(buckets: &[(u64, u64)]) -> Latency {
    // No more than what a file of any content can not make overflow.
    Latency::from_buckets(buckets.iter().map(|&(ns, count)| (ns, count.min(1 << 40))))
}

fn quantile(latency: &Latency, share: f64) -> Value {
    if latency.is_empty() {
        return Value::Missing;
    }
    (latency.quantile_ns(share) as f64 * 1e-9).into()
}

/// The sum of what a file may say.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}
