// A message as a table of its fields, which serves for reading it and for writing it.
//
//   template <typename Fields>
//   void ListFields(Fields& fields, ReportsMessage& message) {
//     fields.Of("coppice.v1.SealedReports");
//     fields.Text(1, "study", message.study);
//     fields.Exactly(2, "fingerprint", message.fingerprint);
//     fields.Each(3, "reports", {.most = 1000}, message.reports);
//   }
//
// A new field is one line here, beside its member and its line in the .proto. messages.h has the
// tables; a test compares them with the .proto files. The lines:
//
//   Number   a bool, an integer, an enum as int32, or a double
//   Text     a string, as std::string or std::string_view
//   Bytes    likewise, but not UTF-8
//   Exactly  bytes of one length; it is an error if they are missing
//   Message  a message with a table of its own, or an optional one
//   Each     a repeated field, with how many there may be. Its elements are numbers, texts
//            (std::string), bytes (std::string_view), or messages
//
// Views are of the bytes that are read.

#ifndef COPPICE_COMMON_WIRE_FIELDS_H_
#define COPPICE_COMMON_WIRE_FIELDS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/base/casts.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/message_reader.h"
#include "common/wire/message_writer.h"

namespace coppice {

// A later version may add fields, which this one skips. More than this, in a message and its parts,
// is not a later version but somebody who wants our time.
inline constexpr size_t kMaxUnknownFields = 1000;
// The texts of all lists in a message: categories above all. A text takes 32 bytes in memory and
// may take two on the wire. At half of it, schemas that ValidateSchema() takes could not be sent.
inline constexpr size_t kMaxTextElements = size_t{5} << 18;

// How many elements a repeated field may have.
struct FieldCount {
  size_t least = 0;
  size_t most = 0;
};

// What the readers of a message and of its parts share.
struct MessageReading {
  const char* message = "";  // the outermost one
  bool malformed = false;
  Status refusal;  // why, if it is well-formed
  size_t unknown_left = kMaxUnknownFields;
  size_t texts_left = kMaxTextElements;

  bool ok() const { return !malformed && refusal.ok(); }
};

// Reads one message. Each line of the table looks whether the field that comes is its own.
class FieldsReader {
 public:
  FieldsReader(std::string_view bytes, MessageReading& reading)
      : reader_(bytes), reading_(reading) {}

  template <typename Message>
  void ReadAll(Message& message) {
    ListFields(*this, message);  // no field comes yet
    stage_ = Stage::kFields;
    while (reading_.ok() && reader_.Next()) {
      is_known_ = false;
      ListFields(*this, message);
      if (!is_known_) CountUnknown();
    }
    if (reader_.failed()) reading_.malformed = true;
    if (!reading_.ok()) return;
    stage_ = Stage::kEnd;
    ListFields(*this, message);
  }

  void Of(const char* message) {
    if (*reading_.message == '\0') reading_.message = message;
  }

  template <typename Value>
  void Number(uint32_t field, const char* name, Value& value) {
    if (stage_ == Stage::kBegin) value = Value{};  // a type of ours may begin with another
    if (Comes(field)) TakeOnce(name, reader_.Read(value));
  }

  void Text(uint32_t field, const char* name, std::string_view& value) {
    if (!Comes(field) || !TakeOnce(name, reader_.ReadBytes(value))) return;
    if (!IsUtf8(value)) reading_.malformed = true;
  }
  void Text(uint32_t field, const char* name, std::string& value) {
    std::string_view view = value;
    Text(field, name, view);
    if (Comes(field)) value.assign(view);
  }

  void Bytes(uint32_t field, const char* name, std::string_view& value) {
    if (Comes(field)) TakeOnce(name, reader_.ReadBytes(value));
  }
  void Bytes(uint32_t field, const char* name, std::string& value) {
    std::string_view view = value;
    Bytes(field, name, view);
    if (Comes(field)) value.assign(view);
  }

  template <size_t kSize>
  void Exactly(uint32_t field, const char* name, std::array<uint8_t, kSize>& value) {
    std::string_view bytes;
    if (stage_ == Stage::kEnd && !WasSeen(field)) return Refuse(name, MustHave(kSize, 0));
    if (!Comes(field) || !TakeOnce(name, reader_.ReadBytes(bytes))) return;
    if (bytes.size() != kSize) return Refuse(name, MustHave(kSize, bytes.size()));
    std::copy(bytes.begin(), bytes.end(), value.begin());
  }

