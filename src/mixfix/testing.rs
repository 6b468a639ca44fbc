//! For tests: a signature from a short text, one declaration per line, as in Maude.
//!
//! `sorts A B`, `subsort A < B`, `op NAME : D -> R [prec 3 assoc ...]`, `vars X Y : A`. The
//! attributes `succ(ZERO)`, `minus`, `division`, `strings`, `qids`, `floats`, `true`, `tests` and
//! `poly` stand for the special hooks and for what elaboration makes of them.

use std::sync::Arc;

use crate::base::{FileId, Name, Span};
use crate::mixfix::Vars;
use crate::sorts::{
    Axioms, Gather, Hooks, KindId, Node, OpDecl, OpId, Operator, Poly, Signature, SortId, SortPoset, Special,
    Tree,
};
use crate::syntax::tree::Token;

pub struct Spec {
    pub sig: Signature,
    pub vars: Vars,
}

/// Cuts a text into tokens.
pub fn lex(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' => at += 1,
            b'"' => {
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            _ => {
                while at < bytes.len() && !bytes[at].is_ascii_whitespace() {
                    match bytes[at] {
                        b'`' => at += 2,
                        b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' => break,
                        _ => at += 1,
                    }
                }
                at = at.min(bytes.len());
            }
        }
        let span = Span { file: FileId(0), start: start as u32, end: at as u32 };
        tokens.push(Token { name: Name::new(&text[start..at]), span });
    }
    tokens
}

