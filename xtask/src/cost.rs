//! The cost gate: how many instructions calls through the C interface take, held against the table in
//! cost/budget.txt. Callgrind counts them: the same library gives the same numbers on every run and on
//! every machine, however busy. It knows no AVX-512, so the calls run at level avx2.
use crate::command::{cc, exists, run as run_command};
use crate::gpu;
use crate::library::{Library, PRIVATE_LIBS};
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How far a count may be from the table, either way: a gain is written down too.
const ROOM: f64 = 0.03;
/// The same upwards, when another compiler than the table's has built the library.
const ROOM_OF_ANOTHER_COMPILER: f64 = 0.15;
/// Small counts may be off by this many instructions.
const FEW: f64 = 3.0;
/// What the program returns where level avx2 is not to be had.
const WITHOUT_AVX2: i32 = 77;

/// One call of the program.
struct Case {
    name: String,
    /// How many units of work it is, and what a unit is.
    work: f64,
    unit: String,
    /// Instructions.
    count: f64,
}

fn budget_file() -> PathBuf {
    paths::root().join("xtask/src/cost/budget.txt")
}

/// Counts, and compares with the table, or writes it when `bless`.
pub fn run(library: &Library, bless: bool) -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        return skip("cost gate", "its counts are for x86-64");
    }
    if !exists("valgrind") {
        return skip("cost gate", "valgrind is not installed");
    }
    let Some(cases) = count(library)? else {
        return skip("cost gate", "this machine, or its valgrind, lacks AVX2");
    };
    let compiler = run_command(Command::new("rustc").arg("--version"))?;
    if bless {
        fs::write(budget_file(), table(compiler.trim(), &cases)?)?;
        println!("{} counts written", cases.len());
        return Ok(());
    }
    let text = fs::read_to_string(budget_file()).context("the table of budgets")?;
    let same = text.contains(&format!("# {}\n", compiler.trim()));
    if !same {
        println!("the table is another compiler's: more room, and only upwards");
    }
    compare(&cases, &read(&text)?, same)
}

/// Builds the program and runs it in callgrind; `None` where there is no level avx2.
fn count(library: &Library) -> Result<Option<Vec<Case>>> {
    let dir = tempfile::tempdir()?;
    let (program, counts) = (dir.path().join("cost"), dir.path().join("counts"));
    let mut build = cc();
    build.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I"]);
    build.arg(paths::root().join("include"));
    build.arg(paths::root().join("xtask/src/cost/program.c"));
    build.arg("-o").arg(&program).arg(&library.archive);
    run_command(build.args(PRIVATE_LIBS))?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind", "--dump-line=no"]);
    valgrind.args(["--compress-strings=no", "--compress-pos=no"]);
    valgrind.arg(format!("--callgrind-out-file={}", counts.display()));
    // Calls on the device meet the stand-in, on machines with a driver too.
    gpu::stand_in(dir.path())?;
    valgrind.arg(&program).env("LD_LIBRARY_PATH", dir.path());
    valgrind.env("DIPTYCH_CPU_LEVEL", "avx2");
    let output = valgrind.output().context("valgrind")?;
    if output.status.code() == Some(WITHOUT_AVX2) {
        return Ok(None);
    }
    if !output.status.success() {
        bail!(
            "{valgrind:?}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let counted = calls(&fs::read_to_string(Path::new(&counts))?)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .map(|line| case(line, &counted))
        .collect::<Result<_>>()
        .map(Some)
}

/// A line of the program's, `NAME WORK UNIT`, with its count.
fn case(line: &str, counted: &BTreeMap<String, f64>) -> Result<Case> {
    let mut words = line.split_whitespace();
    let mut word = || words.next().context("a line of xtask/src/cost/program.c");
    let (name, work, unit) = (word()?, word()?, word()?);
    let count = counted
        .get(name)
        .with_context(|| format!("callgrind saw no call of {name}"))?;
    Ok(Case {
        name: name.into(),
        work: work.parse()?,
        unit: unit.into(),
        count: *count,
    })
}

/// What each `cost_NAME` spent in the functions that it called, divided by the number of calls.
fn calls(counts: &str) -> Result<BTreeMap<String, f64>> {
    let mut found = BTreeMap::new();
    let mut caller = None;
    let mut lines = counts.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("fn=") {
            caller = name.strip_prefix("cost_");
        } else if let (Some(name), Some(calls)) = (caller, line.strip_prefix("calls=")) {
            let first = |line: &str, word| line.split_whitespace().nth(word).map(str::to_owned);
            let calls: f64 = first(calls, 0).context("a number of calls")?.parse()?;
            let spent = lines.next().and_then(|line| first(line, 1));
            let spent: f64 = spent.context("a number of instructions")?.parse()?;
            found.insert(name.to_owned(), spent / calls);
        }
    }
    Ok(found)
}

/// The table as text.
fn table(compiler: &str, cases: &[Case]) -> Result<String> {
    let mut text = String::from(
        "# Instructions of one call at level avx2, and per unit of work.\n\
         # Written by `cargo xtask cost --bless`.\n",
    );
    writeln!(text, "# {compiler}")?;
    for case in cases {
        writeln!(text, "{}", line(case))?;
    }
    Ok(text)
}

fn line(case: &Case) -> String {
    let each = case.count / case.work;
    format!(
        "{:<34} {:>12.1} {:>10.4} per {}",
        case.name, case.count, each, case.unit
    )
}

/// The counts of the table's lines.
fn read(text: &str) -> Result<BTreeMap<String, f64>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next().context("a name")?;
        let count = words.next().context("a count")?.parse()?;
        Ok((name.to_owned(), count))
    };
    lines.map(entry).collect()
}

