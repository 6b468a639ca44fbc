//! One run of the program.

use std::any::Any;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::args::{
    self, Automaton, CheckArgs, Cli, Command, Common, JobCommand, MaudeFlags, Method, Plain, PlanArgs,
    PlanCommand, SearchArgs, When,
};
use super::jobs::Portion;
use super::output::{Output, Style, appendable, cannot_write, unwritable};
use super::{Activity, Doing, ExitCode, memory, stdin};
use crate::base::{Cancel, Exceeded, SourceMap};
use crate::check::Counterexample;
use crate::interp::{
    AutomatonFormat, CheckRequest, Flow, Host, Interpreter, LayersRequest, STANDARD_INPUT, SearchRequest,
    Setup, Text,
};
use crate::jobs;
use crate::repl;

/// Reserved for the stack; pages are only taken when they are touched.
const STACK_BYTES: usize = 1 << 30;
/// If so much cannot be reserved.
const SMALL_STACK_BYTES: usize = 1 << 26;

/// Does what the arguments say.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    memory::prepare();
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::from_args(args.iter().cloned()) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && args::wants_json(&args) => {
            let _ = writeln!(io::stdout(), "{}", args::error_json(&args, &error));
            return ExitCode::BadInput;
        }
        Err(error) => {
            // A reader that has gone needs no help text.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::BadInput } else { ExitCode::Success };
        }
    };
    if cli.plain.version {
        let _ = writeln!(io::stdout(), "rwl {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::Success;
    }
    std::panic::set_hook(Box::new(|info| {
        let payload = text_of(info.payload());
        let place = info.location().map_or_else(String::new, |place| format!(" at {place}"));
        let _ = writeln!(
            io::stderr(),
            "internal error: {payload}{place}\nThis is a bug in rwl {}. Please report it, with the input that led here.",
            env!("CARGO_PKG_VERSION")
        );
    }));
    let plan = match cli.command {
        Some(Command::Batch { batch, common }) => return super::batch::run(&batch, &common),
        Some(Command::Run { files, common, maude }) => {
            Plan { files, job: Job::Commands, common, maude, and_exit: true }
        }
        Some(Command::Search { search, common, maude }) => {
            Plan { files: vec![search.file.clone()], job: Job::Search(search), common, maude, and_exit: true }
        }
        Some(Command::Check { check, common, maude }) => {
            Plan { files: vec![check.file.clone()], job: Job::Check(check), common, maude, and_exit: true }
        }
        Some(Command::Plan { collect: Some(PlanCommand::Collect { directory, common, maude }), .. }) => {
            Plan { files: Vec::new(), job: Job::Collect(directory), common, maude, and_exit: true }
        }
        Some(Command::Plan { plan: Some(plan), common, maude, .. }) => Plan {
            files: Vec::from_iter(plan.file.clone()),
            job: Job::Plan(plan),
            common,
            maude,
            and_exit: true,
        },
        Some(Command::Plan { .. }) => unreachable!("the file is required without a subcommand"),
        Some(Command::Job { command: JobCommand::Run { file, common, maude } }) => {
            Plan { files: Vec::new(), job: Job::Part(file), common, maude, and_exit: true }
        }
        None => {
            let Plain { files, common, maude, .. } = cli.plain;
            Plan { files, job: Job::Commands, common, maude, and_exit: false }
        }
    };
    // Deep terms and long lists are handled by loops, but not everywhere: a large stack is cheap.
    let plan = Arc::new(plan);
    let large = memory::address_limit().map_or(STACK_BYTES, |all| STACK_BYTES.min(all / 8));
    for bytes in [large.max(SMALL_STACK_BYTES), SMALL_STACK_BYTES] {
        let plan = plan.clone();
        let thread = std::thread::Builder::new().name("rwl".to_owned()).stack_size(bytes);
        if let Ok(handle) = thread.spawn(move || session(&plan)) {
            return handle.join().unwrap_or_else(|payload| match payload.downcast_ref() {
                Some(Exceeded(what)) => {
                    let _ = writeln!(io::stderr(), "error: {what}");
                    ExitCode::Unknown
                }
                None => ExitCode::Internal,
            });
        }
    }
    session(&plan)
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn text_of(payload: &dyn Any) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "panic",
    }
}

