//! `rwl search`, and searches that are stopped.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::*;

/// A file with a specification, removed at the end.
struct Spec(PathBuf);

impl Spec {
    fn new(name: &str, text: &str) -> Spec {
        let path = std::env::temp_dir().join(format!("rwl-search-{}-{name}.rwl", std::process::id()));
        std::fs::write(&path, text).expect("writable");
        Spec(path)
    }

    fn search(&self, args: &[&str]) -> (i32, String, String) {
        let file = self.0.to_str().expect("a name in ASCII");
        let output = rwl(&[&["search", file], args].concat(), "");
        (output.status.code().expect("it ends"), without_times(&text(&output.stdout)), text(&output.stderr))
    }

    fn json(&self, args: &[&str]) -> (i32, Value) {
        let (code, said, errors) = self.search(&[args, &["--format", "json"]].concat());
        assert_eq!(said.lines().count(), 1, "{said}{errors}");
        (code, serde_json::from_str(&said).expect("JSON"))
    }
}

impl Drop for Spec {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const LIGHT: &str = "mod LIGHT is
  sort S .
  ops red green amber dark init : -> S [ctor] .
  eq init = red .
  rl [go] : red => green .
  rl [slow] : green => amber .
  rl [stop] : amber => red .
  rl [mend] : dark => red .
endm
red init .
search init =>* S:S .
";

#[test]
fn rules_that_fire_in_conditions_are_not_called_unused() {
    let text = "mod INSIDE is
  sorts S N . ops a b c d : -> S [ctor] .
  op f : S -> S [ctor frozen] .
  op n : S N -> S [ctor frozen (1)] .
  op z : -> N [ctor] . op t : N -> N [ctor] .
  vars X Y : S . var M : N .
  rl [inner] : a => b .
  rl [dead] : d => a .
  crl [outer] : f(X) => c if X => b .
  rl [more] : n(X, M) => n(X, t(M)) .
  crl [nested] : n(X, t(t(t(t(t(t(t(t(M))))))))) => f(X) if f(X) => c .
endm
";
    let spec = Spec::new("inside", text);
    for threads in ["1", "2"] {
        let (code, said, errors) = spec.search(&["--init", "f(a)", "--pattern", "c", "--threads", threads]);
        assert_eq!(code, 0);
        let rules = "           0  inner (in conditions only)\n           0  dead\n           1  outer\n";
        assert!(said.contains(rules), "{said}");
        assert!(!errors.contains("rule inner"), "{errors}");
        assert!(errors.contains("rule dead is never applied"), "{errors}");
    }
    let (_, report) = spec.json(&["--init", "f(a)", "--pattern", "c"]);
    assert_eq!(report["rules"][0]["in_conditions"], true);
    assert_eq!(report["rules"][1]["in_conditions"], false);
    // Conditions inside conditions.
    let (_, report) = spec.json(&["--init", "n(a, z)", "--pattern", "c", "--depth", "12"]);
    assert_eq!(report["rules"][0]["in_conditions"], true);
    assert_eq!(report["rules"][2]["in_conditions"], true);
}

#[test]
fn solutions_come_with_the_rules_that_were_used() {
    let spec = Spec::new("light", LIGHT);
    let expected = "search in LIGHT : init =>* amber .\n\nSolution 1 (state 2)\nstates: 3  rewrites: 3\n\
        empty substitution\n\nNo more solutions.\nstates: 3  rewrites: 4\n\nRules applied:\n           1  go\n           \
        1  slow\n           1  stop\n           0  mend\n";
    let (code, said, errors) = spec.search(&["--pattern", "amber"]);
    assert_eq!((code, said.as_str()), (0, expected));
    assert!(errors.contains("rule mend is never applied"), "{errors}");
    // Only a search that has seen everything may say so.
    let (code, said, errors) = spec.search(&["--solutions", "1", "--depth", "2"]);
    assert_eq!(code, 0);
    assert!(said.starts_with("search [1, 2] in LIGHT : init =>* State:[S] .\n"), "{said}");
    assert!(errors.is_empty(), "{errors}");
    let (_, said, _) = spec.search(&["-q", "--init", "dark", "--arrow", "=>1"]);
    assert!(said.ends_with("\nNo more solutions.\nstates: 2  rewrites: 1\n"), "{said}");
    let (_, said, _) = spec.search(&["-q", "--arrow", "=>!"]);
    assert!(said.contains("No final states: a rule applies to each of the 3 states."), "{said}");
}

#[test]
fn json_tells_everything_in_one_object() {
    let spec = Spec::new("json", LIGHT);
    let args = ["--pattern", "X:S", "--condition", "X:S =/= red", "--module", "LIGHT"];
    let (code, report) = spec.json(&args);
    assert_eq!(code, 0);
    let keys: Vec<&str> = report.as_object().expect("an object").keys().map(String::as_str).collect();
    assert!(keys.starts_with(&["rwl", "command", "name", "module", "init"]), "{keys:?}");
    assert_eq!((&report["verdict"], &report["reason"]), (&"violated".into(), &Value::Null));
    assert_eq!((&report["transitions"], &report["rewrites"]), (&3.into(), &7.into()));
    assert_eq!((&report["states"], &report["exhaustive"]), (&3.into(), &true.into()));
    assert_eq!(report["solutions"][1]["substitution"]["X:S"], "amber");
    assert_eq!(report["solutions"][1]["state"], 2);
    assert_eq!(report["rules"][3]["rule"], "mend");
    assert_eq!(report["rules"][3]["fired"], 0);
    assert!(report["peak_memory_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    let (_, report) = spec.json(&["--arrow", "=>!"]);
    assert_eq!((&report["verdict"], &report["final_states"]), (&"holds".into(), &0.into()));
    // Nothing found, but not everything seen.
    let (code, report) = spec.json(&["--pattern", "amber", "--depth", "1"]);
    assert_eq!((code, &report["verdict"]), (0, &"unknown".into()));
    assert_eq!(report["reason"], "there are states beyond the depth limit");
    let (_, report) = spec.json(&["--pattern", "amber", "--arrow", "=>1"]);
    assert_eq!(report["verdict"], "holds", "one step is all that is asked for");
}

#[test]
fn bad_input_is_told_from_a_search_without_solutions() {
    let spec = Spec::new("bad", LIGHT);
    assert_eq!(spec.search(&["--pattern", "dark"]).0, 0);
    assert_eq!(spec.search(&["--pattern", "blue"]).0, 2);
    assert_eq!(spec.search(&["--init", "red red"]).0, 2);
    assert_eq!(spec.search(&["--module", "DARK"]).0, 2);
    assert_eq!(spec.search(&["--arrow", "->"]).0, 2);
    assert_eq!(spec.search(&["--condition", "X:S = red"]).0, 2);
    let broken = Spec::new("broken", "mod M is sort S . op init : -> T . rl init => init . endm\n");
    let (code, said, _) = broken.search(&[]);
    assert_eq!((code, said.as_str()), (2, ""), "a broken specification is not searched");
    assert_eq!(Spec::new("empty", "").search(&[]).0, 2);
}

#[test]
fn messages_point_into_the_options() {
    let spec = Spec::new("options", LIGHT);
    let check = |args: &[&str], parts: &[&str]| {
        let (code, said, errors) = spec.search(args);
        assert_eq!((code, said.as_str()), (2, ""), "{args:?}: {errors}");
        for part in parts {
            assert!(errors.contains(part), "{args:?}: {errors}");
        }
    };
    check(&["--init", "rde"], &["--> --init:1:1", "did you mean `red`?", "read in module LIGHT"]);
    check(&["--init", "red ."], &["--> --init:1:5", "leave out the period"]);
    check(&["--init", ""], &["--> --init:1:1", "empty term"]);
    check(&["--pattern", "amber\n  blue"], &["--> --pattern:2:3", "nothing is called `blue` here"]);
    check(&["--pattern", "true"], &["--> --pattern:1:1", "of kind [S]", "this has sort Bool"]);
    check(&["--condition", "X:S =/= red"], &["--> --condition:1:1", "variable X"]);
    check(&["--condition", "red = green /\\"], &["--> --condition:1:15", "something is missing here"]);
    check(&["--module", "LIHGT"], &["--> --module:1:1", "did you mean LIGHT?"]);
    check(&["--module", "DARK"], &["--> --module:1:1", "the file has LIGHT"]);
    check(&["--module", "LIST{Nat"], &["--> --module:1:9", "expected `,` or `}`"]);
    check(&["--solutions", "0"], &["--solutions", "from 1 on"]);
    check(&["--arrow", "=>?"], &["--arrow", "=>1, =>+, =>*, =>!"]);
    let directory = rwl(&["search", env!("CARGO_MANIFEST_DIR")], "");
    assert_eq!(directory.status.code(), Some(2));
    assert!(text(&directory.stderr).contains("is a directory"), "{}", text(&directory.stderr));
    let (code, _, errors) = spec.search(&["-q", "--init", "X:S"]);
    assert!(code == 0 && errors.contains("open-subject"), "what may mislead is said even with -q: {errors}");
}

/// Goes on for ever.
const COUNT: &str = "mod COUNT is protecting NAT . sort S . op c : Nat -> S . op init : -> S . var N : Nat .
  eq init = c(0) . rl [inc] : c(N) => c(N + 1) .
  op spin : Nat -> Nat . eq spin(N) = spin(N) .
  op d : Nat -> S . crl [spin] : d(N) => c(N) if spin(N) = N . endm\n";

#[test]
fn limits_stop_a_search_and_show_what_was_found() {
    let spec = Spec::new("count", COUNT);
    let (code, said, errors) = spec.search(&["--time", "0.5", "--pattern", "c(2)"]);
    assert_eq!(code, 3, "{errors}");
    assert!(said.contains("Solution 1 (state 2)") && said.contains("\ndepth: "), "{said}");
    assert!(errors.contains("time-limit") && !errors.contains("never applied"), "{errors}");
    let (code, report) = spec.json(&["--time", "0.5", "--pattern", "d(N:Nat)"]);
    assert_eq!((code, &report["verdict"]), (3, &"unknown".into()));
    assert_eq!(report["reason"], "the time limit was reached");
    let (code, report) = spec.json(&["--memory", "3M", "--time", "50", "--pattern", "d(N:Nat)"]);
    assert_eq!((code, &report["reason"]), (3, &"the memory limit was reached".into()));
    assert!(report["states"].as_u64().is_some_and(|states| states > 100));
    // An equation in a condition that does not terminate.
    let (code, report) = spec.json(&["--time", "0.5", "--init", "d(1)"]);
    assert_eq!((code, &report["states"]), (3, &1.into()));
}

/// What nobody counts piece by piece: memo tables, and the states of `=>` conditions.
const GREEDY: &str =
    "mod GREEDY is protecting STRING . sort S . ops c d init : -> S . op e : Nat -> S . var N : Nat .
  op run : Nat -> Nat [memo] . eq run(N) = run(s N) .
  op long : String -> String . var T : String . eq long(T) = long(T + T) .
  rl e(N) => e(N * 2 ^ 8000) . eq init = c .
  crl c => d if run(0) = 0 .
  crl d => c if e(1) => d . endm\n";

#[test]
fn conditions_keep_to_the_memory_limit() {
    let spec = Spec::new("greedy", GREEDY);
    for init in ["c", "d"] {
        let (code, report) =
            spec.json(&["--memory", "30M", "--time", "50", "--init", init, "--pattern", "e(0)"]);
        assert_eq!((code, &report["reason"]), (3, &"the memory limit was reached".into()), "{init}");
        assert_eq!((&report["verdict"], &report["states"]), (&"unknown".into(), &1.into()));
        assert!(report["peak_memory_bytes"].as_u64().is_some_and(|bytes| bytes < 600 << 20), "{report}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn without_memory_it_ends_with_a_message() {
    let spec = Spec::new("limited", GREEDY);
    let script = format!("ulimit -v 500000; exec {RWL} -batch {}", spec.0.display());
    let run = |input: &str| {
        run(Command::new("sh").args(["-c", &script]), input, std::time::Duration::from_secs(60))
    };
    let output = run("red 1 + 1 .\nred long(\"abc\") .\n").expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("result NzNat: 2"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("no more memory"), "{}", text(&output.stderr));
}

#[test]
fn endless_rewriting_stops_when_the_time_is_up() {
    for command in ["rew init .", "frew init .", "rew d(1) .", "match S:S <=? d(1) such that S:S => c(5) ."] {
        let input = format!("{COUNT}{command}\n");
        assert_eq!(rwl(&["--time", "0.5"], &input).status.code(), Some(3), "{command}");
    }
}

#[test]
fn the_path_to_a_state_is_shown_after_an_interrupt_while_its_parent_was_explored() {
    let module = "mod M is sort S . ops a b : -> S . ops f g : S -> S . vars X Y : S .
        rl [first] : a => b . crl [endless] : a => b if f(a) => Y . crl f(X) => g(X) if f(X) => Y . endm\n";
    let input =
        format!("{module}search a =>+ X:S .\nsearch a =>! f(X:S) .\nshow path 1 .\nshow search graph .\n");
    let output = rwl(&[], &input);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{text}");
    let path = "state 0, S: a\n===[ rl a => b [label first] . ]===>\nstate 1, S: b\n";
    assert!(text.contains(path), "{text}");
    assert!(text.contains("arc 0 ===> state 1 (rl a => b [label first] .)"), "{text}");
}

#[test]
fn an_interrupted_search_says_how_far_it_came() {
    let mut child = Command::new(RWL)
        .args(["-no-banner", "-batch", "-no-wrap"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut input = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut next = || lines.next().map(|line| line.expect("text")).expect("a line");
    input
        .write_all(format!("{COUNT}search [2] init =>* c(N) .\nsearch init =>* d(N) .\n").as_bytes())
        .expect("open");
    input.flush().expect("open");
    while !next().starts_with("search in COUNT") {}
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(Command::new("kill").arg("-INT").arg(child.id().to_string()).status().expect("runs").success());
    assert_eq!(next(), "Interrupted.");
    assert!(next().starts_with("states: "));
    assert!(next().starts_with("depth: "));
    drop(input);
    assert_eq!(child.wait().expect("ends").code(), Some(3));
}

#[test]
fn two_threads_keep_to_the_memory_limit() {
    let qlock = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/qlock.rwl");
    let peak = |threads: &str| {
        let pattern = "{(pc[p1]: cs) (pc[p2]: cs) OCs:Soup{OComp}}";
        let limits = ["--threads", threads, "--memory", "30M", "--format", "json"];
        let args = ["search", qlock, "--module", "QLOCK-CHECK", "--init", "init9", "--pattern", pattern];
        let output = rwl(&[&args[..], &limits].concat(), "");
        assert_eq!(output.status.code(), Some(3));
        let object: serde_json::Value = serde_json::from_str(&text(&output.stdout)).expect("one object");
        assert_eq!(object["reason"], "the memory limit was reached");
        assert!(object["states"].as_u64().is_some_and(|states| states > 50_000), "{object}");
        object["peak_memory_bytes"].as_u64().expect("a number") >> 20
    };
    let (one, two) = (peak("1"), peak("2"));
    assert!(two <= one + 8, "{one} MB on one thread, {two} MB on two");
}

#[test]
fn what_a_search_leaves_out_is_told() {
    let spec = "mod M is protecting NAT . sort S . op c : Nat -> S [ctor] .\n\
        rl [up] : c(N:Nat) => c(s N:Nat) .\nrl [up] : c(7) => c(0) .\nrl [down] : c(s N:Nat) => c(N:Nat) .\nendm\n";
    // The specification comes from standard input.
    let search = |args: &[&str]| {
        let output = rwl(&[&["search", "-", "--init", "c(0)", "--pattern", "c(99)"], args].concat(), spec);
        text(&output.stdout)
    };
    let said = search(&["--depth", "2"]);
    assert!(said.contains("\nStates that take more than 2 steps have not been explored.\n"), "{said}");
    assert!(said.contains("  up (line 2)\n           0  up (line 3)\n"), "{said}");
    assert!(said.contains("  down\n"), "{said}");
    assert!(!search(&["--depth", "1", "--arrow", "=>1"]).contains("have not been explored"));
}

#[test]
fn a_condition_that_needs_itself_is_named() {
    let spec = "mod M is protecting NAT . sort S . ops c d : Nat -> S [ctor] . vars N M : Nat .\n\
        rl [fine] : c(N) => c(N) .\ncrl [down] : c(N) => d(N) if c(s N) => d(M) .\nendm\n";
    let output = rwl(&["search", "-", "--init", "c(0)"], spec);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("the condition of this rule needs itself again and again"), "{errors}");
    assert!(errors.contains("crl [down]") && !errors.contains("[fine]"), "{errors}");
}

/// Lists that double: each step takes as much as all before it.
#[test]
fn lists_that_double_keep_to_the_memory_limit() {
    let spec = Spec::new(
        "doubling",
        "mod DOUBLING is sorts E L S . subsort E < L . ops a b : -> E . op nil : -> L .
  op __ : L L -> L [assoc id: nil] . op f : L -> L . op <_> : L -> S . var X : L .
  eq f(X) = f(X X) . crl < X > => < X a > if f(X) = nil .
  op [_] : L -> S . rl [ X ] => [ X X ] . endm\n",
    );
    // In an equation, in a condition, and from state to state.
    for init in ["< f(a b) >", "< a b >", "[ a b ]"] {
        let args = ["--init", init, "--pattern", "< b >", "--memory", "300M", "--time", "50"];
        let (code, report) = spec.json(&args);
        assert_eq!((code, &report["verdict"]), (3, &"unknown".into()));
        assert_eq!(report["reason"], "the memory limit was reached");
        assert!(report["peak_memory_bytes"].as_u64().is_some_and(|bytes| bytes < 400 << 20), "{report}");
    }
}

/// In the initial state, and later.
#[test]
fn a_search_that_meets_something_too_large_says_so_in_json() {
    let spec = Spec::new(
        "too-large",
        "mod BAGS is sorts Bag S . op a : -> Bag . op __ : Bag Bag -> Bag [assoc comm] . op full : Bag -> Bag .
  var B : Bag . eq full(B) = full(B B) . op <_> : Bag -> S . rl < a > => < a a > .
  rl < a a > => < full(a) > . endm\n",
    );
    for (init, states) in [("< full(a) >", 0), ("< a >", 2)] {
        let (code, report) = spec.json(&["--init", init, "--pattern", "< a a a >"]);
        assert_eq!((code, &report["verdict"]), (3, &"unknown".into()));
        assert!(report["reason"].as_str().is_some_and(|why| why.contains("in a multiset")), "{report}");
        assert_eq!(report["states"], states);
    }
}

/// One multiplication would take minutes, or all memory.
#[test]
fn long_numbers_keep_to_the_limits() {
    let spec = Spec::new(
        "long-numbers",
        "mod LONG is protecting NAT . sort S . op n : Nat -> S . var N : Nat . rl n(N) => n(0) . endm\n",
    );
    for (number, limits, reason) in [
        ("(3 ^ 1000000) ^ 1000", ["--time", "1"], "the time limit was reached"),
        (
            "(3 ^ 1000000) quo 7 + modExp(3 ^ 99999, 7 ^ 99999, 5 ^ 99999)",
            ["--time", "1"],
            "the time limit was reached",
        ),
        ("(1 << 1000000) ^ 4000", ["--memory", "60M"], "the memory limit was reached"),
        (
            "(1 << 1000000) ^ 2000 * (1 << 1000000) ^ 2000",
            ["--memory", "60M"],
            "the memory limit was reached",
        ),
    ] {
        let start = std::time::Instant::now();
        let init = format!("n({number})");
        let (code, report) = spec.json(&[&["--init", &init, "--pattern", "n(0)"], &limits[..]].concat());
        assert_eq!((code, &report["reason"]), (3, &reason.into()), "{number}");
        assert!(start.elapsed().as_secs() < 20, "{number}");
        assert!(report["peak_memory_bytes"].as_u64().is_some_and(|bytes| bytes < 120 << 20), "{report}");
    }
}
