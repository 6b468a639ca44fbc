//! The program `rwl`: everything is in the library.

fn main() -> std::process::ExitCode {
    rwl::cli::run(std::env::args_os()).into()
}
