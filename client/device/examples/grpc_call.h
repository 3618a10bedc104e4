/* Makes one call at a time over gRPC, for coppice_device.h: bytes in, bytes out. For another
 * transport a device replaces this file. */

#ifndef COPPICE_CLIENT_DEVICE_EXAMPLES_GRPC_CALL_H_
#define COPPICE_CLIENT_DEVICE_EXAMPLES_GRPC_CALL_H_

#include <stddef.h>
#include <stdint.h>

typedef struct grpc_line grpc_line;

/* Opens a TLS line to the curator or relay at HOST:PORT, authority `ca_pem`. NULL: no memory. */
grpc_line* grpc_line_open(const char* server, const char* ca_pem);
void grpc_line_close(grpc_line* line);

/* Shows `token` with the calls from now on, as long as it lives; NULL: none. */
void grpc_line_show_token(grpc_line* line, const char* token);

/* Sends a request, and retries with the same bytes for a minute while nobody answers. Returns
 * gRPC's code; with 0 there is a response, which the caller frees. `why` has room for `why_size`
 * bytes of an error message. */
int32_t grpc_line_call(grpc_line* line, const char* method, const uint8_t* request,
                       size_t request_size, uint8_t** response, size_t* response_size, char* why,
                       size_t why_size);

#endif /* COPPICE_CLIENT_DEVICE_EXAMPLES_GRPC_CALL_H_ */
