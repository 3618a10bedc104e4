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

Status NoSuchMessage() { return InvalidArgumentError("the bytes are no SealedReports"); }

// What a message says of all its reports.
struct CommonFields {
  std::string study_name;
  std::string fingerprint;
};

Status ReadFields(curator::ReportBatch& reports, CommonFields& common) {
  MessageReader reader(reports.block());
  while (const uint32_t tag = reader.ReadTag()) {
    Slice text;
    bool read = false;
    if (tag == BytesTag(v1::SealedReports::kReportsFieldNumber)) {
      read = reader.ReadReport(reports);
    } else if (tag == BytesTag(v1::SealedReports::kStudyFieldNumber)) {
      read = reader.ReadSlice(text);
      if (read) common.study_name = reader.Text(text);
    } else if (tag == BytesTag(v1::SealedReports::kFingerprintFieldNumber)) {
      read = reader.ReadSlice(text);
      if (read) common.fingerprint = reader.Text(text);
    } else {
      read = reader.Skip(tag);
    }
    if (!read) return NoSuchMessage();
    if (reports.size() > kMaxReportsPerRequest) {
      return FieldError("reports", StrCat("must be 1 to ", kMaxReportsPerRequest));
    }
  }
  return reader.AtEnd() ? OkStatus() : NoSuchMessage();
}

std::string_view TextInClear(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return "the message opens, but does not hold what docs/protocol.md says: a study's name, a "
             "fingerprint of 32 bytes, and 1 to 1000 reports";
    case StatusCode::kFailedPrecondition:
      return "the reports' study takes reports from its relay alone: answer it through the relay";
    case StatusCode::kUnavailable:
      return "the reports could not be stored; the same reports may be sent again, sealed anew";
    case StatusCode::kResourceExhausted:
      return "too many reports are coming; the same reports may be sent again, sealed anew";
    default:
      return "the reports could not be judged";
  }
}

}  // namespace

StatusOr<SubmitRequest> ReadSealedReports(std::string content) {
  curator::ReportBatch reports(std::move(content));
  CommonFields common;
  COPPICE_RETURN_IF_ERROR(ReadFields(reports, common));
  const StatusOr<std::string> study = ParseName(kStudies, common.study_name);
  if (!study.ok()) return InField("study", study.status());
  if (common.fingerprint.size() != std::tuple_size_v<Fingerprint>) {
    return FieldError("fingerprint", StrCat("must have ", std::tuple_size_v<Fingerprint>,
                                            " bytes, has ", common.fingerprint.size()));
  }
  if (reports.empty()) return FieldError("reports", "must be 1 to 1000 in one message, are none");
  return SubmitRequest{
      .study = *study, .fingerprint = std::move(common.fingerprint), .reports = std::move(reports)};
}

std::string OutcomeBytes(absl::Span<const curator::ReportOutcome> outcomes) {
  std::string bytes;
  bytes.reserve(outcomes.size());
  for (const curator::ReportOutcome outcome : outcomes) {
    bytes.push_back(static_cast<char>(outcome));
  }
  return bytes;
}

Status ErrorInClear(const Status& status) {
  return status.ok() ? status : Status(status.code(), TextInClear(status.code()));
}

}  // namespace coppice::service
