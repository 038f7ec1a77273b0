/* Template: every routine under one kind of names. See blas.c for what is defined before. */
#include "../dtype.h"

#define NAME_(name, kind, suffix) name##_##kind##suffix
#define NAME__(name, kind, suffix) NAME_(name, kind, suffix)
#define OF(name) NAME__(name, KIND, SUFFIX)

extern void FORTRAN(gemm)(const char *, const char *, const INT *, const INT *, const INT *,
                          const T *, const T *, const INT *, const T *, const INT *, const T *,
                          T *, const INT *);
extern void CBLAS(gemm)(int, int, int, INT, INT, INT, T, const T *, INT, const T *, INT, T, T *, INT);
extern void FORTRAN(syrk)(const char *, const char *, const INT *, const INT *, const T *,
                          const T *, const INT *, const T *, T *, const INT *);
extern void CBLAS(syrk)(int, int, int, INT, INT, T, const T *, INT, T, T *, INT);
extern void FORTRAN(gemv)(const char *, const INT *, const INT *, const T *, const T *, const INT *,
                          const T *, const INT *, const T *, T *, const INT *);
extern void CBLAS(gemv)(int, int, INT, INT, T, const T *, INT, const T *, INT, T, T *, INT);
extern void FORTRAN(ger)(const INT *, const INT *, const T *, const T *, const INT *, const T *,
                         const INT *, T *, const INT *);
extern void CBLAS(ger)(int, INT, INT, T, const T *, INT, const T *, INT, T *, INT);
extern T FORTRAN(dot)(const INT *, const T *, const INT *, const T *, const INT *);
extern T CBLAS(dot)(INT, const T *, INT, const T *, INT);
extern T FORTRAN(nrm2)(const INT *, const T *, const INT *);
extern T CBLAS(nrm2)(INT, const T *, INT);
extern T FORTRAN(asum)(const INT *, const T *, const INT *);
extern T CBLAS(asum)(INT, const T *, INT);
extern void FORTRAN(axpy)(const INT *, const T *, const T *, const INT *, T *, const INT *);
extern void CBLAS(axpy)(INT, T, const T *, INT, T *, INT);
extern void FORTRAN(scal)(const INT *, const T *, T *, const INT *);
extern void CBLAS(scal)(INT, T, T *, INT);
extern void FORTRAN(copy)(const INT *, const T *, const INT *, T *, const INT *);
extern void CBLAS(copy)(INT, const T *, INT, T *, INT);
extern void FORTRAN(swap)(const INT *, T *, const INT *, T *, const INT *);
extern void CBLAS(swap)(INT, T *, INT, T *, INT);
extern INT IAMAX(const INT *, const T *, const INT *);
extern size_t CBLAS_IAMAX(INT, const T *, INT);

enum { OF(SIZE) = 140 * 320 };
static T OF(a)[OF(SIZE)], OF(b)[OF(SIZE)], OF(c)[OF(SIZE)], OF(ours)[OF(SIZE)], OF(right)[OF(SIZE)];
#define A OF(a)
#define B OF(b)
#define C OF(c)
#define OURS OF(ours)
#define RIGHT OF(right)

/* Fills the output with fractions, or with NaN, which must not be read where beta is 0. */
static void OF(reset)(T beta)
{
    for (int i = 0; i < OF(SIZE); i++) {
        OURS[i] = RIGHT[i] = beta == 0 ? (T)NAN : C[i];
    }
}

static int OF(same)(void)
{
    return memcmp(OURS, RIGHT, sizeof OURS) == 0;
}

#define SAME(what) check(OF(same)(), what, __FILE__, __LINE__, "")

static const T OF(scalars)[3] = {0, 1, (T)-0.7};

