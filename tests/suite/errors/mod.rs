//! Every kind of invalid argument, for every function: the call returns the right error with the right argument, and
//! writes nothing.

mod calls;
mod overflow;
mod resources;
mod row_maps;
mod single;

use calls::{Call, Memory, SIZE, calls, nowhere, sizes};
use diptych::{Error, Exec, Result};
use diptych_tests::levels::levels;
use diptych_tests::real::Dtype;
use diptych_tests::report::Report;

diptych_tests::per_dtype!(
    right_arguments,
    null_pointers,
    misaligned_pointers,
    negative_sizes,
    sizes_that_overflow,
    outputs_over_inputs,
    nothing_needs_no_memory,
);

/// Makes the call with changed arguments at every level. It must fail with `error` and write nothing.
fn refuse<T: Dtype>(
    report: &mut Report,
    call: &Call<T>,
    what: &str,
    change: impl Fn(&mut Vec<i64>, &mut Vec<*mut T>),
    error: impl Fn(&Error) -> bool,
) {
    for &level in levels() {
        let mut memory = Memory::new(call);
        let (mut sizes, mut pointers) = (sizes(call), memory.pointers());
        change(&mut sizes, &mut pointers);
        let before = memory.snapshot();
        let exec = Exec::new()
            .with_level(level)
            .expect("the level is on this machine");
        let status = (call.run)(&exec, &sizes, &pointers);
        let context = || format!("{} {}, level {}: {what}", call.name, T::DTYPE, level.name());
        report.check(status.as_ref().is_err_and(&error), || {
            format!("{}: {status:?}", context())
        });
        report.check(memory.snapshot() == before, || {
            format!("{}: wrote something", context())
        });
    }
}

/// Makes the call with changed arguments at every level. It must succeed.
fn accept<T: Dtype>(
    report: &mut Report,
    call: &Call<T>,
    what: &str,
    change: impl Fn(&mut Vec<i64>, &mut Vec<*mut T>),
) -> Result<()> {
    for &level in levels() {
        let mut memory = Memory::new(call);
        let (mut sizes, mut pointers) = (sizes(call), memory.pointers());
        change(&mut sizes, &mut pointers);
        let exec = Exec::new().with_level(level)?;
        let status = (call.run)(&exec, &sizes, &pointers);
        report.check(status.is_ok(), || {
            format!(
                "{} {}, level {}: {what}: {status:?}",
                call.name,
                T::DTYPE,
                level.name()
            )
        });
    }
    Ok(())
}

#[test]
fn every_operation_is_called() {
    let calls = calls::<f32>();
    let names = calls.iter().map(|call| call.name.to_string()).collect();
    assert_eq!(diptych_tests::calls::table_names(), names);
}

fn right_arguments<T: Dtype>() {
    let mut report = Report::new();
    for call in calls::<T>() {
        accept(&mut report, &call, "nothing wrong", |_, _| ()).expect("levels of this machine");
    }
    report.finish();
}

fn null_pointers<T: Dtype>() {
    let mut report = Report::new();
    for call in calls::<T>() {
        for (i, name) in call.pointers().into_iter().enumerate() {
            let right = |error: &Error| *error == Error::NullPointer { arg: name };
            refuse(
                &mut report,
                &call,
                &format!("{name} null"),
                |_, p| p[i] = nowhere(),
                right,
            );
        }
    }
    report.finish();
}

fn misaligned_pointers<T: Dtype>() {
    let mut report = Report::new();
    for call in calls::<T>() {
        for (i, name) in call.pointers().into_iter().enumerate() {
            let right = |error: &Error| *error == Error::Misaligned { arg: name };
            let shift = |_: &mut Vec<i64>, p: &mut Vec<*mut T>| p[i] = p[i].wrapping_byte_add(1);
            refuse(
                &mut report,
                &call,
                &format!("{name} misaligned"),
                shift,
                right,
            );
        }
    }
    report.finish();
}

