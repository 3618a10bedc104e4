#include "common/terms/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>

#include <string_view>

namespace coppice {
namespace {

int NoPassphrase(char*, int, int, void*) { return -1; }

BioPtr ReaderOf(std::string_view bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

}  // namespace

KeyPtr PrivateKeyFromPem(std::string_view pem) {
  KeyPtr key(PEM_read_bio_PrivateKey(ReaderOf(pem).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  return key;
}

PemCertificates CertificatesFromPem(std::string_view pem) {
  PemCertificates read;
  const BioPtr reader = ReaderOf(pem);
  while (X509* certificate = PEM_read_bio_X509(reader.get(), nullptr, NoPassphrase, nullptr)) {
    read.certificates.emplace_back(certificate);
  }
  // The end of the text counts as an error.
  read.whole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return read;
}

}  // namespace coppice
