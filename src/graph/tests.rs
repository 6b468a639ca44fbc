//! The store against plain twins: pairs against a hash map, terms of all layouts there and back,
//! numbers of states on one thread and on many.

use std::collections::HashMap;

use super::pairs::{Pairs, Spare};
use super::testing::{Lock, spec};
use super::*;
use crate::base::Name;
use crate::sorts::{Node, Signature};
use crate::term::{Heap, Int, Symbols, Term};

/// Random numbers from a seed that is printed; `SEED=n` repeats a run.
struct Random(u64);

impl Random {
    fn new() -> Random {
        let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(1, |t| t.as_nanos() as u64)
        });
        println!("SEED={seed}");
        Random(seed | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}

#[test]
fn pairs_agree_with_a_hash_map() {
    let mut random = Random::new();
    for range in [3, 40, 1000] {
        let mut table = Pairs::new(1 << 20);
        let mut twin: HashMap<(u32, u32), u32> = HashMap::new();
        let mut spare = Spare::default();
        for _ in 0..50_000 {
            let pair = (random.below(range) as u32, random.below(range) as u32);
            let found = loop {
                match table.find_or_put(&mut spare, pair.0, pair.1) {
                    Ok(found) => break found,
                    Err(Full) => table.grow().expect("room"),
                }
            };
            let new = twin.len() as u32;
            let number = *twin.entry(pair).or_insert(new);
            assert_eq!(found, (number, number == new));
            assert_eq!(twin.len() as u32, table.count());
            assert_eq!(table.get(number), pair);
        }
    }
}

#[test]
fn there_are_no_more_pairs_than_allowed() {
    let mut table = Pairs::new(100);
    let mut spare = Spare::default();
    let mut put = 0;
    let end = loop {
        match table.find_or_put(&mut spare, put, 7) {
            Ok((number, true)) => assert_eq!(number, put),
            Ok(other) => panic!("{other:?}"),
            Err(Full) => match table.grow() {
                Ok(()) => continue,
                Err(end) => break end,
            },
        }
        put += 1;
    };
    assert_eq!((put, end), (100, TooMany));
    assert_eq!(table.find_or_put(&mut spare, 42, 7), Ok((42, false)));
}

const OPS: &str = "sorts A S L N Str F Q
subsort A < S
subsort A < L
subsort N < A
subsort Str < A
subsort F < A
subsort Q < A
op zero : -> N
op s : N -> N [iter succ(zero)]
op minus : N -> N [minus]
op str : -> Str [strings]
op float : -> F [floats]
op qid : -> Q [qids]
op a : -> A
op b : -> A
op c : -> A
op up : A -> A [iter]
op f : A -> A
op g : A A -> A
op h : S L A -> A
op com : A A -> A [comm]
op none : -> S
op soup : S S -> S [assoc comm id(none)]
op bag : S S -> S [assoc comm]
op nil : -> L
op list : L L -> L [assoc id(nil)]
op wide : A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A -> A
op box : S -> A
op pack : L -> A";

struct Terms {
    sig: Signature,
    sy: Symbols,
}

impl Terms {
    fn op(&self, name: &str) -> u32 {
        self.sig.named(Name::new(name))[0].0
    }

    fn random(&self, heap: &mut Heap, random: &mut Random, depth: usize) -> Term {
        let sy = &self.sy;
        if depth == 0 || random.below(8) == 0 {
            return match random.below(9) {
                0 => heap.string(sy, &b"some text, and more"[random.below(10)..]),
                1 => heap.float(sy, [0.0, 1.5, -2.0e300, f64::INFINITY][random.below(4)]),
                2 => heap.qid(sy, Name::new(["x", "y"][random.below(2)])),
                3 => {
                    let big = num_bigint::BigUint::from(3u32).pow(random.below(300) as u32);
                    heap.nat(sy, &big)
                }
                4 => Term::small(random.below(3) as u32),
                _ => Term::constant(self.op(["a", "b", "c"][random.below(3)])),
            };
        }
        match random.below(8) {
            0 => {
                let base = self.random(heap, random, depth - 1);
                let count = if random.below(3) == 0 {
                    Int::Big(num_bigint::BigUint::from(10u32).pow(30))
                } else {
                    Int::Small(1 + random.below(4) as u32)
                };
                heap.iterate(sy, self.op("up"), &count, base)
            }
            1 => self.apply(heap, random, "f", 1, depth),
            2 => self.apply(heap, random, "g", 2, depth),
            3 => self.apply(heap, random, "com", 2, depth),
            4 => self.apply(heap, random, "wide", 49, 1),
            5 => {
                let soup = self.soup(heap, random, depth, 6);
                heap.apply(sy, self.op("box"), &[soup])
            }
            6 => {
                let list = self.list(heap, random, depth, 12);
                heap.apply(sy, self.op("pack"), &[list])
            }
            _ => {
                let soup = self.soup(heap, random, depth, 4);
                let list = self.list(heap, random, depth, 4);
                let last = self.random(heap, random, depth - 1);
                heap.apply(sy, self.op("h"), &[soup, list, last])
            }
        }
    }

