// Reads protobuf's wire format without protobuf, field by field.
//
// Messages are read by their tables of fields (fields.h); this is what those are made of.

#ifndef COPPICE_COMMON_WIRE_MESSAGE_READER_H_
#define COPPICE_COMMON_WIRE_MESSAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace coppice {

// RFC 3629: no surrogates, nothing longer than it must be, nothing past U+10FFFF.
bool IsUtf8(std::string_view text);

// Steps through the fields of a message in the order of its bytes, and allocates nothing itself.
//
// Guarantee  Accepts what protobuf 3.21 accepts, and reads the same values, except that a group is
//            malformed: proto3 has none, and protobuf would keep each in memory at many times its
//            two bytes.
// Errors     failed() once the bytes are malformed. Nothing throws.
// Threads    not thread-safe. The bytes must outlive the reader, and the views that it returns.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : left_(bytes) {}

  // Moves to the next field; false at the end, and after anything malformed.
  bool Next();
  bool failed() const { return failed_; }
  uint32_t field() const { return field_; }

  // Each reads the field's value if it has the wire type for it; otherwise returns false, as for a
  // field that is unknown.
  bool Read(bool& value) const;
  bool Read(uint32_t& value) const;  // the low 32 bits, like protobuf
  bool Read(uint64_t& value) const;
  bool Read(int32_t& value) const;
  bool Read(int64_t& value) const;
  bool Read(double& value) const;
  bool ReadBytes(std::string_view& value) const;

  // How many numbers the field adds to a list: one, or as many as are packed in it. Zero if it has
  // another wire type. The width is 8 for doubles and 0 for all others.
  size_t CountNumbers(size_t width) const;

  // Calls `add` with the 64 bits of each of them.
  template <typename Add>
  void ReadNumbers(size_t width, Add add) {
    if (type_ != Type::kBytes) return add(number_);
    MessageReader packed(bytes_);
    while (!failed_ && !packed.left_.empty()) {
      uint64_t number = 0;
      failed_ = !(width > 0 ? packed.ReadFixed(width, number) : packed.ReadVarint(number));
      if (!failed_) add(number);
    }
  }

 private:
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  bool ReadTag(uint32_t& tag);
  bool ReadVarint(uint64_t& value);
  bool ReadSize(uint32_t& size);
  bool ReadFixed(size_t bytes, uint64_t& value);
  bool ReadValue(uint32_t wire_type);

  std::string_view left_;
  bool failed_ = false;
  uint32_t field_ = 0;
  Type type_ = Type::kVarint;
  uint64_t number_ = 0;          // of kVarint, kFixed64 and kFixed32
  std::string_view bytes_ = {};  // of kBytes
};

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_MESSAGE_READER_H_
