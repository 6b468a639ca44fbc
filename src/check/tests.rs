//! Checkers against a naive one on random systems, one thread against many, and the mistakes of
//! published checkers. `SEED=n` repeats a run, `CASES=n` tries more.

use super::*;
use crate::base::Interrupt;
use crate::graph::{Explicit, RuleId, State};
use crate::logic::PropId;
use crate::logic::random::{Random, random_formula};
use crate::logic::text::{parse, print};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    println!("{name}={value}");
    value
}

fn random_system(random: &mut Random, states: u64, degree: u64, props: u32) -> Explicit {
    let edges = (0..states)
        .map(|_| {
            // One state in eight is a deadlock.
            let count = if random.below(8) == 0 { 0 } else { 1 + random.below(degree) };
            (0..count).map(|_| (RuleId(random.below(3) as u32), random.below(states) as State)).collect()
        })
        .collect();
    let props = (0..states).map(|_| random.below(1 << props)).collect();
    Explicit { initial: 0, edges, props }
}

fn random_class(random: &mut Random, formulas: &mut Formulas) -> Formula {
    let p = ["p0", "p0 /\\ p1", "~ p0", "p0 \\/ ~ p1", "p2"][random.below(5) as usize];
    let q = ["p1", "p1 \\/ p2", "~ p1", "p2 /\\ ~ p0", "p0"][random.below(5) as usize];
    let text = match random.below(8) {
        0 => format!("[] ({p})"),
        1 => format!("<> ({p})"),
        2 => format!("({p}) U ({q})"),
        3 => format!("({p}) |-> ({q})"),
        4 => format!("({p}) |-> [] ({q})"),
        5 => format!("[] <> ({p})"),
        6 => format!("<> [] ({p})"),
        _ => p.to_owned(),
    };
    parse(formulas, &text).expect("well-formed")
}

