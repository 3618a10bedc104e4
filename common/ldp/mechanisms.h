// All local mechanisms: a factory for each, and the table of their numbers and names that all other
// code reads. The contract of each is above its class, in NAME.cc.
//
// Errors     a factory takes an epsilon and a domain that MakeLocalMechanism() has checked; it
//            returns InvalidArgument for a domain that only its own mechanism refuses.

#ifndef COPPICE_COMMON_LDP_MECHANISMS_H_
#define COPPICE_COMMON_LDP_MECHANISMS_H_

#include <array>
#include <memory>
#include <string_view>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"

namespace coppice {

using MechanismOr = StatusOr<std::unique_ptr<LocalMechanism>>;

MechanismOr MakeLaplaceSplit(const Budget& epsilon, const Domain& domain);
MechanismOr MakeLaplaceJoint(const Budget& epsilon, const Domain& domain);
MechanismOr MakeSymmetricUnary(const Budget& epsilon, const Domain& domain);
MechanismOr MakeOptimizedUnary(const Budget& epsilon, const Domain& domain);
MechanismOr MakeSubsetSelection(const Budget& epsilon, const Domain& domain);
MechanismOr MakeDirect(const Budget& epsilon, const Domain& domain);
MechanismOr MakeHadamardResponse(const Budget& epsilon, const Domain& domain);
MechanismOr MakeLocalHashing(const Budget& epsilon, const Domain& domain);
MechanismOr MakeSignedHadamard(const Budget& epsilon, const Domain& domain);
MechanismOr MakeWindowResponse(const Budget& epsilon, const Domain& domain);

struct MechanismEntry {
  MechanismKind kind;
  std::string_view name;
  MechanismOr (*make)(const Budget& epsilon, const Domain& domain);
};

inline constexpr std::array kMechanisms = {
    MechanismEntry{MechanismKind::kLaplaceSplit, "laplace_split", &MakeLaplaceSplit},
    MechanismEntry{MechanismKind::kLaplaceJoint, "laplace_joint", &MakeLaplaceJoint},
    MechanismEntry{MechanismKind::kSymmetricUnary, "symmetric_unary", &MakeSymmetricUnary},
    MechanismEntry{MechanismKind::kOptimizedUnary, "optimized_unary", &MakeOptimizedUnary},
    MechanismEntry{MechanismKind::kSubsetSelection, "subset_selection", &MakeSubsetSelection},
    MechanismEntry{MechanismKind::kDirect, "direct", &MakeDirect},
    MechanismEntry{MechanismKind::kHadamardResponse, "hadamard_response", &MakeHadamardResponse},
    MechanismEntry{MechanismKind::kLocalHashing, "local_hashing", &MakeLocalHashing},
    MechanismEntry{MechanismKind::kSignedHadamard, "signed_hadamard", &MakeSignedHadamard},
    MechanismEntry{MechanismKind::kWindowResponse, "window_response", &MakeWindowResponse},
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_MECHANISMS_H_
