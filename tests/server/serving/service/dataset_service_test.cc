#include "server/serving/service/central_messages.h"
#include "server/serving/service/handlers.h"
#include "tests/server/serving/service/central_service_fixture.h"
#include "tests/server/serving/service/load.h"

namespace coppice::service {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class DatasetServiceTest : public CentralServiceTest {};

TEST_F(DatasetServiceTest, CreateAnswersWithTheDatasetAndGetWithItsLedgerToo) {
  ASSERT_THAT(Create(CreateRequest("d")), IsGrpcOk());
  EXPECT_EQ(dataset_.name(), "datasets/d");
  EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_UPLOADING);
  EXPECT_EQ(dataset_.schema().label(), "label");
  EXPECT_EQ(dataset_.cap().epsilon_nanos(), 10 * kEpsilon);
  EXPECT_EQ(dataset_.epsilon_left_nanos(), 10 * kEpsilon);
  EXPECT_THAT(dataset_.ledger(), SizeIs(0));
  ASSERT_THAT(Get("datasets/d"), IsGrpcOk());
  ASSERT_THAT(dataset_.ledger(), SizeIs(1));
  EXPECT_EQ(dataset_.ledger(0).kind(), v1::LEDGER_ENTRY_KIND_OPENED);
  EXPECT_EQ(dataset_.ledger(0).job(), "");
  EXPECT_THAT(dataset_.ledger(0).hash(), SizeIs(32));
  EXPECT_THAT(Get("datasets/e"), GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no dataset e")));
  EXPECT_THAT(Get("d"), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("datasets/ID")));
}

TEST_F(DatasetServiceTest, CuratorChoosesWhatACapLeavesOpen) {
  v1::CreateDatasetRequest request = CreateRequest("d");
  request.mutable_cap()->clear_composition();
  request.mutable_cap()->clear_neighbours();
  ASSERT_THAT(Create(request), IsGrpcOk());
  EXPECT_EQ(dataset_.cap().composition(), v1::COMPOSITION_BASIC);
  EXPECT_EQ(dataset_.cap().neighbours(), v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
}

TEST_F(DatasetServiceTest, CreateNamesTheFieldThatIsWrong) {
  v1::CreateDatasetRequest request = CreateRequest("d");
  request.mutable_cap()->set_composition(static_cast<v1::Composition>(99));
  EXPECT_THAT(Create(request), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("cap.composition")));
  request = CreateRequest("d");
  request.mutable_cap()->set_neighbours(static_cast<v1::Neighbours>(99));
  EXPECT_THAT(Create(request), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("cap.neighbours")));
  request = CreateRequest("d");
  request.mutable_cap()->clear_epsilon_nanos();
  EXPECT_THAT(Create(request), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("cap")));
  request = CreateRequest("d");
  request.clear_schema();
  EXPECT_THAT(Create(request), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("schema")));
}

TEST_F(DatasetServiceTest, PublicRowsComeWithTheDatasetAndWhoeverSeesItSeesWhichTheyAre) {
  v1::CreateDatasetRequest request = CreateRequest("d");
  *request.mutable_public_rows() = Block(30);
  request.mutable_public_rows()->mutable_columns(1)->set_values(3, 7);
  EXPECT_THAT(Create(request), GrpcStatusIs(grpc::INVALID_ARGUMENT,
                                            HasSubstr("public_rows: rows: row 3 of the block")));
  *request.mutable_public_rows() = Block(30);
  ASSERT_THAT(Create(request), IsGrpcOk());
  EXPECT_EQ(dataset_.public_rows(), 30u);
  const std::string digest = dataset_.public_rows_sha256();
  EXPECT_THAT(digest, SizeIs(64));
  ASSERT_THAT(Get("datasets/d"), IsGrpcOk());
  EXPECT_EQ(dataset_.public_rows_sha256(), digest);
  EXPECT_EQ(dataset_.rows(), 0u);
}

