// Fails what a disk may not support: locks with the errno LOCK_ERRNO, hard links with LINK_ERRNO.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>

static int fails(const char *variable) {
  const char *code = getenv(variable);
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

int link(const char *from, const char *to) {
  int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "link");
  return fails("LINK_ERRNO") ? -1 : real(from, to);
}
