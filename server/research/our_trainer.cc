// auto: the central trainer of that name on the private rows alone, for comparison with the papers'
// methods on the same rows. It does not read public rows.
//
// Guarantee  epsilon-DP, one row more or less: stronger than what ssrdt and top protect.

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/model/model.h"
#include "server/research/method.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"

namespace coppice::research {
namespace {

class OurTrainer final : public Method {
 public:
  const MethodInfo& info() const override {
    static const MethodInfo kInfo = {.name = "auto",
                                     .summary = "ours: the central trainer on the private rows",
                                     .source = "docs/research/mechanisms.md",
                                     .protects = "a row",
                                     .neighbours = "one row more or less",
                                     .guarantee = "epsilon-DP",
                                     .sampler = "exact",
                                     .setting = ""};
    return kInfo;
  }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options, PublicRandom&,
                        PrivateRandom& noise) const override {
    COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* trainer, trainers::FindTrainer("auto"));
    COPPICE_ASSIGN_OR_RETURN(const Model model,
                             trainer->Train(*rows.private_rows, {.epsilon = options.epsilon}, noise,
                                            [](double) { return OkStatus(); }));
    const Table& asked = *rows.test_rows;
    Answers answers(asked.schema().num_classes(), asked.num_rows());
    for (size_t i = 0; i < asked.num_rows(); ++i) {
      const Prediction prediction = model.Predict(asked.row(i));
      for (uint32_t k = 0; k < answers.classes; ++k) {
        answers.of(i)[k] = prediction.probabilities[k];
      }
    }
    return answers;
  }
};

}  // namespace

const Method& Auto() {
  static const OurTrainer kMethod;
  return kMethod;
}

}  // namespace coppice::research
