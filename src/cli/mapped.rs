//! Large tables that are aligned to cache lines, as mappings of their own: they are zero from the start, and
//! what nobody has touched takes no memory. (Memory that the system's allocator aligns is cleared by hand.)

use std::alloc::Layout;
use std::ptr;

/// The system's allocator aligns to this by itself.
const ALIGN_MIN: usize = 16;
/// Mappings are aligned to pages.
const ALIGN_MAX: usize = 4 << 10;
/// Smaller ones are not worth a call of the system.
const SIZE_MIN: usize = 64 << 10;
/// All of these will soon be in use.
const SIZE_FULL: usize = 256 << 10;
#[cfg(target_os = "linux")]
const FULL: libc::c_int = libc::MAP_POPULATE;
#[cfg(not(target_os = "linux"))]
const FULL: libc::c_int = 0;

/// Is a block of this layout mapped?
#[inline]
pub fn is_mapped(layout: Layout) -> bool {
    let is_aligned = layout.align() > ALIGN_MIN && layout.align() <= ALIGN_MAX;
    cfg!(target_os = "linux") && is_aligned && layout.size() >= SIZE_MIN
}

/// Maps a block, all zero; null if there is no memory, `None` if it is not one to be mapped.
pub fn alloc(layout: Layout) -> Option<*mut u8> {
    if !is_mapped(layout) {
        return None;
    }
    let full = if layout.size() <= SIZE_FULL { FULL } else { 0 };
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | full);
    // SAFETY: a new mapping, wherever the system likes, touches nothing that is there.
    let block = unsafe { libc::mmap(ptr::null_mut(), layout.size(), access, kind, -1, 0) };
    Some(if block == libc::MAP_FAILED { ptr::null_mut() } else { block.cast() })
}

/// Takes a block back. Says whether it was mapped.
///
/// # Safety
/// The block is one that [`alloc`] gave for this layout, and nobody uses it any more.
pub unsafe fn dealloc(place: *mut u8, layout: Layout) -> bool {
    if !is_mapped(layout) {
        return false;
    }
    // SAFETY: the mapping is as large as its layout.
    let result = unsafe { libc::munmap(place.cast(), layout.size()) };
    debug_assert_eq!(result, 0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_zero_and_aligned() {
        let layout = Layout::from_size_align(3 * SIZE_MIN + 64, 64).unwrap();
        for _ in 0..3 {
            let Some(table) = alloc(layout) else { return assert!(!cfg!(target_os = "linux")) };
            assert_eq!(table as usize % layout.align(), 0);
            // SAFETY: the table is that large.
            let bytes = unsafe { std::slice::from_raw_parts_mut(table, layout.size()) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            bytes.fill(7);
            // SAFETY: it came from here.
            assert!(unsafe { dealloc(table, layout) });
        }
    }

    #[test]
    fn other_blocks_are_not_mapped() {
        for (size, align) in [(SIZE_MIN - 1, 64), (SIZE_MIN, 16), (SIZE_MIN, 8192)] {
            assert!(alloc(Layout::from_size_align(size, align).unwrap()).is_none());
        }
    }
}
