//! The builder of segments: it checks, reserves, sets the policy, starts threads and faults in, in
//! this order.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread;

use super::Segment;
use super::asked::{Arena, Asked, Mode, Size};
use super::fault_in::{FaultIn, OnProgress, Progress};
use crate::error::Warnings;
use crate::fabric::{Fabric, Register, Table};
use crate::limits::{self, Demand};
use crate::nodes::{Nodes, free_bytes};
use crate::pages::{Kind, SystemPages, pool_free_bytes};
use crate::plan::{self, Owner, Part};
use crate::sys::{self, Advice, Mapping, MemoryFile};
use crate::{MemoryError, PageSize, Placement, Warning};
use actinium_topology::Topology;

/// Chunks where the system has no huge pages.
const CHUNK_BYTES: usize = 2 << 20;
/// The most threads that fault in: more than any machine has PUs.
const THREADS_MAX: usize = 4096;

/// The builder of a segment.
#[must_use]
#[derive(Default)]
pub struct SegmentBuilder {
    size: Option<Size>,
    pages: PageSize,
    placement: Placement,
    mode: Mode,
    threads: Option<usize>,
    topology: Option<Topology>,
    on_progress: Option<OnProgress>,
    touch: bool,
    lock: bool,
    no_dump: bool,
    no_fork: bool,
    file: Option<String>,
    register: Option<(Arc<dyn Fabric>, Register)>,
}

