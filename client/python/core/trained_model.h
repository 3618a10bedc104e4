// A model as Python holds it: what predicts, and the message that it came from.

#ifndef COPPICE_CLIENT_PYTHON_CORE_TRAINED_MODEL_H_
#define COPPICE_CLIENT_PYTHON_CORE_TRAINED_MODEL_H_

#include <memory>

#include "common/model/model.h"
#include "coppice/v1/model.pb.h"

namespace coppice::python {

// The message holds what the model has not: its name, where it is from, and who signed it.
struct TrainedModel {
  std::shared_ptr<const Model> model;
  v1::Model message;
};

// Wraps a model that no curator has a record of.
TrainedModel WithoutRecord(Model model);

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_TRAINED_MODEL_H_
