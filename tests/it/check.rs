//! `rwl check`, and formulas inside commands.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::*;

/// A file with a specification, removed at the end.
struct Spec(PathBuf);

impl Spec {
    fn new(name: &str, text: &str) -> Spec {
        let path = std::env::temp_dir().join(format!("rwl-check-{}-{name}.rwl", std::process::id()));
        std::fs::write(&path, text).expect("writable");
        Spec(path)
    }

    fn check(&self, args: &[&str]) -> (i32, String, String) {
        let file = self.0.to_str().expect("a name in ASCII");
        let output = rwl(&[&["check", file], args].concat(), "");
        (output.status.code().expect("it ends"), text(&output.stdout), text(&output.stderr))
    }

    /// One object per formula.
    fn json(&self, args: &[&str]) -> (i32, Vec<Value>) {
        let (code, said, errors) = self.check(&[args, &["--format", "json"]].concat());
        let objects = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(errors, "", "{said}");
        (code, objects)
    }

    fn verdicts(&self, args: &[&str]) -> (i32, Vec<(String, String)>) {
        let (code, objects) = self.json(args);
        let word = |object: &Value, key: &str| object[key].as_str().unwrap_or("-").to_owned();
        (code, objects.iter().map(|object| (word(object, "name"), word(object, "verdict"))).collect())
    }
}

