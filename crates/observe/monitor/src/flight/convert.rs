//! Records of workers as data.

use super::document::{Did, RecordNow};
use actinium_actor::recording::{Act, Record};

impl From<&Record> for RecordNow {
    fn from(record: &Record) -> Self {
        let did = match record.act {
            Act::Turn { kind, number, handled } => {
                Did::Turn { kind: kind.into(), actor: number, handled }
            }
            Act::Sleep => Did::Sleep,
            Act::Steal { from, actors } => Did::Steal { from: from as u32, actors },
            Act::Move { to, actors } => Did::Move { to: to as u32, actors },
            Act::Wake { worker } => Did::Wake { worker: worker as u32 },
            Act::Scale { from, to } => Did::Scale { from: from as u32, to: to as u32 },
            _ => Did::Other,
        };
        RecordNow { begin_ns: record.begin_ns, took_ns: record.took_ns, did }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_from_its_text() {
        let acts = [
            Act::Turn { kind: "Counter", number: 7, handled: 64 },
            Act::Sleep,
            Act::Steal { from: 1, actors: 2 },
            Act::Move { to: 1, actors: 2 },
            Act::Wake { worker: 3 },
            Act::Scale { from: 1, to: 2 },
        ];
        for act in acts {
            let now = RecordNow::from(&Record { begin_ns: 5, took_ns: 6, act });
            let text = serde_json::to_string(&now).expect("data");
            assert_eq!(serde_json::from_str::<RecordNow>(&text).expect("data"), now, "{text}");
        }
        let newer = r#"{"begin_ns":1,"took_ns":2,"did":"dream","of":"sheep"}"#;
        assert_eq!(serde_json::from_str::<RecordNow>(newer).expect("data").did, Did::Other);
    }
}