/// The shortest violating fair lasso of at most `length_max` steps, by trying all.
fn naive(
    system: &Explicit,
    formulas: &mut Formulas,
    formula: Formula,
    fairness: &Fairness,
    length_max: usize,
) -> Option<Lasso> {
    let successors = |state: State| match &system.edges[state as usize][..] {
        [] => vec![(RuleId::DEADLOCK, state)],
        some => some.to_vec(),
    };
    let mut level: Vec<(Vec<Step>, State)> = vec![(Vec::new(), system.initial)];
    for _ in 0..length_max {
        let mut next = Vec::new();
        for (steps, state) in level {
            for (rule, target) in successors(state) {
                let mut steps = steps.clone();
                steps.push(Step { state, rule });
                for back in 0..steps.len() {
                    if steps[back].state == target {
                        let lasso = Lasso { steps: steps.clone(), back: Some(back) };
                        match replay(&mut &*system, formulas, formula, fairness, &lasso) {
                            Ok(()) => return Some(lasso),
                            Err(ReplayError::Satisfied | ReplayError::Unfair) => {}
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                }
                next.push((steps, target));
            }
        }
        level = next;
    }
    None
}

/// Checks in all ways and compares with each other and with the naive checker.
fn compare(system: &Explicit, formulas: &mut Formulas, formula: Formula, fairness: &Fairness) -> Verdict {
    let text = print(formulas, formula);
    let mut verdicts = Vec::new();
    for (automaton_only, close) in [(false, false), (false, true), (true, false), (true, true)] {
        let options = Options { fairness: fairness.clone(), automaton_only, close, ..Options::default() };
        let mut checker = Checker::new(system, None, options).expect("few conditions");
        // Counterexamples are replayed inside; a failed replay is an error.
        let answer =
            checker.check(formulas, formula).unwrap_or_else(|error| panic!("{text}: {error:?}\n{system:?}"));
        if let Verdict::Violated(lasso) = &answer.verdict {
            assert!(!close || lasso.back.is_some(), "{text}: no cycle in {lasso:?}\n{system:?}");
        }
        verdicts.push(answer.verdict);
    }
    let violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
    assert!(
        verdicts.iter().all(|v| violated(v) == violated(&verdicts[0])),
        "{text}: {verdicts:?}\n{system:?}"
    );
    if let Some(lasso) = naive(system, formulas, formula, fairness, 5) {
        let Verdict::Violated(found) = &verdicts[1] else {
            panic!("{text}: missed {lasso:?}\n{system:?}");
        };
        // Under fairness short, though not always the shortest: the automaton may need longer cycles.
        let (found_length, length) = (found.steps.len(), lasso.steps.len());
        println!("length {found_length} of {length}");
        let length_max = if fairness.is_none() { length } else { 2 * length + 2 };
        assert!(found_length <= length_max, "{text}: {found:?}, not {lasso:?}\n{system:?}");
    }
    verdicts.swap_remove(0)
}

fn against_naive(cases: u64, mut make: impl FnMut(&mut Random, &mut Formulas) -> (Formula, Fairness)) {
    let mut random = Random::new(setting("SEED", 1));
    let (mut holds, mut violated) = (0, 0);
    for case in 0..setting("CASES", cases) {
        let mut formulas = Formulas::default();
        let states = 1 + random.below(5);
        let system = random_system(&mut random, states, 3, 3);
        let (formula, fairness) = make(&mut random, &mut formulas);
        println!("case {case}: {}", print(&formulas, formula));
        let negated = formulas.negated(formula);
        let verdicts = [formula, negated].map(|formula| compare(&system, &mut formulas, formula, &fairness));
        let count = verdicts.iter().filter(|v| matches!(v, Verdict::Holds { .. })).count();
        // Some fair run exists, and it satisfies one of the two.
        assert!(count < 2, "a formula and its negation hold\n{system:?}");
        holds += count;
        violated += 2 - count;
    }
    println!("{holds} hold, {violated} are violated");
    assert!(holds > 0 && violated > 0);
}

#[test]
fn simple_classes_against_naive() {
    against_naive(500, |random, formulas| (random_class(random, formulas), Fairness::default()));
}

#[test]
fn general_formulas_against_naive() {
    against_naive(250, |random, formulas| {
        let size = 1 + random.below(7) as usize;
        (random_formula(random, formulas, size, 3), Fairness::default())
    });
}

#[test]
fn fairness_against_naive() {
    against_naive(300, |random, formulas| {
        let size = 1 + random.below(3) as usize;
        let formula = random_formula(random, formulas, size, 2);
        let mut fairness = Fairness::default();
        for rule in 0..3 {
            match random.below(4) {
                0 => fairness.weak.push(vec![RuleId(rule)]),
                1 => fairness.strong.push(vec![RuleId(rule)]),
                2 => fairness.strong.push(vec![RuleId(rule), RuleId((rule + 1) % 3)]),
                _ => {}
            }
        }
        (formula, fairness)
    });
}

/// A system whose numbers depend on who asks first, as those of a shared store.
struct Discovered<'a> {
    inner: &'a Explicit,
    /// Numbers by inner state, and inner states by number.
    numbers: Mutex<(Vec<Option<State>>, Vec<State>)>,
}

impl<'a> Discovered<'a> {
    fn new(inner: &'a Explicit) -> Self {
        Discovered { inner, numbers: Mutex::new((vec![None; inner.edges.len()], Vec::new())) }
    }

    fn number(&self, state: State) -> State {
        let (numbers, states) = &mut *self.numbers.lock().expect("not poisoned");
        *numbers[state as usize].get_or_insert_with(|| {
            states.push(state);
            states.len() as State - 1
        })
    }

    fn inner(&self, number: State) -> State {
        self.numbers.lock().expect("not poisoned").1[number as usize]
    }
}

impl System for Discovered<'_> {
    type Worker<'a>
        = &'a Self
    where
        Self: 'a;

    fn worker(&self) -> &Self {
        self
    }
}

impl Worker for &Discovered<'_> {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(self.number(self.inner.initial))
    }

    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        let inner = self.inner(state);
        std::thread::yield_now();
        out.extend(self.inner.edges[inner as usize].iter().map(|&(rule, to)| (rule, self.number(to))));
        Ok(())
    }

    fn props(&mut self, state: State) -> Result<u64, Stop> {
        Ok(self.inner.props[self.inner(state) as usize])
    }
}

fn pool(threads: usize) -> ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads")
}

