//! A scalar model of the operations on integers, which shares no code with the library: exact in `i128`, then modulo
//! 2^bits.

use crate::mixed::Whole;

/// Returns one element of an elementwise operation, by its name: from an element of each input, and from that of the
/// output, where the operation updates it.
pub fn elementwise<T: Whole>(name: &str, inputs: &[T], out: T) -> T {
    let x = |k: usize| i128::from(inputs[k].wide());
    let exact = match name {
        "add" => x(0) + x(1),
        "sub" => x(0) - x(1),
        "mul" | "scale" => x(0) * x(1),
        "square" => x(0) * x(0),
        "abs" => x(0).abs(),
        "neg" => -x(0),
        "minimum" if x(0) < x(1) => x(0),
        "maximum" if x(0) > x(1) => x(0),
        "minimum" | "maximum" => x(1),
        "clamp" if x(1) > x(2) || x(0) > x(2) => x(2),
        "clamp" if x(0) < x(1) => x(1),
        "clamp" | "fill" => x(0),
        "clamp_backward" if x(0) < x(2) || x(0) > x(3) => 0,
        "clamp_backward" => x(1),
        "axpy" => x(0) * x(1) + i128::from(out.wide()),
        _ => unreachable!("{name} does not take integers"),
    };
    T::of_bits(exact as u64)
}

/// Returns a + alpha x y, an element of `ger`; of `outer`, with 1 for alpha and 0 for a.
pub fn outer_product<T: Whole>(alpha: i64, x: T, y: T, a: T) -> T {
    // Modulo 2^128, which modulo 2^64 is exact.
    let product = i128::from(alpha).wrapping_mul(i128::from(x.wide()) * i128::from(y.wide()));
    T::of_bits(product.wrapping_add(i128::from(a.wide())) as u64)
}

/// Returns a dot product modulo 2^64.
pub fn dot(x: &[i64], y: &[i64]) -> i64 {
    let products = x
        .iter()
        .zip(y)
        .map(|(&x, &y)| i128::from(x) * i128::from(y));
    products.fold(0, i128::wrapping_add) as i64
}

/// Returns a reduction of numbers, by its name, modulo 2^64. There must be one where no elements have no result.
pub fn reduction(name: &str, x: &[i64]) -> i64 {
    let all = || x.iter().map(|&x| i128::from(x));
    let place = |extreme: i128| all().position(|x| x == extreme).map(|at| at as i128);
    let least = || all().fold(i128::MAX, |a, b| if b < a { b } else { a });
    let greatest = || all().fold(i128::MIN, |a, b| if b > a { b } else { a });
    let exact = match name {
        "sum" => all().sum(),
        "prod" => all().fold(1, i128::wrapping_mul),
        "sumsq" => all().fold(0, |sum: i128, x| sum.wrapping_add(x * x)),
        "asum" => all().map(i128::abs).sum(),
        "min" => least(),
        "max" => greatest(),
        "argmin" => place(least()).expect("an element"),
        "argmax" => place(greatest()).expect("an element"),
        "count_nonzero" => all().filter(|&x| x != 0).count() as i128,
        _ => unreachable!("{name} does not take integers"),
    };
    exact as i64
}
