//! Text in, text out: parse with a small signature, print again. Where an expectation shows a
//! choice or a spacing, it came from Maude 3.2.

use super::chart::Chart;
use super::grammar::Cache;
use super::leaf::Leaves;
use super::testing::{Spec, lex};
use super::*;
use crate::base::Severity;
use crate::sorts::{Node, Tree};
use crate::syntax::tree::StatementKind;

const BOOL: &str = "
sorts Bool
op true : -> Bool [true]
op false : -> Bool
op not_ : Bool -> Bool [prec 53]
op _and_ : Bool Bool -> Bool [assoc comm prec 55]
op _or_ : Bool Bool -> Bool [assoc comm prec 59]
op _implies_ : Bool Bool -> Bool [gather (e E) prec 61]
op if_then_else_fi : Bool Universal Universal -> Universal [poly]
op _==_ : Universal Universal -> Bool [poly prec 51]
op tested : -> Bool [tests]
";

const NUMBERS: &str = "
sorts Zero NzNat Nat NzInt Int NzRat Rat String Qid Float
subsort Zero < Nat
subsort NzNat < Nat
subsort Nat < Int
subsort NzNat < NzInt
subsort NzInt < Int
subsort NzInt < NzRat
subsort Int < Rat
subsort NzRat < Rat
op 0 : -> Zero
op s_ : Nat -> NzNat [iter succ(0)]
op -_ : NzNat -> NzInt [minus]
op -_ : Int -> Int
op _/_ : NzInt NzNat -> NzRat [prec 31 gather (E e) division]
op _/_ : Rat NzRat -> Rat
op _+_ : Nat Nat -> Nat [assoc comm prec 33]
op _-_ : Int Int -> Int [prec 33 gather (E e)]
op _*_ : Nat Nat -> Nat [assoc comm prec 31]
op <Strings> : -> String [strings]
op <Qids> : -> Qid [qids]
op <Floats> : -> Float [floats]
vars N M : Nat
vars I : Int
";

const SHAPES: &str = "
sorts A B
op a : -> A
op a' : -> A
op b : -> B
op k : -> A
op k : -> B
op _in_ : A B -> A
op _on_ : B A -> A
op _as_ : A A -> A
op pre_ : A -> A [prec 60]
op _post : A -> A [prec 60]
op ~_ : A -> A
op _x_ : A A -> A [prec 30 gather (e &)]
op _z_ : A A -> A [prec 50 assoc gather (E E)]
op _+_ : A A -> A [assoc]
op __ : A A -> A [prec 25 gather (e E)]
op _[_] : A A -> A
op {_|_} : A A -> A
op _,_ : A A -> A [assoc prec 121]
op f : A A -> A
op f : A -> A
op h : A A -> A [assoc]
op i : A -> A [iter]
op j_ : A -> A [iter]
op g : A -> A
op g : B -> B
op nil : -> A [format (n d)]
op _;_ : A A -> A [assoc format (d n d d)]
vars X Y : A
";

fn spec(extra: &str) -> (Spec, Grammar) {
    let spec = Spec::new(&format!("{BOOL}{extra}"));
    let grammar = Grammar::new(&spec.sig);
    (spec, grammar)
}

/// Parses each text and compares what is printed; `?` before it stands for a warning.
fn check(extra: &str, cases: &[(&str, &str)]) {
    let (spec, grammar) = spec(extra);
    let options = PrintOptions { aliases: Some(&spec.vars), ..PrintOptions::default() };
    for (input, expected) in cases {
        let (tree, diagnostics) = grammar.term(&spec.sig, &spec.vars, &lex(input), &[]);
        let tree = tree.unwrap_or_else(|| panic!("{input}: {diagnostics:?}"));
        let warned = if diagnostics.is_empty() { "" } else { "?" };
        let printed = print(&spec.sig, &tree, &options);
        assert_eq!(format!("{warned}{printed}"), *expected, "from {input}");
        // What is printed reads as the same term again.
        let (again, _) = grammar.term(&spec.sig, &spec.vars, &lex(&printed), &[]);
        assert_eq!(again.map(|t| print(&spec.sig, &t, &options)), Some(printed), "again, from {input}");
    }
}

