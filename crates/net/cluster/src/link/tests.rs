//! Tests of a link with numbers that no honest node comes to, and with its own numbers at the end
//! of their range.

use super::*;
use proptest::prelude::*;

/// Two links that are up, in the incarnations 10 and 20; of the first it was told.
fn pair(reliable: bool) -> (Link, Link) {
    let config = LinkConfig { reliable, ..LinkConfig::default() };
    let (mut here, mut there) =
        (Link::new(config.clone(), 10, 0).unwrap(), Link::new(config, 20, 0).unwrap());
    for _ in 0..3 {
        let mut said = Vec::new();
        here.transmit(1, |frame| {
            said.push(frame.to_vec());
            true
        });
        said.drain(..).for_each(|frame| there.receive(frame, 1));
        there.transmit(1, |frame| {
            said.push(frame.to_vec());
            true
        });
        said.into_iter().for_each(|frame| here.receive(frame, 1));
    }
    assert_eq!(here.poll_event(), Some(LinkEvent::Up));
    assert_eq!(here.poll_event(), None);
    (here, there)
}

/// The first of these.
fn up(reliable: bool) -> Link {
    pair(reliable).0
}

fn header(kind: Kind) -> Header {
    let (number, messages_before, messages, arrived, handled) = (0, 0, 0, 0, 0);
    let (from_incarnation, to_incarnation) = (20, 10);
    Header {
        kind,
        from_incarnation,
        to_incarnation,
        number,
        messages_before,
        messages,
        arrived,
        handled,
    }
}

fn frame(header: Header, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; HEADER_BYTES];
    frame.extend_from_slice(payload);
    header.write(&mut frame);
    frame
}

#[test]
fn numbers_that_cannot_be_are_refused_by_name_and_harm_nothing() {
    let data = header(Kind::Data);
    let beat = header(Kind::Heartbeat);
    let none: &[u8] = &[];
    let frames_lost = [u64::MAX.to_le_bytes(), [0; 8]].concat();
    let messages_lost = [[0; 8], 1_u64.to_le_bytes()].concat();
    for (header, payload, what, value) in [
        (
            Header { from_incarnation: u64::MAX, ..header(Kind::Hello) },
            none,
            "its incarnation",
            u64::MAX,
        ),
        (Header { messages: 1 << 32, ..data }, none, "the number of messages in a frame", 1 << 32),
        (Header { number: 65, ..beat }, none, "the number of its next frame", 65),
        (Header { number: u64::MAX, ..beat }, none, "the number of its next frame", u64::MAX),
        (
            Header { number: u64::MAX, ..header(Kind::Bye) },
            none,
            "the number of its next frame",
            u64::MAX,
        ),
        (Header { messages_before: 1, ..data }, none, "the number of messages before a frame", 1),
        (
            Header { number: 1, messages_before: 1 << 32, ..beat },
            none,
            "the number of messages before a frame",
            1 << 32,
        ),
        (Header { arrived: 1, ..data }, none, "the number of frames that have arrived", 1),
        (Header { handled: u64::MAX, ..beat }, none, "the number of frames handled", u64::MAX),
        (beat, &frames_lost, "the number of frames lost", u64::MAX),
        (beat, &messages_lost, "the number of messages lost", 1),
    ] {
        let mut link = up(false);
        link.receive(frame(header, payload), 2);
        if header.kind == Kind::Hello {
            let told = link.poll_event();
            let Some(LinkEvent::Refused(Refusal::Absurd { what: named, value: was, .. })) = told
            else {
                panic!("{header:?}: {told:?}")
            };
            assert_eq!((named, was), (what, value));
            // Whatever comes next of that sort is counted, not told; and what is right is taken as
            // before.
            link.receive(frame(header, payload), 2);
            assert_eq!((link.poll_event(), link.counters().garbage), (None, 2));
            link.receive(frame(Header { messages: 1, ..data }, b"payload"), 2);
            assert!(matches!(link.poll_event(), Some(LinkEvent::Frame(_))), "{header:?}");
            continue;
        }
        let told = link.poll_event();
        let Some(LinkEvent::Down(Down {
            reason: DownReason::Broke(breach @ Breach::Absurd { what: named, value: was, .. }),
            ..
        })) = told
        else {
            panic!("{header:?}: {told:?}")
        };
        assert_eq!((named, was), (what, value));
        assert!(breach.to_string().contains(&value.to_string()), "{breach}");
        // Whatever comes next is not heard.
        link.receive(frame(Header { messages: 1, ..data }, b"payload"), 3);
        assert_eq!((link.poll_event(), link.counters().stale), (None, 1));
    }
}

