#include "common/terms/pem.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <string>

namespace coppice {
namespace {

// An Ed25519 key as PEM, encrypted unless the passphrase is empty.
std::string KeyAsPem(const std::string& passphrase) {
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const BioPtr out(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_PKCS8PrivateKey(
                out.get(), key.get(), passphrase.empty() ? nullptr : EVP_aes_256_cbc(),
                passphrase.data(), static_cast<int>(passphrase.size()), nullptr, nullptr),
            1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

TEST(PemTest, ReadsAKeyUnlessItHasAPassphrase) {
  EXPECT_NE(PrivateKeyFromPem(KeyAsPem("")), nullptr);
  EXPECT_EQ(PrivateKeyFromPem(KeyAsPem("words")), nullptr) << "and nobody was asked";
  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST(PemTest, IgnoresTextThatIsNotPemAndLeavesNoOpenSslError) {
  const std::string key = KeyAsPem("");
  for (const std::string& text : {std::string(), std::string("words"), key.substr(0, 60)}) {
    EXPECT_EQ(PrivateKeyFromPem(text), nullptr) << text;
    EXPECT_TRUE(CertificatesFromPem(text).certificates.empty()) << text;
    EXPECT_EQ(ERR_peek_error(), 0u) << text;
  }
}

}  // namespace
}  // namespace coppice
