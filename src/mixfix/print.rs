//! Printing terms and statements exactly as Maude does.
//!
//! Parentheses come from three sources: the argument's precedence against the bound of its
//! place; capture, where an operator that is open at an end could take a neighbour's argument
//! (`(a + b) - c` if `_+_` also gathers `b - c`); and disambiguation `(t).Sort`, where the name
//! alone does not tell the kind. A flattened argument list prints as nested to the right.
//!
//! Lines are not broken here: Maude wraps at blanks when it writes, and so does the report.

use std::fmt::Write;
use std::rc::Rc;

use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Vars;
use super::form::{ANY, Form, PREFIX, Piece, is_special};
use super::leaf::float;
use crate::base::Name;
use crate::module::{Equation, Fragment, Membership, PrintItem, Rule, StatementAttrs};
use crate::sorts::{KindId, Node, OpId, Signature, SortId, SortIx, Tree, Var};

/// The `set print ...` switches. The defaults are Maude's.
#[derive(Clone, Debug)]
pub struct PrintOptions<'a> {
    pub mixfix: bool,
    pub flat: bool,
    pub with_parens: bool,
    /// Variables with these names and sorts print without their sorts (`set print with aliases`).
    pub aliases: Option<&'a Vars>,
    pub number: bool,
    pub rat: bool,
    pub format: bool,
    pub color: bool,
    pub const_with_sorts: bool,
    /// In `(t).Sort` a sort of the operator's declaration stands, not the term's own: so Maude shows subjects.
    pub declared_sorts: bool,
    /// Operators whose arguments print as `...` (`print conceal f`, with `set print conceal on`).
    pub conceal: Option<&'a FxHashSet<Name>>,
}

impl Default for PrintOptions<'_> {
    fn default() -> Self {
        PrintOptions {
            mixfix: true,
            flat: true,
            with_parens: false,
            aliases: None,
            number: true,
            rat: true,
            format: true,
            color: false,
            const_with_sorts: false,
            declared_sorts: false,
            conceal: None,
        }
    }
}

/// The term as Maude prints it in a result.
pub fn print(sig: &Signature, tree: &Tree, options: &PrintOptions) -> String {
    let mut printer = Printer::new(sig, options);
    printer.term(tree);
    printer.out
}

/// `eq l = r [owise] .` as `show eqs` prints it, without indentation or newline.
pub fn print_equation(sig: &Signature, eq: &Equation, options: &PrintOptions) -> String {
    let mut printer = Printer::new(sig, options);
    printer.out.push_str(if eq.condition.is_empty() { "eq " } else { "ceq " });
    printer.term(&eq.lhs);
    printer.out.push_str(" = ");
    printer.term(&eq.rhs);
    printer.end_statement(&eq.condition, &eq.attrs);
    printer.out
}

/// `mb t : S .`
pub fn print_membership(sig: &Signature, mb: &Membership, options: &PrintOptions) -> String {
    let mut printer = Printer::new(sig, options);
    printer.out.push_str(if mb.condition.is_empty() { "mb " } else { "cmb " });
    printer.term(&mb.term);
    let _ = write!(printer.out, " : {}", sig.sorts.name(mb.sort));
    printer.end_statement(&mb.condition, &mb.attrs);
    printer.out
}

/// `rl l => r [label foo] .`
pub fn print_rule(sig: &Signature, rule: &Rule, options: &PrintOptions) -> String {
    let mut printer = Printer::new(sig, options);
    printer.out.push_str(if rule.condition.is_empty() { "rl " } else { "crl " });
    printer.term(&rule.lhs);
    printer.out.push_str(" => ");
    printer.term(&rule.rhs);
    printer.end_statement(&rule.condition, &rule.attrs);
    printer.out
}

/// `t = t' /\ ...`
pub fn print_condition(sig: &Signature, condition: &[Fragment], options: &PrintOptions) -> String {
    let mut printer = Printer::new(sig, options);
    printer.condition(condition);
    printer.out
}

/// ` [owise label foo]`, or nothing if there are none.
pub fn print_attributes(sig: &Signature, attrs: &StatementAttrs, options: &PrintOptions) -> String {
    let mut printer = Printer::new(sig, options);
    printer.attributes(attrs);
    printer.out
}

