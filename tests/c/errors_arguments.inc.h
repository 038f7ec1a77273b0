/* Template: invalid pointers, sizes, strides, overlaps and values. */
enum { LOCAL(EN) = 4 };
#define N LOCAL(EN)

static void LOCAL(pointers)(LOCAL(arguments) good)
{
    LOCAL(arguments) g = good;
    g.x = NULL;
    LOCAL(reading_calls)(&g, DPT_NULL_POINTER);
    g.x = (const T *)(const void *)((const char *)good.x + 1);
    LOCAL(reading_calls)(&g, DPT_MISALIGNED);
    g = good;
    g.y = NULL;
    LOCAL(binary_calls)(&g, DPT_NULL_POINTER);
    LOCAL(matrix_calls)(&g, DPT_NULL_POINTER);
    STATUS(DPT_NULL_POINTER, FN(dot)(NULL, N, g.x, 1, NULL, 1, g.out));
    g = good;
    g.out = NULL, g.index = NULL, g.size = NULL;
    LOCAL(reading_calls)(&g, DPT_NULL_POINTER);
    LOCAL(query_calls)(&g, DPT_NULL_POINTER);
    LOCAL(writing_calls)(&g, DPT_NULL_POINTER);
    g.out = (T *)(void *)((char *)good.out + 1);
    g.index = (int64_t *)(void *)((char *)good.index + 1);
    g.size = (size_t *)(void *)((char *)good.size + 1);
    LOCAL(reading_calls)(&g, DPT_MISALIGNED);
    LOCAL(query_calls)(&g, DPT_MISALIGNED);
    LOCAL(writing_calls)(&g, DPT_MISALIGNED);
    STATUS(DPT_NULL_POINTER, FN(mse_grad)(NULL, N, good.x, good.y, good.out, NULL));
}

static void LOCAL(sizes)(LOCAL(arguments) good)
{
    LOCAL(arguments) g = good;
    g.n = -1;
    LOCAL(reading_calls)(&g, DPT_NEGATIVE_SIZE);
    LOCAL(query_calls)(&g, DPT_NEGATIVE_SIZE);
    LOCAL(writing_calls)(&g, DPT_NEGATIVE_SIZE);
    g.n = INT64_MAX / 2;
    LOCAL(reading_calls)(&g, DPT_SIZE_OVERFLOW);
    LOCAL(query_calls)(&g, DPT_SIZE_OVERFLOW);
    LOCAL(writing_calls)(&g, DPT_SIZE_OVERFLOW);

    const int64_t big = INT64_C(1) << 40;
    const T *x = good.x, *y = good.y;
    T *out = good.out;
    STATUS(DPT_SIZE_OVERFLOW, FN(sum)(NULL, 2, x, INT64_MAX, out));
    STATUS(DPT_SIZE_OVERFLOW, FN(sum)(NULL, 2, x, INT64_MIN, out));
    STATUS(DPT_SIZE_OVERFLOW, ROWS(sum)(NULL, big, big, x, big, 1, out, 1));
#define TOO_LARGE(op) STATUS(DPT_SIZE_OVERFLOW, FN(op)(NULL, big, big, x, 0, 0, out, big, 1));
    EACH_ROW_MAP(TOO_LARGE)
#undef TOO_LARGE
    STATUS(DPT_SIZE_OVERFLOW, FN(outer)(NULL, big, big, x, 0, y, 0, out, big, 1));
    STATUS(DPT_SIZE_OVERFLOW, FN(gemm)(NULL, big, big, 1, 1, x, 0, 0, y, 0, 0, 0, out, big, 1));
    STATUS(DPT_SIZE_OVERFLOW,
           FN(gemm_batched)(NULL, 2, 2, 2, 1, x, 2, 1, y, 2, 1, 0, out, 2, 1, 2, 0, 0, INT64_MAX));
    STATUS(DPT_NEGATIVE_SIZE,
           FN(gemm_batched)(NULL, 2, 2, 2, 1, x, 2, 1, y, 2, 1, 0, out, 2, 1, -1, 0, 0, 0));
    STATUS(DPT_NEGATIVE_SIZE, ROWS(sum)(NULL, -1, 2, x, 2, 1, out, 1));
    STATUS(DPT_NEGATIVE_SIZE, FN(gemm)(NULL, 2, 2, -1, 1, x, 2, 1, y, 2, 1, 0, out, 2, 1));
}

