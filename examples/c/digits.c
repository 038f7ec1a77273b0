/* A two-layer network trained on handwritten digits through the C interface of Diptych.
 *
 *     digits DIGITS.BIN [EPOCHS [THREADS]]
 *
 * It does the same work as `cargo run --release --bin digits` and ends with the same weights, bit
 * for bit: compare the fingerprints. DIGITS.BIN is examples/digits/digits.bin. The environment
 * variable DIPTYCH_CPU_LEVEL chooses the CPU level. With -DDIGITS_F64 it trains in double.
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diptych.h"

#ifdef DIGITS_F64
typedef double real;
#define REAL_NAME "f64"
#define REAL_BYTES 8
#define DPT(op) dpt_##op##_f64
#else
typedef float real;
#define REAL_NAME "f32"
#define REAL_BYTES 4
#define DPT(op) dpt_##op##_f32
#endif

/* The defaults of the Rust program. Override them with -DDIGITS_HIDDEN=... and -DDIGITS_BATCH=... */
#ifndef DIGITS_HIDDEN
#define DIGITS_HIDDEN 128
#endif
#ifndef DIGITS_BATCH
#define DIGITS_BATCH 32
#endif

enum {
    PIXELS = 64,
    CLASSES = 10,
    RECORD = PIXELS + 1,
    PIXEL_MAX = 16,
    HELD_OUT_EVERY = 5,
    HIDDEN = DIGITS_HIDDEN,
    BATCH = DIGITS_BATCH,
    EPOCHS = 50
};

static const double LEARNING_RATE = 0.125;
static const uint64_t SEED = 1;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "digits: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

/* Ends the program if a call of the library has failed. */
static void check(dpt_status status)
{
    if (status != DPT_OK) fail(dpt_status_string(status), dpt_last_error());
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) fail("calloc", "out of memory");
    return memory;
}

static real *reals(size_t count) { return allocate(count, sizeof(real)); }

/* ---- SplitMix64: integer arithmetic, so the same sequence as in Rust ---- */

static uint64_t random_u64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A multiple of 2^-23 in [-1, 1): exact in float. */
static double random_unit(uint64_t *state)
{
    int32_t top = (int32_t)(random_u64(state) >> 40);
    return (double)(top - (1 << 23)) / (double)(1 << 23);
}

static void shuffle(uint64_t *state, int64_t *items, size_t count)
{
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = (size_t)(random_u64(state) % (i + 1));
        int64_t item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

/* ---- Data ---- */

typedef struct {
    int64_t count;
    real *pixels; /* count x PIXELS, values in [0, 1] */
    uint8_t *labels;
} images;

static images images_new(size_t capacity)
{
    images set = {0, reals(capacity * PIXELS), allocate(capacity, 1)};
    return set;
}

static void images_free(images *set)
{
    free(set->pixels);
    free(set->labels);
}

/* One record per image: 64 pixels row by row, then the digit. */
static void load(const char *path, images *train, images *held_out)
{
    const size_t capacity = 1797;
    uint8_t record[RECORD];
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail(path, "cannot be opened");
    *train = images_new(capacity);
    *held_out = images_new(capacity);
    for (size_t index = 0; index < capacity; index++) {
        int is_held_out = index % HELD_OUT_EVERY == HELD_OUT_EVERY - 1;
        images *set = is_held_out ? held_out : train;
        real *pixels = set->pixels + set->count * PIXELS;
        if (fread(record, 1, RECORD, file) != RECORD) fail(path, "ends too early");
        if (record[PIXELS] >= CLASSES) fail(path, "holds a label above 9");
        for (size_t p = 0; p < PIXELS; p++) pixels[p] = (real)record[p] / PIXEL_MAX;
        set->labels[set->count++] = record[PIXELS];
    }
    fclose(file);
}

/* ---- The network: scores = clamp(x w1 + b1, 0, inf) w2 + b2 ---- */

typedef struct {
    real w1[PIXELS * HIDDEN];
    real b1[HIDDEN];
    real w2[HIDDEN * CLASSES];
    real b2[CLASSES];
} parameters;

/* The buffers of a gradient step, allocated once: training allocates nothing. */
typedef struct {
    real x[BATCH * PIXELS];
    real targets[BATCH * CLASSES];
    real z[BATCH * HIDDEN];
    real h[BATCH * HIDDEN];
    real scores[BATCH * CLASSES];
    real d_scores[BATCH * CLASSES];
    real d_z[BATCH * HIDDEN];
    parameters d;
} step_buffers;

/* Uniform in [-s, s), s the largest power of two with s * s * fan_in <= 6. */
static void init_weights(real *w, size_t fan_in, size_t fan_out, uint64_t *state)
{
    double scale = 2.0;
    while (scale * scale * (double)fan_in > 6.0) scale *= 0.5;
    for (size_t i = 0; i < fan_in * fan_out; i++) w[i] = (real)(random_unit(state) * scale);
}

/* The 64-bit FNV-1a hash of w1, b1, w2 and b2, each value in little-endian byte order. */
static uint64_t hash_reals(uint64_t hash, const real *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
#if REAL_BYTES == 8
        uint64_t bits;
#else
        uint32_t bits;
#endif
        memcpy(&bits, &values[i], sizeof(bits));
        for (int byte = 0; byte < REAL_BYTES; byte++) {
            hash = (hash ^ ((bits >> (8 * byte)) & 0xFF)) * UINT64_C(0x100000001B3);
        }
    }
    return hash;
}

