//! `rwl plan`, `rwl job run`, `rwl plan collect`: the same verdicts as `rwl check --layers`, whatever
//! happens to the files and to those who run the jobs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::*;

fn spec(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs").join(name).with_extension("rwl");
    path.to_str().expect("a name in ASCII").to_owned()
}

/// A directory that goes away.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rwl-jobs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("writable");
        Directory(path)
    }

    pub fn place(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a name in ASCII").to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Exit code, one object per line, and what was said on standard error.
pub fn json(args: &[&str]) -> (i32, Vec<Value>, String) {
    let output = rwl(&[args, &["--format", "json"]].concat(), "");
    let lines = text(&output.stdout);
    let objects = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (output.status.code().expect("it ends"), objects, text(&output.stderr))
}

/// Plans into a directory; gives the number of jobs.
pub fn plan(name: &str, args: &[&str], into: &str) -> (i32, usize) {
    let (code, objects, errors) = json(&[&["plan", &spec(name)], args, &["--into", into]].concat());
    assert_eq!(errors, "", "{name} {args:?}");
    let last = objects.last().expect("what was written");
    (code, last["jobs"].as_u64().expect("a number") as usize)
}

fn run(into: &str, number: usize) -> (i32, Value) {
    let (code, mut objects, errors) = json(&["job", "run", &format!("{into}/{number}.job")]);
    assert_eq!((errors.as_str(), objects.len()), ("", 1), "job {number}");
    (code, objects.remove(0))
}

/// What must not depend on who did the work.
fn essence(objects: &[Value]) -> Vec<[Value; 8]> {
    let keys = ["name", "module", "init", "formula", "verdict", "vacuous", "layers", "counterexample"];
    objects.iter().map(|object| keys.map(|key| object[key].clone())).collect()
}

#[test]
fn jobs_change_no_verdict() {
    let directory = Directory::new("verdicts");
    // Violated before the last boundary, violated behind it, held; one formula or all of a module.
    let cases: [(&str, &[&str], &str); 11] = [
        // Says nothing, and says something only far from the start.
        ("tas", &["--module", "TAS-CHECK", "--layers", "2", "--formula", "inWs1 /\\ inCs1 |-> inWs2"], "2"),
        ("tas", &["--module", "TAS-CHECK", "--layers", "1", "--formula", "inCs1 |-> ~ inCs1"], "2"),
        ("tas", &["--module", "FTAS-CHECK", "--layers", "2 2"], "3"),
        ("tas", &["--module", "TAS-CHECK", "--layers", "3", "--formula", "[] ~ inWs1"], "3"),
        ("tas", &["--module", "TAS-CHECK", "--layers", "2", "--formula", "[] <> inCs1"], "1"),
        ("qlock", &["--module", "FQLOCK-CHECK", "--layers", "3 1 2"], "5"),
        ("km", &["--module", "FKM-CHECK", "--layers", "2 2"], "2"),
        ("abp", &["--module", "ABP-CHECK", "--layers", "4"], "4"),
        ("anderson", &["--formula", "lofree", "--layers", "1"], "7"),
        ("philosophers", &["--module", "ORDERED-CHECK", "--layers", "5 5", "--threads", "1"], "3"),
        ("token-ring", &["--module", "MENDED-RING-CHECK", "--layers", "20"], "16"),
    ];
    let mut early = 0;
    for (index, (name, args, jobs)) in cases.into_iter().enumerate() {
        let into = directory.place(&index.to_string());
        let (expected_code, expected, _) = json(&[&["check", &spec(name)], args].concat());
        let (_, count) = plan(name, &[args, &["--jobs", jobs]].concat(), &into);
        early += usize::from(count == 0);
        for number in (1..=count).rev() {
            let (code, object) = run(&into, number);
            assert_eq!(code, i32::from(object["verdict"] == "violated"));
        }
        let (code, objects, errors) = json(&["plan", "collect", &into]);
        assert_eq!((errors.as_str(), code), ("", expected_code), "{name} {args:?}");
        assert_eq!(essence(&objects), essence(&expected), "{name} {args:?}");
    }
    assert!(early > 0, "some need no jobs");
}

/// A specification in several files, planned here, run there without these files.
#[test]
fn a_job_needs_nothing_but_itself() {
    let here = Directory::new("here");
    let there = Directory::new("there");
    fs::create_dir_all(here.0.join("parts")).unwrap();
    fs::write(
        here.0.join("parts/ring.maude"),
        "mod RING is pr NAT . sort S . op at : Nat -> S [ctor] . op init : -> S . eq init = at(0) .\n\
         var N : Nat . crl [up] : at(N) => at(N + 1) if N < 9 . rl [back] : at(9) => at(4) .\n\
         rl [stay] : at(7) => at(7) . endm\n",
    )
    .unwrap();
    fs::write(
        here.0.join("main.maude"),
        "load model-checker\nload parts/ring\nmod RING-CHECK is pr RING . inc MODEL-CHECKER . subsort S < State .\n\
         op high : -> Prop . var N : Nat . eq at(N) |= high = N > 8 . endm\n",
    )
    .unwrap();
    let args = ["--formula", "[] <> high", "--layers", "2", "--jobs", "1"];
    let at = |place: &Directory, args: &[&str]| {
        let home = there.0.join("nobody");
        let mut command = Command::new(RWL);
        command.args(args).current_dir(&place.0).env("HOME", home);
        super::support::run(&mut command, "", Duration::from_secs(60)).expect("it ends")
    };
    let (code, expected) = {
        let output =
            at(&here, &["check", "main", "--formula", "[] <> high", "--layers", "2", "--format", "json"]);
        (output.status.code(), serde_json::from_str::<Value>(&text(&output.stdout)).expect("JSON"))
    };
    assert_eq!(code, Some(1));
    let output = at(&here, &[&["plan", "main"], &args[..], &["--into", "jobs"]].concat());
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    // The files are gone where the job runs.
    fs::copy(here.0.join("jobs/1.job"), there.0.join("1.job")).unwrap();
    fs::rename(here.0.join("main.maude"), here.0.join("gone")).unwrap();
    fs::remove_dir_all(here.0.join("parts")).unwrap();
    let output = at(&there, &["job", "run", "1.job"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), ""));
    fs::rename(there.0.join("1.result"), here.0.join("jobs/1.result")).unwrap();
    fs::remove_file(here.0.join("jobs/1.job")).unwrap();
    let output = at(&there, &["plan", "collect", &here.place("jobs"), "--format", "json"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), ""));
    let found: Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
    assert_eq!(essence(&[found]), essence(&[expected]));
}

