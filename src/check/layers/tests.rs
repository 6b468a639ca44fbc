//! Layers against the whole space on random systems, with every way of dividing; the numbers of the
//! authors' tool; checkpoints. `SEED=n` repeats a run, `CASES=n` tries more.

use super::nodes::STARTS_MAX;
use super::*;
use crate::base::Interrupt;
use crate::check::{Checker, Options as WholeOptions, Verdict as WholeVerdict, replay};
use crate::graph::{Explicit, Region, RuleId, Seed, Sprout, State};
use crate::logic::random::{Random, random_formula};
use crate::logic::text::{parse, print};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    println!("{name}={value}");
    value
}

fn pool(threads: usize) -> ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads")
}

/// A mutual exclusion protocol in which every process enters once: locations 0 (start), 1 (waiting),
/// 2 (critical), 3 (done). With a queue, processes enter in the order in which they began to wait.
/// Propositions: the first process is waiting, is critical.
fn mutex(processes: usize, queue: bool) -> Explicit {
    type Here = (Vec<u8>, Vec<u8>);
    let mut states: Vec<Here> = vec![(vec![0; processes], Vec::new())];
    let mut numbers: HashMap<Here, State> = HashMap::from([(states[0].clone(), 0)]);
    let mut edges = Vec::new();
    while edges.len() < states.len() {
        let (places, line) = states[edges.len()].clone();
        let mut out = Vec::new();
        for process in 0..processes {
            let (mut places_after, mut line_after) = (places.clone(), line.clone());
            match places[process] {
                0 if queue => line_after.push(process as u8),
                0 => {}
                1 if queue && line[0] != process as u8 => continue,
                1 if !queue && places.contains(&2) => continue,
                2 if queue => drop(line_after.remove(0)),
                3 => continue,
                _ => {}
            }
            places_after[process] += 1;
            let next = (places_after, line_after);
            let number = *numbers.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                states.len() as State - 1
            });
            out.push((RuleId(u32::from(places[process])), number));
        }
        if out.is_empty() {
            out.push((RuleId(3), edges.len() as State));
        }
        edges.push(out);
    }
    let props = states.iter().map(|(places, _)| u64::from(places[0] == 1) | u64::from(places[0] == 2) << 1);
    Explicit { initial: 0, edges, props: props.collect() }
}

/// Sub-state spaces ("node sets"), states and counterexample states as the authors' tool prints them. With
/// layers 3 3 it prints 35, 56 and 84 node sets, which depends on the order of terms: see `tests/it`.
#[test]
fn the_numbers_of_the_authors_tool() {
    let cases: [(bool, u32, &[(usize, usize, usize)]); 3] = [
        (true, 2, &[(33, 200, 124), (46, 510, 285), (61, 1092, 546)]),
        (false, 2, &[(19, 55, 20), (26, 105, 35), (34, 182, 56), (43, 294, 84)]),
        (false, 3, &[(44, 95, 28), (70, 226, 71), (104, 483, 156)]),
    ];
    for (queue, steps, expected) in cases {
        for (processes, &numbers) in (5..).zip(expected) {
            let system = mutex(processes, queue);
            let mut formulas = Formulas::default();
            let formula = parse(&mut formulas, "p0 |-> p1").expect("well-formed");
            let options = Options { layers: Layers::Depths(vec![steps, steps]), ..Options::default() };
            let answer = check(&system, None, &mut formulas, formula, options).expect("an answer");
            assert_eq!(answer.verdict, Verdict::Holds);
            let last = answer.layers[1];
            let found = (last.end.spaces, last.end.states, last.end.counterexample_states);
            assert_eq!(found, numbers, "{processes} processes, queue: {queue}, layers {steps} {steps}");
            let whole = system.edges.len() as u64;
            assert!(answer.states < 3 * whole, "{} expansions of {whole} states", answer.states);
        }
    }
}

/// Whether something is true in a state with these propositions.
type Holds<'a> = &'a dyn Fn(u64) -> bool;

