// Ids that the daemon draws, where the policy grants nearly all names to others.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"
#include "tests/server/daemon/owners_fixture.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::Hex;
using ::coppice::testing::OwnersTest;
using ::coppice::testing::Policy;
using ::coppice::testing::Token;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::Truly;

// Ten first characters in 36 are left. That ids which ignore the patterns pass has a probability of
// (10/36)^16, below 1e-8.
constexpr int kDrawn = 16;

std::string PatternsOf(const std::string& kind, std::string_view beginnings) {
  std::vector<std::string> patterns;
  for (const char first : beginnings)
    patterns.push_back(StrCat("\"", kind, "/", std::string(1, first), "*\""));
  return StrCat("[", StrJoin(patterns, ","), "]");
}

constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz";
constexpr char kAll[] = "abcdefghijklmnopqrstuvwxyz0123456789";

class DrawnIdsTest : public OwnersTest {
 protected:
  // The policy of the fixture, and an analyst who may see these; or everybody may.
  void Grant(const std::string& patterns, bool to_everybody = false) {
    const std::string grant = StrCat("\"roles\":[\"analyst\"],\"resources\":", patterns);
    const std::string reader = to_everybody
                                   ? StrCat("{\"anonymous\":{", grant, "},\"tokens\":[")
                                   : StrCat("{\"tokens\":[{\"name\":\"reader\",\"sha256\":\"",
                                            Hex(access::HashOfToken("reader")), "\",", grant, "},");
    WritePolicy(StrReplaceAll(Policy(), {{"{\"tokens\":[", reader}}));
    ASSERT_OK(access_->ReloadPolicy());
  }

