/* Template: strided vectors, rows and columns, sub-blocks, transposes. */
enum { LOCAL(SM) = 67, LOCAL(SN) = 133 };
#define M LOCAL(SM)
#define N LOCAL(SN)

/* Fractions whose sums all round, so that a wrong order changes bits. */
static void LOCAL(fractions)(T *x, int64_t n)
{
    uint32_t state = 7;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (T)(state >> 8) / (T)3e6 - (T)2.5;
    }
}

static int LOCAL(same)(const T *a, const T *b, size_t n)
{
    return memcmp(a, b, n * sizeof(T)) == 0;
}

/* Compares a reduction to a TYPE over rows and columns with the vector form. DDOF is the argument before the output, if
 * there is one, with its comma. */
#define ROWS_AS_VECTORS(op, TYPE, DDOF)                                                            \
    do {                                                                                           \
        TYPE rows[M], columns[2 * N], one;                                                         \
        OK(ROWS(op)(NULL, M, N, a, N, 1, DDOF rows, 1));                                           \
        OK(ROWS(op)(NULL, N, M, a, 1, N, DDOF columns + 2 * (N - 1), -2));                         \
        for (int i = 0; i < M; i++) {                                                              \
            OK(FN(op)(NULL, N, a + i * N, 1, DDOF &one));                                          \
            check(memcmp(&one, rows + i, sizeof one) == 0, #op " of a row", __FILE__, __LINE__, ""); \
        }                                                                                          \
        for (int j = 0; j < N; j++) {                                                              \
            OK(FN(op)(NULL, M, a + j, N, DDOF &one));                                              \
            check(memcmp(&one, columns + 2 * (N - 1 - j), sizeof one) == 0, #op " of a column",    \
                  __FILE__, __LINE__, "");                                                         \
        }                                                                                          \
    } while (0);
#define NO_DDOF
#define ONE_DDOF 1,
#define PLAIN(op) ROWS_AS_VECTORS(op, T, NO_DDOF)
#define WITH_DDOF(op) ROWS_AS_VECTORS(op, T, ONE_DDOF)
#define INDEX(op) ROWS_AS_VECTORS(op, int64_t, NO_DDOF)

static void LOCAL(rows)(const T *a)
{
    EACH_PLAIN_REDUCTION(PLAIN)
    EACH_REDUCTION_WITH_DDOF(WITH_DDOF)
    EACH_INDEX_REDUCTION(INDEX)
}

/* Compares a map over the rows and over the columns of a matrix with the map of each alone. */
#define MAP_AS_ROWS(op)                                                                            \
    do {                                                                                           \
        T alone[M * N];                                                                            \
        for (int i = 0; i < M; i++) {                                                              \
            OK(FN(op)(NULL, 1, N, a + i * N, N, 1, alone + i * N, N, 1));                          \
        }                                                                                          \
        OK(FN(op)(NULL, M, N, a, N, 1, c, N, 1));                                                  \
        check(LOCAL(same)(c, alone, M * N), #op " of rows", __FILE__, __LINE__, "");               \
        for (int j = 0; j < N; j++) {                                                              \
            OK(FN(op)(NULL, 1, M, a + j, 0, N, alone + j * M, 0, 1));                              \
        }                                                                                          \
        OK(FN(op)(NULL, N, M, a, 1, N, c, M, 1));                                                  \
        check(LOCAL(same)(c, alone, M * N), #op " of columns", __FILE__, __LINE__, "");            \
        memcpy(c, a, M * N * sizeof(T));                                                           \
        OK(FN(op)(NULL, N, M, c + M * N - 1, -1, -N, c + M * N - 1, -1, -N));                      \
        int wrong = 0;                                                                             \
        T backwards[M], one[M];                                                                    \
        for (int j = 0; j < N; j++) {                                                              \
            for (int i = 0; i < M; i++) {                                                          \
                backwards[i] = a[(M - 1 - i) * N + j];                                             \
            }                                                                                      \
            OK(FN(op)(NULL, 1, M, backwards, 0, 1, one, 0, 1));                                    \
            for (int i = 0; i < M; i++) {                                                          \
                wrong += memcmp(&one[i], &c[(M - 1 - i) * N + j], sizeof(T)) != 0;                 \
            }                                                                                      \
        }                                                                                          \
        check(wrong == 0, #op " of columns in place, backwards", __FILE__, __LINE__, "");          \
    } while (0);

static void LOCAL(maps)(const T *a, T *c)
{
    EACH_ROW_MAP(MAP_AS_ROWS)
}

static void LOCAL(vectors)(const T *a)
{
    T backward[N], plain, strided;
    for (int i = 0; i < N; i++) {
        backward[i] = a[N - 1 - i];
    }
    /* The pointer points to element 0, also with a negative stride. */
    OK(FN(sum)(NULL, N, backward, 1, &plain));
    OK(FN(sum)(NULL, N, a + N - 1, -1, &strided));
    CHECK(LOCAL(same)(&plain, &strided, 1));
    OK(FN(dot)(NULL, N, backward, 1, a, 1, &plain));
    OK(FN(dot)(NULL, N, a + N - 1, -1, a, 1, &strided));
    CHECK(LOCAL(same)(&plain, &strided, 1));
    const T half = (T)0.5;
    OK(FN(sum)(NULL, 1000, &half, 0, &strided));
    CHECK(strided == 500);
}

static void LOCAL(blocks)(const T *a, T *c)
{
    T plain[20 * 30];
    /* The same product into a contiguous matrix, and into a block of a larger one. */
    OK(FN(gemm)(NULL, 20, 30, 40, 1, a, N, 1, a + 50, N, 1, 0, plain, 30, 1));
    OK(FN(fill)(NULL, M * N, -7, c));
    OK(FN(gemm)(NULL, 20, 30, 40, 1, a, N, 1, a + 50, N, 1, 0, c + 3 * N + 5, N, 1));
    int wrong = 0;
    for (int i = 0; i < M * N; i++) {
        const int row = i / N - 3, column = i % N - 5;
        const int inside = row >= 0 && row < 20 && column >= 0 && column < 30;
        wrong += c[i] != (inside ? plain[row * 30 + column] : -7);
    }
    CHECK(wrong == 0);
    /* The transposed product, C^T = B^T A^T, gives the same bits. */
    T transposed[20 * 30];
    OK(FN(gemm)(NULL, 30, 20, 40, 1, a + 50, 1, N, a, 1, N, 0, transposed, 1, 30));
    CHECK(LOCAL(same)(plain, transposed, 20 * 30));
    /* Inputs and output are different blocks of one matrix. */
    memcpy(c, a, M * N * sizeof(T));
    OK(FN(gemm)(NULL, 20, 30, 40, 1, c, N, 1, c + 50, N, 1, 0, c + 100, N, 1));
    for (int i = 0; i < 20; i++) {
        CHECK(LOCAL(same)(c + 100 + i * N, plain + i * 30, 30));
    }
}

static void LOCAL(outers)(const T *a, T *c)
{
    OK(FN(outer)(NULL, 8, 9, a, 2, a + 100, -3, c + 71, -9, -1));
    for (int i = 0; i < 72; i++) {
        CHECK(c[71 - i] == a[i / 9 * 2] * a[100 - i % 9 * 3]);
    }
    T before[72];
    memcpy(before, c, sizeof before);
    OK(FN(ger)(NULL, 8, 9, 0, a, 2, a + 100, 0, c, 1, 8));
    CHECK(LOCAL(same)(before, c, 72));
}

static void LOCAL(strides)(void)
{
    T *a = malloc(M * N * sizeof(T)), *c = malloc(M * N * sizeof(T));
    if (a != NULL && c != NULL) {
        LOCAL(fractions)(a, M * N);
        LOCAL(rows)(a);
        LOCAL(maps)(a, c);
        LOCAL(vectors)(a);
        LOCAL(blocks)(a, c);
        LOCAL(outers)(a, c);
    }
    free(a);
    free(c);
}

#undef ROWS_AS_VECTORS
#undef NO_DDOF
#undef ONE_DDOF
#undef PLAIN
#undef WITH_DDOF
#undef INDEX
#undef MAP_AS_ROWS
#undef M
#undef N
