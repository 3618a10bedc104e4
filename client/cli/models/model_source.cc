#include "client/cli/models/model_source.h"

#include <grpcpp/channel.h>

#include <utility>

#include "absl/time/clock.h"
#include "client/cli/terminal/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/text.h"
#include "common/model/explain.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_file.h"
#include "coppice/v1/model.grpc.pb.h"

namespace coppice::cli {
namespace {

class LocalSource final : public ModelSource {
 public:
  LocalSource(std::string id, Model model)
      : ModelSource(std::move(id), std::make_shared<const Schema>(model.schema()),
                    LeavesAreTerms(model)),
        model_(std::move(model)) {}

  Status Predict(const v1::StreamPredictionsRequest& request,
                 v1::StreamPredictionsResponse& response) override {
    return PredictRows(request.rows(), *response.mutable_predictions());
  }

  Status Explain(v1::PredictRequest request, v1::PredictResponse& response) override {
    COPPICE_RETURN_IF_ERROR(PredictRows(request.rows(), *response.mutable_predictions()));
    Explainer explainer(model_);
    for (const v1::Row& row : request.rows()) {
      const Row values(row.values().begin(), row.values().end());
      *response.add_explanations() =
          ToProto(explainer.Explain(values, request.explain_trees()), model_.tree_schema());
    }
    return OkStatus();
  }

 private:
  Status PredictRows(const google::protobuf::RepeatedPtrField<v1::Row>& rows,
                     google::protobuf::RepeatedPtrField<v1::Prediction>& predictions) const {
    for (const v1::Row& proto : rows) {
      COPPICE_ASSIGN_OR_RETURN(const Row row, ParseRow(proto, *schema()));
      *predictions.Add() = ToProto(model_.Predict(row));
    }
    return OkStatus();
  }

  const Model model_;
};

class RemoteSource final : public ModelSource {
 public:
  RemoteSource(Remote remote, std::string id, std::shared_ptr<const Schema> schema,
               bool leaves_are_terms, absl::Duration timeout)
      : ModelSource(std::move(id), std::move(schema), leaves_are_terms),
        remote_(std::move(remote)),
        stub_(v1::ModelService::NewStub(remote_.channel())),
        timeout_(timeout) {}

  ~RemoteSource() override { CloseStream().IgnoreError(); }

  Status Predict(const v1::StreamPredictionsRequest& request,
                 v1::StreamPredictionsResponse& response) override {
    if (stream_ != nullptr && absl::Now() - opened_ > timeout_ / 2) {
      COPPICE_RETURN_IF_ERROR(CloseStream());
    }
    if (stream_ == nullptr) {
      opened_ = absl::Now();
      context_ = std::make_unique<grpc::ClientContext>();
      context_->set_deadline(absl::ToChronoTime(opened_ + timeout_));
      stream_ = stub_->StreamPredictions(context_.get());
    }
    if (stream_->Write(request) && stream_->Read(&response)) return OkStatus();
    const Status why = CloseStream();
    return why.ok() ? DataLossError("the curator ended the stream without an answer") : why;
  }

  Status Explain(v1::PredictRequest request, v1::PredictResponse& response) override {
    request.set_name(MakeName(kModels, id()));
    COPPICE_ASSIGN_OR_RETURN(response, remote_.Call<v1::PredictResponse>(request));
    return OkStatus();
  }

 private:
  Status CloseStream() {
    if (stream_ == nullptr) return OkStatus();
    stream_->WritesDone();
    const grpc::Status status = stream_->Finish();
    stream_.reset();
    context_.reset();
    return remote_.StatusOf(status);
  }

  const Remote remote_;
  const std::unique_ptr<v1::ModelService::Stub> stub_;
  const absl::Duration timeout_;
  absl::Time opened_;
  std::unique_ptr<grpc::ClientContext> context_;  // must outlive the stream
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::StreamPredictionsRequest, v1::StreamPredictionsResponse>>
      stream_;
};

// Returns the id of the model that the endpoint serves now.
StatusOr<std::string> ServedBy(const Remote& remote, const std::string& endpoint) {
  v1::GetEndpointRequest request;
  request.set_name(MakeName(kEndpoints, endpoint));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::GetEndpointResponse>(request));
  if (response.endpoint().versions().empty()) {
    return DataLossError(StrCat("the endpoint ", endpoint, " serves nothing"));
  }
  const v1::EndpointVersion& version = *response.endpoint().versions().rbegin();
  Note(StrCat("endpoint ", endpoint, " serves version ", version.number(), ", model ",
              IdOf(version.model())));
  return IdOf(version.model());
}

StatusOr<std::unique_ptr<ModelSource>> OpenFile(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(const v1::Model proto, ReadModelFile(path));
  StatusOr<Model> model = ParseModel(proto);
  if (!model.ok()) {
    return InvalidArgumentError(StrCat(path, ": ", model.status().message()));
  }
  return std::make_unique<LocalSource>(IdOf(proto.name()), *std::move(model));
}

}  // namespace

