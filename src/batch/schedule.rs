//! Which claims run when: as many as there are threads, and as fit into the memory together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Claim;
use super::process::{self, Said, failed};
use crate::base::Cancel;
use crate::report::{ClaimReport, Ended};

/// What the claims share.
pub struct Setup {
    /// This very program.
    pub program: PathBuf,
    pub threads: usize,
    /// For all processes together.
    pub memory: Option<usize>,
    pub deadline: Option<Instant>,
    /// Each claim in layers saves what is done in a folder of its own below.
    pub checkpoint: Option<PathBuf>,
    pub resume: bool,
    /// Should processes tell how far they are?
    pub progress: bool,
    /// Stop the processes, and start no other.
    pub stop: Cancel,
    /// Do not wait for them.
    pub kill: Cancel,
}

/// What happens meanwhile; claims are told by their places.
pub enum Event<'a> {
    Started(usize),
    Progress(usize, &'a str),
    Done(usize, &'a ClaimReport),
}

/// So often it looks whether it is to stop.
const TICK: Duration = Duration::from_millis(50);

/// Checks all claims; their reports in the same order.
pub fn run(claims: &[Claim], setup: &Setup, listen: &mut dyn FnMut(Event)) -> Vec<ClaimReport> {
    let (sender, receiver) = mpsc::channel();
    let mut batch = Batch {
        claims,
        setup,
        sender,
        waiting: (0..claims.len()).collect(),
        running: HashMap::new(),
        reports: vec![None; claims.len()],
    };
    while !(batch.waiting.is_empty() && batch.running.is_empty()) {
        batch.look_at_limits(listen);
        batch.start_what_fits(listen);
        batch.hear(&receiver, listen);
    }
    batch.reports.into_iter().map(|report| report.expect("every claim was started or given up")).collect()
}

struct Batch<'a> {
    claims: &'a [Claim],
    setup: &'a Setup,
    sender: Sender<(usize, Said)>,
    /// In the order of the plan.
    waiting: Vec<usize>,
    running: HashMap<usize, Running>,
    reports: Vec<Option<ClaimReport>>,
}

struct Running {
    child: Child,
    threads: usize,
    memory: usize,
    was_asked_to_stop: bool,
    answer: Option<String>,
    messages: Option<String>,
}