static uint64_t fingerprint(const parameters *net)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    hash = hash_reals(hash, net->w1, PIXELS * HIDDEN);
    hash = hash_reals(hash, net->b1, HIDDEN);
    hash = hash_reals(hash, net->w2, HIDDEN * CLASSES);
    return hash_reals(hash, net->b2, CLASSES);
}

/* out = x w + bias, then clamped to 0 .. inf if `rectify` is set. All matrices are row-major. */
static void layer(const dpt_exec *exec, int64_t rows, int64_t inputs, int64_t outputs,
                  const real *x, const real *w, const real *bias, int rectify, real *out)
{
    dpt_epilogue epilogue = {0};
    epilogue.struct_size = sizeof(epilogue);
    epilogue.flags = rectify ? DPT_EPILOGUE_CLAMP : 0;
    epilogue.bias_kind = DPT_BIAS_PER_COLUMN;
    epilogue.bias = bias;
    epilogue.bias_inc = 1;
    epilogue.lo = 0.0;
    epilogue.hi = INFINITY;
    check(DPT(gemm_fused)(exec, rows, outputs, inputs, 1, x, inputs, 1, w, outputs, 1, 0, out,
                          outputs, 1, &epilogue));
}

static void forward(const dpt_exec *exec, const parameters *net, step_buffers *s, int64_t rows)
{
    /* The clamp is a call of its own, not fused, because the backward pass needs z. */
    layer(exec, rows, PIXELS, HIDDEN, s->x, net->w1, net->b1, 0, s->z);
    check(DPT(clamp)(exec, rows * HIDDEN, s->z, 0, INFINITY, s->h));
    layer(exec, rows, HIDDEN, CLASSES, s->h, net->w2, net->b2, 0, s->scores);
}

static void backward(const dpt_exec *exec, const parameters *net, step_buffers *s, int64_t rows)
{
    parameters *d = &s->d;
    /* d_w2 = h' d_scores: to transpose a matrix, exchange its two strides. */
    check(DPT(gemm)(exec, HIDDEN, CLASSES, rows, 1, s->h, 1, HIDDEN, s->d_scores, CLASSES, 1, 0,
                    d->w2, CLASSES, 1));
    check(DPT(sum_rows)(exec, CLASSES, rows, s->d_scores, 1, CLASSES, d->b2, 1));
    /* d_z = d_scores w2' where z >= 0, else 0. */
    check(DPT(gemm)(exec, rows, HIDDEN, CLASSES, 1, s->d_scores, CLASSES, 1, net->w2, 1, CLASSES, 0,
                    s->d_z, HIDDEN, 1));
    check(DPT(clamp_backward)(exec, rows * HIDDEN, s->z, s->d_z, 0, INFINITY, s->d_z));
    /* d_w1 = x' d_z */
    check(DPT(gemm)(exec, PIXELS, HIDDEN, rows, 1, s->x, 1, PIXELS, s->d_z, HIDDEN, 1, 0, d->w1,
                    HIDDEN, 1));
    check(DPT(sum_rows)(exec, HIDDEN, rows, s->d_z, 1, HIDDEN, d->b1, 1));
}

