//! The same search in two ways: on one thread and on many, by loops over soups and by the general
//! matcher, with the compressed store and with a plain set of terms.

use crate::support::*;

/// Commands on a specification; the answer without times.
fn answer(flags: &[&str], spec: &str, before: &str, commands: &str) -> String {
    let specs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    let input = format!("set show timing off .\n{before}\nload {}/{spec}\n{commands}\n", specs.display());
    let output = rwl(&[flags, &["-no-banner"]].concat(), &input);
    let errors = text(&output.stderr);
    assert!(errors.is_empty() && output.status.success(), "{spec}: {errors}");
    without_times(&text(&output.stdout))
}

#[test]
fn one_thread_and_many_agree() {
    // Levels must be large for threads to share them. Some searches end in the middle of one.
    let cases = [
        ("qlock.rwl", "search [1] in QLOCK : init7 =>* {(pc[p1]: cs) (pc[p2]: cs) OCs} ."),
        (
            "qlock.rwl",
            "search [3] in QLOCK : init7 =>* {(queue: (p7 | p6 | p5 | p4 | Q)) OCs} .\nshow path 900 .",
        ),
        (
            "tas.rwl",
            "search in TAS : init8 =>! {OCs} .\nsearch [2, 12] in TAS : init8 =>+ {(cnt: 5) (pc[p8]: cs) OCs} .",
        ),
        (
            "anderson.rwl",
            "search [2] in ANDERSON : init6 =>* {(cnt: 1) OCs} .\nshow path labels 2500 .\ncont 1 .",
        ),
        ("philosophers.rwl", "search [1] in PHILOSOPHERS-CHECK : init7 =>! S:State ."),
    ];
    for (spec, commands) in cases {
        let one = answer(&["--threads", "1"], spec, "", commands);
        assert!(one.contains("states: "), "{one}");
        for threads in ["2", "5"] {
            assert_eq!(one, answer(&["--threads", threads], spec, "", commands), "{spec}, {threads} threads");
        }
    }
}

/// Conditional rules that fail inside many states, in the same subterms.
const FAILING: &str = "set show timing off .
mod FAILING is
  protecting NAT .
  sorts Elem State .
  op c : Nat Nat -> Elem .
  op box : Elem -> Elem .
  op {_,_,_} : Elem Elem Elem -> State .
  vars N M : Nat . vars X Y Z : Elem .
  op slow : Nat -> Bool .
  eq slow(0) = true .
  eq slow(s N) = slow(N) .
  crl c(N, M) => c(s N, M) if N < 7 /\\ slow(N + M) .
  crl c(N, M) => c(N, s M) if M < 5 /\\ slow(M) .
  crl box(c(N, M)) => c(N, 0) if M > 8 /\\ slow(N) .
endm
search [4] { box(c(0, 0)), c(1, 1), c(2, 1) } =>* { X, c(6, 5), c(7, 4) } .
cont 2 .
search { box(c(0, 0)), c(1, 1), c(2, 1) } =>! X:State .
";

#[test]
fn rules_that_fail_inside_states_count_once_on_any_number_of_threads() {
    let run = |threads: &str| text(&rwl(&["--threads", threads, "-no-banner"], FAILING).stdout);
    let one = run("1");
    assert!(one.contains("\nstates: 50400  rewrites: 2030240\n"), "{one}");
    for threads in ["2", "5"] {
        assert_eq!(one, run(threads), "{threads} threads");
    }
}

#[test]
fn loops_over_soups_and_the_general_matcher_agree() {
    // Code that could be traced matches everything by the general matcher.
    let traced =
        "set trace on .\nset trace rl off .\nset trace eq off .\nset trace mb off .\nset trace sd off .";
    let cases = [
        ("qlock.rwl", "search in QLOCK : init4 =>* S:Sys .\nshow search graph ."),
        ("tas.rwl", "search in TAS : init4 =>* S:Sys .\nshow search graph ."),
        ("anderson.rwl", "search in ANDERSON : init3 =>* S:Sys .\nshow search graph ."),
        ("mcs.rwl", "search in MCS : init2 =>* S:Sys .\nshow search graph ."),
        ("km.rwl", "search in KM : init5 =>* S:Sys .\nshow search graph ."),
        ("ticket.rwl", "search in TICKET : init3 =>* S:Sys .\nshow search graph ."),
        ("nspk.rwl", "search [400] in NSPK : init =>* S:Sys ."),
        ("intersection.rwl", "search [300] in INTERSECTION : init =>* S:Sys ."),
        ("abp.rwl", "search [300] in ABP : init =>* S:Sys ."),
    ];
    for (spec, commands) in cases {
        let loops = answer(&["--threads", "1"], spec, "", commands);
        assert!(loops.contains("Solution 9 "), "{loops}");
        assert_eq!(loops, answer(&["--threads", "1"], spec, traced, commands), "{spec}");
    }
}

#[test]
fn the_compressed_store_and_a_plain_set_agree() {
    // Explorations of `=>` conditions keep their states as terms in a plain set, in the same order.
    let cases = [
        ("qlock.rwl", "QLOCK", "init4"),
        ("tas.rwl", "TAS", "init5"),
        ("anderson.rwl", "ANDERSON", "init3"),
        ("mcs.rwl", "MCS", "init2"),
        ("km.rwl", "KM", "init6"),
        ("ticket.rwl", "TICKET", "init3"),
    ];
    for (spec, module, init) in cases {
        let values = |commands: String| -> Vec<String> {
            let answer = answer(&["--threads", "1", "-no-wrap"], spec, "", &commands);
            answer.lines().filter(|line| line.starts_with("S:Sys --> ")).map(str::to_owned).collect()
        };
        let store = values(format!("search in {module} : {init} =>* S:Sys ."));
        let plain = values(format!("match in {module} : 0 <=? 0 such that {init} => S:Sys ."));
        assert!(store.len() > 9, "{spec}");
        assert_eq!(store, plain, "{spec}");
    }
}
