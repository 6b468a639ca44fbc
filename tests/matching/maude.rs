//! Maude's answers.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::ours::{result_op, vars};
use crate::random::Case;
use crate::world::World;

const MAUDE: &str = "/usr/bin/maude";

pub fn is_installed() -> bool {
    std::path::Path::new(MAUDE).exists()
}

fn run(input: &str) -> String {
    let mut child = Command::new(MAUDE)
        .args(["-no-banner", "-no-wrap", "-no-advise", "-batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("maude starts");
    let mut stdin = child.stdin.take().expect("piped");
    let text = format!(
        "set show timing off .\nset show stats off .\nset show warnings off .\nset print mixfix off .\n{input}quit\n"
    );
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("maude ends");
    writer.join().expect("no panic").ok();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const RULE: &str = "==========================================";

/// For each case the matchers, as [`crate::ours::matchers`] writes them.
pub fn matchers(world: &World, cases: &[Case], limit: usize) -> Vec<Vec<String>> {
    let mut text = world.text("W") + "endm\n";
    for case in cases {
        let command = if case.extension { "xmatch" } else { "match" };
        let (pattern, subject) = (world.show(&case.pattern), world.show(&case.subject));
        text += &format!("{command} [{limit}] in W : {pattern} <=? {subject} .\n");
    }
    let output = run(&text);
    let answers: Vec<&str> = output.split(RULE).skip(1).collect();
    assert_eq!(answers.len(), cases.len(), "one answer per command:\n{output}");
    answers
        .iter()
        .zip(cases)
        .map(|(answer, case)| {
            let names: Vec<&String> = vars(&case.pattern).into_iter().map(|v| &world.vars[v].0).collect();
            answer
                .split("Matcher ")
                .skip(1)
                .map(|matcher| {
                    let find = |key: &str| {
                        matcher
                            .lines()
                            .find_map(|line| line.strip_prefix(key))
                            .unwrap_or("?")
                            .trim()
                            .to_string()
                    };
                    let mut line = String::new();
                    if case.extension {
                        // Maude says nothing where the subject's top operator has no extension.
                        line += &format!("[{}] ", find("Matched portion = ").replace('?', "(whole)"));
                    }
                    for name in &names {
                        line += &format!("{name} --> {}; ", find(&format!("{name} --> ")));
                    }
                    line
                })
                .collect()
        })
        .collect()
}

/// For each case the result of one step of the rule `pattern => rN(vars)` at the top, with
/// a condition `variable =/= value` where one is given.
pub fn steps(world: &World, cases: &[Case], unless: &[Option<(usize, String)>]) -> Vec<Option<String>> {
    let mut text = String::new();
    for (i, case) in cases.iter().enumerate() {
        let (op, vars) = result_op(world, &case.pattern);
        let args: Vec<String> = vars.iter().map(|&v| world.vars[v].0.clone()).collect();
        let result = world.ops[op].name;
        let rhs = if args.is_empty() { result.to_string() } else { format!("{result}({})", args.join(", ")) };
        text += &world.text(&format!("W{i}"));
        let pattern = world.show(&case.pattern);
        text += &match &unless[i] {
            Some((v, value)) => {
                format!("  crl {pattern} => {rhs} if {} =/= {value} .\nendm\n", world.vars[*v].0)
            }
            None => format!("  rl {pattern} => {rhs} .\nendm\n"),
        };
        text += &format!("rew [1] {} .\n", world.show(&case.subject));
    }
    let output = run(&text);
    let answers: Vec<&str> = output.split(RULE).skip(1).collect();
    assert_eq!(answers.len(), cases.len(), "one answer per command:\n{output}");
    answers
        .iter()
        .map(|answer| {
            let line = answer.lines().find(|line| line.starts_with("result "))?;
            let result = line.split_once(": ")?.1.to_string();
            let is_result = |part: &str| {
                part.split(|c: char| !c.is_alphanumeric())
                    .any(|w| w.len() == 2 && w.starts_with('r') && w.as_bytes()[1].is_ascii_digit())
            };
            is_result(&result).then_some(result)
        })
        .collect()
}
