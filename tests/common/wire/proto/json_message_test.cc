#include "common/wire/proto/json_message.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/admin.pb.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/report.pb.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::Message;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = StatusCode::kInvalidArgument;

template <typename T>
Status Parse(std::string_view json) {
  T message;
  return ParseJsonMessage(json, message);
}

// A list in a request, as the names that lead to it.
struct RepeatedField {
  const Descriptor* request;
  std::vector<const FieldDescriptor*> path;

  // The request's JSON, in which each list on the way has one element, and the last one `value`.
  std::string Json(std::string_view value) const {
    std::string json(value);
    for (auto field = path.rbegin(); field != path.rend(); ++field) {
      const bool is_list = (*field)->is_repeated() && field != path.rbegin();
      json = StrCat("{\"", (*field)->json_name(), "\":", is_list ? "[" : "", json,
                    is_list ? "]" : "", "}");
    }
    return json;
  }

  std::string Path() const {
    return StrJoin(path, ".", [&](std::string* out, const FieldDescriptor* field) {
      StrAppend(out, field->json_name(), field->is_repeated() && field != path.back() ? "[0]" : "");
    });
  }

  Status Parse(std::string_view value) const {
    const std::unique_ptr<Message> message(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(request)->New());
    return ParseJsonMessage(Json(value), *message);
  }
};

void AddRepeatedFields(const RepeatedField& before, const Descriptor& type,
                       std::vector<RepeatedField>& found) {
  for (int i = 0; i < type.field_count(); ++i) {
    RepeatedField here = before;
    here.path.push_back(type.field(i));
    if (type.field(i)->is_repeated()) found.push_back(here);
    const bool leads_on = type.field(i)->message_type() != nullptr && !type.field(i)->is_map();
    if (leads_on) AddRepeatedFields(here, *type.field(i)->message_type(), found);
  }
}

// Every list and map that a request of any method can hold.
std::vector<RepeatedField> RepeatedFieldsOfAllMethods() {
  std::vector<RepeatedField> found;
  for (const FileDescriptor* file :
       {v1::BackupRequest::descriptor()->file(), v1::BatchHeader::descriptor()->file(),
        v1::Dataset::descriptor()->file(), v1::Model::descriptor()->file(),
        v1::RelayTerms::descriptor()->file(), v1::Report::descriptor()->file(),
        v1::Study::descriptor()->file(), v1::Job::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        const Descriptor* request = file->service(i)->method(j)->input_type();
        AddRepeatedFields({.request = request, .path = {}}, *request, found);
      }
    }
  }
  return found;
}

TEST(JsonNullTest, IsRefusedInEveryListOfEveryMethod) {
  const std::vector<RepeatedField> fields = RepeatedFieldsOfAllMethods();
  EXPECT_GT(fields.size(), 20u);
  for (const RepeatedField& field : fields) {
    SCOPED_TRACE(StrCat(field.request->name(), ".", field.Path()));
    const bool is_map = field.path.back()->is_map();
    EXPECT_THAT(field.Parse(is_map ? R"({"a":null})" : "[null]"),
                StatusIs(kInvalid, HasSubstr(StrCat("the field ", field.Path(),
                                                    is_map ? " is null" : "[0] is null"))));
    if (!is_map) {
      EXPECT_THAT(field.Parse("[[]]"), StatusIs(kInvalid, HasSubstr("[0] is a list in a list")));
    }
    EXPECT_OK(field.Parse("null")) << "a list that is left out";
    EXPECT_OK(field.Parse(is_map ? "{}" : "[]"));
  }
}

TEST(JsonNullTest, IsRefusedWhereverItStandsInAList) {
  const struct {
    const char* json;
    const char* field;
  } cases[] = {
      {R"({"rows":[{"values":[7,null,2]},{"values":[7,2]}]})",
       "the field rows[0].values[1] is null"},
      {R"({"rows":[{"values":[7,2]},{"values":[7,null]}]})", "the field rows[1].values[1] is null"},
      {R"({"rows":[null,{"values":[7,2]}]})", "the field rows[0] is null, which no list"},
      {"{\"rows\" : [ {\"values\" : [ 1 ,\n\tnull ] } ] }", "the field rows[0].values[1] is null"},
      {R"({"name":"a \"[null]\" b","rows":[{"values":["NaN"]},null]})",
       "the field rows[1] is null"},
      {"\xEF\xBB\xBF{\"rows\":[null]}", "the field rows[0] is null"}};
  for (const auto& c : cases) {
    EXPECT_THAT(Parse<v1::PredictRequest>(c.json), StatusIs(kInvalid, HasSubstr(c.field)))
        << c.json;
  }
  EXPECT_THAT(Parse<v1::PredictRequest>(R"({"rows":[{"values":[null]}]})"),
              StatusIs(kInvalid, HasSubstr("a missing number is \"NaN\"")));
  EXPECT_THAT(Parse<v1::AppendRowsRequest>(R"({"rows":{"labels":[0,null]}})"),
              StatusIs(kInvalid, HasSubstr("the field rows.labels[1] is null")));
}

