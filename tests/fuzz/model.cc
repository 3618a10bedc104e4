// A model file. An accepted model predicts for rows at the ends of its schema, and explains them.

#include <cmath>

#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_signature.h"
#include "tests/fuzz/fuzz_input.h"

using coppice::testing::Require;

namespace {

coppice::Row RowAtEnds(const coppice::Schema& schema, int which) {
  coppice::Row row;
  for (const coppice::Feature& feature : schema.features()) {
    if (which == 2) {
      row.push_back(coppice::kMissingValue);
    } else if (feature.type == coppice::FeatureType::kNumeric) {
      row.push_back(which == 0 ? feature.min : feature.max);
    } else {
      row.push_back(which == 0 ? 0 : static_cast<double>(feature.values.size() - 1));
    }
  }
  return row;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  coppice::v1::Model proto;
  if (!proto.ParseFromArray(data, static_cast<int>(size))) return 0;
  (void)coppice::CheckModelSignature(proto, std::nullopt, 0);
  const auto model = coppice::ParseModel(proto);
  if (!model.ok()) return 0;
  for (int which = 0; which < 3; ++which) {
    const coppice::Row row = RowAtEnds(model->schema(), which);
    if (!model->schema().Validate(row).ok()) continue;
    const coppice::Prediction prediction = model->Predict(row);
    for (const double probability : prediction.probabilities) {
      Require(std::isfinite(probability), "a probability is not finite");
    }
    (void)coppice::Confidence(prediction);
    Require(coppice::Explain(*model, row).trees.size() == model->forest().size(),
            "a tree is not explained");
  }
  (void)coppice::CheckCertificate(model->certificate());
  return 0;
}