#[test]
fn who_is_cut_off_is_told_so_and_may_come_back_later() {
    let (mut here, mut there) = pair(false);
    let mut later = 2;
    let talk = |here: &mut Link, there: &mut Link, now_ns| {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        here.tick(now_ns);
        there.tick(now_ns);
        here.transmit(now_ns, |frame| {
            a.push(frame.to_vec());
            true
        });
        there.transmit(now_ns, |frame| {
            b.push(frame.to_vec());
            true
        });
        a.into_iter().for_each(|frame| there.receive(frame, now_ns));
        b.into_iter().for_each(|frame| here.receive(frame, now_ns));
    };
    assert_eq!(there.poll_event(), Some(LinkEvent::Up));
    here.cut(Breach::Malformed, later);
    let ends = |link: &mut Link| match link.poll_event() {
        Some(LinkEvent::Down(down)) => down.reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(ends(&mut here), DownReason::Broke(Breach::Malformed));
    talk(&mut here, &mut there, later);
    assert_eq!(ends(&mut there), DownReason::CutOff);
    let down_after_ns = LinkConfig::default().down_after_ns;
    assert!(here.due_ns() <= later + down_after_ns);
    while later < down_after_ns {
        talk(&mut here, &mut there, later);
        assert!(!here.is_up() && !there.is_up(), "at {later} ns");
        later += 50_000_000;
    }
    for _ in 0..10 {
        talk(&mut here, &mut there, later);
        later += 50_000_000;
    }
    assert!(here.is_up() && there.is_up());
}

#[test]
fn who_has_left_is_called_when_it_is_known_to_be_back() {
    let (mut here, mut there) = pair(false);
    there.leave(|frame| {
        here.receive(frame.to_vec(), 2);
        true
    });
    assert!(matches!(here.poll_event(), Some(LinkEvent::Down(_))));
    let calls = |here: &mut Link, now_ns| {
        here.tick(now_ns);
        let mut frames = 0;
        here.transmit(now_ns, |_| {
            frames += 1;
            true
        });
        frames > 0
    };
    let mut now_ns = LinkConfig::default().heartbeat_ns;
    assert!(!calls(&mut here, 10 * now_ns));
    here.call();
    now_ns *= 20;
    assert!(calls(&mut here, now_ns));
    // Not one that was cut off: not before its time.
    let (mut here, _) = pair(false);
    here.cut(Breach::Malformed, now_ns);
    assert!(calls(&mut here, now_ns), "it is told so");
    here.call();
    assert!(!calls(&mut here, now_ns + LinkConfig::default().down_after_ns / 2));
}

#[test]
fn a_pause_is_no_silence_and_no_reason_to_wait_for_longer() {
    let down_after_ns = LinkConfig::default().down_after_ns;
    let mut here = up(false);
    // Nobody has looked at it for long, and then it has heard something.
    let now_ns = 10 * down_after_ns;
    here.receive(frame(header(Kind::Heartbeat), &[0; 16]), now_ns);
    here.tick(now_ns);
    assert!(here.is_up());
    let step_ns = down_after_ns / 4;
    (1..=4).for_each(|step| here.tick(now_ns + step * step_ns));
    assert!(here.is_up());
    here.tick(now_ns + 5 * step_ns);
    let Some(LinkEvent::Down(down)) = here.poll_event() else { panic!("it waits for longer") };
    assert_eq!(down.reason, DownReason::Silent { for_ns: 5 * step_ns });
}

#[test]
fn an_incarnation_that_could_not_grow_is_no_incarnation() {
    let made = Link::new(LinkConfig::default(), u64::MAX, 0);
    let error = made.err().expect("no incarnation");
    assert_eq!((error.setting, error.value), ("incarnation", u64::MAX));
    assert!(Link::new(LinkConfig::default(), COUNT_MAX, 0).is_ok());
}

#[test]
fn at_the_end_of_their_range_numbers_stop() {
    for reliable in [false, true] {
        let mut link = up(reliable);
        let first = u64::MAX - 2;
        (link.incoming.arrived, link.acknowledged) = (first, first);
        for number in [first, first + 1] {
            link.receive(frame(Header { number, messages: 1, ..header(Kind::Data) }, b"x"), 2);
            let Some(LinkEvent::Frame(delivery)) = link.poll_event() else { panic!("{number}") };
            link.handled(delivery.session, 1, 2);
        }
        // The last number of all is never used: there is none behind it.
        let last = Header { number: u64::MAX, messages: 1, ..header(Kind::Data) };
        link.receive(frame(last, b"x"), 2);
        assert_eq!((link.poll_event(), link.counters().beyond_window), (None, 1));
        link.receive(frame(Header { number: u64::MAX, ..header(Kind::Bye) }, b""), 2);
        assert!(matches!(link.poll_event(), Some(LinkEvent::Down(_))), "a new session begins at 0");
    }
}

/// Numbers at the ends of their ranges, and small ones.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..70_u64, (0..70_u64).prop_map(|less| u64::MAX - less), any::<u64>()]
}

