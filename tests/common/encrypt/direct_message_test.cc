// Messages of reports: who can open them and their answers, and what their lengths say.

#include "common/encrypt/direct_message.h"

#include <set>
#include <string>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::seal {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Aead kAead = Aead::kAes128Gcm;

std::string EncapsulatedOf(const SealedRequest& request) {
  return {request.message.encapsulated.begin(), request.message.encapsulated.end()};
}

class DirectMessageTest : public ::testing::Test {
 protected:
  SealedRequest Seal(std::string_view content, size_t bytes = 128) {
    return *SealRequest(kAead, key_.public_key(), content, bytes);
  }
  StatusOr<OpenedRequest> Open(const SealedRequest& request) {
    return opener_.Open(EncapsulatedOf(request), request.message.ciphertext);
  }

  const SealingKey key_ = *SealingKey::Generate();
  RequestOpener opener_ = *RequestOpener::Create(kAead, key_);
};

TEST_F(DirectMessageTest, TheCuratorReadsTheContentAndTheDeviceTheOutcomes) {
  const SealedRequest request = Seal("reports");
  EXPECT_EQ(request.key, SealingKeyIdOf(kAead, key_.public_key()));
  ASSERT_OK_AND_ASSIGN(const OpenedRequest opened, Open(request));
  EXPECT_EQ(opened.content, "reports");
  ASSERT_OK_AND_ASSIGN(const std::string answer, SealOutcomes(opened, "\x01\x02"));
  EXPECT_EQ(*OpenOutcomes(kAead, request, answer), "\x01\x02");
}

TEST_F(DirectMessageTest, LengthsSayNothingOfTheContent) {
  std::set<size_t> messages, answers;
  for (const char* content : {"", "a", "a longer content"}) {
    const SealedRequest request = Seal(content);
    messages.insert(request.message.ciphertext.size());
    answers.insert((*SealOutcomes(*Open(request), "\x01")).size());
  }
  EXPECT_EQ(messages.size(), 1u);
  EXPECT_EQ(answers.size(), 1u);
}

TEST_F(DirectMessageTest, RefusesEveryChangedByte) {
  const SealedRequest request = Seal("reports");
  const std::string enc = EncapsulatedOf(request);
  const std::string& ciphertext = request.message.ciphertext;
  const auto changed = [](std::string bytes, size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return bytes;
  };
  for (size_t i = 0; i < enc.size(); ++i) {
    EXPECT_FALSE(opener_.Open(changed(enc, i), ciphertext).ok()) << i;
  }
  for (size_t i = 0; i < ciphertext.size(); ++i) {
    EXPECT_FALSE(opener_.Open(enc, changed(ciphertext, i)).ok()) << i;
  }
  ASSERT_OK_AND_ASSIGN(const std::string answer, SealOutcomes(*Open(request), "\x01"));
  for (size_t i = 0; i < answer.size(); ++i) {
    EXPECT_FALSE(OpenOutcomes(kAead, request, changed(answer, i)).ok()) << i;
  }
}

TEST_F(DirectMessageTest, AnotherCuratorReadsNothingAndAnswersNothing) {
  const SealedRequest request = Seal("reports");
  const SealingKey other = *SealingKey::Generate();
  auto lure = RequestOpener::Create(kAead, other);
  EXPECT_FALSE(lure->Open(EncapsulatedOf(request), request.message.ciphertext).ok());
  // What it can make is an answer to a message that was sealed for itself.
  const SealedRequest own = *SealRequest(kAead, other.public_key(), "reports", 128);
  const OpenedRequest opened = *lure->Open(EncapsulatedOf(own), own.message.ciphertext);
  ASSERT_OK_AND_ASSIGN(const std::string accepted, SealOutcomes(opened, "\x01"));
  EXPECT_FALSE(OpenOutcomes(kAead, request, accepted).ok());
}

TEST_F(DirectMessageTest, AnAnswerToAnotherMessageIsNone) {
  const SealedRequest first = Seal("reports");
  const SealedRequest second = Seal("reports");
  ASSERT_OK_AND_ASSIGN(const std::string answer, SealOutcomes(*Open(first), "\x01"));
  EXPECT_THAT(OpenOutcomes(kAead, first, answer), IsOk());
  EXPECT_FALSE(OpenOutcomes(kAead, second, answer).ok());
}

TEST_F(DirectMessageTest, AReplayedMessageGetsAnswersThatAllOpen) {
  const SealedRequest request = Seal("reports");
  std::set<std::string> answers;
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::string answer, SealOutcomes(*Open(request), "\x02"));
    EXPECT_EQ(*OpenOutcomes(kAead, request, answer), "\x02");
    EXPECT_TRUE(answers.insert(answer).second);
  }
}

// A key for another use of the same curator's, or a relay's, opens nothing.
TEST_F(DirectMessageTest, ARelaysReportIsNoMessage) {
  auto sender = Sender::Create(kAead, key_.public_key(), "coppice.v1.sealed_report");
  ASSERT_OK_AND_ASSIGN(const SealedMessage relayed, sender->Seal("", std::string(128, '\0')));
  EXPECT_FALSE(opener_
                   .Open({reinterpret_cast<const char*>(relayed.encapsulated.data()),
                          relayed.encapsulated.size()},
                         relayed.ciphertext)
                   .ok());
}

TEST_F(DirectMessageTest, RefusesContentThatIsNotPadded) {
  const std::string info("coppice.v1.direct_reports\0", 26);
  const SealingKeyId id = SealingKeyIdOf(kAead, key_.public_key());
  auto sender = Sender::Create(kAead, key_.public_key(), info + std::string(id.begin(), id.end()));
  const auto open = [&](const std::string& plaintext) {
    const SealedMessage made = *sender->Seal("", plaintext);
    return opener_.Open(
        {reinterpret_cast<const char*>(made.encapsulated.data()), made.encapsulated.size()},
        made.ciphertext);
  };
  EXPECT_THAT(open(std::string("\0\0\0\x06secret", 10) + std::string(54, '\0')), IsOk());
  for (const std::string& plaintext :
       {std::string(), std::string("secret"), std::string(64, 's'),
        std::string("\0\0\0\x06secret", 10) + std::string(53, '\0') + "x",
        std::string("\0\0\0\x06secret", 10) + std::string(55, '\0')}) {
    EXPECT_THAT(open(plaintext),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("not padded"), Not(HasSubstr("secret")))));
  }
}

TEST(DirectPlaintextBytesTest, GrowsInStepsByStudyAndReports) {
  EXPECT_EQ(DirectPlaintextBytes("flu", 8, 1), 128u);
  EXPECT_EQ(DirectPlaintextBytes("flu", 8, 1), DirectPlaintextBytes("influenza", 4, 1));
  EXPECT_EQ(DirectPlaintextBytes("flu", 8, 1000) % 64, 0u);
}

TEST(DirectPlaintextBytesTest, AsManyReportsFitAsTheLimitSays) {
  for (const uint32_t report_bytes : {1u, 8u, 900u, 1000u, 70'000u, (1u << 20) - 1024}) {
    const std::string study(63, 's');
    const size_t most = MaxDirectReports(study, report_bytes);
    EXPECT_GE(most, 1u) << report_bytes;
    EXPECT_LE(most, 1000u);
    EXPECT_LE(DirectPlaintextBytes(study, report_bytes, most), kMaxDirectPlaintextBytes);
    if (most == 1000) continue;
    EXPECT_GT(DirectPlaintextBytes(study, report_bytes, most + 2), kMaxDirectPlaintextBytes);
  }
}

}  // namespace
}  // namespace coppice::seal
