// Replaces OpenSSL's generator by known bytes for one scope, so that a test can work out what it
// draws.

#ifndef COPPICE_TESTS_SUPPORT_SCRIPTED_BYTES_H_
#define COPPICE_TESTS_SUPPORT_SCRIPTED_BYTES_H_

// RAND_METHOD is OpenSSL's old interface, and the only one that reaches RAND_priv_bytes().
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/rand.h>

#include <functional>
#include <utility>

namespace coppice::testing {

class ScriptedBytes {
 public:
  // Makes `fill` RAND_priv_bytes() from now on: only 1 is success.
  explicit ScriptedBytes(std::function<int(unsigned char* bytes, int count)> fill) {
    fill_ = std::move(fill);
    static const RAND_METHOD method = {
        .seed = nullptr,
        .bytes = [](unsigned char* bytes, int count) { return fill_(bytes, count); },
        .cleanup = nullptr,
        .add = nullptr,
        .pseudorand = nullptr,
        .status = nullptr};
    RAND_set_rand_method(&method);
  }
  ~ScriptedBytes() { RAND_set_rand_method(nullptr); }
  ScriptedBytes(const ScriptedBytes&) = delete;
  ScriptedBytes& operator=(const ScriptedBytes&) = delete;

 private:
  static inline std::function<int(unsigned char*, int)> fill_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_SCRIPTED_BYTES_H_
