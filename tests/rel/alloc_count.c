// alloc_count: counts the allocation calls of a program that was started with LD_PRELOAD naming this library.
//   in:    ALLOC_COUNT_OUT   file that gets one JSON line at exit (appended); unset: nothing is written
//          ALLOC_COUNT_LEAK  "1": one extra malloc at each read, write and look at the clock, as a program would
//                            make that allocates in every epoch; the control of flat_memory_test.py
//   out:   {"malloc": n, ..., "vm_hwm_bytes": n, "marks": n, "between": {"malloc": n, ...}}
//          A mark is a write that begins with "Epoch "; between counts the calls from the first mark to the last.
//   sees:  calls through the dynamic linker, from any thread. What the C library maps for its own heap, and raw system
//          calls, are not seen here: strace counts those.
// The C library may allocate while dlsym looks for the real functions. Such calls, and those before the first look-up,
// get pieces of a static area that are never given back.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { MALLOC, CALLOC, REALLOC, ALIGNED_ALLOC, POSIX_MEMALIGN, MEMALIGN, FREE, MMAP, MUNMAP, MREMAP, BRK, SBRK, KINDS };
static const char* const kNames[KINDS] = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign",
                                          "free",   "mmap",   "munmap",  "mremap",        "brk",            "sbrk"};
static atomic_long counts[KINDS];
static long at_first_mark[KINDS], at_last_mark[KINDS];
static long marks;
static void count(int kind) { atomic_fetch_add_explicit(&counts[kind], 1, memory_order_relaxed); }

static struct {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*memalign)(size_t, size_t);
  void (*free)(void*);
  void* (*mmap)(void*, size_t, int, int, int, off_t);
  int (*munmap)(void*, size_t);
  void* (*mremap)(void*, size_t, size_t, int, ...);
  int (*brk)(void*);
  void* (*sbrk)(intptr_t);
  ssize_t (*read)(int, void*, size_t);
  ssize_t (*pread)(int, void*, size_t, off_t);
  ssize_t (*write)(int, const void*, size_t);
  int (*clock_gettime)(clockid_t, struct timespec*);
} real;

enum { UNKNOWN, LOOKING, KNOWN };
static atomic_int state = UNKNOWN;
static bool leak;

#define FIND(name) *(void**)&real.name = dlsym(RTLD_NEXT, #name)

// True when the real functions may be called. The first caller looks them up; nothing runs beside it, because the
// constructor below comes before main. What is called from inside the look-up finds LOOKING and uses the early area.
static bool known(void) {
  int expected = UNKNOWN;
  if (atomic_load_explicit(&state, memory_order_acquire) == KNOWN) return true;
  if (!atomic_compare_exchange_strong(&state, &expected, LOOKING)) return expected == KNOWN;
  FIND(malloc);
  FIND(calloc);
  FIND(realloc);
  FIND(aligned_alloc);
  FIND(posix_memalign);
  FIND(memalign);
  FIND(free);
  FIND(mmap);
  FIND(munmap);
  FIND(mremap);
  FIND(brk);
  FIND(sbrk);
  FIND(read);
  FIND(pread);
  FIND(write);
  FIND(clock_gettime);
  const char* wish = getenv("ALLOC_COUNT_LEAK");
  leak = wish && wish[0] == '1';
  atomic_store_explicit(&state, KNOWN, memory_order_release);
  return true;
}

static char early_area[1 << 16] __attribute__((aligned(64)));
static atomic_size_t early_used;

static void* early(size_t bytes) {
  const size_t at = atomic_fetch_add(&early_used, (bytes + 63) / 64 * 64);
  if (bytes > sizeof early_area || at > sizeof early_area - bytes) abort();
  return early_area + at;
}
static bool is_early(const void* pointer) {
  return (const char*)pointer >= early_area && (const char*)pointer < early_area + sizeof early_area;
}

__attribute__((constructor)) static void begin(void) { known(); }

void* malloc(size_t bytes) {
  count(MALLOC);
  return known() ? real.malloc(bytes) : early(bytes);
}

void* calloc(size_t number, size_t bytes) {
  count(CALLOC);
  return known() ? real.calloc(number, bytes) : early(number * bytes);  // the area is zero and used once
}

void* realloc(void* old, size_t bytes) {
  count(REALLOC);
  if (known() && !is_early(old)) return real.realloc(old, bytes);
  void* fresh = known() ? real.malloc(bytes) : early(bytes);
  if (fresh && old) {
    const size_t behind = (size_t)(early_area + sizeof early_area - (char*)old);
    memcpy(fresh, old, bytes < behind ? bytes : behind);
  }
  return fresh;
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  count(ALIGNED_ALLOC);
  return known() ? real.aligned_alloc(alignment, bytes) : (alignment <= 64 ? early(bytes) : NULL);
}

