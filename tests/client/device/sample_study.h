// A small study for the client's tests: x < 5 is leaf 0, the rest leaf 1; classes "no" and "yes".

#ifndef COPPICE_TESTS_CLIENT_DEVICE_SAMPLE_STUDY_H_
#define COPPICE_TESTS_CLIENT_DEVICE_SAMPLE_STUDY_H_

#include <memory>
#include <string>

#include "client/device/privatizer.h"
#include "common/terms/manifest.h"
#include "common/terms/signature.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline Schema SampleSchema() { return *Schema::Create({Numeric("x", 0, 10)}, "y", {"no", "yes"}); }

inline Tree SampleTree() {
  return *Tree::Create(
      {{.kind = SplitKind::kNumeric, .feature = 0, .threshold = 5, .left = 1, .right = 2}, {}, {}},
      SampleSchema());
}

// Terms of one tree, SampleTree(), whose root the tests ignore.
inline Terms SampleTerms(const std::string& study = "sample", double epsilon = 2) {
  return Terms{.study = study,
               .schema = std::make_shared<const Schema>(SampleSchema()),
               .trees = 1,
               .epsilon = *Budget::FromEpsilon(epsilon),
               .mechanism = MechanismKind::kSymmetricUnary};
}

inline Privatizer SamplePrivatizer(const std::string& study = "sample", double epsilon = 2,
                                   const Fingerprint& fingerprint = {1}) {
  return *Privatizer::Create(SampleTerms(study, epsilon), fingerprint, AllTrees({SampleTree()}));
}

inline SigningKey FakeKey(uint8_t number = 1) {
  SigningKey::Seed seed{};
  seed.fill(number);
  return *SigningKey::FromSeed(seed);
}

// What a curator signs about terms whose fingerprint the tests ignore.
inline Manifest SampleManifest() {
  return {.study = "sample",
          .fingerprint = {1},
          .epsilon = SampleTerms().epsilon,
          .mechanism = SampleTerms().mechanism,
          .expires_unix_seconds = 4'000'000'000,  // in 2096
          .min_reports = 100,
          .sequence = 2,
          .issued_unix_seconds = 1000,
          .direct = DirectSealing{.key = {.suite = 1, .key = {9}}, .report_bytes = 1000}};
}

inline Ticket SampleTicket(uint8_t number) {
  Ticket ticket;
  ticket.id.fill(number);
  return ticket;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_SAMPLE_STUDY_H_