/* One product in each layout, with leading dimensions that are larger than they must be. */
static void OF(product)(INT m, INT n, INT k, int ta, int tb, T alpha, T beta)
{
    for (int rows = 0; rows < 2; rows++) {
        INT lda = ((ta > 0) == (rows > 0) ? m : k) + 3, ldb = ((tb > 0) == (rows > 0) ? k : n) + 2;
        INT ldc = (rows ? n : m) + 1;
        int64_t ars = (ta > 0) == (rows > 0) ? 1 : lda, acs = lda + 1 - ars;
        int64_t brs = (tb > 0) == (rows > 0) ? 1 : ldb, bcs = ldb + 1 - brs;
        int64_t crs = rows ? ldc : 1, ccs = rows ? 1 : ldc;
        OF(reset)(beta);
        OK(FN(gemm)(NULL, m, n, k, alpha, A, ars, acs, B, brs, bcs, beta, RIGHT, crs, ccs));
        CBLAS(gemm)(rows ? ROW_MAJOR : COLUMN_MAJOR, OPS[ta], OPS[tb], m, n, k, alpha, A, lda, B,
                    ldb, beta, OURS, ldc);
        SAME("cblas gemm");
        if (!rows) {
            OF(reset)(beta);
            OK(FN(gemm)(NULL, m, n, k, alpha, A, ars, acs, B, brs, bcs, beta, RIGHT, crs, ccs));
            FORTRAN(gemm)(&LETTERS[ta], &LETTERS[tb], &m, &n, &k, &alpha, A, &lda, B, &ldb, &beta,
                          OURS, &ldc);
            SAME("gemm");
        }
    }
}

static void OF(products)(void)
{
    static const INT sizes[][3] = {{1, 1, 1}, {1, 7, 300}, {7, 1, 5}, {5, 6, 0}, {0, 3, 2},
                                   {17, 33, 270}, {70, 65, 64}, {130, 40, 120}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int i = 0; i < 81; i += is_slow() ? 7 : 1) {
            OF(product)(sizes[s][0], sizes[s][1], sizes[s][2], i % 3, i / 3 % 3,
                        OF(scalars)[i / 9 % 3], OF(scalars)[i / 27]);
        }
    }
}

/* The triangle of a whole product, and nothing else. */
static void OF(triangle)(INT n, INT k, int trans, int lower, T alpha, T beta)
{
    for (int rows = 0; rows < 2; rows++) {
        int by_rows = (trans > 0) == (rows > 0);
        INT lda = (by_rows ? n : k) + 2, ldc = n + 1;
        int64_t rs = by_rows ? 1 : lda, cs = lda + 1 - rs;
        int64_t crs = rows ? ldc : 1, ccs = rows ? 1 : ldc;
        OF(reset)(beta);
        OK(FN(gemm)(NULL, n, n, k, alpha, A, rs, cs, A, cs, rs, beta, RIGHT, crs, ccs));
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                if (lower ? j > i : j < i) {
                    RIGHT[i * crs + j * ccs] = OURS[i * crs + j * ccs];
                }
            }
        }
        CBLAS(syrk)(rows ? ROW_MAJOR : COLUMN_MAJOR, lower ? LOWER : UPPER, OPS[trans], n, k, alpha,
                    A, lda, beta, OURS, ldc);
        SAME("cblas syrk");
        if (!rows) {
            for (int64_t i = 0; i < OF(SIZE); i++) {
                OURS[i] = beta == 0 ? (T)NAN : C[i];
            }
            FORTRAN(syrk)(lower ? "l" : "U", &LETTERS[trans], &n, &k, &alpha, A, &lda, &beta, OURS,
                          &ldc);
            SAME("syrk");
        }
    }
}

static void OF(triangles)(void)
{
    static const INT sizes[][2] = {{0, 3}, {1, 300}, {2, 5}, {64, 33}, {65, 270}, {66, 0}, {129, 40}, {137, 300}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int i = 0; i < 54; i += is_slow() ? 5 : 1) {
            OF(triangle)(sizes[s][0], sizes[s][1], i % 3, i / 3 % 2, OF(scalars)[i / 6 % 3],
                         OF(scalars)[i / 18]);
        }
    }
}

/* The address of element 0 of a vector. */
#define FIRST(x, n, inc) ((inc) < 0 ? (x) + (1 - (n)) * (inc) : (x))