/// The sub-state spaces of each layer for `p |-> q`, one after the other as the authors' tool takes them
/// up: all states, then the counterexample states, whose nodes may be there already.
fn node_sets(system: &Explicit, [p, q]: [Holds; 2], depths: &[u32]) -> Vec<usize> {
    type Ends = BTreeSet<(State, bool)>;
    let enter = |state: State, owed: bool| {
        let props = system.props[state as usize];
        (state, (owed || p(props)) && !q(props))
    };
    let ends = |start: (State, bool), steps: u32| {
        let mut level = Ends::from([start]);
        for _ in 0..steps {
            let next = |&(state, owed): &(State, bool)| {
                let out = &system.edges[state as usize];
                let stays = out.is_empty().then_some(state);
                let targets: Vec<State> = out.iter().map(|&(_, to)| to).chain(stays).collect();
                targets.into_iter().map(move |to| enter(to, owed))
            };
            level = level.iter().flat_map(next).collect();
        }
        level
    };
    let (mut plain, mut owed) = (BTreeSet::from([system.initial]), BTreeSet::new());
    let mut counts = Vec::new();
    for &steps in depths {
        let (mut next_plain, mut next_owed, mut nodes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let before = std::mem::take(&mut plain);
        for start in before {
            let mut has_found = false;
            for (end, is_owed) in ends(enter(start, false), steps) {
                has_found |= next_plain.insert(end);
                has_found |= is_owed && next_owed.insert(end);
            }
            nodes.insert((start, false, has_found));
        }
        for start in std::mem::take(&mut owed) {
            // Where q holds nothing is owed any more, whatever follows.
            let mut level = BTreeSet::from([start]);
            for _ in 0..steps {
                let all = level.iter().flat_map(|&state| ends((state, true), 1));
                let unmet = all.filter(|&(to, _)| !q(system.props[to as usize]));
                level = unmet.map(|(to, _)| to).collect();
            }
            let has_found = level.into_iter().filter(|&end| next_owed.insert(end)).count() > 0;
            nodes.insert((start, has_found, has_found));
        }
        counts.push(nodes.len());
        (plain, owed) = (next_plain, next_owed);
    }
    counts
}

#[test]
fn sub_state_spaces_are_counted_as_the_authors_do() {
    let two = pool(2);
    let mut random = Random::new(setting("SEED", 1));
    let mut fewer = 0;
    for case in 0..setting("CASES", 300) {
        let states = 1 + random.below(if case % 4 == 0 { 300 } else { 20 });
        let mut system =
            if case % 7 == 0 { mutex(4, case % 2 == 0) } else { random_system(&mut random, states) };
        if random.below(2) == 0 {
            // Goals that are seldom reached leave much to be owed.
            system.props.iter_mut().for_each(|props| *props &= !(u64::from(random.below(4) > 0) << 1));
        }
        let bit = |at: u32| move |props: u64| props >> at & 1 == 1;
        let forms: [(&str, [Holds; 2]); 4] = [
            ("p0 |-> p1", [&bit(0), &bit(1)]),
            ("[] <> p1", [&|_| true, &bit(1)]),
            ("~ p1 /\\ p2 |-> p1", [&|props| !bit(1)(props) && bit(2)(props), &bit(1)]),
            ("p2 |-> p0 \\/ p1", [&bit(2), &|props| props & 3 != 0]),
        ];
        let (text, predicates) = forms[random.below(4) as usize];
        let depths: Vec<u32> = (0..1 + random.below(4)).map(|_| 1 + random.below(4) as u32).collect();
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        // All layers at once, or one after the other.
        let mut division = Division::default();
        let mut layers = Vec::new();
        for known in [depths.len(), 1 + random.below(depths.len() as u64) as usize, depths.len()] {
            let pool = [None, Some(&two)][random.below(2) as usize];
            let depths = Layers::Depths(depths[..known].to_vec());
            let options = Options { layers: depths, conquer: false, ..Options::default() };
            let answer = go_on(&system, pool, &mut formulas, formula, &mut division, options);
            let answer = answer.expect("an answer");
            let found: Vec<usize> = answer.layers.iter().map(|layer| layer.end.spaces).collect();
            if layers.is_empty() {
                division = Division::default();
                layers = answer.layers;
            }
            let expected = node_sets(&system, predicates, &depths_of(&layers)[..known]);
            assert_eq!(found, expected, "case {case}: {text} in layers {layers:?}\n{system:?}");
        }
        let both = |(before, layer): (&Layer, &Layer)| {
            layer.end.spaces < before.end.states + before.end.counterexample_states
        };
        fewer += usize::from(layers.iter().zip(&layers[1..]).any(both));
    }
    println!("{fewer} times two were one");
    assert!(fewer > 50);
}

fn depths_of(layers: &[Layer]) -> Vec<u32> {
    layers.iter().map(|layer| layer.steps).collect()
}

/// Where levels go round nobody knows who was first; both are counted then.
#[test]
fn layers_that_go_round_count_all_sub_state_spaces() {
    // It waits for p1 in vain at 2, and whatever it does elsewhere comes back.
    let step = RuleId(0);
    let edges = vec![vec![(step, 1), (step, 2)], vec![(step, 0)], vec![(step, 2), (step, 1)]];
    let system = Explicit { initial: 0, edges, props: vec![0, 0b10, 0b01] };
    let spaces = |depths: &[u32]| {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, "p0 |-> p1").expect("well-formed");
        let options =
            Options { layers: Layers::Depths(depths.to_vec()), conquer: false, ..Options::default() };
        let answer = check(&system, None, &mut formulas, formula, options).expect("an answer");
        answer.layers.iter().map(|layer| layer.end.spaces).collect::<Vec<usize>>()
    };
    assert_eq!(spaces(&[5, 5]), [1, 3]);
    assert_eq!(spaces(&[5, 1_000_000_000]), [1, 4]);
}

/// Many states that wait, all for the same: only the first finds anything. Where they are too many to be
/// sorted, both sub-state spaces of each are counted.
#[test]
fn large_boundaries_count_all_sub_state_spaces() {
    let step = RuleId(0);
    for (states, expected) in [(STARTS_MAX, STARTS_MAX + 1), (STARTS_MAX + 1, 2 * (STARTS_MAX + 1))] {
        let end = states as State + 1;
        let mut edges = vec![vec![(step, end)]; states + 2];
        edges[0] = (1..end).map(|state| (step, state)).collect();
        let mut props = vec![0b01; states + 2];
        (props[0], props[end as usize]) = (0, 0);
        let system = Explicit { initial: 0, edges, props };
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, "p0 |-> p1").expect("well-formed");
        let options = Options { layers: Layers::Depths(vec![1, 1]), conquer: false, ..Options::default() };
        let answer = check(&system, None, &mut formulas, formula, options).expect("an answer");
        assert_eq!(answer.layers[1].end.spaces, expected, "{states} states");
    }
}

/// Like a random system, but with a direction: most edges lead a little further, some far back, some
/// nowhere. Boundaries then divide something.
fn random_system(random: &mut Random, states: u64) -> Explicit {
    let forward = random.below(3) == 0;
    let edges = (0..states)
        .map(|state| {
            let count = if random.below(8) == 0 { 0 } else { 1 + random.below(3) };
            let target = |random: &mut Random| match random.below(if forward { 8 } else { 4 }) {
                0 => random.below(states),
                1 => state,
                _ => (state + 1 + random.below(3)) % states,
            };
            (0..count).map(|_| (RuleId(random.below(3) as u32), target(random) as State)).collect()
        })
        .collect();
    Explicit { initial: 0, edges, props: (0..states).map(|_| random.below(8)).collect() }
}

