//! Small blocks of memory, and some that are not so small: without headers, by size, each thread from lists of
//! its own.
//!
//! Trees, names and vectors of a few words are most of what is allocated while modules are read and
//! compiled. Whoever gives a block back says how large it was, so nothing has to be noted in front of it.
//! A block belongs to the thread that has it or gave it back last. A thread that has more than enough of a size,
//! since others gave it what it does not use, or that ends, leaves blocks to all.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::Mutex;

use super::mapped;

/// The smallest blocks are multiples of this.
const UNIT: usize = 16;
const FINE_MAX: usize = 512;
const FINE: usize = FINE_MAX / UNIT;
/// Of the others two sizes are one half of two more: 768, 1024, 1536 ... Vectors that double fit them.
const SIZE_MAX: usize = 32 << 10;
const CLASSES: usize = FINE + 2 * (SIZE_MAX / FINE_MAX).trailing_zeros() as usize;
/// The first piece of memory that a thread cuts into blocks, and the largest; large ones are mapped.
const PIECE_MIN: usize = 4 << 10;
const PIECE_MAX: usize = 64 << 10;
const PAGE: usize = 4 << 10;
/// So many bytes of free blocks of one size a thread keeps for itself.
const KEPT_MAX: usize = 256 << 10;

/// A block that is free; for the first of a list that was left to all, the next such list.
struct Free {
    next: *mut Free,
    other: *mut Free,
}

/// The blocks of a thread.
struct Blocks {
    /// By size, and about how many there are.
    free: [Cell<*mut Free>; CLASSES],
    count: [Cell<usize>; CLASSES],
    /// What is left of the present piece, and the size of the next.
    rest: Cell<*mut u8>,
    left: Cell<usize>,
    piece: Cell<usize>,
}

/// What threads have left to all: by size, a list of lists.
struct Left([*mut Free; CLASSES]);

// SAFETY: nobody else has these blocks.
unsafe impl Send for Left {}

static LEFT: Mutex<Left> = Mutex::new(Left([ptr::null_mut(); CLASSES]));

thread_local! {
    // There is nothing to be done for this when a thread ends, so it is there as long as the thread.
    static BLOCKS: Blocks = const {
        Blocks {
            free: [const { Cell::new(ptr::null_mut()) }; CLASSES],
            count: [const { Cell::new(0) }; CLASSES],
            rest: Cell::new(ptr::null_mut()),
            left: Cell::new(0),
            piece: Cell::new(PIECE_MIN),
        }
    };

    static LEAVER: Leaver = const { Leaver };
}

/// Leaves a thread's blocks to all when it ends.
struct Leaver;

impl Drop for Leaver {
    fn drop(&mut self) {
        BLOCKS.with(|blocks| {
            blocks.cut_rest();
            (0..CLASSES).for_each(|class| blocks.leave(class));
        });
    }
}

/// The number of the list for blocks like this, if they are small.
#[inline(always)]
fn class(layout: Layout) -> Option<usize> {
    let size = layout.size();
    let is_small = size <= SIZE_MAX && size > 0 && layout.align() <= UNIT;
    is_small.then(|| if size <= FINE_MAX { (size - 1) / UNIT } else { coarse_class(size) })
}

/// The same for more than [`FINE_MAX`] bytes.
#[inline]
fn coarse_class(size: usize) -> usize {
    let log = (size - 1).ilog2();
    let is_upper = (size - 1) >> (log - 1) & 1;
    FINE + 2 * (log - FINE_MAX.ilog2()) as usize + is_upper
}

/// How large the blocks of a list are.
#[inline]
fn size_of_class(class: usize) -> usize {
    match class.checked_sub(FINE) {
        None => (class + 1) * UNIT,
        Some(coarse) => (FINE_MAX << (coarse / 2)) / 2 * (3 + coarse % 2),
    }
}

