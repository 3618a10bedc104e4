#include "client/device/messages/message_reader.h"

#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

namespace coppice {
namespace {

constexpr uint32_t kStartGroup = 3;
constexpr uint32_t kEndGroup = 4;

// The length of the UTF-8 character that `text` begins with; 0 if it begins with none. No
// surrogates, nothing longer than it must be, nothing past U+10FFFF (RFC 3629).
size_t CharacterBytes(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  const bool too_long = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
  const bool no_character = (first == 0xED && at(1) > 0x9F) || (first == 0xF4 && at(1) > 0x8F);
  return too_long || no_character ? 0 : size;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterBytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

double AsDouble(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

bool MessageReader::ReadVarint(uint64_t& value) {
  constexpr size_t kMaxBytes = 10;
  value = 0;
  for (size_t i = 0; i < left_.size() && i < kMaxBytes; ++i) {
    const auto byte = static_cast<uint8_t>(left_[i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);  // what passes 64 bits is dropped
    if (byte < 0x80) {
      left_.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// A varint of at most 5 bytes, of which 32 bits count.
bool MessageReader::ReadTag(uint32_t& tag) {
  constexpr size_t kMaxBytes = 5;
  const size_t before = left_.size();
  uint64_t value = 0;
  if (!ReadVarint(value) || before - left_.size() > kMaxBytes) return false;
  tag = static_cast<uint32_t>(value);
  return true;
}

// Likewise, and below 2 GiB, less what protobuf keeps for itself.
bool MessageReader::ReadSize(uint32_t& size) {
  constexpr uint64_t kTooLarge = std::numeric_limits<int32_t>::max() - 16;
  constexpr size_t kMaxBytes = 5;
  const size_t before = left_.size();
  uint64_t value = 0;
  if (!ReadVarint(value) || before - left_.size() > kMaxBytes || value > kTooLarge) return false;
  size = static_cast<uint32_t>(value);
  return size <= left_.size();
}

bool MessageReader::ReadFixed(int bytes, uint64_t& value) {
  const auto count = static_cast<size_t>(bytes);
  if (left_.size() < count) return false;
  value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(left_[i])) << (8 * i);
  }
  left_.remove_prefix(count);
  return true;
}

bool MessageReader::ReadValue(uint32_t wire_type) {
  uint32_t size = 0;
  switch (wire_type) {
    case static_cast<uint32_t>(Type::kVarint):
      type_ = Type::kVarint;
      return ReadVarint(number_);
    case static_cast<uint32_t>(Type::kFixed64):
      type_ = Type::kFixed64;
      return ReadFixed(8, number_);
    case static_cast<uint32_t>(Type::kFixed32):
      type_ = Type::kFixed32;
      return ReadFixed(4, number_);
    case static_cast<uint32_t>(Type::kBytes):
      type_ = Type::kBytes;
      if (!ReadSize(size)) return false;
      bytes_ = left_.substr(0, size);
      left_.remove_prefix(size);
      return true;
    default:
      return false;
  }
}

bool MessageReader::SkipGroup(uint32_t number) {
  if (--depth_left_ < 0) return false;
  uint32_t tag = 0;
  while (ReadTag(tag)) {
    const uint32_t inner = tag >> 3;
    const uint32_t wire_type = tag & 7;
    if (inner == 0) return false;
    if (wire_type == kEndGroup) {
      ++depth_left_;
      return inner == number;
    }
    if (!(wire_type == kStartGroup ? SkipGroup(inner) : ReadValue(wire_type))) return false;
  }
  return false;
}

bool MessageReader::Next() {
  while (!failed_ && !left_.empty()) {
    uint32_t tag = 0;
    failed_ = !ReadTag(tag) || tag >> 3 == 0;
    if (failed_) break;
    field_ = tag >> 3;
    const uint32_t wire_type = tag & 7;
    if (wire_type == kStartGroup) {
      failed_ = !SkipGroup(field_);
      continue;
    }
    failed_ = !ReadValue(wire_type);
    return !failed_;
  }
  return false;
}

void MessageReader::Read(bool& value) const {
  if (type_ == Type::kVarint) value = number_ != 0;
}

void MessageReader::Read(uint32_t& value) const {
  if (type_ == Type::kVarint) value = static_cast<uint32_t>(number_);
}

void MessageReader::Read(uint64_t& value) const {
  if (type_ == Type::kVarint) value = number_;
}

void MessageReader::Read(int32_t& value) const {
  if (type_ == Type::kVarint) value = static_cast<int32_t>(number_);
}

void MessageReader::Read(int64_t& value) const {
  if (type_ == Type::kVarint) value = static_cast<int64_t>(number_);
}

void MessageReader::Read(double& value) const {
  if (type_ == Type::kFixed64) value = AsDouble(number_);
}

void MessageReader::ReadBytes(std::string_view& value) const {
  if (type_ == Type::kBytes) value = bytes_;
}

void MessageReader::ReadText(std::string& value) {
  if (type_ != Type::kBytes) return;
  failed_ = failed_ || !IsUtf8(bytes_);
  value = std::string(bytes_);
}

template <typename Value>
void MessageReader::AddNumbers(std::vector<Value>& values) {
  constexpr bool is_double = std::is_same_v<Value, double>;
  const auto add = [&values](uint64_t number) {
    if constexpr (is_double) {
      values.push_back(AsDouble(number));
    } else if constexpr (std::is_same_v<Value, bool>) {
      values.push_back(number != 0);
    } else {
      values.push_back(static_cast<Value>(number));
    }
  };
  if (type_ == (is_double ? Type::kFixed64 : Type::kVarint)) return add(number_);
  if (type_ != Type::kBytes) return;
  MessageReader packed(bytes_);
  while (!failed_ && !packed.left_.empty()) {
    uint64_t number = 0;
    failed_ = !(is_double ? packed.ReadFixed(8, number) : packed.ReadVarint(number));
    if (!failed_) add(number);
  }
}

void MessageReader::Add(std::vector<bool>& values) { AddNumbers(values); }
void MessageReader::Add(std::vector<int32_t>& values) { AddNumbers(values); }
void MessageReader::Add(std::vector<uint32_t>& values) { AddNumbers(values); }
void MessageReader::Add(std::vector<double>& values) { AddNumbers(values); }

void MessageReader::AddBytes(std::vector<std::string_view>& values) const {
  if (type_ == Type::kBytes) values.push_back(bytes_);
}

void MessageReader::AddText(std::vector<std::string>& values) {
  if (type_ != Type::kBytes) return;
  failed_ = failed_ || !IsUtf8(bytes_);
  values.emplace_back(bytes_);
}

bool MessageReader::ReadMessage(absl::FunctionRef<void(MessageReader& inner)> read) {
  if (type_ != Type::kBytes) return false;
  MessageReader inner(bytes_);
  inner.depth_left_ = depth_left_ - 1;
  if (inner.depth_left_ < 0) failed_ = true;
  while (!failed_ && inner.Next()) read(inner);
  failed_ = failed_ || inner.failed();
  return true;
}

}  // namespace coppice
