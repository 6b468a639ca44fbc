//! What the value layer knows of each operator: its axioms, its place in the term order, and
//! how to compute least sorts.

use super::heap::Term;
use super::limbs::remainder_word;
use crate::base::Name;
use crate::sorts::{IdentitySide, KindId, OpId, Signature, SortDiagram, SortId, SortIx, Tree};

/// By which axioms an operator's arguments are kept in normal form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// No axioms.
    Free,
    /// Not associative, but comm, idem, or with an identity on some side.
    Cui,
    /// Associative, perhaps with an identity on some side: flattened lists.
    Assoc,
    /// Associative and commutative, perhaps with an identity: multisets.
    AssocComm,
    /// `f^n(t)` is one node `[count, t]`.
    Iter,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdentityInfo {
    pub left: bool,
    pub right: bool,
    /// Index into [`super::Heap::consts`].
    pub constant: usize,
}

#[derive(Clone, Debug)]
pub struct SymbolInfo {
    pub class: Class,
    pub arity: usize,
    pub comm: bool,
    pub idem: bool,
    pub identity: Option<IdentityInfo>,
    /// Place in the term order: by arity, then by creation.
    pub rank: u32,
    pub kind: KindId,
    pub diagram: SortDiagram,
    /// Of a multiset operator: is the sort of two or more elements a matter of which sorts they
    /// have, not of how many elements have them, and of no order?
    pub absorbs: bool,
    /// The sort of a constant (0 for other operators).
    pub constant_sort: SortIx,
    /// An operator whose data is in the node: strings, floats, quoted identifiers.
    pub raw: Option<RawKind>,
    /// The smallest and the largest range sort of its declarations.
    pub ranges: (SortIx, SortIx),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RawKind {
    Str,
    Float,
    Qid,
}

/// The operators that make numbers. `NO_SYM` where the module has none.
#[derive(Clone, Debug)]
pub struct Numbers {
    pub zero: u32,
    pub succ: u32,
    pub minus: u32,
    /// Do memberships apply to them? Then sorts of small ones are asked of [`super::NumberSorts`].
    pub decided: bool,
    /// Do equations apply to them, those of the successor or of zero? Then numbers that are not reduced are nodes.
    pub computed: bool,
    /// Do equations of zero apply?
    pub zero_computed: bool,
    /// Sorts of 0, 1, 2 ...; from `period` on they repeat with the length of the rest.
    sorts: Vec<SortIx>,
    period: usize,
}

/// No operator.
pub const NO_SYM: u32 = u32::MAX;

impl Numbers {
    /// The sort of a small natural.
    #[inline(always)]
    pub fn sort_of(&self, n: u32) -> SortIx {
        let n = n as usize;
        if n < self.sorts.len() {
            return self.sorts[n];
        }
        self.sorts[self.period + (n - self.period) % (self.sorts.len() - self.period)]
    }

    /// The sort of a natural from `SMALL_MAX` on.
    #[inline]
    pub fn sort_of_digits(&self, digits: &[u32]) -> SortIx {
        let period = (self.sorts.len() - self.period) as u64;
        if period == 1 {
            return self.sorts[self.period];
        }
        let rest = (remainder_word(digits, period) + period - self.period as u64 % period) % period;
        self.sorts[self.period + rest as usize]
    }