impl Batch<'_> {
    fn look_at_limits(&mut self, listen: &mut dyn FnMut(Event)) {
        let stop = self.setup.stop.is_raised();
        for running in self.running.values_mut() {
            if self.setup.kill.is_raised() {
                // It may have ended by itself.
                let _ = running.child.kill();
            } else if stop && !std::mem::replace(&mut running.was_asked_to_stop, true) {
                process::interrupt(&running.child);
            }
        }
        let reason = match self.setup.deadline {
            _ if stop => "interrupted before it began",
            Some(deadline) if Instant::now() >= deadline => "the time limit was reached before it began",
            _ => return,
        };
        for place in std::mem::take(&mut self.waiting) {
            self.done(place, failed(&self.claims[place], Ended::Checked, reason), listen);
        }
    }

    /// The memory that a claim may use: its own limit, or as much as any other.
    fn memory(&self, claim: &Claim) -> Option<usize> {
        let budget = self.setup.memory;
        let share = budget.map(|budget| budget / self.setup.threads.min(self.claims.len()));
        match (claim.memory, budget) {
            (Some(own), Some(budget)) => Some(own.min(budget)),
            (own, _) => own.or(share),
        }
    }

    /// Starts claims in the order of the plan, passing over those that have to wait. Threads that
    /// none of them asks for are divided among them.
    fn start_what_fits(&mut self, listen: &mut dyn FnMut(Event)) {
        let (used_threads, used_memory) = self
            .running
            .values()
            .fold((0, 0), |(threads, memory), running| (threads + running.threads, memory + running.memory));
        let mut threads = self.setup.threads.saturating_sub(used_threads);
        let mut memory = self.setup.memory.unwrap_or(usize::MAX).saturating_sub(used_memory);
        let mut chosen = Vec::new();
        for &place in &self.waiting {
            let claim = &self.claims[place];
            let own_threads = claim.threads.unwrap_or(1).min(self.setup.threads);
            let own_memory = self.memory(claim).unwrap_or(0);
            if own_threads <= threads && own_memory <= memory {
                (threads, memory) = (threads - own_threads, memory - own_memory);
                chosen.push((place, own_threads, own_memory));
            }
        }
        let mut flexible = chosen.iter().filter(|(place, ..)| self.claims[*place].threads.is_none()).count();
        for (place, own_threads, own_memory) in chosen {
            let mut count = own_threads;
            if self.claims[place].threads.is_none() {
                count += threads / flexible;
                threads -= threads / flexible;
                flexible -= 1;
            }
            self.waiting.retain(|waiting| *waiting != place);
            self.start(place, count, own_memory, listen);
        }
    }

    fn start(&mut self, place: usize, threads: usize, memory: usize, listen: &mut dyn FnMut(Event)) {
        let (claim, setup) = (&self.claims[place], self.setup);
        let mut command = process::command(&setup.program, claim.arguments());
        command.args(["--threads", &threads.to_string()]);
        command.args(["--progress", if setup.progress { "always" } else { "never" }]);
        if memory > 0 {
            command.args(["--memory", &memory.to_string()]);
        }
        let left = setup.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if let Some(time) = claim.time.into_iter().chain(left).min() {
            command.args(["--time", &time.as_secs_f64().to_string()]);
        }
        if let Some(directory) = setup.checkpoint.as_ref().filter(|_| claim.layers.as_deref() != Some("none"))
        {
            let own = directory.join(folder(&claim.name));
            if setup.resume && own.is_dir() {
                command.arg("--resume");
            }
            command.arg("--checkpoint").arg(own);
        }
        let sender = self.sender.clone();
        // The receiver lives until all processes have ended.
        match process::start(&mut command, move |said| drop(sender.send((place, said)))) {
            Ok(child) => {
                listen(Event::Started(place));
                let (was_asked_to_stop, answer, messages) = (false, None, None);
                let running = Running { child, threads, memory, was_asked_to_stop, answer, messages };
                self.running.insert(place, running);
            }
            Err(error) => {
                let reason = format!("its process could not be started: {error}");
                self.done(place, failed(claim, Ended::Checked, &reason), listen);
            }
        }
    }

    /// Takes what a process says, and its end.
    fn hear(&mut self, receiver: &Receiver<(usize, Said)>, listen: &mut dyn FnMut(Event)) {
        let Ok((place, said)) = receiver.recv_timeout(TICK) else { return };
        let Some(running) = self.running.get_mut(&place) else { return };
        match said {
            Said::Progress(line) => listen(Event::Progress(place, &line)),
            Said::Answer(text) => running.answer = Some(text),
            Said::Messages(text) => running.messages = Some(text),
        }
        if running.answer.is_none() || running.messages.is_none() {
            return;
        }
        // Both streams are at their end, so this does not take long.
        let Some(mut running) = self.running.remove(&place) else { return };
        let (answer, messages) = (running.answer.unwrap_or_default(), running.messages.unwrap_or_default());
        let claim = &self.claims[place];
        let report = match running.child.wait() {
            Ok(status) => process::report(claim, status, &answer, &messages),
            Err(error) => failed(claim, Ended::Broken, &format!("its process was lost: {error}")),
        };
        self.done(place, report, listen);
    }

    fn done(&mut self, place: usize, report: ClaimReport, listen: &mut dyn FnMut(Event)) {
        listen(Event::Done(place, &report));
        self.reports[place] = Some(report);
    }
}

/// A folder's name for a claim: legible, and another one for each name.
fn folder(name: &str) -> String {
    let legible: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).take(60).collect();
    // FNV-1a
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{legible}-{hash:016x}")
}

/// Reads the specification, the initial state and the formula of each claim, and revises the module if that
/// is its method, without checking anything;
/// what is said about those that cannot be checked, with their places. `format` is that of messages.
pub fn rehearse(claims: &[Claim], program: &Path, threads: usize, format: [&str; 4]) -> Vec<(usize, String)> {
    let (next, mistakes) = (Mutex::new(0..claims.len()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(claims.len()) {
            scope.spawn(|| {
                loop {
                    let Some(place) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else {
                        break;
                    };
                    let mut command = Command::new(program);
                    command.args(claims[place].arguments()).args(["--automaton", "hoa", "-q"]).args(format);
                    let Ok(output) = command.stdin(Stdio::null()).output() else { continue };
                    if output.status.code() == Some(2) {
                        let said = String::from_utf8_lossy(&output.stderr).into_owned();
                        mistakes.lock().unwrap_or_else(PoisonError::into_inner).push((place, said));
                    }
                }
            });
        }
    });
    let mut mistakes = mistakes.into_inner().unwrap_or_else(PoisonError::into_inner);
    mistakes.sort_unstable();
    mistakes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_legible_and_differ() {
        assert!(folder("Qlock, 8 processes (2 2)").starts_with("Qlock--8-processes--2-2--"));
        assert_ne!(folder("a b"), folder("a-b"));
        assert!(folder(&"../".repeat(100)).len() < 80);
        assert!(!folder("../x").contains('/'));
    }
}
