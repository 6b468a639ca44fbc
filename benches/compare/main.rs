//! Side-by-side comparison of `rwl` and Maude.
//!
//! The same `.maude` files run in `rwl` (the binary cargo has just built, or the one named by the
//! `RWL` variable) and in every Maude given: `--maude PATH`, repeatable, else the `MAUDE` variable,
//! else `maude` on the path. Runs alternate, in R rounds. For each child the kernel's own figures
//! are taken with `wait4`: CPU time (user + system) and peak resident memory. Nothing is subtracted.
//!
//! Answers must agree: standard output is compared with timings stripped. Different results fail
//! the run (exit code 1); rewrite counts that differ are printed as a note.
//!
//! ```text
//! cargo bench --bench compare                          all of benches/equational
//! cargo bench --bench compare -- nrev --rounds 3       only workloads whose name contains `nrev`
//! cargo bench --bench compare -- --suite search        the workloads in benches/search
//! cargo bench --bench compare -- --targets --markdown  with pass or fail against the targets
//! cargo bench --bench compare -- --scaling             rwl alone: time per element as sizes grow
//! cargo bench --bench compare -- --layers              rwl alone: ways to check in layers
//! ```
//!
//! A workload opens with comment lines that the harness reads: `*** what:` describes it, and
//! `*** target:` is the wanted ratio of Maude's time to rwl's. Targets are goals for the geometric
//! mean of all workloads that share one; the verdict on a single workload is information.
//! `*** memory:` is the wanted ratio of peak memory, where states take most of it.
//!
//! A workload in `benches/scaling` has no command of its own. It has `*** command:`, where `@`
//! stands for the size, `*** sizes:`, and, where linear is not the expectation, `*** order:` (the
//! power of the size that time is divided by). There the cost of an empty program is subtracted
//! before dividing, since it would hide the small sizes.

mod answer;
mod child;
mod layers;
mod scaling;
mod table;
mod workload;

use answer::Answer;
use child::{Program, Run};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use table::Table;
use workload::Workload;

/// Start-up of `rwl` should take less than this, in milliseconds.
const STARTUP_TARGET_MS: f64 = 30.0;

