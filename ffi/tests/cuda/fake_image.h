/* The code that the libcuda without a GPU loads: PTX, or a cubin, of which it reads the headers. */
#ifndef FAKE_IMAGE_H
#define FAKE_IMAGE_H

#include "fake_state.h"
#include <elf.h>

/* Whether the device runs a cubin: of its major compute capability, and of no higher minor one. The older version of the
 * format has the architecture in the lowest byte of the flags, the newer in the second. */
static int runs(const Elf64_Ehdr *cubin)
{
    const unsigned flags = cubin->e_flags, architecture = (cubin->e_ident[EI_ABIVERSION] < 8 ? flags : flags >> 8) & 255;
    return (int)architecture / 10 == major && (int)architecture % 10 <= minor;
}
/* The greatest block of a kernel, from its section of attributes: a format, a number and a value or a size each. */
static unsigned greatest_block(const char *at, size_t bytes)
{
    enum { SIZED = 4, MAX_THREADS = 5, HEAD = 4 };
    const char *const end = at + bytes;
    while (at < end) {
        const unsigned payload = at[0] == SIZED ? (unsigned char)at[2] | (unsigned)(unsigned char)at[3] << 8 : 0;
        if (at[0] == SIZED && at[1] == MAX_THREADS) {
            unsigned threads;
            memcpy(&threads, at + HEAD, sizeof threads);
            return threads;
        }
        at += HEAD + payload;
    }
    return 1024;
}
/* What PTX says of the kernel of a cubin. */
static char *as_text(const Elf64_Ehdr *cubin)
{
    const char *start = (const char *)cubin, *kernel = "";
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(start + cubin->e_shoff);
    const char *names = start + sections[cubin->e_shstrndx].sh_offset;
    unsigned threads = 0;
    for (unsigned i = 0; i < cubin->e_shnum; i++) {
        const char *name = names + sections[i].sh_name;
        if (strncmp(name, ".text.", strlen(".text.")) == 0) {
            kernel = name + strlen(".text.");
        } else if (strncmp(name, ".nv.info.", strlen(".nv.info.")) == 0) {
            threads = greatest_block(start + sections[i].sh_offset, sections[i].sh_size);
        }
    }
    char text[160];
    snprintf(text, sizeof text, ".entry %s( .maxntid %u", kernel, threads);
    return strdup(text);
}
/* Takes PTX or a cubin that the device runs: the text of PTX, or what it would say. */
static Result take_image(const void *image, char **text)
{
    const int is_cubin = memcmp(image, ELFMAG, SELFMAG) == 0;
    if (is_cubin ? cubin_refusal || !runs(image)
                 : !strstr(image, ".target sm_75") && !(major == 9 && strstr(image, ".target sm_90"))) {
        return is_cubin && cubin_refusal ? cubin_refusal : NO_BINARY;
    }
    *text = is_cubin ? as_text(image) : strdup(image);
    pthread_mutex_lock(&lock);
    note(is_cubin ? "code:cubin" : "code:ptx");
    pthread_mutex_unlock(&lock);
    return OK;
}

#endif
