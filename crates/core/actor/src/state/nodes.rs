//! The NUMA nodes of workers.

use crate::options::SpawnError;
use actinium_topology::{PuId, Topology};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The node of each worker, if it is known.
pub(crate) struct WorkerNodes {
    of_worker: Box<[Option<u32>]>,
    turn: AtomicUsize,
}

impl WorkerNodes {
    /// The nodes of workers that are bound to these PUs of this machine, or to none.
    pub(crate) fn of(machine: &Topology, pus: &[Option<PuId>]) -> Self {
        let nodes = machine.numa_nodes();
        // On a machine of one node every worker is there, bound or not.
        if let [only] = nodes
            && only.os_index == 0
        {
            return Self::all_on_one(pus.len());
        }
        let node = |pu: &Option<PuId>| Some(nodes.get(machine.pu((*pu)?)?.numa_node?)?.os_index);
        let of_worker = pus.iter().map(node).collect();
        WorkerNodes { of_worker, turn: AtomicUsize::new(0) }
    }

    /// The nodes of `workers` workers that are all on node 0.
    pub(crate) fn all_on_one(workers: usize) -> Self {
        let of_worker = vec![Some(0); workers].into_boxed_slice();
        WorkerNodes { of_worker, turn: AtomicUsize::new(0) }
    }

    /// The node of each worker, if it is known.
    pub(crate) fn of_workers(&self) -> &[Option<u32>] {
        &self.of_worker
    }

    /// A worker on this node: another each time, if there are several.
    pub(crate) fn next_on(&self, node: u32) -> Result<usize, SpawnError> {
        let on_it = |worker: &usize| self.of_worker[*worker] == Some(node);
        let workers = 0..self.of_worker.len();
        let count = workers.clone().filter(on_it).count();
        if count == 0 {
            let mut nodes: Vec<u32> = self.of_worker.iter().flatten().copied().collect();
            nodes.sort_unstable();
            nodes.dedup();
            return Err(SpawnError::NoSuchNode { node, nodes });
        }
        // Relaxed: that the numbers differ is all that matters.
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % count;
        Ok(workers.into_iter().filter(on_it).nth(turn).expect("there are so many"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_of_a_node_take_turns() {
        let machine = Topology::synthetic("package:2 numa:1 core:2 pu:1").unwrap();
        let pus: Vec<_> = machine.choose_pus(4).unwrap().into_iter().map(Some).collect();
        let nodes = WorkerNodes::of(&machine, &pus);
        for node in [0, 1] {
            let got: Vec<usize> = (0..4).map(|_| nodes.next_on(node).unwrap()).collect();
            assert_eq!((got[0], got[1]), (got[2], got[3]));
            assert_ne!(got[0], got[1]);
            let of = |worker: usize| machine.pu(machine.choose_pus(4).unwrap()[worker]).unwrap();
            assert!(got.iter().all(|&worker| of(worker).numa_node == Some(node as usize)));
        }
        let error = nodes.next_on(7).unwrap_err();
        assert_eq!(error, SpawnError::NoSuchNode { node: 7, nodes: vec![0, 1] });
        assert!(error.to_string().contains("on the nodes [0, 1]"), "{error}");
    }

    #[test]
    fn unbound_workers_are_on_no_node_unless_there_is_only_one() {
        let two = Topology::synthetic("package:2 numa:1 core:2 pu:1").unwrap();
        let nodes = WorkerNodes::of(&two, &[None; 4]);
        let error = nodes.next_on(0).unwrap_err();
        assert_eq!(error, SpawnError::NoSuchNode { node: 0, nodes: vec![] });
        assert!(error.to_string().contains("not bound"), "{error}");
        // Some have a PU, and some have none.
        let some = WorkerNodes::of(&two, &[None, Some(PuId(2)), None]);
        assert_eq!((some.next_on(1), some.next_on(1)), (Ok(1), Ok(1)));
        let error = some.next_on(0).unwrap_err();
        assert_eq!(error, SpawnError::NoSuchNode { node: 0, nodes: vec![1] });
        let one = Topology::synthetic("numa:1 core:2 pu:1").unwrap();
        assert_eq!(WorkerNodes::of(&one, &[None; 9]).next_on(0).map(|worker| worker < 9), Ok(true));
    }
}
