//! Built-in operators: what the `special` attribute makes an operator compute.
//!
//! [`Special::of`] classifies an operator; [`Builtin`] evaluates those that are functions of
//! their arguments: numbers, rationals, floats, strings, quoted identifiers, conversions, random
//! numbers, the counter, and equality in the initial model. `_==_`, `if_then_else_fi` and sort tests are only classified: they
//! decide which arguments are reduced, so the engine compiles them itself.
//!
//! Everything that depends on the module (truth values, the fraction operator) is resolved at
//! construction; evaluation reads terms and makes terms. When an argument is not a literal, or the
//! operation is undefined on it, evaluation gives `None` and the term stays as it is; the
//! module's equations for the operator are tried next.

mod arithmetic;
mod float;
mod initial;
mod integer;
mod number;
mod qid;
mod random;
mod rational;
mod string;

use crate::base::{Cancel, Name};
use crate::sorts::{Node, OpId, Signature, SortId, Tree};
use crate::term::{Heap, SMALL_MAX, Symbols, Term};

pub use initial::Parts;
pub use number::Fast;
pub use random::Random;

use float::FloatOp;
use initial::InitialEquality;
use number::NumberOp;
use qid::QidOp;
use string::StringOp;

/// What the `special` attribute of an operator asks for.
#[derive(Clone, Debug)]
pub enum Special {
    /// `_==_` and `_=/=_`.
    Equality { equal: Term, not_equal: Term },
    /// `if_then_else_fi`: argument `i + 1` is chosen if argument 0 is `tests[i]`.
    Branch { tests: Vec<Term> },
    /// `_::S` for a sort.
    SortTest { sort: SortId, yes: Term, no: Term },
    /// An operator that computes with its reduced arguments.
    Function(Builtin),
    /// `counter`: not an equation but a rule without a label, see [`Builtin::tick`].
    Counter(Builtin),
    /// Literals and other constructors (`s_`, `<Strings>`, `true`): nothing to compute.
    Constructor,
    /// A function that layers above this one compute, such as model checking.
    Foreign,
    /// A hook that nobody computes (meta-level, external objects, strategies), by name.
    Other(Name),
}

impl Special {
    /// `None` if the operator has no `special` attribute.
    pub fn of(sig: &Signature, sy: &Symbols, op: OpId) -> Option<Special> {
        let special = sig.op(op).special.as_ref()?;
        let hooks = Hooks { sig, sy, op, special };
        let other = Special::Other(special.hook);
        Some(match special.hook.as_str() {
            "EqualitySymbol" => match (hooks.term("equalTerm"), hooks.term("notEqualTerm")) {
                (Some(equal), Some(not_equal)) => Special::Equality { equal, not_equal },
                _ => other,
            },
            "BranchSymbol" => {
                let tests: Vec<Term> = (1..).map_while(|n: usize| hooks.term(&n.to_string())).collect();
                if tests.is_empty() { other } else { Special::Branch { tests } }
            }
            "SortTestSymbol" => {
                let sort = special.data.first().and_then(|&name| sig.sorts.find(name));
                let truth = |hook: &str, system: &str| {
                    hooks.term(hook).or_else(|| Some(Term::constant(sig.with_hook(system)?.0)))
                };
                match (sort, truth("trueTerm", "SystemTrue"), truth("falseTerm", "SystemFalse")) {
                    (Some(sort), Some(yes), Some(no)) => Special::SortTest { sort, yes, no },
                    _ => other,
                }
            }
            "SuccSymbol"
            | "StringSymbol"
            | "FloatSymbol"
            | "QuotedIdentifierSymbol"
            | "SystemTrue"
            | "SystemFalse" => Special::Constructor,
            "ModelCheckerSymbol" | "SatSolverSymbol" => Special::Foreign,
            "CounterSymbol" => Special::Counter(Builtin { sym: op.0, kernel: Kernel::Counter }),
            _ => hooks.kernel().map_or(other, |kernel| Special::Function(Builtin { sym: op.0, kernel })),
        })
    }
}

/// A built-in function, resolved against one module's signature.
#[derive(Clone, Debug)]
pub struct Builtin {
    sym: u32,
    kernel: Kernel,
}

const _: () = {
    const fn shared_by_threads<T: Send + Sync>() {}
    shared_by_threads::<Builtin>();
};

#[derive(Clone, Debug)]
enum Kernel {
    /// An associative-commutative number operator: folds the numbers among its arguments.
    Fold {
        op: NumberOp,
        signed: bool,
    },
    /// Symmetric difference of naturals.
    Difference,
    /// A number operator that needs all its arguments.
    Number {
        op: NumberOp,
        signed: bool,
    },
    /// A test of numbers.
    Relation {
        op: NumberOp,
        signed: bool,
        truth: Truth,
    },
    /// `_/_` on integers: lowest terms.
    Division,
    Float(FloatOp),
    String(StringOp),
    Qid(QidOp),
    Random,
    Counter,
    InitialEquality(InitialEquality),
}

