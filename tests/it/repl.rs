//! The prompt, on a pseudo-terminal that the command `script` makes.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::*;

/// What the screen showed, with the escape sequences of the line editor removed. Each line is
/// typed when the prompt is there.
fn session(lines: &[&str], args: &str) -> String {
    session_on("xterm", lines, args)
}

fn session_on(terminal: &str, lines: &[&str], args: &str) -> String {
    let home = std::env::temp_dir().join(format!("rwl-repl-{}-{}", std::process::id(), lines.concat().len()));
    let mut command = Command::new("script");
    command.args(["-qec", &format!("{RWL} {args}"), "/dev/null"]);
    command.env("TERM", terminal).env("XDG_STATE_HOME", &home).env("NO_COLOR", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("`script` starts");
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let screen = Arc::new(Mutex::new(Vec::new()));
    let reader = std::thread::spawn({
        let screen = screen.clone();
        move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                screen.lock().expect("no panic").extend_from_slice(&bytes[..count]);
            }
        }
    });
    let shown = || plain(&text(&screen.lock().expect("no panic")));
    let mut from = 0;
    for line in lines {
        let start = Instant::now();
        loop {
            if *line == INTERRUPT {
                // It is sent to a running command, not to the prompt.
                std::thread::sleep(Duration::from_millis(300));
                break;
            }
            let now = shown();
            let prompt = now[from.min(now.len())..].rfind("> ").filter(|_| now.ends_with("> "));
            if prompt.is_some() || start.elapsed() > Duration::from_secs(20) {
                from = now.len();
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        input.write_all(line.as_bytes()).expect("open");
        input.flush().expect("open");
    }
    child.wait().expect("it ends");
    reader.join().expect("no panic");
    let _ = std::fs::remove_dir_all(&home);
    shown()
}

fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            if chars.next_if_eq(&'[').is_some() {
                while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
        } else if c != '\r' {
            out.push(c);
        }
    }
    without_times(&out)
}

/// Ctrl-C
const INTERRUPT: &str = "\u{3}";

fn has_script() -> bool {
    Command::new("script").arg("--version").output().is_ok()
}

#[test]
fn items_over_several_lines_run_when_complete() {
    if !has_script() {
        return;
    }
    let screen =
        session(&["fmod A is sort S .\r", "op a : -> S .\r", "endfm\r", "red\r", "a\r", ".\r", "quit\r"], "");
    assert!(screen.contains("rwl> "), "{screen}");
    assert!(screen.contains("...> "), "{screen}");
    assert!(screen.contains("reduce in A : a .\nrewrites: 0\nresult S: a\n"), "{screen}");
    assert!(screen.contains("Bye."), "{screen}");
    assert!(!screen.contains("====="), "{screen}");
}

#[test]
fn mistakes_leave_the_prompt() {
    if !has_script() {
        return;
    }
    let screen =
        session(&["red in NAT : 1 + .\r", "help\r", "red in NAT : 2 + 2 .\r", "\u{4}"], "-no-banner");
    assert!(screen.contains("error["), "{screen}");
    assert!(screen.contains("Tab completes"), "{screen}");
    assert!(screen.contains("result NzNat: 4"), "{screen}");
    assert!(screen.contains("Bye."), "{screen}");
}

#[test]
fn tab_completes() {
    if !has_script() {
        return;
    }
    let screen = session(&["sel\tCONVERSI\t.\r", "red 1 .\r", "quit\r"], "-no-banner");
    assert!(screen.contains("reduce in CONVERSION : 1 ."), "{screen}");
}

#[test]
fn an_interrupt_stops_the_command_and_not_the_session() {
    if !has_script() {
        return;
    }
    let module = "fmod LOOP is sort N . op a : -> N . op f : N -> N . var X : N . eq f(X) = f(X) . endfm\r";
    let screen = session(&[module, "red f(a) .\r", INTERRUPT, "red a .\r", "quit\r"], "-no-banner");
    assert!(screen.contains("Interrupted."), "{screen}");
    assert!(screen.contains("result N: a"), "{screen}");
}

#[test]
fn an_interrupted_search_can_go_on() {
    if !has_script() {
        return;
    }
    let module =
        "mod COUNT is pr NAT . sort S . ops c d : Nat -> S . var N : Nat . rl c(N) => c(N + 1) . endm\r";
    let lines =
        [module, "search c(0) =>* d(N) .\r", INTERRUPT, "show path 2 .\r", "cont .\r", INTERRUPT, "quit\r"];
    let screen = session(&lines, "-no-banner");
    assert_eq!(screen.matches("Interrupted.").count(), 2, "{screen}");
    assert!(screen.contains("state 2, S: c(2)"), "{screen}");
}

#[test]
fn interrupted_rewriting_says_what_it_reached_and_goes_on() {
    if !has_script() {
        return;
    }
    let module =
        "mod COUNT is pr NAT . sort S . op c : Nat -> S . var N : Nat . rl c(N) => c(N + 1) . endm\r";
    for command in ["rew c(0) .\r", "frew c(0) .\r"] {
        let screen = session(&[module, command, INTERRUPT, "cont 2 .\r", "quit\r"], "-no-banner -no-wrap");
        let number = |mark: &str| -> u64 {
            let at = screen.find(mark).unwrap_or_else(|| panic!("no {mark} in {screen}")) + mark.len();
            screen[at..].split(')').next().expect("a number").parse().expect("a number")
        };
        assert_eq!(number("reached S: c(") + 2, number("result S: c("), "{screen}");
    }
}

