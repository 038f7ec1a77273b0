/* Template: the calls of bits.h. The inputs have 16 different exponents and full fractions, so that any change of
 * the order of a sum changes bits. */
typedef union LOCAL(bits_number) {
    T value;
    WORD word;
} LOCAL(bits_number);

/* Returns the number with these fields. */
static T LOCAL(bits_make)(int negative, int exponent, WORD fraction)
{
    LOCAL(bits_number) number;
    number.word = (WORD)negative << (8 * sizeof(T) - 1) | (WORD)(BIAS + exponent) << SHIFT | fraction;
    return number.value;
}

static T *LOCAL(bits_inputs)(void)
{
    T *x = bits_in.SUFFIX;
    for (int i = 0; i <= BITS_LENGTH; i++) {
        const uint64_t r = bits_random();
        x[i] = LOCAL(bits_make)((int)(r >> 63), (int)(r & 15) - 8, (WORD)(r << 1 >> (65 - SHIFT)));
    }
    return x;
}

/* Folds n results into the hash, and clears them. */
static void LOCAL(bits_take)(T *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        LOCAL(bits_number) number;
        number.value = out[i];
        bits_fold(number.word);
        out[i] = 0;
    }
}

/* Makes a call, and folds n results from out. */
#define TAKE(n, call) (bits_call(call), LOCAL(bits_take)(out, n))

static void LOCAL(bits_elementwise)(const dpt_exec *exec)
{
    static const int64_t lengths[] = {1, 3, 4, 7, 100, 1001};
    const T *x = LOCAL(bits_inputs)(), *y = x + 1;
    T *out = bits_out.SUFFIX;
    for (unsigned l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        const int64_t n = lengths[l];
        TAKE(n, FN(clamp)(exec, n, x, (T)-0.5, (T)2.5, out));
        TAKE(n, FN(clamp_backward)(exec, n, x, y, (T)-0.5, (T)2.5, out));
        TAKE(n, FN(add)(exec, n, x, y, out));
        TAKE(n, FN(sub)(exec, n, x, y, out));
        TAKE(n, FN(mul)(exec, n, x, y, out));
        TAKE(n, FN(div)(exec, n, x, y, out));
        TAKE(n, FN(scale)(exec, n, x[n], x, out));
        TAKE(n, FN(square)(exec, n, x, out));
        bits_call(FN(fill)(exec, n, x[n], out));
        TAKE(n, FN(axpy)(exec, n, x[n + 1], y, out));
    }
}

static void LOCAL(bits_outer)(const dpt_exec *exec)
{
    enum { M = 23, N = 37 };
    const T *x = LOCAL(bits_inputs)();
    T *out = bits_out.SUFFIX;
    TAKE(M * N, FN(outer)(exec, M, N, x, 1, x + 99, 1, out, N, 1));
    TAKE(M * N, FN(outer)(exec, M, N, x + 60, -2, x, 3, out, 1, M));
    bits_call(FN(outer)(exec, M, N, x, 1, x + 99, 1, out, N, 1));
    TAKE(M * N, FN(ger)(exec, M, N, x[0], x + 99, 1, x, 1, out, N, 1));
}

static void LOCAL(bits_gemm)(const dpt_exec *exec)
{
    static const struct {
        int64_t m, n, k;
    } shapes[] = {{1, 1, 1}, {2, 3, 4}, {13, 17, 300}, {9, 5, 513}, {1, 70, 70}, {70, 1, 70}, {40, 40, 3}};
    const T *x = LOCAL(bits_inputs)();
    T *out = bits_out.SUFFIX;
    for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const int64_t m = shapes[s].m, n = shapes[s].n, k = shapes[s].k;
        TAKE(m * n, FN(gemm)(exec, m, n, k, 1, x, k, 1, x + 7, n, 1, 0, out, n, 1));
        bits_call(FN(outer)(exec, m, n, x, 1, x + 9, 1, out, n, 1));
        TAKE(m * n, FN(gemm)(exec, m, n, k, x[5], x, 1, m, x + 7, 1, k, x[6], out, n, 1));
    }
    for (int kind = DPT_BIAS_NONE; kind <= DPT_BIAS_PER_COLUMN; kind++) {
        dpt_epilogue epilogue = {sizeof epilogue, DPT_EPILOGUE_CLAMP, 0, 0, 1, -3e3, 4e3};
        epilogue.bias_kind = kind;
        epilogue.bias = x + 3;
        TAKE(12 * 19, FN(gemm_fused)(exec, 12, 19, 31, 1, x, 31, 1, x + 7, 19, 1, 0, out, 19, 1, &epilogue));
    }
    TAKE(3 * 8 * 9, FN(gemm_batched)(exec, 8, 9, 10, 1, x, 10, 1, x + 7, 9, 1, 0, out, 9, 1, 3, 80, 0, 72));
}

