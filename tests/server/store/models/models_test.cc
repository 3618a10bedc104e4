#include "server/store/models/models.h"

#include <optional>
#include <string_view>
#include <thread>

#include "common/base/status.h"
#include "server/store/models/model_record.h"
#include "tests/support/memory_store.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::models {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::MemoryStore;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kExists = StatusCode::kAlreadyExists;

ModelInfo Info(const std::string& id, const std::string& source) {
  return {.id = id,
          .source = source,
          .created_unix_seconds = 7,
          .model = std::make_shared<const Model>(*Model::Create(
              *Schema::Create({Numeric("x", 0, 1)}, "y", {"no", "yes"}), {Tree::SingleLeaf()},
              {{{.probabilities = {0.25, 0.75}}}}, Certificate()))};
}

class ModelsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Ids(std::string_view source, const Page& page) const {
    std::vector<std::string> ids;
    for (const ModelSummary& model : models_.List(source, page)) ids.push_back(model.id);
    return ids;
  }

  MemoryStore store_;
  Models models_;
};

TEST_F(ModelsTest, ModelsOfStudiesAndJobsSurviveUnderKeysOfTheirOwn) {
  ASSERT_OK(models_.Save(store_, Info("a", "studies/s")));
  ASSERT_OK(models_.Save(store_, Info("b", "jobs/j")));
  EXPECT_TRUE(store_.Get("model/s/a")->has_value());
  EXPECT_TRUE(store_.Get("trained/j/b")->has_value());
  EXPECT_TRUE(store_.Get("summary/model/s/a")->has_value());
  Models again;
  ASSERT_OK(again.Load(store_));
  for (const char* id : {"a", "b"}) {
    ASSERT_OK_AND_ASSIGN(const ModelInfo info, again.Get(id));
    EXPECT_EQ(info.source, id[0] == 'a' ? "studies/s" : "jobs/j");
    EXPECT_EQ(info.created_unix_seconds, 7);
    EXPECT_EQ(*info.model, *Info(id, "").model);
  }
}

TEST_F(ModelsTest, ASignatureStaysWithItsModel) {
  const SigningKey key = *SigningKey::FromSeed({1, 2, 3});
  ModelInfo info = Info("a", "jobs/j");
  ASSERT_OK(models_.Sign(info));
  EXPECT_FALSE(info.signature.has_value()) << "nobody signs yet";
  models_.SignWith([&](std::string_view bytes) -> StatusOr<ModelSignature> {
    return ModelSignature{.signature = *key.Sign(kModelDomain, bytes), .key = key.public_key()};
  });
  ASSERT_OK(models_.Sign(info));
  ASSERT_OK(models_.Save(store_, info));
  Models again;
  ASSERT_OK(again.Load(store_));
  ASSERT_OK_AND_ASSIGN(const ModelInfo loaded, again.Get("a"));
  EXPECT_EQ(loaded.signature, info.signature);
  EXPECT_OK(CheckModelSignature(ToProto(loaded), key.public_key(), 0));
  ModelInfo renamed = loaded;
  renamed.id = "b";
  EXPECT_THAT(CheckModelSignature(ToProto(renamed), key.public_key(), 0),
              StatusIs(StatusCode::kDataLoss, _));
}

