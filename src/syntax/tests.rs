//! Whole items: text in, a compact form of the tree and the diagnostics out.

use super::*;
use crate::base::{Name, SourceMap, Span};
use tree::*;

/// The text's items in a compact form, one per line.
fn show(text: &str) -> String {
    let (items, diagnostics) = parse(text, FileId(0), &mut TokenOrder::default());
    assert!(diagnostics.is_empty(), "in {text:?}: {diagnostics:?}");
    items.iter().map(item).collect::<Vec<_>>().join("\n")
}

/// The text's diagnostics as `line:column code message`, one per line.
fn complaints(text: &str) -> Vec<String> {
    let (_, diagnostics) = parse(text, FileId(0), &mut TokenOrder::default());
    let mut sources = SourceMap::default();
    let file = sources.add("test", text);
    diagnostics
        .iter()
        .map(|d| {
            let (line, column) = sources.line_column(file, d.span.map_or(0, |span| span.start));
            format!("{line}:{column} {} {}", d.code, d.message)
        })
        .collect()
}

fn words(bubble: &[Token]) -> String {
    bubble.iter().map(|token| token.name.as_str()).collect::<Vec<_>>().join(" ")
}

fn list<T>(items: &[T], one: impl Fn(&T) -> String) -> String {
    items.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn item(item: &Item) -> String {
    match item {
        Item::Module(m) => {
            let params = list(&m.params, param);
            format!(
                "{:?} {}<{params}> {{{}}}",
                m.kind,
                m.name.name,
                list(&m.decls, |d| format!("{};", decl(d)))
            )
        }
        Item::View(v) => format!(
            "View {}<{}> {} -> {} {{{}}}",
            v.name.name,
            list(&v.params, param),
            module(&v.from),
            module(&v.to),
            list(&v.maps, |m| format!("{};", map(m)))
        ),
        Item::Command(c) => command(&c.kind),
    }
}

fn param(p: &ParamDecl) -> String {
    format!("{}::{}", p.name.name, module(&p.theory))
}

fn module(m: &ModuleExpr) -> String {
    match m {
        ModuleExpr::Name(token) => token.name.to_string(),
        ModuleExpr::Instance { module: inner, args, .. } => {
            format!("{}{{{}}}", module(inner), list(args, view))
        }
        ModuleExpr::Rename { module: inner, items, .. } => {
            format!("{}*({})", module(inner), list(items, rename))
        }
        ModuleExpr::Sum(terms) => format!("({})", terms.iter().map(module).collect::<Vec<_>>().join("+")),
    }
}

fn view(v: &ViewExpr) -> String {
    match v {
        ViewExpr::Name(token) => token.name.to_string(),
        ViewExpr::Instance { view: name, args, .. } => format!("{}{{{}}}", name.name, list(args, view)),
    }
}

fn op_types(types: &Option<(Vec<TypeExpr>, TypeExpr)>) -> String {
    types.as_ref().map_or(String::new(), |(domain, range)| format!(":{}->{}", list(domain, ty), ty(range)))
}

fn rename(r: &RenameItem) -> String {
    match r {
        RenameItem::Sort { from, to } => format!("sort {}=>{}", sort(from), sort(to)),
        RenameItem::Label { from, to } => format!("label {}=>{}", from.name, to.name),
        RenameItem::Op { from, types, to, attrs } => {
            format!("op {}{}=>{}[{}]", from.name, op_types(types), to.name, list(attrs, attr))
        }
    }
}

fn map(m: &ViewMap) -> String {
    match m {
        ViewMap::Sort { from, to } => format!("sort {}=>{}", sort(from), sort(to)),
        ViewMap::Label { from, to } => format!("label {}=>{}", from.name, to.name),
        ViewMap::Op { from, types, to } => format!("op {}{}=>{}", from.name, op_types(types), to.name),
        ViewMap::OpToTerm { from, to, .. } => format!("term {}=>{}", words(from), words(to)),
        ViewMap::Vars { names, ty: of } => format!("vars {}:{}", words(names), ty(of)),
    }
}

fn sort(s: &SortExpr) -> String {
    match s.args.as_slice() {
        [] => s.name.name.to_string(),
        args => format!("{}{{{}}}", s.name.name, list(args, sort)),
    }
}

fn ty(t: &TypeExpr) -> String {
    match t {
        TypeExpr::Sort(s) => sort(s),
        TypeExpr::Kind { sorts, .. } => format!("[{}]", list(sorts, sort)),
    }
}

fn decl(d: &Decl) -> String {
    match d {
        Decl::Import { mode, module: m, .. } => format!("{mode:?} {}", module(m)),
        Decl::Sorts(sorts) => format!("sorts {}", list(sorts, sort)),
        Decl::Subsorts(groups) => {
            format!("sub {}", groups.iter().map(|g| list(g, sort)).collect::<Vec<_>>().join(" < "))
        }
        Decl::Op(op) => {
            let arrow = if op.partial { "~>" } else { "->" };
            let keyword = if op.msg { "msg" } else { "op" };
            let attrs =
                if op.attrs.is_empty() { String::new() } else { format!(" [{}]", list(&op.attrs, attr)) };
            format!("{keyword} {}:{}{arrow}{}{attrs}", op.name.name, list(&op.domain, ty), ty(&op.range))
        }
        Decl::Vars { names, ty: of } => format!("vars {}:{}", words(names), ty(of)),
        Decl::Statement(s) => format!("{:?} {}", s.kind, words(&s.body)),
    }
}

fn attr(a: &OpAttr) -> String {
    match a {
        OpAttr::Id { left, right, term } => format!("Id({left},{right},{})", words(term)),
        OpAttr::Gather(t) => format!("Gather({})", words(t)),
        OpAttr::Format(t) => format!("Format({})", words(t)),
        OpAttr::PortalOrOther(t) => t.name.to_string(),
        OpAttr::Special(hooks) => format!("Special({})", list(hooks, hook)),
        other => format!("{other:?}"),
    }
}

fn hook(h: &Hook) -> String {
    match h {
        Hook::Id { name, data } => format!("id {}({})", name.name, words(data)),
        Hook::Op { name, op, domain, range } => {
            format!("op {}({}:{}->{})", name.name, op.name, list(domain, ty), ty(range))
        }
        Hook::Term { name, term } => format!("term {}({})", name.name, words(term)),
    }
}

fn command(kind: &CommandKind) -> String {
    let within = |m: &Option<ModuleExpr>| m.as_ref().map_or(String::new(), |m| format!(" in {}", module(m)));
    let bound = |n: &Option<u64>| n.map_or("-".to_string(), |n| n.to_string());
    match kind {
        CommandKind::Reduce { module, term } => format!("reduce{}: {}", within(module), words(term)),
        CommandKind::Parse { module, term } => format!("parse{}: {}", within(module), words(term)),
        CommandKind::Match { extension, limit, module, body } => {
            format!("match ext={extension} {}{}: {}", bound(limit), within(module), words(body))
        }
        CommandKind::Rewrite { limit, module, term } => {
            format!("rewrite {}{}: {}", bound(limit), within(module), words(term))
        }
        CommandKind::Frewrite { limit, gas, module, term } => {
            format!("frewrite {},{}{}: {}", bound(limit), bound(gas), within(module), words(term))
        }
        CommandKind::Search { limit, depth, module, body } => {
            format!("search {},{}{}: {}", bound(limit), bound(depth), within(module), words(body))
        }
        CommandKind::Continue(limit) => format!("continue {}", bound(limit)),
        CommandKind::Select(m) => format!("select {}", module(m)),
        CommandKind::Show(w) => format!("show {}", words(w)),
        CommandKind::Set(w) => format!("set {}", words(w)),
        CommandKind::Trace(w) => format!("trace {}", words(w)),
        CommandKind::Do(w) => format!("do {}", words(w)),
        CommandKind::Other(w) => format!("other {}", words(w)),
        CommandKind::Load { path, silent, once, .. } => format!("load {path:?} silent={silent} once={once}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn maudes_own_files_have_no_mistakes() {
    for name in [
        "prelude",
        "model-checker",
        "linear",
        "machine-int",
        "term-order",
        "smt",
        "file",
        "socket",
        "metaInterpreter",
        "time",
    ] {
        let Ok(bytes) = std::fs::read(format!("/usr/share/maude/{name}.maude")) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let found = complaints(&text);
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

fn check(text: &str, expected: &str) {
    assert_eq!(show(text), expected, "in {text:?}");
}

/// Checks the declarations of a module.
fn check_decls(decls: &str, expected: &str) {
    check(&format!("mod M is {decls} endm"), &format!("Mod M<> {{{expected}}}"));
}

/// Checks what is said about a text, and that what is left of it has this form.
fn check_wrong(text: &str, expected: &[&str], left: &str) {
    assert_eq!(complaints(text), expected, "in {text:?}");
    let (items, _) = parse(text, FileId(0), &mut TokenOrder::default());
    assert_eq!(items.iter().map(item).collect::<Vec<_>>().join("\n"), left, "in {text:?}");
}

#[test]
fn modules() {
    check("fmod A is endfm", "Fmod A<> {}");
    check("mod A is endm fth T is endfth th U is endth", "Mod A<> {}\nFth T<> {}\nTh U<> {}");
    check("fmod A{X :: TRIV, Y :: B{Z} * (sort S to T)} is endfm", "Fmod A<X::TRIV Y::B{Z}*(sort S=>T)> {}");
    check("fmod is is sort S . endfm", "Fmod is<> {sorts S;}");
}

#[test]
fn imports_and_module_expressions() {
    check_decls(
        "pr A . protecting A . ex A . extending A . inc A . including A . gb A . generated-by A .",
        "Protecting A; Protecting A; Extending A; Extending A; Including A; Including A; GeneratedBy A; GeneratedBy A;",
    );
    check_decls("pr LIST{Nat} .", "Protecting LIST{Nat};");
    check_decls("pr MAP{Nat, Set{X}}{Y} .", "Protecting MAP{Nat Set{X}}{Y};");
    check_decls("pr A + B * (label a to b) + (C + D) .", "Protecting (A+B*(label a=>b)+C+D);");
    check_decls("pr (A + B) * (sort List{X} to S{X}{Y}) .", "Protecting (A+B)*(sort List{X}=>S{X}{Y});");
    check_decls(
        "pr A * (op f to g, op _,_ : A [B] -> C to _;_ [prec 3 gather (e E)], op (_ , _) to (g[_]), op a to b c) .",
        "Protecting A*(op f=>g[] op _`,_:A [B]->C=>_;_[Prec(3) Gather(e E)] op _`,_=>g`[_`][] op a=>b`c[]);",
    );
    check_decls("pr A * (op f to [_], op . to ;) .", "Protecting A*(op f=>`[_`][] op .=>;[]);");
}

#[test]
fn sorts_and_variables() {
    check_decls("sort S .", "sorts S;");
    check_decls("sorts S T{X} M{A, L{B}} .", "sorts S T{X} M{A L{B}};");
    check_decls("subsort A < B .", "sub A < B;");
    check_decls("subsorts A B{X} < C < D E .", "sub A B{X} < C < D E;");
    check_decls(
        "var X : S . vars Y Z : [S, T] . var A B : L{X} .",
        "vars X:S; vars Y Z:[S T]; vars A B:L{X};",
    );
    check_decls("vars endfm eq endm : S . sort T .", "vars endfm eq endm:S; sorts T;");
    check_decls("var X : X$Elt . sort T .", "vars X:X$Elt; sorts T;");
    let (items, _) = parse("fmod A is sort N{A,B}{X} . endfm", FileId(0), &mut TokenOrder::default());
    let Item::Module(m) = &items[0] else { panic!() };
    let Decl::Sorts(sorts) = &m.decls[0] else { panic!() };
    assert_eq!((sorts[0].name.name.as_str(), sorts[0].args.len()), ("N{A,B}", 1));
}

/// Names as Maude prints them with `show ops`.
#[test]
fn operator_names() {
    for (written, name) in [
        ("f", "f"),
        ("_+_", "_+_"),
        ("(_ + _)", "_+_"),
        ("[_]", "`[_`]"),
        ("<_:_|_>", "<_:_|_>"),
        ("f`[_`]", "f`[_`]"),
        ("_(_)", "_`(_`)"),
        ("{_,_}", "`{_`,_`}"),
        ("_,_", "_`,_"),
        ("_ _", "__"),
        ("_ x _", "_x_"),
        ("(x y z)", "x`y`z"),
        ("a b", "a`b"),
        ("(a b c) d", "`(a`b`c`)d"),
        ("a (b c)", "a`(b`c`)"),
        ("p (_) q [_] r", "p`(_`)q`[_`]r"),
        ("if_then _ else_ fi", "if_then_else_fi"),
        ("((_))", "`(_`)"),
        ("()", "`(`)"),
        ("(())", "`(`)"),
        ("(: : :)", ":`:`:"),
        (":", ":"),
        ("->", "->"),
        (".", "."),
        ("_ . _", "_._"),
        ("a\"b c\"d", "a\"b c\"d"),
        ("[_,_>", "`[_`,_>"),
    ] {
        check_decls(&format!("op {written} : -> S ."), &format!("op {name}:->S;"));
    }
    check_decls(
        "ops (h_) (k[_]) m 0 : S -> S [ctor] .",
        "op h_:S->S [Ctor]; op k`[_`]:S->S [Ctor]; op m:S->S [Ctor]; op 0:S->S [Ctor];",
    );
    check_decls("msg m : S -> T . msgs a b : -> T .", "msg m:S->T; msg a:->T; msg b:->T;");
    check_decls("op f : [A] B{X} ~> [C, D] .", "op f:[A] B{X}~>[C D];");
}

#[test]
fn operator_attributes() {
    check_decls(
        "op f : S S -> S [assoc comm idem iter ctor memo ditto config obj msg pconst] .",
        "op f:S S->S [Assoc Comm Idem Iter Ctor Memo Ditto Config Object Msg pconst];",
    );
    check_decls(
        "op f : S S -> S [associative commutative id: nil left id: f(a, b) prec 3 right identity: (a b) ctor] .",
        "op f:S S->S [Assoc Comm Id(true,true,nil) Id(true,false,f ( a , b )) Prec(3) \
         Id(false,true,( a b )) Ctor];",
    );
    check_decls(
        "op f : S S -> S [gather (e E) format (d ++r s) strat (1 -1 0) frozen frozen (1 2) poly (0 2)] .",
        "op f:S S->S [Gather(e E) Format(d ++r s) Strat([1, -1, 0]) Frozen([]) Frozen([1, 2]) Poly([0, 2])];",
    );
    check_decls(
        "op f : S -> S [metadata \"a \\\"b\" latex (x y) strategy(0) precedence 9] .",
        r#"op f:S->S [Metadata("a \\\"b") LatexMacro("x y") Strat([0]) Prec(9)];"#,
    );
    check_decls(
        "op _+_ : N N -> N [special (id-hook A (+ -) id-hook B op-hook s (s_ : [N] ~> N) \
         op-hook _`,_ (_,_ : N N ~> N [ctor] .) term-hook t (f(a)))] .",
        "op _+_:N N->N [Special(id A(+ -) id B() op s(s_:[N]->N) op _`,_(_`,_:N N->N) term t(f ( a )))];",
    );
    check_decls("op f : S S -> S [id: .] .", "op f:S S->S [Id(true,true,.)];");
}

/// The rules of the final period; every case was tried in Maude 3.2.
#[test]
fn statements_end_where_maude_ends_them() {
    check_decls("eq a = b . eq c = d .", "Eq a = b; Eq c = d;");
    check_decls(
        "ceq a = b if c . cq a = b if c = d . mb a : S .",
        "Ceq a = b if c; Ceq a = b if c = d; Mb a : S;",
    );
    check_decls(
        "cmb a : S if b . rl [l] : a => b [label x] . crl a => b if c => d .",
        "Cmb a : S if b; Rl [ l ] : a => b [ label x ]; Crl a => b if c => d;",
    );
    check_decls("eq a . b = c .", "Eq a . b = c;");
    check_decls("eq a . eq = b .", "Eq a . eq = b;");
    check_decls("ceq a = b . eq if b = c .", "Ceq a = b . eq if b = c;");
    check_decls("eq a .\n b = c .", "Eq a . b = c;");
    check_decls("eq a b c . eq e = f . eq g = h .", "Eq a b c . eq e = f; Eq g = h;");
    check_decls("rl f ( a ) . eq => b . sort S .", "Rl f ( a ) . eq => b; sorts S;");
    check_decls("crl a => if b . eq if c . sort S .", "Crl a => if b . eq if c; sorts S;");
    check_decls("eq = b . eq a = . eq c = d . sort S .", "Eq = b; Eq a = . eq c = d; sorts S;");
    check_decls("eq f(a . eq b) = c .", "Eq f ( a . eq b ) = c;");
    check_decls("eq a = b . *** comment\n ***( more\n ) eq c = d .", "Eq a = b; Eq c = d;");
    check_decls("eq a = \" . eq \" .", "Eq a = \" . eq \";");
    check_decls("eq a = b\n . op y : -> S .", "Eq a = b; op y:->S;");
    check_decls("eq a) = b . eq c = d .", "Eq a ) = b; Eq c = d;");
    check_decls(
        "op m : -> M . eq m = (fmod 'A is nil\n sorts 'S .\n none\n eq 'a = 'b [none] .\n endfm) .\n sort S .",
        "op m:->M; Eq m = ( fmod 'A is nil sorts 'S . none eq 'a = 'b [ none ] . endfm ); sorts S;",
    );
    check_decls(
        "eq m = fmod 'A is nil\n sorts none . none none\n none none endfm .\n sort S .",
        "Eq m = fmod 'A is nil sorts none . none none none none endfm; sorts S;",
    );
    check_decls("op . : -> S . eq . = a . var X : S .", "op .:->S; Eq . = a; vars X:S;");
    check_wrong(
        "fmod A is eq a = b. eq c = X:Nat. op f : S -> S. endfm",
        &[
            "1:18 missing-space missing blank between `b` and the period",
            "1:28 missing-space missing blank between `X:Nat` and the period",
            "1:47 missing-space missing blank between `S` and the period",
        ],
        "Fmod A<> {Eq a = b; Eq c = X:Nat; op f:S->S;}",
    );
}

#[test]
fn views() {
    check("view V from A to B{X} is endv", "View V<> A -> B{X} {}");
    check("view V{X :: T} from A to B * (sort S to T) is endv", "View V<X::T> A -> B*(sort S=>T) {}");
    check(
        "view V from A to B is sort S to L{X} . label a to b . op f to g . op _+_ : S S -> S to _*_ . \
         vars X Y : S . op f(X, Y) to term X . Y . op [_] to (_ x) . op a to term b .\n op . to . . msg m to n . endv",
        "View V<> A -> B {sort S=>L{X}; label a=>b; op f=>g; op _+_:S S->S=>_*_; vars X Y:S; \
         term f ( X , Y )=>X . Y; op `[_`]=>_x; term a=>b; op .=>.; op m=>n;}",
    );
}

#[test]
fn commands() {
    check("red a .", "reduce: a");
    check("reduce in A : a : b .", "reduce in A: a : b");
    check("debug red in A + B{C} :\n a\n .", "reduce in (A+B{C}): a");
    check("red in .", "reduce: in");
    check("red in(a) .", "reduce: in ( a )");
    check("parse in A : a .", "parse in A: a");
    check(
        "rew a .\nrewrite [3] in A : a .\nrew[4]a .\nrew [0] a .",
        "rewrite -: a\nrewrite 3 in A: a\nrewrite 4: a\nrewrite -: [ 0 ] a",
    );
    check(
        "frew a .\nfrewrite [1, 2] in A : a .\nfrew [, 2] a .",
        "frewrite -,-: a\nfrewrite 1,2 in A: a\nfrewrite -,2: a",
    );
    check(
        "search a =>* b .\nsearch [1,2] in A : a =>! b such that c .\nsearch[,2]a =>1 b .\nsearch [7] a =>+ b .",
        "search -,-: a =>* b\nsearch 1,2 in A: a =>! b such that c\nsearch -,2: a =>1 b\nsearch 7,-: a =>+ b",
    );
    check(
        "match [2] in A : a <=? b .\nxmatch a <=? b .",
        "match ext=false 2 in A: a <=? b\nmatch ext=true -: a <=? b",
    );
    check("cont .\ncontinue 5 . red a .", "continue -\ncontinue 5\nreduce: a");
    let text = "mod L is op _._ : L L -> L . endm\ncont .\nred a . b .";
    let (parsed, said) = parse(text, FileId(0), &mut TokenOrder::default());
    assert_eq!((parsed.len(), said.len()), (3, 0));
    check("select A .\nshow mod A .\nshow .\ndo clear memo .", "select A\nshow mod A\nshow \ndo clear memo");
    check("set trace on . set include BOOL off .", "set trace on\nset include BOOL off");
    check(
        "trace select f (_,_) .\nbreak select a .\nprint conceal f .",
        "trace trace select f ( _ , _ )\ntrace break select a\ntrace print conceal f",
    );
    check("(foo (bar) .)\nloop a .", "other ( foo ( bar ) . )\nother loop a");
    check(
        "pwd\nls -l *.maude\ncd \npushd a\npopd\nhelp\nred a .",
        "Pwd\nLs(\"-l *.maude\")\nCd(\"\")\nPushd(\"a\")\nPopd\nHelp\nreduce: a",
    );
    check("red a . b .\n", "reduce: a . b");
    check(
        "red a . *** b\nred b .\t--- c\nred c . ***( d\n) red d .\r\nred e .",
        "reduce: a\nreduce: b\nreduce: c\nreduce: d\nreduce: e",
    );
    check("red (a .\n b) .", "reduce: ( a . b )");
    check("red \"a .\\\n\" .", "reduce: \"a .\"");
    check("red [ .\nred { .\nred 1 + ) .", "reduce: [\nreduce: {\nreduce: 1 + )");
    check("set show timing off .\nred in COLORS :\nred .\n", "set show timing off\nreduce in COLORS: red");
}

#[test]
fn files_and_the_end() {
    check(
        "load a/b.maude\nin \"c d\" .\nsload a\\ b *** x\nload 'e(.maude\nred a .",
        "load \"a/b.maude\" silent=true once=false\nload \"c d\" silent=false once=false\n\
         load \"a b\" silent=true once=true\nload \"'e(.maude\" silent=true once=false\nreduce: a",
    );
    check("red a .\nquit\nred b .", "reduce: a\nQuit");
    check("eof\n***( never closed", "Eof");
    check("q . red b .", "Quit");
}

#[test]
fn a_mistake_costs_its_own_declaration() {
    check_wrong(
        "fmod A is\n  sort S\n  op f : S -> S\n  eq f(X) = X\n  eq f(f(X)) = X .\nendfm",
        &[
            "2:9 missing-period missing period after this `sort`",
            "3:16 missing-period missing period after this `op`",
            "4:14 missing-period missing period after this `eq`",
        ],
        "Fmod A<> {sorts S; op f:S->S; Eq f ( X ) = X; Eq f ( f ( X ) ) = X;}",
    );
    check_wrong(
        "fmod A is\n  eq f(X = X .\n  op g : S -> S [assoc .\n  op h : S -> S [gather (e] .\n  sort T .\nendfm",
        &[
            "2:7 unclosed-bracket this `(` is never closed",
            "3:17 unclosed-bracket this `[` is never closed",
            "4:25 unclosed-bracket this `(` is never closed",
        ],
        "Fmod A<> {sorts T;}",
    );
    check_wrong(
        "fmod A is\n  eq a = b .\n  eqq c = d .\n  opp f : S -> S .\n  sort S .\n  is not .\n  sort T .\nendfm",
        &[
            "3:3 unknown-keyword `eqq` begins no declaration",
            "4:3 unknown-keyword `opp` begins no declaration",
            "6:3 unknown-keyword `is` begins no declaration",
        ],
        "Fmod A<> {Eq a = b; sorts S; sorts T;}",
    );
    check_wrong(
        "fmod A is\n op f : S S .\n op g S -> S .\n op _ : _ : S -> S .\n ops a b[_] : S -> S .\n vars X Y S .\n \
         subsort A B .\n op h : S -> S [asoc prec x] .\n op i : S -> S [asoc comm] .\nendfm",
        &[
            "2:13 syntax-error unexpected `.` in this `op`",
            "3:9 missing-colon missing `:` in this `op`",
            "4:11 syntax-error unexpected `:` in this `op`",
            "5:9 syntax-error unexpected `[` in this `ops`",
            "6:13 syntax-error unexpected `.` in this `vars`",
            "7:14 syntax-error unexpected `.` in this `subsort`",
            "8:27 syntax-error unexpected `x` in this `op`",
            "9:17 unknown-attribute unknown attribute `asoc`",
        ],
        "Fmod A<> {op i:S->S [Comm];}",
    );
    check_wrong(
        "fmod A is eq a = b . . sort S . endfm .",
        &["1:39 stray-period this period ends nothing"],
        "Fmod A<> {Eq a = b .; sorts S;}",
    );
    check_wrong(
        "mod A is\n sd s := t .\n strat s @ S .\n class C .\n sort S .\nendm",
        &[
            "2:2 not-supported `sd` declarations are not supported yet",
            "3:2 not-supported `strat` declarations are not supported yet",
            "4:2 not-supported `class` declarations are not supported yet",
        ],
        "Mod A<> {sorts S;}",
    );
}

#[test]
fn modules_end_in_spite_of_mistakes() {
    check_wrong(
        "fmod A is\n  sort S .\nfmod B\n  sort T .\nendm\nmod C is\n  rl a => b .\nred a .\n",
        &[
            "2:11 missing-end `fmod A` has no `endfm`",
            "3:7 missing-is missing `is` after this `fmod`",
            "5:1 wrong-end `fmod B` ends with `endm`",
            "7:14 missing-end `mod C` has no `endm`",
        ],
        "Fmod A<> {sorts S;}\nFmod B<> {sorts T;}\nMod C<> {Rl a => b;}\nreduce: a",
    );
    check_wrong(
        "mod",
        &["1:4 syntax-error unexpected end after `mod`", "1:4 missing-end `mod` has no `endm`"],
        "Mod mod<> {}",
    );
    check_wrong("fmod A is sort S .", &["1:19 missing-end `fmod A` has no `endfm`"], "Fmod A<> {sorts S;}");
    check_wrong(
        "fmod A{X : TRIV} is sort S . endfm",
        &["1:10 syntax-error unexpected `:` in this `fmod`"],
        "Fmod A<> {sorts S;}",
    );
    check_wrong(
        "fmod A is eq a = b\nendfm red a .",
        &["1:19 missing-period missing period after this `eq`"],
        "Fmod A<> {Eq a = b;}\nreduce: a",
    );
    check_wrong(
        "omod A is class C . endom smod B is strat s . endsm fmod C is endfm",
        &[
            "1:1 not-supported object-oriented modules are not supported yet",
            "1:27 not-supported strategy modules are not supported yet",
        ],
        "Fmod C<> {}",
    );
    check_wrong(
        "view V from A to is sort S to T . endv view W from A to B is op f to . sort S T . bla . endv",
        &[
            "1:18 syntax-error unexpected `is` in this `view`",
            "1:70 syntax-error unexpected `.` in this `op`",
            "1:79 syntax-error unexpected `T` in this `sort`",
            "1:83 unknown-keyword `bla` begins no declaration",
        ],
        "View W<> A -> B {}",
    );
}

#[test]
fn wrong_commands() {
    check_wrong(
        "red a\nred b .\nredd c .\nred d.\nred f( e .\nred g .\nsrew h .\nred .\nload\nunify a =? b .\nred i",
        &[
            "1:6 missing-period missing period after this `red`",
            "3:1 unknown-command `redd` begins no command or module",
            "4:5 missing-space missing blank between `d` and the period",
            "5:6 unclosed-bracket this `(` is never closed",
            "7:1 not-supported `srew` is not supported yet",
            "8:5 syntax-error unexpected `.` after `red`",
            "9:5 missing-file `load` needs a file name",
            "10:1 not-supported `unify` is not supported yet",
            "11:6 missing-period missing period after this `red`",
        ],
        "reduce: b\nreduce: d\nreduce: g",
    );
    check_wrong(
        "eq a = b .\nendfm\n. red a .\nload a b\n(",
        &[
            "1:1 outside-module `eq` can only stand inside a module",
            "2:1 stray-end `endfm` ends nothing here",
            "3:1 stray-period this period ends nothing",
            "4:8 ignored-text text after the file name is ignored",
            "5:1 unclosed-bracket this `(` is never closed",
        ],
        "reduce: a\nload \"a\" silent=true once=false",
    );
}

#[test]
fn hints_name_the_nearest_word() {
    let (_, diagnostics) =
        parse("fmod A is\n opp f : S -> S .\nendfm\nredd a .", FileId(0), &mut TokenOrder::default());
    let hints: Vec<_> = diagnostics.iter().filter_map(|d| d.hint.as_deref()).collect();
    assert_eq!(hints, ["did you mean `op`?", "did you mean `red`?"]);
}

#[test]
fn growing_text() {
    for (text, expected) in [
        ("", Progress::Blank),
        (" \n *** c\n", Progress::Blank),
        ("***( c\n", Progress::Incomplete),
        ("red a .\n", Progress::Complete(7)),
        ("red a", Progress::Incomplete),
        ("red a . b\n", Progress::Incomplete),
        ("red (a .\n", Progress::Incomplete),
        ("red a .\nred b .\n", Progress::Complete(7)),
        ("red a . ***( c\n", Progress::Complete(7)),
        ("red ***( a .\n", Progress::Incomplete),
        ("fmod A is\n sort S .\n", Progress::Incomplete),
        ("fmod A is\n eq a = b .\n", Progress::Incomplete),
        ("fmod A is sort S . endfm\n", Progress::Complete(24)),
        ("fmod A is\n sort S\nendfm\n", Progress::Complete(23)),
        ("fmod A is\n eq a = b\nendfm\n", Progress::Complete(25)),
        ("view V from A to B is", Progress::Incomplete),
        ("load a.maude\nred a .\n", Progress::Complete(12)),
        ("quit\n", Progress::Complete(4)),
        ("foo\n", Progress::Complete(3)),
        ("foo bar\nbaz", Progress::Complete(11)),
        ("(check 2 2)\n", Progress::Complete(11)),
        ("(check 2\n", Progress::Incomplete),
        (".\n", Progress::Complete(1)),
        ("\u{1}\n", Progress::Complete(2)),
    ] {
        assert_eq!(next_item(text), expected, "in {text:?}");
    }
}

#[test]
fn tokens_are_numbered_as_they_are_read() {
    let mut order = TokenOrder::default();
    let mut parser = Parser::new("red ordZ ordA .\nquit\nred ordQ .", FileId(0));
    while let Some(parsed) = parser.next_item(&mut order) {
        if matches!(parsed.item, Some(Item::Command(Command { kind: CommandKind::Quit, .. }))) {
            break;
        }
    }
    let of = |text: &str| order.of(Name::new(text));
    assert!(of("ordZ") < of("ordA") && of("ordQ") == u32::MAX);
}

#[test]
fn spans_lead_back_to_the_text() {
    let text = "fmod A is\n  op f : S -> S .\n  eq f(a) = b .\nendfm red a .";
    let (items, _) = parse(text, FileId(0), &mut TokenOrder::default());
    let slice = |span: Span| &text[span.start as usize..span.end as usize];
    let Item::Module(m) = &items[0] else { panic!() };
    let Item::Command(c) = &items[1] else { panic!() };
    assert_eq!(slice(m.span), &text[..text.len() - 8]);
    let Decl::Op(op) = &m.decls[0] else { panic!() };
    assert_eq!((slice(op.span), slice(op.name.span)), ("op f : S -> S .", "f"));
    let Decl::Statement(s) = &m.decls[1] else { panic!() };
    assert_eq!((slice(s.span), slice(s.body[1].span)), ("eq f(a) = b .", "("));
    assert_eq!((slice(c.span), words(&c.text).as_str()), ("red a .", "red a"));
}

#[test]
fn deep_nesting_is_no_danger() {
    let (open, close) = ("(".repeat(100_000), ")".repeat(100_000));
    check(
        &format!("red {open}a{close} ."),
        format!("reduce: {}a {}", "( ".repeat(100_000), ") ".repeat(100_000)).trim_end(),
    );
    let brackets = ["(", "[", "{"];
    for bracket in brackets {
        let deep = bracket.repeat(50_000);
        for text in [
            format!("red in {deep} .\nred in A : {deep}"),
            format!("fmod A is op {deep} : -> S . endfm"),
            format!("fmod A is op f : -> S [id: {deep}] . endfm"),
            format!("fmod A is pr {deep} . endfm"),
            format!("fmod A{{X :: {deep}}} is endfm"),
            format!("fmod A is sort S{deep} . endfm"),
            format!("view V from {deep} to B is endv"),
            format!("select {deep} ."),
            deep.clone(),
        ] {
            parse(&text, FileId(0), &mut TokenOrder::default());
        }
    }
    parse(&format!("fmod A is pr A{} . endfm", "{B}".repeat(50_000)), FileId(0), &mut TokenOrder::default());
    parse(
        &format!("fmod A is sort A{} . endfm", "{B}".repeat(50_000)),
        FileId(0),
        &mut TokenOrder::default(),
    );
}

mod random {
    use super::*;
    use proptest::prelude::*;

    const WORDS: &[&str] = &[
        "fmod",
        "mod",
        "fth",
        "view",
        "is",
        "endfm",
        "endm",
        "endv",
        "A",
        "B",
        "X",
        "sort",
        "sorts",
        "subsort",
        "op",
        "ops",
        "var",
        "vars",
        "eq",
        "ceq",
        "rl",
        "crl",
        "mb",
        "pr",
        "inc",
        "from",
        "to",
        "term",
        "label",
        "red",
        "rew",
        "search",
        "in",
        "load",
        "set",
        "show",
        "select",
        "quit",
        "eof",
        "match",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        ":",
        "::",
        "->",
        "~>",
        "<",
        "=",
        "=>",
        "=>*",
        "if",
        "+",
        "*",
        "f",
        "_+_",
        "S",
        "S.",
        "\"s . t\"",
        "\"",
        "`",
        "assoc",
        "id:",
        "prec",
        "special",
        "id-hook",
        "op-hook",
        "term-hook",
        "gather",
        "1",
        "0",
        "***",
        "***(",
        "---",
        "\n",
        "\n",
        "\t",
        "\r\n",
        "'q",
        "é",
        "\u{1}",
        "debug",
        "omod",
        "strat",
        "(check",
        "such",
        "that",
    ];

    /// Parses to the end in both ways; spans must lie in the text, at characters' boundaries.
    fn survives(text: &str) {
        let mut order = TokenOrder::default();
        let (items, diagnostics) = parse(text, FileId(0), &mut order);
        for diagnostic in &diagnostics {
            let span = diagnostic.span.expect("mistakes in a text have a place");
            assert!(text.get(span.start as usize..span.end as usize).is_some(), "{diagnostic:?}");
        }
        for item in &items {
            super::item(item);
        }
        let mut rest = text;
        while let Progress::Complete(length) = next_item(rest) {
            assert!(length > 0);
            rest = &rest[length..];
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn token_soup(words in prop::collection::vec(prop::sample::select(WORDS), 0..120)) {
            survives(&words.join(" "));
            survives(&words.concat());
        }

        #[test]
        fn any_text(text in "\\PC{0,80}") {
            survives(&text);
        }

        #[test]
        fn mutilated_maude(
            cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, prop::sample::select(WORDS)), 1..8)
        ) {
            let mut text: Vec<char> = SAMPLE.chars().collect();
            for (place, length, insert) in cuts {
                let start = place.index(text.len().max(1)).min(text.len());
                let end = (start + length).min(text.len());
                text.splice(start..end, insert.chars());
            }
            survives(&text.into_iter().collect::<String>());
        }
    }

    const SAMPLE: &str = r#"
***( a comment ( nested ) )
fmod LIST*{X :: TRIV, Y :: A{X}} is
  protecting NAT + (QID * (sort Qid to Q, op f : A -> B to g [prec 3])) .
  sorts List{X} NeList{X} . subsorts X$Elt < NeList{X} < List{X} .
  op __ : List{X} List{X} -> List{X} [assoc id: nil prec 25 gather (e E) format (d d d)] .
  ops (f[_]) g : [A, B] -> S [special (id-hook H (a b) op-hook o (_+_ : A B ~> C) term-hook t (f(a)))] .
  vars L L' : List{X} . --- variables
  eq f[L] = "a . b" [label x] . ceq g(L) = L' if L' := f[L] /\ L =/= nil [owise] .
endfm
view V{X :: TRIV} from T to M{X} is
  sort Elt to List{X} . op f(X, Y) to term g(Y, X) . label a to b .
endv
search [1, 2] in LIST*{Nat} : f(a) =>* g(X:Nat) such that X:Nat > 1 .
set trace on . load "a b"
red in A :
  f(a . b,
    c) .
(check 2 2)
"#;
}
