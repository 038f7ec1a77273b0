/* The binary interface: sizes, offsets and constants, written by hand. A change of one of them
 * breaks programs that are already compiled. */
#include "check.h"

#define FIXED_(name, condition) typedef char name[(condition) ? 1 : -1]
#define FIXED(name, condition) FIXED_(fixed_##name, condition)
#define AT(type, member, offset) FIXED(type##_##member, offsetof(type, member) == (offset))

#if UINTPTR_MAX == 0xFFFFFFFFFFFFFFFFu
AT(dpt_exec, struct_size, 0);
AT(dpt_exec, device, 8);
AT(dpt_exec, flags, 12);
AT(dpt_exec, stream, 16);
AT(dpt_exec, workspace, 24);
AT(dpt_exec, workspace_size, 32);
AT(dpt_exec, parallel_for, 40);
AT(dpt_exec, pool, 48);
AT(dpt_exec, max_threads, 56);
AT(dpt_exec, reserved, 60);
FIXED(exec_size, sizeof(dpt_exec) == 64);

AT(dpt_epilogue, struct_size, 0);
AT(dpt_epilogue, flags, 8);
AT(dpt_epilogue, bias_kind, 12);
AT(dpt_epilogue, bias, 16);
AT(dpt_epilogue, bias_inc, 24);
AT(dpt_epilogue, lo, 32);
AT(dpt_epilogue, hi, 40);
FIXED(epilogue_size, sizeof(dpt_epilogue) == 48);

AT(dpt_tensor, data, 0);
AT(dpt_tensor, device_type, 8);
AT(dpt_tensor, device_id, 12);
AT(dpt_tensor, ndim, 16);
AT(dpt_tensor, dtype_code, 20);
AT(dpt_tensor, dtype_bits, 21);
AT(dpt_tensor, dtype_lanes, 22);
AT(dpt_tensor, shape, 24);
AT(dpt_tensor, strides, 32);
AT(dpt_tensor, byte_offset, 40);
FIXED(tensor_size, sizeof(dpt_tensor) == 48);

AT(dpt_tensor_epilogue, struct_size, 0);
AT(dpt_tensor_epilogue, flags, 8);
AT(dpt_tensor_epilogue, reserved, 12);
AT(dpt_tensor_epilogue, bias, 16);
AT(dpt_tensor_epilogue, lo, 24);
AT(dpt_tensor_epilogue, hi, 32);
FIXED(tensor_epilogue_size, sizeof(dpt_tensor_epilogue) == 56);
AT(dpt_tensor_epilogue, row_scale, 40);
AT(dpt_tensor_epilogue, column_scale, 48);

AT(dpt_advice, struct_size, 0);
AT(dpt_advice, device, 8);
AT(dpt_advice, measured, 12);
AT(dpt_advice, cpu_seconds, 16);
AT(dpt_advice, cuda_seconds, 24);
FIXED(advice_size, sizeof(dpt_advice) == 32);
AT(dpt_advice_constants, struct_size, 0);
AT(dpt_advice_constants, measured, 8);
AT(dpt_advice_constants, reserved, 12);
AT(dpt_advice_constants, cpu_call, 16);
AT(dpt_advice_constants, cpu_read, 24);
AT(dpt_advice_constants, cpu_written, 64);
AT(dpt_advice_constants, cpu_scaling, 104);
AT(dpt_advice_constants, cpu_flops, 112);
AT(dpt_advice_constants, cpu_exps, 128);
AT(dpt_advice_constants, cuda_call, 144);
AT(dpt_advice_constants, cuda_bytes, 152);
AT(dpt_advice_constants, cuda_flops, 160);
AT(dpt_advice_constants, copy_call, 176);
AT(dpt_advice_constants, copy_there, 184);
AT(dpt_advice_constants, copy_back, 192);
FIXED(advice_constants_size, sizeof(dpt_advice_constants) == 200);
#endif

FIXED(status_size, sizeof(dpt_status) == 4);
FIXED(device_values, DPT_DEVICE_CPU == 0 && DPT_DEVICE_CUDA == 1 && DPT_DEVICE_AUTO == 2);
FIXED(bias_values, DPT_BIAS_NONE == 0 && DPT_BIAS_PER_ROW == 1 && DPT_BIAS_PER_COLUMN == 2);
FIXED(flag_values, DPT_EPILOGUE_CLAMP == 1 && DPT_EXEC_BATCH_INVARIANT == 1);
FIXED(auto_value, DPT_LEVEL_AUTO == -1);
FIXED(level_values, DPT_LEVEL_PORTABLE == 0 && DPT_LEVEL_AVX2 == 1 && DPT_LEVEL_AVX512 == 2 &&
                        DPT_LEVEL_NEON == 3);

static void statuses(void)
{
    static const struct {
        int code, value;
    } codes[] = {
        {DPT_OK, 0},
        {DPT_NULL_POINTER, 1},
        {DPT_MISALIGNED, 2},
        {DPT_NEGATIVE_SIZE, 3},
        {DPT_SIZE_OVERFLOW, 4},
        {DPT_OVERLAP, 5},
        {DPT_EMPTY_REDUCTION, 6},
        {DPT_INVALID_VALUE, 7},
        {DPT_UNKNOWN_ENUM, 8},
        {DPT_UNKNOWN_FLAG, 9},
        {DPT_BAD_STRUCT_SIZE, 10},
        {DPT_WORKSPACE_TOO_SMALL, 11},
        {DPT_SHAPE_MISMATCH, 12},
        {DPT_TYPE_MISMATCH, 13},
        {DPT_UNSUPPORTED_TYPE, 14},
        {DPT_OUT_OF_MEMORY, 100},
        {DPT_LEVEL_UNAVAILABLE, 101},
        {DPT_THREADS_UNAVAILABLE, 102},
        {DPT_UNSUPPORTED, 103},
        {DPT_NO_DEVICE, 200},
        {DPT_NO_DRIVER, 201},
        {DPT_DRIVER_TOO_OLD, 202},
        {DPT_DEVICE_TOO_OLD, 203},
        {DPT_HOST_POINTER, 204},
        {DPT_MIXED_POINTERS, 205},
        {DPT_WRONG_CONTEXT, 206},
        {DPT_NOT_PRELOADED, 207},
        {DPT_SCRATCH_TAKEN, 208},
        {DPT_DEVICE_OUT_OF_MEMORY, 209},
        {DPT_LAUNCH_FAILED, 210},
        {DPT_DRIVER_FAILED, 211},
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        CHECK(codes[i].code == codes[i].value);
        CHECK(strcmp(dpt_status_string(codes[i].code), "unknown status") != 0);
    }
    CHECK(strcmp(dpt_status_string(DPT_OK), "success") == 0);
    CHECK(strcmp(dpt_status_string(99), "unknown status") == 0);
    CHECK(strcmp(dpt_status_string(-1), "unknown status") == 0);
}

static void versions(void)
{
    CHECK(dpt_version() == DPT_VERSION);
    CHECK(dpt_abi_version() == 1);
    CHECK(strstr(dpt_build_info(), "diptych ") == dpt_build_info());
}

int main(void)
{
    statuses();
    versions();
    return check_result("layout");
}
