//! Leaves of terms that are recognised by how their token looks: variables and literals.

use std::sync::{Arc, LazyLock};

use num_bigint::BigUint;

use super::grammar::{Grammar, Nt, Vars};
use crate::base::{Name, Span};
use crate::sorts::{Node, OpId, Signature, SortId, Tree, Var};
use crate::syntax::tree::Token;

/// One reading of a token (or of a few, for `X:List{Nat}`).
#[derive(Clone, Debug)]
pub(super) enum Leaf {
    Var(Var),
    /// A natural number other than zero.
    Nat {
        succ: OpId,
        value: BigUint,
    },
    /// A negative integer.
    Neg {
        minus: OpId,
        succ: OpId,
        value: BigUint,
    },
    /// A fraction; `minus` if negative.
    Rat {
        division: OpId,
        minus: Option<OpId>,
        succ: OpId,
        numerator: BigUint,
        denominator: BigUint,
    },
    Str {
        op: OpId,
        text: Arc<[u8]>,
    },
    Qid {
        op: OpId,
        name: Name,
    },
    Float {
        op: OpId,
        bits: u64,
    },
    /// `f^3`, the beginning of a production.
    Iter {
        production: u32,
    },
}

/// The leaves at each position of a bubble.
pub(super) struct Leaves {
    /// `(nonterminal, number in list, length in tokens)`, in order of position.
    entries: Vec<(Nt, u32, u32)>,
    /// Where the entries of each position begin.
    starts: Vec<u32>,
    pub list: Vec<Leaf>,
    pub close: Name,
}

struct Words {
    open: Name,
    close: Name,
    left_brace: Name,
    right_brace: Name,
    left_bracket: Name,
    right_bracket: Name,
    dot: Name,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| Words {
    open: Name::new("("),
    close: Name::new(")"),
    left_brace: Name::new("{"),
    right_brace: Name::new("}"),
    left_bracket: Name::new("["),
    right_bracket: Name::new("]"),
    dot: Name::new("."),
});

pub(super) fn is_open(name: Name) -> bool {
    name == WORDS.open
}

impl Leaves {
    pub fn new(grammar: &Grammar, sig: &Signature, vars: &Vars, tokens: &[Token]) -> Leaves {
        let mut leaves = Leaves {
            entries: Vec::new(),
            starts: Vec::with_capacity(tokens.len() + 1),
            list: Vec::new(),
            close: WORDS.close,
        };
        for position in 0..tokens.len() {
            leaves.starts.push(leaves.entries.len() as u32);
            leaves.read(grammar, sig, vars, tokens, position);
        }
        leaves.starts.push(leaves.entries.len() as u32);
        leaves
    }

    pub fn at(&self, position: usize) -> &[(Nt, u32, u32)] {
        &self.entries[self.starts[position] as usize..self.starts[position + 1] as usize]
    }

    fn push(&mut self, nt: Nt, leaf: Leaf, len: usize) {
        self.entries.push((nt, self.list.len() as u32, len as u32));
        self.list.push(leaf);
    }

    fn read(&mut self, grammar: &Grammar, sig: &Signature, vars: &Vars, tokens: &[Token], position: usize) {
        let name = tokens[position].name;
        if let Some(&sort) = vars.get(&name) {
            self.push(sig.sorts.kind_of(sort).0, Leaf::Var(Var { name, sort }), 1);
        }
        let text = name.as_str();
        let bytes = text.as_bytes();
        let literals = &grammar.literals;
        let Some(&head) = bytes.first() else { return };
        match head {
            b'"' => {
                if let Some(value) = unescape(bytes) {
                    let value: Arc<[u8]> = value.into();
                    for &op in &literals.strings {
                        self.push(sig.op(op).range.0, Leaf::Str { op, text: value.clone() }, 1);
                    }
                }
                return;
            }
            b'\'' => {
                for &op in &literals.qids {
                    self.push(sig.op(op).range.0, Leaf::Qid { op, name: Name::new(&text[1..]) }, 1);
                }
            }
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'I' => self.number(grammar, sig, text),
            _ => {}
        }
        let last = |wanted: u8| bytes.iter().rposition(|&byte| byte == wanted);
        if let Some(colon) = last(b':')
            && colon > 0
            && let Some((sort, len)) = typed(sig, tokens, position, &text[colon + 1..])
        {
            let var = Var { name: Name::new(&text[..colon]), sort };
            self.push(sig.sorts.kind_of(sort).0, Leaf::Var(var), len);
        }
        if let Some(caret) = last(b'^')
            && caret > 0
            && bytes.get(caret + 1).is_some_and(|b| (b'1'..=b'9').contains(b))
            && bytes[caret + 1..].iter().all(u8::is_ascii_digit)
            && let Some(productions) = grammar.iter.get(&Name::new(&text[..caret]))
        {
            for &production in productions {
                self.push(grammar.productions[production as usize].nt, Leaf::Iter { production }, 1);
            }
        }
    }

