/* A device in C that visits a curator or a relay once: it answers a study, and delivers what waits.
 *
 *   device CURATOR_KEY HOST:PORT CA_FILE STUDY JOURNAL [NAME=VALUE...]
 *
 * CURATOR_KEY is a file, what `coppice study key --pem` prints. Each NAME=VALUE is a column of the
 * device's row, the label among them. The row never leaves this program. What does is one report,
 * randomized before it is written to the journal and sent; running the program again sends the same
 * bytes, or nothing. With RELAY_KEY in the environment, the name of a file with a relay's key,
 * HOST:PORT is the relay's and CA_FILE what its operator names; RELAY_TOKEN is a token of the
 * relay's, where it asks for one.
 *
 * A template: take it, put your row and your transport in, and keep the caps.
 */

#define _POSIX_C_SOURCE 200809L
#include <coppice_device.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grpc_call.h"

/* What the owner agreed to. */
enum { kMaxWaiting = 20, kMaxJournalBytes = 64 << 10, kMinReports = 100 };
static const uint64_t kNanos = 1000000000u;
#ifndef MAX_SEND_DELAY_SECONDS
#define MAX_SEND_DELAY_SECONDS 60 /* behind a relay */
#endif

/* ---- The row: replace this by what your device knows ------------------------------------------ */

typedef struct {
  char** columns; /* NAME=VALUE */
  int count;
} private_row;

/* Called once, when a report will be sent whatever is set here. */
static void read_row(void* context, const coppice_terms* terms, coppice_row* row) {
  const private_row* mine = context;
  (void)terms;
  for (int i = 0; i < mine->count; ++i) {
    char* value = strchr(mine->columns[i], '=');
    if (value == NULL) continue;
    *value++ = '\0';
    coppice_row_set_text(row, mine->columns[i], value, strlen(value));
  }
}

/* Called once before that, when the terms passed the policy: ask the owner here, if the owner wants
 * to be asked. The result must not depend on the row. */
static int32_t review(void* context, const coppice_terms* terms) {
  (void)context;
  printf("study %s asks for epsilon %.3g by %s\n", coppice_terms_study(terms),
         (double)coppice_terms_epsilon_nanos(terms) / (double)kNanos,
         coppice_terms_mechanism(terms));
  return 1;
}

/* ---- The visit -------------------------------------------------------------------------------- */

/* A device that sleeps to save power may close the visit, and open another one when it wakes. */
static void wait_before(const coppice_call* call) {
  const struct timespec time = {(time_t)(call->wait_milliseconds / 1000),
                                (long)(call->wait_milliseconds % 1000) * 1000000};
  printf("the sealed answer is sent in %.1f s\n", (double)call->wait_milliseconds / 1000);
  fflush(stdout);
  nanosleep(&time, NULL);
}

/* Makes every call of the visit. */
static void carry(coppice_visit* visit, grpc_line* line) {
  coppice_error error;
  coppice_call call;
  memset(&call, 0, sizeof(call));
  call.struct_size = sizeof(call);
  while (coppice_visit_next(visit, &call, &error) == COPPICE_OK && call.method != NULL) {
    uint8_t* response = NULL;
    size_t size = 0;
    char why[200];
    if (call.wait_milliseconds > 0) {
      wait_before(&call); /* a signal may end it early: what is left is asked for again */
      continue;
    }
    grpc_line_show_token(line, call.takes_ticket ? getenv("RELAY_TOKEN") : NULL);
    const int32_t code = grpc_line_call(line, call.method, call.request, call.request_size,
                                        &response, &size, why, sizeof(why));
    if (code != 0) {
      fprintf(stderr, "%s: gRPC code %" PRId32 ": %s\n", call.method, code, why);
      coppice_visit_fail(visit, code, &error);
    } else if (coppice_visit_take(visit, response, size, &error) != COPPICE_OK) {
      fprintf(stderr, "%s\n", error.text);
    }
    free(response);
  }
  if (error.code != COPPICE_OK) fprintf(stderr, "%s\n", error.text);
}

