//! What other parts of a program have to show: event graphs, clusters, whatever it likes.

use actinium_scheduler::guard::{self, Guarded};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Show = Arc<Guarded<Box<dyn Fn() -> Value + Send + Sync>>>;

/// What this process has to show, by number: the name of the pane, and who tells what is in it.
static SHOWN: Mutex<BTreeMap<u64, (String, Show)>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

fn shown() -> MutexGuard<'static, BTreeMap<u64, (String, Show)>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pane of the program's own, until this is dropped.
#[must_use = "it is shown until this is dropped"]
pub struct Section(u64);

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Section").field(&self.0).finish()
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        let gone = shown().remove(&self.0);
        drop(gone);
    }
}

/// Shows what this returns, as a pane of this name, in each live view of this process. It is called
/// at each look, up to four times a second, on a thread of the view. `Null` shows nothing. If it
/// panics, the pane says so.
///
/// An object becomes a table of names and values; a list of objects becomes a table with a column
/// for each key. Objects in an object are parts with headings.
///
/// ```
/// use actinium_monitor::live;
///
/// let section = live::section("orders", || serde_json::json!({ "open": 3, "paid": 17 }));
/// // .. shown ..
/// drop(section);
/// ```
pub fn section(
    name: impl Into<String>,
    show: impl Fn() -> Value + Send + Sync + 'static,
) -> Section {
    // Relaxed: only its own value counts.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    shown().insert(number, (name.into(), Arc::new(Guarded::new(Box::new(show)))));
    Section(number)
}

/// All that is shown now. Of several with one name, the later ones have a number behind it.
pub(crate) fn all() -> BTreeMap<String, Value> {
    // Copied: it is the program's code that is called.
    let shown: Vec<_> = shown().values().cloned().collect();
    let mut all = BTreeMap::new();
    for (name, show) in shown {
        let value = guard::catch(&**show).unwrap_or_else(
            |panicked| json!({ "error": format!("it panicked: {}", panicked.message()) }),
        );
        if value.is_null() {
            continue;
        }
        let names = (2..).map(|n| format!("{name} {n}"));
        let free = std::iter::once(name.clone()).chain(names).find(|it| !all.contains_key(it));
        all.extend(free.map(|name| (name, value)));
    }
    all
}
