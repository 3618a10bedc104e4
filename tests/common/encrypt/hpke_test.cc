// HPKE against RFC 9180's vectors, and the inputs that it must refuse.

#include "common/encrypt/hpke.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/scripted_bytes.h"
#include "tests/support/status_matchers.h"

namespace coppice::seal {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::ScriptedBytes;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

struct Vector {
  std::string name;
  std::map<std::string, std::string> fields;  // values as bytes; of aead_id the text

  Aead aead() const {
    uint32_t number = 0;
    EXPECT_TRUE(SimpleAtoi(fields.at("aead_id"), &number));
    return static_cast<Aead>(number);
  }
  std::array<uint8_t, 32> Key(const std::string& field) const {
    std::array<uint8_t, 32> key{};
    EXPECT_EQ(fields.at(field).size(), key.size());
    std::copy_n(fields.at(field).begin(), key.size(), key.begin());
    return key;
  }
};

std::vector<Vector> ReadVectors() {
  std::ifstream file(StrCat(std::getenv("COPPICE_SOURCE_DIR"), "/tests/vectors/rfc9180.txt"));
  std::vector<Vector> vectors;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::pair<std::string, std::string> field = StrSplit(line, ' ');
    if (field.first == "vector") {
      vectors.push_back({field.second, {}});
    } else {
      vectors.back().fields[field.first] =
          field.first == "aead_id" ? field.second : HexStringToBytes(field.second);
    }
  }
  return vectors;
}

std::string TextOf(const std::array<uint8_t, 32>& bytes) { return {bytes.begin(), bytes.end()}; }

TEST(HpkeVectorTest, OpensWhatTheRfcSealed) {
  const std::vector<Vector> vectors = ReadVectors();
  ASSERT_EQ(vectors.size(), 2);
  std::set<Aead> aeads;
  for (const Vector& vector : vectors) {
    SCOPED_TRACE(vector.name);
    aeads.insert(vector.aead());
    ASSERT_OK_AND_ASSIGN(const SealingKey key, SealingKey::FromSecret(vector.Key("skRm")));
    EXPECT_EQ(key.public_key(), vector.Key("pkRm"));
    ASSERT_OK_AND_ASSIGN(Recipient recipient,
                         Recipient::Create(vector.aead(), key, vector.fields.at("info")));
    // Opens twice, as the objects of the first time are kept.
    for (int i = 0; i < 2; ++i) {
      MessageSecret secret;
      ASSERT_OK_AND_ASSIGN(const std::string plain,
                           recipient.Open(vector.fields.at("enc"), vector.fields.at("aad"),
                                          vector.fields.at("ct"), &secret));
      EXPECT_EQ(plain, vector.fields.at("pt"));
      EXPECT_EQ(secret.bytes, vector.Key("exporter"));
    }
  }
  EXPECT_EQ(aeads, (std::set<Aead>{Aead::kAes128Gcm, Aead::kChaCha20Poly1305}));
}

TEST(HpkeVectorTest, SealsAsTheRfcWithItsEphemeralKey) {
  for (const Vector& vector : ReadVectors()) {
    SCOPED_TRACE(vector.name);
    ASSERT_OK_AND_ASSIGN(
        Sender sender, Sender::Create(vector.aead(), vector.Key("pkRm"), vector.fields.at("info")));
    const std::string ephemeral = vector.fields.at("skEm");
    const ScriptedBytes script([&](unsigned char* bytes, int count) {
      EXPECT_EQ(count, 32);
      std::copy_n(ephemeral.begin(), count, bytes);
      return 1;
    });
    MessageSecret secret;
    ASSERT_OK_AND_ASSIGN(const SealedMessage sealed,
                         sender.Seal(vector.fields.at("aad"), vector.fields.at("pt"), &secret));
    EXPECT_EQ(TextOf(sealed.encapsulated), vector.fields.at("enc"));
    EXPECT_EQ(sealed.ciphertext, vector.fields.at("ct"));
    EXPECT_EQ(secret.bytes, vector.Key("exporter"));
  }
}

class HpkeTest : public ::testing::TestWithParam<Aead> {
 protected:
  StatusOr<std::string> OpenWith(const SealingKey& key, std::string_view info,
                                 std::string_view encapsulated, std::string_view aad,
                                 std::string_view ciphertext) {
    auto recipient = Recipient::Create(GetParam(), key, info);
    if (!recipient.ok()) return recipient.status();
    return recipient->Open(encapsulated, aad, ciphertext);
  }

  const SealingKey key_ = *SealingKey::Generate();
  Sender sender_ = *Sender::Create(GetParam(), key_.public_key(), "the study");
  const SealedMessage sealed_ = *sender_.Seal("the ticket", "the payload");
  const std::string enc_ = TextOf(sealed_.encapsulated);
};