#[test]
fn many_threads_answer_as_one() {
    let many = pool(4);
    let mut random = Random::new(setting("SEED", 1));
    for case in 0..setting("CASES", 16) {
        // A long tail of states with a few props set makes violations rare enough.
        let states = 500 + random.below(3000);
        let mut system = random_system(&mut random, states, 2, 3);
        for state in 0..states as usize {
            let near: Vec<_> = (0..2)
                .map(|i| (RuleId(i), ((state as u64 + 1 + random.below(200)) % states) as State))
                .collect();
            system.edges[state] = near;
        }
        let mut formulas = Formulas::default();
        let list: Vec<Formula> = (0..4)
            .map(|i| match i {
                0 | 1 => random_class(&mut random, &mut formulas),
                _ => random_formula(&mut random, &mut formulas, 4, 3),
            })
            .collect();
        let mut strong = Fairness::default();
        if case % 4 == 0 {
            strong.strong.push(vec![RuleId(1)]);
        }
        let mut run = |pool: Option<&ThreadPool>| {
            let shared = Discovered::new(&system);
            let options = Options { fairness: strong.clone(), ..Options::default() };
            let mut checker = Checker::new(&shared, pool, options).expect("few conditions");
            let mut answers = Vec::new();
            for &formula in &list {
                let mut answer = checker.check(&mut formulas, formula).expect("an answer");
                if let Verdict::Violated(lasso) = &mut answer.verdict {
                    for step in &mut lasso.steps {
                        step.state = shared.inner(step.state);
                    }
                }
                answers.push(answer);
            }
            answers
        };
        let one = run(None);
        assert_eq!(one, run(Some(&many)), "case {case}");
    }
}

#[track_caller]
fn check(edges: &[&[State]], props: &[u64], text: &str, expected: Option<(usize, usize)>) {
    let edges: Vec<Vec<(RuleId, State)>> =
        edges.iter().map(|out| out.iter().map(|&to| (RuleId(0), to)).collect()).collect();
    let system = Explicit { initial: 0, edges, props: props.to_vec() };
    let mut formulas = Formulas::default();
    let formula = parse(&mut formulas, text).expect("well-formed");
    let many = pool(3);
    for pool in [None, Some(&many)] {
        for automaton_only in [false, true] {
            let options = Options { automaton_only, ..Options::default() };
            let mut checker = Checker::new(&system, pool, options).expect("no conditions");
            let verdict = checker.check(&mut formulas, formula).expect("an answer").verdict;
            let found = match verdict {
                Verdict::Holds { .. } => None,
                Verdict::Violated(lasso) => Some((lasso.prefix().len(), lasso.cycle().len())),
                Verdict::Unknown(stop) => panic!("{stop:?}"),
            };
            assert_eq!(found, expected, "{text}, automaton only: {automaton_only}");
        }
    }
}

/// A checker skipped liveness when several workers ran.
#[test]
fn liveness_with_several_workers() {
    check(&[&[1], &[0]], &[0, 0], "<> p0", Some((0, 2)));
    check(&[&[1], &[0]], &[0, 1], "<> p0", None);
}

/// A checker forgot that a state reached with the request answered can be reached without.
#[test]
fn eventually_on_paths_that_join() {
    check(&[&[1, 2], &[2], &[2]], &[0, 1, 0], "<> p0", Some((1, 1)));
    check(&[&[2, 1], &[2], &[2]], &[0, 1, 0], "<> p0", Some((1, 1)));
    check(&[&[1, 2], &[3], &[3], &[]], &[0, 1, 0, 0], "<> p0", Some((2, 1)));
}

/// A checker took only the ends of paths for the place where an eventuality fails.
#[test]
fn eventually_on_cycles() {
    check(&[&[1], &[2, 3], &[0], &[]], &[0, 0, 0, 1], "<> p0", Some((0, 3)));
    check(&[&[1], &[2], &[1, 3], &[]], &[0, 0, 0, 1], "<> p0", Some((1, 2)));
    check(&[&[1], &[2], &[3], &[3]], &[0, 0, 0, 1], "<> p0", None);
}

/// One depth-first search over pending and other states missed this cycle: the pending state 2 is
/// met first from an answered one.
#[test]
fn leads_to_with_a_hidden_cycle() {
    check(&[&[1, 3], &[2], &[1, 3], &[2]], &[1, 2, 0, 0], "p0 |-> p1", Some((1, 2)));
    check(&[&[1], &[2], &[3], &[2]], &[1, 2, 0, 0], "p0 |-> p1", None);
    check(&[&[1], &[2], &[1]], &[0, 1, 2], "p0 |-> p1", None);
}

#[test]
fn deadlocks_stutter() {
    check(&[&[1], &[]], &[0, 1], "<> [] p0", None);
    check(&[&[1], &[]], &[0, 1], "[] <> ~ p0", Some((1, 1)));
    check(&[&[]], &[1], "O O p0", None);
    check(&[&[]], &[0], "p0 \\/ O p0", Some((0, 1)));
}

