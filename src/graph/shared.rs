//! A value that many threads read all the time and one changes now and then.
//!
//! Each reader has a seat of its own, with a lock that nobody else touches until somebody wants to write:
//! so readers do not wait for each other's cache lines. Who writes waits for all seats; readers that come
//! meanwhile let him go first, or somebody who reads again and again would keep him waiting.

use std::cell::UnsafeCell;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// See the head of this file.
pub struct Shared<T> {
    value: UnsafeCell<T>,
    seats: Mutex<Seats>,
    /// Does somebody want to write? Until he has done so he has the list of seats.
    is_wanted: AtomicBool,
}

#[derive(Default)]
struct Seats {
    all: Vec<Arc<Seat>>,
    /// What those who have left have counted.
    counted: u64,
}

/// Two cache lines, since these are fetched together.
#[derive(Default)]
#[repr(align(128))]
struct Seat {
    lock: RwLock<()>,
    /// What its owner has counted.
    count: AtomicU64,
}

// SAFETY: references to the value are given out by `Reading` and `Writing` alone, which exclude each
// other by the locks of all seats.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

/// One reader.
pub struct Reader<'a, T> {
    shared: &'a Shared<T>,
    seat: Arc<Seat>,
}

/// As long as this is there nobody writes.
pub struct Reading<'r, T> {
    value: &'r T,
    _lock: RwLockReadGuard<'r, ()>,
}

impl<T> Shared<T> {
    pub fn new(value: T) -> Shared<T> {
        Shared { value: UnsafeCell::new(value), seats: Mutex::default(), is_wanted: AtomicBool::new(false) }
    }

    // A thread that panicked has changed nothing that others rely on.
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn reader(&self) -> Reader<'_, T> {
        let seat = Arc::new(Seat::default());
        self.seats().all.push(seat.clone());
        Reader { shared: self, seat }
    }

    /// One look, by someone who is not reading and has no seat.
    pub fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        let seats = self.seats();
        // SAFETY: who writes has the list of seats all the time.
        let result = look(unsafe { &*self.value.get() });
        drop(seats);
        result
    }

    /// Changes the value when nobody reads it. The thread must not be reading itself. It is told how many
    /// readers there are, which have to wait.
    pub fn write<R>(&self, change: impl FnOnce(&mut T, usize) -> R) -> R {
        let seats = self.seats();
        self.is_wanted.store(true, Ordering::Relaxed);
        let all = seats.all.iter();
        let locks: Vec<RwLockWriteGuard<'_, ()>> =
            all.map(|seat| seat.lock.write().unwrap_or_else(PoisonError::into_inner)).collect();
        // SAFETY: nobody reads, since all seats are locked, and nobody gets a new one or peeks, since the
        // list of seats is locked.
        let result = change(unsafe { &mut *self.value.get() }, locks.len());
        self.is_wanted.store(false, Ordering::Relaxed);
        drop(locks);
        drop(seats);
        result
    }

    /// What all readers have counted.
    pub fn counted(&self) -> u64 {
        let seats = self.seats();
        seats.counted + seats.all.iter().map(|seat| seat.count.load(Ordering::Relaxed)).sum::<u64>()
    }
}

impl<T> Reader<'_, T> {
    #[inline]
    pub fn read(&self) -> Reading<'_, T> {
        if self.shared.is_wanted.load(Ordering::Relaxed) {
            drop(self.shared.seats());
        }
        let lock = self.seat.lock.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: who writes has the lock of this seat.
        Reading { value: unsafe { &*self.shared.value.get() }, _lock: lock }
    }

    /// Adds to what is counted.
    #[inline]
    pub fn count(&self, more: u64) {
        let count = self.seat.count.load(Ordering::Relaxed);
        self.seat.count.store(count + more, Ordering::Relaxed);
    }
}

impl<T> Drop for Reader<'_, T> {
    fn drop(&mut self) {
        let mut seats = self.shared.seats();
        seats.counted += self.seat.count.load(Ordering::Relaxed);
        seats.all.retain(|seat| !Arc::ptr_eq(seat, &self.seat));
    }
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_whole_changes() {
        let shared = Shared::new((0u64, 0u64));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let reader = shared.reader();
                    for _ in 0..2_000 {
                        let pair = reader.read();
                        assert_eq!(pair.0 * 2, pair.1);
                        drop(pair);
                        reader.count(1);
                    }
                });
            }
            for i in 0..200 {
                shared.write(|pair, _| *pair = (i, 2 * i));
                assert_eq!(shared.peek(|pair| pair.1), 2 * i);
            }
        });
        assert_eq!(shared.counted(), 6_000);
        assert_eq!(shared.peek(|pair| pair.0), 199);
    }
}
