//! Quoted identifiers: `string` and `qid`, and between texts and lists of tokens `printTokens`
//! and `tokenize`.

use super::{Cx, Hooks};
use crate::base::Name;
use crate::term::Term;

#[derive(Clone, Copy, Debug)]
pub(super) enum QidOp {
    /// `string : Qid -> String`, the identifier without its quote, backquotes included.
    ToString,
    /// `qid : String ~> Qid`.
    FromString,
    /// `printTokens : QidList -> String`
    PrintTokens(List),
    /// `tokenize : String -> QidList`
    Tokenize(List),
}

/// The operators that make lists of identifiers.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    nil: Term,
    concat: u32,
}

impl QidOp {
    pub fn new(hooks: &Hooks, data: &str) -> Option<QidOp> {
        hooks.symbol("quotedIdentifierSymbol")?;
        hooks.symbol("stringSymbol")?;
        let list = || {
            let nil = Term::constant(hooks.symbol("nilQidListSymbol")?.0);
            Some(List { nil, concat: hooks.symbol("qidListSymbol")?.0 })
        };
        Some(match data {
            "string" => QidOp::ToString,
            "qid" => QidOp::FromString,
            "printTokens" => QidOp::PrintTokens(list()?),
            "tokenize" => QidOp::Tokenize(list()?),
            _ => return None,
        })
    }

    pub fn eval(self, cx: &mut Cx, args: &[Term]) -> Option<Term> {
        let &[arg] = args else { return None };
        match self {
            QidOp::ToString => {
                let name = read(cx, arg)?;
                Some(cx.heap.string(cx.sy, name.as_str().as_bytes()))
            }
            QidOp::FromString => {
                let name = identifier(&text(cx, arg)?)?;
                Some(cx.heap.qid(cx.sy, Name::new(&name)))
            }
            QidOp::PrintTokens(list) => {
                let tokens = if arg == list.nil { &[] } else { cx.heap.elements(cx.sy, list.concat, &arg) };
                let names: Option<Vec<Name>> = tokens.iter().map(|&t| read(cx, t)).collect();
                let text = print_tokens(names?.into_iter().map(Name::as_str));
                Some(cx.heap.string(cx.sy, text.as_bytes()))
            }
            QidOp::Tokenize(list) => {
                let mut tokens = Vec::new();
                for token in tokenize(&text(cx, arg)?) {
                    // FIXME: Maude's identifiers are bytes, ours are text.
                    let name = Name::new(std::str::from_utf8(&token).ok()?);
                    tokens.push(cx.heap.qid(cx.sy, name));
                }
                if tokens.is_empty() {
                    return Some(list.nil);
                }
                Some(cx.heap.list(cx.sy, list.concat, &tokens))
            }
        }
    }
}

/// The identifier that a term is.
fn read(cx: &Cx, t: Term) -> Option<Name> {
    (t.is_node() && cx.heap.sym(cx.sy, t) == cx.sy.qid).then(|| cx.heap.qid_name(t))
}

fn text(cx: &Cx, t: Term) -> Option<Vec<u8>> {
    (t.is_node() && cx.heap.sym(cx.sy, t) == cx.sy.string).then(|| cx.heap.bytes(t).to_vec())
}

/// Characters that are tokens of their own.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',')
}

/// The single identifier for a text as it would be written in a module: its words, separated by
/// white space or backquotes, joined by backquotes, which also precede special characters.
/// An unfinished string or what is not printable ASCII makes the text no identifier.
fn identifier(text: &[u8]) -> Option<String> {
    let mut name = String::with_capacity(text.len());
    for word in words(text)? {
        // Underscores and special characters separate themselves.
        let is_open = |byte: u8| !is_special(byte) && byte != b'_';
        if name.bytes().next_back().is_some_and(is_open) && is_open(word[0]) {
            name.push('`');
        }
        let mut rest = word;
        while let Some(&byte) = rest.first() {
            let length = if byte == b'"' { string_length(rest)? } else { 1 };
            if is_special(byte) {
                name.push('`');
            }
            name.extend(rest[..length].iter().map(|&byte| char::from(byte)));
            rest = &rest[length..];
        }
    }
    Some(name)
}

/// The words of a text: not empty, printable, strings in them kept whole.
fn words(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut words = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(&byte) = text.get(at) {
        let length = if byte == b'"' { string_length(&text[at..])? } else { 1 };
        if matches!(byte, b' ' | b'\t'..=b'\r' | b'`') {
            words.push(&text[start..at]);
            start = at + 1;
        } else if !text[at..at + length].iter().all(|byte| matches!(byte, b' '..=b'~')) {
            return None;
        }
        at += length;
    }
    words.push(&text[start..]);
    words.retain(|word| !word.is_empty());
    Some(words)
}

/// Tokens as text: single spaces between them, none before a special character and none after an
/// opening one. The tokens `\n`, `\t` and `\s` are white space, those for colours vanish.
fn print_tokens<'a>(tokens: impl Iterator<Item = &'a str>) -> String {
    const COLOURS: &[u8] = b"!?BCGMPRWYbcfghmopruwxy";
    let mut text = String::new();
    let mut needs_space = false;
    for token in tokens {
        let (token, special) = match *token.as_bytes() {
            [b'\\', code] if COLOURS.contains(&code) => continue,
            [b'\\', code @ (b'n' | b't' | b's')] => {
                text.push(match code {
                    b'n' => '\n',
                    b't' => '\t',
                    _ => ' ',
                });
                needs_space = false;
                continue;
            }
            [b'`', special] if is_special(special) => (&token[1..], Some(special)),
            _ => (token, None),
        };
        if needs_space && special.is_none() {
            text.push(' ');
        }
        text.push_str(token);
        needs_space = !matches!(special, Some(b'(' | b'[' | b'{'));
    }
    text
}

