// The promises about the format of models: docs/protocol.md#versions-of-a-model.

#include <gtest/gtest.h>

#include "common/base/status.h"
#include "common/wire/proto/convert.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::MakeModel;
using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ModelVersionTest, WritersSayBothNumbers) {
  const v1::Model model = ToProto(MakeModel());
  EXPECT_EQ(model.version(), kModelVersion);
  EXPECT_EQ(model.min_reader(), kModelMinReader);
  EXPECT_LE(kModelMinReader, kModelVersion);
}

TEST(ModelVersionTest, AModelThatSaysNoFormatIsRefused) {
  v1::Model model = ToProto(MakeModel());
  model.clear_version();
  model.clear_forest();  // checked before anything else
  for (const Status& refused : {ParseModel(model).status(), CheckReadable(model)}) {
    EXPECT_THAT(refused, StatusIs(StatusCode::kInvalidArgument,
                                  AllOf(HasSubstr("model.version: is missing"),
                                        HasSubstr("get the model from the curator anew"))));
  }
}

TEST(ModelVersionTest, ALaterVersionIsReadAndWhatItAddsIsPassedOver) {
  v1::Model model = ToProto(MakeModel());
  model.set_version(99);
  for (google::protobuf::Message* part : std::initializer_list<google::protobuf::Message*>{
           &model, model.mutable_forest(), model.mutable_certificate(),
           model.mutable_predictions(0)->mutable_leaves(0)}) {
    part->GetReflection()->MutableUnknownFields(part)->AddLengthDelimited(1000, "new");
  }
  v1::Model sent;
  ASSERT_TRUE(sent.ParseFromString(model.SerializeAsString()));
  ASSERT_OK_AND_ASSIGN(const Model read, ParseModel(sent));
  EXPECT_EQ(read, MakeModel());
}

TEST(ModelVersionTest, AModelForLaterReadersIsRefusedAndSaysWhatToUpgradeTo) {
  v1::Model model = ToProto(MakeModel());
  model.set_version(99);
  model.set_min_reader(kModelVersion + 1);
  model.mutable_certificate()->set_code_version("7.5.0");
  // The version is checked before anything else, which may have another shape.
  model.clear_forest();
  EXPECT_THAT(ParseModel(model),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("format 99"), HasSubstr("reader of format 2"),
                             HasSubstr("reads format 1"), HasSubstr("upgrade Coppice to 7.5.0"))));
  for (const char* no_version :
       {"", "what evil.example offers", "1\x1b[2J", "1.2.3.4.5.6.7.8.9.0"}) {
    model.mutable_certificate()->set_code_version(no_version);
    EXPECT_THAT(ParseModel(model), StatusIs(StatusCode::kInvalidArgument,
                                            HasSubstr("upgrade Coppice to the version that made")));
  }
}

}  // namespace
}  // namespace coppice
