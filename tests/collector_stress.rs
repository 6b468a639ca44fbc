//! Collecting at every call must not change answers or rewrite counts: registers that code
//! believes alive hold terms, and those it needs are kept. The counts are Maude 3.2's.

use std::sync::Arc;

use rwl::base::{Cancel, SourceMap};
use rwl::mixfix::{Grammar, PrintOptions, print};
use rwl::module::Modules;
use rwl::rewrite::Machine;
use rwl::syntax::tree::{CommandKind, Item};
use rwl::syntax::{Parser, TokenOrder};
use rwl::theory::{Options, Theory};

fn check(text: &str, rewrites: u64, result: &str) {
    let mut map = SourceMap::default();
    let file = map.add("test".to_string(), text.to_string());
    let mut order = TokenOrder::default();
    let mut parser = Parser::new(text, file);
    let mut modules = Modules::new();
    modules.set_auto_import(rwl::syntax::tree::ImportMode::Including, "BOOL".into(), false);
    let mut current = None;
    while let Some(parsed) = parser.next_item(&mut order) {
        match parsed.item {
            Some(Item::Module(module)) => current = Some(modules.insert(module, &mut order)),
            Some(Item::Command(command)) => {
                let CommandKind::Reduce { term, .. } = command.kind else { continue };
                let name = current.expect("a module comes first");
                let Ok(module) = modules.resolve_name(name, command.span) else { panic!("broken module") };
                let grammar = Grammar::new(&module.signature);
                let tree = grammar.term(&module.signature, &module.vars, &term, &[]).0.expect("it parses");
                let theory = Arc::new(Theory::new(module.clone(), Default::default(), &Options::default()));
                for stress in [false, true] {
                    let mut machine = Machine::new(theory.clone(), Cancel::default());
                    machine.stress = stress;
                    let value = machine.reduce(&tree).expect("nobody interrupts");
                    let printed = print(&module.signature, &machine.to_tree(value), &PrintOptions::default());
                    assert_eq!((machine.rewrites, printed.as_str()), (rewrites, result), "stress: {stress}");
                }
            }
            _ => {}
        }
    }
}

const PEANO: &str = "fmod P is
  sorts N T B .
  op z : -> N [ctor] .
  op s : N -> N [ctor] .
  op leaf : N -> T [ctor] .
  op fork : T N T -> T [ctor] .
  ops yes no : -> B [ctor] .
  vars X Y : N . vars L R : T .
  ops plus times : N N -> N .
  op sum : T -> N .
  op grow : N -> T .
  op mirror : T -> T .
  op less : N N -> B .
  op max : N N -> N .
  eq plus(z, Y) = Y .
  eq plus(s(X), Y) = s(plus(X, Y)) .
  eq times(z, Y) = z .
  eq times(s(X), Y) = plus(Y, times(X, Y)) .
  eq grow(z) = leaf(s(z)) .
  eq grow(s(X)) = fork(grow(X), s(X), grow(X)) .
  eq mirror(leaf(X)) = leaf(X) .
  eq mirror(fork(L, X, R)) = fork(mirror(R), X, mirror(L)) .
  eq sum(leaf(X)) = X .
  eq sum(fork(L, X, R)) = plus(sum(L), plus(X, sum(R))) .
  eq less(X, z) = no .
  eq less(z, s(Y)) = yes .
  eq less(s(X), s(Y)) = less(X, Y) .
  ceq max(X, Y) = Y if less(X, Y) = yes .
  eq max(X, Y) = X [owise] .
endfm
";

#[test]
fn constructors_with_holes() {
    let text = format!("{PEANO}red plus(times(s(s(z)), s(s(z))), s(z)) .\n");
    check(&text, 14, "s(s(s(s(s(z)))))");
}

#[test]
fn holes_in_the_middle_of_trees() {
    let text = format!("{PEANO}red mirror(grow(s(s(z)))) .\n");
    check(&text, 10, "fork(fork(leaf(s(z)), s(z), leaf(s(z))), s(s(z)), fork(leaf(s(z)), s(z), leaf(s(z))))");
}

#[test]
fn conditions_and_sums() {
    let text = format!("{PEANO}red max(sum(mirror(grow(s(s(z))))), times(s(s(z)), s(s(s(z))))) .\n");
    check(&text, 51, "s(s(s(s(s(s(s(s(z))))))))");
}
