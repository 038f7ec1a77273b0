/* The functions that are no operations. Included by bench.c. */

/* What a call returned must be used for something, or it may be left out. */
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

static dpt_status run_cuda_preload(const struct operands *o)
{
    dpt_status status = dpt_cuda_preload(o->exec);
    return status == DPT_NO_DEVICE ? DPT_OK : status;
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
    /* All three in one turn: a pool of two threads, filled in, ended. */
    ENTRY("dpt_pool_create", "all", run_pool),
    ENTRY("dpt_pool_exec", "all", run_pool),
    ENTRY("dpt_pool_destroy", "all", run_pool),
};

#undef RUN
#undef ENTRY