impl fmt::Debug for SegmentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentBuilder")
            .field("size", &self.size)
            .field("pages", &self.pages)
            .field("placement", &self.placement)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl SegmentBuilder {
    /// Sets the segment's size.
    pub fn size(mut self, size: Size) -> Self {
        self.size = Some(size);
        self
    }

    /// Sets the pages that the segment is to be made of.
    pub fn pages(mut self, pages: PageSize) -> Self {
        self.pages = pages;
        self
    }

    /// Sets the nodes on which pages are to lie.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Sets the time at which pages are faulted in.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the number of threads that fault in. Without this, there are as many as workers make
    /// sense on this machine.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets the machine, for callers that have looked at it already.
    pub fn topology(mut self, topology: Topology) -> Self {
        self.topology = Some(topology);
        self
    }

    /// Called after each chunk, by the thread that has faulted it in. If it panics, that thread
    /// ends and others do its work.
    pub fn on_progress(mut self, call: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Box::new(call));
        self
    }

    /// Touches each page, as is done by itself where the kernel cannot populate: to compare.
    pub fn touch(mut self, touch: bool) -> Self {
        self.touch = touch;
        self
    }

    /// Keeps pages from being swapped out, from when they are faulted in.
    pub fn lock(mut self, lock: bool) -> Self {
        self.lock = lock;
        self
    }

    /// Leaves it out of core dumps.
    pub fn no_dump(mut self, no_dump: bool) -> Self {
        self.no_dump = no_dump;
        self
    }

    /// Keeps it from children of a fork, which cannot use it then: what registered memory needs.
    pub fn no_fork(mut self, no_fork: bool) -> Self {
        self.no_fork = no_fork;
        self
    }

    /// Lets it live in a file in memory of this name, which is for people who look at `/proc`. Who
    /// gets the file ([`Segment::file`]) can [`Segment::reattach`] it, at the same time or later,
    /// as long as somebody has it open.
    pub fn file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// Registers it with this fabric: all of it behind the fault-in, which then has not ended
    /// before that is done; or what is leased, when it is leased. See [`Segment::lease`].
    pub fn register(mut self, fabric: Arc<dyn Fabric>, how: Register) -> Self {
        self.register = Some((fabric, how));
        self
    }

    /// Reserves it, places it, and faults it in as was asked for.
    ///
    /// # Errors
    /// If a setting makes no sense, if it does not fit (nothing was touched then), or if the kernel
    /// refuses.
    pub fn build(self) -> Result<Segment, MemoryError> {
        let size = self.size.ok_or_else(|| setting("size", "", "it has to be said"))?;
        self.make(Source::New(size))
    }

    /// The segment in this file, with what it holds: size, pages and file are its own; the rest is
    /// as was asked for here, and placement counts for pages that are not there yet.
    ///
    /// # Errors
    /// If the file is no segment's; and as [`SegmentBuilder::build`].
    pub fn reattach(self, file: OwnedFd) -> Result<Segment, MemoryError> {
        self.make(Source::File(MemoryFile::of(file)))
    }

    /// Makes the segment: checks what was asked for, plans, and only then touches memory.
    fn make(mut self, source: Source) -> Result<Segment, MemoryError> {
        let warnings = Warnings::default();
        self.check_threads()?;
        let nodes = Nodes::of_this_process();
        let (size_bytes, file) = match source {
            Source::New(size) => (bytes_of(size, &nodes)?, None),
            Source::File(file) => {
                let (size_bytes, pages) = of_file(&file)?;
                self.pages = pages;
                (size_bytes, Some(file))
            }
        };
        let is_new = file.is_none();
        let kind = self.kind(is_new);
        let system = SystemPages::look(kind, self.pages);
        let mut used = self.usable_pages(&system, kind, &warnings)?;
        if is_new {
            used = self.check_pool(&system, used, size_bytes, &nodes, &warnings);
        }
        let (len, chunk_bytes) = self.layout(&system, used, size_bytes)?;
        let parts = self.parts(len, chunk_bytes, &nodes, &warnings)?;
        if is_new {
            self.check_limits(len, used, &parts, &warnings)?;
        }
        let registration = self.registration(len, chunk_bytes)?;

        // Reserve.
        let (mut mapping, file, used) =
            self.reserve(&system, len, chunk_bytes, used, file, &warnings)?;
        self.advise(&mut mapping, used, &warnings);
        // Set policy, before any page is there.
        for part in &parts {
            set_policy(&mapping, part, &nodes, &warnings);
        }
        let steps = (chunk_bytes, page_bytes(&system, used));
        let on_progress = self.on_progress.take();
        let inner =
            FaultIn::new(mapping, warnings, registration, &parts, steps, on_progress, self.touch);
        let mut segment = Segment {
            inner: Arc::new(inner),
            background: None,
            file,
            asked: Asked {
                pages: self.pages,
                used_pages: used,
                placement: self.placement.clone(),
                mode: self.mode,
            },
            arenas: parts.iter().map(arena).collect(),
            threads: self.threads,
            owner: std::process::id(),
        };
        // Start threads, let them gather, fault in.
        segment.fault_in(self, parts)?;
        Ok(segment)
    }

    fn check_threads(&self) -> Result<(), MemoryError> {
        match self.threads {
            Some(threads) if !(1..=THREADS_MAX).contains(&threads) => {
                let allowed = format!("1 to {THREADS_MAX}");
                Err(setting("threads", &threads.to_string(), &allowed))
            }
            _ => Ok(()),
        }
    }

    /// The pages to use for a new segment: others than those of a pool that has too few left.
    fn check_pool(
        &self,
        system: &SystemPages,
        used: PageSize,
        size_bytes: u64,
        nodes: &Nodes,
        warnings: &Warnings,
    ) -> PageSize {
        let PageSize::Huge(page_bytes) = used else { return used };
        let whole = size_bytes.next_multiple_of(page_bytes as u64);
        let free = match &self.placement {
            Placement::Bind(asked) => {
                let bound = asked.intersection(&nodes.usable);
                bound.iter().map(|node| pool_free_bytes(page_bytes, Some(node))).sum()
            }
            _ => pool_free_bytes(page_bytes, None),
        };
        let free = free.unwrap_or(0);
        if free >= whole {
            return used;
        }
        let reason = format!("the pool has {free} of {whole} bytes");
        self.instead_of_pool(system, self.kind(true), reason, warnings)
    }

    /// The segment's length, whole pages, and the length of a chunk: the step in which pages go
    /// round the nodes, and in which threads take turns.
    fn layout(
        &self,
        system: &SystemPages,
        used: PageSize,
        size_bytes: u64,
    ) -> Result<(usize, usize), MemoryError> {
        let size_bytes = size_bytes
            .checked_next_multiple_of(page_bytes(system, used) as u64)
            .ok_or_else(|| setting("size", &size_bytes.to_string(), "less than 2^64 bytes"))?;
        let len = usize::try_from(size_bytes)
            .map_err(|_| setting("size", &size_bytes.to_string(), "what can be addressed"))?;
        let chunk_bytes = match (used, system.transparent) {
            (PageSize::Huge(bytes), _) => bytes.max(CHUNK_BYTES),
            (_, Some(transparent)) => transparent.bytes,
            (_, None) => CHUNK_BYTES,
        };
        Ok((len, chunk_bytes))
    }

    /// Plans which part goes to which node, and who faults it in.
    fn parts(
        &self,
        len: usize,
        chunk_bytes: usize,
        nodes: &Nodes,
        warnings: &Warnings,
    ) -> Result<Vec<Part>, MemoryError> {
        let threads = || match (self.mode, self.threads) {
            (Mode::Lazy, _) => 1,
            (_, Some(threads)) => threads,
            (_, None) => machine(&self.topology).map_or(1, |(_, usable)| usable),
        };
        let topology = || {
            machine(&self.topology).map(|(machine, _)| machine).map_err(|reason| {
                MemoryError::Setting {
                    setting: "placement",
                    value: "local".to_owned(),
                    allowed: format!("only where the machine can be looked at: {reason}"),
                }
            })
        };
        let warn = |warning| warnings.add(warning);
        plan::parts(&self.placement, len, chunk_bytes, nodes, threads, topology, warn)
    }

    /// Refuses a new segment that does not fit, and warns of nodes that are short of memory.
    fn check_limits(
        &self,
        len: usize,
        used: PageSize,
        parts: &[Part],
        warnings: &Warnings,
    ) -> Result<(), MemoryError> {
        let is_soon = self.mode != Mode::Lazy;
        if !matches!(used, PageSize::Huge(_)) {
            let nodes = match parts.first().and_then(|part| part.policy.as_ref()) {
                Some((sys::Mode::Bind, nodes)) => Some(nodes),
                _ => None,
            };
            limits::check(&Demand { size_bytes: len as u64, is_soon, nodes })?;
        }
        if is_soon {
            warn_of_short_nodes(parts, warnings);
        }
        Ok(())
    }

    /// The table of what is registered, if the segment is to be.
    fn registration(&mut self, len: usize, chunk: usize) -> Result<Option<Table>, MemoryError> {
        let Some((fabric, how)) = self.register.take() else { return Ok(None) };
        if self.mode == Mode::Lazy && how == Register::Static {
            let allowed = "dynamic for a lazy segment: registering all of it would fault it in";
            return Err(setting("register", &how.to_string(), allowed));
        }
        Table::new(fabric, how, len, chunk).map(Some)
    }

    /// The kind of the segment's memory. A file's memory may be others' as well, be the file there
    /// already or about to be made.
    fn kind(&self, is_new: bool) -> Kind {
        if is_new && self.file.is_none() { Kind::Private } else { Kind::Shared }
    }

    /// The pages that the system has, of those that were asked for.
    fn usable_pages(
        &self,
        system: &SystemPages,
        kind: Kind,
        warnings: &Warnings,
    ) -> Result<PageSize, MemoryError> {
        match self.pages {
            PageSize::Base => Ok(PageSize::Base),
            PageSize::TransparentHuge => Ok(transparent(system, kind, warnings)),
            PageSize::Huge(bytes) if system.pools.contains(&bytes) => Ok(PageSize::Huge(bytes)),
            PageSize::Huge(bytes) if !bytes.is_power_of_two() || bytes <= system.base_bytes => {
                Err(setting("pages", &bytes.to_string(), &sizes(system)))
            }
            PageSize::Huge(_) => {
                let reason = format!("this system has no such pages, but {}", sizes(system));
                Ok(self.instead_of_pool(system, kind, reason, warnings))
            }
        }
    }

    fn instead_of_pool(
        &self,
        system: &SystemPages,
        kind: Kind,
        reason: String,
        warnings: &Warnings,
    ) -> PageSize {
        // One warning: that of the pages that were asked for.
        let used = transparent(system, kind, &Warnings::default());
        warnings.add(Warning::Pages { asked: self.pages, used, reason });
        used
    }

    fn reserve(
        &self,
        system: &SystemPages,
        len: usize,
        align: usize,
        used: PageSize,
        file: Option<MemoryFile>,
        warnings: &Warnings,
    ) -> Result<(Mapping, Option<MemoryFile>, PageSize), MemoryError> {
        let failed = |errno| {
            let advice = match errno {
                libc::ENOMEM => {
                    "see vm.overcommit_memory and the limit of address space (ulimit -v)"
                }
                _ => "",
            };
            let failed = MemoryError::System { doing: "reserve the segment", errno, advice };
            limits::check_promised(len as u64).err().unwrap_or(failed)
        };
        let try_with = |pool: Option<usize>| match (&file, &self.file) {
            (Some(file), _) => Mapping::of_file(file.as_fd(), len, align).map(|map| (map, None)),
            (None, Some(name)) => {
                let file = MemoryFile::create(name, len, pool)?;
                Mapping::of_file(file.as_fd(), len, align).map(|map| (map, Some(file)))
            }
            (None, None) => Mapping::anonymous(len, align, pool).map(|map| (map, None)),
        };
        let (pool, is_new) = match used {
            PageSize::Huge(bytes) => (Some(bytes), file.is_none()),
            _ => (None, false),
        };
        let (tried, used) = match try_with(pool) {
            // The pool said that it had enough; a cgroup or a security policy says no, or somebody
            // else was faster.
            Err(errno) if is_new => {
                let reason = std::io::Error::from_raw_os_error(errno).to_string();
                let used = self.instead_of_pool(system, self.kind(is_new), reason, warnings);
                (try_with(None), used)
            }
            tried => (tried, used),
        };
        let (mapping, made) = tried.map_err(failed)?;
        Ok((mapping, file.or(made), used))
    }

    fn advise(&self, mapping: &mut Mapping, used: PageSize, warnings: &Warnings) {
        let advice = match used {
            PageSize::Base => Some(Advice::NoHugePages),
            PageSize::TransparentHuge => Some(Advice::HugePages),
            PageSize::Huge(_) => None,
        };
        if let Some(advice) = advice
            && let Err(errno) = mapping.advise(advice)
            && used != PageSize::Base
        {
            // A kernel without transparent huge pages refuses both pieces of advice; base pages is
            // what there is then.
            let reason = std::io::Error::from_raw_os_error(errno).to_string();
            warnings.add(Warning::Pages { asked: self.pages, used: PageSize::Base, reason });
        }
        if self.no_dump
            && let Err(errno) = mapping.advise(Advice::NoDump)
        {
            warnings.add(Warning::Dumped { errno });
        }
        if self.no_fork
            && let Err(errno) = mapping.advise(Advice::NoFork)
        {
            warnings.add(Warning::Forked { errno });
        }
        if self.lock
            && let Err(errno) = mapping.lock_on_fault()
        {
            let mut reason = std::io::Error::from_raw_os_error(errno).to_string();
            if let Some(limit) = sys::lock_limit_bytes() {
                reason += &format!(", the limit is {limit} bytes (ulimit -l)");
            }
            warnings.add(Warning::NotLocked { reason });
        }
    }
}

