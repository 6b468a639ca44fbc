//! `rwl check --layers`: the same verdicts as without layers, the numbers of the authors' tool,
//! checkpoints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::*;

fn spec(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs").join(name).with_extension("rwl");
    path.to_str().expect("a name in ASCII").to_owned()
}

/// Exit code, one object per formula, and what was said on standard error.
fn check(name: &str, args: &[&str]) -> (i32, Vec<Value>, String) {
    let output = rwl(&[&["check", &spec(name), "--format", "json"], args].concat(), "");
    let objects =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (output.status.code().expect("it ends"), objects, text(&output.stderr))
}

/// Names, verdicts and lengths of counterexamples.
fn verdicts(objects: &[Value]) -> Vec<(String, String, usize)> {
    let word = |object: &Value, key: &str| object[key].as_str().unwrap_or("-").to_owned();
    let length = |run: &Value, key: &str| run[key].as_array().map_or(0, Vec::len);
    let all = |object: &Value| {
        let run = &object["counterexample"];
        let steps = length(run, "prefix") + length(run, "cycle");
        (word(object, "name"), word(object, "verdict"), steps)
    };
    objects.iter().map(all).collect()
}

#[test]
fn layers_change_no_verdict() {
    let cases = [
        ("tas", "FTAS-CHECK", "2 2"),
        ("qlock", "FQLOCK-CHECK", "3 1 2"),
        ("km", "KM-CHECK", "2 2"),
        ("km", "FKM-CHECK", "auto"),
        ("abp", "ABP-CHECK", "4"),
        ("philosophers", "ORDERED-CHECK", "auto"),
        ("ss-qlock", "SS-QLOCK-CHECK", "1 1 1"),
        ("token-ring", "MENDED-RING-CHECK", "20"),
        ("peterson", "PETERSON-CHECK", "auto"),
    ];
    for (index, (name, module, layers)) in cases.into_iter().enumerate() {
        let (code, whole, errors) = check(name, &["--module", module]);
        assert_eq!(errors, "");
        let threads = ["1", "2", "4"][index % 3];
        let args = ["--module", module, "--layers", layers, "--threads", threads];
        let (layered_code, layered, errors) = check(name, &args);
        assert_eq!(errors, "");
        assert_eq!(code, layered_code, "{module}");
        assert!(!whole.is_empty());
        assert_eq!(verdicts(&whole), verdicts(&layered), "{module}, layers {layers}");
    }
}

#[test]
fn the_numbers_of_the_authors_tool() {
    for (name, layers, processes, expected) in [
        ("tas", "2 2", 2, [4, 2, 1]),
        ("tas", "2 2", 5, [19, 55, 20]),
        ("tas", "2 2", 6, [26, 105, 35]),
        ("tas", "2 2", 7, [34, 182, 56]),
        ("tas", "2 2", 8, [43, 294, 84]),
        ("tas", "3 3", 5, [35, 95, 28]),
        ("tas", "3 3", 6, [56, 226, 71]),
        ("tas", "3 3", 7, [84, 483, 156]),
        ("qlock", "2 2", 5, [33, 200, 124]),
        ("qlock", "2 2", 6, [46, 510, 285]),
        ("qlock", "2 2", 7, [61, 1092, 546]),
        ("qlock", "2 2", 8, [78, 2072, 931]),
    ] {
        let (module, init) = (format!("{}-CHECK", name.to_uppercase()), format!("init{processes}"));
        let args = ["--module", &module, "--init", &init, "--formula", "lofree", "--layers", layers];
        let (code, objects, _) = check(name, &args);
        assert_eq!(code, 0);
        assert_eq!(numbers(&objects[0]["layers"][1]), expected, "{module} {init}, layers {layers}");
    }
}

/// Node sets, states and counterexample states of a layer.
fn numbers(layer: &Value) -> [u64; 3] {
    ["spaces", "states", "counterexample_states"].map(|key| layer[key].as_u64().unwrap_or(u64::MAX))
}

/// Which of two sub-state spaces are one does not depend on who went on with the check.
#[test]
fn numbers_are_the_same_after_a_crash() {
    let directory = std::env::temp_dir().join(format!("rwl-crashed-{}", std::process::id()));
    let place = directory.to_str().expect("a name in ASCII");
    let args = ["--module", "TAS-CHECK", "--init", "init5", "--formula", "lofree", "--layers", "3 3"];
    let args = [&args[..], &["--checkpoint", place]].concat();
    let (_, first, _) = check("tas", &args);
    for lost in [&["done"][..], &["done", "layer-002"]] {
        lost.iter().for_each(|name| std::fs::remove_file(directory.join(name)).expect("it was saved"));
        let (code, objects, errors) = check("tas", &[&args[..], &["--resume"]].concat());
        assert_eq!((code, &errors[..]), (0, ""));
        assert_eq!(objects[0]["layers"], first[0]["layers"], "without {lost:?}");
        assert_eq!(numbers(&objects[0]["layers"][1]), [35, 95, 28]);
    }
    std::fs::remove_dir_all(&directory).expect("it was made");
}