/// The results of a test.
#[derive(Clone, Copy, Debug)]
pub struct Truth {
    pub yes: Term,
    pub no: Term,
}

impl Truth {
    #[inline]
    pub fn of(self, holds: bool) -> Term {
        if holds { self.yes } else { self.no }
    }
}

/// What evaluation works on: one thread's heap and the operators of the module.
pub struct Cx<'a> {
    pub heap: &'a mut Heap,
    pub sy: &'a Symbols,
    pub state: &'a mut BuiltinState,
    /// Long operations look at it.
    pub cancel: &'a Cancel,
}

/// What built-ins remember from one evaluation to the next.
#[derive(Clone, Debug, Default)]
pub struct BuiltinState {
    pub random: Random,
    /// The next number that `counter` gives; Maude starts at 0 for each `rewrite` command.
    pub counter: u64,
}

impl BuiltinState {
    /// With the seed of the option `-random-seed` (Maude's default is 0).
    pub fn new(seed: u32) -> BuiltinState {
        BuiltinState { random: Random::new(seed), counter: 0 }
    }
}

impl Builtin {
    /// `None` if the operator is not a built-in that computes.
    pub fn new(sig: &Signature, sy: &Symbols, op: OpId) -> Option<Builtin> {
        match Special::of(sig, sy, op)? {
            Special::Function(builtin) => Some(builtin),
            _ => None,
        }
    }

    /// Applies it to normalized arguments; `None` if the term stays as it is. Each `Some` counts
    /// as one rewrite. The result's arguments are in normal form, but its top need not be:
    /// equations may apply to it, and `rat("4/6", 10)` gives `4/6`, which the built-in `_/_`
    /// reduces further. What `_.=._` gives has the unreduced mark where there is something to do.
    ///
    /// Arguments of an associative-commutative operator may be given unflattened.
    pub fn eval(&self, cx: &mut Cx, args: &[Term]) -> Option<Term> {
        match &self.kernel {
            Kernel::Fold { op, signed } => number::fold_args(cx, self.sym, *op, *signed, args),
            Kernel::Difference => number::difference(cx, args),
            Kernel::Number { op, signed } => number::compute(cx, *op, *signed, args),
            Kernel::Relation { op, signed, truth } => number::relate(cx, *op, *signed, *truth, args),
            Kernel::Division => rational::lowest_terms(cx, self.sym, args),
            Kernel::Float(op) => op.eval(cx, args),
            Kernel::String(op) => op.eval(cx, args),
            Kernel::Qid(op) => op.eval(cx, args),
            Kernel::Random => random::eval(cx, args),
            Kernel::Counter => None,
            Kernel::InitialEquality(equality) => equality.eval(cx, self.sym, args),
        }
    }

    /// Applies an associative-commutative operator to flattened arguments, ascending with their
    /// multiplicities. The numbers among them become one; `X + 2 + 3` becomes `X + 5`.
    pub fn eval_bag(&self, cx: &mut Cx, pairs: &[(Term, u32)]) -> Option<Term> {
        match &self.kernel {
            Kernel::Fold { op, signed } => number::fold(cx, self.sym, *op, *signed, pairs),
            _ => {
                let repeat = |&(t, m): &(Term, u32)| std::iter::repeat_n(t, m as usize);
                let args: Vec<Term> = pairs.iter().flat_map(repeat).collect();
                self.eval(cx, &args)
            }
        }
    }

    /// Applies a number operator to two numbers. `None` also where [`Builtin::eval`] may give
    /// something: then nothing has been done.
    #[inline]
    pub fn eval_pair(&self, cx: &mut Cx, a: Term, b: Term) -> Option<Term> {
        match self.kernel {
            Kernel::Fold { op, signed } | Kernel::Number { op, signed } => number::pair(cx, op, signed, a, b),
            Kernel::Relation { op, signed, truth } => number::relate(cx, op, signed, truth, &[a, b]),
            Kernel::Difference => number::difference(cx, &[a, b]),
            _ => None,
        }
    }

    /// Which operation on small naturals it is, for compiled code.
    pub fn fast(&self) -> Option<Fast> {
        match self.kernel {
            Kernel::Fold { op, .. } | Kernel::Number { op, .. } | Kernel::Relation { op, .. } => Fast::of(op),
            Kernel::Difference => Some(Fast::SymmetricDifference),
            _ => None,
        }
    }