impl Segment {
    /// One that is interleaved, of transparent huge pages, and all faulted in when it is there; its
    /// size has to be said.
    pub fn builder() -> SegmentBuilder {
        SegmentBuilder::default()
    }

    /// The segment that lives in this file, which another process or an earlier one has got from
    /// [`Segment::file`]: with what it holds. Nothing is faulted in; [`SegmentBuilder::reattach`]
    /// can be told to.
    ///
    /// # Errors
    /// If the file is no segment's, or the memory cannot be had.
    pub fn reattach(file: OwnedFd) -> Result<Segment, MemoryError> {
        Segment::builder().mode(Mode::Lazy).reattach(file)
    }

    fn fault_in(&mut self, builder: SegmentBuilder, parts: Vec<Part>) -> Result<(), MemoryError> {
        let (topology, threads, mode) = (builder.topology, builder.threads, builder.mode);
        let inner = Arc::clone(&self.inner);
        let run = move |is_background| {
            // Looked at here, so that the background's thread does it instead of the program.
            let machine = machine(&topology);
            if is_background && !inner.begin() {
                // Nobody needs it any more, and nobody waits for this thread.
                return Ok(());
            }
            if let Err(reason) = &machine {
                inner.warnings.add(Warning::Topology { reason: reason.clone() });
            }
            let machine = machine.ok();
            let threads = threads.or(machine.as_ref().map(|(_, usable)| *usable)).unwrap_or(1);
            let machine = machine.as_ref().map(|(machine, _)| machine);
            let workers = plan::workers(machine, threads, &parts);
            inner.run(&workers, is_background)
        };
        match mode {
            Mode::Lazy => Ok(()),
            Mode::Eager => run(false),
            Mode::Background => {
                let inner = Arc::clone(&self.inner);
                let all = move || {
                    // From the first moment: looking at the machine must not hold the program up
                    // either. A worker that can not, says so.
                    let _ = sys::only_when_idle();
                    // An error waits for whoever waits.
                    let work = std::panic::AssertUnwindSafe(|| run(true));
                    if std::panic::catch_unwind(work).is_err() {
                        inner.give_up();
                    }
                };
                let thread = thread::Builder::new().name("fault-in".to_owned()).spawn(all);
                self.background = Some(thread.map_err(|error| {
                    let errno = error.raw_os_error().unwrap_or(libc::EAGAIN);
                    let advice = "the process may have no more threads (ulimit -u, pids cgroup)";
                    MemoryError::System { doing: "start the fault-in's thread", errno, advice }
                })?);
                Ok(())
            }
        }
    }
}

