//! `rwl check --method revise`: the authors' algorithms by revised modules, against the native method,
//! against a plain reckoning of the states that pass from layer to layer, and against Maude.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::random::Random;
use crate::support::*;

fn spec(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs").join(name).with_extension("rwl");
    path.to_str().expect("a name in ASCII").to_owned()
}

/// Exit code, one object per formula, and what was said on standard error.
fn check(file: &str, method: &str, args: &[&str]) -> (i32, Vec<Value>, String) {
    let output = rwl(&[&["check", file, "-v", "--format", "json", "--method", method], args].concat(), "");
    let objects =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (output.status.code().expect("it ends"), objects, text(&output.stderr))
}

/// Node sets, states and counterexample states of a layer.
fn numbers(layer: &Value) -> [u64; 3] {
    ["spaces", "states", "counterexample_states"].map(|key| layer[key].as_u64().unwrap_or(u64::MAX))
}

/// The states where a layer ends, and whether they are counterexample states.
fn ends(layer: &Value) -> BTreeSet<(&str, bool)> {
    let list = layer["ends"].as_array().expect("they are told with -v");
    let set: BTreeSet<(&str, bool)> = list
        .iter()
        .map(|end| (end["state"].as_str().expect("a text"), end["counterexample"] == true))
        .collect();
    let counts = [set.len(), set.iter().filter(|(_, is_counterexample)| *is_counterexample).count()];
    assert_eq!(counts.map(|count| count as u64), numbers(layer)[1..], "no state twice, and none left out");
    set
}

#[test]
fn the_numbers_of_the_authors_tool() {
    for (name, module, init, layers, expected) in [
        ("tas", "TAS-CHECK", "init2", "2 2", [4, 2, 1]),
        ("tas", "TAS-CHECK", "init5", "2 2", [19, 55, 20]),
        ("tas", "TAS-CHECK", "init6", "2 2", [26, 105, 35]),
        ("tas", "TAS-CHECK", "init5", "3 3", [35, 95, 28]),
        ("qlock", "QLOCK-CHECK", "init5", "2 2", [33, 200, 124]),
    ] {
        let args = ["--module", module, "--init", init, "--formula", "lofree", "--layers", layers];
        let (code, objects, errors) = check(&spec(name), "revise", &args);
        assert_eq!((code, &errors[..]), (0, ""));
        assert_eq!(objects[0]["method"], "revise");
        assert_eq!(numbers(&objects[0]["layers"][1]), expected, "{module} {init}, layers {layers}");
    }
}

/// Table 6.3 of the thesis: how many sub-state spaces the layers but the last have.
#[test]
fn the_sub_state_spaces_of_the_thesis() {
    for (name, module, init, layers, expected) in [
        ("tas", "TAS-CHECK", "init4", "3 3", 21),
        ("tas", "TAS-CHECK", "init5", "3 3", 36),
        ("mcs", "MCS-CHECK", "init2", "4 4 4 4", 28),
    ] {
        let args = ["--module", module, "--init", init, "--formula", "lofree", "--layers", layers];
        let (_, objects, _) = check(&spec(name), "revise", &args);
        let layers = objects[0]["layers"].as_array().expect("a list");
        let spaces: u64 = layers[..layers.len() - 1].iter().map(|layer| numbers(layer)[1]).sum();
        assert_eq!(1 + spaces, expected, "{module} {init}");
    }
}