/// Allocates a small block; null if there is no memory, `None` if the block is not small.
#[inline]
pub fn alloc(layout: Layout) -> Option<*mut u8> {
    let class = class(layout)?;
    Some(BLOCKS.with(|blocks| {
        let first = blocks.free[class].get();
        if first.is_null() {
            return blocks.cut(class);
        }
        // SAFETY: it is a block of this list, so `dealloc` has written the next one there.
        blocks.free[class].set(unsafe { (*first).next });
        blocks.count[class].set(blocks.count[class].get().saturating_sub(1));
        first.cast()
    }))
}

/// Takes a small block back. Says whether it is small.
///
/// # Safety
/// The block is one that [`alloc`] gave for this layout, and nobody uses it any more.
#[inline]
pub unsafe fn dealloc(place: *mut u8, layout: Layout) -> bool {
    let Some(class) = class(layout) else { return false };
    BLOCKS.with(|blocks| {
        let block: *mut Free = place.cast();
        // SAFETY: the block is ours, at least a unit long, and aligned to one.
        unsafe { (*block).next = blocks.free[class].get() };
        blocks.free[class].set(block);
        let count = blocks.count[class].get() + 1;
        blocks.count[class].set(count);
        if count * size_of_class(class) > KEPT_MAX {
            blocks.leave(class);
        }
    });
    true
}

/// Are blocks like this small?
#[inline]
pub fn is_small(layout: Layout) -> bool {
    class(layout).is_some()
}

/// Would a block of this layout serve for another size, too?
#[inline]
pub fn is_same(layout: Layout, size: usize) -> bool {
    let class = class(layout);
    let other = Layout::from_size_align(size, layout.align()).ok().and_then(self::class);
    class.is_some() && class == other
}

impl Blocks {
    /// A block of a size of which none is free: from what others have left, from the present piece, or from a
    /// new one.
    #[cold]
    fn cut(&self, class: usize) -> *mut u8 {
        let size = size_of_class(class);
        if self.left.get() < size {
            // From now on there is something to be left.
            let _ = LEAVER.try_with(|_| {});
            if let Some(block) = self.take(class) {
                return block;
            }
            if size > self.piece.get() / 2 {
                // What is left will do for smaller ones.
                return new_piece(size);
            }
            self.cut_rest();
            let piece = self.piece.get();
            let rest = new_piece(piece);
            if rest.is_null() {
                return rest;
            }
            self.rest.set(rest);
            self.left.set(piece);
            self.piece.set((2 * piece).min(PIECE_MAX));
        }
        let block = self.rest.get();
        self.left.set(self.left.get() - size);
        // SAFETY: so much is left.
        self.rest.set(unsafe { block.add(size) });
        block
    }

    /// Makes free blocks of what is left of the present piece.
    fn cut_rest(&self) {
        while self.left.get() >= UNIT {
            let fits = |&class: &usize| size_of_class(class) <= self.left.get();
            let class = (0..CLASSES).rev().find(fits).expect("a unit is left");
            let block: *mut Free = self.cut(class).cast();
            // SAFETY: the block is new, and large enough.
            unsafe { (*block).next = self.free[class].replace(block) };
        }
    }

    /// Takes a list of blocks that somebody has left; its first one is returned.
    fn take(&self, class: usize) -> Option<*mut u8> {
        let mut left = LEFT.lock().unwrap_or_else(|e| e.into_inner());
        let first = left.0[class];
        if first.is_null() {
            return None;
        }
        // SAFETY: `leave` has written both there.
        unsafe {
            left.0[class] = (*first).other;
            self.free[class].set((*first).next);
        }
        // About as many: a list that grows is left again.
        self.count[class].set(KEPT_MAX / (2 * size_of_class(class)));
        Some(first.cast())
    }

    /// Leaves all free blocks of a size to all.
    #[cold]
    fn leave(&self, class: usize) {
        let first = self.free[class].replace(ptr::null_mut());
        self.count[class].set(0);
        if !first.is_null() {
            let mut left = LEFT.lock().unwrap_or_else(|e| e.into_inner());
            // SAFETY: the block is free, and a unit has room for both.
            unsafe { (*first).other = left.0[class] };
            left.0[class] = first;
        }
    }
}

