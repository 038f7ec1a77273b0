/* The calls whose instructions `cargo xtask cost` counts. For each, this prints its name, how much work
 * it is and in what unit; callgrind counts what cost_NAME spends inside the library. */
#include <diptych.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 100000 + 64, SMALL = 1000 };

_Alignas(64) static float xs[ELEMENTS], ys[ELEMENTS], zs[ELEMENTS];
_Alignas(64) static double xd[ELEMENTS], yd[ELEMENTS], zd[ELEMENTS];
static int64_t place[ELEMENTS / 3];
static dpt_status failed;

/* cost_NAME makes the call `times` times, after warm_NAME has made it once: what happens only in the
 * first call of a process or of a size is not counted. */
#define COST(name, times, call)                                                                    \
    __attribute__((noinline)) static void warm_##name(void)                                        \
    {                                                                                              \
        failed |= (call);                                                                          \
    }                                                                                              \
    __attribute__((noinline)) static void cost_##name(void)                                        \
    {                                                                                              \
        for (int i = 0; i < (times); i++) {                                                        \
            failed |= (call);                                                                      \
        }                                                                                          \
    }

#define GEMM(name, type, times, m, n, k, a, a_rs, a_cs, b, c)                                      \
    COST(name, times,                                                                              \
         dpt_gemm_##type(NULL, m, n, k, 1, a, a_rs, a_cs, b, n, 1, 0, c, n, 1))

/* Small calls: all is overhead. */
COST(clamp_4_f32, SMALL, dpt_clamp_f32(NULL, 4, xs, -1, 1, zs))
COST(add_4_f32, SMALL, dpt_add_f32(NULL, 4, xs, ys, zs))
COST(sum_4_f32, SMALL, dpt_sum_f32(NULL, 4, xs, 1, zs))
COST(max_4_f32, SMALL, dpt_max_f32(NULL, 4, xs, 1, zs))
COST(dot_4_f32, SMALL, dpt_dot_f32(NULL, 4, xs, 1, ys, 1, zs))
COST(clamp_4_f64, SMALL, dpt_clamp_f64(NULL, 4, xd, -1, 1, zd))
COST(sum_4_f64, SMALL, dpt_sum_f64(NULL, 4, xd, 1, zd))
COST(dot_4_f64, SMALL, dpt_dot_f64(NULL, 4, xd, 1, yd, 1, zd))
COST(outer_4x4_f32, SMALL, dpt_outer_f32(NULL, 4, 4, xs, 1, ys, 1, zs, 4, 1))
COST(outer_4x4_f64, SMALL, dpt_outer_f64(NULL, 4, 4, xd, 1, yd, 1, zd, 4, 1))
COST(sum_rows_4x4_f32, SMALL, dpt_sum_rows_f32(NULL, 4, 4, xs, 4, 1, zs, 1))
GEMM(gemm_4_f32, f32, SMALL, 4, 4, 4, xs, 4, 1, ys, zs)
GEMM(gemm_4_f64, f64, SMALL, 4, 4, 4, xd, 4, 1, yd, zd)
GEMM(gemm_16_f32, f32, SMALL, 16, 16, 16, xs, 16, 1, ys, zs)
GEMM(gemm_16_f64, f64, SMALL, 16, 16, 16, xd, 16, 1, yd, zd)
GEMM(gemm_7_f32, f32, SMALL, 7, 7, 7, xs, 7, 1, ys, zs)
GEMM(gemm_13_f32, f32, SMALL, 13, 13, 13, xs, 13, 1, ys, zs)
GEMM(gemm_13_f64, f64, SMALL, 13, 13, 13, xd, 13, 1, yd, zd)

/* Products. */
GEMM(gemm_64_f32, f32, 1, 64, 64, 64, xs, 64, 1, ys, zs)
GEMM(gemm_64_f64, f64, 1, 64, 64, 64, xd, 64, 1, yd, zd)
GEMM(gemm_100_f32, f32, 1, 100, 100, 100, xs, 100, 1, ys, zs)
GEMM(gemm_256_f32, f32, 1, 256, 256, 256, xs, 256, 1, ys, zs)
GEMM(gemm_256_f64, f64, 1, 256, 256, 256, xd, 256, 1, yd, zd)
GEMM(gemm_64x10x100_f32, f32, 1, 64, 10, 100, xs, 100, 1, ys, zs)
GEMM(gemm_100x10x64_transposed_f32, f32, 1, 100, 10, 64, xs, 1, 100, ys, zs)
GEMM(gemm_256x256x4_f32, f32, 1, 256, 256, 4, xs, 4, 1, ys, zs)
GEMM(gemm_256x1x256_f32, f32, 1, 256, 1, 256, xs, 256, 1, ys, zs)
GEMM(gemm_256x1x256_transposed_f32, f32, 1, 256, 1, 256, xs, 1, 256, ys, zs)
/* One small side. The large operand is contiguous along k, but in the last of these. */
GEMM(gemm_300x3x320_f32, f32, 1, 300, 3, 320, xs, 320, 1, ys, zs)
GEMM(gemm_300x8x320_f32, f32, 1, 300, 8, 320, xs, 320, 1, ys, zs)
COST(gemm_8x300x320_b_transposed_f32, 1,
     dpt_gemm_f32(NULL, 8, 300, 320, 1, xs, 320, 1, ys, 1, 320, 0, zs, 300, 1))
COST(gemm_16x300x320_b_transposed_f32, 1,
     dpt_gemm_f32(NULL, 16, 300, 320, 1, xs, 320, 1, ys, 1, 320, 0, zs, 300, 1))
GEMM(gemm_4x256x390_f64, f64, 1, 4, 256, 390, xd, 390, 1, yd, zd)
COST(gemm_batched_100_of_16_f32, 1,
     dpt_gemm_batched_f32(NULL, 16, 16, 16, 1, xs, 16, 1, ys, 16, 1, 0, zs, 16, 1, 100, 256, 256, 256))
static const dpt_epilogue after = {sizeof after, DPT_EPILOGUE_CLAMP, DPT_BIAS_PER_COLUMN, ys, 1, 0, 1};
COST(gemm_fused_64x100x200_f32, 1,
     dpt_gemm_fused_f32(NULL, 64, 100, 200, 1, xs, 200, 1, ys, 100, 1, 0, zs, 100, 1, &after))

/* Arrays. */
COST(clamp_1e5_f32, 1, dpt_clamp_f32(NULL, 100000, xs, -1, 1, zs))
COST(add_1e5_f32, 1, dpt_add_f32(NULL, 100000, xs, ys, zs))
COST(axpy_1e5_f32, 1, dpt_axpy_f32(NULL, 100000, 2, xs, zs))
COST(sum_1e5_f32, 1, dpt_sum_f32(NULL, 100000, xs, 1, zs))
COST(sum_1e5_f64, 1, dpt_sum_f64(NULL, 100000, xd, 1, zd))
COST(sumsq_1e5_f32, 1, dpt_sumsq_f32(NULL, 100000, xs, 1, zs))
COST(dot_1e5_f32, 1, dpt_dot_f32(NULL, 100000, xs, 1, ys, 1, zs))
COST(max_1e5_f32, 1, dpt_max_f32(NULL, 100000, xs, 1, zs))
COST(max_1e5_f64, 1, dpt_max_f64(NULL, 100000, xd, 1, zd))
COST(argmax_1e5_f32, 1, dpt_argmax_f32(NULL, 100000, xs, 1, place))
COST(var_1e5_f32, 1, dpt_var_f32(NULL, 100000, xs, 1, 1, zs))
COST(nrm2_1e5_f32, 1, dpt_nrm2_f32(NULL, 100000, xs, 1, zs))
COST(logsumexp_1e5_f32, 1, dpt_logsumexp_f32(NULL, 100000, xs, 1, zs))
COST(sum_1000_f32, 1, dpt_sum_f32(NULL, 1000, xs, 1, zs))
COST(dot_100_f32, 1, dpt_dot_f32(NULL, 100, xs, 1, ys, 1, zs))
COST(mse_grad_1e5_f32, 1, dpt_mse_grad_f32(NULL, 99999, xs, ys, zs, zs + 99999))

/* Matrices. */
COST(outer_300_f32, 1, dpt_outer_f32(NULL, 300, 300, xs, 1, ys, 1, zs, 300, 1))
COST(ger_300_f32, 1, dpt_ger_f32(NULL, 300, 300, 2, xs, 1, ys, 1, zs, 300, 1))
COST(sum_rows_300_f32, 1, dpt_sum_rows_f32(NULL, 300, 300, xs, 300, 1, zs, 1))
COST(sum_columns_300_f32, 1, dpt_sum_rows_f32(NULL, 300, 300, xs, 1, 300, zs, 1))
COST(sum_rows_6000x16_f32, 1, dpt_sum_rows_f32(NULL, 6000, 16, xs, 16, 1, zs, 1))
COST(sum_columns_6000x16_f32, 1, dpt_sum_rows_f32(NULL, 16, 6000, xs, 1, 16, zs, 1))
COST(max_rows_300_f32, 1, dpt_max_rows_f32(NULL, 300, 300, xs, 300, 1, zs, 1))
COST(max_columns_300_f32, 1, dpt_max_rows_f32(NULL, 300, 300, xs, 1, 300, zs, 1))
COST(argmax_rows_300_f32, 1, dpt_argmax_rows_f32(NULL, 300, 300, xs, 300, 1, place, 1))
COST(var_rows_300_f32, 1, dpt_var_rows_f32(NULL, 300, 300, xs, 300, 1, 1, zs, 1))
/* A short side. */
COST(sum_rows_30000x3_f32, 1, dpt_sum_rows_f32(NULL, 30000, 3, xs, 3, 1, zs, 1))
COST(sum_columns_64x1500_f32, 1, dpt_sum_rows_f32(NULL, 1500, 64, xs, 1, 1500, zs, 1))
COST(max_rows_30000x3_f32, 1, dpt_max_rows_f32(NULL, 30000, 3, xs, 3, 1, zs, 1))
COST(max_columns_64x1500_f32, 1, dpt_max_rows_f32(NULL, 1500, 64, xs, 1, 1500, zs, 1))
COST(argmax_rows_30000x3_f32, 1, dpt_argmax_rows_f32(NULL, 30000, 3, xs, 3, 1, place, 1))
COST(argmax_columns_64x1500_f32, 1, dpt_argmax_rows_f32(NULL, 1500, 64, xs, 1, 1500, place, 1))
COST(var_rows_30000x3_f32, 1, dpt_var_rows_f32(NULL, 30000, 3, xs, 3, 1, 1, zs, 1))
COST(var_columns_64x1500_f32, 1, dpt_var_rows_f32(NULL, 1500, 64, xs, 1, 1500, 1, zs, 1))
COST(logsumexp_rows_30000x3_f32, 1, dpt_logsumexp_rows_f32(NULL, 30000, 3, xs, 3, 1, zs, 1))
COST(logsumexp_columns_64x1500_f32, 1, dpt_logsumexp_rows_f32(NULL, 1500, 64, xs, 1, 1500, zs, 1))
COST(sum_rows_12000x8_f32, 1, dpt_sum_rows_f32(NULL, 12000, 8, xs, 8, 1, zs, 1))
COST(sum_columns_3x30000_f32, 1, dpt_sum_rows_f32(NULL, 30000, 3, xs, 1, 30000, zs, 1))
/* Maps over rows. */
COST(normalize_10x10_f32, SMALL, dpt_normalize_f32(NULL, 10, 10, xs, 10, 1, zs, 10, 1))
COST(normalize_1000x100_f32, 1, dpt_normalize_f32(NULL, 1000, 100, xs, 100, 1, zs, 100, 1))
COST(normalize_columns_100x1000_f32, 1, dpt_normalize_f32(NULL, 1000, 100, xs, 1, 1000, zs, 1, 1000))
COST(lsq_grad_1000x100_f32, 1, dpt_lsq_grad_f32(NULL, 1000, 100, xs, 100, 1, ys, ys, zs))
COST(lsq_grad_1000x100_f64, 1, dpt_lsq_grad_f64(NULL, 1000, 100, xd, 100, 1, yd, yd, zd))
COST(lsq_grad_1000x100_transposed_f32, 1, dpt_lsq_grad_f32(NULL, 1000, 100, xs, 1, 1000, ys, ys, zs))

/* On the device, with a driver whose launches do nothing: the library's part of a call and what the stand-in spends
 * on its own. */
static dpt_exec gpu;
static float *dx, *dy, *dz;
COST(device_add_f32, SMALL, dpt_add_f32(&gpu, 1024, dx, dy, dz))
COST(device_sum_f32, SMALL, dpt_sum_f32(&gpu, 1024, dx, 1, dz))
COST(device_gemm_f32, SMALL, dpt_gemm_f32(&gpu, 32, 32, 32, 1, dx, 32, 1, dy, 32, 1, 0, dz, 32, 1))

#define RUN(name, work, unit)                                                                      \
    do {                                                                                           \
        warm_##name();                                                                             \
        cost_##name();                                                                             \
        printf("%s %d %s\n", #name, work, unit);                                                   \
    } while (0)

static void small(void)
{
    RUN(clamp_4_f32, 1, "call");
    RUN(add_4_f32, 1, "call");
    RUN(sum_4_f32, 1, "call");
    RUN(max_4_f32, 1, "call");
    RUN(dot_4_f32, 1, "call");
    RUN(clamp_4_f64, 1, "call");
    RUN(sum_4_f64, 1, "call");
    RUN(dot_4_f64, 1, "call");
    RUN(outer_4x4_f32, 1, "call");
    RUN(outer_4x4_f64, 1, "call");
    RUN(sum_rows_4x4_f32, 1, "call");
    RUN(gemm_4_f32, 1, "call");
    RUN(gemm_4_f64, 1, "call");
    RUN(gemm_16_f32, 16 * 16 * 16, "fma");
    RUN(gemm_16_f64, 16 * 16 * 16, "fma");
    RUN(gemm_7_f32, 7 * 7 * 7, "fma");
    RUN(gemm_13_f32, 13 * 13 * 13, "fma");
    RUN(gemm_13_f64, 13 * 13 * 13, "fma");
}

static void products(void)
{
    RUN(gemm_64_f32, 64 * 64 * 64, "fma");
    RUN(gemm_64_f64, 64 * 64 * 64, "fma");
    RUN(gemm_100_f32, 100 * 100 * 100, "fma");
    RUN(gemm_256_f32, 256 * 256 * 256, "fma");
    RUN(gemm_256_f64, 256 * 256 * 256, "fma");
    RUN(gemm_64x10x100_f32, 64 * 10 * 100, "fma");
    RUN(gemm_100x10x64_transposed_f32, 100 * 10 * 64, "fma");
    RUN(gemm_256x256x4_f32, 256 * 256 * 4, "fma");
    RUN(gemm_256x1x256_f32, 256 * 256, "fma");
    RUN(gemm_256x1x256_transposed_f32, 256 * 256, "fma");
    RUN(gemm_300x3x320_f32, 300 * 3 * 320, "fma");
    RUN(gemm_300x8x320_f32, 300 * 8 * 320, "fma");
    RUN(gemm_8x300x320_b_transposed_f32, 8 * 300 * 320, "fma");
    RUN(gemm_16x300x320_b_transposed_f32, 16 * 300 * 320, "fma");
    RUN(gemm_4x256x390_f64, 4 * 256 * 390, "fma");
    RUN(gemm_batched_100_of_16_f32, 100 * 16 * 16 * 16, "fma");
    RUN(gemm_fused_64x100x200_f32, 64 * 100 * 200, "fma");
}

static void arrays(void)
{
    RUN(clamp_1e5_f32, 100000, "element");
    RUN(add_1e5_f32, 100000, "element");
    RUN(axpy_1e5_f32, 100000, "element");
    RUN(sum_1e5_f32, 100000, "element");
    RUN(sum_1e5_f64, 100000, "element");
    RUN(sumsq_1e5_f32, 100000, "element");
    RUN(dot_1e5_f32, 100000, "element");
    RUN(max_1e5_f32, 100000, "element");
    RUN(max_1e5_f64, 100000, "element");
    RUN(argmax_1e5_f32, 100000, "element");
    RUN(var_1e5_f32, 100000, "element");
    RUN(nrm2_1e5_f32, 100000, "element");
    RUN(logsumexp_1e5_f32, 100000, "element");
    RUN(sum_1000_f32, 1000, "element");
    RUN(dot_100_f32, 100, "element");
    RUN(mse_grad_1e5_f32, 99999, "element");
}

static void matrices(void)
{
    RUN(outer_300_f32, 300 * 300, "element");
    RUN(ger_300_f32, 300 * 300, "element");
    RUN(sum_rows_300_f32, 300 * 300, "element");
    RUN(sum_columns_300_f32, 300 * 300, "element");
    RUN(sum_rows_6000x16_f32, 6000 * 16, "element");
    RUN(sum_columns_6000x16_f32, 6000 * 16, "element");
    RUN(max_rows_300_f32, 300 * 300, "element");
    RUN(max_columns_300_f32, 300 * 300, "element");
    RUN(argmax_rows_300_f32, 300 * 300, "element");
    RUN(var_rows_300_f32, 300 * 300, "element");
    RUN(sum_rows_30000x3_f32, 30000 * 3, "element");
    RUN(sum_columns_64x1500_f32, 64 * 1500, "element");
    RUN(max_rows_30000x3_f32, 30000 * 3, "element");
    RUN(max_columns_64x1500_f32, 64 * 1500, "element");
    RUN(argmax_rows_30000x3_f32, 30000 * 3, "element");
    RUN(argmax_columns_64x1500_f32, 64 * 1500, "element");
    RUN(var_rows_30000x3_f32, 30000 * 3, "element");
    RUN(var_columns_64x1500_f32, 64 * 1500, "element");
    RUN(logsumexp_rows_30000x3_f32, 30000 * 3, "element");
    RUN(logsumexp_columns_64x1500_f32, 64 * 1500, "element");
    RUN(sum_rows_12000x8_f32, 12000 * 8, "element");
    RUN(sum_columns_3x30000_f32, 3 * 30000, "element");
    RUN(normalize_10x10_f32, 1, "call");
    RUN(normalize_1000x100_f32, 1000 * 100, "element");
    RUN(normalize_columns_100x1000_f32, 1000 * 100, "element");
    RUN(lsq_grad_1000x100_f32, 1000 * 100, "element");
    RUN(lsq_grad_1000x100_f64, 1000 * 100, "element");
    RUN(lsq_grad_1000x100_transposed_f32, 1000 * 100, "element");
}

static void device(void)
{
    void *memory[3];
    gpu.struct_size = sizeof gpu;
    gpu.device = DPT_DEVICE_CUDA;
    for (int i = 0; i < 3; i++) {
        failed |= dpt_cuda_alloc(1024 * sizeof(float), &memory[i]);
    }
    if (failed) {
        return;
    }
    dx = memory[0], dy = memory[1], dz = memory[2];
    /* The stand-in writes calls down until its page is full: not while they are counted. */
    for (int i = 0; i < SMALL; i++) {
        failed |= dpt_fill_f32(&gpu, 1024, 0, dx) | dpt_fill_f32(&gpu, 1024, 0, dy);
    }
    RUN(device_add_f32, 1, "call");
    RUN(device_sum_f32, 1, "call");
    RUN(device_gemm_f32, 1, "call");
}

int main(void)
{
    if (strcmp(dpt_cpu_level(), "avx2") != 0) {
        return 77;
    }
    uint32_t state = 3;
    for (int i = 0; i < ELEMENTS; i++) {
        state = state * 1664525u + 1013904223u;
        xd[i] = xs[i] = (float)(state >> 8) / 1e7f - 0.8f;
        yd[i] = ys[i] = (float)(state & 0xFFFF) / 6e4f - 0.5f;
    }
    small();
    products();
    arrays();
    matrices();
    device();
    return failed != DPT_OK;
}