fn random_claim(random: &mut Random, formulas: &mut Formulas) -> Formula {
    let classes =
        ["p0 |-> p1", "p0 |-> [] p1", "<> p2", "[] (p0 \\/ p1 \\/ p2)", "p0 U [] p1", "[] <> p0", "O O O p1"];
    match random.below(12) {
        n if (n as usize) < classes.len() => parse(formulas, classes[n as usize]).expect("well-formed"),
        _ => {
            let size = 1 + random.below(6) as usize;
            random_formula(random, formulas, size, 3)
        }
    }
}

/// Mostly none; rules 0 to 2 otherwise.
fn random_fairness(random: &mut Random) -> Fairness {
    let mut rules = || (0..random.below(3)).map(|_| vec![RuleId(random.below(3) as u32)]).collect();
    let fairness = Fairness { weak: rules(), strong: rules() };
    if random.below(2) == 0 { fairness } else { Fairness::default() }
}

/// Whether it holds, and whether it does so vacuously.
fn whole(system: &Explicit, formulas: &mut Formulas, formula: Formula, fairness: &Fairness) -> (bool, bool) {
    let options = WholeOptions { fairness: fairness.clone(), ..WholeOptions::default() };
    let mut checker = Checker::new(system, None, options).expect("few conditions");
    match checker.check(formulas, formula).expect("an answer").verdict {
        WholeVerdict::Holds { vacuous } => (true, vacuous),
        WholeVerdict::Violated(_) => (false, false),
        WholeVerdict::Unknown(stop) => panic!("{stop:?}"),
    }
}

/// The steps of a run with the system's own numbers.
fn steps(run: &Run) -> (Vec<(Seed, RuleId)>, Option<usize>) {
    let step = |step: &crate::check::Step| (run.seeds[step.state as usize], step.rule);
    (run.lasso.steps.iter().map(step).collect(), run.lasso.back)
}

/// A second replay, on the system itself.
fn replay_outside(
    system: &Explicit,
    formulas: &mut Formulas,
    formula: Formula,
    fairness: &Fairness,
    run: &Run,
) {
    let mut lasso = run.lasso.clone();
    for step in &mut lasso.steps {
        step.state = run.seeds[step.state as usize] as State;
    }
    assert_eq!(replay(&mut &*system, formulas, formula, fairness, &lasso), Ok(()));
}

#[test]
fn layers_against_the_whole() {
    let pools: Vec<ThreadPool> = [2, 3, 8].map(pool).into();
    let layerings: [&[u32]; 10] =
        [&[], &[1], &[2], &[1, 1], &[2, 2], &[3, 1], &[1, 2, 3], &[7], &[20, 5], &[1 << 30, 1 << 29]];
    let mut random = Random::new(setting("SEED", 1));
    let (mut holds, mut violated, mut split, mut unknown) = (0, 0, 0, 0);
    let (mut vacuous, mut unfair) = (0, 0);
    for case in 0..setting("CASES", 60) {
        let mut formulas = Formulas::default();
        let states = 1 + random.below(if case % 4 == 0 { 60 } else { 9 });
        let system = random_system(&mut random, states);
        let formula = random_claim(&mut random, &mut formulas);
        let fairness = random_fairness(&mut random);
        let (expected, is_vacuous) = whole(&system, &mut formulas, formula, &fairness);
        let said = format!("case {case}: {}, {fairness:?}\n{system:?}", print(&formulas, formula));
        let free = whole(&system, &mut formulas, formula, &Fairness::default()).0;
        unfair += usize::from(expected && !free);
        let mut layers: Vec<Layers> = layerings.map(|depths| Layers::Depths(depths.to_vec())).into();
        layers.push(Layers::Auto);
        for layers in layers {
            let close = random.below(2) == 0;
            let short_states_max = [1 << 18, 1 << 18, 12, 0][random.below(4) as usize];
            let options = || Options {
                layers: layers.clone(),
                close,
                short_states_max,
                fairness: fairness.clone(),
                ..Options::default()
            };
            let answer = check(&system, None, &mut formulas, formula, options())
                .unwrap_or_else(|error| panic!("{layers:?}: {error:?}, {said}"));
            match &answer.verdict {
                Verdict::Holds => holds += 1,
                Verdict::Violated(run) => {
                    violated += 1;
                    replay_outside(&system, &mut formulas, formula, &fairness, run);
                    assert!(!close || short_states_max < 1000 || run.lasso.back.is_some());
                }
                Verdict::Unknown(reason) => panic!("{layers:?}: {reason:?}, {said}"),
            }
            let is_held = answer.verdict == Verdict::Holds;
            assert_eq!(is_held, expected, "{layers:?}, {said}");
            if fairness.is_none() {
                assert_eq!(answer.is_vacuous, is_vacuous, "{layers:?}, {said}");
                vacuous += usize::from(is_vacuous);
            }

            // The same on many threads, with hardly any memory for verified pairs.
            let pool = &pools[random.below(3) as usize];
            let cache_bytes = Some([0, 64, 1 << 10, 1 << 16][random.below(4) as usize]);
            let few = Options { cache_bytes, ..options() };
            let again = check(&system, Some(pool), &mut formulas, formula, few).expect("an answer");
            match (&answer.verdict, &again.verdict) {
                (Verdict::Violated(one), Verdict::Violated(other)) if short_states_max > 1000 => {
                    assert_eq!(steps(one), steps(other));
                }
                (Verdict::Violated(_), Verdict::Violated(run)) => {
                    replay_outside(&system, &mut formulas, formula, &fairness, run);
                }
                (one, other) => assert_eq!(one, other, "{layers:?}, {said}"),
            }
            if layers != Layers::Auto {
                assert_eq!(answer.layers, again.layers);
            }

            // With hardly any memory at all a verdict may be missing, but not wrong.
            let space_bytes = Some(200 + random.below(3000) as usize);
            let few = Options { cache_bytes, space_bytes, ..options() };
            let pool = [None, Some(pool)][random.below(2) as usize];
            let tiny = check(&system, pool, &mut formulas, formula, few).expect("an answer");
            split += tiny.splits;
            match &tiny.verdict {
                Verdict::Holds => assert!(expected, "{layers:?}, {said}"),
                Verdict::Violated(run) => replay_outside(&system, &mut formulas, formula, &fairness, run),
                Verdict::Unknown(reason) => {
                    assert_eq!(*reason, Reason::Component);
                    unknown += 1;
                }
            }
        }
    }
    println!("{holds} hold, {violated} are violated, {split} splits, {unknown} unknown");
    println!("{vacuous} are vacuous, {unfair} hold on fair runs only");
    // How often memory runs out depends on the threads; few formulas hold on fair runs only.
    assert!(holds > 50 && violated > 50 && split > 0 && vacuous > 0);
    assert!(setting("CASES", 0) < 500 || unfair > 0);
}

