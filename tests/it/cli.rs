//! Flags, exit codes, standard input, files.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::*;

/// A directory with files, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, files: &[(&str, &str)]) -> Scratch {
        let path = std::env::temp_dir().join(format!("rwl-test-{}-{name}", std::process::id()));
        for (file, text) in files {
            let file = path.join(file);
            std::fs::create_dir_all(file.parent().expect("below the directory")).expect("writable");
            std::fs::write(file, text).expect("writable");
        }
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const PEANO: &str = "fmod PEANO is sort N . op z : -> N . op s : N -> N . op p : N N -> N . vars X Y : N .
  eq p(z, Y) = Y . eq p(s(X), Y) = s(p(X, Y)) . endfm\n";
const LOOP: &str = "fmod LOOP is sort N . op a : -> N . op f : N -> N . var X : N . eq f(X) = f(X) . endfm\n";

fn check(args: &[&str], input: &str, code: i32, expected: &str) {
    let output = rwl(args, input);
    let said = without_times(&text(&output.stdout));
    assert_eq!(said, expected, "{args:?}: {}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
}

#[test]
fn standard_input_runs_like_a_file() {
    let rule = "==========================================\n";
    let answer = format!("{rule}reduce in NAT : 1 + 2 .\nrewrites: 1\nresult NzNat: 3\nBye.\n");
    check(&[], "red in NAT : 1 + 2 .\n", 0, &answer);
    check(&["-no-banner", "-interactive=no"], "", 2, "");
    check(&[], "red in NAT : 1 + 2 .\nquit\nred 7 .\n", 0, &answer);
    check(&[], "", 0, "Bye.\n");
    check(&[], "fmod A is", 2, "\nBye.\n");
}

/// What cannot be represented is said of the command that met it, and costs only that one.
#[test]
fn too_many_copies_end_a_command() {
    let module = "mod M is protecting NAT . sort Bag . op a : -> Bag [ctor] .
      op __ : Bag Bag -> Bag [ctor assoc comm] . op f : Bag -> Bag . op double : Nat Bag -> Bag .
      var N : Nat . var S : Bag . eq double(0, S) = S . eq double(s N, S) = double(N, S S) .
      rl f(S) => double(20, S) . endm\n";
    let commands = "load m\n red double(33, a) .\n search f(double(12, a)) =>1 S .\n red 6 * 7 .\n";
    let scratch = Scratch::new("copies", &[("m.maude", module), ("run.maude", commands)]);
    let output = rwl_in(&scratch.0, &["run", "run.maude"], "");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(said.matches("warning[too-large]").count(), 2, "{said}");
    assert!(!said.contains("internal"), "{said}");
    assert!(text(&output.stdout).ends_with("result NzNat: 42\n"), "{}", text(&output.stdout));
    let output =
        rwl_in(&scratch.0, &["search", "m.maude", "--init", "f(double(12, a))", "--arrow", "=>1"], "");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("at most 4,294,967,295 times") && !said.contains("internal"), "{said}");
}

/// Memberships whose conditions ask for the sorts of ever larger terms come to an end, as one command.
#[test]
fn endless_memberships_end_a_command() {
    let module = "fmod M is sorts N E . subsort E < N . op z : -> N [ctor] . op s : N -> N [ctor] .
      op f : N -> N [strat (0)] . op g : N -> N [strat (0)] . vars A : N . var X : E .
      cmb f(A) : E if f(s(A)) : E . eq g(X) = z . endfm
      red g(f(z)) .\n";
    let output = rwl(&["-no-banner", "--memory", "64M"], module);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    // Whoever sees it first tells.
    assert!(said.contains("memory-limit") || said.contains("too much memory"), "{said}");
    assert!(!said.contains("internal"), "{said}");
}

#[test]
fn exit_codes_tell_what_happened() {
    let scratch = Scratch::new(
        "codes",
        &[("good.maude", PEANO), ("bad.maude", "fmod A is sort S . op a : -> T .\n"), ("loop.maude", LOOP)],
    );
    let code = |args: &[&str], input: &str| rwl_in(&scratch.0, args, input).status.code();
    assert_eq!(code(&["run", "good.maude"], ""), Some(0));
    assert_eq!(code(&["run", "bad.maude"], ""), Some(2));
    assert_eq!(code(&["run", "missing.maude"], ""), Some(2));
    assert_eq!(code(&["run"], ""), Some(2));
    assert_eq!(code(&["--nonsense"], ""), Some(2));
    assert_eq!(code(&["--help"], ""), Some(0));
    assert_eq!(code(&["good.maude"], "red p(z, nonsense) .\n"), Some(2));
    assert_eq!(code(&["loop.maude", "--time", "0.3"], "red f(a) .\n"), Some(3));
}