impl Drop for Spec {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Two lamps; the first may break and then stays dark. `stuck` is a deadlock.
const LAMPS: &str = "load model-checker
mod LAMPS is
  protecting NAT .
  sorts Lamp Soup .
  subsort Lamp < Soup .
  op lamp[_]:_ : Nat Nat -> Lamp [ctor] .
  op none : -> Soup [ctor] .
  op __ : Soup Soup -> Soup [ctor assoc comm id: none] .
  sort Sys .
  op {_} : Soup -> Sys [ctor] .
  op stuck : -> Sys [ctor] .
  ops init dead : -> Sys .
  eq init = {(lamp[0]: 0) (lamp[1]: 0)} .
  eq dead = stuck .
  vars N : Nat . var S : Soup .
  rl [on] : {(lamp[N]: 0) S} => {(lamp[N]: 1) S} .
  rl [off] : {(lamp[N]: 1) S} => {(lamp[N]: 0) S} .
  rl [break] : {(lamp[0]: 1) S} => {(lamp[0]: 2) S} .
endm
mod LAMPS-CHECK is
  protecting LAMPS .
  including MODEL-CHECKER .
  subsort Sys < State .
  op lit : Nat -> Prop [ctor] .
  op broken : -> Prop [ctor] .
  vars N : Nat . var S : Soup . var P : Prop . var X : Sys .
  eq {(lamp[N]: 1) S} |= lit(N) = true .
  eq {(lamp[0]: 2) S} |= broken = true .
  eq X |= P = false [owise] .
  ops safe again never once : -> Formula .
  eq safe = [] ~ (lit(0) /\\ broken) .
  eq again = [] <> lit(0) .
  eq never = lit(7) |-> broken .
  eq once = (~ broken) W lit(0) .
endm
";

fn lamps(name: &str) -> Spec {
    Spec::new(name, LAMPS)
}

#[test]
fn every_formula_of_the_module_gets_a_verdict() {
    let spec = lamps("all");
    let expected = [("safe", "holds"), ("again", "violated"), ("never", "holds"), ("once", "holds")];
    for threads in ["1", "2", "5"] {
        let (code, verdicts) = spec.verdicts(&["--threads", threads]);
        let expected = expected.map(|(name, verdict)| (name.to_owned(), verdict.to_owned()));
        assert_eq!((code, verdicts), (1, expected.to_vec()), "{threads} threads");
    }
}

#[test]
fn formulas_share_the_states() {
    let (_, objects) =
        lamps("share").json(&["--formula", "safe", "--formula", "[] <> lit(1)", "--threads", "1"]);
    assert_eq!(objects[0]["states"], 6);
    assert_eq!(objects[1]["states"], 6);
    // The second has nothing to explore, only its counterexample to look at again.
    assert!(objects[1]["rewrites"].as_u64() < objects[0]["rewrites"].as_u64());
}

#[test]
fn a_violation_is_shown_step_by_step() {
    let (code, said, errors) = lamps("text").check(&["--formula", "[] <> lit(0)"]);
    assert_eq!((code, errors.as_str()), (1, ""));
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(said[0], "violated: []<> lit(0)");
    assert!(said[1].starts_with("in LAMPS-CHECK from init: 6 states, "), "{}", said[1]);
    // The shortest: lamp 1 goes on and off for ever.
    assert_eq!(
        said[3..],
        [
            "The run is a cycle of 2 steps that repeats for ever:",
            " +> 0       lamp[0]: 0, lamp[1]: 0",
            " |  1  on   lamp[1]: 0 -> 1",
            " +- 0  off  lamp[1]: 1 -> 0",
        ]
    );
}

/// The arguments of a state are told apart, whatever they are; a constant without an equation is no formula.
#[test]
fn arguments_that_change_are_named() {
    let spec = Spec::new(
        "swap",
        "load model-checker
mod SWAP is
  protecting NAT .
  including MODEL-CHECKER .
  sort Two .
  subsort Two < State .
  op <_,_> : Nat Nat -> Two [ctor] .
  vars N M : Nat .
  rl [swap] : < N, M > => < M, N > .
  op init : -> Two .
  eq init = < 1, 2 > .
  op both : Nat -> Prop .
  eq < N, N > |= both(N) = true .
  ops meet later : -> Formula .
  eq meet = <> both(1) .
endm
",
    );
    let (code, said, errors) = spec.check(&[]);
    assert_eq!(code, 1);
    assert!(said.ends_with(" +- 0  swap  #1: 2 -> 1, #2: 1 -> 2\n"), "{said}");
    assert!(errors.contains("formula later has no equation"), "{errors}");
}

#[test]
fn a_counterexample_in_json_has_prefix_and_cycle() {
    let (_, objects) = lamps("json").json(&["--formula", "<> lit(0)", "--init", "dead"]);
    let expected = serde_json::json!({
        "prefix": [],
        "cycle": [{"state": "stuck", "rule": "deadlock", "propositions": []}],
    });
    assert_eq!(objects[0]["counterexample"], expected);
    assert_eq!((&objects[0]["init"], &objects[0]["module"]), (&"dead".into(), &"LAMPS-CHECK".into()));
    let (_, objects) = lamps("finite").json(&["--formula", "[] ~ broken"]);
    let run = &objects[0]["counterexample"];
    assert_eq!(run["prefix"].as_array().map(Vec::len), Some(3));
    assert_eq!(run["cycle"].as_array().map(Vec::len), Some(0));
}

#[test]
fn fairness_rules_out_runs() {
    let spec = lamps("fair");
    for layers in ["auto", "none", "1", "2 2"] {
        let verdict = |args: &[&str]| {
            let formula = ["--formula", "<> lit(1)", "--layers", layers];
            let (code, verdicts) = spec.verdicts(&[&formula, args].concat());
            (code, verdicts[0].1.clone())
        };
        assert_eq!(verdict(&[]), (1, "violated".to_owned()));
        // `on` is the rule of both lamps, and lamp 0 can go on and off for ever.
        assert_eq!(verdict(&["--fair-strong", "on,off"]), (1, "violated".to_owned()));
        assert_eq!(verdict(&["--fair-strong", "on,break"]), (0, "holds".to_owned()));
    }
    let (_, said, _) = spec.check(&["--formula", "<> lit(1)", "--fair-strong", "on,break"]);
    assert!(said.contains("\nassuming strong fairness: on, break\n"), "{said}");
    let (_, objects) = spec.json(&["--formula", "<> lit(1)", "--fair-weak", "off", "--layers", "1"]);
    assert_eq!((&objects[0]["fair_weak"][0], &objects[0]["fair_strong"][0]), (&"off".into(), &Value::Null));
    let (code, said, errors) = spec.check(&["--fair-weak", "onn"]);
    assert_eq!((code, said.as_str()), (2, ""));
    assert!(errors.contains("no rule of LAMPS-CHECK has the label onn"), "{errors}");
}

#[test]
fn a_premise_that_never_holds_is_told() {
    let (code, said, _) = lamps("vacuous").check(&["--formula", "never"]);
    assert_eq!(code, 0);
    assert!(said.lines().any(|line| line.starts_with("vacuous: ")), "{said}");
    for layers in ["none", "1 1"] {
        let (_, objects) = lamps("vacuous-json").json(&[
            "--formula",
            "never",
            "--formula",
            "lit(0) |-> ~ lit(0)",
            "--layers",
            layers,
        ]);
        let told = (&objects[0]["vacuous"], &objects[1]["vacuous"]);
        assert_eq!(told, (&Value::Bool(true), &Value::Bool(false)), "layers {layers}");
    }
    let (_, objects) = lamps("vacuous-fair").json(&["--formula", "never", "--fair-weak", "on"]);
    assert_eq!(objects[0]["vacuous"], Value::Bool(true));
    let (code, said, _) = lamps("valid").check(&["--formula", "False |-> lit(0)"]);
    assert_eq!(code, 0);
    assert!(said.contains("\nvacuous: no system can violate it\n"), "{said}");
}

#[test]
fn a_rule_without_end_hides_no_violation_beside_it() {
    let spec = Spec::new(
        "no-end",
        "load model-checker\nmod DEEP is including MODEL-CHECKER . protecting NAT .\n\
         ops a b c d e : -> State [ctor] . ops f g : Nat -> State [ctor] . var N : Nat .\n\
         rl [there] : a => b . rl [back] : b => a . crl [deep] : b => c if f(0) => g(0) . rl [out] : a => d .\n\
         crl [deeper] : f(N) => g(N) if f(s N) => g(s N) .\n\
         ops inB inC inD inE : -> Prop [ctor] . eq b |= inB = true . eq c |= inC = true .\n\
         eq d |= inD = true . eq e |= inE = true .\nendm\n",
    );
    let verdict = |formula: &str| {
        let (code, objects) = spec.json(&["--init", "a", "--formula", formula]);
        (code, objects[0]["verdict"].as_str().unwrap_or("-").to_owned())
    };
    // Maude shows these runs, too: it does not get as far as `deep`.
    for formula in ["<> inC", "[] ~ inB", "[] <> inD", "[] ~ inD", "inB |-> O inC"] {
        assert_eq!(verdict(formula), (1, "violated".to_owned()), "{formula}");
    }
    for formula in ["[] ~ inE", "[] (inB -> O ~ inE)"] {
        assert_eq!(verdict(formula), (3, "unknown".to_owned()), "{formula}");
    }
    // What comes after b does not matter.
    assert_eq!(verdict("<> inD \\/ O inB"), (0, "holds".to_owned()));
}

#[test]
fn limits_give_no_verdict() {
    let endless = Spec::new(
        "endless",
        "load model-checker\nmod COUNT is including MODEL-CHECKER . protecting NAT .\n\
         op at : Nat -> State [ctor] . op low : -> Prop [ctor] . var N : Nat . op init : -> State .\n\
         eq init = at(0) . rl [up] : at(N) => at(s N) . eq at(N) |= low = N < 100000000 .\nendm\n",
    );
    let (code, objects) = endless.json(&["--formula", "[] low", "--memory", "20M"]);
    assert_eq!((code, &objects[0]["verdict"]), (3, &"unknown".into()));
    let reason = objects[0]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("the memory limit was reached"), "{reason}");
    let (code, objects) = endless.json(&["--formula", "[] low", "--formula", "<> low", "--time", "0.3"]);
    assert_eq!((code, &objects[0]["reason"]), (3, &"the time limit was reached".into()));
}