/// How an operator prints.
struct Look {
    form: Form,
    /// Another operator has this name and number of arguments,
    ad_hoc: bool,
    /// ... and the same argument kinds,
    domain: bool,
    /// ... or the same result kind.
    range: bool,
}

/// An operator beside a term that may take the term's last (or first) argument for itself: its
/// precedence, and the kind of its argument there.
type Capture = Option<(u8, KindId)>;

/// Where a term is printed.
#[derive(Clone, Copy)]
struct Context {
    bound: u8,
    left: Capture,
    right: Capture,
    /// Does the surrounding text tell the kind?
    known: bool,
}

enum Task {
    Term {
        at: u32,
        context: Context,
    },
    /// A flattened application without its first `skip` arguments.
    Tail {
        at: u32,
        args: Rc<[usize]>,
        skip: usize,
        context: Context,
    },
    Text(&'static str),
    Name(Name),
    Sort(SortId),
    /// A format word.
    Format(Name, bool),
}

struct Printer<'a> {
    sig: &'a Signature,
    options: &'a PrintOptions<'a>,
    looks: FxHashMap<OpId, Rc<Look>>,
    /// How many operators have each hook, counted when first asked for.
    hooks: FxHashMap<&'static str, usize>,
    indent: i64,
    out: String,
}

