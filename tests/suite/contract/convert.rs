//! `convert` on slices, for every pair of types, against conversions of one number.

use diptych::{Convertible, Error, Exec, convert};
use diptych_tests::levels::levels;
use diptych_tests::number::{Bool, Number, converted};
use diptych_tests::pairs;
use diptych_tests::threads::Scoped;

/// A number in a slice.
trait Element: Number {
    type InSlice: Convertible;
    fn to_slice(self) -> Self::InSlice;
    fn from_slice(number: Self::InSlice) -> Self;
}

macro_rules! elements {
    ($($T:ident $InSlice:ident |$x:ident| $to:expr, $from:expr;)*) => {$(
        impl Element for $T {
            type InSlice = $InSlice;
            fn to_slice(self) -> $InSlice {
                let $x = self;
                $to
            }
            fn from_slice($x: $InSlice) -> Self {
                $from
            }
        }
    )*};
    ($($T:ident)*) => { elements! { $($T $T |x| x, x;)* } };
}
use diptych::{bf16, f16};
elements! { f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 }
elements! { Bool bool |x| x.0 != 0, Bool(x.into()); }

fn check<A: Element, B: Element>(exec: &Exec<'_>, numbers: &[A]) {
    let x: Vec<A::InSlice> = numbers.iter().map(|x| x.to_slice()).collect();
    let mut out = vec![B::of_pattern(0).to_slice(); x.len()];
    convert(exec, &x, &mut out).expect("slices of one length");
    for (&number, &got) in numbers.iter().zip(&out) {
        let got = B::from_slice(got);
        assert_eq!(
            got.bits(),
            converted::<A, B>(number),
            "{number:?} gave {got:?}"
        );
    }
}

fn edges_of<A: Element, B: Element>(exec: &Exec<'_>) {
    check::<A, B>(exec, &A::edges());
}

#[test]
fn slices_of_every_pair_of_types() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).expect("a level");
        pairs!(edges_of(&exec));
    }
}

#[test]
fn long_slices_with_threads() {
    let pool = Scoped::new(3);
    let exec = Exec::new().with_pool(&pool, 3);
    let mut rng = fastrand::Rng::with_seed(5);
    let floats: Vec<f32> = (0..300_001).map(|_| f32::draw(&mut rng)).collect();
    check::<f32, f32>(&exec, &floats);
    check::<f32, u8>(&exec, &floats);
    let integers: Vec<i64> = (0..300_001).map(|_| i64::draw(&mut rng)).collect();
    check::<i64, bf16>(&exec, &integers);
    // More than the LLC, so that the stores are non-temporal.
    let x: Vec<u8> = (0..40 << 20).map(|i| (i * 7) as u8).collect();
    let mut out = vec![false; x.len() + 3];
    for offset in [0, 3] {
        let out = &mut out[offset..offset + x.len()];
        convert(&exec, &x, out).expect("slices of one length");
        assert!(out.iter().zip(&x).all(|(&out, &x)| out == (x != 0)));
    }
}

#[test]
fn slices_that_differ_in_length() {
    let mut out = [7_u16; 3];
    let mismatch = Err(Error::ShapeMismatch { arg: "x" });
    assert_eq!(convert(&Exec::new(), &[1.0_f32; 2], &mut out), mismatch);
    assert_eq!(out, [7; 3]);
    assert_eq!(convert::<bool, f64>(&Exec::new(), &[], &mut []), Ok(()));
}