#[test]
fn maude_flags_are_taken() {
    let all = "-no-banner -no-advise -always-advise -no-mixfix -no-wrap -ansi-color -no-ansi-color -tecla -no-tecla \
               -batch -print-to-stderr -random-seed=3 -xml-log=/dev/null -erewrite-loop-mode -allow-processes \
               -allow-files -allow-dir -trust -assoc-unif-depth=1.0 -no-prelude";
    check(&all.split_whitespace().collect::<Vec<_>>(), "", 0, "Bye.\n");
    for flag in ["-version", "--version", "-V"] {
        let output = rwl(&[flag], "");
        assert!(text(&output.stdout).starts_with("rwl "), "{flag}");
    }
    let mixfix = rwl(&["-no-mixfix"], "parse in NAT : 1 + X:Nat .\n");
    assert_eq!(text(&mixfix.stdout), "NzNat: _+_(1, X:Nat)\nBye.\n");
}

#[test]
fn files_are_found_where_maude_finds_them() {
    let scratch = Scratch::new(
        "files",
        &[
            ("main.maude", "load sub/one\nload sub/one.maude\nsload sub/one\npwd\n"),
            ("sub/one.maude", "load two\n"),
            ("sub/two.maude", "parse in NAT : 2 .\n"),
            ("lib/three.maude", "parse in NAT : 3 .\n"),
            ("lib/four.rwl", "parse in NAT : 4 .\n"),
        ],
    );
    let output = rwl_in(&scratch.0, &["run", "main"], "");
    let here = scratch.0.canonicalize().expect("it exists");
    assert_eq!(text(&output.stdout), format!("NzNat: 2\nNzNat: 2\n{}\n", here.display()));
    let mut command = Command::new(RWL);
    command.args(["run", "three", "four"]).env("RWL_LIB", scratch.0.join("lib")).current_dir(&scratch.0);
    let output = run(&mut command, "", Duration::from_secs(20)).expect("in time");
    assert_eq!(text(&output.stdout), "NzNat: 3\nNzNat: 4\n", "{}", text(&output.stderr));
    let missing = rwl_in(&scratch.0, &["run", "nowhere.maude"], "");
    assert!(text(&missing.stderr).contains("there is no file nowhere.maude"));
    let model_checker = rwl_in(&scratch.0, &[], "load model-checker\n");
    assert_eq!(model_checker.status.code(), Some(0), "{}", text(&model_checker.stderr));
}

#[test]
fn a_file_that_loads_itself_is_stopped() {
    let scratch = Scratch::new("itself", &[("a.maude", "load a\n")]);
    let output = rwl_in(&scratch.0, &["run", "a.maude"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("loads itself"), "{}", text(&output.stderr));
}

#[test]
fn what_a_stopped_command_leaves_undone_is_told() {
    let deep = "mod N is sort S . op a : -> S . ops f g : S -> S . var X : S .
  crl f(X) => a if f(X) => a .\n eq g(X) = f(g(X)) .\nendm\nrew f(a) .\nred a .\nred g(a) .\nred a .\n";
    let scratch = Scratch::new("stopped", &[("deep.maude", deep), ("all.maude", "load deep\n")]);
    let output = rwl_in(&scratch.0, &["run", "--memory", "128M", "all.maude"], "");
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    // Where a command gives up, the others need not.
    assert!(errors.contains("nested-too-deeply"), "{errors}");
    assert_eq!(text(&output.stdout).matches("result S: a").count(), 1, "{errors}");
    // Nothing follows in the file that loads the other one.
    assert!(errors.contains("memory-limit"), "{errors}");
    assert_eq!(errors.matches("rest-skipped").count(), 1, "{errors}");
    assert!(errors.contains("deep.maude:8:1"), "{errors}");
}

#[test]
fn answers_come_as_soon_as_an_item_is_complete() {
    let mut child = Command::new(RWL).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    for _ in 0..2 {
        input.write_all(b"parse in NAT\n : 1\n").expect("open");
        input.flush().expect("open");
        std::thread::sleep(Duration::from_millis(20));
        input.write_all(b" + 1 .\n").expect("open");
        assert_eq!(lines.next().expect("a line").expect("text"), "NzNat: 1 + 1");
    }
    drop(input);
    assert_eq!(lines.next().expect("a line").expect("text"), "Bye.");
    assert!(child.wait().expect("ends").success());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{RWL} -no-wrap | head -1; true"));
    let input = "show ops NAT .\n".repeat(200);
    let output = run(&mut command, &input, Duration::from_secs(30)).expect("ends in time");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(text(&output.stdout).lines().count(), 1);
}

#[test]
fn an_interrupt_stops_the_command_and_the_batch() {
    let scratch = Scratch::new("interrupt", &[("loop.maude", &format!("{LOOP}red f(a) .\nparse a .\n"))]);
    // A scheduler asks for the end in another way; `timeout` says it twice, to the process and to its group.
    for signal in ["-INT", "-TERM"] {
        let mut command = Command::new(RWL);
        command.args(["-batch", "loop.maude"]).current_dir(&scratch.0);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut next = || lines.next().map(|line| line.expect("text"));
        assert_eq!(next().as_deref(), Some("=========================================="));
        assert_eq!(next().as_deref(), Some("reduce in LOOP : f(a) ."));
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id, &id]).status().expect("runs").success());
        assert_eq!(next().as_deref(), Some("Interrupted."), "{signal}");
        assert!(next().is_some_and(|line| line.starts_with("rewrites: ")));
        assert_eq!(next().as_deref(), Some("Bye."));
        assert_eq!(child.wait().expect("ends").code(), Some(3), "{signal}");
    }
}

