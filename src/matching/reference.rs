//! The plain twin of the matcher: every variable tries every value that could possibly occur,
//! and an assignment is a solution if the pattern's instance equals (a portion of) the subject.
//!
//! Slow and obviously right; for tests on small subjects.

use crate::sorts::{Node, SortIx, Tree, Var};
use crate::term::{Class, Heap, Int, Symbols, Term, VarOrder};

/// What [`solutions`] works with.
pub struct Reference<'a> {
    pub sy: &'a Symbols,
    pub vars: &'a dyn VarOrder,
    /// Is the sort with the first index below that of the variable?
    pub fits: &'a dyn Fn(SortIx, Var) -> bool,
    /// Give up (with `None`) if more assignments than this would have to be tried.
    pub assignments_max: usize,
}

/// One solution: the values of the pattern's variables in order of first occurrence, and the
/// matched portion of the subject.
pub type Solution = (Vec<Term>, Term);

/// All solutions, each once, in no particular order. The heap's constants must begin with the
/// identities.
pub fn solutions(
    reference: &Reference,
    heap: &mut Heap,
    pattern: &Tree,
    subject: Term,
    extension: bool,
) -> Option<Vec<Solution>> {
    let sy = reference.sy;
    let vars = pattern.vars();
    let goals = if extension { portions(heap, sy, subject) } else { vec![subject] };
    let values = candidates(heap, sy, subject);
    let domains: Vec<Vec<Term>> = vars
        .iter()
        .map(|&var| values.iter().copied().filter(|&t| (reference.fits)(heap.sort(sy, t), var)).collect())
        .collect();
    let count = domains.iter().try_fold(1usize, |n, domain| n.checked_mul(domain.len()))?;
    if count > reference.assignments_max {
        return None;
    }
    let mut found = Vec::new();
    for number in 0..count {
        let mut rest = number;
        let mut assignment = Vec::with_capacity(vars.len());
        for domain in &domains {
            assignment.push(domain[rest % domain.len()]);
            rest /= domain.len();
        }
        let instance = instantiate(reference, heap, pattern, &vars, &assignment);
        let goal = goals.iter().copied().find(|&goal| heap.equal(sy, goal, instance));
        found.extend(goal.map(|goal| (assignment, goal)));
    }
    Some(found)
}

/// The pattern with values for its variables, in normal form modulo axioms.
fn instantiate(
    reference: &Reference,
    heap: &mut Heap,
    pattern: &Tree,
    vars: &[Var],
    values: &[Term],
) -> Term {
    let sy = reference.sy;
    let mut stack: Vec<Term> = Vec::new();
    for node in pattern.nodes() {
        let term = match node {
            Node::Var(var) => values[vars.iter().position(|v| v == var).expect("one of its variables")],
            Node::App { op, arity } if *arity > 0 => {
                let args = stack.split_off(stack.len() - *arity as usize);
                let args = without_identities(heap, sy, op.0, args);
                heap.apply(sy, op.0, &args)
            }
            Node::Iter { op, count } => {
                let base = stack.pop().expect("post-order");
                heap.iterate(sy, op.0, &Int::from_big(count.clone()), base)
            }
            leaf => heap.leaf(sy, reference.vars, leaf).expect("no arguments"),
        };
        stack.push(term);
    }
    stack.pop().expect("a root")
}

/// The elements of a list without the one-sided identities that something follows (or goes before):
/// building a list leaves those inside.
fn without_identities(heap: &Heap, sy: &Symbols, sym: u32, args: Vec<Term>) -> Vec<Term> {
    let info = &sy.info[sym as usize];
    let Some(identity) = info.identity.filter(|e| info.class == Class::Assoc && e.left != e.right) else {
        return args;
    };
    let e = heap.consts[identity.constant];
    let elements: Vec<Term> = args.iter().flat_map(|t| heap.elements(sy, sym, t).iter().copied()).collect();
    let kept = if identity.left { elements.len() - 1 } else { 0 };
    let stays = |&(i, t): &(usize, Term)| i == kept || !heap.equal(sy, t, e);
    elements.into_iter().enumerate().filter(stays).map(|(_, t)| t).collect()
}

/// The parts of a subject that an extension can leave matched, the whole first.
fn portions(heap: &mut Heap, sy: &Symbols, subject: Term) -> Vec<Term> {
    let mut portions = vec![subject];
    if subject.is_constant() || subject == Term::small(0) {
        return portions;
    }
    let sym = heap.sym(sy, subject);
    match sy.class(sym) {
        Class::Assoc => {
            let n = heap.args(subject).len();
            for start in 0..n {
                for len in 2..=n - start {
                    portions.extend(heap.slice(sy, sym, subject, start, len));
                }
            }
        }
        Class::AssocComm => {
            let mut pairs = Vec::new();
            heap.bag_pairs(subject, &mut pairs);
            let mut bags: Vec<Vec<(Term, u32)>> = vec![Vec::new()];
            for (t, m) in pairs {
                bags = bags
                    .iter()
                    .flat_map(|bag| {
                        (0..=m).map(move |k| {
                            let mut bag = bag.clone();
                            bag.extend((k > 0).then_some((t, k)));
                            bag
                        })
                    })
                    .collect();
            }
            for bag in bags {
                if bag.iter().map(|p| p.1).sum::<u32>() >= 2 {
                    portions.push(heap.bag(sy, sym, &bag));
                }
            }
        }
        Class::Iter => {
            let (count, base) = heap.iter_parts(subject);
            let Int::Small(count) = count else { return portions };
            portions.extend((1..count).map(|n| heap.iterate(sy, sym, &Int::Small(n), base)));
        }
        Class::Free | Class::Cui => {}
    }
    portions
}

/// Every value that a variable could have: portions of subterms, identities, and lists with an
/// identity at an end where it would vanish.
fn candidates(heap: &mut Heap, sy: &Symbols, subject: Term) -> Vec<Term> {
    let mut values: Vec<Term> = heap.consts[..sy.identities.len()].to_vec();
    let mut open = vec![subject];
    while let Some(t) = open.pop() {
        values.extend(portions(heap, sy, t));
        if !t.is_node() {
            continue;
        }
        let sym = heap.sym(sy, t);
        match sy.class(sym) {
            Class::AssocComm => {
                let mut pairs = Vec::new();
                heap.bag_pairs(t, &mut pairs);
                open.extend(pairs.into_iter().map(|p| p.0));
            }
            Class::Iter => open.push(heap.iter_parts(t).1),
            _ => open.extend_from_slice(heap.args(t)),
        }
    }
    for i in 0..values.len() {
        for (sym, info) in sy.info.iter().enumerate() {
            let Some(identity) = info.identity.filter(|e| info.class == Class::Assoc && e.left != e.right)
            else {
                continue;
            };
            let e = heap.consts[identity.constant];
            let (a, b) = if identity.left { (values[i], e) } else { (e, values[i]) };
            if !heap.equal(sy, values[i], e) {
                let value = heap.append(sy, sym as u32, a, b);
                values.push(value);
            }
        }
    }
    values.sort_by(|&a, &b| heap.compare(sy, a, b));
    values.dedup_by(|a, b| heap.equal(sy, *a, *b));
    values
}
