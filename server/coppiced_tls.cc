#include "server/coppiced_tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

absl::StatusOr<std::string> ReadFile(absl::string_view flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // Reading a folder opens well and fails here.
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat(flag, " ", path, ": cannot be read (",
                                            errno != 0 ? std::strerror(errno) : "it is empty",
                                            ")"));
  }
  return text.str();
}

// A key with a passphrase: there is nobody to ask for it at a daemon's start.
int NoPassphrase(char*, int, int, void*) { return 0; }

Bio Reader(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// The certificates after the first are the chain to the authority; each must be one.
bool IsChain(const std::string& pem) {
  const Bio reader = Reader(pem);
  while (Certificate(PEM_read_bio_X509(reader.get(), nullptr, NoPassphrase, nullptr)) != nullptr) {
  }
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return ended;
}

absl::StatusOr<Certificate> ParseCertificate(absl::string_view flag, const std::string& path,
                                             const std::string& pem) {
  Certificate certificate(PEM_read_bio_X509(Reader(pem).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (certificate == nullptr || !IsChain(pem)) {
    return absl::InvalidArgumentError(absl::StrCat(flag, " ", path,
                                                   ": is no certificate in PEM form "
                                                   "(-----BEGIN CERTIFICATE-----)"));
  }
  return certificate;
}

absl::StatusOr<Key> ParseKey(const std::string& path, const std::string& pem) {
  Key key(PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-key ", path,
                     ": is no private key in PEM form without a passphrase "
                     "(-----BEGIN PRIVATE KEY-----)"));
  }
  return key;
}

std::string DateOf(const ASN1_TIME* time) {
  std::tm date{};
  if (ASN1_TIME_to_tm(time, &date) != 1) return "an unknown time";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromTM(date, absl::UTCTimeZone()),
                          absl::UTCTimeZone());
}

absl::Status CheckDates(absl::string_view flag, const std::string& path, const X509& certificate,
                        absl::Time now) {
  time_t seconds = absl::ToTimeT(now);
  const ASN1_TIME* begin = X509_get0_notBefore(&certificate);
  const ASN1_TIME* end = X509_get0_notAfter(&certificate);
  if (X509_cmp_time(begin, &seconds) > 0) {
    return absl::FailedPreconditionError(absl::StrCat(flag, " ", path, ": is not valid before ",
                                                      DateOf(begin),
                                                      "; check this machine's clock, or wait"));
  }
  if (X509_cmp_time(end, &seconds) <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(flag, " ", path, ": expired at ", DateOf(end),
                                                      "; renew it (deploy/make-certs.sh makes one "
                                                      "for testing)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TlsFiles> LoadTlsFiles(const std::string& certificate, const std::string& key,
                                      const std::string& client_ca, absl::Time now) {
  TlsFiles files;
  COPPICE_ASSIGN_OR_RETURN(files.certificate, ReadFile("--tls-cert", certificate));
  COPPICE_ASSIGN_OR_RETURN(files.key, ReadFile("--tls-key", key));
  COPPICE_ASSIGN_OR_RETURN(const Certificate parsed,
                           ParseCertificate("--tls-cert", certificate, files.certificate));
  COPPICE_ASSIGN_OR_RETURN(const Key parsed_key, ParseKey(key, files.key));
  if (X509_check_private_key(parsed.get(), parsed_key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-key ", key, ": is not the key of the certificate in ", certificate,
                     "; give the two that were made "
                     "together"));
  }
  COPPICE_RETURN_IF_ERROR(CheckDates("--tls-cert", certificate, *parsed, now));
  std::tm end{};
  ASN1_TIME_to_tm(X509_get0_notAfter(parsed.get()), &end);
  files.expires = absl::FromTM(end, absl::UTCTimeZone());
  if (client_ca.empty()) return files;
  COPPICE_ASSIGN_OR_RETURN(files.client_ca, ReadFile("--client-ca", client_ca));
  COPPICE_ASSIGN_OR_RETURN(const Certificate authority,
                           ParseCertificate("--client-ca", client_ca, files.client_ca));
  COPPICE_RETURN_IF_ERROR(CheckDates("--client-ca", client_ca, *authority, now));
  return files;
}

}  // namespace coppice