// A dataset keeps its schema, and a large message may be all schema.
TEST_F(DatasetServiceTest, ASchemaHasABoundOfItsOwn) {
  v1::CreateDatasetRequest request = CreateRequest("d");
  request.mutable_schema()->set_label(std::string(size_t{17} << 20, 'x'));
  EXPECT_THAT(ParseDatasetSpec(request).status(),
              StatusIs(kInvalid, HasSubstr("schema: must take at most 16777216 bytes")));
}

TEST_F(DatasetServiceTest, NothingIsKeptWithPublicRowsThatNobodyChecked) {
  v1::CreateDatasetRequest request = CreateRequest("d");
  const std::string more = Block(30).SerializeAsString() + "\xfa\x3f\x04more";
  ASSERT_TRUE(request.mutable_public_rows()->ParseFromString(more));
  EXPECT_EQ(request.public_rows().SerializeAsString(), more);
  ASSERT_OK_AND_ASSIGN(const central::DatasetSpec spec, ParseDatasetSpec(request));
  EXPECT_EQ(spec.public_rows->SerializeAsString(), Block(30).SerializeAsString());
}

TEST_F(DatasetServiceTest, BoundsFromPrivateRowsAreRefusedUnlessTheLeakIsAccepted) {
  v1::CreateDatasetRequest request = CreateRequest("d");
  request.mutable_schema()->mutable_features(0)->set_from_private_rows(true);
  request.mutable_schema()->set_answers_from_private_rows(true);
  EXPECT_THAT(Create(request),
              GrpcStatusIs(grpc::INVALID_ARGUMENT,
                           AllOf(HasSubstr("schema: bounds, values or classes"),
                                 HasSubstr(request.schema().features(0).name() + ", label"),
                                 HasSubstr("accept_leak"))));
  EXPECT_THAT(Get("datasets/d"), GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no dataset d")));
  request.set_accept_leak(true);
  ASSERT_THAT(Create(request), IsGrpcOk());
  EXPECT_TRUE(dataset_.schema().features(0).from_private_rows());
  EXPECT_TRUE(dataset_.schema().answers_from_private_rows());
}

TEST_F(DatasetServiceTest, UploadStoresBlockAfterBlockAndAnswersWithTheDataset) {
  ASSERT_THAT(Create(CreateRequest("d")), IsGrpcOk());
  ASSERT_THAT(Upload({Rows("datasets/d", 0, 20), Rows("", 20, 30), Rows("", 50, 0, true)}),
              IsGrpcOk());
  EXPECT_EQ(dataset_.rows(), 50u);
  EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_READY);
  EXPECT_EQ((*testing::RowsOf(*central_.datasets, "d")).num_rows(), 50u);
}

TEST_F(DatasetServiceTest, AnUploadGoesOnAfterABrokenStream) {
  ASSERT_THAT(Create(CreateRequest("d")), IsGrpcOk());
  {
    grpc::ClientContext context;
    v1::UploadRowsResponse response;
    const auto writer = datasets_->UploadRows(&context, &response);
    ASSERT_TRUE(writer->Write(Rows("datasets/d", 0, 20)));
    while (central_.datasets->Get("d")->rows == 0) std::this_thread::yield();
    context.TryCancel();
    EXPECT_THAT(writer->Finish(), Not(IsGrpcOk()));
  }
  ASSERT_THAT(Get("datasets/d"), IsGrpcOk());
  ASSERT_THAT(Upload({Rows("datasets/d", dataset_.rows(), 5, true)}), IsGrpcOk());
  EXPECT_EQ(dataset_.rows(), 25u);
}

TEST_F(DatasetServiceTest, AnUploadThatTheFullPoolRefusesSaysWhenToComeAgain) {
  ASSERT_THAT(Create(CreateRequest("d")), IsGrpcOk());
  const FullPool full(pool_);
  grpc::ClientContext context;
  v1::UploadRowsResponse response;
  const auto writer = datasets_->UploadRows(&context, &response);
  writer->Write(Rows("datasets/d", 0, 3));
  EXPECT_THAT(writer->Finish(), GrpcStatusIs(grpc::RESOURCE_EXHAUSTED, HasSubstr("busy")));
  EXPECT_EQ(PushbackOf(context), "1000");
  EXPECT_EQ(central_.datasets->Get("d")->rows, 0u);
}

