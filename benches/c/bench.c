/* Times every function of diptych.h through the library and prints a table. See ../README.md.
 *
 *   bench [--quick] [--only TEXT] [--header PATH]
 *
 * --quick: one small size and short samples, to check that all calls work.
 * --only TEXT: only functions whose name contains TEXT.
 * --header PATH: first check that every function of this header is timed here, those over tensors excepted.
 *
 * DIPTYCH_CPU_LEVEL selects the CPU level.
 */
#define _POSIX_C_SOURCE 200809L

#include <diptych.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The operands of a call. */
struct operands {
    const dpt_exec *exec;
    int64_t m, n, k, batch;
    void *x, *y, *z, *out;
};

/* How the extents are derived from a size. */
enum shape { CALL, VECTOR, MATRIX, TALL, PRODUCT, BATCH };

struct entry {
    const char *function;
    const char *form;
    enum shape shape;
    size_t element;
    /* The number of arrays of this shape that are read or written, for the bytes per second. */
    int arrays;
    dpt_status (*run)(const struct operands *o);
};

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define FN(op) PASTE(PASTE(dpt_, op), SUFFIX)         /* dpt_sum_f32 */
#define ROWS(op) PASTE(PASTE(dpt_##op, _rows), SUFFIX) /* dpt_sum_rows_f32 */
#define QUERY(op) PASTE(FN(op), _workspace)           /* dpt_gemm_f32_workspace */
#define LOCAL(name) PASTE(name, SUFFIX)               /* run_sum_f32 */

#include "table.inc.h"

#define T float
#define SUFFIX _f32
#include "operations.inc.h"
#undef T
#undef SUFFIX
#define T double
#define SUFFIX _f64
#include "operations.inc.h"
#undef T
#undef SUFFIX

#include "calls.inc.h"

/* Operands. */

/* Magnitudes of 0.7 to 1.4 with either sign: sums and products do not overflow or underflow soon. */
static void random_values(void *to, size_t count, size_t element)
{
    uint64_t state = count + 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double value = 0.7 + 0.7 * (double)(state >> 40) / (double)(1 << 24);
        value = state >> 39 & 1 ? value : -value;
        if (element == sizeof(float)) {
            ((float *)to)[i] = (float)value;
        } else if (element == sizeof(double)) {
            ((double *)to)[i] = value;
        }
    }
}

/* Allocates and fills an array that is aligned to a cache line. */
static void *make(size_t count, size_t element)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, count * element + 64) != 0) {
        fprintf(stderr, "bench: out of memory\n");
        exit(2);
    }
    random_values(memory, count, element);
    return memory;
}

/* Returns extents for operands of about `bytes` bytes in total. */
static struct operands extents(const struct entry *entry, size_t bytes)
{
    struct operands o;
    memset(&o, 0, sizeof o);
    o.m = o.n = o.k = o.batch = 1;
    double elements = (double)(bytes / entry->element);
    int64_t edge = (int64_t)sqrt(elements / 3);
    switch (entry->shape) {
    case CALL:
        break;
    case VECTOR:
        o.n = (int64_t)elements / entry->arrays;
        break;
    case MATRIX:
        o.m = o.n = (int64_t)sqrt(elements);
        break;
    case TALL:
        o.n = (int64_t)sqrt(elements / 10);
        o.m = 10 * o.n;
        break;
    case PRODUCT:
        o.m = o.n = o.k = edge;
        break;
    case BATCH:
        o.m = o.n = o.k = 16;
        o.batch = (int64_t)(elements / (3 * 16 * 16));
        break;
    }
    return o;
}

static void fill_operands(struct operands *o, const struct entry *entry, const dpt_exec *exec)
{
    size_t m = (size_t)o->m, n = (size_t)o->n, k = (size_t)o->k, batch = (size_t)o->batch;
    size_t left = (entry->shape >= PRODUCT ? m * k : m * n) * batch;
    size_t right = (entry->shape >= PRODUCT ? k * n : n) * batch;
    size_t element = entry->element;
    o->exec = exec;
    o->x = make(left, element);
    o->y = make(right, element);
    o->z = make(m + n, element);
    /* With room for indices too. */
    o->out = make(m * n * batch + 2 * (m + n), element);
}

static void release_operands(struct operands *o)
{
    free(o->x);
    free(o->y);
    free(o->z);
    free(o->out);
}

/* Timing. */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sample(const struct entry *entry, const struct operands *o, long turns)
{
    double start = seconds_now();
    for (long turn = 0; turn < turns; turn++) {
        dpt_status status = entry->run(o);
        if (status != DPT_OK) {
            fprintf(stderr, "%s: %s: %s\n", entry->function, dpt_status_string(status),
                    dpt_last_error());
            exit(1);
        }
    }
    return (seconds_now() - start) / (double)turns;
}

