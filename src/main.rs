//! The program `rwl`: everything is in the library.

#[global_allocator]
static ALLOCATOR: rwl::cli::Allocator = rwl::cli::Allocator;

fn main() -> std::process::ExitCode {
    rwl::cli::run(std::env::args_os()).into()
}
