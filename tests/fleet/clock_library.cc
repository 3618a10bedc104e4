// Moves the clocks of a curator that loads this before its own libraries (LD_PRELOAD).
// COPPICE_TEST_CLOCK names a file whose number of seconds is added to the wall clock; while a file
// of that name and ".frozen" exists, the clock since boot stands still. Waits on the wall clock end
// when they would have. Only tests load this; no program of Coppice knows of it.

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

long offset;
char frozen_file[4096];
timespec frozen_at;
int is_frozen;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int RealTime(clockid_t clock, timespec* now) {
  return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
}

__attribute__((constructor)) void ReadOffset(void) {
  const char* path = getenv("COPPICE_TEST_CLOCK");
  if (path == nullptr) return;
  FILE* file = fopen(path, "r");
  if (file != nullptr) {
    if (fscanf(file, "%ld", &offset) != 1) offset = 0;
    fclose(file);
  }
  snprintf(frozen_file, sizeof frozen_file, "%s.frozen", path);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int done = RealTime(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += offset;
  if (clock == CLOCK_BOOTTIME && frozen_file[0] != 0) {
    pthread_mutex_lock(&mutex);
    const int freeze = access(frozen_file, F_OK) == 0;
    if (freeze && !is_frozen) frozen_at = *now;
    is_frozen = freeze;
    if (freeze) *now = frozen_at;
    pthread_mutex_unlock(&mutex);
  }
  return done;
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec time;
  const int done = clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return done;
}

time_t time(time_t* now) noexcept {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  if (now != nullptr) *now = time.tv_sec;
  return time.tv_sec;
}

// Abseil makes this call itself to wait for an absolute time of the wall clock.
long syscall(long number, ...) noexcept {
  using Call = long (*)(long, ...);
  static std::atomic<Call> known{nullptr};  // without a lock: locks may call this
  Call next = known.load();
  if (next == nullptr) known = next = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  timespec until;
  if (number == SYS_futex && (a[1] & FUTEX_CLOCK_REALTIME) != 0 && a[3] != 0 && offset != 0) {
    until = *reinterpret_cast<const timespec*>(a[3]);
    until.tv_sec -= offset;
    a[3] = reinterpret_cast<long>(&until);
  }
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"
