//! Parsing bubbles: terms, statements, conditions, and the bodies of commands.
//!
//! A statement is parsed as a whole in the grammar of its module, since `=`, `if` and `:` may
//! be parts of operators; only a leading `[label] :` and a trailing attribute list are cut off
//! first (and given back if the rest does not parse without them).

use super::build::{Builder, Choice};
use super::chart::Chart;
use super::explain;
use super::grammar::{Extra, Grammar, Meaning, Nt, Vars};
use super::leaf::{Leaves, sort_at, variable_at};
use super::print::{PrintOptions, print, print_condition};
use crate::base::{Diagnostic, Name, Span};
use crate::module::{Equation, Fragment, Membership, PrintItem, Rule, StatementAttrs};
use crate::sorts::{KindId, Node, Signature, SortId, Tree};
use crate::syntax::tree::{StatementKind, Token};

/// A result if there is one, and what is to be said to the user. An absent value always comes
/// with an error; a present one may come with warnings.
pub type Parsed<T> = (Option<T>, Vec<Diagnostic>);

/// A parsed statement.
#[derive(Clone, Debug)]
pub enum StatementBody {
    Equation(Equation),
    Membership(Membership),
    Rule(Rule),
}

/// The body of `match` and `xmatch`.
#[derive(Clone, Debug)]
pub struct Matching {
    pub pattern: Tree,
    pub subject: Tree,
    pub condition: Vec<Fragment>,
}

/// The arrow of `search`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrow {
    /// `=>1`
    One,
    /// `=>+`
    Plus,
    /// `=>*`
    Star,
    /// `=>!`
    Bang,
}

impl Arrow {
    /// Reads what [`Arrow::text`] gives.
    pub fn read(text: &str) -> Option<Arrow> {
        [Arrow::One, Arrow::Plus, Arrow::Star, Arrow::Bang].into_iter().find(|arrow| arrow.text() == text)
    }

    /// As written.
    pub fn text(self) -> &'static str {
        match self {
            Arrow::One => "=>1",
            Arrow::Plus => "=>+",
            Arrow::Star => "=>*",
            Arrow::Bang => "=>!",
        }
    }
}

/// The body of `search`.
#[derive(Clone, Debug)]
pub struct Search {
    pub subject: Tree,
    pub arrow: Arrow,
    pub pattern: Tree,
    pub condition: Vec<Fragment>,
}

impl Grammar {
    /// A term in one of the kinds; an empty list means any kind.
    pub fn term(&self, sig: &Signature, vars: &Vars, tokens: &[Token], kinds: &[KindId]) -> Parsed<Tree> {
        let goals: Vec<Nt> =
            if kinds.is_empty() { (0..self.kinds).collect() } else { kinds.iter().map(|k| k.0).collect() };
        let show = |tree: &Tree, options: &PrintOptions| print(sig, tree, options);
        self.parse(sig, vars, tokens, &goals, "term", |builder, root| builder.goal(root), show)
    }

    /// What follows `eq`, `crl` ... up to before the period; `span` is the statement's.
    pub fn statement(
        &self,
        sig: &Signature,
        vars: &Vars,
        kind: StatementKind,
        tokens: &[Token],
        span: Span,
    ) -> Parsed<StatementBody> {
        let mut attrs = StatementAttrs { span, ..StatementAttrs::default() };
        let mut body = tokens;
        if let [open, label, close, colon, rest @ ..] = tokens
            && [open, close, colon].map(|t| t.name.as_str()) == ["[", "]", ":"]
        {
            attrs.label = Some(label.name);
            body = rest;
        }
        let labelled = body;
        let bare = attrs.clone();
        if let Some(at) = attributes(sig, vars, body, &mut attrs) {
            body = &body[..at];
        }
        let first = self.statement_body(sig, vars, kind, body, &attrs);
        if first.0.is_some() || body.len() == tokens.len() {
            return first;
        }
        // What looked like a label or attributes may have been part of the terms.
        let unlabelled = StatementAttrs { label: None, ..attrs.clone() };
        let attempts =
            [(labelled, bare), (&tokens[..tokens.len() - labelled.len() + body.len()], unlabelled)];
        for (again, attrs) in attempts {
            if again.len() != body.len() {
                let second = self.statement_body(sig, vars, kind, again, &attrs);
                if second.0.is_some() {
                    return second;
                }
            }
        }
        first
    }

