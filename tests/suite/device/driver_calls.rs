//! This suite with `DIPTYCH_DEVICE=cuda` and the fake libcuda of `ffi/tests/cuda`: calls go through the driver as on a
//! GPU, and the emulator runs the launches.

use std::path::Path;
use std::process::{Command, Output};

use diptych_tests::gpu;

/// A few tests of each kind; on a real GPU all of them run.
const CASES: &[&str] = &[
    "bounds::dot_and_mse_grad_stay_inside::f32",
    "bounds_matrices::lsq_grad_stays_inside::f64",
    "bounds_matrices::outer_and_ger_stay_inside::f32",
    "conformance::fused::lsq_grad_of_every_shape::f32",
    "conformance::gemm_batched::",
    "conformance::reduce::special_values",
    "conformance::reduce_rows::special_values_in_rows",
    "conformance::row_map::special_values_in_rows",
    "coverage::",
    "barriers::",
    "products::outer_products",
    "properties::",
];

/// Builds the fake into `folder`.
fn build_driver(folder: &Path) {
    let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    cc.args(["-D_DEFAULT_SOURCE", "-O1", "-shared", "-fPIC", "-pthread"]);
    cc.arg("-o").arg(folder.join("libcuda.so.1"));
    cc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/tests/cuda/fake_cuda.c"));
    assert!(cc.status().expect("a C compiler").success());
}

/// Runs this program in a process of its own, with the driver in `folder`.
fn suite(folder: &Path, arguments: &[&str]) -> Output {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child
        .args(arguments)
        .env("DIPTYCH_DEVICE", "cuda")
        .env("DIPTYCH_CASES", "12")
        .env("LD_LIBRARY_PATH", folder);
    child.output().expect("this program runs")
}

fn text(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr];
    streams.map(|text| String::from_utf8_lossy(text)).concat()
}

#[test]
fn the_suite_runs_through_the_driver() {
    if gpu::skips("driver_calls::the_suite_runs_through_the_driver") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    build_driver(folder.path());
    let output = suite(folder.path(), CASES);
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("device: fake 0"), "{text}");
    for case in CASES {
        let called = text.contains(&format!("test {case}"));
        assert!(called, "no test is called {case}: {text}");
    }
    assert!(text.contains("SKIPPED on cuda: barriers::"), "{text}");
}

#[test]
fn without_a_driver_the_suite_says_that_it_was_skipped() {
    if gpu::skips("driver_calls::without_a_driver_the_suite_says_that_it_was_skipped")
        || diptych_gpu::driver::available().is_ok()
    {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = suite(folder.path(), &[]);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(77), "{text}");
    assert!(text.contains("SKIPPED: there is no CUDA driver"), "{text}");
    assert!(!text.contains("test result"), "{text}");
}
