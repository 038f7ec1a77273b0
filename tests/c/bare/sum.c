/* A Cortex-M program that only calls dpt_sum_f32; `cargo xtask size` limits its size. */
#include "diptych.h"

extern volatile uint32_t machine_stack[16384];

volatile float result;

static void run(void)
{
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    float sum;
    if (dpt_sum_f32((const dpt_exec *)0, 4, x, 1, &sum) == DPT_OK) {
        result = sum;
    }
}

void __attribute__((noreturn)) reset(void)
{
    run();
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {
    (const void *)(machine_stack + 16384),
    (const void *)reset,
};
