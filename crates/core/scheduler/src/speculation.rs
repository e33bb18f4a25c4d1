//! What a processor does ahead of time, before it knows which way a branch goes.
//!
//! A sender asks whether it owns the receiver, and if so writes to what only the owner touches. To
//! which of its receivers a message goes next is often random; so is then the answer, and the
//! processor guesses wrong every second time. It goes on as if the receiver were the sender's own,
//! and undoes all of that once it knows better, but for one thing: the cache lines that it has read
//! are here now. Their owner must get them back before it can write to them again, which takes
//! longer than all else that is done for a message. So the answer changes the address as well, by a
//! move that is not guessed.

use std::ptr::NonNull;

/// The pointer, as `Ok` if both numbers are equal, else as `Err`. What is read by that which is in
/// `Ok` waits for the numbers, whatever the processor guesses.
#[inline(always)]
pub(crate) fn if_equal<T>(
    numbers: (u32, u32),
    pointer: NonNull<T>,
) -> Result<NonNull<T>, NonNull<T>> {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(any(miri, loom, shuttle))))]
    #[allow(clippy::pointers_in_nomem_asm_block)] // It follows none.
    {
        /// What makes an address one at which a program has nothing, and which processors do not
        /// read: some look at the highest bit, others at the lower 48 only. No pointer of a program
        /// has these bits.
        const NOWHERE: usize = 1 << 63 | 1 << 47;
        let mut chosen = pointer.as_ptr();
        // SAFETY: it changes two registers, and the flags are not promised to be kept.
        unsafe {
            std::arch::asm!(
                "mov {nowhere}, {chosen}",
                "btc {nowhere}, 63",
                "btc {nowhere}, 47",
                "cmp {0:e}, {1:e}",
                "cmovne {chosen}, {nowhere}",
                in(reg) numbers.0,
                in(reg) numbers.1,
                chosen = inout(reg) chosen,
                nowhere = out(reg) _,
                options(pure, nomem, nostack),
            );
        }
        if chosen.addr() & (1 << 63) == 0 {
            // SAFETY: it is the pointer, which is not null.
            Ok(unsafe { NonNull::new_unchecked(chosen) })
        } else {
            // SAFETY: without those bits it is the pointer.
            Err(unsafe { NonNull::new_unchecked(chosen.map_addr(|at| at ^ NOWHERE)) })
        }
    }
    // Elsewhere by what the compiler makes of it: the same, and at worst slower.
    #[cfg(not(all(
        target_arch = "x86_64",
        target_pointer_width = "64",
        not(any(miri, loom, shuttle))
    )))]
    if numbers.0 == numbers.1 { Ok(pointer) } else { Err(pointer) }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_pointer_whatever_the_numbers() {
        let pointer = NonNull::from(&1);
        assert_eq!(if_equal((7, 7), pointer), Ok(pointer));
        assert_eq!(if_equal((7, 8), pointer), Err(pointer));
        assert_eq!(if_equal((u32::MAX, 0), pointer), Err(pointer));
    }
}