    fn apply(&self, heap: &mut Heap, random: &mut Random, name: &str, n: usize, depth: usize) -> Term {
        let args: Vec<Term> = (0..n).map(|_| self.random(heap, random, depth - 1)).collect();
        heap.apply(&self.sy, self.op(name), &args)
    }

    fn soup(&self, heap: &mut Heap, random: &mut Random, depth: usize, max: usize) -> Term {
        let elements: Vec<Term> =
            (0..1 + random.below(max)).map(|_| self.random(heap, random, depth - 1)).collect();
        let sym = self.op(["soup", "bag"][random.below(2)]);
        heap.bag_of(&self.sy, sym, elements)
    }

    fn list(&self, heap: &mut Heap, random: &mut Random, depth: usize, max: usize) -> Term {
        let sym = self.op("list");
        let mut list = Term::constant(self.op("nil"));
        for _ in 0..random.below(max + 1) {
            let element = self.random(heap, random, depth - 1);
            list = match random.below(2) {
                0 => heap.concat(&self.sy, sym, list, element),
                _ => heap.concat(&self.sy, sym, element, list),
            };
        }
        list
    }
}

fn terms() -> (Terms, Heap) {
    let (sig, sy, heap) = spec(OPS);
    (Terms { sig, sy }, heap)
}

fn nodes(heap: &Heap, sy: &Symbols, t: Term) -> Vec<Node> {
    heap.to_tree(sy, t).nodes().to_vec()
}

fn encode(codec: &mut Codec, store: &mut Store, heap: &Heap, sy: &Symbols, t: Term) -> u32 {
    loop {
        match codec.encode(store, heap, sy, t) {
            Ok(word) => return word,
            Err(Full) => store.grow().expect("room"),
        }
    }
}

/// Encodes a term, decodes it on another heap, and encodes that again.
fn check_term(terms: &Terms, heap: &Heap, store: &mut Store, t: Term) -> u32 {
    let sy = &terms.sy;
    let word = encode(&mut Codec::new(heap, true), store, heap, sy, t);
    let mut other = Heap::new();
    other.consts = heap.consts.clone();
    let back = Codec::new(&other, true).term(store, &mut other, sy, word);
    assert_eq!(nodes(heap, sy, t), nodes(&other, sy, back));
    assert_eq!(heap.sort(sy, heap.deref(t)), other.sort(sy, back));
    assert_eq!(encode(&mut Codec::new(&other, true), store, &other, sy, back), word);
    word
}

#[test]
fn terms_come_back() {
    let mut random = Random::new();
    let (terms, mut heap) = terms();
    let mut store = Store::new();
    let mut twin: HashMap<Vec<Node>, u32> = HashMap::new();
    for i in 0..2000 {
        let t = terms.random(&mut heap, &mut random, i % 4);
        let word = check_term(&terms, &heap, &mut store, t);
        assert_eq!(*twin.entry(nodes(&heap, &terms.sy, t)).or_insert(word), word, "equal terms, equal words");
    }
    let mut words: Vec<u32> = twin.values().copied().collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), twin.len(), "different terms, different words");
}

#[test]
fn long_and_deep_terms_come_back() {
    let (terms, mut heap) = terms();
    let sy = &terms.sy;
    let mut store = Store::new();
    let [a, f, g, list, soup] = ["a", "f", "g", "list", "soup"].map(|name| terms.op(name));
    for n in [2, 7, 8, 9, 47, 48, 49, 96, 97, 1000, 5000] {
        let elements: Vec<Term> = (0..n).map(Term::small).collect();
        let at_once = heap.list(sy, list, &elements);
        let mut bit_by_bit = elements[0];
        for &element in &elements[1..] {
            bit_by_bit = heap.concat(sy, list, bit_by_bit, element);
        }
        let word = check_term(&terms, &heap, &mut store, at_once);
        assert_eq!(check_term(&terms, &heap, &mut store, bit_by_bit), word);

        let flat = heap.bag_of(sy, soup, elements.iter().copied());
        let word = check_term(&terms, &heap, &mut store, flat);
        let many = heap.bag_of(sy, soup, (0..n + 45).map(Term::small));
        let mut fewer = many;
        for _ in 0..45 {
            fewer = heap.bag_remove(sy, fewer, n as usize, 1);
        }
        assert_eq!(check_term(&terms, &heap, &mut store, fewer), word, "a tree and an array");
        let twice = heap.union(sy, soup, flat, elements[1]);
        assert_ne!(check_term(&terms, &heap, &mut store, twice), word);
    }
    let (mut deep, mut shared) = (Term::constant(a), Term::constant(a));
    for i in 0..100_000u32 {
        let next = heap.alloc(f, heap.sort(sy, deep), &[deep]);
        deep = heap.apply(sy, g, &[Term::small(i % 7), next]);
    }
    check_term(&terms, &heap, &mut store, deep);
    for _ in 0..10_000 {
        shared = heap.apply(sy, g, &[shared, shared]);
    }
    // As a tree it has 2^10000 leaves.
    let word = encode(&mut Codec::new(&heap, true), &mut store, &heap, sy, shared);
    let mut codec = Codec::new(&heap, true);
    let back = codec.term(&store, &mut heap, sy, word);
    assert_eq!(encode(&mut Codec::new(&heap, true), &mut store, &heap, sy, back), word);
}

