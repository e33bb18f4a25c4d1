use super::*;
use crate::fabric::FabricLimits;
use std::sync::atomic::AtomicU64;

const CHUNK: usize = 1 << 16;

/// Gives keys in order, and notes which are valid.
#[derive(Debug)]
struct Noting {
    limits: FabricLimits,
    next: AtomicU64,
    valid: Mutex<BTreeMap<Key, (usize, usize)>>,
    /// Refuses what begins here.
    refuses: Mutex<Option<usize>>,
}

impl Noting {
    fn new(limits: FabricLimits) -> Arc<Self> {
        let (next, valid) = (AtomicU64::new(0), Mutex::default());
        Arc::new(Noting { limits, next, valid, refuses: Mutex::default() })
    }

    fn valid(&self) -> Vec<u64> {
        self.valid.lock().unwrap().keys().map(|key| key.0).collect()
    }
}

impl Fabric for Noting {
    fn name(&self) -> &'static str {
        "noting"
    }

    fn limits(&self) -> FabricLimits {
        self.limits.clone()
    }

    fn register(&self, region: Region<'_>) -> Result<Key, String> {
        let start = region.start().as_ptr() as usize;
        if *self.refuses.lock().unwrap() == Some(start) {
            return Err("this one not".to_owned());
        }
        // Relaxed: a number that nobody else gets.
        let key = Key(self.next.fetch_add(1, Ordering::Relaxed));
        self.valid.lock().unwrap().insert(key, (start, region.len()));
        Ok(key)
    }

    fn deregister(&self, key: Key) {
        assert!(self.valid.lock().unwrap().remove(&key).is_some(), "{key:?} is not registered");
    }
}

fn anything() -> Arc<Noting> {
    Noting::new(FabricLimits::new(1 << 20, usize::MAX))
}

fn mapping(chunks: usize) -> Mapping {
    Mapping::anonymous(chunks * CHUNK, CHUNK, None).unwrap()
}

fn dynamic(fabric: &Arc<Noting>, len: usize, chunks: usize) -> Table {
    let how = Register::Dynamic { bytes_max: (chunks * CHUNK) as u64 };
    Table::new(fabric.clone(), how, len, CHUNK).unwrap()
}

fn keys(lease: &Lease<'_>) -> Vec<u64> {
    lease.parts().iter().map(|part| part.key.0).collect()
}

#[test]
fn dynamic_keeps_what_was_used_last() {
    let (fabric, mapping) = (anything(), mapping(4));
    let table = dynamic(&fabric, mapping.len(), 2);
    let lease = |chunk: usize| table.lease(&mapping, chunk * CHUNK + 7..chunk * CHUNK + 9).unwrap();
    assert_eq!(keys(&lease(0)), [0]);
    assert_eq!(keys(&lease(1)), [1]);
    // Used again, chunk 0 outlives chunk 1.
    assert_eq!(keys(&lease(0)), [0]);
    assert_eq!(keys(&lease(2)), [2]);
    assert_eq!(fabric.valid(), [0, 2]);
    assert_eq!(keys(&lease(1)), [3]);
    let figures = table.figures();
    assert_eq!((figures.registered, figures.evicted, figures.hits), (4, 2, 1));
    assert_eq!((figures.bytes, figures.chunks), (2 * CHUNK as u64, 2));
    assert_eq!((figures.fabric.as_str(), figures.how.as_str()), ("noting", "dynamic"));
    assert_eq!((figures.chunk_bytes, figures.bytes_max), (CHUNK as u64, Some(2 * CHUNK as u64)));
    table.deregister_all();
    assert!(fabric.valid().is_empty() && table.figures().bytes == 0);
}

#[test]
fn what_is_in_use_is_not_taken_away() {
    let (fabric, mapping) = (anything(), mapping(4));
    let table = dynamic(&fabric, mapping.len(), 2);
    let range = CHUNK - 1..CHUNK + 1;
    let both = table.lease(&mapping, range.clone()).unwrap();
    let ranges: Vec<_> = both.parts().iter().map(|part| part.range.clone()).collect();
    assert_eq!(ranges, [CHUNK - 1..CHUNK, CHUNK..CHUNK + 1]);
    let error = table.lease(&mapping, 2 * CHUNK..2 * CHUNK + 1).unwrap_err().to_string();
    assert!(error.starts_with("noting: ") && error.contains("131072 of at most 131072"), "{error}");
    // Half of it fits, and is given back with the error.
    drop(both);
    table.lease(&mapping, 0..3 * CHUNK).unwrap_err();
    let again = table.lease(&mapping, range.clone()).unwrap();
    let twice = table.lease(&mapping, range).unwrap();
    drop(again);
    table.lease(&mapping, 2 * CHUNK..3 * CHUNK).unwrap_err();
    drop(twice);
    drop(table.lease(&mapping, 2 * CHUNK..4 * CHUNK).unwrap());
    assert!(table.lease(&mapping, 5..5).unwrap().parts().is_empty());
}

