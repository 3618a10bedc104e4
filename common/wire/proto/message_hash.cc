#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/model_signature.h"

namespace coppice {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Hashes canonical bytes as they are made: those of a large model are never all in memory.
class CanonicalStream {
 public:
  void AddNumber(uint64_t number) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      pending_.push_back(static_cast<char>((number >> shift) & 0xff));
    }
    if (pending_.size() >= kPiece) Flush();
  }

  void AddDouble(double number) {
    if (std::isnan(number)) number = std::numeric_limits<double>::quiet_NaN();
    AddNumber(number == 0 ? 0 : std::bit_cast<uint64_t>(number));
  }

  void AddText(const std::string& text) {
    AddNumber(text.size());
    pending_ += text;
  }

  Sha256Digest Finish() {
    Flush();
    return hash_.Finish();
  }

 private:
  static constexpr size_t kPiece = size_t{1} << 16;

  void Flush() {
    hash_.Add(pending_);
    pending_.clear();
  }

  Sha256Stream hash_;
  std::string pending_;
};

// The values of one field of a message: `at` is a position in a repeated field.
class FieldValues {
 public:
  FieldValues(const Message& message, const FieldDescriptor& field)
      : message_(message), reflection_(*message.GetReflection()), field_(field) {}

  int size() const {
    if (field_.is_repeated()) return reflection_.FieldSize(message_, &field_);
    if (field_.has_presence()) return reflection_.HasField(message_, &field_) ? 1 : 0;
    return IsDefault() ? 0 : 1;
  }

  int64_t Integer(int at) const {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return Get(&Reflection::GetBool, &Reflection::GetRepeatedBool, at) ? 1 : 0;
      case FieldDescriptor::CPPTYPE_ENUM:
        return Get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue, at);
      case FieldDescriptor::CPPTYPE_INT32:
        return Get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32, at);
      case FieldDescriptor::CPPTYPE_UINT32:
        return Get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32, at);
      case FieldDescriptor::CPPTYPE_UINT64:
        return static_cast<int64_t>(
            Get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64, at));
      default:
        return Get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64, at);
    }
  }
  double Double(int at) const {
    return field_.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT
               ? Get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat, at)
               : Get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble, at);
  }
  std::string Text(int at) const {
    return Get(&Reflection::GetString, &Reflection::GetRepeatedString, at);
  }
  const Message& Part(int at) const {
    return field_.is_repeated() ? reflection_.GetRepeatedMessage(message_, &field_, at)
                                : reflection_.GetMessage(message_, &field_);
  }

  bool IsFraction() const {
    return field_.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
           field_.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
  }
  bool IsText() const { return field_.cpp_type() == FieldDescriptor::CPPTYPE_STRING; }
  bool IsMessage() const { return field_.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }

 private:
  template <typename Value>
  Value Get(Value (Reflection::*one)(const Message&, const FieldDescriptor*) const,
            Value (Reflection::*of_many)(const Message&, const FieldDescriptor*, int) const,
            int at) const {
    return field_.is_repeated() ? (reflection_.*of_many)(message_, &field_, at)
                                : (reflection_.*one)(message_, &field_);
  }

  bool IsDefault() const {
    if (IsText()) return Text(0).empty();
    return IsFraction() ? Double(0) == 0 : Integer(0) == 0;
  }

  const Message& message_;
  const Reflection& reflection_;
  const FieldDescriptor& field_;
};

std::vector<const FieldDescriptor*> FieldsByNumber(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    fields.push_back(message.GetDescriptor()->field(i));
  }
  std::sort(fields.begin(), fields.end(), [](const FieldDescriptor* a, const FieldDescriptor* b) {
    return a->number() < b->number();
  });
  return fields;
}

Status AddMessage(const Message& message, absl::Span<const int> without, CanonicalStream& stream);

Status AddField(const FieldValues& values, int number, CanonicalStream& stream) {
  const int size = values.size();
  if (size == 0) return OkStatus();
  stream.AddNumber(static_cast<uint64_t>(number));
  stream.AddNumber(static_cast<uint64_t>(size));
  for (int i = 0; i < size; ++i) {
    if (values.IsMessage()) {
      COPPICE_RETURN_IF_ERROR(AddMessage(values.Part(i), {}, stream));
    } else if (values.IsText()) {
      stream.AddText(values.Text(i));
    } else if (values.IsFraction()) {
      stream.AddDouble(values.Double(i));
    } else {
      stream.AddNumber(static_cast<uint64_t>(values.Integer(i)));
    }
  }
  return OkStatus();
}

Status AddMessage(const Message& message, absl::Span<const int> without, CanonicalStream& stream) {
  if (!message.GetReflection()->GetUnknownFields(message).empty()) {
    return FieldError(message.GetDescriptor()->name(),
                      "has fields that this version does not know");
  }
  for (const FieldDescriptor* field : FieldsByNumber(message)) {
    if (std::find(without.begin(), without.end(), field->number()) != without.end()) continue;
    COPPICE_RETURN_IF_ERROR(AddField(FieldValues(message, *field), field->number(), stream));
  }
  stream.AddNumber(0);
  return OkStatus();
}

}  // namespace

StatusOr<Sha256Digest> HashMessage(const Message& message, absl::Span<const int> without) {
  CanonicalStream stream;
  COPPICE_RETURN_IF_ERROR(AddMessage(message, without, stream));
  return stream.Finish();
}

}  // namespace coppice
