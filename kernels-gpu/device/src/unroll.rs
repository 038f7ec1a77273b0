//! Fully unrolled loops: an array that is indexed only by constants stays in registers.

/// Expands `$body` once for each `$u` in `0..$n`; `$n` is a constant of at most 8.
macro_rules! unroll {
    ($u:ident < $n:expr, $body:block) => {
        $crate::unroll::unroll!(@each $u, $n, $body, 0 1 2 3 4 5 6 7)
    };
    (@each $u:ident, $n:expr, $body:block, $($i:literal)*) => {
        $(
            if $i < $n as usize {
                let $u: usize = $i;
                $body
            }
        )*
    };
}
pub(crate) use unroll;

/// As `unroll`, over the [`Vector::WIDTH`](crate::gpu::Vector::WIDTH) elements of 16 bytes (at most 4).
macro_rules! each_lane {
    ($c:ident of $T:ty, $body:block) => {
        $crate::unroll::unroll!(@each $c, <$T as $crate::gpu::Vector>::WIDTH, $body, 0 1 2 3)
    };
}
pub(crate) use each_lane;