#[test]
fn parentheses_are_those_that_are_needed() {
    check(
        SHAPES,
        &[
            ("(a in b) as a", "a in b as a"),
            ("a as (a in b)", "a as (a in b)"),
            ("b on (b on a)", "b on b on a"),
            ("(a x a') as a", "(a x a') as a"),
            ("(pre a) post", "(pre a) post"),
            ("pre (a post)", "pre (a post)"),
            ("~ ~ a", "~ ~ a"),
            ("a + (a + a')", "a + a + a'"),
            ("a z (a z a')", "a z (a z a')"),
            ("(a a') a", "(a a') a"),
            ("a (a' a)", "a a' a"),
            ("h(pre a, (a, a'))", "h(pre a, (a,a'))"),
            ("{ pre a | (a, a) }", "{pre a | a,a}"),
        ],
    );
}

#[test]
fn ambiguity_warns_and_takes_the_reading_of_maude() {
    check(
        SHAPES,
        &[
            ("a as a as a'", "?(a as a) as a'"),
            ("k", "?(k).B"),
            ("(k)", "?(k).A"),
            ("k == k", "?(k).A == (k).A"),
            ("a [a]", "a[a]"),
        ],
    );
}

#[test]
fn sorts_are_added_where_names_do_not_tell_the_kind() {
    check(
        SHAPES,
        &[
            ("(k).A", "(k).A"),
            ("(k).[B]", "(k).B"),
            ("pre (k).A", "pre k"),
            ("g((k).A)", "g((k).A)"),
            ("(k).B == b", "(k).B == b"),
            ("if true then (k).A else a fi", "if true then (k).A else a fi"),
            ("pre if true then k else a fi", "pre if true then k else a fi"),
        ],
    );
}

#[test]
fn prefix_iter_and_flat_forms() {
    check(
        SHAPES,
        &[
            ("_+_(a, a, a')", "a + a + a'"),
            ("h(a, a', a)", "h(a, a', a)"),
            ("f(a)", "f(a)"),
            ("i^3(a)", "i^3(a)"),
            ("i(i(a))", "i(i(a))"),
            ("j j a", "j j a"),
            ("j_^12(a as a)", "j_^12(a as a)"),
            ("_`[_`](a, a)", "a[a]"),
            ("f(a, nil)", "f(a, \nnil)"),
            ("a ; a ; a", "a\n; a\n; a"),
        ],
    );
}

#[test]
fn variables_and_their_sorts() {
    check(SHAPES, &[("X + Z:A", "X + Z:A"), ("X:A", "X"), ("X:B on Y", "X:B on Y"), ("Q:[A]", "Q:[A]")]);
    check(
        "sorts List{Nat}\nop nil : -> List{Nat}\n",
        &[("X:List{Nat}", "X:List{Nat}"), ("(nil).List{Nat}", "nil")],
    );
}

#[test]
fn sort_tests() {
    check(
        SHAPES,
        &[
            ("X :: A", "X :: A"),
            ("(pre X) :: A", "(pre X) :: A"),
            ("X[Y] :: A", "X[Y] :: A"),
            ("not (X :: A)", "not X :: A"),
            ("not (true :: Bool)", "not (true :: Bool)"),
            ("X :: A == Y :: A", "X :: A == Y :: A"),
            ("k :: B", "k :: B"),
        ],
    );
}

