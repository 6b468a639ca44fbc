//! The grammar made from a signature: one nonterminal per kind, productions for the mixfix and
//! the prefix form of each operator, and a few more for statements and conditions.
//!
//! Precedence lives beside the nonterminals: a production has a precedence, and each
//! nonterminal on its right-hand side a bound on the precedence of what may stand there.
//! Productions are indexed by what the chart parser asks for: by their first token, and, where
//! they begin with a term, by the kind of that term and the token after it (their left corner).
//!
//! What is needed from elaboration: for each sort `S` on which `t :: S` is to work, an operator
//! named `_::S` from the kind of `S` to that of `Bool`, whose special hook is `SortTestSymbol`
//! with data `[S]`. Booleans in conditions need the constant with hook `SystemTrue`.

use std::sync::Mutex;

use rustc_hash::FxHashMap;

use super::form::{ANY, Form, PREFIX, Piece};
use crate::base::{Name, NameMap};
use crate::sorts::{KindId, OpId, Signature, SortId};

/// Declared variable aliases.
pub type Vars = NameMap<SortId>;

/// A nonterminal: kinds come first, then those of [`Extra`].
pub(super) type Nt = u32;

/// Nonterminals that are not kinds, as offsets behind the kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extra {
    /// The term that a command wants, of any of the kinds that it may have.
    Goal,
    Condition,
    Fragment,
    Eq,
    Ceq,
    Mb,
    Cmb,
    Rl,
    Crl,
    Match,
    MatchIf,
    Arrow,
    Search,
    SearchIf,
    /// The number of nonterminals above.
    Count,
}

/// What stands at one place of a production.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Symbol {
    /// A token by its number in the grammar.
    Token(u32),
    /// A term or other phrase with at most this precedence.
    Phrase { nt: Nt, bound: u8 },
    /// The name of a sort of this kind.
    Sort(KindId),
}

/// What a production stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// A term as [`Extra::Goal`].
    Goal,
    Op(OpId),
    /// `f^3(t)`; the count is in the first token.
    Iter(OpId),
    /// `t :: S`
    SortTest,
    /// `t = t'`, in statements and fragments.
    Equal,
    /// `t => t'`
    Rewrite,
    /// `t : S`
    Sort,
    /// `p := t`
    Match,
    /// A term of kind Bool as a fragment.
    Bool,
    /// `p <=? t`
    Problem,
    /// `t =>* p`
    Search,
    /// The arrow of a search, by its number.
    Arrow(u8),
    /// A statement and its condition.
    Conditional,
    /// A condition of one fragment, or of a fragment and a condition.
    Fragments,
}

pub(super) struct Production {
    pub nt: Nt,
    pub prec: u8,
    pub meaning: Meaning,
    /// The right-hand side, a range of [`Grammar::symbols`].
    pub start: u32,
    pub len: u32,
    /// The prefix form of an assoc operator: the last argument may be followed by more.
    pub repeats: bool,
}

/// The grammar of one signature.
pub struct Grammar {
    pub(super) kinds: u32,
    pub(super) productions: Vec<Production>,
    symbols: Vec<Symbol>,
    /// Numbers of the tokens that occur in productions.
    pub(super) tokens: FxHashMap<Name, u32>,
    /// By token number: productions that begin with it.
    pub(super) first: Vec<Vec<u32>>,
    /// By nonterminal and second token: productions that begin so.
    pub(super) corner: FxHashMap<(Nt, u32), Vec<u32>>,
    /// By token number: is it the second symbol of a production in `corner`?
    pub(super) infix: Vec<bool>,
    /// By nonterminal: productions that begin with it and go on with another one.
    pub(super) adjacent: Vec<Vec<u32>>,
    /// By nonterminal: productions that consist of it.
    pub(super) unit: Vec<Vec<u32>>,
    /// By nonterminal: `(prec, nonterminal, bound)` of productions that begin with a phrase.
    pub(super) left: Vec<Vec<(u8, Nt, u8)>>,
    /// The same by the phrase that they begin with: what they make, its precedence, and the bound.
    pub(super) begun: Vec<Vec<(Nt, u8, u8)>>,
    /// The production of [`Extra::Goal`] for the first kind; those of the others follow.
    pub(super) goals: u32,
    /// Iter operators by name, with the production of `f^3(t)`.
    pub(super) iter: FxHashMap<Name, Vec<u32>>,
    pub(super) literals: Literals,
    pub(super) sort_tests: FxHashMap<SortId, OpId>,
    /// The constant `true` that boolean fragments are equal to.
    pub(super) truth: Option<OpId>,
    pub(super) cache: Mutex<Cache>,
}

