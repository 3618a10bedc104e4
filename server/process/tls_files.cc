#include "server/process/tls_files.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <ctime>
#include <string_view>
#include <utility>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/pem.h"

namespace coppice {
namespace {

// The certificates after the first are the chain to the authority; each must be valid PEM.
StatusOr<CertificatePtr> ParseCertificate(std::string_view flag, const std::string& path,
                                          const std::string& pem) {
  PemCertificates read = CertificatesFromPem(pem);
  if (read.certificates.empty() || !read.whole) {
    return InvalidArgumentError(
        StrCat(flag, " ", path, ": is not a certificate in PEM (-----BEGIN CERTIFICATE-----)"));
  }
  return std::move(read.certificates.front());
}

StatusOr<KeyPtr> ParseKey(std::string_view flag, const std::string& path, const std::string& pem) {
  KeyPtr key = PrivateKeyFromPem(pem);
  if (key == nullptr) {
    return InvalidArgumentError(
        StrCat(flag, " ", path,
               ": is not a private key in PEM without a passphrase (-----BEGIN PRIVATE KEY-----)"));
  }
  return key;
}

std::string DateOf(const ASN1_TIME* time) {
  std::tm date{};
  if (ASN1_TIME_to_tm(time, &date) != 1) return "an unknown time";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromTM(date, absl::UTCTimeZone()),
                          absl::UTCTimeZone());
}

Status CheckDates(std::string_view flag, const std::string& path, const X509& certificate,
                  absl::Time now) {
  time_t seconds = absl::ToTimeT(now);
  const ASN1_TIME* begin = X509_get0_notBefore(&certificate);
  const ASN1_TIME* end = X509_get0_notAfter(&certificate);
  if (X509_cmp_time(begin, &seconds) > 0) {
    return FailedPreconditionError(StrCat(flag, " ", path, ": is not valid before ", DateOf(begin),
                                          "; check this machine's clock, or wait"));
  }
  if (X509_cmp_time(end, &seconds) <= 0) {
    return FailedPreconditionError(StrCat(flag, " ", path, ": expired at ", DateOf(end),
                                          "; renew it (deploy/make-certs.sh makes one "
                                          "for testing)"));
  }
  return OkStatus();
}

StatusOr<TlsFiles> LoadPair(const TlsFlags& flags, const std::string& certificate,
                            const std::string& key, absl::Time now) {
  TlsFiles files;
  COPPICE_ASSIGN_OR_RETURN(files.certificate, ReadFlaggedFile(flags.certificate, certificate));
  COPPICE_ASSIGN_OR_RETURN(files.key, ReadFlaggedFile(flags.key, key));
  COPPICE_ASSIGN_OR_RETURN(const CertificatePtr parsed,
                           ParseCertificate(flags.certificate, certificate, files.certificate));
  COPPICE_ASSIGN_OR_RETURN(const KeyPtr parsed_key, ParseKey(flags.key, key, files.key));
  if (X509_check_private_key(parsed.get(), parsed_key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgumentError(StrCat(flags.key, " ", key,
                                       ": does not belong to the certificate in ", certificate,
                                       "; give a key and its own certificate"));
  }
  COPPICE_RETURN_IF_ERROR(CheckDates(flags.certificate, certificate, *parsed, now));
  std::tm end{};
  ASN1_TIME_to_tm(X509_get0_notAfter(parsed.get()), &end);
  files.expires = absl::FromTM(end, absl::UTCTimeZone());
  return files;
}

}  // namespace

StatusOr<std::string> ReadFlaggedFile(std::string_view flag, const std::string& path) {
  StatusOr<std::string> bytes = ReadTextFile(path);
  if (bytes.ok()) return bytes;
  return Status(bytes.status().code(), StrCat(flag, " ", bytes.status().message()));
}

StatusOr<TlsFiles> LoadTlsFiles(const TlsFlags& flags, const std::string& certificate,
                                const std::string& key, const std::string& authority,
                                absl::Time now) {
  COPPICE_ASSIGN_OR_RETURN(TlsFiles files, LoadPair(flags, certificate, key, now));
  if (authority.empty()) return files;
  COPPICE_ASSIGN_OR_RETURN(files.client_ca, ReadFlaggedFile(flags.authority, authority));
  COPPICE_ASSIGN_OR_RETURN(const CertificatePtr parsed,
                           ParseCertificate(flags.authority, authority, files.client_ca));
  COPPICE_RETURN_IF_ERROR(CheckDates(flags.authority, authority, *parsed, now));
  return files;
}

StatusOr<TlsFiles> LoadTlsFiles(const std::string& certificate, const std::string& key,
                                const std::string& client_ca, absl::Time now) {
  return LoadTlsFiles({.certificate = "--tls-cert", .key = "--tls-key", .authority = "--client-ca"},
                      certificate, key, client_ca, now);
}

}  // namespace coppice
