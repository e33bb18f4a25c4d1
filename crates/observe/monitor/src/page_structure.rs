//! The sections of a page about who supervises whom, and about what workers got from each other.

use crate::live::{ExchangeNow, PuPlace};
use crate::recording::Recording;
use actinium_report::html::{Column, Grid, GridRow, Section, Table, Unit, Value};

/// The most workers of which each pair has a cell.
const GRID_WORKERS: usize = 64;

/// What of an exchange is shown.
type Of = fn(&ExchangeNow) -> u64;

impl Recording {
    /// The tree of supervision.
    pub(crate) fn supervision(&self) -> Table {
        let tree = &self.structure.tree;
        let mut note = format!(
            "As it was after {}, with {} living actors. Each supervisor stands above its children.",
            Unit::Seconds.show(tree.at_s),
            tree.actors
        );
        if tree.left_out > 0 {
            note += &format!(" {} more at these places are not shown.", tree.left_out);
        }
        let columns = vec![
            Column::text("actor"),
            Column::text("name"),
            Column::number("children", Unit::Count),
        ];
        let table = Table::new("Supervision", columns).note(note);
        tree.members.iter().fold(table, |table, it| {
            let indent = "\u{2003}".repeat(it.level as usize);
            table.row(vec![
                format!("{indent}{} {}", it.kind, it.actor).into(),
                it.name.as_deref().map_or(Value::Missing, Into::into),
                it.children.into(),
            ])
        })
    }

    /// What workers got from each other, on the machine.
    pub(crate) fn exchanges(&self) -> Section {
        let text = "Actors that a worker took from another one's queue, and messages that came \
                    from worker to worker, in chunks. The farther the way, the colder the caches.";
        let section = Section::new("Between workers").text(text).chart(self.by_distance());
        let of: [(&str, Of); 2] = [
            ("Actors stolen, by thief and victim", |it| it.stolen),
            ("Chunks of messages, by receiver and sender", |it| it.chunks),
        ];
        of.into_iter().fold(section, |section, (title, of)| match self.workers.len() {
            // A grid of more would show nothing: the table by distance stands for it.
            workers if workers > GRID_WORKERS => section,
            _ => section.chart(self.grid(title, of)),
        })
    }

    fn grid(&self, title: &str, of: Of) -> Grid {
        let workers = self.workers.len();
        let columns = (0..workers).map(|from| format!("from {from}")).collect();
        (0..workers).fold(Grid::new(title, Unit::Count, columns), |grid, to| {
            let cell = |from: usize| {
                let pair = |it: &&ExchangeNow| (it.from, it.to) == (from as u64, to as u64);
                let value = self.structure.exchanges.iter().find(pair).map_or(0, of);
                (value as f64, self.distance(from, to).to_owned())
            };
            grid.row(GridRow::new(self.worker_and_place(to), (0..workers).map(cell).collect()))
        })
    }

    fn worker_and_place(&self, worker: usize) -> String {
        match self.place(worker) {
            Some(place) => format!("worker {worker}, PU {}", place.pu),
            None => format!("worker {worker}"),
        }
    }

    fn place(&self, worker: usize) -> Option<&PuPlace> {
        self.structure.places.get(worker)?.as_ref()
    }

    /// How far apart two workers are.
    fn distance(&self, from: usize, to: usize) -> &'static str {
        let (Some(a), Some(b)) = (self.place(from), self.place(to)) else {
            return "not bound to a place";
        };
        if a.core == b.core {
            "the same core"
        } else if a.l3.is_some() && a.l3 == b.l3 {
            "the same L3 cache"
        } else if a.numa_node.is_some() && a.numa_node == b.numa_node {
            "the same NUMA node"
        } else if a.package == b.package {
            "the same package"
        } else {
            "another package"
        }
    }

    fn by_distance(&self) -> Table {
        let columns = vec![
            Column::text("distance"),
            Column::number("pairs of workers", Unit::Count),
            Column::number("actors stolen", Unit::Count),
            Column::number("chunks of messages", Unit::Count),
        ];
        let mut sums = std::collections::BTreeMap::<&str, [u64; 3]>::new();
        for it in &self.structure.exchanges {
            let sum = sums.entry(self.distance(it.from as usize, it.to as usize)).or_default();
            let values = [1, it.stolen, it.chunks];
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.saturating_add(value));
        }
        let table =
            Table::new("By distance", columns).note("Only pairs with something between them.");
        sums.into_iter().fold(table, |table, (distance, [pairs, stolen, chunks])| {
            table.row(vec![distance.into(), pairs.into(), stolen.into(), chunks.into()])
        })
    }
}
