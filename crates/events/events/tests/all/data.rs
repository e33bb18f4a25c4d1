//! Files of events: what is written is read again, what is wrong is named with its place, what is
//! damaged ends in an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use actinium_events::data::{Format, RowFile, Rows};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Muon {
    pt: f64,
    charge: i8,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Event {
    id: u64,
    trigger: Option<String>,
    muons: Vec<Muon>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Hit {
    id: u64,
    energy: f64,
    name: String,
}

/// A folder of one test, which goes away with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: only the number itself matters, which no two get.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = std::process::id();
        let path = std::env::temp_dir().join(format!("actinium-data-{id}-{number}"));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).expect("written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn events(n: u64) -> Vec<Event> {
    let muon = |pt: f64| Muon { pt, charge: if pt > 20.0 { 1 } else { -1 } };
    let event = |id: u64| Event {
        id,
        trigger: id.is_multiple_of(3).then(|| format!("\"high, pt\"\n{id}")),
        muons: (0..id % 4).map(|k| muon(0.1 + k as f64 * 17.3 + id as f64 / 7.0)).collect(),
    };
    (0..n).map(event).collect()
}

fn hits(n: u64) -> Vec<Hit> {
    let hit = |id| Hit { id, energy: id as f64 / 3.0, name: format!("a \"b\", {id}") };
    (0..n).map(hit).collect()
}

/// Which formats this test was built with.
fn is_built(path: &Path) -> bool {
    let format = Format::of(path).expect("a known format");
    (format != Format::Csv || cfg!(feature = "csv"))
        && (format != Format::Arrow || cfg!(feature = "arrow"))
        && (format != Format::Parquet || cfg!(feature = "parquet"))
}

fn write<T: Serialize + for<'a> Deserialize<'a> + 'static>(path: &Path, rows: &[T]) {
    let mut file = RowFile::create(path).expect("created");
    for row in rows {
        file.write(row).expect("written");
    }
    assert!(!path.exists(), "it is not there before it is whole");
    assert_eq!(file.finish().expect("finished"), rows.len() as u64);
}

fn read<T: for<'a> Deserialize<'a> + Send + 'static>(path: &Path) -> Result<Vec<T>, String> {
    let rows = Rows::open(path).map_err(|error| error.to_string())?;
    rows.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

#[test]
fn what_is_written_is_read_again() {
    let folder = Folder::new();
    for name in ["e.jsonl", "e.ndjson", "e.arrow", "e.feather", "e.ipc", "e.parquet"] {
        let path = folder.0.join(name);
        // Around the size of a batch, and of a part of one.
        for n in [0, 1, 255, 256, 257, 8_192, 8_193] {
            if !is_built(&path) {
                continue;
            }
            let _ = fs::remove_file(&path);
            write(&path, &events(n));
            assert_eq!(read::<Event>(&path), Ok(events(n)), "{n} events in {name}");
        }
    }
    for name in ["h.csv", "h.jsonl", "h.arrow", "h.parquet"] {
        let path = folder.0.join(name);
        if is_built(&path) {
            write(&path, &hits(1_000));
            assert_eq!(read::<Hit>(&path), Ok(hits(1_000)), "{name}");
        }
    }
}

#[test]
fn a_fault_is_named_with_its_place() {
    let folder = Folder::new();
    let good = r#"{"id":1,"trigger":null,"muons":[{"pt":1.5,"charge":1}]}"#;
    for (bytes, expected) in [
        (
            format!(
                "{good}\n{{\"id\":2,\"muons\":[{{\"pt\":1,\"charge\":1}},{{\"pt\":\"x\",\"charge\":1}}]}}\n"
            ),
            ":2:46: muons[1].pt: invalid type: string \"x\", expected f64",
        ),
        (format!("{good}\n{{\"id\":2,\"mu"), ":2:11: EOF while parsing a string"),
        (
            String::from("{\"id\":-1,\"muons\":[]}"),
            ":1:8: id: invalid value: integer `-1`, expected u64",
        ),
        (String::from("{\"id\":1}"), ":1:8: missing field `muons`"),
        (String::from("\n\n[1] 2\n"), ":3"),
        (format!("{good} x"), ":1:57: trailing characters"),
        (
            String::from("{\"id\":1,\"muons\":[{\"pt\":1,\"charge\":300}]}"),
            ": muons[0].charge: invalid value: integer `300`, expected i8",
        ),
    ] {
        let path = folder.file("e.jsonl", &bytes);
        let error = read::<Event>(&path).expect_err(&bytes);
        assert!(
            error.contains(expected) && error.starts_with(&*path.to_string_lossy()),
            "{error}\n{bytes}"
        );
    }
    let path = folder.file("e.jsonl", b"\xff\xfe\n");
    assert!(read::<Event>(&path).expect_err("not text").contains("e.jsonl:1:1: "));
}

