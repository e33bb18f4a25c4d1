//! Memory regions of an RDMA adapter, by libibverbs. Peers may read them; to let peers write is for
//! whoever can say what of the segment nobody uses meanwhile.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Fabric, FabricLimits, Key, Region};
use crate::MemoryError;

/// The parts of `<infiniband/verbs.h>` that are needed. These layouts are part of the library's
/// stable interface.
mod ffi {
    use std::ffi::{c_char, c_int, c_void};

    /// `struct ibv_mr`.
    #[repr(C)]
    pub(super) struct Mr {
        pub(super) context: *mut c_void,
        pub(super) domain: *mut c_void,
        pub(super) start: *mut c_void,
        pub(super) len: usize,
        pub(super) handle: u32,
        pub(super) local_key: u32,
        pub(super) remote_key: u32,
    }

    /// The beginning of `struct ibv_device_attr`, and more room than the rest needs.
    #[repr(C)]
    pub(super) struct Attributes {
        pub(super) firmware: [u8; 64],
        pub(super) guids: [u64; 2],
        pub(super) mr_bytes_max: u64,
        pub(super) page_sizes: u64,
        pub(super) vendor: [u32; 3],
        pub(super) queues: [c_int; 7],
        pub(super) mrs_max: c_int,
        pub(super) rest: [u64; 64],
    }

    pub(super) const LOCAL_WRITE: c_int = 1;
    pub(super) const REMOTE_READ: c_int = 4;

    #[link(name = "ibverbs")]
    unsafe extern "C" {
        pub(super) fn ibv_get_device_list(count: *mut c_int) -> *mut *mut c_void;
        pub(super) fn ibv_free_device_list(list: *mut *mut c_void);
        pub(super) fn ibv_get_device_name(device: *mut c_void) -> *const c_char;
        pub(super) fn ibv_open_device(device: *mut c_void) -> *mut c_void;
        pub(super) fn ibv_close_device(context: *mut c_void) -> c_int;
        pub(super) fn ibv_query_device(context: *mut c_void, into: *mut Attributes) -> c_int;
        pub(super) fn ibv_alloc_pd(context: *mut c_void) -> *mut c_void;
        pub(super) fn ibv_dealloc_pd(domain: *mut c_void) -> c_int;
        pub(super) fn ibv_reg_mr(
            domain: *mut c_void,
            start: *mut c_void,
            len: usize,
            access: c_int,
        ) -> *mut Mr;
        pub(super) fn ibv_dereg_mr(region: *mut Mr) -> c_int;
    }
}

const NAME: &str = "verbs";

/// An adapter, and a protection domain on it whose regions are parts of segments.
#[derive(Debug)]
pub struct Verbs {
    context: NonNull<c_void>,
    domain: NonNull<c_void>,
    limits: FabricLimits,
    regions: Mutex<BTreeMap<Key, Registered>>,
}

#[derive(Debug)]
struct Registered(NonNull<ffi::Mr>);

// SAFETY: libibverbs is safe to call from several threads; the handles are the same for all.
unsafe impl Send for Verbs {}
// SAFETY: likewise; the map of regions has its lock.
unsafe impl Sync for Verbs {}

fn failed(problem: String) -> MemoryError {
    MemoryError::Fabric { fabric: NAME, problem }
}

/// The last call's error, and what may be behind it.
fn last_error() -> String {
    let error = io::Error::last_os_error();
    let advice = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => ": the process may not use /dev/infiniband",
        Some(libc::ENOMEM) => ": memory is short, or RLIMIT_MEMLOCK (ulimit -l)",
        _ => "",
    };
    format!("{error}{advice}")
}

/// All adapters, while the library's list of them is alive.
struct Devices(*mut *mut c_void, usize);

impl Devices {
    fn list() -> Result<Self, MemoryError> {
        let mut count: c_int = 0;
        // SAFETY: the count is alive.
        let list = unsafe { ffi::ibv_get_device_list(&mut count) };
        if list.is_null() {
            return Err(failed(format!("can not list the adapters: {}", last_error())));
        }
        Ok(Devices(list, usize::try_from(count).unwrap_or(0)))
    }

    fn named(&self) -> Vec<(String, *mut c_void)> {
        let device = |index| {
            // SAFETY: the list has so many entries, and each has a name that ends in a zero.
            unsafe {
                let device = *self.0.add(index);
                let name = CStr::from_ptr(ffi::ibv_get_device_name(device));
                (name.to_string_lossy().into_owned(), device)
            }
        };
        (0..self.1).map(device).collect()
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        // SAFETY: the list came from the library and is given back once.
        unsafe { ffi::ibv_free_device_list(self.0) };
    }
}

