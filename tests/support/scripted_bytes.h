// OpenSSL's generator, replaced by known bytes for one scope: what a test draws is then a number
// that it can work out.

#ifndef COPPICE_TESTS_SUPPORT_SCRIPTED_BYTES_H_
#define COPPICE_TESTS_SUPPORT_SCRIPTED_BYTES_H_

// RAND_METHOD is OpenSSL's old way, and the only one that reaches RAND_priv_bytes().
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/rand.h>

#include <functional>
#include <utility>

namespace coppice::testing {

class ScriptedBytes {
 public:
  // `fill` is RAND_priv_bytes() from now on: only 1 is success.
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
