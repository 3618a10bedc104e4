/* One call at a time over gRPC, for coppice_device.h: bytes in, bytes out. Over another transport a
 * device has another file in this one's place. */

#ifndef COPPICE_EXAMPLES_GRPC_CALL_H_
#define COPPICE_EXAMPLES_GRPC_CALL_H_

#include <stddef.h>
#include <stdint.h>

typedef struct grpc_line grpc_line;

/* The curator or relay at HOST:PORT, over TLS; `ca_pem` signs its certificate. NULL: no memory. */
grpc_line* grpc_line_open(const char* server, const char* ca_pem);
void grpc_line_close(grpc_line* line);

/* Shows `token` with the calls from now on, as long as it lives; NULL: none. */
void grpc_line_show_token(grpc_line* line, const char* token);

/* Carries a request, and tries again for a minute while nobody answers, sending the same bytes.
 * Returns gRPC's code; with 0 there is a response, which the caller frees. `why` has room for
 * `why_size` bytes of words, for an error. */
int32_t grpc_line_call(grpc_line* line, const char* method, const uint8_t* request,
                       size_t request_size, uint8_t** response, size_t* response_size, char* why,
                       size_t why_size);

#endif /* COPPICE_EXAMPLES_GRPC_CALL_H_ */
