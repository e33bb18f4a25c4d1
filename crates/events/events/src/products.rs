//! Producers of several products: each product has a handle, a label, consumers and an end of its
//! own.

use crate::engine::Engine;
use crate::handles::Handle;
use crate::product::Product;
use crate::store::{AnyStore, Lent, Make};
use std::any::TypeId;

/// The type of a product.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    pub(crate) type_id: TypeId,
    pub(crate) type_name: &'static str,
    pub(crate) store: Make,
}

impl Made {
    pub(crate) fn of<T: Product>() -> Self {
        let (type_id, type_name) = (TypeId::of::<T>(), std::any::type_name::<T>());
        Made { type_id, type_name, store: AnyStore::new::<T> }
    }
}

/// Where a producer's products go.
pub struct Place<'a> {
    engine: &'a Engine,
    slot: u32,
    module: u16,
}

impl std::fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Place(slot {}, module {})", self.slot, self.module)
    }
}

/// Several products that a producer makes at once, as a tuple of two to six: see
/// [`Builder::producers`](crate::Builder::producers). It is implemented for these tuples.
pub trait Products: Product {
    /// A label for each product.
    type Labels<'a>: IntoIterator<Item = &'a str> + TryFrom<Vec<&'a str>>;
    /// A handle for each product.
    type Handles;
    #[doc(hidden)]
    fn made() -> Vec<Made>;
    /// The type of each product, and its name.
    #[doc(hidden)]
    fn types() -> Vec<(TypeId, &'static str)> {
        Self::made().iter().map(|made| (made.type_id, made.type_name)).collect()
    }
    #[doc(hidden)]
    fn handles(builder: u64, first: usize) -> Self::Handles;
    /// Whether all could be stored.
    #[doc(hidden)]
    fn put_at(self, place: &Place<'_>) -> bool;
}

/// Puts what a module has made into the cells of its products.
pub(crate) fn put<P: Products>(
    products: P,
    engine: &Engine,
    slot: u32,
    module: u16,
) -> Result<(), Lent> {
    if products.put_at(&Place { engine, slot, module }) { Ok(()) } else { Err(Lent) }
}

macro_rules! tuples {
    ($($n:literal: $($product:ident $nth:tt)+;)+) => {$(
        impl<$($product: Product),+> Products for ($($product,)+) {
            type Labels<'a> = [&'a str; $n];
            type Handles = ($(Handle<$product>,)+);

            fn made() -> Vec<Made> {
                vec![$(Made::of::<$product>()),+]
            }

            fn handles(builder: u64, first: usize) -> Self::Handles {
                ($(Handle::<$product>::new(builder, first + $nth),)+)
            }

            fn put_at(self, place: &Place<'_>) -> bool {
                let put = [$(place.engine.put_part(place.slot, place.module, $nth, self.$nth)),+];
                put.iter().all(Result::is_ok)
            }
        }
    )+};
}

tuples! {
    2: A 0 B 1;
    3: A 0 B 1 C 2;
    4: A 0 B 1 C 2 D 3;
    5: A 0 B 1 C 2 D 3 E 4;
    6: A 0 B 1 C 2 D 3 E 4 F 5;
}