#[test]
fn where_maude_would_go_astray_the_short_counterexample_is_shown() {
    let endless = Spec::new(
        "astray",
        "load model-checker\nmod COUNT is including MODEL-CHECKER . protecting NAT .\n\
         op at : Nat Nat -> State [ctor] . op won : -> Prop [ctor] . vars M N : Nat . op init : -> State .\n\
         eq init = at(0, 0) . rl [up] : at(M, N) => at(M, s N) . rl [win] : at(M, 3) => at(s M, 3) .\n\
         eq at(M, N) |= won = M > 0 .\nendm\n",
    );
    let (code, objects) = endless.json(&["--formula", "[] ~ won", "--counterexample", "maude"]);
    assert_eq!((code, &objects[0]["verdict"]), (1, &"violated".into()));
    assert_eq!(objects[0]["counterexample"]["prefix"].as_array().expect("a run").len(), 5);
    let reason = objects[0]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("Maude's counterexample was not found"), "{reason}");
    assert!(objects[0]["states"].as_u64().expect("a number") < 500_000);
    let (code, objects) = endless.json(&["--formula", "[] ~ won"]);
    assert_eq!((code, objects[0]["reason"].as_str()), (1, None));
}

#[test]
fn a_formula_that_is_too_large_is_unknown() {
    let spec = lamps("large");
    let each: Vec<String> = (0..40).map(|n| format!("<> (lit({n}) /\\ O lit({n}))")).collect();
    let large = format!("~ ({})", each.join(" /\\ "));
    for layers in ["auto", "1 1"] {
        let args = ["--formula", &large, "--formula", "safe", "--layers", layers];
        let (code, objects) = spec.json(&args);
        let verdicts: Vec<&Value> = objects.iter().map(|object| &object["verdict"]).collect();
        assert_eq!((code, verdicts), (3, vec![&"unknown".into(), &"holds".into()]));
        let reason = objects[0]["reason"].as_str().expect("a reason");
        assert!(reason.contains("200000 states") && reason.contains("--fair-strong"), "{reason}");
    }
    let commands = spec.0.with_extension("commands.maude");
    let file = |path: &std::path::Path| path.to_str().expect("a name in ASCII").to_owned();
    let text_of = format!("load {}\nred modelCheck(init, {large}) .\nred true .\n", file(&spec.0));
    std::fs::write(&commands, text_of).expect("room for a file");
    let output = rwl(&["run", &file(&commands)], "");
    std::fs::remove_file(&commands).expect("it was written");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("result Bool: true"));
}

