//! A program that each node of a job runs its part of.

use actinium_actor::System;
use actinium_cluster::fabric::Fabric;
use actinium_cluster::job::{self, DOWN_AFTER, JobError, JobFabric, JobNode, Program};

/// Each node has a text of its own, which is far longer than a frame; the first of all has none.
struct Texts;

fn text(node: u32) -> String {
    (0..node * 20_000).map(|at| char::from(b'a' + (at + node) as u8 % 26)).collect()
}

impl Program for Texts {
    type Report = Vec<String>;
    type Error = JobError;

    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<Vec<String>>, JobError> {
        let system = System::builder().workers(1).build()?;
        let node = JobNode::join(system, job::config(DOWN_AFTER)?, fabric, |_| ())?;
        let team = node.team("texts")?;
        job::gather(&node, &team, text(node.id().0))
    }
}

#[test]
fn values_that_fit_in_no_frame_come_whole_and_in_order() {
    for nodes in [1, 2, 4] {
        let all = job::run(JobFabric::InProcess(nodes), |_| (), &Texts).expect("it runs");
        let expected: Vec<String> = (0..nodes).map(text).collect();
        assert!(all == Some(expected), "{nodes}");
    }
}

/// The first node is asked for something else than the others.
struct Disagree;

impl Program for Disagree {
    type Report = ();
    type Error = JobError;

    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<()>, JobError> {
        let system = System::builder().workers(1).build()?;
        let node = JobNode::join(system, job::config(DOWN_AFTER)?, fabric, |_| ())?;
        let team = node.team("disagree")?;
        node.agree(&team, format!("first {}", node.id() == job::FIRST))?;
        Ok(Some(()))
    }
}

#[test]
fn nodes_that_are_asked_for_different_things_say_so() {
    let error = job::run(JobFabric::InProcess(2), |_| (), &Disagree).expect_err("they differ");
    let JobError::Setting(line) = error else { panic!("{error}") };
    assert!(line.starts_with("the nodes have different settings: first "), "{line}");
}
