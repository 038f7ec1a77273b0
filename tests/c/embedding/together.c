/* Two copies of the static library, the second with renamed symbols, a third copy without std, and another Rust
 * library with its own std: all in one program, and none affects another. */
#include "../check.h"

typedef dpt_status sum(const dpt_exec *, int64_t, const float *, int64_t, float *);
typedef dpt_status force(int32_t);
extern sum second_sum_f32, third_sum_f32;
extern force second_force_cpu_level;
extern const char *second_cpu_level(void);
extern dpt_status second_pool_create(int32_t, dpt_pool **), third_pool_create(int32_t, dpt_pool **);
extern void second_pool_destroy(dpt_pool *);
/* The other Rust library: catches a panic on a thread of its own, and returns its argument if that worked. */
extern int other_rust_library(int number);

static void pools(void)
{
    dpt_pool *pools[3] = {NULL, NULL, NULL};
    OK(dpt_pool_create(2, &pools[0]));
    OK(second_pool_create(2, &pools[1]));
    STATUS(DPT_UNSUPPORTED, third_pool_create(2, &pools[2]));
    CHECK(other_rust_library(7) == 7);
    dpt_pool_destroy(pools[0]);
    second_pool_destroy(pools[1]);
}

int main(void)
{
    float x[1000], out[3] = {-1, -2, -3};
    for (int i = 0; i < 1000; i++) {
        x[i] = 1.0f / (float)(i + 1);
    }
    OK(dpt_sum_f32(NULL, 1000, x, 1, &out[0]));
    OK(second_sum_f32(NULL, 1000, x, 1, &out[1]));
    OK(third_sum_f32(NULL, 1000, x, 1, &out[2]));
    CHECK(out[0] == out[1] && out[1] == out[2]);
    pools();
    /* Each copy has its own state. */
    OK(dpt_force_cpu_level(DPT_LEVEL_PORTABLE));
    OK(second_force_cpu_level(DPT_LEVEL_AUTO));
    const char *best = second_cpu_level();
    CHECK(strcmp(dpt_cpu_level(), "portable") == 0);
    OK(dpt_force_cpu_level(DPT_LEVEL_AUTO));
    CHECK(strcmp(dpt_cpu_level(), best) == 0);
    STATUS(DPT_NULL_POINTER, dpt_sum_f32(NULL, 1, NULL, 1, out));
    CHECK(dpt_last_error()[0] != '\0');
    return check_result("together");
}
