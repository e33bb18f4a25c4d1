//! What a tap sees of a point: each of its flags, and what is too much for it.

use actinium_tap::{Direction, Missed, Seen, Tap, TapFilter, TapPoint, Tapped, What};
use actinium_wire::{Encoding, Message};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "tests.order")]
pub(crate) enum Order {
    Place { item: String, number: u32 },
    Cancel(u32),
}

/// Shows an order as it would travel.
pub(crate) fn show(point: &TapPoint, direction: Direction, order: &Order) {
    let mut bytes = Vec::new();
    Encoding::Binary.encode(order, &mut bytes).expect("it has bytes");
    let mut seen = Seen::new(direction, "node 1", "tests.order", Encoding::Binary, &bytes);
    seen.schema = Some(Order::schema);
    point.show(&seen);
}

fn all(tap: &mut Tap) -> Vec<Tapped> {
    std::iter::from_fn(|| tap.try_next()).collect()
}

#[test]
fn contents_are_shown_to_who_asks_for_them() {
    let point = TapPoint::new("node 0");
    let mut without = point.open(TapFilter::new());
    let mut with = point.open(TapFilter::new().contents(true));
    show(&point, Direction::In, &Order::Place { item: "tea".into(), number: 3 });
    let shown = &all(&mut with)[0];
    let contents = serde_json::json!({ "Place": { "item": "tea", "number": 3 } });
    assert_eq!((&shown.contents, shown.what), (&Some(contents), What::Message));
    let hidden = &all(&mut without)[0];
    assert_eq!(hidden.variant.as_deref(), Some("Place"));
    assert_eq!((&hidden.contents, hidden.bytes), (&None, 6));
    assert!(!hidden.to_string().contains("tea"), "{hidden}");
}

#[test]
fn a_tap_gets_what_its_filter_lets_through() {
    let point = TapPoint::new("node 0");
    let open = |filter| point.open(filter);
    let mut by_direction = open(TapFilter::new().direction(Direction::Out));
    let mut by_type = open(TapFilter::new().types(["tests.order"]));
    let mut by_other_type = open(TapFilter::new().types(["tests.other"]));
    let mut by_peer = open(TapFilter::new().peer("2"));
    let mut by_variant = open(TapFilter::new().variants(["Cancel"]));
    for number in 0..3 {
        show(&point, Direction::In, &Order::Cancel(number));
        show(&point, Direction::Out, &Order::Place { item: String::new(), number });
    }
    assert!(all(&mut by_direction).iter().all(|it| it.direction == Direction::Out));
    let counts = [&mut by_type, &mut by_other_type, &mut by_peer, &mut by_variant];
    assert_eq!(counts.map(|tap| all(tap).len()), [6, 0, 0, 3]);
}

#[test]
fn a_sample_is_every_so_manieth() {
    let point = TapPoint::new("node 0");
    let mut tap = point.open(TapFilter::new().sample(4).contents(true));
    (0..10).for_each(|number| show(&point, Direction::In, &Order::Cancel(number)));
    let numbers: Vec<_> = all(&mut tap).iter().map(|it| it.contents.clone()).collect();
    let expected = [0, 4, 8].map(|number| Some(serde_json::json!({ "Cancel": number })));
    assert_eq!(numbers, expected);
    assert_eq!(tap.missed(), Missed::default(), "what is not sampled is not missed");
}

#[test]
fn more_than_the_rate_is_counted() {
    let point = TapPoint::new("node 0");
    let mut tap = point.open(TapFilter::new().rate(0));
    (0..7).for_each(|number| show(&point, Direction::In, &Order::Cancel(number)));
    assert_eq!((all(&mut tap).len(), tap.missed().rate), (0, 7));
}

#[test]
fn what_is_too_long_is_shown_without_its_contents() {
    let point = TapPoint::new("node 0");
    let mut tap = point.open(TapFilter::new().max_bytes(8).contents(true));
    show(&point, Direction::In, &Order::Place { item: "a".repeat(100), number: 1 });
    show(&point, Direction::In, &Order::Cancel(1));
    let [long, short] = &all(&mut tap)[..] else { panic!("two") };
    assert_eq!((long.bytes, &long.contents, &long.variant), (103, &None, &None));
    assert!(long.to_string().contains("103 bytes are more than the 8"), "{long}");
    assert!(short.contents.is_some());
}

#[test]
fn a_tap_that_takes_nothing_holds_nobody_up_and_knows_what_it_has_missed() {
    let point = TapPoint::new("node 0");
    let mut tap = point.open(TapFilter::new());
    // It returns, although nobody takes anything.
    (0..10_000).for_each(|number| show(&point, Direction::In, &Order::Cancel(number)));
    let taken = all(&mut tap).len() as u64;
    assert!(taken > 0 && tap.missed().overflow > 0);
    assert_eq!(taken + tap.missed().overflow, 10_000);
}

#[test]
fn bytes_that_make_no_sense_are_said_to_be_so() {
    let point = TapPoint::new("node 0");
    let mut tap = point.open(TapFilter::new().contents(true));
    let mut seen = Seen::new(Direction::In, "node 1", "tests.order", Encoding::Binary, &[9, 9]);
    // Nobody knows its type.
    point.show(&seen);
    seen.schema = Some(Order::schema);
    point.show(&seen);
    // The program's own code fails.
    seen.kind = "tests.broken";
    seen.schema = Some(|| panic!("no description"));
    point.show(&seen);
    let problems: Vec<_> = all(&mut tap).into_iter().filter_map(|it| it.problem).collect();
    let parts = ["expected a schema", "binary message, offset 1", "no description"];
    assert_eq!(problems.len(), 3, "{problems:?}");
    for (problem, part) in problems.iter().zip(parts) {
        assert!(problem.contains(part), "{part}: {problem}");
    }
}

#[test]
fn a_tap_of_the_process_sees_all_points_that_come_later_included() {
    let first = TapPoint::new("first of all");
    let mut tap = Tap::open(TapFilter::new().types(["tests.all"]));
    let later = TapPoint::new("later of all");
    let seen = Seen::new(Direction::Out, "x", "tests.all", Encoding::Text, b"1");
    [&first, &later].into_iter().for_each(|point| point.show(&seen));
    let at: Vec<_> = all(&mut tap).into_iter().map(|it| it.at).collect();
    assert_eq!(at, ["first of all", "later of all"]);
}