/// The tokens of a text as Maude's lexer sees them, special characters with their backquote.
/// What is part of no token (white space, control characters, a quote or a backquote that goes
/// with nothing) separates tokens.
fn tokenize(text: &[u8]) -> Vec<Vec<u8>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if is_special(first) {
            tokens.push(vec![b'`', first]);
            rest = &rest[1..];
            continue;
        }
        let mut token = Vec::new();
        // A backquote joins ordinary characters and strings, but not underscores.
        let mut joins = false;
        loop {
            match *rest {
                [b'`', special, ..] if is_special(special) => {
                    token.extend([b'`', special]);
                    rest = &rest[2..];
                    joins = false;
                }
                [b'`', ref next @ ..] if joins && begins_piece(next) => {
                    token.push(b'`');
                    rest = next;
                }
                [b'"', ..] => {
                    let Some(length) = string_length(rest) else { break };
                    let mut string = &rest[..length];
                    while let [byte, tail @ ..] = string {
                        if string.starts_with(b"\\\n") {
                            string = &string[2..];
                        } else {
                            token.push(*byte);
                            string = tail;
                        }
                    }
                    rest = &rest[length..];
                    joins = true;
                }
                [byte, ..] if is_ordinary(byte) => {
                    token.push(byte);
                    rest = &rest[1..];
                    joins = byte != b'_';
                }
                _ => break,
            }
        }
        if token.is_empty() {
            rest = &rest[1..];
        } else {
            tokens.push(token);
        }
    }
    tokens
}

fn is_ordinary(byte: u8) -> bool {
    !is_special(byte) && !matches!(byte, 0..=b' ' | 0x7f | b'`' | b'"')
}

/// Can a backquote join what begins here to an ordinary character before it?
fn begins_piece(text: &[u8]) -> bool {
    match text.first() {
        Some(b'"') => string_length(text).is_some(),
        Some(&byte) => is_ordinary(byte) && byte != b'_',
        None => false,
    }
}

/// The length of the string literal that the text begins with.
fn string_length(text: &[u8]) -> Option<usize> {
    let is_control = |byte: u8| matches!(byte, 0..=0x1f | 0x7f);
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => {
                let escaped = *text.get(at + 1)?;
                if is_control(escaped) && escaped != b'\n' {
                    return None;
                }
                at += 2;
            }
            byte if is_control(byte) => return None,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_identifiers() {
        let check = |text: &str, name: Option<&str>| {
            assert_eq!(identifier(text.as_bytes()).as_deref(), name, "{text:?}");
        };
        check("abc", Some("abc"));
        check("", Some(""));
        check("a b", Some("a`b"));
        check("a  b", Some("a`b"));
        check(" a b ", Some("a`b"));
        check("a,b", Some("a`,b"));
        check("(", Some("`("));
        check("( a", Some("`(a"));
        check("a (", Some("a`("));
        check("[a]", Some("`[a`]"));
        check("a{b}", Some("a`{b`}"));
        check("a`b", Some("a`b"));
        check("a`", Some("a"));
        check("\n", Some(""));
        check("a\"b c\"d", Some("a\"b c\"d"));
        check("a\"b", None);
        check("a_b", Some("a_b"));
        check("a_ b", Some("a_b"));
        check("_ _", Some("__"));
        check("a _", Some("a_"));
        check("é", None);
        check("a\x01", None);
        check("a\\b", Some("a\\b"));
        check("'a.1", Some("'a.1"));
    }

    #[test]
    fn tokens_are_printed() {
        let check = |tokens: &str, text: &str| assert_eq!(print_tokens(tokens.split(' ')), text);
        check("a b", "a b");
        check("`( a `, b `)", "(a, b)");
        check("a `( b `) c", "a(b) c");
        check("`} `{", "}{");
        check("a `, `, b `, `( c", "a,, b,(c");
        check("a \\n \\n `( x", "a\n\n(x");
        check("a \\s `,", "a ,");
        check("a \\r \\! \\i c", "a \\i c");
        check("List`{Nat`} c", "List`{Nat`} c");
        check("a  c", "a  c");
        assert_eq!(print_tokens([].into_iter()), "");
    }

    #[test]
    fn texts_are_cut_into_tokens() {
        let check = |text: &str, tokens: &str| {
            let found: Vec<String> =
                tokenize(text.as_bytes()).into_iter().map(|t| String::from_utf8(t).unwrap()).collect();
            assert_eq!(found.join("|"), tokens, "{text:?}");
        };
        check("a + f(b, c)", "a|+|f|`(|b|`,|c|`)");
        check("", "");
        check(" \t\n", "");
        check("\"str ing\" 'qid [x] {y} 1.5", "\"str ing\"|'qid|`[|x|`]|`{|y|`}|1.5");
        check("a\"b c\"d", "a\"b c\"d");
        check("a\"b c", "a|b|c");
        check("x \"a\\\"b\" w", "x|\"a\\\"b\"|w");
        check("\"a\tb\" c", "a|b|c");
        check("\"a\\\nb\" c", "\"ab\"|c");
        check("\"x\"y\"z", "\"x\"y|z");
        check("a`b", "a`b");
        check("a`(b`)", "a`(b`)");
        check("`(`(", "`(`(");
        check("`(`a", "`(|a");
        check("`(a`b", "`(a`b");
        check("a``b", "a|b");
        check("`a`b`", "a`b");
        check("_`a`_`b", "_|a|_|b");
        check("a`\"b c\"", "a`\"b c\"");
        check("` (", "`(");
        check("a\x01b\x7fc", "a|b|c");
        check("é", "é");
        check("a\\\nb", "a\\|b");
    }
}
