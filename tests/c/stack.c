/* The calls of bits.h use no more stack than the 64 KiB that the header promises. */
#define _GNU_SOURCE
#include "bits.h"
#include "check.h"
#include <pthread.h>

/* The thread has a larger stack, filled with PAINT, because some systems refuse one of only 64 KiB. */
enum { PROMISED = 64 * 1024, STACK_SIZE = 256 * 1024, PAINT = 0x5a };

/* Aligned to the largest page size, which pthread_attr_setstack may require. */
static unsigned char memory[STACK_SIZE] __attribute__((aligned(64 * 1024)));
static int wrong = -1;

static void *body(void *unused)
{
    static uint64_t got[2][BITS_FAMILIES];
    wrong = bits_run(NULL, got);
    return unused;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    memset(memory, PAINT, sizeof memory);
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstack(&attributes, memory, sizeof memory) == 0);
    const int started = pthread_create(&thread, &attributes, body, NULL) == 0;
    CHECK(started && pthread_join(thread, NULL) == 0);
    CHECK(wrong == 0);
    /* The C library's thread data at the top of the stack count too. */
    int untouched = 0;
    while (untouched < STACK_SIZE && memory[untouched] == PAINT) {
        untouched++;
    }
    CHECK(STACK_SIZE - untouched <= PROMISED);
    printf("stack: %d bytes at level %s\n", STACK_SIZE - untouched, dpt_cpu_level());
    pthread_attr_destroy(&attributes);
    return check_result("stack");
}
