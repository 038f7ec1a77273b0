/* Template: operations that are large enough for several tasks, and their expected bits. */
#define ONE_MORE(op) +1
enum {
    LOCAL(LENGTH) = 600011,
    LOCAL(SIDE) = 190,
    LOCAL(ROW_MAPS) = 0 EACH_ROW_MAP(ONE_MORE),
    LOCAL(RESULTS) = (1 + LOCAL(ROW_MAPS)) * LOCAL(LENGTH) + 2 * LOCAL(SIDE) * LOCAL(SIDE) + 2 * LOCAL(SIDE) + 16
};

static T LOCAL(x)[LOCAL(LENGTH)], LOCAL(expected)[LOCAL(RESULTS)];

/* Makes some calls, and writes their results one after the other to out. */
static void LOCAL(compute)(const dpt_exec *exec, T *out)
{
    const int64_t n = LOCAL(LENGTH), side = LOCAL(SIDE), area = side * side;
    const T *x = LOCAL(x);
    dpt_epilogue epilogue = {sizeof epilogue, DPT_EPILOGUE_CLAMP, DPT_BIAS_PER_COLUMN, x, 3, -1, 1};
    OK(FN(clamp)(exec, n, x, (T)-0.5, (T)0.25, out));
    out += n;
    OK(FN(gemm)(exec, side, side, 3 * side, 1, x, 3 * side, 1, x + 7, side, 1, 0, out, side, 1));
    out += area;
    OK(FN(gemm_fused)(exec, side, side, side, 2, x, 1, side, x + 9, side, 1, 0, out, side, 1,
                      &epilogue));
    out += area;
#define MAP(op)                                                                                    \
    OK(FN(op)(exec, side, n / side, x, n / side, 1, out, 1, side));                                \
    out += n;
    EACH_ROW_MAP(MAP)
#undef MAP
    OK(ROWS(sum)(exec, side, n / side, x, n / side, 1, out, 1));
    out += side;
    OK(FN(lsq_grad)(exec, n / side, side, x, side, 1, x + 1, x + 2, out));
    out += side;
    OK(FN(sum)(exec, n, x, 1, out++));
    OK(FN(dot)(exec, n, x, 1, x + n - 1, -1, out++));
    OK(FN(nrm2)(exec, n, x, 1, out++));
    OK(FN(var)(exec, n, x, 1, 1, out++));
    OK(FN(max)(exec, n, x, 1, out++));
    OK(FN(prod)(exec, n, x, 1, out++));
    OK(FN(logsumexp)(exec, n, x, 1, out++));
    OK(FN(mean)(exec, n, x, 1, out++));
}

/* Computes the expected results on the calling thread alone. */
static void LOCAL(reference)(void)
{
    uint32_t state = 3;
    for (int64_t i = 0; i < LOCAL(LENGTH); i++) {
        state = state * 1664525u + 1013904223u;
        LOCAL(x)[i] = (T)(state >> 8) / (T)1e7 - (T)0.8;
    }
    LOCAL(compute)(NULL, LOCAL(expected));
}

static void LOCAL(same_bits)(const dpt_exec *exec)
{
    T *out = calloc(LOCAL(RESULTS), sizeof(T));
    if (out != NULL) {
        LOCAL(compute)(exec, out);
        CHECK(memcmp(out, LOCAL(expected), LOCAL(RESULTS) * sizeof(T)) == 0);
    }
    free(out);
}

/* Makes one call with several tasks. */
static inline dpt_status LOCAL(large_fill)(const dpt_exec *exec)
{
    T *out = malloc(LOCAL(LENGTH) * sizeof(T));
    const dpt_status status = FN(fill)(exec, LOCAL(LENGTH), 1, out);
    free(out);
    return status;
}

#undef ONE_MORE