proptest! {
    #[test]
    fn whatever_a_peer_counts_nothing_leaves_its_range(
        reliable: bool,
        said in proptest::collection::vec(
            (2_u8..5, [number(), number(), number(), number(), number()], [number(), number()]),
            0..40,
        ),
    ) {
        let mut link = up(reliable);
        for (kind, [number, messages_before, messages, arrived, handled], [a, b]) in said {
            let kind = [Kind::Data, Kind::Heartbeat, Kind::Bye][usize::from(kind) - 2];
            if !link.is_up() {
                // It left, or was cut off.
                link = up(reliable);
            }
            let ours = link.header(kind);
            let header = Header {
                number, messages_before, messages, arrived, handled,
                from_incarnation: 20, to_incarnation: ours.from_incarnation, kind,
            };
            let _ = link.send(3, vec![0; HEADER_BYTES]);
            link.receive(frame(header, &[a.to_le_bytes(), b.to_le_bytes()].concat()), 2);
            while let Some(event) = link.poll_event() {
                if let LinkEvent::Frame(delivery) = event {
                    link.handled(delivery.session, 1, 2);
                }
            }
            link.transmit(3, |_| true);
        }
    }

    /// Spoilt copies of an honest node's frames, with right checksums, between these.
    #[test]
    fn spoilt_copies_of_frames_break_neither_order_nor_credit(
        reliable: bool,
        said in proptest::collection::vec((0..7_usize, number(), any::<bool>(), 0..4_u8), 1..60),
    ) {
        let (mut here, mut there) = pair(reliable);
        let (mut waiting, mut last, mut now_ns) = (Vec::new(), None, 2);
        for (field, value, is_spoilt, handles) in said {
            now_ns += 1_000_000;
            let _ = there.send(1, [&[0; HEADER_BYTES][..], b"x"].concat());
            let mut frames = Vec::new();
            there.transmit(now_ns, |frame| {
                frames.push(frame.to_vec());
                true
            });
            for mut frame in frames {
                here.receive(frame.clone(), now_ns);
                if is_spoilt {
                    let at = 8 + 8 * field;
                    frame[at..at + 8].copy_from_slice(&value.to_le_bytes());
                    let sum = crc32c::crc32c_append(crc32c::crc32c(&frame[..4]), &frame[8..]);
                    frame[4..8].copy_from_slice(&sum.to_le_bytes());
                    here.receive(frame, now_ns);
                }
            }
            while let Some(event) = here.poll_event() {
                match event {
                    LinkEvent::Frame(delivery) => {
                        let number = Header::read(&delivery.frame).unwrap().number;
                        prop_assert!(last < Some(number), "{number} after {last:?}");
                        last = Some(number);
                        waiting.push(delivery.session);
                    }
                    LinkEvent::Down(_) => {
                        last = None;
                        waiting.clear();
                    }
                    _ => {}
                }
            }
            prop_assert!(waiting.len() <= LinkConfig::default().window_frames as usize);
            for _ in 0..handles.min(waiting.len() as u8) {
                here.handled(waiting.remove(0), 1, now_ns);
            }
            here.transmit(now_ns, |frame| {
                there.receive(frame.to_vec(), now_ns);
                true
            });
            if !here.is_up() {
                (here, there) = pair(reliable);
            }
        }
    }
}
