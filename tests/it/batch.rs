//! `rwl batch`: plans, verdicts, reports, interrupts.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::*;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("rwl-batch-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("writable");
        std::fs::write(path.join("count.rwl"), COUNT).expect("writable");
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> &Folder {
        std::fs::write(self.0.join(name), text).expect("writable");
        self
    }

    fn batch(&self, args: &[&str]) -> Output {
        rwl_in(&self.0, &[&["batch"], args].concat(), "")
    }

    /// Exit code and one object per claim.
    fn json(&self, args: &[&str]) -> (i32, Vec<Value>) {
        let output = self.batch(&[args, &["--format", "json"]].concat());
        assert_eq!(text(&output.stderr), "");
        (output.status.code().expect("it ends"), objects(&output.stdout))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn objects(bytes: &[u8]) -> Vec<Value> {
    text(bytes).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Counters: one to 9 that starts again, and one without end.
const COUNT: &str = "load model-checker
mod COUNT is
  including MODEL-CHECKER .
  protecting NAT .
  ops at on : Nat -> State [ctor] .
  op low : -> Prop [ctor] .
  op zero : -> Prop [ctor] .
  ops init endless : -> State .
  var N : Nat .
  eq init = at(0) .
  eq endless = on(0) .
  rl [up] : at(N) => at(s N rem 10) .
  rl [on] : on(N) => on(s N) .
  eq at(N) |= low = N < 10 .
  eq on(N) |= low = N < 1000000000 .
  eq at(N) |= zero = N == 0 .
  eq on(N) |= zero = N == 0 .
endm
";

/// Claims with these names, initial states, formulas and further lines.
fn plan(claims: &[(&str, &str, &str, &str)]) -> String {
    let claim = |(name, init, formula, more): &(&str, &str, &str, &str)| {
        format!("[[claim]]\nname = \"{name}\"\ninit = \"{init}\"\nformula = \"{formula}\"\n{more}\n")
    };
    format!("spec = \"count.rwl\"\n{}", claims.iter().map(claim).collect::<String>())
}

const HOLDS: (&str, &str, &str, &str) = ("holds", "init", "[] <> zero", "");
const VIOLATED: (&str, &str, &str, &str) = ("violated", "init", "<> [] zero", "");
const UNKNOWN: (&str, &str, &str, &str) = ("unknown", "endless", "[] low", "memory = \"20M\"");

#[test]
fn verdicts_in_the_order_of_the_plan() {
    let folder = Folder::new("verdicts");
    folder.file("plan.toml", &plan(&[UNKNOWN, VIOLATED, HOLDS]));
    for threads in ["1", "2", "5"] {
        let (code, objects) = folder.json(&["plan.toml", "--threads", threads]);
        let word = |object: &Value, key: &str| object[key].as_str().unwrap_or("-").to_owned();
        for object in &objects {
            assert_eq!(object["name"], object["verdict"], "{object}");
            assert_eq!((&object["rwl"], word(object, "module")), (&1.into(), "COUNT".to_owned()));
        }
        let names: Vec<String> = objects.iter().map(|object| word(object, "name")).collect();
        assert_eq!(names, ["unknown", "violated", "holds"]);
        assert_eq!(code, 1);
        assert!(word(&objects[0], "reason").starts_with("the memory limit was reached"), "{}", objects[0]);
        assert_eq!(objects[1]["counterexample"]["cycle"].as_array().map(Vec::len), Some(10));
        assert_eq!(objects[2]["states"], 10);
    }
}

#[test]
fn exit_codes() {
    let folder = Folder::new("codes");
    let check = |claims: &[(&str, &str, &str, &str)], expected: i32| {
        folder.file("plan.toml", &plan(claims));
        let (code, objects) = folder.json(&["plan.toml"]);
        assert_eq!((code, objects.len()), (expected, claims.len()), "{claims:?}");
    };
    let with = |(name, init, formula, more): (&'static str, &'static str, &'static str, &'static str),
                expect: &'static str| {
        (name, init, formula, if more.is_empty() { expect } else { UNKNOWN_AS_EXPECTED })
    };
    const UNKNOWN_AS_EXPECTED: &str = "memory = \"20M\"\nexpect = \"unknown\"";
    check(&[HOLDS], 0);
    check(&[UNKNOWN, HOLDS], 3);
    check(&[with(HOLDS, "expect = \"holds\""), with(VIOLATED, "expect = \"violated\"")], 0);
    check(&[with(HOLDS, "expect = \"violated\"")], 1);
    check(&[with(VIOLATED, "expect = \"holds\"")], 1);
    check(&[with(HOLDS, "expect = \"unknown\"")], 1);
    check(&[with(UNKNOWN, "")], 0);
    check(&[with(HOLDS, "expect = \"violated\""), UNKNOWN], 1);
}

#[test]
fn a_table_with_what_others_say() {
    let folder = Folder::new("table");
    let reference =
        "group = \"Counters\"\nreference = { Maude = \"1s\", \"other tool\" = 17 }\nlayers = [3, 3]";
    folder.file("plan.toml", &plan(&[("layers", "init", "[] <> zero", reference), VIOLATED]));
    let page = folder.0.join("report.html");
    let output = folder.batch(&["plan.toml", "--html", "report.html", "--output", "report.txt"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    let said = text(&output.stderr);
    assert!(said.contains("/2] holds     layers: ") && said.contains("/2] violated  violated: "), "{said}");
    let report = std::fs::read_to_string(folder.0.join("report.txt")).expect("written");
    let lines: Vec<Vec<&str>> = report.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["Counters"]);
    assert_eq!(lines[1].join(" "), "claim verdict states time cpu memory layers spaces | Maude other tool");
    assert_eq!(
        (lines[2][0], lines[2][1], &lines[2][7..]),
        ("layers", "holds", &["3", "3", "2", "|", "1s", "17"][..])
    );
    assert!(report.contains("\n    rwl check count.rwl --init init --formula '<> [] zero'\n"), "{report}");
    assert!(report.contains("\n1 hold, 1 violated, 0 unknown; "), "{report}");
    let page = std::fs::read_to_string(page).expect("written");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<h2>Counters</h2>"), "{page}");
    assert!(page.contains("<td class=\"reference\">17</td>") && page.contains("at(9)"), "{page}");
    for outside in ["http", "src=", "url(", "<script", "@import"] {
        assert!(!page.contains(outside), "a page that needs nothing else, not {outside}");
    }
    let output = folder.batch(&[
        "plan.toml",
        "--html",
        "no/such/folder.html",
        "--progress",
        "never",
        "--filter",
        "layers",
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: cannot write no/such/folder.html: "));
}

#[test]
fn mistakes_in_plans_are_explained_before_anything_runs() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let mut plans: Vec<PathBuf> = std::fs::read_dir(&directory)
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    plans.sort();
    assert!(plans.len() >= 7);
    let mut failures = String::new();
    for plan in plans {
        let name = plan.file_name().and_then(|name| name.to_str()).expect("a name");
        let output = rwl_in(&directory, &["batch", name], "");
        let (said, golden) = (text(&output.stderr), plan.with_extension("stderr"));
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{name}: {said}");
        if switch("RWL_BLESS_ERRORS") {
            std::fs::write(&golden, &said).expect("expectations are writable");
        }
        let differs = difference(&std::fs::read_to_string(&golden).unwrap_or_default(), &said);
        if !differs.is_empty() {
            failures.push_str(&format!("{name}\n{differs}\n"));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn mistakes_on_the_command_line() {
    let folder = Folder::new("command-line");
    folder.file("plan.toml", &plan(&[HOLDS])).file("report", "as before");
    for (args, message) in [
        (&["none.toml"][..], "cannot read none.toml"),
        (&["plan.toml", "--filter", "nothing"], "no claim has such a name"),
        (&["plan.toml", "plan.toml"], "another claim has this name"),
        (&["plan.toml", "none.toml", "--output", "report"], "cannot read none.toml"),
        (&["plan.toml", "--output", "no/such/folder"], "cannot write no/such/folder"),
    ] {
        let output = folder.batch(args);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{args:?}");
        assert!(text(&output.stderr).contains(message), "{args:?}: {}", text(&output.stderr));
    }
    assert_eq!(std::fs::read_to_string(folder.0.join("report")).expect("readable"), "as before");
    let output = folder.batch(&["none.toml", "--format", "json"]);
    assert_eq!(objects(&output.stderr)[0]["code"], "no-file");
}

#[test]
fn a_part_of_a_plan() {
    let folder = Folder::new("part");
    folder
        .file("a.toml", &plan(&[HOLDS, VIOLATED]))
        .file("b.toml", &plan(&[("other", "init", "<> zero", "")]));
    let output = folder.batch(&["a.toml", "b.toml", "--list", "--filter", "OTHER", "--filter", "hold"]);
    let expected = "  holds\n      rwl check count.rwl --init init --formula '[] <> zero'\n  \
                    other\n      rwl check count.rwl --init init --formula '<> zero'\n";
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), expected.to_owned()));
    let (code, objects) = folder.json(&["a.toml", "b.toml", "--filter", "OTHER", "--filter", "hold"]);
    let names: Vec<&str> = objects.iter().filter_map(|object| object["name"].as_str()).collect();
    assert_eq!((code, names), (0, vec!["holds", "other"]));
}

#[test]
fn layers_of_the_command_line_come_first() {
    let folder = Folder::new("layers");
    folder.file("plan.toml", &plan(&[("one", "init", "[] <> zero", "layers = [3, 3]")]));
    let depths = |args: &[&str]| -> Vec<u64> {
        let (code, objects) = folder.json(&[&["plan.toml"], args].concat());
        assert_eq!(code, 0);
        objects[0]["layers"].as_array().expect("a list").iter().filter_map(|l| l["depth"].as_u64()).collect()
    };
    assert_eq!(depths(&[]), [3, 6]);
    assert_eq!(depths(&["--layers", "2"]), [2]);
    assert_eq!(depths(&["--layers", "none"]), [0; 0]);
}

#[test]
fn both_methods_of_checking_in_layers() {
    let folder = Folder::new("methods");
    let claim = |name: &str, method: &str| {
        format!("[[claim]]\nname = \"{name}\"\ninit = \"init3\"\nlayers = [2, 2]\nmethod = \"{method}\"\n")
    };
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/tas.rwl");
    let head = format!("spec = {spec:?}\nmodule = \"FTAS-CHECK\"\nformula = \"lofree\"\n");
    folder.file("plan.toml", &(head + &claim("one", "native") + &claim("other", "revise")));
    let (code, objects) = folder.json(&["plan.toml"]);
    assert_eq!(
        (code, &objects[0]["verdict"], &objects[1]["verdict"]),
        (1, &"violated".into(), &"violated".into())
    );
}

#[test]
fn what_is_saved_is_gone_on_with() {
    let folder = Folder::new("saved");
    let claims =
        [("one", "init", "[] <> zero", "layers = [3, 3]"), ("two", "init", "<> [] zero", "layers = [2]")];
    folder.file("plan.toml", &plan(&claims));
    let args = ["plan.toml", "--checkpoint", "saved"];
    let (code, first) = folder.json(&args);
    assert_eq!(code, 1);
    assert_eq!(std::fs::read_dir(folder.0.join("saved")).expect("there").count(), 2);
    let (code, again) = folder.json(&[&args[..], &["--resume"]].concat());
    assert_eq!(code, 1);
    for (first, again) in first.iter().zip(&again) {
        assert_eq!((&first["verdict"], &first["layers"]), (&again["verdict"], &again["layers"]));
    }
    // A claim that has become another one does not go on with what the first has saved.
    folder.file("plan.toml", &plan(&[("one", "init", "[] low", "layers = [3, 3]")]));
    let (code, refused) = folder.json(&[&args[..], &["--resume"]].concat());
    assert_eq!((code, &refused[0]["verdict"]), (2, &"unknown".into()));
}

/// A batch that is running.
struct Batch(Option<Child>);

impl Batch {
    fn start(folder: &Folder, args: &[&str]) -> Batch {
        let mut command = Command::new(RWL);
        command.args([&["batch", "plan.toml", "--format", "json"], args].concat()).current_dir(&folder.0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Batch(Some(command.spawn().expect("it starts")))
    }

    fn id(&self) -> u32 {
        self.0.as_ref().expect("it runs").id()
    }

    /// Waits until so many claims run; their processes.
    fn processes(&self, count: usize) -> Vec<u32> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            let found = children(self.id());
            if found.len() == count {
                return found;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{count} claims do not run at the same time")
    }

    fn end(mut self) -> (Option<i32>, Vec<Value>) {
        let output = self.0.take().expect("it runs").wait_with_output().expect("readable");
        (output.status.code(), objects(&output.stdout))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The processes of a batch that check claims.
fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("readable").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let read = |number: u32, file: &str| {
        std::fs::read_to_string(format!("/proc/{number}/{file}")).unwrap_or_default()
    };
    let is_child = |number: &u32| {
        let stat = read(*number, "stat");
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after_name.split_whitespace().nth(1) == Some(&parent.to_string())
            && read(*number, "cmdline").contains("--progress")
    };
    numbers.filter(is_child).collect()
}

fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([name, &process.to_string()]).status().expect("kill starts");
    assert!(status.success());
}

const ENDLESS: [(&str, &str, &str, &str); 3] = [
    ("first", "endless", "[] low", ""),
    ("second", "endless", "[] low", ""),
    ("third", "endless", "[] low", ""),
];

#[test]
#[cfg(target_os = "linux")]
fn two_run_at_once_and_an_interrupt_stops_all() {
    let folder = Folder::new("interrupt");
    folder.file("plan.toml", &plan(&ENDLESS));
    let batch = Batch::start(&folder, &["--threads", "2", "--memory", "8G"]);
    let processes = batch.processes(2);
    signal(batch.id(), "-INT");
    let (code, objects) = batch.end();
    let reasons: Vec<&str> = objects.iter().filter_map(|object| object["reason"].as_str()).collect();
    assert_eq!((code, reasons), (Some(3), vec!["interrupted", "interrupted", "interrupted before it began"]));
    assert!(processes.iter().all(|process| !Path::new(&format!("/proc/{process}")).exists()));
}

#[test]
#[cfg(target_os = "linux")]
fn a_claim_that_is_killed_takes_nothing_with_it() {
    let folder = Folder::new("killed");
    folder.file("plan.toml", &plan(&[ENDLESS[0], HOLDS]));
    let batch = Batch::start(&folder, &["--threads", "1", "--memory", "8G"]);
    signal(batch.processes(1)[0], "-KILL");
    let (code, objects) = batch.end();
    assert_eq!((code, &objects[0]["reason"]), (Some(3), &"its process was killed by signal 9".into()));
    assert_eq!(objects[1]["verdict"], "holds");
}

#[test]
#[cfg(target_os = "linux")]
fn claims_end_with_their_batch() {
    let folder = Folder::new("orphans");
    folder.file("plan.toml", &plan(&ENDLESS));
    let batch = Batch::start(&folder, &["--threads", "2", "--memory", "8G"]);
    let processes = batch.processes(2);
    signal(batch.id(), "-KILL");
    drop(batch);
    let is_alive = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // A process that has ended may wait for its new parent.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    let start = Instant::now();
    while processes.iter().any(is_alive) {
        assert!(start.elapsed() < Duration::from_secs(60), "they go on without it");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// One memory for all: claims that do not fit together wait for each other.
#[test]
#[cfg(target_os = "linux")]
fn claims_share_the_memory() {
    let folder = Folder::new("memory");
    let half = "memory = \"600M\"";
    let claims: Vec<_> =
        ENDLESS.iter().map(|(name, init, formula, _)| (*name, *init, *formula, half)).collect();
    folder.file("plan.toml", &plan(&claims));
    let batch = Batch::start(&folder, &["--threads", "3", "--memory", "1G"]);
    let alone = batch.processes(1);
    let line = std::fs::read_to_string(format!("/proc/{}/cmdline", alone[0])).expect("readable");
    let words: Vec<&str> = line.split('\0').collect();
    let value = |option: &str| words.iter().position(|word| *word == option).map(|place| words[place + 1]);
    // Alone it has all the threads.
    assert_eq!((value("--memory"), value("--threads")), (Some("629145600"), Some("3")));
    signal(batch.id(), "-INT");
    assert_eq!(batch.end().0, Some(3));
}

#[test]
fn the_time_is_for_all_claims() {
    let folder = Folder::new("time");
    folder.file("plan.toml", &plan(&ENDLESS));
    let (code, objects) = folder.json(&["plan.toml", "--threads", "1", "--time", "1", "--memory", "8G"]);
    let reasons: Vec<&str> = objects.iter().filter_map(|object| object["reason"].as_str()).collect();
    assert_eq!((code, reasons[0]), (3, "the time limit was reached"));
    assert_eq!(reasons[1..], ["the time limit was reached before it began"; 2]);
}

/// The smallest rows of the tables, with the thesis's numbers of sub-state spaces.
#[test]
fn the_smallest_rows_of_the_thesis() {
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    let rows = |filters: &[&str], more: &[&str]| {
        let filters: Vec<&str> = filters.iter().flat_map(|filter| ["--filter", filter]).collect();
        rwl_in(&specs, &[&["batch", "thesis.toml"], more, &filters[..]].concat(), "")
    };
    let output = rows(
        &[
            "6.3 TAS 2",
            "6.3 TAS 3",
            "6.3 TAS 4",
            "6.3 TAS 5",
            "6.3 TAS 6",
            "6.3 MCS 2",
            "6.3 MCS 3",
            "7.1 Anderson",
        ],
        &["--format", "json", "--memory", "2G"],
    );
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    let objects = objects(&output.stdout);
    assert_eq!(objects.len(), 9);
    for object in objects {
        assert_eq!(object["verdict"], "holds", "{object}");
        let layers = object["layers"].as_array().expect("a list");
        let starts = layers[..layers.len() - 1].iter().filter_map(|layer| layer["states"].as_u64());
        if let Some(theirs) = object["reference"]["sub-state spaces"].as_str() {
            assert_eq!((1 + starts.sum::<u64>()).to_string(), theirs, "{}", object["name"]);
        }
    }
    let list = |filter: &str| text(&rows(&[filter], &["--list", "--format", "json"]).stdout).lines().count();
    assert_eq!(
        ["6.1", "6.2", "6.3", "7.1", "7.2"].map(|table| list(&format!("table {table}:"))),
        [8, 8, 15, 4, 4]
    );
}
