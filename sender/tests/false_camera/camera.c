/* A camera that is not there, preloaded into a program: it answers the V4L2 calls on /dev/video0 as a driver does, and it can fail.

   Settings, from the environment:
     FALSE_DEV        folder that is shown as /dev to who lists that
     FALSE_FILM       pictures, each behind its length (4 bytes, low first), given one after another, round and round
     FALSE_CONTROL    file of 4 kB that is `struct control` below
     FALSE_FORMATS    FourCCs with a comma between; the first is the one that the camera is at
     FALSE_SIZE       160x96; or FALSE_STEPS 32x32-2592x1944/2
     FALSE_INTERVAL   1001/30000; or FALSE_RANGE 1/90-1/1; without either it names none
     FALSE_LEFT_AT    interval that another program has set
     FALSE_ROW        bytes from one row to the next
     FALSE_COLOUR     numbers of colour space, matrix and range
     FALSE_MANUAL     pictures come when `produce` says so, and not by time
     FALSE_CLOCK      "zero" or "future": the time stamps are wrong
     FALSE_META       the device is a camera's other one, which gives no pictures */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BUFFERS = 8, ROOM = 4 << 20 };

/* Written by the test while the program runs. */
struct control {
    uint32_t fail_in;     /* the call that comes as the so many-th fails once; 0: none */
    uint32_t fail_errno;  /* with this */
    uint32_t open_errno;  /* opening fails with this; 0: it does not */
    uint32_t format_errno;/* S_FMT fails with this; 0: it does not */
    uint32_t gone;        /* 1: all calls fail with ENODEV, and there is no device to open */
    uint32_t stalled;     /* 1: no picture comes */
    uint32_t fetch_errno; /* each picture fails with this; 0: none does */
    uint32_t lie;         /* 1: more bytes than memory, 2: a buffer that is not there, 3: the same one again, 4: no bytes */
    uint32_t flag_each;   /* each so many-th picture has the error flag; 0: none */
    uint32_t calls;       /* calls so far */
    uint32_t fail_which;  /* the ioctl that failed last; 1: open, 2: mmap, 3: poll */
    uint32_t produce;     /* with FALSE_MANUAL: pictures to come now, as if one had come each interval until now */
};

static struct control *control;
static struct control nothing;
static uint8_t *film;
static long film_bytes, film_at;
static int camera = -1, started, queue[BUFFERS], queued, filled[BUFFERS], ready;
static uint32_t bytes[BUFFERS], count, number, flags[BUFFERS];
static int64_t due, stamps[BUFFERS];
static uint8_t *memory;
static struct v4l2_pix_format at;
static uint32_t interval[2];

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value ? value : otherwise;
}

static int64_t now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static uint32_t code(const char *text) { return v4l2_fourcc(text[0], text[1], text[2], text[3]); }

static void begin(void) {
    static int begun;
    if (begun) return;
    begun = 1;
    control = &nothing;
    int file = syscall(SYS_open, setting("FALSE_CONTROL", ""), O_RDWR);
    if (file >= 0) {
        void *map = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) control = map;
        syscall(SYS_close, file);
    }
    file = syscall(SYS_open, setting("FALSE_FILM", ""), O_RDONLY);
    if (file >= 0) {
        film_bytes = lseek(file, 0, SEEK_END);
        film = malloc(film_bytes + 1);
        if (pread(file, film, film_bytes, 0) != film_bytes) film_bytes = 0;
        syscall(SYS_close, file);
    }
    at.pixelformat = code(setting("FALSE_FORMATS", "YUYV"));
    at.width = 160, at.height = 96;
    sscanf(setting("FALSE_SIZE", ""), "%ux%u", &at.width, &at.height);
    interval[0] = 1, interval[1] = 30;
    sscanf(setting("FALSE_INTERVAL", ""), "%u/%u", &interval[0], &interval[1]);
    sscanf(setting("FALSE_LEFT_AT", ""), "%u/%u", &interval[0], &interval[1]);
}

