//! Rules over soups whose results depend on a few elements alone.
//!
//! In `{ e1 ... ek R } => { f1 ... fm R }`, where the collector `R` is used nowhere else, what
//! replaces the elements that match depends on them and on nothing else. Such a rule gets a function
//! that takes the elements, and yields what replaces them. If the collector occurs in the condition,
//! the function takes it too, and if the right-hand side is of another form it yields the whole
//! result; the conditions before the first one with the collector are also a function of their own,
//! whose answer depends on the elements.
//!
//! Each element pattern becomes a query. Who explores states can so find out once for each element
//! which patterns it matches, and how it binds the variables that patterns share.

use super::code::{Label, Op, Reg, inst};
use super::compile::Compiler;
use super::known::Known;
use super::leaf::condition_vars;
use super::path::{Frame, Path};
use super::plan::flatten;
use super::rows::{Row, Statements, Whole};
use super::rules::Subject;
use crate::base::Span;
use crate::module::{Fragment, Rule, StatementAttrs};
use crate::sorts::{Node, OpId, Tree, Var};
use crate::term::{Class, NO_SYM};

/// At most so many element patterns are distinguished.
const PATTERNS_MAX: usize = 64;

/// The rules of a theory whose states are soups with an operator around them, as far as they are
/// of the form that the head of this file describes. There must be no place for rules in the elements.
#[derive(Clone, Debug)]
pub struct Join {
    /// The operator at the top of states, and that of the soup below it.
    pub top: u32,
    pub soup: u32,
    /// The sorts of soups whose parts all fit the collectors.
    pub sorted: u64,
    pub patterns: Vec<ElementPattern>,
    /// How many columns there are; see [`ElementPattern::columns`].
    pub columns: usize,
    /// For each rule of `top`, in their order.
    pub rules: Vec<Option<JoinRule>>,
    /// For each query of the theory.
    pub queries: Vec<JoinQuery>,
}

/// A pattern for one element.
#[derive(Clone, Debug)]
pub struct ElementPattern {
    /// A query.
    pub code: u32,
    /// The operator of all its instances, if it is not a variable.
    pub sym: Option<u32>,
    /// Does it match every well-sorted element with that operator? Then it has no columns.
    pub is_certain: bool,
    /// Does it certainly match in one way at most?
    pub is_unique: bool,
    /// Registers with variables that other patterns of some rule share, and the number of the
    /// column where their values are kept.
    pub columns: Vec<(Reg, usize)>,
}

/// A rule as a function of elements.
#[derive(Clone, Debug)]
pub struct JoinRule {
    /// What the elements must match, in the order of matching.
    pub places: Vec<JoinPlace>,
    /// The patterns of all places, as a set of bits.
    pub patterns: u64,
    /// Code that takes the elements and must yield before anything else is tried: the first part of the
    /// condition, if that reads nothing of them but their first arguments.
    pub early: Option<u32>,
    /// The same for all that can be decided without the rest of the state, if there is more.
    pub test: Option<u32>,
    /// Takes the elements, and the collector, the whole state and its soup if `on_state`.
    pub code: u32,
    pub on_state: bool,
    /// The same in two parts, if the condition ends with what depends on the state as a whole alone.
    pub guarded: Option<Guarded>,
    /// Does it yield exactly once for elements that match in one way?
    pub is_certain: bool,
    /// What it yields; the new state, if it is not said.
    pub yields: Option<Replaced>,
    /// The same, element by element; empty if that would not be the same.
    pub parts: Vec<JoinPart>,
}

/// A rule in two parts.
#[derive(Clone, Debug)]
pub struct Guarded {
    /// Takes what [`JoinRule::code`] takes, and yields if the end of the condition holds. It does not
    /// look at the collector, and whether it yields is the same for all elements that match.
    pub guard: u32,
    /// All the rest of the rule: takes the elements, and yields at most once.
    pub code: u32,
    /// The first register with what it yields.
    pub first: Reg,
}

