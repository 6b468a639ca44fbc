//! Small signatures as data: as text for Maude and as a signature for us; terms over them.

use rwl::base::{Name, Span};
use rwl::sorts::{
    Axioms, Hooks, Identity, IdentitySide, Node, OpDecl, OpId, Operator, Signature, SortId, SortPoset, Tree,
    Var,
};
use rwl::term::{Heap, Symbols, Term, VarOrder};

/// A term: an operator or a variable, by number.
#[derive(Clone, Debug, PartialEq)]
pub enum T {
    App(usize, Vec<T>),
    Var(usize),
}

pub struct Op {
    pub name: &'static str,
    /// Declarations, as in `"S S -> S"`.
    pub decls: &'static [&'static str],
    /// As in `"assoc comm id: e"`.
    pub attrs: &'static str,
}

pub struct World {
    pub ops: Vec<Op>,
    pub sorts: Vec<&'static str>,
    subsorts: Vec<(&'static str, &'static str)>,
    /// (name, sort).
    pub vars: Vec<(String, &'static str)>,
    pub sig: Signature,
    pub sy: Symbols,
}

const VARS_PER_SORT: usize = 3;

impl World {
    pub fn new(sorts: &[&'static str], subsorts: &[(&'static str, &'static str)], ops: Vec<Op>) -> World {
        let mut poset = SortPoset::default();
        for sort in sorts {
            poset.declare(Name::new(sort));
        }
        for (a, b) in subsorts {
            let (a, b) = (poset.declare(Name::new(a)), poset.declare(Name::new(b)));
            poset.declare_subsort(a, b);
        }
        poset.close().expect("no cycles");
        let mut sig = Signature::new(poset);
        for op in &ops {
            let decls: Vec<OpDecl> = op
                .decls
                .iter()
                .map(|decl| {
                    let (domain, range) = decl.split_once("->").expect("an arrow");
                    let sort = |s: &str| sig.sorts.find(Name::new(s.trim())).expect("declared");
                    OpDecl {
                        domain: domain.split_whitespace().map(sort).collect(),
                        range: sort(range),
                        ctor: false,
                        metadata: None,
                        span: Span::default(),
                    }
                })
                .collect();
            let words: Vec<&str> = op.attrs.split_whitespace().collect();
            let has = |w: &str| words.contains(&w);
            let identity = words.iter().position(|w| *w == "id:").map(|at| {
                let side = match () {
                    _ if has("left") => IdentitySide::Left,
                    _ if has("right") => IdentitySide::Right,
                    _ => IdentitySide::Both,
                };
                let id = sig.named(Name::new(words[at + 1]))[0];
                Identity { side, term: Tree::leaf(Node::App { op: id, arity: 0 }, Span::default()) }
            });
            let kind = |s: &SortId| sig.sorts.kind_of(*s);
            let operator = Operator {
                name: Name::new(op.name),
                domain: decls[0].domain.iter().map(kind).collect(),
                range: kind(&decls[0].range),
                decls,
                axioms: Axioms {
                    assoc: has("assoc"),
                    comm: has("comm"),
                    idem: has("idem"),
                    iter: has("iter"),
                    identity: identity.map(Box::new),
                },
                prec: None,
                gather: None,
                format: None,
                strat: None,
                memo: false,
                frozen: Vec::new(),
                special: None,
                poly: None,
                hooks: Hooks::default(),
                own: true,
            };
            sig.add(operator);
        }
        let sy = Symbols::new(&sig);
        let vars = sorts
            .iter()
            .flat_map(|sort| (0..VARS_PER_SORT).map(move |i| (format!("q{i}{sort}"), *sort)))
            .collect();
        World { ops, sorts: sorts.to_vec(), subsorts: subsorts.to_vec(), vars, sig, sy }
    }

    /// The module's text without `endm`. A first equation fixes the order of variables.
    pub fn text(&self, module: &str) -> String {
        let mut text = format!("mod {module} is\n  sorts {} .\n", self.sorts.join(" "));
        for (a, b) in &self.subsorts {
            text += &format!("  subsort {a} < {b} .\n");
        }
        for op in &self.ops {
            for decl in op.decls {
                let frozen = if decl.trim_start().starts_with("->") { "" } else { "frozen" };
                text += &format!("  op {} : {decl} [{} {frozen}] .\n", op.name, op.attrs).replace("[ ]", "");
            }
        }
        for (name, sort) in &self.vars {
            text += &format!("  var {name} : {sort} .\n");
        }
        let top = self.sorts.last().expect("some");
        text += &format!("  op dummy : {} -> {top} .\n", self.sorts.join(" "));
        let first: Vec<String> = self.sorts.iter().map(|sort| format!("q0{sort}")).collect();
        text + &format!("  eq dummy({}) = dummy({}) [nonexec] .\n", first.join(","), first.join(","))
    }

    pub fn op(&self, name: &str) -> usize {
        self.ops.iter().position(|op| op.name == name).expect("declared")
    }

    pub fn is_assoc(&self, op: usize) -> bool {
        self.ops[op].attrs.contains("assoc")
    }

    pub fn arity(&self, op: usize) -> usize {
        self.sig.op(OpId(op as u32)).arity()
    }

    pub fn var(&self, v: usize) -> Var {
        let (name, sort) = &self.vars[v];
        Var { name: Name::new(name), sort: self.sig.sorts.find(Name::new(sort)).expect("declared") }
    }

    pub fn slot(&self, var: Var) -> u16 {
        self.vars.iter().position(|(name, _)| *name == var.name.as_str()).expect("declared") as u16
    }

    pub fn show(&self, t: &T) -> String {
        match t {
            T::Var(v) => self.vars[*v].0.clone(),
            T::App(op, args) if args.is_empty() => self.ops[*op].name.to_string(),
            T::App(op, args) => {
                let args: Vec<String> = args.iter().map(|arg| self.show(arg)).collect();
                format!("{}({})", self.ops[*op].name, args.join(", "))
            }
        }
    }

    pub fn tree(&self, t: &T) -> Tree {
        let mut tree = Tree::default();
        self.push(t, &mut tree);
        tree
    }

    fn push(&self, t: &T, tree: &mut Tree) {
        match t {
            T::Var(v) => tree.push(Node::Var(self.var(*v)), Span::default()),
            T::App(op, args) => {
                args.iter().for_each(|arg| self.push(arg, tree));
                let node = Node::App { op: OpId(*op as u32), arity: args.len() as u32 };
                tree.push(node, Span::default());
            }
        }
    }

    /// A heap with the identities in place.
    pub fn heap(&self) -> Heap {
        let mut heap = Heap::new();
        heap.consts = vec![Term::NONE; self.sy.identities.len()];
        for (i, identity) in self.sy.identities.iter().enumerate() {
            heap.consts[i] = heap.build(&self.sy, self, identity);
        }
        heap
    }

    pub fn build(&self, heap: &mut Heap, t: &T) -> Term {
        heap.build(&self.sy, self, &self.tree(t))
    }

    /// A term as Maude prints it with `set print mixfix off`.
    pub fn print(&self, heap: &Heap, t: Term) -> String {
        let tree = heap.to_tree(&self.sy, t);
        let mut stack: Vec<String> = Vec::new();
        for node in tree.nodes() {
            let text = match node {
                Node::Var(var) => var.name.to_string(),
                Node::Iter { op, count } => {
                    let name = &self.ops[op.index()].name;
                    let base = stack.pop().expect("post-order");
                    if count.to_string() == "1" {
                        format!("{name}({base})")
                    } else {
                        format!("{name}^{count}({base})")
                    }
                }
                node => {
                    let name = self.ops[node.op().expect("an operator").index()].name;
                    let args = stack.split_off(stack.len() - node.arity());
                    if args.is_empty() { name.to_string() } else { format!("{name}({})", args.join(", ")) }
                }
            };
            stack.push(text);
        }
        stack.pop().expect("a root")
    }
}

impl VarOrder for World {
    fn sort_order(&self, sort: SortId) -> u32 {
        let name = self.sig.sorts.name(sort);
        self.sorts.iter().position(|s| *s == name.as_str()).expect("declared") as u32
    }
    fn name_order(&self, name: Name) -> u32 {
        self.vars.iter().position(|(n, _)| *n == name.as_str()).expect("declared") as u32
    }
    fn sort_index(&self, sort: SortId) -> u32 {
        self.sig.sorts.get(sort).index
    }
}

/// Elements and collectors, one collector sort.
pub fn plain() -> World {
    let op = |name, decls, attrs| Op { name, decls, attrs };
    World::new(
        &["E", "S"],
        &[("E", "S")],
        vec![
            op("a", &["-> E"], ""),
            op("b", &["-> E"], ""),
            op("c", &["-> E"], ""),
            op("e", &["-> S"], ""),
            op("f", &["S -> E"], ""),
            op("h", &["E -> E"], ""),
            op("g", &["S S -> E"], ""),
            op("cm", &["S S -> S"], "comm"),
            op("ac", &["S S -> S"], "assoc comm"),
            op("acu", &["S S -> S"], "assoc comm id: e"),
            op("as", &["S S -> S"], "assoc"),
            op("au", &["S S -> S"], "assoc id: e"),
            op("it", &["S -> E"], "iter"),
            op("w", &["S -> S"], ""),
            op("r0", &["-> S"], ""),
            op("r1", &["S -> S"], ""),
            op("r2", &["S S -> S"], ""),
            op("r3", &["S S S -> S"], ""),
            op("r4", &["S S S S -> S"], ""),
            op("r5", &["S S S S S -> S"], ""),
            op("r6", &["S S S S S S -> S"], ""),
        ],
    )
}

/// Overloaded operators: pure, limit, bounded and unstructured sorts.
pub fn layered() -> World {
    let op = |name, decls, attrs| Op { name, decls, attrs };
    const LIST: &[&str] = &["L L -> L", "B B -> P", "N N -> N", "T T -> T"];
    World::new(
        &["A", "B", "E", "L", "P", "N", "T"],
        &[("A", "E"), ("B", "E"), ("A", "L"), ("L", "N"), ("E", "N"), ("P", "N"), ("N", "T")],
        vec![
            op("a", &["-> A"], ""),
            op("a'", &["-> A"], ""),
            op("b", &["-> B"], ""),
            op("b'", &["-> B"], ""),
            op("n", &["-> N"], ""),
            op("e", &["-> T"], ""),
            op("f", &["T -> E"], ""),
            op("h", &["E -> A"], ""),
            op("g", &["T T -> B"], ""),
            op("cm", &["T T -> T"], "comm"),
            op("ac", LIST, "assoc comm"),
            op("acu", LIST, "assoc comm id: e"),
            op("as", LIST, "assoc"),
            op("au", LIST, "assoc id: e"),
            op("it", &["T -> E"], "iter"),
            op("w", &["T -> T"], ""),
            op("r0", &["-> T"], ""),
            op("r1", &["T -> T"], ""),
            op("r2", &["T T -> T"], ""),
            op("r3", &["T T T -> T"], ""),
            op("r4", &["T T T T -> T"], ""),
            op("r5", &["T T T T T -> T"], ""),
            op("r6", &["T T T T T T -> T"], ""),
        ],
    )
}

/// Axiom combinations whose order is not fully known.
pub fn strange() -> World {
    let op = |name, decls, attrs| Op { name, decls, attrs };
    World::new(
        &["E", "S"],
        &[("E", "S")],
        vec![
            op("a", &["-> E"], ""),
            op("b", &["-> E"], ""),
            op("e", &["-> S"], ""),
            op("o", &["-> E"], ""),
            op("f", &["S -> E"], ""),
            op("g", &["S S -> E"], ""),
            op("cm", &["S S -> S"], "comm"),
            op("ci", &["S S -> S"], "comm idem"),
            op("cu", &["S S -> S"], "comm id: e"),
            op("cui", &["S S -> S"], "comm idem id: e"),
            op("id", &["S S -> S"], "idem"),
            op("ul", &["S S -> S"], "left id: e"),
            op("ur", &["S S -> S"], "right id: e"),
            op("uu", &["S S -> S"], "id: o"),
            op("acu", &["S S -> S"], "assoc comm id: e"),
            op("acv", &["S S -> S"], "assoc comm id: o"),
            op("ac", &["S S -> S"], "assoc comm"),
            op("as", &["S S -> S"], "assoc"),
            op("au", &["S S -> S"], "assoc id: e"),
            op("av", &["S S -> S"], "assoc id: o"),
            op("al", &["S S -> S"], "assoc left id: e"),
            op("ar", &["S S -> S"], "assoc right id: e"),
            op("it", &["S -> E"], "iter"),
            op("w", &["S -> S"], ""),
            op("r0", &["-> S"], ""),
            op("r1", &["S -> S"], ""),
            op("r2", &["S S -> S"], ""),
            op("r3", &["S S S -> S"], ""),
            op("r4", &["S S S S -> S"], ""),
            op("r5", &["S S S S S -> S"], ""),
            op("r6", &["S S S S S S -> S"], ""),
        ],
    )
}