/* True if this call is to fail, with errno set. */
static int fails(unsigned long what) {
    begin();
    control->calls++;
    if (control->gone) {
        errno = ENODEV;
        return 1;
    }
    if (control->fail_in && --control->fail_in == 0) {
        control->fail_which = what;
        errno = control->fail_errno;
        return 1;
    }
    return 0;
}

static int refuse(int number) {
    errno = number;
    return -1;
}

/* Lets the time pass: pictures come into the buffers that the program has queued; without one they are lost. */
static void advance(void) {
    int64_t step = 1000000LL * interval[0] / (interval[1] ? interval[1] : 1);
    if (step < 1) step = 1;
    int manual = getenv("FALSE_MANUAL") != NULL;
    if (control->stalled) due = now_us() + step;
    while (started && (manual ? control->produce > 0 : due <= now_us())) {
        if (manual) due = now_us() - --control->produce * step;
        if (queued && film_bytes > 4) {
            int index = queue[0];
            memmove(queue, queue + 1, --queued * sizeof *queue);
            if (film_at + 4 > film_bytes) film_at = 0;
            uint32_t length;
            memcpy(&length, film + film_at, 4);
            if (length > ROOM || film_at + 4 + length > film_bytes) length = 0;
            memcpy(memory + (size_t)index * ROOM, film + film_at + 4, length);
            film_at += 4 + length;
            number++;
            bytes[index] = length, stamps[index] = due;
            flags[index] = control->flag_each && number % control->flag_each == 0 ? V4L2_BUF_FLAG_ERROR : 0;
            filled[ready++] = index;
        }
        if (manual) continue;
        due += step;
        if (now_us() - due > 100 * step) due = now_us();
    }
}

static void shape(struct v4l2_pix_format *format) {
    *format = at;
    format->field = V4L2_FIELD_NONE;
    format->bytesperline = atoi(setting("FALSE_ROW", "0"));
    format->sizeimage = ROOM;
    uint32_t space = 8, matrix = 0, range = 0;
    sscanf(setting("FALSE_COLOUR", ""), "%u %u %u", &space, &matrix, &range);
    format->colorspace = space, format->ycbcr_enc = matrix, format->quantization = range;
}

