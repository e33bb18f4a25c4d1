//! The child of a fork has none of the threads that fault in: it must not wait for them.
//!
//! A program of its own: it forks, and no other test may hold a lock of the process meanwhile.

#![cfg(not(miri))]
#![cfg(target_os = "linux")]

use actinium_memory::{Mode, PageSize, Segment, Size};

/// Runs this in the child of a fork, and says whether that ended well.
fn in_a_child(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only uses what it is given here and ends at once, without running anybody's
    // destructors or exit handlers.
    match unsafe { libc::fork() } {
        0 => {
            let code = i32::from(!work());
            // SAFETY: ends the child.
            unsafe { libc::_exit(code) }
        }
        child => {
            assert!(child > 0);
            let mut status = 0;
            // SAFETY: the child is ours, and the status is alive.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        }
    }
}

fn faulting() -> Segment {
    let builder = Segment::builder().size(Size::Bytes(128 << 20)).pages(PageSize::Base);
    builder.mode(Mode::Background).build().expect("memory")
}

#[test]
fn a_child_uses_its_copy_and_drops_it() {
    let mut segment = faulting();
    segment.bytes().expect("private")[77] = 5;
    let segment = std::cell::RefCell::new(Some(segment));
    assert!(in_a_child(|| {
        let mut segment = segment.borrow_mut().take().expect("it is there");
        let waited = segment.wait().is_ok();
        let kept = segment.bytes().is_some_and(|bytes| bytes[77] == 5);
        drop(segment);
        waited && kept
    }));
    let segment = segment.into_inner().expect("the child took only its copy");
    segment.wait().expect("the parent's goes on");
    assert_eq!(segment.stats().absent_bytes, Some(0));
}

#[test]
fn a_child_without_the_memory_is_told_so() {
    let builder = Segment::builder().size(Size::Bytes(16 << 20)).no_fork(true);
    let segment = builder.mode(Mode::Background).build().expect("memory");
    assert!(in_a_child(|| segment.wait().is_err()));
    segment.wait().expect("the parent has it");
}