impl<'a> Printer<'a> {
    fn new(sig: &'a Signature, options: &'a PrintOptions<'a>) -> Printer<'a> {
        Printer {
            sig,
            options,
            looks: FxHashMap::default(),
            hooks: FxHashMap::default(),
            indent: 0,
            out: String::new(),
        }
    }

    fn look(&mut self, id: OpId) -> Rc<Look> {
        if let Some(look) = self.looks.get(&id) {
            return look.clone();
        }
        let op = self.sig.op(id);
        let mut look = Look { form: Form::new(self.sig, op), ad_hoc: false, domain: false, range: false };
        for &other in self.sig.named(op.name) {
            let it = self.sig.op(other);
            // Instances of a polymorphic operator only count among themselves.
            let comparable = it.poly.map(|p| p.template) == op.poly.map(|p| p.template);
            if other != id && comparable && it.arity() == op.arity() {
                look.ad_hoc = true;
                look.domain |= it.domain == op.domain;
                look.range |= it.range == op.range;
            }
        }
        if op.arity() == 0 && self.is_literal(op.name.as_str()) {
            look.domain = true;
        }
        let look = Rc::new(look);
        self.looks.insert(id, look.clone());
        look
    }

    /// Could this constant also be read as a literal?
    fn is_literal(&mut self, text: &str) -> bool {
        let rest = text.strip_prefix('-').unwrap_or(text);
        let positive = |t: &str| t.bytes().all(|b| b.is_ascii_digit()) && t.bytes().any(|b| b != b'0');
        let hook = match text.as_bytes().first() {
            Some(b'"') => "StringSymbol",
            Some(b'\'') => "QuotedIdentifierSymbol",
            Some(b'0'..=b'9' | b'-' | b'.' | b'I') => {
                if positive(rest) {
                    if rest == text { "SuccSymbol" } else { "MinusSymbol" }
                } else if rest.split_once('/').is_some_and(|(a, b)| positive(a) && positive(b)) {
                    "DivisionSymbol"
                } else if float(text).is_some() {
                    "FloatSymbol"
                } else {
                    return false;
                }
            }
            _ => return false,
        };
        self.hook_count(hook) > 0
    }

    /// How many operators have this hook.
    fn hook_count(&mut self, hook: &'static str) -> usize {
        if self.hooks.is_empty() {
            for (_, op) in self.sig.ops() {
                if let Some(special) = &op.special {
                    *self.hooks.entry(special.hook.as_str()).or_default() += 1;
                }
            }
            self.hooks.entry("").or_default();
        }
        self.hooks.get(hook).copied().unwrap_or(0)
    }

    fn term(&mut self, tree: &Tree) {
        if tree.is_empty() {
            return;
        }
        let context = Context { bound: ANY, left: None, right: None, known: false };
        let mut tasks = vec![Task::Term { at: tree.root() as u32, context }];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Term { at, context } => self.visit(tree, at as usize, context, &mut tasks),
                Task::Tail { at, args, skip, context } => {
                    self.application(tree, at as usize, (args, skip), context, &mut tasks)
                }
                Task::Text(text) => self.out.push_str(text),
                Task::Name(name) => self.out.push_str(name.as_str()),
                Task::Sort(sort) => {
                    let sort = self.qualifying_sort(sort);
                    let _ = write!(self.out, ").{}", self.sig.sorts.name(sort));
                }
                Task::Format(word, space) => self.format(word.as_str(), space),
            }
        }
    }

    /// The sort that tells which of several readings of an application is meant: its own, or where it has none the
    /// greatest that its operator's declarations give.
    fn telling_sort(&self, tree: &Tree, at: usize, op: OpId) -> SortId {
        let own = least_sort(self.sig, tree, at);
        let is_application = tree.node(at).arity() > 0;
        if !is_application || !self.options.declared_sorts && !self.sig.sorts.is_error(own) {
            return own;
        }
        let ranges = self.sig.op(op).decls.iter().map(|decl| decl.range);
        ranges.min_by_key(|&sort| self.sig.sorts.get(sort).index).unwrap_or(own)
    }

    /// The sort that stands for a kind in `(t).Sort`.
    fn qualifying_sort(&self, sort: SortId) -> SortId {
        if self.sig.sorts.is_error(sort) {
            let kind = self.sig.sorts.kind(self.sig.sorts.kind_of(sort));
            return kind.sorts.get(1).copied().unwrap_or(sort);
        }
        sort
    }

    /// Writes a format word; the usual blank stays unless the word has some other white space.
    fn format(&mut self, word: &str, space: bool) {
        let start = self.out.len();
        let mut blank = space;
        for c in word.chars() {
            match c {
                's' => self.out.push(' '),
                't' => self.out.push('\t'),
                'n' => self.out.push('\n'),
                'i' => self.out.extend(std::iter::repeat_n(' ', self.indent.max(0) as usize)),
                '+' => self.indent += 1,
                '-' => self.indent -= 1,
                _ if self.options.color => {
                    if let Some(code) = ansi(c) {
                        self.out.push_str(code);
                    }
                }
                _ => {}
            }
            blank &= !matches!(c, 's' | 't' | 'n') && (c != 'i' || self.indent <= 0);
        }
        if blank {
            self.out.insert(start, ' ');
        }
    }

    fn visit(&mut self, tree: &Tree, at: usize, context: Context, tasks: &mut Vec<Task>) {
        match tree.node(at) {
            Node::Var(var) => self.var(*var),
            Node::Str { text, .. } => {
                let mut quoted = String::new();
                quote(text, &mut quoted);
                self.literal(tree, at, &quoted, context.known);
            }
            Node::Qid { name, .. } => self.literal(tree, at, &format!("'{name}"), context.known),
            Node::Float { bits, .. } => {
                self.literal(tree, at, &float_text(f64::from_bits(*bits)), context.known)
            }
            Node::App { .. } => self.application(tree, at, (tree.args(at).into(), 0), context, tasks),
            Node::Iter { op, count } => {
                if let Some(text) = self.numeral(tree, at).filter(|_| self.options.number) {
                    self.literal(tree, at, &text, context.known);
                } else if *count == BigUint::from(1u32) {
                    self.application(tree, at, (tree.args(at).into(), 0), context, tasks);
                } else {
                    self.iterated(tree, at, *op, count, context, tasks);
                }
            }
        }
    }

    fn var(&mut self, var: Var) {
        self.out.push_str(var.name.as_str());
        let alias = self.options.aliases.is_some_and(|vars| vars.get(&var.name) == Some(&var.sort));
        if !alias {
            self.out.push(':');
            self.out.push_str(self.sig.sorts.name(var.sort).as_str());
        }
    }

    /// A literal, with its sort if a constant of the same name would be read as well.
    fn literal(&mut self, tree: &Tree, at: usize, text: &str, known: bool) {
        let same_name =
            |this: &Self| this.sig.named(Name::new(text)).iter().any(|&id| this.sig.op(id).arity() == 0);
        let hook = tree.node(at).op().map_or("", |op| self.hook(op));
        let ambiguous = !known && (self.hook_count(hook) > 1 || same_name(self));
        if ambiguous || self.options.const_with_sorts {
            let sort = self.qualifying_sort(least_sort(self.sig, tree, at));
            let _ = write!(self.out, "({text}).{}", self.sig.sorts.name(sort));
        } else {
            self.out.push_str(text);
        }
    }

    fn hook(&self, op: OpId) -> &'static str {
        self.sig.op(op).special.as_ref().map_or("", |s| s.hook.as_str())
    }

    /// `n` if the term is `s_^n(0)`.
    fn numeral(&self, tree: &Tree, at: usize) -> Option<String> {
        let Node::Iter { op, count } = tree.node(at) else { return None };
        let special = self.sig.op(*op).special.as_ref().filter(|s| s.hook.as_str() == "SuccSymbol")?;
        let (_, zero) = special.terms.iter().find(|(name, _)| name.as_str() == "zeroTerm")?;
        tree.same(at - 1, zero, zero.root()).then(|| count.to_string())
    }

    /// `-n`
    fn negative(&self, tree: &Tree, at: usize) -> Option<String> {
        match tree.node(at) {
            Node::App { op, arity: 1 } if self.hook(*op) == "MinusSymbol" => {
                Some(format!("-{}", self.numeral(tree, at - 1)?))
            }
            _ => None,
        }
    }

    /// `n/m` or `-n/m`
    fn fraction(&self, tree: &Tree, at: usize) -> Option<String> {
        match tree.node(at) {
            Node::App { op, arity: 2 } if self.options.rat && self.hook(*op) == "DivisionSymbol" => {
                let args = tree.args(at);
                let top = self.numeral(tree, args[0]).or_else(|| self.negative(tree, args[0]))?;
                Some(format!("{top}/{}", self.numeral(tree, args[1])?))
            }
            _ => None,
        }
    }

    /// Are the kinds of the arguments clear from the operator and what is known of its result?
    fn args_known(look: &Look, known: bool) -> bool {
        !look.ad_hoc || known && !look.range
    }

    fn iterated(
        &mut self,
        tree: &Tree,
        at: usize,
        op: OpId,
        count: &BigUint,
        context: Context,
        tasks: &mut Vec<Task>,
    ) {
        let look = self.look(op);
        let named = !context.known && look.domain;
        if named {
            self.out.push('(');
            tasks.push(Task::Sort(self.telling_sort(tree, at, op)));
        }
        let _ = write!(self.out, "{}^{count}(", self.sig.op(op).name);
        tasks.push(Task::Text(")"));
        let known = Self::args_known(&look, context.known || named);
        let context = Context { bound: PREFIX, left: None, right: None, known };
        tasks.push(Task::Term { at: at as u32 - 1, context });
    }

    /// An operator over its arguments, without the first `skip` ones.
    fn application(
        &mut self,
        tree: &Tree,
        at: usize,
        (args, skip): (Rc<[usize]>, usize),
        context: Context,
        tasks: &mut Vec<Task>,
    ) {
        let op = tree.node(at).op().expect("variables are no applications");
        let arity = args.len();
        // Fractions print as such even where numbers do not.
        let negative = self.negative(tree, at).filter(|_| self.options.number);
        if let Some(text) = negative.or_else(|| self.fraction(tree, at)) {
            return self.literal(tree, at, &text, context.known);
        }
        let operator = self.sig.op(op);
        if arity == 1 && self.hook(op) == "SortTestSymbol" {
            return self.sort_test(at, op, context, tasks);
        }
        let look = self.look(op);
        let format = operator.format.as_deref().filter(|_| self.options.format);
        let named =
            skip == 0 && (!context.known && look.domain || arity == 0 && self.options.const_with_sorts);
        let known = Self::args_known(&look, context.known || named);
        if named {
            self.out.push('(');
            tasks.push(Task::Sort(self.telling_sort(tree, at, op)));
        }
        let concealed = arity > 0 && self.options.conceal.is_some_and(|names| names.contains(&operator.name));
        if concealed {
            let _ = write!(self.out, "{}(...)", operator.name);
        } else if arity == 0 {
            self.constant(operator.name, &look.form.pieces, format, tasks);
        } else if look.form.mixfix && self.options.mixfix {
            self.mixfix((at, op), &look, (args, skip), Context { known, ..context }, named, tasks);
        } else {
            // Prefix form; format words go before the name and before the parenthesis.
            let format = format.filter(|words| words.len() == 2);
            if let Some(words) = format {
                self.format(words[0].as_str(), false);
            }
            self.out.push_str(operator.name.as_str());
            if let Some(words) = format {
                self.format(words[1].as_str(), false);
            }
            self.out.push('(');
            tasks.push(Task::Text(")"));
            let inner = Context { bound: PREFIX, left: None, right: None, known };
            if arity - skip > 2 && operator.arity() == 2 && !self.options.flat {
                let first = args[skip] as u32;
                tasks.push(Task::Tail { at: at as u32, args, skip: skip + 1, context: inner });
                tasks.push(Task::Text(", "));
                tasks.push(Task::Term { at: first, context: inner });
                return;
            }
            for (i, &arg) in args[skip..].iter().enumerate().rev() {
                tasks.push(Task::Term { at: arg as u32, context: inner });
                if i > 0 {
                    tasks.push(Task::Text(", "));
                }
            }
        }
    }

    fn constant(&mut self, name: Name, pieces: &[Piece], format: Option<&[Name]>, tasks: &mut Vec<Task>) {
        let format = format.filter(|words| words.len() == pieces.len() + 1);
        let mut last: Option<Name> = None;
        for (i, piece) in pieces.iter().enumerate() {
            let Piece::Token(token) = *piece else { continue };
            let space = last.is_some_and(|l| !is_special_token(l)) && !is_special_token(token);
            match format {
                Some(words) => self.format(words[i].as_str(), space),
                None if space => self.out.push(' '),
                None => {}
            }
            self.out.push_str(token.as_str());
            last = Some(token);
        }
        if last.is_none() {
            self.out.push_str(name.as_str());
        }
        if let Some(words) = format {
            tasks.push(Task::Format(words[pieces.len()], false));
        }
    }

    /// `context.known` is about the arguments here.
    fn mixfix(
        &mut self,
        (at, op): (usize, OpId),
        look: &Look,
        (args, skip): (Rc<[usize]>, usize),
        context: Context,
        named: bool,
        tasks: &mut Vec<Task>,
    ) {
        let operator = self.sig.op(op);
        let form = &look.form;
        let opens_left = form.pieces.first() == Some(&Piece::Hole);
        let opens_right = form.pieces.last() == Some(&Piece::Hole);
        let last = form.bounds.len() - 1;
        let captured = |open: bool, capture: Capture, hole: usize| {
            open && capture
                .is_some_and(|(prec, kind)| prec <= form.bounds[hole] && kind == operator.domain[hole])
        };
        let parens = self.options.with_parens
            || !named
                && (form.prec > context.bound
                    || captured(opens_left, context.left, 0)
                    || captured(opens_right, context.right, last));
        let (left, right) = if parens || named { (None, None) } else { (context.left, context.right) };
        if parens {
            self.out.push('(');
            tasks.push(Task::Text(")"));
        }
        let format = operator
            .format
            .as_deref()
            .filter(|words| self.options.format && words.len() == form.pieces.len() + 1);
        // Tasks are pushed in reverse.
        if let Some(words) = format {
            tasks.push(Task::Format(words[form.pieces.len()], false));
        }
        let rest = args.len() - skip;
        let mut hole = form.bounds.len();
        for (i, piece) in form.pieces.iter().enumerate().rev() {
            match *piece {
                Piece::Token(token) => tasks.push(Task::Name(token)),
                Piece::Hole => {
                    hole -= 1;
                    let own = Some((form.prec, operator.domain[hole]));
                    let (first, end) = (i == 0, i + 1 == form.pieces.len());
                    let context = Context {
                        bound: form.bounds[hole],
                        left: if first { left } else { own.filter(|_| end) },
                        right: if end { right } else { own.filter(|_| first) },
                        known: context.known,
                    };
                    // The last hole of a flattened application takes all that is left.
                    if hole == 1 && rest > 2 && form.bounds.len() == 2 {
                        tasks.push(Task::Tail { at: at as u32, args: args.clone(), skip: skip + 1, context });
                    } else {
                        tasks.push(Task::Term { at: args[skip + hole] as u32, context });
                    }
                }
            }
            let space = i > 0
                && [form.pieces[i - 1], *piece]
                    .iter()
                    .all(|p| !matches!(p, Piece::Token(t) if is_special_token(*t)));
            match format {
                Some(words) => tasks.push(Task::Format(words[i], space)),
                None if space => tasks.push(Task::Text(" ")),
                None => {}
            }
        }
    }

    fn sort_test(&mut self, at: usize, op: OpId, context: Context, tasks: &mut Vec<Task>) {
        let operator = self.sig.op(op);
        let kind = operator.domain[0];
        let captured = context.left.is_some_and(|(_, k)| k == kind);
        let parens = self.options.with_parens || captured;
        if parens {
            self.out.push('(');
            tasks.push(Task::Text(")"));
        }
        let name = operator.special.as_ref().and_then(|s| s.data.first().copied()).unwrap_or(operator.name);
        tasks.push(Task::Name(name));
        tasks.push(Task::Text(" :: "));
        let left = if parens { None } else { context.left };
        let context = Context { bound: ANY, left, right: Some((0, kind)), known: true };
        tasks.push(Task::Term { at: at as u32 - 1, context });
    }

    fn condition(&mut self, condition: &[Fragment]) {
        for (i, fragment) in condition.iter().enumerate() {
            if i > 0 {
                self.out.push_str(" /\\ ");
            }
            let (first, middle, second) = match fragment {
                Fragment::Sort(term, sort) => {
                    self.term(term);
                    let _ = write!(self.out, " : {}", self.sig.sorts.name(*sort));
                    continue;
                }
                Fragment::Equal(a, b) => (a, " = ", b),
                Fragment::Match(a, b) => (a, " := ", b),
                Fragment::Rewrite(a, b) => (a, " => ", b),
            };
            self.term(first);
            self.out.push_str(middle);
            self.term(second);
        }
    }

    fn end_statement(&mut self, condition: &[Fragment], attrs: &StatementAttrs) {
        if !condition.is_empty() {
            self.out.push_str(" if ");
            self.condition(condition);
        }
        self.attributes(attrs);
        self.out.push_str(" .");
    }

    fn attributes(&mut self, attrs: &StatementAttrs) {
        let mut words: Vec<String> = Vec::new();
        let flags = [
            (attrs.nonexec && !attrs.unbound, "nonexec"),
            (attrs.owise, "owise"),
            (attrs.variant, "variant"),
            (attrs.narrowing, "narrowing"),
            (attrs.dnt, "dnt"),
        ];
        words.extend(flags.iter().filter(|f| f.0).map(|f| f.1.to_owned()));
        if let Some(label) = attrs.label {
            words.push(format!("label {label}"));
        }
        if let Some(text) = &attrs.metadata {
            let mut word = String::from("metadata ");
            quote(text.as_bytes(), &mut word);
            words.push(word);
        }
        if let Some(items) = &attrs.print {
            let mut word = String::from("print");
            for item in items {
                word.push(' ');
                match item {
                    PrintItem::Text(text) => quote(text.as_bytes(), &mut word),
                    PrintItem::Var(var) => {
                        let mut printer = Printer::new(self.sig, self.options);
                        printer.var(*var);
                        word.push_str(&printer.out);
                    }
                }
            }
            words.push(word);
        }
        if !words.is_empty() {
            let _ = write!(self.out, " [{}]", words.join(" "));
        }
    }
}

