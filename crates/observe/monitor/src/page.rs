//! A recording as a page.

use crate::diagnosis::wanted_cpus;
use crate::recording::{Recording, Sample};
use actinium_observe::number::{bytes, count, percent};
use actinium_observe::{Latency, process::Load};
use actinium_report::html::{
    Bar, Bars, Column, Figure, HeatMap, HeatRow, LineChart, Page, Section, Series, Table, Unit,
    Value, load,
};

/// Columns of charts over time.
const COLUMNS: usize = 300;

impl Recording {
    /// Makes the page of it.
    ///
    /// ```
    /// use actinium_monitor::Recording;
    ///
    /// let page = Recording::default().page();
    /// assert!(page.html().contains("Throughput"));
    /// ```
    #[must_use]
    pub fn page(&self) -> Page {
        let program = self
            .command
            .first()
            .map_or("a program", |path| path.rsplit('/').next().unwrap_or(path));
        let mut page = Page::new(format!("What {program} did"))
            .summary(self.summary())
            .command(self.command.join(" "));
        for figure in self.figures() {
            page = page.figure(figure);
        }
        let pus =
            self.workers.iter().map(|worker| worker.pu.map_or("any".into(), |pu| pu.to_string()));
        page.setting("workers", self.workers.len())
            .setting("PUs of the workers", pus.collect::<Vec<_>>().join(", "))
            .setting("policy", &self.policy)
            .setting("host", &self.process.host)
            .setting("begun, in seconds since 1970", self.begun_unix_s)
            .setting("Actinium", &self.actinium_version)
            .section(self.throughput())
            .section(self.threads())
            .section(self.actors())
            .section(self.turns())
            .section(self.exchanges())
            .section(self.messages())
            .section(self.ending())
    }

    fn length_s(&self) -> f64 {
        self.samples.last().map_or(0.0, |sample| sample.at_s)
    }

    fn handled(&self) -> u64 {
        self.samples.last().map_or(0, Sample::handled_by_all)
    }

    fn most(&self, of: impl Fn(&Sample) -> u64) -> u64 {
        self.samples.iter().map(of).max().unwrap_or(0)
    }

    fn sum(&self, counter: &str) -> u64 {
        let of =
            |counters: &std::collections::BTreeMap<String, u64>| counters.get(counter).copied();
        let workers = self.workers.iter().filter_map(|worker| of(&worker.counters));
        saturating_sum(workers.chain(of(&self.external)))
    }

    fn summary(&self) -> String {
        format!(
            "{} messages in {}, on {} workers with the policy {}.",
            count(self.handled()),
            Unit::Seconds.show(self.length_s()),
            self.workers.len(),
            self.policy
        )
    }

    fn figures(&self) -> Vec<Figure> {
        // No more than what a file of any length can not make overflow.
        let buckets = self.latencies.iter().map(|&(ns, samples)| (ns, samples.min(1 << 40)));
        let latency = Latency::from_buckets(buckets);
        let mean_s = |share: f64| Unit::Seconds.show(latency.quantile_ns(share) as f64 * 1e-9);
        let busy = self.process.cpu_s / self.process.elapsed_s;
        let per_s = self.handled() as f64 / self.length_s();
        let throughput = Figure::new("Throughput", Unit::PerSecond.show(per_s)).note("messages");
        let latency = (!latency.is_empty()).then(|| {
            let note = format!("99 %: {}; {} samples", mean_s(0.99), count(latency.count()));
            Figure::new("Latency, median", mean_s(0.5)).note(note)
        });
        let busy = Figure::new("CPUs busy", Unit::Count.show(busy))
            .note("CPU time of all threads by the time that passed");
        let wanted = wanted_cpus(&self.process).map(|(wanted, share)| {
            let share = percent(share);
            let note = format!("threads had none for {share} of the time that they wanted one");
            Figure::new("CPUs wanted", Unit::Count.show(wanted)).note(note)
        });
        let others = [
            Figure::new("Actors", count(self.most(|it| it.actors))).note("the most at one look"),
            Figure::new("Waiting messages", count(self.most(|it| it.queued)))
                .note("the most at one look"),
            Figure::new("Dead letters", count(self.sum("dead"))),
            Figure::new("Restarts", count(self.sum("restarted"))),
            Figure::new("Memory", bytes(self.process.memory_max_bytes)).note("the most in RAM"),
        ];
        let first = [Some(throughput), latency, Some(busy), wanted];
        first.into_iter().flatten().chain(others).collect()
    }

