//! The commands for checking in layers, in files and on standard input, with the answers and numbers
//! of the authors' tool. (`repl.rs` types them at the prompt, `tests/mistakes/layers-wrong.maude` has
//! what can be wrong with them.)

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::*;

fn specs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("specs")
}

/// What commands on standard input answer after a spec was loaded, and the exit code.
fn session(spec: &str, commands: &str) -> (String, i32) {
    let output = rwl_in(&specs(), &["-batch", "-no-wrap", &format!("{spec}.rwl")], commands);
    assert_eq!(text(&output.stderr), "", "{commands}");
    (answers(&output), output.status.code().expect("it ends"))
}

/// What was answered, without the farewell.
fn answers(output: &Output) -> String {
    let said = text(&output.stdout);
    said.strip_suffix("Bye.\n").unwrap_or(&said).to_owned()
}

/// Node sets, states and counterexample states that were told last.
fn numbers(said: &str) -> [u64; 3] {
    ["numberOfNodeSet: ", "numberOfStates: ", "numberOfCxStates: "].map(|field| {
        let (_, rest) = said.rsplit_once(field).unwrap_or_else(|| panic!("no {field}in {said}"));
        rest.lines().next().and_then(|number| number.parse().ok()).expect("a number")
    })
}

/// `RWL_BLESS_SESSIONS=1` rewrites the expectation; the difference is reviewed like code.
#[test]
fn sessions_of_the_authors_read_as_theirs() {
    let output = rwl_in(&specs(), &["run", "-no-wrap", "sessions.rwl"], "");
    assert_eq!((text(&output.stderr).as_str(), output.status.code()), ("", Some(1)));
    let (said, golden) = (text(&output.stdout), specs().join("sessions.expected"));
    if switch("RWL_BLESS_SESSIONS") {
        std::fs::write(&golden, &said).expect("expectations are writable");
    }
    let differs = difference(&std::fs::read_to_string(&golden).unwrap_or_default(), &said);
    assert!(differs.is_empty(), "{differs}");
}

#[test]
fn the_numbers_of_the_authors_tool() {
    let cases = [("tas", "TAS-CHECK", "init5", [35, 95, 28]), ("tas", "TAS-CHECK", "init6", [56, 226, 71])];
    for (spec, module, init, expected) in cases {
        let commands = format!(
            "(initialize[{module}, {init}, lofree1, lofree2, OComp, Soup{{OComp}}])\n(layerCheck 3)\n\
             (layerCheck 3)\n(analyze)\n(check 3 3)\n"
        );
        let (said, code) = session(spec, &commands);
        let (analyzed, _) = said.rsplit_once("numberOfNodeSet").expect("it is told twice");
        assert_eq!((numbers(analyzed), numbers(&said), code), (expected, expected, 0), "{said}");
    }
    let cases = [
        ("tas", "TAS-CHECK", "init2", [4, 2, 1]),
        ("tas", "TAS-CHECK", "init5", [19, 55, 20]),
        ("tas", "TAS-CHECK", "init6", [26, 105, 35]),
        ("tas", "TAS-CHECK", "init7", [34, 182, 56]),
        ("tas", "TAS-CHECK", "init8", [43, 294, 84]),
        ("qlock", "QLOCK-CHECK", "init5", [33, 200, 124]),
        ("qlock", "QLOCK-CHECK", "init6", [46, 510, 285]),
        ("qlock", "QLOCK-CHECK", "init7", [61, 1092, 546]),
    ];
    for (spec, module, init, expected) in cases {
        let commands =
            format!("(initialize[{module}, {init}, lofree1, lofree2, OComp, Soup{{OComp}}])\n(check 2 2)\n");
        let (said, code) = session(spec, &commands);
        assert!(said.ends_with("\nCheck: success\n"), "{said}");
        assert_eq!((numbers(&said), code), (expected, 0), "{module} {init}");
    }
}

