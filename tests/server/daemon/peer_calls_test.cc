#include "server/daemon/transport/peer_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/text.h"

namespace coppice::daemon {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

using Clock = PeerCalls::Clock;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Clock::time_point kStart = Clock::time_point() + std::chrono::hours(5);

// The hashed bytes need not be a certificate.
std::string Pem(const std::string& der) {
  return StrCat("-----BEGIN CERTIFICATE-----\n", Base64Escape(der),
                "\n-----END CERTIFICATE-----\n");
}

TEST(PeerCallsTest, KnowsWhoCalledAndWhenLast) {
  PeerCalls peers;
  peers.Note(Pem("one"), kStart);
  peers.Note(Pem("two"), kStart + seconds(10));
  peers.Note(Pem("one"), kStart + seconds(20));
  const std::vector<PeerCalls::Peer> recent = peers.Recent(kStart + seconds(25));
  ASSERT_THAT(recent, SizeIs(2));
  for (const PeerCalls::Peer& peer : recent) {
    const bool is_one = peer.certificate == Sha256({"one"});
    EXPECT_TRUE(is_one || peer.certificate == Sha256({"two"}));
    EXPECT_EQ(peer.silent_for, is_one ? seconds(5) : seconds(15));
  }
}

TEST(PeerCallsTest, WhoeverIsSilentForLongIsNotShown) {
  PeerCalls peers;
  peers.Note(Pem("one"), kStart);
  EXPECT_THAT(peers.Recent(kStart + PeerCalls::kPeerMemory), SizeIs(1));
  EXPECT_THAT(peers.Recent(kStart + PeerCalls::kPeerMemory + seconds(1)), IsEmpty());
}

TEST(PeerCallsTest, WhatIsNoCertificateIsNobody) {
  PeerCalls peers;
  peers.Note("", kStart);
  peers.Note("-----BEGIN CERTIFICATE-----", kStart);
  EXPECT_THAT(peers.Recent(kStart), IsEmpty());
}

TEST(PeerCallsTest, TheOneThatIsSilentLongestMakesRoom) {
  PeerCalls peers;
  for (size_t i = 0; i < PeerCalls::kMaxPeers + 20; ++i) {
    peers.Note(Pem("kept"), kStart + seconds(i));
    peers.Note(Pem(StrCat(i)), kStart + seconds(i));
  }
  const std::vector<PeerCalls::Peer> recent = peers.Recent(kStart + minutes(2));
  EXPECT_THAT(recent, SizeIs(PeerCalls::kMaxPeers));
  const auto has = [&recent](const std::string& der) {
    return std::any_of(recent.begin(), recent.end(), [&der](const PeerCalls::Peer& peer) {
      return peer.certificate == Sha256({der});
    });
  };
  EXPECT_TRUE(has("kept"));
  EXPECT_FALSE(has("0"));
}

}  // namespace
}  // namespace coppice::daemon