#[test]
fn short_counterexamples() {
    // A long way and a short way to the same mistake.
    check(&[&[1, 4], &[2], &[3], &[4], &[5], &[]], &[1, 1, 1, 1, 1, 0], "[] p0", Some((3, 0)));
    check(&[&[1, 3], &[2], &[1], &[3]], &[0; 4], "[] <> p0", Some((1, 1)));
    check(&[&[1], &[2, 0], &[3], &[0]], &[1, 2, 4, 0], "~ ([] <> p0 /\\ [] <> p1)", Some((0, 2)));
    // Of two that are equally long, the one with the shorter prefix.
    check(&[&[1], &[0, 1]], &[1, 0], "p0 |-> [] p1", Some((0, 2)));
}

/// The parity of twenty propositions has no small automaton, but needs none.
#[test]
fn large_predicates() {
    let mut formulas = Formulas::default();
    let mut parity = formulas.prop(PropId(0));
    for prop in 1..20 {
        let prop = formulas.prop(PropId(prop));
        let equal = formulas.equivalent(parity, prop);
        parity = formulas.not(equal);
    }
    let always = formulas.always(parity);
    let next = formulas.next(parity);
    for (second, expected) in [(0b111, 0), (0b11, 2)] {
        let edges = vec![vec![(RuleId(0), 1)], vec![(RuleId(0), 0)]];
        let system = Explicit { initial: 0, edges, props: vec![1, second] };
        let mut checker = Checker::new(&system, None, Options::default()).expect("no conditions");
        let length = match checker.check(&mut formulas, always).expect("an answer").verdict {
            Verdict::Violated(run) => run.steps.len(),
            _ => 0,
        };
        assert_eq!(length, expected);
        let error = checker.check(&mut formulas, next).expect_err("no automaton");
        assert_eq!(error, CheckError::Translate(TranslateError::TooLarge));
    }
}

#[test]
fn vacuity() {
    let fair = Fairness { weak: vec![vec![RuleId(0)]], strong: vec![vec![RuleId(0)]] };
    for options in [
        Options::default(),
        Options { automaton_only: true, ..Options::default() },
        Options { fairness: fair, ..Options::default() },
    ] {
        let verdict = |text: &str, props: u64| {
            let system = Explicit { initial: 0, edges: vec![vec![(RuleId(0), 0)]], props: vec![props] };
            let mut formulas = Formulas::default();
            let formula = parse(&mut formulas, text).expect("well-formed");
            let mut checker = Checker::new(&system, None, options.clone()).expect("few conditions");
            let answer = checker.check(&mut formulas, formula).expect("an answer");
            (answer.verdict, answer.method == Method::Formula)
        };
        let holds = |vacuous, by_itself| (Verdict::Holds { vacuous }, by_itself);
        assert_eq!(verdict("p0 |-> p1", 2), holds(true, false));
        assert_eq!(verdict("p0 |-> p1", 3), holds(false, false));
        assert_eq!(verdict("p0 |-> [] p1", 2), holds(true, false));
        assert_eq!(verdict("[] <> p1", 2), holds(false, false));
        for text in ["~ p1 |-> p0", "p0 /\\ p1 |-> [] p0", "[] (p0 -> O ~ p1)", "p0 |-> (p1 |-> ~ p1)"] {
            assert_eq!(verdict(text, 2), holds(true, false), "{text}");
        }
        assert_eq!(verdict("[] (p0 -> O p1)", 3), holds(false, false));
        assert_eq!(verdict("False |-> p1", 2), holds(true, true));
        assert_eq!(verdict("p0 /\\ ~ p0 |-> p1", 3), holds(true, true));
    }
}

#[test]
fn fairness_of_rules() {
    // Two processes take turns at will; rule 1 is enabled all the time, rule 2 every other step.
    let edges =
        vec![vec![(RuleId(0), 1), (RuleId(1), 2)], vec![(RuleId(0), 0), (RuleId(1), 2), (RuleId(2), 3)]];
    let edges = [edges, vec![vec![(RuleId(0), 0)], vec![(RuleId(0), 0)]]].concat();
    let system = Explicit { initial: 0, edges, props: vec![0, 0, 1, 2] };
    let verdict = |text: &str, weak: &[u32], strong: &[u32]| {
        let rules = |list: &[u32]| list.iter().map(|&rule| vec![RuleId(rule)]).collect();
        let fairness = Fairness { weak: rules(weak), strong: rules(strong) };
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        let options = Options { fairness, ..Options::default() };
        let mut checker = Checker::new(&system, None, options).expect("few conditions");
        matches!(checker.check(&mut formulas, formula).expect("an answer").verdict, Verdict::Holds { .. })
    };
    assert!(!verdict("<> p0", &[], &[]));
    assert!(!verdict("<> p0", &[1], &[]), "the run through state 3 disables rule 1 again and again");
    assert!(verdict("<> p0", &[], &[1]));
    assert!(verdict("<> (p0 \\/ p1)", &[1], &[]));
    assert!(!verdict("<> p1", &[2], &[]));
    assert!(!verdict("<> p1", &[], &[2]), "rule 2 need not be enabled often");
}