/// A system that has room for a few states only, until it forgets them, and that is looked at so often.
struct Forgetful {
    system: Explicit,
    room: usize,
    visits: AtomicUsize,
    epoch: AtomicU64,
    known: Mutex<HashSet<u64>>,
}

impl Regions for Forgetful {
    type Region<'a> = &'a Forgetful;

    fn region(&self) -> &Forgetful {
        self
    }

    fn bytes(&self) -> usize {
        self.known.lock().expect("not poisoned").len()
    }

    fn forget(&self) {
        self.known.lock().expect("not poisoned").clear();
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }
}

impl Forgetful {
    /// The verdict on a formula, which is checked unless it is missing. Without depths they are found.
    fn judged(
        &self,
        depths: &[u32],
        pool: Option<&ThreadPool>,
        formulas: &mut Formulas,
        formula: Formula,
        fairness: &Fairness,
    ) -> Verdict {
        let said = format!("{}, {fairness:?}, {depths:?}\n{:?}", print(formulas, formula), self.system);
        let layers = if depths.is_empty() { Layers::Auto } else { Layers::Depths(depths.to_vec()) };
        let options = Options { layers, fairness: fairness.clone(), ..Options::default() };
        let answer = check(self, pool, formulas, formula, options);
        let verdict = answer.unwrap_or_else(|error| panic!("{error:?}, {said}")).verdict;
        match &verdict {
            Verdict::Holds => assert!(whole(&self.system, formulas, formula, fairness).0, "{said}"),
            Verdict::Violated(run) => replay_outside(&self.system, formulas, formula, fairness, run),
            Verdict::Unknown(_) => {}
        }
        verdict
    }

    /// A state that is known from now on.
    fn sprout(&self, state: u64) -> Result<Sprout, Stop> {
        let mut known = self.known.lock().expect("not poisoned");
        if known.len() >= self.room && !known.contains(&state) {
            return Err(Stop::Interrupted(Interrupt::Memory));
        }
        known.insert(state);
        Ok(Sprout(self.epoch.load(Ordering::Relaxed) << 32 | state))
    }

    #[track_caller]
    fn state(&self, sprout: Sprout) -> Sprout {
        assert_eq!(sprout.0 >> 32, self.epoch.load(Ordering::Relaxed), "it was forgotten");
        Sprout(sprout.0 & u64::from(u32::MAX))
    }
}

impl Region for &Forgetful {
    fn initial(&mut self) -> Result<Sprout, Stop> {
        self.sprout(self.system.initial.into())
    }

    fn visit(
        &mut self,
        state: Sprout,
        reads: &dyn Fn(u64) -> bool,
        out: &mut Vec<(RuleId, Sprout)>,
    ) -> Result<u64, Stop> {
        let less = |left: usize| left.checked_sub(1);
        if self.visits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            return Err(Stop::Interrupted(Interrupt::Time));
        }
        let mut found = Vec::new();
        let props = (&self.system).visit(self.state(state), reads, &mut found)?;
        for (rule, target) in found {
            out.push((rule, self.sprout(target.0)?));
        }
        Ok(props)
    }

    fn plant(&mut self, seed: Seed) -> Result<Sprout, Stop> {
        self.sprout(seed)
    }

    fn seed(&mut self, state: Sprout) -> Result<Seed, Stop> {
        Ok(self.state(state).0)
    }

    fn key(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        (&self.system).key(seed, out)
    }

    fn write(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        (&self.system).write(seed, out)
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Seed, Stop> {
        (&self.system).read(bytes)
    }
}