#[test]
fn both_methods_agree() {
    for (name, module, init, formulas, layers) in [
        ("tas", "FTAS-CHECK", "init3", "lofree1 lofree2 e-prop", "2 2"),
        ("tas", "TAS-CHECK", "init3", "lofree e-prop", "1 3 1"),
        ("qlock", "FQLOCK-CHECK", "init3", "lofree1 lofree2", "3 1"),
        ("anderson", "ANDERSON-CHECK", "init3", "lofree", "2 2"),
        ("ticket", "TICKET-CHECK", "init3", "lofree", "2 3"),
        ("km", "KM-CHECK", "init5", "cstable converge closure", "2 2"),
        ("km", "FKM-CHECK", "init", "cstable converge", "1 2"),
        ("tas", "TAS-CHECK", "init5", "lofree", "3 3"),
        ("tas", "TAS-CHECK", "init4", "lofree e-prop", "2 3 4"),
        ("ss-qlock", "SS-QLOCK-CHECK", "init", "cstable recover", "1 2"),
    ] {
        let mut args = vec!["--module", module, "--init", init, "--layers", layers];
        args.extend(formulas.split(' ').flat_map(|formula| ["--formula", formula]));
        let (code, native, errors) = check(&spec(name), "native", &args);
        assert_eq!(errors, "");
        let (revised_code, revised, errors) = check(&spec(name), "revise", &args);
        assert_eq!((revised_code, &errors[..]), (code, ""), "{module}");
        assert_eq!(native.len(), formulas.split(' ').count());
        assert_eq!(native.len(), revised.len());
        for (native, revised) in native.iter().zip(&revised) {
            let what = format!("{module}, {} with layers {layers}", native["name"]);
            assert_eq!(native["verdict"], revised["verdict"], "{what}");
            assert_eq!(native["counterexample"].is_null(), revised["counterexample"].is_null(), "{what}");
            let layers = native["layers"].as_array().expect("a list");
            assert!(!layers.is_empty(), "{what}");
            for (native, revised) in layers.iter().zip(revised["layers"].as_array().expect("a list")) {
                assert_eq!(ends(native), ends(revised), "{what}");
                assert_eq!(numbers(native), numbers(revised), "{what}");
            }
        }
    }
}

#[test]
fn threads_find_the_same() {
    for (name, module, formula) in
        [("tas", "TAS-CHECK", "lofree"), ("tas", "FTAS-CHECK", "lofree1"), ("km", "FKM-CHECK", "converge")]
    {
        let check = |threads: &str| {
            let args = ["--module", module, "--formula", formula, "--layers", "2 1", "--threads", threads];
            let (code, mut objects, errors) = check(&spec(name), "revise", &args);
            assert_eq!((objects.len(), &errors[..]), (1, ""), "{module} {formula}");
            for key in ["seconds", "cpu_seconds", "peak_memory_bytes", "threads"] {
                objects[0][key] = Value::Null;
            }
            (code, objects)
        };
        let one = check("1");
        for threads in ["2", "5"] {
            assert_eq!(check(threads), one, "{module} {formula} on {threads} threads");
        }
    }
}

#[test]
fn rules_that_are_never_applied_do_not_matter() {
    let text = std::fs::read_to_string(spec("tas")).expect("a specification");
    let rule = "crl [never] : {(locked: B) OCs} => {OCs} if {OCs} => {S} [nonexec] .";
    let with = text.replacen("rl [", &format!("var S : Soup{{OComp}} . {rule}\n  rl ["), 1);
    assert_ne!(text, with);
    let file = temporary("nonexec", &with);
    let args = ["--module", "TAS-CHECK", "--formula", "lofree", "--layers", "2 2"];
    let (code, objects, errors) = check(path(&file), "revise", &args);
    assert_eq!((code, &errors[..]), (0, ""));
    assert_eq!(numbers(&objects[0]["layers"][1]), [4, 2, 1]);
}