/// What is to be done.
struct Plan {
    files: Vec<String>,
    job: Job,
    common: Common,
    maude: MaudeFlags,
    /// `rwl run`: neither prompt nor standard input.
    and_exit: bool,
}

impl Plan {
    /// As it is called on the command line.
    fn command(&self) -> &'static str {
        match &self.job {
            Job::Commands => "run",
            Job::Search(_) => "search",
            Job::Check(_) => "check",
            Job::Plan(_) | Job::Collect(_) => "plan",
            Job::Part(_) => "job",
        }
    }
}

/// What to do with the modules of the files.
enum Job {
    /// Whatever the files' commands say.
    Commands,
    Search(SearchArgs),
    Check(CheckArgs),
    /// Divide it and leave the rest to others.
    Plan(PlanArgs),
    /// One part of that.
    Part(PathBuf),
    /// All parts.
    Collect(PathBuf),
}

fn session(plan: &Plan) -> ExitCode {
    let Plan { common, maude, .. } = plan;
    if let Job::Plan(args @ PlanArgs { claims: Some(batch), .. }) = &plan.job {
        return super::jobs::plan_batch(batch, &args.into, common, library());
    }
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let interactive = !plan.and_exit && !maude.batch && (is_terminal || maude.interactive);
    let cancel = Cancel::default();
    let color = match () {
        _ if maude.ansi_color => When::Always,
        _ if maude.no_ansi_color => When::Never,
        _ => common.color,
    };
    let style = Style {
        format: common.format,
        wrap: !maude.no_wrap,
        color,
        side_to_stderr: maude.print_to_stderr,
        progress: common.progress,
    };
    let mut output = match Output::new(common.output.as_deref(), &style, cancel.clone()) {
        Ok(output) => output,
        Err(error) => {
            let path = common.output.as_deref().unwrap_or("".as_ref());
            return unwritable(plan.command(), common.format, path, &error);
        }
    };
    if let Job::Check(CheckArgs { html: Some(path), .. }) = &plan.job
        && let Err(error) = appendable(path)
    {
        return unwritable(plan.command(), common.format, path, &error);
    }
    let (time_is_up, memory_is_up) = (Cancel::default(), Cancel::default());
    let portion = match &plan.job {
        Job::Plan(args) => Some(Portion::new(args)),
        Job::Part(path) => Some(Portion::job(path)),
        Job::Collect(directory) => Some(Portion::plan(directory)),
        Job::Commands | Job::Search(_) | Job::Check(_) => None,
    };
    let portion = match portion.transpose() {
        Ok(portion) => portion,
        Err(error) => {
            jobs::say(&mut output, &error);
            return ExitCode::BadInput;
        }
    };
    if let Some(Portion::Plan(directory, plan)) = &portion
        && plan.is_batch()
    {
        return super::jobs::collect_batch(directory, plan, common);
    }
    let own = portion.as_ref().and_then(Portion::limits);
    let memory = common.memory.or(own.and_then(|own| own.memory));
    let time = common.time.or(own.and_then(|own| own.time));
    let threads = common.threads.or(own.and_then(|own| own.threads)).unwrap_or_else(cores);
    // What was packed means the same wherever it is unpacked.
    let spec = portion.as_ref().and_then(Portion::spec).cloned().unwrap_or_else(|| {
        super::jobs::spec(plan.files.first(), library(), maude.random_seed, maude.no_prelude)
    });
    let setup = Setup {
        cancel: cancel.clone(),
        directory: spec.directory.clone(),
        library: spec.library.clone(),
        random_seed: spec.random_seed,
        threads,
        memory_max: memory,
        counterexample: match common.counterexample {
            args::Counterexample::Short => Counterexample::Short,
            args::Counterexample::Maude => Counterexample::Maude,
        },
        time_is_up: time_is_up.clone(),
        deadline: time.and_then(|limit| Instant::now().checked_add(limit)),
        memory_is_up: memory_is_up.clone(),
        resumes: interactive,
    };
    let activity = Arc::new(Activity::new(Doing::Work));
    watch_interrupts(&cancel, &activity, interactive);
    if let Some(limit) = memory {
        memory::watch(limit, cancel.clone(), memory_is_up);
    }
    if let Some(limit) = time {
        watch_time(limit, cancel, time_is_up);
    }
    if maude.show_pid {
        output.message(&format!("pid = {}\n", std::process::id()));
    }
    let mut interpreter = Interpreter::new(setup);
    interpreter.advise_always = maude.always_advise;
    if maude.no_advise || common.quiet {
        interpreter.options.show.advisories = false;
    }
    interpreter.options.print.mixfix = !maude.no_mixfix;
    interpreter.options.print.color = maude.ansi_color;
    if interactive && !maude.no_banner && !common.quiet {
        output.text(&repl::banner());
    }
    if portion.as_ref().is_some_and(|portion| portion.is_done(&mut interpreter, &mut output)) {
        return finish(interpreter, output);
    }
    if !spec.no_prelude {
        interpreter.load_prelude(&mut output);
    }
    interpreter.is_quiet = common.quiet;
    interpreter.is_verbose = common.verbose > 0;
    interpreter.declares_only = !matches!(plan.job, Job::Commands);
    if let Some(portion) = portion {
        portion.work(&mut interpreter, &mut output, spec);
        return finish(interpreter, output);
    }
    let mut flow = Flow::Next;
    for file in &plan.files {
        flow = match file.as_str() {
            "-" => match stdin::all() {
                Ok(text) => {
                    let name = STANDARD_INPUT;
                    let text = Text { name, text: &text, first_line: 1, prompt: false };
                    interpreter.run_text(&mut output, text)
                }
                Err(error) => {
                    output.message(&format!("error: cannot read standard input: {error}\n"));
                    interpreter.status.errors += 1;
                    break;
                }
            },
            file => interpreter.run_file(&mut output, file),
        };
        if flow == Flow::Quit {
            break;
        }
    }
    if ExitCode::of(&interpreter.status) == ExitCode::Success {
        match &plan.job {
            Job::Commands | Job::Plan(_) | Job::Part(_) | Job::Collect(_) => {}
            Job::Search(search) => interpreter.search_once(&mut output, &request(search)),
            Job::Check(check) => {
                output.shows_all = check.full;
                interpreter.check_once(&mut output, &check_request(check));
                output.conclude();
                if let Some(path) = &check.html
                    && let Err(error) = std::fs::write(path, output.page())
                {
                    output.diagnostic(&cannot_write(path, &error), &SourceMap::default());
                    interpreter.status.errors += 1;
                }
            }
        }
    }
    if flow != Flow::Quit && !plan.and_exit {
        if interactive {
            repl::run(&mut interpreter, &mut output, &activity);
        } else {
            activity.set(Doing::Read);
            if let Err(error) = stdin::run(&mut interpreter, &mut output, &activity) {
                output.message(&format!("error: cannot read standard input: {error}\n"));
                interpreter.status.errors += 1;
            }
        }
    }
    if !plan.and_exit {
        let unfinished = interpreter.status.unfinished;
        output.text(if unfinished { "\nBye.\n" } else { "Bye.\n" });
    }
    finish(interpreter, output)
}

