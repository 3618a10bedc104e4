// A small study for the client's tests: x < 5 is leaf 0, the rest leaf 1; classes "no" and "yes".

#ifndef COPPICE_TESTS_CLIENT_SAMPLE_STUDY_H_
#define COPPICE_TESTS_CLIENT_SAMPLE_STUDY_H_

#include <memory>
#include <string>

#include "client/privatizer.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline Terms SampleTerms(const std::string& study = "sample", double epsilon = 2) {
  auto schema =
      std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 10)}, "y", {"no", "yes"}));
  const Tree tree = *Tree::Create(
      {{.kind = SplitKind::kNumeric, .feature = 0, .threshold = 5, .left = 1, .right = 2}, {}, {}},
      *schema);
  return Terms{.study = study,
               .schema = schema,
               .forest = {tree},
               .epsilon = *Budget::FromEpsilon(epsilon),
               .mechanism = MechanismKind::kSymmetricUnary};
}

inline Ticket SampleTicket(uint8_t number) {
  Ticket ticket;
  ticket.id.fill(number);
  return ticket;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_SAMPLE_STUDY_H_
