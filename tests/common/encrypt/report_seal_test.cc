// Sealed reports: what a relay sees of them, and what the curator accepts.

#include "common/encrypt/report_seal.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/status_matchers.h"

namespace coppice::seal {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr size_t kLongest = 64;

Ticket NumberedTicket(uint8_t number) {
  Ticket ticket;
  ticket.id[0] = number;
  ticket.mac[15] = 7;
  return ticket;
}

ReportSealing SealingOf(uint8_t study) {
  ReportSealing sealing{.aead = Aead::kAes128Gcm, .fingerprint = {}, .payload_bytes = kLongest};
  sealing.fingerprint[31] = study;
  return sealing;
}

std::string EncOf(const SealedMessage& sealed) {
  return {sealed.encapsulated.begin(), sealed.encapsulated.end()};
}

class ReportSealTest : public ::testing::Test {
 protected:
  const SealingKey key_ = *SealingKey::Generate();
  ReportSealer sealer_ = *ReportSealer::Create(SealingOf(1), key_.public_key());
  ReportOpener opener_ = *ReportOpener::Create(SealingOf(1), key_);
};

TEST_F(ReportSealTest, EveryLengthOpensAndLooksAlike) {
  for (size_t size = 0; size <= kLongest; ++size) {
    // The payload ends with zeros, which padding must not swallow.
    std::string payload(size, 'p');
    std::fill(payload.begin() + static_cast<ptrdiff_t>(size / 2), payload.end(), '\0');
    ASSERT_OK_AND_ASSIGN(const SealedMessage sealed, sealer_.Seal(NumberedTicket(1), payload));
    EXPECT_EQ(sealed.ciphertext.size(), SealingOf(1).ciphertext_bytes());
    EXPECT_EQ(*opener_.Open(NumberedTicket(1), EncOf(sealed), sealed.ciphertext), payload);
  }
  EXPECT_THAT(sealer_.Seal(NumberedTicket(1), std::string(kLongest + 1, 'p')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("longer than the study's")));
}

// If a relay swaps two tickets, both fail; else they would count in wrong columns.
TEST_F(ReportSealTest, SwappedTicketsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const SealedMessage one, sealer_.Seal(NumberedTicket(1), "one"));
  ASSERT_OK_AND_ASSIGN(const SealedMessage two, sealer_.Seal(NumberedTicket(2), "two"));
  const auto is_refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not open"));
  EXPECT_THAT(opener_.Open(NumberedTicket(2), EncOf(one), one.ciphertext), is_refused);
  EXPECT_THAT(opener_.Open(NumberedTicket(1), EncOf(two), two.ciphertext), is_refused);
  EXPECT_THAT(opener_.Open(NumberedTicket(1), EncOf(two), one.ciphertext), is_refused);
  EXPECT_EQ(*opener_.Open(NumberedTicket(1), EncOf(one), one.ciphertext), "one");
}

TEST_F(ReportSealTest, AnotherStudyOrKeyIsRefused) {
  ASSERT_OK_AND_ASSIGN(const SealedMessage sealed, sealer_.Seal(NumberedTicket(1), "one"));
  ASSERT_OK_AND_ASSIGN(ReportOpener other_study, ReportOpener::Create(SealingOf(2), key_));
  ASSERT_OK_AND_ASSIGN(ReportOpener other_key,
                       ReportOpener::Create(SealingOf(1), *SealingKey::Generate()));
  EXPECT_FALSE(other_study.Open(NumberedTicket(1), EncOf(sealed), sealed.ciphertext).ok());
  EXPECT_FALSE(other_key.Open(NumberedTicket(1), EncOf(sealed), sealed.ciphertext).ok());
}

TEST_F(ReportSealTest, OtherLengthsAreNamed) {
  ASSERT_OK_AND_ASSIGN(SealedMessage sealed, sealer_.Seal(NumberedTicket(1), "one"));
  for (const size_t size : {size_t{0}, size_t{81}, size_t{83}, size_t{1000}}) {
    sealed.ciphertext.resize(size);
    EXPECT_THAT(opener_.Open(NumberedTicket(1), EncOf(sealed), sealed.ciphertext),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr(StrCat("of ", size, " bytes; this study's have 82"))));
  }
}

// A device may seal anything under the study's key.
TEST_F(ReportSealTest, OnePlaintextForEachPayload) {
  const std::string info =
      StrCat(std::string_view("coppice.v1.sealed_report\0", 25), std::string(31, '\0'), "\1", [&] {
        const SealingKeyId id = SealingKeyIdOf(Aead::kAes128Gcm, key_.public_key());
        return std::string(id.begin(), id.end());
      }());
  ASSERT_OK_AND_ASSIGN(Sender sender, Sender::Create(Aead::kAes128Gcm, key_.public_key(), info));
  const auto open = [&](std::string_view start) {
    std::string plaintext(start);
    plaintext.resize(2 + kLongest, '\0');
    const SealedMessage sealed = *sender.Seal(NumberedTicket(1).ToBytes(), plaintext);
    return opener_.Open(NumberedTicket(1), EncOf(sealed), sealed.ciphertext);
  };
  EXPECT_EQ(*open(std::string("\0\3one", 5)), "one") << "or the others fail for another reason";
  EXPECT_EQ(*open(StrCat(std::string("\0\x40", 2), std::string(64, 'x'))), std::string(64, 'x'));
  const auto is_refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("padding"));
  EXPECT_THAT(open(std::string("\0\2one", 5)), is_refused);
  EXPECT_THAT(open(std::string("\0\x41", 2)), is_refused);
  EXPECT_THAT(open(std::string("\1\3one", 5)), is_refused);
  EXPECT_THAT(open("\xff\xff"), is_refused);
}

TEST_F(ReportSealTest, ReportsThatAreTooLongForTheirLengthAreRefused) {
  ReportSealing sealing = SealingOf(1);
  sealing.payload_bytes = kMaxSealedPayload;
  ASSERT_OK_AND_ASSIGN(ReportSealer longest, ReportSealer::Create(sealing, key_.public_key()));
  ASSERT_OK_AND_ASSIGN(ReportOpener opener, ReportOpener::Create(sealing, key_));
  const std::string payload(kMaxSealedPayload, 'p');
  ASSERT_OK_AND_ASSIGN(const SealedMessage sealed, longest.Seal(NumberedTicket(1), payload));
  EXPECT_EQ(*opener.Open(NumberedTicket(1), EncOf(sealed), sealed.ciphertext), payload);
  sealing.payload_bytes += 1;
  EXPECT_THAT(ReportSealer::Create(sealing, key_.public_key()).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 65535")));
  EXPECT_THAT(ReportOpener::Create(sealing, key_).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 65535")));
}

}  // namespace
}  // namespace coppice::seal
