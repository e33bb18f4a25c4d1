//! The report of what registration with MPI costs and is worth: a table, JSON, or a page.

use super::SCHEMA_VERSION;
use super::startup_mpi::{JobSaid, Jobs, Registration, Settings};
use actinium_observe::Repeat;
use actinium_observe::number::{bytes, decimal};
use actinium_report::html::{Bar, Bars, Page, Section, Unit};
use actinium_report::{Column, Table};
use serde::Serialize;

/// All figures. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    fabric: &'static str,
    ranks: u32,
    size_bytes: u64,
    repeat: usize,
    jobs: Vec<Job>,
    transfers: Vec<Transfer>,
}

/// A median of several runs, and the interval in which that of all possible runs lies by 95 %.
#[derive(Clone, Copy, Debug, Serialize)]
struct Median {
    median: f64,
    low: f64,
    high: f64,
}

/// No-op jobs of one registration.
#[derive(Clone, Debug, Serialize)]
struct Job {
    registration: Registration,
    /// From before `mpiexec` was started until it had ended.
    seconds: Median,
    /// Its ratio to that of jobs without registration.
    of_none: Option<Median>,
    /// Of one rank.
    registered_bytes: u64,
    register_s: f64,
}

/// Reads of one size.
#[derive(Clone, Debug, Serialize)]
struct Transfer {
    bytes: u64,
    static_gb_per_s: Median,
    dynamic_gb_per_s: Median,
    /// The rate with a static window divided by that with a dynamic one.
    static_of_dynamic: Median,
}

fn median(of: &Repeat) -> Median {
    let (low, high) = of.interval();
    Median { median: of.median(), low, high }
}

/// The ratio of two medians, and of the ends of their intervals; None if one is no rate or time.
fn ratio(of: &Repeat, to: &Repeat) -> Option<Median> {
    let (of, to) = (median(of), median(to));
    let is_ratio = of.low >= 0.0 && to.low > 0.0;
    is_ratio.then(|| Median {
        median: of.median / to.median,
        low: of.low / to.high,
        high: of.high / to.low,
    })
}

impl Report {
    /// Reports these measurements.
    #[must_use]
    pub fn new(settings: &Settings, jobs: &[Jobs]) -> Self {
        let seconds = |jobs: &Jobs| Repeat::new(jobs.no_ops.iter().map(|(seconds, _)| *seconds));
        let none = jobs.iter().find(|jobs| jobs.registration == Registration::None);
        let none = none.and_then(seconds);
        let job = |jobs: &Jobs| {
            let own = seconds(jobs)?;
            let registering = Repeat::new(jobs.no_ops.iter().map(|(_, said)| said.register_s));
            let registered_bytes = jobs.no_ops.iter().map(|(_, said)| said.registered_bytes).max();
            Some(Job {
                registration: jobs.registration,
                seconds: median(&own),
                of_none: none.as_ref().and_then(|none| ratio(&own, none)),
                registered_bytes: registered_bytes.unwrap_or(0),
                register_s: registering.map_or(0.0, |register| register.median()),
            })
        };
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            fabric: "mpi",
            ranks: settings.ranks,
            size_bytes: settings.size_bytes,
            repeat: settings.repeat,
            jobs: jobs.iter().filter_map(job).collect(),
            transfers: transfers(jobs),
        }
    }

    /// For people.
    #[must_use]
    pub fn table(&self) -> Table {
        let columns = [
            Column::left("what"),
            Column::left("registration"),
            Column::right("median"),
            Column::right("low"),
            Column::right("high"),
            Column::left("unit"),
            Column::right("ratio"),
            Column::right("low"),
            Column::right("high"),
        ];
        let mut table = Table::new(columns);
        for job in &self.jobs {
            let [median, low, high] =
                [job.seconds.median, job.seconds.low, job.seconds.high].map(|s| s * 1e3);
            let ratio = job.of_none.filter(|_| job.registration != Registration::None);
            let of = |pick: fn(&Median) -> f64| ratio.as_ref().map(|it| decimal(pick(it), 2));
            table.row(vec![
                "no-op job".into(),
                job.registration.to_string().into(),
                decimal(median, 1).into(),
                decimal(low, 1).into(),
                decimal(high, 1).into(),
                "ms".into(),
                of(|it| it.median).into(),
                of(|it| it.low).into(),
                of(|it| it.high).into(),
            ]);
        }
        for transfer in &self.transfers {
            let rates = [
                (Registration::Static, transfer.static_gb_per_s),
                (Registration::Dynamic, transfer.dynamic_gb_per_s),
            ];
            for (registration, rate) in rates {
                let ratio = (registration == Registration::Static).then_some(());
                let of = |value: f64| ratio.map(|()| decimal(value, 2));
                table.row(vec![
                    format!("read {}", bytes(transfer.bytes)).into(),
                    registration.to_string().into(),
                    decimal(rate.median, 3).into(),
                    decimal(rate.low, 3).into(),
                    decimal(rate.high, 3).into(),
                    "GB/s".into(),
                    of(transfer.static_of_dynamic.median).into(),
                    of(transfer.static_of_dynamic.low).into(),
                    of(transfer.static_of_dynamic.high).into(),
                ]);
            }
        }
        table
    }

    /// Drawn.
    #[must_use]
    pub fn page(&self) -> Page {
        let jobs = self.jobs.iter();
        let jobs = jobs.map(|job| Bar::new(job.registration.to_string(), job.seconds.median));
        let rates = self.transfers.iter().flat_map(|transfer| {
            let of = bytes(transfer.bytes);
            [
                Bar::new(format!("{of} static"), transfer.static_gb_per_s.median),
                Bar::new(format!("{of} dynamic"), transfer.dynamic_gb_per_s.median),
            ]
        });
        let (jobs, rates) = (jobs.collect(), rates.collect());
        let gb_per_s = Unit::Other("GB/s".to_owned());
        let section = Section::new("Registration with MPI")
            .text("A no-op job with a segment in each rank, and reads of another rank's: medians.")
            .chart(Bars::new("A no-op job, start to exit", Unit::Seconds, jobs).in_order())
            .chart(Bars::new("Reads", gb_per_s, rates).in_order());
        Page::new("Registration of segments with MPI")
            .summary(format!("{} ranks, segments of {}", self.ranks, bytes(self.size_bytes)))
            .setting("repeat", self.repeat as u64)
            .section(section)
    }
}