/// The operators behind literals.
#[derive(Clone, Default, Debug)]
pub(super) struct Literals {
    pub successors: Vec<OpId>,
    pub minuses: Vec<OpId>,
    pub divisions: Vec<OpId>,
    pub strings: Vec<OpId>,
    pub qids: Vec<OpId>,
    pub floats: Vec<OpId>,
}

/// What is found out once and used by later calls.
#[derive(Default)]
pub(super) struct Cache {
    /// Sets of wanted nonterminals: `bound + 1` for each, 0 for those not wanted.
    pub wanted: Vec<Box<[u8]>>,
    pub numbers: FxHashMap<Box<[(u32, u8)]>, u32>,
}

impl Grammar {
    pub fn new(sig: &Signature) -> Grammar {
        let kinds = sig.sorts.kinds().count() as u32;
        let nts = (kinds + Extra::Count as u32) as usize;
        let mut grammar = Grammar {
            kinds,
            productions: Vec::new(),
            symbols: Vec::new(),
            tokens: FxHashMap::default(),
            first: Vec::new(),
            corner: FxHashMap::default(),
            infix: Vec::new(),
            adjacent: vec![Vec::new(); nts],
            unit: vec![Vec::new(); nts],
            left: vec![Vec::new(); nts],
            begun: vec![Vec::new(); nts],
            goals: 0,
            iter: FxHashMap::default(),
            literals: Literals::default(),
            sort_tests: FxHashMap::default(),
            truth: None,
            cache: Mutex::default(),
        };
        for (id, _) in sig.ops() {
            grammar.operator(sig, id);
        }
        grammar.sort_tests(sig);
        grammar.statements(sig);
        grammar.goals = grammar.productions.len() as u32;
        for kind in 0..kinds {
            let rhs = Symbol::Phrase { nt: kind, bound: ANY };
            grammar.push(grammar.extra(Extra::Goal), 0, Meaning::Goal, &[rhs], false);
        }
        grammar
    }

    pub(super) fn extra(&self, extra: Extra) -> Nt {
        self.kinds + extra as u32
    }

    pub(super) fn rhs(&self, production: u32) -> &[Symbol] {
        let p = &self.productions[production as usize];
        &self.symbols[p.start as usize..(p.start + p.len) as usize]
    }

    fn token(&mut self, name: Name) -> u32 {
        let next = self.first.len() as u32;
        let number = *self.tokens.entry(name).or_insert(next);
        if number == next {
            self.first.push(Vec::new());
            self.infix.push(false);
        }
        number
    }

    fn text(&mut self, text: &str) -> Symbol {
        Symbol::Token(self.token(Name::new(text)))
    }

    /// A production that is not looked up by how it begins.
    fn push(&mut self, nt: Nt, prec: u8, meaning: Meaning, rhs: &[Symbol], repeats: bool) -> u32 {
        let start = self.symbols.len() as u32;
        self.symbols.extend_from_slice(rhs);
        self.productions.push(Production { nt, prec, meaning, start, len: rhs.len() as u32, repeats });
        self.productions.len() as u32 - 1
    }

    fn add(&mut self, nt: Nt, prec: u8, meaning: Meaning, rhs: &[Symbol], repeats: bool) -> u32 {
        let number = self.push(nt, prec, meaning, rhs, repeats);
        match (rhs[0], rhs.get(1)) {
            (Symbol::Token(token), _) => self.first[token as usize].push(number),
            (Symbol::Phrase { nt: corner, bound }, second) => {
                match second {
                    Some(&Symbol::Token(token)) => {
                        self.infix[token as usize] = true;
                        self.corner.entry((corner, token)).or_default().push(number);
                    }
                    Some(_) => self.adjacent[corner as usize].push(number),
                    None => self.unit[corner as usize].push(number),
                }
                if !self.left[nt as usize].contains(&(prec, corner, bound)) {
                    self.left[nt as usize].push((prec, corner, bound));
                    self.begun[corner as usize].push((nt, prec, bound));
                }
            }
            (Symbol::Sort(_), _) => unreachable!("no production begins with a sort"),
        }
        number
    }