/// One new element of a rule without condition, as a function of the elements that it depends on.
#[derive(Clone, Debug)]
pub struct JoinPart {
    /// The places of these: one or two.
    pub places: Vec<usize>,
    /// Takes them, and yields the new element in a register.
    pub code: u32,
    pub result: Reg,
}

#[derive(Clone, Debug)]
pub struct JoinPlace {
    pub pattern: usize,
    /// Columns that must have equal values: this place's, another place, and that one's.
    pub checks: Vec<(usize, usize, usize)>,
}

/// A change of a few elements.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// The places whose elements go. All others stay.
    pub old: Vec<usize>,
    /// The registers with what comes instead, and their number. They may hold elements or soups.
    pub first: Reg,
    pub count: usize,
    /// Does each new element probably stand where the old one with its number stood?
    pub is_paired: bool,
    /// And do both have the same free operator?
    pub is_alike: bool,
}

/// What can be said of a query without looking at the whole state, if that is a soup of at least
/// two elements in the operator of [`Join::top`].
#[derive(Clone, Debug, Default)]
pub struct JoinQuery {
    pub is_impossible: bool,
    /// Each of these patterns must match some element.
    pub patterns: u64,
    /// Does the query match wherever they do?
    pub is_exact: bool,
}

impl Join {
    /// Replaces labels by the places that they have got.
    pub(super) fn resolve(mut self, at: impl Fn(Label) -> u32) -> Join {
        let resolve = |code: &mut u32| *code = at(Label(*code));
        self.patterns.iter_mut().for_each(|pattern| resolve(&mut pattern.code));
        for rule in self.rules.iter_mut().flatten() {
            resolve(&mut rule.code);
            rule.early.iter_mut().chain(&mut rule.test).for_each(resolve);
            rule.guarded.iter_mut().flat_map(|both| [&mut both.guard, &mut both.code]).for_each(resolve);
            rule.parts.iter_mut().for_each(|part| resolve(&mut part.code));
        }
        self
    }
}

/// Patterns while they are collected: each with its variables' registers and columns.
struct Patterns {
    all: Vec<(Tree, ElementPattern, Vec<(Var, Reg)>)>,
    columns: usize,
}