#[test]
fn a_search_on_several_threads_goes_on_after_an_interrupt() {
    if !has_script() {
        return;
    }
    let module = "mod GRID is pr NAT . sort S . op p : Nat Nat Nat Nat -> S . vars A B C D : Nat . \
        rl p(A, B, C, D) => p(s A, B, C, D) . rl p(A, B, C, D) => p(A, s B, C, D) . \
        rl p(A, B, C, D) => p(A, B, s C, D) . rl p(A, B, C, D) => p(A, B, C, s D) . endm\r";
    let search = "search p(0, 0, 0, 0) =>* p(A, B, C, D) such that A + B + C + D > 1000 .\r";
    let lines = [module, search, INTERRUPT, "cont .\r", INTERRUPT, "show path states 1 .\r", "quit\r"];
    let screen = session(&lines, "-no-banner --threads 2");
    assert_eq!(screen.matches("Interrupted.").count(), 2, "{screen}");
    assert!(screen.contains("state 1, S: p("), "{screen}");
}

#[test]
fn an_interrupt_drops_what_was_typed() {
    if !has_script() {
        return;
    }
    for terminal in ["xterm", "dumb"] {
        let lines = ["red in NAT : 1 +\r", "5 +", INTERRUPT, "red in NAT : 2 + 2 .\r", "quit\r"];
        let screen = session_on(terminal, &lines, "-no-banner");
        assert!(screen.contains("result NzNat: 4") && screen.contains("Bye."), "{terminal}: {screen}");
    }
}

#[test]
fn layers_are_checked_at_the_prompt() {
    if !has_script() {
        return;
    }
    let tas = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/tas.rwl");
    let lines = [
        &format!("in {}\r", tas.display())[..],
        "(initialize[TAS-CHECK, init,\r",
        "lofree1, lofree2, OComp,\r",
        "Soup{OComp}])\r",
        // An argument that is not there costs nothing.
        "(check 0)\r",
        "(layerC\t2)\r",
        "layerCheck 2\r",
        "lastC\t\r",
        "initialize[TAS-CH\t, init5, lofree]\r",
        "check 2 2\r",
        "quit\r",
    ];
    let screen = session(&lines, "-no-banner");
    assert!(screen.contains("...> "), "{screen}");
    assert!(screen.contains("Initialization: success\n  originModule: TAS-CHECK\n"), "{screen}");
    assert!(screen.contains("error[bad-depth]"), "{screen}");
    let analyzer = "Analyzer:\n  currentDepth: 4\n  depthList: 2 2\n  numberOfNodeSet: ";
    let small = "4\n  numberOfStates: 2\n  numberOfCxStates: 1\n";
    assert_eq!(screen.matches(&format!("{analyzer}{small}")).count(), 2, "{screen}");
    assert!(screen.contains(&format!("{analyzer}{small}\nCheck: success\n")), "{screen}");
    let five = "19\n  numberOfStates: 55\n  numberOfCxStates: 20\n\nCheck: success\n";
    assert!(screen.contains(&format!("{analyzer}{five}")), "{screen}");
}

#[test]
fn an_interrupt_stops_a_layered_check_and_keeps_its_layers() {
    if !has_script() {
        return;
    }
    let lines = [
        "load model-checker\r",
        "mod UP is inc MODEL-CHECKER . pr NAT . sort Sys . subsort Sys < State . op c : Nat -> Sys [ctor] .\r",
        "var N : Nat . rl c(N) => c(s N) . op ok : -> Prop . eq c(N) |= ok = true . endm\r",
        "initialize[UP, c(0), [] ok]\r",
        "check 2 2\r",
        INTERRUPT,
        "layerCheck 3\r",
        "lastCheck\r",
        INTERRUPT,
        "red in UP : 6 * 7 .\r",
        "quit\r",
    ];
    let screen = session(&lines, "-no-banner");
    assert_eq!(screen.matches("Check: unknown\nReason: interrupted\n").count(), 2, "{screen}");
    assert!(screen.contains("Analyzer:\n  currentDepth: 7\n  depthList: 2 2 3\n"), "{screen}");
    assert!(screen.contains("result NzNat: 42"), "{screen}");
}

/// A line about progress that is wider than the screen would scroll it.
#[test]
fn progress_fits_the_screen() {
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/qlock.rwl");
    let line = format!(
        "stty cols 40; {RWL} check {spec} --module QLOCK-CHECK --init init9 --formula lofree --threads 1 --time 1.5"
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("NO_COLOR", "1");
    let output = run(&mut command, "", Duration::from_secs(60)).expect("it ends");
    let shown = text(&output.stdout);
    let progress: Vec<&str> = shown.split('\r').filter_map(|line| line.strip_suffix("\x1b[K")).collect();
    let widest = progress.iter().map(|line| line.chars().count()).max();
    assert_eq!(widest, Some(39), "{progress:?}");
}