#[test]
fn what_cannot_be_revised_is_said() {
    let tas = ["--module", "TAS-CHECK", "--init", "init3"];
    for (args, expected) in [
        (&["--formula", "mutex", "--layers", "2"][..], "none of <> q, p |-> q"),
        (&["--formula", "O inCs1", "--layers", "2"], "none of <> q, p |-> q"),
        (&["--formula", "lofree", "--layers", "auto"], "finds no depths by itself"),
        (&["--formula", "lofree", "--layers", "2", "--checkpoint", "x"], "saves nothing"),
        (&["--formula", "lofree", "--layers", "none"], "does not go with --layers none"),
        (&["--formula", "lofree"], "--layers"),
    ] {
        let (code, objects, errors) = check(&spec("tas"), "revise", &[&tas, args].concat());
        // Wrong usage is told by an object.
        assert_eq!(code, 2, "{args:?}: {errors}");
        assert!(objects.iter().all(|object| object["code"] == "usage"), "{args:?}: {objects:?}");
        let said = objects.iter().fold(errors, |said, object| format!("{said}{object}"));
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    let head = "in model-checker\nmod M is protecting NAT . including MODEL-CHECKER .
        sorts El Soup St . subsort El < Soup . subsort St < State . ops a b c : -> El [ctor] .
        op none : -> Soup . op __ : Soup Soup -> Soup [ctor assoc comm id: none] . op <_> : Soup -> St [ctor] .
        op pair : Soup Soup -> St [ctor] . op p : -> Prop . op init : -> St . op f : -> Formula .
        vars S R : Soup . eq f = <> p .";
    for (body, expected) in [
        ("eq init = pair(a b, c) . rl pair(a S, R) => pair(S, R) .", "not a soup at its top"),
        ("eq init = < a b > . rl a => b .", "does not rewrite a whole state"),
        ("eq init = < a b > . crl < a S > => < S > if < S > => < R > .", "a condition with =>"),
        ("eq init = < a b > . rl < a S > => < S > . eq < a b > = < c > .", "would change what this says"),
        (
            "eq init = < a b > . rl < a S > => < S > . ceq c S = S if S =/= none .",
            "would change what this says",
        ),
    ] {
        let file = temporary("refused", &format!("{head}\n{body}\nendm\n"));
        let (code, objects, errors) = check(path(&file), "revise", &["--layers", "2"]);
        assert_eq!((code, objects.len()), (2, 0), "{body}: {errors}");
        assert!(errors.contains(expected), "{body}: {errors}");
    }
}

/// The limit may be reached while a formula is checked, and is reached for all that follow.
#[test]
fn what_is_not_finished_is_unknown_and_says_why() {
    let tas = ["--module", "TAS-CHECK", "--init", "init8", "--formula", "lofree", "--formula", "<> inCs1"];
    let limits = ["--layers", "4 4", "--time", "0.5", "--threads", "1"];
    let (code, objects, errors) = check(&spec("tas"), "revise", &[&tas[..], &limits].concat());
    assert_eq!((code, objects.len(), errors.as_str()), (3, 2, ""));
    for object in &objects {
        let told = [&object["verdict"], &object["reason"]].map(Value::as_str);
        assert_eq!(told, [Some("unknown"), Some("the time limit was reached")], "{object}");
    }
    assert_eq!(objects[1]["formula"], "<> inCs1");
}

/// A file that is gone afterwards.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn temporary(name: &str, text: &str) -> Temporary {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("rwl-revise-{name}-{}-{number}.maude", std::process::id()));
    std::fs::write(&path, text).expect("the temporary directory is writable");
    Temporary(path)
}

fn path(file: &Temporary) -> &str {
    file.0.to_str().expect("a name in ASCII")
}

/// The text after the library, run in a program: what it says, without counts and times.
fn said_by(program: &str, text_of_file: &str) -> String {
    let file = temporary("printed", text_of_file);
    let mut command = Command::new(program);
    command.args(["-no-banner", "-no-advise", "-no-wrap", "-batch"]).arg(&file.0);
    let output = run(&mut command, "", Duration::from_secs(60)).expect("it answers in time");
    let mistakes = text(&output.stderr);
    assert!(!mistakes.contains("Warning"), "{program}: {mistakes}\n{text_of_file}");
    let line = |line: &str| match line.find("ModelCheckResult: counterexample(") {
        // Other runs may be shown.
        Some(at) => format!("{}\n", &line[..at]),
        None => format!("{}\n", line.split("rewrites: ").next().unwrap_or("")),
    };
    without_times(&text(&output.stdout)).lines().map(line).collect()
}

