//! A module made from its declarations without a parser, and its built-ins applied to arguments.

use std::fmt::Write as _;

use rwl::base::{Cancel, Name, Span, literal};
use rwl::builtin::{Builtin, BuiltinState, Cx};
use rwl::sorts::{
    Axioms, Hooks, KindId, Node, OpDecl, OpId, Operator, Signature, SortId, SortPoset, Special, Tree,
};
use rwl::term::{Class, Heap, Layout, Symbols, Term};

use crate::arguments::Arg;

/// A module with its operators and a heap of its terms.
pub struct World {
    sig: Signature,
    sy: Symbols,
    heap: Heap,
    state: BuiltinState,
}

impl World {
    pub fn new(module: &str) -> World {
        let lines = || module.lines().filter_map(|line| line.split_once(' '));
        let mut sorts = SortPoset::default();
        for (_, names) in lines().filter(|l| l.0 == "sort") {
            names.split(' ').for_each(|name| {
                sorts.declare(Name::new(name));
            });
        }
        for (_, rest) in lines().filter(|l| l.0 == "subsort") {
            let (subs, sup) = rest.split_once(" < ").unwrap();
            let sup = sorts.find(Name::new(sup)).unwrap();
            for sub in subs.split(' ') {
                sorts.declare_subsort(sorts.find(Name::new(sub)).unwrap(), sup);
            }
        }
        sorts.close().unwrap();
        let mut sig = Signature::new(sorts);
        for (_, rest) in lines().filter(|l| l.0 == "op") {
            World::declare(&mut sig, rest);
        }
        let sy = Symbols::new(&sig);
        World { sig, sy, heap: Heap::new(), state: BuiltinState::new(0) }
    }

    fn declare(sig: &mut Signature, line: &str) {
        let (name, rest) = line.split_once(" : ").unwrap();
        let (profile, special) = rest.split_once(" | ").map_or((rest, None), |(p, s)| (p, Some(s)));
        let (domain, range) = profile.split_once("-> ").unwrap();
        let find = |name: &str| match name.strip_prefix('[') {
            Some(sort) => {
                let sort = sig.sorts.find(Name::new(sort.trim_end_matches(']'))).unwrap();
                sig.sorts.kind(sig.sorts.kind_of(sort)).error()
            }
            None => sig.sorts.find(Name::new(name)).unwrap(),
        };
        let domain: Vec<SortId> = domain.split_whitespace().map(find).collect();
        let range = find(range);
        let kinds: Vec<KindId> = domain.iter().map(|&s| sig.sorts.kind_of(s)).collect();
        let decl = OpDecl { domain, range, ctor: false, metadata: None, span: Span::default() };
        let name = Name::new(name);
        let range = sig.sorts.kind_of(range);
        let id = match sig.find(name, &kinds, range) {
            Some(id) => {
                sig.op_mut(id).decls.push(decl);
                id
            }
            None => sig.add(Operator {
                name,
                domain: kinds,
                range,
                decls: vec![decl],
                axioms: Axioms { assoc: name.as_str() == "__", ..Axioms::default() },
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
            }),
        };
        let Some(special) = special else { return };
        // The operator `_|_` is its own separator.
        let (hook, hooks) = special.rsplit_once(" | ").unwrap_or((special, ""));
        let mut words = hook.split(' ');
        let hook = Name::new(words.next().unwrap());
        let (mut ops, mut terms) = (Vec::new(), Vec::new());
        let constant = |sig: &Signature, name: &str| {
            let op = sig.named(Name::new(name))[0];
            Tree::leaf(Node::App { op, arity: 0 }, Span::default())
        };
        for item in hooks.split_whitespace() {
            if item == "truth" {
                terms.push((Name::new("trueTerm"), constant(sig, "true")));
                terms.push((Name::new("falseTerm"), constant(sig, "false")));
            } else if let Some((name, value)) = item.split_once('=') {
                terms.push((Name::new(name), constant(sig, value)));
            } else {
                let target = match item {
                    "succSymbol" => "SuccSymbol",
                    "minusSymbol" => "MinusSymbol",
                    "divisionSymbol" => "DivisionSymbol",
                    "floatSymbol" => "FloatSymbol",
                    "stringSymbol" => "StringSymbol",
                    "quotedIdentifierSymbol" => "QuotedIdentifierSymbol",
                    _ => "",
                };
                let op = match item {
                    "decFloatSymbol" => sig.named(Name::new("<_`,_`,_>")).first().copied(),
                    "nilQidListSymbol" => sig.named(Name::new("nil")).first().copied(),
                    "qidListSymbol" => sig.named(Name::new("__")).first().copied(),
                    "minusSymbol" if hook.as_str() == "MinusSymbol" => Some(id),
                    _ => sig.with_hook(target),
                };
                ops.push((Name::new(item), op.expect("hooked operators are declared before")));
            }
        }
        let op = sig.op_mut(id);
        match hook.as_str() {
            "ACU_NumberOpSymbol" => (op.axioms.assoc, op.axioms.comm) = (true, true),
            "CUI_NumberOpSymbol" => op.axioms.comm = true,
            "SuccSymbol" => op.axioms.iter = true,
            _ => {}
        }
        match &mut op.special {
            Some(special) => {
                let special = std::sync::Arc::make_mut(special);
                special.ops.extend(ops);
                special.terms.extend(terms);
            }
            None => {
                let data = words.map(Name::new).collect();
                op.special = Some(std::sync::Arc::new(Special { hook, data, more: Vec::new(), ops, terms }));
            }
        }
    }