static void OF(matrix_and_vector)(INT m, INT n, INT incx, INT incy, int i)
{
    T alpha = OF(scalars)[i % 3], beta = OF(scalars)[i / 3 % 3];
    int trans = i / 9 % 3, rows = i / 27;
    INT lda = (rows ? n : m) + 3, outputs = trans ? n : m, inputs = trans ? m : n;
    int64_t ars = (trans > 0) == (rows > 0) ? 1 : lda, acs = lda + 1 - ars;
    if (m > 0 && n > 0) {
        OF(reset)(beta);
        OK(FN(gemm)(NULL, outputs, 1, inputs, alpha, A, ars, acs, FIRST(B, inputs, incx), incx, 1,
                    beta, FIRST(RIGHT, outputs, incy), incy, 1));
    } else {
        OF(reset)(1);
    }
    CBLAS(gemv)(rows ? ROW_MAJOR : COLUMN_MAJOR, OPS[trans], m, n, alpha, A, lda, B, incx, beta,
                OURS, incy);
    SAME("cblas gemv");
    if (!rows) {
        for (int64_t j = 0; j < OF(SIZE); j++) {
            OURS[j] = beta == 0 && m > 0 && n > 0 ? (T)NAN : C[j];
        }
        FORTRAN(gemv)(&LETTERS[trans], &m, &n, &alpha, A, &lda, B, &incx, &beta, OURS, &incy);
        SAME("gemv");
    }
    if (trans == 0) {
        OF(reset)(1);
        const T *x = FIRST(A, m, incx), *y = FIRST(B, n, incy);
        if (alpha != 0 && rows) {
            OK(FN(ger)(NULL, m, n, alpha, x, incx, y, incy, RIGHT, lda, 1));
        } else if (alpha != 0) {
            OK(FN(ger)(NULL, n, m, alpha, y, incy, x, incx, RIGHT, lda, 1));
        }
        if (rows || i % 2) {
            CBLAS(ger)(rows ? ROW_MAJOR : COLUMN_MAJOR, m, n, alpha, A, incx, B, incy, OURS, lda);
        } else {
            FORTRAN(ger)(&m, &n, &alpha, A, &incx, B, &incy, OURS, &lda);
        }
        SAME("ger");
    }
}

static void OF(matrices_and_vectors)(void)
{
    static const INT sizes[][2] = {{1, 1}, {1, 9}, {9, 1}, {0, 4}, {4, 0}, {33, 130}, {130, 300}};
    static const INT incs[] = {1, 2, -1, -3};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int i = 0; i < 54 * 16; i += is_slow() ? 7 : 1) {
            OF(matrix_and_vector)(sizes[s][0], sizes[s][1], incs[i / 54 % 4], incs[i / 216], i % 54);
        }
    }
}

static void OF(vectors_of)(INT n, INT incx, INT incy)
{
    const T *x = FIRST(A, n, incx), *y = FIRST(B, n, incy), alpha = (T)0.37;
    T dot, norm, sum;
    OK(FN(dot)(NULL, n, x, incx, y, incy, &dot));
    OK(FN(nrm2)(NULL, n, x, incx, &norm));
    OK(FN(asum)(NULL, n, x, incx, &sum));
    sum = incx > 0 ? sum : 0;
    T got = CBLAS(dot)(n, A, incx, B, incy), again = FORTRAN(dot)(&n, A, &incx, B, &incy);
    CHECK(memcmp(&got, &dot, sizeof dot) == 0 && memcmp(&again, &dot, sizeof dot) == 0);
    got = CBLAS(nrm2)(n, A, incx), again = FORTRAN(nrm2)(&n, A, &incx);
    CHECK(memcmp(&got, &norm, sizeof dot) == 0 && memcmp(&again, &norm, sizeof dot) == 0);
    got = CBLAS(asum)(n, A, incx), again = FORTRAN(asum)(&n, A, &incx);
    CHECK(memcmp(&got, &sum, sizeof dot) == 0 && memcmp(&again, &sum, sizeof dot) == 0);

    INT at = incx > 0 && n > 0;
    for (INT i = 0; at > 0 && i < n; i++) {
        at = fabs((double)A[i * incx]) > fabs((double)A[(at - 1) * incx]) ? i + 1 : at;
    }
    CHECK(IAMAX(&n, A, &incx) == at);
    CHECK(CBLAS_IAMAX(n, A, incx) == (size_t)(at > 0 ? at - 1 : 0));

    for (int fortran = 0; fortran < 2; fortran++) {
        OF(reset)(1);
        T *out = FIRST(RIGHT, n, incy);
        for (INT i = 0; i < n; i++) {
            OK(FN(axpy)(NULL, 1, alpha, x + i * incx, out + i * incy));
        }
        fortran ? FORTRAN(axpy)(&n, &alpha, A, &incx, OURS, &incy)
                : CBLAS(axpy)(n, alpha, A, incx, OURS, incy);
        SAME("axpy");
        for (INT i = 0; i < n && incx > 0; i++) {
            RIGHT[i * incx] *= alpha;
        }
        fortran ? FORTRAN(scal)(&n, &alpha, OURS, &incx) : CBLAS(scal)(n, alpha, OURS, incx);
        SAME("scal");
        for (INT i = 0; i < n; i++) {
            out[i * incy] = x[i * incx];
        }
        fortran ? FORTRAN(copy)(&n, A, &incx, OURS, &incy) : CBLAS(copy)(n, A, incx, OURS, incy);
        SAME("copy");
        T *from = FIRST(C, n, incx), *to = FIRST(OURS, n, incy);
        for (INT i = 0; i < n; i++) {
            out[i * incy] = from[i * incx];
        }
        fortran ? FORTRAN(swap)(&n, C, &incx, OURS, &incy) : CBLAS(swap)(n, C, incx, OURS, incy);
        SAME("swap");
        for (INT i = 0; i < n; i++) {
            T value = to[i * incy];
            to[i * incy] = from[i * incx], from[i * incx] = value;
        }
    }
}