int posix_memalign(void** out, size_t alignment, size_t bytes) {
  count(POSIX_MEMALIGN);
  if (known()) return real.posix_memalign(out, alignment, bytes);
  if (alignment > 64) return ENOMEM;
  *out = early(bytes);
  return 0;
}

void* memalign(size_t alignment, size_t bytes) {
  count(MEMALIGN);
  return known() ? real.memalign(alignment, bytes) : (alignment <= 64 ? early(bytes) : NULL);
}

void free(void* pointer) {
  count(FREE);
  if (!is_early(pointer) && known()) real.free(pointer);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  count(MMAP);
  if (known()) return real.mmap(address, bytes, protection, flags, file, offset);
  return (void*)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}
void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap(address, bytes, protection, flags, file, offset);
}

int munmap(void* address, size_t bytes) {
  count(MUNMAP);
  return known() ? real.munmap(address, bytes) : (int)syscall(SYS_munmap, address, bytes);
}

void* mremap(void* address, size_t old_bytes, size_t bytes, int flags, ...) {
  count(MREMAP);
  va_list rest;
  va_start(rest, flags);
  void* target = flags & MREMAP_FIXED ? va_arg(rest, void*) : NULL;
  va_end(rest);
  if (known()) return real.mremap(address, old_bytes, bytes, flags, target);
  return (void*)syscall(SYS_mremap, address, old_bytes, bytes, flags, target);
}

int brk(void* end) {
  count(BRK);
  if (known()) return real.brk(end);
  errno = ENOMEM;
  return -1;
}

void* sbrk(intptr_t change) {
  count(SBRK);
  if (known()) return real.sbrk(change);
  errno = ENOMEM;
  return (void*)-1;
}

// The control: these do what they always do, and allocate once more when asked to.
static void maybe_leak(void) {
  if (!leak) return;
  void* volatile lost = malloc(64);  // volatile: the compiler may not drop the call
  (void)lost;
}

ssize_t read(int file, void* out, size_t bytes) {
  if (!known()) return syscall(SYS_read, file, out, bytes);
  maybe_leak();
  return real.read(file, out, bytes);
}

ssize_t pread(int file, void* out, size_t bytes, off_t offset) {
  if (!known()) return syscall(SYS_pread64, file, out, bytes, offset);
  maybe_leak();
  return real.pread(file, out, bytes, offset);
}
ssize_t pread64(int file, void* out, size_t bytes, off_t offset) { return pread(file, out, bytes, offset); }

static void mark(void) {
  for (int kind = 0; kind < KINDS; ++kind) {
    at_last_mark[kind] = atomic_load(&counts[kind]);
    if (marks == 0) at_first_mark[kind] = at_last_mark[kind];
  }
  ++marks;
}

ssize_t write(int file, const void* from, size_t bytes) {
  if (!known()) return syscall(SYS_write, file, from, bytes);
  if (bytes >= 6 && memcmp(from, "Epoch ", 6) == 0) mark();
  maybe_leak();
  return real.write(file, from, bytes);
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  if (!known()) return (int)syscall(SYS_clock_gettime, clock, out);
  maybe_leak();
  return real.clock_gettime(clock, out);
}

static long peak_bytes(void) {
  static char text[4096];
  const int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY);
  if (file < 0) return -1;
  const long got = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  if (got <= 0) return -1;
  text[got] = 0;
  const char* line = strstr(text, "VmHWM:");
  return line ? strtol(line + 6, NULL, 10) * 1024 : -1;
}

__attribute__((destructor)) static void finish(void) {
  const char* path = getenv("ALLOC_COUNT_OUT");
  if (!path) return;
  char line[2048];
  int used = 0;
  for (int kind = 0; kind < KINDS; ++kind) {
    used += snprintf(line + used, sizeof line - (size_t)used, "%s\"%s\": %ld", kind ? ", " : "{", kNames[kind], atomic_load(&counts[kind]));
  }
  used += snprintf(line + used, sizeof line - (size_t)used, ", \"vm_hwm_bytes\": %ld, \"marks\": %ld, \"between\": ", peak_bytes(), marks);
  for (int kind = 0; kind < KINDS; ++kind) {
    used += snprintf(line + used, sizeof line - (size_t)used, "%s\"%s\": %ld", kind ? ", " : "{", kNames[kind],
                     at_last_mark[kind] - at_first_mark[kind]);
  }
  used += snprintf(line + used, sizeof line - (size_t)used, "}}\n");
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 || syscall(SYS_write, file, line, used) != used) _exit(97);  // counts that are lost must not look like none
  syscall(SYS_close, file);
}
