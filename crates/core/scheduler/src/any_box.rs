//! A box with a value of any type, which is quickly found to be of the type that is asked for.
//!
//! `dyn Any` asks the value for its type: a call through a pointer, whose result goes through
//! memory in two halves and is read as a whole, for which the processor waits. Here the type lies
//! beside the pointer.

use std::any::{Any, TypeId};
use std::fmt;

/// See the [module](self).
///
/// ```
/// use actinium_scheduler::any_box::AnyBox;
///
/// let any = AnyBox::new(7_u32);
/// assert_eq!((any.get(), any.get::<i32>()), (Some(&7_u32), None));
/// ```
pub struct AnyBox {
    /// The type of the value.
    id: TypeId,
    value: Box<dyn Any + Send + Sync>,
}

impl AnyBox {
    /// Boxes a value.
    pub fn new<T: Any + Send + Sync>(value: T) -> Self {
        AnyBox { id: TypeId::of::<T>(), value: Box::new(value) }
    }

    /// The value, if it is of this type.
    #[inline(always)]
    pub fn get<T: Any>(&self) -> Option<&T> {
        if self.id != TypeId::of::<T>() {
            return None;
        }
        let value: *const dyn Any = &*self.value;
        // SAFETY: `new` has boxed a value of the type that `id` names, and nobody changes either.
        // It lives as long as the box, which is borrowed.
        Some(unsafe { &*value.cast::<T>() })
    }
}

impl fmt::Debug for AnyBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyBox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_value_is_found_by_its_type_only_and_dropped_once() {
        let value = Arc::new(3_u64);
        let any = AnyBox::new(value.clone());
        assert_eq!(any.get::<Arc<u64>>().map(|it| **it), Some(3));
        assert!(any.get::<Arc<i64>>().is_none() && any.get::<u64>().is_none());
        assert_eq!(Arc::strong_count(&value), 2);
        drop(any);
        assert_eq!(Arc::strong_count(&value), 1);
        assert!(AnyBox::new(()).get::<()>().is_some());
    }
}
