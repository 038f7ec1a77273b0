/* The calls of bits.h and of the fingerprint, and calls over tensors that no kernel fits, use no more stack than the 64 KiB
 * that the header promises. */
#define _GNU_SOURCE
#include "bits.h"
#include "check.h"
#include "generated/operations.inc.h"
#include <pthread.h>

/* The thread has a larger stack, filled with PAINT, because some systems refuse one of only 64 KiB. */
enum { PROMISED = 64 * 1024, STACK_SIZE = 256 * 1024, PAINT = 0x5a };

/* Aligned to the largest page size, which pthread_attr_setstack may require. */
static unsigned char memory[STACK_SIZE] __attribute__((aligned(64 * 1024)));
static int wrong = -1;

/* A tensor of 16 x 20 x 24 doubles, whose axes lie in memory in another order. */
static dpt_tensor scattered(double *data, uint8_t bits)
{
    static int64_t shape[3] = {16, 20, 24}, strides[3] = {20, 1, 320};
    dpt_tensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device_type = 1;
    t.ndim = 3;
    t.dtype_code = 2;
    t.dtype_bits = bits;
    t.dtype_lanes = 1;
    t.shape = shape;
    t.strides = strides;
    return t;
}

static int tensors(void)
{
    static double memory[4][16 * 20 * 24];
    const int32_t outer[2] = {0, 2};
    dpt_tensor x = scattered(memory[0], 64), y = scattered(memory[1], 64), z = scattered(memory[2], 64);
    dpt_tensor narrow = scattered(memory[3], 32), sums = z, loss = z, matrix = x, vector = x, grad = z;
    y.strides = NULL;
    sums.ndim = 1;
    sums.shape = x.shape + 1;
    sums.strides = NULL;
    loss.ndim = 0;
    loss.data = memory[3];
    matrix.ndim = 2;
    vector.ndim = grad.ndim = 1;
    vector.shape = grad.shape = x.shape + 1;
    vector.strides = grad.strides = x.strides + 2;
    dpt_tensor target = vector;
    target.shape = x.shape;
    int failed = dpt_add(NULL, &x, &y, &z) != DPT_OK;
    failed += dpt_convert(NULL, &y, &narrow) != DPT_OK;
    failed += dpt_var(NULL, &x, 2, outer, 0, &sums) != DPT_OK;
    failed += dpt_logsumexp(NULL, &x, -1, NULL, &loss) != DPT_OK;
#define MAP(op) failed += dpt_##op(NULL, &x, 2, outer, &z) != DPT_OK;
    EACH_ROW_MAP(MAP)
#undef MAP
    failed += dpt_matmul(NULL, 1, &matrix, &matrix, 0, &z, NULL) == DPT_OK;
    failed += dpt_mse_grad(NULL, &x, &y, &z, &loss) != DPT_OK;
    failed += dpt_lsq_grad(NULL, &matrix, &vector, &target, &grad) != DPT_OK;
    return failed;
}

/* Reductions over each axis of a tensor of 16-bit floats or of integers, and of its columns. */
static int small_types(void)
{
    static double memory[2][16 * 20 * 24];
    static const uint8_t codes[3] = {2, 4, 0}, bits[3] = {16, 16, 8};
    int failed = 0;
    for (int type = 0; type < 3; type++) {
        for (int32_t axis = 0; axis < 3; axis++) {
            dpt_tensor x = scattered(memory[0], bits[type]), out = scattered(memory[1], bits[type]);
            int64_t shape[2] = {axis == 0 ? 20 : 16, axis == 2 ? 20 : 24};
            x.dtype_code = out.dtype_code = codes[type];
            x.strides = axis == 1 ? NULL : x.strides;
            out.ndim = 2;
            out.shape = shape;
            out.strides = NULL;
            failed += dpt_max(NULL, &x, 1, &axis, &out) != DPT_OK;
            failed += dpt_prod(NULL, &x, 1, &axis, &out) != DPT_OK;
            if (codes[type] != 0) {
                failed += dpt_var(NULL, &x, 1, &axis, 0, &out) != DPT_OK;
                failed += dpt_nrm2(NULL, &x, 1, &axis, &out) != DPT_OK;
                failed += dpt_logsumexp(NULL, &x, 1, &axis, &out) != DPT_OK;
            }
            out.dtype_code = 0;
            out.dtype_bits = 64;
            failed += dpt_argmin(NULL, &x, 1, &axis, &out) != DPT_OK;
            failed += dpt_count_nonzero(NULL, &x, 1, &axis, &out) != DPT_OK;
        }
    }
    return failed;
}

static void *body(void *unused)
{
    static uint64_t got[2][BITS_FAMILIES];
    static unsigned char workspace[DPT_FINGERPRINT_WORKSPACE];
    uint64_t hash = 0;
    dpt_exec exec;
    memset(&exec, 0, sizeof exec);
    exec.struct_size = sizeof exec;
    exec.workspace = workspace;
    exec.workspace_size = sizeof workspace;
    wrong = bits_run(NULL, got) + tensors() + small_types();
    wrong += dpt_fingerprint(&exec, &hash) != DPT_OK || hash != DPT_FINGERPRINT;
    return unused;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    memset(memory, PAINT, sizeof memory);
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstack(&attributes, memory, sizeof memory) == 0);
    const int started = pthread_create(&thread, &attributes, body, NULL) == 0;
    CHECK(started && pthread_join(thread, NULL) == 0);
    CHECK(wrong == 0);
    /* The C library's thread data at the top of the stack count too. */
    int untouched = 0;
    while (untouched < STACK_SIZE && memory[untouched] == PAINT) {
        untouched++;
    }
    CHECK(STACK_SIZE - untouched <= PROMISED);
    printf("stack: %d bytes at level %s\n", STACK_SIZE - untouched, dpt_cpu_level());
    pthread_attr_destroy(&attributes);
    return check_result("stack");
}