#[test]
fn static_registers_each_chunk_when_it_is_in() {
    let (fabric, mapping) = (anything(), mapping(600));
    let table = Table::new(fabric.clone(), Register::Static, mapping.len(), CHUNK).unwrap();
    let chunk = STATIC_CHUNK_BYTES;
    assert_eq!(table.figures().chunk_bytes, chunk as u64);
    table.faulted(&mapping, 0..chunk - CHUNK).unwrap();
    assert!(fabric.valid().is_empty());
    // Who is faster than the fault-in registers by himself, once.
    drop(table.lease(&mapping, chunk..chunk + 1).unwrap());
    table.faulted(&mapping, chunk - CHUNK..chunk).unwrap();
    table.faulted(&mapping, chunk..mapping.len()).unwrap();
    let figures = table.figures();
    assert_eq!((figures.registered, figures.chunks, figures.hits), (3, 3, 0));
    assert_eq!((figures.bytes, figures.bytes_max), (mapping.len() as u64, None));
    let whole: usize = fabric.valid.lock().unwrap().values().map(|&(_, len)| len).sum();
    assert_eq!(whole, mapping.len());
    let lease = table.lease(&mapping, 0..mapping.len()).unwrap();
    assert_eq!((lease.parts().len(), table.figures().hits), (3, 3));
}

#[test]
fn what_the_fabric_refuses_is_said_and_can_be_tried_again() {
    let (fabric, mapping) = (anything(), mapping(2));
    let table = dynamic(&fabric, mapping.len(), 2);
    *fabric.refuses.lock().unwrap() = Some(mapping.start().as_ptr() as usize + CHUNK);
    let error = table.lease(&mapping, 0..2 * CHUNK).unwrap_err().to_string();
    assert_eq!(error, "noting: this one not");
    assert_eq!(table.figures().bytes, CHUNK as u64);
    *fabric.refuses.lock().unwrap() = None;
    assert_eq!(table.lease(&mapping, 0..2 * CHUNK).unwrap().parts().len(), 2);
}

#[test]
fn a_fabric_s_limits_are_kept_to() {
    let make = |limits: FabricLimits, how| {
        Table::new(Noting::new(limits), how, 100 * CHUNK, CHUNK).map(|table| table.chunk_bytes)
    };
    let half = Register::Dynamic { bytes_max: 50 * CHUNK as u64 };
    assert_eq!(make(FabricLimits::new(50, usize::MAX), half), Ok(CHUNK));
    assert_eq!(make(FabricLimits::new(49, usize::MAX), half), Ok(2 * CHUNK));
    let error = make(FabricLimits::new(1, CHUNK), half).unwrap_err().to_string();
    assert!(error.contains("it takes 1 ranges of 65536 bytes"), "{error}");
    let error = make(FabricLimits::new(50, CHUNK), Register::Dynamic { bytes_max: 1 }).unwrap_err();
    assert!(error.is_bad_request() && error.to_string().contains("at least one chunk"), "{error}");

    let mut limits = FabricLimits::new(50, usize::MAX);
    limits.bytes_max = Some((51 * CHUNK as u64, "somebody".to_owned()));
    assert!(make(limits.clone(), half).is_ok());
    let error = make(limits, Register::Static).unwrap_err().to_string();
    assert!(error.contains("3342336 bytes are allowed (somebody)"), "{error}");
}

#[test]
fn many_threads_register_each_chunk_once() {
    let (fabric, mapping) = (anything(), mapping(8));
    let table = dynamic(&fabric, mapping.len(), 8);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..if cfg!(miri) { 5 } else { 200 } {
                    let from = round * 37 % 8 * CHUNK;
                    let lease = table.lease(&mapping, from..mapping.len()).unwrap();
                    let valid = fabric.valid();
                    assert!(keys(&lease).iter().all(|key| valid.contains(key)));
                }
            });
        }
    });
    let figures = table.figures();
    assert_eq!((figures.registered, figures.evicted), (8, 0));
}

#[derive(Debug)]
struct Panics;

impl Fabric for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn limits(&self) -> FabricLimits {
        FabricLimits::new(1, usize::MAX)
    }

    fn register(&self, _: Region<'_>) -> Result<Key, String> {
        panic!("no adapter")
    }

    fn deregister(&self, _: Key) {}
}

#[test]
fn a_fabric_that_panics_hangs_nobody() {
    let mapping = mapping(1);
    let table = Table::new(Arc::new(Panics), Register::Static, CHUNK, CHUNK).unwrap();
    for _ in 0..2 {
        let error = table.lease(&mapping, 0..1).unwrap_err().to_string();
        assert_eq!(error, "panics: it panicked: no adapter");
    }
}
