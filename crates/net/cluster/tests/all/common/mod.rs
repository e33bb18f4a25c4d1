//! Nodes on test systems, over a network that a seed makes bad, moved step by step.

use actinium_actor::testing::TestSystem;
use actinium_actor::{Actor, Context, Down, Recipient};
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{ManualNode, NodeConfig, NodeEvent, RemoteAnswer, RemoteAskError};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

pub(crate) const MS: u64 = 1_000_000;
/// Turns of a node without time moving on: far more than any test has work for.
const TURNS_MAX: u32 = 100_000;
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

pub(crate) struct Host {
    pub(crate) system: TestSystem,
    pub(crate) node: ManualNode,
    pub(crate) events: Arc<Mutex<Vec<NodeEvent>>>,
}

/// Asks until the request is taken: it is a message like any, and refused where too much waits.
pub(crate) fn ask_until_taken<R>(
    mut ask: impl FnMut() -> RemoteAnswer<R>,
) -> Result<R, RemoteAskError> {
    loop {
        match ask().wait() {
            Err(RemoteAskError::Full(_)) => std::thread::yield_now(),
            answer => return answer,
        }
    }
}

/// Says when whom it watches has ended.
pub(crate) struct Watcher<M>(pub(crate) Recipient<M>, pub(crate) Arc<Mutex<Vec<Down>>>);

impl<M: Send + 'static> Actor for Watcher<M> {
    type Msg = Down;
    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        ctx.watch(&self.0, |down| down);
    }
    fn handle(&mut self, down: Down, _ctx: &mut Context<'_, Self>) {
        self.1.lock().unwrap().push(down);
    }
}

pub(crate) struct Cluster {
    pub(crate) network: Network,
    pub(crate) hosts: Vec<Host>,
    pub(crate) config: NodeConfig,
    /// No actor has a turn: workers are in long ones, and nodes move their frames all the same.
    pub(crate) is_busy: bool,
}

impl Cluster {
    pub(crate) fn new(seed: u64, nodes: u32, faults: Faults, config: NodeConfig) -> Self {
        let network = Network::seeded(seed, faults);
        let mut cluster = Cluster { network, hosts: Vec::new(), config, is_busy: false };
        cluster.hosts = (0..nodes).map(|n| cluster.host(n, 1)).collect();
        cluster
    }

    pub(crate) fn host(&self, n: u32, incarnation: u64) -> Host {
        let system = TestSystem::seeded(u64::from(n));
        let fabric = self.network.node(NodeId(n));
        assert_eq!(fabric.name(), "in-process");
        let node =
            ManualNode::join(system.handle(), fabric, self.config.clone(), incarnation).unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = events.clone();
        node.on_event(move |event| log.lock().unwrap().push(event.clone()));
        Host { system, node, events }
    }

    pub(crate) fn step(&mut self) {
        self.network.advance(MS);
        let now_ns = self.network.now_ns();
        for host in &mut self.hosts {
            let mut run = || (!self.is_busy).then(|| host.system.run_until_idle());
            run();
            let mut turns = 0;
            while host.node.turn(now_ns) {
                run();
                turns += 1;
                assert!(turns < TURNS_MAX, "{:?} never has nothing to do", host.node.stats());
            }
        }
    }

    /// Cuts these nodes off from all others, or heals that.
    pub(crate) fn part(&self, side: &[u32], cut: bool) {
        let nodes = self.hosts.len() as u32;
        for &a in side {
            for b in (0..nodes).filter(|b| !side.contains(b)) {
                let (a, b) = (NodeId(a), NodeId(b));
                if cut { self.network.cut(a, b) } else { self.network.heal(a, b) }
            }
        }
    }

    pub(crate) fn steps(&mut self, steps: u32) {
        (0..steps).for_each(|_| self.step());
    }

    pub(crate) fn wait<R, E>(
        &mut self,
        answer: impl Future<Output = Result<R, RemoteAskError<E>>>,
    ) -> Result<R, RemoteAskError<E>> {
        let mut answer = std::pin::pin!(answer);
        for _ in 0..20_000 {
            let mut cx = TaskContext::from_waker(Waker::noop());
            if let Poll::Ready(answer) = answer.as_mut().poll(&mut cx) {
                return answer;
            }
            self.step();
        }
        panic!("neither an answer nor its deadline");
    }

    pub(crate) fn events(&self, host: usize) -> Vec<NodeEvent> {
        std::mem::take(&mut *self.hosts[host].events.lock().unwrap())
    }
}

pub(crate) fn reliable() -> NodeConfig {
    let link = LinkConfig { reliable: true, ..LinkConfig::default() };
    NodeConfig { link, ..NodeConfig::default() }
}

pub(crate) fn bad_network() -> Faults {
    Faults {
        delay_ns: 0..=3 * MS,
        loss: 0.05,
        duplication: 0.05,
        corruption: 0.02,
        reordering: 0.1,
    }
}