    fn number(&mut self, grammar: &Grammar, sig: &Signature, text: &str) {
        let literals = &grammar.literals;
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if digits(rest) {
            let value: BigUint = rest.parse().expect("digits are a number");
            if value == BigUint::ZERO {
                return;
            }
            if negative {
                for &minus in &literals.minuses {
                    if let Some(succ) = successor(sig, literals, minus) {
                        let value = value.clone();
                        self.push(sig.op(minus).range.0, Leaf::Neg { minus, succ, value }, 1);
                    }
                }
            } else {
                for &succ in &literals.successors {
                    self.push(sig.op(succ).range.0, Leaf::Nat { succ, value: value.clone() }, 1);
                }
            }
        } else if let Some((top, bottom)) = rest.split_once('/') {
            if digits(top) && digits(bottom) && !bottom.starts_with('0') {
                let numerator: BigUint = top.parse().expect("digits are a number");
                let denominator: BigUint = bottom.parse().expect("digits are a number");
                for &division in &literals.divisions {
                    let Some(succ) = successor(sig, literals, division) else { continue };
                    let minus =
                        literals.minuses.iter().copied().find(|&m| sig.op(m).range == sig.op(succ).range);
                    if negative && (minus.is_none() || numerator == BigUint::ZERO) {
                        continue;
                    }
                    let minus = minus.filter(|_| negative);
                    let (numerator, denominator) = (numerator.clone(), denominator.clone());
                    let leaf = Leaf::Rat { division, minus, succ, numerator, denominator };
                    self.push(sig.op(division).range.0, leaf, 1);
                }
            }
        } else if let Some(value) = float(text) {
            for &op in &literals.floats {
                self.push(sig.op(op).range.0, Leaf::Float { op, bits: value.to_bits() }, 1);
            }
        }
    }

    /// `.Sort` or `.[Kind]` after a closing parenthesis.
    pub fn qualifier(&self, sig: &Signature, tokens: &[Token], position: usize) -> Option<(SortId, usize)> {
        let text = tokens[position].name.as_str().strip_prefix('.')?;
        typed(sig, tokens, position, text)
    }
}

/// The succ operator that a number operator works with.
fn successor(sig: &Signature, literals: &super::grammar::Literals, op: OpId) -> Option<OpId> {
    let hook = sig.op(op).special.as_ref()?.ops.iter().find(|(name, _)| name.as_str() == "succSymbol");
    hook.map(|&(_, op)| op)
        .or_else(|| literals.successors.iter().copied().find(|&s| sig.op(s).range == sig.op(op).range))
}

/// The variable at a position, declared or written with its sort, and its length in tokens.
pub(super) fn variable_at(
    sig: &Signature,
    vars: &Vars,
    tokens: &[Token],
    position: usize,
) -> Option<(Var, usize)> {
    let name = tokens.get(position)?.name;
    if let Some(&sort) = vars.get(&name) {
        return Some((Var { name, sort }, 1));
    }
    let text = name.as_str();
    let colon = text.rfind(':').filter(|&colon| colon > 0)?;
    let (sort, len) = typed(sig, tokens, position, &text[colon + 1..])?;
    Some((Var { name: Name::new(&text[..colon]), sort }, len))
}

/// Reads a sort or `[kind]` that begins with `text`, the rest of the token at `position`, and
/// goes on in the next tokens. Gives also the number of tokens.
fn typed(sig: &Signature, tokens: &[Token], position: usize, text: &str) -> Option<(SortId, usize)> {
    let words = &*WORDS;
    let next = tokens.get(position + 1).map(|t| t.name);
    if text.is_empty() {
        if next != Some(words.left_bracket) {
            return None;
        }
        let mut at = position + 2;
        let (sort, len) = sort_at(sig, tokens, at)?;
        at += len;
        while tokens.get(at)?.name.as_str() == "," {
            let (more, len) = sort_at(sig, tokens, at + 1)?;
            if sig.sorts.kind_of(more) != sig.sorts.kind_of(sort) {
                return None;
            }
            at += 1 + len;
        }
        let error = sig.sorts.kind(sig.sorts.kind_of(sort)).error();
        return (tokens.get(at)?.name == words.right_bracket).then_some((error, at + 1 - position));
    }
    if next == Some(words.left_brace)
        && let Some((name, len)) = braces(tokens, position + 1, text)
        && let Some(sort) = sig.sorts.find(Name::new(&name))
    {
        return Some((sort, 1 + len));
    }
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let sort = sig.sorts.find(Name::new(inner.split(',').next()?))?;
        return Some((sig.sorts.kind(sig.sorts.kind_of(sort)).error(), 1));
    }
    sig.sorts.find(Name::new(text)).map(|sort| (sort, 1))
}