    /// A value of the time between two samples, drawn as steps.
    fn series(&self, name: &str, of: impl Fn(&Sample, &Sample, f64) -> f64) -> Series {
        let pairs = self.samples.windows(2);
        let steps = pairs.map(|pair| {
            let (from, to) = (&pair[0], &pair[1]);
            (from.at_s, of(from, to, to.at_s - from.at_s))
        });
        let mut points: Vec<_> = steps.collect();
        if let Some(&(_, last)) = points.last() {
            points.push((self.length_s(), last));
        }
        Series::new(name, points)
    }

    fn over_time(&self, title: &str, unit: Unit, series: Series) -> LineChart {
        LineChart::new(title, unit).steps().link("time").series(series)
    }

    fn throughput(&self) -> Section {
        let handled = self.series("handled", |from, to, length_s| {
            to.handled_by_all().saturating_sub(from.handled_by_all()) as f64 / length_s
        });
        Section::new("Throughput")
            .chart(self.over_time("Messages handled", Unit::PerSecond, handled))
            .chart(self.levels())
            .chart(self.worker_map())
            .chart(self.worker_table())
    }

    /// Throughput and period at four levels.
    fn levels(&self) -> Table {
        let columns = vec![
            Column::text("level"),
            Column::number("number", Unit::Count),
            Column::number("messages of each", Unit::PerSecond),
            Column::number("from one message to the next", Unit::Seconds),
        ];
        let table = Table::new("Throughput at four levels", columns)
            .note("A period is 1 / throughput, and no latency. Actors: the most at one look.");
        let actors = self.most(|it| it.actors);
        let levels =
            [("all", 1), ("node", 1), ("worker", self.workers.len() as u64), ("actor", actors)];
        levels.into_iter().fold(table, |table, (level, number)| {
            let per_s = self.handled() as f64 / self.length_s() / number as f64;
            table.row(vec![level.into(), number.into(), per_s.into(), (1.0 / per_s).into()])
        })
    }

    /// The share that each worker had of the busiest one's rate, over time.
    fn worker_map(&self) -> HeatMap {
        let step_s = self.length_s() / COLUMNS as f64;
        let row = |worker: usize| {
            let of = |sample: &Sample| sample.handled.get(worker).copied().unwrap_or(0);
            let points = self
                .series("", |from, to, length_s| of(to).saturating_sub(of(from)) as f64 / length_s);
            let at = |time: f64| {
                let behind = points.points.partition_point(|point| point.0 <= time);
                points.points.get(behind.saturating_sub(1)).map_or(f64::NAN, |point| point.1)
            };
            let middles = (0..COLUMNS).map(|column| at((column as f64 + 0.5) * step_s));
            HeatRow::new(format!("worker {worker}"), middles.collect())
        };
        let map = HeatMap::new("Messages of each worker", Unit::PerSecond, step_s).link("time");
        (0..self.workers.len()).map(row).fold(map, HeatMap::row)
    }

    fn worker_table(&self) -> Table {
        // What an owner of a program asks first; all others are in the recording.
        let shown = [
            ("handled", "handled"),
            ("turns", "turns"),
            ("crossed", "came by lanes"),
            ("shared", "sent by shared queues"),
            ("stolen", "actors stolen"),
            ("rehomed", "actors moved here"),
            ("pushed", "actors pushed away"),
            ("colocated", "actors moved to those they talk with"),
            ("parked", "sleeps"),
            ("woken", "others woken"),
            ("muted", "senders muted"),
        ];
        let mut columns = vec![Column::text("worker"), Column::text("PU")];
        columns.extend(shown.map(|(_, heading)| Column::number(heading, Unit::Count)));
        let table = Table::new("Workers", columns);
        self.workers.iter().enumerate().fold(table, |table, (index, worker)| {
            let counter = |(name, _): (&str, &str)| worker.counters.get(name).copied().into();
            let mut row: Vec<Value> = vec![(index as u64).into()];
            row.push(worker.pu.map_or(Value::Missing, |pu| pu.to_string().into()));
            row.extend(shown.map(counter));
            table.row(row)
        })
    }

    fn threads(&self) -> Section {
        let loads: [(String, &Load); 1] = [(String::new(), &self.process.load)];
        let section = Section::new("Threads and CPUs")
            .text("Of the whole process: workers, and all other threads.")
            .chart(load::threads_active(&loads))
            .chart(load::cpu_map("Load of each CPU", &loads))
            .chart(load::threads(&loads));
        if self.scaling.is_empty() {
            return section;
        }
        let working = self.series("working", |from, _, _| from.working as f64);
        let columns = vec![
            Column::number("time", Unit::Seconds),
            Column::number("workers", Unit::Count),
            Column::text("reason"),
        ];
        let changes = self.scaling.iter().fold(
            Table::new("Changes of the number of workers", columns),
            |table, (at_s, to, reason)| {
                table.row(vec![(*at_s).into(), (*to).into(), reason.as_str().into()])
            },
        );
        section.chart(self.over_time("Workers with work", Unit::Count, working)).chart(changes)
    }

