//! Random cases as if on other machines: with other caches, other code runs. Each machine has a process of its own, a
//! child of this one, because what a CPU detects is known to all threads.

use std::process::Command;

use diptych_tests::device::is_full;
use diptych_tests::machines::{MACHINES, VARIABLE, is_another};

/// The machines of a short run: the extremes, and those that are unlike each other.
const SHORT: [&str; 5] = [
    "emerald-rapids",
    "zen4",
    "least",
    "least-double-pumped",
    "small-l1",
];

#[test]
fn random_cases_have_the_same_bits_on_other_machines() {
    if is_another() {
        return;
    }
    let (cases, rounds) = if is_full() { ("400", 2) } else { ("60", 1) };
    for (name, _) in MACHINES {
        if !is_full() && !SHORT.contains(&name) {
            continue;
        }
        for round in 0..rounds {
            let seed = (1 + round) * 1_000_000;
            let program = std::env::current_exe().expect("the path of the tests");
            let output = Command::new(program)
                .args(["properties::", "--test-threads", "2"])
                .env(VARIABLE, name)
                .env("DIPTYCH_CASES", cases)
                .env("DIPTYCH_SEED", seed.to_string())
                .output()
                .expect("the tests start");
            let text = [output.stdout, output.stderr]
                .map(|text| String::from_utf8_lossy(&text).into_owned());
            let [out, error] = text;
            assert!(
                output.status.success() && out.contains("products::gemm"),
                "with {VARIABLE}={name}:\n{out}\n{error}"
            );
        }
    }
}