// When the key changes, the next key signs what the former key had signed, and vouches for nothing
// else.
TEST_F(ModelsTest, TheNextKeySignsWhatTheKeyBeforeHadSigned) {
  const SigningKey before = *SigningKey::FromSeed({1}), next = *SigningKey::FromSeed({2}),
                   stranger = *SigningKey::FromSeed({3});
  const auto signer = [](const SigningKey& key) -> ModelSigner {
    return [key](std::string_view bytes) -> StatusOr<ModelSignature> {
      return ModelSignature{.signature = *key.Sign(kModelDomain, bytes), .key = key.public_key()};
    };
  };
  const auto save = [&](const std::string& id, const std::string& source, const SigningKey* key) {
    models_.SignWith(key == nullptr ? ModelSigner() : signer(*key));
    ModelInfo info = Info(id, source);
    ASSERT_OK(models_.Sign(info));
    ASSERT_OK(models_.Save(store_, info));
  };
  save("study", "studies/s", &before);
  save("job", "jobs/j", &before);
  save("unsigned", "jobs/j", nullptr);
  save("strange", "jobs/j", &stranger);
  ModelInfo changed = *models_.Get("job");
  changed.id = "changed";
  ASSERT_OK(models_.Save(store_, changed));
  storage::StoreBatch damage;
  damage.Put("trained/j/damaged", "\xff\xff");
  ASSERT_OK(store_.Apply(damage));

  ASSERT_OK(Models::SignAnew(store_, before.public_key(), signer(next)));
  const auto check = [&](const std::string& key) {
    v1::Model model;
    EXPECT_TRUE(model.ParseFromString(**store_.Get(key)));
    return CheckModelSignature(model, next.public_key(), 0);
  };
  EXPECT_OK(check("model/s/study"));
  EXPECT_OK(check("trained/j/job"));
  EXPECT_THAT(check("trained/j/unsigned"), StatusIs(StatusCode::kNotFound, _));
  EXPECT_THAT(check("trained/j/strange"), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(check("trained/j/changed"), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_EQ(**store_.Get("trained/j/damaged"), "\xff\xff");
}

TEST_F(ModelsTest, AModelThatCannotBeSignedIsNotMade) {
  models_.SignWith(
      [](std::string_view) -> StatusOr<ModelSignature> { return InternalError("no signature"); });
  ModelInfo info = Info("a", "jobs/j");
  EXPECT_THAT(models_.Sign(info), StatusIs(StatusCode::kInternal, "no signature"));
}

// A start must not fail because of one model that nobody asks for.
TEST_F(ModelsTest, ADamagedModelIsAnErrorForThatModelAlone) {
  for (const char* id : {"a", "b"}) ASSERT_OK(models_.Save(store_, Info(id, "jobs/j")));
  v1::Model record = ToProto(Info("a", "jobs/j"));
  record.mutable_signature()->set_signature("short");
  storage::StoreBatch batch;
  batch.Put("trained/j/a", record.SerializeAsString());
  ASSERT_OK(store_.Apply(batch));
  Models again;
  ASSERT_OK(again.Load(store_));
  EXPECT_THAT(again.Get("a"),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(HasSubstr("trained/j/a"), HasSubstr("must have 64 bytes"))));
  EXPECT_OK(again.Get("b"));
  EXPECT_OK(again.Delete(store_, "a"));
}

TEST_F(ModelsTest, AStartReadsNoModel) {
  ASSERT_OK(models_.Save(store_, Info("a", "studies/s")));
  const std::string model = **store_.Get("model/s/a");
  storage::StoreBatch batch;
  batch.Put("model/s/a", "nothing that parses");
  ASSERT_OK(store_.Apply(batch));
  Models again;
  ASSERT_OK(again.Load(store_));
  ASSERT_OK_AND_ASSIGN(const ModelSummary summary, again.Describe("a"));
  EXPECT_EQ(summary.source, "studies/s");
  EXPECT_EQ(summary.bytes, model.size());
  EXPECT_EQ(*summary.certificate, Info("a", "").model->certificate());
  EXPECT_EQ(again.GetFromMemory("a"), std::nullopt);
}

TEST_F(ModelsTest, AModelThatWasReadStaysInMemoryWhileThereIsRoom) {
  for (const char* id : {"a", "b", "c"}) ASSERT_OK(models_.Save(store_, Info(id, "jobs/j")));
  const uint64_t one = MemoryOf(*Info("a", "").model);
  Models two_fit(2 * one);
  ASSERT_OK(two_fit.Load(store_));
  const auto in_memory = [&] {
    std::vector<std::string> ids;
    for (const char* id : {"a", "b", "c"}) {
      if (two_fit.GetFromMemory(id).has_value()) ids.push_back(id);
    }
    return ids;
  };
  ASSERT_OK(two_fit.Get("a"));
  ASSERT_OK(two_fit.Get("b"));
  EXPECT_THAT(in_memory(), ElementsAre("a", "b"));
  ASSERT_OK(two_fit.Get("a"));
  ASSERT_OK(two_fit.Get("c"));
  EXPECT_THAT(in_memory(), ElementsAre("a", "c")) << "b was used longest ago";
  ASSERT_OK(two_fit.Delete(store_, "a"));
  ASSERT_OK(two_fit.Get("b"));
  EXPECT_THAT(in_memory(), ElementsAre("b", "c"));
}

// Otherwise calls that hold a model each take memory without end.
TEST_F(ModelsTest, AModelThatIsHeldCountsUntilItIsLetGo) {
  for (const char* id : {"a", "b"}) ASSERT_OK(models_.Save(store_, Info(id, "jobs/j")));
  Models one_fits(MemoryOf(*Info("a", "").model));
  ASSERT_OK(one_fits.Load(store_));
  {
    ASSERT_OK_AND_ASSIGN(const ModelInfo held, one_fits.Get("a"));
    EXPECT_THAT(one_fits.Get("b"),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("no room for the model b")));
    EXPECT_OK(one_fits.Get("a")) << "which is there";
    ASSERT_OK(one_fits.Delete(store_, "a"));
    EXPECT_THAT(one_fits.Get("b"), StatusIs(StatusCode::kResourceExhausted, _));
  }
  EXPECT_OK(one_fits.Get("b"));
}

