//! The impl block: its messages, and what else of the actor it says.

use crate::method::Method;
use std::collections::BTreeMap;
use syn::{
    Error, Ident, ImplItem, ImplItemFn, Item, ItemImpl, Result, ReturnType, Type, Visibility,
};

/// The methods that are no messages, but those of the trait `Actor`.
const HOOKS: [&str; 3] = ["started", "stopped", "footprint_bytes"];

/// An impl block, read.
pub(crate) struct Block {
    /// The block without its items.
    pub(crate) head: ItemImpl,
    /// The name of the actor's type.
    pub(crate) name: Ident,
    pub(crate) methods: Vec<Method>,
    /// Methods of the trait `Actor`.
    pub(crate) hooks: Vec<ImplItemFn>,
    /// A `started` that is not as in the trait: it may return an error, and may take no context.
    pub(crate) started: Option<ImplItemFn>,
    /// What no message can be made of. It stays, so that what is wrong is said once.
    pub(crate) refused: Vec<ImplItem>,
    /// All that is wrong with the items.
    pub(crate) error: Option<Error>,
}

impl Block {
    /// Reads the item that the attribute stands on.
    ///
    /// # Errors
    /// If no actor can be made of it, whatever its items are.
    pub(crate) fn of(item: Item) -> Result<Self> {
        let (mut head, name) = head(item)?;
        let items = std::mem::take(&mut head.items);
        let mut block = Block {
            head,
            name,
            methods: Vec::new(),
            hooks: Vec::new(),
            started: None,
            refused: Vec::new(),
            error: None,
        };
        for item in items {
            block.read(item);
        }
        block.compare();
        Ok(block)
    }

    fn read(&mut self, item: ImplItem) {
        let read = match item {
            ImplItem::Fn(hook) if hook.sig.ident == "started" && !is_of_trait(&hook) => {
                return self.started = Some(hook);
            }
            ImplItem::Fn(hook) if HOOKS.iter().any(|name| hook.sig.ident == name) => {
                return self.hooks.push(ImplItemFn { vis: Visibility::Inherited, ..hook });
            }
            ImplItem::Fn(ref method) => Method::of(method.clone(), &self.head.self_ty),
            ref other => Err(Error::new_spanned(
                other,
                "each item of this block is a message: move this to an impl block without #[actor]",
            )),
        };
        match read {
            Ok(method) => self.methods.push(method),
            Err(error) => {
                self.note(error);
                self.refused.push(without_tell(item));
            }
        }
    }

    fn note(&mut self, error: Error) {
        match &mut self.error {
            Some(all) => all.combine(error),
            None => self.error = Some(error),
        }
    }

    /// Refuses methods that would be the same message as one before them.
    fn compare(&mut self) {
        let mut known = BTreeMap::<String, Ident>::new();
        for method in std::mem::take(&mut self.methods) {
            let first = known.entry(method.variant.to_string()).or_insert(method.name().clone());
            // Of two of one name there is one, by `cfg`, or the compiler refuses them by itself.
            if first == method.name() {
                self.methods.push(method);
                continue;
            }
            let message = format!(
                "`{first}` and `{}` are both the variant `{}`: rename one of them",
                method.name(),
                method.variant
            );
            self.note(Error::new_spanned(method.name(), message));
            self.refused.push(ImplItem::Fn(method.method));
        }
    }

    /// The visibility of the most visible method.
    pub(crate) fn visibility(&self) -> Visibility {
        let all = self.methods.iter().map(|method| &method.method.vis);
        all.max_by_key(|visibility| rank(visibility)).cloned().unwrap_or(Visibility::Inherited)
    }
}

/// An item as the compiler would have it without this macro.
fn without_tell(mut item: ImplItem) -> ImplItem {
    if let ImplItem::Fn(method) = &mut item {
        method.attrs.retain(|attribute| !attribute.path().is_ident("tell"));
    }
    item
}

/// Whether `started` takes a context and returns nothing.
fn is_of_trait(started: &ImplItemFn) -> bool {
    matches!(started.sig.output, ReturnType::Default) && started.sig.inputs.len() > 1
}

/// How much is seen, more or less.
fn rank(visibility: &Visibility) -> usize {
    match visibility {
        Visibility::Inherited => 0,
        Visibility::Restricted(within) if within.path.is_ident("self") => 0,
        Visibility::Restricted(within) if within.path.is_ident("crate") => 3,
        Visibility::Restricted(within) if within.path.is_ident("super") => 1,
        Visibility::Restricted(_) => 2,
        Visibility::Public(_) => 4,
    }
}

/// The block, and the name of the type that it is for.
fn head(item: Item) -> Result<(ItemImpl, Ident)> {
    let Item::Impl(head) = item else {
        return Err(Error::new_spanned(
            item,
            "#[actor] stands on the impl block whose methods are the messages: `#[actor] impl \
             Counter { .. }`",
        ));
    };
    if let Some((_, of, _)) = &head.trait_ {
        return Err(Error::new_spanned(
            of,
            "#[actor] writes the impl of Actor itself: put it on `impl Counter { .. }`, whose \
             methods are the messages",
        ));
    }
    if let Some(lifetime) = head.generics.lifetimes().next() {
        return Err(Error::new_spanned(
            lifetime,
            "an actor owns what it works on, for it outlives its maker: remove the lifetime",
        ));
    }
    let name = match &*head.self_ty {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.clone()),
        _ => None,
    };
    match name {
        Some(name) => Ok((head, name)),
        None => Err(Error::new_spanned(
            head.self_ty,
            "an actor is a struct or an enum of the program: `#[actor] impl Counter { .. }`",
        )),
    }
}
