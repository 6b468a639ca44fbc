//! The whole term around a redex, for `set trace whole on`.
//!
//! The machine never builds redexes, so there is no whole term to look at while it works. What Maude
//! would show is made from the events: a graph of cells that is rewritten in place as Maude's is,
//! with its sharing. An event says which redex is replaced; the cell is the first one, in the order
//! of evaluation, that is equal to it. Cells before it are normal forms from then on. Conditions have
//! graphs of their own. Where no cell is found, the redex itself is shown as the whole.

use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};

use super::matching::normalize;
use crate::base::Span;
use crate::module::Fragment;
use crate::sorts::{Node, OpId, Tree, Var};
use crate::term::{Class, normalize_levels};
use crate::theory::Theory;

/// A cell's number.
type Id = usize;

#[derive(Clone, Debug)]
struct Cell {
    node: Node,
    args: Vec<Id>,
    is_normal: bool,
}

/// A variable's value, and whether it is a normal form.
pub type Value = (Var, Tree, bool);

/// Terms that belong to one evaluation: a command's, or the sides of a fragment of a condition.
#[derive(Clone, Debug, Default)]
struct Context {
    roots: Vec<Id>,
    /// Which of the roots is being evaluated.
    at: usize,
    /// The state whose successors are sought, if someone looks for all of them.
    state: Option<Tree>,
    /// Where rules are being tried.
    path: Vec<usize>,
}

/// A conditional statement that is being tried.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// One for each fragment that has been solved, or is being solved.
    contexts: Vec<Context>,
    /// Where the cells of each fragment end in `built`.
    ends: Vec<usize>,
    built: Built,
}

/// Which cells there are for subterms of a statement: equal ones are built once, those that are
/// evaluated and those that are not apart.
type Built = Vec<(Tree, bool, Id)>;

/// The terms of a command and of the conditions that are being solved.
#[derive(Default)]
pub struct Whole {
    cells: Vec<Cell>,
    base: Context,
    trials: Vec<Trial>,
    /// What the condition that succeeded last has built: the right-hand side shares it.
    built: Built,
    /// With so many cells, those that are no longer used are dropped.
    limit: usize,
}

/// What one step did to the whole.
pub struct Change {
    pub old: Tree,
    pub new: Tree,
    pub redex: Tree,
    pub contractum: Tree,
}

/// What a step puts in the redex's place.
pub enum Contractum<'a> {
    /// A computed value.
    Value(&'a Tree),
    /// An instance of a right-hand side, with what an extension left.
    Instance { rhs: &'a Tree, values: &'a [Value], rest: Rest, is_conditional: bool },
}

/// What an extension left.
pub enum Rest {
    Nothing,
    /// Elements before and after the contractum.
    Around([Vec<Tree>; 2]),
    /// An iterated operator, so many times around it.
    Times(BigUint),
}

impl Whole {
    /// A command's term, or one that it looks at.
    pub fn start(&mut self, theory: &Theory, tree: &Tree) {
        let tree = normalize_levels(&theory.symbols, &*theory.names, tree);
        let root = self.instance(theory, &tree, &[], &mut Vec::new());
        *self.context() = Context { roots: vec![root], ..Context::default() };
    }

    /// Rules are going to be tried on a term; `each_alone` if each begins with this same term.
    pub fn explore(&mut self, state: Tree, each_alone: bool) {
        let roots = vec![self.import(&state, true)];
        let state = each_alone.then_some(state);
        *self.context() = Context { roots, state, ..Context::default() };
    }

    /// Rules are going to be tried at a position of it.
    pub fn visit(&mut self, path: &[usize]) {
        path.clone_into(&mut self.context().path);
    }

    pub fn try_condition(&mut self, trial: Trial) {
        self.trials.push(trial);
    }

    /// A fragment of the condition that is being tried.
    pub fn solve(&mut self, theory: &Theory, number: usize, fragment: &Fragment, values: &[Value]) {
        let Some(mut trial) = self.trials.pop() else { return };
        trial.contexts.truncate(number);
        trial.ends.truncate(number);
        trial.built.truncate(trial.ends.last().copied().unwrap_or(0));
        let trees = match fragment {
            Fragment::Equal(left, right) => vec![left, right],
            Fragment::Sort(term, _) | Fragment::Match(_, term) | Fragment::Rewrite(term, _) => vec![term],
        };
        let levels = |tree: &Tree| normalize_levels(&theory.symbols, &*theory.names, tree);
        let roots =
            trees.into_iter().map(|tree| self.instance(theory, &levels(tree), values, &mut trial.built));
        let roots = roots.collect();
        trial.contexts.push(Context { roots, ..Context::default() });
        trial.ends.push(trial.built.len());
        self.trials.push(trial);
    }

