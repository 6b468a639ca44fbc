//! `rwl plan`, `rwl job run` and `rwl plan collect` as parts of a session.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ExitCode;
use super::args::{BatchArgs, CheckArgs, Cli, Command, Common, Format, PlanArgs};
use super::batch::{claims, output, rehearse, status, written};
use super::output::Output;
use super::run::{check_request, cores};
use crate::base::{Cancel, SourceMap};
use crate::batch::failed;
use crate::check::Counterexample;
use crate::check::layers::apart::Pieces;
use crate::interp::{CheckRequest, Flow, Interpreter, Setup};
use crate::jobs::{self, Files, JobsError, Source, Spec, Task};
use crate::report::{BatchReport, Ended};

/// Something that a plan consists of, or is to consist of.
pub enum Portion<'a> {
    New(&'a PlanArgs),
    Job(&'a Path, jobs::Job, Option<Claim>),
    Plan(&'a Path, jobs::Plan),
}

/// A claim of a batch, as arguments that were read.
pub struct Claim {
    check: CheckArgs,
    common: Common,
}

impl<'a> Portion<'a> {
    /// A plan that can be made.
    pub fn new(args: &'a PlanArgs) -> Result<Self, JobsError> {
        jobs::plan::claim_directory(&args.into)?;
        Ok(Portion::New(args))
    }

    pub fn job(path: &'a Path) -> Result<Self, JobsError> {
        let job = jobs::Job::read(path)?;
        let claim = match &job.task {
            Task::Search(_) => None,
            Task::Claim(arguments) => {
                let words = std::iter::once("rwl".to_owned()).chain(arguments.iter().cloned());
                match Cli::from_args(words.map(OsString::from)).map(|cli| cli.command) {
                    Ok(Some(Command::Check { check, common, .. })) => Some(Claim { check, common }),
                    _ => return Err(JobsError::Damaged(path.to_owned())),
                }
            }
        };
        Ok(Portion::Job(path, job, claim))
    }

    pub fn plan(directory: &'a Path) -> Result<Self, JobsError> {
        Ok(Portion::Plan(directory, jobs::Plan::read(directory)?))
    }

    /// The specification that was packed.
    pub fn spec(&self) -> Option<&Spec> {
        match self {
            Portion::New(_) => None,
            Portion::Job(_, job, _) => Some(&job.spec),
            Portion::Plan(_, plan) => Some(&plan.spec),
        }
    }

    /// The limits that a claim has by itself.
    pub fn limits(&self) -> Option<&Common> {
        match self {
            Portion::Job(_, _, Some(claim)) => Some(&claim.common),
            _ => None,
        }
    }

    /// Tells the result of a job that has one.
    pub fn is_done(&self, interpreter: &mut Interpreter, output: &mut Output) -> bool {
        match self {
            Portion::Job(path, job, _) => jobs::run::is_done(interpreter, output, path, job),
            _ => false,
        }
    }

    /// Loads the specification and does what is to be done.
    pub fn work(&self, interpreter: &mut Interpreter, output: &mut Output, spec: Spec) {
        let source = match self {
            Portion::New(_) => Source::Noted(Default::default()),
            Portion::Job(..) | Portion::Plan(..) => Source::Only(spec.files.clone()),
        };
        let listens = matches!(self, Portion::Job(_, _, Some(_)));
        let mut host = Files { host: output, source, listens, heard: None };
        let flow = interpreter.run_file(&mut host, &spec.file);
        if flow == Flow::Quit || interpreter.status.errors > 0 || interpreter.status.stopped {
            return;
        }
        match self {
            Portion::Job(path, job, Some(claim)) => {
                jobs::run::check(interpreter, &mut host, path, job, &check_request(&claim.check));
            }
            Portion::Job(path, job, None) => {
                if let Task::Search(search) = &job.task {
                    jobs::run::search(interpreter, &mut host, path, job, search);
                }
            }
            Portion::Plan(directory, plan) => jobs::collect::collect(interpreter, &mut host, directory, plan),
            Portion::New(args) => {
                let spec = Spec { files: host.files().clone(), ..spec };
                let PlanArgs { module, init, formula, .. } = PlanArgs::clone(args);
                let order = jobs::plan::Order {
                    request: &CheckRequest { module, init, formulas: formula, ..CheckRequest::default() },
                    layers: &args.layers,
                    pieces: args.pairs_per_job.map_or(Pieces::Count(args.jobs), Pieces::Pairs),
                    directory: &args.into,
                };
                jobs::plan::make(interpreter, &mut host, &order, spec);
            }
        }
    }
}

/// The specification that the arguments name, as it would be packed.
pub fn spec(file: Option<&String>, library: Vec<PathBuf>, random_seed: u32, no_prelude: bool) -> Spec {
    Spec {
        file: file.cloned().unwrap_or_default(),
        directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        library,
        random_seed,
        no_prelude,
        files: Default::default(),
    }
}

/// Writes a job for each claim of a batch.
pub fn plan_batch(batch: &Path, into: &Path, common: &Common, library: Vec<PathBuf>) -> ExitCode {
    let stop = Cancel::default();
    let mut screen = match output("plan", common, common.output.as_deref(), &stop) {
        Ok(output) => output,
        Err(code) => return code,
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            screen.message(&format!("error: this program cannot be found: {error}\n"));
            return ExitCode::Internal;
        }
    };
    if let Err(error) = jobs::plan::claim_directory(into) {
        jobs::say(&mut screen, &error);
        return ExitCode::BadInput;
    }
    let args = BatchArgs {
        plans: vec![batch.to_owned()],
        filter: Vec::new(),
        list: false,
        layers: None,
        checkpoint: None,
        resume: false,
        html: None,
    };
    let mut sources = SourceMap::default();
    let Some(claims) = claims(&args, &mut sources, &mut screen) else { return ExitCode::BadInput };
    let threads = common.threads.unwrap_or_else(cores);
    if !rehearse(&claims, &program, threads, common.format, &sources, &mut screen) {
        return ExitCode::BadInput;
    }
    let mut packed = Vec::new();
    for claim in &claims {
        let Some(spec) = pack(&claim.spec, &library, &mut screen) else { return ExitCode::BadInput };
        let arguments = claim.limited().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        packed.push((failed(claim, Ended::Checked, "its job has no result"), spec, arguments));
    }
    match jobs::plan::batch(&mut screen, into, packed) {
        Ok(()) => written(&screen).unwrap_or(ExitCode::Success),
        Err(error) => {
            jobs::say(&mut screen, &error);
            ExitCode::BadInput
        }
    }
}

/// A specification with all it loads; nothing if that has errors, which are told.
fn pack(file: &Path, library: &[PathBuf], screen: &mut Output) -> Option<Spec> {
    let file = file.to_string_lossy().into_owned();
    let spec = spec(Some(&file), library.to_vec(), 0, false);
    let mut interpreter = Interpreter::new(Setup {
        cancel: Cancel::default(),
        directory: spec.directory.clone(),
        library: spec.library.clone(),
        random_seed: spec.random_seed,
        threads: 1,
        memory_max: None,
        counterexample: Counterexample::Short,
        time_is_up: Cancel::default(),
        deadline: None,
        memory_is_up: Cancel::default(),
        resumes: false,
    });
    interpreter.options.show.advisories = false;
    interpreter.load_prelude(screen);
    interpreter.declares_only = true;
    let mut host =
        Files { host: screen, source: Source::Noted(Default::default()), listens: false, heard: None };
    interpreter.run_file(&mut host, &file);
    (interpreter.status.errors == 0).then(|| Spec { files: host.files().clone(), ..spec })
}

/// Tells what became of the claims of a batch, as `rwl batch` does.
pub fn collect_batch(directory: &Path, plan: &jobs::Plan, common: &Common) -> ExitCode {
    let mut output = match output("plan", common, common.output.as_deref(), &Cancel::default()) {
        Ok(output) => output,
        Err(code) => return code,
    };
    let reports = match jobs::collect::batch(directory, plan) {
        Ok(reports) => reports,
        Err(error) => {
            jobs::say(&mut output, &error);
            return ExitCode::BadInput;
        }
    };
    let text = match common.format {
        Format::Json => reports.iter().map(|report| format!("{}\n", report.json())).collect(),
        Format::Text => {
            let seconds = reports.iter().filter_map(|report| report.answer["seconds"].as_f64()).sum();
            let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            BatchReport { claims: &reports, time }.text(output.colours_answers())
        }
    };
    output.put(&text);
    written(&output).unwrap_or_else(|| ExitCode::of(&status(&reports)))
}