TEST_F(ModelsTest, AModelLargerThanAllMemoryForModelsIsRefusedUnread) {
  ASSERT_OK(models_.Save(store_, Info("a", "jobs/j")));
  Models none_fits(MemoryOf(*Info("a", "").model) - 1);
  ASSERT_OK(none_fits.Load(store_));
  EXPECT_THAT(none_fits.Get("a"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--model-cache-bytes")));
  EXPECT_OK(none_fits.Delete(store_, "a"));
}

TEST_F(ModelsTest, ModelsCountForTheOwnerOfWhatTheyAreMadeFrom) {
  models_.FindOwnersBy(
      [](const std::string& source) { return source == "jobs/j" ? "lab" : "clinic"; });
  for (const char* id : {"a", "b"}) ASSERT_OK(models_.Save(store_, Info(id, "jobs/j")));
  ASSERT_OK(models_.Save(store_, Info("c", "studies/s")));
  const uint64_t bytes = models_.Describe("a")->bytes;
  EXPECT_EQ(models_.UseOf("lab").models, 2u);
  EXPECT_EQ(models_.UseOf("lab").bytes, 2 * bytes);
  EXPECT_EQ(models_.UseOf("nobody").models, 0u);
  ASSERT_OK(models_.Delete(store_, "a"));
  EXPECT_EQ(models_.UseOf("lab").models, 1u);
  models_.RemoveOf("studies/s");
  EXPECT_EQ(models_.UseOf("clinic").bytes, 0u);
  const ModelUse one = {.models = 1, .bytes = bytes};
  EXPECT_OK(models_.Reserve("lab", one, {}));
  EXPECT_OK(models_.Reserve("lab", one, {.models = 2, .bytes = 2 * bytes}));
  EXPECT_THAT(models_.Reserve("lab", one, {.models = 1}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("lab may have 1 model")));
  EXPECT_THAT(models_.Reserve("lab", one, {.bytes = 2 * bytes - 1}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("its quota is")));
}

// Two who ask at the same time must not both get the last place.
TEST_F(ModelsTest, RoomThatIsKeptForAModelIsNobodyElses) {
  models_.FindOwnersBy([](const std::string&) { return "lab"; });
  constexpr ModelUse kOne = {.models = 1, .bytes = 10};
  constexpr ModelUse kMost = {.models = 2, .bytes = 1000};
  ASSERT_OK_AND_ASSIGN(std::optional<ModelClaim> first, models_.Reserve("lab", kOne, kMost));
  ASSERT_OK_AND_ASSIGN(const ModelClaim second, models_.Reserve("lab", kOne, kMost));
  EXPECT_EQ(models_.UseOf("lab").models, 2u);
  EXPECT_EQ(models_.UseOf("lab").bytes, 20u);
  EXPECT_EQ(models_.Reserve("lab", kOne, kMost).status().code(), StatusCode::kResourceExhausted);
  EXPECT_OK(models_.Reserve("clinic", kOne, kMost));
  // A model that is there takes the place of the room that was kept.
  ASSERT_OK(models_.Save(store_, Info("a", "jobs/j")));
  first.reset();
  EXPECT_EQ(models_.UseOf("lab").models, 2u);
  EXPECT_EQ(models_.Reserve("lab", kOne, kMost).status().code(), StatusCode::kResourceExhausted);
  ASSERT_OK(models_.Delete(store_, "a"));
  EXPECT_OK(models_.Reserve("lab", kOne, kMost));
}

// A daemon that starts queues its jobs again before anybody can say whose its models are.
TEST_F(ModelsTest, RoomThatWasPromisedBeforeIsKeptWithoutAskingForOwners) {
  bool may_ask = false;
  models_.FindOwnersBy([&may_ask](const std::string&) {
    EXPECT_TRUE(may_ask);
    return "lab";
  });
  ASSERT_OK(models_.Save(store_, Info("a", "jobs/j")));
  const ModelClaim room = models_.KeepRoom("lab", {.models = 1, .bytes = 10});
  may_ask = true;
  EXPECT_EQ(models_.UseOf("lab").models, 2u);
}

TEST_F(ModelsTest, AModelInSomebodysBatchIsThereOnceItIsPublished) {
  storage::StoreBatch batch;
  batch.Put("other", "record");
  Models::Put(Info("a", "jobs/j"), batch);
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(models_.Get("a"), StatusIs(StatusCode::kNotFound, HasSubstr("no model a")));
  models_.Publish(Info("a", "jobs/j"));
  EXPECT_OK(models_.Get("a"));
}

TEST_F(ModelsTest, ARecordUnderTheKeyOfAnotherModelIsDataLoss) {
  for (const char* id : {"a", "b"}) ASSERT_OK(models_.Save(store_, Info(id, "jobs/j")));
  storage::StoreBatch batch;
  batch.Put("trained/j/a", **store_.Get("trained/j/b"));
  ASSERT_OK(store_.Apply(batch));
  Models again;
  ASSERT_OK(again.Load(store_));
  EXPECT_THAT(again.Get("a"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("has the model of another key")));
}

TEST_F(ModelsTest, AnIdIsClaimedByOneAndFreeAgainIfNothingCameOfIt) {
  std::optional<ModelClaim> claim;
  ASSERT_OK_AND_ASSIGN(claim, models_.Claim("a"));
  EXPECT_THAT(models_.Claim("a").status(), StatusIs(kExists, HasSubstr("being made")));
  EXPECT_OK(models_.Claim("b").status());
  claim.reset();
  ASSERT_OK_AND_ASSIGN(claim, models_.Claim("a"));
  models_.Publish(Info("a", "jobs/j"));
  claim.reset();
  EXPECT_THAT(models_.Claim("a").status(), StatusIs(kExists, HasSubstr("of jobs/j")));
}

TEST_F(ModelsTest, AClaimThatIsReplacedEndsAndOneThatIsMovedDoesNot) {
  ASSERT_OK_AND_ASSIGN(ModelClaim claim, models_.Claim("a"));
  ModelClaim moved = std::move(claim);
  EXPECT_THAT(models_.Claim("a").status(), StatusIs(kExists, HasSubstr("model_id")));
  moved = ModelClaim();
  EXPECT_OK(models_.Claim("a").status());
}

TEST_F(ModelsTest, ListGoesPageByPageOfOneSourceOrAll) {
  for (const char* id : {"c", "a"}) models_.Publish(Info(id, "studies/x"));
  models_.Publish(Info("b", "jobs/x"));
  EXPECT_THAT(Ids("", {}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Ids("studies/x", {}), ElementsAre("a", "c"));
  EXPECT_THAT(Ids("jobs/x", {}), ElementsAre("b"));
  EXPECT_THAT(Ids("", {.size = 1, .after = "a"}), ElementsAre("b"));
  models_.RemoveOf("studies/x");
  EXPECT_THAT(Ids("", {}), ElementsAre("b"));
}

TEST_F(ModelsTest, ADeletedModelIsGoneFromMemoryAndStoreAndItsIdIsFree) {
  for (const char* id : {"a", "ab"}) ASSERT_OK(models_.Save(store_, Info(id, "studies/s")));
  ASSERT_OK(models_.Save(store_, Info("b", "jobs/j")));
  ASSERT_OK(models_.Delete(store_, "a"));
  ASSERT_OK(models_.Delete(store_, "b"));
  EXPECT_THAT(Ids("", {}), ElementsAre("ab"));
  EXPECT_THAT(models_.Delete(store_, "a"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no model a")));
  EXPECT_OK(models_.Claim("a").status());
  Models again;
  ASSERT_OK(again.Load(store_));
  EXPECT_FALSE(again.Get("a").ok());
  EXPECT_FALSE(again.Get("b").ok());
  EXPECT_OK(again.Get("ab").status());
  EXPECT_FALSE(store_.Get("summary/trained/j/b")->has_value());
}

TEST_F(ModelsTest, AModelThatIsHeldIsNotDeleted) {
  for (const char* id : {"a", "b"}) ASSERT_OK(models_.Save(store_, Info(id, "studies/s")));
  {
    ASSERT_OK_AND_ASSIGN(const Models::PinnedModel held, models_.Pin("a", "endpoints/e"));
    EXPECT_THAT(models_.Delete(store_, "a"),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("endpoints/e serves it")));
    EXPECT_OK(models_.Delete(store_, "b"));
  }
  EXPECT_OK(models_.Delete(store_, "a"));
}

TEST_F(ModelsTest, AModelThatIsBeingDeletedIsNotHeld) {
  ASSERT_OK(models_.Save(store_, Info("a", "studies/s")));
  store_.HoldWrites();
  std::thread deleting([this] { EXPECT_OK(models_.Delete(store_, "a")); });
  store_.AwaitHeldWrite();
  EXPECT_FALSE(models_.Pin("a", "endpoints/e").ok());
  EXPECT_FALSE(models_.Delete(store_, "a").ok());
  EXPECT_FALSE(models_.Claim("a").ok());
  store_.LetWrites();
  deleting.join();
  EXPECT_OK(models_.Claim("a").status());
}

TEST_F(ModelsTest, AModelThatCannotBeDeletedStays) {
  ASSERT_OK(models_.Save(store_, Info("a", "studies/s")));
  store_.FailWrites(UnavailableError("no disk"));
  EXPECT_THAT(models_.Delete(store_, "a"), StatusIs(StatusCode::kUnavailable, "no disk"));
  EXPECT_OK(models_.Pin("a", "endpoints/e").status());
}

TEST_F(ModelsTest, ModelThatCannotBeStoredIsNotThere) {
  store_.FailWrites(UnavailableError("no disk"));
  EXPECT_FALSE(models_.Save(store_, Info("a", "jobs/j")).ok());
  EXPECT_FALSE(models_.Get("a").ok());
}

TEST_F(ModelsTest, ARecordOfAnotherKeyIsDataLoss) {
  ASSERT_OK(models_.Save(store_, Info("a", "studies/s")));
  for (const char* key :
       {"summary/model/t/a", "summary/model/s/b", "summary/trained/s/a", "summary/trained/j/x"}) {
    storage::StoreBatch batch;
    batch.Put(key, store_.Get("summary/model/s/a")->value());
    ASSERT_OK(store_.Apply(batch));
    Models again;
    EXPECT_THAT(again.Load(store_), StatusIs(StatusCode::kDataLoss, HasSubstr(key)));
    storage::StoreBatch undo;
    undo.DeletePrefix(key);
    ASSERT_OK(store_.Apply(undo));
  }
}

TEST_F(ModelsTest, TwoModelsOfOneIdAreDataLoss) {
  ASSERT_OK(models_.Save(store_, Info("a", "studies/s")));
  ASSERT_OK(models_.Save(store_, Info("a", "jobs/j")));
  Models again;
  EXPECT_THAT(again.Load(store_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("the id of another model")));
}

}  // namespace
}  // namespace coppice::models