const QLOCK: [&str; 6] = ["--module", "QLOCK-CHECK", "--init", "init5", "--formula", "lofree"];

#[test]
fn what_is_missing_is_never_held() {
    let directory = Directory::new("missing");
    let into = directory.place("jobs");
    let (code, count) = plan("qlock", &[&QLOCK[..], &["--layers", "2 2", "--jobs", "3"]].concat(), &into);
    assert_eq!((code, count), (0, 3));
    let collect = || {
        let (code, objects, errors) = json(&["plan", "collect", &into]);
        assert_eq!((errors.as_str(), objects.len()), ("", 1));
        (code, objects[0]["verdict"].clone(), objects[0]["reason"].as_str().unwrap_or("").to_owned())
    };
    assert_eq!(collect(), (3, "unknown".into(), "3 of 3 jobs have no result: 1, 2, 3".to_owned()));
    run(&into, 1);
    run(&into, 3);
    assert_eq!(collect(), (3, "unknown".into(), "1 of 3 jobs have no result: 2".to_owned()));
    // A limit is no answer either, and nothing that stays.
    let job = format!("{into}/2.job");
    let (code, objects, _) = json(&["job", "run", &job, "--memory", "1k"]);
    assert_eq!((code, &objects[0]["verdict"]), (3, &"unknown".into()));
    assert!(directory.0.join("jobs/2.unknown").exists() && !directory.0.join("jobs/2.result").exists());
    let (code, verdict, reason) = collect();
    assert_eq!((code, verdict), (3, "unknown".into()));
    assert!(reason.starts_with("job 2: "), "{reason}");
    assert_eq!(run(&into, 2).0, 0);
    assert!(!directory.0.join("jobs/2.unknown").exists());
    assert_eq!(collect().0, 0);
    // What is done is not done again, nor forgotten where there is less room.
    let before = fs::read(directory.0.join("jobs/2.result")).unwrap();
    let (code, objects, _) = json(&["job", "run", &job, "--memory", "1k"]);
    assert_eq!((code, &objects[0]["done_before"]), (0, &true.into()));
    assert_eq!(fs::read(directory.0.join("jobs/2.result")).unwrap(), before);
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let directory = Directory::new("damaged");
    let (one, other) = (directory.place("one"), directory.place("other"));
    let layers = ["--layers", "2", "--jobs", "2"];
    plan("qlock", &[&QLOCK[..], &layers[..]].concat(), &one);
    let fair = ["--module", "FQLOCK-CHECK", "--init", "init5", "--formula", "lofree"];
    plan("qlock", &[&fair[..], &layers[..]].concat(), &other);
    for into in [&one, &other] {
        run(into, 1);
        run(into, 2);
    }
    let refused = |args: &[&str], part: &str| {
        let (code, objects, errors) = json(args);
        assert_eq!((code, objects.len()), (2, 0), "{args:?}: {errors}");
        assert!(errors.contains(part), "{args:?}: {errors}");
    };
    let collect = ["plan", "collect", one.as_str()];
    let exchange = |name: &str, bytes: &[u8], check: &dyn Fn()| {
        let path = directory.0.join("one").join(name);
        let good = fs::read(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        check();
        fs::write(&path, good).unwrap();
    };
    let read = |name: &str| fs::read(directory.0.join(name)).unwrap();
    let job = format!("{one}/1.job");
    for (name, args) in [
        ("one/1.result", &collect[..]),
        ("one/plan.json", &collect[..]),
        ("one/1.job", &["job", "run", &job]),
    ] {
        let good = read(name);
        let short = name.strip_prefix("one/").unwrap();
        for (place, part) in [
            (0, "no file of a plan"),
            (20, "damaged"),
            (good.len() / 2, "damaged"),
            (good.len() - 1, "damaged"),
        ] {
            let mut bad = good.clone();
            bad[place] ^= 4;
            exchange(short, &bad, &|| refused(args, part));
        }
        exchange(short, &good[..good.len() / 3], &|| refused(args, "damaged"));
        exchange(short, b"", &|| refused(args, "no file of a plan"));
        exchange(short, b"{\"hello\": 1}\n", &|| refused(args, "no file of a plan"));
    }
    // The results of other jobs, of this plan and of another one.
    exchange("1.result", &read("one/2.result"), &|| refused(&collect, "another job"));
    exchange("1.result", &read("other/1.result"), &|| refused(&collect, "another job"));
    exchange("1.result", &read("one/1.job"), &|| refused(&collect, "this is a job, not a result"));
    refused(&["job", "run", &format!("{one}/plan.json")], "this is a plan, not a job");
    refused(&["job", "run", &format!("{one}/9.job")], "there is no file");
    refused(&["plan", "collect", &directory.place("nowhere")], "there is no file");
    let file = spec("qlock");
    let again = [&["plan", file.as_str()], &QLOCK[..], &["--into", &one]].concat();
    refused(&again, "there is a plan already");
    // Those who run a job again mend it.
    fs::write(directory.0.join("one/1.result"), "nothing").unwrap();
    let (code, objects, errors) = json(&["job", "run", &job]);
    assert_eq!((code, objects[0]["done_before"].as_bool()), (0, Some(false)));
    assert!(errors.contains("it will be replaced"), "{errors}");
    assert_eq!(json(&collect).0, 0);
}

#[test]
fn what_cannot_be_planned_is_said() {
    let directory = Directory::new("mistakes");
    let into = directory.place("jobs");
    let file = spec("tas");
    let cases: [&[&str]; 8] = [
        &["plan"],
        &["plan", &file],
        &["plan", &file, "--into", &into, "--layers", "0"],
        &["plan", &file, "--into", &into, "--jobs", "2", "--pairs-per-job", "2"],
        &["plan", &file, "--into", &into, "--formula", "nonsense"],
        &["plan", &file, "--into", "/dev/null/here"],
        &["plan", "nowhere", "--into", &into],
        &["job", "run"],
    ];
    for args in cases {
        let (code, objects, errors) = json(args);
        assert_eq!(code, 2, "{args:?}: {errors}");
        // What is wrong with the arguments is an answer.
        match &objects[..] {
            [object] => assert_eq!((&object["code"], errors.as_str()), (&"usage".into(), "")),
            _ => assert!(objects.is_empty() && !errors.is_empty(), "{args:?}"),
        }
    }
    assert!(!Path::new(&into).join("plan.json").exists());
}

fn spawn(into: &str, number: usize) -> Child {
    Command::new(RWL)
        .args(["job", "run", &format!("{into}/{number}.job")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// Two at a time, killed at some moments, again: nothing is broken, and the end is the same.
#[test]
fn jobs_survive_being_killed() {
    let directory = Directory::new("killed");
    let into = directory.place("jobs");
    let (_, count) =
        plan("qlock", &[&QLOCK[..], &["--layers", "2 1", "--pairs-per-job", "60"]].concat(), &into);
    assert!(count > 1);
    for pause in [0, 3, 10, 20, 35, 60, 90, 130] {
        let mut children: Vec<Child> =
            (1..=count).chain(1..=count).map(|number| spawn(&into, number)).collect();
        std::thread::sleep(Duration::from_millis(pause));
        for child in &mut children {
            // It may have ended.
            let _ = child.kill();
            child.wait().expect("a child");
        }
        let (code, objects, errors) = json(&["plan", "collect", &into]);
        assert_eq!(errors, "", "what is there is in order");
        let verdict = objects[0]["verdict"].as_str();
        assert!(matches!((code, verdict), (0, Some("holds")) | (3, Some("unknown"))), "{verdict:?}");
    }
    let mut children: Vec<Child> = (1..=count).chain(1..=count).map(|number| spawn(&into, number)).collect();
    for child in &mut children {
        assert_eq!(child.wait().expect("a child").code(), Some(0));
    }
    let (code, objects, errors) = json(&["plan", "collect", &into]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(objects[0]["layers"][1]["states"].as_u64(), Some(5 * 4 * 3 + 5 * 4 + 5));
}

/// One job for each claim, and the same report as from `rwl batch`.
#[test]
fn a_batch_as_jobs() {
    let directory = Directory::new("batch");
    let (toml, into) = (directory.place("claims.toml"), directory.place("jobs"));
    let claim = |name: &str, module: &str, formula: &str, more: &str| {
        let file = spec("tas");
        format!(
            "[[claim]]\nname = \"{name}\"\nspec = \"{file}\"\nmodule = \"{module}\"\nformula = \"{formula}\"\n{more}\n"
        )
    };
    let more = "layers = [2, 2]\nexpect = \"holds\"\ngroup = \"TAS\"\nreference = { Maude = \"1s\" }";
    let claims = [
        claim("whole", "TAS-CHECK", "inWs1 |-> inCs1", "memory = \"1G\"\ntime = 50"),
        claim("layers", "TAS-CHECK", "inWs1 |-> inCs1", more),
        claim("faulty", "FTAS-CHECK", "lofree", "expect = \"violated\"\nthreads = 1"),
    ];
    fs::write(&toml, claims.concat()).unwrap();
    let (expected_code, expected, errors) = json(&["batch", &toml]);
    assert_eq!((expected_code, expected.len(), errors.as_str()), (0, 3, ""));
    let (code, objects, errors) = json(&["plan", "--claims", &toml, "--into", &into]);
    assert_eq!((code, errors.as_str(), objects[0]["jobs"].as_u64()), (0, "", Some(3)));
    let keys =
        ["name", "group", "formula", "verdict", "expect", "as_expected", "reference", "counterexample"];
    let essence = |objects: &[Value]| -> Vec<[Value; 8]> {
        objects.iter().map(|object| keys.map(|key| object[key].clone())).collect()
    };
    let (code, objects, errors) = json(&["plan", "collect", &into]);
    assert_eq!((code, errors.as_str()), (3, ""));
    assert_eq!(objects[1]["reason"], "job 2 has no result");
    for (number, verdict) in [(1, "holds"), (2, "holds"), (3, "violated"), (3, "violated")] {
        let (code, object) = run(&into, number);
        assert_eq!((code, &object["verdict"]), (i32::from(verdict == "violated"), &verdict.into()));
    }
    let (code, objects, errors) = json(&["plan", "collect", &into]);
    assert_eq!((code, errors.as_str()), (expected_code, ""));
    assert_eq!(essence(&objects), essence(&expected));
    let table = text_of(&["plan", "collect", &into]);
    assert!(table.contains("faulty") && table.contains("TAS"), "{table}");
    // The results of other claims are refused here as well.
    fs::copy(directory.0.join("jobs/1.result"), directory.0.join("jobs/2.result")).unwrap();
    let (code, objects, errors) = json(&["plan", "collect", &into]);
    assert_eq!((code, objects.len()), (2, 0));
    assert!(errors.contains("another job"), "{errors}");
    // A claim that cannot be checked is told before anything is written.
    fs::write(&toml, claim("bad", "TAS-CHECK", "nonsense", "")).unwrap();
    let other = directory.place("other");
    let (code, objects, errors) = json(&["plan", "--claims", &toml, "--into", &other]);
    assert_eq!((code, objects.len()), (2, 0));
    assert!(errors.contains("this claim cannot be checked"), "{errors}");
}

fn text_of(args: &[&str]) -> String {
    text(&rwl(args, "").stdout)
}

/// The lines of the README, word for word, as far as the programs in them are there.
#[test]
fn the_lines_of_the_readme() {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("it is there");
    let directory = Directory::new("readme");
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    std::os::unix::fs::symlink(specs, directory.0.join("specs")).expect("writable");
    std::os::unix::fs::symlink(RWL, directory.0.join("rwl")).expect("writable");
    let path = format!("{}:{}", directory.0.display(), std::env::var("PATH").unwrap_or_default());
    let shell = |line: &str, task: usize| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(&directory.0).env("PATH", &path);
        command.env("SLURM_ARRAY_TASK_ID", task.to_string());
        crate::support::run(&mut command, "", Duration::from_secs(120)).expect("it ends")
    };
    let written = |start: &str| {
        let line = readme.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("no line {start}")).trim_start_matches("$ ").to_owned()
    };
    let (plan, parallel, collect) =
        (written("$ rwl plan specs/"), written("$ parallel"), written("$ rwl plan collect"));
    let slurm = "rwl job run jobs/$SLURM_ARRAY_TASK_ID.job";
    assert!(readme.contains(&format!("`{slurm}`")));
    let has_parallel = shell("parallel --version", 0).status.success();
    for with_parallel in [false, true] {
        if with_parallel && !has_parallel {
            println!("SKIPPED: no GNU parallel");
            continue;
        }
        let planned = shell(&plan, 0);
        assert!(planned.status.success(), "{}", text(&planned.stderr));
        if with_parallel {
            let output = shell(&parallel, 0);
            assert!(output.status.success(), "{}", text(&output.stderr));
        } else {
            for task in 1..=16 {
                assert!(shell(slurm, task).status.success(), "task {task}");
            }
        }
        let collected = shell(&collect, 0);
        assert_eq!(collected.status.code(), Some(0));
        assert!(text(&collected.stdout).starts_with("holds: lofree"), "{}", text(&collected.stdout));
        fs::remove_dir_all(directory.0.join("jobs")).expect("it was made");
    }
}
