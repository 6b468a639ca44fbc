//! For tests and benchmarks: operators from a short text, and the state spaces of two lock
//! protocols with successors written by hand.
//!
//! `sorts A B`, `subsort A < B`, `op NAME : D -> R [assoc comm id(E) iter succ(ZERO) minus strings
//! qids floats]`, one declaration per line.

use std::sync::Arc;

use crate::base::{Name, Span};
use crate::sorts::{
    Axioms, Hooks, Identity, IdentitySide, Node, OpDecl, Operator, Signature, SortPoset, Special, Tree,
};
use crate::term::{Heap, Symbols, Term};

/// The operators of a text, and a heap with the identities on it.
pub fn spec(text: &str) -> (Signature, Symbols, Heap) {
    let mut sorts = SortPoset::default();
    let lines = || text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    for line in lines() {
        match line[..] {
            ["sorts", ref names @ ..] => names.iter().for_each(|name| {
                sorts.declare(Name::new(name));
            }),
            ["subsort", a, "<", b] => {
                let (a, b) = (sorts.find(Name::new(a)), sorts.find(Name::new(b)));
                sorts.declare_subsort(a.expect("declared"), b.expect("declared"));
            }
            _ => {}
        }
    }
    sorts.close().expect("no cycles");
    let mut sig = Signature::new(sorts);
    for line in lines() {
        if let ["op", name, ":", ref rest @ ..] = line[..] {
            let arrow = rest.iter().position(|word| *word == "->").expect("an arrow");
            let sort = |word: &&str| sig.sorts.find(Name::new(word)).expect("declared");
            let domain: Vec<_> = rest[..arrow].iter().map(sort).collect();
            let range = sort(&rest[arrow + 1]);
            let attributes: Vec<&str> =
                rest[arrow + 2..].iter().map(|word| word.trim_matches(&['[', ']'][..])).collect();
            let op = operator(&sig, name, domain, range, &attributes);
            sig.add(op);
        }
    }
    let sy = Symbols::new(&sig);
    let mut heap = Heap::new();
    for identity in &sy.identities {
        let op = identity.nodes().last().and_then(|node| node.op()).expect("a constant");
        heap.consts.push(Term::constant(op.0));
    }
    (sig, sy, heap)
}

fn operator(
    sig: &Signature,
    name: &str,
    domain: Vec<crate::sorts::SortId>,
    range: crate::sorts::SortId,
    attributes: &[&str],
) -> Operator {
    let has = |word: &str| attributes.contains(&word);
    let constant = |word: &str| {
        let name =
            attributes.iter().find_map(|a| a.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')'))?;
        let op = sig.named(Name::new(name))[0];
        Some(Tree::leaf(Node::App { op, arity: 0 }, Span::default()))
    };
    let zero = constant("succ");
    let hooks = [
        (zero.is_some(), "SuccSymbol"),
        (has("minus"), "MinusSymbol"),
        (has("strings"), "StringSymbol"),
        (has("qids"), "QuotedIdentifierSymbol"),
        (has("floats"), "FloatSymbol"),
    ];
    let special = hooks.iter().find(|(is_this, _)| *is_this).map(|(_, hook)| Special {
        hook: Name::new(hook),
        data: Vec::new(),
        more: Vec::new(),
        ops: Vec::new(),
        terms: zero.into_iter().map(|zero| (Name::new("zeroTerm"), zero)).collect(),
    });
    Operator {
        name: Name::new(name),
        domain: domain.iter().map(|&sort| sig.sorts.kind_of(sort)).collect(),
        range: sig.sorts.kind_of(range),
        decls: vec![OpDecl { domain, range, ctor: false, metadata: None, span: Span::default() }],
        axioms: Axioms {
            assoc: has("assoc"),
            comm: has("comm"),
            idem: has("idem"),
            iter: has("iter"),
            identity: constant("id").map(|term| Box::new(Identity { side: IdentitySide::Both, term })),
        },
        prec: None,
        gather: None,
        format: None,
        strat: None,
        memo: false,
        frozen: Vec::new(),
        special: special.map(Arc::new),
        poly: None,
        hooks: Hooks::default(),
        own: true,
    }
}

/// A lock protocol of `n` processes.
pub struct Lock {
    pub sy: Symbols,
    pub initial: Term,
    is_queue: bool,
    symbols: Vec<u32>,
}