#[test]
fn literals() {
    check(
        NUMBERS,
        &[
            ("0", "0"),
            ("42", "42"),
            ("007", "7"),
            ("-5", "-5"),
            ("- 5", "-5"),
            ("- I", "- I"),
            ("- (I - 1)", "- (I - 1)"),
            ("2/3", "2/3"),
            ("4 / 6", "4/6"),
            ("-1/2", "-1/2"),
            ("0 / 2", "0 / 2"),
            ("s_^3(N)", "s_^3(N)"),
            ("s s N", "s s N"),
            ("s 0", "1"),
            ("s_^3(0)", "3"),
            ("N + 2 * M", "N + 2 * M"),
            ("(N + 2) * M", "(N + 2) * M"),
            ("(N + 2) - 3 - 4", "(N + 2) - 3 - 4"),
            ("\"a\\tb\\\"\\\\\\001\\101\"", "\"a\\tb\\\"\\\\\\001A\""),
            ("'foo`,bar", "'foo`,bar"),
            ("1.5", "1.5"),
            ("0.1", "1.0000000000000001e-1"),
            ("1e3", "1.0e+3"),
            (".5", "5.0e-1"),
            ("-Infinity", "-Infinity"),
            ("-0.0", "0.0"),
        ],
    );
    let (spec, grammar) = spec(NUMBERS);
    for bad in ["00", "-0", "2/0", "s_^0(N)"] {
        assert!(grammar.term(&spec.sig, &spec.vars, &lex(bad), &[]).0.is_none(), "{bad}");
    }
}

#[test]
fn switches() {
    let (spec, grammar) = spec(&format!("{NUMBERS}\nop f : Nat Nat -> Nat [assoc]\nop c : -> Nat\n"));
    let shown = |text: &str, options: PrintOptions| {
        let tree = grammar.term(&spec.sig, &spec.vars, &lex(text), &[]).0.expect("it parses");
        print(&spec.sig, &tree, &options)
    };
    let plain = PrintOptions::default;
    assert_eq!(shown("N + c + 1", PrintOptions { mixfix: false, ..plain() }), "_+_(N:Nat, _+_(c, 1))");
    assert_eq!(shown("N + c * 2", PrintOptions { with_parens: true, ..plain() }), "(N:Nat + (c * 2))");
    assert_eq!(shown("2", PrintOptions { number: false, ..plain() }), "s_^2(0)");
    assert_eq!(shown("2/3", PrintOptions { number: false, ..plain() }), "2/3");
    assert_eq!(shown("\"a\"", PrintOptions { const_with_sorts: true, ..plain() }), "(\"a\").String");
    assert_eq!(shown("2/3", PrintOptions { rat: false, ..plain() }), "2 / 3");
    assert_eq!(shown("f(c, c, c)", PrintOptions { flat: false, ..plain() }), "f(c, f(c, c))");
    assert_eq!(shown("c + c", PrintOptions { const_with_sorts: true, ..plain() }), "(c).Nat + (c).Nat");
}

#[test]
fn flattened_terms_print_as_nested_to_the_right() {
    let (spec, _) = spec(SHAPES);
    let op = |name: &str| spec.sig.named(crate::base::Name::new(name))[0];
    let flat = |name: &str| {
        let mut tree = Tree::default();
        for _ in 0..3 {
            tree.push(Node::App { op: op("a"), arity: 0 }, Default::default());
        }
        tree.push(Node::App { op: op(name), arity: 3 }, Default::default());
        print(&spec.sig, &tree, &PrintOptions::default())
    };
    assert_eq!(flat("_+_"), "a + a + a");
    assert_eq!(flat("_z_"), "a z (a z a)");
    assert_eq!(flat("h"), "h(a, a, a)");
}

