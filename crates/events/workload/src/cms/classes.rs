//! The demo framework's classes of modules, by name.
//!
//! Most names are put together from parts, in this order:
//!
//! | part | means |
//! |---|---|
//! | `EventTimes` | the time of each event is given in `eventTimes` (cycled), else `averageTime` for all |
//! | `SyncGet` | it asks for its inputs one after the other instead of having them fetched beforehand |
//! | `BusyWait` or `Sleeping` | it computes or waits |
//! | `WithAcquire` | it waits outside of the framework's threads; here whatever waits does |
//! | `TaskStealing` | while it waits for its parts, its thread may do other modules' work |
//! | `ParallelFor` | it splits its work into `nRanges` parts |
//! | `Producer` or `PassFilter` | makes a product, or always says yes |
//!
//! The rest: `FastProducer` and `FastPassFilter` take no time; `ThrowingProducer` and
//! `ThrowingFilter` fail; `PassFilter`, `ThreadSafeProducer`, `ThreadSafeWhichReadsProducer` and
//! `ThreadSaferGetterFilter` have a thread type of their own and take a fixed number of turns of
//! the busy loop.

use crate::model::{Role, Threads, Work};

/// The properties that a class's name stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Producer or filter.
    pub role: Role,
    /// Where its time comes from.
    pub time: Time,
    /// Busy or waiting.
    pub work: Work,
    /// Whether it splits its work: `nRanges`.
    pub splits: bool,
    /// Whether it may do other work while it waits for its parts.
    pub steals_while_splitting: bool,
    /// Whether it asks for its inputs one by one.
    pub fetches_one_by_one: bool,
    /// Whether it fails at every event.
    pub throws: bool,
    /// The thread type, if that is not given by `threadType`.
    pub threads: Option<Threads>,
    /// Whether it has inputs: `toGet`.
    pub gets: bool,
    /// Whether its product's name is given by `productLabel`.
    pub names_product: bool,
}

/// Where a module's time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// `eventTimes`.
    PerEvent,
    /// `averageTime`, perhaps with `minTime` and `maxTime`.
    Average,
    /// This number of turns of the busy loop.
    Turns(u32),
}

const PLAIN: Class = Class {
    role: Role::Producer,
    time: Time::Turns(0),
    work: Work::Busy,
    splits: false,
    steals_while_splitting: false,
    fetches_one_by_one: false,
    throws: false,
    threads: None,
    gets: true,
    names_product: false,
};

/// The classes whose names are not put together from parts.
const NAMED: [(&str, Class); 8] = [
    ("FastProducer", PLAIN),
    ("FastPassFilter", Class { role: Role::Filter, ..PLAIN }),
    ("ThrowingProducer", Class { throws: true, ..PLAIN }),
    ("ThrowingFilter", Class { role: Role::Filter, throws: true, ..PLAIN }),
    (
        "PassFilter",
        Class {
            role: Role::Filter,
            time: Time::Turns(10_000),
            threads: Some(Threads::Serial),
            gets: false,
            ..PLAIN
        },
    ),
    (
        "ThreadSafeProducer",
        Class {
            time: Time::Turns(100_000),
            threads: Some(Threads::Concurrent),
            gets: false,
            names_product: true,
            ..PLAIN
        },
    ),
    (
        "ThreadSafeWhichReadsProducer",
        Class {
            time: Time::Turns(100_000),
            threads: Some(Threads::Serial),
            names_product: true,
            ..PLAIN
        },
    ),
    (
        "ThreadSaferGetterFilter",
        Class { role: Role::Filter, threads: Some(Threads::Serial), ..PLAIN },
    ),
];

/// The class of this name, which begins with `demo::`.
#[must_use]
pub fn class(name: &str) -> Option<Class> {
    let name = name.strip_prefix("demo::")?;
    if let Some((_, class)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some(class.clone());
    }
    let mut rest = name;
    let mut part = |part: &str| {
        let without = rest.strip_prefix(part);
        rest = without.unwrap_or(rest);
        without.is_some()
    };
    let time = if part("EventTimes") { Time::PerEvent } else { Time::Average };
    let fetches_one_by_one = part("SyncGet");
    let work = match (part("BusyWait"), part("Sleeping")) {
        (true, false) => Work::Busy,
        (false, true) => Work::Wait,
        _ => return None,
    };
    let acquires = part("WithAcquire");
    let steals_while_splitting = part("TaskStealing");
    let splits = part("ParallelFor");
    let role = match (part("Producer"), part("PassFilter")) {
        (true, false) => Role::Producer,
        (false, true) => Role::Filter,
        _ => return None,
    };
    let fits = rest.is_empty()
        && (splits || !steals_while_splitting)
        && !(acquires && (splits || work == Work::Busy));
    fits.then_some(Class {
        role,
        time,
        work,
        splits,
        steals_while_splitting,
        fetches_one_by_one,
        ..PLAIN
    })
}

/// All names, to suggest one from.
#[must_use]
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = NAMED.iter().map(|(name, _)| format!("demo::{name}")).collect();
    for times in ["EventTimes", ""] {
        for get in ["", "SyncGet"] {
            for work in ["BusyWait", "Sleeping", "SleepingWithAcquire"] {
                for split in ["", "ParallelFor", "TaskStealingParallelFor"] {
                    for role in ["Producer", "PassFilter"] {
                        names.push(format!("demo::{times}{get}{work}{split}{role}"));
                    }
                }
            }
        }
    }
    names.retain(|name| class(name).is_some());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_together_from_parts() {
        let class = class("demo::EventTimesBusyWaitTaskStealingParallelForPassFilter");
        let expected = Class {
            role: Role::Filter,
            time: Time::PerEvent,
            splits: true,
            steals_while_splitting: true,
            ..PLAIN
        };
        assert_eq!(class, Some(expected));
    }

    #[test]
    fn what_the_framework_has_is_known() {
        for name in [
            "BusyWaitPassFilter",
            "BusyWaitProducer",
            "EventTimesBusyWaitPassFilter",
            "EventTimesBusyWaitProducer",
            "EventTimesBusyWaitParallelForPassFilter",
            "EventTimesSleepingPassFilter",
            "EventTimesSleepingProducer",
            "EventTimesSleepingParallelForPassFilter",
            "EventTimesSleepingTaskStealingParallelForPassFilter",
            "EventTimesSyncGetSleepingPassFilter",
            "EventTimesSyncGetSleepingProducer",
            "FastPassFilter",
            "FastProducer",
            "PassFilter",
            "SleepingPassFilter",
            "SleepingProducer",
            "SleepingWithAcquireProducer",
            "ThreadSafeProducer",
            "ThreadSaferGetterFilter",
            "ThrowingFilter",
            "ThrowingProducer",
        ] {
            assert!(class(&format!("demo::{name}")).is_some(), "{name}");
            assert!(names().contains(&format!("demo::{name}")), "{name}");
        }
    }

    #[test]
    fn what_it_has_not_is_not() {
        for name in [
            "PassFilter",
            "demo::",
            "demo::Producer",
            "demo::BusyWaitSleepingProducer",
            "demo::BusyWait",
            "demo::TaskStealingProducer",
            "demo::BusyWaitTaskStealingProducer",
            "demo::BusyWaitProducerX",
            "demo::BusyWaitWithAcquireProducer",
        ] {
            assert!(class(name).is_none(), "{name}");
        }
    }
}
