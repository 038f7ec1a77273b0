//! Expands the table of operations into the calls that a backend makes.

/// `fingerprint_typed!(FUNCTION, T, MODULE, On, Error, DONE)` defines a function that makes the calls of type T of
/// `MODULE`, whose functions have the names of the operations and take an `On` before the arguments of `diptych::raw`.
/// `DONE` turns what they return into a result with an `Error`.
#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_typed {
    ($function:ident, $T:ident, $module:ident, $On:ty, $Error:ty, $done:path) => {
        /// # Safety
        /// The arrays of the call must be valid.
        #[inline]
        unsafe fn $function(
            on: $On,
            call: &$crate::fingerprint::Typed,
        ) -> ::core::result::Result<(), $Error> {
            use $crate::{
                fingerprint_elementwise, fingerprint_others, fingerprint_reductions, fingerprint_row_maps,
            };
            type Function =
                fn($On, &$crate::fingerprint::Typed) -> ::core::result::Result<(), $Error>;
            const ELEMENTWISE: &[Function] =
                $crate::for_each_elementwise!(fingerprint_elementwise! { $T $module $done } [name arguments]);
            // Each with its form for rows.
            const REDUCTIONS: &[[Function; 2]] =
                $crate::for_each_reduction!(fingerprint_reductions! { $T $module $done } [name rows ddof]);
            const ROW_MAPS: &[Function] =
                $crate::for_each_row_map!(fingerprint_row_maps! { $T $module $done } [name]);
            const OTHERS: &[Function] =
                $crate::for_each_other!(fingerprint_others! { $T $module $done } [name]);
            let reduction = call.op.wrapping_sub(ELEMENTWISE.len());
            let row_map = reduction.wrapping_sub(REDUCTIONS.len());
            let function = match (ELEMENTWISE.get(call.op), REDUCTIONS.get(reduction)) {
                (Some(function), _) => Some(function),
                (_, Some([_, rows])) if call.rows => Some(rows),
                (_, Some([vector, _])) => Some(vector),
                _ => ROW_MAPS.get(row_map).or_else(|| OTHERS.get(row_map.wrapping_sub(ROW_MAPS.len()))),
            };
            match function {
                Some(function) => function(on, call),
                None => Err($crate::Error::Unsupported { arg: "op" }.into()),
            }
        }
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_elementwise {
    ({ $T:ident $module:ident $done:path } $($name:ident ($($arg:ident: $kind:ident),*))*) => {
        &[$(|on, call| {
            #[allow(unused_mut, unused_variables)]
            let mut next = $crate::fingerprint::Arguments::new(&call.arrays, &call.numbers);
            // SAFETY: the caller of the function around this one vouches for the arrays.
            $done(unsafe { $module::$name(on, call.n, $($crate::fingerprint_elementwise!(@$kind $T next),)* call.out.p.cast::<$T>()) })
        }),*]
    };
    (@scalar $T:ident $next:ident) => { $T::from_bits($next.number() as _) };
    (@array $T:ident $next:ident) => { $next.array().cast::<$T>() };
}

#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_reductions {
    ({ $T:ident $module:ident $done:path } $($name:ident $rows:ident [$($ddof:ident)?])*) => {
        &[$([
            |on, call| {
                let [x, ..] = call.arrays;
                // SAFETY: the caller of the function around this one vouches for the arrays.
                $done(unsafe { $module::$name(on, call.n, x.p.cast::<$T>(), x.rs, $(call.$ddof,)? call.out.p.cast()) })
            },
            |on, call| {
                let [x, ..] = call.arrays;
                // SAFETY: as above.
                $done(unsafe { $module::$rows(on, call.m, call.n, x.p.cast::<$T>(), x.rs, x.cs, $(call.$ddof,)? call.out.p.cast(), call.out.rs) })
            },
        ]),*]
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_row_maps {
    ({ $T:ident $module:ident $done:path } $($name:ident)*) => {
        &[$(|on, call| {
            let ([x, ..], out) = (call.arrays, call.out);
            // SAFETY: the caller of the function around this one vouches for the arrays.
            $done(unsafe { $module::$name(on, call.m, call.n, x.p.cast::<$T>(), x.rs, x.cs, out.p.cast(), out.rs, out.cs) })
        }),*]
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_others {
    ({ $T:ident $module:ident $done:path } $($name:ident)*) => {
        &[$(|on, call| {
            let [x, y, z] = call.arrays;
            let [alpha, beta] = call.numbers.map(|bits| $T::from_bits(bits as _));
            let _ = (y, z, alpha, beta);
            // SAFETY: the caller of the function around this one vouches for the arrays.
            $done(unsafe { $crate::fingerprint_other!($name $T $module on call (x y z) (alpha beta)) })
        }),*]
    };
}

/// The operations that are not expanded from a row: one without an arm does not compile.
#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_other {
    (outer $T:ident $module:ident $on:ident $call:ident ($x:ident $y:ident $z:ident) $numbers:tt) => {
        $module::outer(
            $on,
            $call.m,
            $call.n,
            $x.p.cast::<$T>(),
            $x.rs,
            $y.p.cast::<$T>(),
            $y.rs,
            $call.out.p.cast::<$T>(),
            $call.out.rs,
            $call.out.cs,
        )
    };
    (ger $T:ident $module:ident $on:ident $call:ident ($x:ident $y:ident $z:ident) ($alpha:ident $beta:ident)) => {
        $module::ger(
            $on,
            $call.m,
            $call.n,
            $alpha,
            $x.p.cast::<$T>(),
            $x.rs,
            $y.p.cast::<$T>(),
            $y.rs,
            $call.out.p.cast::<$T>(),
            $call.out.rs,
            $call.out.cs,
        )
    };
    (gemm $T:ident $module:ident $on:ident $call:ident ($x:ident $y:ident $z:ident) ($alpha:ident $beta:ident)) => {
        $module::gemm(
            $on,
            $call.m,
            $call.n,
            $call.k,
            $alpha,
            $x.p.cast::<$T>(),
            $x.rs,
            $x.cs,
            $y.p.cast::<$T>(),
            $y.rs,
            $y.cs,
            $beta,
            $call.out.p.cast::<$T>(),
            $call.out.rs,
            $call.out.cs,
        )
    };
    (gemm_batched $T:ident $module:ident $on:ident $call:ident ($x:ident $y:ident $z:ident) ($alpha:ident $beta:ident)) => {
        $module::gemm_batched(
            $on,
            $call.m,
            $call.n,
            $call.k,
            $alpha,
            $x.p.cast::<$T>(),
            $x.rs,
            $x.cs,
            $y.p.cast::<$T>(),
            $y.rs,
            $y.cs,
            $beta,
            $call.out.p.cast::<$T>(),
            $call.out.rs,
            $call.out.cs,
            $call.batch,
            $x.bs,
            $y.bs,
            $call.out.bs,
        )
    };
    (gemm_fused $T:ident $module:ident $on:ident $call:ident ($x:ident $y:ident $z:ident) ($alpha:ident $beta:ident)) => {
        $module::gemm_fused(
            $on,
            $call.m,
            $call.n,
            $call.k,
            $alpha,
            $x.p.cast::<$T>(),
            $x.rs,
            $x.cs,
            $y.p.cast::<$T>(),
            $y.rs,
            $y.cs,
            $beta,
            $call.out.p.cast::<$T>(),
            $call.out.rs,
            $call.out.cs,
            &$crate::raw::RawEpilogue {
                bias: $z.p.cast_const().cast(),
                bias_inc: $z.rs,
                bias_kind: $call.bias_kind,
                clamp: Some(($alpha, $beta)),
            },
        )
    };
    (dot $T:ident $module:ident $on:ident $call:ident ($x:ident $y:ident $z:ident) $numbers:tt) => {
        $module::dot(
            $on,
            $call.n,
            $x.p.cast::<$T>(),
            $x.rs,
            $y.p.cast::<$T>(),
            $y.rs,
            $call.out.p.cast::<$T>(),
        )
    };
    (mse_grad $T:ident $module:ident $on:ident $call:ident ($x:ident $y:ident $z:ident) $numbers:tt) => {
        $module::mse_grad(
            $on,
            $call.n,
            $x.p.cast::<$T>(),
            $y.p.cast::<$T>(),
            $call.out.p.cast::<$T>(),
            $call.loss.cast(),
        )
    };
    (lsq_grad $T:ident $module:ident $on:ident $call:ident ($x:ident $y:ident $z:ident) $numbers:tt) => {
        $module::lsq_grad(
            $on,
            $call.m,
            $call.n,
            $x.p.cast::<$T>(),
            $x.rs,
            $x.cs,
            $y.p.cast::<$T>(),
            $z.p.cast::<$T>(),
            $call.out.p.cast::<$T>(),
        )
    };
}

/// `fingerprint_tensors!(FUNCTION, GENERICS, MODULE, On, Error)` defines a function that makes calls over tensors with the
/// functions of `MODULE`: the functions of `diptych::tensor` with an `On` in place of the `Exec`.
#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_tensors {
    ($function:ident, $module:ident, $On:ty, $Error:ty) => {
        /// # Safety
        /// The tensors of the call must be valid.
        #[inline]
        unsafe fn $function(
            on: $On,
            call: &$crate::fingerprint::Tensors<'_>,
        ) -> ::core::result::Result<(), $Error> {
            use $crate::fingerprint::{Over, Tensors};
            use $crate::{
                fingerprint_elementwise_tensors, fingerprint_reductions_of_tensors,
                fingerprint_row_maps_of_tensors,
            };
            type Function = fn($On, &Tensors<'_>) -> ::core::result::Result<(), $Error>;
            const ELEMENTWISE: &[Function] =
                $crate::for_each_elementwise!(fingerprint_elementwise_tensors! { $module } [name roles]);
            const REDUCTIONS: &[Function] =
                $crate::for_each_reduction!(fingerprint_reductions_of_tensors! { $module } [name ddof]);
            const ROW_MAPS: &[Function] =
                $crate::for_each_row_map!(fingerprint_row_maps_of_tensors! { $module } [name]);
            let ([x, y, z, _], [alpha, beta]) = (call.inputs, call.numbers);
            let (out, loss) = (call.out, call.loss);
            let unknown = $crate::Error::Unsupported { arg: "op" };
            // SAFETY: as the caller's.
            unsafe {
                match call.op {
                    Over::Elementwise(op) => ELEMENTWISE.get(op).ok_or(unknown)?(on, call),
                    Over::Reduction(op) => REDUCTIONS.get(op).ok_or(unknown)?(on, call),
                    Over::RowMap(op) => ROW_MAPS.get(op).ok_or(unknown)?(on, call),
                    Over::Outer => $module::outer(on, x, y, out),
                    Over::Ger => $module::ger(on, alpha, x, y, out),
                    Over::Matmul => {
                        let epilogue = $crate::tensor::Epilogue {
                            bias: Some(z),
                            clamp: Some((alpha, beta)),
                            ..Default::default()
                        };
                        let epilogue = call.has_epilogue.then_some(&epilogue);
                        $module::matmul(on, alpha, x, y, beta, out, epilogue)
                    }
                    Over::Dot => $module::dot(on, x, y, out),
                    Over::MseGrad => $module::mse_grad(on, x, y, out, loss),
                    Over::LsqGrad => $module::lsq_grad(on, x, y, z, out),
                    Over::Convert => $module::convert(on, x, out),
                }
            }
        }
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_elementwise_tensors {
    ({ $module:ident } $($name:ident ($($role:ident),*))*) => {
        &[$(|on, call| {
            let mut inputs = call.inputs.into_iter();
            // SAFETY: the caller of the function around this one vouches for the tensors.
            unsafe { $module::$name(on, $({
                // There are as many inputs as an operation has at most.
                let input = inputs.next().unwrap_or(call.out);
                $crate::if_optional!($role [Some(input)] [input])
            },)* call.out) }
        }),*]
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_reductions_of_tensors {
    ({ $module:ident } $($name:ident [$($ddof:ident)?])*) => {
        &[$(|on, call| {
            let [x, ..] = call.inputs;
            let axes = (!call.all_axes).then_some(call.axes);
            // SAFETY: the caller of the function around this one vouches for the tensors.
            unsafe { $module::$name(on, x, axes, $(call.$ddof,)? call.out) }
        }),*]
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! fingerprint_row_maps_of_tensors {
    ({ $module:ident } $($name:ident)*) => {
        &[$(|on, call| {
            let [x, ..] = call.inputs;
            let axes = if call.all_axes { None } else { Some(call.axes) };
            // SAFETY: the caller of the function around this one vouches for the tensors.
            unsafe { $module::$name(on, x, axes, call.out) }
        }),*]
    };
}