/* Takes one step of gradient descent; returns the squared error before it, summed over the batch. */
static real step(const dpt_exec *exec, parameters *net, step_buffers *s, int64_t rows)
{
    real loss;
    real alpha = (real)(-LEARNING_RATE / (double)rows);
    forward(exec, net, s, rows);
    check(DPT(mse_grad)(exec, rows * CLASSES, s->scores, s->targets, s->d_scores, &loss));
    backward(exec, net, s, rows);
    check(DPT(axpy)(exec, PIXELS * HIDDEN, alpha, s->d.w1, net->w1));
    check(DPT(axpy)(exec, HIDDEN, alpha, s->d.b1, net->b1));
    check(DPT(axpy)(exec, HIDDEN * CLASSES, alpha, s->d.w2, net->w2));
    check(DPT(axpy)(exec, CLASSES, alpha, s->d.b2, net->b2));
    return loss;
}

static void gather(step_buffers *s, const images *set, const int64_t *indices, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++) {
        const real *pixels = set->pixels + indices[row] * PIXELS;
        memcpy(s->x + row * PIXELS, pixels, PIXELS * sizeof(real));
        for (int64_t digit = 0; digit < CLASSES; digit++) {
            s->targets[row * CLASSES + digit] = set->labels[indices[row]] == digit ? 1 : 0;
        }
    }
}

static int64_t count_right(const dpt_exec *exec, const parameters *net, const images *set)
{
    int64_t right = 0;
    real *h = reals((size_t)set->count * HIDDEN);
    real *scores = reals((size_t)set->count * CLASSES);
    int64_t *digits = allocate((size_t)set->count, sizeof(int64_t));
    layer(exec, set->count, PIXELS, HIDDEN, set->pixels, net->w1, net->b1, 1, h);
    layer(exec, set->count, HIDDEN, CLASSES, h, net->w2, net->b2, 0, scores);
    check(DPT(argmax_rows)(exec, set->count, CLASSES, scores, CLASSES, 1, digits, 1));
    for (int64_t i = 0; i < set->count; i++) right += digits[i] == set->labels[i];
    free(h);
    free(scores);
    free(digits);
    return right;
}

static void train(const dpt_exec *exec, const images *set, const images *held_out, long epochs)
{
    uint64_t state = SEED;
    parameters *net = allocate(1, sizeof(*net));
    step_buffers *buffers = allocate(1, sizeof(*buffers));
    int64_t *order = allocate((size_t)set->count, sizeof(int64_t));
    int64_t right;
    for (int64_t i = 0; i < set->count; i++) order[i] = i;
    init_weights(net->w1, PIXELS, HIDDEN, &state);
    init_weights(net->w2, HIDDEN, CLASSES, &state);

    for (long epoch = 1; epoch <= epochs; epoch++) {
        double loss = 0.0;
        shuffle(&state, order, (size_t)set->count);
        for (int64_t first = 0; first < set->count; first += BATCH) {
            int64_t rows = set->count - first < BATCH ? set->count - first : BATCH;
            gather(buffers, set, order + first, rows);
            loss += (double)step(exec, net, buffers, rows);
        }
        if (epoch == 1 || epoch % 10 == 0 || epoch == epochs) {
            printf("epoch %3ld  loss %.4f\n", epoch, loss / (double)set->count);
        }
    }
    right = count_right(exec, net, held_out);
    printf("held-out accuracy %.1f %% (%" PRId64 " of %" PRId64 ")\n",
         100.0 * (double)right / (double)held_out->count, right, held_out->count);
    printf("fingerprint %016" PRIx64 "\n", fingerprint(net));
    free(net);
    free(buffers);
    free(order);
}

static long positive(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < 1 || value > 100000) {
        fail(text, "expected a number from 1 to 100000");
    }
    return value;
}

int main(int argc, char **argv)
{
    dpt_pool *pool = NULL;
    dpt_exec exec = {0};
    images set, held_out;
    long epochs, threads;
    if (argc < 2 || argc > 4) fail("usage", "digits DIGITS.BIN [EPOCHS [THREADS]]");
    epochs = argc > 2 ? positive(argv[2]) : EPOCHS;
    threads = argc > 3 ? positive(argv[3]) : 1;

    exec.struct_size = sizeof(exec);
    exec.device = DPT_DEVICE_CPU;
    if (threads > 1) {
        check(dpt_pool_create((int32_t)threads, &pool));
        check(dpt_pool_exec(pool, &exec));
    }
    load(argv[1], &set, &held_out);
    printf("handwritten digits, " REAL_NAME ", CPU level %s, %ld thread%s\n", dpt_cpu_level(),
           threads, threads == 1 ? "" : "s");
    train(&exec, &set, &held_out, epochs);
    images_free(&set);
    images_free(&held_out);
    dpt_pool_destroy(pool);
    return EXIT_SUCCESS;
}
