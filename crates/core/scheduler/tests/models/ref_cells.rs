//! Cells: who reads a value sees all of it, and who takes it out comes after all who have read it.

use super::{Owned, model};
use actinium_scheduler::ref_cells::AtomicRefCells;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// A value that is written before it is put in.
fn value(number: usize) -> Owned<usize> {
    let value = Owned(UnsafeCell::new(0));
    set(&value, number);
    value
}

fn set(value: &Owned<usize>, number: usize) {
    // SAFETY: nobody else has it, or can read it; loom checks it.
    value.0.with_mut(|it| unsafe { *it = number });
}

fn get(value: &Owned<usize>) -> usize {
    // SAFETY: it is not written while it is lent; loom checks it.
    value.0.with(|it| unsafe { *it })
}

#[test]
fn a_value_is_seen_as_it_was_put_and_taken_when_nobody_reads_it() {
    model(0, || {
        let cells = Arc::new(AtomicRefCells::new(1));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let cells = cells.clone();
                thread::spawn(move || {
                    // SAFETY: readers are counted here: nothing is put or taken meanwhile.
                    let read = unsafe { cells.read(0) };
                    read.map_or(7, |it| get(&it))
                })
            })
            .collect();
        assert!(cells.put(0, value(7)).is_ok_and(|old| old.is_none()));
        if let Some(taken) = cells.take(0) {
            assert_eq!(get(&taken), 7);
            set(&taken, 8);
        }
        for reader in readers {
            assert_eq!(reader.join().unwrap(), 7);
        }
    });
}

#[test]
fn of_two_who_put_or_take_one_does() {
    model(0, || {
        let cells = Arc::new(AtomicRefCells::new(1));
        assert!(cells.put(0, value(1)).is_ok());
        let other = cells.clone();
        let taker = thread::spawn(move || {
            other.take(0).map(|taken| {
                set(&taken, get(&taken) + 10);
                get(&taken)
            })
        });
        let put = cells.put(0, value(2));
        let taken = taker.join().unwrap();
        match put {
            Ok(None) => assert_eq!(taken, Some(11), "it came after"),
            Ok(Some(old)) => assert!(get(&old) == 1 && [None, Some(12)].contains(&taken)),
            Err(back) => assert!(get(&back) == 2 && taken == Some(11), "it came in between"),
        }
    });
}
