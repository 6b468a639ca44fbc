//! Jobs of a plan run by HyperQueue: a server and two workers, one of which is killed.
//!
//! Needs the Python package `hyperqueue`; `RWL_HYPERQUEUE` names a Python that has it, and then it must
//! work. Without, `python3` is tried, and the test says if it is skipped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::jobs::{Directory, json, plan};
use crate::support::RWL;

/// A Python with HyperQueue.
fn python() -> Option<String> {
    let named = std::env::var("RWL_HYPERQUEUE").ok().filter(|name| !name.is_empty());
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let mut import = Command::new(&python);
    import.args(["-c", "import hyperqueue"]).stdout(Stdio::null()).stderr(Stdio::null());
    let works = import.status().is_ok_and(|status| status.success());
    assert!(works || named.is_none(), "{python} has no hyperqueue");
    works.then_some(python)
}

/// A process that does not outlive the test.
struct Process(Child);

impl Process {
    fn start(python: &str, args: &[&str]) -> Process {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hyperqueue/cluster.py");
        let mut command = Command::new(python);
        // Tasks leave files where they were submitted.
        command.current_dir(args[1]);
        command.arg(script).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Process(command.spawn().expect("Python starts"))
    }

    /// The same, after it has said that it is ready.
    fn ready(python: &str, args: &[&str]) -> Process {
        let mut process = Process::start(python, args);
        let said = BufReader::new(process.0.stdout.as_mut().expect("piped")).lines();
        let is_ready = said.map_while(Result::ok).any(|line| line == "ready");
        assert!(is_ready, "{args:?} ended");
        process
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_lost_worker_costs_nothing() {
    let Some(python) = python() else {
        println!("SKIPPED: no hyperqueue (pip install hyperqueue; RWL_HYPERQUEUE=path/to/python)");
        return;
    };
    let directory = Directory::new("hyperqueue");
    let place = |name: &str| {
        let path = directory.place(name);
        fs::create_dir_all(&path).expect("writable");
        path
    };
    let (server, one, two) = (place("server"), place("one"), place("two"));
    let (into, started, go) = (directory.place("jobs"), directory.place("started"), directory.place("go"));
    let args = ["--module", "QLOCK-CHECK", "--init", "init5", "--formula", "lofree"];
    let (_, count) = plan("qlock", &[&args[..], &["--layers", "2 2", "--jobs", "6"]].concat(), &into);
    assert_eq!(count, 6);
    let _server = Process::ready(&python, &["server", &server]);
    let _survivor = Process::ready(&python, &["worker", &server, &one]);
    let mut victim = Process::ready(&python, &["worker", &server, &two]);
    // Nothing goes on before both workers have a job and one of them is dead.
    let command = |number: usize| {
        format!(
            "echo {number} >> '{started}'; while [ ! -e '{go}' ]; do sleep 0.02; done; \
             exec '{RWL}' job run '{into}/{number}.job'"
        )
    };
    let commands: Vec<String> = (1..=count).map(command).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let mut submission = Process::start(&python, &[&["submit", &server], &commands[..]].concat());
    let lines = || fs::read_to_string(&started).map_or(0, |text| text.lines().count());
    wait_for("both workers begin", || lines() == 2);
    assert_eq!(json(&["plan", "collect", &into]).0, 3, "nothing is done yet");
    victim.0.kill().expect("it is running");
    victim.0.wait().expect("a child");
    fs::write(&go, "").expect("writable");
    let mut end = None;
    wait_for("all jobs are done", || {
        end = submission.0.try_wait().expect("a child");
        end.is_some()
    });
    assert!(end.is_some_and(|status| status.success()), "all tasks end well");
    assert_eq!(lines(), count + 1, "the job of the lost worker began once more");
    let (code, objects, errors) = json(&["plan", "collect", &into]);
    assert_eq!((code, objects[0]["verdict"].as_str(), errors.as_str()), (0, Some("holds"), ""));
}

/// A program whose name may be relative to the project.
fn in_project(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if name.contains('/') && path.exists() { path.display().to_string() } else { name.to_owned() }
}

/// Runs the README's line where the jobs are, but for where the programs are.
fn run_the_line_of_the_readme(python: &str, directory: &Directory) -> Output {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(project.join("README.md")).expect("it is there");
    let line =
        readme.lines().find(|line| line.starts_with("$ ls jobs/*.job")).expect("a line for HyperQueue");
    let script = format!("{} {}/tests", in_project(python), project.display());
    let line = line.trim_start_matches("$ ").replace("python tests", &script);
    let line = line.replace("'s/^/rwl job run /'", &format!("'s|^|{RWL} job run |'"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(&directory.0);
    crate::support::run(&mut shell, "", Duration::from_secs(120)).expect("it ends")
}

#[test]
fn the_line_of_the_readme_runs_all_jobs() {
    let Some(python) = python() else { return };
    let directory = Directory::new("hyperqueue-line");
    let into = directory.place("jobs");
    let args = ["--module", "QLOCK-CHECK", "--init", "init4", "--formula", "lofree"];
    plan("qlock", &[&args[..], &["--layers", "2", "--jobs", "3"]].concat(), &into);
    let output = run_the_line_of_the_readme(&python, &directory);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (code, objects, _) = json(&["plan", "collect", &into]);
    assert_eq!((code, objects[0]["verdict"].as_str()), (0, Some("holds")));
}

#[test]
fn a_violation_does_not_stop_other_jobs_and_a_job_that_cannot_be_done_is_told() {
    let Some(python) = python() else { return };
    let directory = Directory::new("hyperqueue-violated");
    let into = directory.place("jobs");
    let args = ["--module", "FQLOCK-CHECK", "--init", "init4", "--formula", "lofree", "--formula", "mutex"];
    let (_, count) = plan("qlock", &[&args[..], &["--layers", "2", "--jobs", "3"]].concat(), &into);
    let output = run_the_line_of_the_readme(&python, &directory);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = || {
        let names = fs::read_dir(&into).expect("it is there").flatten().map(|entry| entry.path());
        names.filter(|path| path.extension().is_some_and(|extension| extension == "result")).count()
    };
    assert_eq!(results(), count, "every job is done");
    let (code, objects, _) = json(&["plan", "collect", &into]);
    let verdicts: Vec<_> = objects.iter().map(|object| object["verdict"].as_str()).collect();
    assert_eq!((code, &verdicts[..]), (1, &[Some("violated"), Some("holds")][..]));
    fs::write(format!("{into}/0.job"), "no job").expect("writable");
    assert_eq!(run_the_line_of_the_readme(&python, &directory).status.code(), Some(1));
}