    /// More solutions of a fragment are sought.
    pub fn solve_again(&mut self, number: usize) {
        if let Some(trial) = self.trials.last_mut() {
            trial.contexts.truncate(number + 1);
            trial.ends.truncate(number + 1);
            trial.built.truncate(trial.ends.last().copied().unwrap_or(0));
        }
    }

    /// The trial is over.
    pub fn end_trial(&mut self) -> Trial {
        let trial = self.trials.pop().unwrap_or_default();
        self.built = trial.built.clone();
        trial
    }

    /// The whole term as it is.
    pub fn now(&mut self) -> Option<Tree> {
        let context = self.context();
        let root = *context.roots.get(context.at)?;
        Some(self.tree(root))
    }

    /// A redex is replaced by evaluation.
    pub fn reduce(&mut self, theory: &Theory, redex: &Tree, contractum: &Contractum) -> Change {
        self.drop_unused();
        let new = self.contractum(theory, redex, contractum);
        let place = self.locate(theory, redex);
        let shown = match place {
            Some(id) if !is_ordered_late(theory, contractum, redex) => {
                let normal = self.import(redex, true);
                self.overwrite(id, normal);
                redex.clone()
            }
            Some(id) => self.tree(id),
            None => redex.clone(),
        };
        self.replace(place, shown, new)
    }

    /// A rule is applied to a redex.
    pub fn rewrite(&mut self, theory: &Theory, redex: &Tree, contractum: &Contractum) -> Change {
        self.drop_unused();
        let new = self.contractum(theory, redex, contractum);
        if let Some(state) = self.context().state.clone() {
            let root = self.import(&state, true);
            let context = self.context();
            (context.roots, context.at) = (vec![root], 0);
        }
        let (place, above) = self.place(theory, redex).unzip();
        let change = self.replace(place, redex.clone(), new);
        self.stir(theory, place, &above.unwrap_or_default());
        let whole = place.and_then(|_| self.now());
        Change { new: whole.unwrap_or(change.new), ..change }
    }

    fn replace(&mut self, place: Option<Id>, redex: Tree, new: Id) -> Change {
        let contractum = self.tree(new);
        let whole = place.and_then(|_| self.now());
        let old = whole.unwrap_or_else(|| redex.clone());
        if let Some(id) = place {
            self.overwrite(id, new);
        }
        let whole = place.and_then(|_| self.now());
        let new = whole.unwrap_or_else(|| contractum.clone());
        Change { old, new, redex, contractum }
    }

    fn context(&mut self) -> &mut Context {
        match self.trials.last_mut() {
            Some(Trial { contexts, .. }) => {
                if contexts.is_empty() {
                    contexts.push(Context::default());
                }
                contexts.last_mut().expect("there is one")
            }
            None => &mut self.base,
        }
    }

    fn add(&mut self, node: Node, args: Vec<Id>, is_normal: bool) -> Id {
        self.cells.push(Cell { node, args, is_normal });
        self.cells.len() - 1
    }

    fn overwrite(&mut self, id: Id, by: Id) {
        self.cells[id] = self.cells[by].clone();
    }

    /// Cells for a term, nothing shared.
    fn import(&mut self, tree: &Tree, is_normal: bool) -> Id {
        let mut stack: Vec<Id> = Vec::new();
        for node in tree.nodes() {
            let args = stack.split_off(stack.len() - node.arity());
            let id = self.add(node.clone(), args, is_normal);
            stack.push(id);
        }
        stack.pop().expect("a tree has a root")
    }

    /// Cells for an instance of a term.
    fn instance(&mut self, theory: &Theory, tree: &Tree, values: &[Value], built: &mut Built) -> Id {
        let eager = theory.eager_places(tree);
        let mut stack: Vec<Id> = Vec::new();
        for (at, node) in tree.nodes().iter().enumerate() {
            let args = stack.split_off(stack.len() - node.arity());
            let same = |(known, is_eager, _): &&(Tree, bool, Id)| {
                *is_eager == eager[at] && tree.same(at, known, known.root())
            };
            if let Some(&(_, _, id)) = built.iter().find(same) {
                stack.push(id);
                continue;
            }
            let value = match node {
                Node::Var(var) => values.iter().find(|(v, ..)| v == var),
                _ => None,
            };
            let id = match value {
                Some((_, value, is_normal)) => self.import(value, *is_normal),
                None => self.add(node.clone(), args, false),
            };
            built.push((tree.subtree(at), eager[at], id));
            stack.push(id);
        }
        stack.pop().expect("a tree has a root")
    }

