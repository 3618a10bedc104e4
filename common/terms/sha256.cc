#include "common/terms/sha256.h"

#include <openssl/evp.h>

#include <string_view>

namespace coppice {

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  // Fetched once: EVP_sha256() looks it up each time, which takes longer than a short message.
  static const EVP_MD* const kAlgorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  good_ = context_ != nullptr && EVP_DigestInit_ex(context_.get(), kAlgorithm, nullptr) == 1;
}

void Sha256Stream::Add(std::string_view bytes) {
  good_ = good_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
}

Sha256Digest Sha256Stream::Finish() {
  Sha256Digest digest{};
  const bool good = good_ && EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1;
  return good ? digest : Sha256Digest{};
}

Sha256Digest Sha256(std::initializer_list<std::string_view> parts) {
  Sha256Stream stream;
  for (const std::string_view part : parts) stream.Add(part);
  return stream.Finish();
}

}  // namespace coppice
