//! `cargo xtask`: the commands that CI and developers run.
#![forbid(unsafe_code)]

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::{
    abi, asm, bench, blas, check, cost, ctests, docs, embedding, freestanding, fuzz, generate, gpu,
    install, library, load, ptx, python, sanitize, size, symbols, targets,
};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The developer tool of Diptych")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write the generated files: include/diptych.h, C functions, and lists of operations for other languages.
    Gen {
        /// Change nothing; fail when a file is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Build libdiptych.a and libdiptych.so into target/diptych-lib.
    Lib,
    /// Build libdiptych_blas.so, which has the names of BLAS, and test it: a C program, Netlib's testers, NumPy.
    Blas(blas::Options),
    /// Build and install the libraries, the header, diptych.pc and the CMake configuration.
    Install(install::Options),
    /// Check what the libraries export and how they are linked.
    Symbols,
    /// Build and run the C and C++ programs in tests/c.
    C,
    /// Build without std for machines without an operating system, and run a program there.
    Freestanding,
    /// Run the suites and the C programs on other targets: 64-bit Arm under QEMU, musl.
    Cross {
        /// The longest tests too: many minutes under an emulator.
        #[arg(long)]
        full: bool,
    },
    /// Check the assembly of the kernels: calls, spills, fma per step.
    Asm,
    /// Check the links of all pages, and make the book of them in target/book.
    Docs,
    /// Check the sizes of the library and of programs that call few operations.
    Size,
    /// Count the instructions of calls at level avx2, and compare with the table of budgets.
    Cost {
        /// Write the counts into the table.
        #[arg(long)]
        bless: bool,
    },
    /// Time Diptych beside the machine's limits and its peers, or show its rounding errors.
    Bench(bench::Options),
    /// Install the Python package as its README says in a fresh environment, and run its tests there.
    Python(python::Options),
    /// Make the folder that checks and times the library on a machine with a GPU, and rehearse it here.
    Gpu,
    /// Compile the GPU kernels to kernels-gpu/ptx and assemble them for each architecture, or execute them.
    Ptx {
        /// Change nothing; fail when a file is out of date.
        #[arg(long)]
        check: bool,
        /// Execute the committed PTX in a simulator, and compare with the CPU: some minutes.
        #[arg(long, conflicts_with = "check")]
        run: bool,
        /// All cases: half an hour.
        #[arg(long, requires = "run")]
        full: bool,
    },
    /// Compare the C and Rust interfaces with their records.
    Abi {
        /// Record them as they are now.
        #[arg(long)]
        bless: bool,
    },
    /// Call every function with valid and invalid arguments for a given time, guided by coverage.
    Fuzz(fuzz::Options),
    /// Run the suites and the C programs under sanitizers, and the C programs under valgrind.
    Sanitize {
        /// One kind; all of them when left out.
        kind: Option<sanitize::Kind>,
    },
    /// Run the load tests: many threads with a million calls each, failing allocations, minutes of flat memory.
    Load(load::Options),
    /// Everything that CI runs.
    Check,
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Gen { check } => generate::run(check),
        Task::Lib => library::build().map(|built| println!("{}", built.dir.display())),
        Task::Install(options) => {
            install::install(&library::build()?, Some(&blas::build()?), &options)
        }
        Task::Blas(options) => blas::command(library::build, &options),
        Task::Symbols => symbols::check(&library::build()?),
        Task::C => {
            let library = library::build()?;
            ctests::all(&library).and_then(|()| embedding::all(&library))
        }
        Task::Freestanding => {
            freestanding::linux::check().and_then(|()| freestanding::bare::run_all())
        }
        Task::Cross { full } => {
            targets::musl::run_all().and_then(|()| targets::aarch64::run_all(full))
        }
        Task::Asm => asm::run(),
        Task::Docs => docs::run(),
        Task::Size => size::check(&library::build()?),
        Task::Cost { bless } => cost::run(&library::build()?, bless),
        Task::Bench(options) => bench::run(&options),
        Task::Python(options) => python::command(&options),
        Task::Gpu => gpu::check(&gpu::bundle(&library::build()?)?),
        Task::Ptx {
            run: true, full, ..
        } => ptx::simulate(&library::build()?, full),
        Task::Ptx { check, .. } => ptx::run(check),
        Task::Abi { bless } => abi::check(bless),
        Task::Fuzz(options) => fuzz::fuzz(&options),
        Task::Sanitize { kind } => sanitize::check(kind),
        Task::Load(options) => load::run(&options),
        Task::Check => check::run(),
    }
}