  grpc::Status Make(const google::protobuf::Message& request, const std::string& token,
                    const char* path, std::string* answer) const {
    return Call(path, {"Bearer " + token}, request.SerializeAsString(), answer);
  }
  grpc::Status MakeDatasetOf(const std::string& token, int number, std::string* answer) const {
    v1::CreateDatasetRequest request;
    request.set_request_id(StrCat("dataset ", number));
    *request.mutable_schema() = ToProto(*coppice::testing::CentralSchema());
    request.mutable_cap()->set_epsilon_nanos(coppice::testing::kEpsilon);
    request.mutable_cap()->set_composition(v1::COMPOSITION_BASIC);
    request.mutable_cap()->set_neighbours(v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
    return Make(request, token, "/coppice.v1.DatasetService/CreateDataset", answer);
  }

  std::vector<std::string> Datasets() {
    std::vector<std::string> ids;
    for (int i = 0; i < kDrawn; ++i) {
      std::string bytes;
      EXPECT_TRUE(MakeDatasetOf(kTrainer, i, &bytes).ok());
      v1::CreateDatasetResponse made;
      EXPECT_TRUE(made.ParseFromString(bytes));
      ids.push_back(made.dataset().name());
    }
    return ids;
  }
  // The ids of jobs, which are also those of their models.
  std::vector<std::string> Jobs() {
    std::vector<std::string> ids;
    for (int i = 0; i < kDrawn; ++i) {
      v1::SubmitJobRequest request;
      request.set_request_id(StrCat("job ", i));
      request.mutable_spec()->set_dataset("datasets/a-1");
      request.mutable_spec()->set_algorithm("fake");
      request.mutable_spec()->set_epsilon_nanos(coppice::testing::kEpsilon / 100);
      const auto made = Ask<v1::SubmitJobResponse>("/coppice.v1.TrainingService/SubmitJob",
                                                   Token("a", access::Role::kTrainer), request);
      EXPECT_EQ(StripPrefix(made.job().name(), "jobs/"),
                StripPrefix(made.job().model(), "models/"));
      ids.push_back(made.job().name());
    }
    return ids;
  }
  std::vector<std::string> ModelsOfAStudy() {
    std::vector<std::string> ids;
    for (int i = 0; i < kDrawn; ++i) {
      v1::BuildModelRequest request;
      request.set_study("studies/a-1");
      request.mutable_weighted()->set_lambda(1);
      std::string bytes;
      const grpc::Status status = Make(request, Token("a", access::Role::kTrainer),
                                       "/coppice.v1.ModelService/BuildModel", &bytes);
      EXPECT_TRUE(status.ok()) << status.error_message();
      v1::BuildModelResponse made;
      EXPECT_TRUE(made.ParseFromString(bytes));
      ids.push_back(made.model().name());
    }
    return ids;
  }
  std::vector<std::string> Studies() {
    std::vector<std::string> ids;
    v1::CreateStudyRequest request;
    *request.mutable_schema() = ToProto(*coppice::testing::CentralSchema());
    for (const double value : {1.0, 99.0}) {
      v1::Row& row = *request.add_public_rows();
      row.add_values(value);
      row.add_values(0);
      request.add_public_labels(value > 50 ? 1 : 0);
    }
    request.mutable_partition()->set_rule(v1::SPLIT_RULE_CART);
    request.mutable_partition()->set_criterion(v1::CRITERION_ENTROPY);
    request.mutable_partition()->set_max_depth(1);
    request.mutable_partition()->set_min_leaf(1);
    request.mutable_partition()->set_trees(1);
    request.set_epsilon_nanos(coppice::testing::kEpsilon);
    request.set_mechanism(v1::MECHANISM_SYMMETRIC_UNARY);
    for (int i = 0; i < kDrawn; ++i) {
      request.set_request_id(StrCat("study ", i));
      ids.push_back(Ask<v1::CreateStudyResponse>("/coppice.v1.StudyService/CreateStudy",
                                                 Token("operator", access::Role::kAdmin), request)
                        .study()
                        .name());
    }
    return ids;
  }

  const std::string kTrainer = Token("plain", access::Role::kTrainer);
};

auto BeginsWithADigit() {
  return Truly([](const std::string& name) {
    return IsAsciiDigit(static_cast<unsigned char>(name[name.find('/') + 1]));
  });
}

TEST_F(DrawnIdsTest, StayOutOfWhatAnotherOwnersPatternsMatch) {
  Grant(PatternsOf("*", kLetters));
  EXPECT_THAT(Datasets(), Each(BeginsWithADigit()));
  EXPECT_THAT(Jobs(), Each(BeginsWithADigit()));
  EXPECT_THAT(ModelsOfAStudy(), Each(BeginsWithADigit()));
  EXPECT_THAT(Studies(), Each(BeginsWithADigit()));
}

TEST_F(DrawnIdsTest, StayOutOfWhatEverybodyMaySee) {
  Grant(PatternsOf("models", kLetters), /*to_everybody=*/true);
  EXPECT_THAT(Jobs(), Each(BeginsWithADigit())) << "the model has the job's id";
  EXPECT_THAT(ModelsOfAStudy(), Each(BeginsWithADigit()));
}

TEST_F(DrawnIdsTest, AreRefusedWithThePatternWhereEveryIdIsAnothers) {
  Grant(PatternsOf("datasets", kAll));
  const grpc::Status refused = MakeDatasetOf(kTrainer, 0, nullptr);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr("none of 100 ids"), HasSubstr("*\""),
                                             HasSubstr("falls under the pattern \"datasets/")));
  EXPECT_THAT(datasets_->List({}, [](const auto&, const auto& owner) { return owner == "plain"; }),
              SizeIs(0));
}

TEST_F(DrawnIdsTest, MayFallUnderPatternsOfTheirOwnOwner) {
  WritePolicy(StrReplaceAll(
      Policy(), {{R"("resources":["*/b-*"])", StrCat("\"resources\":", PatternsOf("*", kAll))}}));
  ASSERT_OK(access_->ReloadPolicy());
  EXPECT_TRUE(MakeDatasetOf(Token("b", access::Role::kTrainer), 0, nullptr).ok());
  EXPECT_EQ(MakeDatasetOf(kTrainer, 0, nullptr).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace coppice::daemon
