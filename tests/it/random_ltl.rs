//! Random systems and formulas: rwl against Maude and against a naive look at the counterexamples.
//!
//! Systems are graphs of constants, so that everything can be looked at by simple code: every
//! counterexample of rwl (short ones, on one thread and on several, and those that imitate Maude's)
//! must be a run of the graph on which the formula is false, and where rwl says that a formula holds
//! no short run may violate it. Verdicts must be Maude's, or else Maude must be provably wrong (it
//! sometimes is, see below). `SEED=n` repeats a run, `CASES=n` tries more formulas.

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::random::Random;
use crate::support::*;

/// A formula; all operators of Maude's module LTL.
#[derive(Clone)]
enum Ltl {
    Constant(bool),
    Prop(usize),
    Unary(&'static str, Box<Ltl>),
    Binary(&'static str, Box<Ltl>, Box<Ltl>),
}

impl fmt::Display for Ltl {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Ltl::Constant(value) => write!(out, "{}", if *value { "True" } else { "False" }),
            Ltl::Prop(at) => write!(out, "p{at}"),
            Ltl::Unary(op, f) => write!(out, "({op} {f})"),
            Ltl::Binary(op, f, g) => write!(out, "({f} {op} {g})"),
        }
    }
}

const UNARY: &[&str] = &["~", "O", "[]", "<>", "[]", "<>"];
const BINARY: &[&str] = &["/\\", "\\/", "U", "R", "W", "|->", "->", "=>", "<->", "<=>", "U", "|->"];

fn formula(random: &mut Random, depth: usize) -> Ltl {
    if depth == 0 || random.below(6) == 0 {
        return if random.below(30) == 0 {
            Ltl::Constant(random.below(2) == 0)
        } else {
            Ltl::Prop(random.below(PROPS))
        };
    }
    if random.below(2) == 0 {
        Ltl::Unary(random.pick(UNARY), Box::new(formula(random, depth - 1)))
    } else {
        let (f, g) = (formula(random, depth - 1), formula(random, depth - 1));
        Ltl::Binary(random.pick(BINARY), Box::new(f), Box::new(g))
    }
}

/// The truth of a formula at each place of a run that goes back to `back` after its end.
fn truth(formula: &Ltl, letters: &[usize], back: usize) -> Vec<bool> {
    let count = letters.len();
    let next = |i: usize| if i + 1 < count { i + 1 } else { back };
    // The places that the run visits from place i on, each once.
    let later = |i: usize| i.min(back)..count;
    let always = |f: &[bool]| -> Vec<bool> { (0..count).map(|i| later(i).all(|j| f[j])).collect() };
    let until = |f: &[bool], g: &[bool]| -> Vec<bool> {
        let holds = |mut i: usize| {
            for _ in 0..=count {
                if g[i] {
                    return true;
                }
                if !f[i] {
                    return false;
                }
                i = next(i);
            }
            false
        };
        (0..count).map(holds).collect()
    };
    let each = |op: &dyn Fn(usize) -> bool| -> Vec<bool> { (0..count).map(op).collect() };
    match formula {
        Ltl::Constant(value) => vec![*value; count],
        Ltl::Prop(prop) => each(&|i| letters[i] >> prop & 1 == 1),
        Ltl::Unary(op, f) => {
            let f = truth(f, letters, back);
            match *op {
                "~" => each(&|i| !f[i]),
                "O" => each(&|i| f[next(i)]),
                "[]" => always(&f),
                _ => until(&vec![true; count], &f),
            }
        }
        Ltl::Binary(op, f, g) => {
            let (f, g) = (truth(f, letters, back), truth(g, letters, back));
            match *op {
                "/\\" => each(&|i| f[i] && g[i]),
                "\\/" => each(&|i| f[i] || g[i]),
                "->" => each(&|i| !f[i] || g[i]),
                "<->" => each(&|i| f[i] == g[i]),
                "=>" => always(&each(&|i| !f[i] || g[i])),
                "<=>" => always(&each(&|i| f[i] == g[i])),
                "U" => until(&f, &g),
                "W" => {
                    let (until, always) = (until(&f, &g), always(&f));
                    each(&|i| until[i] || always[i])
                }
                "R" => {
                    let until = until(&each(&|i| !f[i]), &each(&|i| !g[i]));
                    each(&|i| !until[i])
                }
                _ => {
                    let later = until(&vec![true; count], &g);
                    always(&each(&|i| !f[i] || later[i]))
                }
            }
        }
    }
}

