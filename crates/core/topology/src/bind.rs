//! Binding threads to PUs. The two system calls that it takes are the only unsafe code of this
//! crate.
//!
//! `libc` rather than a fixed-size set: a kernel for more than 1,024 CPUs refuses a mask that is
//! too short.

use std::fmt;
use std::io;
use std::thread;

use libc::{c_ulong, cpu_set_t, pid_t};

use crate::{CpuSet, PuId};

/// The bits of one word of a mask.
const WORD_BITS: usize = c_ulong::BITS as usize;

/// Masks longer than this are not asked for: sixteen times what [`crate::MAX_PUS`] takes.
const MASK_WORDS_MAX: usize = 16 * crate::MAX_PUS / WORD_BITS;

const _: () = assert!(align_of::<cpu_set_t>() == align_of::<c_ulong>());

/// A thread could not be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BindError {
    /// Where it should have run.
    pub pus: CpuSet,
    /// The system's error number.
    pub errno: i32,
    /// Where the process may run, if that could be found out.
    pub allowed: Option<CpuSet>,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.pus.len() == 1 { "" } else { "s" };
        let reason = io::Error::from_raw_os_error(self.errno);
        write!(f, "can not bind this thread to PU{plural} {}: {reason}: ", self.pus)?;
        match self.errno {
            libc::EINVAL => {
                write!(f, "offline, not there, or outside of the process's cpuset")?;
                if let Some(allowed) = &self.allowed {
                    write!(f, ", which is {allowed}")?;
                }
                write!(f, ": choose among Topology::allowed(), or widen the cpuset")
            }
            libc::EPERM | libc::EACCES | libc::ENOSYS => write!(
                f,
                "the container's seccomp profile or another security policy forbids sched_setaffinity: allow it, or run unbound"
            ),
            _ => write!(f, "run unbound"),
        }
    }
}

impl std::error::Error for BindError {}

/// Binds the calling thread to one PU: from now on it runs nowhere else. Threads that it spawns
/// inherit that.
///
/// ```
/// use actinium_topology::{PuId, bind_current_thread};
///
/// let error = bind_current_thread(PuId(1_000_000)).unwrap_err();
/// assert!(error.to_string().starts_with("can not bind this thread to PU 1000000: "));
/// ```
///
/// # Errors
/// If the PU is offline, not there or not allowed, or a security policy forbids it. The error says
/// what to do; the thread goes on as before.
pub fn bind_current_thread(pu: PuId) -> Result<(), BindError> {
    bind_current_thread_to(&pu.into())
}

/// Binds the calling thread to a set of PUs: the system chooses among them. With
/// [`crate::Topology::allowed`] it undoes [`bind_current_thread`].
///
/// ```
/// use actinium_topology::{Topology, bind_current_thread_to};
///
/// let machine = Topology::detect()?;
/// bind_current_thread_to(machine.allowed()).expect("the allowed PUs are allowed");
/// # Ok::<(), actinium_topology::TopologyError>(())
/// ```
///
/// # Errors
/// The same as for [`bind_current_thread`].
pub fn bind_current_thread_to(pus: &CpuSet) -> Result<(), BindError> {
    set_affinity(pus).map_err(|errno| BindError {
        pus: pus.clone(),
        errno,
        allowed: affinity(0).ok(),
    })
}

/// Whether threads may be bound at all.
pub(crate) fn is_permitted() -> Result<(), BindError> {
    // A thread that is bound, be it to all that it may use, is not given what its cpuset gains
    // later: so one that ends.
    let tried = thread::Builder::new().spawn(|| {
        // What can not be read can not be tried.
        affinity(0).map_or(Ok(()), |pus| bind_current_thread_to(&pus))
    });
    // Without threads there will be no workers either.
    tried.ok().and_then(|tried| tried.join().ok()).unwrap_or(Ok(()))
}

