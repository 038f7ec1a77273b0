/* A libcuda without a GPU, for tests: device memory is host memory, launches call a function of the test,
 * every call is recorded, and each function can be made to fail. It refuses what the driver refuses of what can be told
 * without a GPU. Only what libdiptych uses is here. */
#include "fake_image.h"

/* The functions of the driver. */
Result cuInit(unsigned flags)
{
    CALL pthread_atfork(NULL, NULL, in_child);
    if (getenv("CUDA_FORCE_PTX_JIT")) {
        fake_refuse_cubins(NO_BINARY);
    }
    return flags == 0 ? (devices > 0 ? OK : NO_DEVICE) : INVALID_VALUE;
}
Result cuDriverGetVersion(int *out)
{
    CALL *out = version;
    return OK;
}
Result cuDeviceGetCount(int *count)
{
    CALL *count = devices;
    return OK;
}
Result cuDeviceGet(int *device, int ordinal)
{
    CALL *device = ordinal;
    return OK;
}
Result cuDeviceGetName(char *name, int room, int device)
{
    CALL snprintf(name, (size_t)room, "fake %d", device);
    return OK;
}
Result cuDeviceGetAttribute(int *value, int attribute, int device)
{
    CALL(void) device;
    *value = attribute == 16 ? 4 : attribute == 75 ? major : attribute == 76 ? minor : 166912;
    return OK;
}
Result cuDevicePrimaryCtxRetain(Handle *context, int device)
{
    CALL primaries[device]++;
    *context = &primaries[device];
    return OK;
}
Result cuDevicePrimaryCtxRelease_v2(int device)
{
    CALL return primaries[device]-- > 0 ? OK : INVALID_CONTEXT;
}
Result cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    CALL *flags = 0;
    *active = primaries[device] > 0;
    return OK;
}
Result cuCtxGetCurrent(Handle *context)
{
    CALL *context = current;
    return OK;
}
Result cuCtxSetCurrent(Handle context)
{
    CALL current = context;
    return OK;
}
Result cuCtxGetDevice(int *device)
{
    IN_CONTEXT *device = current == &primaries[1];
    return OK;
}
Result cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, int *options, void **values)
{
    UNSAFE(void) count, (void)options, (void)values;
    char *text;
    if ((code = take_image(image, &text)) != OK) {
        return code;
    }
    Object *made = make(MODULE);
    made->text = text;
    *module = made;
    return OK;
}
Result cuModuleUnload(Handle module)
{
    IN_CONTEXT if (!is(module, MODULE))
    {
        return INVALID_HANDLE;
    }
    free(((Object *)module)->text);
    ((Object *)module)->type = NONE;
    return OK;
}
Result cuModuleGetFunction(Handle *function, Handle module, const char *name)
{
    CALL if (!is(module, MODULE))
    {
        return INVALID_HANDLE;
    }
    const Object *in = module;
    char entry[128];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr(in->text, entry)) {
        return NOT_FOUND;
    }
    snprintf(entry, sizeof entry, "kernel:%s", name);
    pthread_mutex_lock(&lock);
    note(entry);
    pthread_mutex_unlock(&lock);
    Object *made = make(FUNCTION);
    made->context = in->context;
    made->text = strdup(name);
    const char *threads = strstr(in->text, ".maxntid ");
    made->threads = threads ? (unsigned)strtoul(threads + strlen(".maxntid "), NULL, 10) : 1024;
    *function = made;
    return OK;
}
Result cuLaunchKernel(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, Handle stream, void **arguments, void **extra)
{
    ON_STREAM const unsigned shape[] = {gx, gy, gz, bx, shared};
    const Object *kernel = function;
    if (!is(function, FUNCTION) || kernel->context != current) {
        return INVALID_HANDLE;
    }
    if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || !bx || by != 1 || bz != 1 || extra) {
        return INVALID_VALUE;
    }
    if (bx > kernel->threads || shared > SHARED_BYTES) {
        return INVALID_VALUE;
    }
    if (launch) {
        launch(kernel->text, shape, stream, arguments);
    }
    return OK;
}
Result cuStreamCreate(Handle *stream, unsigned flags)
{
    IN_CONTEXT(void) flags;
    *stream = make(STREAM);
    return OK;
}
Result cuStreamDestroy_v2(Handle stream)
{
    CALL if (!is(stream, STREAM))
    {
        return INVALID_HANDLE;
    }
    ((Object *)stream)->type = NONE;
    return OK;
}
Result cuStreamSynchronize(Handle stream)
{
    UNSAFE return stream_state(stream);
}
#ifndef FAKE_TOO_OLD
Result cuStreamIsCapturing(Handle stream, int *status)
{
    IN_CONTEXT if ((code = stream_state(stream)) == INVALID_HANDLE || code == CAPTURE_IMPLICIT)
    {
        return code;
    }
    *status = capturing == 1 ? 1 + invalidated : 0;
    return OK;
}
#endif
Result cuThreadExchangeStreamCaptureMode(int *mode)
{
    CALL const int was = relaxed ? 2 : 0;
    relaxed = *mode == 2;
    *mode = was;
    return OK;
}
Result cuEventCreate(Handle *event, unsigned flags)
{
    IN_CONTEXT(void) flags;
    *event = make(EVENT);
    return OK;
}
Result cuEventDestroy_v2(Handle event)
{
    CALL if (!is(event, EVENT))
    {
        return INVALID_HANDLE;
    }
    ((Object *)event)->type = NONE;
    return OK;
}
Result cuEventRecord(Handle event, Handle stream)
{
    ON_STREAM if (!is(event, EVENT) || ((Object *)event)->context != current)
    {
        return INVALID_HANDLE;
    }
    ((Object *)event)->recorded = 1;
    return OK;
}
Result cuEventSynchronize(Handle event)
{
    UNSAFE return is(event, EVENT) ? OK : INVALID_HANDLE;
}
Result cuEventElapsedTime(float *milliseconds, Handle from, Handle to)
{
    IN_CONTEXT *milliseconds = 1;
    const int recorded = is(from, EVENT) && is(to, EVENT) && ((Object *)from)->recorded && ((Object *)to)->recorded;
    return recorded ? OK : INVALID_HANDLE;
}
Result cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    UNSAFE *address = (uint64_t)(uintptr_t)fake_memory(bytes, DEVICE, 0, current, current == &primaries[1]);
    return *address ? OK : OUT_OF_MEMORY;
}
Result cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    UNSAFE(void) flags;
    *address = (uint64_t)(uintptr_t)fake_memory(bytes, DEVICE, 1, current, 0);
    return *address ? OK : OUT_OF_MEMORY;
}
Result cuMemAdvise(uint64_t address, size_t bytes, int advice, int device)
{
    IN_CONTEXT(void) address, (void)bytes, (void)advice, (void)device;
    return OK;
}
Result cuMemFree_v2(uint64_t address)
{
    UNSAFE return release((void *)(uintptr_t)address);
}
Result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    IN_CONTEXT *free_bytes = *total = (size_t)1 << 30;
    return OK;
}
Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    UNSAFE(void) flags;
    *pointer = fake_memory(bytes, HOST, 0, current, 0);
    return *pointer ? OK : OUT_OF_MEMORY;
}
Result cuMemFreeHost(void *pointer)
{
    UNSAFE return release(pointer);
}
Result cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, Handle stream)
{
    ON_STREAM if (!lie_in_one(to, bytes, 1) || !lie_in_one(from, bytes, 1))
    {
        return INVALID_VALUE;
    }
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return OK;
}
Result cuMemsetD32Async(uint64_t address, unsigned value, size_t count, Handle stream)
{
    ON_STREAM if (address % sizeof value || !lie_in_one(address, count * sizeof value, 0))
    {
        return INVALID_VALUE;
    }
    for (size_t i = 0; i < count; i++) {
        ((unsigned *)(uintptr_t)address)[i] = value;
    }
    return OK;
}
Result cuPointerGetAttributes(unsigned count, int *attributes, void **values, uint64_t pointer)
{
    CALL Block found = {0};
    if (!current) {
        return INVALID_CONTEXT;
    }
    if (everything_on_device) {
        found = (Block){.start = (char *)(uintptr_t)pointer, .kind = DEVICE, .managed = 1};
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < block_count; i++) {
        const uint64_t start = (uint64_t)(uintptr_t)blocks[i].start;
        if (start && pointer >= start && pointer < start + blocks[i].bytes) {
            found = blocks[i];
        }
    }
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < count; i++) {
        switch (attributes[i]) {
        case 1: *(Handle *)values[i] = found.context; break;
        case 2: *(unsigned *)values[i] = (unsigned)found.kind; break;
        case 8: *(unsigned *)values[i] = (unsigned)found.managed; break;
        case 9: *(int *)values[i] = found.start ? found.device : -2; break;
        default: return INVALID_VALUE;
        }
    }
    return OK;
}
#ifndef FAKE_OLD
Result cuCtxGetId(Handle context, unsigned long long *id)
{
    CALL *id = (uintptr_t)context / 8 + 1;
    return OK;
}
Result cuFuncLoad(Handle function)
{
    UNSAFE return is(function, FUNCTION) ? OK : INVALID_HANDLE;
}
#endif
