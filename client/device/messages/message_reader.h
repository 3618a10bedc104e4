// Reads protobuf's wire format without protobuf, field by field.

#ifndef COPPICE_CLIENT_DEVICE_MESSAGES_MESSAGE_READER_H_
#define COPPICE_CLIENT_DEVICE_MESSAGES_MESSAGE_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

namespace coppice {

// Goes through a message's fields in the order of its bytes. What a caller does not read is passed
// over, as an unknown field is, and so is a known one of another wire type.
//
// Guarantee  What is accepted, and what is read, is what protobuf 3.21 does with a proto3 message:
//            of a number the last value counts, messages that come twice are merged by reading both
//            into the same value, repeated numbers may be packed or not, a text must be UTF-8.
//            Memory is in proportion to the bytes that were read. Nesting ends at 100.
// Errors     a message that is malformed anywhere fails as a whole: failed() afterwards, with what
//            was read before it. Nothing throws.
// Threads    one at a time. The bytes must outlive the reader, and what it returns as views.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : left_(bytes) {}

  // Moves to the next field; false at the end, and after anything malformed.
  bool Next();
  bool failed() const { return failed_; }
  // For callers that find more of something than there may be: reading ends.
  void Fail() { failed_ = true; }
  uint32_t field() const { return field_; }

  // The field's value, if it has the wire type for it; else `value` stays.
  void Read(bool& value) const;
  void Read(uint32_t& value) const;  // the low 32 bits, as protobuf
  void Read(uint64_t& value) const;
  void Read(int32_t& value) const;
  void Read(int64_t& value) const;
  void Read(double& value) const;
  void ReadBytes(std::string_view& value) const;
  void ReadText(std::string& value);
  // Adds to the list.
  void Add(std::vector<bool>& values);
  void Add(std::vector<int32_t>& values);
  void Add(std::vector<uint32_t>& values);
  void Add(std::vector<double>& values);
  void AddBytes(std::vector<std::string_view>& values) const;
  void AddText(std::vector<std::string>& values);

  // Whether the field may be a message.
  bool IsMessage() const { return type_ == Type::kBytes; }
  // A message within this one: calls `read` for each of its fields. False if the field is none.
  bool ReadMessage(absl::FunctionRef<void(MessageReader& inner)> read);

 private:
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  bool ReadTag(uint32_t& tag);
  bool ReadVarint(uint64_t& value);
  bool ReadSize(uint32_t& size);
  bool ReadFixed(int bytes, uint64_t& value);
  bool ReadValue(uint32_t wire_type);
  // Passes over a group, the tag that begins it being read.
  bool SkipGroup(uint32_t number);
  template <typename Value>
  void AddNumbers(std::vector<Value>& values);

  static constexpr int kMaxDepth = 100;

  std::string_view left_;
  int depth_left_ = kMaxDepth;
  bool failed_ = false;
  uint32_t field_ = 0;
  Type type_ = Type::kVarint;
  uint64_t number_ = 0;          // of kVarint and kFixed64
  std::string_view bytes_ = {};  // of kBytes
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_MESSAGES_MESSAGE_READER_H_