#[test]
fn wrong_input_is_refused() {
    let spec = lamps("wrong");
    for (args, message) in [
        (&["--formula", "[] lit"][..], "--formula:1:"),
        (&["--formula", "lit(0) |-> dark"], "nothing is called `dark` here"),
        (&["--init", "{lamp[0]: 0"], "--init:1:"),
        (&["--module", "LAMPS-CHEK"], "LAMPS-CHECK"),
        (&["--module", "LAMPS"], "name one that has, by --module: LAMPS-CHECK"),
        (&["--module", "MODEL-CHECKER"], "--init:1:"),
        (&["--init", "{lamp[0]: N:Nat}"], "--init `{lamp[0]: N:Nat}` has a variable, N"),
        (&["--formula", "[] lit(M:Nat)"], "--formula `[] lit(M:Nat)` has a variable, M"),
        (&["--threads", "5000"], "more than 1024 threads are too many"),
    ] {
        let (code, said, errors) = spec.check(args);
        assert_eq!((code, said.as_str()), (2, ""), "{args:?}");
        assert!(errors.contains(message), "{args:?}: {errors}");
    }
    let output = rwl(&["check", "no-such-file.rwl"], "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_page_and_automata_can_be_had() {
    let spec = lamps("page");
    let page = spec.0.with_extension("html");
    let (code, _, _) = spec.check(&["--html", page.to_str().expect("ASCII")]);
    let html = std::fs::read_to_string(&page).expect("written");
    let _ = std::fs::remove_file(&page);
    assert_eq!(code, 1);
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("lamp[1]: 0"), "{html}");
    assert!(!html.contains("http"), "a page that needs nothing else");
    let (code, hoa, _) = spec.check(&["--formula", "again", "--automaton", "hoa"]);
    assert_eq!(code, 0);
    assert!(hoa.starts_with("HOA: v1\n") && hoa.contains("AP: 1 \"lit(0)\""), "{hoa}");
    let (_, dot, _) = spec.check(&["--formula", "again", "--automaton", "dot"]);
    assert!(dot.starts_with("digraph"), "{dot}");
}

/// `modelCheck` inside equations, rules and conditions, and inside the propositions of another check.
#[test]
fn formulas_are_checked_inside_equations_and_rules() {
    let source = "load model-checker
mod TOGGLE is
  including MODEL-CHECKER .
  ops a b : -> State [ctor] .
  rl a => b . rl b => a .
  op p : -> Prop [ctor] .
  eq a |= p = true . eq b |= p = false .
  op good : State -> Bool .
  eq good(S:State) = modelCheck(S:State, [] <> p) == true .
  op deep : -> Prop [ctor] .
  eq S:State |= deep = good(S:State) .
  sort Note . op note : Bool -> Note [ctor] . op ask : State -> Note [ctor] .
  crl [answer] : ask(S:State) => note(true) if modelCheck(S:State, <> p) = true .
endm
red good(b) .
red modelCheck(a, [] deep) .
red modelCheck(a, [] p) .
rew ask(b) .
";
    for threads in ["1", "3"] {
        let output = rwl(&["-no-banner", "--threads", threads], source);
        let said = text_of_results(&output.stdout);
        let expected = [
            "result Bool: true",
            "result Bool: true",
            "result ModelCheckResult: counterexample(nil, {a,unlabeled} {b,unlabeled})",
            "result Note: note(true)",
        ];
        assert_eq!(said, expected, "{}", text(&output.stderr));
    }
}

fn text_of_results(bytes: &[u8]) -> Vec<String> {
    text(bytes).lines().filter(|line| line.starts_with("result ")).map(str::to_owned).collect()
}

/// Terms that only have a kind: equations on formulas do not see them, so nothing true could be said.
#[test]
fn what_is_no_formula_has_no_verdict() {
    let spec = Spec::new(
        "no-formula",
        "in model-checker
         mod K is protecting NAT . including MODEL-CHECKER .
          op c : Nat -> State [ctor] . op init : -> State . eq init = c(0) . op p : -> Prop . var N : Nat .
          op err : NzNat -> Prop . op undef : -> Prop . op ff : Nat ~> Formula . eq ff(0) = p .
          rl c(N) => c(N) . eq c(N) |= p = true . eq c(N) |= err(s N) = true . endm\n",
    );
    for formula in ["~ ff(1)", "[] ~ ff(1)", "ff(1)", "[] ~ err(0)"] {
        let (code, _, errors) = spec.check(&["--formula", formula]);
        assert!(code == 2 && errors.contains("not-a-proposition"), "{formula}: {errors}");
    }
    for (formula, expected) in
        [("ff(0)", 0), ("~ ff(0)", 1), ("err(1)", 0), ("[] ~ err(3)", 0), ("[] ~ err(1)", 1)]
    {
        let (code, _, errors) = spec.check(&["--formula", formula]);
        assert_eq!((code, &*errors), (expected, ""), "{formula}");
    }
    let (code, _, errors) = spec.check(&["--formula", "[] ~ undef"]);
    assert!(code == 0 && errors.contains("no equation says where undef holds"), "{errors}");
    let file = spec.0.to_str().expect("a name in ASCII");
    let asked = rwl(&["-no-banner", file], "red modelCheck(init, ~ ff(1)) .\n");
    assert!(text(&asked.stdout).contains("modelCheck(c(0), ~ ff(1))"), "{}", text(&asked.stdout));
    assert_eq!(asked.status.code(), Some(3));
}

