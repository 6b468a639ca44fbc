//! Threads that work together.

use rayon::{ThreadPool, ThreadPoolBuilder};

/// More threads than this are certainly a mistake.
pub const THREADS_MAX: usize = 1024;

/// A pool of so many threads, whose names start with the given one; none if the system has no room.
pub fn pool(count: usize, name: &'static str) -> Option<ThreadPool> {
    let named = move |i| format!("{name}-{i}");
    ThreadPoolBuilder::new().num_threads(count).thread_name(named).stack_size(64 << 20).build().ok()
}
