/* An OpenCL layer (OPENCL_LAYERS) under the control of a file that the environment names in DUET_LAYER.
 *
 * First byte of the file: 0 calls pass, 'o' the next call of the function whose name follows fails and the byte becomes 0,
 * 'l' every call fails, 'h' every call hangs for as long as the byte stays. The file is mapped, so asking costs nothing. The last byte becomes 1 when a loader
 * takes the layer. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_layer.h>

#define FILE_BYTES 64

static const cl_icd_dispatch *target;
static cl_icd_dispatch layer;
static char *control;

/* Whether the call of this name fails now. */
static int fails(const char *name) {
    char once = 'o';
    while (__atomic_load_n(control, __ATOMIC_RELAXED) == 'h')
        usleep(1000);
    if (__atomic_load_n(control, __ATOMIC_RELAXED) == 'l')
        return 1;
    return strncmp(control + 1, name, FILE_BYTES - 1) == 0 &&
           __atomic_compare_exchange_n(control, &once, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#define LAYER(name, parameters, arguments) \
    static cl_int CL_API_CALL name##_layer parameters { \
        return fails(#name) ? CL_OUT_OF_RESOURCES : target->name arguments; \
    }

LAYER(clSetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), (a, b, c, d))
LAYER(clWaitForEvents, (cl_uint a, const cl_event *b), (a, b))
LAYER(clGetEventProfilingInfo, (cl_event a, cl_profiling_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))
LAYER(clFlush, (cl_command_queue a), (a))
LAYER(clFinish, (cl_command_queue a), (a))
LAYER(clEnqueueNDRangeKernel,
      (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e, const size_t *f, cl_uint g,
       const cl_event *h, cl_event *i),
      (a, b, c, d, e, f, g, h, i))
LAYER(clEnqueueReadBuffer,
      (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *f, cl_uint g, const cl_event *h, cl_event *i),
      (a, b, c, d, e, f, g, h, i))
LAYER(clEnqueueWriteBuffer,
      (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *f, cl_uint g, const cl_event *h, cl_event *i),
      (a, b, c, d, e, f, g, h, i))
LAYER(clEnqueueCopyBuffer,
      (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, cl_uint g, const cl_event *h, cl_event *i),
      (a, b, c, d, e, f, g, h, i))
LAYER(clEnqueueFillBuffer,
      (cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e, size_t f, cl_uint g, const cl_event *h, cl_event *i),
      (a, b, c, d, e, f, g, h, i))
LAYER(clEnqueueMarkerWithWaitList, (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *d), (a, b, c, d))
LAYER(clEnqueueBarrierWithWaitList, (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *d), (a, b, c, d))

/* The number in this variable of the environment; without it as large as can be. */
static cl_ulong limit(const char *name) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : CL_ULONG_MAX;
}

/* With DUET_LAYER_GPU, every device is a GPU, as daemons that may choose want it. With DUET_LAYER_MEMORY, every device says
 * that it has so many bytes at most. */
static cl_int CL_API_CALL clGetDeviceInfo_layer(cl_device_id a, cl_device_info b, size_t c, void *d, size_t *e) {
    cl_int result = target->clGetDeviceInfo(a, b, c, d, e);
    if (result != CL_SUCCESS || !d)
        return result;
    if (b == CL_DEVICE_TYPE && getenv("DUET_LAYER_GPU"))
        *(cl_device_type *)d = CL_DEVICE_TYPE_GPU;
    if (b == CL_DEVICE_GLOBAL_MEM_SIZE && *(cl_ulong *)d > limit("DUET_LAYER_MEMORY"))
        *(cl_ulong *)d = limit("DUET_LAYER_MEMORY");
    return result;
}

/* With DUET_LAYER_BUFFER, no device has room for more bytes than that in one piece. */
static cl_mem CL_API_CALL clCreateBuffer_layer(cl_context a, cl_mem_flags b, size_t c, void *d, cl_int *e) {
    if (c <= limit("DUET_LAYER_BUFFER"))
        return target->clCreateBuffer(a, b, c, d, e);
    if (e)
        *e = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret) {
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *answer = name == CL_LAYER_API_VERSION ? (const void *)&version : "duet faults";
    size_t bytes = name == CL_LAYER_API_VERSION ? sizeof version : sizeof "duet faults";
    if (value && size >= bytes)
        memcpy(value, answer, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *dispatch, cl_uint *entries_ret,
                                            const cl_icd_dispatch **layer_ret) {
    const char *path = getenv("DUET_LAYER");
    int file = path ? open(path, O_RDWR) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED || entries < sizeof layer / sizeof(void *))
        return CL_INVALID_VALUE;
    control = mapped;
    control[FILE_BYTES - 1] = 1;
    target = dispatch;
    memcpy(&layer, dispatch, sizeof layer);
    layer.clGetDeviceInfo = clGetDeviceInfo_layer;
    layer.clCreateBuffer = clCreateBuffer_layer;
    layer.clSetKernelArg = clSetKernelArg_layer;
    layer.clWaitForEvents = clWaitForEvents_layer;
    layer.clGetEventProfilingInfo = clGetEventProfilingInfo_layer;
    layer.clFlush = clFlush_layer;
    layer.clFinish = clFinish_layer;
    layer.clEnqueueNDRangeKernel = clEnqueueNDRangeKernel_layer;
    layer.clEnqueueReadBuffer = clEnqueueReadBuffer_layer;
    layer.clEnqueueWriteBuffer = clEnqueueWriteBuffer_layer;
    layer.clEnqueueCopyBuffer = clEnqueueCopyBuffer_layer;
    layer.clEnqueueFillBuffer = clEnqueueFillBuffer_layer;
    layer.clEnqueueMarkerWithWaitList = clEnqueueMarkerWithWaitList_layer;
    layer.clEnqueueBarrierWithWaitList = clEnqueueBarrierWithWaitList_layer;
    *entries_ret = sizeof layer / sizeof(void *);
    *layer_ret = &layer;
    return CL_SUCCESS;
}