/// The printed module can be loaded, also by Maude, and answers there as it does here.
#[test]
fn revised_modules_are_modules() {
    let maude = std::env::var("MAUDE").unwrap_or_else(|_| "/usr/bin/maude".to_owned());
    let has_maude = Path::new(&maude).exists();
    assert!(has_maude || !switch("RWL_MAUDE"), "RWL_MAUDE=1 needs Maude");
    for (name, module, init, formula, layers, soup) in [
        ("tas", "TAS-CHECK", "init3", "lofree", "2 1", "Soup{OComp}"),
        ("tas", "FTAS-CHECK", "init", "e-prop", "2 2", "Soup{OComp}"),
        ("qlock", "QLOCK-CHECK", "init3", "lofree", "2 2", "Soup{OComp}"),
        ("km", "KM-CHECK", "init", "converge", "1", "Soup{OComp}"),
        ("km", "KM-CHECK", "init", "cstable", "1 1", "Soup{OComp}"),
        ("ss-qlock", "SS-QLOCK-CHECK", "init", "recover", "1 1", "Soup{OComp}"),
    ] {
        let args = ["--module", module, "--init", init, "--formula", formula, "--layers", layers];
        let (_, objects, errors) = check(&spec(name), "revise", &args);
        assert_eq!(errors, "", "{module}");
        let revised = objects[0]["revised"].as_str().expect("its text");
        assert!(revised.starts_with(&format!("mod {module}-REVISE is\n")), "{revised}");
        assert!(revised.contains("[stutter]"), "{revised}");
        let whole = std::fs::read_to_string(spec(name)).expect("a specification");
        let bound: u64 = layers.split(' ').map(|depth| depth.parse::<u64>().expect("a number")).sum();
        let commands = format!(
            "{whole}\n{revised}\nselect {module}-REVISE .
            search {init} =>* {{(depth: {bound}) R:{soup}}} .\nsearch {init} =>! S:State .
            red modelCheck({init}, {formula}) .\nred Bound .\n"
        );
        let ours = said_by(RWL, &commands);
        let last = objects[0]["layers"].as_array().and_then(|layers| layers.last()).expect("a layer");
        let found = ours.split("search in ").nth(1).unwrap_or("").matches("\nSolution ").count() as u64;
        if formula != "e-prop" && formula != "converge" {
            assert_eq!(found, numbers(last)[1], "{module}\n{ours}");
        }
        if has_maude {
            let differs = difference(&said_by(&maude, &commands), &ours);
            assert!(differs.is_empty(), "{module} {formula}\n{differs}\n{revised}");
        }
        // Every counterexample state of the last boundary has its equation, so there is none any more.
        if formula == "lofree" || formula == "e-prop" {
            assert!(ours.contains("result Bool: true"), "{module}\n{ours}");
            assert!(numbers(last)[2] > 0, "{module}");
        }
    }
}

/// A state of a random system: where it is, and two bits.
type State = (usize, bool, bool);

/// What a rule makes of a state, and its text.
struct Rule {
    text: String,
    step: Box<dyn Fn(State) -> Option<State>>,
}

const PLACES: usize = 4;

fn rule(random: &mut Random, number: usize) -> Rule {
    let (from, to) = (random.below(PLACES), random.below(PLACES));
    let (text, step): (String, Box<dyn Fn(State) -> Option<State>>) = match random.below(6) {
        0 | 1 => (
            format!("rl [r{number}] : {{(at: {from}) R}} => {{(at: {to}) R}}"),
            Box::new(move |(at, x, y)| (at == from).then_some((to, x, y))),
        ),
        2 => (
            format!("rl [r{number}] : {{(at: {from}) (x: X) R}} => {{(at: {to}) (x: (not X)) R}}"),
            Box::new(move |(at, x, y)| (at == from).then_some((to, !x, y))),
        ),
        3 => (
            format!("rl [r{number}] : {{R (x: true) (at: {from})}} => {{R (x: false) (at: {to})}}"),
            Box::new(move |(at, x, y)| (at == from && x).then_some((to, false, y))),
        ),
        4 => (
            format!("crl [r{number}] : {{(at: A) (y: Y) R}} => {{(at: {to}) (y: (not Y)) R}} if A < {from}"),
            Box::new(move |(at, x, y)| (at < from).then_some((to, x, !y))),
        ),
        _ => (
            format!("rl [r{number}] : {{(at: {from}) (x: X) (y: Y)}} => {{(at: {to}) (x: Y) (y: X)}}"),
            Box::new(move |(at, x, y)| (at == from).then_some((to, y, x))),
        ),
    };
    Rule { text: format!("  {text} .\n"), step }
}

