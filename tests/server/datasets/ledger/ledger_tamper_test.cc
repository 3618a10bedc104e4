// Any change of a stored ledger is found when it is opened, and the damaged key is named.

#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/datasets/ledger/ledger_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::ledger {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::HasSubstr;

using Pairs = std::map<std::string, std::string>;

class LedgerTamperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MemoryStore store;
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
    ASSERT_OK(ledger->OpenAccount("d", BasicCap(kEpsilon), {}));
    ASSERT_OK(ledger->OpenAccount("e", ZcdpCap(kEpsilon), {}));
    ASSERT_OK(ledger->Reserve("d", "a", Releases(5), {}));
    ASSERT_OK(ledger->Reserve("e", "a", Releases(5), {}));
    ASSERT_OK(ledger->Reserve("d", "b", Releases(7, 2), {}));
    ASSERT_OK(ledger->Settle("d", "a", Releases(5), {}));
    ASSERT_OK(ledger->Return("d", "b", {}));
    ASSERT_OK(store.Scan("", [this](std::string_view key, std::string_view value) {
      pairs_.emplace(key, value);
      return OkStatus();
    }));
    ASSERT_EQ(pairs_.size(), 7u);
    ASSERT_OK(Reopen(pairs_));
  }

  static Status Reopen(const Pairs& pairs) {
    MemoryStore store;
    storage::StoreBatch batch;
    for (const auto& [key, value] : pairs) batch.Put(key, value);
    COPPICE_RETURN_IF_ERROR(store.Apply(batch));
    return OpenLedger(store).status();
  }

  // The value of a record with the right hash.
  static std::string Sealed(const std::string& record) {
    const Sha256Digest hash = Sha256({record});
    return std::string(hash.begin(), hash.end()) + record;
  }

  v1::LedgerRecord Record(const std::string& key) {
    v1::LedgerRecord record;
    EXPECT_TRUE(record.ParseFromString(pairs_[key].substr(32)));
    return record;
  }

  static auto Found(std::string_view key) {
    return StatusIs(StatusCode::kDataLoss, HasSubstr(StrCat("\"", key, "\"")));
  }

  Pairs pairs_;
};

TEST_F(LedgerTamperTest, AnyChangedByteIsFound) {
  for (const auto& [key, value] : pairs_) {
    for (size_t i = 0; i < value.size(); ++i) {
      for (const int flip : {0x01, 0x80, 0xff}) {
        Pairs changed = pairs_;
        changed[key][i] = static_cast<char>(value[i] ^ flip);
        ASSERT_THAT(Reopen(changed), Found(key)) << "byte " << i;
      }
    }
  }
}

TEST_F(LedgerTamperTest, AnyCutOrLongerRecordIsFound) {
  for (const auto& [key, value] : pairs_) {
    for (size_t size = 0; size < value.size(); ++size) {
      Pairs changed = pairs_;
      changed[key].resize(size);
      ASSERT_THAT(Reopen(changed), Found(key)) << size;
    }
    Pairs changed = pairs_;
    changed[key] += '\0';
    EXPECT_THAT(Reopen(changed), Found(key));
  }
}

TEST_F(LedgerTamperTest, AMissingRecordIsFoundByTheNext) {
  for (uint64_t i = 0; i < 4; ++i) {
    Pairs changed = pairs_;
    changed.erase(LedgerKey("d", i));
    EXPECT_THAT(Reopen(changed), Found(LedgerKey("d", i + 1)));
    // The gap is found even if the later entries move up.
    for (uint64_t j = i; j < 4; ++j) changed[LedgerKey("d", j)] = pairs_[LedgerKey("d", j + 1)];
    changed.erase(LedgerKey("d", 4));
    EXPECT_THAT(Reopen(changed), Found(LedgerKey("d", i)));
  }
}

TEST_F(LedgerTamperTest, SwappedRecordsAreFound) {
  for (uint64_t i = 0; i < 5; ++i) {
    for (uint64_t j = i + 1; j < 5; ++j) {
      Pairs changed = pairs_;
      std::swap(changed[LedgerKey("d", i)], changed[LedgerKey("d", j)]);
      EXPECT_THAT(Reopen(changed), Found(LedgerKey("d", i)));
    }
  }
  Pairs changed = pairs_;
  std::swap(changed[LedgerKey("d", 1)], changed[LedgerKey("e", 1)]);
  EXPECT_THAT(Reopen(changed), Found(LedgerKey("d", 1)));
}

