#include "server/daemon/transport/tls.h"

#include <openssl/err.h>
#include <openssl/x509.h>

#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/study/pem.h"

namespace coppice::daemon {
namespace {

absl::StatusOr<std::string> ReadFlagged(absl::string_view flag, const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (bytes.ok()) return bytes;
  return absl::Status(bytes.status().code(), absl::StrCat(flag, " ", bytes.status().message()));
}

// The certificates after the first are the chain to the authority; each must be one.
absl::StatusOr<CertificatePtr> ParseCertificate(absl::string_view flag, const std::string& path,
                                                const std::string& pem) {
  PemCertificates read = CertificatesFromPem(pem);
  if (read.certificates.empty() || !read.whole) {
    return absl::InvalidArgumentError(absl::StrCat(flag, " ", path,
                                                   ": is no certificate in PEM form "
                                                   "(-----BEGIN CERTIFICATE-----)"));
  }
  return std::move(read.certificates.front());
}

absl::StatusOr<KeyPtr> ParseKey(const std::string& path, const std::string& pem) {
  KeyPtr key = PrivateKeyFromPem(pem);
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
  COPPICE_ASSIGN_OR_RETURN(files.certificate, ReadFlagged("--tls-cert", certificate));
  COPPICE_ASSIGN_OR_RETURN(files.key, ReadFlagged("--tls-key", key));
  COPPICE_ASSIGN_OR_RETURN(const CertificatePtr parsed,
                           ParseCertificate("--tls-cert", certificate, files.certificate));
  COPPICE_ASSIGN_OR_RETURN(const KeyPtr parsed_key, ParseKey(key, files.key));
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
  COPPICE_ASSIGN_OR_RETURN(files.client_ca, ReadFlagged("--client-ca", client_ca));
  COPPICE_ASSIGN_OR_RETURN(const CertificatePtr authority,
                           ParseCertificate("--client-ca", client_ca, files.client_ca));
  COPPICE_RETURN_IF_ERROR(CheckDates("--client-ca", client_ca, *authority, now));
  return files;
}

}  // namespace coppice::daemon