/* Reductions without degrees of freedom, of a vector and of the rows and columns of a matrix. */
#define EACH_REDUCTION(REDUCTION)                                                                  \
    REDUCTION(sum) REDUCTION(mean) REDUCTION(prod) REDUCTION(min) REDUCTION(max) REDUCTION(sumsq)  \
    REDUCTION(asum) REDUCTION(nrm2) REDUCTION(logsumexp)

static void LOCAL(bits_vector)(const dpt_exec *exec, int64_t n, const T *x, int64_t incx)
{
    const T *y = bits_in.SUFFIX + 1;
    T out[1] = {0};
    int64_t index = 0;
#define VECTOR(op) TAKE(1, FN(op)(exec, n, x, incx, out));
    EACH_REDUCTION(VECTOR)
#undef VECTOR
    if (n > 1) {
        TAKE(1, FN(var)(exec, n, x, incx, 1, out));
    }
    TAKE(1, FN(dot)(exec, n, x, incx, y, 1, out));
    bits_call(FN(argmin)(exec, n, x, incx, &index));
    bits_fold((uint64_t)index);
    bits_call(FN(argmax)(exec, n, x, incx, &index));
    bits_fold((uint64_t)index);
}

static void LOCAL(bits_rows)(const dpt_exec *exec, int64_t m, int64_t n, const T *x, int64_t rs, int64_t cs)
{
    T *out = bits_out.SUFFIX;
    int64_t indices[60];
#define OF_ROWS(op) TAKE(m, ROWS(op)(exec, m, n, x, rs, cs, out, 1));
    EACH_REDUCTION(OF_ROWS)
#undef OF_ROWS
    TAKE(m, ROWS(var)(exec, m, n, x, rs, cs, 0, out, 1));
    bits_call(ROWS(argmin)(exec, m, n, x, rs, cs, indices, 2));
    bits_call(ROWS(argmax)(exec, m, n, x, rs, cs, indices + 1, 2));
    for (int64_t i = 0; i < 2 * m; i++) {
        bits_fold((uint64_t)indices[i]);
    }
}

static void LOCAL(bits_reduce)(const dpt_exec *exec)
{
    static const int64_t lengths[] = {1, 2, 4, 5, 16, 31, 64, 65, 100, 500, 1024, 2049, BITS_LENGTH};
    T *x = LOCAL(bits_inputs)();
    for (unsigned l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        LOCAL(bits_vector)(exec, lengths[l], x, 1);
    }
    LOCAL(bits_vector)(exec, 1700, x + BITS_LENGTH - 1, -3);
    LOCAL(bits_rows)(exec, 30, 170, x, 170, 1);
    LOCAL(bits_rows)(exec, 30, 170, x, 1, 30);
    LOCAL(bits_rows)(exec, 2, 2600, x, 2600, 1);
    LOCAL(bits_rows)(exec, 5, 9, x, 9, 1);
    /* Squares that underflow or overflow, zeros of both signs, infinities, a NaN with a payload. */
    x[70] = LOCAL(bits_make)(0, -BIAS, 3);
    LOCAL(bits_vector)(exec, 3, x + 70, 0);
    x[70] = LOCAL(bits_make)(1, BIAS - 1, 5);
    LOCAL(bits_vector)(exec, 90, x, 1);
    x[71] = LOCAL(bits_make)(1, -BIAS, 0), x[72] = LOCAL(bits_make)(0, -BIAS, 0);
    LOCAL(bits_vector)(exec, 2, x + 71, 1);
    x[71] = LOCAL(bits_make)(1, BIAS + 1, 0);
    LOCAL(bits_vector)(exec, 90, x, 1);
    x[72] = LOCAL(bits_make)(0, BIAS + 1, 0);
    LOCAL(bits_vector)(exec, 90, x, 1);
    x[73] = LOCAL(bits_make)(1, BIAS + 1, (WORD)1 << (SHIFT - 1) | 9);
    LOCAL(bits_vector)(exec, 90, x, 1);
}

static void LOCAL(bits_fused)(const dpt_exec *exec)
{
    static const int64_t lengths[] = {1, 4, 63, 500, 2049};
    const T *x = LOCAL(bits_inputs)();
    T *out = bits_out.SUFFIX;
    for (unsigned l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        TAKE(lengths[l] + 1, FN(mse_grad)(exec, lengths[l], x, x + 9, out + 1, out));
    }
    TAKE(41, FN(lsq_grad)(exec, 110, 41, x, 41, 1, x + 9, x + 99, out));
    TAKE(41, FN(lsq_grad)(exec, 110, 41, x, 1, 110, x + 9, x + 99, out));
    TAKE(6, FN(lsq_grad)(exec, 3, 6, x, 6, 1, x + 9, x + 99, out));
}

#undef EACH_REDUCTION
#undef TAKE
