#include "server/curator/intake/reply_dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using Answer = StatusOr<std::vector<ReportOutcome>>;

Submission Batch(SubmitDone done) {
  Submission batch;
  batch.done = std::move(done);
  return batch;
}

// A group of `size` batches that count their answers.
CommittedGroup Group(size_t size, std::atomic<int>& answers, std::function<void()> answered) {
  CommittedGroup group;
  for (size_t i = 0; i < size; ++i) {
    group.batches.push_back(Batch([&answers](const Answer&) { ++answers; }));
  }
  group.answered = std::move(answered);
  return group;
}

TEST(ReplyDispatcherTest, AnswersWithTheOutcomesTheGroupsStatusOrTheBatchsOwn) {
  std::vector<Answer> answers;
  const auto note = [&](Answer answer) { answers.push_back(std::move(answer)); };
  {
    ReplyDispatcher dispatcher;
    CommittedGroup stored{.batches = {}, .answered = [] {}};
    stored.batches.push_back(Batch(note));
    stored.batches.back().outcomes = {ReportOutcome::kDuplicate};
    stored.batches.push_back(Batch(note));
    stored.batches.back().refused = ResourceExhaustedError("wait");
    dispatcher.Post(std::move(stored));
    CommittedGroup lost{.batches = {}, .status = UnavailableError("no disk"), .answered = [] {}};
    lost.batches.push_back(Batch(note));
    dispatcher.Post(std::move(lost));
  }
  ASSERT_EQ(answers.size(), 3u);
  ASSERT_TRUE(answers[0].ok());
  EXPECT_EQ(*answers[0], std::vector<ReportOutcome>{ReportOutcome::kDuplicate});
  EXPECT_EQ(answers[1].status(), ResourceExhaustedError("wait"));
  EXPECT_EQ(answers[2].status(), UnavailableError("no disk"));
}

TEST(ReplyDispatcherTest, WithFewCallsItsOwnThreadAnswers) {
  std::promise<std::thread::id> answered_on;
  ReplyDispatcher dispatcher;
  CommittedGroup group{.batches = {}, .answered = [] {}};
  group.batches.push_back(
      Batch([&](const Answer&) { answered_on.set_value(std::this_thread::get_id()); }));
  dispatcher.Post(std::move(group));
  EXPECT_NE(answered_on.get_future().get(), std::this_thread::get_id());
}

// The first group keeps the dispatcher's thread busy, so calls answer for the others.
TEST(ReplyDispatcherTest, ACallAnswersAFewThatWaitAndGroupsEndInTheirOrder) {
  std::promise<void> busy, let_go;
  std::atomic<int> answers = 0;
  std::vector<int> ended;
  {
    ReplyDispatcher dispatcher;
    CommittedGroup first{.batches = {}, .answered = [&] { ended.push_back(1); }};
    first.batches.push_back(Batch([&](const Answer&) {
      busy.set_value();
      let_go.get_future().wait();
    }));
    dispatcher.Post(std::move(first));
    busy.get_future().wait();
    dispatcher.Post(Group(10, answers, [&] { ended.push_back(2); }));
    dispatcher.Post(Group(0, answers, [&] { ended.push_back(3); }));
    dispatcher.DrainOnCaller();
    EXPECT_EQ(answers, 8);
    dispatcher.DrainOnCaller();
    EXPECT_EQ(answers, 10);
    dispatcher.DrainOnCaller();
    EXPECT_TRUE(ended.empty());
    let_go.set_value();
  }
  EXPECT_EQ(answers, 10);
  EXPECT_EQ(ended, (std::vector<int>{1, 2, 3}));
}

TEST(ReplyDispatcherTest, EachBatchIsAnsweredOnceHoweverManyCallsHelp) {
  constexpr int kGroups = 300, kCallers = 3;
  std::vector<std::atomic<int>> answers(kGroups);
  std::vector<int> ended;
  {
    ReplyDispatcher dispatcher;
    std::atomic<bool> over = false;
    std::vector<std::thread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        while (!over) dispatcher.DrainOnCaller();
      });
    }
    for (int i = 0; i < kGroups; ++i) {
      dispatcher.Post(Group(i % 40, answers[i], [&ended, i] { ended.push_back(i); }));
    }
    over = true;
    for (std::thread& caller : callers) caller.join();
  }
  for (int i = 0; i < kGroups; ++i) EXPECT_EQ(answers[i], i % 40);
  ASSERT_EQ(ended.size(), size_t{kGroups});
  EXPECT_TRUE(std::is_sorted(ended.begin(), ended.end()));
}

}  // namespace
}  // namespace coppice::curator
