/* Compares the bits of bits.h and the fingerprint, at the level in DIPTYCH_CPU_LEVEL, on one thread and on the library's
 * pool. */
#include "bits.h"
#include "check.h"
#include <stdlib.h>

static void compare(const dpt_exec *exec)
{
    uint64_t got[2][BITS_FAMILIES];
    const int wrong = bits_run(exec, got);
    for (int type = 0; type < 2 && wrong > 0; type++) {
        for (int f = 0; f < BITS_FAMILIES; f++) {
            printf("%s %s: 0x%016llx\n", bits_families[f], type == 0 ? "float" : "double",
                   (unsigned long long)got[type][f]);
        }
    }
    CHECK(wrong == 0);
}

/* Computes the fingerprint, and names the operations that differ. */
static void fingerprint(const dpt_exec *exec)
{
    uint64_t hash = 0, expected = 0;
    const char *name = "";
    OK(dpt_fingerprint(exec, &hash));
    for (int32_t i = 0; hash != DPT_FINGERPRINT; i++) {
        if (dpt_fingerprint_op(exec, i, &name, &hash, &expected) != DPT_OK) {
            CHECK(!"the fingerprint");
            return;
        }
        if (hash != expected) {
            printf("%s: 0x%016llx\n", name, (unsigned long long)hash);
        }
    }
}

/* With a workspace for the arrays alone, and one that is large enough for every call too. */
static void in_workspace(dpt_exec exec)
{
    const size_t large = 4 << 20;
    char *memory = malloc(large + 1);
    CHECK(memory != NULL);
    exec.workspace = memory + 1;
    exec.workspace_size = DPT_FINGERPRINT_WORKSPACE;
    fingerprint(&exec);
    exec.workspace_size = large;
    fingerprint(&exec);
    exec.workspace_size = DPT_FINGERPRINT_WORKSPACE - 1;
    uint64_t hash = 7;
    STATUS(DPT_WORKSPACE_TOO_SMALL, dpt_fingerprint(&exec, &hash));
    CHECK(hash == 7);
    free(memory);
}

static void operations(void)
{
    uint64_t hash = 0, expected = 0, sum = 0;
    const char *name = NULL;
    int32_t count = 0;
    while (dpt_fingerprint_op(NULL, count, &name, &hash, &expected) == DPT_OK) {
        CHECK(hash == expected && name[0] != '\0');
        sum += strcmp(name, "gemm") == 0;
        count++;
    }
    CHECK(count > 35 && sum == 1);
    STATUS(DPT_INVALID_VALUE, dpt_fingerprint_op(NULL, count, &name, &hash, &expected));
    STATUS(DPT_INVALID_VALUE, dpt_fingerprint_op(NULL, -1, &name, &hash, &expected));
    STATUS(DPT_NULL_POINTER, dpt_fingerprint_op(NULL, 0, NULL, &hash, &expected));
    STATUS(DPT_NULL_POINTER, dpt_fingerprint_op(NULL, 0, &name, &hash, NULL));
    STATUS(DPT_NULL_POINTER, dpt_fingerprint(NULL, NULL));
    STATUS(DPT_MISALIGNED, dpt_fingerprint(NULL, (uint64_t *)((char *)&hash + 1)));
    dpt_exec exec = plain_exec();
    exec.struct_size = 1;
    STATUS(DPT_BAD_STRUCT_SIZE, dpt_fingerprint(&exec, &hash));
    if (!dpt_cuda_available()) {
        exec = plain_exec();
        exec.device = DPT_DEVICE_CUDA;
        CHECK(dpt_fingerprint(&exec, &hash) >= DPT_NO_DEVICE);
        exec.device = DPT_DEVICE_AUTO;
        fingerprint(&exec);
    }
}

int main(void)
{
    dpt_pool *pool = NULL;
    dpt_exec exec = plain_exec();
    compare(NULL);
    fingerprint(NULL);
    operations();
    in_workspace(exec);
    OK(dpt_pool_create(2, &pool));
    OK(dpt_pool_exec(pool, &exec));
    compare(&exec);
    fingerprint(&exec);
    in_workspace(exec);
    dpt_pool_destroy(pool);
    return check_result("bits");
}
