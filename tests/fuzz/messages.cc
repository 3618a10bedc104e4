// Every table of fields against protobuf: what the reader over bytes takes, protobuf takes, and
// both have the same values. The reader refuses more: a group, a singular field twice, elements
// beyond a table's bounds. The first byte selects the message.

#include "common/wire/messages.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <iterator>
#include <memory>
#include <string>

#include "common/wire/calls.h"
#include "common/wire/manifest.h"
#include "common/wire/model.h"
#include "common/wire/terms.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/report.pb.h"
#include "coppice/v1/study.pb.h"
#include "tests/fuzz/fuzz_input.h"

namespace coppice {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using testing::Require;

// Goes through a table that was read, and looks each value up in protobuf's message.
class Comparison {
 public:
  explicit Comparison(const Message& message)
      : message_(message), reflection_(*message.GetReflection()) {}

  void Of(const char*) {}

  template <typename Value>
  void Number(int number, const char*, Value& value) {
    Same(static_cast<double>(value), NumberOf(number, -1));
  }
  void Text(int number, const char*, std::string_view value) {
    SameText(value, TextOf(number, -1));
  }
  void Bytes(int number, const char*, std::string_view value) {
    SameText(value, TextOf(number, -1));
  }
  template <size_t kSize>
  void Exactly(int number, const char*, std::array<uint8_t, kSize>& value) {
    SameText({reinterpret_cast<const char*>(value.data()), kSize}, TextOf(number, -1));
  }
  template <typename Part>
  void Message(int number, const char*, Part& part) {
    Comparison inner(reflection_.GetMessage(message_, &Field(number)));
    ListFields(inner, part);
  }
  template <typename Part>
  void Message(int number, const char* name, std::optional<Part>& part) {
    Require(part.has_value() == reflection_.HasField(message_, &Field(number)),
            "a message is there for one reader alone");
    if (part.has_value()) Message(number, name, *part);
  }
  template <typename Element>
  void Each(int number, const char*, FieldCount, std::vector<Element>& elements) {
    Require(static_cast<size_t>(reflection_.FieldSize(message_, &Field(number))) == elements.size(),
            "a list has another length");
    for (size_t i = 0; i < elements.size(); ++i) {
      const int at = static_cast<int>(i);
      if constexpr (sizeof(Element) == 1) {
        const double theirs = NumberOf(number, at);
        Same(elements[i], theirs < 0 || theirs > 255 ? 255 : theirs);
      } else if constexpr (std::is_arithmetic_v<Element>) {
        Same(static_cast<double>(elements[i]), NumberOf(number, at));
      } else if constexpr (std::is_convertible_v<Element, std::string_view>) {
        if (Field(number).cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          SameText(elements[i], TextOf(number, at));
        }
      } else {
        Comparison inner(reflection_.GetRepeatedMessage(message_, &Field(number), at));
        ListFields(inner, elements[i]);
      }
    }
  }
  void Each(int number, const char*, FieldCount, std::vector<bool>& elements) {
    for (size_t i = 0; i < elements.size(); ++i) {
      Same(elements[i] ? 1 : 0, NumberOf(number, static_cast<int>(i)));
    }
  }

 private:
  const FieldDescriptor& Field(int number) const {
    return *message_.GetDescriptor()->FindFieldByNumber(number);
  }
  static void Same(double ours, double theirs) {
    Require(ours == theirs || (ours != ours && theirs != theirs), "a number is read differently");
  }
  static void SameText(std::string_view ours, const std::string& theirs) {
    Require(ours == theirs, "a text is read differently");
  }
  std::string TextOf(int number, int at) const {
    return at < 0 ? reflection_.GetString(message_, &Field(number))
                  : reflection_.GetRepeatedString(message_, &Field(number), at);
  }
  template <typename Value>
  double Get(int number, int at,
             Value (Reflection::*one)(const google::protobuf::Message&, const FieldDescriptor*)
                 const,
             Value (Reflection::*of_many)(const google::protobuf::Message&, const FieldDescriptor*,
                                          int) const) const {
    return static_cast<double>(at < 0 ? (reflection_.*one)(message_, &Field(number))
                                      : (reflection_.*of_many)(message_, &Field(number), at));
  }
  // Numbers of 64 bits are compared by their first 53, as doubles.
  double NumberOf(int number, int at) const {
    switch (Field(number).cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return Get(number, at, &Reflection::GetBool, &Reflection::GetRepeatedBool);
      case FieldDescriptor::CPPTYPE_ENUM:
        return Get(number, at, &Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue);
      case FieldDescriptor::CPPTYPE_INT32:
        return Get(number, at, &Reflection::GetInt32, &Reflection::GetRepeatedInt32);
      case FieldDescriptor::CPPTYPE_UINT32:
        return Get(number, at, &Reflection::GetUInt32, &Reflection::GetRepeatedUInt32);
      case FieldDescriptor::CPPTYPE_INT64:
        return Get(number, at, &Reflection::GetInt64, &Reflection::GetRepeatedInt64);
      case FieldDescriptor::CPPTYPE_UINT64:
        return Get(number, at, &Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
      default:
        return Get(number, at, &Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    }
  }

  const google::protobuf::Message& message_;
  const Reflection& reflection_;
};

template <typename Ours, typename Theirs>
void Compare(std::string_view bytes) {
  StatusOr<Ours> ours = ReadFields<Ours>(bytes);
  if (!ours.ok()) return;
  Theirs theirs;
  Require(theirs.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
          "protobuf refuses what the reader over bytes takes");
  Comparison comparison(theirs);
  ListFields(comparison, *ours);
}

// Checked values: whatever they make of hostile ones, nothing breaks.
void ReadChecked(std::string_view bytes) {
  const StatusOr<Terms> terms = ReadTerms(bytes);
  if (terms.ok()) (void)ReadStudyTree(bytes, *terms);
  (void)ReadModel(bytes);
  const StatusOr<Manifest> manifest = ReadManifest(bytes);
  if (manifest.ok()) Require(WriteManifest(*manifest) == bytes, "other bytes than were signed");
  const StatusOr<RelayTerms> relay = ReadRelayTerms(bytes);
  if (relay.ok()) Require(WriteRelayTerms(*relay) == bytes, "other bytes than were signed");
  const StatusOr<BatchHeader> header = ReadBatchHeader(bytes);
  if (header.ok()) Require(WriteBatchHeader(*header) == bytes, "other bytes than were signed");
}

}  // namespace
}  // namespace coppice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;
  std::string_view input = testing::AsBytes(data, size);
  if (input.empty()) return 0;
  const auto which = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  static constexpr void (*kCompare[])(std::string_view) = {
      Compare<TermsMessage, v1::Terms>,
      Compare<ManifestMessage, v1::Manifest>,
      Compare<TreeMessage, v1::Tree>,
      Compare<ModelMessage, v1::Model>,
      Compare<OfferMessage, v1::GetOfferResponse>,
      Compare<ProofMessage, v1::GetCuratorKeysResponse>,
      Compare<RelayTerms, v1::RelayTerms>,
      Compare<DealMessage, v1::GetRelayTermsResponse>,
      Compare<RelayedOfferMessage, v1::RelayedOffer>,
      Compare<SealedOutcomeMessage, v1::SubmitSealedReportResponse>,
      Compare<EnvelopeMessage, v1::TakeOfferResponse>,
      Compare<BatchHeader, v1::BatchHeader>,
      Compare<SignedManifest, v1::SignedManifest>,
      ReadChecked};
  kCompare[which % std::size(kCompare)](input);
  return 0;
}
