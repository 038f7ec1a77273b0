/* Diptych without libc and, on most of these machines, without an operating system: the result bits and the fingerprint
 * at every level, the calls that a library without std refuses, and the stack that it uses. */
#include "../bits.h"

/* Each machine defines `machine_put`, which prints a character, calls `bare_main` and exits with its result. A machine
 * that runs on `machine_stack`, filled with PAINT beforehand, defines MACHINE_HAS_STACK. */
enum { STACK_WORDS = 64 * 1024 / 4, PAINT = 0x5a17c0de };

static int bare_main(void);

#if defined(__x86_64__) && defined(__linux__)
#include "linux_x86_64.inc.h"
#elif defined(__arm__)
#include "cortex_m.inc.h"
#elif defined(__riscv)
#include "riscv64.inc.h"
#elif defined(__wasm__)
#include "wasm.inc.h"
#endif

static void put_text(const char *text)
{
    for (; *text != '\0'; text++) {
        machine_put(*text);
    }
}

static void put_number(uint64_t value, unsigned base, int digits)
{
    char text[24];
    int n = 0;
    do {
        text[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0 || n < digits);
    while (n > 0) {
        machine_put(text[--n]);
    }
}

static int failures;

static void check(int holds, const char *what)
{
    if (!holds) {
        failures++;
        put_text("failed: ");
        put_text(what);
        put_text("\n");
    }
}

static void fingerprint(void)
{
    static unsigned char memory[DPT_FINGERPRINT_WORKSPACE];
    dpt_exec exec = {sizeof exec, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    uint64_t hash = 0, expected = 0;
    const char *name = "";
    exec.workspace = memory;
    exec.workspace_size = sizeof memory;
    check(dpt_fingerprint(&exec, &hash) == DPT_OK, "the fingerprint");
    put_text("fingerprint 0x");
    put_number(hash, 16, 16);
    put_text("\n");
    check(hash == DPT_FINGERPRINT, "the fingerprint's bits");
    for (int32_t i = 0; hash != DPT_FINGERPRINT; i++) {
        if (dpt_fingerprint_op(&exec, i, &name, &hash, &expected) != DPT_OK) {
            break;
        }
        if (hash != expected) {
            put_text(name);
            put_text(" 0x");
            put_number(hash, 16, 16);
            put_text("\n");
        }
    }
}

static void bits_at_every_level(void)
{
    static uint64_t got[2][BITS_FAMILIES];
    for (int32_t level = DPT_LEVEL_PORTABLE; level <= DPT_LEVEL_NEON; level++) {
        if (dpt_force_cpu_level(level) != DPT_OK) {
            continue;
        }
        const int wrong = bits_run((const dpt_exec *)0, got);
        put_text("level ");
        put_text(dpt_cpu_level());
        put_text(wrong > 0 ? ": wrong bits\n" : ": the right bits\n");
        check(wrong == 0, "bits");
        for (int i = 0; i < 2 * BITS_FAMILIES && wrong > 0; i++) {
            put_text(bits_families[i % BITS_FAMILIES]);
            put_text(i < BITS_FAMILIES ? " float 0x" : " double 0x");
            put_number(got[i / BITS_FAMILIES][i % BITS_FAMILIES], 16, 16);
            put_text("\n");
        }
        fingerprint();
    }
}

/* Without std there are no pools and no error texts; all else is as with std. */
static void refusals(void)
{
    double numbers[2] = {1, 2};
    dpt_pool *pool = (dpt_pool *)numbers;
    check(dpt_pool_create(2, &pool) == DPT_UNSUPPORTED && pool == (dpt_pool *)0, "no pool");
    check(dpt_add_f64((const dpt_exec *)0, 1, (const double *)0, numbers, numbers + 1) ==
              DPT_NULL_POINTER, "a pointer is NULL");
    check(dpt_last_error()[0] == '\0', "no text");
    check(dpt_fingerprint((const dpt_exec *)0, (uint64_t *)numbers) == DPT_WORKSPACE_TOO_SMALL, "no memory");
    /* A size beyond the address space, also beyond one of 32 bits. */
    check(dpt_fill_f64((const dpt_exec *)0, INT64_MAX, 1.0, numbers) == DPT_SIZE_OVERFLOW, "a size");
}

#ifdef MACHINE_HAS_STACK
/* Returns the number of words at the low end of the stack, which grows down, that were never written. */
static int untouched(void)
{
    int words = 0;
    while (words < STACK_WORDS && machine_stack[words] == PAINT) {
        words++;
    }
    return words;
}

static void stack(void)
{
    const int bytes = 4 * (STACK_WORDS - untouched());
    put_text("stack: ");
    put_number((uint64_t)bytes, 10, 1);
    put_text(" bytes\n");
    check(bytes < 4 * STACK_WORDS, "the stack that the header promises");
}
#endif

static int bare_main(void)
{
    bits_at_every_level();
    refusals();
#ifdef MACHINE_HAS_STACK
    stack();
#endif
    return failures;
}