    fn term(&mut self, arg: &Arg) -> Term {
        match arg {
            Arg::Int(n) => self.heap.int(&self.sy, n).expect("a number of this module"),
            Arg::Rat(n, d) => {
                let n = self.heap.int(&self.sy, n).unwrap();
                let d = self.heap.nat(&self.sy, d);
                let division = self.sig.with_hook("DivisionSymbol").unwrap();
                self.heap.apply(&self.sy, division.0, &[n, d])
            }
            Arg::Float(x) => self.heap.float(&self.sy, *x),
            Arg::Str(text) => self.heap.string(&self.sy, text),
            Arg::Qid(name) => self.heap.qid(&self.sy, Name::new(name)),
            Arg::Qids(names) => {
                let qids: Vec<Term> =
                    names.iter().map(|name| self.heap.qid(&self.sy, Name::new(name))).collect();
                let constant = |name: &str| self.sig.named(Name::new(name))[0].0;
                match qids.is_empty() {
                    true => Term::constant(constant("nil")),
                    false => self.heap.list(&self.sy, constant("__"), &qids),
                }
            }
            Arg::Alien(count, name) => {
                let base = Term::constant(self.sig.named(Name::new(name))[0].0);
                let count = rwl::term::Int::Small(*count);
                self.heap.iterate(&self.sy, self.sy.numbers.succ, &count, base)
            }
        }
    }