/// New memory; null if there is none.
fn new_piece(size: usize) -> *mut u8 {
    let layout = |align| Layout::from_size_align(size, align).expect("a size of blocks or pieces");
    // SAFETY: the size is not 0.
    let small = || unsafe { System.alloc(layout(UNIT)) };
    mapped::alloc(layout(PAGE)).unwrap_or_else(small)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_large_as_asked_for() {
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        for size in 1..=SIZE_MAX {
            let class = class(layout(size)).expect("it is small");
            assert!(class < CLASSES && size_of_class(class) >= size, "{size}");
            assert!(class == 0 || size_of_class(class - 1) < size, "{size}");
            assert_eq!(size_of_class(class) % UNIT, 0);
        }
        assert_eq!((class(layout(0)), class(layout(SIZE_MAX + 1))), (None, None));
        assert_eq!(size_of_class(CLASSES - 1), SIZE_MAX);
    }

    #[test]
    fn blocks_are_apart_and_come_back() {
        let work = |seed: u64| {
            let mut random = seed;
            let mut held: Vec<(*mut u8, Layout, u8)> = Vec::new();
            for step in 0..20_000u64 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step | 1);
                let number = (random >> 33) as usize;
                if number % 3 == 0 && !held.is_empty() {
                    let (place, layout, mark) = held.swap_remove(number % held.len());
                    // SAFETY: the block is held, and given back once.
                    unsafe {
                        let bytes = std::slice::from_raw_parts(place, layout.size());
                        assert!(bytes.iter().all(|&byte| byte == mark));
                        assert!(dealloc(place, layout));
                    }
                } else {
                    let max = if number % 32 == 1 { SIZE_MAX } else { FINE_MAX };
                    let layout = Layout::from_size_align(1 + number % max, 1 << (number % 5)).unwrap();
                    let place = alloc(layout).expect("it is small");
                    assert_eq!(place as usize % layout.align(), 0);
                    let mark = step as u8;
                    // SAFETY: the block is as large as asked for.
                    unsafe { place.write_bytes(mark, layout.size()) };
                    held.push((place, layout, mark));
                }
            }
            held.into_iter().map(|(place, layout, mark)| (place as usize, layout, mark)).collect::<Vec<_>>()
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (1..=4).map(|seed| scope.spawn(move || work(seed))).collect();
            for thread in threads {
                // Blocks of a thread that has ended stay what they are, and may be given back elsewhere.
                for (place, layout, mark) in thread.join().unwrap() {
                    let place = place as *mut u8;
                    // SAFETY: nobody else has these blocks any more.
                    unsafe {
                        assert!(std::slice::from_raw_parts(place, layout.size()).iter().all(|&b| b == mark));
                        assert!(dealloc(place, layout));
                    }
                }
            }
        });
    }

    #[test]
    fn blocks_of_threads_that_end_are_used_again() {
        let layout = Layout::from_size_align(FINE_MAX, 8).unwrap();
        // More than a thread keeps.
        let count = 3 * KEPT_MAX / FINE_MAX;
        let work = move || {
            let blocks: Vec<usize> =
                (0..count).map(|_| alloc(layout).expect("it is small") as usize).collect();
            // SAFETY: each is given back once.
            blocks.iter().for_each(|&block| assert!(unsafe { dealloc(block as *mut u8, layout) }));
            blocks
        };
        let run = || std::thread::spawn(work).join().unwrap();
        let all: std::collections::HashSet<usize> = (0..20).flat_map(|_| run()).collect();
        // Another test may have some of them meanwhile.
        assert!(all.len() < 5 * count, "{} blocks for {count}", all.len());
    }

    #[test]
    fn large_blocks_are_not_ours() {
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        assert!(alloc(layout(SIZE_MAX + 1, 1)).is_none() && alloc(layout(8, 2 * UNIT)).is_none());
        assert!(is_same(layout(17, 8), 32) && !is_same(layout(17, 8), 33) && !is_same(layout(17, 8), 0));
        assert!(!is_same(layout(SIZE_MAX + 1, 8), SIZE_MAX + 2));
    }
}