/// The run across layers is the one that the thesis shows.
#[test]
fn a_violation_is_shown_from_the_start() {
    let output =
        rwl(&["check", &spec("tas"), "--module", "FTAS-CHECK", "--formula", "lofree", "--layers", "2 2"], "");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("violated: lofree"), "{said}");
    for line in ["layer: depth 4, 4 sub-state spaces, 2 states, 1 counterexample state", "flaw", "start"] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn layers_in_json() {
    let (_, objects, _) = check("tas", &["--module", "TAS-CHECK", "--formula", "lofree", "--layers", "2 2"]);
    let layers = ["depth", "pairs", "states", "spaces", "counterexample_states"]
        .map(|key| [0, 1].map(|layer| objects[0]["layers"][layer][key].as_u64().unwrap_or_default()));
    assert_eq!(layers, [[2, 4], [4, 3], [3, 2], [1, 4], [1, 1]]);
    assert!(objects[0]["transitions"].as_u64() >= Some(20), "{}", objects[0]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let module = ["--module", "TAS-CHECK", "--formula", "lofree"];
    for (args, code) in [
        (&["--layers", "0"][..], 2),
        (&["--layers", "two"], 2),
        (&["--layers", "none", "--checkpoint", "here"], 2),
        (&["--layers", "2", "--resume"], 2),
        (&["--layers", "2", "--fair-weak", "waits"], 2),
        (&["--layers", "2", "--checkpoint", "/dev/null/here"], 2),
    ] {
        let (found, objects, errors) = check("tas", &[&module[..], args].concat());
        assert_eq!(found, code, "{args:?}: {errors}");
        // Wrong usage is told by an object.
        assert!(objects.iter().all(|object| object["code"] == "usage"), "{args:?}: {objects:?}");
        assert!(!errors.is_empty() != !objects.is_empty(), "{args:?}: {errors} {objects:?}");
    }
    let (code, objects, _) = check(
        "qlock",
        &["--module", "QLOCK-CHECK", "--init", "init7", "--layers", "2 2", "--memory", "100k"],
    );
    assert_eq!((code, objects[0]["verdict"].as_str()), (3, Some("unknown")));
}

#[test]
fn a_directory_that_cannot_be_used_is_told_once() {
    let module = ["--module", "TAS-CHECK", "--layers", "2"];
    let (code, objects, errors) = check("tas", &[&module[..], &["--checkpoint", "/dev/null/here"]].concat());
    assert_eq!((code, objects.len()), (2, 0));
    assert_eq!(errors.matches("\"severity\"").count(), 1, "{errors}");
    // One of two places is used already: none of them is.
    let directory = std::env::temp_dir().join(format!("rwl-half-used-{}", std::process::id()));
    let place = directory.to_str().expect("a name in ASCII");
    let own = directory.join("claim-2");
    std::fs::create_dir_all(&own).expect("writable");
    std::fs::write(own.join("layer-000"), "").expect("writable");
    let two = ["--formula", "lofree", "--formula", "mutex", "--checkpoint", place];
    let (code, objects, errors) = check("tas", &[&module[..], &two].concat());
    assert_eq!((code, objects.len()), (2, 0), "{objects:?}");
    assert!(errors.contains("claim-2: there is a checkpoint already"), "{errors}");
    std::fs::remove_dir_all(&directory).expect("it was made");
}

/// Levels of small systems repeat, so that layers of any depth end.
#[test]
fn layers_may_be_very_deep() {
    for (name, module) in [("tas", "FTAS-CHECK"), ("km", "KM-CHECK"), ("token-ring", "MENDED-RING-CHECK")] {
        let (_, whole, _) = check(name, &["--module", module]);
        let (_, layered, errors) = check(name, &["--module", module, "--layers", "1000000000 999999999"]);
        assert_eq!(errors, "");
        assert_eq!(verdicts(&whole), verdicts(&layered), "{module}");
    }
}

/// By default the whole is checked if it fits, and otherwise layers.
#[test]
fn what_does_not_fit_is_divided() {
    for (memory, is_divided) in [("8M", true), ("64M", false)] {
        let args = ["--module", "QLOCK-CHECK", "--init", "init7", "--formula", "lofree", "--memory", memory];
        let (code, objects, errors) = check("qlock", &args);
        assert_eq!((code, errors.as_str()), (0, ""));
        let layers = objects[0]["layers"].as_array().expect("a list");
        assert_eq!(!layers.is_empty(), is_divided, "{memory}");
    }
}

/// What fits into memory fits when it is saved and read again, too.
#[test]
fn a_large_boundary_is_saved_and_read_in_little_memory() {
    let directory = std::env::temp_dir().join(format!("rwl-large-boundary-{}", std::process::id()));
    let place = directory.to_str().expect("a name in ASCII");
    let args = ["--module", "QLOCK-CHECK", "--init", "init8", "--formula", "lofree", "--layers", "6"];
    let args = [&args[..], &["--threads", "1", "--memory", "30M"]].concat();
    let (code, plain, _) = check("qlock", &args);
    assert_eq!((code, &plain[0]["verdict"]), (0, &"holds".into()));
    let args = [&args[..], &["--checkpoint", place, "--resume"]].concat();
    for _ in 0..2 {
        let (code, objects, errors) = check("qlock", &args);
        assert_eq!((code, &objects[0]["verdict"]), (0, &"holds".into()), "{errors}");
        assert_eq!(objects[0]["layers"], plain[0]["layers"]);
        std::fs::remove_file(directory.join("done")).expect("it was saved");
    }
    // Where there is really no room, this is said as it is of every limit.
    let args: Vec<&str> = args.iter().map(|&arg| if arg == "30M" { "1M" } else { arg }).collect();
    let (code, objects, errors) = check("qlock", &args);
    assert_eq!((code, &objects[0]["verdict"]), (3, &"unknown".into()), "{errors}");
    assert!(objects[0]["reason"].as_str().is_some_and(|reason| reason.contains("memory")), "{}", objects[0]);
    std::fs::remove_dir_all(&directory).expect("it was made");
}

/// Killed at some moments, the check goes on and ends as if nothing had happened.
#[test]
fn a_check_survives_being_killed() {
    struct Directory(PathBuf);
    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
    let directory = Directory(std::env::temp_dir().join(format!("rwl-killed-{}", std::process::id())));
    let place = directory.0.to_str().expect("a name in ASCII");
    let args = ["--module", "QLOCK-CHECK", "--init", "init6", "--formula", "lofree", "--layers", "1 2"];
    let args = [&args[..], &["--checkpoint", place]].concat();
    for pause in [30, 120, 300] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rwl"))
            .args([&["check", &spec("qlock")], &args[..], &["--resume"]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        std::thread::sleep(Duration::from_millis(pause));
        // It may have ended.
        let _ = child.kill();
        child.wait().expect("a child");
    }
    // Where nothing was saved yet it begins.
    let (code, objects, errors) = check("qlock", &[&args[..], &["--resume"]].concat());
    assert_eq!((code, errors.contains("error")), (0, false), "{errors}");
    // Queues of three, of two with one inside, or of none with one gone.
    assert_eq!(objects[0]["layers"][1]["states"].as_u64(), Some(6 * 5 * 4 + 6 * 5 + 6));
    // What is done is not done again, also if other formulas were saved with it.
    let (_, objects, _) = check("qlock", &[&args[..], &["--resume"]].concat());
    assert_eq!((&objects[0]["verdict"], &objects[0]["states"]), (&"holds".into(), &0.into()));
    let two = directory.0.join("two");
    let two = ["--layers", "2 2", "--checkpoint", two.to_str().expect("a name in ASCII")];
    let formula = ["--module", "QLOCK-CHECK", "--init", "init4", "--formula", "lofree"];
    let (_, both, _) = check("qlock", &[&formula[..], &["--formula", "mutex"], &two].concat());
    assert_eq!(both.len(), 2);
    let (_, one, _) = check("qlock", &[&formula[..], &two, &["--resume"]].concat());
    assert_eq!((&one[0]["verdict"], &one[0]["states"]), (&both[0]["verdict"], &0.into()));
    assert_eq!(one[0]["layers"], both[0]["layers"]);
    // A formula that was not among them gets a place of its own, not another one's.
    let third = ["--formula", "lofree1", "--resume"];
    let (code, more, errors) = check("qlock", &[&formula[..], &third, &two].concat());
    assert_eq!((code, more.len()), (0, 2), "{errors}");
    assert_eq!((&more[0]["states"], &more[1]["verdict"]), (&0.into(), &"holds".into()));
    // Somebody else's checkpoint is refused.
    let other: Vec<&str> = args.iter().map(|&arg| if arg == "init6" { "init5" } else { arg }).collect();
    let (code, objects, errors) = check("qlock", &[&other[..], &["--resume"]].concat());
    assert_eq!((code, objects.len()), (2, 0));
    assert!(errors.contains("belongs to another"), "{errors}");
}
