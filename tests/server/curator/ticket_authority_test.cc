#include "server/curator/ticket_authority.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <set>
#include <string>

#include "server/curator/store_keys.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Fingerprint kTerms{1, 2, 3};

Ticket IssueOne(const TicketAuthority& authority, const Fingerprint& terms) {
  return (*authority.Issue(terms, 1))[0];
}

bool Recognizes(const TicketAuthority& authority, const Ticket& ticket, const Fingerprint& terms) {
  return (*authority.Recognize(absl::MakeConstSpan(&ticket, 1), terms))[0];
}

TEST(TicketAuthorityTest, RecognizesWhatItIssued) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  const Ticket ticket = IssueOne(authority, kTerms);
  EXPECT_TRUE(Recognizes(authority, ticket, kTerms));
}

TEST(TicketAuthorityTest, MacIsTheIdUnderAKeyOfTheTerms) {
  MemoryStore store;
  const std::string key(32, 'k');
  StoreBatch batch;
  batch.Put(std::string(kTicketKeyKey), key);
  ASSERT_OK(store.Apply(batch));
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  const Ticket ticket = IssueOne(authority, kTerms);

  std::string message = "coppice.v1.ticket";
  message.append(kTerms.begin(), kTerms.end());
  std::array<uint8_t, 32> derived;
  HMAC(EVP_sha256(), key.data(), 32, reinterpret_cast<const uint8_t*>(message.data()),
       message.size(), derived.data(), nullptr);
  std::array<uint8_t, 16> expected;
  int size = 0;
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  EVP_EncryptInit_ex(context, EVP_aes_256_cbc(), nullptr, derived.data(), expected.data());
  const std::array<uint8_t, 16> zero{};  // CBC of one block with a zero start
  EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, zero.data());
  EVP_EncryptUpdate(context, expected.data(), &size, ticket.id.data(), 16);
  EVP_CIPHER_CTX_free(context);
  EXPECT_EQ(ticket.mac, expected);
}

TEST(TicketAuthorityTest, JudgesEachTicketOfABatchByItself) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(std::vector<Ticket> tickets, authority.Issue(kTerms, 4));
  tickets[1].mac[0] ^= 1;
  tickets[3] = Ticket();
  EXPECT_THAT(*authority.Recognize(tickets, kTerms), ElementsAre(true, false, true, false));
  EXPECT_THAT(*authority.Recognize({}, kTerms), ElementsAre());
}

TEST(TicketAuthorityTest, RefusesATicketChangedInAnyByte) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  const Ticket ticket = IssueOne(authority, kTerms);
  for (size_t i = 0; i < kTicketIdBytes + kTicketMacBytes; ++i) {
    std::string bytes = ticket.ToBytes();
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    EXPECT_FALSE(Recognizes(authority, *Ticket::FromBytes(bytes), kTerms)) << i;
  }
}

TEST(TicketAuthorityTest, RefusesATicketOfOtherTerms) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  const Ticket ticket = IssueOne(authority, kTerms);
  Fingerprint other = kTerms;
  other[31] = 1;
  EXPECT_FALSE(Recognizes(authority, ticket, other));
}

TEST(TicketAuthorityTest, KeepsItsKeyInTheStore) {
  MemoryStore store;
  MemoryStore other_store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority first, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const TicketAuthority again, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const TicketAuthority stranger, TicketAuthority::Open(other_store));
  const Ticket ticket = IssueOne(first, kTerms);
  EXPECT_TRUE(Recognizes(again, ticket, kTerms));
  EXPECT_FALSE(Recognizes(stranger, ticket, kTerms));
  EXPECT_TRUE(Recognizes(first, ticket, kTerms));
}

TEST(TicketAuthorityTest, DrawsADifferentIdEachTime) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  std::set<std::array<uint8_t, kTicketIdBytes>> ids;
  ASSERT_OK_AND_ASSIGN(const std::vector<Ticket> tickets, authority.Issue(kTerms, 1000));
  for (const Ticket& ticket : tickets) ids.insert(ticket.id);
  EXPECT_EQ(ids.size(), 1000u);
}

class SubmissionTokenTest : public ::testing::Test {
 protected:
  std::vector<std::string> Tokens(size_t count) const { return *authority_.IssueTokens(count); }
  Ticket TicketFor(const std::string& token, const Fingerprint& terms = kTerms) const {
    return (*authority_.IssueFor(terms, {token}))[0];
  }
  absl::Status Refusal(const std::vector<std::string>& tokens) const {
    return authority_.IssueFor(kTerms, tokens).status();
  }

