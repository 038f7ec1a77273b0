//! `convert`, for every pair of types, against conversions of one number.

use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, bf16};
use diptych_tests::levels::levels;
use diptych_tests::number::{Number, converted, described};
use diptych_tests::pairs;
use diptych_tests::tensors::{Array, broadcast_from, indices, own_index, random_shape};
use diptych_tests::threads::Scoped;
use fastrand::Rng;

fn edges_of<A: Number, B: Number>(exec: &Exec<'_>) {
    let edges = A::edges();
    let shape = [edges.len() as i64];
    let mut x = Array::<A>::with_strides(&shape, vec![1]);
    let mut next = edges.iter();
    x.fill(|| *next.next().unwrap());
    let mut out = Array::<B>::with_strides(&shape, vec![1]);
    // SAFETY: the tensors are valid.
    unsafe { tensor::convert(exec, &described(&mut x), &described(&mut out)) }.unwrap();
    for (i, &edge) in edges.iter().enumerate() {
        let got = out.get(&[i as i64]);
        let types = (std::any::type_name::<A>(), std::any::type_name::<B>());
        assert_eq!(
            got.bits(),
            converted::<A, B>(edge),
            "{edge:?} {types:?} gave {got:?}"
        );
    }
}

fn random_of<A: Number, B: Number>(rng: &mut Rng, exec: &Exec<'_>, rounds: usize, most: i64) {
    for _ in 0..rounds {
        let shape = random_shape(rng, most);
        let own = broadcast_from(rng, &shape);
        let mut x = Array::<A>::random(rng, &own);
        x.fill(|| A::draw(rng));
        let mut out = Array::<B>::random(rng, &shape);
        let (from, to) = (described(&mut x), described(&mut out));
        // SAFETY: the tensors are valid.
        let status = unsafe { tensor::convert(exec, &from, &to) };
        assert_eq!(status, Ok(()));
        assert!(out.gaps_intact());
        for index in indices(&shape) {
            let element = x.get(&own_index(&own, &index));
            let got = out.get(&index);
            assert_eq!(
                got.bits(),
                converted::<A, B>(element),
                "{element:?} at {index:?} of {from:?} {to:?}"
            );
        }
    }
}

#[test]
fn conversions_are_those_of_single_numbers() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        pairs!(edges_of(&exec));
    }
}

#[test]
fn shapes_and_strides_of_conversions() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        let rng = &mut Rng::with_seed(7);
        pairs!(random_of(rng, &exec, 5, 6000));
    }
}

#[test]
fn large_conversions_with_threads() {
    let pool = Scoped::new(2);
    let exec = Exec::new().with_pool(&pool, 2);
    let rng = &mut Rng::with_seed(11);
    random_of::<f32, f32>(rng, &exec, 3, 400_000);
    random_of::<u8, f32>(rng, &exec, 3, 400_000);
    random_of::<f64, bf16>(rng, &exec, 3, 400_000);
    // More than the LLC, so that the stores are non-temporal.
    let n = 40 << 20;
    let x: Vec<u8> = (0..n).map(|i| (i * 7) as u8).collect();
    let mut out = vec![0_u8; n + 3];
    let shape = [n as i64];
    let of = |p: *const u8, code, bits| Tensor {
        data: p.cast_mut().cast(),
        device_type: 1,
        device_id: 0,
        ndim: 1,
        dtype_code: code,
        dtype_bits: bits,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    for offset in [0, 3] {
        let out = &mut out[offset..offset + n];
        // SAFETY: the arrays have n elements.
        unsafe {
            tensor::convert(&exec, &of(x.as_ptr(), 1, 8), &of(out.as_ptr(), 1, 8)).unwrap();
            assert!(out == x);
            tensor::convert(&exec, &of(x.as_ptr(), 1, 8), &of(out.as_ptr(), 6, 8)).unwrap();
        }
        assert!(out.iter().zip(&x).all(|(&out, &x)| out == u8::from(x != 0)));
    }
}

#[test]
fn refusals_of_convert() {
    let mut block = [1.0_f32; 64];
    let (shape, wrong) = ([4_i64], [5_i64]);
    let p = block.as_mut_ptr();
    let of = |p: *mut f32, shape: &[i64; 1], code, bits| Tensor {
        data: p.cast(),
        device_type: 1,
        device_id: 0,
        ndim: 1,
        dtype_code: code,
        dtype_bits: bits,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    let float = |p, shape| of(p, shape, 2, 32);
    // SAFETY: all elements lie in the block, unless the call is refused.
    let convert = |x: Tensor, out: Tensor| unsafe { tensor::convert(&Exec::new(), &x, &out) };
    let out = float(p.wrapping_add(32), &shape);
    assert_eq!(convert(float(p, &shape), out), Ok(()));
    assert_eq!(convert(out, out), Ok(()));
    let refused = |arg| Err(Error::ShapeMismatch { arg });
    assert_eq!(convert(float(p, &wrong), out), refused("x"));
    let overlap = Err(Error::Overlap { arg: "out" });
    assert_eq!(convert(float(p.wrapping_add(33), &shape), out), overlap);
    assert_eq!(convert(of(p.wrapping_add(32), &shape, 0, 32), out), overlap);
    let arg = "x";
    assert_eq!(
        convert(of(p, &shape, 5, 64), out),
        Err(Error::UnsupportedType { arg })
    );
    assert_eq!(
        convert(float(std::ptr::null_mut(), &shape), out),
        Err(Error::NullPointer { arg })
    );
    assert_eq!(
        convert(of(p, &[-1], 2, 32), out),
        Err(Error::NegativeSize { arg })
    );
    assert!(block.iter().all(|&x| x == 1.0));
}
