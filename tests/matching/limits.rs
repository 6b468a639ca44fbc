//! Deep patterns, long lists, large multisets; variables that are bound beforehand.

use std::time::Instant;

use rwl::base::Span;
use rwl::matching::{Context, Match, Needed, Rest};
use rwl::sorts::{Node, OpId, Tree};
use rwl::term::{Heap, Int, Term};

use crate::ours::Problem;
use crate::world::{T, World, plain};

const MILLION: usize = 1_000_000;

fn app(world: &World, name: &str, args: Vec<T>) -> T {
    T::App(world.op(name), args)
}

fn var(world: &World, name: &str) -> T {
    T::Var(world.vars.iter().position(|(n, _)| n == name).expect("declared"))
}

fn run<R>(problem: &mut Problem, work: impl FnOnce(&mut Context, &mut Match, &mut [Term], Term) -> R) -> R {
    let mut resort = |_: &mut Heap, _: Term| {};
    let Problem { world, heap, slots, subject, .. } = problem;
    let mut cx = Context { heap, sy: &world.sy, resort: &mut resort };
    work(&mut cx, &mut Match::new(), slots, *subject)
}

fn first(problem: &mut Problem) -> bool {
    let Problem { world, pattern, heap, slots, subject } = problem;
    let mut resort = |_: &mut Heap, _: Term| {};
    let mut cx = Context { heap, sy: &world.sy, resort: &mut resort };
    Match::new().first(&mut cx, pattern, *subject, slots)
}

/// Distinct elements `it^n(a)`, as many as asked for.
fn elements(world: &World, heap: &mut Heap, n: usize) -> Vec<Term> {
    let (it, a) = (world.op("it") as u32, Term::constant(world.op("a") as u32));
    (1..=n as u32).map(|count| heap.iterate(&world.sy, it, &Int::Small(count), a)).collect()
}

#[test]
fn deep_patterns() {
    let world = plain();
    let f = Node::App { op: OpId(world.op("f") as u32), arity: 1 };
    let mut tree = world.tree(&var(&world, "q0S"));
    let mut subject = Tree::leaf(Node::App { op: OpId(world.op("a") as u32), arity: 0 }, Span::default());
    for _ in 0..MILLION {
        tree.push(f.clone(), Span::default());
        subject.push(f.clone(), Span::default());
    }
    let mut problem = Problem::with_tree(&world, &tree, Needed::Everything, &[], true);
    problem.subject = problem.heap.build(&world.sy, &world, &subject);
    assert!(first(&mut problem));
    let slot = world.slot(world.var(world.vars.iter().position(|(n, _)| n == "q0S").unwrap()));
    assert_eq!(problem.slots[slot as usize], Term::constant(world.op("a") as u32));
}

#[test]
fn long_lists() {
    let world = plain();
    let pattern = app(&world, "as", vec![var(&world, "q0S"), var(&world, "q1E"), var(&world, "q1S")]);
    let mut problem = Problem::with_tree(&world, &world.tree(&pattern), Needed::Everything, &[], false);
    let items = elements(&world, &mut problem.heap, MILLION);
    problem.subject = problem.heap.list(&world.sy, world.op("as") as u32, &items);
    let start = Instant::now();
    let pattern = std::mem::replace(
        &mut problem.pattern,
        Problem::with_tree(&world, &world.tree(&pattern), Needed::Everything, &[], true).pattern,
    );
    let count = run(&mut problem, |cx, problem, slots, subject| {
        let mut more = problem.first(cx, &pattern, subject, slots);
        let mut count = 0;
        while more && count < 1000 {
            count += 1;
            more = problem.next(cx, &pattern, slots);
        }
        count
    });
    assert_eq!(count, 1000);
    assert!(start.elapsed().as_secs() < 20, "a thousand ways to cut a list: {:?}", start.elapsed());
}

