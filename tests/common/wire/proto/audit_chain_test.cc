// Following an exported audit log finds each planted change.

#include "common/wire/proto/audit_chain.h"

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/key_chain.h"
#include "common/wire/proto/model_signature.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

using Entries = std::vector<v1::AuditEntry>;

v1::AuditEntry Entry(uint64_t i) {
  v1::AuditEntry entry;
  entry.set_day(StrCat("2026-01-0", 1 + i));
  entry.set_actor(StrCat("ops-", i));
  entry.set_action("StudyService/SealStudy");
  entry.set_resource(StrCat("studies/", i));
  entry.set_related("models/m");
  entry.set_outcome("OK");
  entry.set_epsilon_nanos(i + 1);
  entry.set_delta_atto(i + 2);
  entry.set_ledger_link(std::string(32, static_cast<char>(i)));
  return entry;
}

class AuditChainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t i = 0; i < 6; ++i) {
      entries_.push_back(Entry(i));
      ASSERT_OK(chain_.Append(entries_.back()));
    }
    head_ = ToProto(chain_);
    ASSERT_OK(Verify(entries_, {}));
  }

  // Verifies like a reader who has the head.
  Status Verify(const Entries& entries, AuditChain chain) const {
    for (const v1::AuditEntry& entry : entries) {
      const Status followed = chain.Follow(entry);
      if (!followed.ok()) return followed;
    }
    return chain.CheckEnd(head_);
  }

  static auto FoundAt(uint64_t sequence) {
    return StatusIs(StatusCode::kDataLoss, HasSubstr(StrCat("entry ", sequence, " ")));
  }

  AuditChain chain_;
  Entries entries_;
  v1::AuditHead head_;
};

void ChangeField(v1::AuditEntry& entry, const google::protobuf::FieldDescriptor& field) {
  const auto& reflection = *entry.GetReflection();
  if (field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
    std::string text = reflection.GetString(entry, &field);
    text[0] = static_cast<char>(text[0] ^ 1);
    reflection.SetString(&entry, &field, text);
  } else {
    reflection.SetUInt64(&entry, &field, reflection.GetUInt64(entry, &field) + 1);
  }
}

TEST_F(AuditChainTest, EachChangedOrClearedFieldOfEachEntryIsFound) {
  const google::protobuf::Descriptor& type = *v1::AuditEntry::descriptor();
  for (size_t i = 0; i < entries_.size(); ++i) {
    for (int f = 0; f < type.field_count(); ++f) {
      Entries changed = entries_;
      ChangeField(changed[i], *type.field(f));
      EXPECT_THAT(Verify(changed, {}), FoundAt(i)) << type.field(f)->name();
      changed = entries_;
      changed[i].GetReflection()->ClearField(&changed[i], type.field(f));
      if (changed[i].SerializeAsString() == entries_[i].SerializeAsString()) continue;
      EXPECT_THAT(Verify(changed, {}), FoundAt(i)) << type.field(f)->name();
    }
  }
}

TEST_F(AuditChainTest, AnEntryHashedAnewIsFoundByTheNext) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entries changed = entries_;
    AuditChain before;
    for (size_t j = 0; j < i; ++j) ASSERT_OK(before.Follow(changed[j]));
    changed[i].set_actor("somebody else");
    ASSERT_OK(before.Append(changed[i]));
    EXPECT_THAT(Verify(changed, {}), FoundAt(i + 1 < entries_.size() ? i + 1 : i));
  }
}

TEST_F(AuditChainTest, RemovedSwappedAndRepeatedEntriesAreFound) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entries removed = entries_;
    removed.erase(removed.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_THAT(Verify(removed, {}), FoundAt(i));
    Entries repeated = entries_;
    repeated.insert(repeated.begin() + static_cast<ptrdiff_t>(i), entries_[i]);
    EXPECT_THAT(Verify(repeated, {}), FoundAt(i + 1));
    for (size_t j = i + 1; j < entries_.size(); ++j) {
      Entries swapped = entries_;
      std::swap(swapped[i], swapped[j]);
      EXPECT_THAT(Verify(swapped, {}), FoundAt(i));
    }
  }
}

TEST_F(AuditChainTest, ALogCutAtEitherEndIsFound) {
  for (size_t kept = 0; kept < entries_.size(); ++kept) {
    const Entries front(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(kept));
    EXPECT_THAT(Verify(front, {}), FoundAt(kept));
    const Entries back(entries_.begin() + static_cast<ptrdiff_t>(kept) + 1, entries_.end());
    EXPECT_FALSE(Verify(back, {}).ok());
    AuditChain chain;
    for (size_t i = 0; i <= kept; ++i) ASSERT_OK(chain.Follow(entries_[i]));
    ASSERT_OK_AND_ASSIGN(const AuditChain after, AuditChain::After(ToProto(chain)));
    EXPECT_OK(Verify(back, after)) << "what a seal stands for may be missing";
    v1::AuditHead other = ToProto(chain);
    (*other.mutable_hash())[5] = static_cast<char>(other.hash()[5] ^ 1);
    ASSERT_OK_AND_ASSIGN(const AuditChain forged, AuditChain::After(other));
    EXPECT_FALSE(Verify(back, forged).ok());
  }
}

TEST_F(AuditChainTest, AnEntryWithAFieldOfALaterVersionIsNotTakenForChecked) {
  v1::AuditEntry later = entries_[0];
  ASSERT_TRUE(later.MergeFromString("\xf8\x07\x01"));  // field 127
  EXPECT_THAT(AuditChain().Follow(later),
              StatusIs(StatusCode::kDataLoss, HasSubstr("later version")));
}

TEST_F(AuditChainTest, ASignedHeadIsOfOneKeyAndOfOneLog) {
  SigningKey::Seed seed{};
  seed.fill(3);
  const SigningKey key = *SigningKey::FromSeed(seed);
  const auto sign = [&key](std::string_view domain, v1::AuditHead head) {
    *head.mutable_signature() = ToProto(ModelSignature{
        .signature = *key.Sign(domain, SignedHeadBytes(head)), .key = key.public_key()});
    return head;
  };
  EXPECT_THAT(CheckHeadSignature(head_, std::nullopt, 0),
              StatusIs(StatusCode::kNotFound, HasSubstr("not signed")));
  const v1::AuditHead good = sign(kAuditDomain, head_);
  EXPECT_OK(CheckHeadSignature(good, std::nullopt, 0));
  EXPECT_OK(CheckHeadSignature(good, key.public_key(), 0));
  EXPECT_THAT(CheckHeadSignature(good, PublicKey{}, 0),
              StatusIs(StatusCode::kFailedPrecondition, ::testing::_));
  const auto lost = StatusIs(StatusCode::kDataLoss, ::testing::_);
  EXPECT_THAT(CheckHeadSignature(sign(kModelDomain, head_), std::nullopt, 0), lost);
  v1::AuditHead changed = good;
  changed.set_entries(changed.entries() + 1);
  EXPECT_THAT(CheckHeadSignature(changed, std::nullopt, 0), lost);
  changed = good;
  changed.set_hash(std::string(32, 'x'));
  EXPECT_THAT(CheckHeadSignature(changed, std::nullopt, 0), lost);
}

TEST(AuditDayTest, IsADayInUtc) {
  EXPECT_EQ(AuditDay(0), "1970-01-01");
  EXPECT_EQ(AuditDay(86399), "1970-01-01");
  EXPECT_EQ(AuditDay(1'700'000'000), "2023-11-14");
}

}  // namespace
}  // namespace coppice
