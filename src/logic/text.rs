//! Formulas as text, in Maude's notation, with propositions `p0`, `p1`, ...
//!
//! Users' formulas are terms and are printed as terms; this notation serves tests, automata and
//! tools. Precedences are those of Maude's LTL module: unary operators bind tightest, then `/\`,
//! `\/`, then `U R W |->`, then `-> <-> =>`.

use super::formula::{Formula, Formulas, Node, PropId};

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// Byte offset.
    pub at: usize,
    pub expected: &'static str,
}

/// Reads one formula. Nesting deeper than [`DEPTH_MAX`] is refused.
pub fn parse(formulas: &mut Formulas, text: &str) -> Result<Formula, SyntaxError> {
    let mut parser = Parser { formulas, text, at: 0, depth: 0 };
    let formula = parser.binary(0)?;
    parser.skip_space();
    if parser.at < text.len() { Err(parser.error("an operator or the end")) } else { Ok(formula) }
}

/// The deepest nesting that [`parse`] follows.
pub const DEPTH_MAX: usize = 500;

/// Operators from loose to tight; the last of each row says whether they associate to the right.
const LEVELS: &[(&[&str], bool)] = &[
    (&["<->", "<=>", "->", "=>"], true),
    (&["|->", "U", "R", "W"], true),
    (&["\\/"], false),
    (&["/\\"], false),
];

struct Parser<'a> {
    formulas: &'a mut Formulas,
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn error(&self, expected: &'static str) -> SyntaxError {
        SyntaxError { at: self.at, expected }
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let cut = token.ends_with(is_word) && rest[token.len().min(rest.len())..].starts_with(is_word);
        let found = rest.starts_with(token) && !cut;
        if found {
            self.at += token.len();
        }
        found
    }

    fn binary(&mut self, level: usize) -> Result<Formula, SyntaxError> {
        let Some(&(operators, to_right)) = LEVELS.get(level) else { return self.unary() };
        self.depth += 1;
        if self.depth > DEPTH_MAX * LEVELS.len() {
            return Err(self.error("less nesting"));
        }
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.eat(operator)) {
            let right = self.binary(if to_right { level } else { level + 1 })?;
            let f = &mut *self.formulas;
            left = match *operator {
                "/\\" => f.add(Node::And(left, right)),
                "\\/" => f.add(Node::Or(left, right)),
                "U" => f.add(Node::Until(left, right)),
                "R" => f.add(Node::Release(left, right)),
                "W" => f.weak_until(left, right),
                "|->" => f.leads_to(left, right),
                "->" => f.implies(left, right),
                "<->" => f.equivalent(left, right),
                "=>" => {
                    let step = f.implies(left, right);
                    f.always(step)
                }
                _ => {
                    let step = f.equivalent(left, right);
                    f.always(step)
                }
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Result<Formula, SyntaxError> {
        // Prefix operators are collected first, so that a long chain needs no stack.
        let mut prefix = Vec::new();
        while let Some(operator) = ["~", "[]", "<>", "O"].into_iter().find(|operator| self.eat(operator)) {
            prefix.push(operator);
        }
        let mut formula = self.atom()?;
        let f = &mut *self.formulas;
        for operator in prefix.into_iter().rev() {
            formula = match operator {
                "~" => f.add(Node::Not(formula)),
                "O" => f.add(Node::Next(formula)),
                "<>" => f.eventually(formula),
                _ => f.always(formula),
            };
        }
        Ok(formula)
    }

    fn atom(&mut self) -> Result<Formula, SyntaxError> {
        if self.eat("True") {
            return Ok(self.formulas.constant(true));
        }
        if self.eat("False") {
            return Ok(self.formulas.constant(false));
        }
        if self.eat("(") {
            let formula = self.binary(0)?;
            return if self.eat(")") { Ok(formula) } else { Err(self.error("`)`")) };
        }
        self.skip_space();
        let number = self.text[self.at..].strip_prefix('p').map(|rest| {
            let length = rest.bytes().take_while(u8::is_ascii_digit).count();
            (length + 1, rest[..length].parse::<u32>())
        });
        match number {
            Some((length, Ok(number))) => {
                self.at += length;
                Ok(self.formulas.prop(PropId(number)))
            }
            _ => Err(self.error("a formula")),
        }
    }
}

/// The formula in Maude's notation; `True U f` and `False R f` are written `<> f` and `[] f`.
pub fn print(formulas: &Formulas, formula: Formula) -> String {
    print_with(formulas, formula, |prop| format!("p{}", prop.0))
}

/// As [`print`], with names for the propositions.
pub fn print_with(formulas: &Formulas, formula: Formula, name: impl Fn(PropId) -> String) -> String {
    // A stack of what is still to be written; numbers are the precedence that needs no brackets.
    enum Item {
        Text(&'static str),
        Formula(Formula, u32),
    }
    use Item::{Formula as F, Text as T};
    let mut out = String::new();
    let mut work = vec![F(formula, 99)];
    while let Some(item) = work.pop() {
        let (formula, limit) = match item {
            T(text) => {
                out.push_str(text);
                continue;
            }
            F(formula, limit) => (formula, limit),
        };
        let is = |f: Formula, node: Node| formulas.node(f) == node;
        let (own, mut items) = match formulas.node(formula) {
            Node::True => (0, vec![T("True")]),
            Node::False => (0, vec![T("False")]),
            Node::Prop(prop) => {
                out.push_str(&name(prop));
                continue;
            }
            Node::Not(f) => (53, vec![T("~ "), F(f, 53)]),
            Node::Next(f) => (53, vec![T("O "), F(f, 53)]),
            Node::And(f, g) => (55, vec![F(f, 55), T(" /\\ "), F(g, 54)]),
            Node::Or(f, g) => (59, vec![F(f, 59), T(" \\/ "), F(g, 58)]),
            Node::Until(f, g) if is(f, Node::True) => (53, vec![T("<> "), F(g, 53)]),
            Node::Release(f, g) if is(f, Node::False) => (53, vec![T("[] "), F(g, 53)]),
            Node::Until(f, g) => (63, vec![F(f, 62), T(" U "), F(g, 62)]),
            Node::Release(f, g) => (63, vec![F(f, 62), T(" R "), F(g, 62)]),
        };
        if own > limit {
            items.insert(0, T("("));
            items.push(T(")"));
        }
        work.extend(items.into_iter().rev());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        let printed = print(&formulas, formula);
        assert_eq!(printed, expected);
        assert_eq!(parse(&mut formulas, &printed), Ok(formula));
    }

    #[test]
    fn notation() {
        check("p0/\\p1\\/~p2", "p0 /\\ p1 \\/ ~ p2");
        check("[]<>p0", "[] <> p0");
        check("(p0 U p1) U p2", "(p0 U p1) U p2");
        check("p0 U p1 U p2", "p0 U (p1 U p2)");
        check("p0 -> O p1", "~ p0 \\/ O p1");
        check("p0 |-> p1", "[] (~ p0 \\/ <> p1)");
        check("p0 W p1", "p0 U p1 \\/ [] p0".replace("p0 U p1", "(p0 U p1)").as_str());
        check("p0 /\\ (p1 /\\ p2)", "p0 /\\ (p1 /\\ p2)");
    }

    #[test]
    fn mistakes() {
        let mut formulas = Formulas::default();
        for text in ["", "p", "p0 p1", "(p0", "p0 /\\", "q", "p99999999999"] {
            assert!(parse(&mut formulas, text).is_err(), "{text}");
        }
        let deep = "(".repeat(100_000);
        assert_eq!(parse(&mut formulas, &deep).expect_err("too deep").expected, "less nesting");
    }
}