/// States are places; an edge is named by its place.
struct Graph {
    edges: Vec<(usize, usize)>,
    props: Vec<usize>,
}

const PROPS: usize = 3;

/// A run: states with the edges by which they are left, and where it goes back.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Lasso {
    steps: Vec<(usize, Option<usize>)>,
    back: usize,
}

impl Graph {
    fn random(random: &mut Random) -> Graph {
        let states = 1 + random.below(7);
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for from in 0..states {
            // One state in eight is a deadlock.
            let degree = if random.below(8) == 0 { 0 } else { 1 + random.below(3) };
            for _ in 0..degree {
                let edge = (from, random.below(states));
                if !edges.contains(&edge) {
                    edges.insert(random.below(edges.len() + 1), edge);
                }
            }
        }
        Graph { edges, props: (0..states).map(|_| random.below(1 << PROPS)).collect() }
    }

    fn module(&self, name: &str, imports: &str) -> String {
        let list = |letter: &str, count: usize| -> String {
            (0..count).map(|i| format!("{letter}{i}")).collect::<Vec<_>>().join(" ")
        };
        let mut text = format!("mod {name} is including MODEL-CHECKER . {imports}\n");
        let _ = writeln!(text, "  ops {} : -> State [ctor] .", list("s", self.props.len()));
        let _ = writeln!(text, "  ops {} : -> Prop [ctor] .", list("p", PROPS));
        for (state, props) in self.props.iter().enumerate() {
            for prop in (0..PROPS).filter(|prop| props >> prop & 1 == 1) {
                let _ = writeln!(text, "  eq s{state} |= p{prop} = true .");
            }
        }
        text += "  eq S:State |= P:Prop = false [owise] .\n";
        for (at, (from, to)) in self.edges.iter().enumerate() {
            let _ = writeln!(text, "  rl [e{at}] : s{from} => s{to} .");
        }
        text + "endm\n"
    }

    fn successors(&self, state: usize) -> Vec<(Option<usize>, usize)> {
        let edges = self.edges.iter().enumerate().filter(|(_, edge)| edge.0 == state);
        let mut all: Vec<_> = edges.map(|(at, edge)| (Some(at), edge.1)).collect();
        if all.is_empty() {
            all.push((None, state));
        }
        all
    }

    /// Is it a run from the first state on which the formula is false?
    fn violates(&self, lasso: &Lasso, formula: &Ltl) -> bool {
        let Lasso { steps, back } = lasso;
        let target = |at: usize| steps[if at + 1 < steps.len() { at + 1 } else { *back }].0;
        let is_step = |at: usize| self.successors(steps[at].0).contains(&(steps[at].1, target(at)));
        let letters: Vec<usize> = steps.iter().map(|(state, _)| self.props[*state]).collect();
        steps[0].0 == 0 && (0..steps.len()).all(is_step) && !truth(formula, &letters, *back)[0]
    }

    /// A run of at most so many steps that violates the formula, by trying all.
    fn naive(&self, formula: &Ltl, length_max: usize) -> Option<Lasso> {
        let mut level: Vec<(Vec<(usize, Option<usize>)>, usize)> = vec![(Vec::new(), 0)];
        for _ in 0..length_max {
            let mut longer = Vec::new();
            for (steps, state) in level {
                for (edge, target) in self.successors(state) {
                    let mut steps = steps.clone();
                    steps.push((state, edge));
                    for back in (0..steps.len()).filter(|&back| steps[back].0 == target) {
                        let lasso = Lasso { steps: steps.clone(), back };
                        if self.violates(&lasso, formula) {
                            return Some(lasso);
                        }
                    }
                    longer.push((steps, target));
                }
            }
            level = longer;
        }
        None
    }
}

/// The answers to the `modelCheck`s of a text: holds, or a run.
fn answers(program: &str, flags: &[&str], text: &str) -> Vec<Option<Lasso>> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("rwl-ltl-{}-{number}.maude", std::process::id()));
    std::fs::write(&path, text).expect("the temporary directory is writable");
    let mut command = Command::new(program);
    command.args(["-no-banner", "-no-advise", "-no-wrap", "-batch"]).args(flags).arg(&path);
    let output = run(&mut command, "", Duration::from_secs(600)).expect("no check takes so long");
    let _ = std::fs::remove_file(&path);
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().filter_map(|line| line.strip_prefix("result ")).map(answer).collect()
}

