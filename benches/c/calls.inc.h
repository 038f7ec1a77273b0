/* The functions that are not operations. Included by bench.c. */

/* Keeps the compiler from removing calls whose result is not used. */
static volatile uintptr_t sink;

#define RUN(name, expression) \
    static dpt_status name(const struct operands *o) \
    { \
        (void)o; \
        sink = (uintptr_t)(expression); \
        return DPT_OK; \
    }

RUN(run_version, dpt_version())
RUN(run_abi_version, dpt_abi_version())
RUN(run_build_info, dpt_build_info())
RUN(run_status_string, dpt_status_string(DPT_OVERLAP))
RUN(run_last_error, dpt_last_error())
RUN(run_cpu_level, dpt_cpu_level())
RUN(run_cuda_available, dpt_cuda_available())

static dpt_status run_force_cpu_level(const struct operands *o)
{
    (void)o;
    return dpt_force_cpu_level(DPT_LEVEL_AUTO);
}

/* Calls that need a device are timed with or without one. */
static dpt_status with_device(dpt_status status)
{
    return status == DPT_NO_DRIVER || status == DPT_NO_DEVICE ? DPT_OK : status;
}

static dpt_status run_cuda_preload(const struct operands *o)
{
    return with_device(dpt_cuda_preload(o->exec));
}

static dpt_status run_cuda_release(const struct operands *o)
{
    return with_device(dpt_cuda_release(o->exec));
}

static dpt_status run_cuda_alloc(const struct operands *o)
{
    void *memory = NULL;
    dpt_status status = dpt_cuda_alloc(64, &memory);
    (void)o;
    return with_device(status == DPT_OK ? dpt_cuda_free(memory) : status);
}

static dpt_status run_cuda_alloc_pinned(const struct operands *o)
{
    void *memory = NULL;
    dpt_status status = dpt_cuda_alloc_pinned(64, &memory);
    (void)o;
    return with_device(status == DPT_OK ? dpt_cuda_free_pinned(memory) : status);
}

static dpt_status run_cuda_synchronize(const struct operands *o)
{
    return with_device(dpt_cuda_synchronize(o->exec));
}

static dpt_status run_copy(const struct operands *o)
{
    static char from[64], to[64];
    return with_device(dpt_copy(o->exec, sizeof to, from, to));
}

static dpt_status run_advise_f32(const struct operands *o)
{
    dpt_advice advice;
    advice.struct_size = sizeof advice;
    return dpt_advise_f32(o->exec, "gemm", 64, 64, 64, DPT_DEVICE_CPU, &advice);
}

static dpt_status run_advise_f64(const struct operands *o)
{
    dpt_advice advice;
    advice.struct_size = sizeof advice;
    return dpt_advise_f64(o->exec, "gemm", 64, 64, 64, DPT_DEVICE_CPU, &advice);
}

static dpt_status run_advise_batched_f32(const struct operands *o)
{
    dpt_advice advice;
    advice.struct_size = sizeof advice;
    return dpt_advise_batched_f32(o->exec, "gemm", 10, 64, 64, 64, DPT_DEVICE_CPU, &advice);
}

static dpt_status run_advise_batched_f64(const struct operands *o)
{
    dpt_advice advice;
    advice.struct_size = sizeof advice;
    return dpt_advise_batched_f64(o->exec, "gemm", 10, 64, 64, 64, DPT_DEVICE_CPU, &advice);
}

static dpt_status run_advise_constants(const struct operands *o)
{
    dpt_advice_constants constants;
    (void)o;
    constants.struct_size = sizeof constants;
    return dpt_advise_constants(&constants);
}

static dpt_status run_advise_measure(const struct operands *o)
{
    return dpt_advise_measure(o->exec);
}

static dpt_status run_pool(const struct operands *o)
{
    dpt_pool *pool;
    dpt_status status = dpt_pool_create(2, &pool);
    (void)o;
    if (status == DPT_OK) {
        dpt_exec exec;
        memset(&exec, 0, sizeof exec);
        exec.struct_size = sizeof exec;
        status = dpt_pool_exec(pool, &exec);
        dpt_pool_destroy(pool);
    }
    return status;
}

#define ENTRY(function, form, run) {function, form, CALL, 1, 0, run}

static const struct entry calls[] = {
    ENTRY("dpt_version", "", run_version),
    ENTRY("dpt_abi_version", "", run_abi_version),
    ENTRY("dpt_build_info", "", run_build_info),
    ENTRY("dpt_status_string", "", run_status_string),
    ENTRY("dpt_last_error", "", run_last_error),
    ENTRY("dpt_cpu_level", "", run_cpu_level),
    ENTRY("dpt_force_cpu_level", "", run_force_cpu_level),
    ENTRY("dpt_cuda_available", "", run_cuda_available),
    ENTRY("dpt_cuda_preload", "", run_cuda_preload),
    ENTRY("dpt_cuda_release", "", run_cuda_release),
    ENTRY("dpt_cuda_alloc", "and free", run_cuda_alloc),
    ENTRY("dpt_cuda_free", "and alloc", run_cuda_alloc),
    ENTRY("dpt_cuda_alloc_pinned", "and free", run_cuda_alloc_pinned),
    ENTRY("dpt_cuda_free_pinned", "and alloc", run_cuda_alloc_pinned),
    ENTRY("dpt_cuda_synchronize", "", run_cuda_synchronize),
    ENTRY("dpt_copy", "64 bytes", run_copy),
    ENTRY("dpt_advise_f32", "", run_advise_f32),
    ENTRY("dpt_advise_f64", "", run_advise_f64),
    ENTRY("dpt_advise_batched_f32", "", run_advise_batched_f32),
    ENTRY("dpt_advise_batched_f64", "", run_advise_batched_f64),
    ENTRY("dpt_advise_constants", "", run_advise_constants),
    ENTRY("dpt_advise_measure", "", run_advise_measure),
    /* Timed together: a pool of two threads is created, written to an exec and destroyed. */
    ENTRY("dpt_pool_create", "all", run_pool),
    ENTRY("dpt_pool_exec", "all", run_pool),
    ENTRY("dpt_pool_destroy", "all", run_pool),
};

#undef RUN
#undef ENTRY