enum Source {
    New(Size),
    File(MemoryFile),
}

/// The length of the pages that a segment is made of.
fn page_bytes(system: &SystemPages, used: PageSize) -> usize {
    match used {
        PageSize::Huge(bytes) => bytes,
        _ => system.base_bytes,
    }
}

fn setting(setting: &'static str, value: &str, allowed: &str) -> MemoryError {
    MemoryError::Setting { setting, value: value.to_owned(), allowed: allowed.to_owned() }
}

fn sizes(system: &SystemPages) -> String {
    let pools = system.pools.iter().map(|&bytes| PageSize::Huge(bytes).to_string());
    let all: Vec<String> = ["base".to_owned(), "thp".to_owned()].into_iter().chain(pools).collect();
    all.join(", ")
}

fn transparent(system: &SystemPages, kind: Kind, warnings: &Warnings) -> PageSize {
    let reason = match system.transparent {
        Some(transparent) if transparent.may => return PageSize::TransparentHuge,
        Some(_) => format!("/sys/kernel/mm/transparent_hugepage/{} forbids them", kind.file()),
        None => "the kernel has none".to_owned(),
    };
    let (asked, used) = (PageSize::TransparentHuge, PageSize::Base);
    warnings.add(Warning::Pages { asked, used, reason });
    used
}

