// What a certificate promises beside the epsilon of a report because nobody can tell whose report
// is whose: computed anew from everything else that the model says.

#ifndef COPPICE_COMMON_DESCRIBE_SHUFFLED_PROMISE_H_
#define COPPICE_COMMON_DESCRIBE_SHUFFLED_PROMISE_H_

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/model/model.h"

namespace coppice {

// Adds `readers` and `relay` to `json`, each if it is promised: the numbers of the promise, and as
// `epsilon_recomputed` the epsilon that they come to.
//
// Guarantee  OK only if each promise is no stronger than its numbers allow, and these fit one
//            another and the rest of the certificate. Nothing here shows that the assumed share of
//            reports was honest, nor that the study was sealed before its models were read.
// Errors     InvalidArgument, which says what promise is wrong and how.
Status CheckShuffledPromises(const Model& model, nlohmann::ordered_json& json);

}  // namespace coppice

#endif  // COPPICE_COMMON_DESCRIBE_SHUFFLED_PROMISE_H_