static void OF(vectors)(void)
{
    static const INT lengths[] = {0, 1, 3, 33, 257, 600, 14000}, incs[] = {1, 2, -1, -3};
    for (int i = 0; i < 7 * 16; i++) {
        OF(vectors_of)(lengths[i / 16], incs[i % 4], incs[i / 4 % 4]);
    }
    T special[] = {-1, (T)NAN, 3, -3, (T)INFINITY, (T)-INFINITY};
    CHECK(CBLAS_IAMAX(4, special, 1) == 2 && CBLAS_IAMAX(6, special, 1) == 4);
    CHECK(CBLAS_IAMAX(5, special + 1, 1) == 0);
    CHECK(CBLAS_IAMAX(-1, special, 1) == 0 && CBLAS(dot)(-1, NULL, 1, NULL, 1) == 0);
    T x[3] = {1, 2, 4}, y = 1;
    CBLAS(axpy)(3, 1, x, 1, &y, 0);
    CHECK(y == 8);
    CBLAS(scal)(3, 0, x, 0);
    CBLAS(scal)(3, 0, x, -1);
    CHECK(x[0] == 1 && CBLAS(asum)(3, x, 0) == 0 && CBLAS(dot)(3, x, 1, x + 1, 0) == 14);
    CBLAS(copy)(3, &y, 0, x, 1);
    CHECK(x[2] == 8);
}

/* Outputs that overlap inputs, and arrays that are not aligned: as if the inputs had been copied first. */
static void OF(odd_arrays)(void)
{
    enum { M = 37, N = 70 };
    OF(reset)(1);
    OK(FN(gemm)(NULL, N, N, N, 1, C, N, 1, C, N, 1, 1, RIGHT, N, 1));
    CBLAS(gemm)(ROW_MAJOR, 111, 111, N, N, N, 1, OURS, N, OURS, N, 1, OURS, N);
    SAME("gemm in place");
    OF(reset)(1);
    OK(FN(gemm)(NULL, N, 1, N, 1, A, N, 1, C, 1, 1, 0, RIGHT, 1, 1));
    CBLAS(gemv)(ROW_MAJOR, 111, N, N, 1, A, N, OURS, 1, 0, OURS, 1);
    SAME("gemv in place");
    OF(reset)(1);
    OK(FN(ger)(NULL, M, N, 2, C, 1, C, 1, RIGHT, N, 1));
    CBLAS(ger)(ROW_MAJOR, M, N, 2, OURS, 1, OURS, 1, OURS, N);
    SAME("ger in place");

    char *odd = (char *)OURS + 1;
    T *x = (T *)(void *)odd, got = 0, right = 0;
    memcpy(odd, A, M * sizeof(T));
    got = CBLAS(dot)(M, x, 1, B, 1);
    OK(FN(dot)(NULL, M, A, 1, B, 1, &right));
    CHECK(memcmp(&got, &right, sizeof got) == 0);
    memcpy(RIGHT, B, M * sizeof(T));
    OK(FN(axpy)(NULL, M, 3, A, RIGHT));
    memcpy(odd, B, M * sizeof(T));
    CBLAS(axpy)(M, 3, A, 1, x, 1);
    CHECK(memcmp(odd, RIGHT, M * sizeof(T)) == 0);
}