#[cfg(feature = "csv")]
#[test]
fn a_fault_in_csv_is_named_with_its_place() {
    let folder = Folder::new();
    for (bytes, expected) in [
        ("id,energy,name\n1,0.5,a\n2,x,b\n", ":3: energy: invalid float literal"),
        ("id,energy,name\n1,0.5\n", ":2: 2 fields where the heading has 3"),
        ("id,energy\n1,0.5\n", ":2: missing field `name`"),
        ("id,id,name\n1,2,a\n", ":1: id: two columns have this heading"),
        ("id,energy,name\n99999999999999999999,1,a\n", ":2: id: number too large"),
    ] {
        let path = folder.file("h.csv", bytes);
        let error = read::<Hit>(&path).expect_err(bytes);
        assert!(error.contains(expected), "{error}\n{bytes}");
    }
    let path = folder.file("h.csv", b"id,energy,name\n1,0.5,\xff\xfe\n");
    let error = read::<Hit>(&path).expect_err("not text");
    assert!(error.contains(":2: name: not UTF-8 after 0 bytes"), "{error}");
}

#[test]
fn a_file_that_cannot_be_opened_is_named_with_the_reason() {
    let folder = Folder::new();
    fs::create_dir(folder.0.join("folder.jsonl")).expect("a folder");
    for (name, expected) in [
        ("none.jsonl", "No such file"),
        ("folder.jsonl", "it is a folder"),
        ("events.root", "ends in .root; known are .jsonl"),
        ("events", "has no ending"),
    ] {
        let error = read::<Event>(&folder.0.join(name)).expect_err(name);
        assert!(error.contains(expected) && error.contains(name), "{error}");
    }
    for (name, feature, built) in [
        ("e.csv", "`csv`", cfg!(feature = "csv")),
        ("e.arrow", "`arrow`", cfg!(feature = "arrow")),
        ("e.parquet", "`parquet`", cfg!(feature = "parquet")),
    ] {
        let error = read::<Event>(&folder.file(name, "twice,twice\n")).expect_err(name);
        assert_eq!(error.contains(feature), !built, "{error}");
    }
    let error = RowFile::<Event>::create(folder.0.join("no/e.jsonl")).expect_err("no folder");
    assert!(error.to_string().contains("its folder does not exist"), "{error}");
}

#[test]
fn the_line_after_a_bad_one_is_read() {
    let folder = Folder::new();
    let text = "\u{feff}{\"id\":1,\"muons\":[]}\r\n\r\nnonsense\n{\"id\":3,\"muons\":[]}";
    let rows = Rows::<Event>::open(folder.file("e.jsonl", text)).expect("opened");
    let ids: Vec<Option<u64>> = rows.map(|row| row.ok().map(|event| event.id)).collect();
    assert_eq!(ids, [Some(1), None, Some(3)]);
}

#[cfg(feature = "csv")]
#[test]
fn the_line_of_csv_after_a_bad_one_is_read() {
    let folder = Folder::new();
    let text = "id, energy, name\n1,0.5,a\n2\n3,x,c\n4,0.5,d\n";
    let rows = Rows::<Hit>::open(folder.file("h.csv", text)).expect("opened");
    let ids: Vec<Option<u64>> = rows.map(|row| row.ok().map(|hit| hit.id)).collect();
    assert_eq!(ids, [Some(1), None, None, Some(4)]);
}

