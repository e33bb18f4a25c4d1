//! The modules of a crate that are files, and which of them takes something from which.
//!
//! A name counts as taken from the file that defines it, however many others pass it on with `pub
//! use`. Passing on is no import: a `lib.rs` that only re-exports depends on nobody. Code for tests
//! is left out, and so is what stands inside of macros' arguments.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

use crate::tree::{File, Tree};

/// A module's path inside its crate; empty for the root.
type ModulePath = Vec<String>;

/// One module: what it declares, passes on and uses.
#[derive(Debug, Default)]
struct Module {
    /// The index of its file.
    file: usize,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    /// Each imported name, and where it comes from.
    imports: BTreeMap<String, Vec<String>>,
    /// The paths that are imported as a whole.
    globs: Vec<Vec<String>>,
    /// Every path that its code names.
    paths: BTreeSet<Vec<String>>,
}

/// The modules of one crate.
#[derive(Debug, Default)]
pub struct Modules {
    /// Files, from the workspace's root.
    files: Vec<String>,
    modules: BTreeMap<ModulePath, Module>,
}

impl Modules {
    /// Reads the modules of every library in the tree: what is below a crate's `src/`, programs in
    /// `bin/` and `main.rs` aside.
    #[must_use]
    pub fn of(tree: &Tree) -> Vec<Modules> {
        let mut crates: BTreeMap<&str, Modules> = BTreeMap::new();
        for file in &tree.files {
            let Some((root, path)) = module_path(file) else { continue };
            // A file that does not parse is a finding of the rule on functions.
            let Some(parsed) = file.parsed() else { continue };
            let modules = crates.entry(root).or_default();
            modules.files.push(file.path.clone());
            let file = modules.files.len() - 1;
            modules.read(file, path, &parsed.items);
        }
        crates.into_values().collect()
    }

    fn read(&mut self, file: usize, path: ModulePath, items: &[Item]) {
        let mut reader = Reader { module: Module { file, ..Module::default() }, inline: vec![] };
        items.iter().for_each(|item| reader.visit_item(item));
        for inline in reader.inline {
            let name = inline.ident.to_string();
            let items = inline.content.map(|(_, items)| items).unwrap_or_default();
            self.read(file, [&path[..], &[name]].concat(), &items);
        }
        self.modules.insert(path, reader.module);
    }

    /// For each file the files that it takes something from, both from the workspace's root.
    #[must_use]
    pub fn arrows(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (path, module) in &self.modules {
            let from = self.files[module.file].as_str();
            for used in &module.paths {
                let Some(target) = self.resolve(path, used, 0) else { continue };
                let target = self.files[self.modules[&target].file].as_str();
                if target != from {
                    arrows.entry(from).or_default().insert(target);
                }
            }
        }
        arrows
    }

    /// The module that defines what a path names, as seen from a module; none if that is of another
    /// crate.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<ModulePath> {
        // Names that pass each other on in a ring have no end.
        if depth > 16 {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            name => self.step(from, name, depth)?,
        };
        while let Some((name, behind)) = rest.split_first() {
            at = match name.as_str() {
                "super" => at[..at.len().checked_sub(1)?].to_vec(),
                name => match self.step(&at, name, depth) {
                    Some(next) => next,
                    None => break,
                },
            };
            rest = behind;
        }
        self.modules.contains_key(&at).then_some(at)
    }

    /// Where a name leads that stands in a module: to a module below it, to where it was imported
    /// from, or nowhere else.
    fn step(&self, at: &[String], name: &str, depth: usize) -> Option<ModulePath> {
        let module = self.modules.get(at)?;
        if module.children.contains(name) {
            return Some([at, &[name.to_owned()]].concat());
        }
        if module.items.contains(name) {
            return Some(at.to_vec());
        }
        if let Some(import) = module.imports.get(name) {
            return self.resolve(at, import, depth + 1);
        }
        module.globs.iter().find_map(|glob| {
            let passed_on = self.resolve(at, glob, depth + 1).filter(|other| other != at)?;
            self.step(&passed_on, name, depth + 1)
        })
    }
}

/// The folder of a file's crate and the file's module path in it; none for what is not of a
/// library.
fn module_path(file: &File) -> Option<(&str, ModulePath)> {
    let inside = file.in_crate().strip_prefix("src/")?.strip_suffix(".rs")?;
    if inside == "main" || inside.starts_with("bin/") {
        return None;
    }
    let root = file.path.strip_suffix(file.in_crate())?;
    let mut path: ModulePath = inside.split('/').map(str::to_owned).collect();
    if inside == "lib" || path.last().is_some_and(|name| name == "mod") {
        path.pop();
    }
    Some((root, path))
}

/// Reads one module.
struct Reader {
    module: Module,
    /// The modules that stand in it as a whole.
    inline: Vec<ItemMod>,
}

impl Reader {
    fn import(&mut self, tree: &UseTree, before: &[String], is_private: bool) {
        let with = |name: &str| [before, &[name.to_owned()]].concat();
        let (name, path) = match tree {
            UseTree::Path(path) => {
                let before = with(&path.ident.to_string());
                return self.import(&path.tree, &before, is_private);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, before, is_private));
            }
            UseTree::Glob(_) => {
                self.module.globs.push(before.to_vec());
                if is_private {
                    self.module.paths.insert(before.to_vec());
                }
                return;
            }
            UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned().unwrap_or_default(), before.to_vec())
            }
            UseTree::Name(name) => (name.ident.to_string(), with(&name.ident.to_string())),
            UseTree::Rename(rename) => (rename.rename.to_string(), with(&rename.ident.to_string())),
        };
        if is_private {
            self.module.paths.insert(path.clone());
        }
        self.module.imports.insert(name, path);
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_item(&mut self, item: &'a Item) {
        if attributes(item).iter().any(is_for_tests) {
            return;
        }
        if let Some(name) = name_of(item) {
            self.module.items.insert(name);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        self.module.children.insert(item.ident.to_string());
        if item.content.is_some() {
            self.inline.push(item.clone());
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if item.leading_colon.is_none() {
            let is_private = matches!(item.vis, Visibility::Inherited);
            self.import(&item.tree, &[], is_private);
        }
    }

    /// `pub(crate)` and `pub(super)` name modules, but take nothing from them.
    fn visit_visibility(&mut self, _: &'a Visibility) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|segment| segment.ident.to_string());
            self.module.paths.insert(names.collect());
        }
        visit::visit_path(self, path);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// Whether this is `#[cfg(test)]`, or one that asks for tests among others.
fn is_for_tests(attribute: &Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let asked: String = list.tokens.to_string().split_whitespace().collect();
    list.path.is_ident("cfg") && (asked == "test" || asked.starts_with("all(test,"))
}
