/* Preloaded into a process: counts every call that changes the files and folders below FAULT_UNDER, and at call
   FAULT_AT kills it (FAULT_KIND=kill), lets this and every later call that needs space fail (full), or fills the disk
   for real with a file FAULT_FILLER (fill). FAULT_CLOCK shifts the clock by so many seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long calls = 0;

static int below(const char *path) {
  const char *under = getenv("FAULT_UNDER");
  return under && path && strncmp(path, under, strlen(under)) == 0;
}

/* Paths that are relative to an open folder, as in the removal of a tree. */
static int below_at(int folder, const char *path) {
  char link[64], whole[8192];
  if (!path || path[0] == '/' || folder == AT_FDCWD) return below(path);
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t length = readlink(link, whole, 4096);
  if (length < 0) return 0;
  snprintf(whole + length, sizeof whole - length, "/%s", path);
  return below(whole);
}

static int exists(int folder, const char *path) {
  struct stat found;
  return fstatat(folder, path, &found, AT_SYMLINK_NOFOLLOW) == 0;
}

static int fd_below(int fd) {
  char link[64], path[4096];
  if (fd <= 2) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return below(path);
}

static void fill(void) {
  static char zeros[4096];
  int file = (int)syscall(SYS_openat, AT_FDCWD, getenv("FAULT_FILLER"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return;
  while (syscall(SYS_write, file, zeros, sizeof zeros) > 0) {}
  for (int n = 0; n < 4096 && syscall(SYS_write, file, zeros, 1) > 0; n++) {}
  close(file);
}

/* 1: the call must fail. */
static int fault(int needs_space) {
  const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND");
  long now = __sync_add_and_fetch(&calls, 1);
  if (!at || !kind) return 0;
  if (strcmp(kind, "kill") == 0 && now == atol(at)) kill(getpid(), SIGKILL);
  if (strcmp(kind, "fill") == 0 && now == atol(at)) fill();
  return strcmp(kind, "full") == 0 && now >= atol(at) && needs_space;
}

__attribute__((destructor)) static void told(void) {
  const char *file = getenv("FAULT_CALLS");
  FILE *out = file ? fopen(file, "w") : NULL;
  if (out) { fprintf(out, "%ld", calls); fclose(out); }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int done = (int)syscall(SYS_clock_gettime, clock, now);
  const char *shift = getenv("FAULT_CLOCK");
  if (done == 0 && clock == CLOCK_REALTIME && shift) now->tv_sec += atol(shift);
  return done;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FULL_IF(test, space) if ((test) && fault(space)) { errno = ENOSPC; return -1; }

ssize_t write(int fd, const void *data, size_t size) { FULL_IF(fd_below(fd), 1) return REAL(write)(fd, data, size); }
ssize_t pwrite(int fd, const void *d, size_t n, off_t o) { FULL_IF(fd_below(fd), 1) return REAL(pwrite)(fd, d, n, o); }
ssize_t pwrite64(int fd, const void *d, size_t n, off64_t o) { FULL_IF(fd_below(fd), 1) return REAL(pwrite64)(fd, d, n, o); }
ssize_t writev(int fd, const struct iovec *v, int n) { FULL_IF(fd_below(fd), 1) return REAL(writev)(fd, v, n); }
int ftruncate(int fd, off_t n) { FULL_IF(fd_below(fd), 0) return REAL(ftruncate)(fd, n); }
int fsync(int fd) { FULL_IF(fd_below(fd), 0) return REAL(fsync)(fd); }
int fdatasync(int fd) { FULL_IF(fd_below(fd), 0) return REAL(fdatasync)(fd); }
int rename(const char *a, const char *b) { FULL_IF(below(b), 1) return REAL(rename)(a, b); }
int renameat(int i, const char *a, int j, const char *b) { FULL_IF(below_at(j, b), 1) return REAL(renameat)(i, a, j, b); }
int renameat2(int i, const char *a, int j, const char *b, unsigned int f) {
  FULL_IF(below_at(j, b), 1)
  return REAL(renameat2)(i, a, j, b, f);
}
int link(const char *a, const char *b) { FULL_IF(below(b), 1) return REAL(link)(a, b); }
int linkat(int i, const char *a, int j, const char *b, int f) { FULL_IF(below_at(j, b), 1) return REAL(linkat)(i, a, j, b, f); }

/* A folder that is there already, and a file that is gone already, change nothing. */
int mkdir(const char *path, mode_t mode) { FULL_IF(below(path) && !exists(AT_FDCWD, path), 1) return REAL(mkdir)(path, mode); }
int unlink(const char *path) { FULL_IF(below(path) && exists(AT_FDCWD, path), 0) return REAL(unlink)(path); }
int rmdir(const char *path) { FULL_IF(below(path) && exists(AT_FDCWD, path), 0) return REAL(rmdir)(path); }
int unlinkat(int folder, const char *path, int flags) {
  FULL_IF(below_at(folder, path) && exists(folder, path), 0)
  return REAL(unlinkat)(folder, path, flags);
}

#define CREATES(folder, path, flags) \
  (below_at(folder, path) && (((flags) & O_TRUNC) || (((flags) & O_CREAT) && !exists(folder, path))))
#define MODE(last) va_list more; va_start(more, last); mode_t mode = (last & O_CREAT) ? va_arg(more, mode_t) : 0; va_end(more);

int open(const char *path, int flags, ...) { MODE(flags) FULL_IF(CREATES(AT_FDCWD, path, flags), 1) return REAL(open)(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) FULL_IF(CREATES(AT_FDCWD, path, flags), 1) return REAL(open64)(path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) {
  MODE(flags) FULL_IF(CREATES(folder, path, flags), 1)
  return REAL(openat)(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE(flags) FULL_IF(CREATES(folder, path, flags), 1)
  return REAL(openat64)(folder, path, flags, mode);
}