TEST_F(DatasetServiceTest, WhatIsRefusedEndsTheStreamAndWhatCameBeforeStays) {
  ASSERT_THAT(Create(CreateRequest("d")), IsGrpcOk());
  EXPECT_THAT(Upload({Rows("datasets/d", 0, 3), Rows("", 2, 3)}),
              GrpcStatusIs(grpc::FAILED_PRECONDITION, HasSubstr("has 3 rows")));
  v1::UploadRowsRequest bad = Rows("datasets/d", 3, 3);
  bad.mutable_rows()->mutable_columns(0)->set_values(1, 4711);
  EXPECT_THAT(Upload({bad}), GrpcStatusIs(grpc::INVALID_ARGUMENT,
                                          AllOf(HasSubstr("row 1"), Not(HasSubstr("4711")))));
  EXPECT_THAT(Upload({Rows("d", 3, 3)}),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("dataset")));
  EXPECT_THAT(Upload({}), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("dataset")));
  EXPECT_THAT(Upload({Rows("datasets/d", 3, 1), Rows("datasets/other", 0, 3)}),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("of one dataset")));
  EXPECT_THAT(Upload({Rows("datasets/e", 0, 3)}),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no dataset e")));
  EXPECT_THAT(Upload({Rows("datasets/d", 4, 0, true), Rows("", 4, 0, true)}),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("nothing may follow")));
  EXPECT_EQ(central_.datasets->Get("d")->rows, 4u);
}

// The block of an UploadRows message as a call of its own.
v1::AppendRowsRequest AppendOf(const v1::UploadRowsRequest& message) {
  v1::AppendRowsRequest request;
  request.set_dataset(message.dataset());
  request.set_first_row(message.first_row());
  if (message.has_rows()) *request.mutable_rows() = message.rows();
  request.set_complete(message.complete());
  return request;
}

TEST_F(DatasetServiceTest, AppendStoresABlockACallAndGoesOnWhereItWas) {
  const auto append = [this](const v1::UploadRowsRequest& message) {
    grpc::ClientContext context;
    v1::AppendRowsResponse response;
    const grpc::Status status = datasets_->AppendRows(&context, AppendOf(message), &response);
    if (status.ok()) dataset_ = response.dataset();
    return status;
  };
  ASSERT_THAT(Create(CreateRequest("d")), IsGrpcOk());
  ASSERT_THAT(append(Rows("datasets/d", 0, 20)), IsGrpcOk());
  EXPECT_EQ(dataset_.rows(), 20u);
  EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_UPLOADING);
  EXPECT_EQ(dataset_.schema().label(), "label");
  // A block that is sent again, as after a lost answer, is not stored twice.
  EXPECT_THAT(append(Rows("datasets/d", 0, 20)),
              GrpcStatusIs(grpc::FAILED_PRECONDITION, HasSubstr("has 20 rows")));
  v1::UploadRowsRequest bad = Rows("datasets/d", 20, 3);
  bad.mutable_rows()->mutable_columns(0)->set_values(1, 4711);
  EXPECT_THAT(append(bad), GrpcStatusIs(grpc::INVALID_ARGUMENT,
                                        AllOf(HasSubstr("row 1"), Not(HasSubstr("4711")))));
  EXPECT_THAT(append(Rows("", 20, 3)), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("dataset")));
  EXPECT_THAT(append(Rows("datasets/e", 0, 3)),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no dataset e")));
  // Streams and calls may take turns.
  ASSERT_THAT(Upload({Rows("datasets/d", 20, 30)}), IsGrpcOk());
  ASSERT_THAT(append(Rows("datasets/d", 50, 5, true)), IsGrpcOk());
  EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_READY);
  ASSERT_THAT(append(Rows("datasets/d", 55, 0, true)), IsGrpcOk());  // completes it again
  EXPECT_THAT(append(Rows("datasets/d", 55, 1)),
              GrpcStatusIs(grpc::FAILED_PRECONDITION, HasSubstr("takes no more rows")));
  EXPECT_EQ((*testing::RowsOf(*central_.datasets, "d")).num_rows(), 55u);
}