/// A counter that never repeats.
struct Counter;

impl System for Counter {
    type Worker<'a> = Counter;
    fn worker(&self) -> Counter {
        Counter
    }
}

impl Worker for Counter {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(0)
    }
    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        out.push((RuleId(0), state + 1));
        Ok(())
    }
    fn props(&mut self, state: State) -> Result<u64, Stop> {
        Ok(u64::from(state < 5000) | u64::from(state == 7) << 1)
    }
}

#[test]
fn infinite_systems() {
    let verdict = |text: &str, close: bool| {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        let limits = Limits { states_max: Some(20_000), ..Limits::default() };
        let options = Options { limits, close, ..Options::default() };
        let mut checker = Checker::new(&Counter, None, options).expect("no conditions");
        checker.check(&mut formulas, formula).expect("an answer").verdict
    };
    let length = |verdict| match verdict {
        Verdict::Violated(Lasso { steps, back: None }) => steps.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(length(verdict("[] p0", false)), 5001);
    assert_eq!(length(verdict("[] p0", true)), 5001, "there is no cycle to find");
    assert_eq!(length(verdict("[] (p1 -> O p1)", false)), 9);
    assert_eq!(verdict("<> p1", false), Verdict::Holds { vacuous: false });
    assert_eq!(verdict("O O O p0", false), Verdict::Holds { vacuous: false });
    assert_eq!(verdict("[] <> p0", false), Verdict::Unknown(Stop::States(20_000)));
}

/// Ten counters up to three: a million states, the end is thirty steps away on every path.
struct Grid;

impl System for Grid {
    type Worker<'a> = Grid;
    fn worker(&self) -> Grid {
        Grid
    }
}

impl Worker for Grid {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(0)
    }
    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        let below = |i: &u32| state >> (2 * i) & 3 != 3;
        out.extend((0..10).filter(below).map(|i| (RuleId(i), state + (1 << (2 * i)))));
        Ok(())
    }
    fn props(&mut self, state: State) -> Result<u64, Stop> {
        Ok(u64::from(state + 1 == 1 << 20))
    }
}

#[test]
fn deep_violations_are_found_without_everything_above() {
    let many = pool(3);
    for (text, length) in [("[] ~ p0", 31), ("[] <> ~ p0", 31), ("[] (p0 -> O ~ p0)", 31)] {
        for pool in [None, Some(&many)] {
            let mut formulas = Formulas::default();
            let formula = parse(&mut formulas, text).expect("well-formed");
            let mut checker = Checker::new(&Grid, pool, Options::default()).expect("no conditions");
            let answer = checker.check(&mut formulas, formula).expect("an answer");
            let Verdict::Violated(run) = answer.verdict else { panic!("{text}: {answer:?}") };
            assert_eq!(run.steps.len(), length, "{text}");
            assert!(answer.states < 100_000, "{text}: {} states", answer.states);
        }
    }
}

/// A line of states, one of which can be expanded in part only.
struct Broken;

impl System for Broken {
    type Worker<'a> = Broken;
    fn worker(&self) -> Broken {
        Broken
    }
}

impl Worker for Broken {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(0)
    }
    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        if state == 300 {
            out.push((RuleId(1), 1000));
            return Err(Stop::Failed("no end".to_owned()));
        }
        if state >= 1000 {
            out.push((RuleId(0), state));
            return Ok(());
        }
        out.extend([(RuleId(0), state + 1), (RuleId(1), state / 2 + 5)]);
        Ok(())
    }
    fn props(&mut self, state: State) -> Result<u64, Stop> {
        Ok(u64::from(state < 200) | u64::from(state > 320) << 1 | u64::from(state == 2000) << 2)
    }
}

