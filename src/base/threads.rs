//! Threads that work together.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;

/// More threads than this are certainly a mistake.
pub const THREADS_MAX: usize = 1024;

/// A pool of so many threads, whose names start with the given one; none if the system has no room.
pub fn pool(count: usize, name: &'static str) -> Option<ThreadPool> {
    let named = move |i| format!("{name}-{i}");
    ThreadPoolBuilder::new().num_threads(count).thread_name(named).stack_size(64 << 20).build().ok()
}

/// Does the same work on ranges that make up `0..count`, on so many threads, for who holds a lock that all
/// others wait for: their cores are free. Where the system has no thread, this one does its part.
pub fn share_out(threads: usize, count: usize, work: impl Fn(Range<usize>) + Sync) {
    let size = count.div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let work = &work;
        for start in (size..count).step_by(size) {
            let range = start..count.min(start + size);
            let own = range.clone();
            if std::thread::Builder::new().spawn_scoped(scope, move || work(own)).is_err() {
                work(range);
            }
        }
        work(0..size.min(count));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn everything_is_done_once() {
        for (threads, count) in [(0, 5), (1, 7), (2, 1), (2, 0), (3, 10), (4, 9), (8, 3), (5, 1000)] {
            let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            share_out(threads, count, |range| {
                assert!(range.end <= count);
                done[range].iter().for_each(|item| _ = item.fetch_add(1, Ordering::Relaxed));
            });
            assert!(done.iter().all(|item| item.load(Ordering::Relaxed) == 1), "{threads} {count}");
        }
    }
}