TEST_P(HpkeTest, EveryFlippedBitIsRefused) {
  ASSERT_OK_AND_ASSIGN(Recipient recipient, Recipient::Create(GetParam(), key_, "the study"));
  const auto refuses_flips = [&](const std::string& whole, const auto& open) {
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string changed = whole;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_THAT(open(changed), StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not open")))
          << bit;
    }
    EXPECT_EQ(*open(whole), "the payload");
  };
  refuses_flips(enc_, [&](const std::string& enc) {
    return recipient.Open(enc, "the ticket", sealed_.ciphertext);
  });
  refuses_flips("the ticket", [&](const std::string& aad) {
    return recipient.Open(enc_, aad, sealed_.ciphertext);
  });
  refuses_flips(sealed_.ciphertext, [&](const std::string& ciphertext) {
    return recipient.Open(enc_, "the ticket", ciphertext);
  });
  refuses_flips("the study", [&](const std::string& info) {
    return OpenWith(key_, info, enc_, "the ticket", sealed_.ciphertext);
  });
}

TEST_P(HpkeTest, AnotherKeyOrCipherDoesNotOpen) {
  EXPECT_THAT(
      OpenWith(*SealingKey::Generate(), "the study", enc_, "the ticket", sealed_.ciphertext),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not open")));
  const Aead other = GetParam() == Aead::kAes128Gcm ? Aead::kChaCha20Poly1305 : Aead::kAes128Gcm;
  ASSERT_OK_AND_ASSIGN(Recipient recipient, Recipient::Create(other, key_, "the study"));
  EXPECT_THAT(recipient.Open(enc_, "the ticket", sealed_.ciphertext),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not open")));
}

TEST_P(HpkeTest, OtherLengthsAreRefused) {
  ASSERT_OK_AND_ASSIGN(Recipient recipient, Recipient::Create(GetParam(), key_, "the study"));
  const auto is_refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not open"));
  for (size_t size = 0; size < 70; ++size) {
    if (size != 32) {
      std::string enc = enc_;
      enc.resize(size, '\7');
      EXPECT_THAT(recipient.Open(enc, "the ticket", sealed_.ciphertext), is_refused) << size;
    }
    if (size != sealed_.ciphertext.size()) {
      std::string ciphertext = sealed_.ciphertext;
      ciphertext.resize(size, '\7');
      EXPECT_THAT(recipient.Open(enc_, "the ticket", ciphertext), is_refused) << size;
    }
  }
  const std::string huge(kMaxMessageBytes + 1, 'x');
  EXPECT_THAT(recipient.Open(enc_, "the ticket", huge), is_refused);
  EXPECT_THAT(recipient.Open(enc_, huge, sealed_.ciphertext), is_refused);
  EXPECT_THAT(sender_.Seal("", huge), StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^20")));
  // The failures before left no state behind.
  EXPECT_EQ(*recipient.Open(enc_, "the ticket", sealed_.ciphertext), "the payload");
}

// Zero, one, and the point of order eight on RFC 7748's curve; and zero again as p, which is not a
// canonical number.
std::vector<std::string> SmallPoints() {
  const std::string zero(32, '\0');
  std::string one = zero;
  one[0] = 1;
  return {zero, one,
          HexStringToBytes("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
          HexStringToBytes("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")};
}

TEST_P(HpkeTest, PointsOfSmallOrderAreRefused) {
  ASSERT_OK_AND_ASSIGN(Recipient recipient, Recipient::Create(GetParam(), key_, "the study"));
  for (const std::string& point : SmallPoints()) {
    EXPECT_THAT(recipient.Open(point, "the ticket", sealed_.ciphertext),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not open")));
    SealingPublicKey key;
    std::copy_n(point.begin(), key.size(), key.begin());
    ASSERT_OK_AND_ASSIGN(Sender sender, Sender::Create(GetParam(), key, "the study"));
    EXPECT_THAT(sender.Seal("", "secret"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("small order")));
  }
  EXPECT_EQ(*recipient.Open(enc_, "the ticket", sealed_.ciphertext), "the payload");
}

TEST_P(HpkeTest, EveryMessageHasAnEphemeralKeyOfItsOwn) {
  std::set<std::string> seen = {enc_};
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK_AND_ASSIGN(const SealedMessage again, sender_.Seal("the ticket", "the payload"));
    EXPECT_TRUE(seen.insert(TextOf(again.encapsulated)).second);
    EXPECT_NE(again.ciphertext, sealed_.ciphertext);
    EXPECT_EQ(
        *OpenWith(key_, "the study", TextOf(again.encapsulated), "the ticket", again.ciphertext),
        "the payload");
  }
}

TEST_P(HpkeTest, AFailingRandomSourceSealsNothing) {
  const ScriptedBytes script([](unsigned char*, int) { return 0; });
  EXPECT_THAT(sender_.Seal("the ticket", "the payload"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("nothing was sealed")));
}

TEST_P(HpkeTest, EmptyPartsAreParts) {
  ASSERT_OK_AND_ASSIGN(Sender sender, Sender::Create(GetParam(), key_.public_key(), ""));
  ASSERT_OK_AND_ASSIGN(const SealedMessage sealed, sender.Seal("", ""));
  EXPECT_EQ(sealed.ciphertext.size(), kTagBytes);
  EXPECT_EQ(*OpenWith(key_, "", TextOf(sealed.encapsulated), "", sealed.ciphertext), "");
  EXPECT_FALSE(OpenWith(key_, "", TextOf(sealed.encapsulated), "x", sealed.ciphertext).ok());
}

class AnswerTest : public HpkeTest {
 protected:
  AnswerTest() {
    message_ = *sender_.Seal("", "a message", &senders_);
    auto recipient = Recipient::Create(GetParam(), key_, "the study");
    EXPECT_EQ(
        *recipient->Open(TextOf(message_.encapsulated), "", message_.ciphertext, &recipients_),
        "a message");
    message_enc_ = TextOf(message_.encapsulated);
    answer_ = *SealAnswer(GetParam(), recipients_, message_enc_, "the label", "an answer");
  }
  StatusOr<std::string> Open(std::string_view answer) const {
    return OpenAnswer(GetParam(), senders_, message_enc_, "the label", answer);
  }

  MessageSecret senders_, recipients_;
  SealedMessage message_;
  std::string message_enc_;
  std::string answer_;
};

TEST_P(AnswerTest, OnlyTheSenderOfTheMessageOpensItsAnswer) {
  EXPECT_EQ(*Open(answer_), "an answer");
  EXPECT_EQ(answer_.size(), AnswerBytes(GetParam(), std::string_view("an answer").size()));
  MessageSecret other;
  ASSERT_OK_AND_ASSIGN(const SealedMessage again, sender_.Seal("", "a message", &other));
  EXPECT_FALSE(
      OpenAnswer(GetParam(), other, TextOf(again.encapsulated), "the label", answer_).ok());
  EXPECT_FALSE(OpenAnswer(GetParam(), other, message_enc_, "the label", answer_).ok());
  EXPECT_FALSE(OpenAnswer(GetParam(), senders_, message_enc_, "another label", answer_).ok());
  EXPECT_FALSE(
      OpenAnswer(GetParam(), senders_, TextOf(again.encapsulated), "the label", answer_).ok());
}

TEST_P(AnswerTest, RefusesEveryFlippedBitAndEveryOtherLength) {
  for (size_t bit = 0; bit < 8 * answer_.size(); ++bit) {
    std::string changed = answer_;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(Open(changed), StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not open")))
        << bit;
  }
  for (size_t bytes = 0; bytes < answer_.size(); ++bytes) {
    EXPECT_FALSE(Open(answer_.substr(0, bytes)).ok()) << bytes;
  }
  EXPECT_FALSE(Open(answer_ + '\0').ok());
}

// Two plaintexts under one key and nonce would give GCM's authentication key away.
TEST_P(AnswerTest, AnswersToAReplayedMessageShareNoKey) {
  std::set<std::string> nonces, bodies;
  const size_t nonce_bytes = AnswerBytes(GetParam(), 0) - kTagBytes;
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::string again, SealAnswer(GetParam(), recipients_, message_enc_,
                                                             "the label", "an answer"));
    EXPECT_EQ(*Open(again), "an answer");
    EXPECT_TRUE(nonces.insert(again.substr(0, nonce_bytes)).second);
    EXPECT_TRUE(bodies.insert(again.substr(nonce_bytes)).second);
  }
}

TEST_P(AnswerTest, AFailingRandomSourceSealsNoAnswer) {
  const ScriptedBytes script([](unsigned char*, int) { return 0; });
  EXPECT_THAT(SealAnswer(GetParam(), recipients_, message_enc_, "the label", "an answer"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("nothing was sealed")));
}

INSTANTIATE_TEST_SUITE_P(Ciphers, AnswerTest,
                         ::testing::Values(Aead::kAes128Gcm, Aead::kChaCha20Poly1305));
INSTANTIATE_TEST_SUITE_P(Ciphers, HpkeTest,
                         ::testing::Values(Aead::kAes128Gcm, Aead::kChaCha20Poly1305));

}  // namespace
}  // namespace coppice::seal
