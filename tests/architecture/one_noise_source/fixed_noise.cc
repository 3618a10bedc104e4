// Replaces OpenSSL's private generator when preloaded: the same bytes in every process.

#include <openssl/rand.h>

#include <cstdint>

int RAND_priv_bytes(unsigned char* out, int size) {
  static uint64_t state = 1;
  for (int i = 0; i < size; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    out[i] = static_cast<unsigned char>(state >> 56);
  }
  return 1;
}
