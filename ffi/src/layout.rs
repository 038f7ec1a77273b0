//! Checks at compile time that the structs of the interface have the layout that compiled programs rely on;
//! tests/c/layout.c checks the same in C.
#![cfg(target_pointer_width = "64")]

use crate::{
    dpt_advice, dpt_advice_constants, dpt_epilogue, dpt_exec, dpt_parallel_for_fn, dpt_task_fn,
    dpt_tensor, dpt_tensor_epilogue,
};
use core::mem::{align_of, offset_of, size_of};

macro_rules! layout {
    ($name:ident: $size:literal bytes, $($member:ident at $offset:literal),*) => {
        const _: () = assert!(size_of::<$name>() == $size && align_of::<$name>() == 8);
        $(const _: () = assert!(offset_of!($name, $member) == $offset);)*
    };
}

layout!(dpt_exec: 64 bytes, struct_size at 0, device at 8, flags at 12, stream at 16, workspace at 24,
    workspace_size at 32, parallel_for at 40, pool at 48, max_threads at 56, reserved at 60);
layout!(dpt_epilogue: 48 bytes, struct_size at 0, flags at 8, bias_kind at 12, bias at 16, bias_inc at 24,
    lo at 32, hi at 40);
layout!(dpt_tensor: 48 bytes, data at 0, device_type at 8, device_id at 12, ndim at 16, dtype_code at 20,
    dtype_bits at 21, dtype_lanes at 22, shape at 24, strides at 32, byte_offset at 40);
layout!(dpt_tensor_epilogue: 56 bytes, struct_size at 0, flags at 8, reserved at 12, bias at 16, lo at 24, hi at 32,
    row_scale at 40, column_scale at 48);
layout!(dpt_advice: 32 bytes, struct_size at 0, device at 8, measured at 12, cpu_seconds at 16,
    cuda_seconds at 24);
layout!(dpt_advice_constants: 200 bytes, struct_size at 0, measured at 8, reserved at 12, cpu_call at 16,
    cpu_read at 24, cpu_written at 64, cpu_scaling at 104, cpu_flops at 112, cpu_exps at 128, cuda_call at 144,
    cuda_bytes at 152, cuda_flops at 160, copy_call at 176, copy_there at 184, copy_back at 192);

/// An optional function has the size of a pointer; `None` is NULL.
const _: () = assert!(size_of::<dpt_task_fn>() == 8 && size_of::<dpt_parallel_for_fn>() == 8);
