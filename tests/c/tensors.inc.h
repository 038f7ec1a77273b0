/* Template: each operation on tensors of 7 x 19 elements, beside the typed function on vectors. */
enum { LOCAL(ROWS) = 7, LOCAL(COLUMNS) = 19, LOCAL(ALL) = 7 * 19 };
#define M LOCAL(ROWS)
#define N LOCAL(COLUMNS)
#define ALL LOCAL(ALL)

static dpt_tensor LOCAL(of)(T *data, int32_t ndim, int64_t *shape, int64_t *strides)
{
    return tensor(data, 2, 8 * sizeof(T), ndim, shape, strides);
}

/* Positive fractions whose sums all round. */
static void LOCAL(numbers)(T *x, int n)
{
    uint32_t state = 7;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (T)(state >> 8) / (T)3e7 + (T)0.125;
    }
}

static void LOCAL(elementwise)(void)
{
    T x[ALL], y[ALL], x_columns[ALL], flat[ALL], out[2 * ALL];
    LOCAL(numbers)(x, ALL);
    LOCAL(numbers)(y, ALL);
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            x_columns[j * M + i] = x[i * N + j];
        }
    }
    T numbers[3] = {0, 1, 2};
    int64_t shape[2] = {M, N}, columns[2] = {1, M}, gaps[2] = {2 * N, 2};
    const dpt_tensor tx = LOCAL(of)(x_columns, 2, shape, columns);
    dpt_tensor ty = LOCAL(of)(y, 2, shape, NULL), tout = LOCAL(of)(out, 2, shape, gaps);
    /* The first element is where data and byte_offset say together. */
    ty.data = y - 3;
    ty.byte_offset = 3 * sizeof(T);
    const dpt_tensor zero = LOCAL(of)(numbers, 0, NULL, NULL);
    const dpt_tensor one = LOCAL(of)(numbers + 1, 0, NULL, NULL);
    const dpt_tensor two = LOCAL(of)(numbers + 2, 0, NULL, NULL);

