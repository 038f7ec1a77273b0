//! Errors of what a call works with: workspaces, levels, pools; and the messages of all errors.

use core::mem::MaybeUninit;
use core::ptr;

use diptych::raw::{self, RawEpilogue};
use diptych::{BiasKind, Error, Exec, Level};
use diptych_tests::cases::{self, Values};
use diptych_tests::levels::levels;
use diptych_tests::real::Dtype;

diptych_tests::per_dtype!(workspace_too_small);

fn at<'a>(level: Level) -> Exec<'a> {
    Exec::new()
        .with_level(level)
        .expect("the level is on this machine")
}

fn workspace_too_small<T: Dtype>() {
    let x: Vec<T> = cases::vector(Values::Ordinary, 100 * 100, 1);
    let x = x.as_ptr();
    let one = T::one();
    for &level in levels() {
        let gemm = raw::gemm_workspace::<T>(&at(level), 100, 100, 100).expect("a size");
        let lsq = raw::lsq_grad_workspace::<T>(&at(level), 100, 100).expect("a size");
        assert!(
            gemm > 0 && lsq > 0,
            "level {}: sizes {gemm} {lsq}",
            level.name()
        );
        for (which, needed) in [
            ("gemm", gemm),
            ("gemm_batched", gemm),
            ("gemm_fused", gemm),
            ("lsq_grad", lsq),
        ] {
            for len in [0, needed - 1] {
                let mut workspace = vec![MaybeUninit::new(0u8); len];
                let exec = &at(level).with_workspace(&mut workspace);
                let mut out = vec![one; 100 * 100];
                let p = out.as_mut_ptr();
                let plain = RawEpilogue {
                    bias: ptr::null(),
                    bias_inc: 1,
                    bias_kind: BiasKind::None,
                    clamp: None,
                };
                // SAFETY: all matrices are 100 x 100, all vectors have at least 100 elements.
                let status = unsafe {
                    match which {
                        "gemm" => raw::gemm(
                            exec, 100, 100, 100, one, x, 100, 1, x, 100, 1, one, p, 100, 1,
                        ),
                        "gemm_batched" => raw::gemm_batched(
                            exec, 100, 100, 100, one, x, 100, 1, x, 100, 1, one, p, 100, 1, 1, 0,
                            0, 0,
                        ),
                        "gemm_fused" => raw::gemm_fused(
                            exec, 100, 100, 100, one, x, 100, 1, x, 100, 1, one, p, 100, 1, &plain,
                        ),
                        _ => raw::lsq_grad(exec, 100, 100, x, 100, 1, x, x, p),
                    }
                };
                let what = format!("{which} {}, level {}, {len} bytes", T::DTYPE, level.name());
                assert_eq!(status, Err(Error::WorkspaceTooSmall { needed }), "{what}");
                assert!(out.iter().all(|&v| v == one), "{what}: wrote something");
            }
        }
    }
    for sizes in [(-1, 1, 1), (1, -1, 1), (1, 1, -1)] {
        let status = raw::gemm_workspace::<T>(&Exec::new(), sizes.0, sizes.1, sizes.2);
        assert!(
            matches!(status, Err(Error::NegativeSize { .. })),
            "{sizes:?}: {status:?}"
        );
    }
}

#[test]
fn levels_that_are_missing() {
    for level in Level::ALL {
        assert_eq!(Level::from_name(level.name()), Some(level));
        if !level.is_available() {
            assert_eq!(
                Exec::new().with_level(level).err(),
                Some(Error::LevelUnavailable)
            );
            assert_eq!(Level::force(Some(level)), Err(Error::LevelUnavailable));
        }
    }
    assert!(Level::Portable.is_available());
    for name in ["", "AVX2", "sse2", "avx2 "] {
        assert_eq!(Level::from_name(name), None);
    }
}

#[cfg(feature = "pool")]
#[test]
fn pools_have_threads() {
    assert_eq!(
        diptych::Pool::new(0).err(),
        Some(Error::InvalidValue { arg: "threads" })
    );
    assert_eq!(diptych::Pool::new(2).expect("two threads").threads(), 2);
}

#[test]
fn messages_name_the_argument() {
    let errors = [
        Error::NullPointer { arg: "grad" },
        Error::Misaligned { arg: "grad" },
        Error::NegativeSize { arg: "grad" },
        Error::SizeOverflow { arg: "grad" },
        Error::ShapeMismatch { arg: "grad" },
        Error::Overlap { arg: "grad" },
        Error::EmptyReduction { arg: "grad" },
        Error::InvalidValue { arg: "grad" },
        Error::Unsupported { arg: "grad" },
    ];
    for error in errors {
        assert_eq!(error.arg(), Some("grad"));
        assert!(error.to_string().contains("grad"), "{error}");
    }
    assert!(
        Error::WorkspaceTooSmall { needed: 1234 }
            .to_string()
            .contains("1234")
    );
    let names_a_level = Error::LevelUnavailable.to_string();
    assert!(names_a_level.contains("portable"), "{names_a_level}");
}