    fn operator(&mut self, sig: &Signature, id: OpId) {
        let op = sig.op(id);
        if let Some(special) = &op.special {
            match special.hook.as_str() {
                "SuccSymbol" if special.terms.iter().any(|(name, _)| name.as_str() == "zeroTerm") => {
                    self.literals.successors.push(id)
                }
                "MinusSymbol" => self.literals.minuses.push(id),
                "DivisionSymbol" => self.literals.divisions.push(id),
                // These three are named only by their literals, never by `<Strings>`.
                "StringSymbol" => return self.literals.strings.push(id),
                "QuotedIdentifierSymbol" => return self.literals.qids.push(id),
                "FloatSymbol" => return self.literals.floats.push(id),
                "SystemTrue" => self.truth = Some(id),
                "SortTestSymbol" => {
                    if let Some(sort) = special.data.first().and_then(|&name| sig.sorts.find(name)) {
                        self.sort_tests.insert(sort, id);
                    }
                    return;
                }
                _ => {}
            }
        }
        let form = Form::new(sig, op);
        let name = self.token(op.name);
        if op.arity() == 0 || form.mixfix {
            let mut arg = 0;
            let mut rhs = Vec::with_capacity(form.pieces.len());
            for piece in &form.pieces {
                rhs.push(match *piece {
                    Piece::Token(token) => Symbol::Token(self.token(token)),
                    Piece::Hole => {
                        arg += 1;
                        Symbol::Phrase { nt: op.domain[arg - 1].0, bound: form.bounds[arg - 1] }
                    }
                });
            }
            if !rhs.is_empty() {
                self.add(op.range.0, form.prec, Meaning::Op(id), &rhs, false);
            }
            if op.arity() == 0 {
                if rhs != [Symbol::Token(name)] {
                    self.add(op.range.0, 0, Meaning::Op(id), &[Symbol::Token(name)], false);
                }
                return;
            }
        }
        let mut rhs = vec![Symbol::Token(name), self.text("(")];
        for (i, kind) in op.domain.iter().enumerate() {
            if i > 0 {
                rhs.push(self.text(","));
            }
            rhs.push(Symbol::Phrase { nt: kind.0, bound: PREFIX });
        }
        rhs.push(self.text(")"));
        let repeats = op.axioms.assoc && op.arity() == 2;
        self.add(op.range.0, 0, Meaning::Op(id), &rhs, repeats);
        if op.axioms.iter && op.arity() == 1 {
            // The first token stands for all of `f^1`, `f^2` ...; it is not looked up by name.
            let number = self.push(op.range.0, 0, Meaning::Iter(id), &rhs, false);
            self.iter.entry(op.name).or_default().push(number);
        }
    }

    fn sort_tests(&mut self, sig: &Signature) {
        let mut done: Vec<(KindId, KindId)> = Vec::new();
        let mut tests: Vec<OpId> = self.sort_tests.values().copied().collect();
        tests.sort();
        for id in tests {
            let op = sig.op(id);
            let (from, to) = (op.domain[0], op.range);
            if !done.contains(&(from, to)) {
                done.push((from, to));
                let rhs = [Symbol::Phrase { nt: from.0, bound: ANY }, self.text("::"), Symbol::Sort(from)];
                self.add(to.0, 0, Meaning::SortTest, &rhs, false);
            }
        }
    }

