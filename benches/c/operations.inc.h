/* The operations for one element type: T, with SUFFIX _f32 or _f64. Included twice by bench.c. */

#define RUN(name, call) \
    static dpt_status LOCAL(name)(const struct operands *o) \
    { \
        return call; \
    }

#define RUN_ELEMENTWISE(op, arrays, arguments) RUN(run_##op, FN(op) arguments)
FOR_EACH_ELEMENTWISE(RUN_ELEMENTWISE)

RUN(run_outer, FN(outer)(o->exec, o->m, o->n, o->z, 1, o->y, 1, o->out, o->n, 1))
RUN(run_ger, FN(ger)(o->exec, o->m, o->n, (T)1e-6, o->z, 1, o->y, 1, o->out, o->n, 1))

#define PRODUCT_ARGUMENTS \
    o->exec, o->m, o->n, o->k, (T)1, o->x, o->k, 1, o->y, o->n, 1, (T)0, o->out, o->n, 1
RUN(run_gemm, FN(gemm)(PRODUCT_ARGUMENTS))
RUN(run_gemm_batched, FN(gemm_batched)(PRODUCT_ARGUMENTS, o->batch, o->m * o->k, o->k * o->n,
                                       o->m * o->n))

static dpt_status LOCAL(run_gemm_fused)(const struct operands *o)
{
    dpt_epilogue epilogue;
    memset(&epilogue, 0, sizeof epilogue);
    epilogue.struct_size = sizeof epilogue;
    epilogue.flags = DPT_EPILOGUE_CLAMP;
    epilogue.bias_kind = DPT_BIAS_PER_COLUMN;
    epilogue.bias = o->z;
    epilogue.bias_inc = 1;
    epilogue.hi = 1e30;
    return FN(gemm_fused)(PRODUCT_ARGUMENTS, &epilogue);
}

static dpt_status LOCAL(run_gemm_workspace)(const struct operands *o)
{
    size_t size;
    return QUERY(gemm)(o->exec, 100, 100, 100, &size);
}

/* A vector, the rows of a matrix, and its columns. */
#define RUN_REDUCTION(op, passes) \
    RUN(run_##op, FN(op)(o->exec, o->n, o->x, 1, o->out)) \
    RUN(rows_##op, ROWS(op)(o->exec, o->m, o->n, o->x, o->n, 1, o->out, 1)) \
    RUN(columns_##op, ROWS(op)(o->exec, o->n, o->m, o->x, 1, o->n, o->out, 1))
FOR_EACH_REDUCTION(RUN_REDUCTION)
#define RUN_REDUCTION_WITH_DDOF(op, passes) \
    RUN(run_##op, FN(op)(o->exec, o->n, o->x, 1, 1, o->out)) \
    RUN(rows_##op, ROWS(op)(o->exec, o->m, o->n, o->x, o->n, 1, 1, o->out, 1)) \
    RUN(columns_##op, ROWS(op)(o->exec, o->n, o->m, o->x, 1, o->n, 1, o->out, 1))
FOR_EACH_REDUCTION_WITH_DDOF(RUN_REDUCTION_WITH_DDOF)

/* The rows of a matrix, and its columns. */
#define RUN_ROW_MAP(op, arrays) \
    RUN(run_##op, FN(op)(o->exec, o->m, o->n, o->x, o->n, 1, o->out, o->n, 1)) \
    RUN(columns_##op, FN(op)(o->exec, o->n, o->m, o->x, 1, o->n, o->out, 1, o->n))
FOR_EACH_ROW_MAP(RUN_ROW_MAP)

RUN(run_dot, FN(dot)(o->exec, o->n, o->x, 1, o->y, 1, o->out))
/* The loss is written to z, which does not overlap the other operands. */
RUN(run_mse_grad, FN(mse_grad)(o->exec, o->n, o->x, o->y, o->out, o->z))
RUN(run_lsq_grad, FN(lsq_grad)(o->exec, o->m, o->n, o->x, o->n, 1, o->y, o->z, o->out))

static dpt_status LOCAL(run_lsq_grad_workspace)(const struct operands *o)
{
    size_t size;
    return QUERY(lsq_grad)(o->exec, 1000, 100, &size);
}

#define ENTRY(op, form, shape, arrays) \
    {TEXT(FN(op)), form, shape, sizeof(T), arrays, LOCAL(run_##op)}
#define ELEMENTWISE_ENTRY(op, arrays, arguments) ENTRY(op, "", VECTOR, arrays),
#define REDUCTION_ENTRIES(op, passes) \
    ENTRY(op, "", VECTOR, passes), \
        {TEXT(ROWS(op)), "rows", MATRIX, sizeof(T), passes, LOCAL(rows_##op)}, \
        {TEXT(ROWS(op)), "columns", MATRIX, sizeof(T), passes, LOCAL(columns_##op)},

#define ROW_MAP_ENTRIES(op, arrays) \
    ENTRY(op, "rows", MATRIX, arrays), \
        {TEXT(FN(op)), "columns", MATRIX, sizeof(T), arrays, LOCAL(columns_##op)},

static const struct entry LOCAL(operations)[] = {
    FOR_EACH_ELEMENTWISE(ELEMENTWISE_ENTRY)
    ENTRY(outer, "", MATRIX, 1),
    ENTRY(ger, "", MATRIX, 2),
    ENTRY(gemm, "", PRODUCT, 0),
    ENTRY(gemm_batched, "", BATCH, 0),
    ENTRY(gemm_fused, "", PRODUCT, 0),
    {TEXT(QUERY(gemm)), "", CALL, sizeof(T), 0, LOCAL(run_gemm_workspace)},
    FOR_EACH_REDUCTION(REDUCTION_ENTRIES)
    FOR_EACH_REDUCTION_WITH_DDOF(REDUCTION_ENTRIES)
    FOR_EACH_ROW_MAP(ROW_MAP_ENTRIES)
    ENTRY(dot, "", VECTOR, 2),
    ENTRY(mse_grad, "", VECTOR, 3),
    ENTRY(lsq_grad, "", TALL, 1),
    {TEXT(QUERY(lsq_grad)), "", CALL, sizeof(T), 0, LOCAL(run_lsq_grad_workspace)},
};

#undef RUN
#undef RUN_ELEMENTWISE
#undef RUN_REDUCTION
#undef RUN_REDUCTION_WITH_DDOF
#undef PRODUCT_ARGUMENTS
#undef ENTRY
#undef ELEMENTWISE_ENTRY
#undef REDUCTION_ENTRIES
#undef RUN_ROW_MAP
#undef ROW_MAP_ENTRIES
