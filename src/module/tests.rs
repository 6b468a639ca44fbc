//! Elaboration as text in, text out. The expected texts of `check` are Maude 3.2's own answers.

use super::*;
use crate::base::{Diagnostic, FileId, Name, Severity, Span};
use crate::report::show;
use crate::syntax::tree::{CommandKind, Item};
use crate::syntax::{self, TokenOrder};

const BASE: &str = r#"
fmod TRUTH is
  sort Bool .
  op true : -> Bool [ctor special (id-hook SystemTrue)] .
  op false : -> Bool [ctor special (id-hook SystemFalse)] .
  op if_then_else_fi : Bool Universal Universal -> Universal [poly (2 3 0) special (
    id-hook BranchSymbol term-hook 1 (true) term-hook 2 (false))] .
endfm
fmod NUM is
  sorts Zero Pos Num . subsorts Zero Pos < Num .
  op 0 : -> Zero [ctor] .
  op s_ : Num -> Pos [ctor iter special (id-hook SuccSymbol term-hook zeroTerm (0))] .
  op _+_ : Num Num -> Num [assoc comm prec 33 special (
    id-hook ACU_NumberOpSymbol (+) op-hook succSymbol (s_ : Num ~> Pos))] .
endfm
fth TRIV is sort Elt . endfth
fth MONOID is including TRIV . op e : -> Elt . op _*_ : Elt Elt -> Elt . var X : Elt . eq [unit] : X * e = X [nonexec] . endfth
view Num from TRIV to NUM is sort Elt to Num . endv
view Plus from MONOID to NUM is sort Elt to Num . op e to 0 . op _*_ to _+_ . endv
view Twice from MONOID to NUM is sort Elt to Num . vars X Y : Elt . op e to term 0 + 0 . op X * Y to term Y + X . endv
view MONOID from TRIV to MONOID is endv
fmod LIST{X :: TRIV} is
  sorts NeList{X} List{X} . subsorts X$Elt < NeList{X} < List{X} .
  op nil : -> List{X} [ctor] .
  op __ : List{X} List{X} -> List{X} [ctor assoc id: nil prec 25] .
  op __ : NeList{X} List{X} -> NeList{X} [ctor ditto] .
  op head : NeList{X} -> X$Elt .
  var E : X$Elt . var L : List{X} .
  eq [hd] : head(E L) = E .
endfm
view List{X :: TRIV} from TRIV to LIST{X} is sort Elt to List{X} . endv
fmod FOLD{X :: MONOID} is
  protecting LIST{MONOID}{X} * (sort List{MONOID}{X} to List{X}, sort NeList{MONOID}{X} to NeList{X}) .
  op fold : List{X} -> X$Elt .
  var E : X$Elt . var L : List{X} .
  eq fold(nil) = e .
  eq fold(E L) = E * fold(L) .
endfm
"#;

/// Loads the base and a text; answers its `show` commands.
fn run(text: &str) -> (String, Vec<Diagnostic>) {
    let mut modules = Modules::new();
    let mut order = TokenOrder::default();
    let (mut out, mut diagnostics) = (String::new(), Vec::new());
    // Maude wants commands to begin on a line of their own.
    let text = text.replace(" show ", "\nshow ");
    for (file, text) in [BASE, &text].into_iter().enumerate() {
        let (items, messages) = syntax::parse(text, FileId(file as u32), &mut order);
        diagnostics.extend(messages);
        for item in items {
            match item {
                Item::Module(decl) => {
                    let span = decl.name.span;
                    let name = modules.insert(decl, &mut order);
                    let _ = modules.resolve_name(name, span);
                }
                Item::View(decl) => {
                    let span = decl.name.span;
                    let name = modules.insert_view(decl, &mut order);
                    let _ = modules.check_view(name, span);
                }
                Item::Command(command) => {
                    if let CommandKind::Show(words) = command.kind {
                        let (what, name) = (words[0].name.as_str(), words[1].name);
                        out.push_str(&answer(&mut modules, &order, what, name));
                    }
                }
            }
            diagnostics.extend(modules.take_diagnostics());
        }
    }
    (out, diagnostics)
}