fn compare(cases: &[Case], budgets: &BTreeMap<String, f64>, same_compiler: bool) -> Result<()> {
    let mut problems = Vec::new();
    for case in cases {
        let Some(&budget) = budgets.get(&case.name) else {
            problems.push(format!("{}: not in the table", line(case)));
            continue;
        };
        let change = 100.0 * (case.count / budget - 1.0);
        println!("{} {change:>+7.1} %", line(case));
        let room = if same_compiler {
            ROOM
        } else {
            ROOM_OF_ANOTHER_COMPILER
        };
        let room = (room * budget).max(FEW);
        if case.count > budget + room {
            problems.push(format!(
                "{}: {change:+.1} %, the budget is {budget}",
                line(case)
            ));
        } else if same_compiler && case.count < budget - room {
            problems.push(format!("{}: {change:+.1} %, a gain to keep", line(case)));
        }
    }
    let gone = budgets
        .keys()
        .filter(|name| cases.iter().all(|case| case.name != **name));
    problems.extend(gone.map(|name| format!("{name}: in the table and not in the program")));
    ensure!(
        problems.is_empty(),
        "cost gate (`cargo xtask cost --bless` accepts the new counts):\n  {}",
        problems.join("\n  ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Case, calls, compare, read, table};

    fn case(count: f64) -> Case {
        Case {
            name: "sum_4_f32".into(),
            work: 4.0,
            unit: "element".into(),
            count,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = table("rustc 1.0", &[case(123.5)]).expect("text");
        let budgets = read(&text).expect("a table");
        assert_eq!(budgets.get("sum_4_f32"), Some(&123.5));
        assert!(text.contains("# rustc 1.0\n"));
    }

    #[test]
    fn losses_and_gains_are_found() {
        let budgets = read("sum_4_f32 1000.0 250.0 per element\n").expect("a table");
        let judge = |count, same| compare(&[case(count)], &budgets, same).is_ok();
        assert!(judge(1029.0, true) && judge(971.0, true));
        assert!(!judge(1031.0, true) && !judge(969.0, true));
        assert!(judge(1149.0, false) && judge(500.0, false) && !judge(1151.0, false));
        assert!(compare(&[], &budgets, true).is_err());
    }

    #[test]
    fn calls_are_read_from_the_listing() {
        let listing = "fn=main\n0 3\ncfn=cost_a\ncalls=1 0\n0 900\n\nfn=cost_a\n0 50\ncob=x\n\
                       cfn=dpt_a_f32\ncalls=10 0\n0 850\n\nfn=dpt_a_f32\n0 850\ncfn=memcpy\ncalls=1 0\n0 7\n";
        let found = calls(listing).expect("a listing");
        assert_eq!(found.len(), 1);
        assert_eq!(found.get("a"), Some(&85.0));
    }
}