/// The sort whose name begins at a position, and its length in tokens.
pub(super) fn sort_at(sig: &Signature, tokens: &[Token], position: usize) -> Option<(SortId, usize)> {
    let name = tokens.get(position)?.name;
    if tokens.get(position + 1).is_some_and(|t| t.name == WORDS.left_brace)
        && let Some((name, len)) = braces(tokens, position + 1, name.as_str())
        && let Some(sort) = sig.sorts.find(Name::new(&name))
    {
        return Some((sort, 1 + len));
    }
    sig.sorts.find(name).map(|sort| (sort, 1))
}

/// Joins `text` with the group in braces that begins at a position (and those right after it).
fn braces(tokens: &[Token], position: usize, text: &str) -> Option<(String, usize)> {
    let words = &*WORDS;
    let mut joined = text.to_owned();
    let mut depth = 0;
    let mut at = position;
    loop {
        let name = tokens.get(at)?.name;
        if name == words.open || name == words.close || name == words.dot {
            return None;
        }
        joined.push_str(name.as_str());
        at += 1;
        if name == words.left_brace {
            depth += 1;
        } else if name == words.right_brace {
            depth -= 1;
            if depth == 0 && tokens.get(at).is_none_or(|t| t.name != words.left_brace) {
                return Some((joined, at - position));
            }
        }
    }
}

/// A floating-point literal as Maude writes them.
pub(super) fn float(text: &str) -> Option<f64> {
    match text {
        "Infinity" => return Some(f64::INFINITY),
        "-Infinity" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    };
    let mut seen_digit = false;
    let mut seen_dot = false;
    for b in mantissa.bytes() {
        match b {
            b'0'..=b'9' => seen_digit = true,
            b'.' if !seen_dot => seen_dot = true,
            _ => return None,
        }
    }
    let exponent_fits = exponent.is_none_or(|e| {
        let digits = e.strip_prefix(['-', '+']).unwrap_or(e);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    if !seen_digit || !(seen_dot || exponent.is_some()) || !exponent_fits {
        return None;
    }
    // Adding zero makes -0.0 the plain zero that Maude has.
    text.parse::<f64>().ok().map(|value| value + 0.0)
}

/// The bytes of a string literal.
pub(super) fn unescape(bytes: &[u8]) -> Option<Vec<u8>> {
    let body = bytes.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut out = Vec::with_capacity(body.len());
    let mut at = 0;
    while at < body.len() {
        let byte = body[at];
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let escaped = *body.get(at)?;
        at += 1;
        match escaped {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'0'..=b'7' => {
                let mut value = u32::from(escaped - b'0');
                for _ in 0..2 {
                    match body.get(at) {
                        Some(&d @ b'0'..=b'7') => {
                            value = value * 8 + u32::from(d - b'0');
                            at += 1;
                        }
                        _ => break,
                    }
                }
                out.push(value as u8);
            }
            // A line that goes on after a backslash.
            b'\n' => {}
            other => out.push(other),
        }
    }
    Some(out)
}

impl Leaf {
    /// Appends what the leaf stands for.
    pub fn emit(&self, sig: &Signature, span: Span, tree: &mut Tree) {
        match self {
            Leaf::Var(var) => tree.push(Node::Var(*var), span),
            Leaf::Nat { succ, value } => number(sig, *succ, value, span, tree),
            Leaf::Neg { minus, succ, value } => {
                number(sig, *succ, value, span, tree);
                tree.push(Node::App { op: *minus, arity: 1 }, span);
            }
            Leaf::Rat { division, minus, succ, numerator, denominator } => {
                number(sig, *succ, numerator, span, tree);
                if let Some(minus) = minus {
                    tree.push(Node::App { op: *minus, arity: 1 }, span);
                }
                number(sig, *succ, denominator, span, tree);
                tree.push(Node::App { op: *division, arity: 2 }, span);
            }
            Leaf::Str { op, text } => tree.push(Node::Str { op: *op, text: text.clone() }, span),
            Leaf::Qid { op, name } => tree.push(Node::Qid { op: *op, name: *name }, span),
            Leaf::Float { op, bits } => tree.push(Node::Float { op: *op, bits: *bits }, span),
            Leaf::Iter { .. } => unreachable!("an iter token begins a production"),
        }
    }
}

fn number(sig: &Signature, succ: OpId, value: &BigUint, span: Span, tree: &mut Tree) {
    let zero =
        sig.op(succ).special.as_ref().and_then(|s| s.terms.iter().find(|(n, _)| n.as_str() == "zeroTerm"));
    if let Some((_, zero)) = zero {
        for node in zero.nodes() {
            tree.push(node.clone(), span);
        }
    }
    if *value != BigUint::ZERO {
        tree.push(Node::Iter { op: succ, count: value.clone() }, span);
    }
}
