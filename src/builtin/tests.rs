//! Classification and the counter, on a signature made by hand. What the built-ins compute is
//! compared with Maude in `tests/builtins_vs_maude`.

use super::*;
use crate::base::Span;
use crate::sorts::{Axioms, Hooks as Flags, OpDecl, Operator, SortPoset};

struct Maker {
    sig: Signature,
}

impl Maker {
    fn new() -> Maker {
        let mut sorts = SortPoset::default();
        sorts.declare(Name::new("Bool"));
        sorts.declare(Name::new("Nat"));
        sorts.close().unwrap();
        Maker { sig: Signature::new(sorts) }
    }

    fn op(
        &mut self,
        name: &str,
        domain: &[&str],
        range: &str,
        special: Option<crate::sorts::Special>,
    ) -> OpId {
        let sorts = &self.sig.sorts;
        let find = |name: &str| sorts.find(Name::new(name)).unwrap();
        let domain: Vec<SortId> = domain.iter().map(|&name| find(name)).collect();
        let range = find(range);
        let axioms = Axioms { iter: name == "s_", ..Axioms::default() };
        let kinds = domain.iter().map(|&s| sorts.kind_of(s)).collect();
        let range_kind = sorts.kind_of(range);
        self.sig.add(Operator {
            name: Name::new(name),
            domain: kinds,
            range: range_kind,
            decls: vec![OpDecl { domain, range, ctor: false, metadata: None, span: Span::default() }],
            axioms,
            prec: None,
            gather: None,
            format: None,
            strat: None,
            memo: false,
            frozen: Vec::new(),
            special: special.map(std::sync::Arc::new),
            poly: None,
            hooks: Flags::default(),
            own: true,
        })
    }

    fn of(&self, op: OpId) -> Option<Special> {
        Special::of(&self.sig, &Symbols::new(&self.sig), op)
    }
}

fn hook(name: &str, data: &[&str], ops: &[(&str, OpId)], terms: &[(&str, OpId)]) -> crate::sorts::Special {
    let leaf = |op: OpId| Tree::leaf(Node::App { op, arity: 0 }, Span::default());
    crate::sorts::Special {
        hook: Name::new(name),
        data: data.iter().map(|&d| Name::new(d)).collect(),
        more: Vec::new(),
        ops: ops.iter().map(|&(n, op)| (Name::new(n), op)).collect(),
        terms: terms.iter().map(|&(n, op)| (Name::new(n), leaf(op))).collect(),
    }
}

#[test]
fn specials_are_classified() {
    let mut m = Maker::new();
    let yes = m.op("true", &[], "Bool", Some(hook("SystemTrue", &[], &[], &[])));
    let no = m.op("false", &[], "Bool", Some(hook("SystemFalse", &[], &[], &[])));
    let truth = [("equalTerm", no), ("notEqualTerm", yes)];
    let differ = m.op("_=/=_", &["Nat", "Nat"], "Bool", Some(hook("EqualitySymbol", &[], &[], &truth)));
    let tests = [("2", no), ("1", yes)];
    let choose =
        m.op("if_then_else_fi", &["Bool", "Nat", "Nat"], "Nat", Some(hook("BranchSymbol", &[], &[], &tests)));
    let test = m.op("_::Nat", &["Nat"], "Bool", Some(hook("SortTestSymbol", &["Nat"], &[], &[])));
    let meta = m.op("up", &["Nat"], "Nat", Some(hook("MetaLevelOpSymbol", &["up"], &[], &[])));
    let odd = m.op("odd", &["Nat"], "Nat", Some(hook("NumberOpSymbol", &["quo"], &[], &[])));
    let and = m.op("_and_", &["Bool", "Bool"], "Bool", None);
    let connectives = [("conjunctionSymbol", and), ("disjunctionSymbol", and)];
    let initial = hook("CommutativeDecomposeEqualitySymbol", &[], &connectives, &truth);
    let initial = m.op("_.=._", &["Nat", "Nat"], "Bool", Some(initial));
    let plain = m.op("f", &["Nat"], "Nat", None);
    let (yes_term, no_term) = (Term::constant(yes.0), Term::constant(no.0));

    assert!(matches!(m.of(yes), Some(Special::Constructor)));
    let Some(Special::Equality { equal, not_equal }) = m.of(differ) else { panic!() };
    assert_eq!((equal, not_equal), (no_term, yes_term));
    let Some(Special::Branch { tests }) = m.of(choose) else { panic!() };
    assert_eq!(tests, [yes_term, no_term]);
    let Some(Special::SortTest { sort, yes, no }) = m.of(test) else { panic!() };
    assert_eq!((m.sig.sorts.name(sort).as_str(), yes, no), ("Nat", yes_term, no_term));
    assert!(matches!(m.of(initial), Some(Special::Function(b)) if b.is_initial_equality()));
    assert!(matches!(m.of(meta), Some(Special::Other(name)) if name.as_str() == "MetaLevelOpSymbol"));
    assert!(matches!(m.of(odd), Some(Special::Other(_))), "without its hooks it cannot compute");
    assert!(m.of(plain).is_none());
}

#[test]
fn the_counter_counts() {
    let mut m = Maker::new();
    let zero = m.op("0", &[], "Nat", None);
    let succ = m.op("s_", &["Nat"], "Nat", Some(hook("SuccSymbol", &[], &[], &[("zeroTerm", zero)])));
    let counter = m.op("counter", &[], "Nat", Some(hook("CounterSymbol", &[], &[("succSymbol", succ)], &[])));
    let Some(Special::Counter(counter)) = m.of(counter) else { panic!() };
    let (sy, mut heap, mut state) = (Symbols::new(&m.sig), Heap::new(), BuiltinState::default());
    let mut cx = Cx { heap: &mut heap, sy: &sy, state: &mut state, cancel: &Cancel::default() };
    assert_eq!([counter.tick(&mut cx), counter.tick(&mut cx)], [Term::small(0), Term::small(1)]);
    assert_eq!(counter.eval(&mut cx, &[]), None);
}

#[test]
fn fast_operations_know_their_limits() {
    assert_eq!(Fast::Add.number(u64::MAX - 1, 1), Some(u64::MAX));
    assert_eq!(Fast::Add.number(u64::MAX, 1), None);
    assert_eq!(Fast::Mul.number(1 << 32, (1 << 32) - 1), Some(u64::MAX - u64::from(u32::MAX)));
    assert_eq!(Fast::Mul.number(1 << 32, 1 << 32), None);
    assert_eq!(Fast::Sub.number(3, 5), None);
    assert_eq!(Fast::SymmetricDifference.number(3, 5), Some(2));
    assert_eq!(Fast::Quo.number(7, 0), None);
    assert_eq!(Fast::Rem.number(7, 0), None);
    assert_eq!(Fast::Lcm.number(0, 0), Some(0));
    assert_eq!(Fast::Lcm.number(1 << 40, 6), Some(3 << 40));
    assert_eq!(Fast::Lcm.number(u64::MAX, u64::MAX - 1), None);
    assert_eq!(Fast::Shr.number(7, 1000), Some(0));
    assert_eq!(Fast::Shr.number(7, 1 << 32), Some(0));
    assert_eq!(Fast::Divides.test(0, 0), None);
    assert_eq!(Fast::Divides.test(3, 9), Some(true));
    assert_eq!(Fast::Lt.test(3, 3), Some(false));
    assert_eq!(Fast::Lt.number(3, 3), None);
}
