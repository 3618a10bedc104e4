#include "common/wire/proto/model_signature.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::testing::_;
using ::testing::HasSubstr;

constexpr int64_t kNow = 2'000'000'000;

SigningKey KeyOf(uint8_t byte) {
  SigningKey::Seed seed{};
  seed.fill(byte);
  return *SigningKey::FromSeed(seed);
}

v1::Model UnsignedModel() {
  v1::Model model = ToProto(testing::MakeModel());
  model.set_name("models/m");
  model.set_study("studies/s");
  model.set_created_unix_seconds(1'700'000'000);
  return model;
}

v1::Model SignedBy(const SigningKey& key, v1::Model model, KeyChain endorsements = {}) {
  const ModelSignature signature{.signature = *key.Sign(kModelDomain, *SignedModelBytes(model)),
                                 .key = key.public_key(),
                                 .endorsements = std::move(endorsements)};
  *model.mutable_signature() = ToProto(signature);
  return model;
}

Status Check(const v1::Model& model, const std::optional<PublicKey>& trusted) {
  return CheckModelSignature(model, trusted, kNow);
}

// Calls `visit` once for each value in `message`, with that value changed, then changes it back.
void ForEachChange(Message& message, const std::function<void(const std::string&)>& visit);

void ChangeOne(Message& message, const FieldDescriptor& field,
               const std::function<void(const std::string&)>& visit) {
  std::unique_ptr<Message> before(message.New());
  before->CopyFrom(message);
  const auto* reflection = message.GetReflection();
  if (field.is_repeated()) {
    reflection->RemoveLast(&message, &field);
  } else {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        reflection->SetString(&message, &field, reflection->GetString(message, &field) + "x");
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection->SetDouble(&message, &field, 1 - reflection->GetDouble(message, &field) / 2);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection->SetUInt64(&message, &field, reflection->GetUInt64(message, &field) + 1);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection->SetInt64(&message, &field, reflection->GetInt64(message, &field) - 1);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection->SetUInt32(&message, &field, reflection->GetUInt32(message, &field) + 1);
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection->SetBool(&message, &field, !reflection->GetBool(message, &field));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection->SetEnumValue(&message, &field, reflection->GetEnumValue(message, &field) + 1);
        break;
      default:
        reflection->ClearField(&message, &field);
    }
  }
  visit(field.full_name());
  message.CopyFrom(*before);
}

void ForEachChange(Message& message, const std::function<void(const std::string&)>& visit) {
  const auto* reflection = message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const int size = field.is_repeated() ? reflection->FieldSize(message, &field)
                     : is_message        ? (reflection->HasField(message, &field) ? 1 : 0)
                                         : 1;
    if (size == 0) continue;
    if (field.real_containing_oneof() == nullptr || is_message) ChangeOne(message, field, visit);
    if (!is_message) continue;
    for (int at = 0; at < size; ++at) {
      Message& part = field.is_repeated()
                          ? *reflection->MutableRepeatedMessage(&message, &field, at)
                          : *reflection->MutableMessage(&message, &field);
      ForEachChange(part, visit);
    }
  }
}

