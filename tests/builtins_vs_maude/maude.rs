//! Random cases of one module through Maude and through the built-ins.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::arguments::{Arg, Random};
use crate::world::World;

const MAUDE: &str = "/usr/bin/maude";

#[derive(Default)]
pub struct Cases(Vec<(String, Vec<Arg>)>);

impl Cases {
    pub fn push(&mut self, op: &str, args: Vec<Arg>) {
        self.0.push((op.to_owned(), args));
    }
}

/// Runs random cases of one module through Maude and through the built-ins.
pub fn differential(imported: &str, module: &str, fill: impl FnOnce(&mut Random, &mut Cases)) {
    if !std::path::Path::new(MAUDE).exists() {
        eprintln!("skipped: no {MAUDE}");
        return;
    }
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_240_229);
    println!("SEED={seed}");
    let mut cases = Cases::default();
    fill(&mut Random(seed), &mut cases);
    let calls: Vec<String> = cases
        .0
        .iter()
        .map(|(op, args)| {
            let args: Vec<String> = args.iter().map(Arg::text).collect();
            format!("{op}({})", args.join(", "))
        })
        .collect();
    let mut script = format!(
        "set show timing off .\nset show advisories off .\nset print mixfix off .\n\
         fmod TEST is pr {imported} . pr RANDOM . ops a b : -> Nat . endfm\n"
    );
    for call in &calls {
        writeln!(script, "red {call} .").unwrap();
    }
    let answers = maude(&script);
    assert_eq!(answers.len(), calls.len(), "Maude answered {} of {} commands", answers.len(), calls.len());
    let mut world = World::new(module);
    let mut wrong = Vec::new();
    for ((call, (op, args)), (steps, answer)) in calls.iter().zip(&cases.0).zip(&answers) {
        let (our_steps, result) = world.reduce(op, args);
        let ours = world.print(result);
        if our_steps != *steps || ours != *answer {
            wrong.push(format!("{call}\n  Maude {steps} {answer}\n  ours  {our_steps} {ours}"));
        }
    }
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} cases differ:\n{shown}", wrong.len(), calls.len());
}

/// The rewrites and the result line (`Sort: term`) of each command.
fn maude(script: &str) -> Vec<(usize, String)> {
    let mut child = Command::new(MAUDE)
        .args(["-no-banner", "-no-wrap", "-no-advise", "-batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Maude starts");
    let mut stdin = child.stdin.take().unwrap();
    let script = script.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = child.wait_with_output().expect("Maude ends");
    let _ = writer.join();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut answers = Vec::new();
    let mut steps = 0;
    for line in text.lines() {
        if let Some(count) = line.strip_prefix("rewrites: ") {
            steps = count.parse().unwrap();
        } else if let Some(result) = line.strip_prefix("result ") {
            answers.push((steps, result.to_owned()));
        }
    }
    answers
}