StatusOr<v1::Model> GetModel(const Remote& remote, const std::string& id) {
  v1::GetModelRequest request;
  request.set_name(MakeName(kModels, id));
  COPPICE_ASSIGN_OR_RETURN(auto response, remote.Call<v1::GetModelResponse>(request));
  if (response.model().name() == request.name()) return std::move(*response.mutable_model());
  return DataLossError(StrCat("the curator sent a different model instead of ", id));
}

void AddModelFlags(const Command& verb, ModelFlags& flags) {
  AddIdFlag(verb, "--model", flags.model, "Id of the model");
  AddOutputFlags(verb, flags.output);
  AddServerFlags(verb, flags.server);
}

void AddModelOrFileFlags(const Command& verb, const std::shared_ptr<ModelOrFileFlags>& flags) {
  const Flag model =
      AddIdFlag(verb, "--model", flags->model, "Id of the model", /*required=*/false);
  const Flag file =
      verb.Add("--file", flags->file, "Instead: a file that `model export` wrote; - is stdin")
          .Takes("FILE")
          .Excludes(model);
  AddOutputFlags(verb, flags->output);
  const Flag server = AddServerFlags(verb, flags->server).Required(false);
  verb.CheckFlags([model, file, server] {
    if (!model.IsGiven() && !file.IsGiven()) {
      return InvalidArgumentError("--model or --file is required");
    }
    if (model.IsGiven() && !server.IsGiven()) {
      return server.MissingError();
    }
    return OkStatus();
  });
}

StatusOr<v1::Model> GetModel(const ModelOrFileFlags& flags) {
  if (!flags.file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const std::string path, InputFile(flags.file));
    return ReadModelFile(path);
  }
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  return GetModel(remote, flags.model);
}

void AddSourceFlags(const Command& verb, const std::shared_ptr<SourceFlags>& flags) {
  AddIdFlag(verb, "--model", flags->model, "Id of the model", /*required=*/false);
  AddIdFlag(verb, "--endpoint", flags->endpoint,
            "Instead: an endpoint, for the model that it serves when the command begins",
            /*required=*/false);
  verb.Add("--file", flags->file,
           "Instead: a file that `model export` wrote. Predictions are made here, and the rows are "
           "not sent")
      .Takes("FILE");
  const Flag server = AddServerFlags(verb, flags->server).Required(false);
  verb.CheckFlags([flags, server] {
    const int named = static_cast<int>(!flags->model.empty()) +
                      static_cast<int>(!flags->endpoint.empty()) +
                      static_cast<int>(!flags->file.empty());
    if (named != 1) {
      return InvalidArgumentError("One of --model, --endpoint and --file is required");
    }
    if (flags->file.empty() && !server.IsGiven()) {
      return server.MissingError();
    }
    return OkStatus();
  });
}

StatusOr<std::unique_ptr<ModelSource>> ModelSource::Open(const SourceFlags& flags) {
  if (!flags.file.empty()) return OpenFile(flags.file);
  COPPICE_ASSIGN_OR_RETURN(Remote remote, Remote::Connect(flags.server));
  std::string id = flags.model;
  if (!flags.endpoint.empty()) {
    COPPICE_ASSIGN_OR_RETURN(id, ServedBy(remote, flags.endpoint));
  }
  COPPICE_ASSIGN_OR_RETURN(const v1::Model model, GetModel(remote, id));
  COPPICE_RETURN_IF_ERROR(CheckReadable(model));
  COPPICE_ASSIGN_OR_RETURN(Schema schema, ParseSchema(model.schema()));
  return std::make_unique<RemoteSource>(
      std::move(remote), std::move(id), std::make_shared<const Schema>(std::move(schema)),
      LeavesAreTerms(static_cast<LeafKind>(model.leaf_kind()), model.forest().trees_size()),
      flags.server.Wait());
}

}  // namespace coppice::cli
