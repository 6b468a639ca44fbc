//! How much memory the process has, and stopping a command that takes too much.
//!
//! Commands count what is large themselves; a look at the whole process from time to time also
//! sees what nobody counts (memo tables, conditions that explore, long numbers, parsing).

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{ExitCode, mapped, small};
use crate::base::Cancel;

/// Small blocks by [`small`], large tables that are aligned to cache lines by [`mapped`], others by the
/// system's allocator. Where there is nothing left the program ends as at any other limit: with a message and
/// its exit code, after what it has answered so far.
pub struct Allocator;

// SAFETY: who has a block is seen from its layout alone, so what one of the three has given goes back to it,
// with the caller's arguments; a null pointer is never given back.
unsafe impl GlobalAlloc for Allocator {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of this very method, here and below.
        let other = || map(layout).unwrap_or_else(|| unsafe { System.alloc(layout) });
        or_end(small::alloc(layout).unwrap_or_else(other))
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(block) = small::alloc(layout) else {
            // SAFETY: as above.
            return or_end(map(layout).unwrap_or_else(|| unsafe { System.alloc_zeroed(layout) }));
        };
        let block = or_end(block);
        // SAFETY: the block is that large.
        unsafe { block.write_bytes(0, layout.size()) };
        block
    }

    #[inline(never)]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if small::is_same(layout, size) {
            return place;
        }
        // SAFETY: the caller says that this is a layout.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if [layout, new].iter().all(|&layout| !small::is_small(layout) && !mapped::is_mapped(layout)) {
            // SAFETY: as above.
            return or_end(unsafe { System.realloc(place, layout, size) });
        }
        // SAFETY: as above; both blocks have so many bytes.
        unsafe {
            let block = self.alloc(new);
            block.copy_from_nonoverlapping(place, size.min(layout.size()));
            self.dealloc(place, layout);
            block
        }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe {
            if !small::dealloc(place, layout) && !mapped::dealloc(place, layout) {
                System.dealloc(place, layout);
            }
        }
    }
}

/// Asks for large blocks from the system one by one, however large those were that came back: tables that
/// grow then leave no holes. What is free of the others is kept for the next ones.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn prepare() {
    // SAFETY: these are numbers that the allocator reads.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 18);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 23);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn prepare() {}

/// Maps a block if it is one to be mapped. With the first large table the start is over.
fn map(layout: Layout) -> Option<*mut u8> {
    static IS_LARGE: AtomicBool = AtomicBool::new(false);
    let block = mapped::alloc(layout)?;
    if layout.size() >= LARGE && !IS_LARGE.swap(true, Ordering::Relaxed) {
        give_back();
        drop_code();
    }
    Some(block)
}

#[inline(always)]
fn or_end(place: *mut u8) -> *mut u8 {
    if place.is_null() {
        end();
    }
    place
}

/// Nothing here may allocate.
#[cold]
fn end() -> ! {
    const MESSAGE: &[u8] = b"error: the system has no more memory for rwl; the command was stopped\n";
    // SAFETY: the message is as long as it says, and ending the process needs nothing from it.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(ExitCode::Unknown as i32)
    }
}

/// A table that is never so large while modules are read and compiled.
const LARGE: usize = 1 << 18;

/// What the prelude and a module of usual size take.
const PRELUDE: usize = 16 << 20;

/// So often it looks: what a program touches meanwhile is a few megabytes.
const PERIOD: Duration = Duration::from_millis(5);

/// Raises both flags when the process has `limit` bytes more than at its start and for the
/// prelude; again only after the second flag has been cleared.
pub fn watch(limit: usize, cancel: Cancel, is_used_up: Cancel) {
    let Some(start) = resident() else { return };
    let limit = (start + PRELUDE).saturating_add(limit);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(PERIOD);
            if !is_used_up.is_raised() && resident().is_some_and(|bytes| bytes > limit) {
                is_used_up.raise();
                cancel.raise();
            }
        }
    });
}

/// Gives memory that is free back to the system.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call has no arguments that could be wrong.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lets all code go out of memory, most of which was needed to read and compile modules; the rest comes back
/// by itself.
fn drop_code() {
    #[cfg(target_os = "linux")]
    for line in std::fs::read_to_string("/proc/self/maps").unwrap_or_default().lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some("r-xp"), Some(path)) = (words.next(), words.next(), words.nth(3)) else {
            continue;
        };
        let ends =
            range.split_once('-').map(|(a, b)| (usize::from_str_radix(a, 16), usize::from_str_radix(b, 16)));
        if let Some((Ok(start), Ok(end))) = ends
            && path.starts_with('/')
        {
            // SAFETY: nobody may write to these pages, so they are as they are in the file.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
        }
    }
}

/// Bytes of memory that the machine has for new processes, where the system says so.
pub fn available() -> Option<usize> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().trim_end_matches(" kB").parse::<usize>().ok()? << 10;
    let number = |name: &str| {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?;
        text.trim().parse::<usize>().ok()
    };
    let group = number("max").map(|max| max.saturating_sub(number("current").unwrap_or(0)));
    Some(group.map_or(machine, |group| group.min(machine)))
}

/// What a command may use if nobody says how much.
pub fn usual() -> Option<usize> {
    available().map(|bytes| bytes / 4 * 3)
}

/// Bytes of memory that the process has now, where the system says so.
fn resident() -> Option<usize> {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    // SAFETY: the call has no arguments that could be wrong.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * usize::try_from(size).ok()?)
}