fn answer(modules: &mut Modules, order: &TokenOrder, what: &str, name: Name) -> String {
    if what == "module" {
        return show::show_module(modules.declaration(name).expect("shown modules exist"));
    }
    let Ok(module) = modules.resolve_name(name, Span::default()) else { return "unusable\n".to_owned() };
    match what {
        "all" => show::show_all(&module, order, true),
        "sorts" => show::show_sorts(&module),
        "ops" => show::show_ops(&module),
        "eqs" => show::show_eqs(&module, order, true),
        "rls" => show::show_rls(&module, order, true),
        "kinds" => show::show_kinds(&module),
        _ => panic!("tests do not show {what}"),
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let (out, diagnostics) = run(text);
    assert_eq!(out.trim(), expected.trim(), "\n{diagnostics:#?}");
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
}

/// The codes of the messages that a text causes, errors and warnings only.
#[track_caller]
fn codes(text: &str, expected: &[&str]) {
    let (_, diagnostics) = run(text);
    let codes: Vec<&str> =
        diagnostics.iter().filter(|d| d.severity > Severity::Advisory).map(|d| d.code).collect();
    assert_eq!(codes, expected, "{diagnostics:#?}");
}

#[test]
fn the_base_is_flawless() {
    check("", "");
}

#[test]
fn instances_rename_sorts() {
    check(
        "fmod A is pr LIST{Num} . endfm show sorts A . show eqs A .",
        "
sort Zero .	subsorts Zero < Num NeList{Num} List{Num} .
sort Pos .	subsorts Pos < Num NeList{Num} List{Num} .
sort Num .	subsorts Pos Zero < Num < NeList{Num} List{Num} .
sort NeList{Num} .	subsorts Pos Zero Num < NeList{Num} < List{Num} .
sort List{Num} .	subsorts Pos Zero Num NeList{Num} < List{Num} .
eq head(E:Num L:List{Num}) = E:Num [label hd] .",
    );
}

#[test]
fn views_may_have_parameters_and_nest() {
    check(
        "fmod A is pr LIST{List{Num}} . endfm show eqs A . show kinds A .",
        "
eq head(E:Num L:List{Num}) = E:Num [label hd] .
eq head(E:List{Num} L:List{List{Num}}) = E:List{Num} [label hd] .
[List{List{Num}}]:
	1	List{List{Num}}
	2	NeList{List{Num}}
	3	List{Num}
	4	NeList{Num}
	5	Num
	6	Zero
	7	Pos",
    );
}

#[test]
fn operators_map_to_operators_and_to_terms() {
    check(
        "fmod A is pr FOLD{Plus} . endfm show eqs A .",
        "
eq head(E:Num L:List{Plus}) = E:Num [label hd] .
eq fold(nil) = 0 .
eq fold(E:Num L:List{Plus}) = E:Num + fold(L:List{Plus}) .",
    );
    // The sum is printed with its arguments sorted, as Maude keeps it.
    check(
        "fmod A is pr FOLD{Twice} . endfm show eqs A .",
        "
eq head(E:Num L:List{Twice}) = E:Num [label hd] .
eq fold(nil) = 0 + 0 .
eq fold(E:Num L:List{Twice}) = E:Num + fold(L:List{Twice}) .",
    );
}

#[test]
fn renaming_reaches_statements_and_imports() {
    check(
        "fmod B is pr LIST{Num} * (sort List{Num} to L, op __ to _;_ [prec 30], op 0 : -> Num to z, label hd to first) . endfm
         show all B .",
        "
fmod B is
  sorts Zero Pos Num NeList{Num} L .
  subsorts Zero Pos < Num .
  subsort Num < NeList{Num} .
  subsort NeList{Num} < L .
  op z : -> Zero [ctor] .
  op s_ : Num -> Pos [ctor iter prec 15 gather (E) special (
    id-hook SuccSymbol
    term-hook zeroTerm (z))] .
  op _+_ : Num Num -> Num [assoc comm prec 33 gather (e E) special (
    id-hook ACU_NumberOpSymbol (+)
    op-hook succSymbol (s_ : Num ~> Pos))] .
  op nil : -> L [ctor] .
  op _;_ : L L -> L [ctor assoc id: nil prec 30 gather (e E)] .
  op _;_ : NeList{Num} L -> NeList{Num} [ctor assoc id: nil prec 30 gather (e E)] .
  op head : NeList{Num} -> Num .
  eq head(E:Num ; L:L) = E:Num [label first] .
endfm",
    );
}

#[test]
fn parameters_keep_their_theories() {
    check(
        "show all FOLD .",
        "
fmod FOLD{X :: MONOID} is
  sorts X$Elt NeList{X} List{X} .
  subsort X$Elt < NeList{X} .
  subsort NeList{X} < List{X} .
  op e : -> X$Elt .
  op _*_ : X$Elt X$Elt -> X$Elt [prec 41 gather (E E)] .
  op nil : -> List{X} [ctor] .
  op __ : List{X} List{X} -> List{X} [ctor assoc id: nil prec 25 gather (e E)] .
  op __ : NeList{X} List{X} -> NeList{X} [ctor assoc id: nil prec 25 gather (e E)] .
  op head : NeList{X} -> X$Elt .
  op fold : List{X} -> X$Elt .
  var E : X$Elt .
  var L : List{X} .
  eq fold(nil) = e .
  eq fold(E L) = E * fold(L) .
  eq X:X$Elt * e = X:X$Elt [nonexec label X$unit] .
  eq head(E L) = E [label hd] .
endfm",
    );
}

#[test]
fn diamonds_import_once_and_polymorphs_come_last() {
    check(
        "fmod A is pr TRUTH . sort S . op a : -> S . endfm
         fmod B is pr A . op b : -> S . endfm
         fmod C is pr A . op c : -> S . eq c = if true then a else c fi . endfm
         mod D is pr B . pr C . op d : -> S . rl [r] : a => d . endm
         show all D .",
        "
mod D is
  sorts Bool S .
  op if_then_else_fi : Bool Universal Universal -> Universal [poly (2 3 0) prec 0 gather (& & &) special (
    id-hook BranchSymbol
    term-hook 1 (true)
    term-hook 2 (false))] .
  op true : -> Bool [ctor special (
    id-hook SystemTrue)] .
  op false : -> Bool [ctor special (
    id-hook SystemFalse)] .
  op a : -> S .
  op b : -> S .
  op c : -> S .
  op d : -> S .
  eq c = if true then a else c fi .
  rl a => d [label r] .
endm",
    );
}

#[test]
fn summands_come_in_the_order_of_their_names() {
    check(
        "fmod P is sort P . op p : -> P . endfm fmod Q is sort Q . op q : -> Q . endfm
         fmod R is pr Q + P . endfm fmod S is pr (Q + P) * (sort P to PP) . endfm
         show ops R . show sorts S .",
        "op p : -> P .\nop q : -> Q .\nsort PP .\nsort Q .",
    );
}

#[test]
fn redefinition_rebuilds_dependents() {
    let (out, diagnostics) = run("fmod A is sort S . op a : -> S . endfm fmod B is pr A . endfm show ops B .
         fmod A is sort S . op b : -> S . endfm show ops B .");
    assert_eq!(out, "op a : -> S .\nop b : -> S .\n");
    assert_eq!(diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), ["redefined-module"]);
}

#[test]
fn modules_print_as_written() {
    check(
        "fmod A is pr LIST{Num} * (sort List{Num} to L) . sort T . subsort T < L . vars X Y : L .
           op f : T L ~> T [ctor memo] . eq [x] : f (X,Y) = X [owise] . endfm show module A .",
        "
fmod A is
  protecting LIST{Num} * (sort List{Num} to L) .
  sorts T .
  subsorts T < L .
  vars X Y : L .
  op f : [T] [L] -> [T] [memo ctor] .
  eq [x] : f (X, Y) = X [owise] .
endfm",
    );
}

#[test]
fn automatic_imports_are_those_of_the_time_of_declaration() {
    let mut modules = Modules::new();
    let mut order = TokenOrder::default();
    let text = format!("{BASE} fmod A is endfm fmod B is endfm fth T is endfth");
    let (items, _) = syntax::parse(&text, FileId(0), &mut order);
    for item in items {
        match item {
            Item::Module(decl) => {
                let name = modules.insert(decl, &mut order);
                if name.as_str() == "A" {
                    modules.set_auto_import(crate::syntax::tree::ImportMode::Including, "TRUTH".into(), true);
                }
            }
            Item::View(decl) => drop(modules.insert_view(decl, &mut order)),
            Item::Command(_) => {}
        }
    }
    let mut count = |name: &str| {
        let module = modules.resolve_name(name.into(), Span::default()).expect("it is well-formed");
        module.signature.sorts.declared().count()
    };
    assert_eq!((count("A"), count("B"), count("T")), (0, 1, 0));
}

#[test]
fn mistakes_are_told_and_the_rest_goes_on() {
    codes("fmod A is pr NUMM . endfm fmod B is sort S . endfm", &["unknown-module"]);
    codes("fmod A is pr LIST{Numm} . endfm", &["unknown-view"]);
    codes("fmod A is pr LIST{Num, Num} . endfm", &["wrong-argument-count"]);
    codes("fmod A is pr LIST . endfm", &["uninstantiated-import"]);
    codes("fmod A is pr FOLD{Num} . endfm", &["theory-mismatch"]);
    codes("fmod A{X :: TRIV} is pr FOLD{X} . endfm", &["theory-mismatch"]);
    codes("fmod A is pr A . endfm", &["cyclic-import"]);
    codes("fmod A is inc TRIV . endfm", &["theory-import"]);
    codes("fmod A{X :: NUM} is endfm", &["parameter-not-theory"]);
    codes("fmod A is op f : S -> S . var X : S . eq f(X) = X . endfm", &["unknown-sort"]);
    codes("fmod A is sorts S T . subsorts S < T < S . endfm", &["subsort-cycle"]);
    codes("fmod A is sort S . op f : S S -> S [assoc] . op f : S S -> S . endfm", &["different-attributes"]);
    codes("fmod A is sort S . op f : S -> S [ditto] . endfm", &["ditto-without-declaration"]);
    codes("fmod A is sort S . op f : S -> S [assoc] . endfm", &["bad-attribute"]);
    codes("fmod A is sort S . op f : S S -> S [id: z] . endfm", &["bad-token"]);
    codes(
        "fmod A is sort S . op f : S -> S . vars X Y : S . eq f(X) = Y . eq f(X) = X . endfm",
        &["unbound-variable"],
    );
    codes("fmod A is sort S . op a : -> S . rl a => a . endfm", &["rule-in-functional-module"]);
    codes("view V from TRIV to NUM is sort Elt to Numm . endv", &["unknown-sort"]);
    codes("view V from TRIV to NUM is endv", &["missing-sort-map"]);
    codes("view V from MONOID to NUM is sort Elt to Num . op e to 0 . endv", &["missing-operator"]);
    codes("view V from NUM to NUM is endv", &["view-from-module"]);
    codes(
        "view V from TRIV to NUM is endv fmod A is pr LIST{V} . endfm",
        &["missing-sort-map", "broken-view"],
    );
}

#[test]
fn what_was_missing_mends_what_was_broken() {
    let (out, diagnostics) = run("fmod A is pr B . endfm fmod B is sort S . endfm show sorts A .");
    assert_eq!(out, "sort S .\n");
    assert_eq!(diagnostics.len(), 1);
}