    /// Evaluates as an engine would: until nothing changes. Gives the number of steps.
    pub fn reduce(&mut self, op: &str, args: &[Arg]) -> (usize, Term) {
        let args: Vec<Term> = args.iter().map(|arg| self.term(arg)).collect();
        let kind = |t: Term| {
            let sym = self.heap.sym(&self.sy, t);
            self.sy.info[sym as usize].kind
        };
        let fits = |&&id: &&OpId| {
            let op = self.sig.op(id);
            op.domain.first() == args.first().map(|&t| kind(t)).as_ref()
                && (op.axioms.assoc || op.arity() == args.len())
        };
        let id = *self.sig.named(Name::new(op)).iter().find(fits).expect("an operator for these arguments");
        let builtin = Builtin::new(&self.sig, &self.sy, id).expect("a built-in");
        let cancel = Cancel::default();
        let mut cx = Cx { heap: &mut self.heap, sy: &self.sy, state: &mut self.state, cancel: &cancel };
        let first = if self.sy.class(id.0) == Class::AssocComm {
            let mut pairs: Vec<(Term, u32)> = args.iter().map(|&t| (t, 1)).collect();
            cx.heap.normalize_pairs(cx.sy, &mut pairs);
            let bag = builtin.eval_bag(&mut cx, &pairs);
            let list = builtin.eval(&mut cx, &args);
            match (bag, list) {
                (Some(bag), Some(list)) => {
                    assert!(cx.heap.equal(cx.sy, bag, list), "{op} as list and as bag")
                }
                (bag, list) => assert_eq!(bag, list, "{op} as list and as bag"),
            }
            bag
        } else {
            builtin.eval(&mut cx, &args)
        };
        let Some(mut result) = first else {
            return (0, self.heap.apply(&self.sy, id.0, &args));
        };
        let mut steps = 1;
        while result.is_node()
            && self.heap.layout(result) == 2
            && self.sy.class(self.heap.sym(&self.sy, result)) == Class::Free
        {
            let top = OpId(self.heap.sym(&self.sy, result));
            let args = self.heap.args(result).to_vec();
            let mut cx = Cx { heap: &mut self.heap, sy: &self.sy, state: &mut self.state, cancel: &cancel };
            let next = Builtin::new(&self.sig, &self.sy, top).and_then(|b| b.eval(&mut cx, &args));
            let Some(next) = next else { break };
            result = next;
            steps += 1;
        }
        (steps, result)
    }

    /// `Sort: term`, without mixfix syntax.
    pub fn print(&self, t: Term) -> String {
        let sym = self.heap.sym(&self.sy, t);
        let kind = self.sy.info[sym as usize].kind;
        let sort = self.sig.sorts.at(kind, self.heap.sort(&self.sy, t));
        let mut text = format!("{}: ", self.sig.sorts.name(sort));
        self.print_term(t, &mut text);
        text
    }

    fn print_term(&self, t: Term, text: &mut String) {
        if let Some(n) = self.heap.to_int(&self.sy, t) {
            return write!(text, "{n}").unwrap();
        }
        let sym = self.heap.sym(&self.sy, t);
        if t.is_node() && self.heap.layout(t) == Layout::Raw as u32 {
            return match sym {
                _ if sym == self.sy.string => text.push_str(&literal::escape(self.heap.bytes(t))),
                _ if sym == self.sy.float => text.push_str(&literal::print_float(self.heap.float_value(t))),
                _ => write!(text, "'{}", self.heap.qid_name(t)).unwrap(),
            };
        }
        let op = self.sig.op(OpId(sym));
        let mut args = Vec::new();
        match self.sy.class(sym) {
            _ if t.is_constant() => return text.push_str(op.name.as_str()),
            Class::AssocComm => {
                let mut pairs = Vec::new();
                self.heap.bag_pairs(t, &mut pairs);
                pairs.iter().for_each(|&(t, m)| args.extend((0..m).map(|_| t)));
                text.push_str(op.name.as_str());
            }
            Class::Iter => {
                let (count, base) = self.heap.iter_parts(t);
                let count = count.to_big();
                args.push(base);
                match count.to_string().as_str() {
                    "1" => text.push_str("s_"),
                    count => write!(text, "s_^{count}").unwrap(),
                }
            }
            _ => {
                args.extend(self.heap.args(t));
                if op.special.as_ref().is_some_and(|s| s.hook.as_str() == "DivisionSymbol") {
                    self.print_term(args[0], text);
                    text.push('/');
                    return self.print_term(args[1], text);
                }
                text.push_str(op.name.as_str());
            }
        }
        text.push('(');
        for (i, &arg) in args.iter().enumerate() {
            text.push_str(if i == 0 { "" } else { ", " });
            self.print_term(arg, text);
        }
        text.push(')');
    }
}
