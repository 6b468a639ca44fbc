//! What the state store costs: explores lock protocols with successors written by hand, once
//! with the store and once without it, and shows the difference.
//!
//! `cargo bench --bench store -- [tas|qlock] [processes] [threads]`; without arguments TAS with
//! 10 and Qlock with 8 processes on one thread.

use rwl::graph::{Codec, Full, Inserted, Root, StateId, Store, key};
use rwl::{base, sorts, term};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use term::{Heap, Term};

#[path = "../../src/graph/testing.rs"]
mod testing;
use testing::Lock;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let number = |i: usize, other: usize| args.get(i).map_or(other, |arg| arg.parse().expect("a number"));
    match args.first().map(String::as_str) {
        Some(name) => measure(name == "qlock", number(1, 8), number(2, 1)),
        None => {
            measure(false, 10, 1);
            measure(true, 8, 1);
        }
    }
}

fn measure(is_queue: bool, n: usize, threads: usize) {
    let (lock, heap) = Lock::new(n, is_queue);
    let mut store = Store::new();
    let start = cpu_ns();
    let (transitions, codecs) = if threads == 1 {
        explore(&lock, heap, &mut store)
    } else {
        explore_levels(n, is_queue, &mut store, threads)
    };
    let total = cpu_ns() - start;
    let usage = store.usage();
    let states = f64::from(usage.states);
    let per = |bytes: usize| bytes as f64 / states;
    println!(
        "{} {n}, {threads} threads: {} states, {transitions} transitions, {:.0} ns each",
        if is_queue { "Qlock" } else { "TAS" },
        usage.states,
        total as f64 / transitions as f64,
    );
    println!(
        "  bytes per state: {:.2} = states {:.2} + parts {:.2} ({} of them) + parents {:.2} + keys {:.2}; codecs {:.2}; peak memory {:.2}",
        per(usage.bytes()),
        per(usage.state_bytes),
        per(usage.part_bytes),
        usage.parts,
        per(usage.parent_bytes),
        per(usage.key_bytes),
        per(codecs),
        per(peak_bytes()),
    );
    let start = cpu_ns();
    let made = generate(&lock, n, is_queue, &store);
    let alone = cpu_ns() - start;
    println!("  of this, decoding and making successors {:.0} ns", alone as f64 / made as f64,);
}

fn explore(lock: &Lock, mut heap: Heap, store: &mut Store) -> (u64, usize) {
    /// Successors are looked for in groups of at least so many.
    const GROUP: usize = 16;
    let sy = &lock.sy;
    let mut codec = Codec::new(&heap, true);
    codec.insert_alone(store, &heap, sy, lock.initial, StateId::NONE).expect("few states");
    let (mut state, mut transitions) = (0, 0);
    let mut next: Vec<Term> = Vec::new();
    let mut roots: Vec<(Root, StateId)> = Vec::new();
    while state < store.len() {
        let term = codec.decode(store, &mut heap, sy, StateId(state), &mut []);
        next.clear();
        lock.successors(&mut heap, term, &mut next);
        for &successor in &next {
            let root = loop {
                match codec.root(store, &heap, sy, successor) {
                    Ok(root) => break root,
                    Err(Full) => store.grow().expect("few states"),
                }
            };
            roots.push((root, StateId(state)));
        }
        transitions += next.len() as u64;
        state += 1;
        if roots.len() >= GROUP || state == store.len() {
            roots.iter().for_each(|(root, _)| root.prefetch(store));
            for (root, parent) in roots.drain(..) {
                while codec.put(store, root, parent).is_err() {
                    store.grow().expect("few states");
                }
            }
        }
    }
    (transitions, codec.bytes())
}

/// Decodes all states and makes their successors.
fn generate(lock: &Lock, n: usize, is_queue: bool, store: &Store) -> u64 {
    let (_, mut heap) = Lock::new(n, is_queue);
    let mut codec = Codec::new(&heap, true);
    let mut next: Vec<Term> = Vec::new();
    let mut transitions = 0;
    for state in 0..store.len() {
        let term = codec.decode(store, &mut heap, &lock.sy, StateId(state), &mut []);
        next.clear();
        lock.successors(&mut heap, term, &mut next);
        transitions += next.len() as u64;
    }
    transitions
}

/// The same on many threads, level by level.
fn explore_levels(n: usize, is_queue: bool, store: &mut Store, threads: usize) -> (u64, usize) {
    struct Worker {
        lock: Lock,
        heap: Heap,
        codec: Codec,
    }
    let mut workers: Vec<Worker> = (0..threads)
        .map(|_| {
            let (lock, heap) = Lock::new(n, is_queue);
            let codec = Codec::new(&heap, true);
            Worker { lock, heap, codec }
        })
        .collect();
    let Worker { lock, heap, codec } = &mut workers[0];
    codec.insert_alone(store, heap, &lock.sy, lock.initial, StateId::NONE).expect("few states");
    let transitions = AtomicU64::new(0);
    let (mut first, mut end) = (0, 1);
    while first < end {
        store.begin_level();
        // States whose successors were not all stored before a table was full.
        let mut todo: Vec<u32> = (first..end).collect();
        while !todo.is_empty() {
            let cursor = AtomicU32::new(0);
            let chunk =
                |from: u32| &todo[(from as usize).min(todo.len())..(from as usize + 64).min(todo.len())];
            let shared = &*store;
            let run = |worker: &mut Worker| {
                let Worker { lock, heap, codec } = worker;
                let mut next: Vec<Term> = Vec::new();
                let mut left = Vec::new();
                loop {
                    let states = chunk(cursor.fetch_add(64, Ordering::Relaxed));
                    if states.is_empty() {
                        return left;
                    }
                    for &state in states {
                        let term = codec.decode(shared, heap, &lock.sy, StateId(state), &mut []);
                        next.clear();
                        lock.successors(heap, term, &mut next);
                        let put = next.iter().enumerate().try_for_each(|(arc, &successor)| {
                            let key = key(state, arc as u32);
                            let inserted = codec.insert_keyed(shared, heap, &lock.sy, successor, key);
                            inserted.map(|_: Inserted| ())
                        });
                        match put {
                            Ok(()) => _ = transitions.fetch_add(next.len() as u64, Ordering::Relaxed),
                            Err(Full) => left.push(state),
                        }
                    }
                }
            };
            let left: Vec<u32> = std::thread::scope(|scope| {
                let run = &run;
                let handles: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(|| run(worker))).collect();
                handles.into_iter().flat_map(|handle| handle.join().expect("no panic")).collect()
            });
            todo = left;
            if !todo.is_empty() {
                todo.sort_unstable();
                store.grow().expect("few states");
            }
        }
        let new = store.end_level(threads, first..end);
        (first, end) = (end, end + new);
    }
    (transitions.into_inner(), workers.iter().map(|worker| worker.codec.bytes()).sum())
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the place it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The most memory that the process has had.
fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<usize>().ok()).unwrap_or(0) * 1024
}