impl Compiler<'_> {
    /// Code of all rules that can be joined; `entries` are the numbers of rules by operator.
    pub(super) fn join(&mut self, entries: &[Vec<u32>], queries: std::ops::Range<usize>) -> Option<Join> {
        let is_memo = self.plans.iter().any(|plan| plan.memo);
        let has_counter =
            self.plans.iter().any(|plan| matches!(plan.special, Some(crate::builtin::Special::Counter(_))));
        // Some words of floats differ although the numbers are equal.
        let has_floats = self.sy.float != NO_SYM;
        if self.trace
            || self.has_lazy
            || is_memo
            || has_counter
            || has_floats
            || !self.module.memberships.is_empty()
        {
            return None;
        }
        let (top, soup) = (0..entries.len()).find_map(|sym| {
            let of_rule = |&index: &u32| self.soup_of(&self.rules[index as usize].lhs, sym);
            Some((sym as u32, entries[sym].iter().find_map(of_rule)?))
        })?;
        // Rules for the soup itself would be tried after those for the operator around it.
        if !entries[soup.index()].is_empty() {
            return None;
        }
        let largest = self.sig.sorts.kind(self.sig.op(soup).range).sorts.get(1).copied()?;
        let sorted = Known::below(self.sig, largest).filter(|_| self.is_largest(largest))?.0;
        let mut patterns = Patterns { all: Vec::new(), columns: 0 };
        let mut rules = Vec::new();
        for &index in &entries[top as usize] {
            rules.push(self.join_rule(index as usize, top, soup, &mut patterns));
        }
        if rules.iter().all(Option::is_none) {
            return None;
        }
        let queries = queries.map(|index| self.join_query(index, top, soup, &mut patterns)).collect();
        let Patterns { all, columns } = patterns;
        let certain = |(tree, pattern, _): (Tree, ElementPattern, _)| {
            let is_certain = pattern.columns.is_empty() && self.is_certain(&tree);
            ElementPattern { is_certain, ..pattern }
        };
        let patterns = all.into_iter().map(certain).collect();
        Some(Join { top, soup: soup.0, sorted, patterns, columns, rules, queries })
    }

    /// The operator of the soup if the pattern is one with the free operator `top` around it.
    fn soup_of(&self, lhs: &Tree, top: usize) -> Option<OpId> {
        let root = lhs.root();
        let is_top = lhs.node(root).op().is_some_and(|op| op.index() == top) && lhs.node(root).arity() == 1;
        let is_plain = is_top && self.sy.class(top as u32) == Class::Free && self.plans[top].is_plain();
        let soup = lhs.node(*lhs.args(root).first()?).op().filter(|_| is_plain)?;
        let info = &self.sy.info[soup.index()];
        let is_soup = info.class == Class::AssocComm && info.identity.is_some() && !info.idem;
        (is_soup && self.plans[soup.index()].is_plain()).then_some(soup)
    }

    fn join_rule(&mut self, index: usize, top: u32, soup: OpId, patterns: &mut Patterns) -> Option<JoinRule> {
        let Rule { lhs, rhs, condition, .. } = self.rules[index].clone();
        if self.soup_of(&lhs, top as usize) != Some(soup) {
            return None;
        }
        let place = lhs.args(lhs.root())[0];
        let (elements, rest) = self.bag_order(&lhs, place, soup)?;
        let is_largest = self.is_largest(rest.sort);
        if !is_largest || condition.iter().any(|fragment| matches!(fragment, Fragment::Rewrite(..))) {
            return None;
        }
        let places = self.join_places(&lhs, &elements, patterns)?;
        let bits = places.iter().fold(0, |bits, place| bits | 1 << place.pattern);
        let has_rest = |fragment: &Fragment| condition_vars(std::slice::from_ref(fragment)).contains(&rest);
        let replaced = self.replacement(&lhs, &rhs, &elements, top, soup, rest);
        let first = condition.iter().position(has_rest);
        let on_state = first.is_some() || replaced.is_none();
        let before = condition[..first.unwrap_or(condition.len())].to_vec();
        let keys = self.keys(&lhs, &elements);
        let is_early = |fragment: &&Fragment| {
            let vars = condition_vars(std::slice::from_ref(*fragment));
            is_test(fragment) && vars.iter().all(|var| keys.contains(var))
        };
        let early = condition[..condition.iter().take_while(is_early).count()].to_vec();
        let [early, test] = [(early, true), (before, on_state)].map(|(condition, is_wanted)| {
            let is_wanted = is_wanted && !condition.is_empty();
            let rule = Rule { condition, rhs: Tree::default(), ..self.rules[index].clone() };
            is_wanted.then(|| self.element_function(rule, &elements, None))
        });
        let guarded = match (first, &replaced) {
            (Some(first), Some((rhs, yields))) => {
                self.guarded(index, &elements, rest, first, (rhs, yields.count))
            }
            _ => None,
        };
        let rest = on_state.then_some(rest);
        let (rhs, mut yields) = replaced.map_or((rhs, None), |(rhs, yields)| (rhs, Some(yields)));
        self.yields = yields.as_ref().map(|yields| (yields.count, 0));
        let code = self.element_function(Rule { rhs, ..self.rules[index].clone() }, &elements, rest);
        if let (Some(yields), Some((_, first))) = (&mut yields, self.yields.take()) {
            yields.first = first;
        }
        let is_certain = condition.is_empty();
        let parts = match &yields {
            Some(yields) if is_certain && !on_state => self.join_parts(index, &elements, yields, soup),
            _ => Vec::new(),
        };
        Some(JoinRule {
            places,
            patterns: bits,
            early,
            test,
            code,
            on_state,
            guarded,
            is_certain,
            yields,
            parts,
        })
    }

    /// A rule in two parts, if its condition from some place on depends on the whole state alone, and
    /// what is before that has one solution at most. `new` is what replaces old elements, and how many
    /// registers it takes.
    fn guarded(
        &mut self,
        index: usize,
        elements: &[usize],
        rest: Var,
        first: usize,
        new: (&Tree, usize),
    ) -> Option<Guarded> {
        let rule = self.rules[index].clone();
        let (before, after) = rule.condition.split_at(first);
        let is_of_whole = |tree: &&Tree| self.depends_on_whole_alone(tree, &rule.lhs);
        let is_guard = |fragment: &Fragment| is_test(fragment) && fragment.trees().iter().all(is_of_whole);
        if !before.iter().all(is_test) || !after.iter().all(is_guard) {
            return None;
        }
        let end = Rule { condition: after.to_vec(), rhs: Tree::default(), ..rule.clone() };
        let guard = self.element_function(end, elements, Some(rest));
        self.yields = Some((new.1, 0));
        let start = Rule { condition: before.to_vec(), rhs: new.0.clone(), ..rule };
        let code = self.element_function(start, elements, None);
        let (_, first) = self.yields.take().expect("set above");
        Some(Guarded { guard, code, first })
    }

    /// Are variables, and operators that may have to be evaluated, only in instances of the left-hand side
    /// and around these? Then nothing is evaluated that other parts of the rule evaluate, too.
    fn depends_on_whole_alone(&self, tree: &Tree, lhs: &Tree) -> bool {
        let wholes: Vec<_> =
            (0..tree.len()).filter(|&at| lhs.same(lhs.root(), tree, at)).map(|at| tree.range(at)).collect();
        (0..tree.len()).all(|at| {
            let is_inside = wholes.iter().any(|whole| whole.contains(&at));
            let is_around = wholes.iter().any(|whole| tree.range(at).contains(&whole.start));
            is_inside || is_around || tree.node(at).op().is_some_and(|op| self.plans[op.index()].is_plain())
        })
    }

    /// The new elements of a rule one by one, each with the places that it depends on. None if one depends
    /// on many, or if something is evaluated once for several of them or not at all.
    fn join_parts(
        &mut self,
        index: usize,
        elements: &[usize],
        yields: &Replaced,
        soup: OpId,
    ) -> Vec<JoinPart> {
        let rule = self.rules[index].clone();
        let (lhs, rhs) = (&rule.lhs, &rule.rhs);
        if !yields.is_paired {
            return Vec::new();
        }
        let is_old = |at: usize| elements.iter().any(|&element| lhs.same(element, rhs, at));
        let all = flatten(rhs, rhs.args(rhs.root())[0], soup, Class::AssocComm);
        let new: Vec<usize> =
            all.into_iter().filter(|&at| rhs.node(at).op().is_some() && !is_old(at)).collect();
        if new.len() != yields.count {
            return Vec::new();
        }
        // Subterms that may have to be evaluated.
        let is_active = |at: &usize| rhs.node(*at).op().is_some_and(|op| !self.plans[op.index()].is_plain());
        let active: Vec<usize> = (0..rhs.len()).filter(is_active).collect();
        let occurs_in_lhs = |at: usize| (0..lhs.len()).any(|place| lhs.same(place, rhs, at));
        let occurs_twice = |at: usize| active.iter().any(|&other| other != at && rhs.same(other, rhs, at));
        if active.iter().any(|&at| occurs_in_lhs(at) || occurs_twice(at)) {
            return Vec::new();
        }
        let mut parts = Vec::new();
        for (&at, &old) in new.iter().zip(&yields.old) {
            let tree = rhs.subtree(at);
            let Some(places) = places_of(lhs, elements, &tree.vars(), old) else { return Vec::new() };
            let taken: Vec<usize> = places.iter().map(|&place| elements[place]).collect();
            self.yields = Some((1, 0));
            let code = self.element_function(Rule { rhs: tree, ..rule.clone() }, &taken, None);
            let (_, result) = self.yields.take().expect("set above");
            parts.push(JoinPart { places, code, result });
        }
        parts
    }

    /// The elements around the collector of a right-hand side `{ f1 ... fm R }` that are not on the
    /// left, as a soup, and what becomes of the others.
    fn replacement(
        &self,
        lhs: &Tree,
        rhs: &Tree,
        elements: &[usize],
        top: u32,
        soup: OpId,
        rest: Var,
    ) -> Option<(Tree, Replaced)> {
        let root = rhs.root();
        let is_rest = |at: &usize| *rhs.node(*at) == Node::Var(rest);
        let is_once = (0..rhs.len()).filter(is_rest).count() == 1;
        if !is_once || rhs.node(root).op() != Some(OpId(top)) {
            return None;
        }
        let mut new = flatten(rhs, rhs.args(root)[0], soup, Class::AssocComm);
        let at = new.iter().position(|at| is_rest(at))?;
        new.remove(at);
        let mut old: Vec<usize> = (0..elements.len()).collect();
        new.retain(|&at| match old.iter().position(|&place| lhs.same(elements[place], rhs, at)) {
            Some(kept) => {
                old.remove(kept);
                false
            }
            None => true,
        });
        let (count, is_paired) = (new.len(), self.pair(lhs, rhs, elements, &mut old, &new));
        let has_same_operator =
            |(&place, &at): (&usize, &usize)| lhs.node(elements[place]).op() == rhs.node(at).op();
        let is_alike = is_paired && old.iter().zip(&new).all(has_same_operator);
        let tree = match new[..] {
            [] => self.sy.identities[self.sy.info[soup.index()].identity?.constant].clone(),
            [only] => rhs.subtree(only),
            _ => {
                let mut tree = Tree::default();
                new.iter().for_each(|&element| tree.append(&rhs.subtree(element)));
                tree.push(Node::App { op: soup, arity: count as u32 }, Span::default());
                tree
            }
        };
        Some((tree, Replaced { old, first: 0, count, is_paired, is_alike }))
    }

    /// Brings the old places in the order of the new elements that resemble them, if each does.
    fn pair(&self, lhs: &Tree, rhs: &Tree, elements: &[usize], old: &mut [usize], new: &[usize]) -> bool {
        if old.len() != new.len() {
            return false;
        }
        for (number, &at) in new.iter().enumerate() {
            let is_plain =
                |op: &OpId| self.plans[op.index()].is_plain() && self.sy.class(op.0) == Class::Free;
            let Some(op) = rhs.node(at).op().filter(is_plain) else { return false };
            let first = rhs.args(at).first().copied();
            // The same operator, and if possible the same first argument.
            let likeness = |&place: &usize| {
                let other = elements[place];
                let is_same = |arg: usize| lhs.args(other).first().is_some_and(|&x| lhs.same(x, rhs, arg));
                u32::from(lhs.node(other).op() == Some(op)) + u32::from(first.is_some_and(is_same))
            };
            let best = (number..old.len()).max_by_key(|&i| (likeness(&old[i]), usize::MAX - i));
            let Some(best) = best.filter(|&i| likeness(&old[i]) > 0) else { return false };
            old.swap(number, best);
        }
        true
    }

    fn join_places(
        &mut self,
        lhs: &Tree,
        elements: &[usize],
        patterns: &mut Patterns,
    ) -> Option<Vec<JoinPlace>> {
        let vars: Vec<Vec<Var>> = elements.iter().map(|&at| lhs.subtree(at).vars()).collect();
        let mut places: Vec<JoinPlace> = Vec::new();
        for (number, &at) in elements.iter().enumerate() {
            let pattern = self.element_pattern(lhs.subtree(at), patterns)?;
            let mut checks = Vec::new();
            for var in &vars[number] {
                for (earlier, place) in places.iter_mut().enumerate() {
                    if vars[earlier].contains(var) {
                        let (own, theirs) =
                            (patterns.column(pattern, *var)?, patterns.column(place.pattern, *var)?);
                        checks.push((own, earlier, theirs));
                        place.checks.push((theirs, number, own));
                    }
                }
            }
            places.push(JoinPlace { pattern, checks });
        }
        Some(places)
    }

    /// The number of a pattern, which may be known already.
    fn element_pattern(&mut self, tree: Tree, patterns: &mut Patterns) -> Option<usize> {
        let same = |pattern: &(Tree, ElementPattern, _)| pattern.0.nodes() == tree.nodes();
        if let Some(number) = patterns.all.iter().position(same) {
            return Some(number);
        }
        if patterns.all.len() == PATTERNS_MAX {
            return None;
        }
        let sym = tree.node(tree.root()).op().map(|op| op.0);
        let is_unique = !self.is_branching(&tree, tree.root(), None);
        let query = Rule {
            lhs: tree.clone(),
            rhs: Tree::default(),
            condition: Vec::new(),
            attrs: StatementAttrs::default(),
        };
        self.rules.push(query);
        let (label, vars) = self.rule(self.rules.len() - 1, Subject::Whole, true);
        patterns.all.push((
            tree,
            ElementPattern { code: label.0, sym, is_certain: false, is_unique, columns: Vec::new() },
            vars,
        ));
        Some(patterns.all.len() - 1)
    }

    /// The variables that are first arguments of elements.
    fn keys(&self, lhs: &Tree, elements: &[usize]) -> Vec<Var> {
        let key = |&at: &usize| {
            lhs.node(at).op().filter(|op| self.sy.class(op.0) == Class::Free)?;
            match lhs.node(*lhs.args(at).first()?) {
                Node::Var(var) => Some(*var),
                _ => None,
            }
        };
        elements.iter().filter_map(key).collect()
    }

    /// Does a pattern match all well-sorted terms with its operator? It is a free one over variables.
    fn is_certain(&self, tree: &Tree) -> bool {
        let root = tree.root();
        let Some(op) = tree.node(root).op().filter(|op| self.sy.class(op.0) == Class::Free) else {
            return false;
        };
        let sorts = &self.sig.sorts;
        let args = tree.args(root);
        let is_largest = |(i, &at): (usize, &usize)| match tree.node(at) {
            Node::Var(var) => self.sig.op(op).decls.iter().all(|decl| sorts.leq(decl.domain[i], var.sort)),
            _ => false,
        };
        tree.vars().len() == args.len() && args.iter().enumerate().all(is_largest)
    }

    /// A function of the elements at some places of a left-hand side, and of the collector, the whole
    /// and its soup, if a collector is given.
    fn element_function(&mut self, rule: Rule, elements: &[usize], rest: Option<Var>) -> u32 {
        let lhs = rule.lhs.clone();
        let root = lhs.root();
        self.current = lhs.node(root).op().expect("an operator around a soup");
        self.rules.push(rule);
        let mut row = Row::new(self.rules.len() - 1, Whole::No);
        let mut known = vec![Known::ANY; elements.len()];
        for (reg, &place) in elements.iter().enumerate() {
            self.add_pattern(&mut row, &lhs, reg as Reg, place);
            row.available.push((place, reg as Reg));
        }
        if let Some(rest) = rest {
            let first = elements.len() as Reg;
            row.vars.push((rest, first));
            row.available.extend([(root, first + 1), (lhs.args(root)[0], first + 2)]);
            known.extend([Known::below(self.sig, rest.sort).unwrap_or(Known::ANY), Known::ANY, Known::ANY]);
        }
        let start = self.asm.here();
        let (enter, args) = (self.asm.words.len(), known.len());
        self.asm.emit(inst(Op::Enter, args, 0, 0));
        let mut frame = Frame { size: args as u32 + 1 };
        let none = self.asm.label();
        self.query_vars.clear();
        self.rows(vec![row], Path::new(known), Statements::Rules { all: true }, none, &mut frame);
        self.asm.place(none);
        self.asm.emit(inst(Op::Return, 0, 0, 0));
        self.patch_frame(enter, args, &frame);
        start.0
    }

    fn join_query(&mut self, index: usize, top: u32, soup: OpId, patterns: &mut Patterns) -> JoinQuery {
        let mut query = JoinQuery::default();
        let lhs = self.rules[index].lhs.clone();
        let Some(op) = lhs.node(lhs.root()).op() else { return query };
        let can_collapse =
            |op: OpId| self.sy.info[op.index()].identity.is_some() || self.sy.info[op.index()].idem;
        if op.0 != top {
            query.is_impossible = !can_collapse(op);
            return query;
        }
        let place = lhs.args(lhs.root())[0];
        match lhs.node(place) {
            Node::App { op, .. } if *op == soup => {}
            Node::Var(rest) => {
                // It matches all of them.
                query.is_exact = self.is_largest(rest.sort) && self.rules[index].condition.is_empty();
                return query;
            }
            Node::App { arity: 0, .. } => return JoinQuery { is_impossible: true, ..query },
            node => {
                let is_impossible = node.op().is_some_and(|op| !can_collapse(op));
                return JoinQuery { is_impossible, ..query };
            }
        }
        let elements = flatten(&lhs, place, soup, Class::AssocComm);
        for &element in &elements {
            if self.is_stable(&lhs, element, soup)
                && let Some(pattern) = self.element_pattern(lhs.subtree(element), patterns)
            {
                query.patterns |= 1 << pattern;
            }
        }
        // One element, and a variable for all the others.
        let is_rest = |at: usize| match lhs.node(at) {
            Node::Var(var) => {
                self.is_largest(var.sort) && lhs.nodes().iter().filter(|n| *n == lhs.node(at)).count() == 1
            }
            _ => false,
        };
        query.is_exact = self.rules[index].condition.is_empty()
            && query.patterns.count_ones() == 1
            && elements.len() == 2
            && elements.into_iter().filter(|&element| is_rest(element)).count() == 1;
        query
    }
}