/// The end of a session.
fn finish(interpreter: Interpreter, mut output: Output) -> ExitCode {
    output.flush();
    if let Some(error) = output.take_failure() {
        let _ = writeln!(io::stderr(), "error: cannot write the answer: {error}");
        return ExitCode::Unknown;
    }
    // Where the reader has gone, too: what was not done for that reason is unknown.
    let code = ExitCode::of(&interpreter.status);
    // The process ends now; giving back its memory piece by piece would only take time.
    std::mem::forget(interpreter);
    code
}

fn request(args: &SearchArgs) -> SearchRequest {
    let SearchArgs { module, init, pattern, condition, arrow, solutions, depth, .. } = args.clone();
    let solutions = solutions.map(|count| count as u64);
    SearchRequest { module, init, pattern, condition, arrow, solutions, depth }
}

pub(super) fn check_request(args: &CheckArgs) -> CheckRequest {
    let CheckArgs { module, init, formula, fair_weak, fair_strong, automaton, .. } = args.clone();
    let automaton = automaton.map(|format| match format {
        Automaton::Hoa => AutomatonFormat::Hoa,
        Automaton::Dot => AutomatonFormat::Dot,
    });
    let layers = args.layers.layers.clone().map(|layers| LayersRequest {
        layers,
        method: match args.method {
            Method::Native => crate::interp::Method::Native,
            Method::Revise => crate::interp::Method::Revise,
        },
        checkpoint: args.checkpoint.clone(),
        resume: args.resume,
    });
    let memory = memory::usual();
    let [fair_weak, fair_strong] =
        [fair_weak, fair_strong].map(|labels| labels.iter().map(|label| label.trim().to_owned()).collect());
    CheckRequest { module, init, formulas: formula, fair_weak, fair_strong, automaton, layers, memory }
}