TEST_F(DatasetServiceTest, RowsAreAppendedByTheOwnerAlone) {
  CallAs({.name = "lab"});
  ASSERT_THAT(Create(CreateRequest("mine")), IsGrpcOk());
  CallAs({.name = "other"});
  grpc::ClientContext context;
  v1::AppendRowsResponse response;
  EXPECT_THAT(datasets_->AppendRows(&context, AppendOf(Rows("datasets/mine", 0, 3)), &response),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no dataset mine")));
  EXPECT_EQ(central_.datasets->Get("mine")->rows, 0u);
}

TEST_F(DatasetServiceTest, ListGoesPageByPageWithoutSchemasAndDeleteIsSeen) {
  for (const char* id : {"a", "b", "c"}) ASSERT_THAT(Create(CreateRequest(id)), IsGrpcOk());
  v1::DeleteDatasetRequest deleted;
  deleted.set_name("datasets/b");
  v1::DeleteDatasetResponse nothing;
  grpc::ClientContext delete_context;
  ASSERT_THAT(datasets_->DeleteDataset(&delete_context, deleted, &nothing), IsGrpcOk());
  v1::ListDatasetsRequest request;
  request.set_page_size(2);
  v1::ListDatasetsResponse first, second;
  grpc::ClientContext first_context, second_context;
  ASSERT_THAT(datasets_->ListDatasets(&first_context, request, &first), IsGrpcOk());
  ASSERT_THAT(first.datasets(), SizeIs(2));
  EXPECT_FALSE(first.datasets(0).has_schema());
  EXPECT_EQ(first.datasets(1).state(), v1::DATASET_STATE_DELETED);
  request.set_page_token(first.next_page_token());
  ASSERT_THAT(datasets_->ListDatasets(&second_context, request, &second), IsGrpcOk());
  ASSERT_THAT(second.datasets(), SizeIs(1));
  EXPECT_EQ(second.datasets(0).name(), "datasets/c");
  EXPECT_EQ(second.next_page_token(), "");
}

TEST_F(DatasetServiceTest, ToOtherTrainersADatasetIsNotThereInTheSameWords) {
  CallAs({.name = "lab"});
  ASSERT_THAT(Create(CreateRequest("mine")), IsGrpcOk());
  EXPECT_EQ(dataset_.owner(), "lab");
  ASSERT_THAT(Upload({Rows("datasets/mine", 0, 3, true)}), IsGrpcOk());
  ASSERT_THAT(Get("datasets/mine"), IsGrpcOk());
  EXPECT_EQ(dataset_.rows(), 3u);

  const auto remove = [this](const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteDatasetRequest request;
    request.set_name(name);
    v1::DeleteDatasetResponse nothing;
    return datasets_->DeleteDataset(&context, request, &nothing);
  };
  CallAs({.name = "other"});
  EXPECT_THAT(Get("datasets/mine"), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset mine"));
  EXPECT_THAT(Get("datasets/none"), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset none"));
  for (const uint64_t first_row : {0, 3}) {
    EXPECT_THAT(Upload({Rows("datasets/mine", first_row, 3)}),
                GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset mine"));
  }
  EXPECT_THAT(remove("datasets/mine"), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset mine"));
  grpc::ClientContext list_context, admin_context;
  v1::ListDatasetsResponse listed;
  ASSERT_THAT(datasets_->ListDatasets(&list_context, {}, &listed), IsGrpcOk());
  EXPECT_THAT(listed.datasets(), SizeIs(0));

  // Request ids are per owner. If no policy reserves a name, callers can learn that it is taken.
  v1::CreateDatasetRequest taken = CreateRequest("mine");
  EXPECT_THAT(Create(taken), GrpcStatusIs(grpc::ALREADY_EXISTS, HasSubstr("dataset_id")));

  CallAs(owners::Caller::Operator());
  EXPECT_THAT(Get("datasets/mine"), IsGrpcOk());
  ASSERT_THAT(datasets_->ListDatasets(&admin_context, {}, &listed), IsGrpcOk());
  EXPECT_THAT(listed.datasets(), SizeIs(1));
  CallAs({.name = "lab"});
  EXPECT_THAT(remove("datasets/mine"), IsGrpcOk());
}

// The time from the creation until a dataset is ready tells how many rows there are.
TEST_F(DatasetServiceTest, AGranteeDoesNotSeeAnUploadsSteps) {
  const std::vector<std::string> names = {"datasets/mine"};
  const owners::Caller owner{.name = "lab"};
  const owners::Caller granted{.name = "granted", .resources = *owners::Patterns::Parse(names)};
  // For a name that is taken, to somebody who tries names.
  const auto refusal = [&] {
    CallAs({.name = "other"});
    v1::CreateDatasetRequest taken = CreateRequest("mine");
    taken.set_request_id("of another");
    return Create(taken).error_message();
  };
  const auto seen = [&] {
    std::string all = refusal();
    CallAs(granted);
    EXPECT_THAT(Get("datasets/mine"), IsGrpcOk());
    EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_UPLOADING);
    EXPECT_EQ(dataset_.created_unix_seconds(), 0) << "the day";
    all += dataset_.SerializeAsString();
    grpc::ClientContext list_context;
    v1::ListDatasetsResponse listed;
    EXPECT_THAT(datasets_->ListDatasets(&list_context, {}, &listed), IsGrpcOk());
    all += listed.SerializeAsString();
    CallAs(owner);
    return all;
  };
  CallAs(owner);
  ASSERT_THAT(Create(CreateRequest("mine")), IsGrpcOk());
  const std::string at_first = seen();
  ASSERT_THAT(Upload({Rows("datasets/mine", 0, 3)}), IsGrpcOk());
  EXPECT_EQ(seen(), at_first);
  ASSERT_THAT(Upload({Rows("datasets/mine", 3, 0, true)}), IsGrpcOk());
  EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_READY);
  EXPECT_EQ(dataset_.created_unix_seconds(), 1000);
  EXPECT_EQ(seen(), at_first);
  const std::string refused_before = refusal();
  CallAs(owner);
  grpc::ClientContext context;
  v1::DeleteDatasetRequest request;
  request.set_name("datasets/mine");
  v1::DeleteDatasetResponse nothing;
  ASSERT_THAT(datasets_->DeleteDataset(&context, request, &nothing), IsGrpcOk());
  EXPECT_EQ(refusal(), refused_before) << "whoever tries names does not learn of deletions";
  CallAs(granted);
  ASSERT_THAT(Get("datasets/mine"), IsGrpcOk());
  EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_DELETED) << "as soon as the deletion begins";
}

TEST_F(DatasetServiceTest, ADatasetWithoutAnOwnerIsForAdminsAlone) {
  ASSERT_THAT(Create(CreateRequest("old")), IsGrpcOk());
  EXPECT_EQ(dataset_.owner(), "");
  for (const char* name : {"", "lab"}) {
    CallAs({.name = name});
    EXPECT_THAT(Get("datasets/old"), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset old"));
  }
}

TEST_F(DatasetServiceTest, PagesOfAListAreFullOfWhatTheCallerMaySee) {
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    CallAs({.name = id[0] % 2 == 1 ? "odd" : "even"});  // a, c, e
    ASSERT_THAT(Create(CreateRequest(id)), IsGrpcOk());
  }
  CallAs({.name = "odd"});
  v1::ListDatasetsRequest request;
  request.set_page_size(2);
  v1::ListDatasetsResponse first, second;
  grpc::ClientContext first_context, second_context;
  ASSERT_THAT(datasets_->ListDatasets(&first_context, request, &first), IsGrpcOk());
  ASSERT_THAT(first.datasets(), SizeIs(2));
  EXPECT_EQ(first.datasets(1).name(), "datasets/c");
  request.set_page_token(first.next_page_token());
  ASSERT_THAT(datasets_->ListDatasets(&second_context, request, &second), IsGrpcOk());
  ASSERT_THAT(second.datasets(), SizeIs(1));
  EXPECT_EQ(second.next_page_token(), "");
}

}  // namespace
}  // namespace coppice::service
