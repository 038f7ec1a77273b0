//! Results of 16-bit floats that are not rounded are those of the same numbers in f32.

use diptych::{Exec, MatMut, MatRef, for_each_reduction, wide};
use diptych_tests::half::Half;
use diptych_tests::levels::levels;

use super::{numbers, per_half, widened};

per_half!(results_are_not_rounded);

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Compares each reduction of a vector, and of the rows and columns of a matrix.
macro_rules! reductions {
    ({ $e:ident $x:ident $y:ident } $($name:ident $rows:ident [$($ddof:ident)?] $out:ident $integers:tt)*) => {
        $(reductions!(@$out $integers { $e $x $y } $name $rows ($($ddof)?));)*
    };
    (@count $($row:tt)*) => {};
    (@index $($row:tt)*) => {};
    (@element [Min] $($row:tt)*) => {};
    (@element [Max] $($row:tt)*) => {};
    (@element $fold:tt { $e:ident $x:ident $y:ident } $name:ident $rows:ident ($($ddof:ident)?)) => {{
        let name = stringify!($name);
        $(let $ddof = 0;)?
        let got: f32 = wide::$name($e, &$x[..] $(, $ddof)?).expect(name);
        let want = diptych::$name($e, &$y[..] $(, $ddof)?).expect(name);
        assert_eq!(got.to_bits(), want.to_bits(), "{name} of {}", H::NAME);
        let (m, n) = ($x.len() / 25, 25);
        let (a, b) = (MatRef::new(&$x, m, n).expect("fits"), MatRef::new(&$y, m, n).expect("fits"));
        for (a, b) in [(a, b), (a.t(), b.t())] {
            let (mut got, mut want) = (vec![0.0_f32; a.rows()], vec![0.0_f32; a.rows()]);
            wide::$rows($e, a, $($ddof,)? &mut got[..]).expect(name);
            diptych::$rows($e, b, $($ddof,)? &mut want[..]).expect(name);
            assert_eq!(bits(&got), bits(&want), "{name} of rows of {}", H::NAME);
        }
    }};
}

fn results_are_not_rounded<H: Half>() {
    for &level in levels() {
        let e = &Exec::new().with_level(level).expect("a level");
        for n in [25, 5000] {
            let (x, other): (Vec<H>, Vec<H>) = (numbers(n, 1), numbers(n, 2));
            let (y, target) = (widened(&x), widened(&other));
            for_each_reduction!(reductions! { e x y } [name rows ddof result integers]);
            let got = wide::dot(e, &x[..], &other[..]).expect("dot");
            let want = diptych::dot(e, &y[..], &target[..]).expect("dot");
            assert_eq!(got.to_bits(), want.to_bits());
            let (mut half, mut single) = (x.clone(), y.clone());
            let got = wide::mse_grad(e, &x, &other, &mut half).expect("mse_grad");
            let want = diptych::mse_grad(e, &y, &target, &mut single).expect("mse_grad");
            assert_eq!(got.to_bits(), want.to_bits());
            let mut over = x.clone();
            let got = wide::mse_grad_in_place(e, &mut over, &other).expect("mse_grad");
            assert_eq!(got.to_bits(), want.to_bits());
            assert!(
                over.iter()
                    .map(|x| x.pattern())
                    .eq(half.iter().map(|x| x.pattern()))
            );
        }
        let (x, y): (Vec<H>, Vec<H>) = (numbers(30, 3), numbers(40, 4));
        let (mut got, mut want) = (vec![0.0_f32; 1200], vec![0.0_f32; 1200]);
        let matrix = MatMut::new(&mut got, 30, 40).expect("fits");
        wide::outer(e, &x[..], &y[..], matrix).expect("outer");
        let matrix = MatMut::new(&mut want, 30, 40).expect("fits");
        diptych::outer(e, &widened(&x)[..], &widened(&y)[..], matrix).expect("outer");
        assert_eq!(bits(&got), bits(&want));
    }
}
