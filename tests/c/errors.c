/* Every error that the library can detect: each gives its status and its text, and writes nothing. */
#include "check.h"
#include "dtype.h"
#include "generated/operations.inc.h"
#include <stdlib.h>

/* Checks that the text of the last failure starts with the function's name and contains the word. */
static void check_text(const char *function, const char *word, const char *file, int line)
{
    const char *text = dpt_last_error();
    check(strncmp(text, function, strlen(function)) == 0 && strstr(text, word) != NULL, function,
          file, line, text);
}
#define TEXT(function, word) check_text(function, word, __FILE__, __LINE__)

#define T float
#define SUFFIX _f32
#include "errors_calls.inc.h"
#include "errors_arguments.inc.h"
#undef T
#undef SUFFIX

#define T double
#define SUFFIX _f64
#include "errors_calls.inc.h"
#include "errors_arguments.inc.h"
#undef T
#undef SUFFIX

/* The status of the GPU backend: success, or why it is not available. */
static dpt_status device;

static void both(const dpt_exec *exec, dpt_status expected)
{
    exec_calls_f32(exec, expected);
    exec_calls_f64(exec, expected);
    STATUS(expected == DPT_OK ? device : expected, dpt_cuda_preload(exec));
}

/* Every error in a dpt_exec, with every function. */
static void execs(void)
{
    dpt_exec exec = plain_exec();
    char byte;
    both(&exec, DPT_OK);
    exec.device = DPT_DEVICE_AUTO;
    both(&exec, DPT_OK);
    exec.device = DPT_DEVICE_CUDA;
    if (device != DPT_OK) {
        both(&exec, device);
        TEXT("dpt_cuda_preload", "CUDA");
    }
    exec.device = 3;
    both(&exec, DPT_UNKNOWN_ENUM);
    exec = plain_exec();
    exec.flags = DPT_EXEC_BATCH_INVARIANT;
    both(&exec, DPT_OK);
    exec.flags = DPT_EXEC_BATCH_INVARIANT << 1;
    both(&exec, DPT_UNKNOWN_FLAG);
    exec.flags = 0x80000000u;
    both(&exec, DPT_UNKNOWN_FLAG);
    exec = plain_exec();
    exec.struct_size = sizeof exec - 8;
    both(&exec, DPT_BAD_STRUCT_SIZE);
    exec.struct_size = 0;
    both(&exec, DPT_BAD_STRUCT_SIZE);
    exec = plain_exec();
    exec.reserved = 1;
    both(&exec, DPT_INVALID_VALUE);
    exec = plain_exec();
    exec.max_threads = -1;
    both(&exec, DPT_INVALID_VALUE);
    exec = plain_exec();
    exec.workspace_size = 1;
    both(&exec, DPT_NULL_POINTER);
    exec.workspace = &byte;
    exec.workspace_size = SIZE_MAX;
    both(&exec, DPT_SIZE_OVERFLOW);
    char memory[sizeof exec + 1];
    memcpy(memory + 1, &exec, sizeof exec);
    both((const dpt_exec *)(const void *)(memory + ((size_t)memory % 2 == 0)), DPT_MISALIGNED);
}

static void texts(void)
{
    float x[2] = {1, 2}, out[2] = {0, 0};
    STATUS(DPT_NULL_POINTER, dpt_clamp_f32(NULL, 2, NULL, 0, 1, out));
    TEXT("dpt_clamp_f32: ", "x is NULL");
    /* As with errno, a success does not change the text. */
    OK(dpt_clamp_f32(NULL, 2, x, 0, 1, out));
    TEXT("dpt_clamp_f32: ", "x is NULL");
    STATUS(DPT_NEGATIVE_SIZE, dpt_sum_f64(NULL, -1, NULL, 1, NULL));
    TEXT("dpt_sum_f64: ", "n is negative");
    float three[3] = {1, 2, 3};
    STATUS(DPT_OVERLAP, dpt_scale_f32(NULL, 2, 1, three, three + 1));
    TEXT("dpt_scale_f32: ", "out");
}

static void levels(void)
{
    STATUS(DPT_UNKNOWN_ENUM, dpt_force_cpu_level(4));
    STATUS(DPT_UNKNOWN_ENUM, dpt_force_cpu_level(-2));
    TEXT("dpt_force_cpu_level: ", "level");
#if defined(__x86_64__)
    STATUS(DPT_LEVEL_UNAVAILABLE, dpt_force_cpu_level(DPT_LEVEL_NEON));
    TEXT("dpt_force_cpu_level: ", "portable");
#endif
    CHECK(strcmp(dpt_cpu_level(), "unknown") != 0);
}

static void pools(void)
{
    int dummy = 0;
    dpt_pool *pool = (dpt_pool *)(void *)&dummy;
    dpt_exec exec = plain_exec();
    STATUS(DPT_NULL_POINTER, dpt_pool_create(2, NULL));
    STATUS(DPT_INVALID_VALUE, dpt_pool_create(0, &pool));
    CHECK(pool == NULL);
    STATUS(DPT_INVALID_VALUE, dpt_pool_create(-3, &pool));
    TEXT("dpt_pool_create: ", "threads");
    STATUS(DPT_NULL_POINTER, dpt_pool_exec(NULL, &exec));
    dpt_pool_destroy(NULL);
    OK(dpt_pool_create(1, &pool));
    STATUS(DPT_NULL_POINTER, dpt_pool_exec(pool, NULL));
    exec.struct_size = 8;
    STATUS(DPT_BAD_STRUCT_SIZE, dpt_pool_exec(pool, &exec));
    CHECK(exec.parallel_for == NULL);
    dpt_pool_destroy(pool);
}

int main(void)
{
    CHECK(dpt_last_error()[0] == '\0');
    device = dpt_cuda_preload(NULL);
    CHECK((device == DPT_OK) == dpt_cuda_available());
    CHECK(device == DPT_OK || device >= DPT_NO_DEVICE);
    execs();
    texts();
    levels();
    pools();
    all_arguments_f32();
    all_arguments_f64();
    return check_result("errors");
}
