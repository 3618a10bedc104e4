// coppice_device.h: models.

#include "common/model/model.h"

#include <memory>
#include <utility>

#include "client/device/c/coppice_device.h"
#include "client/device/c/handles.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/model.h"

using coppice::CopyOut;
using coppice::Guarded;

struct coppice_model {
  coppice::Model model;
  coppice_schema schema;
};

namespace coppice {
namespace {

coppice_prediction PredictionOf(const Model& model, const Prediction& from) {
  coppice_prediction prediction{};
  prediction.low = from.low;
  prediction.high = from.high;
  if (model.schema().target().has_value()) {
    prediction.number = from.value;
  } else {
    prediction.class_number = from.label;
    prediction.probability = from.probabilities[from.label];
  }
  return prediction;
}

}  // namespace
}  // namespace coppice

int32_t coppice_model_open(const uint8_t* bytes, size_t size, coppice_model** model,
                           coppice_error* error) {
  return Guarded(error, [&]() -> coppice::Status {
    if (model == nullptr) return coppice::InvalidArgumentError("where to put the model is missing");
    *model = nullptr;
    if (bytes == nullptr && size > 0) return coppice::InvalidArgumentError("the bytes are missing");
    COPPICE_ASSIGN_OR_RETURN(coppice::Model read,
                             coppice::ReadModel({reinterpret_cast<const char*>(bytes), size}));
    auto opened = std::make_unique<coppice_model>(coppice_model{std::move(read), {}});
    opened->schema = {.schema = &opened->model.schema(), .joined_by = nullptr};
    *model = opened.release();
    return coppice::OkStatus();
  });
}

void coppice_model_close(coppice_model* model) { delete model; }

const coppice_schema* coppice_model_schema(const coppice_model* model) {
  return model == nullptr ? nullptr : &model->schema;
}

int32_t coppice_model_new_row(const coppice_model* model, coppice_row** row, coppice_error* error) {
  return Guarded(error, [&]() -> coppice::Status {
    if (model == nullptr || row == nullptr) {
      return coppice::InvalidArgumentError("the model, or where to put the row, is missing");
    }
    *row = nullptr;
    *row = new coppice_row(coppice::EmptyRow(model->schema));
    return coppice::OkStatus();
  });
}

void coppice_row_clear(coppice_row* row) {
  if (row == nullptr) return;
  std::fill(row->values.row.begin(), row->values.row.end(), coppice::kMissingValue);
}

void coppice_row_close(coppice_row* row) { delete row; }

int32_t coppice_model_predict(const coppice_model* model, const coppice_row* row,
                              coppice_prediction* prediction, coppice_error* error) {
  return Guarded(error, [&]() -> coppice::Status {
    if (model == nullptr || row == nullptr || row->schema != &model->schema) {
      return coppice::InvalidArgumentError(
          "the model is missing, or the row is not one of its own");
    }
    const auto predicted =
        coppice::PredictionOf(model->model, model->model.Predict(row->values.row));
    return CopyOut(predicted, prediction)
               ? coppice::OkStatus()
               : coppice::InvalidArgumentError("the prediction is missing, or has no struct_size");
  });
}
