// The model that a command uses, and its answers to rows: from the curator, over one stream of
// predictions, or from a file, locally, so that nobody else sees the rows.

#ifndef COPPICE_CLIENT_CLI_MODELS_MODEL_SOURCE_H_
#define COPPICE_CLIENT_CLI_MODELS_MODEL_SOURCE_H_

#include <memory>
#include <string>

#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {

// Gets "models/ID" from the curator.
StatusOr<v1::Model> GetModel(const Remote& remote, const std::string& id);

struct ModelFlags {
  ServerFlags server;
  OutputFlags output;
  std::string model;
};

// Adds --model, --json, and the connection's flags.
void AddModelFlags(const Command& verb, ModelFlags& flags);

struct ModelOrFileFlags : ModelFlags {
  std::string file;  // instead of `model`
};

// Adds --model, --file, --json, and the connection's flags, which --file does not need.
void AddModelOrFileFlags(const Command& verb, const std::shared_ptr<ModelOrFileFlags>& flags);
// Gets the model from the curator or from the file; it is not checked.
StatusOr<v1::Model> GetModel(const ModelOrFileFlags& flags);

struct SourceFlags {
  ServerFlags server;
  std::string model, endpoint, file;  // exactly one is set
};

// Adds --model, --endpoint, --file, and the connection's flags.
void AddSourceFlags(const Command& verb, const std::shared_ptr<SourceFlags>& flags);

// Answers rows with one model. An endpoint resolves to the model that it serves when the command
// begins. Over a stream each batch is answered before the next is sent; a new stream begins when
// half of --timeout has passed, so that each batch has the other half to be answered.
//
// Errors     those of the curator; DataLoss if an answer has another number of rows, or classes
//            that the schema does not have.
// Threads    not thread-safe.
class ModelSource {
 public:
  static StatusOr<std::unique_ptr<ModelSource>> Open(const SourceFlags& flags);
  virtual ~ModelSource() = default;

  const std::string& id() const { return id_; }
  const std::shared_ptr<const Schema>& schema() const { return schema_; }
  // Whether a leaf holds a term of the answer, which no tree gives alone.
  bool leaves_are_terms() const { return leaves_are_terms_; }

  // Fills `response` with one prediction per row of `request`; checks it against the schema.
  virtual Status Predict(const v1::StreamPredictionsRequest& request,
                         v1::StreamPredictionsResponse& response) = 0;
  // Answers a whole request at once, without a stream.
  virtual Status Explain(v1::PredictRequest request, v1::PredictResponse& response) = 0;

 protected:
  ModelSource(std::string id, std::shared_ptr<const Schema> schema, bool leaves_are_terms)
      : id_(std::move(id)), schema_(std::move(schema)), leaves_are_terms_(leaves_are_terms) {}

 private:
  std::string id_;
  std::shared_ptr<const Schema> schema_;
  bool leaves_are_terms_;
};

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_MODELS_MODEL_SOURCE_H_