#[derive(Parser)]
#[command(name = "compare", about = "Compares rwl with Maude on the same files")]
struct Options {
    /// Run only workloads whose name contains one of these
    filters: Vec<String>,
    /// Folder under benches/ (repeatable)
    #[arg(long, default_value = "equational")]
    suite: Vec<String>,
    /// Rounds; minimum and median are over these
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// A Maude to compare with (repeatable)
    #[arg(long)]
    maude: Vec<PathBuf>,
    /// Print tables as Markdown
    #[arg(long)]
    markdown: bool,
    /// Print pass or fail against the targets written in the workloads
    #[arg(long)]
    targets: bool,
    /// Run benches/scaling in rwl alone and print the time per element
    #[arg(long)]
    scaling: bool,
    /// Check in layers, by both methods, and as a whole, in rwl alone
    #[arg(long, conflicts_with = "scaling")]
    layers: bool,
    /// CPU seconds after which a run is stopped
    #[arg(long, default_value_t = 120)]
    limit: u64,
    /// Given by `cargo bench`; ignored
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match () {
        _ if options.scaling => scaling::scaling(&options),
        _ if options.layers => layers::layers(&options),
        _ => compare(&options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// All runs of one program on one workload. The answer is that of the first run.
struct Record {
    cpu: Vec<f64>,
    megabytes: Vec<f64>,
    answer: Answer,
    failure: Option<String>,
}

impl Record {
    fn new(first: Run) -> Record {
        Record {
            cpu: vec![first.cpu],
            megabytes: vec![first.megabytes],
            answer: Answer::read(&first.stdout),
            failure: first.failure,
        }
    }

    fn add(&mut self, run: Run) {
        self.cpu.push(run.cpu);
        self.megabytes.push(run.megabytes);
        if self.failure.is_none() {
            self.failure = run.failure;
        }
        if self.failure.is_none() && self.answer != Answer::read(&run.stdout) {
            self.failure = Some("answers differ between rounds".into());
        }
    }
}

/// One workload's records: one for each Maude, and rwl's.
struct Measured {
    workload: Workload,
    maudes: Vec<Record>,
    rwl: Record,
}

impl Measured {
    /// How many times faster than Maude number `m` rwl is.
    fn speedup(&self, m: usize) -> Option<f64> {
        ratio(&self.maudes[m], &self.rwl, |record| &record.cpu)
    }
}

/// The ratio of medians of Maude's and rwl's figures, if both finished with the same results.
fn ratio(maude: &Record, rwl: &Record, figures: fn(&Record) -> &Vec<f64>) -> Option<f64> {
    let finished = maude.failure.is_none() && rwl.failure.is_none();
    let comparable = finished && maude.answer.results_differ(&rwl.answer).is_none();
    comparable.then(|| median(figures(maude)) / median(figures(rwl)))
}

fn compare(options: &Options) -> Result<bool, String> {
    let rwl = Program::rwl()?;
    let maudes = Program::maudes(&options.maude)?;
    let workloads = workload::suites(&options.suite, &options.filters)?;
    let scratch = child::Scratch::new()?;
    startup(options, &maudes, &rwl, &scratch)?;
    let count = workloads.len();
    let mut all = Vec::new();
    for (at, workload) in workloads.into_iter().enumerate() {
        eprint!("[{}/{count}] {} ...", at + 1, workload.name);
        let measured = measure(options, &maudes, &rwl, workload, &scratch)?;
        match measured.speedup(0) {
            Some(ratio) => eprintln!(" {ratio:.2}x"),
            None => eprintln!(" failed"),
        }
        all.push(measured);
    }
    for (m, maude) in maudes.iter().enumerate() {
        println!("\n{} against {}\n", rwl.title, maude.title);
        comparison(options, &all, m).print(options.markdown);
        summary(options, &all, m);
    }
    Ok(verdicts(&all, &maudes))
}

/// Runs one workload in every program, alternating, in rounds of changing direction.
fn measure(
    options: &Options,
    maudes: &[Program],
    rwl: &Program,
    workload: Workload,
    scratch: &child::Scratch,
) -> Result<Measured, String> {
    let programs: Vec<&Program> = maudes.iter().chain([rwl]).collect();
    let mut records: Vec<Option<Record>> = programs.iter().map(|_| None).collect();
    for round in 0..options.rounds {
        for turn in 0..programs.len() {
            let p = if round % 2 == 0 { turn } else { programs.len() - 1 - turn };
            // What failed once is not run again: it may have taken all of its limit.
            if records[p].as_ref().is_some_and(|r| r.failure.is_some()) {
                continue;
            }
            let run = programs[p].run(&workload.path, options.limit, scratch)?;
            match &mut records[p] {
                Some(record) => record.add(run),
                empty => *empty = Some(Record::new(run)),
            }
        }
    }
    let mut records: Vec<Record> = records.into_iter().flatten().collect();
    let rwl = records.pop().ok_or("no round was run")?;
    Ok(Measured { workload, maudes: records, rwl })
}

/// Measures an empty program and reports rwl's start-up against its target.
fn startup(
    options: &Options,
    maudes: &[Program],
    rwl: &Program,
    scratch: &child::Scratch,
) -> Result<(), String> {
    let path = scratch.file("empty.maude", "quit .\n")?;
    let mut table = Table::new(&["start-up", "wall ms", "min", "CPU ms", "min", "MB", "target < 30 ms"]);
    for program in [rwl].into_iter().chain(maudes) {
        let mut runs = Vec::new();
        for _ in 0..options.rounds.max(10) {
            runs.push(program.run(&path, options.limit, scratch)?);
            if runs.iter().any(|run| run.failure.is_some()) {
                break;
            }
        }
        let wall: Vec<f64> = runs.iter().map(|run| run.wall * 1e3).collect();
        let cpu: Vec<f64> = runs.iter().map(|run| run.cpu * 1e3).collect();
        let memory: Vec<f64> = runs.iter().map(|run| run.megabytes).collect();
        let verdict = match runs.iter().find_map(|run| run.failure.clone()) {
            Some(failure) => failure,
            None if program.title == rwl.title => pass(median(&wall) < STARTUP_TARGET_MS),
            None => String::new(),
        };
        table.row(vec![
            program.title.clone(),
            format!("{:.1}", median(&wall)),
            format!("{:.1}", minimum(&wall)),
            format!("{:.1}", median(&cpu)),
            format!("{:.1}", minimum(&cpu)),
            format!("{:.1}", median(&memory)),
            verdict,
        ]);
    }
    table.print(options.markdown);
    Ok(())
}

/// The table of rwl against Maude number `m`.
fn comparison(options: &Options, all: &[Measured], m: usize) -> Table {
    let mut headings = vec![
        "workload", "rewrites", "Maude s", "min", "rwl s", "min", "ratio", "Maude MB", "rwl MB", "ratio",
    ];
    if options.targets {
        headings.extend(["target", "verdict", "memory", "verdict"]);
    }
    let mut table = Table::new(&headings);
    for measured in all {
        let (maude, rwl) = (&measured.maudes[m], &measured.rwl);
        let speedup = measured.speedup(m);
        let memory = ratio(maude, rwl, |record| &record.megabytes);
        let mut row = vec![
            measured.workload.name.clone(),
            maude.answer.rewrites().to_string(),
            format!("{:.3}", median(&maude.cpu)),
            format!("{:.3}", minimum(&maude.cpu)),
            format!("{:.3}", median(&rwl.cpu)),
            format!("{:.3}", minimum(&rwl.cpu)),
            times(speedup),
            format!("{:.1}", median(&maude.megabytes)),
            format!("{:.1}", median(&rwl.megabytes)),
            times(memory),
        ];
        if options.targets {
            for (target, ratio) in [(measured.workload.target, speedup), (measured.workload.memory, memory)] {
                row.push(target.map_or("-".into(), |target| format!("{target}")));
                row.push(
                    target.map_or("-".into(), |target| pass(ratio.is_some_and(|ratio| ratio >= target))),
                );
            }
        }
        table.row(row);
    }
    table
}

/// Geometric mean and minimum of the ratios, and the mean for each target.
fn summary(options: &Options, all: &[Measured], m: usize) {
    let ratios: Vec<f64> = all.iter().filter_map(|w| w.speedup(m)).collect();
    if ratios.is_empty() {
        println!("\nno workload finished in both with the same results");
        return;
    }
    let slowest =
        all.iter().filter_map(|w| Some((w.speedup(m)?, &w.workload.name))).min_by(|a, b| a.0.total_cmp(&b.0));
    println!(
        "\nCPU ratios: geometric mean {:.2}x, minimum {:.2}x ({}), {} of {} workloads",
        geometric_mean(&ratios),
        minimum(&ratios),
        slowest.map_or("", |(_, name)| name),
        ratios.len(),
        all.len(),
    );
    if !options.targets {
        return;
    }
    let mut targets: Vec<f64> = all.iter().filter_map(|w| w.workload.target).collect();
    targets.sort_by(f64::total_cmp);
    targets.dedup();
    println!();
    let mut table = Table::new(&["target", "workloads", "geometric mean", "minimum", "verdict"]);
    for target in targets {
        let group = all.iter().filter(|w| w.workload.target == Some(target));
        let ratios: Vec<Option<f64>> = group.map(|w| w.speedup(m)).collect();
        // A workload that did not finish fails its group.
        let finished: Option<Vec<f64>> = ratios.iter().copied().collect();
        let mean = finished.as_deref().map(geometric_mean);
        table.row(vec![
            format!("{target}"),
            ratios.len().to_string(),
            times(mean),
            times(finished.as_deref().map(minimum)),
            pass(mean.is_some_and(|mean| mean >= target)),
        ]);
    }
    table.print(options.markdown);
}

/// Prints every disagreement. False if a result differs or rwl failed.
fn verdicts(all: &[Measured], maudes: &[Program]) -> bool {
    let mut agree = true;
    for Measured { workload, maudes: records, rwl } in all {
        let name = &workload.name;
        if let Some(failure) = &rwl.failure {
            println!("FAILED {name}: rwl: {failure}");
            agree = false;
        }
        for (record, maude) in records.iter().zip(maudes) {
            if let Some(failure) = &record.failure {
                println!("note: {name}: {}: {failure}", maude.title);
            } else if rwl.failure.is_some() {
                // Said above.
            } else if let Some(difference) = record.answer.results_differ(&rwl.answer) {
                println!("FAILED {name}: {} and rwl differ\n{difference}", maude.title);
                agree = false;
            } else if let Some(difference) = record.answer.counts_differ(&rwl.answer) {
                println!("note: {name}: rewrite counts differ: {difference}");
            }
        }
    }
    if agree {
        println!("all results agree");
    }
    agree
}

fn pass(passed: bool) -> String {
    if passed { "pass" } else { "FAIL" }.into()
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{ratio:.2}x"))
}

/// The middle figure, or the mean of the middle two.
fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (half, odd) = (sorted.len() / 2, sorted.len() % 2 == 1);
    if odd { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

fn minimum(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::INFINITY, f64::min)
}

fn geometric_mean(figures: &[f64]) -> f64 {
    let logarithms: f64 = figures.iter().map(|figure| figure.ln()).sum();
    (logarithms / figures.len() as f64).exp()
}
