//! From pattern terms to compiled nodes: which strategy each operator uses, in which sequence
//! its subpatterns are matched, and which variables are certainly bound when.

use super::analysis::{Compiler, Slots};
use super::pattern::{
    Ac, Alien, Arg, Assoc, Collapse, CollapseArg, Cui, Fixed, Free, Iter, Node, NodeId, Pattern, SortSet,
    Special, Step, Strategy, Stripper, Structure, TopVar, VarParts, VarRef,
};
use super::{Needed, PatternSpec};
use crate::sorts::{KindId, OpId, SortIx};
use crate::term::{Class, Int, Term};

impl Pattern {
    /// Compiles a pattern for matching many subjects.
    pub fn compile(spec: &mut PatternSpec) -> Pattern {
        let mut bound = Slots::of(spec.bound);
        let extension = spec.extension;
        let (mut compiler, term) = Compiler::new(spec);
        let (root, _) = compiler.compile(term, extension, &mut bound);
        Pattern { nodes: compiler.nodes, root, extension }
    }
}

impl Compiler<'_, '_> {
    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() as NodeId - 1
    }

    fn fixed(&mut self, t: Term) -> Fixed {
        if !t.is_node() {
            return Fixed::Immediate(t);
        }
        let tree = self.heap.to_tree(self.spec.sy, t);
        Fixed::Constant((self.spec.constant)(&tree))
    }

    fn sorts(&self, kind: KindId, sort: SortIx) -> SortSet {
        SortSet::new(self.spec.sig.sorts.kind(kind).below(sort))
    }

    fn var_ref(&self, t: Term) -> Option<VarRef> {
        let var = self.var(t)?;
        let (kind, sort) = self.sort_of(var);
        let slot = (self.spec.slot)(var);
        let idle = self.spec.read.is_some_and(|read| !read.contains(&slot));
        Some(VarRef { slot, sorts: self.sorts(kind, sort), idle })
    }

    /// Compiles a subpattern. Adds what it certainly binds to `bound`; the flag says whether
    /// its match phase is likely to leave subproblems.
    pub fn compile(&mut self, t: Term, top: bool, bound: &mut Slots) -> (NodeId, bool) {
        if let Some(var) = self.var_ref(t) {
            bound.insert(var.slot);
            return (
                if top {
                    self.compile_top_var(self.sort_of(self.var(t).expect("a variable")), var)
                } else {
                    self.add(Node::Var(var))
                },
                false,
            );
        }
        let class = self.class(t);
        let extends = top
            && match class {
                Class::Assoc | Class::AssocComm => true,
                Class::Iter => !(t.is_small() && t.payload() == 0),
                _ => false,
            };
        if self.is_ground(t) && !extends {
            let fixed = self.fixed(t);
            return (self.add(Node::Ground(fixed)), false);
        }
        match class {
            Class::Free => self.compile_free(t, bound),
            Class::Iter => {
                let (count, base) = self.heap.iter_parts(t);
                let (inner, subproblems) = self.compile(base, false, bound);
                let sym = self.sym(t);
                let resort = self.spec.shapes.has_memberships(OpId(sym));
                let iter = Iter { sym, count, inner, resort };
                (self.add(Node::Iter(Box::new(iter))), subproblems)
            }
            Class::Cui => self.compile_cui(t, top, bound),
            Class::AssocComm => self.compile_ac(t, top, bound),
            Class::Assoc => self.compile_assoc(t, top, bound),
        }
    }

    /// A variable with extension: a pattern for each operator that its subject may have.
    fn compile_top_var(&mut self, (kind, sort): (KindId, SortIx), var: VarRef) -> NodeId {
        let inner = self.add(Node::Var(var.clone()));
        let ops: Vec<u32> =
            self.spec.sig.ops().filter(|(_, op)| op.range == kind).map(|(id, _)| id.0).collect();
        let mut by_sym = Vec::new();
        for sym in ops {
            let node = match self.spec.sy.class(sym) {
                Class::Iter => {
                    let resort = self.spec.shapes.has_memberships(OpId(sym));
                    let diagram = &self.spec.sy.info[sym as usize].diagram;
                    let count = self.spec.sig.sorts.kind(kind).sorts.len() as SortIx;
                    if !resort && !(0..count).any(|inner| var.sorts.contains(diagram.sort([inner]))) {
                        // No application has the sort, however many there are.
                        continue;
                    }
                    Node::Iter(Box::new(Iter { sym, count: Int::Small(0), inner, resort }))
                }
                Class::AssocComm => {
                    let mut ac = self.empty_ac(sym);
                    ac.vars.push(self.lone_var(sym, sort, var.clone()));
                    Node::Ac(Box::new(ac))
                }
                Class::Assoc => {
                    let mut assoc = self.empty_assoc(sym);
                    assoc.args.push(Arg::Var(self.lone_var(sym, sort, var.clone())));
                    Node::Assoc(Box::new(assoc))
                }
                Class::Free | Class::Cui => continue,
            };
            by_sym.push((sym, self.add(node)));
        }
        self.add(Node::TopVar(Box::new(VarParts { var, by_sym })))
    }

    fn lone_var(&self, sym: u32, sort: SortIx, var: VarRef) -> TopVar {
        let shape = self.shape(sym);
        TopVar {
            var,
            multiplicity: 1,
            bound: shape.bounds[sort as usize],
            take_identity: false,
            awkward: false,
            structure: shape.structures[sort as usize],
            elementwise: shape.elementwise[sort as usize],
            stands_for: None,
            whole: None,
        }
    }

    fn compile_free(&mut self, t: Term, bound: &mut Slots) -> (NodeId, bool) {
        let mut steps = Vec::new();
        let mut registers = 1;
        let mut places: Vec<(Term, u32)> = Vec::new();
        let mut stack = vec![(t, 0)];
        while let Some((t, register)) = stack.pop() {
            steps.push(Step::Open { register, sym: self.sym(t) });
            let args = self.heap.args(t).to_vec();
            let base = registers;
            registers += args.len() as u32;
            let mut inner = Vec::new();
            for (&arg, register) in args.iter().zip(base..) {
                if let Some(var) = self.var_ref(arg) {
                    bound.insert(var.slot);
                    steps.push(Step::Var { register, var });
                } else if self.is_ground(arg) {
                    let term = self.fixed(arg);
                    steps.push(Step::Ground { register, term });
                } else if self.class(arg) == Class::Free {
                    inner.push((arg, register));
                } else {
                    places.push((arg, register));
                }
            }
            stack.extend(inner.into_iter().rev());
        }
        // The places in the order of a walk from left to right.
        let (_, walk) = self.skeleton(t);
        let (sequence, _) = self.free_sequence(walk, bound);
        let mut subproblems = false;
        let mut aliens = Vec::new();
        for alien in sequence {
            let place = places.iter().find(|(term, _)| *term == alien).expect("same walk");
            let register = place.1;
            let (node, likely) = self.compile(alien, false, bound);
            subproblems |= likely;
            aliens.push((register, node));
        }
        (self.add(Node::Free(Box::new(Free { steps, aliens }))), subproblems)
    }

    fn compile_cui(&mut self, t: Term, top: bool, bound: &mut Slots) -> (NodeId, bool) {
        let sym = self.sym(t);
        let info = &self.spec.sy.info[sym as usize];
        let (comm, idem, identity) = (info.comm, info.idem, info.identity);
        let args = [self.heap.arg(t, 0), self.heap.arg(t, 1)];
        let greedy = self.is_greedy_safe(t, bound);
        let mut cui = Cui {
            sym,
            args: [0; 2],
            first: 0,
            comm,
            unique: true,
            greedy,
            identity: identity.map(|e| e.constant),
            collapses: Vec::new(),
            idem: None,
        };
        let mut subproblems = false;
        if let Some((order, first)) = self.cui_branch(t, args, bound) {
            for i in 0..2 {
                let (node, likely) = self.compile(args[order[i]], false, bound);
                cui.args[i] = node;
                subproblems |= likely;
            }
            cui.first = if comm { first } else { order[0] };
            return (self.add(Node::Cui(Box::new(cui))), subproblems);
        }
        cui.unique = false;
        let is_var = [self.var(args[0]).is_some(), self.var(args[1]).is_some()];
        let order = if comm && is_var[0] && !is_var[1] { [1, 0] } else { [0, 1] };
        for i in 0..2 {
            let (node, likely) = self.compile(args[order[i]], false, &mut bound.clone());
            cui.args[i] = node;
            subproblems |= likely;
        }
        if let Some(identity) = identity {
            let sides = [identity.left, identity.right];
            for gone in order {
                if sides[gone] && self.may_be_identity(sym, args[gone]) {
                    let (vanishes, _) = self.compile(args[gone], false, &mut bound.clone());
                    let (kept, likely) = self.compile(args[1 - gone], top, &mut bound.clone());
                    subproblems |= likely;
                    cui.collapses.push((vanishes, kept));
                }
            }
        }
        if idem && !self.common_tops(args[0], args[1]).is_empty() {
            let one = self.compile(args[order[0]], top, &mut bound.clone()).0;
            let other = self.compile(args[order[1]], false, &mut bound.clone()).0;
            cui.idem = Some([one, other]);
        }
        subproblems |= !greedy;
        (self.add(Node::Cui(Box::new(cui))), subproblems)
    }

    fn top_var(&mut self, sym: u32, t: Term, multiplicity: u32, top: bool) -> TopVar {
        let var = self.var_ref(t).expect("a variable");
        let (kind, sort) = self.sort_of(self.var(t).expect("a variable"));
        let shape = self.shape(sym);
        let (bound, structure) = (shape.bounds[sort as usize], shape.structures[sort as usize]);
        let elementwise = shape.elementwise[sort as usize];
        let take_identity = self.may_be_identity(sym, t);
        let whole =
            (top && self.identity(sym).is_some()).then(|| self.compile_top_var((kind, sort), var.clone()));
        TopVar {
            var,
            multiplicity,
            bound,
            take_identity,
            awkward: take_identity,
            structure,
            elementwise,
            stands_for: None,
            whole,
        }
    }

    /// A variable that stands for a subpattern that may collapse.
    fn stand_in(&mut self, sym: u32, t: Term, multiplicity: u32, top: bool, bound: &Slots) -> TopVar {
        let kind = self.spec.sy.info[sym as usize].kind;
        let slot = (self.spec.fresh)();
        let (node, _) = self.compile(t, false, &mut bound.clone());
        let var = VarRef { slot, sorts: self.sorts(kind, 0), idle: false };
        let whole = top.then(|| self.compile_top_var((kind, 0), var.clone()));
        let take_identity = self.may_be_identity(sym, t);
        TopVar {
            var,
            multiplicity,
            bound: (!self.may_collapse_to(sym, t)).then_some(1),
            take_identity,
            awkward: take_identity,
            structure: Structure::Pure,
            elementwise: false,
            stands_for: Some(node),
            whole,
        }
    }

    fn alien(&mut self, t: Term, multiplicity: u32, bound: &mut Slots) -> (Alien, bool) {
        let (node, likely) = self.compile(t, false, bound);
        let top = self.is_stable(t).then(|| self.sym(t));
        (Alien { node, multiplicity, top }, likely)
    }

    fn empty_ac(&self, sym: u32) -> Ac {
        Ac {
            sym,
            identity: self.spec.sy.info[sym as usize].identity.map(|e| e.constant),
            resort: self.spec.shapes.has_memberships(OpId(sym)),
            vars: Vec::new(),
            ground: Vec::new(),
            grounded: Vec::new(),
            aliens: Vec::new(),
            aliens_total: 0,
            strategy: Strategy::Full,
            special: None,
            total_min: 0,
            multiplicity_max: 1,
            collapse: None,
        }
    }

    fn empty_assoc(&self, sym: u32) -> Assoc {
        let identity = self.spec.sy.info[sym as usize].identity;
        let (left_id, right_id) = identity.map_or((false, false), |e| (e.left, e.right));
        Assoc {
            sym,
            identity: identity.map(|e| e.constant),
            left_id,
            right_id,
            resort: self.spec.shapes.has_memberships(OpId(sym)),
            args: Vec::new(),
            rigid: Vec::new(),
            greedy: false,
            total_min: 0,
            total_max: None,
            collapse: None,
        }
    }

    fn compile_ac(&mut self, t: Term, top: bool, bound: &mut Slots) -> (NodeId, bool) {
        let sym = self.sym(t);
        let pairs = self.pairs(t);
        let mut ac = self.empty_ac(sym);
        // (variable, index of its sort, unbound), the aliens with their multiplicities.
        let mut vars: Vec<(TopVar, SortIx)> = Vec::new();
        let mut aliens: Vec<(Term, u32)> = Vec::new();
        let mut greedy = true;
        let (mut unbound, mut stand_ins) = (None, 0);
        let mut unbound_count = 0;
        for &(child, multiplicity) in &pairs {
            if let Some(slot) = self.slot(child) {
                let var = self.top_var(sym, child, multiplicity, top);
                let sort = self.sort_of(self.var(child).expect("has a slot")).1;
                vars.push((var, sort));
                if !bound.contains(slot) {
                    (unbound, unbound_count) = (Some(slot), unbound_count + 1);
                    greedy &= !self.needed.contains(slot) && !self.shared(child).contains(slot);
                }
            } else if self.must_abstract(sym, child) {
                let var = self.stand_in(sym, child, multiplicity, top, bound);
                vars.push((var, 0));
                stand_ins += 1;
                greedy = false;
            } else if self.is_ground(child) {
                let fixed = self.fixed(child);
                ac.ground.push((fixed, multiplicity));
            } else if self.grounds_out(child, bound) {
                let (alien, _) = self.alien(child, multiplicity, bound);
                ac.grounded.push(alien);
            } else {
                greedy &= self.is_greedy_safe(child, bound);
                aliens.push((child, multiplicity));
            }
        }
        vars.sort_by(|(a, s), (b, t)| b.multiplicity.cmp(&a.multiplicity).then(t.cmp(s)));
        ac.vars = vars.into_iter().map(|(var, _)| var).collect();
        ac.aliens_total = aliens.iter().map(|a| u64::from(a.1)).sum();
        let solid = |var: &&TopVar| !var.take_identity;
        let fixed_total = ac.ground.iter().map(|g| g.1).chain(ac.grounded.iter().map(|g| g.multiplicity));
        ac.total_min = fixed_total.clone().map(u64::from).sum::<u64>()
            + ac.aliens_total
            + ac.vars.iter().filter(solid).map(|var| u64::from(var.multiplicity)).sum::<u64>();
        ac.multiplicity_max = fixed_total
            .chain(aliens.iter().map(|a| a.1))
            .chain(ac.vars.iter().filter(solid).map(|var| var.multiplicity))
            .max()
            .unwrap_or(1);
        ac.special = self.special(&ac, &pairs, top, bound);
        ac.collapse = self.ac_collapse(sym, &ac, &pairs, top, bound);

        let mut subproblems = !greedy;
        if aliens.is_empty() {
            ac.strategy = if greedy { Strategy::Greedy(0) } else { Strategy::Full };
            if !top && unbound_count + stand_ins == 1 && unbound_count == 1 {
                bound.insert(unbound.expect("there is one"));
                subproblems = false;
            }
        } else if !top && unbound_count == 0 && stand_ins == 0 {
            subproblems = self.aliens_only(&mut ac, &aliens, bound);
        } else {
            let mut compiled: Vec<Option<(Alien, bool)>> = aliens
                .iter()
                .map(|&(alien, multiplicity)| Some(self.alien(alien, multiplicity, &mut bound.clone())))
                .collect();
            subproblems |= compiled.iter().flatten().any(|(_, likely)| *likely);
            let mut terms: Vec<Term> = aliens.iter().map(|a| a.0).collect();
            if subproblems {
                ac.strategy = Strategy::Full;
                if terms.len() > 1 {
                    self.weak_order(&mut terms, 0, bound);
                }
            } else {
                let (sequence, independent) = self.greedy_sequence(&aliens);
                ac.strategy = Strategy::Greedy(independent);
                terms = sequence;
            }
            for term in terms {
                let place = aliens.iter().position(|a| a.0 == term).expect("a permutation");
                ac.aliens.push(compiled[place].take().expect("each once").0);
            }
        }
        (self.add(Node::Ac(Box::new(ac))), subproblems)
    }

    fn aliens_only(&mut self, ac: &mut Ac, aliens: &[(Term, u32)], bound: &mut Slots) -> bool {
        let terms: Vec<Term> = aliens.iter().map(|a| a.0).collect();
        let multiplicity = |t: Term| aliens.iter().find(|a| a.0 == t).expect("a permutation").1;
        let (mut sequence, mut forced, _) = self.forced_sequence(&terms, bound);
        let mut subproblems = false;
        for &term in &sequence[..forced] {
            let (alien, likely) = self.alien(term, multiplicity(term), bound);
            subproblems |= likely;
            ac.aliens.push(alien);
        }
        let committed = forced;
        for i in committed..sequence.len() {
            let independent =
                (forced..sequence.len()).all(|j| j == i || self.are_independent(sequence[i], sequence[j]));
            if independent {
                sequence.swap(forced, i);
                forced += 1;
            }
        }
        if forced < sequence.len() {
            subproblems = true;
            self.weak_order(&mut sequence, forced, bound);
        }
        for &term in &sequence[committed..] {
            let (alien, likely) = self.alien(term, multiplicity(term), &mut bound.clone());
            subproblems |= likely;
            ac.aliens.push(alien);
        }
        ac.strategy = Strategy::AliensOnly(forced);
        subproblems
    }

    /// An order for aliens that take the first element that fits, and how many of them cannot
    /// take each other's.
    fn greedy_sequence(&mut self, aliens: &[(Term, u32)]) -> (Vec<Term>, usize) {
        let n = aliens.len();
        let mut component = vec![usize::MAX; n];
        let mut components: Vec<Vec<usize>> = Vec::new();
        for start in 0..n {
            if component[start] != usize::MAX {
                continue;
            }
            let number = components.len();
            components.push(Vec::new());
            self.visit(aliens, start, number, &mut component, &mut components[number]);
        }
        let mut sequence: Vec<usize> = Vec::new();
        for members in components {
            if members.len() == 1 {
                sequence.extend(members);
                continue;
            }
            // Edges from less general to more general ones; the longest path goes in.
            let edges: Vec<Vec<usize>> = members
                .iter()
                .map(|&i| {
                    let more_general = |&j: &usize| {
                        let other = members[j];
                        other != i && aliens[other].1 == 1 && self.subsumes(aliens[other].0, aliens[i].0)
                    };
                    (0..members.len()).filter(more_general).collect()
                })
                .collect();
            let mut longest = Vec::new();
            for start in 0..members.len() {
                longest_path(&edges, &mut vec![start], &mut longest);
            }
            sequence.extend(longest.into_iter().map(|i| members[i]));
        }
        let independent = sequence.len();
        for i in 0..n {
            if !sequence.contains(&i) {
                sequence.push(i);
            }
        }
        (sequence.into_iter().map(|i| aliens[i].0).collect(), independent)
    }

    fn visit(
        &mut self,
        aliens: &[(Term, u32)],
        i: usize,
        number: usize,
        component: &mut [usize],
        members: &mut Vec<usize>,
    ) {
        component[i] = number;
        members.push(i);
        for j in 0..aliens.len() {
            if component[j] == usize::MAX && !self.are_independent(aliens[i].0, aliens[j].0) {
                self.visit(aliens, j, number, component, members);
            }
        }
    }

    fn special(&mut self, ac: &Ac, pairs: &[(Term, u32)], top: bool, bound: &Slots) -> Option<Special> {
        let sym = ac.sym;
        let place = |slot: u16| ac.vars.iter().position(|var| var.var.slot == slot).expect("a top variable");
        let free = |compiler: &Self, t: Term, slot: u16| {
            !compiler.needed.contains(slot) && !compiler.shared(t).contains(slot)
        };
        match *pairs {
            [(t, multiplicity)] if top && multiplicity > 1 => {
                let slot = self.slot(t)?;
                let var = &ac.vars[0];
                (!bound.contains(slot)
                    && free(self, t, slot)
                    && (var.bound == Some(1) || var.structure >= Structure::Limit)
                    && !var.take_identity)
                    .then_some(Special::NonLinear)
            }
            [(a, 1), (b, 1)] => {
                if ac.resort || top && self.can_collapse(sym, pairs) {
                    return None;
                }
                for (t, other) in [(a, b), (b, a)] {
                    let Some(slot) = self.slot(t) else { continue };
                    let collector = place(slot);
                    if bound.contains(slot) || ac.vars[collector].bound.is_some() {
                        continue;
                    }
                    let needs_all = !free(self, t, slot);
                    if top && needs_all {
                        continue;
                    }
                    if self.is_ground(other) {
                        return Some(Special::Collector { stripper: Stripper::Ground, collector });
                    }
                    if let Some(slot) = self.slot(other) {
                        let stripper = &ac.vars[place(slot)];
                        let fits = if bound.contains(slot) {
                            stripper.is_unit()
                        } else {
                            !needs_all && free(self, other, slot) && !stripper.take_identity
                        };
                        if fits {
                            let stripper = Stripper::Var(place(slot));
                            return Some(Special::Collector { stripper, collector });
                        }
                        continue;
                    }
                    if needs_all
                        || !self.is_stable(other)
                        || self.must_abstract(sym, other)
                        || !self.is_greedy_safe(other, bound)
                    {
                        continue;
                    }
                    let (alien, likely) = self.alien(other, 1, &mut bound.clone());
                    if !likely {
                        return Some(Special::Collector { stripper: Stripper::Alien(alien), collector });
                    }
                }
                None
            }
            _ => None,
        }
    }

    fn can_collapse(&mut self, sym: u32, pairs: &[(Term, u32)]) -> bool {
        let solid: Vec<u32> = pairs.iter().filter(|p| !self.may_be_identity(sym, p.0)).map(|p| p.1).collect();
        match solid[..] {
            [] => self.identity(sym).is_some(),
            [m] => m == 1 && self.identity(sym).is_some(),
            _ => false,
        }
    }

    fn ac_collapse(
        &mut self,
        sym: u32,
        ac: &Ac,
        pairs: &[(Term, u32)],
        top: bool,
        bound: &Slots,
    ) -> Option<Collapse> {
        if !self.can_collapse(sym, pairs) {
            return None;
        }
        let Some(&(kept, _)) = pairs.iter().find(|p| !self.may_be_identity(sym, p.0)) else {
            return Some(Collapse::Any);
        };
        let (node, _) = self.compile(kept, top, &mut bound.clone());
        let arg = match self.slot(kept) {
            Some(slot) => CollapseArg::Var(ac.vars.iter().position(|v| v.var.slot == slot)?),
            // The stand-in of a subpattern stays unbound: the subpattern itself is matched.
            None => {
                let whole = |v: &TopVar| v.stands_for.is_some() && !v.take_identity;
                ac.vars.iter().position(whole).map_or(CollapseArg::Other, CollapseArg::Var)
            }
        };
        Some(Collapse::Unique { node, arg })
    }

    fn compile_assoc(&mut self, t: Term, top: bool, bound: &mut Slots) -> (NodeId, bool) {
        let sym = self.sym(t);
        let identity = self.spec.sy.info[sym as usize].identity;
        let (left_id, right_id) = identity.map_or((false, false), |e| (e.left, e.right));
        let terms = self.heap.args(t).to_vec();
        let last = terms.len() - 1;
        let facts: Vec<_> =
            terms.iter().enumerate().map(|(i, &term)| self.list_arg(sym, term, i, last)).collect();
        let collapse = self.assoc_collapse(sym, &terms, top, bound);
        let outside = bound.clone();
        let mut args: Vec<Option<Arg>> = terms.iter().map(|_| None).collect();
        let mut subproblems = false;
        let mut rigid = Vec::new();
        let (mut from, mut to) = (0, terms.len());
        if !top {
            let sequence = self.rigid_sequence(t, bound);
            for &left in &sequence.ends {
                let place = if left { from } else { to - 1 };
                let (arg, likely) = self.list_element(sym, &facts[place], top, bound, true);
                args[place] = Some(arg);
                subproblems |= likely;
                if left {
                    from += 1;
                } else {
                    to -= 1;
                }
            }
            rigid = sequence.ends;
        }
        let one_sided = left_id != right_id;
        let mut greedy = !one_sided && (!top || collapse.is_none());
        if !top && to - from <= 1 && !(to > from && one_sided) {
            if from < to {
                let (arg, likely) = self.list_element(sym, &facts[from], top, bound, false);
                if let Arg::Var(TopVar { stands_for: None, var, .. }) = &arg {
                    bound.insert(var.slot);
                }
                args[from] = Some(arg);
                subproblems |= likely;
            }
            greedy = false;
        } else {
            for place in from..to {
                let fact = &facts[place];
                greedy &= !fact.flexible && self.is_greedy_safe(fact.term, bound);
                let (arg, likely) = self.list_element(sym, fact, top, &mut bound.clone(), false);
                greedy &= !likely;
                if let Arg::Var(var) = &arg {
                    let is_awkward = top && !fact.vanishes && fact.may_be_identity;
                    let is_bound = bound.contains(var.var.slot);
                    greedy &= !is_awkward && (var.is_unit() || is_bound || var.structure >= Structure::Limit);
                }
                args[place] = Some(arg);
            }
            subproblems |= !greedy;
        }
        let args: Vec<Arg> = args.into_iter().map(|arg| arg.expect("all compiled")).collect();
        let is_certain = |var: &TopVar| !(var.take_identity || top && var.awkward);
        let total_min = args
            .iter()
            .map(|arg| match arg {
                Arg::Var(var) => usize::from(is_certain(var) && !outside.contains(var.var.slot)),
                // It may be the identity.
                Arg::Ground(_) => usize::from(!(top && one_sided)),
                Arg::Alien(_) => 1,
            })
            .sum();
        let total_max = args.iter().try_fold(0usize, |sum, arg| match arg {
            Arg::Var(var) => var.bound.map(|b| sum + b as usize),
            _ => Some(sum + 1),
        });
        let greedy = greedy && !matches!(self.spec.needed, Needed::Everything);
        let assoc = Assoc { args, rigid, greedy, total_min, total_max, collapse, ..self.empty_assoc(sym) };
        (self.add(Node::Assoc(Box::new(assoc))), subproblems)
    }

    fn list_element(
        &mut self,
        sym: u32,
        fact: &super::analysis::ListArg,
        top: bool,
        bound: &mut Slots,
        binds: bool,
    ) -> (Arg, bool) {
        let t = fact.term;
        if self.var(t).is_some() {
            let mut var = self.top_var(sym, t, 1, top);
            var.take_identity &= fact.vanishes;
            if binds {
                bound.insert(var.var.slot);
            }
            return (Arg::Var(var), false);
        }
        if self.is_ground(t) {
            return (Arg::Ground(self.fixed(t)), false);
        }
        if fact.flexible || top && self.must_abstract(sym, t) {
            let mut var = self.stand_in(sym, t, 1, top, bound);
            var.take_identity &= fact.vanishes;
            return (Arg::Var(var), true);
        }
        let (node, likely) = self.compile(t, false, bound);
        (Arg::Alien(node), likely)
    }

    fn assoc_collapse(&mut self, sym: u32, terms: &[Term], top: bool, bound: &Slots) -> Option<Collapse> {
        let identity = self.spec.sy.info[sym as usize].identity?;
        let vanishes: Vec<bool> = terms.iter().map(|&t| self.may_be_identity(sym, t)).collect();
        let kept: Vec<usize> = (0..terms.len())
            .filter(|&i| {
                (i == 0 || identity.left && vanishes[..i].iter().all(|&v| v))
                    && (i + 1 == terms.len() || identity.right && vanishes[i + 1..].iter().all(|&v| v))
            })
            .collect();
        match kept[..] {
            [] => None,
            [i] => {
                let (node, _) = self.compile(terms[i], top, &mut bound.clone());
                Some(Collapse::Unique { node, arg: CollapseArg::Var(i) })
            }
            _ => Some(Collapse::Any),
        }
    }
}

/// Extends a path depth first; the first longest one found is kept.
fn longest_path(edges: &[Vec<usize>], path: &mut Vec<usize>, longest: &mut Vec<usize>) {
    if path.len() > longest.len() {
        longest.clone_from(path);
    }
    for &next in &edges[path[path.len() - 1]] {
        if longest.len() == edges.len() {
            return;
        }
        if !path.contains(&next) {
            path.push(next);
            longest_path(edges, path, longest);
            path.pop();
        }
    }
}