  template <typename Part>
  void Message(uint32_t field, const char* name, Part& part) {
    std::string_view bytes;
    if (Comes(field) && TakeOnce(name, reader_.ReadBytes(bytes))) ReadPart(name, bytes, part);
  }
  template <typename Part>
  void Message(uint32_t field, const char* name, std::optional<Part>& part) {
    std::string_view bytes;
    if (Comes(field) && TakeOnce(name, reader_.ReadBytes(bytes))) {
      ReadPart(name, bytes, part.emplace());
    }
  }

  template <typename Element>
  void Each(uint32_t field, const char* name, FieldCount count, std::vector<Element>& elements) {
    if (stage_ == Stage::kEnd && elements.size() < count.least) {
      return Refuse(name, StrCat("must be at least ", count.least, ", are ", elements.size()));
    }
    if (!Comes(field)) return;
    if constexpr (std::is_arithmetic_v<Element>) {
      AddNumbers(name, count.most, elements);
    } else {
      AddElement(name, count.most, elements);
    }
  }

 private:
  static constexpr const char* kTwice = "occurs twice";
  enum class Stage : uint8_t { kBegin, kFields, kEnd };  // what the table is gone through for

  bool Comes(uint32_t field) const { return stage_ == Stage::kFields && reader_.field() == field; }
  uint64_t Bit(uint32_t field) const { return uint64_t{1} << (field & 63); }
  bool WasSeen(uint32_t field) const { return (seen_ & Bit(field)) != 0; }

  // Notes the field that comes. Protobuf would take the last value, or merge messages; whoever
  // writes a field twice means to be read in two ways.
  bool TakeOnce(const char* name, bool has_its_type) {
    if (!has_its_type) return false;
    is_known_ = true;
    if (WasSeen(reader_.field())) {
      Refuse(name, kTwice);
      return false;
    }
    seen_ |= Bit(reader_.field());
    return true;
  }

  void CountUnknown() {
    if (reading_.unknown_left-- == 0) {
      reading_.refusal = InvalidArgumentError(
          StrCat("has more than ", kMaxUnknownFields, " fields that this version does not know"));
    }
  }

  void Refuse(const char* name, std::string_view problem) {
    if (reading_.ok()) reading_.refusal = FieldError(name, problem);
  }
  static std::string MustHave(size_t size, size_t has) {
    return StrCat("must have ", size, " bytes, has ", has);
  }

  bool HasRoom(const char* name, size_t size, size_t more, size_t most) {
    is_known_ = true;
    if (more <= most && size <= most - more) return true;
    Refuse(name, StrCat("must be at most ", most));
    return false;
  }

  template <typename Part>
  void ReadPart(std::string_view name, std::string_view bytes, Part& part) {
    FieldsReader(bytes, reading_).ReadAll(part);
    if (!reading_.refusal.ok()) reading_.refusal = InField(name, reading_.refusal);
  }

  template <typename Number>
  void AddNumbers(const char* name, size_t most, std::vector<Number>& numbers) {
    constexpr size_t kWidth = std::is_same_v<Number, double> ? sizeof(double) : 0;
    const size_t more = reader_.CountNumbers(kWidth);
    std::string_view packed;
    if (more == 0 && !reader_.ReadBytes(packed)) return;
    if (!HasRoom(name, numbers.size(), more, most)) return;
    if (numbers.empty()) numbers.reserve(more);
    reader_.ReadNumbers(kWidth, [&](uint64_t bits) { numbers.push_back(NumberOf<Number>(bits)); });
    if (reader_.failed()) reading_.malformed = true;
  }

  template <typename Number>
  static Number NumberOf(uint64_t bits) {
    if constexpr (std::is_same_v<Number, double>) return absl::bit_cast<double>(bits);
    if constexpr (std::is_same_v<Number, bool>) return bits != 0;
    // An enumerator is kept in one byte; any value that does not fit is unknown all the same.
    if constexpr (sizeof(Number) == 1)
      return static_cast<Number>(std::min<uint32_t>(static_cast<uint32_t>(bits), 0xff));
    return static_cast<Number>(bits);
  }