    fn statement_body(
        &self,
        sig: &Signature,
        vars: &Vars,
        kind: StatementKind,
        tokens: &[Token],
        attrs: &StatementAttrs,
    ) -> Parsed<StatementBody> {
        let (goal, what) = match kind {
            StatementKind::Eq => (Extra::Eq, "equation"),
            StatementKind::Ceq => (Extra::Ceq, "conditional equation"),
            StatementKind::Mb => (Extra::Mb, "membership"),
            StatementKind::Cmb => (Extra::Cmb, "conditional membership"),
            StatementKind::Rl => (Extra::Rl, "rule"),
            StatementKind::Crl => (Extra::Crl, "conditional rule"),
        };
        let build = |builder: &mut Builder, root: u32| {
            let mut parts = builder.parts(root);
            let mut condition = None;
            if parts.meaning == Meaning::Conditional {
                condition = Some(parts.phrases[1]);
                parts = builder.parts(parts.phrases[0]);
            }
            let lhs = builder.tree(parts.phrases[0]);
            let attrs = attrs.clone();
            if parts.meaning == Meaning::Sort {
                let sort = builder.sort_after(parts.phrases[0]);
                let condition = condition.map_or_else(Vec::new, |c| self.fragments(builder, c));
                return StatementBody::Membership(Membership { term: lhs, sort, condition, attrs });
            }
            let rhs = builder.tree(parts.phrases[1]);
            let condition = condition.map_or_else(Vec::new, |c| self.fragments(builder, c));
            match parts.meaning {
                Meaning::Equal => StatementBody::Equation(Equation { lhs, rhs, condition, attrs }),
                _ => StatementBody::Rule(Rule { lhs, rhs, condition, attrs }),
            }
        };
        let show = |body: &StatementBody, options: &PrintOptions| match body {
            StatementBody::Equation(e) => super::print_equation(sig, e, options),
            StatementBody::Membership(m) => super::print_membership(sig, m, options),
            StatementBody::Rule(r) => super::print_rule(sig, r, options),
        };
        let (body, mut diagnostics) = self.parse(sig, vars, tokens, &[self.extra(goal)], what, build, show);
        // Rewriting in a condition is for rules only; the grammar of conditions is shared.
        if let Some(StatementBody::Equation(Equation { condition, .. }))
        | Some(StatementBody::Membership(Membership { condition, .. })) = &body
            && let Some(Fragment::Rewrite(from, to)) =
                condition.iter().find(|f| matches!(f, Fragment::Rewrite(..)))
        {
            let span = from.span(from.root()).to(to.span(to.root()));
            let message = format!("a {what} cannot have a rewrite `=>` in its condition");
            diagnostics = vec![Diagnostic::error("rewrite-condition", message, span)];
            diagnostics[0].hint = Some("only rules (`crl`) can; or use `:=` or `=`".into());
            return (None, diagnostics);
        }
        (body, diagnostics)
    }

    /// `p <=? t [such that cond]`
    pub fn matching(&self, sig: &Signature, vars: &Vars, tokens: &[Token]) -> Parsed<Matching> {
        let build = |builder: &mut Builder, root: u32| {
            let parts = builder.parts(root);
            let problem = builder.parts(parts.phrases[0]);
            let pattern = builder.tree(problem.phrases[0]);
            let subject = builder.tree(problem.phrases[1]);
            let condition = parts.phrases.get(1).map_or_else(Vec::new, |&c| self.fragments(builder, c));
            Matching { pattern, subject, condition }
        };
        let show = |m: &Matching, options: &PrintOptions| {
            format!(
                "{} <=? {}{}",
                print(sig, &m.pattern, options),
                print(sig, &m.subject, options),
                such_that(sig, &m.condition, options)
            )
        };
        self.parse(sig, vars, tokens, &[self.extra(Extra::MatchIf)], "matching problem", build, show)
    }