impl Spec {
    pub fn new(text: &str) -> Spec {
        let mut sorts = SortPoset::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.split_first() {
                Some((&"sorts" | &"sort", names)) => {
                    for name in names {
                        sorts.declare(Name::new(name));
                    }
                }
                Some((&"subsort", [small, "<", large])) => {
                    let (small, large) = (sorts.declare(Name::new(small)), sorts.declare(Name::new(large)));
                    sorts.declare_subsort(small, large);
                }
                _ => {}
            }
        }
        sorts.close().expect("test sorts have no cycles");
        let mut spec = Spec { sig: Signature::new(sorts), vars: Vars::default() };
        for line in text.lines() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("op ") {
                spec.op(rest);
            } else if let Some(rest) = line.strip_prefix("vars ") {
                let (names, sort) = rest.split_once(" : ").expect("vars X : S");
                let sort = spec.sort(sort.trim());
                for name in names.split_whitespace() {
                    spec.vars.insert(Name::new(name), sort);
                }
            }
        }
        spec
    }

    pub fn sort(&self, text: &str) -> SortId {
        match text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            Some(sort) => {
                let sort = self.sig.sorts.find(Name::new(sort)).expect("a declared sort");
                self.sig.sorts.kind(self.sig.sorts.kind_of(sort)).error()
            }
            None => self.sig.sorts.find(Name::new(text)).expect("a declared sort"),
        }
    }

    fn op(&mut self, text: &str) {
        let (name, rest) = text.split_once(" : ").expect("op NAME : ...");
        let (domain, rest) = rest.split_once("->").expect("an arrow");
        let (range, attrs) = match rest.trim().split_once(" [") {
            Some((range, attrs)) => (range, attrs.trim().trim_end_matches(']')),
            None => (rest.trim(), ""),
        };
        let mut canonical = String::new();
        for token in lex(name) {
            let text = token.name.as_str();
            if text.len() == 1 && "()[]{},".contains(text) {
                canonical.push('`');
            }
            canonical.push_str(text);
        }
        let name = Name::new(&canonical);
        let attrs: Vec<Token> = lex(attrs);
        let words: Vec<&str> = attrs.iter().map(|t| t.name.as_str()).collect();
        if words.contains(&"poly") {
            let kinds: Vec<SortId> = self.sig.sorts.kinds().map(|(_, k)| k.sorts[1]).collect();
            for sort in kinds {
                let pick = |s: &str| if s == "Universal" { sort } else { self.sort(s) };
                let domain = domain.split_whitespace().map(pick).collect();
                let range = pick(range.trim());
                self.declare(name, domain, range, &words);
                let id = OpId::from_index(self.sig.len() - 1);
                let kind = self.sig.sorts.kind_of(sort);
                self.sig.op_mut(id).poly = Some(Poly { template: name.index() as u32, kind });
            }
            return;
        }
        let domain = domain.split_whitespace().map(|s| self.sort(s)).collect();
        let range = self.sort(range.trim());
        self.declare(name, domain, range, &words);
    }

    fn declare(&mut self, name: Name, domain: Vec<SortId>, range: SortId, words: &[&str]) {
        let kind = |s: &SortId| self.sig.sorts.kind_of(*s);
        let kinds: Vec<KindId> = domain.iter().map(kind).collect();
        let range_kind = kind(&range);
        let decl = OpDecl { domain, range, ctor: false, metadata: None, span: Span::default() };
        if let Some(old) = self.sig.find(name, &kinds, range_kind) {
            self.sig.op_mut(old).decls.push(decl);
            return;
        }
        let has = |word: &str| words.contains(&word);
        let after = |word: &str| words.iter().position(|w| *w == word).map(|i| words[i + 1]);
        let group = |word: &str| -> Option<Vec<&str>> {
            let at = words.iter().position(|w| *w == word)?;
            let end = words[at..].iter().position(|w| *w == ")")?;
            Some(words[at + 2..at + end].to_vec())
        };
        let gather = group("gather").map(|letters| {
            let letter = |l: &&str| match *l {
                "E" => Gather::Loose,
                "e" => Gather::Strict,
                _ => Gather::Any,
            };
            letters.iter().map(letter).collect()
        });
        let hooks = [
            ("succ", "SuccSymbol"),
            ("minus", "MinusSymbol"),
            ("division", "DivisionSymbol"),
            ("strings", "StringSymbol"),
            ("qids", "QuotedIdentifierSymbol"),
            ("floats", "FloatSymbol"),
            ("true", "SystemTrue"),
        ];
        let special = hooks.iter().find(|(word, _)| has(word)).map(|(_, hook)| {
            let zero = group("succ").map(|zero| {
                let op = self.sig.named(Name::new(zero[0]))[0];
                (Name::new("zeroTerm"), Tree::leaf(Node::App { op, arity: 0 }, Span::default()))
            });
            Special {
                hook: Name::new(hook),
                data: Vec::new(),
                more: Vec::new(),
                ops: Vec::new(),
                terms: zero.into_iter().collect(),
            }
        });
        let op = Operator {
            name,
            domain: kinds,
            range: range_kind,
            decls: vec![decl],
            axioms: Axioms {
                assoc: has("assoc"),
                comm: has("comm"),
                idem: false,
                iter: has("iter"),
                identity: None,
            },
            prec: after("prec").map(|p| p.parse().expect("a number")),
            gather,
            format: group("format").map(|words| words.iter().map(|w| Name::new(w)).collect()),
            strat: None,
            memo: false,
            frozen: Vec::new(),
            special: special.map(std::sync::Arc::new),
            poly: None,
            hooks: Hooks::default(),
            own: true,
        };
        self.sig.add(op);
        if has("tests") {
            self.sort_tests(range_kind, range);
        }
    }

    /// Adds `_::S` for all sorts, with results in the given kind.
    fn sort_tests(&mut self, bool_kind: KindId, range: SortId) {
        let sorts: Vec<SortId> = self.sig.sorts.declared().collect();
        for sort in sorts {
            let name = self.sig.sorts.name(sort);
            let kind = self.sig.sorts.kind_of(sort);
            let mut op = self.sig.op(OpId(0)).clone();
            op.name = Name::new(&format!("_::{name}"));
            op.domain = vec![kind];
            op.range = bool_kind;
            let domain = vec![self.sig.sorts.kind(kind).error()];
            op.decls = vec![OpDecl { domain, range, ctor: false, metadata: None, span: Span::default() }];
            op.special = Some(Arc::new(Special {
                hook: Name::new("SortTestSymbol"),
                data: vec![name],
                more: Vec::new(),
                ops: Vec::new(),
                terms: Vec::new(),
            }));
            self.sig.add(op);
        }
    }
}
