// Descriptions of a model that several formats share.
//
// Threads    plain functions.

#ifndef COPPICE_COMMON_EXPORT_MODEL_PARTS_H_
#define COPPICE_COMMON_EXPORT_MODEL_PARTS_H_

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "common/model/certificate.h"
#include "common/model/model.h"
#include "common/schema/schema.h"

namespace coppice::formats {

using Json = nlohmann::ordered_json;

// Returns {"label", "classes" or "target", "features"}: enough to encode a row.
Json SchemaJson(const Schema& schema);

// Returns every member of the certificate. Costs are whole numbers in the smallest unit, as stored,
// with readable numbers next to them.
Json CertificateJson(const Certificate& certificate);

// Returns `json` as one line. Bytes that are not UTF-8 become U+FFFD.
std::string ToLine(const Json& json);

// Returns "probabilities", "additive", "weights" or "scores".
std::string_view NameOf(LeafKind kind);

// Whether a tree splits on a derived feature.
bool SplitsDerived(const Model& model);

// Whether a leaf's own label is the prediction, whatever its probabilities are.
inline bool LeafDecides(const Model& model) {
  return model.leaf_kind() == LeafKind::kProbabilities && model.forest().size() == 1 &&
         !model.schema().target();
}

}  // namespace coppice::formats

#endif  // COPPICE_COMMON_EXPORT_MODEL_PARTS_H_
