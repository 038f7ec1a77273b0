/* Prints each CPU level of this architecture, and whether the machine has it. */
#include <diptych.h>
#include <stdio.h>

static void show(const char *name, dpt_level level)
{
    printf("%s %s\n", name, dpt_force_cpu_level(level) == DPT_OK ? "yes" : "no");
}

int main(void)
{
    show("portable", DPT_LEVEL_PORTABLE);
#if defined(__x86_64__)
    show("avx2", DPT_LEVEL_AVX2);
    show("avx512", DPT_LEVEL_AVX512);
#endif
    return 0;
}