fn bytes_of(size: Size, nodes: &Nodes) -> Result<u64, MemoryError> {
    match size {
        Size::Bytes(0) => Err(setting("size", "0", "at least 1 byte")),
        Size::Bytes(bytes) => Ok(bytes),
        Size::Share(share) if share > 0.0 && share <= 1.0 => {
            let all = limits::all_bytes(&nodes.usable);
            let all = all.ok_or_else(|| {
                setting("size", &share.to_string(), "in bytes: how much memory there is is unknown")
            })?;
            Ok(((all as f64 * share) as u64).max(1))
        }
        Size::Share(share) => {
            Err(setting("size", &share.to_string(), "a share above 0 and at most 1"))
        }
    }
}

/// The size of a segment's file, and its pages.
fn of_file(file: &MemoryFile) -> Result<(u64, PageSize), MemoryError> {
    let failed =
        |errno| MemoryError::System { doing: "look at the segment's file", errno, advice: "" };
    let wrong = |why: &str| setting("file", why, "the file of a segment (Segment::file)");
    if !sys::is_sealed(file.as_fd()) {
        return Err(wrong("a file whose size may change"));
    }
    let page_bytes = sys::file_page_bytes(file.as_fd()).map_err(failed)?;
    let copy = file.as_fd().try_clone_to_owned();
    let size = copy.and_then(|copy| std::fs::File::from(copy).metadata());
    let size = size.map_err(|error| failed(error.raw_os_error().unwrap_or(0)))?.len();
    if size == 0 || !size.is_multiple_of(page_bytes as u64) {
        return Err(wrong("a file of no whole number of pages"));
    }
    let pages = match page_bytes > sys::base_page_bytes() {
        true => PageSize::Huge(page_bytes),
        false => PageSize::TransparentHuge,
    };
    Ok((size, pages))
}

