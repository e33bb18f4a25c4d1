//! What each module is linked with: lists of different lengths in one array, those of one module
//! side by side, so that they are in the cache together.

/// Where a module's lists begin in the array, and how long they are, in this order.
#[derive(Debug)]
struct Row {
    begin: u32,
    ports: u16,
    inputs: u16,
    consumers: u16,
    paths: u16,
}

/// The lists of all modules.
#[derive(Debug, Default)]
pub(crate) struct Links {
    rows: Box<[Row]>,
    items: Box<[u16]>,
}

/// The lists that are looked at when a module is done.
pub(crate) struct Linked<'a> {
    pub(crate) inputs: &'a [u16],
    pub(crate) consumers: &'a [u16],
    pub(crate) paths: &'a [u16],
}

/// The lists of all modules, as a graph is laid out; a list that is missing at the end is empty.
pub(crate) struct Lists<'a> {
    pub(crate) ports: &'a [Vec<u16>],
    pub(crate) inputs: &'a [Vec<u16>],
    pub(crate) consumers: &'a [Vec<u16>],
    pub(crate) paths: &'a [Vec<u16>],
}

impl Links {
    pub(crate) fn new(lists: &Lists<'_>) -> Self {
        let all = [lists.ports, lists.inputs, lists.consumers, lists.paths];
        let modules = all.iter().map(|of_all| of_all.len()).max().unwrap_or(0);
        let (mut rows, mut items) = (Vec::with_capacity(modules), Vec::new());
        for module in 0..modules {
            let begin = items.len() as u32;
            let [ports, inputs, consumers, paths] = all.map(|of_all| {
                let list = of_all.get(module).map_or(&[][..], Vec::as_slice);
                items.extend_from_slice(list);
                list.len() as u16
            });
            rows.push(Row { begin, ports, inputs, consumers, paths });
        }
        Links { rows: rows.into(), items: items.into() }
    }

    #[inline]
    fn row(&self, module: u16) -> (&Row, &[u16]) {
        let row = &self.rows[usize::from(module)];
        (row, &self.items[row.begin as usize..])
    }

    /// The producers of what a module asked for, in the order in which it asked.
    #[inline]
    pub(crate) fn ports(&self, module: u16) -> &[u16] {
        let (row, items) = self.row(module);
        &items[..usize::from(row.ports)]
    }

    /// The modules that a module needs, without duplicates and without the source.
    #[inline]
    pub(crate) fn inputs(&self, module: u16) -> &[u16] {
        self.linked(module).inputs
    }

    /// The modules that need a module.
    #[inline]
    pub(crate) fn consumers(&self, module: u16) -> &[u16] {
        self.linked(module).consumers
    }

    /// The paths on which a module stands: each once.
    #[inline]
    pub(crate) fn paths(&self, module: u16) -> &[u16] {
        self.linked(module).paths
    }

    /// All these but the ports.
    #[inline]
    pub(crate) fn linked(&self, module: u16) -> Linked<'_> {
        let (row, items) = self.row(module);
        let (inputs, items) = items[usize::from(row.ports)..].split_at(usize::from(row.inputs));
        let (consumers, items) = items.split_at(usize::from(row.consumers));
        Linked { inputs, consumers, paths: &items[..usize::from(row.paths)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_a_module_lie_side_by_side() {
        let links = Links::new(&Lists {
            ports: &[vec![2, 1, 2], vec![]],
            inputs: &[vec![1], vec![], vec![]],
            consumers: &[vec![], vec![0, 2], vec![]],
            paths: &[vec![], vec![7], vec![8, 9]],
        });
        assert_eq!((links.ports(0), links.inputs(0)), (&[2, 1, 2][..], &[1][..]));
        assert_eq!((links.consumers(0), links.paths(0)), (&[][..], &[][..]));
        assert_eq!((links.consumers(1), links.paths(1)), (&[0, 2][..], &[7][..]));
        assert_eq!((links.ports(2), links.paths(2)), (&[][..], &[8, 9][..]));
    }
}
