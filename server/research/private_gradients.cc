// psgd_l, psgd_n and psgd_laplace: fit a model to the public rows, then pass once over the private
// rows in a public random order; each device sends its noisy gradient at the current model.
//
// psgd_l is a logistic regression; psgd_n is a network with one hidden ReLU layer that has as many
// neurons as dimensions; both report by PrivUnitG. psgd_laplace is psgd_l with exact noise. The
// text leaves open how to find the public minimizer and how to clip: here Adam on the public rows
// and norm 1. The authors' program is not epsilon-LDP: it spends epsilon on each layer's weights
// and again on its biases, and does not put short gradients on the sphere.
//
// Source     Lowy, Li, Huang, Razaviyayn 2023, as Ma, Yang 2024, section 7.2, use it.
// Guarantee  epsilon-LDP with sequential interaction; see gradient_noise.h for what is exact.

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/research/features.h"
#include "server/research/gradient_noise.h"
#include "server/research/method.h"

namespace coppice::research {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// A model of P(class 1). It holds no state besides the parameters that it is given.
class GradientModel {
 public:
  virtual ~GradientModel() = default;
  virtual size_t num_parameters() const = 0;
  virtual double Logit(absl::Span<const double> parameters, absl::Span<const double> x) const = 0;
  // Adds `factor` times the gradient of the logit.
  virtual void AddGradient(absl::Span<const double> parameters, absl::Span<const double> x,
                           double factor, absl::Span<double> gradient) const = 0;
};

// Its parameters are the weights, then the intercept.
class LinearModel final : public GradientModel {
 public:
  explicit LinearModel(size_t dimension) : dimension_(dimension) {}

  size_t num_parameters() const override { return dimension_ + 1; }
  double Logit(absl::Span<const double> parameters, absl::Span<const double> x) const override {
    return std::inner_product(x.begin(), x.end(), parameters.begin(), parameters[dimension_]);
  }
  void AddGradient(absl::Span<const double>, absl::Span<const double> x, double factor,
                   absl::Span<double> gradient) const override {
    for (size_t d = 0; d < dimension_; ++d) gradient[d] += factor * x[d];
    gradient[dimension_] += factor;
  }

 private:
  const size_t dimension_;
};

// Its parameters are each neuron's weights and intercept, then the output's weights and intercept.
class NetworkModel final : public GradientModel {
 public:
  NetworkModel(size_t dimension, size_t neurons)
      : hidden_(dimension), dimension_(dimension), neurons_(neurons) {}

  size_t num_parameters() const override { return neurons_ * (dimension_ + 2) + 1; }
  double Logit(absl::Span<const double> parameters, absl::Span<const double> x) const override {
    double logit = parameters.back();
    for (size_t n = 0; n < neurons_; ++n) {
      logit += parameters[OutputOf(n)] * std::max(Enter(parameters, n, x), 0.0);
    }
    return logit;
  }
  void AddGradient(absl::Span<const double> parameters, absl::Span<const double> x, double factor,
                   absl::Span<double> gradient) const override {
    for (size_t n = 0; n < neurons_; ++n) {
      const double entered = Enter(parameters, n, x);
      if (entered <= 0) continue;
      gradient[OutputOf(n)] += factor * entered;
      hidden_.AddGradient({}, x, factor * parameters[OutputOf(n)],
                          gradient.subspan(n * (dimension_ + 1), dimension_ + 1));
    }
    gradient.back() += factor;
  }

 private:
  size_t OutputOf(size_t neuron) const { return neurons_ * (dimension_ + 1) + neuron; }
  double Enter(absl::Span<const double> parameters, size_t neuron,
               absl::Span<const double> x) const {
    return hidden_.Logit(parameters.subspan(neuron * (dimension_ + 1), dimension_ + 1), x);
  }

  const LinearModel hidden_;
  const size_t dimension_, neurons_;
};

// Adam (Kingma, Ba 2015) with a rate that falls to 0, on random batches of public rows.
class PublicFit {
 public:
  PublicFit(const GradientModel& model, const Points& points, const Table& rows,
            PublicRandom& random)
      : model_(model), points_(points), rows_(rows), random_(random) {}

  std::vector<double> Run() {
    const size_t size = model_.num_parameters();
    std::vector<double> parameters(size), mean(size), square(size), gradient(size);
    for (double& p : parameters) p = 0.5 * (2 * random_.Unit() - 1) / std::sqrt(points_.dimension);
    for (int step = 1; step <= kSteps; ++step) {
      std::fill(gradient.begin(), gradient.end(), 0.0);
      for (size_t i = 0; i < kBatch; ++i) AddRow(parameters, absl::MakeSpan(gradient));
      const double rate = kRate * (1 - static_cast<double>(step - 1) / kSteps);
      for (size_t j = 0; j < size; ++j) {
        mean[j] = 0.9 * mean[j] + 0.1 * gradient[j];
        square[j] = 0.999 * square[j] + 0.001 * gradient[j] * gradient[j];
        const double m = mean[j] / (1 - std::pow(0.9, step));
        const double v = square[j] / (1 - std::pow(0.999, step));
        parameters[j] -= rate * m / (std::sqrt(v) + 1e-8);
      }
    }
    return parameters;
  }

