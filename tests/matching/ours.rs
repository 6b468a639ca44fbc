//! Our answers, as text.

use rwl::matching::{Context, Match, Needed, Pattern, PatternSpec, Rest, Shapes};
use rwl::sorts::Tree;
use rwl::term::{Heap, Term};

use crate::random::Case;
use crate::world::{T, World};

/// A pattern with everything needed to run it.
pub struct Problem<'w> {
    pub world: &'w World,
    pub pattern: Pattern,
    pub heap: Heap,
    pub slots: Vec<Term>,
    pub subject: Term,
}

impl<'w> Problem<'w> {
    pub fn new(world: &'w World, case: &Case, needed: Needed) -> Problem<'w> {
        let mut problem = Problem::with_tree(world, &world.tree(&case.pattern), needed, &[], case.extension);
        problem.subject = world.build(&mut problem.heap, &case.subject);
        problem
    }

    /// A pattern without a subject yet.
    pub fn with_tree(
        world: &'w World,
        tree: &Tree,
        needed: Needed,
        bound: &[u16],
        extension: bool,
    ) -> Problem<'w> {
        let mut heap = world.heap();
        let mut slots = world.vars.len() as u16;
        let mut constants: Vec<Tree> = Vec::new();
        let first = heap.consts.len();
        let pattern = Pattern::compile(&mut PatternSpec {
            sig: &world.sig,
            sy: &world.sy,
            shapes: &Shapes::new(&world.sig, []),
            tree,
            vars: world,
            slot: &|var| world.slot(var),
            bound,
            needed,
            read: None,
            extension,
            fresh: &mut || {
                slots += 1;
                slots - 1
            },
            constant: &mut |tree| {
                constants.push(tree.clone());
                (first + constants.len() - 1) as u32
            },
        });
        for tree in &constants {
            let term = heap.build(&world.sy, world, tree);
            heap.consts.push(term);
        }
        let slots = vec![Term::NONE; slots as usize];
        Problem { world, pattern, heap, slots, subject: Term::NONE }
    }

    /// All solutions up to `limit`: for each the slots and the matched portion. The heap is
    /// collected between calls, so that forgotten roots show.
    pub fn solutions<R>(
        &mut self,
        limit: usize,
        mut show: impl FnMut(&World, &mut Heap, &[Term], &Rest, Term) -> R,
    ) -> Vec<R> {
        let mut problem = Match::new();
        let mut found = Vec::new();
        let mut resort = |_: &mut Heap, _: Term| {};
        let mut cx = Context { heap: &mut self.heap, sy: &self.world.sy, resort: &mut resort };
        let mut more = problem.first(&mut cx, &self.pattern, self.subject, &mut self.slots);
        while more && found.len() < limit {
            let rest = problem.rest().clone();
            found.push(show(self.world, cx.heap, &self.slots, &rest, self.subject));
            let (slots, subject) = (&mut self.slots, &mut self.subject);
            cx.heap.collect(|f| {
                problem.roots(f);
                slots.iter_mut().for_each(&mut *f);
                f(subject);
            });
            more = problem.next(&mut cx, &self.pattern, &mut self.slots);
        }
        if !more {
            assert!(self.slots.iter().all(|t| t.is_none()), "slots are left as they were");
        }
        found
    }
}

/// The part of the subject that was matched.
pub fn portion(world: &World, heap: &mut Heap, subject: Term, rest: &Rest) -> Term {
    let sy = &world.sy;
    match rest {
        Rest::Whole => subject,
        Rest::Bag(rest) => {
            let sym = heap.sym(sy, subject);
            let (mut pairs, mut gone) = (Vec::new(), Vec::new());
            heap.bag_pairs(subject, &mut pairs);
            heap.pairs(sy, sym, *rest, &mut gone);
            for (t, m) in gone {
                let pair = pairs.iter_mut().find(|p| heap.equal(sy, p.0, t)).expect("part of it");
                pair.1 -= m;
            }
            pairs.retain(|p| p.1 > 0);
            heap.bag(sy, sym, &pairs)
        }
        Rest::List { left, right, identity } => {
            let sym = heap.sym(sy, subject);
            let n = heap.args(subject).len();
            let len = |heap: &Heap, t: &Option<Term>| t.map_or(0, |t| heap.elements(sy, sym, &t).len());
            let (l, r) = (len(heap, left), len(heap, right));
            let part = heap.slice(sy, sym, subject, l, n - l - r).expect("not empty");
            match sy.info[sym as usize].identity {
                Some(e) if *identity && e.left => heap.append(sy, sym, part, heap.consts[e.constant]),
                Some(e) if *identity => heap.append(sy, sym, heap.consts[e.constant], part),
                _ => part,
            }
        }
        Rest::Iter(over) => {
            let sym = heap.sym(sy, subject);
            let (count, base) = heap.iter_parts(subject);
            let count = rwl::term::Int::from_big(count.to_big() - over.to_big());
            heap.iterate(sy, sym, &count, base)
        }
    }
}

