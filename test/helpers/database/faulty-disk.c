// Fails what a disk may not support with an errno: locks with LOCK_ERRNO, links with LINK_ERRNO, shared memory of
// files with MMAP_ERRNO, and syncs of folders with FOLDER_ERRNO. Names the file system STATFS_TYPE. Delays what waits for a disk by the
// milliseconds in the file SYNC_DELAY_FILE; where they are negative, a disk gives no pages.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static int fails(const char *name) {
  const char *code = getenv(name);
  if (code) errno = atoi(code);
  return code != NULL;
}

static int control(const char *name, int descriptor, int command, void *argument) {
  if ((command == F_SETLK || command == F_SETLKW) && fails("LOCK_ERRNO")) return -1;
  int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
  return real(descriptor, command, argument);
}

#define CONTROL(name)                                     \
  int name(int descriptor, int command, ...) {            \
    va_list arguments;                                    \
    va_start(arguments, command);                         \
    void *argument = va_arg(arguments, void *);           \
    va_end(arguments);                                    \
    return control(#name, descriptor, command, argument); \
  }
CONTROL(fcntl)
CONTROL(fcntl64)

static int read_delay(void) {
  const char *name = getenv("SYNC_DELAY_FILE");
  FILE *file = name ? fopen(name, "r") : NULL;
  int delay = 0;
  if (file && fscanf(file, "%d", &delay) != 1) delay = 0;
  if (file) fclose(file);
  return delay;
}

// The delay may be shortened meanwhile.
static int sync_slowly(const char *name, int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode) && fails("FOLDER_ERRNO")) return -1;
  for (int passed = 0; passed < read_delay(); passed += 5) usleep(5000);
  int (*real)(int) = dlsym(RTLD_NEXT, name);
  return real(descriptor);
}

int link(const char *from, const char *to) {
  if (fails("LINK_ERRNO")) return -1;
  int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "link");
  return real(from, to);
}

#define FILE_SYSTEM(name, type)                                                \
  int name(const char *path, struct type *status) {                            \
    int (*real)(const char *, struct type *) = dlsym(RTLD_NEXT, #name);        \
    int result = real(path, status);                                           \
    const char *number = getenv("STATFS_TYPE");                                \
    if (number) status->f_type = atol(number);                                 \
    return result;                                                             \
  }
FILE_SYSTEM(statfs, statfs)
FILE_SYSTEM(statfs64, statfs64)

static void *map(const char *name, void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  if (descriptor >= 0 && (flags & MAP_SHARED) && fails("MMAP_ERRNO")) return MAP_FAILED;
  void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, name);
  return real(address, length, protection, flags, descriptor, offset);
}

#define MAP(name)                                                                                       \
  void *name(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {    \
    return map(#name, address, length, protection, flags, descriptor, offset);                           \
  }
MAP(mmap)
MAP(mmap64)

ssize_t pread64(int descriptor, void *buffer, size_t size, off64_t offset) {
  ssize_t (*real)(int, void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pread64");
  if (read_delay() >= 0) return real(descriptor, buffer, size, offset);
  errno = EIO;
  return -1;
}

int fsync(int descriptor) { return sync_slowly("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_slowly("fdatasync", descriptor); }
