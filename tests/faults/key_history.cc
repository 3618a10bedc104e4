#include "tests/faults/key_history.h"

#include <algorithm>

namespace coppice::testing {

SigningKey KeyOfNumber(uint8_t number) {
  SigningKey::Seed seed{};
  seed.fill(number);
  return *SigningKey::FromSeed(seed);
}

SigningKey StrangersKey() { return KeyOfNumber(0); }

void KeyHistory::Add(bool endorsed) {
  const auto number = static_cast<uint8_t>(steps_.size());
  steps_.push_back({.key = KeyOfNumber(number).public_key(), .endorsed = endorsed});
}

curator::SigningKeys KeyHistory::GivenFor(size_t number) const {
  if (number == 0) return {};
  const SigningKey key = KeyOfNumber(static_cast<uint8_t>(number));
  if (!steps_[number].endorsed || breaks_chains_) {
    return {.key = key, .next = std::nullopt, .break_chain = true};
  }
  curator::SigningKeys given{.key = std::nullopt, .next = key};
  if (number > 1) given.key = KeyOfNumber(static_cast<uint8_t>(number - 1));
  return given;
}

bool KeyHistory::Leads(size_t from, size_t to) const {
  if (from > to || to - from > kMaxEndorsements) return false;
  const auto first = steps_.begin() + static_cast<std::ptrdiff_t>(from) + 1;
  const auto end = steps_.begin() + static_cast<std::ptrdiff_t>(to) + 1;
  return std::all_of(first, end, [](const KeyStep& step) { return step.endorsed; });
}

bool Follower::Accepts(const KeyHistory& keys, size_t signer, const KeyChain& endorsements,
                       int64_t now) const {
  if (!root_.has_value()) return true;
  const auto reached = last_.find(*root_);
  const size_t trusted = reached == last_.end() ? *root_ : reached->second;
  if (!keys.Leads(trusted, signer)) return false;
  if (endorsements.size() < signer - trusted) return true;  // leaving them out is wrong
  const auto first = endorsements.end() - static_cast<std::ptrdiff_t>(signer - trusted);
  return std::all_of(first, endorsements.end(), [&](const KeyEndorsement& step) {
    return step.not_before_unix_seconds <= now;
  });
}

void Follower::Accepted(size_t signer) {
  if (!root_.has_value()) root_ = signer;
  last_[*root_] = signer;
}

}  // namespace coppice::testing