/// Of the sizes that were measured with both.
fn transfers(jobs: &[Jobs]) -> Vec<Transfer> {
    let of = |registration| {
        jobs.iter().find(|jobs| jobs.registration == registration).map(|jobs| &jobs.transfers[..])
    };
    let (Some(fixed), Some(dynamic)) = (of(Registration::Static), of(Registration::Dynamic)) else {
        return Vec::new();
    };
    let sizes = fixed.first().map_or(&[][..], |said| &said.reads);
    let rates = |said: &[JobSaid], bytes: u64| {
        let reads = said.iter().flat_map(|said| &said.reads);
        let of_size = reads.filter(|(of, _)| *of == bytes);
        Repeat::new(of_size.map(|(_, seconds)| bytes as f64 / seconds / 1e9))
    };
    let transfer = |&(bytes, _): &(u64, f64)| {
        let (fixed, dynamic) = (rates(fixed, bytes)?, rates(dynamic, bytes)?);
        let static_of_dynamic = ratio(&fixed, &dynamic)?;
        let (static_gb_per_s, dynamic_gb_per_s) = (median(&fixed), median(&dynamic));
        Some(Transfer { bytes, static_gb_per_s, dynamic_gb_per_s, static_of_dynamic })
    };
    sizes.iter().filter_map(transfer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs whose times are known give the ratios that follow from them.
    #[test]
    fn ratios_are_static_divided_by_dynamic() {
        let said = |seconds| JobSaid { ranks: 2, reads: vec![(4_096, seconds)], ..<_>::default() };
        let of = |registration, seconds: f64, read: f64| Jobs {
            registration,
            no_ops: vec![(seconds, said(read)); 3],
            transfers: vec![said(read), said(read * 2.0), said(read)],
        };
        let jobs = [
            of(Registration::None, 1.0, 1.0),
            of(Registration::Static, 2.0, 1e-6),
            of(Registration::Dynamic, 1.5, 4e-6),
        ];
        let settings = Settings {
            size_bytes: 16 << 20,
            ranks: 2,
            repeat: 3,
            launcher: Vec::new(),
            program: Vec::new(),
        };
        let report = Report::new(&settings, &jobs);
        let ratios: Vec<f64> =
            report.jobs.iter().filter_map(|job| job.of_none).map(|ratio| ratio.median).collect();
        assert_eq!(ratios, [1.0, 2.0, 1.5]);
        let [transfer] = &report.transfers[..] else { panic!("{report:?}") };
        assert_eq!(transfer.static_of_dynamic.median, 4.0);
        let of = transfer.static_of_dynamic;
        assert_eq!((of.low, of.high), (2.0, 8.0));
        assert_eq!(report.table().to_string().lines().count(), 2 + 3 + 2);
    }
}