fn negative_sizes<T: Dtype>() {
    let mut report = Report::new();
    for call in calls::<T>() {
        for (i, name) in call.sizes.iter().enumerate() {
            for size in [-1, i64::MIN] {
                let right = |error: &Error| *error == Error::NegativeSize { arg: name };
                refuse(
                    &mut report,
                    &call,
                    &format!("{name} = {size}"),
                    |s, _| s[i] = size,
                    right,
                );
            }
        }
    }
    report.finish();
}

fn sizes_that_overflow<T: Dtype>() {
    let mut report = Report::new();
    for call in calls::<T>() {
        for (i, name) in call.sizes.iter().enumerate() {
            for size in [i64::MAX, i64::MAX / 2, i64::MAX / size_of::<T>() as i64 + 1] {
                let right = |error: &Error| matches!(error, Error::SizeOverflow { .. });
                refuse(
                    &mut report,
                    &call,
                    &format!("{name} = {size}"),
                    |s, _| s[i] = size,
                    right,
                );
            }
        }
    }
    report.finish();
}

fn outputs_over_inputs<T: Dtype>() {
    let mut report = Report::new();
    for call in calls::<T>() {
        let names = call.pointers();
        for (o, output) in call.outputs.iter().enumerate() {
            let out = call.inputs.len() + o;
            for other in (0..names.len()).filter(|&other| other != out) {
                // Indices have eight bytes: keep them aligned, so that the overlap is the only fault.
                let step = 8 / size_of::<T>() as isize;
                for shift in [-step, 0, step] {
                    let place = |_: &mut Vec<i64>, p: &mut Vec<*mut T>| {
                        p[out] = p[other].wrapping_offset(shift)
                    };
                    let what = format!("{output} at {} {shift:+}", names[other]);
                    let scalar = call.writes_scalar(output);
                    let after_scalar = shift > 0 && call.writes_scalar(names[other]);
                    if shift == 0 && call.in_place(output) && other < call.inputs.len() {
                        accept(&mut report, &call, &what, place).expect("levels of this machine");
                    } else if shift < 0 && scalar || after_scalar {
                        // The scalar ends where the other array starts.
                        accept(&mut report, &call, &what, place).expect("levels of this machine");
                    } else {
                        let right = |error: &Error| matches!(error, Error::Overlap { .. });
                        refuse(&mut report, &call, &what, place, right);
                    }
                }
            }
        }
    }
    report.finish();
}

/// A call with all sizes zero and all pointers NULL succeeds, unless it writes a scalar or needs an element.
fn nothing_needs_no_memory<T: Dtype>() {
    let mut report = Report::new();
    for call in calls::<T>() {
        let outputs = &call.outputs;
        let scalar = outputs.iter().position(|output| call.writes_scalar(output));
        let nothing = |keep: Option<usize>| {
            move |s: &mut Vec<i64>, p: &mut Vec<*mut T>| {
                s.fill(0);
                let kept = keep.map(|i| p[i]);
                p.fill(nowhere());
                if let (Some(i), Some(kept)) = (keep, kept) {
                    p[i] = kept;
                }
            }
        };
        let written = scalar.map(|o| call.inputs.len() + o);
        if call.needs_elements() && call.sizes == ["n"] {
            let right = |error: &Error| *error == Error::EmptyReduction { arg: "n" };
            refuse(
                &mut report,
                &call,
                "nothing to reduce",
                nothing(written),
                right,
            );
            continue;
        }
        accept(&mut report, &call, "nothing to do", nothing(written))
            .expect("levels of this machine");
        if let Some(o) = scalar {
            let right = |error: &Error| *error == Error::NullPointer { arg: outputs[o] };
            refuse(
                &mut report,
                &call,
                "no place for the result",
                nothing(None),
                right,
            );
        }
        if call.needs_elements() {
            // Rows without elements are an error if there are any rows.
            let right = |error: &Error| *error == Error::EmptyReduction { arg: "n" };
            let some_rows = |s: &mut Vec<i64>, _: &mut Vec<*mut T>| (s[0], s[1]) = (SIZE, 0);
            refuse(
                &mut report,
                &call,
                "rows without elements",
                some_rows,
                right,
            );
        }
    }
    report.finish();
}