/// An equation for a proposition, and where it holds.
fn proposition(random: &mut Random, name: &str) -> (String, Box<dyn Fn(State) -> bool>) {
    let place = random.below(PLACES);
    let (text, holds): (String, Box<dyn Fn(State) -> bool>) = match random.below(7) {
        0 => (format!("{{(at: {place}) R}} |= {name} = true"), Box::new(move |s| s.0 == place)),
        1 => (format!("{{(x: true) R}} |= {name} = true"), Box::new(|s| s.1)),
        2 => (format!("{{(at: A) R}} |= {name} = A > {place}"), Box::new(move |s| s.0 > place)),
        3 => {
            (format!("{{(at: {place}) (x: X) (y: Y)}} |= {name} = Y"), Box::new(move |s| s.0 == place && s.2))
        }
        4 => (
            format!("{{(at: A) R}} |= {name} = size(R) == 2 and A =/= {place}"),
            Box::new(move |s| s.0 != place),
        ),
        5 => (format!("T |= {name} = has(T, at: {place})"), Box::new(move |s| s.0 == place)),
        _ => (format!("{{(y: Y) (x: Y) R}} |= {name} = true"), Box::new(|s| s.1 == s.2)),
    };
    (format!("  eq {text} .\n"), holds)
}

/// Which runs a formula is about.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Class {
    Eventual,
    LeadsTo,
    ConditionalStable,
    Until,
    UntilStable,
}

struct Claim {
    class: Class,
    text: String,
    /// Propositions by position, and whether they are negated.
    p: (usize, bool),
    q: (usize, bool),
}

fn claim(random: &mut Random) -> Claim {
    use Class::*;
    let class = [Eventual, LeadsTo, LeadsTo, ConditionalStable, Until, UntilStable][random.below(6)];
    let first = random.below(2);
    let (p, q) = ((first, random.below(3) == 0), (1 - first, random.below(3) == 0));
    let word = |(prop, is_negated): (usize, bool)| {
        format!("{}{}", if is_negated { "~ " } else { "" }, ["p", "q"][prop])
    };
    let (left, right) = (word(p), word(q));
    let text = match class {
        Eventual => format!("<> {right}"),
        LeadsTo => format!("{left} |-> {right}"),
        ConditionalStable => format!("{left} |-> [] {right}"),
        Until => format!("{left} U {right}"),
        UntilStable => format!("{left} U [] {right}"),
    };
    Claim { class, text, p, q }
}

/// States at a depth, each with whether a violation may have begun; nothing if one is complete.
type Level = BTreeSet<(State, bool)>;

/// Where a run goes on after a state, by the definition of the classes.
fn enter(class: Class, begun: bool, p: bool, q: bool) -> Result<Option<bool>, ()> {
    match class {
        Class::Eventual => Ok((!q).then_some(true)),
        Class::LeadsTo => Ok(Some((begun || p) && !q)),
        Class::ConditionalStable => Ok(Some(begun || p)),
        Class::Until if q => Ok(None),
        Class::Until => p.then_some(Some(true)).ok_or(()),
        Class::UntilStable => {
            let failed = begun || !p;
            if failed && !q { Err(()) } else { Ok(Some(failed)) }
        }
    }
}