    /// `t =>* p [such that cond]`
    pub fn search(&self, sig: &Signature, vars: &Vars, tokens: &[Token]) -> Parsed<Search> {
        let build = |builder: &mut Builder, root: u32| {
            let parts = builder.parts(root);
            let problem = builder.parts(parts.phrases[0]);
            let subject = builder.tree(problem.phrases[0]);
            let arrow = builder.parts(problem.phrases[1]);
            let pattern = builder.tree(problem.phrases[2]);
            let condition = parts.phrases.get(1).map_or_else(Vec::new, |&c| self.fragments(builder, c));
            let arrow = match arrow.meaning {
                Meaning::Arrow(0) => Arrow::One,
                Meaning::Arrow(1) => Arrow::Plus,
                Meaning::Arrow(2) => Arrow::Star,
                _ => Arrow::Bang,
            };
            Search { subject, arrow, pattern, condition }
        };
        let show = |s: &Search, options: &PrintOptions| {
            format!(
                "{} {} {}{}",
                print(sig, &s.subject, options),
                s.arrow.text(),
                print(sig, &s.pattern, options),
                such_that(sig, &s.condition, options)
            )
        };
        self.parse(sig, vars, tokens, &[self.extra(Extra::SearchIf)], "search", build, show)
    }

    /// `t = t' /\ p := u /\ ...`
    pub fn condition(&self, sig: &Signature, vars: &Vars, tokens: &[Token]) -> Parsed<Vec<Fragment>> {
        let build = |builder: &mut Builder, root: u32| self.fragments(builder, root);
        let show = |c: &Vec<Fragment>, options: &PrintOptions| print_condition(sig, c, options);
        self.parse(sig, vars, tokens, &[self.extra(Extra::Condition)], "condition", build, show)
    }

    /// The fragments of a condition phrase.
    fn fragments(&self, builder: &mut Builder, condition: u32) -> Vec<Fragment> {
        let mut found = Vec::new();
        let mut at = condition;
        loop {
            let parts = builder.parts(at);
            found.push(parts.phrases[0]);
            match parts.phrases.get(1) {
                Some(&rest) => at = rest,
                None => break,
            }
        }
        found.into_iter().map(|phrase| self.fragment(builder, phrase)).collect()
    }

    fn fragment(&self, builder: &mut Builder, phrase: u32) -> Fragment {
        let parts = builder.parts(phrase);
        let first = builder.tree(parts.phrases[0]);
        match parts.meaning {
            Meaning::Sort => Fragment::Sort(first, builder.sort_after(parts.phrases[0])),
            Meaning::Bool => {
                let truth = self.truth.expect("boolean fragments need the constant true");
                let span = builder.span(phrase);
                Fragment::Equal(first, Tree::leaf(Node::App { op: truth, arity: 0 }, span))
            }
            meaning => {
                let second = builder.tree(parts.phrases[1]);
                match meaning {
                    Meaning::Equal => Fragment::Equal(first, second),
                    Meaning::Match => Fragment::Match(first, second),
                    _ => Fragment::Rewrite(first, second),
                }
            }
        }
    }

