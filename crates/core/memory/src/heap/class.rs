//! Sizes of blocks: multiples of 16 up to 1 KiB, then four to each doubling up to 32 KiB; more is a
//! run of pages.

/// The largest block that is no run of pages.
pub(super) const SMALL_MAX: usize = 32 << 10;
/// Up to here, each multiple of 16 is a size.
const FINE_MAX: usize = 1 << 10;
/// How many classes there are.
pub(super) const CLASSES: usize =
    FINE_MAX / 16 + 4 * (SMALL_MAX.ilog2() - FINE_MAX.ilog2()) as usize;
/// The class that stands for a run of pages.
pub(super) const RUN: u8 = 255;

const _: () = assert!(CLASSES < RUN as usize);

/// The class of the smallest block that has this size and alignment; None if it is larger than any.
#[inline]
pub(super) fn class_of(size: usize, align: usize) -> Option<usize> {
    if align <= 16 {
        return (size <= SMALL_MAX).then(|| fitting(size));
    }
    // Blocks lie at multiples of their size, so of all that divides it.
    let first = fitting(size.min(SMALL_MAX).max(align.min(SMALL_MAX)));
    (first..CLASSES).find(|&class| size_of(class) >= size && size_of(class).is_multiple_of(align))
}

#[inline]
fn fitting(size: usize) -> usize {
    if size <= FINE_MAX {
        return size.max(1).div_ceil(16) - 1;
    }
    // In (2^n, 2^(n+1)] there are four steps of 2^(n-2).
    let n = (size - 1).ilog2();
    let step = (size - (1 << n)).div_ceil(1 << (n - 2));
    FINE_MAX / 16 + 4 * (n - FINE_MAX.ilog2()) as usize + step - 1
}

/// The size of a class's blocks.
#[inline]
pub(super) fn size_of(class: usize) -> usize {
    match class.checked_sub(FINE_MAX / 16) {
        None => 16 * (class + 1),
        Some(coarse) => {
            let n = FINE_MAX.ilog2() as usize + coarse / 4;
            (1 << n) + (coarse % 4 + 1) * (1 << (n - 2))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_smallest_that_fits() {
        assert_eq!(size_of(CLASSES - 1), SMALL_MAX);
        for class in 1..CLASSES {
            assert!(size_of(class - 1) < size_of(class));
        }
        for size in (0..=SMALL_MAX).step_by(if cfg!(miri) { 101 } else { 1 }) {
            let class = class_of(size, 8).unwrap();
            assert!(size_of(class) >= size);
            assert!(class == 0 || size_of(class - 1) < size);
            // A quarter is wasted at most.
            assert!(size < 64 || size_of(class) * 4 <= size * 5, "{size}");
        }
        assert_eq!(class_of(SMALL_MAX + 1, 8), None);
    }

    #[test]
    fn blocks_have_the_alignment_that_is_asked_for() {
        for align in [32, 64, 128, 1024, 4096, 32768] {
            for size in [1, 40, 100, 1000, 1100, 5000, 32768] {
                let size_got = size_of(class_of(size, align).unwrap());
                assert!(
                    size_got >= size && size_got.is_multiple_of(align),
                    "{size} {align}: {size_got}"
                );
            }
        }
        assert_eq!(class_of(1, 65536), None);
    }
}