#[cfg(feature = "csv")]
#[test]
fn a_file_that_is_not_finished_leaves_the_old_one() {
    let folder = Folder::new();
    let path = folder.file("h.csv", "old");
    let mut file = RowFile::create(&path).expect("created");
    file.write(&hits(1)[0]).expect("written");
    drop(file);
    assert_eq!(fs::read_to_string(&path).expect("readable"), "old");

    // A list has no place in a line of CSV.
    let mut file = RowFile::create(&path).expect("created");
    let error = file.write(&events(2)[1]).expect_err("no lists");
    assert!(error.to_string().contains("h.csv: row 1: "), "{error}");
    assert_eq!(file.finish().expect_err("failed"), error);
    assert_eq!(fs::read_to_string(&path).expect("readable"), "old");
    assert_eq!(fs::read_dir(&folder.0).expect("readable").count(), 1);
}

#[cfg(feature = "arrow")]
#[test]
fn a_column_of_another_type_is_named_with_its_row() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Other {
        id: u64,
        energy: Option<f64>,
        name: u32,
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Fewer {
        id: u64,
    }
    let folder = Folder::new();
    for name in ["h.arrow", "h.parquet"] {
        let path = folder.0.join(name);
        if !is_built(&path) {
            continue;
        }
        write(&path, &[Other { id: 1, energy: Some(1.0), name: 1 }]);
        let error = read::<Hit>(&path).expect_err("a number is no name");
        assert!(error.contains(": row 1: name: "), "{error}");

        fs::remove_file(&path).expect("removed");
        let row = |id| Other { id, energy: (id != 300).then_some(0.5), name: 1 };
        write(&path, &(1..=400).map(row).collect::<Vec<_>>());
        #[derive(Debug, Serialize, Deserialize)]
        struct Energy {
            energy: f64,
        }
        let rows = Rows::<Energy>::open(&path).expect("opened").collect::<Vec<_>>();
        let bad: Vec<String> =
            rows.iter().filter_map(|row| Some(row.as_ref().err()?.to_string())).collect();
        assert_eq!((rows.len(), bad.len()), (400, 1));
        assert!(bad[0].contains(": row 300: energy: "), "{bad:?}");

        fs::remove_file(&path).expect("removed");
        write(&path, &[Fewer { id: 1 }]);
        let error = read::<Hit>(&path).expect_err("no energy");
        assert!(error.contains("row 1") && error.contains("energy"), "{error}");
    }
}

proptest! {
    // Each case writes four files down to the disk.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn numbers_come_back_exactly(bits: Vec<u64>) {
        let folder = Folder::new();
        let energy = |bits| Some(f64::from_bits(bits)).filter(|energy| energy.is_finite()).unwrap_or(0.0);
        let rows: Vec<Hit> = bits.iter().map(|&bits| Hit { id: bits, energy: energy(bits), name: format!("{bits:x}") }).collect();
        for name in ["h.jsonl", "h.csv", "h.arrow", "h.parquet"] {
            let path = folder.0.join(name);
            if is_built(&path) {
                write(&path, &rows);
                prop_assert_eq!(read::<Hit>(&path), Ok(rows.clone()));
            }
        }
    }

}

proptest! {
    #[test]
    fn damage_ends_in_an_error_or_in_rows(
        name in prop::sample::select(vec!["e.jsonl", "e.arrow", "e.parquet", "h.csv"]),
        cut in prop::option::of(0.0..1.0), changes in prop::collection::vec((0.0..1.0, any::<u8>()), 0..6),
    ) {
        let folder = Folder::new();
        let path = folder.0.join(name);
        if !is_built(&path) {
            return Ok(());
        }
        match name {
            "h.csv" => write(&path, &hits(40)),
            _ => write(&path, &events(40)),
        }
        let mut bytes = fs::read(&path).expect("readable");
        for (place, byte) in changes {
            let at = (place * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        if let Some(share) = cut {
            bytes.truncate((share * bytes.len() as f64) as usize);
        }
        fs::write(&path, &bytes).expect("written");
        let rows = match name {
            "h.csv" => Rows::<Hit>::open(&path).map(|rows| rows.take(10_000).count()),
            _ => Rows::<Event>::open(&path).map(|rows| rows.take(10_000).count()),
        };
        prop_assert!(rows.is_err() || rows.is_ok_and(|rows| rows < 10_000));
    }

    #[test]
    fn any_text_ends_in_an_error_or_in_rows(text: Vec<u8>) {
        let folder = Folder::new();
        for name in ["e.jsonl", "e.csv"] {
            let rows = Rows::<Event>::open(folder.file(name, &text));
            prop_assert!(rows.is_err() || rows.is_ok_and(|rows| rows.count() <= text.len() + 1));
        }
    }
}