TEST(ModelSignatureTest, ASignedModelChecks) {
  const SigningKey key = KeyOf(1);
  const v1::Model model = SignedBy(key, UnsignedModel());
  EXPECT_OK(Check(model, key.public_key()));
  EXPECT_OK(Check(model, std::nullopt));
  EXPECT_THAT(Check(model, KeyOf(2).public_key()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not lead")));
  EXPECT_THAT(Check(UnsignedModel(), std::nullopt),
              StatusIs(StatusCode::kNotFound, HasSubstr("not signed")));
}

// Covers every edit: a leaf, a cut, the epsilon, a release, the schema, the name.
TEST(ModelSignatureTest, AChangeOfAnythingIsSeen) {
  const SigningKey key = KeyOf(1);
  v1::Model model = SignedBy(key, UnsignedModel());
  size_t changes = 0;
  ForEachChange(model, [&](const std::string& field) {
    ++changes;
    const bool is_left_out = field == "coppice.v1.Model.version" ||
                             field == "coppice.v1.Model.min_reader" ||
                             field == "coppice.v1.KeyEndorsement.not_before_unix_seconds";
    if (is_left_out) return;
    EXPECT_FALSE(Check(model, key.public_key()).ok()) << field;
  });
  EXPECT_GT(changes, 80u);
  EXPECT_OK(Check(model, key.public_key()));
}

TEST(ModelSignatureTest, EveryKindOfNumberIsCanonical) {
  v1::Model model = UnsignedModel();
  v1::LeafPrediction& leaf = *model.mutable_predictions(0)->mutable_leaves(0);
  leaf.set_probabilities(0, 0.0);
  leaf.set_term(0.0);
  const std::string bytes = *SignedModelBytes(model);
  leaf.set_probabilities(0, -0.0);
  leaf.set_term(-0.0);
  EXPECT_EQ(*SignedModelBytes(model), bytes);
  leaf.set_standard_error(std::numeric_limits<double>::quiet_NaN());
  const std::string of_nan = *SignedModelBytes(model);
  leaf.set_standard_error(-std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(*SignedModelBytes(model), of_nan);
  leaf.set_standard_error(std::numeric_limits<double>::infinity());
  EXPECT_NE(*SignedModelBytes(model), of_nan);
}

TEST(ModelSignatureTest, ValuesMayNotMoveBetweenFields) {
  v1::Model a, b;
  a.mutable_certificate()->add_public_inputs("xy");
  b.mutable_certificate()->add_public_inputs("x");
  b.mutable_certificate()->add_public_inputs("y");
  EXPECT_NE(*SignedModelBytes(a), *SignedModelBytes(b));
  v1::Model c, d;
  c.set_study("jobs/a");
  d.set_job("jobs/a");
  EXPECT_NE(*SignedModelBytes(c), *SignedModelBytes(d));
  v1::Model e, f;
  e.mutable_schema()->add_features()->mutable_numeric();
  f.mutable_schema()->add_features()->mutable_categorical();
  EXPECT_NE(*SignedModelBytes(e), *SignedModelBytes(f));
}

// docs/protocol.md states these bytes, so that another program can compute them.
TEST(ModelSignatureTest, TheCanonicalBytesAreAsStated) {
  v1::Release release;
  release.set_what("ab");
  release.set_times(3);
  const std::string expected(
      "\0\0\0\0\0\0\0\1"
      "\0\0\0\0\0\0\0\1"
      "\0\0\0\0\0\0\0\2"
      "ab"
      "\0\0\0\0\0\0\0\4"
      "\0\0\0\0\0\0\0\1"
      "\0\0\0\0\0\0\0\3"
      "\0\0\0\0\0\0\0\0",
      58);
  EXPECT_EQ(*HashMessage(release), Sha256({expected}));
  EXPECT_EQ(*HashMessage(v1::Release()), Sha256({std::string(8, '\0')}));
}

// The test vector of docs/protocol.md.
TEST(ModelSignatureTest, TheTestVectorIsAsStated) {
  SigningKey::Seed seed;
  std::iota(seed.begin(), seed.end(), uint8_t{0});
  const SigningKey key = *SigningKey::FromSeed(seed);
  v1::Model model;
  model.set_name("models/m");
  model.set_job("jobs/j");
  model.set_created_unix_seconds(1'699'920'000);
  model.mutable_schema()->add_features()->set_name("x");
  model.mutable_schema()->mutable_features(0)->mutable_numeric()->set_max(1);
  model.mutable_schema()->set_label("y");
  model.mutable_schema()->add_classes("no");
  model.mutable_schema()->add_classes("yes");
  model.mutable_forest()->add_trees()->add_kinds(v1::SPLIT_KIND_LEAF);
  v1::LeafPrediction& leaf = *model.add_predictions()->add_leaves();
  leaf.add_probabilities(0.25);
  leaf.add_probabilities(0.75);
  leaf.set_label(1);
  model.mutable_certificate()->set_epsilon_nanos(1'000'000'000);
  v1::Release& release = *model.mutable_certificate()->add_releases();
  release.set_what("a count");
  release.set_epsilon_nanos(1'000'000'000);
  release.set_times(1);
  const std::string bytes = *SignedModelBytes(model);
  EXPECT_EQ(BytesToHexString(bytes.substr(0, 32)),
            "19be3ef8e94c28f1812447ad1d9b00f4ae3bdf0f3e45eeaeb3268bef581d2b9a");
  EXPECT_EQ(BytesToHexString(bytes.substr(32)),
            "347c1952aab40ddfbe065383bfff711f67a8bd719569cc249996d55ae1983883");
  const Signature signature = *key.Sign(kModelDomain, bytes);
  EXPECT_EQ(BytesToHexString(std::string(signature.begin(), signature.end())),
            "2a80c6bf04f1cb8e6068f158949ba8ebe3a5f9865723b7ab3cfe0bf8d39713e2"
            "9505b90386ddc224f248d12168f6f87ef014a88cb4f048e4740b2459c21b2c09");
}

TEST(ModelSignatureTest, ItSurvivesJsonAndBeingStoredAnew) {
  const SigningKey key = KeyOf(1);
  const v1::Model model = SignedBy(key, UnsignedModel());
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(model, &text, options).ok());
  v1::Model read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &read).ok());
  EXPECT_OK(Check(read, key.public_key()));

  v1::Model anew = ToProto(*ParseModel(model));
  anew.set_name(model.name());
  anew.set_study(model.study());
  anew.set_created_unix_seconds(model.created_unix_seconds());
  *anew.mutable_signature() = ToProto(*ParseModelSignature(model.signature()));
  // A later curator writes its own version numbers.
  anew.set_version(7);
  anew.set_min_reader(0);
  EXPECT_OK(Check(anew, key.public_key()));
}

TEST(ModelSignatureTest, ASignatureOfAnotherModelOrKindDoesNotCheck) {
  const SigningKey key = KeyOf(1);
  const v1::Model model = SignedBy(key, UnsignedModel());
  v1::Model other = UnsignedModel();
  other.set_name("models/other");
  *other.mutable_signature() = model.signature();
  EXPECT_THAT(Check(other, key.public_key()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("another model's")));
  v1::Model as_manifest = UnsignedModel();
  *as_manifest.mutable_signature() = ToProto(
      ModelSignature{.signature = *key.Sign(kManifestDomain, *SignedModelBytes(as_manifest)),
                     .key = key.public_key()});
  EXPECT_THAT(Check(as_manifest, key.public_key()), StatusIs(StatusCode::kDataLoss, _));
  // One key's signature under the name of another.
  v1::Model renamed = model;
  renamed.mutable_signature()->set_key(SignedBy(KeyOf(2), UnsignedModel()).signature().key());
  EXPECT_THAT(Check(renamed, std::nullopt), StatusIs(StatusCode::kDataLoss, _));
}

TEST(ModelSignatureTest, TrustLeadsFromAnEarlierKeyToALaterOne) {
  const SigningKey first = KeyOf(1), second = KeyOf(2), third = KeyOf(3);
  const KeyChain chain = {*Endorse(first, second.public_key(), kNow - 10),
                          *Endorse(second, third.public_key(), kNow - 5)};
  const v1::Model before = SignedBy(first, UnsignedModel());
  const v1::Model after = SignedBy(third, UnsignedModel(), chain);
  for (const SigningKey& pinned : {first, second, third}) {
    EXPECT_OK(Check(after, pinned.public_key()));
  }
  EXPECT_OK(Check(before, first.public_key()));
  // A later key does not vouch for what an earlier key signed: a thief of the earlier key, or
  // somebody who claims that it endorsed this one, could sign in its name.
  EXPECT_THAT(Check(before, third.public_key()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("changed its key since")));
  const SigningKey thief = KeyOf(9);
  const v1::Model forged =
      SignedBy(thief, UnsignedModel(), {*Endorse(thief, third.public_key(), kNow - 1)});
  EXPECT_THAT(Check(forged, third.public_key()), StatusIs(StatusCode::kFailedPrecondition, _));
  // The chain is signed by another key.
  const v1::Model led = SignedBy(thief, UnsignedModel(), {*Endorse(second, thief.public_key(), 0)});
  EXPECT_THAT(Check(led, first.public_key()), StatusIs(StatusCode::kFailedPrecondition, _));
}

TEST(ModelSignatureTest, AMalformedSignatureIsRefused) {
  const SigningKey key = KeyOf(1);
  for (const auto& break_it : std::vector<std::function<void(v1::ModelSignature&)>>{
           [](v1::ModelSignature& s) { s.clear_signature(); },
           [](v1::ModelSignature& s) { s.mutable_signature()->push_back('x'); },
           [](v1::ModelSignature& s) { s.mutable_key()->pop_back(); },
           [](v1::ModelSignature& s) { s.add_endorsements(); },
           [](v1::ModelSignature& s) { s.Clear(); }}) {
    v1::Model model = SignedBy(key, UnsignedModel());
    break_it(*model.mutable_signature());
    EXPECT_THAT(Check(model, std::nullopt), StatusIs(StatusCode::kDataLoss, _));
    EXPECT_THAT(ParseModelSignature(model.signature()), StatusIs(StatusCode::kInvalidArgument, _));
  }
}

TEST(ModelSignatureTest, WhatALaterVersionSignedIsNotCalledChanged) {
  const SigningKey key = KeyOf(1);
  v1::Model model = SignedBy(key, UnsignedModel());
  model.GetReflection()->MutableUnknownFields(&model)->AddVarint(1000, 1);
  // In this version's format nobody writes such a field.
  EXPECT_THAT(Check(model, key.public_key()), StatusIs(StatusCode::kDataLoss, _));
  model.set_version(kModelVersion + 1);
  EXPECT_THAT(Check(model, key.public_key()),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("upgrade Coppice")));
}

}  // namespace
}  // namespace coppice
