//! Compares every operation with the oracle of 106 bits, within the bounds of `tolerance.rs`, at every
//! level. This suite assumes nothing about orders; the conformance suite checks the bits.

mod matrices;
mod vectors;

use diptych_tests::cases::Values;
use diptych_tests::real::Real;
use diptych_tests::report::Report;
use diptych_tests::wide::Wide;

/// Values whose sums of squares and products stay in range, so that rounding is the only source of errors.
pub const KINDS: [Values; 4] = [
    Values::Ordinary,
    Values::Positive,
    Values::Far,
    Values::Wide,
];

/// Records a failure unless |got - want| is within the bound.
pub fn check_error<T: Real>(
    report: &mut Report,
    got: T,
    want: Wide,
    bound: f64,
    context: impl Fn() -> String,
) {
    let error = (Wide::from(got.wide()) - want).abs().nearest();
    report.check(error <= bound, || {
        format!(
            "{} {}: got {got:?}, want {:?}, error {error:e}, bound {bound:e}",
            context(),
            T::DTYPE,
            want.nearest()
        )
    });
}
