//! What a processor does ahead of time, before it knows which way a branch goes.
//!
//! A sender asks whether it owns the receiver, and if so writes to what only the owner touches. To
//! which of its receivers a message goes next is often random; so is then the answer, and the
//! processor guesses wrong every second time. It goes on as if the receiver were the sender's own,
//! and undoes all of that once it knows better, but for one thing: the cache lines that it has read
//! are here now. Their owner must get them back before it can write to them again, which takes
//! longer than all else that is done for a message. So the answer chooses the address as well, by a
//! move that is not guessed.

use std::ptr::NonNull;

/// Returns `then` if both numbers are equal, else `otherwise`. What is read from there waits for
/// the numbers, whatever the processor guesses.
#[inline(always)]
pub(crate) fn select<T>(
    numbers: (u32, u32),
    then: NonNull<T>,
    otherwise: NonNull<T>,
) -> NonNull<T> {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom, shuttle))))]
    #[allow(clippy::pointers_in_nomem_asm_block)] // It moves them, and follows none.
    {
        let mut selected = then.as_ptr();
        // SAFETY: it moves one of two pointers to a register, and the flags are not promised to be
        // kept.
        unsafe {
            std::arch::asm!(
                "cmp {0:e}, {1:e}",
                "cmovne {2}, {3}",
                in(reg) numbers.0,
                in(reg) numbers.1,
                inout(reg) selected,
                in(reg) otherwise.as_ptr(),
                options(pure, nomem, nostack),
            );
        }
        // SAFETY: one of the two, which are not null.
        unsafe { NonNull::new_unchecked(selected) }
    }
    // Elsewhere by what the compiler makes of it: the same, and at worst slower.
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom, shuttle)))))]
    if numbers.0 == numbers.1 { then } else { otherwise }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_select_the_first() {
        let (then, otherwise) = (NonNull::from(&1), NonNull::from(&2));
        assert_eq!(select((7, 7), then, otherwise), then);
        assert_eq!(select((7, 8), then, otherwise), otherwise);
        assert_eq!(select((u32::MAX, 0), then, otherwise), otherwise);
    }
}