static int answer(unsigned long request, void *argument) {
    switch (request) {
    case VIDIOC_QUERYCAP: {
        struct v4l2_capability *of = argument;
        memset(of, 0, sizeof *of);
        strcpy((char *)of->driver, "false");
        strcpy((char *)of->card, "False camera");
        of->device_caps = V4L2_CAP_STREAMING | (getenv("FALSE_META") ? V4L2_CAP_META_CAPTURE : V4L2_CAP_VIDEO_CAPTURE);
        of->capabilities = V4L2_CAP_DEVICE_CAPS | V4L2_CAP_STREAMING | V4L2_CAP_VIDEO_CAPTURE;
        return 0;
    }
    case VIDIOC_ENUM_FMT: {
        struct v4l2_fmtdesc *of = argument;
        const char *all = setting("FALSE_FORMATS", "YUYV");
        if (of->index >= (strlen(all) + 1) / 5) return refuse(EINVAL);
        of->pixelformat = code(all + 5 * of->index);
        return 0;
    }
    case VIDIOC_ENUM_FRAMESIZES: {
        struct v4l2_frmsizeenum *of = argument;
        if (of->index) return refuse(EINVAL);
        uint32_t n[5];
        if (sscanf(setting("FALSE_STEPS", ""), "%ux%u-%ux%u/%u", n, n + 1, n + 2, n + 3, n + 4) == 5) {
            of->type = V4L2_FRMSIZE_TYPE_STEPWISE;
            of->stepwise = (struct v4l2_frmsize_stepwise){n[0], n[2], n[4], n[1], n[3], n[4]};
        } else {
            of->type = V4L2_FRMSIZE_TYPE_DISCRETE;
            of->discrete.width = at.width, of->discrete.height = at.height;
        }
        return 0;
    }
    case VIDIOC_ENUM_FRAMEINTERVALS: {
        struct v4l2_frmivalenum *of = argument;
        uint32_t n[4];
        if (of->index) return refuse(EINVAL);
        if (sscanf(setting("FALSE_RANGE", ""), "%u/%u-%u/%u", n, n + 1, n + 2, n + 3) == 4) {
            of->type = V4L2_FRMIVAL_TYPE_CONTINUOUS;
            of->stepwise = (struct v4l2_frmival_stepwise){{n[0], n[1]}, {n[2], n[3]}, {1, 1}};
        } else if (sscanf(setting("FALSE_INTERVAL", ""), "%u/%u", n, n + 1) == 2) {
            of->type = V4L2_FRMIVAL_TYPE_DISCRETE;
            of->discrete.numerator = n[0], of->discrete.denominator = n[1];
        } else return refuse(ENOTTY);
        return 0;
    }
    case VIDIOC_S_FMT: {
        struct v4l2_format *of = argument;
        if (control->format_errno) return refuse(control->format_errno);
        const char *all = setting("FALSE_FORMATS", "YUYV");
        for (size_t at_format = 0; at_format + 4 <= strlen(all); at_format += 5)
            if (code(all + at_format) == of->fmt.pix.pixelformat) at.pixelformat = of->fmt.pix.pixelformat;
        if (getenv("FALSE_STEPS")) at.width = of->fmt.pix.width, at.height = of->fmt.pix.height;
        shape(&of->fmt.pix);
        return 0;
    }
    case VIDIOC_S_PARM: {
        struct v4l2_streamparm *of = argument;
        uint32_t n[4];
        if (getenv("FALSE_RANGE"))
            interval[0] = of->parm.capture.timeperframe.numerator, interval[1] = of->parm.capture.timeperframe.denominator;
        else if (sscanf(setting("FALSE_INTERVAL", ""), "%u/%u", n, n + 1) == 2) interval[0] = n[0], interval[1] = n[1];
        of->parm.capture.timeperframe.numerator = interval[0], of->parm.capture.timeperframe.denominator = interval[1];
        return 0;
    }
    case VIDIOC_REQBUFS: {
        struct v4l2_requestbuffers *of = argument;
        if (of->count > BUFFERS) of->count = BUFFERS;
        count = of->count, queued = ready = 0;
        return 0;
    }
    case VIDIOC_QUERYBUF: {
        struct v4l2_buffer *of = argument;
        if (of->index >= count) return refuse(EINVAL);
        of->length = ROOM, of->m.offset = of->index * ROOM;
        return 0;
    }
    case VIDIOC_QBUF: {
        struct v4l2_buffer *of = argument;
        if (of->index >= count) return refuse(EINVAL);
        for (int i = 0; i < queued; i++) if (queue[i] == (int)of->index) return refuse(EINVAL);
        for (int i = 0; i < ready; i++) if (filled[i] == (int)of->index) return refuse(EINVAL);
        queue[queued++] = of->index;
        return 0;
    }
    case VIDIOC_DQBUF: {
        struct v4l2_buffer *of = argument;
        if (!started) return refuse(EINVAL);
        advance();
        if (!ready) return refuse(EAGAIN);
        if (control->fetch_errno) return refuse(control->fetch_errno);
        int index = filled[0];
        if (control->lie != 3) memmove(filled, filled + 1, --ready * sizeof *filled);
        of->index = control->lie == 2 ? 77 : index;
        of->bytesused = control->lie == 1 ? ROOM + 1 : control->lie == 4 ? 0 : bytes[index];
        of->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | flags[index];
        int64_t stamp = stamps[index];
        if (!strcmp(setting("FALSE_CLOCK", ""), "zero")) stamp = 0;
        if (!strcmp(setting("FALSE_CLOCK", ""), "future")) stamp += 3600 * 1000000LL;
        of->timestamp.tv_sec = stamp / 1000000, of->timestamp.tv_usec = stamp % 1000000;
        of->length = ROOM, of->m.offset = index * ROOM, of->sequence = number;
        return 0;
    }
    case VIDIOC_STREAMON:
        started = 1, due = now_us();
        return 0;
    case VIDIOC_STREAMOFF:
        started = queued = ready = 0;
        return 0;
    }
    return refuse(ENOTTY);
}

