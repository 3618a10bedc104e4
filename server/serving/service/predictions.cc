#include "server/serving/service/predictions.h"

#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/model/explain.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"

namespace coppice::service {
namespace {

constexpr size_t kQuickLookUps = 1024;  // rows times trees, about 0.1 µs each

bool NamesEndpoint(const std::string& name) { return StartsWith(name, StrCat(kEndpoints, "/")); }

StatusOr<std::string> ModelIdIn(const std::string& name) {
  StatusOr<std::string> id = ParseName(kModels, name);
  if (id.ok()) return id;
  return InField(
      "name", InvalidArgumentError(StrCat(id.status().message(), "; or \"", kEndpoints, "/ID\"")));
}

Status ExplainRow(const Model& model, Explainer& explainer, RowView row,
                  const v1::PredictRequest& request, size_t& bytes, v1::PredictResponse& response) {
  v1::Explanation& added = *response.add_explanations();
  added = ToProto(explainer.Explain(row, request.explain_trees()), model.tree_schema());
  bytes += added.ByteSizeLong();
  if (bytes <= kMaxExplanationBytes) return OkStatus();
  return FieldError("explain", StrCat("would take more than ", kMaxExplanationBytes,
                                      " bytes; ask for fewer rows, or set explain_trees"));
}

}  // namespace

StatusOr<std::shared_ptr<const models::ServedModel>> FindModel(const models::Models& models,
                                                               const models::Endpoints& endpoints,
                                                               const std::string& name) {
  if (NamesEndpoint(name)) {
    COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, name));
    return endpoints.Serving(id);
  }
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ModelIdIn(name));
  COPPICE_ASSIGN_OR_RETURN(models::ModelInfo model, models.Get(id));
  return std::make_shared<const models::ServedModel>(
      models::ServedModel{.model = std::move(model)});
}

StatusOr<std::shared_ptr<const models::ServedModel>> FindModelInMemory(
    const models::Models& models, const models::Endpoints& endpoints, const std::string& name) {
  if (NamesEndpoint(name)) {
    COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, name));
    return endpoints.ServingFromMemory(id);
  }
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ModelIdIn(name));
  COPPICE_RETURN_IF_ERROR(models.Describe(id).status());
  std::optional<models::ModelInfo> model = models.GetFromMemory(id);
  if (!model.has_value()) return nullptr;
  return std::make_shared<const models::ServedModel>(
      models::ServedModel{.model = *std::move(model)});
}

Status CheckRowCount(const Rows& rows, int most) {
  if (rows.size() >= 1 && rows.size() <= most) return OkStatus();
  return FieldError("rows", StrCat("must be 1 to ", most, " in one request, are ", rows.size()));
}

bool IsQuick(const Model& model, const Rows& rows) {
  return static_cast<size_t>(rows.size()) * model.forest().size() <= kQuickLookUps;
}

Status PredictRows(const Model& model, const Rows& rows, Predictions& predictions) {
  predictions.Reserve(rows.size());
  for (int i = 0; i < rows.size(); ++i) {
    const StatusOr<Row> row = ParseRow(rows[i], model.schema());
    if (!row.ok()) return InField(ElementName("rows", i), row.status());
    *predictions.Add() = ToProto(model.Predict(*row));
  }
  return OkStatus();
}

Status AnswerPredict(const models::ServedModel& served, const v1::PredictRequest& request,
                     v1::PredictResponse& response) {
  const Model& model = *served.model.model;
  SetAnsweringModel(served, response);
  COPPICE_RETURN_IF_ERROR(PredictRows(model, request.rows(), *response.mutable_predictions()));
  if (!request.explain()) return OkStatus();
  Explainer explainer(model);
  size_t bytes = 0;
  for (const v1::Row& row : request.rows()) {
    const Row values(row.values().begin(), row.values().end());
    COPPICE_RETURN_IF_ERROR(ExplainRow(model, explainer, values, request, bytes, response));
  }
  return OkStatus();
}

std::shared_ptr<PredictionStream> PredictionStream::Start(const models::Models& models,
                                                          const models::Endpoints& endpoints,
                                                          const ResourceGuard& guard, Caller caller,
                                                          StreamCall& call) {
  // The private constructor is out of make_shared's reach.
  std::shared_ptr<PredictionStream> stream(
      new PredictionStream(models, endpoints, guard, std::move(caller), call));
  call.Read();
  return stream;
}

void PredictionStream::OnMessage() {
  const StatusOr<bool> quick = Begin();
  if (!quick.ok()) return call_.End(quick.status());
  if (*quick) return AnswerAndGoOn();
  const Status queued = call_.RunOnLane([this] { AnswerAndGoOn(); });
  if (!queued.ok()) call_.End(queued);
}

StatusOr<bool> PredictionStream::Begin() {
  const MutexLock lock(mutex_);
  response_.Clear();
  COPPICE_RETURN_IF_ERROR(call_.ParseTo(request_));
  if (!answered_) {
    name_ = request_.name();
    COPPICE_RETURN_IF_ERROR(guard_.Admit(caller_, request_).status());
    COPPICE_ASSIGN_OR_RETURN(served_, FindModelInMemory(models_, endpoints_, name_));
  } else if (!request_.name().empty() && request_.name() != name_) {
    return FieldError("name", "must be the same in all of a stream, or set in the first request");
  }
  COPPICE_RETURN_IF_ERROR(CheckRowCount(request_.rows(), kMaxRowsPerPredict));
  return served_ != nullptr && IsQuick(*served_->model.model, request_.rows());
}

void PredictionStream::AnswerAndGoOn() {
  const Status answered = Answer();
  if (!answered.ok()) call_.End(answered);
}

Status PredictionStream::Answer() {
  const MutexLock lock(mutex_);
  if (served_ == nullptr) {
    COPPICE_ASSIGN_OR_RETURN(served_, FindModel(models_, endpoints_, name_));
  }
  if (!std::exchange(answered_, true)) SetAnsweringModel(*served_, response_);
  COPPICE_RETURN_IF_ERROR(
      PredictRows(*served_->model.model, request_.rows(), *response_.mutable_predictions()));
  return call_.Write(response_);
}

void PredictionStream::OnWritten(bool sent) {
  if (!sent) return call_.End(CancelledError());
  call_.Read();
}

}  // namespace coppice::service