    /// Parses, builds the chosen reading, and warns if there is another one.
    #[allow(clippy::too_many_arguments)] // the two closures are one strategy
    fn parse<T>(
        &self,
        sig: &Signature,
        vars: &Vars,
        tokens: &[Token],
        goals: &[Nt],
        what: &str,
        build: impl Fn(&mut Builder, u32) -> T,
        show: impl Fn(&T, &PrintOptions) -> String,
    ) -> Parsed<T> {
        let mut cache = self.cache.lock().unwrap_or_else(|e| e.into_inner());
        let leaves = Leaves::new(self, sig, vars, tokens);
        let mut chart = Chart::new(self, sig, leaves, tokens);
        let Some(root) = chart.run(&mut cache, goals) else {
            return (None, vec![explain::failure(self, &mut cache, sig, vars, tokens, goals, what)]);
        };
        let mut builder = Builder::new(&mut chart, None);
        let value = build(&mut builder, root);
        let forks: Vec<Choice> = builder.forks;
        let mut diagnostics = Vec::new();
        if !forks.is_empty() {
            // Readings differ if they do in prefix form with all sorts; that is not for reading.
            let plain = PrintOptions { aliases: Some(vars), ..PrintOptions::default() };
            let exact = PrintOptions { mixfix: false, const_with_sorts: true, ..PrintOptions::default() };
            let chosen = show(&value, &exact);
            for fork in forks {
                let other = build(&mut Builder::new(&mut chart, Some(fork)), root);
                if show(&other, &exact) != chosen {
                    let span = tokens[0].span.to(tokens[tokens.len() - 1].span);
                    let mut texts = [show(&value, &plain), show(&other, &plain)];
                    if texts[0] == texts[1] {
                        texts = [chosen, show(&other, &exact)];
                    }
                    diagnostics.push(explain::ambiguity(what, span, &texts[0], &texts[1]));
                    break;
                }
            }
        }
        (Some(value), diagnostics)
    }
}

impl Builder<'_, '_> {
    /// The sort that stands two tokens after a phrase, as in `t : S`.
    fn sort_after(&self, phrase: u32) -> SortId {
        let position = self.chart.phrases[phrase as usize].end as usize + 1;
        sort_at(self.chart.sig, self.chart.tokens, position).expect("the chart read this sort").0
    }
}

fn such_that(sig: &Signature, condition: &[Fragment], options: &PrintOptions) -> String {
    if condition.is_empty() {
        return String::new();
    }
    format!(" such that {}", print_condition(sig, condition, options))
}

/// Reads a trailing attribute list into `attrs`; gives where it begins.
fn attributes(sig: &Signature, vars: &Vars, tokens: &[Token], attrs: &mut StatementAttrs) -> Option<usize> {
    if tokens.last()?.name.as_str() != "]" {
        return None;
    }
    let mut end = tokens.len();
    while let Some(open) = tokens[..end].iter().rposition(|t| t.name.as_str() == "[") {
        let mut read = attrs.clone();
        if open > 0 && attribute_list(sig, vars, &tokens[open + 1..tokens.len() - 1], &mut read).is_some() {
            *attrs = read;
            return Some(open);
        }
        end = open;
        // An attribute list is short; do not look through the whole statement for its start.
        if tokens.len() - open > 200 {
            return None;
        }
    }
    None
}

fn attribute_list(sig: &Signature, vars: &Vars, tokens: &[Token], attrs: &mut StatementAttrs) -> Option<()> {
    let mut at = 0;
    while at < tokens.len() {
        let word = tokens[at].name.as_str();
        at += 1;
        match word {
            "owise" | "otherwise" => attrs.owise = true,
            "nonexec" => attrs.nonexec = true,
            "variant" => attrs.variant = true,
            "narrowing" => attrs.narrowing = true,
            "dnt" => attrs.dnt = true,
            "label" => {
                // One in front of the statement counts before one behind it.
                attrs.label.get_or_insert(tokens.get(at)?.name);
                at += 1;
            }
            "metadata" => {
                attrs.metadata = Some(text_of(tokens.get(at)?.name)?);
                at += 1;
            }
            "print" => {
                let mut items = Vec::new();
                while at < tokens.len() {
                    if let Some(text) = text_of(tokens[at].name) {
                        items.push(PrintItem::Text(text));
                        at += 1;
                    } else if let Some((var, len)) = variable_at(sig, vars, tokens, at) {
                        items.push(PrintItem::Var(var));
                        at += len;
                    } else {
                        break;
                    }
                }
                attrs.print = Some(items);
            }
            _ => return None,
        }
    }
    (at > 0).then_some(())
}

/// The text of a string token, with its escapes read.
fn text_of(name: Name) -> Option<String> {
    let bytes = super::leaf::unescape(name.as_str().as_bytes())?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
