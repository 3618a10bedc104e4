#include "server/curator/keys/ticket_authority.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <atomic>
#include <bit>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "common/base/status.h"
#include "server/curator/keys/store_keys.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Ne;

const Fingerprint kTerms{1, 2, 3};

Ticket IssueOne(const TicketAuthority& authority, const Fingerprint& terms) {
  return (*authority.Issue(terms, 1))[0];
}

bool Recognizes(const TicketAuthority& authority, const Ticket& ticket, const Fingerprint& terms) {
  return (*authority.Recognize(absl::MakeConstSpan(&ticket, 1), terms))[0].has_value();
}

TicketSerial SerialOf(const TicketAuthority& authority, const Ticket& ticket) {
  return (*authority.Recognize(absl::MakeConstSpan(&ticket, 1), kTerms))[0].value();
}

TEST(TicketAuthorityTest, RecognizesWhatItIssued) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  const Ticket ticket = IssueOne(authority, kTerms);
  EXPECT_TRUE(Recognizes(authority, ticket, kTerms));
}

using Block = std::array<uint8_t, 16>;

Block DecryptBlock(const Block& block, const uint8_t* key) {
  Block plain{};
  int size = 0;
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  EVP_DecryptInit_ex(context, EVP_aes_256_ecb(), nullptr, key, nullptr);
  EVP_CIPHER_CTX_set_padding(context, 0);
  EVP_DecryptUpdate(context, plain.data(), &size, block.data(), 16);
  EVP_CIPHER_CTX_free(context);
  return plain;
}

// Follows the description in the header independently.
TEST(TicketAuthorityTest, TheMacIsTheIdEncryptedAndTheIdASerial) {
  MemoryStore store;
  const std::string key(32, 'k');
  storage::StoreBatch batch;
  batch.Put(std::string(kTicketKeyKey), key);
  ASSERT_OK(store.Apply(batch));
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  IssueOne(authority, kTerms);
  const Ticket ticket = IssueOne(authority, kTerms);

  std::string message = "coppice.v1.ticket";
  message.append(kTerms.begin(), kTerms.end());
  std::array<uint8_t, 64> keys;
  HMAC(EVP_sha512(), key.data(), 32, reinterpret_cast<const uint8_t*>(message.data()),
       message.size(), keys.data(), nullptr);
  EXPECT_EQ(DecryptBlock(ticket.mac, keys.data() + 32), ticket.id);
  const Block serial = DecryptBlock(ticket.id, keys.data());
  EXPECT_LT(serial[0], 0x80) << "the run's number has 63 bits";
  EXPECT_THAT(std::vector(serial.begin() + 8, serial.end()), ElementsAre(0, 0, 0, 0, 0, 0, 0, 1));
  const TicketSerial told = SerialOf(authority, ticket);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(serial[i], static_cast<uint8_t>(told >> static_cast<int>(8 * (15 - i)))) << i;
  }
}

TEST(TicketAuthorityTest, SerialsCountUpInARunAndNeverRecurInAnother) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority first, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const TicketAuthority again, TicketAuthority::Open(store));
  const TicketSerial one = SerialOf(first, IssueOne(first, kTerms));
  EXPECT_EQ(SerialOf(first, IssueOne(first, kTerms)), one + 1);
  EXPECT_EQ(SerialOf(again, IssueOne(first, kTerms)), one + 2) << "any run knows all";
  EXPECT_NE(absl::Uint128High64(SerialOf(again, IssueOne(again, kTerms))),
            absl::Uint128High64(one));
}

// A device must not see that two tickets follow each other: half of the bits differ. The tolerance
// is five standard errors of 1000 pairs of 256 bits.
TEST(TicketAuthorityTest, TicketsInARowLookUnrelated) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(const std::vector<Ticket> tickets, authority.Issue(kTerms, 1001));
  int differ = 0;
  for (size_t t = 0; t < 1000; ++t) {
    const std::string one = tickets[t].ToBytes(), next = tickets[t + 1].ToBytes();
    for (size_t i = 0; i < one.size(); ++i) {
      differ += std::popcount(static_cast<uint8_t>(one[i] ^ next[i]));
    }
  }
  EXPECT_NEAR(differ, 128'000, 1265);
}