#[test]
fn systems_that_fail_somewhere() {
    let many = pool(3);
    let failed = Verdict::Unknown(Stop::Failed("no end".to_owned()));
    let cases = [
        ("[] p0", false),
        // What comes before the failure counts, but it is not all there is.
        ("[] ~ p1", false),
        ("[] (p0 -> O O O ~ p1)", true),
        ("[] ~ p2", true),
        ("[] <> ~ p0", false),
        ("<> p1", false),
        ("[] True", true),
    ];
    for (text, is_unknown) in cases {
        for pool in [None, Some(&many)] {
            let mut formulas = Formulas::default();
            let formula = parse(&mut formulas, text).expect("well-formed");
            let mut checker = Checker::new(&Broken, pool, Options::default()).expect("no conditions");
            let verdict = checker.check(&mut formulas, formula).expect("an answer").verdict;
            match text {
                "[] True" => assert_eq!(verdict, Verdict::Holds { vacuous: true }),
                _ if is_unknown => assert_eq!(verdict, failed, "{text}"),
                _ => assert!(matches!(verdict, Verdict::Violated(_)), "{text}: {verdict:?}"),
            }
        }
    }
}

/// Counts how often states are expanded, except by witnesses.
struct Counted(Explicit, std::sync::atomic::AtomicUsize);

struct Counting<'a>(&'a Counted, bool);

impl System for Counted {
    type Worker<'a> = Counting<'a>;
    fn worker(&self) -> Counting<'_> {
        Counting(self, true)
    }
    fn witness(&self) -> Counting<'_> {
        Counting(self, false)
    }
}

impl Worker for Counting<'_> {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(self.0.0.initial)
    }
    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        self.0.1.fetch_add(self.1.into(), std::sync::atomic::Ordering::Relaxed);
        (&self.0.0).successors(state, out)
    }
    fn props(&mut self, state: State) -> Result<u64, Stop> {
        (&self.0.0).props(state)
    }
}

#[test]
fn showing_a_violation_is_not_counted() {
    let edges = (0..20).map(|i| vec![(RuleId(0), (i + 1) % 20), (RuleId(1), i)]).collect();
    let ring = Counted(Explicit { initial: 0, edges, props: vec![0; 20] }, Default::default());
    for text in ["<> p0", "O O O p0", "[] <> p0"] {
        for counterexample in [Counterexample::Short, Counterexample::Maude] {
            let mut formulas = Formulas::default();
            let formula = parse(&mut formulas, text).expect("well-formed");
            let options = Options { close: true, counterexample, ..Options::default() };
            let mut checker = Checker::new(&ring, None, options).expect("no conditions");
            let answer = checker.check(&mut formulas, formula).expect("an answer");
            assert!(matches!(answer.verdict, Verdict::Violated(_)), "{text}");
            let count = ring.1.swap(0, std::sync::atomic::Ordering::Relaxed);
            assert!(count <= answer.states, "{text}: {count} of {}", answer.states);
        }
    }
}

#[test]
fn memory_is_limited() {
    for automaton_only in [false, true] {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, "[] <> p0").expect("well-formed");
        let limits = Limits { memory_max: Some(1 << 20), ..Limits::default() };
        let options = Options { limits, automaton_only, ..Options::default() };
        let mut checker = Checker::new(&Counter, None, options).expect("no conditions");
        let verdict = checker.check(&mut formulas, formula).expect("an answer").verdict;
        assert_eq!(verdict, Verdict::Unknown(Stop::Interrupted(Interrupt::Memory)));
    }
}

#[test]
fn stopping() {
    let mut formulas = Formulas::default();
    let formula = parse(&mut formulas, "[] <> p0").expect("well-formed");
    let options = Options::default();
    options.limits.cancel.raise();
    let mut checker = Checker::new(&Counter, None, options).expect("no conditions");
    let verdict = checker.check(&mut formulas, formula).expect("an answer").verdict;
    assert_eq!(verdict, Verdict::Unknown(Stop::Interrupted(Interrupt::Cancelled)));
}

