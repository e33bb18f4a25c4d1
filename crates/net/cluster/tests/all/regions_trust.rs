//! Regions and a peer that is made by hand: it reads and writes nothing that it was given no ticket
//! for.

use crate::common::{Cluster, reliable};
use crate::liar::{Found, Key, Liar, Said, ask, bytes, denials, read};
use actinium_actor::{Actor, Context, Reply};
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{Denial, Region, RegionAccess, RemoteActor, RemoteRegion};
use actinium_wire::{Blob, Message};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// As in the crate.
#[derive(Serialize, Deserialize, Message)]
struct Access {
    region: u64,
    secret: u64,
    offset: u64,
    what: What,
}

#[derive(Serialize, Deserialize, Message)]
enum What {
    Get { bytes: u64 },
    Put { bytes: Blob },
    Place { access: u8 },
    Release,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Message)]
enum Refusal {
    Gone,
    NotAllowed,
    OutOfRange { region_bytes: u64 },
    InWindow,
}

/// Has the types of what serves regions.
struct Double;

impl Actor for Double {
    type Msg = ();
    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
}

impl RemoteActor for Double {
    const KIND: &'static str = "actinium.regions";
    type Message = ();
    type Request = Access;
    type Answer = Result<Blob, Refusal>;
    fn message((): ()) {}
    fn request(_: Access, _: Reply<Result<Blob, Refusal>>) {}
}

struct World {
    cluster: Cluster,
    region: Region<Vec<u8>>,
    liar: Liar,
    key: Key,
}

impl World {
    fn new() -> Self {
        let mut cluster = Cluster::new(1, 1, Faults::default(), reliable());
        let region = cluster.hosts[0].node.register_region((0..100).collect()).unwrap();
        let mut liar = Liar::meet(&mut cluster, 1, 1);
        let key = liar.key::<Double>(&mut cluster, "actinium.regions");
        World { cluster, region, liar, key }
    }

    /// What the ticket is: a handle is data.
    fn ticket(&self, access: RegionAccess) -> (u64, u64) {
        let handle: RemoteRegion = self.region.remote(access);
        let (_, region, _, _, secret): (u32, u64, u64, u8, u64) = read(&bytes(&handle));
        (region, secret)
    }

    fn ask(&mut self, (region, secret): (u64, u64), offset: u64, what: What) -> Answered {
        let access = Access { region, secret, offset, what };
        self.liar.said.clear();
        let asked = ask(self.key, 5, &access);
        self.liar.say(&mut self.cluster, &[asked]);
        let answer = self.liar.said.iter().find_map(|said| match said {
            Said::Answer(5, 0, bytes) => Some(read(bytes)),
            _ => None,
        });
        answer.expect("it answers")
    }
}

type Answered = Result<Blob, Refusal>;

fn put(bytes: &[u8]) -> What {
    What::Put { bytes: Blob::from(bytes.to_vec()) }
}

#[test]
fn a_ticket_is_for_its_region_and_its_access() {
    let mut world = World::new();
    let (reads, writes) = (RegionAccess::READ, RegionAccess::WRITE);
    let read_ticket = world.ticket(reads);
    let write_ticket = world.ticket(writes);
    let answer = world.ask(read_ticket, 10, What::Get { bytes: 3 });
    assert_eq!(answer.map(|blob| blob.to_vec()), Ok(vec![10, 11, 12]));
    assert!(world.ask(write_ticket, 10, put(&[7, 7])).is_ok());
    assert_eq!(denials(&world.cluster), []);

    let other = world.cluster.hosts[0].node.register_region(vec![1_u8; 10]).unwrap();
    let (region, secret) = read_ticket;
    let guesses = [
        (region, secret ^ 1),
        (region, 0),
        (region, u64::MAX),
        (other.remote(reads).region(), secret),
    ];
    for guess in guesses {
        for what in [What::Get { bytes: 1 }, put(&[1])] {
            let answer = world.ask(guess, 0, what);
            assert_eq!(answer.map(drop), Err(Refusal::NotAllowed));
        }
    }
    let answer = world.ask(read_ticket, 0, put(&[1]));
    assert_eq!(answer.map(drop), Err(Refusal::NotAllowed));
    let answer = world.ask(write_ticket, 0, What::Get { bytes: 1 });
    assert_eq!(answer.map(drop), Err(Refusal::NotAllowed));
    let told = denials(&world.cluster);
    assert!(told.iter().all(|(what, ..)| *what == Denial::Region), "{told:?}");
    // The first, the second, the fourth and the eighth of ten.
    assert_eq!(told.len(), 4);
    let expected: Vec<u8> = (0..100).map(|at| if at == 10 || at == 11 { 7 } else { at }).collect();
    assert!(world.liar.link.is_up());
    assert_eq!(world.region.unregister(), expected);
    assert_eq!(other.unregister(), vec![1; 10]);
}

