//! The result bits of the calls of every operation, held against numbers that are the same on every
//! CPU. A change of one is a change of the binary interface.

use diptych::Exec;
use diptych_tests::calls::{self, Inputs, Outputs};
use diptych_tests::levels::levels;
use diptych_tests::real::Dtype;

/// FNV-1a over the results of all calls, at every level of this machine.
fn check<T: Dtype>(expected: u64) {
    let (calls, inputs) = (calls::calls::<T>(), Inputs::<T>::default());
    let mut out = Outputs::<T>::default();
    for &level in levels() {
        let exec = Exec::new()
            .with_level(level)
            .expect("the level is on this machine");
        let hash = calls.iter().fold(0xCBF2_9CE4_8422_2325, |hash, call| {
            out.clear();
            call.run(&exec, &inputs, &mut out).expect(&call.name);
            out.fold(hash)
        });
        let level = level.name();
        assert_eq!(hash, expected, "{hash:#018x} at level {level}");
    }
}

#[test]
fn f32() {
    check::<f32>(0);
}

#[test]
fn f64() {
    check::<f64>(0);
}
