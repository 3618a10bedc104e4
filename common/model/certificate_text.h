// Describes a certificate for people: what was released, towards whom rows are protected, what its
// epsilon means, and what it does not cover. docs/threat-model.md and docs/choosing-epsilon.md say
// the same at length; nothing here promises more than they do.
//
// The text repeats what the certificate claims: CheckCertificate() decides whether that adds up.
// Epsilon, delta and rho are never rounded; what follows from them is rounded up.
//
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_MODEL_CERTIFICATE_TEXT_H_
#define COPPICE_COMMON_MODEL_CERTIFICATE_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/model/certificate.h"

namespace coppice {

// The promise that a certificate makes, recognized by its text about neighbours.
enum class Promise { kLocal, kRow, kLabel, kNone, kOther };
Promise PromiseOf(const Certificate& certificate);

struct CertificateText {
  struct Section {
    std::string title;
    std::vector<std::string> sentences;
  };
  std::vector<Section> sections;
};

// What training shows to whoever shares the curator's machine.
inline constexpr char kTrainingTells[] =
    "How long the training took, and sizes of what is stored, may tell the number of rows to "
    "whoever shares the machine.";

// Sections of DescribeCertificate(), by their place in it.
enum CertificateSection : size_t { kReleased, kProtectedFrom, kMeaning, kNotCovered };

CertificateText DescribeCertificate(const Certificate& certificate);

// The total cost, exactly: "ε = 1, δ = 1e-6".
std::string CostText(const Certificate& certificate);

// The cost and the relation in one line: "ε = 1; one row more or less, protected from whoever sees
// the model, ...".
std::string PrivacyInALine(const Certificate& certificate);

}  // namespace coppice

#endif  // COPPICE_COMMON_MODEL_CERTIFICATE_TEXT_H_
