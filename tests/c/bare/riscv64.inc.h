/* RISC-V on QEMU's machine `virt`, which has a serial port, and a register that ends the emulation. */
#define MACHINE_HAS_STACK

extern volatile uint32_t machine_stack[STACK_WORDS];

static void machine_put(char c)
{
    *(volatile unsigned char *)0x10000000 = (unsigned char)c;
}

static void __attribute__((used, noreturn)) machine_main(void)
{
    enum { PASS = 0x5555, FAIL = 0x3333 };
    for (int i = 0; i < STACK_WORDS - 256; i++) {
        machine_stack[i] = PAINT;
    }
    const int status = bare_main();
    for (;;) {
        *(volatile uint32_t *)0x100000 = status == 0 ? PASS : (uint32_t)status << 16 | FAIL;
    }
}

/* mstatus.FS enables the FPU. A trap writes a failure to the register that ends the emulation. */
__asm__(".section .start, \"ax\"\n"
        ".globl _start\n"
        "_start:\n"
        "    la t0, trapped\n"
        "    csrw mtvec, t0\n"
        "    li t0, 0x6000\n"
        "    csrs mstatus, t0\n"
        "    la sp, machine_stack_top\n"
        "    call machine_main\n"
        ".balign 4\n"
        "trapped:\n"
        "    li t0, 0x100000\n"
        "    li t1, 0x633333\n"
        "    sw t1, 0(t0)\n"
        "    j trapped\n"
        ".text\n");
