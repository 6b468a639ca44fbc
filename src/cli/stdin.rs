//! Standard input that is no terminal: each item runs as soon as it is complete.

use std::io::{self, Read};

use super::output::Output;
use super::{Activity, Doing};
use crate::interp::{Flow, Host, Interpreter, STANDARD_INPUT, Text};
use crate::syntax::{Progress, next_item};

/// How much is read at once.
const CHUNK: usize = 1 << 20;

/// Is there input that can be read at once?
fn is_waiting() -> bool {
    let mut input = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
    // SAFETY: the call only writes to the struct it is given.
    let count = unsafe { libc::poll(&raw mut input, 1, 0) };
    count > 0 && input.revents & libc::POLLIN != 0
}

/// All that comes, for `-` in the place of a file.
pub fn all() -> io::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads and runs items until the input ends.
pub fn run(interpreter: &mut Interpreter, output: &mut Output, activity: &Activity) -> io::Result<Flow> {
    let mut input = io::stdin().lock();
    let mut bytes = vec![0; CHUNK];
    let mut pending: Vec<u8> = Vec::new();
    let mut first_line = 1;
    loop {
        output.flush();
        let count = match input.read(&mut bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        pending.extend_from_slice(&bytes[..count]);
        let mut run = |text: &str, first_line: usize| {
            let text = Text { name: STANDARD_INPUT, text, first_line, prompt: false };
            activity.set(Doing::Work);
            let flow = interpreter.run_text(output, text);
            activity.set(Doing::Read);
            flow
        };
        if count == 0 {
            return Ok(run(&String::from_utf8_lossy(&pending), first_line));
        }
        // Asking for complete items costs as much as reading them: not while more is waiting.
        if count == CHUNK {
            continue;
        }
        // Whole lines only: the end of a line can be the end of a command.
        let Some(end) = pending.iter().rposition(|&b| b == b'\n') else { continue };
        let text = String::from_utf8_lossy(&pending[..=end]).into_owned();
        let mut done = 0;
        while let Progress::Complete(length) = next_item(&text[done..]) {
            done += length;
        }
        if done == 0 {
            continue;
        }
        let (now, later) = text.split_at(done);
        let flow = run(now, first_line);
        first_line += now.matches('\n').count();
        if flow == Flow::Quit || output.is_closed() {
            if interpreter.status.stopped && !interpreter.status.skipped {
                let mut rest = later.to_owned();
                while rest.trim().is_empty() && is_waiting() {
                    match input.read(&mut bytes) {
                        Ok(count @ 1..) => rest.push_str(&String::from_utf8_lossy(&bytes[..count])),
                        _ => break,
                    }
                }
                let text = Text { name: STANDARD_INPUT, text: &rest, first_line, prompt: false };
                interpreter.skip_text(output, text);
            }
            return Ok(Flow::Quit);
        }
        let mut rest = later.as_bytes().to_vec();
        rest.extend_from_slice(&pending[end + 1..]);
        pending = rest;
    }
}
