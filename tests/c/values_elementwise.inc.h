/* Template: the elementwise functions, the outer products and mse_grad. */
#define N 1003

static void LOCAL(fill_inputs)(T *x, T *y)
{
    for (int i = 0; i < N; i++) {
        x[i] = (T)(i % 37 - 18);
        y[i] = (T)(1 << (i % 5));
    }
}

/* Checks every out[i] against an expression in x, y and i. */
#define CHECK_EACH(out, expression)                                                                \
    do {                                                                                           \
        int wrong = 0;                                                                             \
        for (int i = 0; i < N; i++) {                                                              \
            wrong += (out)[i] != (expression);                                                     \
        }                                                                                          \
        check(wrong == 0, #expression, __FILE__, __LINE__, "");                                                 \
    } while (0)

static void LOCAL(arithmetic)(const T *x, const T *y, T *out)
{
    OK(FN(add)(NULL, N, x, y, out));
    CHECK_EACH(out, x[i] + y[i]);
    OK(FN(sub)(NULL, N, x, y, out));
    CHECK_EACH(out, x[i] - y[i]);
    OK(FN(mul)(NULL, N, x, y, out));
    CHECK_EACH(out, x[i] * y[i]);
    OK(FN(div)(NULL, N, x, y, out));
    CHECK_EACH(out, x[i] / y[i]);
    OK(FN(minimum)(NULL, N, x, y, out));
    CHECK_EACH(out, x[i] < y[i] ? x[i] : y[i]);
    OK(FN(maximum)(NULL, N, x, y, out));
    CHECK_EACH(out, x[i] > y[i] ? x[i] : y[i]);
    OK(FN(scale)(NULL, N, 3, x, out));
    CHECK_EACH(out, 3 * x[i]);
    OK(FN(square)(NULL, N, x, out));
    CHECK_EACH(out, x[i] * x[i]);
    OK(FN(abs)(NULL, N, x, out));
    CHECK_EACH(out, x[i] < 0 ? -x[i] : x[i]);
    OK(FN(neg)(NULL, N, x, out));
    CHECK_EACH(out, -x[i]);
    OK(FN(fill)(NULL, N, 7, out));
    CHECK_EACH(out, 7);
    memcpy(out, y, N * sizeof(T));
    OK(FN(axpy)(NULL, N, 2, x, out));
    CHECK_EACH(out, 2 * x[i] + y[i]);
}

static void LOCAL(in_place)(const T *x, const T *y, T *out)
{
    const size_t bytes = N * sizeof(T);
    memcpy(out, x, bytes);
    OK(FN(add)(NULL, N, out, y, out));
    CHECK_EACH(out, x[i] + y[i]);
    memcpy(out, y, bytes);
    OK(FN(sub)(NULL, N, x, out, out));
    CHECK_EACH(out, x[i] - y[i]);
    memcpy(out, x, bytes);
    OK(FN(mul)(NULL, N, out, out, out));
    CHECK_EACH(out, x[i] * x[i]);
    memcpy(out, y, bytes);
    OK(FN(div)(NULL, N, x, out, out));
    CHECK_EACH(out, x[i] / y[i]);
    memcpy(out, x, bytes);
    OK(FN(scale)(NULL, N, -2, out, out));
    CHECK_EACH(out, -2 * x[i]);
    memcpy(out, x, bytes);
    OK(FN(square)(NULL, N, out, out));
    CHECK_EACH(out, x[i] * x[i]);
    memcpy(out, x, bytes);
    OK(FN(axpy)(NULL, N, 2, out, out));
    CHECK_EACH(out, 3 * x[i]);
    memcpy(out, x, bytes);
    OK(FN(clamp)(NULL, N, out, -5, 6, out));
    CHECK_EACH(out, x[i] < -5 ? -5 : x[i] > 6 ? 6 : x[i]);
    memcpy(out, x, bytes);
    OK(FN(clamp_backward)(NULL, N, out, y, -5, 6, out));
    CHECK_EACH(out, x[i] >= -5 && x[i] <= 6 ? y[i] : 0);
    memcpy(out, y, bytes);
    OK(FN(clamp_backward)(NULL, N, x, out, -5, 6, out));
    CHECK_EACH(out, x[i] >= -5 && x[i] <= 6 ? y[i] : 0);
}

static void LOCAL(clamps)(const T *x, const T *y, T *out)
{
    OK(FN(clamp)(NULL, N, x, -5, 6, out));
    CHECK_EACH(out, x[i] < -5 ? -5 : x[i] > 6 ? 6 : x[i]);
    OK(FN(clamp)(NULL, N, x, 6, -5, out));
    CHECK_EACH(out, -5);
    OK(FN(clamp_backward)(NULL, N, x, y, -5, 6, out));
    CHECK_EACH(out, x[i] >= -5 && x[i] <= 6 ? y[i] : 0);

    const T nan = (T)NAN, special[4] = {nan, (T)-0.0, (T)INFINITY, (T)0.0};
    OK(FN(clamp)(NULL, 4, special, 0, 1, out));
    CHECK(isnan(out[0]) && out[1] == 0 && signbit(out[1]) && out[2] == 1 && !signbit(out[3]));
    OK(FN(clamp)(NULL, 4, special, nan, 1, out));
    CHECK(isnan(out[0]) && isnan(out[1]) && isnan(out[2]) && isnan(out[3]));
    OK(FN(clamp_backward)(NULL, 4, special, y, 0, 1, out));
    CHECK(out[0] == 0 && out[1] == y[1] && out[2] == 0 && out[3] == y[3]);
}

static void LOCAL(outer_products)(const T *x, const T *y, T *out)
{
    enum { ROWS_ = 17, COLUMNS = 59 };
    OK(FN(outer)(NULL, ROWS_, COLUMNS, x, 1, y, 1, out, COLUMNS, 1));
    for (int i = 0; i < ROWS_ * COLUMNS; i++) {
        CHECK(out[i] == x[i / COLUMNS] * y[i % COLUMNS]);
    }
    OK(FN(ger)(NULL, ROWS_, COLUMNS, 3, x, 1, y, 1, out, COLUMNS, 1));
    for (int i = 0; i < ROWS_ * COLUMNS; i++) {
        CHECK(out[i] == 4 * x[i / COLUMNS] * y[i % COLUMNS]);
    }
}

static void LOCAL(mse)(const T *x, const T *y, T *out)
{
    T loss = -1, expected = 0;
    for (int i = 0; i < N; i++) {
        expected += (x[i] - y[i]) * (x[i] - y[i]);
    }
    OK(FN(mse_grad)(NULL, N, x, y, out, &loss));
    CHECK(loss == expected);
    CHECK_EACH(out, 2 * (x[i] - y[i]));
    memcpy(out, x, N * sizeof(T));
    OK(FN(mse_grad)(NULL, N, out, y, out, &loss));
    CHECK(loss == expected);
    CHECK_EACH(out, 2 * (x[i] - y[i]));
    memcpy(out, y, N * sizeof(T));
    OK(FN(mse_grad)(NULL, N, x, out, out, &loss));
    CHECK_EACH(out, 2 * (x[i] - y[i]));
}

static void LOCAL(elementwise)(void)
{
    /* Allocated, so that the sanitizers and valgrind detect accesses past the ends. */
    T *x = malloc(N * sizeof(T)), *y = malloc(N * sizeof(T)), *out = malloc(N * sizeof(T));
    if (x != NULL && y != NULL && out != NULL) {
        LOCAL(fill_inputs)(x, y);
        LOCAL(arithmetic)(x, y, out);
        LOCAL(in_place)(x, y, out);
        LOCAL(clamps)(x, y, out);
        LOCAL(outer_products)(x, y, out);
        LOCAL(mse)(x, y, out);
    }
    free(x);
    free(y);
    free(out);
}

#undef CHECK_EACH
#undef N
