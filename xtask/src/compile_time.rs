//! How long users wait for the compiler: the CPU time of the crate, and of a program that calls four operations, beside
//! that of `clap_builder`, which many programs compile. The ratio hardly depends on the machine or on its load.
use crate::command::{cargo_path, cmd, run};
use crate::paths;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::path::PathBuf;

/// Most CPU time of `diptych` and `libm`, which compile no kernel, in units of `clap_builder`: a quarter more than
/// measured, 9 s beside 8 s on an Intel server.
const CRATE: f64 = 1.4;
/// The same with a program that calls four operations (`tests/size`): 29 s there.
const PROGRAM: f64 = 4.4;

/// Measures both, and fails where one takes too long. If so, two more measurements decide with their median, because a
/// shared machine may change its speed during one.
pub fn check() -> Result<()> {
    let first = measure()?;
    let is_within = first[0] <= CRATE && first[1] <= PROGRAM;
    let [of_crate, of_program] = if is_within {
        first
    } else {
        let all = [first, measure()?, measure()?];
        [0, 1].map(|which| {
            let mut ratios = all.map(|one| one[which]);
            ratios.sort_by(f64::total_cmp);
            ratios[1]
        })
    };
    hold("the crate diptych", of_crate, CRATE)?;
    hold(
        "a Rust program that calls four operations",
        of_program,
        PROGRAM,
    )
}

/// Returns the time of the crate, and with the program, in units of `clap_builder`.
fn measure() -> Result<[f64; 2]> {
    let folder = package()?;
    let target = folder.join("target");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let cargo = cargo_path();
    let build = |packages: &[&str]| -> Result<f64> {
        // One job, because the time of several depends on how they share the caches; `times` prints the CPU time of the
        // shell and of all its children.
        let line = format!(
            "\"$0\" build --quiet --release --jobs 1 {} && times",
            packages.join(" ")
        );
        let mut shell = cmd!("sh -c {line} {cargo}");
        cpu_seconds(&run(shell.current_dir(&folder).env_remove("RUSTFLAGS"))?)
    };
    let unit = build(&["--package", "clap_builder"])?;
    let of_crate = build(&["--package", "diptych"])?;
    let of_program = of_crate + build(&[])?;
    println!(
        "CPU time: clap_builder {unit:.1} s, the crate {of_crate:.1}, a program {of_program:.1}"
    );
    Ok([of_crate / unit, of_program / unit])
}

fn hold(what: &str, ratio: f64, most: f64) -> Result<()> {
    println!("{what}: compiled in {ratio:.2} times the CPU time of clap_builder, at most {most}");
    ensure!(
        ratio <= most,
        "{what} takes {ratio:.2} times as long to compile as clap_builder, more than {most}"
    );
    Ok(())
}

/// Makes a package of its own for the program, as a user has it; returns its folder.
pub fn package() -> Result<PathBuf> {
    let (root, folder) = (paths::root(), paths::target().join("diptych-size"));
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"size\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         clap_builder = {{ version = \"4\", default-features = false, features = [\"help\", \"std\", \"usage\"] }}\n\n\
         [dependencies.diptych]\npath = {:?}\nfeatures = [\"pool\"]\n\n[workspace]\n",
        root.join("kernels-cpu")
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("tests/size/main.rs"), folder.join("src/main.rs"))?;
    // The versions of the workspace; cargo removes those that the program does not need.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(folder)
}

/// The sum of the last line of `times`: user and system time of the children, as in `0m1.50s 0m0.25s`.
fn cpu_seconds(times: &str) -> Result<f64> {
    let line = times.lines().last().context("`times` printed nothing")?;
    line.split_whitespace().try_fold(0.0, |sum, time| {
        let (minutes, seconds) = time
            .strip_suffix('s')
            .and_then(|time| time.split_once('m'))
            .with_context(|| format!("not a time: {time}"))?;
        Ok(sum + 60.0 * minutes.parse::<f64>()? + seconds.parse::<f64>()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed() {
        let seconds = cpu_seconds("0m0.00s 0m0.00s\n1m1.50s 0m0.25s\n").unwrap();
        assert_eq!(seconds, 61.75);
        assert!(cpu_seconds("").is_err() && cpu_seconds("1.5").is_err());
    }
}
