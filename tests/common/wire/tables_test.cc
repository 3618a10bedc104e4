// Compares every table of fields with the .proto: a field has one number, name and type in both.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>

#include "common/wire/messages.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/report.pb.h"
#include "coppice/v1/study.pb.h"

namespace coppice {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

// A linker leaves out generated code that nothing names, and its descriptors with it.
[[maybe_unused]] const Descriptor* const kBatches = v1::BatchHeader::descriptor();

// Has what FieldsReader has, and looks each line up.
class TableCheck {
 public:
  void Of(const char* message) {
    type_ = DescriptorPool::generated_pool()->FindMessageTypeByName(message);
    ASSERT_NE(type_, nullptr) << message;
  }

  template <typename Value>
  void Number(int number, const char* name, Value&) {
    const FieldDescriptor* field = Find(number, name, false);
    if (field == nullptr) return;
    EXPECT_EQ(TypeOf(*field), NumberType<Value>()) << name;
  }
  template <typename Value>
  void Text(int number, const char* name, Value&) {
    Expect(number, name, FieldDescriptor::TYPE_STRING);
  }
  template <typename Value>
  void Bytes(int number, const char* name, Value&) {
    Expect(number, name, FieldDescriptor::TYPE_BYTES);
  }
  template <size_t kSize>
  void Exactly(int number, const char* name, std::array<uint8_t, kSize>&) {
    Expect(number, name, FieldDescriptor::TYPE_BYTES);
  }
  template <typename Part>
  void Message(int number, const char* name, Part& part) {
    const FieldDescriptor* field = Find(number, name, false);
    if (field != nullptr) ExpectMessage(*field, part);
  }
  template <typename Part>
  void Message(int number, const char* name, std::optional<Part>&) {
    Part part{};
    Message(number, name, part);
  }
  template <typename Element>
  void Each(int number, const char* name, FieldCount count, std::vector<Element>&) {
    const FieldDescriptor* field = Find(number, name, true);
    EXPECT_GT(count.most, 0u) << name;
    if (field == nullptr) return;
    if constexpr (std::is_arithmetic_v<Element>) {
      EXPECT_EQ(TypeOf(*field), NumberType<Element>()) << name;
    } else if constexpr (std::is_same_v<Element, std::string>) {
      EXPECT_EQ(field->type(), FieldDescriptor::TYPE_STRING) << name;
    } else if constexpr (std::is_same_v<Element, std::string_view>) {
      EXPECT_TRUE(field->type() == FieldDescriptor::TYPE_BYTES ||
                  field->type() == FieldDescriptor::TYPE_MESSAGE)
          << name;
    } else {
      Element element{};
      ExpectMessage(*field, element);
    }
  }

  // Call after the table: every field of the .proto is in it, or its sender would be refused for a
  // field that this version knows.
  void ExpectWhole() const {
    for (int i = 0; type_ != nullptr && i < type_->field_count(); ++i) {
      EXPECT_TRUE(seen_.contains(type_->field(i)->number())) << type_->field(i)->full_name();
    }
    if (type_ != nullptr) {
      EXPECT_LT(*seen_.rbegin(), 64) << "FieldsReader notes numbers below 64";
    }
  }

 private:
  const FieldDescriptor* Find(int number, const char* name, bool repeated) {
    EXPECT_GT(number, last_) << name << ": the writer wants increasing numbers";
    last_ = number;
    seen_.insert(number);
    const FieldDescriptor* field = type_ == nullptr ? nullptr : type_->FindFieldByNumber(number);
    EXPECT_NE(field, nullptr) << name;
    if (field == nullptr) return nullptr;
    EXPECT_EQ(field->name(), name);
    EXPECT_EQ(field->is_repeated(), repeated) << name;
    return field;
  }
  void Expect(int number, const char* name, FieldDescriptor::Type type) {
    const FieldDescriptor* field = Find(number, name, false);
    if (field == nullptr) return;
    EXPECT_EQ(field->type(), type) << name;
  }
  template <typename Part>
  static void ExpectMessage(const FieldDescriptor& field, Part& part) {
    ASSERT_EQ(field.type(), FieldDescriptor::TYPE_MESSAGE) << field.name();
    TableCheck check;
    ListFields(check, part);
    check.ExpectWhole();
    EXPECT_EQ(check.type_, field.message_type()) << field.name();
  }
  // An enum is an int32 here, or a byte where there are many.
  static FieldDescriptor::Type TypeOf(const FieldDescriptor& field) {
    return field.type() == FieldDescriptor::TYPE_ENUM ? FieldDescriptor::TYPE_INT32 : field.type();
  }
  template <typename Value>
  static FieldDescriptor::Type NumberType() {
    if (std::is_same_v<Value, bool>) return FieldDescriptor::TYPE_BOOL;
    if (std::is_same_v<Value, double>) return FieldDescriptor::TYPE_DOUBLE;
    if (std::is_same_v<Value, uint32_t>) return FieldDescriptor::TYPE_UINT32;
    if (std::is_same_v<Value, uint64_t>) return FieldDescriptor::TYPE_UINT64;
    if (std::is_same_v<Value, int64_t>) return FieldDescriptor::TYPE_INT64;
    return FieldDescriptor::TYPE_INT32;
  }

  const Descriptor* type_ = nullptr;
  int last_ = 0;
  std::set<int> seen_;
};

template <typename Message>
class TablesTest : public ::testing::Test {};

using Messages =
    ::testing::Types<TermsMessage, ManifestMessage, SignedManifest, OfferRequestMessage,
                     OfferMessage, ProofRequestMessage, ProofMessage, ReportsMessage, SubmitMessage,
                     OutcomesMessage, ClosingMessage, SignedClosing, RelayTerms, BatchHeader,
                     RelayTermsRequestMessage, DealMessage, TakeOfferMessage, EnvelopeMessage,
                     RelayedOfferMessage, SealedReportMessage, SealedOutcomeMessage, ModelMessage>;
TYPED_TEST_SUITE(TablesTest, Messages);

TYPED_TEST(TablesTest, ListsTheFieldsOfTheProto) {
  TypeParam message{};
  TableCheck check;
  ListFields(check, message);
  check.ExpectWhole();
}

}  // namespace
}  // namespace coppice
