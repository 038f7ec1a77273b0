//! The cost gate: compares how many instructions calls through the C interface take, and how many bytes
//! products exchange with what is beyond L2 on a server of Intel, with the table in cost/budget.txt.
//! Callgrind counts both: the same library gives the same numbers on every run and on every machine,
//! however busy. It knows no AVX-512, so the calls run at level avx2.
use crate::command::{cargo, cmd, exists, output, program, sh, show};
use crate::library::{Library, PRIVATE_LIBS};
use crate::skip::skip;
use crate::{gpu, paths};
use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How far a count may be from the table, either way: a gain is recorded too.
const TOLERANCE: f64 = 0.03;
/// How far it may be above the table when another compiler than the table's built the library.
const ANOTHER_COMPILER: f64 = 0.15;
/// Small counts may be off by this many instructions.
const FEW: f64 = 3.0;
/// The caches that are simulated for products, as callgrind's options: bytes, ways and bytes of a line. Its
/// last level stands for L2; what misses it is what comes from L3 or memory. Prefetches do not count.
const L1: &str = "--D1=49152,12,64";
const L2: &str = "--LL=2097152,16,64";
/// The machine with these caches, to the library.
const MACHINE: &str = "emerald-rapids";
const LINE: f64 = 64.0;
/// The exit status of the program where level avx2 is not to be had.
const WITHOUT_AVX2: i32 = 77;

/// One call of the program.
struct Case {
    name: String,
    /// How many units of work it is, and the name of the unit.
    work: f64,
    unit: String,
    /// Instructions, or bytes.
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
    let Some(mut cases) = count(library)? else {
        return skip("cost gate", "this machine, or its valgrind, lacks AVX2");
    };
    cases.extend(beyond_l2()?);
    let compiler = sh!("rustc --version")?;
    if bless {
        fs::write(budget_file(), table(compiler.trim(), &cases))?;
        println!("{} counts written", cases.len());
        return Ok(());
    }
    let text = fs::read_to_string(budget_file())?;
    let is_same = text.contains(&format!("# {}\n", compiler.trim()));
    if !is_same {
        println!("another compiler wrote the table: a larger tolerance, and only upwards");
    }
    compare(&cases, &read(&text)?, is_same)
}

/// Builds the program and runs it in callgrind; `None` where there is no level avx2.
fn count(library: &Library) -> Result<Option<Vec<Case>>> {
    let (dir, archive) = (tempfile::tempdir()?, &library.archive);
    let (program, counts) = (dir.path().join("cost"), dir.path().join("counts"));
    let cc = self::program("CC", "cc");
    sh!(
        "{cc} -std=c11 -O1 -Wall -Wextra -Werror -Iinclude xtask/src/cost/program.c
         -o {program} {archive} {PRIVATE_LIBS...}"
    )?;
    // Calls on the device meet the stand-in, on machines with a driver too.
    gpu::stand_in(dir.path())?;
    let mut valgrind = cmd!(
        "valgrind --quiet --tool=callgrind --dump-line=no --compress-strings=no --compress-pos=no
         --callgrind-out-file={counts} {program}"
    );
    valgrind.env("LD_LIBRARY_PATH", dir.path());
    let output = output(valgrind.env("DIPTYCH_CPU_LEVEL", "avx2"))?;
    let (status, errors) = (output.status, String::from_utf8_lossy(&output.stderr));
    if status.code() == Some(WITHOUT_AVX2) {
        return Ok(None);
    }
    ensure!(status.success(), "{valgrind:?}: {status}\n{errors}");
    cases(&output.stdout, &counts, |counts| counts[0]).map(Some)
}

/// Counts the lines that products read and write beyond L2.
fn beyond_l2() -> Result<Vec<Case>> {
    const PROGRAM: &str = "products_beyond_l2";
    show(cargo().args([
        "build",
        "--quiet",
        "--package",
        "diptych-tests",
        "--bin",
        PROGRAM,
    ]))?;
    let (dir, program) = (
        tempfile::tempdir()?,
        paths::target().join("debug").join(PROGRAM),
    );
    let counts = dir.path().join("counts");
    let mut valgrind = cmd!(
        "valgrind --quiet --tool=callgrind --dump-line=no --compress-strings=no --compress-pos=no
         --cache-sim=yes {L1} {L2} --callgrind-out-file={counts} {program}"
    );
    let output = output(valgrind.env("DIPTYCH_TEST_MACHINE", MACHINE))?;
    let (status, errors) = (output.status, String::from_utf8_lossy(&output.stderr));
    ensure!(status.success(), "{valgrind:?}: {status}\n{errors}");
    // Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
    cases(&output.stdout, &counts, |counts| {
        LINE * (counts[7] + counts[8])
    })
}