// Study keys are cached up to a limit; threads use and evict them concurrently.
TEST(TicketAuthorityTest, KeysOfManyStudiesAreNotMixedUp) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  const auto terms_of = [](size_t study) {
    return Fingerprint{static_cast<uint8_t>(study), static_cast<uint8_t>(study >> 8)};
  };
  constexpr size_t kStudies = 2500;
  std::atomic<size_t> wrong = 0;
  const auto work = [&] {
    std::optional<Ticket> before;
    for (size_t study = 0; study < kStudies; ++study) {
      const Ticket ticket = IssueOne(authority, terms_of(study));
      if (!Recognizes(authority, ticket, terms_of(study))) ++wrong;
      if (before && Recognizes(authority, *before, terms_of(study))) ++wrong;
      before = ticket;
    }
  };
  std::thread beside(work);
  work();
  beside.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(TicketAuthorityTest, JudgesEachTicketOfABatchByItself) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority authority, TicketAuthority::Open(store));
  ASSERT_OK_AND_ASSIGN(std::vector<Ticket> tickets, authority.Issue(kTerms, 4));
  tickets[1].mac[0] ^= 1;
  tickets[3] = Ticket();
  EXPECT_THAT(*authority.Recognize(tickets, kTerms),
              ElementsAre(Ne(std::nullopt), Eq(std::nullopt), Ne(std::nullopt), Eq(std::nullopt)));
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
  Status Refusal(const std::vector<std::string>& tokens) const {
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
                StatusIs(StatusCode::kPermissionDenied, HasSubstr("number 2 was not issued")))
        << i;
  }
}

TEST_F(SubmissionTokenTest, ATicketIsNoTokenAndATokenIsNoTicket) {
  EXPECT_THAT(Refusal({IssueOne(authority_, kTerms).ToBytes()}),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("not issued")));
  EXPECT_FALSE(Recognizes(authority_, *Ticket::FromBytes(Tokens(1)[0]), kTerms));
}

TEST_F(SubmissionTokenTest, AnotherCuratorsTokenIsRefused) {
  MemoryStore other_store;
  ASSERT_OK_AND_ASSIGN(const TicketAuthority other, TicketAuthority::Open(other_store));
  EXPECT_THAT(Refusal(*other.IssueTokens(1)),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("not issued")));
}

TEST_F(SubmissionTokenTest, TheSameTokenTwiceInABatchIsRefused) {
  const std::vector<std::string> tokens = Tokens(2);
  EXPECT_THAT(Refusal({tokens[0], tokens[1], tokens[0]}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("number 3 came before")));
}

TEST_F(SubmissionTokenTest, ATokenOfAnotherLengthIsRefused) {
  for (const size_t size : {0, 31, 33}) {
    EXPECT_THAT(Refusal({std::string(size, 'x')}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("32 bytes")));
  }
}

TEST_F(SubmissionTokenTest, ATicketHasTheSerialOfItsTokenWhichNoOtherTicketHas) {
  const std::vector<std::string> tokens = Tokens(2);
  const TicketSerial first = SerialOf(authority_, TicketFor(tokens[0]));
  EXPECT_EQ(SerialOf(authority_, TicketFor(tokens[1])), first + 1);
  EXPECT_EQ(first >> 127, 1u);
  EXPECT_EQ(SerialOf(authority_, IssueOne(authority_, kTerms)) >> 127, 0u);
}

TEST(TicketAuthorityTest, ReportsWhatTheStoreCannotDo) {
  MemoryStore store;
  store.FailWrites(ResourceExhaustedError("the disk is full"));
  EXPECT_THAT(TicketAuthority::Open(store),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("full")));
}

TEST(TicketAuthorityTest, DamagedKeyIsDataLoss) {
  MemoryStore store;
  storage::StoreBatch batch;
  batch.Put(std::string(kTicketKeyKey), "short");
  ASSERT_OK(store.Apply(batch));
  EXPECT_THAT(TicketAuthority::Open(store), StatusIs(StatusCode::kDataLoss, HasSubstr("32 bytes")));
}

}  // namespace
}  // namespace coppice::curator