    /// Do all naturals from 1 on have the same sort? Then it is this one.
    pub fn uniform(&self) -> Option<SortIx> {
        (self.sorts.len() == 2 && self.period == 1).then(|| self.sorts[1])
    }
}

/// All operators of a module, indexed by operator number.
#[derive(Clone, Debug)]
pub struct Symbols {
    pub info: Vec<SymbolInfo>,
    /// The rank of each operator once more, close together.
    ranks: Vec<u32>,
    pub numbers: Numbers,
    /// The identity elements; the heap keeps them first among its constants.
    pub identities: Vec<Tree>,
    /// The kind of each sort.
    kinds: Vec<KindId>,
    /// How many operators of arity 0 there are: variables come after them in the order.
    pub constants: u32,
    /// The name under which raw data of each kind is printed is the signature's business;
    /// this is the operator that owns literals of each kind.
    pub string: u32,
    pub float: u32,
    pub qid: u32,
}

impl Symbols {
    pub fn new(sig: &Signature) -> Symbols {
        let mut by_rank: Vec<OpId> = sig.ops().map(|(id, _)| id).collect();
        by_rank.sort_by_key(|&id| sig.order_key(id));
        let mut rank = vec![0; by_rank.len()];
        let mut constants = 0;
        for (place, id) in by_rank.iter().enumerate() {
            // Ranks leave a gap after the constants, where variables go.
            let is_constant = sig.op(*id).arity() == 0;
            constants += u32::from(is_constant);
            rank[id.index()] = place as u32 + u32::from(!is_constant);
        }
        let mut identities = Vec::new();
        let hook = |name: &str| sig.with_hook(name).map_or(NO_SYM, |id| id.0);
        let info = sig
            .ops()
            .map(|(id, op)| {
                let axioms = &op.axioms;
                let identity = axioms.identity.as_ref().map(|identity| {
                    identities.push(identity.term.clone());
                    IdentityInfo {
                        left: identity.side != IdentitySide::Right,
                        right: identity.side != IdentitySide::Left,
                        constant: identities.len() - 1,
                    }
                });
                let class = match () {
                    _ if axioms.assoc && axioms.comm => Class::AssocComm,
                    _ if axioms.assoc => Class::Assoc,
                    _ if axioms.comm || axioms.idem || identity.is_some() => Class::Cui,
                    _ if axioms.iter => Class::Iter,
                    _ => Class::Free,
                };
                let raw = op.special.as_ref().and_then(|s| match s.hook.as_str() {
                    "StringSymbol" => Some(RawKind::Str),
                    "FloatSymbol" => Some(RawKind::Float),
                    "QuotedIdentifierSymbol" => Some(RawKind::Qid),
                    _ => None,
                });
                let diagram = sig.diagram(id).clone();
                let ranges = op.decls.iter().map(|decl| sig.sorts.get(decl.range).index);
                let constant_sort = if op.arity() == 0 { diagram.sort([]) } else { 0 };
                SymbolInfo {
                    class,
                    arity: op.arity(),
                    comm: axioms.comm,
                    idem: axioms.idem,
                    identity,
                    rank: rank[id.index()],
                    kind: op.range,
                    absorbs: class == Class::AssocComm
                        && op.domain.iter().all(|&kind| kind == op.range)
                        && absorbs(&diagram, sig.sorts.kind(op.range).sorts.len() as SortIx),
                    diagram,
                    constant_sort,
                    raw,
                    ranges: (ranges.clone().max().unwrap_or(0), ranges.min().unwrap_or(0)),
                }
            })
            .collect::<Vec<_>>();
        let numbers = numbers(sig, &info);
        Symbols {
            ranks: info.iter().map(|info| info.rank).collect(),
            info,
            numbers,
            identities,
            kinds: sig.sorts.kinds_of_sorts().collect(),
            constants,
            string: hook("StringSymbol"),
            float: hook("FloatSymbol"),
            qid: hook("QuotedIdentifierSymbol"),
        }
    }

    #[inline(always)]
    pub fn class(&self, sym: u32) -> Class {
        self.info.get(sym as usize).map_or(Class::Free, |i| i.class)
    }

    /// The term that is a constant alone: zero is a number.
    pub fn constant(&self, sym: u32) -> Term {
        if sym == self.numbers.zero { Term::small(0) } else { Term::constant(sym) }
    }

    /// The number that stands for variables of a sort's kind, after those of the operators.
    pub fn variables(&self, sort: SortId) -> u32 {
        (self.info.len() + self.kinds[sort.index()].index()) as u32
    }

    /// The sort of a literal: the smallest one for a character or a finite float.
    pub fn literal_sort(&self, sym: u32, special: bool) -> SortIx {
        let (least, greatest) = self.info[sym as usize].ranges;
        if special { least } else { greatest }
    }

    /// The place of an operator in the term order; variables come right after the constants.
    #[inline(always)]
    pub fn rank(&self, sym: u32) -> u32 {
        self.ranks.get(sym as usize).copied().unwrap_or(self.constants)
    }
}

/// See [`SymbolInfo::absorbs`]. Kinds with many sorts are not looked at.
fn absorbs(diagram: &SortDiagram, sorts: SortIx) -> bool {
    let join = |a, b| diagram.binary(a, b);
    sorts <= 16
        && (0..sorts).all(|a| {
            (0..sorts).all(|b| {
                join(a, b) == join(b, a)
                    && join(join(a, a), b) == join(a, b)
                    && (0..sorts).all(|c| join(join(a, b), c) == join(a, join(b, c)))
            })
        })
}

fn numbers(sig: &Signature, info: &[SymbolInfo]) -> Numbers {
    let succ = sig.with_hook("SuccSymbol");
    let zero = succ.and_then(|succ| {
        let terms = &sig.op(succ).special.as_ref()?.terms;
        terms.iter().find(|(name, _)| *name == Name::new("zeroTerm"))?.1.nodes().last()?.op()
    });
    let (Some(succ), Some(zero)) = (succ, zero) else {
        return Numbers {
            zero: NO_SYM,
            succ: NO_SYM,
            minus: NO_SYM,
            decided: false,
            computed: false,
            zero_computed: false,
            sorts: vec![0],
            period: 0,
        };
    };
    let minus = sig.with_hook("MinusSymbol").map_or(NO_SYM, |id| id.0);
    let mut sorts = vec![info[zero.index()].constant_sort];
    let period = loop {
        let next = info[succ.index()].diagram.sort([*sorts.last().expect("starts with one")]);
        if let Some(place) = sorts.iter().position(|&s| s == next) {
            // A repeated sort repeats everything after it.
            break place;
        }
        sorts.push(next);
    };
    Numbers {
        zero: zero.0,
        succ: succ.0,
        minus,
        decided: false,
        computed: false,
        zero_computed: false,
        sorts,
        period,
    }
}