#[test]
fn what_is_forgotten_changes_no_verdict() {
    let pools: Vec<ThreadPool> = [2, 4].map(pool).into();
    let mut random = Random::new(setting("SEED", 1));
    let (mut decided, mut forgot, mut unknown) = (0, 0, 0);
    for case in 0..setting("CASES", 150) {
        let mut formulas = Formulas::default();
        let states = 20 + random.below(300);
        let system = if case % 5 == 0 { mutex(4, case % 2 == 0) } else { random_system(&mut random, states) };
        let formula = random_claim(&mut random, &mut formulas);
        let fairness = random_fairness(&mut random);
        let said = format!("case {case}: {}, {fairness:?}\n{system:?}", print(&formulas, formula));
        let depths: Vec<u32> = (0..random.below(4)).map(|_| 1 + random.below(5) as u32).collect();
        let room = 10 + random.below(system.edges.len() as u64) as usize;
        let visits = AtomicUsize::new(usize::MAX);
        let system = Forgetful { system, room, visits, epoch: AtomicU64::new(0), known: Mutex::default() };
        let pool = [None, Some(&pools[0]), Some(&pools[1])][random.below(3) as usize];
        let verdict = system.judged(&depths, pool, &mut formulas, formula, &fairness);
        if let Verdict::Unknown(reason) = &verdict {
            let stopped = Reason::Stopped(Stop::Interrupted(Interrupt::Memory));
            assert!(*reason == Reason::Component || *reason == stopped, "{reason:?}, {said}");
            unknown += 1;
            continue;
        }
        decided += 1;
        forgot += usize::from(verdict == Verdict::Holds && system.epoch.into_inner() > 0);
    }
    println!("{decided} decided, {forgot} of those after forgetting, {unknown} unknown");
    assert!(decided > 30 && forgot > 3);
}

#[track_caller]
fn verdict(edges: &[&[State]], props: &[u64], text: &str, depths: &[u32]) -> Option<(usize, usize)> {
    let edges = edges.iter().map(|out| out.iter().map(|&to| (RuleId(0), to)).collect()).collect();
    let system = Explicit { initial: 0, edges, props: props.to_vec() };
    let mut formulas = Formulas::default();
    let formula = parse(&mut formulas, text).expect("well-formed");
    let options = Options { layers: Layers::Depths(depths.to_vec()), ..Options::default() };
    match check(&system, None, &mut formulas, formula, options).expect("an answer").verdict {
        Verdict::Holds => None,
        Verdict::Violated(run) => Some((run.lasso.prefix().len(), run.lasso.cycle().len())),
        Verdict::Unknown(reason) => panic!("{reason:?}"),
    }
}

/// Layers by distance would lose these: everything has been seen before the boundary.
#[test]
fn runs_that_stay_near_the_start() {
    for depths in [&[1][..], &[3], &[2, 2], &[5, 4, 3, 2, 1]] {
        assert_eq!(verdict(&[&[0]], &[0], "<> p0", depths), Some((0, 1)));
        assert_eq!(verdict(&[&[]], &[0], "[] <> p0", depths), Some((0, 1)), "a deadlock");
        assert_eq!(verdict(&[&[0, 1], &[1]], &[0, 1], "<> p0", depths), Some((0, 1)));
        // A long way back to the start.
        let back: [&[State]; 6] = [&[1], &[2], &[3], &[4], &[5], &[0]];
        assert_eq!(verdict(&back, &[1, 0, 0, 0, 0, 0], "[] <> p1", depths), Some((0, 6)));
        assert_eq!(verdict(&back, &[1, 0, 0, 0, 0, 2], "p0 |-> p1", depths), None);
        assert_eq!(verdict(&back, &[2, 0, 0, 0, 0, 1], "p0 |-> p1", depths), None);
        let exit: [&[State]; 6] = [&[1], &[2], &[3, 0], &[4], &[5], &[3]];
        assert_eq!(verdict(&exit, &[2, 0, 0, 1, 0, 0], "p0 |-> p1", depths), Some((3, 3)));
    }
}

#[test]
fn violations_before_the_boundary() {
    let line: [&[State]; 5] = [&[1], &[2], &[3], &[4], &[4]];
    for depths in [&[][..], &[1], &[2, 2], &[20], &[7, 7, 7]] {
        assert_eq!(verdict(&line, &[1, 1, 0, 1, 1], "[] p0", depths), Some((3, 0)));
        assert_eq!(verdict(&line, &[1, 1, 0, 1, 1], "p0 U p1", depths), Some((3, 0)));
        assert_eq!(verdict(&line, &[1, 1, 2, 0, 0], "p0 U p1", depths), None);
        assert_eq!(verdict(&line, &[0; 5], "False", depths).map(|(prefix, _)| prefix > 0), Some(true));
    }
}

/// Wherever it happens, the verdict is right or missing.
#[test]
fn a_check_may_stop_anywhere() {
    let pool = pool(2);
    let mut random = Random::new(setting("SEED", 1));
    let (mut violated, mut unknown) = (0, 0);
    for case in 0..setting("CASES", 400) {
        let mut formulas = Formulas::default();
        let states = 2 + random.below(40);
        let system = random_system(&mut random, states);
        let formula = random_claim(&mut random, &mut formulas);
        let fairness = random_fairness(&mut random);
        println!("case {case}");
        let depths: Vec<u32> = (0..random.below(3)).map(|_| 1 + random.below(4) as u32).collect();
        let pool = (random.below(3) == 0).then_some(&pool);
        let (epoch, known, visits) = (AtomicU64::new(0), Mutex::default(), AtomicUsize::new(usize::MAX));
        let mut system = Forgetful { system, room: usize::MAX, visits, epoch, known };
        system.judged(&depths, pool, &mut formulas, formula, &fairness);
        // Mostly near the end, where counterexamples are made.
        let all = (usize::MAX - system.visits.into_inner()) as u64;
        let last = if random.below(3) == 0 { all } else { all.min(8) };
        system.visits = AtomicUsize::new((all - random.below(last + 1)) as usize);
        match system.judged(&depths, pool, &mut formulas, formula, &fairness) {
            Verdict::Holds => {}
            Verdict::Violated(_) => violated += 1,
            Verdict::Unknown(reason) => {
                assert_eq!(reason, Reason::Stopped(Stop::Interrupted(Interrupt::Time)));
                unknown += 1;
            }
        }
    }
    println!("{violated} violated, {unknown} unknown");
    assert!(violated > 20 && unknown > 20);
}