 private:
  static constexpr int kSteps = 500;
  static constexpr size_t kBatch = 128;
  static constexpr double kRate = 0.05;

  void AddRow(const std::vector<double>& parameters, absl::Span<double> gradient) {
    const size_t row = random_.Below(points_.size());
    const double logit = model_.Logit(parameters, points_.of(row));
    const double residual = Sigmoid(logit) - (rows_.label(row) == 1 ? 1 : 0);
    model_.AddGradient(parameters, points_.of(row), residual / kBatch, gradient);
  }

  const GradientModel& model_;
  const Points& points_;
  const Table& rows_;
  PublicRandom& random_;
};

Status WalkOnce(const GradientModel& model, const GradientNoise& reports, const Points& points,
                const Table& devices, double rate, PublicRandom& order_random, PrivateRandom& noise,
                absl::Span<double> parameters) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[order_random.Below(i)]);
  std::vector<double> gradient(parameters.size());
  for (const size_t row : order) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    const double residual =
        Sigmoid(model.Logit(parameters, points.of(row))) - (devices.label(row) == 1 ? 1 : 0);
    model.AddGradient(parameters, points.of(row), residual, absl::MakeSpan(gradient));
    COPPICE_RETURN_IF_ERROR(reports.Randomize(noise, absl::MakeSpan(gradient)));
    for (size_t j = 0; j < gradient.size(); ++j) parameters[j] -= rate * gradient[j];
  }
  return OkStatus();
}

class PrivateGradients final : public Method {
 public:
  PrivateGradients(MethodInfo info, bool is_network, bool is_exact)
      : info_(std::move(info)), is_network_(is_network), is_exact_(is_exact) {}

  const MethodInfo& info() const override { return info_; }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options,
                        PublicRandom& public_random, PrivateRandom& noise) const override {
    COPPICE_RETURN_IF_ERROR(CheckTwoClasses(rows.test_rows->schema()));
    COPPICE_RETURN_IF_ERROR(CheckLabelled(*rows.public_rows));
    COPPICE_RETURN_IF_ERROR(CheckLabelled(*rows.private_rows));
    const Scaling scaling(*rows.public_rows);
    const Points public_points = scaling.Scale(*rows.public_rows);
    const std::unique_ptr<GradientModel> model = MakeModel(public_points.dimension);
    const std::unique_ptr<GradientNoise> reports =
        MakeNoise(*options.epsilon, model->num_parameters());
    std::vector<double> parameters =
        PublicFit(*model, public_points, *rows.public_rows, public_random).Run();
    COPPICE_RETURN_IF_ERROR(WalkOnce(*model, *reports, scaling.Scale(*rows.private_rows),
                                     *rows.private_rows, options.setting, public_random, noise,
                                     absl::MakeSpan(parameters)));
    const Points asked = scaling.Scale(*rows.test_rows);
    Answers answers(2, asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      const double p = Sigmoid(model->Logit(parameters, asked.of(i)));
      answers.of(i)[0] = 1 - p;
      answers.of(i)[1] = p;
    }
    return answers;
  }

 private:
  std::unique_ptr<GradientModel> MakeModel(size_t dimension) const {
    if (is_network_) return std::make_unique<NetworkModel>(dimension, dimension);
    return std::make_unique<LinearModel>(dimension);
  }
  std::unique_ptr<GradientNoise> MakeNoise(const Budget& epsilon, size_t parameters) const {
    if (is_exact_) return std::make_unique<LaplaceGradient>(epsilon);
    return std::make_unique<PrivUnitG>(epsilon.epsilon(), parameters);
  }

  const MethodInfo info_;
  const bool is_network_, is_exact_;
};

MethodInfo GradientInfo(std::string name, std::string summary, bool is_exact) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .source = "Lowy, Li, Huang, Razaviyayn 2023; Asi, Feldman, Talwar 2022",
          .protects = "a row",
          .neighbours = "any row of a device for any other",
          .guarantee = is_exact ? "epsilon-LDP, sequentially interactive"
                                : "epsilon-LDP in real arithmetic, sequentially interactive",
          .sampler = is_exact ? "exact: discrete Laplace on a grid"
                              : "not exact: Gaussian vectors in floating point",
          .setting = "learning rate",
          .default_setting = 0.001,
          .paper_settings = {1e-5, 1e-3, 0.1, 1},
          .whole_settings = false};
}

}  // namespace

const Method& PsgdL() {
  static const PrivateGradients kMethod(
      GradientInfo("psgd_l", "logistic regression, warm start, gradients by PrivUnitG", false),
      false, false);
  return kMethod;
}

const Method& PsgdN() {
  static const PrivateGradients kMethod(
      GradientInfo("psgd_n", "one hidden layer, warm start, gradients by PrivUnitG", false), true,
      false);
  return kMethod;
}

const Method& PsgdLaplace() {
  static const PrivateGradients kMethod(
      GradientInfo("psgd_laplace", "psgd_l with discrete Laplace noise instead", true), false,
      true);
  return kMethod;
}

}  // namespace coppice::research
