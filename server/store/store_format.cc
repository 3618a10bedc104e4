#include "server/store/store_format.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <set>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/store/store_record.h"

namespace coppice::storage {
namespace {

void SetFormat(uint32_t format, StoreBatch& batch) {
  batch.Put(std::string(kFormatKey), StrCat(format));
}

template <typename Record>
bool Parse(std::string_view bytes, Record& record) {
  return record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// From 4 to 5. Leaves a record that does not parse as it is: its loader names the key, and a
// repair, which takes this step too, puts it into quarantine.
Status MoveStudySettings(const Store& store, StoreBatch& batch) {
  return store.Scan("study/", [&](std::string_view key, std::string_view bytes) {
    v1::StudyRecord record;
    v1::StudySettingsOfFormat4 before;
    if (!Parse(bytes, record) || !Parse(bytes, before)) return OkStatus();
    record.DiscardUnknownFields();  // their old fields
    v1::StudySettings& settings = *record.mutable_settings();
    settings.set_min_reports(before.min_reports());
    settings.set_expires_unix_seconds(before.expires_unix_seconds());
    settings.set_retention_days(before.retention_days());
    settings.set_require_submission_token(before.require_submission_token());
    batch.Put(std::string(key), record.SerializeAsString());
    return OkStatus();
  });
}

// Reads a model's fields except the large ones, so that a model that would not fit into memory can
// be listed, served to nobody, and deleted. False if the record does not parse.
bool ParseWithoutTrees(std::string_view bytes, v1::Model& model) {
  using google::protobuf::internal::WireFormatLite;
  static const auto* const kept = new std::set<int>{
      v1::Model::kNameFieldNumber, v1::Model::kStudyFieldNumber, v1::Model::kJobFieldNumber,
      v1::Model::kCreatedUnixSecondsFieldNumber, v1::Model::kCertificateFieldNumber};
  std::string small;
  {
    google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
    google::protobuf::io::CodedInputStream input(&array);
    google::protobuf::io::StringOutputStream string(&small);
    google::protobuf::io::CodedOutputStream output(&string);
    while (const uint32_t tag = input.ReadTag()) {
      const bool is_kept = kept->contains(WireFormatLite::GetTagFieldNumber(tag));
      const bool read = is_kept ? WireFormatLite::SkipField(&input, tag, &output)
                                : WireFormatLite::SkipField(&input, tag);
      if (!read) return false;
    }
    if (!input.ConsumedEntireMessage()) return false;
  }
  return Parse(small, model);
}

// From 6 to 7. A model that does not parse gets no summary: nobody sees it, `coppiced check` names
// it, and an endpoint that serves it keeps the daemon from starting, as before.
Status AddModelSummaries(const Store& store, StoreBatch& batch) {
  const auto add = [&](std::string_view key, std::string_view bytes) {
    v1::ModelSummaryRecord record;
    if (!ParseWithoutTrees(bytes, *record.mutable_model())) return OkStatus();
    record.set_bytes(bytes.size());
    batch.Put(StrCat("summary/", key), record.SerializeAsString());
    return OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(store.Scan("model/", add));
  return store.Scan("trained/", add);
}

}  // namespace

absl::Span<const FormatStep> FormatSteps() {
  static const auto* const steps = new std::vector<FormatStep>{
      {.what = "ledgers may wait for their owner's word, and records be in quarantine"},
      {.what = "spent tickets are kept by their serials, and tickets issued before are refused"},
      {.what = "datasets may belong to who made them, and ledgers hold amounts written off"},
      {.what = "the settings of a study are one message", .change = MoveStudySettings},
      {.what = "studies and endpoints may belong to who made them"},
      {.what = "models have summaries, and the head of the audit log a sum of what waits",
       .change = AddModelSummaries},
  };
  return *steps;
}

StatusOr<std::optional<uint32_t>> ReadFormat(const Store& store,
                                             absl::Span<const FormatStep> steps) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                           store.Get(std::string(kFormatKey)));
  if (!text.has_value()) {
    COPPICE_RETURN_IF_ERROR(store.Scan("", [](std::string_view, std::string_view) {
      return CorruptRecord(kFormatKey, "is missing");
    }));
    return std::nullopt;
  }
  uint32_t format = 0;
  if (!SimpleAtoi(*text, &format) || format == 0) {
    return CorruptRecord(kFormatKey, "is not a number from 1 on");
  }
  if (format <= FormatOf(steps)) return format;
  return FailedPreconditionError(
      StrCat("the data directory was made by a newer version of Coppice (format ", format,
             ", this one reads up to ", FormatOf(steps), "): install that version"));
}

Status OpenFormat(Store& store,
                  absl::FunctionRef<void(uint32_t from, const FormatStep& step)> begin,
                  absl::Span<const FormatStep> steps) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<uint32_t> found, ReadFormat(store, steps));
  if (!found.has_value()) {
    StoreBatch batch;
    SetFormat(FormatOf(steps), batch);
    return store.Apply(batch);
  }
  for (uint32_t format = *found; format < FormatOf(steps); ++format) {
    const FormatStep& step = steps[format - 1];
    begin(format, step);
    StoreBatch batch;
    if (step.change != nullptr) COPPICE_RETURN_IF_ERROR(step.change(store, batch));
    SetFormat(format + 1, batch);
    COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  }
  return OkStatus();
}

Status OpenFormat(Store& store) {
  return OpenFormat(store, [](uint32_t, const FormatStep&) {});
}

}  // namespace coppice::storage