#[test]
fn limits_end_a_check() {
    let system = mutex(5, true);
    let mut formulas = Formulas::default();
    let formula = parse(&mut formulas, "p0 |-> p1").expect("well-formed");
    let mut reason = |limits: Limits, space_bytes: Option<usize>| {
        let layers = Layers::Depths(vec![2, 2]);
        let options = Options { layers, limits, space_bytes, cache_bytes: Some(0), ..Options::default() };
        match check(&system, None, &mut formulas, formula, options).expect("an answer").verdict {
            Verdict::Unknown(reason) => reason,
            other => panic!("{other:?}"),
        }
    };
    let interrupted = |interrupt| Reason::Stopped(Stop::Interrupted(interrupt));
    let limits = Limits { states_max: Some(1000), ..Limits::default() };
    assert_eq!(reason(limits, None), Reason::Stopped(Stop::States(1000)));
    let limits = Limits { deadline: Some(std::time::Instant::now()), ..Limits::default() };
    assert_eq!(reason(limits, None), interrupted(Interrupt::Time));
    let limits = Limits::default();
    limits.cancel.raise();
    assert_eq!(reason(limits, None), interrupted(Interrupt::Cancelled));
    let limits = Limits { memory_max: Some(100), ..Limits::default() };
    assert_eq!(reason(limits, None), interrupted(Interrupt::Memory));
}

/// A ring does not get smaller by dividing; a long line does.
#[test]
fn what_cannot_be_divided() {
    let ring = |count: u32, back: State| {
        let edges = (0..count).map(|i| vec![(RuleId(0), if i + 1 < count { i + 1 } else { back })]).collect();
        Explicit { initial: 0, edges, props: vec![1; count as usize] }
    };
    let mut formulas = Formulas::default();
    let formula = parse(&mut formulas, "[] <> p0").expect("well-formed");
    let mut answer = |system: &Explicit| {
        let options = Options { space_bytes: Some(20_000), cache_bytes: Some(0), ..Options::default() };
        check(system, None, &mut formulas, formula, options).expect("an answer")
    };
    let answer_ring = answer(&ring(1000, 0));
    assert_eq!(answer_ring.verdict, Verdict::Unknown(Reason::Component));
    let answer_line = answer(&ring(1000, 950));
    assert_eq!(answer_line.verdict, Verdict::Holds);
    assert!(answer_line.splits > 0);
    assert_eq!(answer(&ring(10, 0)).verdict, Verdict::Holds);
}

/// A grid that goes round is one component; every state of the boundary is in it.
#[test]
fn a_large_component_is_searched_once() {
    let (side, step) = (200, RuleId(0));
    let place = |x: u32, y: u32| x % side * side + y % side;
    let edges = |x, y| vec![(step, place(x + 1, y)), (step, place(x, y + 1))];
    let edges = (0..side * side).map(|state| edges(state / side, state % side)).collect();
    let props = (0..side * side).map(|state| u64::from(state != place(side - 2, side - 2))).collect();
    let system = Explicit { initial: 0, edges, props };
    let mut formulas = Formulas::default();
    let formula = parse(&mut formulas, "[] <> p0").expect("well-formed");
    let two = pool(2);
    for pool in [None, Some(&two)] {
        let options = Options { layers: Layers::Depths(vec![5, 5]), ..Options::default() };
        let answer = check(&system, pool, &mut formulas, formula, options).expect("an answer");
        assert_eq!(answer.verdict, Verdict::Holds);
        let whole = system.edges.len() as u64;
        let bound = if pool.is_none() { whole / 5 * 6 } else { whole * 5 / 2 };
        assert!(answer.states < bound, "{} expansions of {whole} states", answer.states);
    }
}

#[test]
fn those_who_watch_see_it_end() {
    let system = mutex(5, true);
    let mut formulas = Formulas::default();
    let formula = parse(&mut formulas, "p0 |-> p1").expect("well-formed");
    let seen = Mutex::new(Vec::new());
    let watch = |progress: &Progress| seen.lock().expect("not poisoned").push(*progress);
    let layers = Layers::Depths(vec![2, 2]);
    let options = Options { layers, watcher: Some(&watch), ..Options::default() };
    check(&system, Some(&pool(2)), &mut formulas, formula, options).expect("an answer");
    let seen = seen.into_inner().expect("not poisoned");
    assert!((1..=3).all(|layer| seen.iter().any(|progress| progress.layer == layer)));
    let last = seen.iter().rfind(|progress| progress.done == progress.spaces).expect("it ends");
    assert_eq!((last.layer, last.depth, last.spaces), (3, 4, 200));
    assert!(seen.iter().all(|progress| progress.done <= progress.spaces));
}

/// A directory that goes away.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rwl-layers-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).expect("writable");
    for entry in fs::read_dir(from).expect("readable").flatten() {
        // A file may be renamed while it is copied.
        let _ = fs::copy(entry.path(), to.join(entry.file_name()));
    }
}

fn saving(directory: &Path, resume: bool) -> Option<Saving> {
    let identity = b"mutex".to_vec();
    Some(Saving { directory: directory.to_owned(), resume, identity, interval: Duration::ZERO })
}

