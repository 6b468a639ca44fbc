//! The usual forms of declarations, read without the grammar.
//!
//! Nearly all declarations are statements, or made of single-token names and plain sorts. They
//! are read here in one pass. Whatever is less usual, or wrong, gets no answer and goes to the
//! pest grammar, which knows everything and explains mistakes; the two agree wherever both answer.

use super::lexer::is_special;
use super::tree::*;

/// The declaration that the tokens are, if it has a usual form.
pub(super) fn declaration(tokens: &[Token]) -> Option<Vec<Decl>> {
    let [first, body @ .., last] = tokens else { return None };
    if body.is_empty() || last.name.as_str() != "." {
        return None;
    }
    let span = first.span.to(last.span);
    let statement = |kind| Some(vec![Decl::Statement(Statement { kind, body: body.to_vec(), span })]);
    let mut reader = Reader { tokens: body };
    match first.name.as_str() {
        "eq" => statement(StatementKind::Eq),
        "ceq" | "cq" => statement(StatementKind::Ceq),
        "mb" => statement(StatementKind::Mb),
        "cmb" => statement(StatementKind::Cmb),
        "rl" => statement(StatementKind::Rl),
        "crl" => statement(StatementKind::Crl),
        "sort" | "sorts" => {
            let sorts = reader.sorts()?;
            (reader.is_over() && !sorts.is_empty()).then(|| vec![Decl::Sorts(sorts)])
        }
        "subsort" | "subsorts" => {
            let mut groups = vec![reader.sorts()?];
            while reader.take("<") {
                groups.push(reader.sorts()?);
            }
            let whole = reader.is_over() && groups.len() > 1 && groups.iter().all(|group| !group.is_empty());
            whole.then(|| vec![Decl::Subsorts(groups)])
        }
        "var" | "vars" => {
            let names = reader.names()?;
            let ty = TypeExpr::Sort(reader.sort()?);
            (reader.is_over() && !names.is_empty()).then(|| vec![Decl::Vars { names, ty }])
        }
        "op" | "ops" => {
            let names = reader.names()?;
            if names.is_empty() || names.len() > 1 && first.name.as_str() == "op" {
                return None;
            }
            let (domain, range, partial) = reader.types()?;
            let attrs = if reader.take("[") { reader.attrs()? } else { Vec::new() };
            let op = |token| OpDecl {
                name: op_name(token),
                domain: domain.clone(),
                range: range.clone(),
                partial,
                attrs: attrs.clone(),
                msg: false,
                span,
            };
            reader.is_over().then(|| names.into_iter().map(op).map(Decl::Op).collect())
        }
        _ => None,
    }
}

fn op_name(token: Token) -> OpName {
    OpName { name: token.name, tokens: vec![token], span: token.span }
}

/// Is it a token with a meaning of its own where names and sorts stand?
fn is_punctuation(word: &str) -> bool {
    matches!(word, "." | ":" | "->" | "~>" | "<") || word.len() == 1 && is_special(word.as_bytes()[0])
}

/// What is left to read; each method takes what it is named after from the front.
struct Reader<'a> {
    tokens: &'a [Token],
}