    fn contractum(&mut self, theory: &Theory, redex: &Tree, contractum: &Contractum) -> Id {
        match contractum {
            Contractum::Value(tree) => self.import(&numbers_last(theory, redex, tree), false),
            Contractum::Instance { rhs, values, rest, is_conditional } => {
                let mut built = if *is_conditional { std::mem::take(&mut self.built) } else { Vec::new() };
                let rhs = normalize_levels(&theory.symbols, &*theory.names, rhs);
                let id = self.instance(theory, &rhs, values, &mut built);
                let Some(op) = redex.node(redex.root()).op() else { return id };
                match rest {
                    Rest::Nothing => id,
                    Rest::Times(count) => self.add(Node::Iter { op, count: count.clone() }, vec![id], false),
                    Rest::Around([before, after]) => {
                        let mut args: Vec<Id> = before.iter().map(|tree| self.import(tree, true)).collect();
                        args.push(id);
                        for tree in after {
                            args.push(self.import(tree, true));
                        }
                        match args.len() as u32 {
                            1 => id,
                            arity => self.add(Node::App { op, arity }, args, false),
                        }
                    }
                }
            }
        }
    }

    fn tree(&self, root: Id) -> Tree {
        let mut tree = Tree::default();
        let mut work = vec![(root, false)];
        while let Some((id, is_open)) = work.pop() {
            let cell = &self.cells[id];
            if is_open || cell.args.is_empty() {
                tree.push(cell.node.clone(), Span::default());
                continue;
            }
            work.push((id, true));
            work.extend(cell.args.iter().rev().map(|&arg| (arg, false)));
        }
        tree
    }

    /// The cell that evaluation reaches when it replaces a redex. Those before it become normal.
    fn locate(&mut self, theory: &Theory, redex: &Tree) -> Option<Id> {
        let (mut passed, mut done) = (Vec::new(), FxHashSet::default());
        for (i, root) in self.context().roots.clone().into_iter().enumerate() {
            let mut work: Vec<(Id, usize)> = vec![(root, 0)];
            while let Some((id, step)) = work.pop() {
                if self.cells[id].is_normal || done.contains(&id) {
                    continue;
                }
                match next_step(theory, &self.cells[id].node, step) {
                    Some(Some(arg)) => {
                        work.push((id, step + 1));
                        work.push((self.cells[id].args[arg], 0));
                    }
                    Some(None) if self.is_equal(theory, id, redex) => {
                        self.context().at = i;
                        passed.into_iter().for_each(|id| self.settle(theory, id));
                        return Some(id);
                    }
                    Some(None) => work.push((id, step + 1)),
                    None => {
                        done.insert(id);
                        passed.push(id);
                    }
                }
            }
        }
        None
    }

    fn is_equal(&self, theory: &Theory, id: Id, redex: &Tree) -> bool {
        let op = |node: &Node| node.op();
        let root = &self.cells[id].node;
        let may = op(root) == op(redex.node(redex.root())) || has_axioms(theory, root);
        may && {
            let tree = self.tree(id);
            tree == *redex || normalize(theory, &tree) == normalize(theory, redex)
        }
    }

    /// Marks a cell as a normal form; modulo axioms it is one now.
    fn settle(&mut self, theory: &Theory, id: Id) {
        if has_axioms(theory, &self.cells[id].node) {
            let tree = self.tree(id);
            let normal = normalize(theory, &tree);
            if normal != tree {
                let by = self.import(&normal, true);
                self.overwrite(id, by);
            }
        }
        self.cells[id].is_normal = true;
    }

    /// The place where a rule meets a redex, and those above it, the root first.
    fn place(&mut self, theory: &Theory, redex: &Tree) -> Option<(Id, Vec<Id>)> {
        let path = self.context().path.clone();
        let mut at = *self.context().roots.first()?;
        let mut above = Vec::new();
        for arg in path {
            above.push(at);
            at = *self.cells[at].args.get(arg)?;
        }
        self.is_equal(theory, at, redex).then_some((at, above))
    }

    /// What is above a changed place will have to be evaluated again.
    fn stir(&mut self, theory: &Theory, place: Option<Id>, above: &[Id]) {
        let is_alone = self.context().state.is_some();
        let mut child = place;
        for &parent in above.iter().rev() {
            self.cells[parent].is_normal = false;
            if let Some(child) = child.filter(|_| is_alone) {
                self.move_last(theory, parent, child);
            }
            child = Some(parent);
        }
    }

