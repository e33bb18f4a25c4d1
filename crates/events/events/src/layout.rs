//! The layout of a graph: which module needs what, in flat arrays. It knows no module's code.

use crate::links::Links;
use crate::role::Role;
use crate::stamp::Stamp;
use crate::store::Make;

/// Makes a store; and how many make such products.
pub(crate) type ColumnOf = (Make, usize);

/// The traits of a module that are looked up at each of its calls. They are small, so that those of
/// many modules fit in one cache line.
#[derive(Clone, Copy)]
pub(crate) struct Traits {
    pub(crate) resource: Option<u16>,
    pub(crate) streams: bool,
    pub(crate) waits: bool,
    pub(crate) one_by_one: bool,
}

/// The column of a module that makes nothing.
pub(crate) const NO_COLUMN: u16 = u16::MAX;

/// A graph in flat arrays, and what is known of each of its modules.
///
/// Numbers below `modules` are modules. Those from there to `source` are the products of producers
/// of several: each has one input, its producer, and is done when that is.
pub(crate) struct Layout {
    pub(crate) modules: u16,
    /// The source's number, which comes last.
    pub(crate) source: u16,
    /// The modules', the products' of several, then the source's.
    pub(crate) labels: Box<[String]>,
    pub(crate) links: Links,
    pub(crate) paths: Vec<(String, Vec<u16>)>,
    /// Analyzers that run for each event.
    pub(crate) roots: Vec<u16>,
    /// Outputs, and the paths that they select.
    pub(crate) outputs: Vec<(u16, Option<usize>)>,
    /// The column of what each module (and, last, the source) makes.
    pub(crate) columns_of: Box<[u16]>,
    pub(crate) columns: Vec<ColumnOf>,
    pub(crate) traits: Box<[Traits]>,
    /// Of the modules.
    pub(crate) roles: Box<[Role]>,
    /// As `labels`.
    pub(crate) stamps: Box<[Stamp]>,
    /// Their names, and how many may use each at a time.
    pub(crate) resources: Vec<(String, u32)>,
    /// The names among them that modules share.
    pub(crate) exclusives: Vec<String>,
}

impl Layout {
    /// How many numbers there are but the source's.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.source)
    }

    pub(crate) fn stamp(&self, module: u16) -> Stamp {
        self.stamps[usize::from(module)]
    }

    pub(crate) fn label(&self, module: u16) -> &str {
        &self.labels[usize::from(module)]
    }

    /// The column of what a module (or the source) makes.
    #[inline]
    pub(crate) fn column(&self, module: u16) -> Option<u16> {
        let column = self.columns_of[usize::from(module)];
        (column != NO_COLUMN).then_some(column)
    }

    /// Returns the traits of a module that are looked up at each call.
    #[inline]
    pub(crate) fn traits(&self, module: u16) -> Traits {
        self.traits[usize::from(module)]
    }
}
