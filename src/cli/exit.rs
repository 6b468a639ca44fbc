//! How the program ends.

use crate::interp::Status;

/// What the exit code tells. Maude answers 0 in all of these cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ExitCode {
    /// The commands ran (every claim holds).
    Success = 0,
    /// A claim is violated.
    Violated = 1,
    /// Bad usage, an unreadable file, a syntax or sort error.
    BadInput = 2,
    /// A limit was reached, or the run was interrupted.
    Unknown = 3,
    /// We have a bug.
    Internal = 4,
}

impl ExitCode {
    /// What a session came to: the first of these that is true of some part of it, since what was not
    /// understood was not done at all, and a violation stays one whatever else is unknown.
    pub fn of(status: &Status) -> ExitCode {
        if status.internal {
            ExitCode::Internal
        } else if status.errors > 0 {
            ExitCode::BadInput
        } else if status.violated {
            ExitCode::Violated
        } else if status.stopped || status.gave_up {
            ExitCode::Unknown
        } else {
            ExitCode::Success
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        (code as u8).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_manual() {
        use ExitCode::*;
        assert_eq!([Success, Violated, BadInput, Unknown, Internal].map(|c| c as u8), [0, 1, 2, 3, 4]);
        let status = |errors, stopped| Status { errors, stopped, ..Status::default() };
        assert_eq!(ExitCode::of(&status(0, false)), Success);
        assert_eq!(ExitCode::of(&status(2, false)), BadInput);
        assert_eq!(ExitCode::of(&status(2, true)), BadInput);
        assert_eq!(ExitCode::of(&status(0, true)), Unknown);
        assert_eq!(ExitCode::of(&Status { violated: true, ..status(1, true) }), BadInput);
        assert_eq!(ExitCode::of(&Status { internal: true, violated: true, ..status(1, true) }), Internal);
        assert_eq!(ExitCode::of(&Status { violated: true, ..status(0, true) }), Violated);
    }
}