  MemoryStore store_;
  TicketAuthority authority_ = *TicketAuthority::Open(store_);
};

TEST_F(SubmissionTokenTest, AskingAgainGivesTheSameTicketAlsoAfterARestart) {
  const std::string token = Tokens(1)[0];
  const Ticket ticket = TicketFor(token);
  EXPECT_EQ(TicketFor(token), ticket);
  ASSERT_OK_AND_ASSIGN(const TicketAuthority again, TicketAuthority::Open(store_));
  EXPECT_EQ((*again.IssueFor(kTerms, {token}))[0], ticket);
}

TEST_F(SubmissionTokenTest, ItsTicketIsOneLikeAnyOther) {
  EXPECT_TRUE(Recognizes(authority_, TicketFor(Tokens(1)[0]), kTerms));
}

TEST_F(SubmissionTokenTest, EachTokenHasATicketOfItsOwnInTheirOrder) {
  const std::vector<std::string> tokens = Tokens(1000);
  ASSERT_OK_AND_ASSIGN(const std::vector<Ticket> tickets, authority_.IssueFor(kTerms, tokens));
  std::set<std::array<uint8_t, kTicketIdBytes>> ids;
  for (const Ticket& ticket : tickets) ids.insert(ticket.id);
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_EQ(tickets[7], TicketFor(tokens[7]));
}

TEST_F(SubmissionTokenTest, OneTokenHasUnlikeTicketsInTwoStudies) {
  const std::string token = Tokens(1)[0];
  const Fingerprint other{9};
  EXPECT_NE(TicketFor(token).id, TicketFor(token, other).id);
  EXPECT_FALSE(Recognizes(authority_, TicketFor(token), other));
}

// Tokens draw trees as random tickets do: 64 trees, 10,000 tokens, five standard errors.
TEST_F(SubmissionTokenTest, TokensFallOnAllTreesAlike) {
  std::vector<int> trees(64);
  ASSERT_OK_AND_ASSIGN(const std::vector<Ticket> tickets,
                       authority_.IssueFor(kTerms, Tokens(10'000)));
  for (const Ticket& ticket : tickets) ++trees[TreeOfTicket(ticket, 64)];
  for (const int count : trees) EXPECT_NEAR(count, 156.25, 62.5);
}

TEST_F(SubmissionTokenTest, ATokenChangedInAnyByteWasNotIssued) {
  const std::string token = Tokens(1)[0];
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_THAT(Refusal({token, changed}),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("number 2 was not issued")))
        << i;
  }
}

TEST_F(SubmissionTokenTest, ATicketIsNoTokenAndATokenIsNoTicket) {
  EXPECT_THAT(Refusal({IssueOne(authority_, kTerms).ToBytes()}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("not issued")));
  EXPECT_FALSE(Recognizes(authority_, *Ticket::FromBytes(Tokens(1)[0]), kTerms));
}

TEST_F(SubmissionTokenTest, AnotherCuratorsTokenIsRefused) {
  MemoryStore other_store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority other, TicketAuthority::Open(other_store));
  EXPECT_THAT(Refusal(*other.IssueTokens(1)),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("not issued")));
}

TEST_F(SubmissionTokenTest, TheSameTokenTwiceInABatchIsRefused) {
  const std::vector<std::string> tokens = Tokens(2);
  EXPECT_THAT(Refusal({tokens[0], tokens[1], tokens[0]}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("number 3 came before")));
}

TEST_F(SubmissionTokenTest, ATokenOfAnotherLengthIsRefused) {
  for (const size_t size : {0, 31, 33}) {
    EXPECT_THAT(Refusal({std::string(size, 'x')}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("32 bytes")));
  }
}

// Written down once more, from the description in the header.
TEST_F(SubmissionTokenTest, TheTicketsIdIsAnHmacOfTermsAndTokenId) {
  const std::string token = Tokens(1)[0];
  const std::string key = **store_.Get(kTicketKeyKey);
  std::string message = "coppice.v1.token_ticket";
  message.append(kTerms.begin(), kTerms.end());
  message.append(token.substr(0, kTicketIdBytes));
  std::array<uint8_t, 32> expected;
  HMAC(EVP_sha256(), key.data(), 32, reinterpret_cast<const uint8_t*>(message.data()),
       message.size(), expected.data(), nullptr);
  EXPECT_TRUE(
      std::equal(expected.begin(), expected.begin() + kTicketIdBytes, TicketFor(token).id.begin()));
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
