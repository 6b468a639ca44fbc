//! The table of the state store under a model checker: every interleaving of a few threads that
//! find and put pairs, with the weakest behaviour that the memory orders allow.
//!
//! The table's own source is compiled here a second time, with loom's atomics.

use loom::sync::Arc;
use loom::thread;

#[allow(dead_code)]
#[path = "../src/graph/pairs.rs"]
mod pairs;
#[path = "../src/graph/segments.rs"]
mod segments;

/// What `src/graph/sync.rs` is to the library; small arrays, since each cell is costly here.
mod sync {
    pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    pub const FIRST_BITS: u32 = 2;
    pub const LINE: usize = 4;

    pub trait Cell: Sized {
        fn zeros(len: usize) -> Box<[Self]>;
    }

    impl Cell for AtomicU64 {
        fn zeros(len: usize) -> Box<[AtomicU64]> {
            (0..len).map(|_| AtomicU64::new(0)).collect()
        }
    }

    pub struct Line(pub [AtomicU32; LINE]);

    impl Cell for Line {
        fn zeros(len: usize) -> Box<[Line]> {
            (0..len).map(|_| Line(std::array::from_fn(|_| AtomicU32::new(0)))).collect()
        }
    }

    pub fn prefetch<T>(_: &T) {}
}

use pairs::{Full, HOLE, Pairs, Spare};

type Found = Vec<((u32, u32), Result<(u32, bool), Full>)>;

/// Runs each list of pairs on a thread of its own, in all ways, and checks that there is one
/// number for each pair and that the pair stands there.
fn check(lists: &'static [&'static [(u32, u32)]], max: u32) {
    check_with(lists, max, Spare::default);
}

/// The same with numbers taken in some way.
fn check_with(lists: &'static [&'static [(u32, u32)]], max: u32, spare: fn() -> Spare) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let table = Arc::new(Pairs::new(max));
        let run = move |table: &Pairs, list: &[(u32, u32)]| -> Found {
            let mut spare = spare();
            let put = |&(left, right): &(u32, u32)| {
                let found = table.find_or_put(&mut spare, left, right);
                if let Ok((number, _)) = found {
                    assert_eq!(table.get(number), (left, right), "published before it was written");
                }
                ((left, right), found)
            };
            list.iter().map(put).collect()
        };
        let others: Vec<_> = lists[1..]
            .iter()
            .map(|list| {
                let table = table.clone();
                thread::spawn(move || run(&table, list))
            })
            .collect();
        let mut found = run(&table, lists[0]);
        found.extend(others.into_iter().flat_map(|other| other.join().expect("no panic")));

        let mut table = Arc::try_unwrap(table).unwrap_or_else(|_| panic!("all threads are done"));
        let mut numbers: Vec<((u32, u32), u32)> = Vec::new();
        for (pair, result) in found {
            let Ok((number, is_new)) = result else { continue };
            match numbers.iter_mut().find(|(known, _)| *known == pair) {
                Some((_, known)) => assert_eq!(*known, number, "a pair with two numbers"),
                None => numbers.push((pair, number)),
            }
            if is_new {
                assert_eq!(table.get(number), pair);
            }
        }
        let mut distinct: Vec<u32> = numbers.iter().map(|(_, number)| *number).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), numbers.len(), "a number with two pairs");
        // Growing keeps all numbers, and does not put in what lost a race.
        while table.grow().is_ok() && table.limit() < 16 {}
        for &((left, right), number) in &numbers {
            assert_eq!(table.find_or_put(&mut Spare::default(), left, right), Ok((number, false)));
        }
        let holes = (0..table.count()).filter(|&n| table.get(n) == (HOLE as u32, (HOLE >> 32) as u32));
        assert_eq!(holes.count() + numbers.len(), table.count() as usize);
    });
}

#[test]
fn two_threads_put_the_same() {
    check(&[&[(1, 2), (3, 4)], &[(3, 4), (1, 2)]], 100);
}

#[test]
fn who_loses_uses_its_number_later() {
    check(&[&[(1, 2), (5, 6)], &[(1, 2), (7, 8)]], 100);
}

#[test]
fn three_threads_meet() {
    check(&[&[(1, 2)], &[(1, 2)], &[(1, 2), (3, 4)]], 100);
}

#[test]
fn a_full_table_says_so() {
    check(&[&[(1, 2), (3, 4)], &[(5, 6), (1, 2)]], 2);
}

#[test]
fn numbers_taken_many_at_a_time() {
    check_with(&[&[(1, 2), (3, 4)], &[(3, 4), (1, 2)]], 100, Spare::of_many);
}

#[test]
fn who_takes_all_numbers_fills_the_table() {
    check_with(&[&[(1, 2), (5, 6)], &[(1, 2), (7, 8)]], 2, Spare::of_many);
}