    fn statements(&mut self, sig: &Signature) {
        let [condition, fragment] = [Extra::Condition, Extra::Fragment].map(|e| self.extra(e));
        let phrase = |nt| Symbol::Phrase { nt, bound: ANY };
        let [equal, matches, rewrite, colon, when, and] =
            ["=", ":=", "=>", ":", "if", "/\\"].map(|t| self.text(t));
        let [problem, such, that, st] = ["<=?", "such", "that", "s.t."].map(|t| self.text(t));
        let arrows = ["=>1", "=>+", "=>*", "=>!"].map(|t| self.text(t));
        for kind in 0..self.kinds {
            let term = phrase(kind);
            let sort = Symbol::Sort(KindId(kind));
            let body = |middle: Symbol, last: Symbol| [term, middle, last];
            self.add(fragment, 0, Meaning::Equal, &body(equal, term), false);
            self.add(fragment, 0, Meaning::Match, &body(matches, term), false);
            self.add(fragment, 0, Meaning::Rewrite, &body(rewrite, term), false);
            self.add(fragment, 0, Meaning::Sort, &body(colon, sort), false);
            self.add(self.extra(Extra::Eq), 0, Meaning::Equal, &body(equal, term), false);
            self.add(self.extra(Extra::Rl), 0, Meaning::Rewrite, &body(rewrite, term), false);
            self.add(self.extra(Extra::Mb), 0, Meaning::Sort, &body(colon, sort), false);
            self.add(self.extra(Extra::Match), 0, Meaning::Problem, &body(problem, term), false);
            // An arrow is a phrase of its own: as in Maude, that decides how ambiguous searches are read.
            let arrow = phrase(self.extra(Extra::Arrow));
            self.add(self.extra(Extra::Search), 0, Meaning::Search, &body(arrow, term), false);
        }
        // What stands before `if` is read as without a condition.
        for (plain, full) in [(Extra::Eq, Extra::Ceq), (Extra::Rl, Extra::Crl), (Extra::Mb, Extra::Cmb)] {
            let rhs = [phrase(self.extra(plain)), when, phrase(condition)];
            self.add(self.extra(full), 0, Meaning::Conditional, &rhs, false);
        }
        for (number, arrow) in arrows.into_iter().enumerate() {
            self.add(self.extra(Extra::Arrow), 0, Meaning::Arrow(number as u8), &[arrow], false);
        }
        if let Some(truth) = self.truth {
            let bool_term = phrase(sig.op(truth).range.0);
            self.add(fragment, 0, Meaning::Bool, &[bool_term], false);
        }
        self.add(condition, 0, Meaning::Fragments, &[phrase(fragment)], false);
        self.add(condition, 0, Meaning::Fragments, &[phrase(fragment), and, phrase(condition)], false);
        for (plain, full) in [(Extra::Match, Extra::MatchIf), (Extra::Search, Extra::SearchIf)] {
            let (plain, full) = (phrase(self.extra(plain)), self.extra(full));
            self.add(full, 0, Meaning::Fragments, &[plain], false);
            self.add(full, 0, Meaning::Fragments, &[plain, such, that, phrase(condition)], false);
            self.add(full, 0, Meaning::Fragments, &[plain, st, phrase(condition)], false);
        }
    }

    /// The number of the set of all nonterminals with which something wanted may begin. `base`
    /// lists what is wanted; `(u32::MAX - n, 0)` stands for all kinds of set `n`, in parentheses.
    pub(super) fn wanted(&self, cache: &mut Cache, base: &[(u32, u8)]) -> u32 {
        if let Some(&number) = cache.numbers.get(base) {
            return number;
        }
        let mut set = vec![0u8; self.left.len()].into_boxed_slice();
        let mut todo = Vec::new();
        for &(nt, bound) in base {
            if (nt as usize) < set.len() {
                todo.push((nt, bound));
            } else {
                let outer = &cache.wanted[(u32::MAX - nt) as usize];
                todo.extend((0..self.kinds).filter(|&kind| outer[kind as usize] > 0).map(|kind| (kind, ANY)));
            }
        }
        while let Some((nt, bound)) = todo.pop() {
            let old = set[nt as usize];
            if old > bound {
                continue;
            }
            set[nt as usize] = bound + 1;
            todo.extend(self.left[nt as usize].iter().filter(|l| l.0 <= bound).map(|l| (l.1, l.2)));
        }
        let number = cache.wanted.len() as u32;
        cache.wanted.push(set);
        cache.numbers.insert(base.into(), number);
        number
    }
}
