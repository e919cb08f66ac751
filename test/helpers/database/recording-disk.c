// Records what a process does to the files below the folder RECORDED_FOLDER, in the file RECORDING: each write, size and name before
// it happens, each sync after it has ended, so that a process that is killed has recorded all that it did. recording-disk.ts reads it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_DESCRIPTORS = 4096, MAX_PATH = 1024, SYNC_TIME = 10000 };
static char paths[MAX_DESCRIPTORS][MAX_PATH];
static int recording = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static int is_recorded(const char *path) {
  const char *folder = getenv("RECORDED_FOLDER");
  return folder && strncmp(path, folder, strlen(folder)) == 0;
}

static const char *path_of(int descriptor) {
  return descriptor >= 0 && descriptor < MAX_DESCRIPTORS && paths[descriptor][0] ? paths[descriptor] : NULL;
}

static long long position(void) {
  if (recording < 0) recording = REAL(open)(getenv("RECORDING"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  struct stat status;
  fstat(recording, &status);
  return status.st_size;
}

// One call, which appends all of it or, where the process is killed, only its beginning.
static void record(char kind, unsigned long inode, long long number, const void *data, size_t length) {
  char head[100];
  position();
  int size = snprintf(head, sizeof head, "\1RECORD %c %lu %lld %zu\n", kind, inode, number, length);
  struct iovec parts[] = {{head, size}, {(void *)data, length}};
  if (REAL(writev)(recording, parts, 2) < 0) abort();
}

static unsigned long inode_of(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

// Writes a name or two, which NUL separates.
static void record_names(char kind, unsigned long inode, const char *one, const char *other) {
  char names[2 * MAX_PATH];
  int length = snprintf(names, sizeof names, other ? "%s%c%s" : "%s", one, 0, other ? other : "");
  record(kind, inode, 0, names, length);
}

static int open_recorded(const char *name, int directory, const char *path, int flags, mode_t mode) {
  int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, name);
  if (!is_recorded(path)) return real(directory, path, flags, mode);
  pthread_mutex_lock(&lock);
  int is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
  int descriptor = real(directory, path, flags, mode);
  if (descriptor >= 0 && descriptor < MAX_DESCRIPTORS) {
    snprintf(paths[descriptor], MAX_PATH, "%s", path);
    if (is_new) record_names('c', inode_of(descriptor), path, NULL);
    else if (flags & O_TRUNC) record('t', inode_of(descriptor), 0, "", 0);
  }
  pthread_mutex_unlock(&lock);
  return descriptor;
}

#define OPEN(name, at)                                              \
  int name(const char *path, int flags, ...) {                      \
    va_list arguments;                                              \
    va_start(arguments, flags);                                     \
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;  \
    va_end(arguments);                                              \
    return open_recorded(at, AT_FDCWD, path, flags, mode);          \
  }
OPEN(open, "openat")
OPEN(open64, "openat64")

int close(int descriptor) {
  if (path_of(descriptor)) paths[descriptor][0] = 0;
  return REAL(close)(descriptor);
}

#define WRITE(name, offset_type)                                                            \
  ssize_t name(int descriptor, const void *data, size_t length, offset_type offset) {       \
    if (!path_of(descriptor)) return REAL(name)(descriptor, data, length, offset);          \
    pthread_mutex_lock(&lock);                                                              \
    record('w', inode_of(descriptor), offset, data, length);                                \
    ssize_t result = REAL(name)(descriptor, data, length, offset);                          \
    pthread_mutex_unlock(&lock);                                                            \
    return result;                                                                          \
  }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

// Node.js writes files of its own this way.
ssize_t write(int descriptor, const void *data, size_t length) {
  if (!path_of(descriptor)) return REAL(write)(descriptor, data, length);
  return pwrite64(descriptor, data, length, lseek64(descriptor, 0, SEEK_CUR)) < 0
             ? -1
             : (lseek64(descriptor, length, SEEK_CUR), (ssize_t)length);
}

#define TRUNCATE(name, size_type)                                   \
  int name(int descriptor, size_type size) {                        \
    if (!path_of(descriptor)) return REAL(name)(descriptor, size);  \
    pthread_mutex_lock(&lock);                                      \
    record('t', inode_of(descriptor), size, "", 0);                 \
    int result = REAL(name)(descriptor, size);                      \
    pthread_mutex_unlock(&lock);                                    \
    return result;                                                  \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

// What is written while a sync runs may be missing from it. It takes so long that a process is often killed in it.
#define SYNC(name)                                                                                        \
  int name(int descriptor) {                                                                              \
    const char *path = path_of(descriptor);                                                               \
    if (!path) return REAL(name)(descriptor);                                                             \
    pthread_mutex_lock(&lock);                                                                            \
    long long begin = position();                                                                         \
    pthread_mutex_unlock(&lock);                                                                          \
    usleep(SYNC_TIME);                                                                                    \
    int result = REAL(name)(descriptor);                                                                  \
    pthread_mutex_lock(&lock);                                                                            \
    struct stat status;                                                                                   \
    if (result == 0 && fstat(descriptor, &status) == 0)                                                   \
      record(S_ISDIR(status.st_mode) ? 'd' : 's', status.st_ino, begin, path, strlen(path));              \
    pthread_mutex_unlock(&lock);                                                                          \
    return result;                                                                                        \
  }
SYNC(fsync)
SYNC(fdatasync)

static int change_name(const char *name, char kind, const char *one, const char *other) {
  int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, name);
  int result = real(one, other);
  if (result == 0 && is_recorded(other)) record_names(kind, 0, one, other);
  return result;
}
int rename(const char *one, const char *other) { return change_name("rename", 'r', one, other); }
int link(const char *one, const char *other) { return change_name("link", 'l', one, other); }

int unlink(const char *path) {
  int result = REAL(unlink)(path);
  if (result == 0 && is_recorded(path)) record_names('u', 0, path, NULL);
  return result;
}

int mkdir(const char *path, mode_t mode) {
  int result = REAL(mkdir)(path, mode);
  if (result == 0 && is_recorded(path)) record_names('m', 0, path, NULL);
  return result;
}
