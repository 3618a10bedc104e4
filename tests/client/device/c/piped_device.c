/* The sample device (client/device/examples/device.c) with a pipe as its transport, so that whoever
 * starts it is the curator or the relay, and it links the library and nothing else.
 *
 * It writes each call to its standard output and reads the response from its standard input: a line
 * "METHOD SIZE" and the bytes; a line "CODE SIZE" and the bytes. What the sample prints goes to its
 * standard error, where this adds lines of NAME VALUE:
 *
 *   stack_bytes    with PAINT in the environment: what was used of a painted stack of its own
 *   dirty_kb       private dirty memory of the process, as the kernel counts it, before the device
 *                  is closed
 */

#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "grpc_call.h"

int device_main(int argc, char** argv); /* the sample's main() */

enum { kStackBytes = 512 << 10, kPaint = 0xA5, kMaxResponse = 8 << 20, kUnavailable = 14 };

struct grpc_line {
  FILE* calls;
};

static grpc_line the_line;

grpc_line* grpc_line_open(const char* server, const char* ca_pem) {
  (void)server;
  (void)ca_pem;
  return &the_line;
}

static void say_dirty_memory(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  unsigned long kb = 0;
  if (file == NULL) return;
  while (fgets(line, sizeof(line), file) != NULL) {
    if (sscanf(line, "Private_Dirty: %lu kB", &kb) == 1) fprintf(stderr, "dirty_kb %lu\n", kb);
  }
  fclose(file);
}

void grpc_line_close(grpc_line* line) {
  (void)line;
  say_dirty_memory();
}

void grpc_line_show_token(grpc_line* line, const char* token) {
  (void)line;
  (void)token;
}

int32_t grpc_line_call(grpc_line* line, const char* method, const uint8_t* request,
                       size_t request_size, uint8_t** response, size_t* response_size, char* why,
                       size_t why_size) {
  char answer[64];
  int32_t code = kUnavailable;
  snprintf(why, why_size, "the pipe ended");
  fprintf(line->calls, "%s %zu\n", method, request_size);
  fwrite(request, 1, request_size, line->calls);
  fflush(line->calls);
  if (fgets(answer, sizeof(answer), stdin) == NULL) return kUnavailable;
  if (sscanf(answer, "%" SCNd32 " %zu", &code, response_size) != 2) return kUnavailable;
  if (*response_size > kMaxResponse) return kUnavailable;
  *response = malloc(*response_size + 1);
  if (*response == NULL) return kUnavailable;
  if (fread(*response, 1, *response_size, stdin) == *response_size) return code;
  free(*response);
  *response = NULL;
  return kUnavailable;
}

static int the_argc;
static char** the_argv;
static int exit_code;
static ucontext_t main_context;
static ucontext_t painted_context;

static void run(void) { exit_code = device_main(the_argc, the_argv); }

/* Runs the device on a stack of its own, and says how much of it was touched. */
static void run_on_painted_stack(void) {
  unsigned char* stack = malloc(kStackBytes);
  if (stack == NULL) abort();
  memset(stack, kPaint, kStackBytes);
  getcontext(&painted_context);
  painted_context.uc_stack.ss_sp = stack;
  painted_context.uc_stack.ss_size = kStackBytes;
  painted_context.uc_link = &main_context;
  makecontext(&painted_context, run, 0);
  swapcontext(&main_context, &painted_context);
  size_t untouched = 0;
  while (untouched < kStackBytes && stack[untouched] == kPaint) ++untouched;
  fprintf(stderr, "stack_bytes %zu\n", kStackBytes - untouched);
  free(stack);
}

int main(int argc, char** argv) {
  the_argc = argc;
  the_argv = argv;
  the_line.calls = fdopen(dup(STDOUT_FILENO), "w");
  if (the_line.calls == NULL || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  /* A painted stack is dirty memory itself: either is measured by a run of its own. */
  if (getenv("PAINT") != NULL) {
    run_on_painted_stack();
  } else {
    run();
  }
  return exit_code;
}