/// The end of a reader is no verdict.
#[test]
fn a_violation_that_nobody_reads_is_one() {
    let specs = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/tas.rwl");
    let mut child = std::process::Command::new(RWL)
        .args(["check", specs, "--module", "FTAS-CHECK", "--formula", "lofree"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("ends").code(), Some(1));
}

/// A cycle that closes before a finite run violates the formula is shown, whatever was checked before.
#[test]
fn the_shorter_run_is_shown_after_other_formulas() {
    let spec = Spec::new(
        "shorter-run",
        "in model-checker
         mod T is protecting NAT . including MODEL-CHECKER .
          op st : Nat -> State [ctor] . op init : -> State . eq init = st(0) . op p : -> Prop [ctor] . var N : Nat .
          rl [stay] : st(0) => st(0) . crl [go] : st(N) => st(s N) if N < 50 .
          eq st(50) |= p = true . eq st(N) |= p = false [owise] .
          op h : -> Formula . eq h = ~ <> ((False <=> (p U p)) \\/ p) . endm\n",
    );
    for layers in ["none", "1 1"] {
        let formulas = ["--formula", "[] <> p", "--formula", "h", "--formula", "h", "--layers", layers];
        let (_, said, _) = spec.check(&formulas);
        assert_eq!(said.matches("a cycle of 1 step").count(), 1, "{said}");
        assert_eq!(said.matches("The run is the same as for ").count(), 2, "{said}");
    }
}

/// Counts without end.
const ENDLESS: &str = "load model-checker
mod ENDLESS is
  protecting NAT .
  including MODEL-CHECKER .
  op c : Nat -> State [ctor] .
  op ev : -> Prop .
  var N : Nat .
  rl [x] : c(N) => c(s N) .
  eq c(N) |= ev = N == N + 1 .
endm
";

#[test]
fn searches_for_cycles_keep_to_the_memory_limit() {
    // All states are on one path, so that depth-first searches take more memory than the states.
    const LIMIT: u64 = 14 << 20;
    const PROGRAM: u64 = 20 << 20;
    let spec = Spec::new("endless-path", ENDLESS);
    // On the state graph, and with an automaton.
    for formula in ["[] <> ev", "([] <> ev) /\\ (ev U ~ ev)"] {
        let limit = LIMIT.to_string();
        let args = ["--init", "c(0)", "--formula", formula, "--layers", "none", "--memory", &limit];
        let (code, objects) = spec.json(&args);
        assert_eq!((code, &objects[0]["verdict"]), (3, &Value::from("unknown")), "{formula}");
        let peak = objects[0]["peak_memory_bytes"].as_u64().expect("a number");
        assert!(peak < LIMIT + PROGRAM, "{formula}: {peak}");
    }
}

/// A counter whose propositions are of all kinds; `f1` asks for one that is evaluated without end.
const STUCK: &str = "load model-checker
mod STUCK is
  protecting NAT . including MODEL-CHECKER .
  op c : Nat -> State [ctor] .
  var N : Nat . var P : Prop .
  crl [step] : c(N) => c(s N) if N < 3000 .
  ops small big loops never : -> Prop . op at : Nat -> Prop . op loop : Nat -> Bool .
  eq loop(N) = loop(s N) .
  eq c(0) |= small = true .
  eq c(N) |= at(N) = true .
  eq c(N) |= loops = loop(N) .
  eq c(N) |= big = N > 250 .
  eq c(9999) |= never = true .
  eq c(N) |= P = false [owise] .
  ops f1 f2 f3 f4 : -> Formula .
  eq f1 = [] ~ loops .
  eq f2 = small |-> big .
  eq f3 = [] ~ at(3) .
  eq f4 = [] (never -> small) .
  op init : -> State . eq init = c(0) .
endm
";

#[test]
fn a_proposition_without_end_spoils_no_other_formula() {
    let spec = Spec::new("spoiled", STUCK);
    let (code, objects) = spec.json(&["--time", "2"]);
    let verdicts: Vec<_> = objects.iter().filter_map(|object| object["verdict"].as_str()).collect();
    assert_eq!((code, verdicts), (1, vec!["unknown", "holds", "violated", "holds"]));
    assert_eq!(objects[0]["reason"], "the time limit was reached");
    assert_eq!(objects[3]["never_true"], serde_json::json!(["never"]));
    // Layers are for one formula each.
    let alone = ["--formula", "f2", "--formula", "f1", "--layers", "2", "--time", "2"];
    let (code, verdicts) = spec.verdicts(&alone);
    let verdicts: Vec<&str> = verdicts.iter().map(|(_, verdict)| verdict.as_str()).collect();
    assert_eq!((code, verdicts), (3, vec!["holds", "unknown"]));
    // Nothing can be done in no time, but each formula is named.
    let (code, objects) = spec.json(&["--time", "0"]);
    assert_eq!((code, objects.len()), (3, 4));
    for object in objects {
        let reason = object["reason"].as_str().expect("a reason");
        assert!(reason.starts_with("the time limit was reached"), "{reason}");
    }
}

/// What `ulimit -v` leaves is not enough: each formula still has its line.
#[test]
#[cfg(target_os = "linux")]
fn without_memory_each_formula_has_an_answer() {
    let specs = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/qlock.rwl");
    let file = std::env::temp_dir().join(format!("rwl-last-words-{}", std::process::id()));
    let run = |options: &str| {
        let script = format!("ulimit -v 250000; exec {RWL} {options} --memory 8G --threads 2");
        let mut command = Command::new("sh");
        run(command.args(["-c", &script]), "", std::time::Duration::from_secs(100)).expect("it ends")
    };
    let formulas = "--formula lofree --formula \"[] ~ inCs1\" --formula mutex";
    let check = format!("check {specs} --module QLOCK-CHECK --init init10 {formulas}");
    for answers in ["", &format!(" --output {}", file.display())] {
        let output = run(&format!("{check} --format json{answers}"));
        let said =
            if answers.is_empty() { text(&output.stdout) } else { text(&std::fs::read(&file).unwrap()) };
        let objects: Vec<Value> =
            said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let names: Vec<_> = objects.iter().map(|object| &object["name"]).collect();
        assert_eq!(names, [&Value::from("lofree"), &Value::Null, &Value::from("mutex")], "{said}");
        let verdicts: Vec<_> =
            objects.iter().map(|object| object["verdict"].as_str().unwrap_or("-")).collect();
        assert!(verdicts[0] == "unknown" && verdicts[2] == "unknown", "{said}");
        assert!(objects[0]["reason"].as_str().is_some_and(|why| why.contains("no more memory")), "{said}");
        let code = if verdicts[1] == "violated" { 1 } else { 3 };
        assert_eq!(output.status.code(), Some(code), "{said}");
        let error: Value = serde_json::from_str(&text(&output.stderr)).expect("JSON");
        assert_eq!(error["code"], "out-of-memory");
    }
    std::fs::remove_file(&file).expect("it was written");
    let output = run(&check);
    let said = text(&output.stdout);
    assert!(said.matches("reason: the system had no more memory for rwl\n").count() >= 2, "{said}");
    assert!(said.contains("unknown (lofree, "), "{said}");
    let search = format!("search {specs} --module QLOCK-CHECK --init init10 --pattern \"{{OCs (cnt: 11)}}\"");
    let output = run(&format!("{search} --format json"));
    let report: Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
    assert_eq!((output.status.code(), &report["verdict"]), (Some(3), &"unknown".into()));
}

#[test]
fn a_page_that_cannot_be_written_is_told_first() {
    let spec = lamps("unwritable");
    for option in ["--html", "--output"] {
        let (code, objects) = spec.json(&[option, "/dev/null/page"]);
        assert_eq!((code, objects.len()), (2, 1));
        assert_eq!((&objects[0]["code"], &objects[0]["command"]), (&"usage".into(), &"check".into()));
        assert!(objects[0]["message"].as_str().is_some_and(|text| text.contains("/dev/null/page")));
        let (code, said, errors) = spec.check(&[option, "/dev/null/page"]);
        assert_eq!((code, said.as_str()), (2, ""));
        assert!(errors.starts_with("error: cannot write /dev/null/page"), "{errors}");
    }
}

/// What cannot be represented is one formula's matter, in a proposition or, in layers, in a rule.
#[test]
fn an_element_too_many_spoils_no_other_formula() {
    let bags = "load model-checker
mod BAGS is protecting NAT . including MODEL-CHECKER .
  sort Bag . op a : -> Bag . op __ : Bag Bag -> Bag [assoc comm] . op full : Bag -> Bool . var B : Bag .
  eq full(B) = full(B B) .
  op <_> : Nat -> State . var N : Nat . var S : State .
  rl < N > => < (s N) rem 9 > .
  ops bad two : -> Prop . eq < 7 > |= bad = full(a) . eq < 2 > |= two = true .
  ops init late : -> State . eq init = < 0 > . eq late = < 10 > .
  crl < 20 > => < 21 > if full(a) . rl < 10 > => < 20 > . rl < 10 > => < 0 > . endm\n";
    let spec = Spec::new("bags", bags);
    let formulas = ["--formula", "[] ~ bad", "--formula", "[] <> two", "--formula", "[] ~ two"];
    for layers in ["none", "2"] {
        let (code, objects) = spec.json(&[&formulas[..], &["--layers", layers]].concat());
        let verdicts: Vec<_> =
            objects.iter().map(|object| object["verdict"].as_str().unwrap_or("-")).collect();
        assert_eq!((code, verdicts), (1, vec!["unknown", "holds", "violated"]), "{layers}");
        assert!(objects[0]["reason"].as_str().is_some_and(|why| why.contains("in a multiset")));
    }
    for threads in ["1", "2"] {
        let args = ["--init", "late", "--formula", "[] <> two", "--layers", "1", "--threads", threads];
        let (code, objects) = spec.json(&args);
        assert_eq!((code, &objects[0]["verdict"]), (3, &"unknown".into()), "{}", objects[0]);
    }
}

#[test]
fn a_condition_without_end_is_named_where_a_limit_is_reached() {
    let spec = Spec::new(
        "without-end",
        "load model-checker
mod C is protecting NAT . including MODEL-CHECKER .
  op <_> : Nat -> State . op c : Nat -> Nat . vars N M : Nat .
  rl c(N) => c(s N) .
  crl < N > => < s N > if N < 5 /\\ c(N) => c(M) /\\ M == 0 .
  op p : -> Prop . eq < 9 > |= p = true .
  op init : -> State . eq init = < 0 > . endm\n",
    );
    for args in [&["--memory", "5M"][..], &["--memory", "5M", "--layers", "2"], &["--time", "0.5"]] {
        let (code, objects) = spec.json(&[&["--formula", "[] ~ p"], args].concat());
        assert_eq!((code, &objects[0]["verdict"]), (3, &"unknown".into()));
        let reason = objects[0]["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("the condition of the rule at ") && reason.contains(":5 has met "),
            "{reason}"
        );
    }
    let file = spec.0.to_str().expect("a name in ASCII");
    let search = rwl(&["search", file, "--memory", "5M"], "");
    assert!(text(&search.stderr).contains("note: the condition of this rule has met"));
    // Where nothing of that kind is to blame, it is not mentioned.
    let (_, objects) = spec.json(&["--formula", "[] ~ p", "--time", "0"]);
    assert!(!objects[0]["reason"].as_str().expect("a reason").contains("condition"), "{}", objects[0]);
}

#[test]
fn an_initial_state_that_there_is_not_has_a_hint() {
    let spec = lamps("hints");
    for (init, hint) in [("inti", "did you mean `init`?"), ("nosuch", "could stand here: stuck, init, dead")]
    {
        let (code, _, errors) = spec.check(&["--init", init]);
        assert_eq!(code, 2);
        assert!(errors.contains(hint), "{errors}");
    }
}

/// Runs show where the formula's propositions are true, but for those that it does not need.
#[test]
fn propositions_that_do_not_matter_are_named() {
    let spec = lamps("idle");
    let idle = |formula: &str| {
        let (_, objects) = spec.json(&["--formula", formula]);
        objects[0]["irrelevant"].clone()
    };
    assert_eq!(idle("<> lit(1 + 0) /\\ safe"), serde_json::json!([]));
    // Shown like others where it is nowhere left out.
    assert_eq!(idle("[] (lit(0) \\/ ~ lit(0)) /\\ <> lit(1)"), serde_json::json!([]));
    assert_eq!(idle("[] (lit(0) -> True) /\\ <> lit(1)"), serde_json::json!(["lit(0)"]));
    let (_, said, _) = spec.check(&["--formula", "[] (lit(0) -> True) /\\ <> lit(1)"]);
    let note = "\nnote: lit(0) does not matter: the formula means the same without it\n";
    assert!(said.contains(note), "{said}");
}

/// One formula needs layers, others have an answer long before.
#[test]
fn answers_come_in_the_order_of_the_formulas() {
    let grid = "load model-checker
mod GRID is protecting NAT . including MODEL-CHECKER .
  op <_,_> : Nat Nat -> State . vars N M : Nat .
  crl < N, M > => < s N, M > if N < 200 . crl < N, M > => < N, s M > if M < 200 .
  ops small computed : -> Prop . op f : Nat Nat -> Bool .
  eq f(0, M) = false . eq f(s N, M) = f(N, M) .
  eq < N, M > |= computed = f(N, M) . eq < 2, M > |= small = true .
  op init : -> State . eq init = < 0, 0 > . endm\n";
    let spec = Spec::new("ordered", grid);
    let formulas = ["[]~ computed", "[]~ small", "[]True", "<> small"];
    let mut args = vec!["--memory", "1M"];
    formulas.iter().for_each(|formula| args.extend(["--formula", formula]));
    let (code, objects) = spec.json(&args);
    assert_eq!(code, 1);
    assert_eq!(objects.iter().map(|object| &object["formula"]).collect::<Vec<_>>(), formulas);
    let layers = objects.iter().map(|object| object["layers"].as_array().expect("a list").len());
    assert_eq!(layers.collect::<Vec<_>>(), [1, 0, 0, 0]);
}

#[test]
fn one_run_for_several_formulas_is_shown_once() {
    let spec = Spec::new("once", STUCK);
    let (_, said, _) =
        spec.check(&["--formula", "[] ~ at(60)", "--formula", "~ <> at(60)", "--formula", "[] ~ at(3)"]);
    assert!(said.contains("40 steps are left out; --full shows all"), "{said}");
    assert!(said.contains("\nThe run is the same as for []~ at(60).\n"), "{said}");
    assert!(said.ends_with("\n\n3 violated ([]~ at(60), ~ <> at(60), []~ at(3))\n"), "{said}");
    let (_, full, _) = spec.check(&["--formula", "[] ~ at(60)", "--full"]);
    assert_eq!(full.lines().filter(|line| line.contains("  step  ")).count(), 60, "{full}");
}

#[test]
fn fairness_is_told_wherever_a_verdict_is() {
    let spec = lamps("fair-page");
    let page = spec.0.with_extension("html");
    let path = page.to_str().expect("a name in ASCII");
    let (_, said, _) = spec.check(&["--formula", "[] <> lit(0)", "--fair-weak", "on", "--html", path]);
    assert!(said.contains("assuming weak fairness: on\n"), "{said}");
    let written = std::fs::read_to_string(&page).expect("a page");
    let _ = std::fs::remove_file(&page);
    assert!(written.contains("Assuming weak fairness: <code>on</code>"), "{written}");
}

#[test]
fn objects_and_tuples_are_shown_by_component() {
    let spec = Spec::new(
        "components",
        "load model-checker\nmod OBJECTS is including CONFIGURATION . protecting NAT . protecting QID .\n\
         including MODEL-CHECKER . subsort Configuration < State . subsort Qid < Oid .\n\
         sort Set . subsort Nat < Set . op no : -> Set [ctor] . op _;_ : Set Set -> Set [ctor assoc comm id: no] .\n\
         ops Proc Log : -> Cid [ctor] . op n:_ : Nat -> Attribute [ctor] . op seen:_ : Set -> Attribute [ctor] .\n\
         op ping : Oid Nat -> Msg [ctor msg] . var A : Qid . vars N : Nat . var S : Set . var C : Configuration .\n\
         rl [send] : < A : Proc | n: N > => < A : Proc | n: s N > ping(A, N) .\n\
         rl [recv] : ping(A, N) < 'log : Log | seen: S > => < 'log : Log | seen: (S ; N) > .\n\
         op init : -> Configuration . eq init = < 'a : Proc | n: 0 > < 'log : Log | seen: 7 > .\n\
         op got : -> Prop . eq C < 'log : Log | seen: (0 ; 1 ; S) > |= got = true .\nendm\n\
         mod TUPLES is protecting MAP{Qid, Nat} . protecting SET{Nat} . protecting NAT . protecting QID .\n\
         including MODEL-CHECKER . op st : Nat Map{Qid, Nat} Set{Nat} -> State [ctor] . vars N X : Nat .\n\
         var M : Map{Qid, Nat} . var S : Set{Nat} .\n\
         rl [a] : st(N, ('a |-> X, M), S) => st(s N, ('a |-> s X, M), (S, X)) .\n\
         op init : -> State . eq init = st(0, ('a |-> 0, 'b |-> 0), 5) .\n\
         op two : -> Prop . eq st(2, M, S) |= two = true .\nendm\n",
    );
    let run = |module: &str, formula: &str| {
        let (code, said, _) = spec.check(&["--module", module, "--formula", formula]);
        assert_eq!(code, 1, "{said}");
        said.lines().skip(4).map(|line| line.trim().to_owned()).collect::<Vec<String>>()
    };
    assert_eq!(
        run("OBJECTS", "[] ~ got"),
        [
            "0        'a : Proc, 'a.n: 0, 'log : Log, 'log.seen: 7",
            "1  send  'a.n: 0 -> 1, + ping('a, 0)",
            "2  recv  - ping('a, 0), + 'log.seen: 0",
            "3  send  'a.n: 1 -> 2, + ping('a, 1)",
            "4  recv  - ping('a, 1), + 'log.seen: 1 |= got",
        ]
    );
    assert_eq!(
        run("TUPLES", "[] ~ two"),
        [
            "0     #1: 0, #2: 'a |-> 0, #2: 'b |-> 0, #3: 5",
            "1  a  #1: 0 -> 1, #2: 'a |-> 0 -> 1, + #3: 0",
            "2  a  #1: 1 -> 2, #2: 'a |-> 1 -> 2, + #3: 1 |= two",
        ]
    );
}

#[test]
fn the_module_with_formulas_is_named() {
    let spec = Spec::new("elsewhere", &format!("{STUCK}\nmod OTHER is protecting NAT . endm\n"));
    let (code, _, errors) = spec.check(&[]);
    assert_eq!(code, 2);
    assert!(errors.contains("name one that has, by --module: STUCK"), "{errors}");
}
