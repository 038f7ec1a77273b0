/* Template: every operation with one set of arguments, so that each error is tried with all of them. */
typedef struct LOCAL(arguments) {
    const dpt_exec *exec;
    int64_t n;
    const T *x;    /* the first input */
    const T *y;    /* the second input, if there is one */
    T *out;        /* the output */
    T *loss;       /* the second output of mse_grad */
    int64_t *index; /* the output of argmin and argmax */
    size_t *size;  /* the output of the workspace queries */
} LOCAL(arguments);

/* Reductions of a vector to one element, and of the rows of an n x n matrix. */
#define REDUCE(op)                                                                                 \
    STATUS(expected, FN(op)(g->exec, g->n, g->x, 1, g->out));                                      \
    STATUS(expected, ROWS(op)(g->exec, g->n, g->n, g->x, g->n, 1, g->out, 1));
#define REDUCE_WITH_DDOF(op)                                                                       \
    STATUS(expected, FN(op)(g->exec, g->n, g->x, 1, 0, g->out));                                   \
    STATUS(expected, ROWS(op)(g->exec, g->n, g->n, g->x, g->n, 1, 0, g->out, 1));
#define FIND(op)                                                                                   \
    STATUS(expected, FN(op)(g->exec, g->n, g->x, 1, g->index));                                    \
    STATUS(expected, ROWS(op)(g->exec, g->n, g->n, g->x, g->n, 1, g->index, 1));
#define MAP(op) STATUS(expected, FN(op)(g->exec, g->n, g->n, g->x, g->n, 1, g->out, g->n, 1));
#define CALL(op, ...) STATUS(expected, FN(op)(g->exec, g->n, __VA_ARGS__));

static void LOCAL(reduce_calls)(const LOCAL(arguments) *g, dpt_status expected)
{
    EACH_PLAIN_REDUCTION(REDUCE)
    EACH_REDUCTION_WITH_DDOF(REDUCE_WITH_DDOF)
    STATUS(expected, FN(dot)(g->exec, g->n, g->x, 1, g->y, 1, g->out));
}

static void LOCAL(index_calls)(const LOCAL(arguments) *g, dpt_status expected)
{
    EACH_INDEX_REDUCTION(FIND)
}

/* Calls whose output may be an input: those with one input (axpy reads and writes out), and with two. */
static void LOCAL(unary_calls)(const LOCAL(arguments) *g, dpt_status expected)
{
    EACH_UNARY_CALL(CALL)
    EACH_ROW_MAP(MAP)
}

static void LOCAL(binary_calls)(const LOCAL(arguments) *g, dpt_status expected)
{
    EACH_BINARY_CALL(CALL)
    STATUS(expected, FN(mse_grad)(g->exec, g->n, g->x, g->y, g->out, g->loss));
}

/* The functions on matrices, all n x n. */
static void LOCAL(matrix_calls)(const LOCAL(arguments) *g, dpt_status expected)
{
    const int64_t n = g->n;
    dpt_epilogue epilogue;
    memset(&epilogue, 0, sizeof epilogue);
    epilogue.struct_size = sizeof epilogue;
    STATUS(expected, FN(outer)(g->exec, n, n, g->x, 1, g->y, 1, g->out, n, 1));
    STATUS(expected, FN(ger)(g->exec, n, n, 2, g->x, 1, g->y, 1, g->out, n, 1));
    STATUS(expected, FN(gemm)(g->exec, n, n, n, 1, g->x, n, 1, g->y, n, 1, 0, g->out, n, 1));
    STATUS(expected, FN(gemm_batched)(g->exec, n, n, n, 1, g->x, n, 1, g->y, n, 1, 0, g->out, n, 1, 1,
                                      0, 0, 0));
    STATUS(expected, FN(gemm_fused)(g->exec, n, n, n, 1, g->x, n, 1, g->y, n, 1, 0, g->out, n, 1,
                                    &epilogue));
    STATUS(expected, FN(lsq_grad)(g->exec, n, n, g->x, n, 1, g->y, g->y, g->out));
}

static void LOCAL(query_calls)(const LOCAL(arguments) *g, dpt_status expected)
{
    STATUS(expected, QUERY(gemm)(g->exec, g->n, g->n, g->n, g->size));
    STATUS(expected, QUERY(lsq_grad)(g->exec, g->n, g->n, g->size));
}

static void LOCAL(writing_calls)(const LOCAL(arguments) *g, dpt_status expected)
{
    EACH_WRITING_CALL(CALL)
}

/* All calls that read x: all except those that only write, and the queries. */
static void LOCAL(reading_calls)(const LOCAL(arguments) *g, dpt_status expected)
{
    LOCAL(unary_calls)(g, expected);
    LOCAL(binary_calls)(g, expected);
    LOCAL(matrix_calls)(g, expected);
    LOCAL(reduce_calls)(g, expected);
    LOCAL(index_calls)(g, expected);
}

/* All calls, with valid arguments except exec. */
static void LOCAL(exec_calls)(const dpt_exec *exec, dpt_status expected)
{
    T x[16], y[16], out[16], loss;
    int64_t index[4];
    size_t size;
    for (int i = 0; i < 16; i++) {
        x[i] = y[i] = (T)(i + 1);
        out[i] = -1;
    }
    const LOCAL(arguments) g = {exec, 4, x, y, out, &loss, index, &size};
    LOCAL(reading_calls)(&g, expected);
    LOCAL(query_calls)(&g, expected);
    LOCAL(writing_calls)(&g, expected);
    CHECK((out[0] == -1) == (expected != DPT_OK));
}

#undef REDUCE
#undef REDUCE_WITH_DDOF
#undef FIND
#undef MAP
#undef CALL