/// The machine, and how many threads make sense on it.
fn machine(known: &Option<Topology>) -> Result<(Topology, usize), String> {
    let machine = match known {
        Some(machine) => machine.clone(),
        None => Topology::detect().map_err(|error| error.to_string())?,
    };
    let usable = machine.usable_workers().workers;
    Ok((machine, usable))
}

fn arena(part: &Part) -> Arena {
    let node = match part.owner {
        Owner::Node(node) => Some(node),
        _ => None,
    };
    Arena { range: part.range.clone(), node }
}

/// Interleaving and arenas go elsewhere where a node is full, and it shall be known beforehand.
fn warn_of_short_nodes(parts: &[Part], warnings: &Warnings) {
    let mut shares = std::collections::BTreeMap::<u32, u64>::new();
    for part in parts {
        let Some((mode, nodes)) = &part.policy else { continue };
        // Of one node there is nothing to say that the whole machine's limit has not said; weights
        // are the kernel's own; bound memory does not go elsewhere.
        if *mode == sys::Mode::WeightedInterleave || *mode == sys::Mode::Bind {
            continue;
        }
        for node in nodes.iter() {
            *shares.entry(node).or_default() += part.range.len() as u64 / nodes.len() as u64;
        }
    }
    if shares.len() < 2 {
        return;
    }
    let free = free_bytes(&shares.keys().copied().collect());
    for (&node, &share_bytes) in &shares {
        match free.get(&node) {
            Some(&left_bytes) if left_bytes < share_bytes => {
                warnings.add(Warning::NodeShort { node, share_bytes, left_bytes });
            }
            _ => (),
        }
    }
}

fn set_policy(mapping: &Mapping, part: &Part, nodes: &Nodes, warnings: &Warnings) {
    let Some((mode, on)) = &part.policy else { return };
    let set = |mode| sys::set_policy(mapping, part.range.clone(), mode, on.iter());
    let mut done = set(*mode);
    if let (sys::Mode::WeightedInterleave, Err(errno)) = (*mode, done) {
        done = set(sys::Mode::Interleave);
        if done.is_ok() {
            warnings.add(Warning::Weights { errno });
        }
    }
    // With one node only, everything is where it was asked for anyway.
    if let Err(errno) = done
        && nodes.usable.len() > 1
    {
        warnings.add(Warning::Policy { errno });
    }
}