  template <typename Element>
  void AddElement(const char* name, size_t most, std::vector<Element>& elements) {
    std::string_view bytes;
    if (!reader_.ReadBytes(bytes) || !HasRoom(name, elements.size(), 1, most)) return;
    if constexpr (std::is_same_v<Element, std::string_view>) {
      elements.push_back(bytes);
    } else if constexpr (std::is_same_v<Element, std::string>) {
      if (reading_.texts_left-- == 0) {
        return Refuse(name, StrCat("the texts of all lists are more than ", kMaxTextElements));
      }
      if (!IsUtf8(bytes)) reading_.malformed = true;
      elements.emplace_back(bytes);
    } else {
      Element& element = elements.emplace_back();
      FieldsReader(bytes, reading_).ReadAll(element);
      if (!reading_.refusal.ok()) {
        reading_.refusal = InField(ElementName(name, elements.size() - 1), reading_.refusal);
      }
    }
  }

  MessageReader reader_;
  MessageReading& reading_;
  bool is_known_ = false;
  Stage stage_ = Stage::kBegin;
  uint64_t seen_ = 0;  // singular fields, by their numbers, which are below 64
};

// Writes one message: each line of the table in turn, so lines stand in the order of their numbers.
class FieldsWriter {
 public:
  void Of(const char*) {}

  template <typename Value>
  void Number(uint32_t field, const char*, Value& value) {
    if constexpr (std::is_same_v<Value, double>) {
      writer_.Double(field, value);
    } else {
      writer_.Number(field, Bits(value));
    }
  }
  void Text(uint32_t field, const char*, std::string_view value) { writer_.Bytes(field, value); }
  void Bytes(uint32_t field, const char*, std::string_view value) { writer_.Bytes(field, value); }
  template <size_t kSize>
  void Exactly(uint32_t field, const char*, std::array<uint8_t, kSize>& value) {
    writer_.Bytes(field, {reinterpret_cast<const char*>(value.data()), kSize});
  }
  template <typename Part>
  void Message(uint32_t field, const char*, Part& part) {
    FieldsWriter inner;
    ListFields(inner, part);
    writer_.Element(field, inner.Finish());
  }
  template <typename Part>
  void Message(uint32_t field, const char* name, std::optional<Part>& part) {
    if (part.has_value()) Message(field, name, *part);
  }
  template <typename Element>
  void Each(uint32_t field, const char* name, FieldCount, std::vector<Element>& elements) {
    static_assert(!std::is_arithmetic_v<Element>,
                  "no message that is written has a list of numbers");
    for (Element& element : elements) {
      if constexpr (std::is_convertible_v<Element, std::string_view>) {
        writer_.Element(field, element);
      } else {
        Message(field, name, element);
      }
    }
  }

  std::string Finish() { return writer_.Finish(); }

 private:
  // Negative numbers take 64 bits, whatever their type.
  template <typename Value>
  static uint64_t Bits(Value value) {
    if constexpr (std::is_signed_v<Value>) return static_cast<uint64_t>(int64_t{value});
    return static_cast<uint64_t>(value);
  }

  MessageWriter writer_;
};

// Reads a message with a table.
//
// Guarantee  Returns what protobuf 3.21 would read, or an error; memory is in proportion to the
//            bytes and bounded by the table. What the table does not list is skipped.
// Errors     InvalidArgument: "is not a coppice.v1.Terms message", or the field by its path and
// what
//            is wrong with it: it occurs twice, has too many elements, or bytes of another length.
template <typename Message>
StatusOr<Message> ReadFields(std::string_view bytes) {
  Message message{};
  MessageReading reading;
  FieldsReader(bytes, reading).ReadAll(message);
  if (reading.malformed) {
    return InvalidArgumentError(StrCat("is not a ", reading.message, " message"));
  }
  if (!reading.refusal.ok()) return reading.refusal;
  return message;
}

// Writes a message with a table: protobuf's bytes for the same values.
template <typename Message>
std::string WriteFields(Message message) {
  FieldsWriter writer;
  ListFields(writer, message);
  return writer.Finish();
}

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_FIELDS_H_
