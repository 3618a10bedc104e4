// What several formats say of a model in the same words.
//
// Threads    plain functions.

#ifndef COPPICE_COMMON_EXPORT_MODEL_PARTS_H_
#define COPPICE_COMMON_EXPORT_MODEL_PARTS_H_

#include <string>

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "common/schema/schema.h"
#include "common/tree/certificate.h"
#include "common/tree/model.h"

namespace coppice::formats {

using Json = nlohmann::ordered_json;

// {"label", "classes" or "target", "features"}: enough to encode a row.
Json SchemaJson(const Schema& schema);

// Every member of the certificate. Costs are whole numbers of their smallest unit, as they are
// kept, and numbers for people beside them.
Json CertificateJson(const Certificate& certificate);

// `json` in one line. What is not UTF-8 becomes U+FFFD.
std::string ToLine(const Json& json);

// "probabilities", "additive", "weights" or "scores".
absl::string_view NameOf(LeafKind kind);

// Whether a tree splits a feature that follows from others.
bool SplitsDerived(const Model& model);

// Whether a leaf's own label is the prediction, whatever its probabilities are.
inline bool LeafDecides(const Model& model) {
  return model.leaf_kind() == LeafKind::kProbabilities && model.forest().size() == 1 &&
         !model.schema().target();
}

}  // namespace coppice::formats

#endif  // COPPICE_COMMON_EXPORT_MODEL_PARTS_H_
