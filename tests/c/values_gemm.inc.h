/* Template: the matrix products and lsq_grad. */
enum { LOCAL(GM) = 37, LOCAL(GN) = 53, LOCAL(GK) = 301 };
#define M LOCAL(GM)
#define N LOCAL(GN)
#define K LOCAL(GK)

/* The arguments of a product. */
typedef struct LOCAL(product) {
    T alpha, beta;
    int64_t m, n, k, a_rs, a_cs, b_rs, b_cs;
    const T *a, *b;
} LOCAL(product);

static T LOCAL(element)(const LOCAL(product) *p, int64_t i, int64_t j, T before)
{
    T sum = 0;
    for (int64_t q = 0; q < p->k; q++) {
        sum += p->a[i * p->a_rs + q * p->a_cs] * p->b[q * p->b_rs + j * p->b_cs];
    }
    return p->alpha * sum + (p->beta == 0 ? 0 : p->beta * before);
}

/* Runs one product on a C of ones (NaN if beta is 0) and compares with a simple loop. */
static void LOCAL(check_product)(const dpt_exec *exec, const LOCAL(product) *p, T *c)
{
    for (int64_t i = 0; i < p->m * p->n; i++) {
        c[i] = p->beta == 0 ? (T)NAN : 1;
    }
    OK(FN(gemm)(exec, p->m, p->n, p->k, p->alpha, p->a, p->a_rs, p->a_cs, p->b, p->b_rs, p->b_cs,
                p->beta, c, p->n, 1));
    int wrong = 0;
    for (int64_t i = 0; i < p->m * p->n; i++) {
        wrong += c[i] != LOCAL(element)(p, i / p->n, i % p->n, 1);
    }
    CHECK(wrong == 0);
}

static void LOCAL(gemms)(const T *a, const T *b, T *c)
{
    for (int form = 0; form < 8; form++) {
        LOCAL(product) p = {1, 0, M, N, K, K, 1, N, 1, a, b};
        if (form & 1) {
            p.a_rs = 1, p.a_cs = M;
        }
        if (form & 2) {
            p.b_rs = 1, p.b_cs = K;
        }
        if (form & 4) {
            p.alpha = -2, p.beta = 3;
        }
        LOCAL(check_product)(NULL, &p, c);
        p.m = 1;
        LOCAL(check_product)(NULL, &p, c);
        p.m = M, p.n = 1;
        LOCAL(check_product)(NULL, &p, c);
        p.n = N, p.k = 0;
        LOCAL(check_product)(NULL, &p, c);
        p.k = K, p.alpha = 0, p.a = NULL, p.b = NULL;
        OK(FN(gemm)(NULL, M, N, K, 0, p.a, K, 1, p.b, N, 1, p.beta, c, N, 1));
    }
    c[0] = 5;
    OK(FN(gemm)(NULL, 0, N, K, 1, NULL, K, 1, NULL, N, 1, 0, NULL, N, 1));
    CHECK(c[0] == 5);
}

static void LOCAL(with_workspace)(const T *a, const T *b, T *c)
{
    dpt_exec exec = plain_exec();
    size_t size = 0;
    OK(QUERY(gemm)(&exec, M, N, K, &size));
    /* One byte off, because a workspace needs no alignment. */
    char *memory = malloc(size + 1);
    if (memory == NULL) {
        return;
    }
    exec.workspace = memory + 1;
    exec.workspace_size = size;
    LOCAL(product) p = {1, 0, M, N, K, K, 1, N, 1, a, b};
    LOCAL(check_product)(size > 0 ? &exec : NULL, &p, c);
    free(memory);
}