/// The cases of a program that printed their names, from what callgrind counted.
fn cases(printed: &[u8], counts: &Path, of: impl Fn(&Counts) -> f64) -> Result<Vec<Case>> {
    let counted = calls(&fs::read_to_string(counts)?, of)?;
    let text = String::from_utf8_lossy(printed);
    text.lines().map(|line| case(line, &counted)).collect()
}

/// A printed line, `NAME WORK UNIT`, with its count.
fn case(line: &str, counted: &BTreeMap<String, f64>) -> Result<Case> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, work, unit, ..] = words[..] else {
        bail!("a line of a program for callgrind: {line}");
    };
    let count = counted.get(name);
    Ok(Case {
        name: name.into(),
        work: work.parse()?,
        unit: unit.into(),
        count: *count.with_context(|| format!("callgrind saw no call of {name}"))?,
    })
}

/// What callgrind counts, in its order; what it leaves out is 0.
type Counts = [f64; 9];

/// The counts of the functions that each `cost_NAME` called, divided by the number of calls.
fn calls(text: &str, of: impl Fn(&Counts) -> f64) -> Result<BTreeMap<String, f64>> {
    let mut found = BTreeMap::new();
    let mut caller = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("fn=") {
            caller = name.strip_prefix("cost_");
        } else if let (Some(name), Some(calls)) = (caller, line.strip_prefix("calls=")) {
            let calls = calls.split_whitespace().next();
            let calls: f64 = calls.context("a number of calls")?.parse()?;
            let mut counts = Counts::default();
            let spent = lines.next().unwrap_or_default().split_whitespace().skip(1);
            for (count, spent) in counts.iter_mut().zip(spent) {
                *count = spent.parse()?;
            }
            found.insert(name.to_owned(), of(&counts) / calls);
        }
    }
    Ok(found)
}

/// The table as text.
fn table(compiler: &str, cases: &[Case]) -> String {
    let head = "# Instructions of one call at level avx2, and per unit of work; with beyond_l2, bytes from\n\
                # and to beyond an L2 of 2 MiB.\n\
                # Written by `cargo xtask cost --bless`.\n";
    let lines: String = cases.iter().map(|case| line(case) + "\n").collect();
    format!("{head}# {compiler}\n{lines}")
}

fn line(
    Case {
        name,
        work,
        unit,
        count,
    }: &Case,
) -> String {
    let each = count / work;
    format!("{name:<34} {count:>12.1} {each:>10.4} per {unit}")
}

/// The counts of the table's lines.
fn read(text: &str) -> Result<BTreeMap<String, f64>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, count) = (words.next(), words.next());
        let count = count.context("a name and a count")?.parse()?;
        Ok((name.unwrap_or_default().to_owned(), count))
    };
    lines.map(entry).collect()
}

fn compare(cases: &[Case], budgets: &BTreeMap<String, f64>, same_compiler: bool) -> Result<()> {
    let mut problems = Vec::new();
    let tolerance = if same_compiler {
        TOLERANCE
    } else {
        ANOTHER_COMPILER
    };
    for case in cases {
        let (line, count) = (line(case), case.count);
        let Some(&budget) = budgets.get(&case.name) else {
            problems.push(format!("{line}: not in the table"));
            continue;
        };
        let change = 100.0 * (count / budget - 1.0);
        println!("{line} {change:>+7.1} %");
        let tolerance = (tolerance * budget).max(FEW);
        if count > budget + tolerance {
            problems.push(format!("{line}: {change:+.1} %, the budget is {budget}"));
        } else if same_compiler && count < budget - tolerance {
            problems.push(format!("{line}: {change:+.1} %, a gain to keep"));
        }
    }
    let is_gone = |name: &&String| cases.iter().all(|case| case.name != **name);
    let gone = budgets.keys().filter(is_gone);
    problems.extend(gone.map(|name| format!("{name}: in the table and not in the program")));
    let problems = problems.join("\n  ");
    let hint = "cost gate (`cargo xtask cost --bless` accepts the new counts)";
    ensure!(problems.is_empty(), "{hint}:\n  {problems}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Case, compare, read};

    fn case(count: f64) -> Case {
        Case {
            name: "sum_4_f32".into(),
            work: 4.0,
            unit: "element".into(),
            count,
        }
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
}