/* Vectors that share elements, at any distance: as if x had been copied first. */
static void OF(overlapping_vectors)(void)
{
    static const INT lengths[] = {1, 5, 300}, incs[] = {1, 2, -1, -2};
    const T alpha = (T)0.37;
    for (int i = 0; i < 3 * 16 * 6; i++) {
        INT n = lengths[i / 96], incx = incs[i % 4], incy = incs[i / 4 % 4], shift = i / 16 % 3;
        INT xs = i / 48 % 2 ? shift : 0, ys = shift - xs;
        const T *x = FIRST(C + xs, n, incx);
        T *out = FIRST(RIGHT + ys, n, incy);
        OF(reset)(1);
        for (INT j = 0; j < n; j++) {
            out[j * incy] = x[j * incx];
        }
        CBLAS(copy)(n, OURS + xs, incx, OURS + ys, incy);
        SAME("copy within an array");
        OF(reset)(1);
        for (INT j = 0; j < n; j++) {
            OK(FN(axpy)(NULL, 1, alpha, x + j * incx, out + j * incy));
        }
        CBLAS(axpy)(n, alpha, OURS + xs, incx, OURS + ys, incy);
        SAME("axpy within an array");
    }
}

/* An argument that is not allowed: Fortran's number of it is reported, and nothing is written. */
#ifdef CBLAS_XERBLA
#define REPORTED(fortran, small, argument, rows) \
    CHECK(is_reported("cblas_" SMALL small, (argument) + 1) && row_major == (rows) && OF(same)())
#else
#define REPORTED(fortran, small, argument, rows) \
    CHECK(is_reported(LETTER fortran, argument) && OF(same)())
#endif

