#include "server/http/messages/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"
#include "tests/support/status_matchers.h"

namespace coppice::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Status Parse(std::string_view json, google::protobuf::Message& message) {
  const auto admit = [](size_t) { return StatusOr<calls::HeldBytes>(calls::HeldBytes()); };
  return ParseMessage(Encoding::kJson, json, admit, message).status();
}

Status ParseJson(std::string_view json) {
  v1::PredictRequest request;
  return Parse(json, request);
}

TEST(ParseMessageTest, NamesAreThoseOfTheProtoOrInCamelCase) {
  v1::GetOfferRequest request;
  ASSERT_OK(Parse(R"({"name":"studies/s","wholeForest":true})", request));
  EXPECT_TRUE(request.whole_forest());
  ASSERT_OK(Parse(R"({"name":"studies/s","whole_forest":true})", request));
  EXPECT_EQ(*SerializeMessage(Encoding::kJson, request),
            R"({"name":"studies/s","wholeForest":true})");
}

TEST(ParseMessageTest, BytesAreBase64AndLongNumbersStrings) {
  v1::Dataset dataset;
  dataset.set_epsilon_left_nanos(uint64_t{1} << 60);
  EXPECT_EQ(*SerializeMessage(Encoding::kJson, dataset),
            R"({"epsilonLeftNanos":"1152921504606846976"})");
  v1::GetOfferResponse offer;
  ASSERT_OK(Parse(R"({"fingerprint":"AP8="})", offer));
  EXPECT_EQ(offer.fingerprint(), std::string("\0\xff", 2));
}

TEST(ParseMessageTest, ErrorsNameTheFieldAndNoValue) {
  EXPECT_THAT(std::string(ParseJson(R"({"nme":"secret"})").message()),
              HasSubstr("the field nme is unknown"));
  const struct {
    const char* json;
    const char* field;
  } cases[] = {{R"({"name":{"secret":1}})", ""},
               {R"({"rows":"secret"})", "the field rows"},
               {R"({"rows":[{"values":["secret"]}]})", "the field rows[0].values"},
               {R"({"rows":[{"values":[1]},{"secret\"here":1}]})", ""},
               {R"({"name": secret})", "JSON"},
               {R"({"name":"secret)", "JSON"},
               {"\"secret\"", "an object"},
               {"[\"secret\"]", "an object"},
               {"", "JSON"},
               {"secret", "JSON"},
               {"{\"name\":\"\xff secret\"}", "JSON in UTF-8"},
               {R"({} secret)", "JSON"}};
  for (const auto& c : cases) {
    const Status status = ParseJson(c.json);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.json;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the request is no coppice.v1.PredictRequest"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.field)) << c.json;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret"))) << c.json;
  }
}

TEST(ParseMessageTest, NoValueIsLeftOutOfAList) {
  const Status status = ParseJson(R"({"rows":[{"values":[7,null,2]},{"values":[7,2]}]})");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the request is no coppice.v1.PredictRequest"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the field rows[0].values[1] is null"));
}

TEST(ParseMessageTest, DeepJsonIsRefused) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "[";
  EXPECT_FALSE(ParseJson(StrCat("{\"rows\":", deep)).ok());
}

}  // namespace
}  // namespace coppice::http
