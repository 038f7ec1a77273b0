/* The operations for one element type: T, with SUFFIX _f32 or _f64. Included twice by bench.c. */

#define RUN(name, call) \
    static dpt_status LOCAL(name)(const struct operands *o) \
    { \
        return call; \
    }

RUN(run_clamp, FN(clamp)(o->exec, o->n, o->x, (T)-1, (T)1, o->out))
RUN(run_clamp_backward, FN(clamp_backward)(o->exec, o->n, o->x, o->y, (T)-1, (T)1, o->out))
RUN(run_add, FN(add)(o->exec, o->n, o->x, o->y, o->out))
RUN(run_sub, FN(sub)(o->exec, o->n, o->x, o->y, o->out))
RUN(run_mul, FN(mul)(o->exec, o->n, o->x, o->y, o->out))
RUN(run_div, FN(div)(o->exec, o->n, o->x, o->y, o->out))
RUN(run_scale, FN(scale)(o->exec, o->n, (T)1.5, o->x, o->out))
RUN(run_axpy, FN(axpy)(o->exec, o->n, (T)1e-6, o->x, o->out))
RUN(run_square, FN(square)(o->exec, o->n, o->x, o->out))
RUN(run_fill, FN(fill)(o->exec, o->n, (T)1.5, o->out))

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
#define FOLD(op) \
    RUN(run_##op, FN(op)(o->exec, o->n, o->x, 1, o->out)) \
    RUN(rows_##op, ROWS(op)(o->exec, o->m, o->n, o->x, o->n, 1, o->out, 1)) \
    RUN(columns_##op, ROWS(op)(o->exec, o->n, o->m, o->x, 1, o->n, o->out, 1))
FOLD(sum)
FOLD(mean)
FOLD(prod)
FOLD(min)
FOLD(max)
FOLD(sumsq)
FOLD(asum)
FOLD(nrm2)
FOLD(logsumexp)
FOLD(argmin)
FOLD(argmax)
RUN(run_var, FN(var)(o->exec, o->n, o->x, 1, 1, o->out))
RUN(rows_var, ROWS(var)(o->exec, o->m, o->n, o->x, o->n, 1, 1, o->out, 1))
RUN(columns_var, ROWS(var)(o->exec, o->n, o->m, o->x, 1, o->n, 1, o->out, 1))

RUN(run_dot, FN(dot)(o->exec, o->n, o->x, 1, o->y, 1, o->out))
/* The loss goes where random numbers were; the operands stay apart from it. */
RUN(run_mse_grad, FN(mse_grad)(o->exec, o->n, o->x, o->y, o->out, o->z))
RUN(run_lsq_grad, FN(lsq_grad)(o->exec, o->m, o->n, o->x, o->n, 1, o->y, o->z, o->out))

static dpt_status LOCAL(run_lsq_grad_workspace)(const struct operands *o)
{
    size_t size;
    return QUERY(lsq_grad)(o->exec, 1000, 100, &size);
}

#define ENTRY(op, form, shape, arrays) \
    {TEXT(FN(op)), form, shape, sizeof(T), arrays, LOCAL(run_##op)}
#define FOLDS(op, passes) \
    ENTRY(op, "", VECTOR, passes), \
        {TEXT(ROWS(op)), "rows", MATRIX, sizeof(T), passes, LOCAL(rows_##op)}, \
        {TEXT(ROWS(op)), "columns", MATRIX, sizeof(T), passes, LOCAL(columns_##op)}

static const struct entry LOCAL(operations)[] = {
    ENTRY(clamp, "", VECTOR, 2),
    ENTRY(clamp_backward, "", VECTOR, 3),
    ENTRY(add, "", VECTOR, 3),
    ENTRY(sub, "", VECTOR, 3),
    ENTRY(mul, "", VECTOR, 3),
    ENTRY(div, "", VECTOR, 3),
    ENTRY(scale, "", VECTOR, 2),
    ENTRY(axpy, "", VECTOR, 3),
    ENTRY(square, "", VECTOR, 2),
    ENTRY(fill, "", VECTOR, 1),
    ENTRY(outer, "", MATRIX, 1),
    ENTRY(ger, "", MATRIX, 2),
    ENTRY(gemm, "", PRODUCT, 0),
    ENTRY(gemm_batched, "", BATCH, 0),
    ENTRY(gemm_fused, "", PRODUCT, 0),
    {TEXT(QUERY(gemm)), "", CALL, sizeof(T), 0, LOCAL(run_gemm_workspace)},
    FOLDS(sum, 1),
    FOLDS(mean, 1),
    FOLDS(prod, 1),
    FOLDS(min, 1),
    FOLDS(max, 1),
    FOLDS(sumsq, 1),
    FOLDS(asum, 1),
    FOLDS(nrm2, 1),
    FOLDS(logsumexp, 2),
    FOLDS(argmin, 1),
    FOLDS(argmax, 1),
    FOLDS(var, 2),
    ENTRY(dot, "", VECTOR, 2),
    ENTRY(mse_grad, "", VECTOR, 3),
    ENTRY(lsq_grad, "", TALL, 1),
    {TEXT(QUERY(lsq_grad)), "", CALL, sizeof(T), 0, LOCAL(run_lsq_grad_workspace)},
};

#undef RUN
#undef PRODUCT_ARGUMENTS
#undef FOLD
#undef ENTRY
#undef FOLDS