/// The PUs that a thread may run on: 0 is the caller, a process's number its main thread.
pub(crate) fn affinity(thread: u32) -> Result<CpuSet, i32> {
    let thread = pid_t::try_from(thread).map_err(|_| libc::ESRCH)?;
    let mut words = 1024 / WORD_BITS;
    loop {
        let mut mask: Vec<c_ulong> = vec![0; words];
        let bytes = size_of_val(mask.as_slice());
        // SAFETY: the kernel writes at most `bytes` bytes to the mask, which has that many, aligned
        // as a `cpu_set_t` (asserted above); any bits make a valid `c_ulong`.
        let code = unsafe { libc::sched_getaffinity(thread, bytes, mask.as_mut_ptr().cast()) };
        match errno_of(code) {
            Ok(()) => return Ok(set_of(&mask)),
            // The kernel knows more CPUs than the mask has room for.
            Err(libc::EINVAL) if words < MASK_WORDS_MAX => words *= 2,
            Err(errno) => return Err(errno),
        }
    }
}

fn set_affinity(pus: &CpuSet) -> Result<(), i32> {
    let mask = mask_of(pus).ok_or(libc::EINVAL)?;
    let bytes = size_of_val(mask.as_slice());
    // SAFETY: the kernel reads at most `bytes` bytes of the mask, which has that many, aligned as a
    // `cpu_set_t` (asserted above). 0 names the calling thread.
    errno_of(unsafe { libc::sched_setaffinity(0, bytes, mask.as_ptr().cast()) })
}

fn errno_of(code: libc::c_int) -> Result<(), i32> {
    if code == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

fn set_of(mask: &[c_ulong]) -> CpuSet {
    let bits = (0..mask.len() * WORD_BITS)
        .filter(|bit| mask[bit / WORD_BITS] & (1 << (bit % WORD_BITS)) != 0);
    bits.map(|bit| PuId(bit as u32)).collect()
}

/// None if the mask would be longer than any machine needs.
fn mask_of(pus: &CpuSet) -> Option<Vec<c_ulong>> {
    let words = pus.last().map_or(0, |last| last.0 as usize) / WORD_BITS + 1;
    let mut mask: Vec<c_ulong> = (words <= MASK_WORDS_MAX).then(|| vec![0; words])?;
    for pu in pus.iter() {
        mask[pu.0 as usize / WORD_BITS] |= 1 << (pu.0 as usize % WORD_BITS);
    }
    Some(mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_sets_are_the_same() {
        for text in ["0", "0-3,63-64,127", "1000,65535"] {
            let set: CpuSet = text.parse().unwrap();
            assert_eq!(set_of(&mask_of(&set).unwrap()), set);
        }
        assert_eq!(mask_of(&PuId(u32::MAX).into()), None);
    }

    #[test]
    fn a_bound_thread_runs_there_only() {
        let bound = thread::spawn(|| {
            let pu = affinity(0)?.last().ok_or(0)?;
            bind_current_thread(pu).map_err(|error| error.errno)?;
            Ok::<_, i32>((pu, affinity(0)?))
        });
        let (pu, after) = bound.join().unwrap().unwrap();
        assert_eq!(after, pu.into());
    }

    #[test]
    fn the_error_says_what_to_do() {
        for pu in [PuId(1_000_000), PuId(u32::MAX)] {
            let error = bind_current_thread(pu).unwrap_err();
            assert_eq!(error.errno, libc::EINVAL);
            let text = error.to_string();
            assert!(text.contains(&format!("PU {pu}: ")), "{text}");
            assert!(text.contains("os error 22") && text.contains("choose among"), "{text}");
            assert!(error.allowed.is_some_and(|allowed| !allowed.is_empty()));
        }
        let forbidden =
            BindError { pus: "0-1".parse().unwrap(), errno: libc::EPERM, allowed: None };
        let text = forbidden.to_string();
        assert!(text.contains("PUs 0-1: ") && text.contains("seccomp"), "{text}");
    }
}