fn is_special_token(name: Name) -> bool {
    let text = name.as_str();
    text.len() == 1 && text.starts_with(is_special)
}

/// A string literal with Maude's escapes.
fn quote(text: &[u8], out: &mut String) {
    out.push('"');
    for &byte in text {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            7 => out.push_str("\\a"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            11 => out.push_str("\\v"),
            b' '..=b'~' => out.push(byte as char),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
}

/// A float with 17 significant digits, without trailing zeros.
fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let text = format!("{value:.16e}");
    let (mantissa, exponent) = text.split_once('e').expect("the format has an exponent");
    let mut mantissa = mantissa.trim_end_matches('0').to_owned();
    if mantissa.ends_with('.') {
        mantissa.push('0');
    }
    match exponent {
        "0" => mantissa,
        e if e.starts_with('-') => format!("{mantissa}e{e}"),
        e => format!("{mantissa}e+{e}"),
    }
}

/// The terminal code of a colour letter of `format`.
fn ansi(letter: char) -> Option<&'static str> {
    Some(match letter {
        'o' => "\x1b[0m",
        'p' => "\x1b[30m",
        'r' => "\x1b[31m",
        'g' => "\x1b[32m",
        'y' => "\x1b[33m",
        'b' => "\x1b[34m",
        'm' => "\x1b[35m",
        'c' => "\x1b[36m",
        'w' => "\x1b[37m",
        'P' => "\x1b[40m",
        'R' => "\x1b[41m",
        'G' => "\x1b[42m",
        'Y' => "\x1b[43m",
        'B' => "\x1b[44m",
        'M' => "\x1b[45m",
        'C' => "\x1b[46m",
        'W' => "\x1b[47m",
        '!' => "\x1b[1m",
        '?' => "\x1b[2m",
        'u' => "\x1b[4m",
        'f' => "\x1b[5m",
        'x' => "\x1b[7m",
        'h' => "\x1b[8m",
        _ => return None,
    })
}

