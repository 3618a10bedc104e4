#include "server/serving/reports/submit_request.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <string_view>
#include <tuple>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/field_error.h"
#include "coppice/v1/report.pb.h"

namespace coppice::service {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using Slice = curator::ReportBatch::Slice;

constexpr uint32_t BytesTag(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

// Reads a message, or part of one, from contiguous bytes.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes)
      : bytes_(bytes),
        input_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  // Returns 0 at the end and on bytes that are no message; AtEnd() tells which.
  uint32_t ReadTag() { return input_.ReadTag(); }
  bool AtEnd() { return input_.ConsumedEntireMessage(); }
  bool Skip(uint32_t tag) { return WireFormatLite::SkipField(&input_, tag); }

  // Finds the bytes of a field and skips them.
  bool ReadSlice(Slice& slice) {
    int size = 0;
    if (!input_.ReadVarintSizeAsInt(&size)) return false;
    slice = {.begin = static_cast<uint32_t>(input_.CurrentPosition()),
             .size = static_cast<uint32_t>(size)};
    return input_.Skip(size);
  }

  std::string Text(Slice slice) const {
    return std::string(bytes_.substr(slice.begin, slice.size));
  }

  bool ReadReport(curator::ReportBatch& reports) {
    int size = 0;
    // A limit beyond the end would have no effect.
    if (!input_.ReadVarintSizeAsInt(&size) || size > BytesLeft()) return false;
    const CodedInputStream::Limit limit = input_.PushLimit(size);
    Slice ticket, payload, public_values;
    while (const uint32_t tag = ReadTag()) {
      bool read = false;
      if (tag == BytesTag(v1::Report::kTicketFieldNumber)) {
        read = ReadSlice(ticket);
      } else if (tag == BytesTag(v1::Report::kPayloadFieldNumber)) {
        read = ReadSlice(payload);
      } else if (tag == BytesTag(v1::Report::kPublicValuesFieldNumber)) {
        read = ReadSlice(public_values);
      } else {
        read = Skip(tag);
      }
      if (!read) return false;
    }
    if (!input_.CheckEntireMessageConsumedAndPopLimit(limit)) return false;
    reports.AddSlices(ticket, payload, public_values);
    return true;
  }

 private:
  int BytesLeft() const { return static_cast<int>(bytes_.size()) - input_.CurrentPosition(); }

  const std::string_view bytes_;
  CodedInputStream input_;
};

Status NoSuchMessage() { return InvalidArgumentError("the request is no StreamReportsRequest"); }

}  // namespace

StatusOr<StreamRequest> ParseStreamRequest(std::string message) {
  StreamRequest request;
  request.reports = curator::ReportBatch(std::move(message));
  MessageReader reader(request.reports.block());
  while (const uint32_t tag = reader.ReadTag()) {
    Slice text;
    bool read = false;
    if (tag == BytesTag(v1::StreamReportsRequest::kReportsFieldNumber)) {
      read = reader.ReadReport(request.reports);
    } else if (tag == BytesTag(v1::StreamReportsRequest::kStudyFieldNumber)) {
      read = reader.ReadSlice(text);
      if (read) request.study = reader.Text(text);
    } else if (tag == BytesTag(v1::StreamReportsRequest::kFingerprintFieldNumber)) {
      read = reader.ReadSlice(text);
      if (read) request.fingerprint = reader.Text(text);
    } else {
      read = reader.Skip(tag);
    }
    if (!read) return NoSuchMessage();
    if (request.reports.size() > kMaxReportsPerRequest) {
      return InvalidArgumentError(
          StrCat("reports: must be 1 to ", kMaxReportsPerRequest, " in one request"));
    }
  }
  if (!reader.AtEnd()) return NoSuchMessage();
  return request;
}

StatusOr<SubmitRequest> ParseSubmitRequest(
    const std::string& study_name, const std::string& fingerprint,
    const google::protobuf::RepeatedPtrField<v1::Report>& protos) {
  curator::ReportBatch reports;
  size_t bytes = 0;
  for (const v1::Report& proto : protos) {
    bytes += proto.ticket().size() + proto.payload().size() + proto.public_values().size();
  }
  reports.Reserve(static_cast<size_t>(protos.size()), bytes);
  for (const v1::Report& proto : protos) {
    reports.Add(proto.ticket(), proto.payload(), proto.public_values());
  }
  return MakeSubmitRequest(study_name, fingerprint, std::move(reports));
}

StatusOr<SubmitRequest> MakeSubmitRequest(const std::string& study_name,
                                          const std::string& fingerprint,
                                          curator::ReportBatch reports) {
  const StatusOr<std::string> study = ParseName(kStudies, study_name);
  if (!study.ok()) return InField("study", study.status());
  if (fingerprint.size() != std::tuple_size_v<Fingerprint>) {
    return FieldError("fingerprint", StrCat("must have ", std::tuple_size_v<Fingerprint>,
                                            " bytes, has ", fingerprint.size()));
  }
  if (reports.empty() || reports.size() > kMaxReportsPerRequest) {
    return FieldError("reports", StrCat("must be 1 to ", kMaxReportsPerRequest,
                                        " in one request, are ", reports.size()));
  }
  return SubmitRequest{.study = *study, .fingerprint = fingerprint, .reports = std::move(reports)};
}

void SetOutcomes(absl::Span<const curator::ReportOutcome> outcomes,
                 google::protobuf::RepeatedField<int>& protos) {
  protos.Reserve(static_cast<int>(outcomes.size()));
  for (const curator::ReportOutcome outcome : outcomes) protos.Add(static_cast<int>(outcome));
}

Status SubmitError(const Status& status) {
  if (status.code() != StatusCode::kUnavailable &&
      status.code() != StatusCode::kResourceExhausted) {
    return status;
  }
  return Status(status.code(), StrCat(status.message(), "; the same bytes may be sent again"));
}

}  // namespace coppice::service
