//! How much memory the process has, and stopping a command that takes too much.
//!
//! Commands count what is large themselves; a look at the whole process from time to time also
//! sees what nobody counts (memo tables, conditions that explore, long numbers, parsing).

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;

use super::{ExitCode, mapped, small};
use crate::base::Cancel;

/// Small blocks by [`small`], large tables that are aligned to cache lines by [`mapped`], others by the
/// system's allocator. Where there is nothing left the program ends as at any other limit: with its exit code, its
/// last words and a message, after what it has answered so far.
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
        if address_limit().is_some() {
            // Else each thread would have many addresses that it never uses.
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
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

/// What is said when there is no more memory, put together while there is some.
#[derive(Default)]
pub struct LastWords {
    /// What answers, and to where: a file that may be begun anew, or standard output.
    pub answers: String,
    pub file: Option<(CString, bool)>,
    /// To standard error.
    pub message: String,
    pub code: u8,
}

static LAST_WORDS: AtomicPtr<LastWords> = AtomicPtr::new(ptr::null_mut());

/// Says these words from now on when there is no more memory.
pub fn set_last_words(words: LastWords) {
    let old = LAST_WORDS.swap(Box::into_raw(Box::new(words)), Ordering::AcqRel);
    if !old.is_null() {
        // SAFETY: it was a box, and whoever takes the pointer out is the only one who has it.
        drop(unsafe { Box::from_raw(old) });
    }
}

/// Nothing here may allocate.
#[cold]
fn end() -> ! {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    if IS_ENDING.swap(true, Ordering::AcqRel) {
        // Another thread has the word.
        loop {
            std::thread::sleep(PERIOD);
        }
    }
    // SAFETY: if there are words, nobody else has them; all calls read memory that is there.
    unsafe {
        let words = LAST_WORDS.swap(ptr::null_mut(), Ordering::AcqRel).as_ref();
        let mut code = ExitCode::Unknown as u8;
        match words {
            Some(words) => {
                if !words.answers.is_empty() {
                    let file = words.file.as_ref().map_or(libc::STDOUT_FILENO, |(path, is_new)| {
                        let begin = if *is_new { libc::O_TRUNC } else { libc::O_APPEND };
                        libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CREAT | begin, 0o666)
                    });
                    write_all(file, words.answers.as_bytes());
                }
                write_all(libc::STDERR_FILENO, words.message.as_bytes());
                code = words.code;
            }
            None => write_all(libc::STDERR_FILENO, b"error: the system has no more memory for rwl\n"),
        }
        libc::_exit(code.into())
    }
}

/// Writes as much as can be written.
fn write_all(file: libc::c_int, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the bytes are there.
        let count = unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(count) {
            Ok(0) => return,
            Ok(count) => bytes = &bytes[count..],
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
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

/// Bytes of memory that the machine has for new processes, where the system says so. Of the addresses that a
/// process may have (`ulimit -v`) half is counted: tables that grow, and threads, need some that they never write to.
pub fn available() -> Option<usize> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().trim_end_matches(" kB").parse::<usize>().ok()? << 10;
    let number = |name: &str| {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?;
        text.trim().parse::<usize>().ok()
    };
    let group = number("max").map(|max| max.saturating_sub(number("current").unwrap_or(0)));
    let own = address_limit().and_then(|max| Some(max.saturating_sub(pages(0)?) / 2));
    Some([group, own].into_iter().flatten().fold(machine, usize::min))
}

/// How many bytes of addresses the process may have, if there is a limit.
pub fn address_limit() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call only writes to the struct it is given.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    (result == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then(|| limit.rlim_cur as usize)
}

/// What a command may use if nobody says how much.
pub fn usual() -> Option<usize> {
    available().map(|bytes| bytes / 4 * 3)
}

/// Bytes of memory that the process has now, where the system says so.
fn resident() -> Option<usize> {
    pages(1)
}

/// Bytes of all addresses that the process has (0), or of those that are in memory (1).
fn pages(column: usize) -> Option<usize> {
    let table = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = table.split(' ').nth(column)?.parse().ok()?;
    // SAFETY: the call has no arguments that could be wrong.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * usize::try_from(size).ok()?)
}