static int is_camera(const char *path) { return !strncmp(path, "/dev/video", 10); }

static int call(unsigned long request, void *argument) {
    request &= 0xffffffff;
    return fails(request) ? -1 : answer(request, argument);
}

static int open_camera(const char *path) {
    begin();
    char real[512];
    snprintf(real, sizeof real, "%s/%s", setting("FALSE_DEV", "/nowhere"), path + 5);
    control->calls++;
    if (control->gone || access(real, F_OK)) return refuse(ENOENT);
    if (control->open_errno) return refuse(control->open_errno);
    if (control->fail_in && --control->fail_in == 0) return control->fail_which = 1, refuse(control->fail_errno);
    int file = memfd_create("false-camera", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)BUFFERS * ROOM)) return -1;
    if (memory) munmap(memory, (size_t)BUFFERS * ROOM);
    memory = (void *)syscall(SYS_mmap, NULL, (size_t)BUFFERS * ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    camera = file, started = queued = ready = 0;
    return file;
}

int open64(const char *path, int how, ...) {
    va_list list;
    va_start(list, how);
    int mode = va_arg(list, int);
    va_end(list);
    return is_camera(path) ? open_camera(path) : (int)syscall(SYS_openat, AT_FDCWD, path, how, mode);
}

int open(const char *path, int how, ...) {
    va_list list;
    va_start(list, how);
    int mode = va_arg(list, int);
    va_end(list);
    return is_camera(path) ? open_camera(path) : (int)syscall(SYS_openat, AT_FDCWD, path, how, mode);
}

int close(int file) {
    if (file == camera) camera = -1;
    return (int)syscall(SYS_close, file);
}

DIR *opendir(const char *path) {
    static DIR *(*real)(const char *);
    if (!real) real = dlsym(RTLD_NEXT, "opendir");
    return real(!strcmp(path, "/dev") ? setting("FALSE_DEV", "/dev") : path);
}

int ioctl(int file, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    return file == camera && file >= 0 ? call(request, argument) : (int)syscall(SYS_ioctl, file, request, argument);
}

long syscall(long which, ...) {
    va_list list;
    va_start(list, which);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (which == SYS_ioctl && (int)a == camera && camera >= 0) return call(b, (void *)c);
    static long (*real)(long, ...);
    if (!real) real = dlsym(RTLD_NEXT, "syscall");
    return real(which, a, b, c, d, e, f);
}

void *mmap64(void *where, size_t length, int protection, int how, int file, off_t offset) {
    if (file == camera && file >= 0 && fails(2)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, where, length, protection, how, file, offset);
}

int poll(struct pollfd *files, nfds_t number_of, int limit) {
    static int (*real)(struct pollfd *, nfds_t, int);
    if (!real) real = dlsym(RTLD_NEXT, "poll");
    if (number_of != 1 || files->fd != camera || camera < 0) return real(files, number_of, limit);
    if (fails(3)) {
        if (control->gone) return files->revents = POLLERR, 1;
        return -1;
    }
    int64_t until = now_us() + 1000LL * limit;
    for (;;) {
        advance();
        if (ready || !started || control->gone) return files->revents = POLLIN, 1;
        if (limit >= 0 && now_us() >= until) return files->revents = 0, 0;
        usleep(200);
    }
}
