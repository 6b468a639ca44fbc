//! Running a program as a child and taking the kernel's figures for it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

/// Flags given to both programs.
const FLAGS: [&str; 4] = ["-no-banner", "-no-advise", "-no-wrap", "-batch"];

/// A program to measure, and what tables call it.
pub struct Program {
    path: PathBuf,
    pub title: String,
    /// Arguments of its own.
    args: &'static [&'static str],
}

/// What one run cost and said.
pub struct Run {
    /// User and system seconds.
    pub cpu: f64,
    pub wall: f64,
    /// Peak resident memory. The kernel counts the moment before `exec` too, so no figure is below
    /// the harness's own few megabytes.
    pub megabytes: f64,
    pub stdout: String,
    /// Why the run does not count, if it does not.
    pub failure: Option<String>,
}

impl Program {
    /// The rwl to measure: `RWL`, or the binary that cargo built.
    pub fn rwl() -> Result<Program, String> {
        let given = std::env::var_os("RWL").map(PathBuf::from);
        let path = given.unwrap_or_else(|| env!("CARGO_BIN_EXE_rwl").into());
        let path = locate(&path).ok_or_else(|| format!("no rwl at {}", path.display()))?;
        // Maude has one thread, so rwl gets one.
        Ok(Program { path, title: "rwl".into(), args: &["--threads", "1"] })
    }

    /// The Maudes to compare with: those given, or `MAUDE`, or `maude` on the path.
    pub fn maudes(given: &[PathBuf]) -> Result<Vec<Program>, String> {
        let fallback = std::env::var_os("MAUDE").unwrap_or_else(|| "maude".into());
        let fallback = [PathBuf::from(fallback)];
        let paths = if given.is_empty() { &fallback } else { given };
        let maudes = paths.iter().map(|path| Program::maude(path));
        let mut maudes = maudes.collect::<Result<Vec<_>, _>>()?;
        if maudes.len() > 1 {
            for maude in &mut maudes {
                maude.title = format!("{} ({})", maude.title, maude.path.display());
            }
        }
        Ok(maudes)
    }

    fn maude(path: &Path) -> Result<Program, String> {
        let missing = || {
            format!(
                "no Maude at `{}`: install Maude, or name one with --maude PATH or MAUDE=PATH",
                path.display()
            )
        };
        let path = locate(path).ok_or_else(missing)?;
        let output = Command::new(&path)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("cannot run {}: {e}", path.display()))?;
        let version = String::from_utf8_lossy(&output.stdout);
        Ok(Program { title: format!("Maude {}", version.trim()), path, args: &[] })
    }

    /// Runs a file, for at most `limit` CPU seconds.
    pub fn run(&self, file: &Path, limit: u64, scratch: &Scratch) -> Result<Run, String> {
        let args: Vec<&OsStr> =
            FLAGS.iter().chain(self.args).map(OsStr::new).chain([file.as_os_str()]).collect();
        self.run_with(&args, file.parent().unwrap_or(Path::new(".")), limit, scratch)
    }

    /// Runs it with these arguments in a folder, for at most `limit` CPU seconds.
    pub fn run_with(
        &self,
        args: &[impl AsRef<OsStr>],
        folder: &Path,
        limit: u64,
        scratch: &Scratch,
    ) -> Result<Run, String> {
        let run = self.attempt(args, folder, limit, scratch);
        run.map_err(|e| format!("cannot run {}: {e}", self.path.display()))
    }

    fn attempt(
        &self,
        args: &[impl AsRef<OsStr>],
        folder: &Path,
        limit: u64,
        scratch: &Scratch,
    ) -> io::Result<Run> {
        let stdout = scratch.folder.join("stdout");
        let stderr = scratch.folder.join("stderr");
        let mut command = Command::new(&self.path);
        command
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(File::create(&stdout)?)
            .stderr(File::create(&stderr)?);
        let start = Instant::now();
        let child = command.spawn()?;
        restrict(&child, limit);
        let (status, usage) = wait(child)?;
        let wall = start.elapsed().as_secs_f64();
        let complaint = String::from_utf8_lossy(&fs::read(&stderr)?).into_owned();
        Ok(Run {
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            wall,
            megabytes: usage.ru_maxrss as f64 / 1024.0,
            stdout: String::from_utf8_lossy(&fs::read(&stdout)?).into_owned(),
            failure: failure(status, &complaint),
        })
    }
}

/// Gives a child so many CPU seconds. To do that before it starts, it would have to be forked, and pay for
/// copies of the harness's pages out of its own time.
fn restrict(child: &Child, limit: u64) {
    let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let cpu = libc::rlimit { rlim_cur: limit, rlim_max: limit + 5 };
    for (resource, value) in [(libc::RLIMIT_CORE, no_core), (libc::RLIMIT_CPU, cpu)] {
        // SAFETY: the pointer is to a live variable, and nothing is asked for.
        unsafe { libc::prlimit(child.id() as libc::pid_t, resource, &value, std::ptr::null_mut()) };
    }
}

/// Waits for a child and takes what it used.
fn wait(child: Child) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: a `rusage` is plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live variables, and the child has not been waited for.
        let pid = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
        if pid >= 0 {
            return Ok((ExitStatus::from_raw(status), usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

/// A run counts if it ended well and complained of nothing.
fn failure(status: ExitStatus, complaint: &str) -> Option<String> {
    let said = complaint.lines().find(|line| !line.trim().is_empty());
    match (status.signal(), said) {
        (Some(libc::SIGXCPU), _) => Some("stopped at its limit of CPU time".into()),
        (Some(signal), _) => Some(format!("killed by signal {signal}")),
        (None, Some(line)) => Some(format!("complained: {line}")),
        (None, None) if !status.success() => Some(status.to_string()),
        (None, None) => None,
    }
}

/// The absolute path of a program given by path or by a name to look up on `PATH`.
fn locate(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.canonicalize().ok().filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// A folder for the harness's own files, deleted at the end.
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    pub fn new() -> Result<Scratch, String> {
        let folder = std::env::temp_dir().join(format!("rwl-compare-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Scratch { folder })
    }

    /// Writes a file there.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be deleted harms nothing.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