#[test]
fn statements() {
    let (spec, grammar) = spec(&format!("{SHAPES}\nop q : -> Bool\nop _=_ : A A -> A\n"));
    let options = PrintOptions { aliases: Some(&spec.vars), ..PrintOptions::default() };
    let check = |kind: StatementKind, text: &str, expected: &str| {
        let (body, diagnostics) =
            grammar.statement(&spec.sig, &spec.vars, kind, &lex(text), Default::default());
        let printed = match body {
            Some(StatementBody::Equation(e)) => print_equation(&spec.sig, &e, &options),
            Some(StatementBody::Membership(m)) => print_membership(&spec.sig, &m, &options),
            Some(StatementBody::Rule(r)) => print_rule(&spec.sig, &r, &options),
            None => panic!("{text}: {diagnostics:?}"),
        };
        assert_eq!(printed, expected);
    };
    use StatementKind::*;
    check(Eq, "f(X, Y) = X [label foo owise]", "eq f(X, Y) = X [owise label foo] .");
    check(Eq, "[lab] : f(X) = X + a [nonexec]", "eq f(X) = X + a [nonexec label lab] .");
    check(
        Eq,
        "X[Y] = X [metadata \"m\" print \"x = \" X]",
        "eq X[Y] = X [metadata \"m\" print \"x = \" X] .",
    );
    check(Eq, "f(X) = X[Y]", "eq f(X) = X[Y] .");
    check(Eq, "X = Y = X", "eq X = Y = X .");
    check(
        Ceq,
        "f(X) = X if q /\\ Y := X /\\ X : A /\\ not q = true",
        "ceq f(X) = X if q = true /\\ Y := X /\\ X : A /\\ not q = true .",
    );
    check(Mb, "X + Y : A", "mb X + Y : A .");
    check(Cmb, "X : A if X == a", "cmb X : A if X == a = true .");
    check(Rl, "[step] : X a => X", "rl X a => X [label step] .");
    check(Crl, "X => Y if f(X) => Y /\\ q", "crl X => Y if f(X) => Y /\\ q = true .");
}

#[test]
fn constants_that_look_like_literals() {
    let extra = format!("{NUMBERS}\nsorts A\nop 5 : -> A\nop 'q : -> A\nop 2/3 : -> A\n");
    check(
        &extra,
        &[
            ("5", "?(5).A"),
            ("(5).Nat", "(5).NzNat"),
            ("5 + 1", "5 + 1"),
            ("'q", "?('q).A"),
            ("2/3", "?(2/3).A"),
            ("(2/3).Rat", "(2/3).NzRat"),
        ],
    );
}

#[test]
fn equations_have_no_rewrite_conditions() {
    let (spec, grammar) = spec(SHAPES);
    let tokens = lex("f(X) = X if X => Y");
    let (body, diagnostics) =
        grammar.statement(&spec.sig, &spec.vars, StatementKind::Ceq, &tokens, Default::default());
    assert!(body.is_none());
    assert_eq!(diagnostics[0].code, "rewrite-condition");
}

#[test]
fn command_bodies() {
    let (spec, grammar) = spec(SHAPES);
    let (m, _) = grammar.matching(&spec.sig, &spec.vars, &lex("X + Y <=? a + a such that X == a /\\ Y : A"));
    assert_eq!(m.expect("it parses").condition.len(), 2);
    let (m, _) = grammar.matching(&spec.sig, &spec.vars, &lex("X <=? a"));
    assert!(m.expect("it parses").condition.is_empty());
    let (s, _) = grammar.search(&spec.sig, &spec.vars, &lex("a + a =>! X s.t. X == a"));
    let s = s.expect("it parses");
    assert_eq!((s.arrow, s.condition.len()), (Arrow::Bang, 1));
    let (c, _) = grammar.condition(&spec.sig, &spec.vars, &lex("X = a /\\ X => Y"));
    assert_eq!(c.expect("it parses").len(), 2);
}

/// The message, its place and its remarks.
fn complaint(extra: &str, text: &str) -> String {
    let (spec, grammar) = spec(extra);
    let (tree, diagnostics) = grammar.term(&spec.sig, &spec.vars, &lex(text), &[]);
    assert!(tree.is_none());
    let d = &diagnostics[0];
    assert_eq!(d.severity, Severity::Error);
    let span = d.span.expect("a place");
    let mut out = format!("{}..{} {}", span.start, span.end, d.label);
    for (_, note) in &d.notes {
        out.push_str(&format!("; {note}"));
    }
    if let Some(hint) = &d.hint {
        out.push_str(&format!("; {hint}"));
    }
    out
}

