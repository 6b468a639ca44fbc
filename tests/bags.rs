//! Large multisets against their plain twin: maps from element to multiplicity. Older versions stay
//! what they were, whatever is made of them later and wherever a collection moves them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rwl::base::{Exceeded, SourceMap};
use rwl::module::Modules;
use rwl::syntax::tree::Item;
use rwl::syntax::{Parser, TokenOrder};
use rwl::term::{Class, Heap, Symbols, Term};

type Twin = BTreeMap<u32, u32>;

#[derive(Clone, Debug)]
enum Step {
    Add(u32, u32),
    /// One copy or all of them, of the element with this number.
    Take(usize, bool),
    Collect,
    /// Go on from an older version.
    Return(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let copies = prop_oneof![10 => Just(1), 1 => Just(2), 1 => Just(u32::MAX / 2)];
    let step = prop_oneof![
        20 => (0..2000u32, copies).prop_map(|(n, m)| Step::Add(n, m)),
        8 => (any::<usize>(), any::<bool>()).prop_map(|(n, all)| Step::Take(n, all)),
        1 => Just(Step::Collect),
        1 => any::<usize>().prop_map(Step::Return),
    ];
    proptest::collection::vec(step, 0..1500)
}

/// The symbols of a module with one multiset operator, and that operator.
fn symbols() -> (Symbols, u32) {
    let text = "fmod B is sorts Nat Bag . subsort Nat < Bag . op 0 : -> Nat [ctor] .
      op s_ : Nat -> Nat [ctor iter special (id-hook SuccSymbol term-hook zeroTerm (0))] .
      op _;_ : Bag Bag -> Bag [ctor assoc comm] . endfm";
    let mut map = SourceMap::default();
    let file = map.add("test".to_string(), text.to_string());
    let (mut order, mut modules) = (TokenOrder::default(), Modules::new());
    let Some(Item::Module(module)) = Parser::new(text, file).next_item(&mut order).and_then(|p| p.item)
    else {
        panic!("a module")
    };
    let span = module.name.span;
    let name = modules.insert(module, &mut order);
    let Ok(module) = modules.resolve_name(name, span) else { panic!("broken module") };
    let sy = Symbols::new(&module.signature);
    let sym = sy.info.iter().position(|info| info.class == Class::AssocComm).expect("the operator");
    (sy, sym as u32)
}

/// Copies of a natural as a multiset, or the natural itself.
fn few(heap: &mut Heap, sy: &Symbols, sym: u32, n: u32, copies: u32) -> Term {
    heap.bag(sy, sym, &[(Term::small(n), copies)])
}

fn compare(heap: &Heap, sy: &Symbols, sym: u32, t: Term, twin: &Twin) {
    let mut pairs = Vec::new();
    heap.pairs(sy, sym, t, &mut pairs);
    let expected: Vec<(Term, u32)> = twin.iter().map(|(&n, &m)| (Term::small(n), m)).collect();
    assert_eq!(pairs, expected);
    if !t.is_node() {
        return;
    }
    assert_eq!(heap.bag_distinct(t), twin.len());
    assert_eq!(heap.bag_total(t), twin.values().map(|&m| u64::from(m)).sum::<u64>());
    for k in [2, 3] {
        assert_eq!(heap.bag_first_multiple(t, 0, k), twin.values().position(|&m| m >= k));
    }
    for (i, &(element, m)) in expected.iter().enumerate().step_by(7) {
        assert_eq!(heap.bag_nth(t, i), (element, m));
        assert_eq!(heap.bag_find(sy, t, element), Some((i, m)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn multisets_are_maps(steps in steps()) {
        let (sy, sym) = symbols();
        let mut heap = Heap::new();
        let mut now = (Term::small(0), Twin::from([(0, 1)]));
        let mut older: Vec<(Term, Twin)> = vec![now.clone()];
        for (i, step) in steps.iter().enumerate() {
            match *step {
                Step::Add(n, copies) => {
                    let Some(sum) = now.1.get(&n).copied().unwrap_or(0).checked_add(copies) else {
                        continue;
                    };
                    let added = few(&mut heap, &sy, sym, n, copies);
                    now.0 = heap.union(&sy, sym, now.0, added);
                    now.1.insert(n, sum);
                }
                Step::Take(n, all) if now.1.len() > 2 => {
                    let n = n % now.1.len();
                    let (&key, &copies) = now.1.iter().nth(n).expect("there");
                    let count = if all { copies } else { 1 };
                    now.0 = heap.bag_remove(&sy, now.0, n, count);
                    now.1.insert(key, copies - count);
                    now.1.retain(|_, m| *m > 0);
                }
                Step::Take(..) => {}
                Step::Collect => heap.collect(|visit| {
                    visit(&mut now.0);
                    older.iter_mut().for_each(|old| visit(&mut old.0));
                }),
                Step::Return(n) => now = older[n % older.len()].clone(),
            }
            if i % 100 == 0 {
                older.push(now.clone());
            }
        }
        older.push(now);
        older.iter().for_each(|(t, twin)| compare(&heap, &sy, sym, *t, twin));
    }
}

/// A multiplicity that is no word ends the command instead of being wrong.
#[test]
fn multiplicities_do_not_wrap() {
    let (sy, sym) = symbols();
    for others in [1, 50, 200] {
        let mut heap = Heap::new();
        let pairs: Vec<(Term, u32)> = (0..=others).map(|n| (Term::small(n), u32::MAX)).collect();
        let bag = heap.bag(&sy, sym, &pairs);
        assert_eq!(heap.bag_total(bag), u64::from(u32::MAX) * u64::from(others + 1));
        for more in [Term::small(1), bag] {
            let attempt = std::panic::AssertUnwindSafe(|| heap.union(&sy, sym, bag, more));
            let payload = std::panic::catch_unwind(attempt).expect_err("too many");
            assert!(payload.is::<Exceeded>());
        }
    }
}