/// The classes of formulas with their forms of `initialize`; where each holds and where it does not,
/// which the check without layers says as well.
#[test]
fn every_class_of_properties() {
    const SORTS: &str = "OComp, Soup{OComp}";
    let cases = [
        // form, class, formulas; spec, module and verdict
        ("eventual", "null, e-prop", "e-prop", "tas", "TAS-CHECK", true),
        ("eventual", "null, inCs1", "<> inCs1", "tas", "TAS-CHECK", true),
        ("eventual", "null, lofree2", "lofree2", "qlock", "FQLOCK-CHECK", false),
        ("leads-to", "lofree1, lofree2", "lofree1", "qlock", "QLOCK-CHECK", true),
        ("leads-to", "inWs2, inCs2", "inWs2 |-> inCs2", "qlock", "QLOCK-CHECK", true),
        ("leads-to", "inWs1, inCs1", "inWs1 |-> inCs1", "tas", "FTAS-CHECK", false),
        ("leads-to", "inWs1 |-> ~ inWs1, <> ~ inWs1", "inWs1 |-> ~ inWs1", "tas", "FTAS-CHECK", false),
        ("conditional stable", "cstable", "cstable", "km", "KM-CHECK", true),
        ("conditional stable", "cstable", "cstable", "km", "FKM-CHECK", false),
        ("conditional stable", "<> [] legal", "<> [] legal", "km", "FKM-CHECK", false),
        ("until", "(~ inCs1) U inWs1", "(~ inCs1) U inWs1", "tas", "TAS-CHECK", true),
        ("until", "(~ inWs2) U inCs1", "(~ inWs2) U inCs1", "tas", "TAS-CHECK", false),
        ("until stable", "illegal U [] legal", "illegal U [] legal", "km", "KM-CHECK", true),
        ("until stable", "illegal U [] legal", "illegal U [] legal", "km", "FKM-CHECK", false),
        ("any formula", "mutex", "mutex", "qlock", "QLOCK-CHECK", true),
        ("any formula", "[] (inWs1 -> O inCs1)", "[] (inWs1 -> O inCs1)", "qlock", "QLOCK-CHECK", false),
        (
            "any formula",
            "([] <> inWs1) \\/ <> [] ~ inWs1",
            "([] <> inWs1) \\/ <> [] ~ inWs1",
            "tas",
            "FTAS-CHECK",
            true,
        ),
    ];
    for (class, formulas, whole, spec, module, holds) in cases {
        let sorts = if class == "any formula" { String::new() } else { format!(", {SORTS}") };
        for layers in ["1", "2 2", "auto"] {
            let commands = format!("(initialize[{module}, init, {formulas}{sorts}])\n(check {layers})\n");
            let (said, code) = session(spec, &commands);
            let shown = said.lines().find_map(|line| line.strip_prefix("  property: ")).expect("it is told");
            assert!(shown.ends_with(&format!(" ({class})")), "{shown}");
            let verdict = if holds { "\nCheck: success\n" } else { "\nCheck: failure\nFormula: " };
            assert!(said.contains(verdict), "{commands}{said}");
            assert_eq!((code, said.contains("\nCx: counterexample(")), (i32::from(!holds), !holds));
        }
        let spec = specs().join(spec).with_extension("rwl");
        let args = ["check", spec.to_str().expect("ASCII"), "--module", module, "--formula", whole];
        assert_eq!(rwl(&args, "").status.code(), Some(i32::from(!holds)), "{module} {whole}");
    }
}

#[test]
fn layers_go_on_where_the_last_one_ended() {
    let initialize = "(initialize[QLOCK-CHECK, init5, lofree1, lofree2, OComp, Soup{OComp}])\n";
    let (said, code) =
        session("qlock", &format!("{initialize}layerCheck 2\n(layerCheck 2) .\nlastCheck .\n"));
    let parts: Vec<&str> = said.split("Analyzer:\n").collect();
    assert_eq!((parts.len(), code), (4, 0), "{said}");
    let starts = ["  currentDepth: 2\n  depthList: 2\n", "  currentDepth: 4\n  depthList: 2 2\n"];
    assert!(parts[1].starts_with(starts[0]) && !parts[1].contains("Check:"), "{said}");
    assert!(parts[2].starts_with(starts[1]) && !parts[2].contains("Check:"), "{said}");
    assert!(parts[3].starts_with(starts[1]) && parts[3].ends_with("\nCheck: success\n"), "{said}");
    assert_eq!(numbers(&said), [33, 200, 124]);
    // `check` begins anew; nothing but the initial state is there at first.
    let (said, _) =
        session("qlock", &format!("{initialize}(analyze)\n(layerCheck 3)\n(check 2 2)\n(analyze)\n"));
    assert!(said.contains("  currentDepth: 0\n  depthList: nil\n  numberOfNodeSet: 1\n"), "{said}");
    assert!(said.contains("  depthList: 3\n") && said.ends_with("  numberOfCxStates: 124\n"), "{said}");
    assert_eq!(numbers(&said), [33, 200, 124]);
    // Deeper after a check; a violation is told as soon as it is seen.
    let violated = "initialize[FQLOCK-CHECK, init3, [] ~ inCs1]\n";
    let (said, code) = session("qlock", &format!("{violated}layerCheck 1\nshowCx\nlayerCheck 3\nshowCx\n"));
    assert_eq!(code, 1);
    assert!(said.contains("No counterexample: the final layer has not been checked."), "{said}");
    assert!(said.contains("\nCheck: failure\nFormula: []~ inCs1\nCx: counterexample("), "{said}");
    assert!(said.ends_with("|= inCs1\n") || said.contains("A run of "), "{said}");
}