#define CALL(op, typed, tensors)                                                                   \
    do {                                                                                           \
        LOCAL(numbers)(flat, ALL);                                                                 \
        for (int i = 0; i < ALL; i++) {                                                            \
            out[2 * i] = flat[i];                                                                  \
            out[2 * i + 1] = -7;                                                                   \
        }                                                                                          \
        OK(FN(op)(NULL, ALL, ARGS typed, flat));                                                   \
        OK(dpt_##op(NULL, ARGS tensors, &tout));                                                   \
        int wrong = 0;                                                                             \
        for (int i = 0; i < ALL; i++) {                                                            \
            wrong += memcmp(&out[2 * i], &flat[i], sizeof(T)) != 0 || out[2 * i + 1] != -7;        \
        }                                                                                          \
        check(wrong == 0, #op, __FILE__, __LINE__, "");                                            \
    } while (0);
    EACH_TENSOR_CALL(CALL)
#undef CALL

    /* A NULL bound is none. */
    OK(dpt_clamp(NULL, &tx, NULL, &one, &tout));
    OK(dpt_clamp(NULL, &tx, &zero, NULL, &tout));
    CHECK(out[2 * (ALL - 1)] == x[ALL - 1]);
    /* A bound for each column. */
    T highest[N];
    int64_t row[1] = {N};
    for (int j = 0; j < N; j++) {
        highest[j] = (T)j / 40;
    }
    const dpt_tensor hi = LOCAL(of)(highest, 1, row, NULL);
    OK(dpt_clamp(NULL, &tx, NULL, &hi, &tout));
    int wrong = 0;
    for (int i = 0; i < ALL; i++) {
        const T bound = highest[i % N];
        wrong += out[2 * i] != (x[i] < bound ? x[i] : bound);
    }
    CHECK(wrong == 0);
}

/* Compares a reduction to a TYPE over the middle axis and over all axes with the vector form. DDOF is the argument before
 * the output, if there is one, with its comma. */
#define AXES_AS_VECTORS(op, TYPE, CODE, DDOF)                                                      \
    do {                                                                                           \
        TYPE middle[3 * N], kept[3 * N], one;                                                      \
        const int32_t axis = 1, last = -2;                                                         \
        int64_t columns[2] = {3, N}, with_one[3] = {3, 1, N};                                      \
        dpt_tensor out = tensor(middle, CODE, 8 * sizeof(TYPE), 2, columns, NULL);                 \
        OK(dpt_##op(NULL, &tx, 1, &axis, DDOF &out));                                              \
        out = tensor(kept, CODE, 8 * sizeof(TYPE), 3, with_one, NULL);                             \
        OK(dpt_##op(NULL, &tx, 1, &last, DDOF &out));                                              \
        int wrong = memcmp(middle, kept, sizeof middle) != 0;                                      \
        for (int i = 0; i < 3 * N; i++) {                                                          \
            OK(FN(op)(NULL, M, x + i / N * ALL + i % N, N, DDOF &one));                            \
            wrong += memcmp(&one, middle + i, sizeof one) != 0;                                    \
        }                                                                                          \
        out = tensor(kept, CODE, 8 * sizeof(TYPE), 0, NULL, NULL);                                 \
        OK(dpt_##op(NULL, &tx, -1, NULL, DDOF &out));                                              \
        OK(FN(op)(NULL, 3 * ALL, x, 1, DDOF &one));                                                \
        wrong += memcmp(&one, kept, sizeof one) != 0;                                              \
        check(wrong == 0, #op " over axes", __FILE__, __LINE__, "");                               \
    } while (0);
#define TENSOR_PLAIN(op) AXES_AS_VECTORS(op, T, 2, NO_DDOF)
#define TENSOR_DDOF(op) AXES_AS_VECTORS(op, T, 2, ONE_DDOF)
#define TENSOR_INDEX(op) AXES_AS_VECTORS(op, int64_t, 0, NO_DDOF)

static void LOCAL(reductions)(void)
{
    T x[3 * ALL];
    int64_t shape[3] = {3, M, N};
    LOCAL(numbers)(x, 3 * ALL);
    const dpt_tensor tx = LOCAL(of)(x, 3, shape, NULL);
    EACH_PLAIN_REDUCTION(TENSOR_PLAIN)
    EACH_REDUCTION_WITH_DDOF(TENSOR_DDOF)
    EACH_INDEX_REDUCTION(TENSOR_INDEX)
}

/* Compares a map over the first and the last axis of a tensor with that of each row alone, and in place. */
#define MAP_AS_ROWS(op)                                                                            \
    do {                                                                                           \
        T out[3 * ALL], row[3 * N], want[3 * N];                                                   \
        const int32_t axes[2] = {-1, 0};                                                           \
        dpt_tensor to = LOCAL(of)(out, 3, shape, NULL);                                            \
        OK(dpt_##op(NULL, &tx, 2, axes, &to));                                                     \
        int wrong = 0;                                                                             \
        for (int i = 0; i < M; i++) {                                                              \
            for (int k = 0; k < 3 * N; k++) {                                                      \
                row[k] = x[k / N * ALL + i * N + k % N];                                           \
            }                                                                                      \
            OK(FN(op)(NULL, 1, 3 * N, row, 3 * N, 1, want, 3 * N, 1));                             \
            for (int k = 0; k < 3 * N; k++) {                                                      \
                wrong += memcmp(&want[k], &out[k / N * ALL + i * N + k % N], sizeof(T)) != 0;      \
            }                                                                                      \
        }                                                                                          \
        memcpy(out, x, sizeof out);                                                                \
        OK(dpt_##op(NULL, &to, -1, NULL, &to));                                                    \
        T all[3 * ALL];                                                                            \
        OK(FN(op)(NULL, 1, 3 * ALL, x, 0, 1, all, 0, 1));                                          \
        wrong += memcmp(out, all, sizeof out) != 0;                                                \
        check(wrong == 0, #op " over axes", __FILE__, __LINE__, "");                               \
    } while (0);

static void LOCAL(row_maps)(void)
{
    T x[3 * ALL];
    int64_t shape[3] = {3, M, N};
    LOCAL(numbers)(x, 3 * ALL);
    const dpt_tensor tx = LOCAL(of)(x, 3, shape, NULL);
    EACH_ROW_MAP(MAP_AS_ROWS)
}

/* A batch of products with one B, its transpose stored, and an epilogue. */
static void LOCAL(products)(void)
{
    T a[3 * M * 5], b[N * 5], c[3 * ALL], want[3 * ALL], bias[N];
    LOCAL(numbers)(a, 3 * M * 5);
    LOCAL(numbers)(b, N * 5);
    LOCAL(numbers)(bias, N);
    LOCAL(numbers)(c, 3 * ALL);
    memcpy(want, c, sizeof want);
    int64_t a_shape[3] = {3, M, 5}, b_shape[2] = {5, N}, b_strides[2] = {1, 5}, c_shape[3] = {3, M, N};
    int64_t row[1] = {N};
    const dpt_tensor ta = LOCAL(of)(a, 3, a_shape, NULL), tb = LOCAL(of)(b, 2, b_shape, b_strides);
    const dpt_tensor tbias = LOCAL(of)(bias, 1, row, NULL);
    dpt_tensor tc = LOCAL(of)(c, 3, c_shape, NULL);
    dpt_tensor_epilogue epilogue;
    memset(&epilogue, 0, sizeof epilogue);
    epilogue.struct_size = sizeof epilogue;
    epilogue.flags = DPT_EPILOGUE_CLAMP;
    epilogue.bias = &tbias;
    epilogue.lo = 0;
    epilogue.hi = 1;
    OK(dpt_matmul(NULL, 0.5, &ta, &tb, 2, &tc, &epilogue));
    dpt_epilogue typed;
    memset(&typed, 0, sizeof typed);
    typed.struct_size = sizeof typed;
    typed.flags = DPT_EPILOGUE_CLAMP;
    typed.bias_kind = DPT_BIAS_PER_COLUMN;
    typed.bias = bias;
    typed.bias_inc = 1;
    typed.hi = 1;
    for (int i = 0; i < 3; i++) {
        OK(FN(gemm_fused)(NULL, M, N, 5, (T)0.5, a + i * M * 5, 5, 1, b, 1, 5, 2, want + i * ALL, N,
                          1, &typed));
    }
    CHECK(memcmp(c, want, sizeof want) == 0);
    epilogue.struct_size = 8;
    STATUS(DPT_BAD_STRUCT_SIZE, dpt_matmul(NULL, 1, &ta, &tb, 0, &tc, &epilogue));
    epilogue.struct_size = sizeof epilogue;
    epilogue.flags = 2;
    STATUS(DPT_UNKNOWN_FLAG, dpt_matmul(NULL, 1, &ta, &tb, 0, &tc, &epilogue));
    epilogue.flags = 0;
    epilogue.reserved = 1;
    STATUS(DPT_INVALID_VALUE, dpt_matmul(NULL, 1, &ta, &tb, 0, &tc, &epilogue));
    STATUS(DPT_SHAPE_MISMATCH, dpt_matmul(NULL, 1, &tb, &ta, 0, &tc, NULL));
    CHECK(memcmp(c, want, sizeof want) == 0);

    /* The dot product of each row of each matrix of a with a column of b. */
    T dots[3 * M], one;
    int64_t five[1] = {5}, rows[2] = {3, M};
    const dpt_tensor column = LOCAL(of)(b, 1, five, NULL);
    dpt_tensor tdots = LOCAL(of)(dots, 2, rows, NULL);
    OK(dpt_dot(NULL, &ta, &column, &tdots));
    OK(FN(dot)(NULL, 5, a + (3 * M - 1) * 5, 1, b, 1, &one));
    CHECK(dots[3 * M - 1] == one);
}

static void LOCAL(vectors_and_matrices)(void)
{
    T x[M], y[N], out[ALL], want[ALL];
    int64_t m[1] = {M}, n[1] = {N}, matrix[2] = {M, N}, backward[1] = {-1};
    LOCAL(numbers)(x, M);
    LOCAL(numbers)(y, N);
    const dpt_tensor tx = LOCAL(of)(x + M - 1, 1, m, backward), ty = LOCAL(of)(y, 1, n, NULL);
    dpt_tensor tout = LOCAL(of)(out, 2, matrix, NULL);
    OK(dpt_outer(NULL, &tx, &ty, &tout));
    OK(FN(outer)(NULL, M, N, x + M - 1, -1, y, 1, want, N, 1));
    CHECK(memcmp(out, want, sizeof want) == 0);
    OK(dpt_ger(NULL, 0.5, &tx, &ty, &tout));
    OK(FN(ger)(NULL, M, N, (T)0.5, x + M - 1, -1, y, 1, want, N, 1));
    CHECK(memcmp(out, want, sizeof want) == 0);

    T grad[N], want_grad[N], loss, want_loss, target[M];
    LOCAL(numbers)(target, M);
    dpt_tensor tgrad = LOCAL(of)(grad, 1, n, NULL), ttarget = LOCAL(of)(target, 1, m, NULL);
    OK(dpt_lsq_grad(NULL, &tout, &ty, &ttarget, &tgrad));
    OK(FN(lsq_grad)(NULL, M, N, want, N, 1, y, target, want_grad));
    CHECK(memcmp(grad, want_grad, sizeof grad) == 0);
    dpt_tensor tloss = LOCAL(of)(&loss, 0, NULL, NULL);
    dpt_tensor small = LOCAL(of)(grad, 1, m, NULL);
    OK(dpt_mse_grad(NULL, &tx, &ttarget, &small, &tloss));
    T reversed[M];
    for (int i = 0; i < M; i++) {
        reversed[i] = x[M - 1 - i];
    }
    OK(FN(mse_grad)(NULL, M, reversed, target, want_grad, &want_loss));
    CHECK(memcmp(grad, want_grad, M * sizeof(T)) == 0 && loss == want_loss);

    uint8_t bytes[M] = {0, 1, 2, 127, 128, 254, 255};
    const dpt_tensor tbytes = tensor(bytes, 1, 8, 1, m, NULL);
    OK(dpt_convert(NULL, &tbytes, &small));
    CHECK(grad[2] == 2 && grad[6] == 255);
}

static void LOCAL(tensors)(void)
{
    LOCAL(elementwise)();
    LOCAL(reductions)();
    LOCAL(row_maps)();
    LOCAL(products)();
    LOCAL(vectors_and_matrices)();
}

#undef MAP_AS_ROWS
#undef M
#undef N
#undef ALL