/// What is on disk at some moment is enough to go on.
#[test]
fn a_check_goes_on_after_a_crash() {
    let (directory, crashed) = (Directory::new("run"), Directory::new("crashed"));
    let two = pool(2);
    let mut random = Random::new(setting("SEED", 1));
    let mut skipped = 0;
    for case in 0..setting("CASES", 16) {
        let mut system = mutex(4, case % 2 == 0);
        if case % 3 == 0 {
            // Somebody never leaves.
            let stuck = system.edges.len() - 1 - random.below(40) as usize;
            system.edges[stuck] = vec![(RuleId(0), stuck as State)];
        }
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, "p0 |-> p1").expect("well-formed");
        let layers = [Layers::Auto, Layers::Depths(vec![2, 2]), Layers::Depths(vec![4])];
        let layers = layers[random.below(3) as usize].clone();
        let moment = random.below(150);
        let seen = Mutex::new(0);
        let watch = |_: &Progress| {
            let mut seen = seen.lock().expect("not poisoned");
            *seen += 1;
            if *seen == moment {
                copy(&directory.0, &crashed.0);
            }
        };
        let _ = fs::remove_dir_all(&directory.0);
        let _ = fs::remove_dir_all(&crashed.0);
        let options =
            |saving, watcher| Options { layers: layers.clone(), saving, watcher, ..Options::default() };
        let first = options(saving(&directory.0, false), Some(&watch as Watcher));
        let pool = [None, Some(&two)][random.below(2) as usize];
        let one = check(&system, pool, &mut formulas, formula, first).expect("an answer");
        if !crashed.0.join("layer-000").exists() {
            continue;
        }
        let again = options(saving(&crashed.0, true), None);
        let other = check(&system, pool, &mut formulas, formula, again).expect("an answer");
        match (&one.verdict, &other.verdict) {
            (Verdict::Violated(one), Verdict::Violated(other)) => assert_eq!(steps(one), steps(other)),
            (one, other) => assert_eq!(one, other),
        }
        assert_eq!(one.layers, other.layers);
        skipped += usize::from(other.states < one.states);
    }
    println!("{skipped} had less to do");
    assert!(skipped > 1);
}

#[test]
fn damaged_and_foreign_checkpoints_are_refused() {
    let directory = Directory::new("damaged");
    let system = mutex(2, true);
    let mut formulas = Formulas::default();
    let formula = parse(&mut formulas, "p0 |-> p1").expect("well-formed");
    let mut run = |saving: Option<Saving>, depths: &[u32]| {
        let layers = Layers::Depths(depths.to_vec());
        check(&system, None, &mut formulas, formula, Options { layers, saving, ..Options::default() })
    };
    // Where nothing was saved yet, resuming is starting.
    assert_eq!(run(saving(&directory.0, true), &[1, 1]).expect("an answer").verdict, Verdict::Holds);
    let exists = run(saving(&directory.0, false), &[1, 1]);
    assert_eq!(exists, Err(Error::Checkpoint(CheckpointError::Exists(directory.0.clone()))));
    let foreign = |result| matches!(result, Err(Error::Checkpoint(CheckpointError::Foreign(_))));
    assert!(foreign(run(saving(&directory.0, true), &[1, 2])), "other layers");
    let other = saving(&directory.0, true).map(|saving| Saving { identity: b"other".to_vec(), ..saving });
    assert!(foreign(run(other, &[1, 1])), "another module");
    let names = ["layer-000", "layer-001", "layer-002", "done"];
    for name in names {
        let path = directory.0.join(name);
        let good = fs::read(&path).expect("was saved");
        // Every byte, and each bit of it somewhere.
        for bit in (0..good.len()).map(|byte| 8 * byte + byte % 8) {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).expect("writable");
            let result = run(saving(&directory.0, true), &[1, 1]);
            let error = Error::Checkpoint(CheckpointError::Damaged(path.clone()));
            assert_eq!(result, Err(error), "{name}, bit {bit}");
        }
        fs::write(&path, &good[..good.len() / 2]).expect("writable");
        assert!(matches!(run(saving(&directory.0, true), &[1, 1]), Err(Error::Checkpoint(_))));
        fs::write(&path, &good).expect("writable");
    }
    // Whatever comes after a gap is left alone, resumed or not.
    for name in &names[..3] {
        let path = directory.0.join(name);
        let good = fs::read(&path).expect("was saved");
        fs::remove_file(&path).expect("our own");
        assert!(matches!(
            run(saving(&directory.0, true), &[1, 1]),
            Err(Error::Checkpoint(CheckpointError::Damaged(_)))
        ));
        let exists = Error::Checkpoint(CheckpointError::Exists(directory.0.clone()));
        assert_eq!(run(saving(&directory.0, false), &[1, 1]), Err(exists));
        assert!(!path.exists(), "{name}");
        fs::write(&path, &good).expect("writable");
    }
    assert_eq!(run(saving(&directory.0, true), &[1, 1]).expect("an answer").verdict, Verdict::Holds);
}