impl Reader<'_> {
    fn is_over(&self) -> bool {
        self.tokens.is_empty()
    }

    fn peek(&self) -> &'static str {
        self.tokens.first().map_or("", |token| token.name.as_str())
    }

    fn next(&mut self) -> Option<Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == word && !self.is_over();
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn word(&mut self) -> Option<Token> {
        self.next().filter(|token| !is_punctuation(token.name.as_str()))
    }

    /// Names up to a colon.
    fn names(&mut self) -> Option<Vec<Token>> {
        let mut names = Vec::new();
        while !self.take(":") {
            names.push(self.word()?);
        }
        Some(names)
    }

    fn sorts(&mut self) -> Option<Vec<SortExpr>> {
        let mut sorts = Vec::new();
        while !self.is_over() && !is_punctuation(self.peek()) {
            sorts.push(self.sort()?);
        }
        Some(sorts)
    }

    fn sort(&mut self) -> Option<SortExpr> {
        let name = self.word()?;
        if !self.take("{") {
            return Some(SortExpr { name, args: Vec::new(), span: name.span });
        }
        // Arguments of arguments are left to the grammar, which limits how deep they nest.
        let mut args = Vec::new();
        loop {
            let arg = self.word()?;
            args.push(SortExpr { name: arg, args: Vec::new(), span: arg.span });
            let token = self.next()?;
            match token.name.as_str() {
                "," => {}
                "}" if self.peek() != "{" => {
                    return Some(SortExpr { name, args, span: name.span.to(token.span) });
                }
                _ => return None,
            }
        }
    }

    /// Domain, range, and whether the arrow is `~>`.
    fn types(&mut self) -> Option<(Vec<TypeExpr>, TypeExpr, bool)> {
        let domain = self.sorts()?.into_iter().map(TypeExpr::Sort).collect();
        let partial = match self.next()?.name.as_str() {
            "->" => false,
            "~>" => true,
            _ => return None,
        };
        Some((domain, TypeExpr::Sort(self.sort()?), partial))
    }

    /// Attributes and the closing bracket.
    fn attrs(&mut self) -> Option<Vec<OpAttr>> {
        let mut attrs = Vec::new();
        while !self.take("]") {
            attrs.push(self.attr()?);
        }
        Some(attrs)
    }

    fn attr(&mut self) -> Option<OpAttr> {
        Some(match self.next()?.name.as_str() {
            "assoc" => OpAttr::Assoc,
            "comm" => OpAttr::Comm,
            "idem" => OpAttr::Idem,
            "iter" => OpAttr::Iter,
            "ctor" => OpAttr::Ctor,
            "memo" => OpAttr::Memo,
            "ditto" => OpAttr::Ditto,
            "prec" => OpAttr::Prec(number(self.next()?)?),
            "gather" => OpAttr::Gather(self.group(Some)?),
            "format" => OpAttr::Format(self.group(Some)?),
            "strat" => OpAttr::Strat(self.group(number)?),
            "poly" => OpAttr::Poly(self.group(number)?),
            "frozen" if self.peek() == "(" => OpAttr::Frozen(self.group(number)?),
            "frozen" => OpAttr::Frozen(Vec::new()),
            // A term of one token, if it ends here for sure.
            "id:" => {
                let term = vec![self.word()?];
                let over =
                    matches!(self.peek(), "]" | "ctor" | "prec" | "gather" | "format" | "assoc" | "comm");
                over.then_some(OpAttr::Id { left: true, right: true, term })?
            }
            "special" => {
                let mut hooks = Vec::new();
                if !self.take("(") || self.peek() == ")" {
                    return None;
                }
                while !self.take(")") {
                    hooks.push(self.hook()?);
                }
                OpAttr::Special(hooks)
            }
            _ => return None,
        })
    }

    /// One or more words in parentheses.
    fn group<T>(&mut self, read: impl Fn(Token) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        if !self.take("(") {
            return None;
        }
        while !self.take(")") {
            let token = self.next().filter(|t| !is_special(t.name.as_str().as_bytes()[0]))?;
            items.push(read(token)?);
        }
        (!items.is_empty()).then_some(items)
    }

    fn hook(&mut self) -> Option<Hook> {
        let kind = self.next()?.name.as_str();
        let name = self.word()?;
        match kind {
            "id-hook" => {
                let mut data = Vec::new();
                if self.take("(") {
                    while !self.take(")") {
                        data.push(self.next()?);
                    }
                }
                Some(Hook::Id { name, data })
            }
            "op-hook" if self.take("(") => {
                let op = op_name(self.word()?);
                if !self.take(":") {
                    return None;
                }
                let (domain, range, _) = self.types()?;
                self.take(")").then_some(Hook::Op { name, op, domain, range })
            }
            "term-hook" if self.take("(") => {
                let term = vec![self.word()?];
                self.take(")").then_some(Hook::Term { name, term })
            }
            _ => None,
        }
    }
}

/// A number of a few digits.
fn number<T: std::str::FromStr>(token: Token) -> Option<T> {
    let text = token.name.as_str();
    let plain = text.len() < 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::FileId;
    use crate::syntax::build::build;
    use crate::syntax::lexer::Lexer;
    use crate::syntax::skeleton::Rule;

    /// Where this reader has an answer, the grammar has the same.
    fn check(text: &str) -> bool {
        let mut lexer = Lexer::new(text, FileId(0));
        let tokens: Vec<Token> = std::iter::from_fn(|| lexer.next()).map(|lexeme| lexeme.token).collect();
        let Some(quick) = declaration(&tokens) else { return false };
        let mut diagnostics = Vec::new();
        let slow = build(Rule::declaration, tokens, &mut diagnostics, |b, p| b.declaration(p));
        assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
        assert_eq!(format!("{quick:?}"), format!("{:?}", slow.expect("the grammar knows it")), "{text}");
        true
    }

    #[test]
    fn usual_declarations() {
        for text in [
            "sort S .",
            "sorts S List{X} Map{A, B} .",
            "subsorts A B < C < D{X} .",
            "vars X Y : S .",
            "op f : -> S .",
            "op _+_ : S S -> S [assoc comm id: 0 prec 33 gather (e E) ctor] .",
            "ops f g : A ~> List{X} [frozen strat (1 0) memo] .",
            "op h : A B -> C [frozen (1 2) format (d n d) poly (1 2) ditto] .",
            "op s_ : Nat -> Nat [special (id-hook SuccSymbol op-hook x (f : A B ~> C) term-hook zero (0))] .",
            "eq f(X) = Y [owise] .",
            "crl [l] : a => b if c .",
        ] {
            assert!(check(text), "{text} is usual");
        }
    }

    #[test]
    fn others_are_left_to_the_grammar() {
        for text in [
            "sort .",
            "op f g : S -> S .",
            "op (f g) : S -> S .",
            "op f : [S] -> S .",
            "op f : S -> S [id: f(a)] .",
            "op f : S -> S [nope] .",
            "op f : S -> S [assoc .",
            "op f : S S .",
            "sort L{X}{Y} .",
            "eq .",
            "var X .",
            "subsort A .",
            "pr NAT .",
        ] {
            assert!(!check(text), "{text} is not usual");
        }
    }

    /// All declarations of the prelude, cut at periods that end a line.
    #[test]
    fn the_prelude_reads_the_same() {
        let text = include_str!("../../stdlib/prelude.rwl");
        let mut usual = 0;
        for piece in text.split(" .\n").map(|piece| format!("\n{piece}")) {
            let keywords = ["op ", "ops ", "var ", "vars ", "sort ", "sorts ", "subsort ", "subsorts "];
            let start = keywords.iter().filter_map(|word| piece.rfind(&format!("\n    {word}"))).max();
            usual += start.map_or(0, |start| usize::from(check(&format!("{} .\n", &piece[start..]))));
        }
        assert!(usual > 200, "{usual} declarations are read the quick way");
    }
}
