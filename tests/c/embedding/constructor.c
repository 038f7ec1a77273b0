/* A shared library that is linked with Diptych, statically or dynamically. Its constructor runs a function of the
 * program that loads it, which makes calls of this library. */
#include "../check.h"
#include "loading.h"

enum { SIDE = 300 };

static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];

/* B is transposed, so that it is packed into scratch memory of each thread. */
static int product(const dpt_exec *exec)
{
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = b[i] = 1;
    }
    OK(dpt_gemm_f32(exec, SIDE, SIDE, SIDE, 1, a, SIDE, 1, b, 1, SIDE, 0, c, SIDE, 1));
    CHECK(c[0] == SIDE && c[SIDE * SIDE - 1] == SIDE);
    return check_failures;
}

/* Each of these functions returns the number of checks that have failed so far. */
static int alone(void)
{
    return product(NULL);
}

static int on_pool(void)
{
    dpt_pool *pool = NULL;
    dpt_exec exec = plain_exec();
    OK(dpt_pool_create(3, &pool));
    OK(dpt_pool_exec(pool, &exec));
    /* Repeated, because some products may end before every helper is awake. */
    for (int i = 0; i < 20; i++) {
        product(&exec);
    }
    dpt_pool_destroy(pool);
    return check_failures;
}

static int failing(void)
{
    STATUS(DPT_NULL_POINTER, dpt_fill_f32(NULL, 1, 0, NULL));
    CHECK(strstr(dpt_last_error(), "dpt_fill_f32") != NULL);
    return check_failures;
}

static int device(void)
{
    CHECK(dpt_cuda_available() || dpt_last_error()[0] != '\0');
    return check_failures;
}

static void __attribute__((constructor)) constructor(void)
{
    const struct calls calls = {alone, on_pool, failing, device};
    while_loading(&calls);
}
