// Reads certificates and private keys from PEM text with OpenSSL.
//
// Errors     returns nothing for a text that is not PEM, or is protected by a passphrase: nobody is
//            asked for one. OpenSSL's error queue is empty afterwards.
// Threads    safe to share.

#ifndef COPPICE_COMMON_TERMS_PEM_H_
#define COPPICE_COMMON_TERMS_PEM_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string_view>
#include <vector>

namespace coppice {

struct OpenSslFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using BioPtr = std::unique_ptr<BIO, OpenSslFree>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpenSslFree>;
using CertificatePtr = std::unique_ptr<X509, OpenSslFree>;

KeyPtr PrivateKeyFromPem(std::string_view pem);

struct PemCertificates {
  std::vector<CertificatePtr> certificates;  // in their order, up to the first bad one
  bool whole = false;                        // nothing but certificates and words between them
};
PemCertificates CertificatesFromPem(std::string_view pem);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_PEM_H_