static void LOCAL(batches)(const T *a, const T *b, T *c)
{
    enum { SIDE = 9, BATCH = 5 };
    OK(FN(gemm_batched)(NULL, SIDE, SIDE, SIDE, 1, a, SIDE, 1, b, SIDE, 1, 0, c, SIDE, 1, BATCH,
                        SIDE * SIDE, 0, SIDE * SIDE));
    for (int q = 0; q < BATCH; q++) {
        LOCAL(product) p = {1, 0, SIDE, SIDE, SIDE, SIDE, 1, SIDE, 1, a + q * SIDE * SIDE, b};
        int wrong = 0;
        for (int i = 0; i < SIDE * SIDE; i++) {
            wrong += c[q * SIDE * SIDE + i] != LOCAL(element)(&p, i / SIDE, i % SIDE, 0);
        }
        CHECK(wrong == 0);
    }
    OK(FN(gemm_batched)(NULL, SIDE, SIDE, SIDE, 1, NULL, SIDE, 1, NULL, SIDE, 1, 0, NULL, SIDE, 1, 0,
                        0, 0, 0));
}

static void LOCAL(epilogues)(const T *a, const T *b, T *c)
{
    const LOCAL(product) p = {1, 0, M, N, K, K, 1, N, 1, a, b};
    T bias[64];
    for (int i = 0; i < 64; i++) {
        bias[i] = (T)(i - 20);
    }
    for (int kind = DPT_BIAS_NONE; kind <= DPT_BIAS_PER_COLUMN; kind++) {
        for (int clamp = 0; clamp < 2; clamp++) {
            dpt_epilogue epilogue = {sizeof epilogue, 0, kind, bias, 1, -10.0, 20.0};
            epilogue.flags = clamp ? DPT_EPILOGUE_CLAMP : 0;
            OK(FN(gemm_fused)(NULL, M, N, K, 1, a, K, 1, b, N, 1, 0, c, N, 1, &epilogue));
            int wrong = 0;
            for (int i = 0; i < M * N; i++) {
                T v = LOCAL(element)(&p, i / N, i % N, 0);
                v += kind == DPT_BIAS_NONE ? 0 : bias[kind == DPT_BIAS_PER_ROW ? i / N : i % N];
                wrong += c[i] != (!clamp ? v : v < -10 ? -10 : v > 20 ? 20 : v);
            }
            CHECK(wrong == 0);
        }
    }
}

static void LOCAL(least_squares)(const T *a, const T *b)
{
    T x[N], y[K], grad[N], r[K];
    for (int j = 0; j < N; j++) {
        x[j] = (T)(j % 3 - 1);
    }
    for (int i = 0; i < K; i++) {
        y[i] = b[i];
        r[i] = -y[i];
        for (int j = 0; j < N; j++) {
            r[i] += a[i * N + j] * x[j];
        }
    }
    dpt_exec exec = plain_exec();
    size_t size = 0;
    OK(QUERY(lsq_grad)(&exec, K, N, &size));
    exec.workspace = malloc(size + 1);
    exec.workspace_size = exec.workspace == NULL ? 0 : size;
    for (int own = 0; own < 2; own++) {
        OK(FN(lsq_grad)(own ? NULL : &exec, K, N, a, N, 1, x, y, grad));
        for (int j = 0; j < N; j++) {
            T sum = 0;
            for (int i = 0; i < K; i++) {
                sum += a[i * N + j] * r[i];
            }
            CHECK(grad[j] == 2 * sum);
        }
    }
    free(exec.workspace);
    OK(FN(lsq_grad)(NULL, 0, N, NULL, N, 1, x, NULL, grad));
    CHECK(grad[0] == 0 && !signbit(grad[0]));
}

static void LOCAL(products)(void)
{
    T *a = malloc(M * K * sizeof(T)), *b = malloc(K * N * sizeof(T)), *c = malloc(M * N * sizeof(T));
    if (a != NULL && b != NULL && c != NULL) {
        for (int i = 0; i < M * K; i++) {
            a[i] = (T)(i % 7 - 3);
        }
        for (int i = 0; i < K * N; i++) {
            b[i] = (T)(i % 5 - 2);
        }
        LOCAL(gemms)(a, b, c);
        LOCAL(with_workspace)(a, b, c);
        LOCAL(batches)(a, b, c);
        LOCAL(epilogues)(a, b, c);
        LOCAL(least_squares)(b, a);
    }
    free(a);
    free(b);
    free(c);
}

#undef M
#undef N
#undef K