TEST_F(LedgerTamperTest, AStrayKeyIsFound) {
  for (const std::string& key : {std::string("ledger/d/5"), std::string("ledger/d"),
                                 std::string("ledger/"), LedgerKey("f", 0), LedgerKey("d", 5)}) {
    Pairs changed = pairs_;
    changed[key] = pairs_[LedgerKey("d", 0)];
    EXPECT_FALSE(Reopen(changed).ok()) << key;
  }
}

// An edited record may be hashed again; then the next record does not follow it.
TEST_F(LedgerTamperTest, ARecordHashedAnewIsFoundByTheNext) {
  std::string record = pairs_[LedgerKey("d", 1)].substr(32);
  const size_t at = record.find("counts");
  ASSERT_NE(at, std::string::npos);
  record[at] = 'm';
  Pairs changed = pairs_;
  changed[LedgerKey("d", 1)] = Sealed(record);
  EXPECT_THAT(Reopen(changed), Found(LedgerKey("d", 2)));
}

// Forged last records have the right hash, and no next record gives them away.
TEST_F(LedgerTamperTest, ALastRecordOfAnotherPlaceIsFound) {
  v1::LedgerRecord record = Record(LedgerKey("d", 4));
  Pairs changed = pairs_;
  record.set_sequence(5);
  changed[LedgerKey("d", 4)] = Sealed(record.SerializeAsString());
  EXPECT_THAT(Reopen(changed), Found(LedgerKey("d", 4)));
  record.set_sequence(4);
  changed[LedgerKey("d", 4)] = Sealed(record.SerializeAsString());
  EXPECT_OK(Reopen(changed));
}

TEST_F(LedgerTamperTest, ACapThatNoLedgerTakesIsFound) {
  const auto forged = [this](const v1::BudgetCap& cap) {
    v1::LedgerRecord record = Record(LedgerKey("d", 0));
    *record.mutable_cap() = cap;
    return Reopen({{LedgerKey("d", 0), Sealed(record.SerializeAsString())}});
  };
  const v1::BudgetCap good = Record(LedgerKey("d", 0)).cap();
  EXPECT_OK(forged(good));
  v1::BudgetCap composition = good, neighbours = good, epsilon = good;
  composition.set_composition(v1::COMPOSITION_UNSPECIFIED);
  neighbours.set_neighbours(static_cast<v1::Neighbours>(3));
  epsilon.set_epsilon_nanos(0);
  for (const v1::BudgetCap& bad : {composition, neighbours, epsilon}) {
    EXPECT_THAT(forged(bad), Found(LedgerKey("d", 0)));
  }
}

// A chain that is whole must also consist of entries that a ledger allows.
TEST_F(LedgerTamperTest, EntriesThatNoLedgerWritesAreFound) {
  const auto entry = [](EntryKind kind, std::string job, const std::vector<Release>& releases) {
    return LedgerEntry{
        .kind = kind, .job = std::move(job), .cost = *CostOf(releases), .releases = releases};
  };
  LedgerEntry understated = entry(EntryKind::kReserve, "c", Releases(9));
  understated.cost.epsilon_nanos = 8;
  LedgerEntry returned = entry(EntryKind::kReturn, "a", {});
  returned.cost.epsilon_nanos = 6;
  const LedgerEntry kBad[] = {
      entry(EntryKind::kReserve, "c", Releases(kEpsilon)),  // 5 are spent
      entry(EntryKind::kReserve, "a", Releases(1)),
      entry(EntryKind::kSettle, "a", Releases(6)),
      entry(EntryKind::kSettle, "c", Releases(1)),
      entry(EntryKind::kOpen, "", {}),
      entry(static_cast<EntryKind>(9), "a", {}),
      understated,
      returned,
  };
  const auto forged = [this](const LedgerEntry& next) {
    AccountBooks books;
    Pairs changed = pairs_;
    for (uint64_t i = 0; i < 5; ++i) {
      const std::string key = LedgerKey("d", i);
      if (i >= 2) {
        changed.erase(key);
      } else if (!LoadEntry(key, pairs_[key], books).ok()) {
        ADD_FAILURE() << key;
      }
    }
    changed[LedgerKey("d", 2)] = EncodeEntry(books.at("d"), next);
    return Reopen(changed);
  };
  EXPECT_OK(forged(entry(EntryKind::kSettle, "a", Releases(5))));
  for (const LedgerEntry& bad : kBad) EXPECT_THAT(forged(bad), Found(LedgerKey("d", 2)));
}

// The header says that this cannot be found; the head hash shows it.
TEST_F(LedgerTamperTest, EntriesMissingFromTheEndAreNotFound) {
  Pairs changed = pairs_;
  changed.erase(LedgerKey("d", 4));
  EXPECT_OK(Reopen(changed));
}

}  // namespace
}  // namespace coppice::ledger
