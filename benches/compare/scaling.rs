//! rwl alone on growing sizes: is the time per element constant?

use crate::child::{Program, Run, Scratch};
use crate::table::Table;
use crate::workload::{self, Workload};
use crate::{Options, median, minimum};
use std::fs;
use std::path::Path;

/// The measured order may exceed the expected one by this much. Tenfold sizes leave the caches and
/// deepen trees on the way; this allows twice the time per element for them.
const TOLERANCE: f64 = 0.3;

/// Less time than this above an empty program's, in seconds, says nothing about growth.
const TELLING: f64 = 0.005;

/// Runs every scaling workload at all of its sizes. False if a run failed.
pub fn scaling(options: &Options) -> Result<bool, String> {
    let rwl = Program::rwl()?;
    let scratch = Scratch::new()?;
    let workloads = workload::suites(&["scaling".to_string()], &options.filters)?;
    let empty = scratch.file("empty.maude", "quit .\n")?;
    let (base_cpu, base_megabytes) = cheapest(&runs(options, &rwl, &empty, &scratch)?);
    let mut table = Table::new(&[
        "workload",
        "size",
        "CPU s",
        "MB",
        "ns / element",
        "bytes / element",
        "order",
        "verdict",
    ]);
    let mut failures = Vec::new();
    for workload in &workloads {
        eprintln!("{} ...", workload.name);
        let mut before = None;
        for &size in &workload.sizes {
            let path = scratch.file("sized.maude", &program(workload, size)?)?;
            let runs = runs(options, &rwl, &path, &scratch)?;
            let name = format!("{} (n^{})", workload.name, workload.order);
            if let Some(failure) = runs.iter().find_map(|run| run.failure.as_ref()) {
                failures.push(format!("FAILED {name} at {size}: {failure}"));
                let mut row = vec![name, size.to_string()];
                row.resize(7, "-".to_string());
                row.push("FAIL".to_string());
                table.row(row);
                break;
            }
            let (cpu, megabytes) = cheapest(&runs);
            let spent = (cpu - base_cpu).max(0.0);
            let nanoseconds = spent * 1e9 / (size as f64).powi(workload.order as i32);
            let bytes = (megabytes - base_megabytes).max(0.0) * 1024.0 * 1024.0 / size as f64;
            let order = before.map(|(size_before, spent_before): (u64, f64)| {
                (spent / spent_before).ln() / (size as f64 / size_before as f64).ln()
            });
            let verdict = match order {
                Some(order) if order > f64::from(workload.order) + TOLERANCE => "GROWS",
                Some(_) => "pass",
                None => "",
            };
            table.row(vec![
                name,
                size.to_string(),
                format!("{cpu:.3}"),
                format!("{megabytes:.1}"),
                format!("{nanoseconds:.1}"),
                format!("{bytes:.0}"),
                order.map_or(String::new(), |order| format!("n^{order:.2}")),
                verdict.to_string(),
            ]);
            before = (spent >= TELLING).then_some((size, spent));
        }
    }
    table.print(options.markdown);
    failures.iter().for_each(|failure| println!("{failure}"));
    Ok(failures.is_empty())
}

/// The text of a workload at one size.
fn program(workload: &Workload, size: u64) -> Result<String, String> {
    let path = &workload.path;
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let missing = || format!("{}: no `*** command:`", path.display());
    let command = workload.command.as_ref().ok_or_else(missing)?;
    let command = command.replace('@', &size.to_string());
    Ok(format!("{text}\n{command}\nquit .\n"))
}

/// Runs a file once a round, or until it fails.
fn runs(options: &Options, rwl: &Program, path: &Path, scratch: &Scratch) -> Result<Vec<Run>, String> {
    let mut runs = Vec::new();
    for _ in 0..options.rounds {
        let run = rwl.run(path, options.limit, scratch)?;
        let failed = run.failure.is_some();
        runs.push(run);
        if failed {
            break;
        }
    }
    Ok(runs)
}

/// The least CPU time and the median memory.
fn cheapest(runs: &[Run]) -> (f64, f64) {
    let cpu: Vec<f64> = runs.iter().map(|run| run.cpu).collect();
    let megabytes: Vec<f64> = runs.iter().map(|run| run.megabytes).collect();
    (minimum(&cpu), median(&megabytes))
}