#[test]
fn replay_rejects_what_is_wrong() {
    let system = Explicit {
        initial: 0,
        edges: vec![vec![(RuleId(0), 1)], vec![(RuleId(1), 0)], vec![]],
        props: vec![0, 1, 0],
    };
    let mut formulas = Formulas::default();
    let never = parse(&mut formulas, "[] ~ p0").expect("well-formed");
    let often = parse(&mut formulas, "[] <> p0").expect("well-formed");
    let mut judge = |formula, steps: &[(State, u32)], back| {
        let steps = steps.iter().map(|&(state, rule)| Step { state, rule: RuleId(rule) }).collect();
        replay(&mut &system, &mut formulas, formula, &Fairness::default(), &Lasso { steps, back })
    };
    let end = RuleId::END.0;
    assert_eq!(judge(never, &[(0, 0), (1, 1)], Some(0)), Ok(()));
    assert_eq!(judge(never, &[(0, 0), (1, end)], None), Ok(()));
    assert_eq!(judge(never, &[(0, end)], None), Err(ReplayError::Satisfied));
    assert_eq!(judge(often, &[(0, 0), (1, 1)], Some(0)), Err(ReplayError::Satisfied));
    assert_eq!(judge(never, &[(0, 0), (1, 0)], Some(0)), Err(ReplayError::NoTransition(1)));
    assert_eq!(judge(never, &[(0, 0), (1, 1)], Some(1)), Err(ReplayError::NoTransition(1)));
    assert_eq!(judge(never, &[(1, 1), (0, 0)], Some(0)), Err(ReplayError::Start));
    assert_eq!(judge(never, &[(0, RuleId::DEADLOCK.0)], Some(0)), Err(ReplayError::NoTransition(0)));
    assert_eq!(judge(never, &[], None), Err(ReplayError::Malformed));
}

#[test]
fn what_is_known_may_be_enough() {
    // 0 -> 1 -> 2 -> 2; p0 in 1, p1 in 2.
    let system = Explicit {
        initial: 0,
        edges: vec![vec![(RuleId(0), 1)], vec![(RuleId(0), 2)], vec![(RuleId(0), 2)]],
        props: vec![0, 1, 2],
    };
    let why = Stop::Interrupted(Interrupt::Time);
    let mut formulas = Formulas::default();
    let mut parsed = |text: &str| parse(&mut formulas, text).expect("well-formed");
    let known = [("[] ~ p0", false), ("O O p1", true), ("p0 |-> p1", true), ("[] (p1 -> O p0)", false)];
    let known = known.map(|(text, holds)| (parsed(text), holds, text));
    let first = parsed("<> p0");
    let mut checker = Checker::new(&system, None, Options::default()).expect("no conditions");
    for &(formula, ..) in &known {
        let answer = checker.check_known(&mut formulas, formula, why.clone()).expect("an answer");
        assert_eq!((answer.verdict, answer.states), (Verdict::Unknown(why.clone()), 0));
    }
    // State 2 is not looked at for this one.
    checker.check(&mut formulas, first).expect("an answer");
    let verdicts = known.map(|(formula, ..)| {
        checker.check_known(&mut formulas, formula, why.clone()).expect("an answer").verdict
    });
    assert!(matches!(verdicts[0], Verdict::Violated(_) | Verdict::Unknown(_)), "{verdicts:?}");
    assert!(verdicts[1..].iter().all(|verdict| *verdict == Verdict::Unknown(why.clone())), "{verdicts:?}");
    let always = parse(&mut formulas, "[] (p0 \\/ ~ p0 /\\ (p1 \\/ ~ p1))").expect("well-formed");
    checker.check(&mut formulas, always).expect("an answer");
    let all = parse(&mut formulas, "[] <> (p0 \\/ p1)").expect("well-formed");
    checker.check(&mut formulas, all).expect("an answer");
    for (formula, holds, text) in known {
        let answer = checker.check_known(&mut formulas, formula, why.clone()).expect("an answer");
        assert_eq!(matches!(answer.verdict, Verdict::Holds { .. }), holds, "{text}");
        assert_eq!(matches!(answer.verdict, Verdict::Violated(_)), !holds, "{text}");
    }
}

#[test]
fn propositions_that_are_never_true_are_told() {
    let system = Explicit { initial: 0, edges: vec![vec![(RuleId(0), 0)]], props: vec![1] };
    let mut formulas = Formulas::default();
    let mut checker = Checker::new(&system, None, Options::default()).expect("no conditions");
    let cases: [(&str, &[u32]); 5] = [
        ("[] ~ p1", &[]),
        ("[] ~ (p1 /\\ p2)", &[1, 2]),
        ("[] (p1 -> p0)", &[1]),
        ("[] <> p0", &[]),
        ("[] ~ (p1 \\/ p2)", &[]),
    ];
    for (text, expected) in cases {
        let formula = parse(&mut formulas, text).expect("well-formed");
        let answer = checker.check(&mut formulas, formula).expect("an answer");
        assert_eq!(answer.verdict, Verdict::Holds { vacuous: false }, "{text}");
        let absent: Vec<u32> = answer.absent.iter().map(|prop| prop.0).collect();
        assert_eq!(absent, expected, "{text}");
    }
}