/// The final layer in pieces that know nothing of each other gives what it gives as a whole; each piece
/// speaks of its own pairs only.
#[test]
fn pieces_against_the_whole() {
    use apart::{Outcome, Pieces};
    let layerings: [&[u32]; 7] = [&[], &[1], &[2], &[1, 1], &[2, 2], &[1, 2, 3], &[7]];
    let two = pool(2);
    let mut random = Random::new(setting("SEED", 1));
    let (mut holds, mut early, mut late, mut unknown, mut vacuous) = (0, 0, 0, 0, 0);
    for case in 0..setting("CASES", 40) {
        let mut formulas = Formulas::default();
        let states = 1 + random.below(if case % 4 == 0 { 60 } else { 12 });
        let system = random_system(&mut random, states);
        let formula = random_claim(&mut random, &mut formulas);
        let text = print(&formulas, formula);
        let (expected, is_vacuous) = whole(&system, &mut formulas, formula, &Fairness::default());
        for depths in layerings {
            let layers = Layers::Depths(depths.to_vec());
            let pieces = [Pieces::Count(1), Pieces::Count(3), Pieces::Count(100), Pieces::Pairs(2)];
            let pieces = pieces[random.below(4) as usize];
            let pool = [None, Some(&two)][random.below(2) as usize];
            let short_states_max = [1 << 18, 12, 0][random.below(3) as usize];
            let options = || Options { layers: layers.clone(), short_states_max, ..Options::default() };
            let place = format!("case {case}: {text}, {layers:?}, {pieces:?}\n{system:?}");
            let (answer, frontier) =
                apart::divide(&system, pool, &mut formulas, formula, options(), pieces).expect("an answer");
            let Some(frontier) = frontier else {
                match &answer.verdict {
                    Verdict::Holds => assert!(expected, "{place}"),
                    Verdict::Violated(run) => {
                        early += 1;
                        replay_outside(&system, &mut formulas, formula, &Fairness::default(), run);
                    }
                    Verdict::Unknown(reason) => panic!("{reason:?}: {place}"),
                }
                continue;
            };
            assert!(matches!(answer.verdict, Verdict::Unknown(Reason::Elsewhere(_))));
            let counted: usize = frontier.pieces.iter().map(|piece| piece.states).sum();
            assert_eq!(counted, answer.layers.last().map_or(1, |layer| layer.end.states), "{place}");
            // What single states say, without limits.
            let (_, single) =
                apart::divide(&system, None, &mut formulas, formula, options(), Pieces::Count(usize::MAX))
                    .expect("an answer");
            let single = single.expect("a frontier as before").pieces;
            assert_eq!(single.len(), counted);
            let mut clean = Vec::new();
            for piece in &single {
                let (outcome, _) =
                    apart::search(&system, None, &mut formulas, formula, options(), &piece.bytes)
                        .expect("an answer");
                clean.push(matches!(outcome, Outcome::Clean { .. }));
            }
            let (mut violated, mut open, mut met) = (None, None, false);
            for piece in &frontier.pieces {
                let space_bytes = (random.below(3) == 0).then(|| 200 + random.below(3000) as usize);
                let options = Options { space_bytes, cache_bytes: Some(1 << 10), ..options() };
                let (outcome, _) =
                    apart::search(&system, pool, &mut formulas, formula, options, &piece.bytes)
                        .expect("an answer");
                let is_clean = clean[piece.first..piece.first + piece.states].iter().all(|&clean| clean);
                match outcome {
                    Outcome::Clean { is_met } => {
                        met |= is_met;
                        assert!(is_clean, "{place}");
                    }
                    Outcome::Violated(mut run) => {
                        assert!(!is_clean, "{place}");
                        assert!(!clean[piece.first + run.place]);
                        run.place += piece.first;
                        violated.get_or_insert(run);
                    }
                    Outcome::Unknown(reason) => open = Some(reason),
                }
            }
            let outcome = match (violated, open) {
                (Some(run), _) => Outcome::Violated(run),
                (None, Some(reason)) => Outcome::Unknown(reason),
                (None, None) => Outcome::Clean { is_met: met },
            };
            let boundaries = &frontier.boundaries;
            let last = apart::conclude(&system, pool, &mut formulas, formula, options(), boundaries, outcome)
                .expect("an answer");
            assert_eq!(last.layers, answer.layers);
            match &last.verdict {
                Verdict::Holds => {
                    holds += 1;
                    vacuous += usize::from(is_vacuous);
                    assert_eq!((expected, last.is_vacuous), (true, is_vacuous), "{place}");
                }
                Verdict::Violated(run) => {
                    late += 1;
                    replay_outside(&system, &mut formulas, formula, &Fairness::default(), run);
                }
                Verdict::Unknown(_) => unknown += 1,
            }
        }
    }
    println!("{holds} hold, {early} are violated early, {late} late, {unknown} unknown");
    assert!(holds > 20 && early > 20 && late > 20 && vacuous > 0);
}

/// Whatever happens to the bytes of a piece: an error or an answer, no panic; and those of another
/// formula are refused.
#[test]
fn mutilated_pieces() {
    use apart::{Outcome, Pieces};
    let system = mutex(3, true);
    let mut formulas = Formulas::default();
    let formula = parse(&mut formulas, "p0 |-> p1").expect("well-formed");
    let other = parse(&mut formulas, "<> p1").expect("well-formed");
    let options = || Options { layers: Layers::Depths(vec![2]), ..Options::default() };
    let (_, frontier) =
        apart::divide(&system, None, &mut formulas, formula, options(), Pieces::Count(1)).expect("an answer");
    let frontier = frontier.expect("something is left");
    let piece = &frontier.pieces[0].bytes;
    let mut search = |formula, bytes: &[u8]| {
        apart::search(&system, None, &mut formulas, formula, options(), bytes).map(|(outcome, _)| outcome)
    };
    assert_eq!(search(formula, piece), Ok(Outcome::Clean { is_met: true }));
    assert_eq!(search(other, piece), Err(Error::Foreign));
    for length in 0..piece.len() {
        assert_eq!(search(formula, &piece[..length]), Err(Error::Foreign), "{length} bytes");
    }
    for byte in 0..piece.len() {
        for bit in 0..8 {
            let mut bad = piece.clone();
            bad[byte] ^= 1 << bit;
            let _ = search(formula, &bad);
        }
    }
    // A run that starts from nowhere is no run.
    let run = apart::Detached { place: 0, at: 0, states: vec![vec![0; 4]], rules: vec![None], back: Some(0) };
    for run in [apart::Detached { place: 1 << 40, ..run.clone() }, apart::Detached { at: 99, ..run }] {
        let outcome = Outcome::Violated(run);
        let boundaries = &frontier.boundaries;
        let answer = apart::conclude(&system, None, &mut formulas, formula, options(), boundaries, outcome);
        assert_eq!(answer, Err(Error::Foreign));
    }
}