#[test]
fn large_multisets() {
    let world = plain();
    let pattern = app(
        &world,
        "ac",
        vec![
            app(&world, "it", vec![app(&world, "f", vec![var(&world, "q0S")])]),
            app(&world, "b", vec![]),
            var(&world, "q1S"),
        ],
    );
    let mut problem = Problem::with_tree(&world, &world.tree(&pattern), Needed::Only(&[]), &[], true);
    let heap = &mut problem.heap;
    let mut items = elements(&world, heap, 100_000);
    let a = Term::constant(world.op("a") as u32);
    let fa = heap.apply(&world.sy, world.op("f") as u32, &[a]);
    items.push(heap.apply(&world.sy, world.op("it") as u32, &[fa]));
    items.push(Term::constant(world.op("b") as u32));
    problem.subject = heap.bag_of(&world.sy, world.op("ac") as u32, items);
    let start = Instant::now();
    let words = problem.heap.len();
    assert!(first(&mut problem));
    assert!(problem.heap.len() - words < 10_000, "most of the multiset is shared");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn bound_variables() {
    let world = plain();
    let pattern = app(&world, "acu", vec![var(&world, "q0S"), var(&world, "q1S"), app(&world, "c", vec![])]);
    let slot = |name: &str| world.slot(world.var(world.vars.iter().position(|(n, _)| n == name).unwrap()));
    let bound = [slot("q0S")];
    let mut problem = Problem::with_tree(&world, &world.tree(&pattern), Needed::Everything, &bound, false);
    let constant = |name: &str| Term::constant(world.op(name) as u32);
    let sym = world.op("acu") as u32;
    let heap = &mut problem.heap;
    problem.subject = heap.bag_of(&world.sy, sym, [constant("a"), constant("b"), constant("c")]);
    problem.slots[bound[0] as usize] = heap.bag_of(&world.sy, sym, [constant("b")]);
    assert!(first(&mut problem));
    assert_eq!(problem.slots[slot("q1S") as usize], constant("a"));
    // A bound variable keeps its value when matching fails.
    problem.slots[slot("q1S") as usize] = Term::NONE;
    problem.slots[bound[0] as usize] = problem.heap.consts[0];
    let e = problem.heap.consts[0];
    problem.subject = problem.heap.bag_of(&world.sy, sym, [constant("a"), constant("b")]);
    assert!(!first(&mut problem));
    assert_eq!(problem.slots[bound[0] as usize], e);
    assert!(problem.slots[slot("q1S") as usize].is_none());
}

/// A rest is what the extension leaves, as one term.
#[test]
fn rests() {
    let world = plain();
    let pattern = app(&world, "as", vec![app(&world, "b", vec![]), app(&world, "c", vec![])]);
    let mut problem = Problem::with_tree(&world, &world.tree(&pattern), Needed::Everything, &[], true);
    let constant = |name: &str| Term::constant(world.op(name) as u32);
    let items = ["a", "b", "c", "b", "c"].map(constant);
    problem.subject = problem.heap.list(&world.sy, world.op("as") as u32, &items);
    let lines = problem.solutions(10, |world, heap, _, rest, _| {
        let Rest::List { left, right, .. } = rest else { panic!("part of a list") };
        let show = |t: &Option<Term>| t.map_or(String::new(), |t| world.print(heap, t));
        format!("{} | {}", show(left), show(right))
    });
    assert_eq!(lines, ["a | as(b, c)", "as(a, b, c) | "]);
}

/// Numbers are iterated successors of zero.
#[test]
fn numbers() {
    let op = |name, decls, attrs| crate::world::Op { name, decls, attrs };
    let mut world = World::new(
        &["Z", "N"],
        &[("Z", "N")],
        vec![
            op("0", &["-> Z"], ""),
            op("s", &["N -> N"], "iter"),
            op("g", &["N N -> N"], ""),
            op("ac", &["N N -> N"], "assoc comm"),
        ],
    );
    let zero = Tree::leaf(Node::App { op: OpId(0), arity: 0 }, Span::default());
    world.sig.op_mut(OpId(1)).special = Some(std::sync::Arc::new(rwl::sorts::Special {
        hook: "SuccSymbol".into(),
        data: Vec::new(),
        more: Vec::new(),
        ops: Vec::new(),
        terms: vec![("zeroTerm".into(), zero)],
    }));
    world.sy = rwl::term::Symbols::new(&world.sig);
    let s = |t: T| app(&world, "s", vec![t]);
    let (x, y) = (var(&world, "q0N"), var(&world, "q1N"));
    let solve = |pattern: T, extension: bool, build: &dyn Fn(&mut Heap) -> Term| {
        let tree = world.tree(&pattern);
        let mut problem = Problem::with_tree(&world, &tree, Needed::Everything, &[], extension);
        problem.subject = build(&mut problem.heap);
        problem.solutions(9, |_, _, slots, rest, _| {
            let values: Vec<u32> = slots.iter().filter(|t| t.is_small()).map(|t| t.payload()).collect();
            let over = if let Rest::Iter(Int::Small(over)) = rest { *over } else { 0 };
            (values, over)
        })
    };
    let small = |n: u32| move |_: &mut Heap| Term::small(n);
    assert_eq!(solve(s(s(x.clone())), false, &small(5)), [(vec![3], 0)]);
    assert_eq!(solve(s(s(x.clone())), false, &small(1)), []);
    assert_eq!(solve(s(s(x.clone())), true, &small(4)), [(vec![2], 0), (vec![1], 1), (vec![0], 2)]);
    assert_eq!(solve(s(s(app(&world, "0", vec![]))), true, &small(1 << 29)), [(vec![], (1 << 29) - 2)]);
    let pair = |a: u32, b: u32| {
        let world = &world;
        move |heap: &mut Heap| heap.apply(&world.sy, 2, &[Term::small(a), Term::small(b)])
    };
    let twice = app(&world, "g", vec![s(x.clone()), s(s(x.clone()))]);
    assert_eq!(solve(twice.clone(), false, &pair(3, 4)), [(vec![2], 0)]);
    assert_eq!(solve(twice, false, &pair(3, 5)), []);
    let bag = app(&world, "ac", vec![s(s(x)), s(y), app(&world, "0", vec![])]);
    let numbers = |heap: &mut Heap| heap.bag_of(&world.sy, 3, [0, 1, 4].map(Term::small));
    assert_eq!(solve(bag, false, &numbers), [(vec![2, 0], 0)]);
}
