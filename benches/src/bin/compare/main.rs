//! Diptych, its peers and the machine's own limits, all measured in one run.

mod cases;
mod cell;
mod chart;
mod measure;
mod report;
mod section;

use anyhow::{Context, Result, anyhow};
use cases::Case;
use cell::Cell;
use clap::Parser;
use diptych::{bf16, f16};
use diptych_benches::blas::{Blas, Kind};
use diptych_benches::ceiling;
use diptych_benches::crates;
use diptych_benches::data::Real;
use diptych_benches::library::Diptych;
use diptych_benches::mixed::Factor;
use diptych_benches::python::{self, Python};
use diptych_benches::timing::{Clock, Plan};
use measure::Harness;
use report::RunInfo;
use section::Section;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Measures Diptych, its peers and the machine's own limits in one run.
///
/// DIPTYCH_CPU_LEVEL selects another CPU level of Diptych.
#[derive(Parser)]
#[command(name = "cargo xtask bench")]
struct Options {
    /// Path of libdiptych.so.
    #[arg(long)]
    library: PathBuf,
    /// Time the peers too, all that can be found.
    #[arg(long)]
    peers: bool,
    /// Only cases whose "OPERATION TYPE SHAPE" contains this; may be given several times.
    #[arg(long)]
    only: Vec<String>,
    /// Threads of all libraries. The ceilings of memory are those of one thread.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Rounds of samples; each figure is the median of the rounds.
    #[arg(long)]
    rounds: Option<usize>,
    /// Small cases only, and short samples: a smoke test, not a measurement.
    #[arg(long)]
    quick: bool,
    /// The clock. On a busy machine with one thread, the thread clock gives steadier figures.
    #[arg(long, value_enum, default_value_t = Clock::Wall)]
    clock: Clock,
    /// Directory for the results; without it, they are only printed.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Base name of the result files; by default, the date and the number of threads.
    #[arg(long)]
    name: Option<String>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let plan = plan(&options);
    let (harness, found, missing) = load_all(&options, plan)?;
    let about = RunInfo {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        revision: revision(&options.library),
        cpu: cpu(),
        level: harness.diptych.level()?,
        registers: ceiling::registers(),
        threads: options.threads,
        clock: options.clock.name(),
        rounds: plan.rounds,
        found,
        missing,
        machine: measure::machine(options.clock, plan)?,
    };
    let header = report::markdown(&about, &[], None);
    println!(
        "{}",
        header.split("\n## Summary").next().unwrap_or_default()
    );
    let mut cells = Vec::new();
    all::<f32>(&options, &harness, &mut cells)?;
    all::<f64>(&options, &harness, &mut cells)?;
    mixed::<bf16>(&options, &harness, &mut cells)?;
    mixed::<f16>(&options, &harness, &mut cells)?;
    mixed::<i8>(&options, &harness, &mut cells)?;
    mixed::<i32>(&options, &harness, &mut cells)?;
    mixed::<i64>(&options, &harness, &mut cells)?;
    cell::compare_axes(&mut cells);
    for section in Section::ALL {
        if let Some((mean, least, count)) = cell::ratios(&cells, section) {
            let title = section.title();
            println!("{title}: geometric mean {mean:.2}, lowest {least:.2} ({count} cells)");
        }
    }
    match &options.out {
        Some(folder) => write(folder, &options, &about, &cells),
        None => Ok(()),
    }
}

fn plan(options: &Options) -> Plan {
    let (rounds, sample) = match options.quick {
        true => (3, Duration::from_micros(200)),
        false => (11, Duration::from_micros(2500)),
    };
    let on_threads = |milliseconds| match (options.threads, options.quick) {
        (1, _) => Duration::ZERO,
        (_, true) => Duration::from_millis(1),
        (_, false) => Duration::from_millis(milliseconds),
    };
    Plan {
        rounds: options.rounds.unwrap_or(rounds),
        sample,
        rest: on_threads(30),
        warm: on_threads(15),
    }
}

type Named = Vec<(String, String)>;

/// Loads Diptych and the peers; also returns which peers were found and which were not.
fn load_all(options: &Options, plan: Plan) -> Result<(Harness, Named, Named)> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    let mut harness = Harness {
        diptych: Diptych::load(&options.library, options.threads)?,
        blas: Vec::new(),
        python: None,
        crates: Vec::new(),
        threads: options.threads,
        clock: options.clock,
        plan,
    };
    if !options.peers {
        missing.push(("peers".into(), "not asked for (--peers)".into()));
        return Ok((harness, found, missing));
    }
    set_environment(options.threads);
    match Python::start(&python::interpreter(), options.threads) {
        Ok(python) => {
            found.extend(python.found.iter().cloned());
            missing.extend(python.missing.iter().cloned());
            harness.python = Some(python);
        }
        Err(error) => {
            for name in ["NumPy", "PyTorch"] {
                missing.push((name.into(), format!("{error:#}")));
            }
        }
    }
    for kind in Kind::ALL {
        let path = harness.python.as_ref().and_then(|p| p.library(kind.name()));
        match Blas::load(kind, path, options.threads) {
            Ok(blas) => {
                found.push((kind.name().into(), blas.about.clone()));
                harness.blas.push(blas);
            }
            Err(error) => missing.push((kind.name().into(), format!("{error:#}"))),
        }
    }
    for (name, version) in crates::NAMES {
        if crates::BUILT {
            found.push((name.into(), version.into()));
            harness.crates.push(name);
        } else {
            missing.push((name.into(), "built without the feature `peers`".into()));
        }
    }
    Ok((harness, found, missing))
}

