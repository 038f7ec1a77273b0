/* Template: the reductions of a vector. The reductions of rows are in strides.inc.h. */
#define N 5000

static int LOCAL(near)(T got, double expected, double units)
{
    const double eps = sizeof(T) == 4 ? 1.2e-7 : 2.3e-16;
    return fabs((double)got - expected) <= units * eps * fabs(expected);
}

static void LOCAL(sums)(const T *x, const T *y)
{
    T sum = 0, squares = 0, magnitude = 0, product = 0, out = -1;
    for (int i = 0; i < N; i++) {
        sum += x[i];
        squares += x[i] * x[i];
        magnitude += x[i] < 0 ? -x[i] : x[i];
        product += x[i] * y[i];
    }
    OK(FN(sum)(NULL, N, x, 1, &out));
    CHECK(out == sum);
    OK(FN(mean)(NULL, N, x, 1, &out));
    CHECK(out == sum / N);
    OK(FN(sumsq)(NULL, N, x, 1, &out));
    CHECK(out == squares);
    OK(FN(asum)(NULL, N, x, 1, &out));
    CHECK(out == magnitude);
    OK(FN(nrm2)(NULL, N, x, 1, &out));
    CHECK(LOCAL(near)(out, sqrt((double)squares), 1));
    OK(FN(dot)(NULL, N, x, 1, y, 1, &out));
    CHECK(out == product);
}

static void LOCAL(extremes)(T *x)
{
    T out = 0;
    int64_t index = -1;
    x[1234] = 1000, x[2345] = 1000, x[3456] = -1000, x[4567] = -1000;
    OK(FN(min)(NULL, N, x, 1, &out));
    CHECK(out == -1000);
    OK(FN(max)(NULL, N, x, 1, &out));
    CHECK(out == 1000);
    int64_t count = 0;
    for (int i = 0; i < N; i++) {
        count += x[i] != 0;
    }
    OK(FN(count_nonzero)(NULL, N, x, 1, &index));
    CHECK(index == count);
    OK(FN(argmin)(NULL, N, x, 1, &index));
    CHECK(index == 3456);
    OK(FN(argmax)(NULL, N, x, 1, &index));
    CHECK(index == 1234);
    x[4000] = (T)NAN, x[4100] = (T)NAN;
    OK(FN(min)(NULL, N, x, 1, &out));
    CHECK(isnan(out));
    OK(FN(max)(NULL, N, x, 1, &out));
    CHECK(isnan(out));
    OK(FN(argmin)(NULL, N, x, 1, &index));
    CHECK(index == 4000);
    OK(FN(argmax)(NULL, N, x, 1, &index));
    CHECK(index == 4000);

    const T zeros[2] = {(T)0.0, (T)-0.0};
    OK(FN(min)(NULL, 2, zeros, 1, &out));
    CHECK(out == 0 && signbit(out));
    OK(FN(max)(NULL, 2, zeros, 1, &out));
    CHECK(out == 0 && !signbit(out));
    OK(FN(argmin)(NULL, 2, zeros, 1, &index));
    CHECK(index == 0);
}

static void LOCAL(special)(void)
{
    T out = -1;
    const T few[4] = {1, 2, 3, 4}, huge = sizeof(T) == 4 ? (T)1e30 : (T)1e300;
    OK(FN(prod)(NULL, 4, few, 1, &out));
    CHECK(out == 24);
    OK(FN(var)(NULL, 4, few, 1, 0, &out));
    CHECK(out == (T)1.25);
    OK(FN(var)(NULL, 4, few, 1, 1, &out));
    CHECK(out == (T)5 / (T)3);
    const T spread[4] = {-3, 3, 3, -3};
    OK(FN(std)(NULL, 4, spread, 1, 0, &out));
    CHECK(out == 3);
    /* The mean of these rounds, which a sum of squares alone would show. */
    const T far = sizeof(T) == 4 ? (T)16777216 : (T)9007199254740992, apart[3] = {far, far, far + 4};
    OK(FN(var)(NULL, 3, apart, 1, 0, &out));
    CHECK(LOCAL(near)(out, 32.0 / 9, 4));
    OK(FN(std)(NULL, 3, apart, 1, 0, &out));
    CHECK(LOCAL(near)(out, sqrt(32.0 / 9), 4));

    const T big[2] = {3 * huge, -4 * huge}, tiny[2] = {3 / huge / 1000, 4 / huge / 1000};
    OK(FN(nrm2)(NULL, 2, big, 1, &out));
    CHECK(LOCAL(near)(out, (double)(5 * huge), 4));
    OK(FN(nrm2)(NULL, 2, tiny, 1, &out));
    CHECK(LOCAL(near)(out, (double)(5 / huge / 1000), 4));

    const T same[8] = {700, 700, 700, 700, 700, 700, 700, 700};
    OK(FN(logsumexp)(NULL, 8, same, 1, &out));
    CHECK(LOCAL(near)(out, 700 + log(8), 2));
    const T infinite[2] = {1, (T)INFINITY};
    OK(FN(logsumexp)(NULL, 2, infinite, 1, &out));
    CHECK(out == (T)INFINITY);
}

static void LOCAL(of_nothing)(void)
{
    T out = -1;
    OK(FN(sum)(NULL, 0, NULL, 1, &out));
    CHECK(out == 0 && !signbit(out));
    out = -1;
    OK(FN(dot)(NULL, 0, NULL, 1, NULL, 1, &out));
    CHECK(out == 0);
    out = -1;
    OK(FN(prod)(NULL, 0, NULL, 1, &out));
    CHECK(out == 1);
    OK(FN(logsumexp)(NULL, 0, NULL, 1, &out));
    CHECK(out == -(T)INFINITY);
}

static void LOCAL(reductions)(void)
{
    T *x = malloc(N * sizeof(T)), *y = malloc(N * sizeof(T));
    if (x != NULL && y != NULL) {
        for (int i = 0; i < N; i++) {
            x[i] = (T)(i % 37 - 17);
            y[i] = (T)(i % 11 - 5);
        }
        LOCAL(sums)(x, y);
        LOCAL(extremes)(x);
        LOCAL(special)();
        LOCAL(of_nothing)();
    }
    free(x);
    free(y);
}

#undef N
