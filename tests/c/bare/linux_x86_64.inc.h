/* An x86-64 Linux process without libc: its own entry point and memory functions, and two system calls. */
#define MACHINE_HAS_STACK

__attribute__((aligned(64))) static volatile uint32_t machine_stack[STACK_WORDS];

static long system_call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

static void machine_put(char c)
{
    system_call(1, 1, (long)&c, 1);
}

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
int bcmp(const void *a, const void *b, size_t n);

/* Without volatile, the compiler would replace each loop by a call of the very function that contains it. */
void *memmove(void *to, const void *from, size_t n)
{
    volatile unsigned char *t = to;
    const unsigned char *f = from;
    if ((size_t)to < (size_t)from) {
        for (size_t i = 0; i < n; i++) {
            t[i] = f[i];
        }
    } else {
        for (size_t i = n; i > 0; i--) {
            t[i - 1] = f[i - 1];
        }
    }
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    return memmove(to, from, n);
}

void *memset(void *to, int value, size_t n)
{
    volatile unsigned char *t = to;
    for (size_t i = 0; i < n; i++) {
        t[i] = (unsigned char)value;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const volatile unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

int bcmp(const void *a, const void *b, size_t n)
{
    return memcmp(a, b, n);
}

static void __attribute__((used, noreturn)) machine_main(void)
{
    const int status = bare_main();
    for (;;) {
        system_call(60, status, 0, 0);
    }
}

/* The program switches to a stack of its own, which is measured; it is painted while the system's is still in use. */
void __attribute__((noreturn, force_align_arg_pointer)) _start(void)
{
    for (int i = 0; i < STACK_WORDS; i++) {
        machine_stack[i] = PAINT;
    }
    __asm__ volatile("mov %0, %%rsp\n\tcall *%1\n\thlt"
                     :
                     : "r"(machine_stack + STACK_WORDS), "r"(machine_main)
                     : "memory");
    __builtin_unreachable();
}
