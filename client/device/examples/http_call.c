/* Implements grpc_call.h over HTTP/1.1 with libcurl, for devices without gRPC. The curator accepts
 * such calls if it was started with --http-listen. */

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grpc_call.h"

enum {
  kMaxResponseBytes = 4 << 20, /* an offer has some kilobytes */
  kTrySeconds = 20,
  kAllTriesSeconds = 60,
  kFirstWaitMillis = 200,
  kLongestWaitMillis = 10000
};
enum { kUnknown = 2, kResourceExhausted = 8, kUnavailable = 14 }; /* gRPC's numbers */

struct grpc_line {
  CURL* curl;
  struct curl_slist* headers;
  char* server;
  char* ca_pem;
};

typedef struct {
  uint8_t* bytes;
  size_t size;
} received;

/* Codes of the Connect protocol, indexed by gRPC's numbers. */
static const char* const kCodes[] = {"",
                                     "canceled",
                                     "unknown",
                                     "invalid_argument",
                                     "deadline_exceeded",
                                     "not_found",
                                     "already_exists",
                                     "permission_denied",
                                     "resource_exhausted",
                                     "failed_precondition",
                                     "aborted",
                                     "out_of_range",
                                     "unimplemented",
                                     "internal",
                                     "unavailable",
                                     "data_loss",
                                     "unauthenticated"};

grpc_line* grpc_line_open(const char* server, const char* ca_pem) {
  grpc_line* line = calloc(1, sizeof(*line));
  if (line == NULL) return NULL;
  line->server = strdup(server);
  line->ca_pem = strdup(ca_pem);
  line->headers = curl_slist_append(NULL, "Content-Type: application/proto");
  line->curl = curl_easy_init();
  if (line->server != NULL && line->ca_pem != NULL && line->headers != NULL && line->curl != NULL) {
    return line;
  }
  grpc_line_close(line);
  return NULL;
}

void grpc_line_close(grpc_line* line) {
  if (line == NULL) return;
  curl_easy_cleanup(line->curl);
  curl_slist_free_all(line->headers);
  free(line->server);
  free(line->ca_pem);
  free(line);
}

static size_t add_received(char* part, size_t one, size_t size, void* context) {
  received* got = context;
  (void)one;
  if (got->size + size > kMaxResponseBytes) return 0; /* ends the call */
  uint8_t* bytes = realloc(got->bytes, got->size + size + 1);
  if (bytes == NULL) return 0;
  memcpy(bytes + got->size, part, size);
  got->bytes = bytes;
  got->size += size;
  got->bytes[got->size] = '\0';
  return size;
}

/* Reads the code in an error's body, {"code":"not_found","message":"..."}; a proxy sends none. */
static int32_t code_of(const char* body) {
  const char* begin = body == NULL ? NULL : strstr(body, "\"code\":\"");
  if (begin == NULL) return kUnavailable;
  begin += strlen("\"code\":\"");
  for (int32_t code = 1; code < (int32_t)(sizeof(kCodes) / sizeof(kCodes[0])); ++code) {
    const size_t length = strlen(kCodes[code]);
    if (strncmp(begin, kCodes[code], length) == 0 && begin[length] == '"') return code;
  }
  return kUnknown;
}

/* Makes one try. It follows no redirect and decompresses nothing. */
static int32_t call_once(grpc_line* line, const char* method, const uint8_t* request,
                         size_t request_size, received* got, char* why, size_t why_size) {
  char url[512];
  struct curl_blob ca = {line->ca_pem, strlen(line->ca_pem), CURL_BLOB_NOCOPY};
  snprintf(url, sizeof(url), "https://%s%s", line->server, method);
  curl_easy_setopt(line->curl, CURLOPT_URL, url);
  curl_easy_setopt(line->curl, CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(line->curl, CURLOPT_CAINFO_BLOB, &ca);
  curl_easy_setopt(line->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(line->curl, CURLOPT_HTTPHEADER, line->headers);
  curl_easy_setopt(line->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request_size);
  curl_easy_setopt(line->curl, CURLOPT_POSTFIELDS, request_size == 0 ? "" : (const char*)request);
  curl_easy_setopt(line->curl, CURLOPT_TIMEOUT, (long)kTrySeconds);
  curl_easy_setopt(line->curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(line->curl, CURLOPT_WRITEFUNCTION, add_received);
  curl_easy_setopt(line->curl, CURLOPT_WRITEDATA, got);
  const CURLcode sent = curl_easy_perform(line->curl);
  if (sent != CURLE_OK) {
    snprintf(why, why_size, "%s", curl_easy_strerror(sent));
    return sent == CURLE_WRITE_ERROR ? kResourceExhausted : kUnavailable;
  }
  long status = 0;
  curl_easy_getinfo(line->curl, CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) return 0;
  snprintf(why, why_size, "%s", got->bytes == NULL ? "" : (const char*)got->bytes);
  return code_of((const char*)got->bytes);
}

/* Replaces the headers; without memory for a token none is shown, and the call is refused. */
void grpc_line_show_token(grpc_line* line, const char* token) {
  char header[300];
  curl_slist_free_all(line->headers);
  line->headers = curl_slist_append(NULL, "Content-Type: application/proto");
  if (token == NULL) return;
  snprintf(header, sizeof(header), "Authorization: Bearer %s", token);
  curl_slist_append(line->headers, header);
}

static void wait_millis(int64_t millis) {
  const struct timespec time = {millis / 1000, millis % 1000 * 1000000};
  nanosleep(&time, NULL);
}

int32_t grpc_line_call(grpc_line* line, const char* method, const uint8_t* request,
                       size_t request_size, uint8_t** response, size_t* response_size, char* why,
                       size_t why_size) {
  const time_t give_up = time(NULL) + kAllTriesSeconds;
  int64_t wait = kFirstWaitMillis;
  for (;;) {
    received got = {NULL, 0};
    const int32_t code = call_once(line, method, request, request_size, &got, why, why_size);
    if (code == 0) {
      *response = got.bytes != NULL ? got.bytes : calloc(1, 1);
      *response_size = got.size;
      return *response == NULL ? kResourceExhausted : 0;
    }
    free(got.bytes);
    /* Random within the wait, so that devices that lost the curator together do not come back
     * together. This is not private, so any generator will do. */
    if (code != kUnavailable || time(NULL) >= give_up) return code;
    wait_millis(wait / 2 + rand() % (int)wait);
    wait = wait * 2 < kLongestWaitMillis ? wait * 2 : kLongestWaitMillis;
  }
}
