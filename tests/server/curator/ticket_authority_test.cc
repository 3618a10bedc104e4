#include "server/curator/ticket_authority.h"

#include <openssl/hmac.h>

#include <set>
#include <string>

#include "server/curator/store_keys.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

const Fingerprint kTerms{1, 2, 3};

TEST(TicketAuthorityTest, RecognizesWhatItIssued) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, authority.Issue(kTerms));
  EXPECT_OK(authority.Verify(ticket, kTerms));
}

TEST(TicketAuthorityTest, MacIsHmacSha256OfFingerprintAndId) {
  MemoryStore store;
  const std::string key(32, 'k');
  StoreBatch batch;
  batch.Put(std::string(kTicketKeyKey), key);
  ASSERT_OK(store.Apply(batch));
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, authority.Issue(kTerms));

  std::string message(kTerms.begin(), kTerms.end());
  message.append(ticket.id.begin(), ticket.id.end());
  std::array<uint8_t, 32> expected;
  HMAC(EVP_sha256(), key.data(), 32, reinterpret_cast<const uint8_t*>(message.data()),
       message.size(), expected.data(), nullptr);
  EXPECT_TRUE(std::equal(ticket.mac.begin(), ticket.mac.end(), expected.begin()));
}

TEST(TicketAuthorityTest, RefusesATicketChangedInAnyByte) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, authority.Issue(kTerms));
  for (size_t i = 0; i < kTicketIdBytes + kTicketMacBytes; ++i) {
    std::string bytes = ticket.ToBytes();
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    EXPECT_THAT(authority.Verify(*Ticket::FromBytes(bytes), kTerms),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did not issue")))
        << i;
  }
}

TEST(TicketAuthorityTest, RefusesATicketOfOtherTerms) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, authority.Issue(kTerms));
  Fingerprint other = kTerms;
  other[31] = 1;
  EXPECT_THAT(authority.Verify(ticket, other),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("these terms")));
}

TEST(TicketAuthorityTest, KeepsItsKeyInTheStore) {
  MemoryStore store;
  MemoryStore other_store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority first, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const TicketAuthority again, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const TicketAuthority stranger, TicketAuthority::Open(other_store));
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, first.Issue(kTerms));
  EXPECT_OK(again.Verify(ticket, kTerms));
  EXPECT_THAT(stranger.Verify(ticket, kTerms),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did not issue")));
  EXPECT_OK(first.Verify(ticket, kTerms));
}

TEST(TicketAuthorityTest, DrawsADifferentIdEachTime) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  std::set<std::array<uint8_t, kTicketIdBytes>> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(authority.Issue(kTerms)->id);
  EXPECT_EQ(ids.size(), 1000u);
}

TEST(TicketAuthorityTest, ReportsWhatTheStoreCannotDo) {
  MemoryStore store;
  store.FailWrites(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_THAT(TicketAuthority::Open(store),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("full")));
}

TEST(TicketAuthorityTest, DamagedKeyIsDataLoss) {
  MemoryStore store;
  StoreBatch batch;
  batch.Put(std::string(kTicketKeyKey), "short");
  ASSERT_OK(store.Apply(batch));
  EXPECT_THAT(TicketAuthority::Open(store),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("32 bytes")));
}

}  // namespace
}  // namespace coppice
