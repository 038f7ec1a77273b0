//! The C harness compiles with all warnings as errors, times every function of the header, and fails if one is not
//! timed.

use anyhow::{Context, Result, ensure};
use std::process::Command;
use xtask::command::{cc, run, works};
use xtask::library::{self, PRIVATE_LIBS};
use xtask::paths;

#[test]
fn the_c_harness_times_every_function() -> Result<()> {
    let library = library::build()?;
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("bench");
    let mut compile = cc();
    compile.args("-std=c99 -O2 -Wall -Wextra -Wpedantic -Werror".split(' '));
    compile.arg("-I").arg(paths::root().join("include"));
    compile.arg(paths::root().join("benches/c/bench.c"));
    compile.arg("-o").arg(&program).arg(&library.shared);
    compile.arg(format!("-Wl,-rpath,{}", library.dir.display()));
    run(compile.args(PRIVATE_LIBS))?;

    let bench = || Command::new(&program);
    let table = run(bench().args(["--quick", "--header"]).arg(paths::header()))?;
    ensure!(
        table.contains("dpt_sum_rows_f64"),
        "the table has no sum_rows:\n{table}"
    );

    // A function of the header that it does not time makes it fail.
    let header = std::fs::read_to_string(paths::header())?;
    let longer = dir.path().join("longer.h");
    std::fs::write(&longer, header + "\nint dpt_new_f32(void);\n").context("a longer header")?;
    let fails = !works(bench().args(["--only", "none", "--header"]).arg(&longer));
    ensure!(fails, "a function that is not timed goes unnoticed");
    Ok(())
}