TEST(JsonNullTest, IsAFieldThatIsLeftOut) {
  v1::PredictRequest request;
  ASSERT_OK(ParseJsonMessage(R"({"name":null,"rows":[{"values":null},{"values":[1]}]})", request));
  EXPECT_EQ(request.name(), "");
  EXPECT_EQ(request.rows_size(), 2);
}

TEST(JsonMessageTest, ReadsAMissingNumber) {
  v1::PredictRequest request;
  ASSERT_OK(ParseJsonMessage(R"({"rows":[{"values":["NaN",4]}]})", request));
  ASSERT_EQ(request.rows(0).values_size(), 2);
  EXPECT_TRUE(std::isnan(request.rows(0).values(0)));
  EXPECT_EQ(request.rows(0).values(1), 4);
}

TEST(JsonMessageTest, RefusesAFieldThatOccursTwice) {
  const struct {
    const char* json;
    const char* field;
  } cases[] = {{R"({"name":"models/a","name":"models/b"})", "the field name occurs twice"},
               {R"({"rows":[{"values":[1]}],"rows":[]})", "the field rows occurs twice"},
               {R"({"explainTrees":1,"explain_trees":2})", "the field explainTrees occurs twice"},
               {R"({"rows":[{"values":[1]},{"values":[1],"values":[2]}]})",
                "the field rows[1].values occurs twice"}};
  for (const auto& c : cases) {
    EXPECT_THAT(Parse<v1::PredictRequest>(c.json), StatusIs(kInvalid, HasSubstr(c.field)))
        << c.json;
  }
  EXPECT_THAT(Parse<v1::SubmitJobRequest>(R"({"spec":{"settings":{"a":"1","a":"2"}}})"),
              StatusIs(kInvalid, HasSubstr("a key twice")));
  EXPECT_OK(Parse<v1::SubmitJobRequest>(R"({"spec":{"settings":{"a":"1","b":"1"}}})"));
}

TEST(JsonMessageTest, NamesTheFieldAndQuotesNoValue) {
  const struct {
    const char* json;
    const char* words;
  } cases[] = {{R"({"nme":"secret"})", "the field nme is unknown"},
               {R"({"rows":[{"vals":["secret"]}]})", "the field rows[0].vals is unknown"},
               {R"({"rows":[{"values":[1,"secret"]}]})", "the field rows[0].values"},
               {R"({"rows":[{"values":{"secret":1}}]})", "the field rows[0].values has a value of"},
               {R"({"name":{"secret":1}})", "the field name has a value of another type"},
               {R"({"name":["secret"]})", "the field name has a value of another type"},
               {R"({"rows":[{"a secret":1}]})", "a field in it is unknown"},
               {R"({"rows":["secret"]})", "the field rows[0]"},
               {R"({'name':"secret"})", "does not parse"},
               {R"({name:"secret"})", "does not parse"},
               {R"({"name":"secret)", "does not parse"},
               {R"({"name":"secret"]})", "does not parse"},
               {R"({"name":"secret"}})", "does not parse"},
               {R"({"rows":[{"values":[NaN]}],"name":"secret"})", "does not parse"},
               {R"(["secret"])", "an object"},
               {R"("secret")", "an object"},
               {"{\"name\":\"\xff secret\"}", "in UTF-8"},
               {"", "does not parse"}};
  for (const auto& c : cases) {
    const Status status = Parse<v1::PredictRequest>(c.json);
    EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr(c.words))) << c.json;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret"))) << c.json;
  }
}

TEST(JsonMessageTest, ReadsWhatProtobufWrites) {
  v1::SubmitJobRequest request;
  request.set_request_id("{[null, \"\\\"]}");
  (*request.mutable_spec()->mutable_settings())["a\nb"] = "null";
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(request, &json).ok());
  v1::SubmitJobRequest read;
  ASSERT_OK(ParseJsonMessage(json, read));
  EXPECT_EQ(read.request_id(), request.request_id());
  EXPECT_EQ(read.spec().settings().at("a\nb"), "null");
}

TEST(JsonMessageTest, SkipsUnknownFieldsIfAsked) {
  v1::PredictRequest request;
  const char* json =
      R"({"later":{"a":[null,[{"b":null}]],"name":1},"rows":[{"new":null,"values":[1]}]})";
  ASSERT_OK(ParseJsonMessage(json, request, UnknownFields::kSkipped));
  EXPECT_EQ(request.rows(0).values_size(), 1);
  EXPECT_THAT(
      ParseJsonMessage(R"({"later":[null],"rows":[null]})", request, UnknownFields::kSkipped),
      StatusIs(kInvalid, HasSubstr("the field rows[0] is null")));
}

TEST(JsonMessageTest, RefusesTextsThatNestTooDeeply) {
  for (const std::string_view open : {"[", "{\"later\":", "{\"rows\":["}) {
    std::string deep = "{\"later\":";
    for (int i = 0; i < 100000; ++i) StrAppend(&deep, open);
    v1::PredictRequest request;
    EXPECT_FALSE(ParseJsonMessage(deep, request).ok());
    EXPECT_FALSE(ParseJsonMessage(deep, request, UnknownFields::kSkipped).ok());
  }
}

}  // namespace
}  // namespace coppice
