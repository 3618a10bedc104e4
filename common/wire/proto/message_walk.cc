#include "common/wire/proto/message_walk.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/fields.h"

namespace coppice {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;
using WireFormat = google::protobuf::internal::WireFormatLite;

constexpr int kMostNested = 100;       // where protobuf stops
constexpr size_t kAllocation = 16;     // what malloc adds to an object
constexpr size_t kPointer = 16;        // in a list of objects that grows by doubling
constexpr size_t kGrowth = 3;          // a list of numbers that doubles: the old one and the new
constexpr size_t kPackedGrowth = 2;    // one whose length is known
constexpr size_t kUnknownField = 128;  // an entry of protobuf's list, and its text

bool IsText(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}
bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

size_t BytesOfNumber(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return 1;
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_ENUM:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return 4;
    default:
      return 8;
  }
}

// What the walk asks about a field, looked up once: descriptors take a lock and a search.
struct Field;
struct Plan {
  size_t bytes = 0;           // of an empty message
  std::vector<Field> fields;  // by number; the numbers of ours are small

  const Field* Find(uint32_t number) const;
};
struct Field {
  const FieldDescriptor* descriptor = nullptr;  // null: there is no such field
  const Plan* message = nullptr;                // if it is one
  uint32_t wire_type = 0;                       // of one value
  size_t element_bytes = 0;
  bool repeated = false;
  bool is_text = false;
  bool packs = false;  // its values may come many in one
};

const Field* Plan::Find(uint32_t number) const {
  if (number >= fields.size() || fields[number].descriptor == nullptr) return nullptr;
  return &fields[number];
}

class Plans {
 public:
  static const Plan& Of(const Descriptor& type) {
    static Plans* const plans = new Plans;  // never destroyed: calls may outlive main()
    const MutexLock lock(plans->mutex_);
    return plans->Make(type);
  }

 private:
  const Plan& Make(const Descriptor& type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::unique_ptr<Plan>& plan = plans_[&type];
    if (plan != nullptr) return *plan;
    plan = std::make_unique<Plan>();  // found by a type that holds itself
    Plan& made = *plan;
    made.bytes = BytesOfMessage(type);
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& descriptor = *type.field(i);
      const auto number = static_cast<size_t>(descriptor.number());
      if (made.fields.size() <= number) made.fields.resize(number + 1);
      Field& field = made.fields[number];
      field.descriptor = &descriptor;
      field.repeated = descriptor.is_repeated();
      field.is_text = IsText(descriptor);
      field.packs = descriptor.is_packable();
      field.element_bytes = BytesOfElement(descriptor);
      field.wire_type =
          WireFormat::WireTypeForFieldType(static_cast<WireFormat::FieldType>(descriptor.type()));
      if (IsMessage(descriptor)) field.message = &Make(*descriptor.message_type());
    }
    return made;
  }

  Mutex mutex_;
  std::map<const Descriptor*, std::unique_ptr<Plan>> plans_ ABSL_GUARDED_BY(mutex_);
};

class WireWalk {
 public:
  explicit WireWalk(CodedInputStream& input) : input_(input) {}

  // To the end of the message that `plan` is of.
  Status Message(const Plan& plan, int depth) {
    if (depth > kMostNested) {
      return InvalidArgumentError(StrCat("the request is nested deeper than ", kMostNested));
    }
    uint64_t seen = 0;  // singular fields, by number
    while (const uint32_t tag = input_.ReadTag()) {
      const Field* field = plan.Find(tag >> 3);
      const uint32_t wire_type = tag & 7;
      const bool packed =
          field != nullptr && field->packs && wire_type == WireFormat::WIRETYPE_LENGTH_DELIMITED;
      if (field == nullptr || (wire_type != field->wire_type && !packed)) {
        COPPICE_RETURN_IF_ERROR(Unknown(tag));
        continue;
      }
      if (!field->repeated) COPPICE_RETURN_IF_ERROR(Once(*field->descriptor, seen));
      COPPICE_RETURN_IF_ERROR(Value(*field, tag, packed, depth));
    }
    return input_.ConsumedEntireMessage() ? OkStatus() : NoMessage();
  }

