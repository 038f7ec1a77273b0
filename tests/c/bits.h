/* The result bits of nearly every operation for fixed inputs, folded into one number per family and type, and
 * compared with numbers that are the same on every CPU. Needs no libc: the bare programs use it too. */
#ifndef BITS_H
#define BITS_H

#include "dtype.h"
#include <diptych.h>

enum { BITS_LENGTH = 5200, BITS_FAMILIES = 5 };

/* One element more, because a second operand starts one element later. */
static union {
    float _f32[BITS_LENGTH + 1];
    double _f64[BITS_LENGTH + 1];
} bits_in, bits_out;

static uint64_t bits_state, bits_hash;
static int bits_refused;

static void bits_call(dpt_status status)
{
    bits_refused += status != DPT_OK;
}

/* FNV-1a, by words of 64 bits. */
static void bits_fold(uint64_t word)
{
    bits_hash = (bits_hash ^ word) * 0x100000001b3u;
}

/* splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
static uint64_t bits_random(void)
{
    uint64_t z = (bits_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The format of a number: the position of the exponent field, and the exponent's bias. */
#define T float
#define WORD uint32_t
#define SUFFIX _f32
#define SHIFT 23
#define BIAS 127
#include "bits_calls.inc.h"
#undef T
#undef WORD
#undef SUFFIX
#undef SHIFT
#undef BIAS

#define T double
#define WORD uint64_t
#define SUFFIX _f64
#define SHIFT 52
#define BIAS 1023
#include "bits_calls.inc.h"
#undef T
#undef WORD
#undef SUFFIX
#undef SHIFT
#undef BIAS

static const char *const bits_families[BITS_FAMILIES] = {"elementwise", "outer", "gemm", "reduce",
                                                         "fused"};

/* The promised values: a change of one of them is a change of the binary interface. */
static const uint64_t bits_expected[2][BITS_FAMILIES] = {
    {0x0851fb42c39a631d, 0xc746330cc6bec8d8, 0x91a6ceb3b660b3ea, 0xd6c08d8685c8757d, 0xf893e2cdd64f83bd},
    {0xcef8c2af4372d205, 0xbf5b579176ec702d, 0x5057222d98a71c4b, 0xe4b5b23d14cd8d4d, 0x15c44cf1892f22f3},
};

/* Computes the numbers of float, then those of double, and returns how many are wrong. */
static int bits_run(const dpt_exec *exec, uint64_t got[2][BITS_FAMILIES])
{
    typedef void family(const dpt_exec *);
    static family *const runs[2][BITS_FAMILIES] = {
        {bits_elementwise_f32, bits_outer_f32, bits_gemm_f32, bits_reduce_f32, bits_fused_f32},
        {bits_elementwise_f64, bits_outer_f64, bits_gemm_f64, bits_reduce_f64, bits_fused_f64},
    };
    int wrong = 0;
    for (int type = 0; type < 2; type++) {
        for (int f = 0; f < BITS_FAMILIES; f++) {
            bits_hash = 0xcbf29ce484222325u;
            bits_state = 2026;
            bits_refused = 0;
            runs[type][f](exec);
            got[type][f] = bits_hash;
            wrong += bits_refused > 0 || bits_hash != bits_expected[type][f];
        }
    }
    return wrong;
}

#endif