static int tell(const coppice_visit* visit, coppice_device* device) {
  coppice_outcome outcome;
  memset(&outcome, 0, sizeof(outcome));
  outcome.struct_size = sizeof(outcome);
  coppice_visit_get_outcome(visit, &outcome);
  coppice_device_state state;
  memset(&state, 0, sizeof(state));
  state.struct_size = sizeof(state);
  coppice_device_get_state(device, &state, NULL);
  printf("%" PRIu64 " delivered, %" PRIu64 " waiting, %" PRIu64 " refused; epsilon %.3g spent, "
         "%.3g left\n",
         outcome.delivered + outcome.stored, state.waiting, outcome.refused + outcome.lost,
         (double)state.spent_epsilon_nanos / (double)kNanos,
         (double)state.left_epsilon_nanos / (double)kNanos);
  if (outcome.lost > 0) fprintf(stderr, "lost: %s\n", outcome.loss.text);
  if (outcome.clock_behind_seconds > 0) {
    fprintf(stderr, "this device's clock is %" PRId64 " days behind\n",
            outcome.clock_behind_seconds / 86400);
  }
  return outcome.answer.code == COPPICE_OK && state.waiting == 0 ? 0 : 1;
}

static int visit_once(coppice_device* device, char** arguments, int count) {
  private_row row = {arguments + 6, count - 6};
  coppice_visit_options options;
  coppice_visit_options_init(&options);
  if (getenv("RELAY_KEY") == NULL) {
    options.curator = arguments[2];
  } else {
    options.relay = arguments[2];
  }
  options.study = arguments[4];
  options.review = review;
  options.read_row = read_row;
  options.context = &row;
  coppice_visit* visit = NULL;
  coppice_error error;
  if (coppice_visit_open(device, &options, &visit, &error) != COPPICE_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  grpc_line* line = NULL;
  static char ca[16384]; /* not on the stack, which is small on some devices */
  FILE* file = fopen(arguments[3], "r");
  if (file != NULL) {
    ca[fread(ca, 1, sizeof(ca) - 1, file)] = '\0';
    fclose(file);
    line = grpc_line_open(arguments[2], ca);
  } else {
    perror(arguments[3]);
  }
  if (line != NULL) carry(visit, line);
  const int result = line == NULL ? 1 : tell(visit, device);
  grpc_line_close(line);
  coppice_visit_close(visit);
  return result;
}

/* Reads the curator's or the relay's pinned key from a file that came with the program. */
static int read_key(const char* path, uint8_t key[32]) {
  char text[512];
  coppice_error error;
  FILE* file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    return 0;
  }
  text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
  fclose(file);
  if (coppice_key_parse(text, key, &error) == COPPICE_OK) return 1;
  fprintf(stderr, "%s: %s\n", path, error.text);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: %s CURATOR_KEY HOST:PORT CA_FILE STUDY JOURNAL [NAME=VALUE...]\n",
            argv[0]);
    return 2;
  }
  srand((unsigned)time(NULL));
  uint8_t key[32];
  uint8_t relay_key[32];
  const char* relay_key_file = getenv("RELAY_KEY");
  if (!read_key(argv[1], key)) return 1;
  if (relay_key_file != NULL && !read_key(relay_key_file, relay_key)) return 1;
  coppice_device_options options;
  coppice_device_options_init(&options);
  options.journal_path = argv[5];
  options.curator_key = key;
  options.max_epsilon_nanos = 4 * kNanos;
  options.max_total_epsilon_nanos = 8 * kNanos;
  options.max_waiting = kMaxWaiting;
  options.max_journal_bytes = kMaxJournalBytes;
  options.min_reports = kMinReports;
  options.relay_key = relay_key_file == NULL ? NULL : relay_key;
  options.max_send_delay_seconds = MAX_SEND_DELAY_SECONDS;
  coppice_device* device = NULL;
  coppice_error error;
  if (coppice_device_open(&options, &device, &error) != COPPICE_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  const int result = visit_once(device, argv, argc);
  coppice_device_close(device);
  return result;
}