#[test]
fn random_systems_by_both_methods_and_by_hand() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + number("CASES").unwrap_or(60),
    };
    let (mut violated, mut compared, mut shared) = (0, 0, 0);
    for seed in seeds {
        let mut random = Random(seed);
        let rules: Vec<Rule> = (0..2 + random.below(5)).map(|at| rule(&mut random, at)).collect();
        let props = [proposition(&mut random, "p"), proposition(&mut random, "q")];
        let claims: Vec<Claim> = (0..5).map(|_| claim(&mut random)).collect();
        let start: State = (random.below(PLACES), random.below(2) == 0, random.below(2) == 0);
        let depths: Vec<usize> = (0..1 + random.below(3)).map(|_| 1 + random.below(3)).collect();
        let mut text_of_file = "in model-checker\nmod R is protecting NAT . including MODEL-CHECKER .
  sorts El Soup St . subsort El < Soup . subsort St < State . op none : -> Soup [ctor] .
  op __ : Soup Soup -> Soup [ctor assoc comm id: none] . op {_} : Soup -> St [ctor] .
  op at:_ : Nat -> El [ctor] . ops x:_ y:_ : Bool -> El [ctor] .
  var A : Nat . vars X Y : Bool . var R : Soup . vars E F : El . var T : St .
  op size : Soup -> Nat . eq size(none) = 0 . eq size(E R) = 1 + size(R) .
  op has : St El -> Bool . eq has({E R}, E) = size(R) == 2 . eq has(T, E) = false [owise] .\n"
            .to_owned();
        rules.iter().for_each(|rule| text_of_file.push_str(&rule.text));
        text_of_file.push_str("  ops p q : -> Prop [ctor] . op init : -> St .\n");
        props.iter().for_each(|(text, _)| text_of_file.push_str(text));
        let (at, x, y) = start;
        let _ = writeln!(text_of_file, "  eq S:State |= P:Prop = false [owise] .");
        let _ = writeln!(text_of_file, "  eq init = {{(at: {at}) (x: {x}) (y: {y})}} .\nendm");
        let layers: Vec<String> = depths.iter().map(usize::to_string).collect();
        let layers = layers.join(" ");
        let file = temporary("random", &text_of_file);
        let mut args = vec!["--layers", &layers[..]];
        args.extend(claims.iter().flat_map(|claim| ["--formula", &claim.text[..]]));
        let (code, native, errors) = check(path(&file), "native", &args);
        let what = format!("SEED={seed} layers {layers}\n{text_of_file}");
        assert_eq!((&errors[..], native.len()), ("", claims.len()), "{what}");
        let (revised_code, revised, errors) = check(path(&file), "revise", &args);
        assert_eq!((revised_code, &errors[..]), (code, ""), "{what}");
        for ((claim, native), revised) in claims.iter().zip(&native).zip(&revised) {
            let what = format!("{}: {what}", claim.text);
            assert_eq!(native["verdict"], revised["verdict"], "{what}");
            violated += usize::from(native["verdict"] == "violated");
            assert_eq!(native["verdict"] == "violated", !revised["counterexample"].is_null(), "{what}");
            let holds = |(prop, is_negated): (usize, bool), state: State| props[prop].1(state) != is_negated;
            let enter = |begun: bool, state: State| {
                enter(claim.class, begun, holds(claim.p, state), holds(claim.q, state))
            };
            let mut level =
                enter(false, start).map(|begun| begun.map(|begun| (start, begun)).into_iter().collect());
            let empty = Vec::new();
            let (native, revised_layers) = (
                native["layers"].as_array().unwrap_or(&empty),
                revised["layers"].as_array().unwrap_or(&empty),
            );
            for (at, depth) in depths.iter().enumerate() {
                for _ in 0..*depth {
                    level = level.and_then(|level: Level| {
                        let mut next = Level::new();
                        for (state, begun) in level {
                            let mut targets: Vec<State> =
                                rules.iter().filter_map(|rule| (rule.step)(state)).collect();
                            if targets.is_empty() {
                                targets.push(state);
                            }
                            for target in targets {
                                next.extend(enter(begun, target)?.map(|begun| (target, begun)));
                            }
                        }
                        Ok(next)
                    });
                }
                let Ok(level) = &level else {
                    assert_eq!(revised["verdict"], "violated", "{what}");
                    break;
                };
                let states: BTreeSet<State> = level.iter().map(|(state, _)| *state).collect();
                let begun: BTreeSet<State> = level.iter().filter(|(_, b)| *b).map(|(s, _)| *s).collect();
                let expected = [states.len() as u64, begun.len() as u64];
                let Some(layer) = revised_layers.get(at) else { panic!("layer {at} is missing: {what}") };
                assert_eq!(numbers(layer)[1..], expected, "layer {at} of {what}");
                let Some(own) = native.get(at) else { panic!("native, layer {at} is missing: {what}") };
                assert_eq!(numbers(own), numbers(layer), "native, layer {at} of {what}");
                assert_eq!(ends(own), ends(layer), "layer {at} of {what}");
                shared +=
                    usize::from(claim.class == Class::LeadsTo && is_shared(layer, &revised_layers[..at]));
                let has_equations = matches!(claim.class, Class::Eventual | Class::LeadsTo | Class::Until);
                if at + 1 == depths.len() && has_equations {
                    let text = revised["revised"].as_str().expect("its text");
                    assert_eq!(equations(text), begun, "{text}\n{what}");
                    compared += 1;
                }
            }
        }
    }
    println!("{violated} violated, {compared} compared, {shared} with node sets that two states share");
    assert!(number("SEED").is_some() || violated > 0 && compared > 0 && shared > 0);
}