#[test]
fn json_is_one_object_per_answer_and_message() {
    let output = rwl(&["--format", "json"], "red in NAT : 2 * 3 .\nred 1 + .\nmatch X:Nat <=? 5 .\n");
    let said: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(said[0]["result"], "6");
    assert_eq!(said[0]["sort"], "NzNat");
    assert_eq!(said[0]["rewrites"], 1);
    assert_eq!(said[1]["substitution"]["X:Nat"], "5");
    let message: serde_json::Value =
        serde_json::from_str(text(&output.stderr).lines().next().expect("a message")).expect("JSON");
    assert_eq!(message["severity"], "error");
    assert_eq!((&message["file"], &message["line"]), (&"<standard input>".into(), &2.into()));
}

#[test]
fn answers_go_to_a_file_on_request() {
    let scratch = Scratch::new("output", &[("a.maude", "parse in NAT : 1 .\n")]);
    let output = rwl_in(&scratch.0, &["run", "a.maude", "--output", "out.txt"], "");
    assert_eq!(text(&output.stdout), "");
    let written = || std::fs::read_to_string(scratch.0.join("out.txt")).expect("written");
    assert_eq!(written(), "NzNat: 1\n");
    // Without answers it stays as it was.
    let output = rwl_in(&scratch.0, &["run", "b.maude", "--output", "out.txt"], "");
    assert_eq!((output.status.code(), written().as_str()), (Some(2), "NzNat: 1\n"));
}

#[test]
fn long_lines_break_as_maude_breaks_them() {
    let list = (1..40).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    let input = format!("parse in NAT-LIST : {list} .\n");
    let wrapped = text(&rwl(&[], &input).stdout);
    assert!(wrapped.lines().all(|line| line.len() <= 79), "{wrapped}");
    assert!(wrapped.lines().nth(1).is_some_and(|line| line.starts_with("    ")), "{wrapped}");
    assert_eq!(text(&rwl(&["-no-wrap"], &input).stdout).lines().count(), 2);
}

#[test]
fn deep_terms_do_not_overflow_the_stack() {
    let depth = 100_000;
    let term = format!("{}z{}", "s(".repeat(depth), ")".repeat(depth));
    let input = format!("{PEANO}red p({term}, z) .\n");
    let output = rwl(&["-no-wrap"], &input);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        text(&output.stderr).chars().take(500).collect::<String>()
    );
    assert!(text(&output.stdout).contains(&format!("rewrites: {}", depth + 1)));
}

#[test]
#[cfg(target_os = "linux")]
fn an_answer_that_cannot_be_written_is_told() {
    let output = rwl(&["-no-banner", "--output", "/dev/full"], "red in NAT : 1 + 1 .\n");
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("cannot write the answer"), "{}", text(&output.stderr));
}

#[test]
fn wrong_usage_in_json_is_an_object() {
    for args in [
        &["check", "--nosuch", "--format", "json"][..],
        &["search", "x.rwl", "--depth", "x", "--format=json"],
    ] {
        let output = rwl(args, "");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), String::new()), "{args:?}");
        let object: serde_json::Value = serde_json::from_str(&text(&output.stdout)).expect("one object");
        assert_eq!((&object["command"], &object["code"]), (&args[0].into(), &"usage".into()));
        assert!(object["message"].as_str().is_some_and(|message| !message.is_empty()), "{object}");
    }
    // Help is no mistake.
    assert!(text(&rwl(&["check", "--help", "--format", "json"], "").stdout).contains("Usage:"));
}
