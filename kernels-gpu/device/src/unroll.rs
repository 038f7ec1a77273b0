//! Loops written out, so that arrays stay in registers.

/// `$body` for `$u` = 0, 1, ... below `$n`, at most 8, written out: arrays stay in registers.
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

/// As `unroll`, for the lanes of a thread: as many as there are elements in 16 bytes, at most 4.
macro_rules! each_lane {
    ($c:ident of $T:ty, $body:block) => {
        $crate::unroll::unroll!(@each $c, <$T as $crate::gpu::Vector>::WIDTH, $body, 0 1 2 3)
    };
}
pub(crate) use each_lane;