#[test]
fn states_come_back() {
    let mut random = Random::new();
    for cuts in [true, false] {
        let (terms, mut heap) = terms();
        let sy = &terms.sy;
        let mut store = Store::new();
        let mut codec = Codec::new(&heap, cuts);
        codec.kept_max = 2000;
        let mut twin: indexmap::IndexMap<Vec<Node>, u32> = indexmap::IndexMap::new();
        for i in 0..3000 {
            let t = match random.below(4) {
                0 => terms.soup(&mut heap, &mut random, 1 + i % 3, 8),
                1 => terms.list(&mut heap, &mut random, 1 + i % 3, 8),
                _ => terms.random(&mut heap, &mut random, i % 4),
            };
            let parent = match twin.len() {
                0 => StateId::NONE,
                n => StateId(random.below(n) as u32),
            };
            if random.below(50) == 0 {
                let mut kept = t;
                heap.collect(|visit| visit(&mut kept));
                continue;
            }
            let inserted = codec.insert_alone(&mut store, &heap, sy, t, parent).expect("room");
            let new = twin.len() as u32;
            let (number, known) = twin.insert_full(nodes(&heap, sy, t), parent.0);
            assert_eq!(inserted, Inserted { number: StateId(number as u32), is_new: number as u32 == new });
            if let Some(parent) = known {
                twin[number] = parent;
            }
            if random.below(3) == 0 {
                let state = random.below(twin.len());
                let back = codec.decode(&store, &mut heap, sy, StateId(state as u32), &mut []);
                assert_eq!(nodes(&heap, sy, back), twin.get_index(state).expect("there").0[..]);
                // A decoded state is known.
                let again = codec.insert_alone(&mut store, &heap, sy, back, StateId(0)).expect("room");
                assert_eq!(again, Inserted { number: StateId(state as u32), is_new: false });
            }
        }
        for (state, (expected, &parent)) in twin.iter().enumerate() {
            let back = codec.decode(&store, &mut heap, sy, StateId(state as u32), &mut []);
            assert_eq!(nodes(&heap, sy, back), expected[..]);
            assert_eq!(store.parent(StateId(state as u32)), StateId(parent));
        }
    }
}

#[test]
fn what_is_not_reduced_stays_so() {
    let (terms, mut heap) = terms();
    let sy = &terms.sy;
    let [a, b, f, g, soup, bx] = ["a", "b", "f", "g", "soup", "box"].map(|name| terms.op(name));
    let mut store = Store::new();
    let mut codec = Codec::new(&heap, true);
    let lazy = heap.alloc_unreduced_constant(a, sy.info[a as usize].constant_sort);
    let inside = heap.apply(sy, f, &[lazy]);
    heap.mark_unreduced(inside);
    let element = heap.apply(sy, g, &[Term::constant(b), inside]);
    let other = heap.apply(sy, f, &[Term::constant(b)]);
    let bag = heap.bag_of(sy, soup, [element, other]);
    let state = heap.apply(sy, bx, &[bag]);
    let plain = heap.apply(sy, bx, &[other]);
    codec.insert_alone(&mut store, &heap, sy, state, StateId::NONE).expect("room");
    codec.insert_alone(&mut store, &heap, sy, plain, StateId(0)).expect("room");
    for _ in 0..3 {
        let back = codec.decode(&store, &mut heap, sy, StateId(0), &mut []);
        let mut pairs = Vec::new();
        heap.bag_pairs(heap.arg(back, 0), &mut pairs);
        let element = pairs.iter().map(|pair| pair.0).find(|&t| heap.sym(sy, t) == g).expect("there");
        let inside = heap.arg(element, 1);
        assert!(heap.is_unreduced(inside) && heap.is_unreduced(heap.arg(inside, 0)));
        let again = codec.insert_alone(&mut store, &heap, sy, back, StateId(0)).expect("room");
        assert_eq!(again.number, StateId(0));
        // Evaluated in place, it is another state.
        let value = heap.apply(sy, f, &[Term::small(5)]);
        heap.resolve(sy, inside, value);
        let changed = codec.insert_alone(&mut store, &heap, sy, back, StateId(0)).expect("room");
        assert_eq!(changed.number, StateId(2));
        codec.decode(&store, &mut heap, sy, StateId(1), &mut []);
    }
}

