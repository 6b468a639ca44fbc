//! Threads that work together.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::Mutex;

/// More threads than this are certainly a mistake.
pub const THREADS_MAX: usize = 1024;

/// A pool of so many threads, whose names start with the given one; none if the system has no room.
pub fn pool(count: usize, name: &'static str) -> Option<ThreadPool> {
    let named = move |i| format!("{name}-{i}");
    ThreadPoolBuilder::new().num_threads(count).thread_name(named).stack_size(64 << 20).build().ok()
}

/// Does the same work on each item, on the threads of a pool; returns the results in order. An item is always
/// worked on by the same thread, whose core's caches have it from the last time, and in whose memory it grows:
/// threads that swap items end up with neighbouring memory, and their cores wait for each other.
pub fn by_own_threads<T: Send, R: Send>(
    pool: &ThreadPool,
    items: &mut [T],
    work: impl Fn(usize, &mut T) -> R + Sync,
) -> Vec<R> {
    let threads = pool.current_num_threads();
    let slots: Vec<Mutex<Option<&mut T>>> = items.iter_mut().map(|item| Mutex::new(Some(item))).collect();
    let own = |thread: usize| (thread..slots.len()).step_by(threads);
    let results = pool.broadcast(|context| {
        let item = |i: usize| slots[i].lock().ok().and_then(|mut slot| slot.take());
        let each = |i| item(i).map(|item| (i, work(i, item)));
        own(context.index()).filter_map(each).collect::<Vec<_>>()
    });
    let mut results: Vec<(usize, R)> = results.into_iter().flatten().collect();
    results.sort_unstable_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
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
    fn items_stay_with_their_threads() {
        let pool = pool(3, "own").expect("three threads");
        for count in [0, 1, 3, 8] {
            let mut items: Vec<(usize, Vec<_>)> = (0..count).map(|i| (10 * i, Vec::new())).collect();
            for _ in 0..20 {
                let results = by_own_threads(&pool, &mut items, |i, (number, threads)| {
                    threads.push(std::thread::current().id());
                    *number += 1;
                    (i, *number)
                });
                let expected: Vec<_> = items.iter().enumerate().map(|(i, item)| (i, item.0)).collect();
                assert_eq!(results, expected);
            }
            for (i, (number, threads)) in items.iter().enumerate() {
                assert_eq!(*number, 10 * i + 20);
                assert!(threads.len() == 20 && threads.iter().all(|thread| *thread == threads[0]));
            }
        }
    }

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