    /// The results of a number test, for compiled code that uses [`Builtin::fast`].
    pub fn truth(&self) -> Option<Truth> {
        match self.kernel {
            Kernel::Relation { truth, .. } => Some(truth),
            _ => None,
        }
    }

    /// Is it `_.=._`? It knows no stable operators until it is told.
    pub fn is_initial_equality(&self) -> bool {
        matches!(self.kernel, Kernel::InitialEquality(_))
    }

    /// Tells `_.=._` which operators are stable.
    pub fn set_parts(&mut self, parts: Parts) {
        if let Kernel::InitialEquality(equality) = &mut self.kernel {
            equality.parts = parts;
        }
    }

    /// The next number of the counter: what rewriting `counter` by a rule gives. Only for
    /// [`Special::Counter`]; `rewrite` and `frewrite` do this step, `search` does not.
    pub fn tick(&self, cx: &mut Cx) -> Term {
        debug_assert!(matches!(self.kernel, Kernel::Counter));
        let value = cx.heap.nat_u64(cx.sy, cx.state.counter);
        cx.state.counter += 1;
        value
    }
}

/// The special attribute of one operator while it is resolved.
struct Hooks<'a> {
    sig: &'a Signature,
    sy: &'a Symbols,
    op: OpId,
    special: &'a crate::sorts::Special,
}

impl Hooks<'_> {
    fn kernel(&self) -> Option<Kernel> {
        let arity = self.sig.op(self.op).arity();
        let data = self.special.data.first().map_or("", |name| name.as_str());
        match self.special.hook.as_str() {
            "ACU_NumberOpSymbol" => {
                self.symbol("succSymbol")?;
                let op = NumberOp::fold(data)?;
                Some(Kernel::Fold { op, signed: self.signed() })
            }
            "CUI_NumberOpSymbol" => {
                self.symbol("succSymbol")?;
                (data == "sd").then_some(Kernel::Difference)
            }
            "NumberOpSymbol" => self.number(data, arity),
            "MinusSymbol" => self.number("-", arity),
            "DivisionSymbol" => {
                self.symbol("succSymbol")?;
                (arity == 2).then_some(Kernel::Division)
            }
            "FloatOpSymbol" => FloatOp::new(self, data, arity).map(Kernel::Float),
            "StringOpSymbol" => StringOp::new(self, data, arity).map(Kernel::String),
            "QuotedIdentifierOpSymbol" => QidOp::new(self, data).map(Kernel::Qid),
            "CommutativeDecomposeEqualitySymbol" => {
                let truth = Truth { yes: self.term("equalTerm")?, no: self.term("notEqualTerm")? };
                let (and, or) = (self.symbol("conjunctionSymbol")?, self.symbol("disjunctionSymbol")?);
                (arity == 2).then(|| Kernel::InitialEquality(InitialEquality::new(truth, and, or)))
            }
            "RandomOpSymbol" => {
                self.symbol("succSymbol")?;
                Some(Kernel::Random)
            }
            _ => None,
        }
    }

    fn number(&self, data: &str, arity: usize) -> Option<Kernel> {
        self.symbol("succSymbol")?;
        let op = NumberOp::free(data, arity)?;
        let signed = self.signed();
        Some(if op.is_relation() {
            Kernel::Relation { op, signed, truth: self.truth()? }
        } else {
            Kernel::Number { op, signed }
        })
    }

    /// Does it know negative numbers?
    fn signed(&self) -> bool {
        self.symbol("minusSymbol").is_some()
    }

    fn symbol(&self, name: &str) -> Option<OpId> {
        self.special.ops.iter().find(|(hook, _)| hook.as_str() == name).map(|&(_, op)| op)
    }

    fn term(&self, name: &str) -> Option<Term> {
        let (_, tree) = self.special.terms.iter().find(|(hook, _)| hook.as_str() == name)?;
        literal(self.sy, tree)
    }

    fn truth(&self) -> Option<Truth> {
        Some(Truth { yes: self.term("trueTerm")?, no: self.term("falseTerm")? })
    }
}

/// A hooked term that needs no heap: a constant or a small natural.
fn literal(sy: &Symbols, tree: &Tree) -> Option<Term> {
    match tree.nodes() {
        [Node::App { op, .. }] if op.0 == sy.numbers.zero => Some(Term::small(0)),
        [Node::App { op, .. }] => Some(Term::constant(op.0)),
        [Node::App { op: zero, .. }, Node::Iter { op, count }]
            if zero.0 == sy.numbers.zero && op.0 == sy.numbers.succ =>
        {
            u32::try_from(count).ok().filter(|&n| n < SMALL_MAX).map(Term::small)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