    /// A changed element of a multiset comes last until the multiset is sorted again.
    fn move_last(&mut self, theory: &Theory, parent: Id, child: Id) {
        let is_bag = |op: OpId| theory.symbols.class(op.0) == Class::AssocComm;
        let cell = &mut self.cells[parent];
        if cell.node.op().is_some_and(is_bag)
            && let Some(at) = cell.args.iter().position(|&arg| arg == child)
        {
            let arg = cell.args.remove(at);
            cell.args.push(arg);
        }
    }

    fn drop_unused(&mut self) {
        if self.cells.len() < self.limit.max(1 << 16) {
            return;
        }
        let mut places: FxHashMap<Id, Id> = FxHashMap::default();
        let mut kept: Vec<Cell> = Vec::new();
        let Whole { cells, base, trials, built, .. } = self;
        let roots = |context: &Context| context.roots.clone();
        let mut work: Vec<Id> = roots(base);
        for trial in trials.iter() {
            work.extend(trial.contexts.iter().flat_map(roots));
            work.extend(trial.built.iter().map(|(.., id)| *id));
        }
        work.extend(built.iter().map(|(.., id)| *id));
        while let Some(id) = work.pop() {
            if let std::collections::hash_map::Entry::Vacant(place) = places.entry(id) {
                place.insert(kept.len());
                kept.push(cells[id].clone());
                work.extend(&cells[id].args);
            }
        }
        let contexts = trials.iter_mut().flat_map(|trial| trial.contexts.iter_mut());
        let ids = kept.iter_mut().flat_map(|cell| cell.args.iter_mut());
        ids.for_each(|id| *id = places[id]);
        contexts.chain([base]).flat_map(|context| context.roots.iter_mut()).for_each(|id| *id = places[id]);
        let lists = trials.iter_mut().map(|trial| &mut trial.built).chain([built]);
        lists.flat_map(|built| built.iter_mut()).for_each(|(.., id)| *id = places[id]);
        self.cells = kept;
        self.limit = 4 * self.cells.len();
    }
}

fn has_axioms(theory: &Theory, node: &Node) -> bool {
    let Some(op) = node.op() else { return false };
    let axioms = &theory.module.signature.op(op).axioms;
    axioms.assoc || axioms.comm || axioms.idem || axioms.iter || axioms.identity.is_some()
}

/// Step by step, which argument is evaluated (`Some(None)`: the top) and then nothing.
fn next_step(theory: &Theory, node: &Node, step: usize) -> Option<Option<usize>> {
    let arity = node.arity();
    let op = theory.module.signature.op(node.op()?);
    let declared = op.strat.as_deref();
    let function = &theory.functions[node.op()?.index()];
    if function.is_branch {
        // The test, then the chosen branch takes the operator's place; or all of them are evaluated.
        return match step {
            0 => Some(Some(0)),
            1 => Some(None),
            _ if step <= arity => Some(Some(step - 1)),
            _ if step == arity + 1 => Some(None),
            _ => None,
        };
    }
    match declared {
        // A strategy of an operator with axioms is for all arguments alike.
        Some(_) if function.joined => match () {
            () if function.is_lazy => (step == 0).then_some(None),
            () if step < arity => Some(Some(step)),
            () => (step == arity).then_some(None),
        },
        Some(declared) => declared.get(step).map(|&arg| (arg as usize).checked_sub(1)),
        None if step < arity => Some(Some(step)),
        None => (step == arity).then_some(None),
    }
}

/// Built-in functions look at commuting arguments before these are sorted.
fn is_ordered_late(theory: &Theory, contractum: &Contractum, redex: &Tree) -> bool {
    let is_pair = |op: OpId| theory.symbols.class(op.0) != Class::AssocComm;
    matches!(contractum, Contractum::Value(_)) && redex.node(redex.root()).op().is_some_and(is_pair)
}

/// Maude puts the number that it has calculated after the other arguments.
fn numbers_last(theory: &Theory, redex: &Tree, tree: &Tree) -> Tree {
    let root = tree.node(tree.root());
    let is_bag = |op: OpId| theory.symbols.class(op.0) == Class::AssocComm;
    if root.op() != redex.node(redex.root()).op() || !root.op().is_some_and(is_bag) {
        return tree.clone();
    }
    let zero = theory.symbols.numbers.zero;
    let is_number = |at: &usize| {
        let first = tree.node(tree.range(*at).start);
        tree.range(*at).len() <= 3 && first.op().is_some_and(|op| op.0 == zero)
    };
    let (numbers, others): (Vec<usize>, Vec<usize>) = tree.args(tree.root()).into_iter().partition(is_number);
    let mut out = Tree::default();
    others.into_iter().chain(numbers).for_each(|at| out.append(&tree.subtree(at)));
    out.push(root.clone(), Span::default());
    out
}