#[test]
fn failures_say_where_and_why() {
    assert_eq!(
        complaint("sorts A\nop apple : -> A\nop f : A -> A\n", "f(aple)"),
        "2..6 nothing is called `aple` here; did you mean `apple`?"
    );
    let wrong = complaint(SHAPES, "f(b, a)");
    assert!(wrong.starts_with("3..4 `,` does not fit here; expected `on`"), "{wrong}");
    assert!(wrong.contains("`b` has sort B, where `f : A A -> A` wants kind [A]"), "{wrong}");
    let missing = complaint(SHAPES, "a as");
    assert!(missing.starts_with("4..4 something is missing here; expected a term of kind [A]"), "{missing}");
    let closed = complaint(SHAPES, "f(a");
    assert_eq!(closed, "1..2 this `(` is never closed");
    let sort = complaint(SHAPES, "X:Boool");
    assert!(sort.contains("there is no sort `Boool`") && sort.contains("X:Bool"), "{sort}");
    let extra = complaint(SHAPES, "f(a) )");
    assert_eq!(extra, "5..6 this `)` closes nothing");
    let few = complaint("sorts A\nop a : -> A\nop f : A A -> A\n", "f(a)");
    assert!(few.ends_with("`f : A A -> A` takes 2 arguments"), "{few}");
}

#[test]
fn long_and_deep_terms_are_linear() {
    let (spec, grammar) = spec(SHAPES);
    let n = 20_000;
    let texts = [
        "a ".repeat(n),
        vec!["a"; n].join(" + "),
        "f(".repeat(n) + "a" + &")".repeat(n),
        "(".repeat(n) + "a" + &")".repeat(n),
        "~ ".repeat(n) + "a",
        format!("h({})", vec!["a"; n].join(", ")),
    ];
    for text in texts {
        let tokens = lex(&text);
        let (tree, diagnostics) = grammar.term(&spec.sig, &spec.vars, &tokens, &[]);
        assert!(diagnostics.is_empty());
        assert!(print(&spec.sig, &tree.expect("it parses"), &PrintOptions::default()).len() < 2 * text.len());
        let leaves = Leaves::new(&grammar, &spec.sig, &spec.vars, &tokens);
        let mut chart = Chart::new(&grammar, &spec.sig, leaves, &tokens);
        let goals: Vec<u32> = (0..grammar.kinds).collect();
        assert!(chart.run(&mut Cache::default(), &goals).is_some());
        assert!(chart.items.len() + chart.phrases.len() < 10 * tokens.len(), "{}", &text[..10]);
    }
}

/// Random terms print so that they parse to the same tree.
#[test]
fn printed_terms_parse_to_themselves() {
    let seed: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    println!("SEED={seed}");
    let (spec, grammar) = spec(SHAPES);
    let mut state = seed;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let ops: Vec<_> = spec.sig.ops().map(|(id, op)| (id, op.clone())).collect();
    let (mut clear, mut total) = (0, 0);
    for _ in 0..2000 {
        // Grows a forest: each step applies an operator to the last trees if their kinds fit.
        let mut tree = Tree::default();
        let mut kinds = Vec::new();
        let mut steps = 0;
        while steps < 12 || kinds.len() != 1 {
            steps += 1;
            if steps > 400 {
                break;
            }
            let (id, op) = &ops[random(ops.len())];
            let arity = op.arity();
            let fits = kinds.len() >= arity && kinds[kinds.len() - arity..] == op.domain[..];
            if !fits || arity == 0 && steps >= 12 && kinds.len() > 1 {
                continue;
            }
            kinds.truncate(kinds.len() - arity);
            kinds.push(op.range);
            let node = if op.axioms.iter {
                Node::Iter { op: *id, count: 1u32.into() }
            } else {
                Node::App { op: *id, arity: arity as u32 }
            };
            tree.push(node, Default::default());
        }
        if kinds.len() != 1 {
            continue;
        }
        let printed = print(&spec.sig, &tree, &PrintOptions::default());
        let (again, diagnostics) = grammar.term(&spec.sig, &spec.vars, &lex(&printed), &kinds);
        assert!(again.is_some(), "{printed}: {diagnostics:?}");
        // Some stay ambiguous, in Maude too: `_x_` gathers anything, so also the comma of `f(a, b)`.
        if diagnostics.is_empty() {
            assert_eq!(again, Some(tree), "{printed}");
            clear += 1;
        }
        total += 1;
    }
    assert!(clear * 10 > total * 8, "{clear} of {total} are unambiguous");
}
