/* WebAssembly: the host provides `put` and calls `test`. The linker puts the stack of 64 KiB below all data,
 * so that an overflow traps. */
__attribute__((import_module("host"), import_name("put"))) void put(int c);

static void machine_put(char c)
{
    put(c);
}

__attribute__((export_name("test"))) int test(void);

int test(void)
{
    return bare_main();
}
