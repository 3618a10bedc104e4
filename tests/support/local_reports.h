// Shared by tests of all local mechanisms: a domain that each of them takes, and the reports that
// its curator accepts.

#ifndef COPPICE_TESTS_SUPPORT_LOCAL_REPORTS_H_
#define COPPICE_TESTS_SUPPORT_LOCAL_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/ldp/local_mechanism.h"

namespace coppice::testing {

// Returns `domain`, with two classes for a mechanism that takes no other number, and one leaf
// likewise.
inline Domain DomainFor(MechanismKind kind, Domain domain) {
  if (kind == MechanismKind::kSignedHadamard) domain.classes = 2;
  if (kind == MechanismKind::kWindowResponse) domain = {.leaves = 1, .classes = 2};
  return domain;
}

// The mechanisms of studies of classes and of private features: all but those that hide numbers
// alone.
inline std::vector<MechanismKind> KindsForClasses() {
  std::vector<MechanismKind> kinds;
  for (const MechanismKind kind : AllMechanismKinds()) {
    const auto of_label =
        MakeLocalMechanism(kind, *Budget::Parse("1"), {.leaves = 1, .classes = 2});
    if (!(*of_label)->window()) kinds.push_back(kind);
  }
  return kinds;
}

inline bool IsLaplace(MechanismKind kind) {
  return kind == MechanismKind::kLaplaceSplit || kind == MechanismKind::kLaplaceJoint;
}

inline std::vector<LeafLabel> ValuesOf(const Domain& domain) {
  std::vector<LeafLabel> values;
  for (uint32_t leaf = 0; leaf < domain.leaves; ++leaf) {
    for (uint32_t label = 0; label < domain.classes; ++label) values.push_back({leaf, label});
  }
  return values;
}

// Makes reports of one column; they view `payloads`.
inline std::vector<Contribution> ReportsOf(const std::vector<std::string>& payloads) {
  std::vector<Contribution> reports;
  for (const std::string& payload : payloads) reports.push_back({.payload = payload, .column = 0});
  return reports;
}

// Returns every payload of one or two bytes that the curator accepts.
inline std::vector<std::string> AcceptedPayloads(const LocalMechanism& mechanism) {
  std::vector<std::string> accepted;
  for (uint32_t bytes = 0; bytes < 1u << 16; ++bytes) {
    const std::string two = {static_cast<char>(bytes), static_cast<char>(bytes >> 8)};
    if (bytes < 1u << 8 && mechanism.Check(two.substr(0, 1)).ok()) {
      accepted.push_back(two.substr(0, 1));
    }
    if (mechanism.Check(two).ok()) accepted.push_back(two);
  }
  return accepted;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_LOCAL_REPORTS_H_
