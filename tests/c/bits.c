/* Compares the bits of bits.h, at the level in DIPTYCH_CPU_LEVEL, on one thread and on the library's pool. */
#include "bits.h"
#include "check.h"

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

int main(void)
{
    dpt_pool *pool = NULL;
    dpt_exec exec = plain_exec();
    compare(NULL);
    OK(dpt_pool_create(2, &pool));
    OK(dpt_pool_exec(pool, &exec));
    compare(&exec);
    dpt_pool_destroy(pool);
    return check_result("bits");
}