  size_t bytes() const { return bytes_; }
  void Add(size_t bytes) { bytes_ += bytes; }

 private:
  static Status NoMessage() { return InvalidArgumentError("the request does not parse"); }

  static Status Once(const FieldDescriptor& field, uint64_t& seen) {
    const uint64_t bit = uint64_t{1} << (field.number() & 63);
    if (field.number() < 64 && (seen & bit) != 0) {
      return InvalidArgumentError(StrCat("the field ", field.full_name(), " occurs twice"));
    }
    seen |= bit;
    return OkStatus();
  }

  Status Value(const Field& field, uint32_t tag, bool packed, int depth) {
    if (field.message == nullptr && !field.is_text && !packed) {
      bytes_ += field.repeated ? field.element_bytes * kGrowth : 0;
      return WireFormat::SkipField(&input_, tag) ? OkStatus() : NoMessage();
    }
    int size = 0;
    if (!input_.ReadVarintSizeAsInt(&size)) return NoMessage();
    if (packed) {
      const bool fixed = field.wire_type != WireFormat::WIRETYPE_VARINT;
      bytes_ += static_cast<size_t>(size) * (fixed ? kPackedGrowth : field.element_bytes * kGrowth);
    } else {
      bytes_ += field.element_bytes;
    }
    if (field.message != nullptr) {
      const CodedInputStream::Limit limit = input_.PushLimit(size);
      COPPICE_RETURN_IF_ERROR(Message(*field.message, depth + 1));
      const bool whole = input_.BytesUntilLimit() == 0;
      input_.PopLimit(limit);
      return whole ? OkStatus() : NoMessage();
    }
    if (field.is_text) bytes_ += static_cast<size_t>(size) + kAllocation;
    return input_.Skip(size) ? OkStatus() : NoMessage();
  }

  Status Unknown(uint32_t tag) {
    const uint32_t wire_type = tag & 7;
    if (wire_type == WireFormat::WIRETYPE_START_GROUP ||
        wire_type == WireFormat::WIRETYPE_END_GROUP) {
      return InvalidArgumentError("the request has a group, which no message of ours has");
    }
    if (++unknown_ > kMaxUnknownFields) {
      return InvalidArgumentError(StrCat("the request has more than ", kMaxUnknownFields,
                                         " fields that this version does not know"));
    }
    const int before = input_.CurrentPosition();
    if (!WireFormat::SkipField(&input_, tag)) return NoMessage();
    bytes_ += kUnknownField + static_cast<size_t>(input_.CurrentPosition() - before);
    return OkStatus();
  }

  CodedInputStream& input_;
  size_t bytes_ = 0;
  size_t unknown_ = 0;
};

}  // namespace

size_t BytesOfMessage(const Descriptor& type) {
  const google::protobuf::Message* const prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
  // A type without generated code is not parsed by us.
  return prototype == nullptr ? 0 : prototype->SpaceUsedLong() + kAllocation;
}

size_t BytesOfElement(const FieldDescriptor& field) {
  if (field.is_map()) return BytesOfMessage(*field.message_type()) + 4 * kPointer;
  if (IsMessage(field)) return BytesOfMessage(*field.message_type()) + kPointer;
  if (IsText(field)) return sizeof(std::string) + kAllocation + kPointer;
  return BytesOfNumber(field);
}

StatusOr<size_t> MeasureMessage(google::protobuf::io::ZeroCopyInputStream& bytes,
                                const Descriptor& type) {
  const Plan& plan = Plans::Of(type);
  CodedInputStream input(&bytes);
  WireWalk walk(input);
  walk.Add(plan.bytes);
  COPPICE_RETURN_IF_ERROR(walk.Message(plan, 0));
  return walk.bytes();
}

Status UnreadableRequest(const Descriptor& type) {
  return InvalidArgumentError(StrCat("the request is no ", type.full_name(),
                                     ": its bytes do not parse, or a string in it is not UTF-8"));
}

}  // namespace coppice