/// The revised module has the bound and the counterexample states of the last layer.
#[test]
fn the_revised_module_follows() {
    let initialize = "(initialize[TAS-CHECK, init, lofree1, lofree2, OComp, Soup{OComp}])\n";
    let show = "show module TAS-CHECK-REVISE .\n";
    for (check, bound, states) in [("", 1, 0), ("(layerCheck 2)\n", 2, 1), ("(check 2 2)\n", 4, 1)] {
        let (said, _) = session("tas", &format!("{initialize}{check}{show}"));
        assert!(said.contains(&format!("\n  eq Bound = {bound} .\n")), "{said}");
        let is_found = |line: &&str| line.ends_with(&format!("depth: {bound}}} |= inCs1 = true ."));
        assert_eq!(said.lines().filter(is_found).count(), states, "{said}");
    }
}

/// Nothing is answered for what was asked before.
#[test]
fn a_failed_initialize_leaves_nothing_to_check() {
    let commands = "initialize[TAS-CHECK, init, lofree]\ninitialize[FTAS-CHECK, init, lofre]\ncheck 2\n";
    let output = rwl_in(&specs(), &["-batch", "-no-wrap", "tas.rwl"], commands);
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(!said.contains("\nCheck:"), "{said}");
    assert!(errors.contains("error[not-initialized]"), "{errors}");
}

#[test]
fn commands_may_span_lines_and_end_with_periods() {
    let commands = "(initialize[\n  TAS-CHECK,  *** a comment\n  init,\n  lofree1, lofree2,\n  OComp, \
        Soup{OComp}\n]) .\n(check\n 2\n 2)\ninitialize[TAS-CHECK,\n init, lofree] .\ncheck 2 2 .\n\
        (check 2 2 .)\nset-cores 1 check 2 2\nclear .\nred in NAT : 6 * 7 .\n";
    let output = rwl_in(&specs(), &["-batch", "-no-wrap", "tas.rwl"], commands);
    let (said, errors) = (answers(&output), text(&output.stderr));
    assert_eq!(said.matches("Initialization: success").count(), 2, "{said}");
    assert_eq!(said.matches("Check: success").count(), 3, "{said}{errors}");
    assert!(said.contains("Cleared.\n") && said.ends_with("result NzNat: 42\n"), "{said}");
    assert!(errors.contains("`set-cores` needs one number of threads"), "{errors}");
}

/// The same answer for any number of threads; counterexamples as well.
#[test]
fn cores_change_nothing() {
    let commands = |cores: usize| {
        format!(
            "set-cores {cores}\ninitialize[FQLOCK-CHECK, init4, lofree]\ncheck 1 2\nshowCx\n\
             initialize[QLOCK-CHECK, init5, lofree]\ncheck 2 2\n"
        )
    };
    let (one, code) = session("qlock", &commands(1));
    assert_eq!(code, 1);
    for cores in [2, 3, 8] {
        let (many, _) = session("qlock", &commands(cores));
        assert_eq!(many, one.replacen("Cores: 1", &format!("Cores: {cores}"), 1));
    }
}

#[test]
fn limits_are_told_and_nothing_holds() {
    let file = std::env::temp_dir().join(format!("rwl-session-{}.maude", std::process::id()));
    let module = "load model-checker\nmod UP is inc MODEL-CHECKER . pr NAT . sort Sys . subsort Sys < State . \
        op c : Nat -> Sys [ctor] . var N : Nat . rl c(N) => c(s N) . op ok : -> Prop . eq c(N) |= ok = true . \
        endm\ninitialize[UP, c(0), [] ok]\ncheck 2 2\nred in UP : 1 .\n";
    std::fs::write(&file, module).expect("writable");
    let name = file.to_str().expect("ASCII");
    for limit in [["--time", "0.3"], ["--memory", "30M"]] {
        let output = rwl(&["run", name, limit[0], limit[1]], "");
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("currentDepth: 4") && said.contains("Check: unknown\nReason: the "), "{said}");
        assert!(!said.contains("success\nCheck"), "{said}");
    }
    let _ = std::fs::remove_file(&file);
}

#[test]
fn as_json() {
    let commands = "initialize[TAS-CHECK, init, lofree]\nlayerCheck 2\ncheck 2 2\n";
    let output = rwl_in(&specs(), &["-batch", "--format", "json", "tas.rwl"], commands);
    let objects: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects.len(), 3);
    assert_eq!(
        (&objects[0]["command"], &objects[0]["formulaToCheck"]),
        (&"initialize".into(), &"lofree".into())
    );
    assert_eq!((&objects[1]["command"], &objects[1]["currentDepth"]), (&"analyze".into(), &2.into()));
    assert_eq!((&objects[2]["command"], &objects[2]["verdict"]), (&"check".into(), &"holds".into()));
    assert_eq!(objects[2]["layers"][1]["states"], 2);
}