/// The least sort of the subtree at a place, from operator declarations alone.
fn least_sort(sig: &Signature, tree: &Tree, at: usize) -> SortId {
    let mut stack: Vec<SortIx> = Vec::new();
    for place in tree.range(at) {
        let node = tree.node(place);
        let sort = match node {
            Node::Var(var) => sig.sorts.get(var.sort).index,
            Node::App { op, arity } => {
                let args = stack.split_off(stack.len() - *arity as usize);
                let diagram = sig.diagram(*op);
                if *arity > 2 && sig.op(*op).arity() == 2 {
                    let mut args = args.into_iter();
                    let first = args.next().expect("more than two arguments");
                    args.fold(first, |a, b| diagram.binary(a, b))
                } else {
                    diagram.sort(args)
                }
            }
            Node::Iter { op, count } => {
                let mut sort = stack.pop().expect("an iter node has an argument");
                let diagram = sig.diagram(*op);
                // Sorts of iterations are periodic; find the period instead of counting to a huge number.
                let mut seen = vec![sort];
                loop {
                    if BigUint::from(seen.len() - 1) == *count {
                        break;
                    }
                    sort = diagram.sort([sort]);
                    if let Some(start) = seen.iter().position(|&s| s == sort) {
                        let period = seen.len() - start;
                        let left = count - BigUint::from(seen.len());
                        let offset =
                            (left % BigUint::from(period)).to_u32_digits().first().copied().unwrap_or(0);
                        sort = seen[start + offset as usize];
                        break;
                    }
                    seen.push(sort);
                }
                sort
            }
            Node::Str { op, text } => literal_sort(sig, *op, text.len() == 1),
            Node::Qid { op, .. } => literal_sort(sig, *op, false),
            Node::Float { op, bits } => literal_sort(sig, *op, f64::from_bits(*bits).is_finite()),
        };
        stack.push(sort);
    }
    let kind = match tree.node(at) {
        Node::Var(var) => sig.sorts.kind_of(var.sort),
        node => sig.op(node.op().expect("only variables have no operator")).range,
    };
    sig.sorts.at(kind, stack.pop().unwrap_or(0))
}

/// Literals have two declared sorts where it matters: `Char` or `String`, `FiniteFloat` or `Float`.
fn literal_sort(sig: &Signature, op: OpId, small: bool) -> SortIx {
    let ranges = sig.op(op).decls.iter().map(|d| sig.sorts.get(d.range).index);
    if small { ranges.max().unwrap_or(0) } else { ranges.min().unwrap_or(0) }
}