/// The directories of `RWL_LIB` and `MAUDE_LIB`.
fn library() -> Vec<PathBuf> {
    let split = |name: &str| std::env::var_os(name).map(|value| std::env::split_paths(&value).collect());
    ["RWL_LIB", "MAUDE_LIB"]
        .iter()
        .filter_map(|name| split(name))
        .flat_map(|paths: Vec<PathBuf>| paths)
        .filter(|path| !path.as_os_str().is_empty())
        .collect()
}

/// Ctrl-C stops the running command, the second time the program; at the prompt it drops what was
/// typed. (An editor that reads single keys takes it as a key, and this is not called.) Where there is no prompt,
/// being asked to end (by `timeout`, or the scheduler of a cluster) is the same.
fn watch_interrupts(cancel: &Cancel, activity: &Arc<Activity>, interactive: bool) {
    if !interactive {
        end_as_interrupted();
    }
    let (cancel, activity) = (cancel.clone(), activity.clone());
    on_interrupt(move || match activity.get() {
        Doing::Work if !cancel.is_raised() => cancel.raise(),
        Doing::Work | Doing::Read => std::process::exit(ExitCode::Unknown as i32),
        Doing::Prompt | Doing::Drop => {
            activity.set(Doing::Drop);
            repl::prompt_anew();
        }
    });
}

/// Calls this at each interrupt, but for echoes: `timeout` sends its signal to a process and then to the group
/// that it is in, which is no second wish.
pub(super) fn on_interrupt(mut work: impl FnMut() + Send + 'static) {
    const ECHO: Duration = Duration::from_millis(300);
    let mut last: Option<Instant> = None;
    // Without a handler the system's default still ends the program.
    let _ = ctrlc::set_handler(move || {
        if last.is_none_or(|last| last.elapsed() > ECHO) {
            last = Some(Instant::now());
            work();
        }
    });
}

/// Takes a request to end for an interrupt.
pub(super) fn end_as_interrupted() {
    #[cfg(unix)]
    {
        extern "C" fn interrupt(_: libc::c_int) {
            // SAFETY: a handler may raise a signal.
            unsafe { libc::raise(libc::SIGINT) };
        }
        // SAFETY: the handler does nothing that a handler may not do.
        unsafe { libc::signal(libc::SIGTERM, interrupt as *const () as libc::sighandler_t) };
    }
}

fn watch_time(limit: Duration, cancel: Cancel, time_is_up: Cancel) {
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        time_is_up.raise();
        cancel.raise();
    });
}
