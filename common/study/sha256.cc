#include "common/study/sha256.h"

#include <openssl/evp.h>

#include <memory>

namespace coppice {

Sha256Digest Sha256(std::initializer_list<absl::string_view> parts) {
  // Looked up once: EVP_sha256() looks it up each time, which takes longer than a short message.
  static const EVP_MD* const kAlgorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  if (context == nullptr || EVP_DigestInit_ex(context.get(), kAlgorithm, nullptr) != 1) return {};
  for (absl::string_view part : parts) {
    if (EVP_DigestUpdate(context.get(), part.data(), part.size()) != 1) return {};
  }
  Sha256Digest digest{};
  if (EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) != 1) return {};
  return digest;
}

}  // namespace coppice