const LOCK: &str = "sorts Pid Loc Queue Bool Elem Soup State
subsort Elem < Soup
op rs : -> Loc
op ws : -> Loc
op cs : -> Loc
op fs : -> Loc
op true : -> Bool
op false : -> Bool
op empty : -> Queue
op _|_ : Pid Queue -> Queue
op queue:_ : Queue -> Elem
op locked:_ : Bool -> Elem
op pc[_]:_ : Pid Loc -> Elem
op none : -> Soup
op __ : Soup Soup -> Soup [assoc comm id(none)]
op {_} : Soup -> State";

impl Lock {
    pub fn new(n: usize, is_queue: bool) -> (Lock, Heap) {
        let mut text = LOCK.to_string();
        for i in 1..=n {
            text.push_str(&format!("\nop p{i} : -> Pid"));
        }
        let (sig, sy, mut heap) = spec(&text);
        let op = |name: &str| sig.named(Name::new(name))[0].0;
        let names = ["rs", "ws", "cs", "fs", "true", "false", "empty", "_|_", "queue:_", "locked:_"];
        let mut symbols: Vec<u32> = names.iter().map(|name| op(name)).collect();
        symbols.extend(["pc[_]:_", "__", "{_}"].map(op));
        let constant = |name: &str| Term::constant(op(name));
        let shared = match is_queue {
            true => heap.apply(&sy, op("queue:_"), &[constant("empty")]),
            false => heap.apply(&sy, op("locked:_"), &[constant("false")]),
        };
        let mut elements = vec![shared];
        for i in 1..=n {
            elements.push(heap.apply(&sy, op("pc[_]:_"), &[constant(&format!("p{i}")), constant("rs")]));
        }
        let soup = heap.bag_of(&sy, op("__"), elements);
        let initial = heap.apply(&sy, op("{_}"), &[soup]);
        (Lock { sy, initial, is_queue, symbols }, heap)
    }

    /// Appends the successors of a state.
    pub fn successors(&self, heap: &mut Heap, state: Term, out: &mut Vec<Term>) {
        let [rs, ws, cs, fs, yes, no, empty, cons, queue, locked, pc, soup, top] = self.symbols[..] else {
            unreachable!("as many as names")
        };
        let constant = Term::constant;
        let bag = heap.arg(state, 0);
        let (state_sort, sort) = (heap.sort(&self.sy, state), heap.sort(&self.sy, bag));
        let mut elements = [Term(0); 32];
        let mut n = 0;
        for pair in heap.flat_bag(bag).expect("few elements").chunks_exact(2) {
            elements[n] = pair[0];
            n += 1;
        }
        let shared = heap.arg(elements[0], 0);
        let (shared_sort, sort_of_pc) = (heap.sort(&self.sy, elements[0]), heap.sort(&self.sy, elements[1]));
        for i in 1..n {
            let (pid, loc) = (heap.arg(elements[i], 0), heap.arg(elements[i], 1));
            let (new_loc, new_shared) = if self.is_queue {
                let is_first = |heap: &Heap| shared.is_node() && heap.arg(shared, 0) == pid;
                if loc == constant(rs) {
                    let mut list = Vec::new();
                    let mut rest = shared;
                    while rest.is_node() {
                        list.push(heap.arg(rest, 0));
                        rest = heap.arg(rest, 1);
                    }
                    list.push(pid);
                    let sort = self.sy.info[empty as usize].constant_sort;
                    let queue = list
                        .iter()
                        .rev()
                        .fold(constant(empty), |rest, &p| heap.alloc(cons, sort, &[p, rest]));
                    (ws, queue)
                } else if loc == constant(ws) && is_first(heap) {
                    (cs, shared)
                } else if loc == constant(cs) {
                    (fs, heap.arg(shared, 1))
                } else {
                    continue;
                }
            } else if loc == constant(rs) {
                (ws, shared)
            } else if loc == constant(ws) && shared == constant(no) {
                (cs, constant(yes))
            } else if loc == constant(cs) {
                (fs, constant(no))
            } else {
                continue;
            };
            let mut next = elements;
            next[i] = heap.alloc(pc, sort_of_pc, &[pid, constant(new_loc)]);
            if new_shared != shared {
                let sym = if self.is_queue { queue } else { locked };
                next[0] = heap.alloc(sym, shared_sort, &[new_shared]);
            }
            let next = heap.restore_bag(&self.sy, soup, sort, &next[..n], None);
            out.push(heap.alloc(top, state_sort, &[next]));
        }
    }
}
