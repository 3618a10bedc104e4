// Which model a command is about, and its answers to rows: by the curator, over one stream of
// predictions, or from a file, here, so that nobody else sees the rows.

#ifndef COPPICE_CLIENT_CLI_MODELS_MODEL_SOURCE_H_
#define COPPICE_CLIENT_CLI_MODELS_MODEL_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/remote.h"
#include "common/tree/model.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {

// "models/ID" of the curator's.
absl::StatusOr<v1::Model> GetModel(const Remote& remote, const std::string& id);

struct ModelFlags {
  ServerFlags server;
  OutputFlags output;
  std::string model;
};

// --model, --json, and those of the connection.
void AddModelFlags(const Command& verb, ModelFlags& flags);

struct ModelOrFileFlags : ModelFlags {
  std::string file;  // or `model`
};

// --model, --file, --json, and those of the connection, which --file does not need.
void AddModelOrFileFlags(const Command& verb, const std::shared_ptr<ModelOrFileFlags>& flags);
// The curator's, or that of the file; not checked.
absl::StatusOr<v1::Model> GetModel(const ModelOrFileFlags& flags);

struct SourceFlags {
  ServerFlags server;
  std::string model, endpoint, file;  // one of them
};

// --model, --endpoint, --file, and those of the connection.
void AddSourceFlags(const Command& verb, const std::shared_ptr<SourceFlags>& flags);

// An endpoint stands for the model that it serves when the command begins, to the end of the
// command. Over a stream each batch is answered before the next is sent; a new stream begins when
// half of --timeout has passed, so that each batch has the other half to be answered.
//
// Errors     those of the curator; DataLoss if an answer has another number of rows, or classes
//            that the schema does not have.
// Threads    one at a time.
class ModelSource {
 public:
  static absl::StatusOr<std::unique_ptr<ModelSource>> Open(const SourceFlags& flags);
  virtual ~ModelSource() = default;

  const std::string& id() const { return id_; }
  const std::shared_ptr<const Schema>& schema() const { return schema_; }
  // Whether a leaf holds a term of the answer, which no tree has alone.
  bool leaves_are_terms() const { return leaves_are_terms_; }

  // Fills `predictions` with one a row of `request`, which is checked by the schema.
  virtual absl::Status Predict(const v1::StreamPredictionsRequest& request,
                               v1::StreamPredictionsResponse& response) = 0;
  // The response to a whole request, without a stream.
  virtual absl::Status Explain(v1::PredictRequest request, v1::PredictResponse& response) = 0;

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