impl Verbs {
    /// The names of the adapters that there are.
    ///
    /// # Errors
    /// If the library can not say.
    pub fn adapters() -> Result<Vec<String>, MemoryError> {
        Ok(Devices::list()?.named().into_iter().map(|(name, _)| name).collect())
    }

    /// This adapter, or the first.
    ///
    /// # Errors
    /// If there is none, or it can not be used.
    pub fn open(adapter: Option<&str>) -> Result<Self, MemoryError> {
        let devices = Devices::list()?;
        let all = devices.named();
        let Some((name, device)) =
            all.iter().find(|(name, _)| adapter.is_none_or(|asked| asked == name))
        else {
            let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
            let there =
                if names.is_empty() { "there is none".to_owned() } else { names.join(", ") };
            let asked = adapter.map_or_else(String::new, |name| format!(" '{name}'"));
            return Err(failed(format!("no adapter{asked}: {there}")));
        };
        // SAFETY: the list is alive, and so is its entry.
        let context = NonNull::new(unsafe { ffi::ibv_open_device(*device) });
        let context =
            context.ok_or_else(|| failed(format!("can not open '{name}': {}", last_error())))?;
        // SAFETY: the adapter is open.
        let domain = NonNull::new(unsafe { ffi::ibv_alloc_pd(context.as_ptr()) });
        let Some(domain) = domain else {
            let problem = format!("'{name}' gives no protection domain: {}", last_error());
            // SAFETY: opened above, and used no more.
            unsafe { ffi::ibv_close_device(context.as_ptr()) };
            return Err(failed(problem));
        };
        let limits = limits(context);
        Ok(Verbs { context, domain, limits, regions: Mutex::default() })
    }

    /// The protection domain (`struct ibv_pd *`), for queue pairs that use the keys. It is gone
    /// when this is.
    #[must_use]
    pub fn protection_domain(&self) -> *mut c_void {
        self.domain.as_ptr()
    }

    /// The local key of a region, for work requests of this process.
    #[must_use]
    pub fn local_key(key: Key) -> u32 {
        (key.0 >> 32) as u32
    }

    /// The remote key of a region, for peers.
    #[must_use]
    pub fn remote_key(key: Key) -> u32 {
        key.0 as u32
    }

    fn regions(&self) -> MutexGuard<'_, BTreeMap<Key, Registered>> {
        // Nothing panics under the lock.
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn limits(context: NonNull<c_void>) -> FabricLimits {
    // SAFETY: numbers only: all zeros is a value.
    let mut attributes: ffi::Attributes = unsafe { std::mem::zeroed() };
    // SAFETY: the adapter is open, and there is more room than the library fills in.
    let code = unsafe { ffi::ibv_query_device(context.as_ptr(), &mut attributes) };
    let (ranges, bytes) = (attributes.mrs_max, attributes.mr_bytes_max);
    let known = |number: usize| if code == 0 && number > 0 { number } else { usize::MAX };
    FabricLimits::new(
        known(usize::try_from(ranges).unwrap_or(0)),
        known(usize::try_from(bytes).unwrap_or(usize::MAX)),
    )
    .within_lock_limit()
}

impl Fabric for Verbs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn limits(&self) -> FabricLimits {
        self.limits.clone()
    }

    fn register(&self, region: Region<'_>) -> Result<Key, String> {
        let (start, len) = (region.start().as_ptr().cast(), region.len());
        let access = ffi::LOCAL_WRITE | ffi::REMOTE_READ;
        // SAFETY: the domain is there as long as `self`, and the region is mapped until it is
        // deregistered.
        let registered = unsafe { ffi::ibv_reg_mr(self.domain.as_ptr(), start, len, access) };
        let registered = NonNull::new(registered)
            .ok_or_else(|| format!("can not register {len} bytes: {}", last_error()))?;
        // SAFETY: the library has just made it.
        let (local, remote) = unsafe {
            let region = registered.as_ref();
            (region.local_key, region.remote_key)
        };
        let key = Key(u64::from(local) << 32 | u64::from(remote));
        self.regions().insert(key, Registered(registered));
        Ok(key)
    }

    fn deregister(&self, key: Key) {
        let region = self.regions().remove(&key);
        let region = region.map_or(ptr::null_mut(), |Registered(region)| region.as_ptr());
        if !region.is_null() {
            // SAFETY: registered here, and taken out of the map once. If the adapter refuses, its
            // pages stay pinned.
            unsafe { ffi::ibv_dereg_mr(region) };
        }
    }
}

impl Drop for Verbs {
    fn drop(&mut self) {
        // Segments hold this until they have deregistered everything.
        // SAFETY: made by `open`, in this order, and given back once.
        unsafe {
            ffi::ibv_dealloc_pd(self.domain.as_ptr());
            ffi::ibv_close_device(self.context.as_ptr());
        }
    }
}
