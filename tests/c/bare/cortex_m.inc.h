/* An Arm Cortex-M4 with an FPU, under a debugger or an emulator that answers semihosting calls (Arm,
 * "Semihosting for AArch32 and AArch64"). The memory map is in cortex_m.ld. */
#define MACHINE_HAS_STACK

extern volatile uint32_t machine_stack[STACK_WORDS];

static void semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void machine_put(char c)
{
    enum { WRITE_CHARACTER = 3 };
    semihosting(WRITE_CHARACTER, &c);
}

static void __attribute__((noreturn)) machine_exit(int status)
{
    enum { EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };
    const uint32_t reason[2] = {APPLICATION_EXIT, (uint32_t)status};
    for (;;) {
        semihosting(EXIT_EXTENDED, reason);
    }
}

static void __attribute__((noreturn)) fault(void)
{
    machine_exit(99);
}

static void __attribute__((noreturn, noinline)) machine_main(void)
{
    machine_exit(bare_main());
}

void reset(void);

void __attribute__((noreturn, naked)) reset(void)
{
    /* CPACR: enable the FPU. Then paint the whole stack, which is still empty. */
    __asm__ volatile("ldr r0, =0xe000ed88\n\tldr r1, [r0]\n\torr r1, r1, #0xf00000\n\tstr r1, [r0]\n\t"
                     "dsb\n\tisb\n\t"
                     "ldr r0, =machine_stack\n\tmov r1, sp\n\tldr r2, =%c0\n"
                     "1:\tstr r2, [r0], #4\n\tcmp r0, r1\n\tblo 1b\n\t"
                     "bl %c1\n\t.ltorg"
                     :
                     : "i"(PAINT), "i"(machine_main));
}

/* The initial stack pointer, and the handlers up to that of the system tick. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    (const void *)(machine_stack + STACK_WORDS), (const void *)reset, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault, (const void *)fault,
};
