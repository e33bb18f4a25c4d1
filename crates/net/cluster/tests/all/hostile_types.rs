//! A node that describes its types as it likes, in lookups and spawns.

use crate::common::{Cluster, LIMIT};
use actinium_actor::{Actor, Context, Reply, SpawnOptions};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{NodeConfig, RemoteActor, RemoteAskError};
use actinium_wire::schema::{Describe, Shape, Type, Types};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// An actor that takes messages of this type.
struct Taker<T>(PhantomData<fn(T)>);

impl<T: Send + 'static> Actor for Taker<T> {
    type Msg = T;
    fn handle(&mut self, _msg: T, _ctx: &mut Context<'_, Self>) {}
}

impl<T: Describe + Serialize + for<'de> Deserialize<'de> + Default + Send + 'static> RemoteActor
    for Taker<T>
{
    const KIND: &'static str = "test.taker";
    type Message = T;
    type Request = ();
    type Answer = ();
    fn message(message: T) -> T {
        message
    }
    fn request((): (), _reply: Reply<()>) -> T {
        T::default()
    }
}

/// Says of itself that it is a newtype of itself.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Circle;

impl Describe for Circle {
    fn describe(types: &mut Types) -> Type {
        types.define::<Self>("Circle", |_| Shape::Newtype(Type::Named("Circle".to_owned())))
    }
}

#[track_caller]
fn incompatible<T: std::fmt::Debug>(answer: Result<T, RemoteAskError>) {
    let error = answer.expect_err("the two can not be compared");
    assert!(matches!(error, RemoteAskError::Incompatible { .. }), "{error:?}");
    assert!(error.to_string().contains("type 'Circle': it contains itself"), "{error}");
}

#[test]
fn a_lookup_with_types_that_make_no_sense_is_refused_by_the_types_name() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), NodeConfig::default());
    let address = cluster.hosts[1].system.spawn(Taker::<u64>(PhantomData));
    cluster.hosts[1].node.export("taker", &address).expect("the name is free");
    let answer = cluster.hosts[0].node.lookup::<Taker<Circle>>(NodeId(1), "taker", LIMIT);
    incompatible(cluster.wait(answer));
    // The other way round it is the exporting node's own type.
    let address = cluster.hosts[1].system.spawn(Taker::<Circle>(PhantomData));
    cluster.hosts[1].node.export("circle", &address).expect("the name is free");
    let answer = cluster.hosts[0].node.lookup::<Taker<u64>>(NodeId(1), "circle", LIMIT);
    incompatible(cluster.wait(answer));
    let answer = cluster.hosts[0].node.lookup::<Taker<u64>>(NodeId(1), "taker", LIMIT);
    cluster.wait(answer).expect("the node is as well as before");
}

#[test]
fn a_spawn_with_types_that_make_no_sense_is_refused_by_the_types_name() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), NodeConfig::default());
    let host = &cluster.hosts[1];
    host.node
        .register(SpawnOptions::new(), |_: u64| Taker::<u64>(PhantomData))
        .expect("the kind is free");
    let answer = cluster.hosts[0].node.spawn_on::<Taker<u64>, _>(NodeId(1), Circle, LIMIT);
    incompatible(cluster.wait(answer));
    let answer = cluster.hosts[0].node.spawn_on::<Taker<u64>, _>(NodeId(1), 7_u64, LIMIT);
    cluster.wait(answer).expect("the node is as well as before");
}
