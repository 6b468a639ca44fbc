//! The atomics of the state store, and arrays of them that are all zero.
//!
//! The store's table takes its atomics from here, so that a test can put a model checker's in
//! their place.

pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The first segment of an array has `2^FIRST_BITS` cells.
pub const FIRST_BITS: u32 = 10;

/// A cell that is 0 when all its bytes are.
pub trait Cell: Sized {
    /// An array of zeros. Pages that nobody writes to cost nothing.
    fn zeros(len: usize) -> Box<[Self]>;
}

impl Cell for AtomicU32 {
    fn zeros(len: usize) -> Box<[AtomicU32]> {
        // SAFETY: an atomic has the layout of its integer, for which all bytes 0 are valid.
        in_large_pages(unsafe { Box::new_zeroed_slice(len).assume_init() })
    }
}

impl Cell for AtomicU64 {
    fn zeros(len: usize) -> Box<[AtomicU64]> {
        // SAFETY: as above.
        in_large_pages(unsafe { Box::new_zeroed_slice(len).assume_init() })
    }
}

/// Arrays of so many bytes are asked to be in large pages: to find a place in them takes less time then.
const LARGE: usize = 1 << 23;

/// The same array, in large pages if it is large.
pub fn in_large_pages<T>(cells: Box<[T]>) -> Box<[T]> {
    #[cfg(target_os = "linux")]
    if size_of_val(&*cells) >= LARGE {
        const PAGE: usize = 1 << 12;
        let skipped = cells.as_ptr().align_offset(PAGE) * size_of::<T>();
        // SAFETY: the pages are inside the array, and the advice has no effect but on time.
        unsafe {
            let start = cells.as_ptr().cast::<u8>().add(skipped);
            let length = (size_of_val(&*cells) - skipped) / PAGE * PAGE;
            libc::madvise(start.cast_mut().cast(), length, libc::MADV_HUGEPAGE);
        }
    }
    cells
}

/// Slots of a cache line.
pub const LINE: usize = 16;

/// A cache line of slots.
#[repr(align(64))]
pub struct Line(pub [AtomicU32; LINE]);

impl Cell for Line {
    fn zeros(len: usize) -> Box<[Line]> {
        // SAFETY: as above.
        in_large_pages(unsafe { Box::new_zeroed_slice(len).assume_init() })
    }
}

/// Asks for memory that will be needed soon.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching has no effect but on time.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