/// Explores on one thread; returns states and transitions.
fn explore(lock: &Lock, heap: &mut Heap, store: &mut Store) -> (u32, u64) {
    let sy = &lock.sy;
    let mut codec = Codec::new(heap, true);
    codec.insert_alone(store, heap, sy, lock.initial, StateId::NONE).expect("few states");
    let (mut state, mut transitions) = (0, 0);
    let mut next = Vec::new();
    while state < store.len() {
        let term = codec.decode(store, heap, sy, StateId(state), &mut []);
        next.clear();
        lock.successors(heap, term, &mut next);
        for &successor in &next {
            codec.insert_alone(store, heap, sy, successor, StateId(state)).expect("few states");
        }
        transitions += next.len() as u64;
        state += 1;
    }
    (state, transitions)
}

#[test]
fn lock_protocols_have_their_numbers_of_states() {
    for (n, is_queue, states) in
        [(2, true, 16), (5, true, 1712), (2, false, 15), (6, false, 2187), (6, true, 10_528)]
    {
        let (lock, mut heap) = Lock::new(n, is_queue);
        let mut store = Store::new();
        assert_eq!(explore(&lock, &mut heap, &mut store).0, states, "{n} processes");
    }
}

/// Explores level by level; each thread takes every `threads`-th state, in an order of its own.
fn explore_levels(n: usize, is_queue: bool, threads: usize) -> Store {
    let mut store = Store::new();
    let mut workers: Vec<(Lock, Heap, Codec)> = (0..threads)
        .map(|_| {
            let (lock, heap) = Lock::new(n, is_queue);
            let codec = Codec::new(&heap, true);
            (lock, heap, codec)
        })
        .collect();
    let (lock, heap, codec) = &mut workers[0];
    codec.insert_alone(&mut store, heap, &lock.sy, lock.initial, StateId::NONE).expect("few states");
    let (mut first, mut end) = (0, 1);
    while first < end {
        store.begin_level();
        loop {
            let shared = &store;
            let run = |(at, (lock, heap, codec)): (usize, &mut (Lock, Heap, Codec))| {
                let own = (first..end).filter(|state| *state as usize % threads == at);
                let mut states: Vec<u32> = own.collect();
                if at % 2 == 1 {
                    states.reverse();
                }
                for state in states {
                    let term = codec.decode(shared, heap, &lock.sy, StateId(state), &mut []);
                    let mut next = Vec::new();
                    lock.successors(heap, term, &mut next);
                    for (arc, &successor) in next.iter().enumerate().rev() {
                        let key = key(state, arc as u32);
                        if codec.insert_keyed(shared, heap, &lock.sy, successor, key).is_err() {
                            return true;
                        }
                    }
                }
                false
            };
            let is_full = std::thread::scope(|scope| {
                let run = &run;
                let handles: Vec<_> =
                    workers.iter_mut().enumerate().map(|work| scope.spawn(move || run(work))).collect();
                handles.into_iter().fold(false, |full, handle| full | handle.join().expect("no panic"))
            });
            if !is_full {
                break;
            }
            store.grow().expect("few states");
        }
        (first, end) = (end, end + store.end_level(threads, first..end));
    }
    store
}

#[test]
fn numbers_do_not_depend_on_threads() {
    for (n, is_queue) in [(2, true), (5, false), (6, true), (8, false)] {
        let (lock, mut heap) = Lock::new(n, is_queue);
        let mut alone = Store::new();
        explore(&lock, &mut heap, &mut alone);
        for threads in [1, 2, 3, 8] {
            let store = explore_levels(n, is_queue, threads);
            assert_eq!(store.len(), alone.len());
            let (_, mut other) = Lock::new(n, is_queue);
            let (mut a, mut b) = (Codec::new(&heap, true), Codec::new(&other, true));
            for state in (0..alone.len()).map(StateId) {
                let x = a.decode(&alone, &mut heap, &lock.sy, state, &mut []);
                let y = b.decode(&store, &mut other, &lock.sy, state, &mut []);
                assert_eq!(nodes(&heap, &lock.sy, x), nodes(&other, &lock.sy, y));
                assert_eq!(alone.parent(state), store.parent(state));
                // The index finds it under its final number.
                let found = b.insert(&store, &other, &lock.sy, y, StateId(0));
                assert_eq!(found, Ok(Inserted { number: state, is_new: false }));
            }
        }
    }
}