static void OF(errors)(void)
{
    OF(reset)(1);
    const INT bad = -1, zero = 0, one = 1, two = 2;
    const T *x = A, alpha = 1;
    T *y = OURS;
#define GEMM(transa, transb, m, n, k, lda, ldb, ldc, argument)                                     \
    FORTRAN(gemm)(transa, transb, m, n, k, &alpha, x, lda, x, ldb, &alpha, y, ldc);                \
    CHECK(is_reported(LETTER "GEMM ", argument) && OF(same)())
    GEMM("x", "n", &two, &two, &two, &two, &two, &two, 1);
    GEMM("N", "/", &bad, &two, &two, &two, &two, &two, 2);
    GEMM("N", "C", &bad, &bad, &two, &two, &two, &two, 3);
    GEMM("t", "N", &two, &bad, &two, &two, &two, &two, 4);
    GEMM("N", "N", &two, &two, &bad, &two, &two, &two, 5);
    GEMM("N", "N", &two, &two, &two, &one, &two, &two, 8);
    GEMM("N", "T", &two, &two, &one, &two, &one, &two, 10);
    GEMM("N", "N", &two, &two, &two, &two, &two, &one, 13);
    GEMM("N", "N", &zero, &zero, &zero, &zero, &one, &one, 8);
    FORTRAN(gemv)("q", &two, &two, &alpha, x, &two, x, &one, &alpha, y, &one);
    CHECK(is_reported(LETTER "GEMV ", 1));
    FORTRAN(gemv)("N", &two, &two, &alpha, x, &two, x, &zero, &alpha, y, &one);
    CHECK(is_reported(LETTER "GEMV ", 8));
    FORTRAN(ger)(&two, &two, &alpha, x, &one, x, &zero, y, &two);
    CHECK(is_reported(LETTER "GER  ", 7));
    FORTRAN(syrk)("U", "N", &two, &two, &alpha, x, &two, &alpha, y, &one);
    CHECK(is_reported(LETTER "SYRK ", 10) && OF(same)());

    CBLAS(gemm)(100, 111, 111, 2, 2, 2, 1, x, 2, x, 2, 1, y, 2);
    REPORTED("GEMM ", "gemm", 0, 0);
    CBLAS(gemm)(ROW_MAJOR, 111, 0, 2, 2, 2, 1, x, 2, x, 2, 1, y, 2);
    REPORTED("GEMM ", "gemm", 2, 1);
    /* By rows A and B are exchanged, and so are the numbers. */
    CBLAS(gemm)(ROW_MAJOR, 111, 111, -1, 2, 2, 1, x, 2, x, 2, 1, y, 2);
    REPORTED("GEMM ", "gemm", 4, 1);
    CBLAS(gemm)(ROW_MAJOR, 111, 111, 1, 2, 3, 1, x, 2, x, 2, 1, y, 2);
    REPORTED("GEMM ", "gemm", 10, 1);
    CBLAS(gemm)(COLUMN_MAJOR, 111, 111, 2, 2, 2, 1, x, 1, x, 2, 1, y, 2);
    REPORTED("GEMM ", "gemm", 8, 0);
    CBLAS(syrk)(ROW_MAJOR, 0, 111, 2, 2, 1, x, 2, 1, y, 2);
    REPORTED("SYRK ", "syrk", 1, 1);
    CBLAS(gemv)(COLUMN_MAJOR, 111, 2, 2, 1, x, 2, x, 1, 1, y, 0);
    REPORTED("GEMV ", "gemv", 11, 0);
    CBLAS(ger)(ROW_MAJOR, 2, 3, 1, x, 1, x, 1, y, 2);
    REPORTED("GER  ", "ger", 9, 1);
    CBLAS(ger)(7, 2, 3, 1, x, 1, x, 1, y, 2);
    REPORTED("GER  ", "ger", 0, 0);

    /* Nothing to do: nothing is read, and nothing reported. */
    CBLAS(gemm)(ROW_MAJOR, 111, 111, 0, 5, 5, 1, NULL, 5, NULL, 5, 0, NULL, 5);
    CBLAS(syrk)(ROW_MAJOR, UPPER, 111, 0, 5, 1, NULL, 5, 0, NULL, 1);
    CBLAS(gemv)(ROW_MAJOR, 111, 5, 0, 1, NULL, 5, NULL, 1, 0, y, 1);
    CBLAS(ger)(ROW_MAJOR, 5, 5, 0, NULL, 1, NULL, 1, y, 5);
    CBLAS(axpy)(5, 0, NULL, 1, y, 1);
    CBLAS(swap)(0, NULL, 1, NULL, 1);
    CBLAS(copy)(-3, NULL, 1, NULL, 1);
    CHECK(reported[0] == 0 && OF(same)());
    /* Sizes whose product overflows, and arrays that are not there. */
    INT huge = sizeof(INT) == 8 ? (INT)(INT64_MAX / 4) : (INT)(INT32_MAX / 4);
    CBLAS(gemm)(COLUMN_MAJOR, 111, 111, huge, huge, 1, 1, NULL, huge, NULL, 1, 1, NULL, huge);
    CHECK(reported[0] != 0 && OF(same)());
    CBLAS(syrk)(COLUMN_MAJOR, UPPER, 111, 200, 1, 1, NULL, 200, 1, y, 200);
    REPORTED("SYRK ", "syrk", 6, 0);
    CBLAS(syrk)(COLUMN_MAJOR, UPPER, 111, 200, 1, 1, x, 200, 1, NULL, 200);
    REPORTED("SYRK ", "syrk", 9, 0);
    huge = sizeof(INT) == 8 ? (INT)INT64_MAX : (INT)INT32_MAX;
    if (sizeof(INT) == 8) {
        CBLAS(syrk)(COLUMN_MAJOR, UPPER, 111, huge, 1, 1, x, huge, 1, y, huge);
        REPORTED("SYRK ", "syrk", 9, 0);
    }
    CBLAS(gemv)(COLUMN_MAJOR, 112, 2, 2, 1, x, 2, NULL, 1, 1, y, 1);
    REPORTED("GEMV ", "gemv", 7, 0);
}

static void OF(all)(void)
{
    uint32_t state = 7;
    for (int i = 0; i < 3 * OF(SIZE); i++) {
        state = state * 1664525u + 1013904223u;
        T *to = i % 3 == 0 ? A : i % 3 == 1 ? B : C;
        to[i / 3] = (T)(state >> 8) / (T)3e6 - (T)2.5;
    }
    OF(products)();
    OF(triangles)();
    OF(matrices_and_vectors)();
    OF(vectors)();
    OF(odd_arrays)();
    OF(overlapping_vectors)();
    OF(errors)();
}

#undef A
#undef B
#undef C
#undef OURS
#undef RIGHT
#undef KIND
#undef FORTRAN
#undef CBLAS
#undef IAMAX
#undef CBLAS_IAMAX
#undef REPORTED
#undef GEMM