/// Whether a layer after others has fewer node sets than states where it begins, plain and counterexample
/// states.
fn is_shared(layer: &Value, before: &[Value]) -> bool {
    before.last().is_some_and(|before| numbers(layer)[0] < numbers(before)[1..].iter().sum())
}

/// What holds for want of a premise is said to, whoever finds it out.
#[test]
fn what_says_nothing_is_told() {
    for (formula, vacuous) in [
        ("inWs1 /\\ inCs1 |-> inCs1", true),
        ("inWs1 /\\ inCs1 |-> inWs2", true),
        ("inWs1 /\\ inCs1 |-> [] inWs2", true),
        ("inWs1 |-> inCs1", false),
        ("inCs1 |-> [] ~ inWs1", false),
        ("<> inCs1", false),
        ("inWs1 U (inWs1 \\/ ~ inWs1)", true),
    ] {
        for layers in ["1 1", "2 2", "9"] {
            let args = ["--module", "TAS-CHECK", "--init", "init2", "--formula", formula, "--layers", layers];
            let [native, revised] = ["native", "revise"].map(|method| check(&spec("tas"), method, &args));
            assert_eq!((native.0, &native.2[..]), (0, ""), "{formula}");
            assert_eq!((revised.0, &revised.2[..]), (0, ""), "{formula}");
            assert_eq!(native.1[0]["vacuous"], vacuous, "{formula}, layers {layers}");
            assert_eq!(revised.1[0]["vacuous"], vacuous, "{formula}, layers {layers}");
        }
    }
}

/// The states that the equations of a revised module are about.
fn equations(revised: &str) -> BTreeSet<State> {
    let value = |line: &str, word: &str| {
        let rest = line.split_once(word)?.1.trim_start();
        rest.split([' ', ')', '}']).next().map(str::to_owned)
    };
    let state = |line: &str| {
        let at = value(line, "at:")?.parse().ok()?;
        Some((at, value(line, "x:")?.parse().ok()?, value(line, "y:")?.parse().ok()?))
    };
    let is_ground = |line: &&str| {
        line.trim_start().starts_with("eq {")
            && line.contains("|=")
            && value(line, "depth:").is_some_and(|depth| depth.parse::<u32>().is_ok())
    };
    revised.lines().filter(is_ground).filter_map(state).collect()
}