#[test]
fn nobody_reads_or_writes_outside_or_after_it_was_taken_back() {
    let mut world = World::new();
    let ticket = world.ticket(RegionAccess::READ | RegionAccess::WRITE);
    let outside = |answer: Answered| {
        assert_eq!(answer.map(drop), Err(Refusal::OutOfRange { region_bytes: 100 }));
    };
    for (offset, len) in [(0, 101), (99, 2), (100, 1), (u64::MAX, 2), (u64::MAX, u64::MAX)] {
        outside(world.ask(ticket, offset, What::Get { bytes: len }));
    }
    // So much is never made room for.
    outside(world.ask(ticket, 0, What::Get { bytes: u64::MAX }));
    for (offset, len) in [(0, 101), (99, 2), (100, 1), (u64::MAX, 2)] {
        outside(world.ask(ticket, offset, put(&vec![255; len])));
    }
    let told = denials(&world.cluster);
    assert!(!told.is_empty() && told.iter().all(|(what, ..)| *what == Denial::Region));
    let World { mut cluster, region, mut liar, key } = world;
    assert_eq!(region.unregister(), (0..100).collect::<Vec<u8>>());
    for what in [What::Get { bytes: 1 }, put(&[1])] {
        liar.said.clear();
        let access = Access { region: ticket.0, secret: ticket.1, offset: 0, what };
        liar.say(&mut cluster, &[ask(key, 6, &access)]);
        let gone: Answered = Err(Refusal::Gone);
        assert_eq!(liar.said, [Said::Answer(6, 0, bytes(&gone))]);
    }
    assert_eq!(denials(&cluster), [], "an honest node may be late");
}

/// It may watch, send to or stop what serves regions as little as anything that is not exported so.
#[test]
fn what_serves_regions_takes_requests_only() {
    let mut world = World::new();
    let key = world.key;
    let items = [
        crate::liar::tell(key, &()),
        crate::liar::control(&crate::liar::Control::Stop { key, now: true }),
        crate::liar::control(&crate::liar::Control::Adopt { key }),
        crate::liar::control(&crate::liar::Control::Watch { watch: 3, key }),
        // No request of its kind.
        ask(key, 4, &"read all"),
    ];
    world.liar.say(&mut world.cluster, &items);
    let told: Vec<Denial> = denials(&world.cluster).into_iter().map(|(what, ..)| what).collect();
    assert_eq!(told, [Denial::Send, Denial::Stop, Denial::Adopt, Denial::Watch]);
    let ticket = world.ticket(RegionAccess::READ);
    assert!(world.ask(ticket, 0, What::Get { bytes: 100 }).is_ok());
    assert!(matches!(
        world.liar.look_up::<Double>(&mut world.cluster, "actinium.regions"),
        Found::Actor { .. }
    ));
}

/// Where a window lies, and releases: of what is one's own only. Who does not answer keeps nobody
/// waiting.
#[test]
fn a_window_is_told_for_a_ticket_and_taken_back_from_who_says_nothing() {
    let mut world = World::new();
    let answer = world.cluster.hosts[0].node.register_window(100).unwrap();
    let window = crate::regions::wait(&mut world.cluster, answer).unwrap();
    let handle = window.remote(RegionAccess::READ);
    let (_, number, _, _, secret): (u32, u64, u64, u8, u64) = read(&bytes(&handle));
    for (guess, access) in [(secret ^ 1, 1), (secret, 2), (secret, 3), (0, 1)] {
        let answer = world.ask((number, guess), 0, What::Place { access });
        assert_eq!(answer.map(drop), Err(Refusal::NotAllowed), "{access}");
    }
    // Its own node is told that it has no lease, and it releases nobody else's.
    for region in [number, 0, u64::MAX] {
        let answer = world.ask((region, secret), 0, What::Release);
        assert_eq!(answer.map(|blob| blob.to_vec()), Ok(Vec::new()));
    }
    // No messages reach it, and a region that lies in no window lies nowhere.
    let answer = world.ask((number, secret), 0, What::Get { bytes: 1 });
    assert_eq!(answer.map(drop), Err(Refusal::InWindow));
    let ticket = world.ticket(RegionAccess::READ);
    let answer = world.ask(ticket, 0, What::Place { access: 1 });
    assert_eq!(answer.map(|blob| blob.to_vec()), Ok(Vec::new()));
    let place = world.ask((number, secret), 0, What::Place { access: 1 }).unwrap();
    assert_eq!(place.len(), 16);
    assert_eq!(place[8..], 100_u64.to_le_bytes());
    let taken = window.unregister(Duration::from_millis(50));
    assert_eq!(crate::regions::wait(&mut world.cluster, taken), Ok(vec![0; 100]));
    let answer = world.ask((number, secret), 0, What::Place { access: 1 });
    assert_eq!(answer.map(drop), Err(Refusal::Gone));
}