    fn actors(&self) -> Section {
        let columns = vec![
            Column::text("type"),
            Column::number("living, most", Unit::Count),
            Column::number("waiting messages, most", Unit::Count),
            Column::number("in one mailbox, most", Unit::Count),
            Column::number("time of a message", Unit::Seconds),
            Column::number("restarts", Unit::Count),
        ];
        let table = Table::new("Types of actors", columns).note(
            "The most that a look found, and the estimate that the scheduler works with. There is \
             a look at all actors about once a second.",
        );
        let table = self.types.iter().fold(table, |table, it| {
            let cost_s = it.cost_ns.map(|ns| f64::from(ns) * 1e-9);
            table.row(vec![
                it.kind.as_str().into(),
                it.living_max.into(),
                it.queued_max.into(),
                it.mailbox_max.into(),
                cost_s.into(),
                it.restarts.into(),
            ])
        });
        let living = self.series("living", |from, _, _| from.actors as f64);
        let restarted = self.series("restarts", |from, to, length_s| {
            to.restarted.saturating_sub(from.restarted) as f64 / length_s
        });
        let section = Section::new("Actors")
            .chart(self.over_time("Living actors", Unit::Count, living))
            .chart(table);
        let section = match self.structure.tree.members.is_empty() {
            true => section,
            false => section.chart(self.supervision()),
        };
        if self.sum("restarted") == 0 {
            return section;
        }
        section.chart(self.over_time("Restarts by supervisors", Unit::PerSecond, restarted))
    }

    fn messages(&self) -> Section {
        let queued = self.series("waiting", |from, _, _| from.queued as f64);
        let dead = self.series("dead letters", |from, to, length_s| {
            to.dead.saturating_sub(from.dead) as f64 / length_s
        });
        let fullest = self.mailboxes.iter().map(|it| {
            Bar::new(format!("{} {}", it.kind, it.actor), it.queued_max as f64)
                .detail(format!("at {}", Unit::Seconds.show(it.at_s)))
        });
        let section = Section::new("Messages")
            .chart(self.over_time("Messages that wait", Unit::Count, queued))
            .chart(
                Bars::new("The fullest mailboxes", Unit::Count, fullest.collect())
                    .note("The most messages that a look found in each."),
            )
            .chart(self.latency());
        if self.sum("dead") == 0 {
            return section;
        }
        let columns = vec![Column::text("messages, receiver and reason")];
        let latest = self
            .dead_letters
            .iter()
            .fold(Table::new("The latest dead letters", columns), |table, letter| {
                table.row(vec![letter.as_str().into()])
            });
        section.chart(self.over_time("Dead letters", Unit::PerSecond, dead)).chart(latest)
    }

    /// How many of the sampled messages took how long, in steps of doubled time.
    fn latency(&self) -> Bars {
        let mut powers = std::collections::BTreeMap::<u32, u64>::new();
        for &(ns, messages) in &self.latencies {
            let power = powers.entry(ns.max(1).ilog2()).or_default();
            *power = power.saturating_add(messages);
        }
        let all = saturating_sum(powers.values().copied());
        let show = |power: u32| Unit::Seconds.show((1u64 << power) as f64 * 1e-9);
        let bars = powers.iter().map(|(&power, &messages)| {
            let to = power.saturating_add(1).min(63);
            Bar::new(format!("{} to {}", show(power), show(to)), messages as f64)
                .detail(percent(messages as f64 / all as f64))
        });
        Bars::new("Latency from send to handling", Unit::Count, bars.collect())
            .note("Sampled messages, those of most first.")
    }

    fn ending(&self) -> Section {
        let columns = vec![Column::text("what"), Column::text("value")];
        let end = self.end.iter().fold(Table::new("The end", columns), |table, (name, value)| {
            table.row(vec![name.as_str().into(), value.as_str().into()])
        });
        Section::new("End").chart(end)
    }
}

impl Sample {
    fn handled_by_all(&self) -> u64 {
        saturating_sum(self.handled.iter().copied())
    }
}

/// The sum of what a file may say.
fn saturating_sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}
