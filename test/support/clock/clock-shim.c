/* Shifts the wall clock of the process that it is preloaded into by the microseconds that stand in a file; the monotonic one too if asked. */

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Mapped and shared, so that who writes the file steps the clock of a process that runs. */
static const volatile int64_t *offset_us;
static int shifts_monotonic;

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("WEIR_CLOCK_OFFSET_FILE");
  int file = path == NULL ? -1 : open(path, O_RDONLY);
  void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_us, PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) offset_us = page;
  shifts_monotonic = getenv("WEIR_CLOCK_MONOTONIC") != NULL;
}

/* System calls, not the next library's functions: looking those up allocates, and an allocator may ask for the time. */
int clock_gettime(clockid_t clock, struct timespec *at) {
  long result = syscall(SYS_clock_gettime, clock, at);
  int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  int is_monotonic = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE;
  if (result != 0 || offset_us == NULL || !(is_wall || (is_monotonic && shifts_monotonic))) return (int)result;
  int64_t us = (int64_t)at->tv_sec * 1000000 + at->tv_nsec / 1000 + *offset_us;
  at->tv_sec = us / 1000000;
  at->tv_nsec = us % 1000000 * 1000;
  return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  (void)zone;
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}