/* Returns the seconds of one call: the median of samples that each take about `least` seconds. */
static double time_call(const struct entry *entry, const struct operands *o, double least)
{
    enum { SAMPLES = 7 };
    double samples[SAMPLES];
    long turns = 1;
    double once = sample(entry, o, turns);
    while (once * (double)turns < least && turns < 1L << 24) {
        turns *= 2;
        once = sample(entry, o, turns);
    }
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = sample(entry, o, turns);
    }
    qsort(samples, SAMPLES, sizeof samples[0], by_value);
    return samples[SAMPLES / 2];
}

static void measure(const struct entry *entry, const dpt_exec *exec, size_t bytes, double least)
{
    struct operands o = extents(entry, bytes);
    fill_operands(&o, entry, exec);
    double seconds = time_call(entry, &o, least);
    double items = (double)o.m * (double)o.n * (double)o.batch;
    printf("%-30s %-8s ", entry->function, entry->form);
    if (entry->shape == CALL) {
        printf("%18s %12.3f us\n", "", 1e6 * seconds);
    } else if (entry->shape >= PRODUCT) {
        printf("%5lld^3, batch %-5lld %12.3f us %9.2f GFLOP/s\n", (long long)o.k,
               (long long)o.batch, 1e6 * seconds, 2e-9 * items * (double)o.k / seconds);
    } else {
        double moved = items * (double)(entry->element * (size_t)entry->arrays);
        printf("%8lld x %-7lld %12.3f us %9.2f GB/s\n", (long long)o.m, (long long)o.n,
               1e6 * seconds, 1e-9 * moved / seconds);
    }
    fflush(stdout);
    release_operands(&o);
}

/* The header. */

static const struct table {
    const struct entry *entries;
    size_t count;
} tables[] = {
    {operations_f32, sizeof operations_f32 / sizeof operations_f32[0]},
    {operations_f64, sizeof operations_f64 / sizeof operations_f64[0]},
    {calls, sizeof calls / sizeof calls[0]},
};

enum { TABLES = sizeof tables / sizeof tables[0] };

static int is_timed(const char *name, size_t length)
{
    for (size_t t = 0; t < TABLES; t++) {
        for (size_t i = 0; i < tables[t].count; i++) {
            const char *function = tables[t].entries[i].function;
            if (strlen(function) == length && memcmp(function, name, length) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

/* In the header, every name `dpt_...` that is followed by `(` is a function. Those over tensors are left out: contiguous
 * tensors run the kernels that are timed here, and python/bench times the calls. So are the fingerprints, which check. */
static int check_header(const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    FILE *file = fopen(path, "r");
    char line[1024];
    int functions = 0, missing = 0, over_tensors = 0;
    if (file == NULL) {
        perror(path);
        return 1;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "/* ---- ", 8) == 0) {
            over_tensors = strncmp(line + 8, "TENSORS", 7) == 0;
        }
        for (const char *at = line; !over_tensors && (at = strstr(at, "dpt_")) != NULL;) {
            size_t length = strspn(at, letters);
            int checks = strncmp(at, "dpt_fingerprint", 15) == 0;
            if (at[length] == '(' && !checks) {
                functions++;
                if (!is_timed(at, length)) {
                    missing++;
                    fprintf(stderr, "bench does not time %.*s\n", (int)length, at);
                }
            }
            at += length;
        }
    }
    fclose(file);
    if (functions == 0) {
        fprintf(stderr, "%s declares no function\n", path);
        return 1;
    }
    return missing > 0;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 128 << 20};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    size_t size_count = SIZES;
    const char *only = "";
    double least = 5e-3;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            size_count = 1;
            least = 1e-4;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else if (strcmp(argv[i], "--header") == 0 && i + 1 < argc) {
            if (check_header(argv[++i]) != 0) {
                return 1;
            }
        } else {
            fprintf(stderr, "usage: %s [--quick] [--only TEXT] [--header PATH]\n", argv[0]);
            return 2;
        }
    }
    dpt_exec exec;
    memset(&exec, 0, sizeof exec);
    exec.struct_size = sizeof exec;
    exec.device = DPT_DEVICE_CPU;
    printf("%s; level %s\n", dpt_build_info(), dpt_cpu_level());
    for (size_t t = 0; t < TABLES; t++) {
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct entry *entry = &tables[t].entries[i];
            size_t count = entry->shape == CALL ? 1 : size_count;
            if (entry->shape == PRODUCT && count == SIZES) {
                count--; /* The largest product would take minutes on a slow level and show nothing new. */
            }
            for (size_t s = 0; s < count && strstr(entry->function, only) != NULL; s++) {
                measure(entry, &exec, sizes[s], least);
            }
        }
    }
    return 0;
}