static void LOCAL(overlaps)(LOCAL(arguments) good)
{
    /* All operands lie in one block: the output in place, one element further, and far enough to be disjoint. */
    T block[3 * N * N + 1];
    int64_t *index = (int64_t *)(void *)block;
    memset(block, 0, sizeof block);
    LOCAL(arguments) g = good;
    g.x = block;
    g.out = block + 1;
    LOCAL(unary_calls)(&g, DPT_OVERLAP);
    LOCAL(binary_calls)(&g, DPT_OVERLAP);
    LOCAL(matrix_calls)(&g, DPT_OVERLAP);
    LOCAL(reduce_calls)(&g, DPT_OVERLAP);
    g.out = block, g.index = (size_t)block % 8 == 0 ? index : (int64_t *)(void *)(block + 1);
    LOCAL(unary_calls)(&g, DPT_OK);
    LOCAL(binary_calls)(&g, DPT_OK);
    LOCAL(matrix_calls)(&g, DPT_OVERLAP);
    LOCAL(reduce_calls)(&g, DPT_OVERLAP);
    LOCAL(index_calls)(&g, DPT_OVERLAP);
    g.out = block + N * N;
    LOCAL(matrix_calls)(&g, DPT_OK);
    g.x = good.x, g.y = block, g.out = block + 1;
    LOCAL(binary_calls)(&g, DPT_OVERLAP);
    LOCAL(matrix_calls)(&g, DPT_OVERLAP);
    STATUS(DPT_OVERLAP, FN(mse_grad)(NULL, N, good.x, good.y, block, block + 1));
    STATUS(DPT_OVERLAP, FN(mse_grad)(NULL, N, block, good.y, good.out, block + 1));
}

/* Outputs with two elements at the same address. */
static void LOCAL(self_overlaps)(LOCAL(arguments) good)
{
    const T *x = good.x, *y = good.y;
    T *out = good.out;
    STATUS(DPT_OVERLAP, FN(outer)(NULL, 2, 2, x, 1, y, 1, out, 0, 1));
    STATUS(DPT_OVERLAP, FN(ger)(NULL, 2, 2, 1, x, 1, y, 1, out, 1, 1));
    STATUS(DPT_OVERLAP, FN(gemm)(NULL, 2, 2, 2, 1, x, 2, 1, y, 2, 1, 0, out, 1, 0));
    STATUS(DPT_OVERLAP,
           FN(gemm_batched)(NULL, 2, 2, 2, 1, x, 2, 1, y, 2, 1, 0, out, 2, 1, 2, 0, 0, 0));
    STATUS(DPT_OVERLAP,
           FN(gemm_batched)(NULL, 2, 2, 2, 1, x, 2, 1, y, 2, 1, 0, out, 2, 1, 2, 0, 0, 3));
#define REPEATED(op)                                                                               \
    STATUS(DPT_OVERLAP, FN(op)(NULL, 2, 2, x, 2, 1, out, 1, 1));                                   \
    STATUS(DPT_OVERLAP, FN(op)(NULL, 2, 2, out, 0, 1, out, 0, 1));                                 \
    STATUS(DPT_OVERLAP, FN(op)(NULL, 2, 2, out, 1, 2, out, 2, 1));                                 \
    OK(FN(op)(NULL, 1, 2, x, 0, 1, out, 0, 1));
    EACH_ROW_MAP(REPEATED)
#undef REPEATED
    STATUS(DPT_OVERLAP, ROWS(sum)(NULL, 2, 2, x, 2, 1, out, 0));
    STATUS(DPT_OVERLAP, ROWS(argmin)(NULL, 2, 2, x, 2, 1, good.index, 0));
    /* The stride of a dimension with one element is ignored. */
    OK(ROWS(sum)(NULL, 1, 2, x, 2, 1, out, 0));
    OK(FN(outer)(NULL, 1, 2, x, 1, y, 1, out, 0, 1));
}