/// Sets the environment variables that peers read when they are loaded.
fn set_environment(threads: usize) {
    let layer = if threads == 1 { "SEQUENTIAL" } else { "GNU" };
    let mut variables = vec![
        ("MKL_THREADING_LAYER", layer.to_owned()),
        ("MATMUL_NUM_THREADS", threads.to_string()),
    ];
    // Old versions of OpenBLAS treat an AMD CPU that they do not know as one without AVX-512.
    if ceiling::registers() == "zmm" && cpu_field("vendor_id").as_deref() == Some("AuthenticAMD") {
        variables.push(("OPENBLAS_CORETYPE", "SkylakeX".into()));
    }
    // SAFETY: here and below, this program has no other thread yet that could read the environment.
    unsafe {
        // Settings meant for other programs must not slow down a peer.
        for variable in ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"] {
            std::env::remove_var(variable);
        }
    }
    for (variable, value) in variables {
        if std::env::var_os(variable).is_none() {
            // SAFETY: as above.
            unsafe { std::env::set_var(variable, value) };
        }
    }
}

/// Measures and prints all cases for one element type.
fn all<T: Real>(options: &Options, harness: &Harness, cells: &mut Vec<Cell>) -> Result<()> {
    for case in cases::all::<T>() {
        if let Some(case) = asked(options, case, T::NAME, case.bytes::<T>()) {
            add(cells, &case, T::NAME, harness.measure::<T>(&case))?;
        }
    }
    Ok(())
}

/// Measures and prints the products of one type of 16-bit floats or of integers.
fn mixed<F: Factor>(options: &Options, harness: &Harness, cells: &mut Vec<Cell>) -> Result<()> {
    for case in cases::mixed() {
        let bytes = case.elements() * size_of::<F>();
        if let Some(case) = asked(options, case, F::NAME, bytes) {
            add(cells, &case, F::NAME, harness.measure_mixed::<F>(&case))?;
        }
    }
    Ok(())
}

/// Returns the case, adapted to the number of threads, if the options ask for it.
fn asked(options: &Options, case: Case, dtype: &str, bytes: usize) -> Option<Case> {
    let name = name(&case, dtype);
    let asked = options.only.is_empty() || options.only.iter().any(|only| name.contains(only));
    let quick = bytes <= 1 << 17 && case.shape.batch <= 64;
    if !asked || (options.quick && !quick) {
        return None;
    }
    on_threads(case, options.threads)
}

fn name(case: &Case, dtype: &str) -> String {
    format!("{} {dtype} {}", case.work.name(), case.extents())
}

/// Prints and keeps a measurement.
fn add(cells: &mut Vec<Cell>, case: &Case, dtype: &str, cell: Result<Cell>) -> Result<()> {
    let cell = cell.with_context(|| name(case, dtype))?;
    println!("{}", report::line(&cell));
    cells.push(cell);
    Ok(())
}

/// Adapts a case to the number of threads. With several threads, returns only the kinds of work that have a goal there
/// or that use threads; all of them but the network keep only the goal for the speedup.
fn on_threads(mut case: Case, threads: usize) -> Option<Case> {
    if threads == 1 {
        case.goal.speedup = None;
        return Some(case);
    }
    match case.section {
        Section::Network => {}
        Section::Products
        | Section::Outer
        | Section::LeastSquares
        | Section::Batched
        | Section::Mixed => {
            case.goal.ratio = None;
            case.goal.part = None;
            case.goal.nanoseconds = None;
        }
        _ => return None,
    }
    Some(case)
}

fn write(folder: &Path, options: &Options, about: &RunInfo, cells: &[Cell]) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let threads = match options.threads {
        1 => "1-thread".into(),
        threads => format!("{threads}-threads"),
    };
    let date = about.date.split('T').next().unwrap_or_default();
    let name = options.name.clone().unwrap_or(format!("{date}-{threads}"));
    let file = |ending: &str| folder.join(format!("{name}.{ending}"));
    let title = format!(
        "{} ({}, {})",
        about.cpu,
        about.level,
        threads.replace('-', " ")
    );
    let drawn = chart::draw(&file("svg"), &title, cells).map_err(|error| anyhow!("{error}"))?;
    let chart = format!("{name}.svg");
    let text = report::markdown(about, cells, drawn.then_some(&chart));
    std::fs::write(file("md"), text)?;
    let document = serde_json::to_string_pretty(&report::json(about, cells))? + "\n";
    std::fs::write(file("json"), document)?;
    println!("{}", file("md").display());
    Ok(())
}

/// Returns the git revision of the checkout in which this runs, with "(dirty)" if its files differ from it. It is
/// unknown if the library is older than the revision.
fn revision(library: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let Some(head) = git(&["rev-parse", "HEAD"]) else {
        return "unknown".into();
    };
    let committed = git(&["log", "-1", "--format=%ct"]).and_then(|seconds| seconds.parse().ok());
    let modified = library.metadata().and_then(|file| file.modified());
    if let (Some(committed), Ok(modified)) = (committed, modified)
        && modified < UNIX_EPOCH + Duration::from_secs(committed)
    {
        return format!("unknown, of before {head}");
    }
    // Untracked files are ignored: they are results of other runs.
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => head,
        _ => format!("{head} (dirty)"),
    }
}

/// Returns the name of the CPU, with family and model.
fn cpu() -> String {
    let name = cpu_field("model name").unwrap_or("unknown CPU".into());
    match (cpu_field("cpu family"), cpu_field("model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name,
    }
}

/// Returns a field of the first CPU in /proc/cpuinfo.
fn cpu_field(key: &str) -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let field = fields.find(|(name, _)| name.trim() == key);
    field.map(|(_, value)| value.trim().to_owned())
}