/// Puts a term in the place of the matched portion.
pub fn replace(world: &World, heap: &mut Heap, subject: Term, rest: &Rest, by: Term) -> Term {
    let sy = &world.sy;
    match rest {
        Rest::Whole => by,
        Rest::Bag(rest) => {
            let sym = heap.sym(sy, subject);
            heap.union(sy, sym, by, *rest)
        }
        Rest::List { left, right, .. } => {
            let sym = heap.sym(sy, subject);
            let t = left.map_or(by, |left| heap.concat(sy, sym, left, by));
            right.map_or(t, |right| heap.concat(sy, sym, t, right))
        }
        Rest::Iter(over) => {
            let sym = heap.sym(sy, subject);
            heap.iterate(sy, sym, over, by)
        }
    }
}

/// The variables of a pattern, ascending.
pub fn vars(t: &T) -> Vec<usize> {
    fn walk(t: &T, out: &mut Vec<usize>) {
        match t {
            T::Var(v) => out.push(*v),
            T::App(_, args) => args.iter().for_each(|arg| walk(arg, out)),
        }
    }
    let mut found = Vec::new();
    walk(t, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// Our answer to `match` or `xmatch`: one line per matcher.
pub fn matchers(world: &World, case: &Case, limit: usize) -> Vec<String> {
    let vars = vars(&case.pattern);
    Problem::new(world, case, Needed::Everything).solutions(limit, |world, heap, slots, rest, subject| {
        let mut line = String::new();
        if case.extension {
            let part = portion(world, heap, subject, rest);
            line += &format!(
                "[{}] ",
                if *rest == Rest::Whole { "(whole)".into() } else { world.print(heap, part) }
            );
        }
        for &v in &vars {
            line += &format!("{} --> {}; ", world.vars[v].0, world.print(heap, slots[v]));
        }
        line
    })
}

/// The result term of a statement: `rN` over the variables of its left-hand side.
pub fn result_op(world: &World, pattern: &T) -> (usize, Vec<usize>) {
    let vars = vars(pattern);
    (world.op(["r0", "r1", "r2", "r3", "r4", "r5", "r6"][vars.len()]), vars)
}

/// The value of a variable in the first solution, if there is one.
pub fn first_value(world: &World, case: &Case, v: usize) -> Option<String> {
    Problem::new(world, case, Needed::Only(&[v as u16]))
        .solutions(1, |world, heap, slots, _, _| world.print(heap, slots[v]))
        .pop()
}

/// Our answer to one step with the rule `pattern => rN(vars) if v =/= value`.
pub fn step_unless(world: &World, case: &Case, v: usize, value: &str) -> Option<String> {
    let (op, vars) = result_op(world, &case.pattern);
    Problem::new(world, case, Needed::Only(&[v as u16]))
        .solutions(10_000, |world, heap, slots, rest, subject| {
            if world.print(heap, slots[v]) == value {
                return None;
            }
            let args: Vec<Term> = vars.iter().map(|&v| slots[v]).collect();
            let result = heap.apply(&world.sy, op as u32, &args);
            let t = replace(world, heap, subject, rest, result);
            Some(world.print(heap, t))
        })
        .into_iter()
        .flatten()
        .next()
}

/// Our answer to one step with the rule `pattern => rN(vars)`.
pub fn step(world: &World, case: &Case) -> Option<String> {
    let (op, vars) = result_op(world, &case.pattern);
    Problem::new(world, case, Needed::Only(&[]))
        .solutions(1, |world, heap, slots, rest, subject| {
            let args: Vec<Term> = vars.iter().map(|&v| slots[v]).collect();
            let result = heap.apply(&world.sy, op as u32, &args);
            let t = replace(world, heap, subject, rest, result);
            world.print(heap, t)
        })
        .pop()
}

/// The lines of [`matchers`] by the plain twin, sorted; `None` if that takes too long.
pub fn reference(world: &World, case: &Case, assignments_max: usize) -> Option<Vec<String>> {
    let mut heap = world.heap();
    let tree = world.tree(&case.pattern);
    let subject = world.build(&mut heap, &case.subject);
    let fits = |sort: u32, var: rwl::sorts::Var| {
        let bound = world.sig.sorts.get(var.sort);
        world.sig.sorts.kind(bound.kind).leq(sort, bound.index)
    };
    let reference =
        rwl::matching::reference::Reference { sy: &world.sy, vars: world, fits: &fits, assignments_max };
    let found = rwl::matching::reference::solutions(&reference, &mut heap, &tree, subject, case.extension)?;
    let order = tree.vars();
    let mut lines: Vec<String> = found
        .into_iter()
        .map(|(values, portion)| {
            let mut line = String::new();
            if case.extension {
                let whole = heap.equal(&world.sy, portion, subject);
                line += &format!("[{}] ", if whole { "(whole)".into() } else { world.print(&heap, portion) });
            }
            for v in vars(&case.pattern) {
                let place = order.iter().position(|&var| var == world.var(v)).expect("occurs");
                line += &format!("{} --> {}; ", world.vars[v].0, world.print(&heap, values[place]));
            }
            line
        })
        .collect();
    lines.sort();
    lines.dedup();
    Some(lines)
}
