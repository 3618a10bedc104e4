/* A device whose transport is a pipe: piped_device JOURNAL STUDY KEY [NAME=VALUE...]
 *
 * It writes each call to its standard output and reads the response from its standard input: a line
 * "METHOD SIZE" and the bytes; a line "CODE SIZE" and the bytes. So whoever starts it is the curator,
 * and it links the library and nothing else. KEY is the curator's, as text. With a relay's key in
 * RELAY_KEY of the environment it is the relay that it writes to, and it does not wait. On its
 * standard error it says in lines of NAME VALUE how the visit went and what it cost:
 *
 *   stack_bytes    what the library used of a painted stack of its own
 *   dirty_kb       private dirty memory of the process, as the kernel counts it, before the device
 *                  is closed
 */

#define _GNU_SOURCE
#include <coppice_device.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { kStackBytes = 512 << 10, kPaint = 0xA5, kMaxResponse = 8 << 20 };

typedef struct {
  char** arguments;
  int count;
  int code;
} job;

static void read_row(void* context, const coppice_terms* terms, coppice_row* row) {
  const job* mine = context;
  (void)terms;
  for (int i = 4; i < mine->count; ++i) {
    char* value = strchr(mine->arguments[i], '=');
    if (value == NULL) continue;
    *value++ = '\0';
    coppice_row_set_text(row, mine->arguments[i], value, strlen(value));
  }
}

/* The response to a call, to be freed; NULL at the end of the pipe or for a code that is not 0. */
static uint8_t* carry(const coppice_call* call, size_t* size, int32_t* code) {
  printf("%s %zu\n", call->method, call->request_size);
  fwrite(call->request, 1, call->request_size, stdout);
  fflush(stdout);
  char line[64];
  *code = 14;
  if (fgets(line, sizeof(line), stdin) == NULL) return NULL;
  if (sscanf(line, "%" SCNd32 " %zu", code, size) != 2 || *size > kMaxResponse) return NULL;
  uint8_t* bytes = malloc(*size + 1);
  if (bytes != NULL && fread(bytes, 1, *size, stdin) == *size) return bytes;
  free(bytes);
  return NULL;
}

static void say(const coppice_visit* visit, coppice_device* device) {
  coppice_outcome outcome;
  memset(&outcome, 0, sizeof(outcome));
  outcome.struct_size = sizeof(outcome);
  coppice_visit_get_outcome(visit, &outcome);
  coppice_device_state state;
  memset(&state, 0, sizeof(state));
  state.struct_size = sizeof(state);
  coppice_device_get_state(device, &state, NULL);
  fprintf(stderr, "answer %" PRId32 "\ndelivered %" PRIu64 "\nstored %" PRIu64 "\nwaiting %" PRIu64 "\n",
          outcome.answer.code, outcome.delivered, outcome.stored, state.waiting);
  if (outcome.answer.code != 0) fprintf(stderr, "why %s\n", outcome.answer.text);
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

static int visit_once(const job* mine, coppice_device* device) {
  coppice_visit_options options;
  coppice_visit_options_init(&options);
  if (getenv("RELAY_KEY") == NULL) {
    options.curator = "pipe:1";
  } else {
    options.relay = "pipe:1";
  }
  options.study = mine->arguments[2];
  options.read_row = read_row;
  options.context = (void*)mine;
  coppice_visit* visit = NULL;
  coppice_error error;
  if (coppice_visit_open(device, &options, &visit, &error) != COPPICE_OK) {
    fprintf(stderr, "why %s\n", error.text);
    return 1;
  }
  coppice_call call;
  memset(&call, 0, sizeof(call));
  call.struct_size = sizeof(call);
  while (coppice_visit_next(visit, &call, &error) == COPPICE_OK && call.method != NULL) {
    size_t size = 0;
    int32_t code = 0;
    uint8_t* response = carry(&call, &size, &code);
    if (response == NULL || code != 0) {
      coppice_visit_fail(visit, code == 0 ? 14 : code, &error);
    } else if (coppice_visit_take(visit, response, size, &error) != COPPICE_OK) {
      fprintf(stderr, "why %s\n", error.text);
    }
    free(response);
  }
  say(visit, device);
  say_dirty_memory();
  coppice_visit_close(visit);
  return 0;
}

static int run(const job* mine) {
  uint8_t key[32];
  uint8_t relay_key[32];
  const char* relay = getenv("RELAY_KEY");
  coppice_error error;
  if (coppice_key_parse(mine->arguments[3], key, &error) != COPPICE_OK) {
    fprintf(stderr, "why %s\n", error.text);
    return 1;
  }
  if (relay != NULL && coppice_key_parse(relay, relay_key, &error) != COPPICE_OK) {
    fprintf(stderr, "why %s\n", error.text);
    return 1;
  }
  coppice_device_options options;
  coppice_device_options_init(&options);
  options.journal_path = mine->arguments[1];
  options.curator_key = key;
  options.min_reports = 0;
  options.relay_key = relay == NULL ? NULL : relay_key;
  coppice_device* device = NULL;
  if (coppice_device_open(&options, &device, &error) != COPPICE_OK) {
    fprintf(stderr, "why %s\n", error.text);
    return 1;
  }
  const int code = visit_once(mine, device);
  coppice_device_close(device);
  return code;
}

static job the_job;
static ucontext_t main_context;
static ucontext_t painted_context;

static void run_painted(void) { the_job.code = run(&the_job); }

/* Runs the job on a stack of its own, and says how much of it was touched. */
static int run_on_painted_stack(void) {
  unsigned char* stack = malloc(kStackBytes);
  if (stack == NULL) return 1;
  memset(stack, kPaint, kStackBytes);
  getcontext(&painted_context);
  painted_context.uc_stack.ss_sp = stack;
  painted_context.uc_stack.ss_size = kStackBytes;
  painted_context.uc_link = &main_context;
  makecontext(&painted_context, run_painted, 0);
  swapcontext(&main_context, &painted_context);
  size_t untouched = 0;
  while (untouched < kStackBytes && stack[untouched] == kPaint) ++untouched;
  fprintf(stderr, "stack_bytes %zu\n", kStackBytes - untouched);
  free(stack);
  return the_job.code;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s JOURNAL STUDY KEY [NAME=VALUE...]\n", argv[0]);
    return 2;
  }
  the_job.arguments = argv;
  the_job.count = argc;
  /* A painted stack is dirty memory itself: either is measured by a run of its own. */
  return getenv("PAINT") != NULL ? run_on_painted_stack() : run(&the_job);
}