fn is_test(fragment: &Fragment) -> bool {
    matches!(fragment, Fragment::Equal(..) | Fragment::Sort(..))
}

/// The places, one or two, whose elements bind the variables; first of all one of them if it binds any.
fn places_of(lhs: &Tree, elements: &[usize], vars: &[Var], first: usize) -> Option<Vec<usize>> {
    let bound: Vec<Vec<Var>> = elements.iter().map(|&at| lhs.subtree(at).vars()).collect();
    let binds = |place: usize, var: &Var| bound[place].contains(var);
    let mut places = vec![first];
    // What only one place binds comes first.
    let mut vars: Vec<&Var> = vars.iter().collect();
    vars.sort_by_key(|var| (0..elements.len()).filter(|&place| binds(place, var)).count());
    for var in &vars {
        if !places.iter().any(|&place| binds(place, var)) {
            places.push((0..elements.len()).find(|&place| binds(place, var))?);
        }
    }
    if places.len() > 1 && !vars.iter().any(|var| binds(first, var)) {
        places.remove(0);
    }
    (places.len() <= 2).then_some(places)
}

impl Patterns {
    /// The column of a variable of a pattern.
    fn column(&mut self, pattern: usize, var: Var) -> Option<usize> {
        let (_, pattern, vars) = &mut self.all[pattern];
        let reg = vars.iter().find(|(v, _)| *v == var)?.1;
        if let Some(&(_, column)) = pattern.columns.iter().find(|column| column.0 == reg) {
            return Some(column);
        }
        pattern.columns.push((reg, self.columns));
        self.columns += 1;
        Some(self.columns - 1)
    }
}
