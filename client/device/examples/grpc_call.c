#include "grpc_call.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxResponseBytes = 4 << 20, /* an offer has some kilobytes */
  kTrySeconds = 20,
  kAllTriesSeconds = 60,
  kFirstWaitMillis = 200,
  kLongestWaitMillis = 10000
};

struct grpc_line {
  grpc_channel* channel;
  grpc_completion_queue* queue;
  const char* token;
};

static gpr_timespec in_millis(int64_t millis) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(millis, GPR_TIMESPAN));
}

grpc_line* grpc_line_open(const char* server, const char* ca_pem) {
  grpc_line* line = calloc(1, sizeof(*line));
  if (line == NULL) return NULL;
  grpc_init();
  /* gRPC checks a response's size before it decompresses it, so a hostile curator could send a
   * megabyte that takes a gigabyte: this turns decompression off. */
  grpc_arg settings[2];
  memset(settings, 0, sizeof(settings));
  settings[0].type = GRPC_ARG_INTEGER;
  settings[0].key = GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH;
  settings[0].value.integer = kMaxResponseBytes;
  settings[1].type = GRPC_ARG_INTEGER;
  settings[1].key = GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION;
  settings[1].value.integer = 0;
  const grpc_channel_args arguments = {2, settings};
  grpc_channel_credentials* tls = grpc_ssl_credentials_create(ca_pem, NULL, NULL, NULL);
  line->channel = grpc_channel_create(server, tls, &arguments);
  grpc_channel_credentials_release(tls);
  line->queue = grpc_completion_queue_create_for_pluck(NULL);
  return line;
}

void grpc_line_close(grpc_line* line) {
  if (line == NULL) return;
  grpc_channel_destroy(line->channel);
  grpc_completion_queue_shutdown(line->queue);
  grpc_completion_queue_destroy(line->queue);
  free(line);
  grpc_shutdown();
}

void grpc_line_show_token(grpc_line* line, const char* token) { line->token = token; }

/* Copies the bytes of `buffer`, which may be NULL, to memory that the caller frees. */
static int copy_out(grpc_byte_buffer* buffer, uint8_t** bytes, size_t* size) {
  if (buffer == NULL) return 0;
  grpc_byte_buffer_reader reader;
  if (!grpc_byte_buffer_reader_init(&reader, buffer)) return 0;
  grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
  *size = GRPC_SLICE_LENGTH(all);
  *bytes = malloc(*size + 1);
  if (*bytes != NULL) memcpy(*bytes, GRPC_SLICE_START_PTR(all), *size);
  grpc_slice_unref(all);
  grpc_byte_buffer_reader_destroy(&reader);
  return *bytes != NULL;
}

typedef struct {
  grpc_metadata_array initial;
  grpc_metadata_array trailing;
  grpc_byte_buffer* received;
  grpc_status_code status;
  grpc_slice details;
} answer;

/* `shown` is the token's metadata, or NULL. */
static void run_batch(grpc_line* line, grpc_call* call, grpc_metadata* shown,
                      grpc_byte_buffer* sent, answer* got) {
  grpc_op ops[6];
  memset(ops, 0, sizeof(ops));
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[0].data.send_initial_metadata.count = shown != NULL;
  ops[0].data.send_initial_metadata.metadata = shown;
  ops[1].op = GRPC_OP_SEND_MESSAGE;
  ops[1].data.send_message.send_message = sent;
  ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
  ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
  ops[3].data.recv_initial_metadata.recv_initial_metadata = &got->initial;
  ops[4].op = GRPC_OP_RECV_MESSAGE;
  ops[4].data.recv_message.recv_message = &got->received;
  ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
  ops[5].data.recv_status_on_client.trailing_metadata = &got->trailing;
  ops[5].data.recv_status_on_client.status = &got->status;
  ops[5].data.recv_status_on_client.status_details = &got->details;
  if (grpc_call_start_batch(call, ops, 6, line, NULL) != GRPC_CALL_OK) {
    got->status = GRPC_STATUS_INTERNAL;
    return;
  }
  grpc_completion_queue_pluck(line->queue, line, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
}

/* Makes one try. */
static int32_t call_once(grpc_line* line, const char* method, const uint8_t* request,
                         size_t request_size, uint8_t** response, size_t* response_size, char* why,
                         size_t why_size) {
  answer got;
  memset(&got, 0, sizeof(got));
  got.details = grpc_empty_slice();
  grpc_metadata_array_init(&got.initial);
  grpc_metadata_array_init(&got.trailing);
  grpc_slice bytes = grpc_slice_from_copied_buffer((const char*)request, request_size);
  grpc_byte_buffer* sent = grpc_raw_byte_buffer_create(&bytes, 1);
  grpc_call* call = grpc_channel_create_call(
      line->channel, NULL, GRPC_PROPAGATE_DEFAULTS, line->queue,
      grpc_slice_from_copied_string(method), NULL, in_millis(kTrySeconds * 1000), NULL);
  grpc_metadata shown;
  if (line->token != NULL) {
    char value[256];
    snprintf(value, sizeof(value), "Bearer %s", line->token);
    memset(&shown, 0, sizeof(shown));
    shown.key = grpc_slice_from_static_string("authorization");
    shown.value = grpc_slice_from_copied_string(value);
  }
  run_batch(line, call, line->token != NULL ? &shown : NULL, sent, &got);
  if (line->token != NULL) grpc_slice_unref(shown.value);

  int32_t code = (int32_t)got.status;
  if (code == 0 && !copy_out(got.received, response, response_size)) code = GRPC_STATUS_INTERNAL;
  snprintf(why, why_size, "%.*s", (int)GRPC_SLICE_LENGTH(got.details),
           (const char*)GRPC_SLICE_START_PTR(got.details));
  grpc_slice_unref(got.details);
  grpc_metadata_array_destroy(&got.initial);
  grpc_metadata_array_destroy(&got.trailing);
  if (got.received != NULL) grpc_byte_buffer_destroy(got.received);
  grpc_byte_buffer_destroy(sent);
  grpc_slice_unref(bytes);
  grpc_call_unref(call);
  return code;
}

int32_t grpc_line_call(grpc_line* line, const char* method, const uint8_t* request,
                       size_t request_size, uint8_t** response, size_t* response_size, char* why,
                       size_t why_size) {
  const gpr_timespec give_up = in_millis(kAllTriesSeconds * 1000);
  int64_t wait = kFirstWaitMillis;
  for (;;) {
    const int32_t code =
        call_once(line, method, request, request_size, response, response_size, why, why_size);
    const int again = code == GRPC_STATUS_UNAVAILABLE || code == GRPC_STATUS_DEADLINE_EXCEEDED;
    /* Random within the wait, so that devices that lost the curator together do not come back
     * together. This is not private, so any generator will do. */
    const gpr_timespec next = in_millis(wait / 2 + rand() % (int)wait);
    if (!again || gpr_time_cmp(next, give_up) > 0) return code;
    gpr_sleep_until(next);
    wait = wait * 2 < kLongestWaitMillis ? wait * 2 : kLongestWaitMillis;
  }
}