/// Explores so many states and then stops; what nobody asked for is not true.
struct Halting<'s> {
    inner: &'s Explicit,
    left: AtomicUsize,
    asked: AtomicU64,
    light: u64,
}

struct HaltingWorker<'a>(&'a Halting<'a>, bool);

impl System for Halting<'_> {
    type Worker<'a>
        = HaltingWorker<'a>
    where
        Self: 'a;
    fn worker(&self) -> HaltingWorker<'_> {
        HaltingWorker(self, true)
    }
    fn witness(&self) -> HaltingWorker<'_> {
        HaltingWorker(self, false)
    }
}

impl HaltingWorker<'_> {
    fn go_on(&self) -> Result<(), Stop> {
        let less = |left: usize| left.checked_sub(1);
        let goes = !self.1 || self.0.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if goes { Ok(()) } else { Err(Stop::Interrupted(Interrupt::Time)) }
    }
}

impl Worker for HaltingWorker<'_> {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(self.0.inner.initial)
    }
    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        self.go_on()?;
        let mut inner = self.0.inner;
        inner.successors(state, out)
    }
    fn props(&mut self, state: State) -> Result<u64, Stop> {
        self.go_on()?;
        let mut inner = self.0.inner;
        let asked = if self.1 { self.0.asked.load(Ordering::Relaxed) } else { u64::MAX };
        Ok(inner.props(state)? & asked)
    }
    fn ask(&self, props: u64) {
        self.0.asked.store(props, Ordering::Relaxed);
    }
    fn light(&self) -> u64 {
        self.0.light
    }
}

/// Several formulas share what is known of the states, and after a stop nothing is said that would not be said of the
/// whole.
#[test]
fn formulas_share_states_and_stops() {
    let mut random = Random::new(setting("SEED", 1));
    let (mut decided, mut open) = (0, 0);
    for case in 0..setting("CASES", 1500) {
        let mut formulas = Formulas::default();
        let size = 2 + random.below(if case % 3 == 0 { 30 } else { 6 });
        let inner = random_system(&mut random, size, 3, 3);
        let mut fairness = Fairness::default();
        if random.below(3) == 0 {
            fairness.weak.push(vec![RuleId(random.below(3) as u32)]);
            fairness.strong.push(vec![RuleId(random.below(3) as u32)]);
        }
        let halting = Halting {
            inner: &inner,
            left: AtomicUsize::new(random.below(2 * size + 8) as usize),
            asked: AtomicU64::new(u64::MAX),
            light: random.below(8),
        };
        let automaton_only = random.below(2) == 0;
        let options = Options { fairness: fairness.clone(), automaton_only, ..Options::default() };
        let mut checker = Checker::new(&halting, None, options.clone()).expect("few conditions");
        let mut stop = None;
        for _ in 0..5 {
            let formula = match random.below(2) {
                0 => random_class(&mut random, &mut formulas),
                _ => {
                    let length = 1 + random.below(4) as usize;
                    random_formula(&mut random, &mut formulas, length, 3)
                }
            };
            let text = print(&formulas, formula);
            let mut alone = Checker::new(&inner, None, options.clone()).expect("few conditions");
            let expected = alone.check(&mut formulas, formula).expect("an answer").verdict;
            let mut verdict = Verdict::Unknown(Stop::States(0));
            if stop.is_none() {
                verdict = checker.check(&mut formulas, formula).expect("an answer").verdict;
                if let Verdict::Unknown(why) = &verdict {
                    stop = Some(why.clone());
                }
            }
            if let Some(why) = &stop {
                verdict =
                    checker.check_known(&mut formulas, formula, why.clone()).expect("an answer").verdict;
            }
            let is_same = match (&verdict, &expected) {
                (Verdict::Unknown(_), _) => stop.is_some(),
                (Verdict::Violated(_), Verdict::Violated(_))
                | (Verdict::Holds { .. }, Verdict::Holds { .. }) => true,
                _ => false,
            };
            assert!(is_same, "case {case}, {text}: {verdict:?}, not {expected:?}\n{inner:?}");
            if stop.is_some() {
                *(if matches!(verdict, Verdict::Unknown(_)) { &mut open } else { &mut decided }) += 1;
            }
        }
    }
    println!("after stops: {decided} decided, {open} open");
    assert!(decided > 0 && open > 0);
}