fn answer(line: &str) -> Option<Lasso> {
    if line == "Bool: true" {
        return None;
    }
    let lists = line.strip_prefix("ModelCheckResult: counterexample(").and_then(|l| l.strip_suffix(')'));
    let lists = lists.unwrap_or_else(|| panic!("not an answer: {line}"));
    let (prefix, cycle) = lists.strip_prefix("nil, ").map(|cycle| ("", cycle)).unwrap_or_else(|| {
        lists.split_once("}, {").map(|(prefix, cycle)| (prefix, cycle)).expect("prefix and cycle")
    });
    let steps = |list: &str| -> Vec<(usize, Option<usize>)> {
        let parts = list.split(['{', '}', ' ']).filter(|part| !part.is_empty());
        parts
            .map(|part| {
                let (state, rule) = part.split_once(',').expect("state and rule");
                let edge = rule.strip_prefix("'e").map(|at| at.parse().expect("an edge"));
                assert!(edge.is_some() || rule == "deadlock", "{line}");
                (state[1..].parse().expect("a state"), edge)
            })
            .collect()
    };
    let prefix = steps(prefix);
    Some(Lasso { back: prefix.len(), steps: [prefix, steps(cycle)].concat() })
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

fn maude() -> Option<String> {
    let maude = std::env::var("MAUDE").unwrap_or_else(|_| "/usr/bin/maude".to_owned());
    let exists = std::path::Path::new(&maude).exists();
    assert!(exists || !switch("RWL_MAUDE"), "RWL_MAUDE=1 needs Maude");
    exists.then_some(maude)
}

/// Formulas that are checked on one graph.
const PER_GRAPH: usize = 5;
/// Graphs in one file.
const PER_FILE: usize = 40;

#[test]
fn random_formulas_have_maudes_verdicts_and_true_counterexamples() {
    let cases = setting("CASES").unwrap_or(200) as usize;
    let first = setting("SEED").unwrap_or(1);
    let maude = maude();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut count = |what: &'static str| *counts.entry(what).or_default() += 1;
    let mut failures: Vec<String> = Vec::new();
    let files = cases.div_ceil(PER_GRAPH * PER_FILE);
    for file in 0..files {
        let mut random = Random((first + file as u64) ^ 0x171_0000);
        let mut text = "set show timing off .\nin model-checker\n".to_owned();
        let mut claims: Vec<(Graph, Ltl)> = Vec::new();
        for number in 0..PER_FILE {
            let graph = Graph::random(&mut random);
            text += &graph.module(&format!("G{number}"), "");
            for _ in 0..PER_GRAPH {
                let depth = 1 + random.below(3);
                let formula = formula(&mut random, depth);
                for formula in [formula.clone(), Ltl::Unary("~", Box::new(formula))] {
                    let _ = writeln!(text, "red modelCheck(s0, {formula}) .");
                    claims.push((Graph { edges: graph.edges.clone(), props: graph.props.clone() }, formula));
                }
            }
        }
        let one = answers(RWL, &["--threads", "1"], &text);
        let many = answers(RWL, &["--threads", "3", "-q"], &text);
        let imitated = answers(RWL, &["--threads", "2", "--counterexample", "maude"], &text);
        let theirs = maude.as_ref().map(|maude| answers(maude, &[], &text));
        assert!([&many, &imitated].iter().all(|all| all.len() == one.len()) && one.len() == claims.len());
        assert!(theirs.as_ref().is_none_or(|theirs| theirs.len() == one.len()));
        for (at, (graph, formula)) in claims.iter().enumerate() {
            let mut fail = |what: &str| {
                let module = graph.module("G", "");
                failures.push(format!(
                    "SEED={}: {what}: {formula}\n{module}{:?}",
                    first + file as u64,
                    one[at]
                ));
            };
            count("checked");
            if one[at] != many[at] {
                fail("one thread and three differ");
            }
            if one[at].is_some() != imitated[at].is_some() {
                fail("the verdict depends on the kind of counterexample");
            }
            for lasso in [&one[at], &imitated[at]].into_iter().flatten() {
                if !graph.violates(lasso, formula) {
                    fail("the counterexample is none");
                }
            }
            if one[at].is_none() && graph.naive(formula, 5).is_some() {
                fail("a violation is missed");
            }
            let length = one[at].as_ref().map_or(0, |lasso| lasso.steps.len());
            if length > 0 && graph.naive(formula, (length - 1).min(6)).is_some() {
                fail("there is a shorter counterexample");
            }
            // A run satisfies a formula or its negation.
            if at % 2 == 1 && one[at].is_none() && one[at - 1].is_none() {
                fail("holds like its negation");
            }
            let Some(theirs) = &theirs else { continue };
            match (&one[at], &theirs[at]) {
                (None, None) => count("hold"),
                (Some(ours), Some(run)) => {
                    count("violated");
                    let size = |run: &Lasso| (run.steps.len(), run.back);
                    if size(ours) > size(run) {
                        fail("Maude's counterexample is shorter, or its prefix is");
                    }
                    if imitated[at] == theirs[at] {
                        count("exactly Maude's");
                    }
                }
                // The run has been looked at above, so Maude is wrong.
                (Some(_), None) => count("missed by Maude"),
                (None, Some(run)) if graph.violates(run, formula) => fail("Maude finds a violation"),
                (None, Some(_)) => count("wrong in Maude"),
            }
        }
    }
    println!("{counts:?}");
    assert!(
        failures.is_empty(),
        "{} failures, {counts:?}\n{}",
        failures.len(),
        failures[..failures.len().min(5)].join("\n")
    );
    let count = |what: &str| counts.get(what).copied().unwrap_or(0);
    if maude.is_some() {
        assert!(count("hold") > 0 && count("violated") > 0);
        assert!(
            count("missed by Maude") + count("wrong in Maude") <= 2 + count("checked") / 100,
            "{counts:?}"
        );
        assert!(count("exactly Maude's") * 100 >= count("violated") * 95, "{counts:?}");
    }
}

/// Simplified formulas have the verdicts of the formulas as they were.
#[test]
fn simplifying_changes_no_verdict() {
    let mut random = Random(setting("SEED").unwrap_or(1) ^ 0x51_3911);
    let mut text = "set show timing off .\nin model-checker\n".to_owned();
    let mut claims = Vec::new();
    for number in 0..setting("CASES").unwrap_or(60) / 4 {
        let graph = Graph::random(&mut random);
        let formulas: Vec<Ltl> = (0..4).map(|_| formula(&mut random, 3)).collect();
        for (name, imports) in [("PLAIN", ""), ("SIMPLE", "including LTL-SIMPLIFIER .")] {
            text += &graph.module(&format!("{name}{number}"), imports);
            for formula in &formulas {
                let _ = writeln!(text, "red modelCheck(s0, {formula}) .");
            }
        }
        claims.push((graph, formulas));
    }
    let answers = answers(RWL, &["--threads", "2", "-q"], &text);
    let mut violated = 0;
    for ((graph, formulas), answers) in claims.iter().zip(answers.chunks(8)) {
        for (at, formula) in formulas.iter().enumerate() {
            let (plain, simple) = (&answers[at], &answers[at + 4]);
            let module = graph.module("G", "");
            assert_eq!(plain.is_some(), simple.is_some(), "{formula}\n{module}");
            let runs = [plain, simple].into_iter().flatten();
            violated += runs.clone().count();
            assert!(runs.into_iter().all(|run| graph.violates(run, formula)), "{formula}\n{module}");
        }
    }
    assert!(violated > 0);
}

#[track_caller]
fn verdicts(edges: &[(usize, usize)], props: &[usize], formulas: &[(&str, bool)]) {
    let graph = Graph { edges: edges.to_vec(), props: props.to_vec() };
    let mut text = format!("set show timing off .\nin model-checker\n{}", graph.module("G", ""));
    for (formula, _) in formulas {
        let _ = writeln!(text, "red modelCheck(s0, {formula}) .");
    }
    for threads in ["1", "2", "8"] {
        let found = answers(RWL, &["--threads", threads], &text);
        let found: Vec<bool> = found.iter().map(Option::is_none).collect();
        assert_eq!(found, formulas.iter().map(|(_, holds)| *holds).collect::<Vec<_>>(), "{threads} threads");
    }
}

/// Checkers have looked for `<> p` only at the ends of paths, or only until a path met a state that
/// had been seen from elsewhere.
#[test]
fn eventually_sees_cycles_and_joins() {
    verdicts(&[(0, 1), (1, 0)], &[0, 0], &[("<> p0", false), ("[] ~ p0", true)]);
    verdicts(&[(0, 1), (1, 2), (2, 1)], &[0, 0, 0], &[("<> p0", false), ("p1 |-> p0", true)]);
    // The second way into state 2 has not seen p0.
    verdicts(&[(0, 1), (1, 2), (0, 2)], &[0, 1, 0], &[("<> p0", false), ("<> [] ~ p0", true)]);
    verdicts(&[(0, 1), (1, 2), (0, 2), (2, 3), (3, 2)], &[0, 1, 0, 0], &[("<> p0", false)]);
    // The cycle that misses p0 is first entered through a state that has it.
    verdicts(&[(0, 1), (1, 2), (2, 3), (3, 2), (3, 0)], &[0, 1, 0, 0], &[("[] <> p0", false)]);
    verdicts(&[(0, 1), (1, 0)], &[0, 1], &[("<> p0", true), ("[] <> p0", true), ("<> [] p0", false)]);
}

/// A pending request must not be forgotten where a state was met before without one.
#[test]
fn requests_are_followed_through_states_that_were_seen_without() {
    let edges = [(0, 1), (1, 2), (2, 1), (0, 3), (3, 1)];
    verdicts(&edges, &[0, 0, 0, 1], &[("p0 |-> p1", false), ("p1 |-> p0", true)]);
    verdicts(&edges, &[0, 2, 0, 1], &[("p0 |-> p1", true), ("p0 |-> [] p1", false)]);
}

/// Maude 3.2 says that this holds, though the second state violates it.
#[test]
fn alternatives_of_an_automaton_are_not_lost() {
    verdicts(&[(0, 1)], &[1, 0], &[("(p0 R p0) /\\ O p0", false), ("(p0 U p0) /\\ O p0", false)]);
}

/// Checkers have left liveness out where several workers explore.
#[test]
fn liveness_is_checked_by_many_threads() {
    let text =
        "set show timing off .\nin model-checker\nmod COUNT is protecting NAT . including MODEL-CHECKER .
  op c : Nat Nat -> State [ctor] . op p : Nat -> Prop [ctor] . op both : Nat -> Prop [ctor] .
  vars M N K : Nat .
  crl [a] : c(M, N) => c(s M, N) if M < 60 .
  crl [b] : c(M, N) => c(M, s N) if N < 60 .
  rl [c] : c(60, 60) => c(59, 60) .
  eq c(M, N) |= p(K) = M == K .
  eq c(M, N) |= both(K) = M == K and N == K .
endm
red modelCheck(c(0, 0), <> both(60)) .
red modelCheck(c(0, 0), [] <> both(60)) .
red modelCheck(c(0, 0), <> both(59)) .
red modelCheck(c(0, 0), <> [] both(60)) .
red modelCheck(c(0, 0), p(3) |-> p(60)) .
red modelCheck(c(0, 0), p(60) |-> p(3)) .
red modelCheck(c(0, 0), [] <> both(60) -> <> both(30)) .
";
    let expected = [true, true, false, false, true, false, false];
    let mut first: Option<Vec<String>> = None;
    for threads in ["1", "2", "5"] {
        let path = std::env::temp_dir().join(format!("rwl-live-{}-{threads}.maude", std::process::id()));
        std::fs::write(&path, text).expect("the temporary directory is writable");
        let output =
            rwl(&["-no-banner", "-no-wrap", "-batch", "--threads", threads, path.to_str().unwrap()], "");
        let _ = std::fs::remove_file(&path);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let results: Vec<String> =
            said.lines().filter(|line| line.starts_with("result ")).map(str::to_owned).collect();
        let holds: Vec<bool> = results.iter().map(|line| line == "result Bool: true").collect();
        assert_eq!(holds, expected, "{threads} threads: {said}");
        // The runs are the same as well.
        assert_eq!(first.get_or_insert(results.clone()), &results, "{threads} threads");
    }
}