static void LOCAL(values_refused)(LOCAL(arguments) good)
{
    const T *x = good.x;
    T *out = good.out;
    int64_t *index = good.index;
    STATUS(DPT_EMPTY_REDUCTION, FN(mean)(NULL, 0, NULL, 1, out));
    STATUS(DPT_EMPTY_REDUCTION, FN(var)(NULL, 0, NULL, 1, 0, out));
    STATUS(DPT_EMPTY_REDUCTION, FN(min)(NULL, 0, NULL, 1, out));
    STATUS(DPT_EMPTY_REDUCTION, FN(max)(NULL, 0, NULL, 1, out));
    STATUS(DPT_EMPTY_REDUCTION, FN(argmin)(NULL, 0, NULL, 1, index));
    STATUS(DPT_EMPTY_REDUCTION, FN(argmax)(NULL, 0, NULL, 1, index));
    STATUS(DPT_EMPTY_REDUCTION, ROWS(max)(NULL, 2, 0, x, 0, 1, out, 1));
    STATUS(DPT_EMPTY_REDUCTION, ROWS(argmax)(NULL, 2, 0, x, 0, 1, index, 1));
    OK(ROWS(max)(NULL, 0, 0, NULL, 0, 1, NULL, 1));
    OK(ROWS(sum)(NULL, 2, 0, NULL, 0, 1, out, 1));
    STATUS(DPT_INVALID_VALUE, FN(var)(NULL, N, x, 1, -1, out));
    STATUS(DPT_INVALID_VALUE, FN(var)(NULL, N, x, 1, N, out));
    STATUS(DPT_INVALID_VALUE, ROWS(var)(NULL, 2, 2, x, 2, 1, 2, out, 1));
}

static void LOCAL(workspaces)(void)
{
    enum { SIDE = 96 };
    T *a = calloc(SIDE * SIDE, sizeof(T)), *c = calloc(SIDE * SIDE, sizeof(T));
    T x[SIDE] = {0}, grad[SIDE];
    dpt_exec exec = plain_exec();
    size_t size = 0;
    char byte = 0;
    if (a != NULL && c != NULL) {
        OK(QUERY(gemm)(&exec, SIDE, SIDE, SIDE, &size));
        exec.workspace = &byte;
        exec.workspace_size = 1;
        STATUS(size > 1 ? DPT_WORKSPACE_TOO_SMALL : DPT_OK,
               FN(gemm)(&exec, SIDE, SIDE, SIDE, 1, a, SIDE, 1, a, SIDE, 1, 0, c, SIDE, 1));
        OK(QUERY(lsq_grad)(&exec, SIDE, SIDE, &size));
        STATUS(size > 1 ? DPT_WORKSPACE_TOO_SMALL : DPT_OK,
               FN(lsq_grad)(&exec, SIDE, SIDE, a, SIDE, 1, x, x, grad));
        /* A call that needs no workspace ignores it. */
        OK(FN(sum)(&exec, SIDE, x, 1, grad));
    }
    free(a);
    free(c);
}

static void LOCAL(epilogues_refused)(LOCAL(arguments) good)
{
    const T *x = good.x, *y = good.y;
    dpt_epilogue right, e;
    memset(&right, 0, sizeof right);
    right.struct_size = sizeof right;
#define FUSED(epilogue) FN(gemm_fused)(NULL, 2, 2, 2, 1, x, 2, 1, y, 2, 1, 0, good.out, 2, 1, epilogue)
    OK(FUSED(&right));
    STATUS(DPT_NULL_POINTER, FUSED(NULL));
    e = right, e.struct_size = 40;
    STATUS(DPT_BAD_STRUCT_SIZE, FUSED(&e));
    e = right, e.flags = 2;
    STATUS(DPT_UNKNOWN_FLAG, FUSED(&e));
    e = right, e.bias_kind = 3;
    STATUS(DPT_UNKNOWN_ENUM, FUSED(&e));
    e = right, e.bias_kind = DPT_BIAS_PER_ROW;
    STATUS(DPT_NULL_POINTER, FUSED(&e));
    e.bias = (const char *)y + 1;
    STATUS(DPT_MISALIGNED, FUSED(&e));
    e.bias = good.out;
    STATUS(DPT_OVERLAP, FUSED(&e));
    e.bias = y, e.bias_inc = INT64_MAX;
    STATUS(DPT_SIZE_OVERFLOW, FUSED(&e));
#undef FUSED
}

static void LOCAL(arguments_refused)(LOCAL(arguments) good)
{
    LOCAL(pointers)(good);
    LOCAL(sizes)(good);
    LOCAL(overlaps)(good);
    LOCAL(self_overlaps)(good);
    LOCAL(values_refused)(good);
    LOCAL(workspaces)();
    LOCAL(epilogues_refused)(good);
}

static void LOCAL(all_arguments)(void)
{
    T x[N * N + 1], y[N * N + 1], out[N * N + 1], loss;
    int64_t index[N + 1];
    size_t size[2];
    for (int i = 0; i < N * N; i++) {
        x[i] = y[i] = out[i] = 1;
    }
    const LOCAL(arguments) good = {NULL, N, x, y, out, &loss, index, size};
    LOCAL(arguments_refused)(good);
}

#undef N
